//! References to secrets and to the environment, inside texts.

use super::is_identifier;
use crate::shape::shorten;

/// A reference inside a text: `${secret:NAME}` or `${env:NAME}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'t> {
    /// A secret, by name.
    Secret(&'t str),
    /// A variable of the environment the daemon was started with.
    Env(&'t str),
}

/// Finds the references in `text`; an error for a `${…}` that is neither.
pub fn references(text: &str) -> Result<Vec<Reference<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let body = &rest[at + 2..];
        let Some(end) = body.find('}') else {
            return Err(format!("`{}` has a `${{` without a `}}`", shorten(text)));
        };
        let inner = &body[..end];
        match inner.split_once(':') {
            Some(("secret", name)) if is_identifier(name) => found.push(Reference::Secret(name)),
            Some(("env", name)) if is_identifier(name) => found.push(Reference::Env(name)),
            _ => {
                return Err(format!(
                    "`${{{}}}` is neither `${{secret:NAME}}` nor `${{env:NAME}}`",
                    shorten(inner)
                ));
            }
        }
        rest = &body[end + 1..];
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_and_nonsense_is_named() {
        assert_eq!(
            references("Bearer ${secret:A} ${env:B}"),
            Ok(vec![Reference::Secret("A"), Reference::Env("B")])
        );
        assert_eq!(references("$5 and {}"), Ok(vec![]));
        for bad in ["${A}", "${secret:}", "${secret:a b}", "${secret:A", "${file:/etc/passwd}"] {
            assert!(references(bad).is_err(), "{bad}");
        }
    }
}
