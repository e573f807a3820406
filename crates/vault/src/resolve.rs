//! `${secret:NAME}` in a text. Knows no other kind of reference and no other namespace than
//! that of the handle it is given.

use crate::error::{Result, VaultError};
use crate::handle::Secrets;
use crate::name::SecretName;
use crate::namespace::Namespace;
use crate::secret::Secret;

/// Longest result, in bytes: what names a secret often must not make a text without bound.
pub const RESOLVED_BYTES_MAX: usize = 1024 * 1024;

const BEGIN: &str = "${secret:";

/// Part of a text.
#[derive(Debug, PartialEq)]
enum Part<'t> {
    Text(&'t str),
    Secret(SecretName),
}

/// The text with each `${secret:NAME}` replaced by the value of that secret, looked up in the
/// namespace of `secrets` only. Everything else stays as it is; a value is never searched for
/// references in turn. A secret itself, since it has secrets in it.
pub async fn resolve<K>(text: &str, secrets: &Secrets<K>) -> Result<Secret> {
    // A text without references is common and needs no storage.
    if !text.contains(BEGIN) {
        return Ok(Secret::new(text));
    }
    let text = text.to_owned();
    secrets.run(move |namespace| fill_in(&text, namespace)).await
}

fn fill_in(text: &str, namespace: &Namespace) -> Result<Secret> {
    let parts = parts(text)?;
    let mut values = vec![];
    let mut len = 0;
    for part in &parts {
        let value = match part {
            Part::Text(text) => Secret::new(*text),
            Part::Secret(name) => namespace.get(name)?.ok_or_else(|| VaultError::Missing {
                name: name.clone(),
                owner: namespace.owner.clone(),
            })?,
        };
        len += value.reveal().len();
        if len > RESOLVED_BYTES_MAX {
            let what = "a text with its secrets filled in".to_owned();
            return Err(VaultError::TooLong { what, len, max: RESOLVED_BYTES_MAX });
        }
        values.push(value);
    }
    // Room for all of it at once: a string that grows leaves copies behind.
    let mut whole = String::with_capacity(len);
    values.iter().for_each(|value| whole.push_str(value.reveal()));
    Ok(Secret::new(whole))
}

fn parts(text: &str) -> Result<Vec<Part<'_>>> {
    let mut parts = vec![];
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let at = text.len() - rest.len() + begin;
        let body = &rest[begin + BEGIN.len()..];
        let (name, after) = body.split_once('}').ok_or(VaultError::Reference { at })?;
        let name = SecretName::new(name).map_err(|_| VaultError::Reference { at })?;
        parts.extend([Part::Text(&rest[..begin]), Part::Secret(name)]);
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_and_nonsense_is_placed() {
        let name = SecretName::new("A").unwrap();
        let found = parts("Bearer ${secret:A}!").unwrap();
        assert_eq!(found, [Part::Text("Bearer "), Part::Secret(name), Part::Text("!")]);
        assert_eq!(parts("${env:A} $5 ${").unwrap(), [Part::Text("${env:A} $5 ${")]);
        for bad in ["é ${secret:}", "é ${secret:A", "é ${secret:a b}", "é ${secret:${secret:A}}"]
        {
            assert!(matches!(parts(bad), Err(VaultError::Reference { at: 3 })), "{bad}");
        }
    }
}
