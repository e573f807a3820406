//! Archives to files: `.zip`, `.tar`, `.tar.gz`. Pure, over bytes that nobody trusts: no path
//! leaves the archive, no link is taken, and nothing grows beyond its limits. How archives are
//! laid out is known to libraries; which of them are taken is decided here. What is no file is
//! told by its path, so that the skill it is in can be left out and the others taken.

use super::package::Contents;
use flate2::read::GzDecoder;
use std::io::{Cursor, Read};
use tar::{Archive, EntryType};
use zip::ZipArchive;
use zip::result::ZipError;

/// Files of an archive.
pub const ENTRIES_MAX: usize = 5_000;
/// Bytes of an archive when it is unpacked.
pub const UNPACKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of an archive as it is.
pub const ARCHIVE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many times larger than packed a file may be; text compresses to a tenth.
const RATIO_MAX: usize = 200;
/// What may be that large whatever it is packed in.
const SMALL_BYTES: usize = 64 * 1024;

/// What is in an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// Its files, by path.
    pub contents: Contents,
    /// The paths of what is no file: links, devices.
    pub strange: Vec<String>,
}

/// Longest path in an archive, in bytes.
const PATH_BYTES_MAX: usize = 1_000;

/// The files of an archive, by path.
pub fn unpack(bytes: &[u8]) -> Result<Tree, String> {
    if bytes.len() > ARCHIVE_BYTES_MAX {
        return Err(format!("the archive is larger than {ARCHIVE_BYTES_MAX} bytes"));
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return from_zip(bytes);
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return from_tar(&unpacked(GzDecoder::new(bytes), bytes.len())?);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return from_tar(bytes);
    }
    Err("it is neither a .zip nor a .tar.gz archive".to_owned())
}

/// What is being taken out, with its limits.
#[derive(Default)]
struct Unpacked {
    tree: Tree,
    bytes: usize,
}

impl Unpacked {
    fn put(&mut self, path: &str, bytes: Vec<u8>, mode: u32) -> Result<(), String> {
        let path = inner(path)?;
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.bound()?;
        let Contents { files, executable } = &mut self.tree.contents;
        if mode & 0o111 != 0 {
            executable.insert(path.clone());
        }
        match files.insert(path.clone(), bytes) {
            None => Ok(()),
            Some(_) => Err(format!("`{path}` is in the archive twice")),
        }
    }

    /// Notes what is no file, and not taken.
    fn leave(&mut self, path: &str) -> Result<(), String> {
        self.bound()?;
        self.tree.strange.push(inner(path)?);
        Ok(())
    }

    fn bound(&self) -> Result<(), String> {
        let entries = self.tree.contents.files.len() + self.tree.strange.len();
        if entries >= ENTRIES_MAX || self.bytes > UNPACKED_BYTES_MAX {
            return Err(format!(
                "the archive has more than {ENTRIES_MAX} files or {UNPACKED_BYTES_MAX} bytes"
            ));
        }
        Ok(())
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

fn damaged<E>(_: E) -> String {
    "the archive is damaged, or grows too large when it is unpacked".to_owned()
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the archive has a name that is not UTF-8".to_owned())
}

/// All that comes out of `packed` bytes, if that is not too much for so few.
fn unpacked(reader: impl Read, packed: usize) -> Result<Vec<u8>, String> {
    let limit = packed.saturating_mul(RATIO_MAX).saturating_add(SMALL_BYTES);
    let limit = limit.min(UNPACKED_BYTES_MAX);
    let mut bytes = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(damaged)?;
    if bytes.len() > limit { Err(damaged(())) } else { Ok(bytes) }
}

fn from_zip(bytes: &[u8]) -> Result<Tree, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
    if archive.has_duplicate_names() {
        return Err("a name is in the archive twice".to_owned());
    }
    let mut taken = Unpacked::default();
    for at in 0..archive.len() {
        let file = archive.by_index(at).map_err(|error| match error {
            ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
                "the archive is encrypted".to_owned()
            }
            ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => {
                "the archive is packed in a way that is not known here".to_owned()
            }
            error => damaged(error),
        })?;
        let name = text(file.name_raw())?.to_owned();
        let mode = file.unix_mode().unwrap_or_default();
        if !matches!(mode & 0o170_000, 0 | 0o100_000 | 0o040_000) {
            taken.leave(&name)?;
            continue;
        }
        if name.ends_with('/') {
            inner(&name)?;
            continue;
        }
        let packed = usize::try_from(file.compressed_size()).map_err(damaged)?;
        taken.put(&name, unpacked(file, packed)?, mode)?;
    }
    Ok(taken.tree)
}

fn from_tar(bytes: &[u8]) -> Result<Tree, String> {
    let mut taken = Unpacked::default();
    for entry in Archive::new(bytes).entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let name = text(&entry.path_bytes())?.to_owned();
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous);
        match kind {
            _ if is_file && !name.ends_with('/') => {
                let size = entry.size();
                let mode = entry.header().mode().unwrap_or_default();
                let content = unpacked(entry, bytes.len())?;
                if content.len() as u64 != size {
                    return Err("the archive is cut off".to_owned());
                }
                taken.put(&name, content, mode)?;
            }
            EntryType::Directory if matches!(name.as_str(), "." | "./") => {}
            EntryType::Directory | EntryType::Regular => drop(inner(&name)?),
            _ => taken.leave(&name)?,
        }
    }
    Ok(taken.tree)
}
