//! The hand of the file tools: the folders of one conversation, what its reader has seen,
//! and where blocking work runs. Bound when it is made; no method names an agent.

mod change;
mod desk;
pub(crate) mod text;

pub(crate) use change::{Act, Edited, Wish};
pub use desk::{Buffers, FileChange, Seat};

use crate::output::{HandError, QuotedSource, ToolError};
use crate::workspace::states::{FileReader, FileStates, LineRange, Replaces, Seen, Stale, Version};
use crate::workspace::{
    AgentFolders, FileError, FilePlace, GivenFolder, Granted, Loaded, Parents, ResolvedPath,
    Workspace,
};
use insula_domain::disk::Floor;
use insula_domain::{AccessMode, StaleWrites};
use insula_world::{Clock, World};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Largest file that is read or changed. Its content is held, hashed and compared as a whole.
pub(crate) const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Files, as far as one conversation of one agent reaches.
#[derive(Clone)]
pub struct Files {
    access: Arc<FileAccess>,
    world: World,
}

/// What a file tool works with, on a thread that may wait.
pub(crate) struct FileAccess {
    place: Arc<AgentFolders>,
    own: Option<Granted>,
    /// Where long output is kept, below the home of the daemon.
    output: Option<PathBuf>,
    opened: Mutex<Option<Arc<Workspace>>>,
    pub(crate) states: Arc<FileStates>,
    pub(crate) reader: FileReader,
    pub(crate) stale_writes: StaleWrites,
    pub(crate) floor: Floor,
    /// The files that were changed by this hand, as models know them.
    changed: Mutex<BTreeSet<String>>,
    /// Whether `own` stands in the place of the agent's own folder.
    leaves_out_common: bool,
    /// What an editor has open.
    buffers: Option<Arc<Buffers>>,
}

/// Says when work should stop: because nobody waits for it any more, or it took too long.
pub(crate) struct Patience {
    clock: Arc<dyn Clock>,
    until: Duration,
    abandoned: Arc<AtomicBool>,
}

impl Patience {
    pub(crate) fn is_over(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed) || self.clock.elapsed() >= self.until
    }
}

/// Changed files that are remembered by name.
const CHANGED_MAX: usize = 1_000;

/// Longest a file tool works on one call.
const CALL_MAX: Duration = Duration::from_secs(10);

impl Files {
    /// The files of one conversation: the folders in `place`, and before them `own`, where
    /// the conversation has a folder of its own; `output` is a folder below the home for what
    /// programs print, which can be read once something is in it. Nothing is opened until a tool
    /// needs it.
    pub fn new(
        place: Arc<AgentFolders>,
        own: Option<Granted>,
        states: Arc<FileStates>,
        reader: FileReader,
        stale_writes: StaleWrites,
        output: Option<PathBuf>,
        world: World,
    ) -> Self {
        let opened = Mutex::default();
        let changed = Mutex::default();
        let floor = Floor::default();
        let access = FileAccess {
            place,
            own,
            output,
            opened,
            states,
            reader,
            stale_writes,
            floor,
            changed,
            leaves_out_common: false,
            buffers: None,
        };
        Self { access: Arc::new(access), world }
    }

    /// The same files for a child: it reaches the folders of `place` and no others, does at
    /// most `mode` in what is the conversation's own, and has seen nothing yet.
    pub fn for_child(
        &self,
        place: Arc<AgentFolders>,
        mode: AccessMode,
        reader: FileReader,
    ) -> Self {
        let FileAccess { own, output, states, stale_writes, floor, .. } = &*self.access;
        let own = own.clone().map(|own| Granted { mode: own.mode.min(mode), ..own });
        let (states, output) = (states.clone(), output.clone());
        let mut child =
            Self::new(place, own, states, reader, *stale_writes, output, self.world.clone())
                .leaving(*floor);
        if let Some(access) = Arc::get_mut(&mut child.access) {
            access.leaves_out_common = self.access.leaves_out_common;
        }
        child
    }

