//! Reads folders of skills. Every step goes beneath a folder that was opened before, and no
//! link is followed: what a skill's folder links to is not part of the skill.
#![expect(clippy::disallowed_methods, reason = "opens folders of skills, and all beneath them")]

use super::{
    DEPTH_MAX, DOCUMENT, DOCUMENT_BYTES_MAX, FILE_BYTES_MAX, FILES_MAX, INNER_DEPTH_MAX, LOCK,
    SKILLS_MAX, is_inner_path,
};
use crate::file_state::{self, FileState};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2, statat,
};
use rustix::io::Errno;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Folders that are looked into, at the most, to find skills: an end to any tree.
const FOLDERS_MAX: usize = 4_000;

/// The skills below one folder, as they were at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFolder {
    pub skills: Vec<SkillFiles>,
    /// What could not be read, for people.
    pub faults: Vec<String>,
    /// The findings that an operator accepted, by the folder of the skill they are in.
    pub accepted: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFiles {
    /// Its folder, below the one that was read, with `/` between parts.
    pub folder: Box<str>,
    /// Its `SKILL.md`.
    pub document: FileState,
    /// The other files.
    pub files: Vec<SkillFile>,
    /// Paths that are no files, and for which the skill can't be used.
    pub strange: Vec<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Its path in the skill's folder.
    pub path: Box<str>,
    /// Its size.
    pub bytes: u64,
    /// Whether it can be run as a program.
    pub executable: bool,
}

/// A file of a skill as it stands on disk now, and what changes when it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    /// Its path in the skill's folder.
    pub path: Box<str>,
    /// Whether it can be run as a program.
    pub executable: bool,
    /// Size, number on its device, and the moment it was last changed, as the system counts.
    figures: [i128; 4],
}

/// Whether the folder of skills itself may be a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Top {
    /// It may: an operator put it there.
    MayBeLink,
    /// It may not.
    IsFolder,
}

/// Reads the skills below a folder; nothing where there is none.
pub fn read(folder: &Path, top: Top) -> SkillFolder {
    let mut found = SkillFolder::default();
    match open_top(folder, top) {
        Ok(Some(opened)) => {
            let mut walk = Walk { found: &mut found, looked_into: 0 };
            walk.folder(&opened, String::new(), 0);
            // A collection of somebody else's may bring such a file along: an operator accepts
            // for one agent, in its own folder.
            if top == Top::IsFolder {
                found.accepted = accepted(folder);
            }
        }
        Ok(None) => {}
        Err(error) => found.faults.push(format!("the folder can't be read: {error}")),
    }
    found
}

/// Reads a folder that is a skill itself; `None` where it is none. Its folder is called "".
pub fn read_single(folder: &Path, top: Top) -> Option<SkillFiles> {
    let opened = open_top(folder, top).ok().flatten()?;
    let entries = entries(&opened).ok()?;
    let document = document_among(&entries)?.to_owned();
    let mut found = SkillFolder::default();
    Walk { found: &mut found, looked_into: 0 }.skill(&opened, String::new(), &document);
    found.skills.pop()
}

/// The files of a skill as they stand on disk now, its `SKILL.md` among them under that name.
/// `folder` is the folder of skills, `skill` the skill's below it.
pub fn stamps(folder: &Path, top: Top, skill: &str) -> Result<Vec<FileStamp>, String> {
    let unreadable = |error: Errno| format!("can't be read: {error}");
    let top = open_top(folder, top).map_err(unreadable)?.ok_or("is gone")?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let opened = beneath(&top, skill, flags).map_err(unreadable)?;
    let mut listed = Listed::default();
    listed.take(&opened, "", 0).and(listed.trouble())?;
    let names = entries(&opened).map_err(unreadable)?;
    let document = document_among(&names).ok_or_else(|| format!("has no {DOCUMENT}"))?;
    let mut files = listed.files;
    for file in files.iter_mut().filter(|file| *file.path == *document) {
        file.path = DOCUMENT.into();
    }
    Ok(files)
}

/// The entry that is the `SKILL.md` of a folder, whatever its case; the one of that very name
/// where there are several.
fn document_among(entries: &[(String, FileType)]) -> Option<&str> {
    let mut names = entries.iter().map(|(name, _)| name.as_str());
    let alike = names.clone().find(|name| name.eq_ignore_ascii_case(DOCUMENT));
    names.find(|name| *name == DOCUMENT).or(alike)
}

