//! How the parts of a message become bytes and back. Knows no database.
//!
//! A version byte, then the parts one after another: a tag, then the fields in order. Numbers
//! are LEB128, texts are their length and their bytes. Text stays readable in a hex dump, the
//! same parts always give the same bytes, and every byte is accounted for on the way back:
//! bytes that a version did not write are damage, never guessed at.

use crate::message::Part;

/// The version written. Older ones stay readable for ever.
const VERSION: u8 = 1;

const TEXT: u8 = 1;
const ATTACHMENT: u8 = 2;
const IMAGE: u8 = 3;
const TOOL_CALL: u8 = 4;
const TOOL_RESULT: u8 = 5;
const TOOL_FAILURE: u8 = 6;
const REASONING: u8 = 7;
const SIGNED_REASONING: u8 = 8;
const UNTRUSTED_RESULT: u8 = 9;
const UNTRUSTED_FAILURE: u8 = 10;
const BESIDE: u8 = 11;

/// The bytes of these parts.
pub(crate) fn encode(parts: &[Part]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + parts.iter().map(|part| size(part) + 16).sum::<usize>());
    out.push(VERSION);
    for part in parts {
        match part {
            Part::Text(text) => put(&mut out, TEXT, &[text]),
            Part::Beside(text) => put(&mut out, BESIDE, &[text]),
            Part::Attachment { hash, name, media_type, bytes } => {
                out.push(ATTACHMENT);
                out.extend_from_slice(hash);
                number(&mut out, *bytes);
                texts(&mut out, &[name, media_type]);
            }
            Part::Image { source, media_type } => put(&mut out, IMAGE, &[source, media_type]),
            Part::ToolCall { id, name, arguments } => {
                put(&mut out, TOOL_CALL, &[id, name, arguments]);
            }
            Part::ToolResult { call, text, is_error, untrusted } => {
                let tag = match (is_error, untrusted) {
                    (false, false) => TOOL_RESULT,
                    (true, false) => TOOL_FAILURE,
                    (false, true) => UNTRUSTED_RESULT,
                    (true, true) => UNTRUSTED_FAILURE,
                };
                put(&mut out, tag, &[call, text]);
            }
            Part::Reasoning { text, signature: None } => put(&mut out, REASONING, &[text]),
            Part::Reasoning { text, signature: Some(signature) } => {
                put(&mut out, SIGNED_REASONING, &[text, signature]);
            }
        }
    }
    out
}

/// How much content a part has, in bytes; what limits look at.
pub(crate) fn size(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Beside(text) => text.len(),
        Part::Attachment { hash, name, media_type, .. } => {
            hash.len() + name.len() + media_type.len()
        }
        Part::Image { source, media_type } => source.len() + media_type.len(),
        Part::ToolCall { id, name, arguments } => id.len() + name.len() + arguments.len(),
        Part::ToolResult { call, text, .. } => call.len() + text.len(),
        Part::Reasoning { text, signature } => {
            text.len() + signature.as_ref().map_or(0, String::len)
        }
    }
}

fn put(out: &mut Vec<u8>, tag: u8, fields: &[&str]) {
    out.push(tag);
    texts(out, fields);
}

fn texts(out: &mut Vec<u8>, fields: &[&str]) {
    for field in fields {
        number(out, field.len() as u64);
        out.extend_from_slice(field.as_bytes());
    }
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The parts in these bytes; `None` if they are not what [`encode`] of a known version wrote.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut from = match bytes.split_first()? {
        (&VERSION, rest) => Reader(rest),
        _ => return None,
    };
    let mut parts = Vec::new();
    while let Some((&tag, rest)) = from.0.split_first() {
        from.0 = rest;
        parts.push(match tag {
            TEXT => Part::Text(from.text()?.to_owned()),
            BESIDE => Part::Beside(from.text()?.to_owned()),
            ATTACHMENT => {
                let hash = from.take(32)?.try_into().ok()?;
                let bytes = from.number()?;
                let (name, media_type) = (from.text()?.into(), from.text()?.into());
                Part::Attachment { hash, name, media_type, bytes }
            }
            IMAGE => Part::Image { source: from.text()?.into(), media_type: from.text()?.into() },
            TOOL_CALL => Part::ToolCall {
                id: from.text()?.into(),
                name: from.text()?.into(),
                arguments: from.text()?.to_owned(),
            },
            TOOL_RESULT | TOOL_FAILURE | UNTRUSTED_RESULT | UNTRUSTED_FAILURE => Part::ToolResult {
                call: from.text()?.into(),
                text: from.text()?.to_owned(),
                is_error: matches!(tag, TOOL_FAILURE | UNTRUSTED_FAILURE),
                untrusted: matches!(tag, UNTRUSTED_RESULT | UNTRUSTED_FAILURE),
            },
            REASONING => Part::Reasoning { text: from.text()?.to_owned(), signature: None },
            SIGNED_REASONING => Part::Reasoning {
                text: from.text()?.to_owned(),
                signature: Some(from.text()?.to_owned()),
            },
            _ => return None,
        });
    }
    Some(parts)
}

/// The words of these bytes, one after another: what search looks into. Other parts are
/// stepped over without being copied. Gives how many bytes of words are of whoever the message is
/// by, and do not only stand beside theirs.
pub(crate) fn words(bytes: &[u8], mut word: impl FnMut(&str)) -> Option<usize> {
    let mut from = match bytes.split_first()? {
        (&VERSION, rest) => Reader(rest),
        _ => return None,
    };
    let mut own = 0;
    while let Some((&tag, rest)) = from.0.split_first() {
        from.0 = rest;
        let fields = match tag {
            TEXT | BESIDE => {
                let text = from.text()?;
                own += if tag == TEXT { text.len() } else { 0 };
                word(text);
                0
            }
            ATTACHMENT => {
                from.take(32)?;
                from.number()?;
                2
            }
            TOOL_CALL => 3,
            IMAGE | TOOL_RESULT | TOOL_FAILURE | UNTRUSTED_RESULT | UNTRUSTED_FAILURE
            | SIGNED_REASONING => 2,
            REASONING => 1,
            _ => return None,
        };
        for _ in 0..fields {
            let len = usize::try_from(from.number()?).ok()?;
            from.take(len)?;
        }
    }
    Some(own)
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                // One way to write each number: a zero at the end was not written by us.
                return (byte != 0 || shift == 0).then_some(value);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = usize::try_from(self.number()?).ok()?;
        std::str::from_utf8(self.take(len)?).ok()
    }
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
