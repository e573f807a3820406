//! Forms as clients send them with files in them, read back.

use crate::upstream::Seen;

/// One part of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// Nothing where the part is no file.
    pub file_name: Option<String>,
    pub media_type: String,
    pub content: Vec<u8>,
}

/// The parts of a request that is a form; `None` where it is none.
pub fn parts(seen: &Seen) -> Option<Vec<Part>> {
    let kind = seen.header("content-type")?;
    let boundary = kind.split_once("boundary=")?.1.trim_matches('"');
    let mark = format!("--{boundary}");
    Some(split(&seen.body, mark.as_bytes()).into_iter().filter_map(part).collect())
}

fn part(bytes: &[u8]) -> Option<Part> {
    let at = find(bytes, b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let quoted = |key: &str| {
        let value = head.split_once(key)?.1.split('"').next()?;
        Some(value.to_owned())
    };
    let media_type = head
        .lines()
        .find_map(|line| {
            line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case("content-type"))
        })
        .map_or("application/octet-stream", |(_, value)| value)
        .trim()
        .to_owned();
    let content = bytes[at + 4..].strip_suffix(b"\r\n").unwrap_or(&bytes[at + 4..]);
    Some(Part {
        name: quoted(" name=\"")?,
        file_name: quoted("filename=\""),
        media_type,
        content: content.to_vec(),
    })
}

fn split<'b>(bytes: &'b [u8], mark: &[u8]) -> Vec<&'b [u8]> {
    let mut parts = vec![];
    let mut rest = bytes;
    while let Some(at) = find(rest, mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
