//! Pictures that a client sends along: by an address on the web, or in place.

use super::error::OpenAiError;
use insula_store::Part;

/// Longest address of a picture that is somewhere else, in bytes.
const ADDRESS_BYTES_MAX: usize = 8 * 1024;
/// How much of what is wrong is said back, in characters.
const SHOWN_CHARS_MAX: usize = 40;

/// The picture an address leads to or holds. Whoever reads it is the provider of the model;
/// what names a file of this machine, or nothing at all, goes no further.
pub fn picture(url: &str) -> Result<Part, OpenAiError> {
    if let Some(rest) = scheme(url, "data:") {
        held(rest)?;
    } else {
        let host = scheme(url, "https://").or_else(|| scheme(url, "http://"));
        let host = host.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace();
        if host.is_empty() || url.len() > ADDRESS_BYTES_MAX || !url.chars().all(is_plain) {
            let shown: String = url.chars().take(SHOWN_CHARS_MAX).collect();
            return Err(OpenAiError::invalid(format!(
                "`{}` is no picture: send an http or https address, or `data:image/…;base64,…`",
                shown.escape_debug()
            )));
        }
    }
    Ok(Part::Image { source: url.into(), media_type: "".into() })
}

/// What follows a scheme, however it is capitalised.
fn scheme<'u>(url: &'u str, scheme: &str) -> Option<&'u str> {
    let begins = url.get(..scheme.len())?.eq_ignore_ascii_case(scheme);
    begins.then(|| &url[scheme.len()..])
}

fn held(rest: &str) -> Result<(), OpenAiError> {
    let wrong = |why: &str| Err(OpenAiError::invalid(format!("the picture in place {why}")));
    let Some((kind, data)) = rest.split_once(";base64,") else {
        return wrong("must be written as `data:image/…;base64,…`");
    };
    if !kind.starts_with("image/") || kind.len() > 64 {
        return wrong("must be of a kind such as `image/png`");
    }
    match is_base64(data) {
        true => Ok(()),
        false => wrong("is not base64"),
    }
}

/// Whether a text is base64 of something: whole groups of four, padding at the end only.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_on_the_web_or_in_place() {
        for good in [
            "https://example.org/a.png",
            "HTTP://example.org",
            "data:image/png;base64,iVBORw==",
            "data:image/jpeg;base64,AAAA",
        ] {
            assert!(picture(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "file:///etc/passwd",
            "/etc/passwd",
            "ftp://example.org/a.png",
            "https://",
            "https:///a.png",
            "https://example.org/a b",
            "data:image/png;base64,",
            "data:image/png;base64,abc",
            "data:image/png;base64,a===",
            "data:image/png;base64,ab!=",
            "data:image/png,plain",
            "data:text/html;base64,AAAA",
            "javascript:alert(1)",
        ] {
            assert!(picture(bad).is_err(), "{bad}");
        }
    }
}