    /// The files that were changed through this hand, by paths that models know.
    pub fn changed(&self) -> Vec<String> {
        self.access.changed().iter().cloned().collect()
    }

    /// Counts what somebody did on behalf of whoever has this hand.
    pub fn also_changed(&self, paths: &[String]) {
        paths.iter().for_each(|path| self.access.note_change(path));
    }

    /// The same files, with another part of their disk left alone. For when they are made.
    #[must_use]
    pub fn leaving(mut self, floor: Floor) -> Self {
        if let Some(access) = Arc::get_mut(&mut self.access) {
            access.floor = floor;
        }
        self
    }

    /// The folders as programs may be given them, the first one first. Those that are missing
    /// and are not made are left out.
    pub async fn folders(&self) -> Result<Vec<GivenFolder>, ToolError> {
        self.work(|access, _| access.workspace()?.given()).await
    }

    /// Where paths lead that a tool is called with, and what was granted inside of there. Those
    /// that lead out of all folders are left out.
    pub async fn places_of(&self, paths: Vec<String>) -> Result<Vec<FilePlace>, ToolError> {
        self.work(move |access, _| {
            let workspace = access.workspace()?;
            Ok(paths.iter().flat_map(|path| workspace.places_of(path)).collect())
        })
        .await
    }

    /// All folders that can be reached.
    pub async fn places(&self) -> Result<Vec<FilePlace>, ToolError> {
        self.work(|access, _| Ok(access.workspace()?.places())).await
    }

    /// Keeps what a program printed, or what came from outside, in a file of this
    /// conversation; its path.
    pub async fn keep_output(
        &self,
        bytes: Vec<u8>,
        words: QuotedSource,
    ) -> Result<String, ToolError> {
        self.work(move |access, _| access.keep_output(&bytes, words)).await
    }

    /// Keeps what somebody sent along in a file of this conversation, by its content: `kind` is
    /// what its name ends with. Its path, and the hash of its content.
    pub async fn keep_attachment(
        &self,
        bytes: Vec<u8>,
        kind: &'static str,
    ) -> Result<(String, [u8; 32]), ToolError> {
        self.work(move |access, _| access.keep_attachment(&bytes, kind)).await
    }

    /// What is kept of that content in this conversation, as it was.
    pub async fn kept_attachment(
        &self,
        hash: [u8; 32],
        kind: &'static str,
    ) -> Result<Vec<u8>, ToolError> {
        self.work(move |access, _| access.kept_attachment(&hash, kind)).await
    }

    /// Does blocking work, away from the threads that serve.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FileAccess, &Patience) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let access = self.access.clone();
        let clock = self.world.clock.clone();
        let abandoned = Arc::new(AtomicBool::new(false));
        let _guard = Abandon(abandoned.clone());
        let until = clock.elapsed() + CALL_MAX;
        let patience = Patience { clock, until, abandoned };
        match self.world.storage.run(move || work(&access, &patience)).await {
            Ok(done) => done.map_err(ToolError::from),
            Err(stopped) => Err(ToolError::Hand(HandError(stopped.to_string()))),
        }
    }
}

