//! In which letters a page is written: by its mark, its header, or its own word for it.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its own word is looked for, as browsers do.
const LOOKED_AT: usize = 1_024;

/// The text of a body. `labelled` is what the header says. What fits no letters becomes the
/// replacement character.
pub(super) fn decode(body: &[u8], labelled: Option<&str>, looks_inside: bool) -> String {
    let known = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    let told = || labelled.and_then(|label| Encoding::for_label(label.as_bytes()));
    let inside = || if looks_inside { declared(body) } else { None };
    let encoding = known.or_else(told).or_else(inside).unwrap_or_else(|| guess(body));
    let (text, _, _) = encoding.decode(body);
    text.into_owned()
}

/// The charset of a `Content-Type`.
pub(super) fn label(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })
}

/// What the beginning of a page says, in either form of `<meta>`.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..body.len().min(LOOKED_AT)).unwrap_or_default().to_ascii_lowercase();
    let mut rest = head.as_slice();
    while let Some(at) = find(rest, b"charset") {
        rest = rest.get(at + b"charset".len()..)?;
        let value = rest.trim_ascii_start();
        let Some(value) = value.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        let value = value.strip_prefix(b"\"").or(value.strip_prefix(b"'")).unwrap_or(value);
        let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
        let len = value.iter().position(|byte| !is_label(byte)).unwrap_or(value.len());
        if let Some(found) = Encoding::for_label(value.get(..len)?) {
            // A page that could be read so far is not UTF-16, whatever it says.
            let is_wide = found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE;
            return Some(if is_wide { UTF_8 } else { found });
        }
    }
    None
}

/// UTF-8 where it is, and otherwise what most that is not turns out to be.
fn guess(body: &[u8]) -> &'static Encoding {
    let is_utf8 = match std::str::from_utf8(body) {
        Ok(_) => true,
        // Cut off in the middle of a letter.
        Err(error) => error.error_len().is_none(),
    };
    if is_utf8 { UTF_8 } else { WINDOWS_1252 }
}

pub(super) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = needle.first()?;
    let mut from = 0;
    loop {
        let at = from + haystack.get(from..)?.iter().position(|byte| byte == first)?;
        if haystack.get(at..)?.starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_beats_the_header_beats_the_page() {
        let latin = b"<meta charset=windows-1251>caf\xe9";
        assert_eq!(decode(latin, Some("iso-8859-1"), true), "<meta charset=windows-1251>café");
        assert_eq!(decode(latin, None, true), "<meta charset=windows-1251>cafй");
        assert_eq!(decode(b"\xef\xbb\xbfcaf\xc3\xa9", Some("latin1"), true), "café");
        assert_eq!(decode(b"\xff\xfeh\0i\0", None, true), "hi");
        let old =
            b"<META http-equiv=Content-Type content='text/html; CHARSET = \"shift_jis\"'>\x82\xa0";
        assert!(decode(old, None, true).ends_with('あ'));
        assert!(decode(old, None, false).ends_with("‚\u{a0}"));
    }

    #[test]
    fn without_a_word_it_is_utf_8_or_what_windows_wrote() {
        assert_eq!(decode("naïve".as_bytes(), None, true), "naïve");
        assert_eq!(decode(b"na\xefve \x93x\x94", None, true), "naïve “x”");
        assert_eq!(decode(b"cut \xe2\x82", None, true), "cut \u{fffd}");
        assert_eq!(decode(b"x", Some("no-such-charset"), true), "x");
        assert_eq!(decode(b"<meta charset=utf-16>x", None, true), "<meta charset=utf-16>x");
    }

    #[test]
    fn the_header_is_read_with_and_without_quotes() {
        assert_eq!(label("text/html; Charset=\"UTF-8\""), Some("UTF-8"));
        assert_eq!(label("text/html;a=b; charset=koi8-r"), Some("koi8-r"));
        assert_eq!(label("text/html"), None);
    }
}
