//! Archives to files: `.zip`, `.tar`, `.tar.gz`. Pure, over bytes that nobody trusts: no path
//! leaves the archive, no link is taken, and nothing grows beyond its limits.

use miniz_oxide::inflate::decompress_to_vec_with_limit;
use std::collections::BTreeMap;

/// Files of an archive.
pub const ENTRIES_MAX: usize = 5_000;
/// Bytes of an archive when it is unpacked.
pub const UNPACKED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes of an archive as it is.
pub const ARCHIVE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many times larger than packed a file may be; text compresses to a tenth.
const RATIO_MAX: usize = 200;
/// What may be that large whatever it is packed in.
const SMALL_BYTES: usize = 64 * 1024;

type Files = BTreeMap<String, Vec<u8>>;

/// Longest path in an archive, in bytes.
const PATH_BYTES_MAX: usize = 1_000;

/// The files of an archive, by path.
pub fn unpack(bytes: &[u8]) -> Result<Files, String> {
    if bytes.len() > ARCHIVE_BYTES_MAX {
        return Err(format!("the archive is larger than {ARCHIVE_BYTES_MAX} bytes"));
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return zip(bytes);
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return tar(&gunzip(bytes)?);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return tar(bytes);
    }
    Err("it is neither a .zip nor a .tar.gz archive".to_owned())
}

/// What is being taken out, with its limits.
#[derive(Default)]
struct Unpacked {
    files: Files,
    bytes: usize,
}

impl Unpacked {
    fn put(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), String> {
        let path = inner(path)?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.files.len() >= ENTRIES_MAX || self.bytes > UNPACKED_BYTES_MAX {
            return Err(format!(
                "the archive has more than {ENTRIES_MAX} files or {UNPACKED_BYTES_MAX} bytes"
            ));
        }
        match self.files.insert(path.clone(), bytes) {
            None => Ok(()),
            Some(_) => Err(format!("`{path}` is in the archive twice")),
        }
    }
}

