//! Notices edits of configuration files and asks for a reload.
//!
//! Folders of configuration are watched, not files and not recursively: editors replace
//! files, and a workspace must not be able to use up the watches. Where watching can't be
//! had, the same folders are looked at every few seconds.
#![expect(clippy::disallowed_methods, reason = "owns the watches on configuration folders")]

use crate::home::Home;
use insula_world::World;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{
    Config, Event, EventHandler, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long files must be quiet before they are read: an editor that writes in several
/// steps, or several files saved together, make one reload.
pub const QUIET: Duration = Duration::from_millis(150);

/// How long a file that somebody still writes is waited for after its last change. A writer
/// that died closed the file; this bounds one that keeps it open for ever.
pub const WRITING_MAX: Duration = Duration::from_secs(30);

/// How often folders are looked at where they can't be watched.
const POLL_EVERY: Duration = Duration::from_secs(2);

/// Why files can't be watched.
pub type WatchError = notify::Error;

/// Watches the configuration of one home.
pub struct ConfigWatch {
    watcher: Box<dyn Watcher + Send>,
    watched: BTreeSet<PathBuf>,
    seen: Seen,
    events: mpsc::Receiver<()>,
    method: Method,
}

/// How edits are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The system tells.
    Notified,
    /// By looking every few seconds.
    Polled,
}

impl ConfigWatch {
    /// Begins to watch: as the system tells, or else by looking.
    pub fn start(home: &Home) -> notify::Result<Self> {
        let notified = Self::over(home, Method::Notified, |handler| {
            Ok(Box::new(RecommendedWatcher::new(handler, Config::default())?))
        });
        notified.or_else(|_| {
            Self::over(home, Method::Polled, |handler| {
                let config = Config::default().with_poll_interval(POLL_EVERY);
                Ok(Box::new(PollWatcher::new(handler, config)?))
            })
        })
    }

    fn over(
        home: &Home,
        method: Method,
        make: impl FnOnce(Tell) -> notify::Result<Box<dyn Watcher + Send>>,
    ) -> notify::Result<Self> {
        // One waiting event is enough: it says "something changed", not what.
        let (tell, events) = mpsc::channel(1);
        let seen = Seen::default();
        let watcher = make(Tell { tell, seen: seen.clone() })?;
        let mut watch = Self { watcher, watched: BTreeSet::new(), seen, events, method };
        watch.cover(home)?;
        Ok(watch)
    }

    /// How edits are noticed here.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Watches the folders there are now and lets go of those that are gone.
    pub fn cover(&mut self, home: &Home) -> notify::Result<()> {
        for path in std::mem::take(&mut lock(&self.seen).lost) {
            if self.watched.remove(&path) {
                let _ = self.watcher.unwatch(&path);
            }
        }
        // Until a look finds nothing new: what came between a look and the watch on the folder
        // above it told nobody.
        loop {
            let folders = home.configuration_folders();
            self.watched.retain(|watched| {
                let is_there = folders.contains(watched);
                if !is_there {
                    // A folder that was removed took its watch along.
                    let _ = self.watcher.unwatch(watched);
                }
                is_there
            });
            let before = self.watched.len();
            for folder in folders {
                if self.watched.contains(&folder) {
                    continue;
                }
                match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                    Ok(()) => drop(self.watched.insert(folder)),
                    Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                    Err(error) => return Err(error),
                }
            }
            if self.watched.len() == before {
                return Ok(());
            }
        }
    }

    /// Waits until something changed, everybody who wrote has closed their file, and it
    /// stayed quiet for a moment.
    pub async fn changed(&mut self, world: &World) {
        if self.events.recv().await.is_none() {
            return std::future::pending().await;
        }
        loop {
            let patience = if lock(&self.seen).writing.is_empty() { QUIET } else { WRITING_MAX };
            tokio::select! {
                more = self.events.recv() => if more.is_none() { return },
                () = world.clock.sleep(patience) => break,
            }
        }
        lock(&self.seen).writing.clear();
    }
}

/// What was seen since the last look.
#[derive(Default)]
struct Marks {
    /// What came, went or was renamed: a folder that went took its watch along, and one of
    /// the same name that came after it has none.
    lost: BTreeSet<PathBuf>,
    /// Files that were written to and not closed yet: half an edit.
    writing: BTreeSet<PathBuf>,
}

type Seen = Arc<Mutex<Marks>>;

fn lock(seen: &Seen) -> MutexGuard<'_, Marks> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on that something changed.
struct Tell {
    tell: mpsc::Sender<()>,
    seen: Seen,
}

impl EventHandler for Tell {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        // An error may have swallowed an event: better one look too many.
        if !event.as_ref().map_or(true, concerns_configuration) {
            return;
        }
        if let Ok(Event { kind, paths, .. }) = event {
            let mut seen = lock(&self.seen);
            match kind {
                EventKind::Modify(ModifyKind::Data(_)) => seen.writing.extend(paths),
                EventKind::Create(_)
                | EventKind::Remove(_)
                | EventKind::Modify(ModifyKind::Name(_)) => {
                    seen.writing.retain(|path| !paths.contains(path));
                    seen.lost.extend(paths);
                }
                EventKind::Access(_) => seen.writing.retain(|path| !paths.contains(path)),
                _ => {}
            }
        }
        let _ = self.tell.try_send(());
    }
}

/// Whether an event is about a file we read, or a folder that may hold one.
fn concerns_configuration(event: &Event) -> bool {
    let by_name = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str);
        let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
        matches!(name, Some("config.yaml" | "agent.yaml" | "SOUL.md")) || folder == Some("agents")
    };
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    (event.kind == closed || !matches!(event.kind, EventKind::Access(_)))
        && (event.paths.is_empty() || event.paths.iter().any(by_name))
}
