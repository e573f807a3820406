//! The one lossless text encoding: bytes outside `[A-Za-z0-9_.~-]` become `%XX`.
//!
//! Decoding accepts only what encoding produces, so that a text has one meaning and a
//! meaning one text.

use std::fmt;

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'~' | b'-')
}

/// A text that prints in its encoding.
#[derive(Debug, Clone, Copy)]
pub struct Encoded<'a>(pub &'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while !rest.is_empty() {
            // A plain byte is ASCII, so this never cuts a character in two.
            let plain = rest.bytes().take_while(|byte| is_plain(*byte)).count();
            f.write_str(&rest[..plain])?;
            rest = &rest[plain..];
            if let Some(other) = rest.chars().next() {
                for byte in other.encode_utf8(&mut [0; 4]).bytes() {
                    write!(f, "%{byte:02X}")?;
                }
                rest = &rest[other.len_utf8()..];
            }
        }
        Ok(())
    }
}

/// Appends the encoding of `text` to `out`.
pub fn encode_into(out: &mut String, text: &str) {
    use fmt::Write as _;
    // Writing to a String can't fail.
    let _ = write!(out, "{}", Encoded(text));
}

/// Reverses [`encode_into`]; `None` for anything it would not have written.
pub fn decode(text: &str) -> Option<String> {
    let hex = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'A'..=b'F' => Some(b - b'A' + 10),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let value = hex(rest.next()?)? << 4 | hex(rest.next()?)?;
            if is_plain(value) {
                return None;
            }
            bytes.push(value);
        } else if is_plain(byte) {
            bytes.push(byte);
        } else {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_encoding() {
        for (text, encoded) in [("a-B_9.~", "a-B_9.~"), (":%/ é\0", "%3A%25%2F%20%C3%A9%00")] {
            assert_eq!(Encoded(text).to_string(), encoded);
            let mut out = "before".to_owned();
            encode_into(&mut out, text);
            assert_eq!(out, format!("before{encoded}"));
            assert_eq!(decode(encoded).as_deref(), Some(text));
        }
        for other in ["%61", "%3a", "%", "%3", "%G0", "é", ":", "%FF", "a b"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }
}
