//! Which folders an agent was given, and opening them.
//!
//! What stands here is a plain description; [`AgentFolders::open`] turns it into descriptors. They
//! are held while somebody works and given back when nobody does, so an idle agent has none.

use super::error::FileError;
use super::kernel::{self, FileIdentity};
use crate::output::QuotedSource;
use insula_domain::AccessMode;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Files of output that one conversation keeps.
const OUTPUTS_MAX: usize = 100;

/// What the names of files of output end with.
const PRINTED: &str = ".txt";

/// What stands before that where the words are somebody else's. It is in the name because
/// that lasts as long as the file, and nobody but us names files there.
const FOREIGN_STEM: &str = ".untrusted";

/// Whether a file of output has somebody else's words.
pub(crate) fn is_foreign(name: &OsStr) -> bool {
    let stem = name.to_str().and_then(|name| name.strip_suffix(PRINTED));
    stem.is_some_and(|stem| stem.ends_with(FOREIGN_STEM))
}

/// Files that one conversation keeps of what people sent along, its output included.
const ATTACHMENTS_MAX: usize = 2_000;

/// A folder an agent was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    pub site: Site,
    /// What may be done there.
    pub mode: AccessMode,
    /// What becomes of it when it is not there.
    pub absent: Absent,
}

/// Where a granted folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// Below the home of the daemon, at this path in it.
    Home(PathBuf),
    /// Elsewhere, at this full path.
    Path(PathBuf),
}

/// A folder as a program is given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFolder {
    /// Its path as it was granted.
    pub path: PathBuf,
    /// Where it really is, without a link on the way.
    pub real: PathBuf,
    /// What may be done there.
    pub mode: AccessMode,
    /// The user it belongs to.
    pub uid: u32,
}

/// What becomes of a granted folder that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// It is made, for its owner alone.
    Make,
    /// It stays absent, and the agent is told so.
    Leave,
}

/// Who works in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Users {
    /// The agent alone.
    Agent,
    /// Others can write there too.
    Others,
}

/// The folders of an agent, under one generation.
#[derive(Debug)]
pub struct AgentFolders {
    /// The home of the daemon. Nothing in it is reached through a folder around it.
    pub home: PathBuf,
    /// What `~` stands for.
    pub user_home: Option<PathBuf>,
    /// The folders every conversation has, the agent's own first.
    pub common: Vec<Granted>,
    /// The agent's folder below the home, if it has one: all of the home that can be granted to it.
    folder: Option<PathBuf>,
    /// Who works in the first folder of `common`.
    own: Users,
    /// The folders of `common` as they are open now.
    opened: Mutex<Weak<Common>>,
}

/// Folders that all conversations of one agent have in common, opened.
#[derive(Debug)]
pub(crate) struct Common {
    home: OwnedFd,
    identity: FileIdentity,
    /// The agent's folder in it.
    own: Option<FileIdentity>,
    home_path: PathBuf,
    pub(crate) roots: Vec<Arc<Root>>,
    pub(crate) absent: Vec<String>,
}

/// An opened folder that was given.
#[derive(Debug)]
pub(crate) struct Root {
    /// Its full path, for people and for models.
    pub(crate) path: PathBuf,
    pub(crate) folder: OwnedFd,
    pub(crate) mode: AccessMode,
    /// Whether others have it too: it was granted besides the agent's own.
    pub(crate) is_shared: bool,
    identity: FileIdentity,
    /// Folders inside it for which something else holds.
    fences: Vec<Fence>,
}

/// A folder inside a granted one, and what may be done there: nothing at all, or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    identity: FileIdentity,
    mode: Option<AccessMode>,
}

impl AgentFolders {
    /// A description; nothing is opened.
    pub fn new(home: PathBuf, user_home: Option<PathBuf>, common: Vec<Granted>) -> Self {
        let (folder, own) = (None, Users::Agent);
        Self { home, user_home, common, folder, own, opened: Mutex::default() }
    }

