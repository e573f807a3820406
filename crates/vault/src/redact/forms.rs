//! The forms in which a value may turn up in a text. Pure.
//!
//! Found: the value as it is, in base64 (standard and URL-safe, padded or not, also in the
//! middle of something larger), in hexadecimal, percent-encoded and escaped for JSON, once or
//! twice, each in the ways that common libraries do it. Not found: what someone makes on
//! purpose to get past this (reversed, split, base64 of base64), base64 broken into lines, and
//! parts of a value. Redaction catches accidents and lazy tricks; what keeps a secret from an
//! agent is that the agent does not get it.
//!
//! White space around a value is not looked for: a key that was stored with the newline of its
//! file is found without it too.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// A value of at least this many bytes is looked for anywhere and in every form: by chance it
/// occurs in no text. Shorter ones would be found inside unrelated words and numbers, and
/// their encoded forms even more so.
pub const ANYWHERE_BYTES_MIN: usize = 8;

/// A shorter value is looked for as it is and as a whole word only, and from this many bytes
/// on. Three letters or digits are in every text: taking them out would garble replies, and
/// tell whoever reads them what the value is.
pub const WORD_BYTES_MIN: usize = 4;

/// What to look for.
pub(crate) struct Form {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    /// Only where no letter, digit or `_` goes on before or after it.
    pub(crate) whole_word: bool,
}

/// Everything to look for because of one value, the same form perhaps several times; nothing
/// for a value that is too short.
pub(crate) fn forms(value: &str) -> Vec<Form> {
    let value = value.trim();
    let form = |text: String, whole_word| Form { bytes: Zeroizing::new(text.into()), whole_word };
    if value.len() < WORD_BYTES_MIN {
        return vec![];
    }
    if value.len() < ANYWHERE_BYTES_MIN {
        return vec![form(value.to_owned(), true)];
    }
    let mut texts = vec![value.to_owned()];
    texts.extend(base64_forms(value.as_bytes()));
    texts.extend(hexadecimal_forms(value.as_bytes(), ""));
    texts.extend(hexadecimal_forms(value.as_bytes(), "%"));
    // Most values are letters and digits, and look the same in these.
    if value.bytes().any(|byte| !byte.is_ascii_alphanumeric() && !b"-_.".contains(&byte)) {
        texts.extend(percent_forms(value));
        texts.extend(json_forms(value));
    }
    texts.into_iter().map(|text| form(text, false)).collect()
}

/// The whole value, and the characters that depend on nothing else when the value begins at a
/// first, second or third byte of a group. At most 4 bits of the first and last byte are in
/// the characters beside those.
fn base64_forms(value: &[u8]) -> Vec<String> {
    let mut found = vec![];
    for engine in [STANDARD, URL_SAFE] {
        let whole = engine.encode(value);
        found.push(whole.trim_end_matches('=').to_owned());
        found.push(whole);
        for before in 0..3 {
            let mut bytes = Zeroizing::new(vec![0; before]);
            bytes.extend_from_slice(value);
            let encoded = Zeroizing::new(engine.encode(&*bytes));
            let begin = (before * 8).div_ceil(6);
            let end = bytes.len() * 8 / 6;
            found.push(encoded[begin..end].to_owned());
        }
    }
    found
}

/// Every byte as two digits, lower and upper case, each after `before`.
fn hexadecimal_forms(value: &[u8], before: &str) -> [String; 2] {
    [b"0123456789abcdef", b"0123456789ABCDEF"].map(|digits| {
        let mut text = String::with_capacity(value.len() * (2 + before.len()));
        for byte in value {
            text.push_str(before);
            text.push(char::from(digits[usize::from(byte >> 4)]));
            text.push(char::from(digits[usize::from(byte & 15)]));
        }
        text
    })
}

/// As URLs and forms have it: what stays as it is differs by the part of a URL.
fn percent_forms(value: &str) -> Vec<String> {
    let unreserved = "-_.~";
    let component = "-_.!~*'()";
    let uri = "-_.!~*'();/?:@&=+$,#";
    let form = "-_.*";
    let mut found = vec![];
    for kept in [unreserved, component, uri, form] {
        for upper in [true, false] {
            let mut text = String::with_capacity(value.len() * 3);
            for &byte in value.as_bytes() {
                let _ = match byte {
                    b' ' if kept == form => text.write_char('+'),
                    _ if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) => {
                        text.write_char(char::from(byte))
                    }
                    _ if upper => write!(text, "%{byte:02X}"),
                    _ => write!(text, "%{byte:02x}"),
                };
            }
            found.push(text);
        }
    }
    found
}

/// How a writer of JSON escapes what it need not escape.
#[derive(Clone, Copy, Default)]
struct Json {
    slash: bool,
    html: bool,
    not_ascii: bool,
    upper: bool,
}

/// As it stands inside a JSON string, and inside a JSON string in another, which is how models
/// write the arguments of tools.
fn json_forms(value: &str) -> Vec<String> {
    let plain = Json::default();
    let ways = [
        plain,
        Json { slash: true, ..plain },
        Json { html: true, ..plain },
        Json { not_ascii: true, ..plain },
        Json { not_ascii: true, upper: true, ..plain },
        Json { not_ascii: true, slash: true, ..plain },
    ];
    let mut found: Vec<String> = ways.iter().map(|way| json(value, *way)).collect();
    for inner in [plain, Json { not_ascii: true, ..plain }] {
        found.push(json(&Zeroizing::new(json(value, inner)), plain));
    }
    found
}

fn json(value: &str, way: Json) -> String {
    let mut text = String::with_capacity(value.len() * 2);
    for c in value.chars() {
        let short = match c {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '/' if way.slash => Some("\\/"),
            _ => None,
        };
        let long = c < ' '
            || way.html && matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
            || way.not_ascii && !c.is_ascii();
        if let Some(short) = short {
            text.push_str(short);
        } else if long {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = if way.upper {
                    write!(text, "\\u{unit:04X}")
                } else {
                    write!(text, "\\u{unit:04x}")
                };
            }
        } else {
            text.push(c);
        }
    }
    text
}
