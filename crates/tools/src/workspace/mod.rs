//! The workspace: the folders an agent was given, as capabilities.
//!
//! A path is text from a model. Text only picks the folder a walk begins in; the walk itself
//! is done by the kernel, which refuses to leave that folder by `..`, by a link or by a race.
//! Nothing here knows an agent, and there is nothing another agent could be named by.

mod error;
mod folders;
mod kernel;
mod places;
mod resolved_path;
pub mod states;

pub use error::FileError;
pub(crate) use error::head;
pub use folders::{Absent, AgentFolders, GivenFolder, Granted, Site, Users};
pub(crate) use kernel::Entry;
pub use places::{FilePlace, Within};
pub(crate) use resolved_path::{Loaded, ResolvedPath, Staged};

use folders::{Common, Root};
use insula_domain::AccessMode;
use kernel::FileIdentity;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Longest path, in bytes: the kernel's own limit.
const PATH_BYTES_MAX: usize = 4096;
/// Links that are followed at the end of a path.
const LINKS_MAX: usize = 16;
/// What an agent's own folder is called in most of what models were taught.
const USUAL_NAME: &str = "/workspace";

/// The folders of one conversation of one agent, opened. The first is where relative paths
/// begin.
#[derive(Debug)]
pub(crate) struct Workspace {
    roots: Vec<Arc<Root>>,
    /// How many of them were given, and are not for output.
    given: usize,
    /// What holds the descriptors that are shared with other conversations.
    common: Arc<Common>,
    user_home: Option<PathBuf>,
}

/// What a file is known by, whatever path led to it: its folder's identity and its name.
///
/// Not the identity of the file: a careful writer makes a new file and renames it, so that
/// would be another one after every write. Not the path: a link to a folder would make two of
/// one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    folder: FileIdentity,
    name: OsString,
}

/// Whether folders on the way to a file are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parents {
    /// They have to be there.
    Expect,
    /// Those missing are made.
    Make,
}

/// Where a path begins, and the rest of it.
pub(crate) struct Begin {
    pub(crate) root: Arc<Root>,
    pub(crate) rest: PathBuf,
    primary: bool,
    /// Whether it is the folder for output, in which names say whose words a file has.
    is_output: bool,
}

impl Workspace {
    /// Opens the folders of a conversation: its own, if it has one, before those it shares,
    /// and last the one with its `output`, if there is any.
    pub(crate) fn open(
        place: &AgentFolders,
        own: Option<&Granted>,
        output: Option<&Path>,
    ) -> Result<Self, FileError> {
        Self::opened(place, own, output, |_| true)
    }

    /// The same without the folder that the agent's conversations have in common.
    pub(crate) fn open_without_common(
        place: &AgentFolders,
        own: Option<&Granted>,
        output: Option<&Path>,
    ) -> Result<Self, FileError> {
        let common = place.common.first().map(|granted| place.path_of(granted));
        Self::opened(place, own, output, |root| Some(&root.path) != common.as_ref())
    }

    fn opened(
        place: &AgentFolders,
        own: Option<&Granted>,
        output: Option<&Path>,
        is_given: impl Fn(&Root) -> bool,
    ) -> Result<Self, FileError> {
        let common = place.open()?;
        let mut roots = Vec::new();
        if let Some(own) = own {
            roots.push(common.own(own)?);
        }
        roots.extend(common.roots.iter().filter(|root| is_given(root)).cloned());
        let given = roots.len();
        roots.extend(output.and_then(|path| common.output(path)));
        if roots.is_empty() {
            return Err(FileError::Refused(common.absent.join("; ")));
        }
        Ok(Self { roots, given, common, user_home: place.user_home.clone() })
    }

    /// Which folder a path begins in.
    pub(crate) fn begin(&self, path: &str) -> Result<Begin, FileError> {
        if path.is_empty() {
            return Err(FileError::Unfit("the path is empty".to_owned()));
        }
        if path.len() > PATH_BYTES_MAX {
            return Err(FileError::of(path, Errno::NAMETOOLONG));
        }
        if path.contains('\0') {
            return Err(FileError::Unfit("a path can't contain a NUL character".to_owned()));
        }
        let full = match (path.strip_prefix('~'), &self.user_home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(path),
        };
        if !full.is_absolute() {
            let Some(root) = self.roots.first() else { return Err(self.outside(path)) };
            let (root, is_output) = (root.clone(), self.given == 0);
            return Ok(Begin { root, rest: full, primary: true, is_output });
        }
        let containing = self.roots.iter().enumerate().filter_map(|(index, root)| {
            let rest = full.strip_prefix(&root.path).ok()?;
            Some((root.path.components().count(), index, root, rest))
        });
        match containing.max_by_key(|(depth, index, ..)| (*depth, std::cmp::Reverse(*index))) {
            Some((_, index, root, rest)) => {
                let (root, rest) = (root.clone(), rest.to_owned());
                Ok(Begin { root, rest, primary: index == 0, is_output: index >= self.given })
            }
            None => self.by_its_usual_name(&full).ok_or_else(|| self.outside(path)),
        }
    }