/// Tells the work that nobody waits for it any more.
struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl FileAccess {
    fn changed(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that a file was changed.
    fn note_change(&self, path: &str) {
        let mut changed = self.changed();
        if changed.len() < CHANGED_MAX {
            changed.insert(path.to_owned());
        }
    }

    /// The folders, opened on first use and held as long as this conversation works.
    pub(crate) fn workspace(&self) -> Result<Arc<Workspace>, FileError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workspace) = &*opened {
            return Ok(workspace.clone());
        }
        let own = self.own.as_ref();
        let workspace = match self.leaves_out_common {
            true => Workspace::open_without_common(&self.place, own, self.output.as_deref())?,
            false => Workspace::open(&self.place, own, self.output.as_deref())?,
        };
        let workspace = Arc::new(workspace);
        *opened = Some(workspace.clone());
        Ok(workspace)
    }

    fn keep_output(&self, bytes: &[u8], words: QuotedSource) -> Result<String, FileError> {
        let Some(output) = &self.output else {
            return Err(FileError::Unfit("there is no place for output here".to_owned()));
        };
        let path = self.place.keep_output(output, bytes, words)?;
        // The folder may be new, and what is open does not have it then.
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(path.display().to_string())
    }

    fn keep_attachment(
        &self,
        bytes: &[u8],
        kind: &'static str,
    ) -> Result<(String, [u8; 32]), FileError> {
        let Some(output) = &self.output else {
            return Err(FileError::Unfit("there is no place for attachments here".to_owned()));
        };
        let hash = *blake3::hash(bytes).as_bytes();
        let path = self.place.keep_attachment(output, &attachment_name(&hash, kind), bytes)?;
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok((path.display().to_string(), hash))
    }

    fn kept_attachment(&self, hash: &[u8; 32], kind: &'static str) -> Result<Vec<u8>, FileError> {
        let missing = || FileError::Missing("it is not kept any more".to_owned());
        let output = self.output.as_ref().ok_or_else(missing)?;
        let path = self.place.below_home(output).join(attachment_name(hash, kind));
        let (_, Loaded { bytes, .. }) = self.load(&path.display().to_string())?;
        if blake3::hash(&bytes) != *hash {
            return Err(FileError::Unfit("what is kept is not what came".to_owned()));
        }
        Ok(bytes)
    }

    /// Reads a file whole.
    pub(crate) fn load(&self, path: &str) -> Result<(ResolvedPath, Loaded), FileError> {
        let resolved = self.workspace()?.locate(path, Parents::Expect)?;
        match self.as_open(&resolved)? {
            Some(loaded) => Ok((resolved, loaded)),
            None => Err(FileError::Missing(format!("`{path}` does not exist"))),
        }
    }

    /// Notes that the reader saw lines of what was loaded.
    pub(crate) fn saw(
        &self,
        resolved: &ResolvedPath,
        loaded: &Loaded,
        parts: &[LineRange],
        total: usize,
    ) {
        let version = Version::of(&loaded.bytes);
        for lines in parts {
            let seen = Seen::lines(lines.clone(), total);
            self.states.read(&self.reader, &resolved.key, version, seen, total);
        }
    }

    /// Judges a write that replaces nothing yet, or nothing but what its writer gives. What stands
    /// against it because nothing was read comes back, for whoever needs that.
    fn judge_unless_unread(
        &self,
        resolved: &ResolvedPath,
        loaded: &Loaded,
    ) -> Result<Result<Option<String>, FileError>, FileError> {
        let nothing = Replaces::Lines(Vec::new());
        let version = Version::of(&loaded.bytes);
        let stale = self.states.judge(&self.reader, &resolved.key, version, &nothing);
        match self.judge(resolved, loaded, &nothing) {
            Err(error) if stale != Err(Stale::Unread) => Err(error),
            judged => Ok(judged),
        }
    }

    /// Judges a write over `loaded`; a warning where it may happen all the same.
    fn judge(
        &self,
        resolved: &ResolvedPath,
        loaded: &Loaded,
        replaces: &Replaces,
    ) -> Result<Option<String>, FileError> {
        let version = Version::of(&loaded.bytes);
        let Err(stale) = self.states.judge(&self.reader, &resolved.key, version, replaces) else {
            return Ok(None);
        };
        let shown = &resolved.shown;
        match self.stale_writes {
            StaleWrites::Warn => {
                Ok(Some(format!("warning: `{shown}` was written although {stale}")))
            }
            StaleWrites::Refuse => Err(FileError::Refused(format!(
                "`{shown}` was not written: {stale}; read it with read_file now, then make the change again on what it says"
            ))),
        }
    }
}

/// What a file of that content is called.
fn attachment_name(hash: &[u8; 32], kind: &str) -> String {
    let name: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}.{kind}")
}