/// A path as it may be: relative, and nowhere up.
fn inner(path: &str) -> Result<String, String> {
    if path.len() > PATH_BYTES_MAX {
        let shown: String = path.chars().take(100).flat_map(char::escape_default).collect();
        return Err(format!(
            "`{shown}…` in the archive is a path of more than {PATH_BYTES_MAX} bytes"
        ));
    }
    let bad = || {
        let shown: String = path.chars().take(100).flat_map(char::escape_default).collect();
        format!("`{shown}` in the archive leads out of it")
    };
    if path.starts_with('/') || path.contains(['\\', '\0']) || path.get(1..2) == Some(":") {
        return Err(bad());
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() || parts.contains(&"..") {
        return Err(bad());
    }
    Ok(parts.join("/"))
}

fn link(path: &str) -> String {
    let shown: String = path.chars().take(100).flat_map(char::escape_default).collect();
    format!("`{shown}` in the archive is no file; links and devices are not taken")
}

fn inflated(packed: &[u8]) -> Result<Vec<u8>, String> {
    let limit = packed.len().saturating_mul(RATIO_MAX).saturating_add(SMALL_BYTES);
    decompress_to_vec_with_limit(packed, limit.min(UNPACKED_BYTES_MAX))
        .map_err(|_| "the archive is damaged, or grows too large when it is unpacked".to_owned())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<usize, String> {
    let part = at.checked_add(N).and_then(|end| bytes.get(at..end));
    let part = part.ok_or_else(|| "the archive is cut off".to_owned())?;
    Ok(part.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], String> {
    let end = at.checked_add(length);
    end.and_then(|end| bytes.get(at..end)).ok_or_else(|| "the archive is cut off".to_owned())
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the archive has a name that is not UTF-8".to_owned())
}

/// By its directory at the end, which is what counts in a `.zip`.
fn zip(bytes: &[u8]) -> Result<Files, String> {
    const END: &[u8] = b"PK\x05\x06";
    let from = bytes.len().saturating_sub(65_557);
    let tail = bytes.get(from..).unwrap_or_default();
    let end = tail.windows(END.len()).rposition(|window| window == END);
    let end = from + end.ok_or_else(|| "the archive has no directory".to_owned())?;
    let count = number::<2>(bytes, end + 10)?;
    let mut at = number::<4>(bytes, end + 16)?;
    let mut unpacked = Unpacked::default();
    for _ in 0..count {
        if slice(bytes, at, 4)? != b"PK\x01\x02" {
            return Err("the archive's directory is damaged".to_owned());
        }
        let made_by = number::<1>(bytes, at + 5)?;
        let (flags, method) = (number::<2>(bytes, at + 8)?, number::<2>(bytes, at + 10)?);
        let (packed, size) = (number::<4>(bytes, at + 20)?, number::<4>(bytes, at + 24)?);
        let names = number::<2>(bytes, at + 28)?;
        let extra = number::<2>(bytes, at + 30)? + number::<2>(bytes, at + 32)?;
        let mode = number::<4>(bytes, at + 38)? >> 16;
        let local = number::<4>(bytes, at + 42)?;
        let name = text(slice(bytes, at + 46, names)?)?;
        at += 46 + names + extra;
        if flags & 1 != 0 {
            return Err("the archive is encrypted".to_owned());
        }
        const UNIX: usize = 3;
        let kind = mode & 0o170_000;
        if made_by == UNIX && !matches!(kind, 0 | 0o100_000 | 0o040_000) {
            return Err(link(name));
        }
        if name.ends_with('/') {
            inner(name)?;
            continue;
        }
        if slice(bytes, local, 4)? != b"PK\x03\x04" {
            return Err("the archive is damaged".to_owned());
        }
        let data = local + 30 + number::<2>(bytes, local + 26)? + number::<2>(bytes, local + 28)?;
        let packed = slice(bytes, data, packed)?;
        let content = match method {
            0 => packed.to_vec(),
            8 => inflated(packed)?,
            _ => return Err(format!("`{name}` is packed in a way that is not known here")),
        };
        if content.len() != size {
            return Err(format!("`{name}` is not as large as the archive says"));
        }
        unpacked.put(name, content)?;
    }
    Ok(unpacked.files)
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let flags = number::<1>(bytes, 3)?;
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + number::<2>(bytes, at)?;
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let rest = bytes.get(at..).unwrap_or_default();
            let end = rest.iter().position(|byte| *byte == 0);
            at += end.ok_or_else(|| "the archive is cut off".to_owned())? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    inflated(bytes.get(at..).unwrap_or_default())
}

const BLOCK: usize = 512;

fn tar(bytes: &[u8]) -> Result<Files, String> {
    let mut unpacked = Unpacked::default();
    let mut at = 0;
    let mut long_name: Option<String> = None;
    while let Some(header) = bytes.get(at..at + BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        if octal(&header[148..156])? != checksum(header) {
            return Err("the archive is damaged".to_owned());
        }
        let size = octal(&header[124..136])?;
        let content = slice(bytes, at + BLOCK, size)?;
        at = at.saturating_add(BLOCK).saturating_add(size.div_ceil(BLOCK).saturating_mul(BLOCK));
        let kind = header[156];
        match kind {
            b'L' => long_name = Some(text(until_zero(content))?.to_owned()),
            b'x' => long_name = pax_path(content)?.or(long_name),
            b'g' => {}
            _ => {
                let name = match long_name.take() {
                    Some(name) => name,
                    None => short_name(header)?,
                };
                match kind {
                    b'0' | 0 | b'7' if !name.ends_with('/') => {
                        unpacked.put(&name, content.to_vec())?;
                    }
                    b'5' | b'0' | 0 if matches!(name.as_str(), "." | "./") => {}
                    b'5' | b'0' | 0 => drop(inner(&name)?),
                    _ => return Err(link(&name)),
                }
            }
        }
    }
    Ok(unpacked.files)
}

fn short_name(header: &[u8]) -> Result<String, String> {
    let name = text(until_zero(&header[..100]))?;
    let prefix = match header.get(257..263) {
        Some(b"ustar\0") => text(until_zero(&header[345..500]))?,
        _ => "",
    };
    Ok(if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") })
}

/// The `path` among records of the form `length key=value`.
fn pax_path(mut content: &[u8]) -> Result<Option<String>, String> {
    let damaged = || "the archive is damaged".to_owned();
    let mut path = None;
    while !content.is_empty() {
        let space = content.iter().position(|byte| *byte == b' ').ok_or_else(damaged)?;
        let length: usize = text(&content[..space])?.parse().map_err(|_| damaged())?;
        let record = content.get(space + 1..length).ok_or_else(damaged)?;
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(text(value.strip_suffix(b"\n").unwrap_or(value))?.to_owned());
        }
        content = &content[length..];
    }
    Ok(path)
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn octal(field: &[u8]) -> Result<usize, String> {
    let digits = text(until_zero(field))?.trim();
    let number = if digits.is_empty() { Ok(0) } else { usize::from_str_radix(digits, 8) };
    number.map_err(|_| "the archive is damaged".to_owned())
}

/// The sum of a header's bytes, with spaces where the sum itself stands.
fn checksum(header: &[u8]) -> usize {
    let of = |(at, byte): (usize, &u8)| match at {
        148..156 => usize::from(b' '),
        _ => usize::from(*byte),
    };
    header.iter().enumerate().map(of).sum()
}