    /// Where a path begins that calls the agent's own folder what it is called elsewhere: small
    /// models write so whatever they are told. Nothing that was granted is called so here.
    fn by_its_usual_name(&self, full: &Path) -> Option<Begin> {
        let rest = full.strip_prefix(USUAL_NAME).ok()?.to_owned();
        let root = self.roots.first().filter(|_| self.given > 0)?.clone();
        Some(Begin { root, rest, primary: true, is_output: false })
    }

    fn outside(&self, path: &str) -> FileError {
        let path = head(path);
        FileError::Refused(format!(
            "`{path}` is outside of the folders you were given: {}; a path without a slash in front begins in the first",
            self.folders()
        ))
    }

    /// The folders, as models read them.
    pub(crate) fn folders(&self) -> String {
        let roots = self.roots.iter().map(|root| {
            let mode = match root.mode {
                AccessMode::Ro => "read only",
                AccessMode::Rw => "read and write",
            };
            format!("{} ({mode})", root.path.display())
        });
        let absent = self.common.absent.iter().cloned();
        roots.chain(absent).collect::<Vec<_>>().join(", ")
    }

    /// The folders that were given, as programs are given them.
    pub(crate) fn given(&self) -> Result<Vec<GivenFolder>, FileError> {
        self.roots.iter().take(self.given).map(|root| root.folder()).collect()
    }

    /// How many folders there are.
    pub(crate) fn folder_count(&self) -> usize {
        self.roots.len()
    }

    /// Finds the file a path leads to, or where it would be.
    pub(crate) fn locate(&self, path: &str, parents: Parents) -> Result<ResolvedPath, FileError> {
        let begin = self.begin(path)?;
        let failed = |error| FileError::of(path, error);
        if path.ends_with('/') {
            return Err(failed(Errno::ISDIR));
        }
        let mut rest = begin.rest.clone();
        for _ in 0..LINKS_MAX {
            let Some(Component::Normal(name)) = rest.components().next_back() else {
                return Err(failed(Errno::ISDIR));
            };
            let name = name.to_owned();
            let above = rest.parent().unwrap_or(Path::new("")).to_owned();
            let folder = match (kernel::folder_beneath(&begin.root.folder, &above), parents) {
                (Err(Errno::NOENT), Parents::Make) => make_folders(&begin.root, &above, path)?,
                (folder, _) => folder.map_err(failed)?,
            };
            let mode = begin.root.mode_at(&folder, path)?;
            let found = kernel::look(&folder, &name).map_err(failed)?;
            if found.as_ref().is_some_and(|stat| kernel::kind(stat) == FileType::Symlink) {
                // Followed by hand, so that what is read or replaced is the file and never
                // the link; the folder it leads to is again walked to by the kernel.
                let target = kernel::link_target(&folder, &name).map_err(failed)?;
                if target.is_absolute() {
                    return Err(failed(Errno::XDEV));
                }
                rest = above.join(target);
                continue;
            }
            let identity = FileIdentity::of(&folder).map_err(failed)?;
            let key = FileKey { folder: identity, name: name.clone() };
            let shown = begin.shown(path);
            let is_foreign = begin.is_foreign(&name);
            return Ok(ResolvedPath { folder, name, shown, key, mode, found, is_foreign });
        }
        Err(failed(Errno::LOOP))
    }

    /// The names in a folder, at most `limit`; and whether there are more.
    pub(crate) fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), FileError> {
        let begin = self.begin(path)?;
        let failed = |error| FileError::of(path, error);
        let folder = kernel::folder_beneath(&begin.root.folder, &begin.rest).map_err(failed)?;
        begin.root.mode_at(&folder, path)?;
        kernel::list(&folder, Path::new(""), limit).map_err(failed)
    }
}

impl Begin {
    /// The path as it is shown: short in the folder where relative paths begin.
    pub(crate) fn shown(&self, path: &str) -> String {
        match (self.primary, self.rest.as_os_str().is_empty()) {
            (true, true) => ".".to_owned(),
            (true, false) => display(self.rest.as_os_str()),
            (false, _) => path.to_owned(),
        }
    }

