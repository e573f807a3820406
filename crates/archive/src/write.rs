//! Making an archive.

use crate::entry::{Entry, EntryKind, FIRST, LAST, Manifest, Tally, Totals};
use crate::error::{ArchiveError, Result};
use crate::files::{self, Part, Steady};
use crate::seal::{Passphrase, Sealing};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

/// Files up to this size are held in memory while they are packed.
const SMALL_BYTES: u64 = 8 << 20;

type Packed = GzEncoder<Sealing<BufWriter<File>>>;

/// An archive that is being made. Nothing stands at its name until it is finished.
pub struct ArchiveWriter {
    tar: tar::Builder<Packed>,
    part: Part,
    target: PathBuf,
    scratch: PathBuf,
    tally: Tally,
}

impl ArchiveWriter {
    /// Begins one. Large files are copied into `scratch` first, a folder that is ours.
    pub fn create(
        target: &Path,
        passphrase: Option<&Passphrase>,
        manifest: &Manifest,
        scratch: &Path,
    ) -> Result<Self> {
        let part = Part::create(target)?;
        let out = BufWriter::new(part.writer()?);
        let failed = |error: io::Error| ArchiveError::file(target, "can't be written", &error);
        let sealed = Sealing::begin(out, passphrase).map_err(failed)?;
        let tar = tar::Builder::new(GzEncoder::new(sealed, Compression::fast()));
        let tally = Tally::default();
        let (target, scratch) = (target.to_owned(), scratch.to_owned());
        let mut writer = Self { tar, part, target, scratch, tally };
        writer.own_entry(FIRST, manifest)?;
        Ok(writer)
    }

    /// Packs bytes under a name.
    pub fn add_bytes(&mut self, entry: &Entry, content: &[u8]) -> Result<()> {
        let entry = Entry { kind: EntryKind::File(content.len() as u64), ..entry.clone() };
        self.add(&entry, content)
    }

    /// Packs a folder or a link, or a file that is open, as long as it is now.
    pub fn add_found(&mut self, entry: &Entry, file: Option<&mut File>) -> Result<()> {
        let (EntryKind::File(bytes), Some(file)) = (&entry.kind, file) else {
            return self.add(entry, io::empty());
        };
        let unreadable =
            |error: io::Error| ArchiveError::file(&entry.name, "can't be read", &error);
        match files::steady(file, *bytes, SMALL_BYTES).map_err(unreadable)? {
            Steady::Bytes(content) => self.add_bytes(entry, &content),
            Steady::Growing => {
                let copied = files::nameless_copy(file, &self.scratch);
                let (copy, bytes) = copied.map_err(|error| {
                    ArchiveError::file(&self.scratch, "has no room for a copy", &error)
                })?;
                self.add(&Entry { kind: EntryKind::File(bytes), ..entry.clone() }, copy)
            }
        }
    }

    /// Packs a folder or a link, or a file that nobody changes any more.
    pub fn add_still(&mut self, entry: &Entry, file: Option<&mut File>) -> Result<()> {
        match file {
            Some(file) => self.add(entry, file),
            None => self.add(entry, io::empty()),
        }
    }

    fn add(&mut self, entry: &Entry, content: impl Read) -> Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(entry.mode);
        header.set_uid(entry.owner.0.into());
        header.set_gid(entry.owner.1.into());
        header.set_mtime(entry.changed);
        let mut content = Hashing { inner: content, hasher: blake3::Hasher::new() };
        let packed = match &entry.kind {
            EntryKind::File(bytes) => {
                header.set_size(*bytes);
                header.set_entry_type(tar::EntryType::Regular);
                self.tar.append_data(&mut header, &entry.name, &mut content)
            }
            EntryKind::Folder => {
                header.set_size(0);
                header.set_entry_type(tar::EntryType::Directory);
                self.tar.append_data(&mut header, &entry.name, io::empty())
            }
            EntryKind::Link(to) => {
                header.set_size(0);
                header.set_entry_type(tar::EntryType::Symlink);
                self.tar.append_link(&mut header, &entry.name, to)
            }
        };
        packed.map_err(|error| self.failed(&error))?;
        self.tally.add(entry, Some(content.hasher.finalize()));
        Ok(())
    }

    /// What the archive says of itself, which is no file of anybody's.
    fn own_entry(&mut self, name: &str, value: &impl serde::Serialize) -> Result<()> {
        let text = serde_json::to_vec_pretty(value).map_err(|error| self.failed(&error.into()))?;
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_size(text.len() as u64);
        let packed = self.tar.append_data(&mut header, name, text.as_slice());
        packed.map_err(|error| self.failed(&error))
    }

    /// Ends it and gives it its name: what is in it, and how long the file is.
    pub fn finish(mut self) -> Result<(Totals, u64)> {
        let totals = self.tally.totals();
        self.own_entry(LAST, &totals)?;
        let failed =
            |error: io::Error| ArchiveError::file(&self.target, "can't be written", &error);
        let out = self.tar.into_inner().and_then(GzEncoder::finish).and_then(Sealing::finish);
        let out = out.and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
        drop(out.map_err(failed)?);
        Ok((totals, self.part.keep()?))
    }

    fn failed(&self, error: &io::Error) -> ArchiveError {
        ArchiveError::file(&self.target, "can't be written", error)
    }
}

/// A reader that hashes what it reads.
pub(crate) struct Hashing<R> {
    pub(crate) inner: R,
    pub(crate) hasher: blake3::Hasher,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}