/// What `skills.lock` says was accepted. One that can't be read accepts nothing.
fn accepted(folder: &Path) -> BTreeMap<Box<str>, BTreeSet<Box<str>>> {
    let Ok(Some(bytes)) = read_file(folder, Top::IsFolder, LOCK, FILE_BYTES_MAX) else {
        return BTreeMap::new();
    };
    let lock: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let skills = lock["skills"].as_object().into_iter().flatten();
    let of_skill = skills.filter_map(|(_, skill)| {
        let hashes: BTreeSet<Box<str>> =
            skill["accepted"].as_object()?.keys().map(|hash| hash.as_str().into()).collect();
        Some((skill["folder"].as_str()?.into(), hashes))
    });
    of_skill.filter(|(_, hashes)| !hashes.is_empty()).collect()
}

/// Reads one file of a skill; `None` when there is none. `folder` is the folder of skills. The
/// `SKILL.md` is found whatever its case.
pub fn read_file(
    folder: &Path,
    top: Top,
    path: &str,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, String> {
    if !path.split('/').all(is_inner_path) {
        return Ok(None);
    }
    let absent = |error: Errno| match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => Ok(None),
        error => Err(format!("can't be read: {error}")),
    };
    let opened = match open_top(folder, top) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(None),
        Err(error) => return absent(error),
    };
    let found = match beneath(&opened, path, OFlags::RDONLY | OFlags::NONBLOCK) {
        Err(Errno::NOENT) => beneath_alike(&opened, path),
        found => found,
    };
    let file = match found {
        Ok(file) => file,
        Err(error) => return absent(error),
    };
    let stat = fstat(&file).map_err(|error| format!("can't be read: {error}"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = File::from(file).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| format!("can't be read: {error}"))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("is larger than {bytes_max} bytes"));
    }
    Ok(Some(bytes))
}