    /// The same for the agent with this folder below the home.
    #[must_use]
    pub fn of(self, folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..self }
    }

    /// The same, of which these work in the first.
    #[must_use]
    pub fn used_by(self, own: Users) -> Self {
        Self { own, ..self }
    }

    /// The folders every conversation has. Opened once for all who work at the same time.
    pub(crate) fn open(&self) -> Result<Arc<Common>, FileError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(common) = opened.upgrade() {
            return Ok(common);
        }
        let common = Arc::new(self.open_common()?);
        *opened = Arc::downgrade(&common);
        Ok(common)
    }

    /// Writes a new file of output into a folder below the home; its path. The oldest one
    /// goes when there are too many.
    pub(crate) fn keep_output(
        &self,
        output: &Path,
        bytes: &[u8],
        words: QuotedSource,
    ) -> Result<PathBuf, FileError> {
        let common = self.open()?;
        let path = self.home.join(output);
        let shown = path.display().to_string();
        let failed = |error| FileError::of(&shown, error);
        let folder = kernel::open_own(common.home.as_fd(), output).map_err(failed)?;
        let (entries, _) = kernel::list(&folder, Path::new(""), OUTPUTS_MAX * 2).map_err(failed)?;
        let number = |name: &OsStr| -> Option<u64> {
            let stem = name.to_str()?.strip_suffix(PRINTED)?;
            stem.strip_suffix(FOREIGN_STEM).unwrap_or(stem).parse().ok()
        };
        let mut kept: Vec<(u64, &OsStr)> =
            entries.iter().filter_map(|it| Some((number(&it.name)?, &*it.name))).collect();
        kept.sort_unstable();
        let excess = (kept.len() + 1).saturating_sub(OUTPUTS_MAX);
        for (_, old) in kept.iter().take(excess) {
            let _ = kernel::remove(&folder, old);
        }
        let mut next = kept.last().map_or(1, |(last, _)| last + 1);
        let foreign = match words {
            QuotedSource::Own => "",
            QuotedSource::Foreign => FOREIGN_STEM,
        };
        loop {
            let name = format!("{next}{foreign}{PRINTED}");
            match kernel::write_new(&folder, OsStr::new(&name), bytes, None) {
                Ok(()) => return Ok(path.join(name)),
                // Another turn of the same conversation was quicker.
                Err(Errno::EXIST) => next += 1,
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Where a folder is, as it was granted.
    pub(crate) fn path_of(&self, granted: &Granted) -> PathBuf {
        match &granted.site {
            Site::Home(path) => self.home.join(path),
            Site::Path(path) => path.clone(),
        }
    }

    /// The folder above a path that was granted with it, and what may be done there: the one
    /// nearest to it. The agent's own is none of them where `path` is outside of the home.
    pub fn grant_around(&self, path: &Path) -> Option<AccessMode> {
        let around = self.common.iter().filter(|it| path.starts_with(self.path_of(it)));
        around.max_by_key(|it| self.path_of(it).components().count()).map(|it| it.mode)
    }

    /// A path below the home, whole.
    pub(crate) fn below_home(&self, path: &Path) -> PathBuf {
        self.home.join(path)
    }

    /// Keeps what somebody sent along in a folder below the home, under the name that its
    /// content has there; its path. What is there already is not written again.
    pub(crate) fn keep_attachment(
        &self,
        output: &Path,
        name: &str,
        bytes: &[u8],
    ) -> Result<PathBuf, FileError> {
        let common = self.open()?;
        let path = self.home.join(output);
        let shown = path.display().to_string();
        let failed = |error| FileError::of(&shown, error);
        let folder = kernel::open_own(common.home.as_fd(), output).map_err(failed)?;
        let (entries, _) =
            kernel::list(&folder, Path::new(""), ATTACHMENTS_MAX * 2).map_err(failed)?;
        if entries.len() >= ATTACHMENTS_MAX {
            return Err(FileError::Unfit("this conversation has too many attachments".to_owned()));
        }
        let name = OsStr::new(name);
        match kernel::write_new(&folder, name, bytes, None) {
            Ok(()) | Err(Errno::EXIST) => Ok(path.join(name)),
            Err(error) => Err(failed(error)),
        }
    }

    /// What becomes of each folder that has to be there: the folder, or why nobody is given it.
    /// Nothing is made, not even what would be.
    pub fn look(&self) -> Result<Vec<Result<GivenFolder, String>>, FileError> {
        let common = self.open_home()?;
        let there = self.common.iter().filter(|granted| granted.absent == Absent::Leave);
        let look = |granted| {
            let root = common.open(granted)?;
            root.folder().map_err(|error| error.to_string())
        };
        Ok(there.map(look).collect())
    }

    /// Why a folder can't be granted by this path for a conversation, if it can't: nothing could be
    /// opened in it.
    pub fn unfit(&self, path: &Path) -> Option<String> {
        let shown = path.display();
        let folder = match kernel::open_granted(path) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Some(format!("`{shown}` does not exist")),
            Err(Errno::NOTDIR) => return Some(format!("`{shown}` is not a folder")),
            Err(Errno::LOOP) => {
                return Some(format!("`{shown}` goes through a symbolic link; give its real path"));
            }
            Err(error) => return Some(format!("`{shown}` can't be opened: {error}")),
        };
        let fits = || -> Result<(), String> {
            let unreadable = |error: Errno| format!("`{shown}` can't be opened: {error}");
            let home = self.open_home().map_err(|error| error.to_string())?;
            let identity = FileIdentity::of(&folder).map_err(unreadable)?;
            let root = Root {
                path: path.to_owned(),
                folder,
                mode: AccessMode::Ro,
                is_shared: true,
                identity,
                fences: Vec::new(),
            };
            root.outside(home.identity, home.own).map(drop)
        };
        fits().err()
    }

    /// Whether the home of the daemon lies somewhere in a folder.
    pub fn is_around_home(&self, path: &Path) -> bool {
        let (Ok(folder), Ok(home)) = (kernel::open_granted(path), self.open_home()) else {
            return false;
        };
        let identity = FileIdentity::of(&folder);
        identity.is_ok_and(|it| it != home.identity && kernel::up_to(&home.home, it).is_ok())
    }

    /// The home, and none of the folders yet.
    fn open_home(&self) -> Result<Common, FileError> {
        let shown = self.home.display().to_string();
        let failed = |error| FileError::of(&shown, error);
        let home = kernel::open_anchor(&self.home).map_err(failed)?;
        let identity = FileIdentity::of(&home).map_err(failed)?;
        let own = |own: &PathBuf| FileIdentity::of(&kernel::folder_beneath(&home, own).ok()?).ok();
        let own = self.folder.as_ref().and_then(own);
        let home_path = self.home.clone();
        Ok(Common { home, identity, own, home_path, roots: Vec::new(), absent: Vec::new() })
    }

    fn open_common(&self) -> Result<Common, FileError> {
        let mut common = self.open_home()?;
        let mut roots = Vec::new();
        for (place, granted) in self.common.iter().enumerate() {
            match common.open(granted) {
                // The first one is the agent's own.
                Ok(root) => {
                    let is_shared = place > 0 || self.own == Users::Others;
                    roots.push(Root { is_shared, ..root });
                }
                Err(why) => common.absent.push(why),
            }
        }
        fence(&mut roots, common.identity, &self.home);
        common.roots = roots.into_iter().map(Arc::new).collect();
        Ok(common)
    }
}

impl Root {
    /// An error if it is the home of the daemon, or a folder in it that is not this agent's own:
    /// keys, tokens and other agents are there, and nobody grants these by a path.
    fn outside(self, home: FileIdentity, own: Option<FileIdentity>) -> Result<Self, String> {
        let path = self.path.display();
        if self.identity == home {
            return Err(format!("`{path}` is the home of the daemon, which is not shared"));
        }
        // Its settings, its instructions and what was said in all its chats are in it.
        if own == Some(self.identity) {
            return Err(format!(
                "`{path}` is the agent's own folder, with its settings and its database; grant a folder inside it"
            ));
        }
        // An error: the home is not above it.
        let Ok(way) = kernel::up_to(&self.folder, home) else { return Ok(self) };
        match own.is_some_and(|own| way.contains(&own)) {
            true => Ok(self),
            false => Err(format!(
                "`{path}` is in the home of the daemon, where only an agent's own folder can be \
                 granted to it"
            )),
        }
    }
}

impl Common {
    /// Opens one more folder, for one conversation. One outside of the home is as others that are
    /// granted by their path: others have it too, and what is inside of it keeps what holds there.
    pub(crate) fn own(&self, granted: &Granted) -> Result<Arc<Root>, FileError> {
        let mut root = self.open(granted).map_err(FileError::Unfit)?;
        if matches!(granted.site, Site::Path(_)) {
            root.is_shared = true;
            if !root.path.starts_with(&self.home_path) {
                root.fences.push(Fence { identity: self.identity, mode: None });
            }
            let tighter = self.roots.iter().filter(|it| {
                it.path != root.path && it.path.starts_with(&root.path) && it.mode < root.mode
            });
            let tighter: Vec<Fence> =
                tighter.map(|it| Fence { identity: it.identity, mode: Some(it.mode) }).collect();
            root.fences.extend(tighter);
        }
        Ok(Arc::new(root))
    }

    /// Opens the folder of a conversation's output, if there is one.
    pub(crate) fn output(&self, path: &Path) -> Option<Arc<Root>> {
        let site = Site::Home(path.to_owned());
        let granted = Granted { site, mode: AccessMode::Ro, absent: Absent::Leave };
        self.open(&granted).ok().map(Arc::new)
    }

    fn open(&self, granted: &Granted) -> Result<Root, String> {
        let path = match &granted.site {
            Site::Home(path) => self.home_path.join(path),
            Site::Path(path) => path.clone(),
        };
        let folder = match (&granted.site, granted.absent) {
            (Site::Home(path), Absent::Make) => kernel::open_own(self.home.as_fd(), path),
            (Site::Home(path), Absent::Leave) => kernel::folder_beneath(&self.home, path),
            (Site::Path(path), absent) => match (kernel::open_granted(path), absent) {
                (Err(Errno::NOENT), Absent::Make) => {
                    kernel::make_granted(path).and_then(|()| kernel::open_granted(path))
                }
                (opened, _) => opened,
            },
        };
        let (folder, identity) = folder
            .and_then(|folder| FileIdentity::of(&folder).map(|identity| (folder, identity)))
            .map_err(|error| unusable(&path, error))?;
        let (mode, is_shared, fences) = (granted.mode, false, Vec::new());
        let root = Root { path, folder, mode, is_shared, identity, fences };
        match granted.site {
            Site::Home(_) => Ok(root),
            Site::Path(_) => root.outside(self.identity, self.own),
        }
    }
}

fn unusable(path: &Path, error: Errno) -> String {
    let path = path.display();
    match error {
        Errno::NOENT => format!("`{path}` was granted and does not exist"),
        Errno::NOTDIR => format!("`{path}` was granted and is not a folder"),
        Errno::LOOP => format!(
            "`{path}` was granted and goes through a symbolic link; the operator has to write its real path"
        ),
        error => format!("`{path}` was granted and can't be opened: {error}"),
    }
}

/// Notes which granted folders have, somewhere inside, one for which something else holds.
/// Granted paths have no links in them, so one that lies inside another shows by its path;
/// what is inside is then told by its identity, whatever it is called.
fn fence(roots: &mut [Root], home: FileIdentity, home_path: &Path) {
    let inner: Vec<(PathBuf, FileIdentity, AccessMode)> =
        roots.iter().map(|root| (root.path.clone(), root.identity, root.mode)).collect();
    for root in roots {
        // The home may have been reached by a link, so its path says nothing about where it
        // is not. A folder that is itself below the home can't contain it.
        if !root.path.starts_with(home_path) {
            root.fences.push(Fence { identity: home, mode: None });
        }
        let tighter = inner.iter().filter(|(path, _, mode)| {
            path != &root.path && path.starts_with(&root.path) && *mode < root.mode
        });
        let tighter: Vec<Fence> =
            tighter.map(|it| Fence { identity: it.1, mode: Some(it.2) }).collect();
        root.fences.extend(tighter);
    }
}

impl Root {
    /// What the folder is, whatever it is called.
    pub(super) fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// The folder as a program is given it.
    pub(crate) fn folder(&self) -> Result<GivenFolder, FileError> {
        let failed = |error| FileError::of(&self.path.display().to_string(), error);
        let real = kernel::real_path(&self.folder).map_err(failed)?;
        let uid = rustix::fs::fstat(&self.folder).map_err(failed)?.st_uid;
        Ok(GivenFolder { path: self.path.clone(), real, mode: self.mode, uid })
    }

    /// What may be done in a folder below this root; an error where nothing may.
    pub(crate) fn mode_at(&self, folder: impl AsFd, shown: &str) -> Result<AccessMode, FileError> {
        if self.fences.is_empty() {
            return Ok(self.mode);
        }
        let way = kernel::up_to(folder, self.identity).map_err(|it| FileError::of(shown, it))?;
        let mut mode = self.mode;
        for fence in self.fences.iter().filter(|fence| way.contains(&fence.identity)) {
            match fence.mode {
                Some(inner) => mode = mode.min(inner),
                None => {
                    return Err(FileError::Refused(format!(
                        "`{shown}` is in the home of the daemon, which no granted folder opens"
                    )));
                }
            }
        }
        Ok(mode)
    }
}
