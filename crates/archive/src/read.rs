//! Reading an archive, and telling what is wrong with a file that is none, or no longer whole.

use crate::entry::{Entry, EntryKind, FIRST, FORM, LAST, Manifest, Tally, Totals, stays_below};
use crate::error::{ArchiveError, Result};
use crate::files;
use crate::seal::{self, Passphrase};
use crate::write::Hashing;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Most bytes of what an archive says of itself.
const OWN_BYTES_MAX: u64 = 1 << 20;

/// How what `gzip` packed begins.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Whether a file is sealed; one that is none of ours is refused.
pub fn is_sealed(file: &Path) -> Result<bool> {
    let mut input = BufReader::new(files::open(file)?);
    looks_sealed(file, &mut input)
}

fn looks_sealed(file: &Path, input: &mut impl BufRead) -> Result<bool> {
    let begin = input.fill_buf();
    let begin = begin.map_err(|error| ArchiveError::file(file, "can't be read", &error))?;
    if begin.starts_with(seal::MAGIC) {
        return Ok(true);
    }
    if begin.starts_with(GZIP) {
        return Ok(false);
    }
    let what = if begin.is_empty() { "it is empty" } else { "it begins otherwise" };
    Err(ArchiveError::Foreign { file: file.to_owned(), what: what.to_owned() })
}

/// Whoever makes something of an archive while it is read.
pub trait Visitor {
    /// Why they stop.
    type Error: From<ArchiveError>;

    /// Is told what it is, before anything in it.
    fn begin(&mut self, manifest: &Manifest) -> Result<(), Self::Error>;

    /// Gets one entry and its content, and need not read that.
    fn entry(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), Self::Error>;
}

/// Reads an archive to its end. Whatever the visitor makes of it counts only when this returns
/// without an error: only then is the archive known to be whole.
pub fn read<V: Visitor>(
    file: &Path,
    passphrase: Option<&Passphrase>,
    visitor: &mut V,
) -> Result<Totals, V::Error> {
    let mut input = BufReader::new(files::open(file)?);
    if !looks_sealed(file, &mut input)? {
        return unpack(file, input, visitor);
    }
    let passphrase = passphrase.ok_or_else(|| ArchiveError::Sealed { file: file.to_owned() })?;
    let opened = seal::open(file, input, passphrase)?;
    unpack(file, BufReader::new(opened), visitor)
}

fn unpack<V: Visitor>(
    file: &Path,
    input: impl BufRead,
    visitor: &mut V,
) -> Result<Totals, V::Error> {
    let damaged = |error: io::Error| ArchiveError::damaged(file, error);
    let mut archive = tar::Archive::new(GzDecoder::new(input));
    let mut entries = archive.entries().map_err(damaged)?;
    let mut first = match entries.next() {
        Some(Ok(first)) => first,
        Some(Err(error)) => return Err(damaged(error).into()),
        None => return Err(ArchiveError::damaged(file, "there is nothing in it").into()),
    };
    if first.path_bytes().as_ref() != FIRST.as_bytes() {
        let what = "it does not say what it is".to_owned();
        return Err(ArchiveError::Foreign { file: file.to_owned(), what }.into());
    }
    let manifest: Manifest = own_entry(file, &mut first)?;
    if manifest.form > FORM {
        let (found, known) = (manifest.form, FORM);
        return Err(ArchiveError::Newer { file: file.to_owned(), found, known }.into());
    }
    visitor.begin(&manifest)?;
    let mut tally = Tally::default();
    let mut last: Option<Totals> = None;
    for packed in entries {
        let mut packed = packed.map_err(damaged)?;
        if last.is_some() {
            return Err(ArchiveError::damaged(file, "it goes on after its end").into());
        }
        if packed.path_bytes().as_ref() == LAST.as_bytes() {
            last = Some(own_entry(file, &mut packed)?);
            continue;
        }
        let entry = describe(file, &packed)?;
        let mut content = Hashing { inner: packed, hasher: blake3::Hasher::new() };
        visitor.entry(&entry, &mut content)?;
        // What nobody read is hashed too.
        io::copy(&mut content, &mut io::sink()).map_err(damaged)?;
        tally.add(&entry, Some(content.hasher.finalize()));
    }
    // To the very end: only there does the seal say that nothing was cut off.
    let mut packed = archive.into_inner();
    io::copy(&mut packed, &mut io::sink()).map_err(damaged)?;
    io::copy(&mut packed.into_inner(), &mut io::sink()).map_err(damaged)?;
    let last = last.ok_or_else(|| ArchiveError::damaged(file, "its end is missing"))?;
    if last != tally.totals() {
        return Err(ArchiveError::damaged(file, "its files are not those it was made of").into());
    }
    Ok(last)
}

fn own_entry<T: serde::de::DeserializeOwned>(file: &Path, entry: &mut impl Read) -> Result<T> {
    let mut text = Vec::new();
    let read = entry.take(OWN_BYTES_MAX).read_to_end(&mut text);
    read.map_err(|error| ArchiveError::damaged(file, error))?;
    serde_json::from_slice(&text)
        .map_err(|error| ArchiveError::damaged(file, format!("what it says of itself: {error}")))
}

fn describe(file: &Path, packed: &tar::Entry<'_, impl Read>) -> Result<Entry> {
    let damaged = |error: io::Error| ArchiveError::damaged(file, error);
    let header = packed.header();
    let name = packed.path().map_err(damaged)?.into_owned();
    if !stays_below(&name) {
        let what = format!("it has a file {}, which is no place in it", name.display());
        return Err(ArchiveError::damaged(file, what));
    }
    let kind = match header.entry_type() {
        tar::EntryType::Regular => EntryKind::File(packed.size()),
        tar::EntryType::Directory => EntryKind::Folder,
        tar::EntryType::Symlink => match packed.link_name().map_err(damaged)? {
            Some(to) => EntryKind::Link(to.into_owned()),
            None => return Err(ArchiveError::damaged(file, "a link in it leads nowhere")),
        },
        _ => return Err(ArchiveError::damaged(file, "there is something in it that is no file")),
    };
    let id = |id: io::Result<u64>| Ok(u32::try_from(id.map_err(damaged)?).unwrap_or(u32::MAX));
    Ok(Entry {
        name,
        kind,
        mode: header.mode().map_err(damaged)?,
        owner: (id(header.uid())?, id(header.gid())?),
        changed: header.mtime().map_err(damaged)?,
    })
}