/// Opens the `SKILL.md` that a path means, called so in another case.
fn beneath_alike(top: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let skill = match path.strip_suffix(DOCUMENT) {
        Some("") => ".",
        Some(skill) if skill.ends_with('/') => skill.trim_end_matches('/'),
        _ => return Err(Errno::NOENT),
    };
    let folder = beneath(top, skill, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let entries = entries(&folder)?;
    let name = document_among(&entries).ok_or(Errno::NOENT)?;
    beneath(&folder, name, OFlags::RDONLY | OFlags::NONBLOCK)
}

/// The names of the folders below a folder, links and hidden ones left out.
pub fn subfolders(folder: &Path) -> Vec<String> {
    let Ok(Some(opened)) = open_top(folder, Top::MayBeLink) else { return Vec::new() };
    let entries = entries(&opened).unwrap_or_default();
    entries.into_iter().filter(|(_, kind)| *kind == FileType::Directory).map(|it| it.0).collect()
}

/// The bundles of a home: the folders in `skills/`, and links of an operator's to folders.
pub fn bundles(folder: &Path) -> Vec<String> {
    let Ok(Some(opened)) = open_top(folder, Top::MayBeLink) else { return Vec::new() };
    let is_bundle = |kind: FileType| matches!(kind, FileType::Directory | FileType::Symlink);
    let entries = entries(&opened).unwrap_or_default();
    entries.into_iter().filter(|(_, kind)| is_bundle(*kind)).map(|it| it.0).collect()
}

fn open_top(folder: &Path, top: Top) -> Result<Option<OwnedFd>, Errno> {
    let mut flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if top == Top::IsFolder {
        flags |= OFlags::NOFOLLOW;
    }
    match open(folder, flags, Mode::empty()) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn beneath(folder: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    openat2(folder, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// What stands in a folder, by name, hidden things left out.
fn entries(folder: &OwnedFd) -> Result<Vec<(String, FileType)>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if !name.starts_with('.') {
            entries.push((name.to_owned(), entry.file_type()));
        }
    }
    entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

struct Walk<'w> {
    found: &'w mut SkillFolder,
    looked_into: usize,
}

impl Walk<'_> {
    /// Looks for skills in a folder: it is one, or holds some.
    fn folder(&mut self, folder: &OwnedFd, path: String, depth: usize) {
        self.looked_into += 1;
        if self.looked_into > FOLDERS_MAX || self.found.skills.len() > SKILLS_MAX {
            let full = format!("there are more than {SKILLS_MAX} skills; the rest is left out");
            if self.found.faults.last() != Some(&full) {
                self.found.faults.push(full);
            }
            return;
        }
        let entries = match entries(folder) {
            Ok(entries) => entries,
            Err(error) => {
                return self.found.faults.push(format!("{path} can't be read: {error}"));
            }
        };
        if let Some(document) = document_among(&entries).filter(|_| !path.is_empty()) {
            return self.skill(folder, path, document);
        }
        if depth == DEPTH_MAX {
            return;
        }
        for (name, kind) in entries {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            if kind == FileType::Symlink {
                self.found.faults.push(format!("{inner} is a link, which is not followed"));
            }
            if kind != FileType::Directory || !is_inner_path(&name) {
                continue;
            }
            match beneath(folder, &name, OFlags::RDONLY | OFlags::DIRECTORY) {
                Ok(opened) => self.folder(&opened, inner, depth + 1),
                Err(error) => self.found.faults.push(format!("{inner} can't be read: {error}")),
            }
        }
    }

    fn skill(&mut self, folder: &OwnedFd, path: String, name: &str) {
        let mut listed = Listed::default();
        let mut document = read_document(folder, name);
        if let Err(why) = listed.take(folder, "", 0).and(listed.trouble()) {
            document = FileState::Unreadable(why);
        }
        let Listed { files, strange } = listed;
        let files = files.into_iter().filter(|file| *file.path != *name).map(|file| {
            let bytes = u64::try_from(file.figures[0]).unwrap_or(u64::MAX);
            SkillFile { path: file.path, bytes, executable: file.executable }
        });
        let files = files.collect();
        let strange = strange.into_iter().map(|(path, _)| path).collect();
        self.found.skills.push(SkillFiles { folder: path.into(), document, files, strange });
    }
}

fn read_document(folder: &OwnedFd, name: &str) -> FileState {
    let opened = match beneath(folder, name, OFlags::RDONLY | OFlags::NONBLOCK) {
        Ok(opened) => opened,
        Err(Errno::LOOP) => return FileState::Unreadable("is a link".to_owned()),
        Err(error) => return FileState::Unreadable(format!("can't be opened: {error}")),
    };
    file_state::text_of(File::from(opened), DOCUMENT_BYTES_MAX)
}

/// What is below a skill's folder.
#[derive(Default)]
struct Listed {
    files: Vec<FileStamp>,
    /// What is neither a file nor a folder, and whether it is a link.
    strange: Vec<(Box<str>, bool)>,
}

impl FileStamp {
    fn new(path: Box<str>, stat: &Stat) -> Self {
        let executable = stat.st_mode & 0o111 != 0;
        // Their widths differ between machines.
        let figures = [
            i128::from(stat.st_size),
            i128::from(stat.st_ino),
            i128::from(stat.st_ctime),
            i128::from(stat.st_ctime_nsec),
        ];
        Self { path, executable, figures }
    }
}

impl Listed {
    fn take(&mut self, folder: &OwnedFd, path: &str, depth: usize) -> Result<(), String> {
        let unreadable = |error: Errno| format!("has a folder that can't be read: {error}");
        for (name, kind) in entries(folder).map_err(unreadable)? {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            match kind {
                FileType::Directory if depth < INNER_DEPTH_MAX => {
                    let opened = beneath(folder, &name, OFlags::RDONLY | OFlags::DIRECTORY);
                    self.take(&opened.map_err(unreadable)?, &inner, depth + 1)?;
                }
                FileType::RegularFile => {
                    let look = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW);
                    self.files.push(FileStamp::new(inner.into(), &look.map_err(unreadable)?));
                }
                // The document says itself that it is a link.
                FileType::Symlink if inner.eq_ignore_ascii_case(DOCUMENT) => {}
                kind => self.strange.push((inner.into(), kind == FileType::Symlink)),
            }
            if self.files.len() + self.strange.len() > FILES_MAX {
                return Err(format!("has more than {FILES_MAX} files beside it"));
            }
        }
        Ok(())
    }

    /// What is wrong with it, by the first thing that is.
    fn trouble(&self) -> Result<(), String> {
        match self.strange.first() {
            None => Ok(()),
            Some((path, true)) => {
                Err(format!("has a link beside it, `{path}`; put the file there instead"))
            }
            Some((path, false)) => {
                Err(format!("has something beside it that is no file, `{path}`"))
            }
        }
    }
}