    /// Opens the folder itself, to walk through it.
    pub(crate) fn folder(&self, path: &str) -> Result<Walked, FileError> {
        let folder = kernel::folder_beneath(&self.root.folder, &self.rest)
            .map_err(|error| FileError::of(path, error))?;
        self.root.mode_at(&folder, path)?;
        Ok(Walked { root: self.root.clone(), folder })
    }

    /// The folder above; `None` where the path begins.
    pub(crate) fn above(&self) -> Option<Self> {
        let rest = self.rest.parent()?.to_owned();
        Some(Self { root: self.root.clone(), rest, ..*self })
    }

    /// Whether a file of this name below here has somebody else's words.
    pub(crate) fn is_foreign(&self, name: &OsStr) -> bool {
        self.is_output && folders::is_foreign(name)
    }

    /// Opens the folder the path begins in, whatever follows.
    pub(crate) fn top(&self) -> Result<Walked, FileError> {
        let top = Begin { root: self.root.clone(), rest: PathBuf::new(), ..*self };
        top.folder(&self.root.path.display().to_string())
    }
}

/// A folder in a walk through all that is below it. Links are not followed.
pub(crate) struct Walked {
    root: Arc<Root>,
    folder: OwnedFd,
}

impl Walked {
    /// What is in it.
    pub(crate) fn entries(&self, limit: usize) -> Option<(Vec<Entry>, bool)> {
        kernel::list(&self.folder, Path::new(""), limit).ok()
    }

    /// A folder in it; `None` when it is none any more, or not for this agent.
    pub(crate) fn enter(&self, name: &OsStr) -> Option<Self> {
        let folder = kernel::subfolder(&self.folder, name).ok()?;
        self.root.mode_at(&folder, "").ok()?;
        Some(Self { root: self.root.clone(), folder })
    }

    /// A regular file in it, of at most `limit` bytes.
    pub(crate) fn read(&self, name: &OsStr, limit: u64) -> Option<Vec<u8>> {
        let stat = kernel::look(&self.folder, name).ok()??;
        if kernel::kind(&stat) != FileType::RegularFile || too_large(&stat, limit) {
            return None;
        }
        let (file, stat) = kernel::open_file(&self.folder, name).ok()?;
        kernel::read(file, &stat, limit).ok().filter(|bytes| bytes.len() as u64 <= limit)
    }

    /// Whether a name is a regular file.
    pub(crate) fn is_file(&self, name: &OsStr) -> bool {
        let found = kernel::look(&self.folder, name).ok().flatten();
        found.is_some_and(|stat| kernel::kind(&stat) == FileType::RegularFile)
    }

    /// What a name is, where the folder itself did not say.
    pub(crate) fn kind(&self, entry: &Entry) -> FileType {
        if entry.kind != FileType::Unknown {
            return entry.kind;
        }
        let found = kernel::look(&self.folder, &entry.name).ok().flatten();
        found.map_or(FileType::Unknown, |stat| kernel::kind(&stat))
    }
}

/// Makes the folders of `path` that are missing, each in the one before it.
fn make_folders(root: &Root, path: &Path, shown: &str) -> Result<OwnedFd, FileError> {
    let failed = |error| FileError::of(shown, error);
    let mut folder = kernel::folder_beneath(&root.folder, Path::new("")).map_err(failed)?;
    let mut walked = PathBuf::new();
    for part in path.components() {
        walked.push(part);
        folder = match kernel::folder_beneath(&root.folder, &walked) {
            Err(Errno::NOENT) => {
                let Component::Normal(name) = part else { return Err(failed(Errno::NOENT)) };
                writable(root.mode_at(&folder, shown)?, shown)?;
                kernel::make_folder(&folder, name).map_err(failed)?;
                kernel::folder_beneath(&root.folder, &walked).map_err(failed)?
            }
            found => found.map_err(failed)?,
        };
    }
    Ok(folder)
}

fn writable(mode: AccessMode, shown: &str) -> Result<(), FileError> {
    match mode {
        AccessMode::Rw => Ok(()),
        AccessMode::Ro => Err(FileError::Refused(format!(
            "`{shown}` is in a folder you may only read; write to one you may write to"
        ))),
    }
}

fn too_large(stat: &Stat, limit: u64) -> bool {
    u64::try_from(stat.st_size).unwrap_or(0) > limit
}

/// A name as people and models read it: control characters and broken bytes are shown, not sent.
pub(crate) fn display(name: &OsStr) -> String {
    let text = name.to_string_lossy();
    if !text.chars().any(char::is_control) {
        return text.into_owned();
    }
    let escaped = text.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    escaped.collect()
}
