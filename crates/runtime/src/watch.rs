//! Notices edits of configuration files and asks for a reload.
//!
//! Folders of configuration are watched, not files and not recursively: editors replace
//! files, and a workspace must not be able to use up the watches. Where watching can't be
//! had, the same folders are looked at every few seconds.
#![expect(clippy::disallowed_methods, reason = "owns the watches on configuration folders")]

use crate::home::Home;
use insula_world::World;
use notify::event::ModifyKind;
use notify::{
    Config, Event, EventHandler, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long files must be quiet before they are read: an editor that writes in several
/// steps, or several files saved together, make one reload.
pub const QUIET: Duration = Duration::from_millis(150);

/// How often folders are looked at where they can't be watched.
const POLL_EVERY: Duration = Duration::from_secs(2);

/// Watches the configuration of one home.
pub struct ConfigWatch {
    watcher: Box<dyn Watcher + Send>,
    watched: BTreeSet<PathBuf>,
    lost: Lost,
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
        let lost = Lost::default();
        let watcher = make(Tell { tell, lost: lost.clone() })?;
        let mut watch = Self { watcher, watched: BTreeSet::new(), lost, events, method };
        watch.cover(home)?;
        Ok(watch)
    }

    /// How edits are noticed here.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Watches the folders there are now and lets go of those that are gone.
    pub fn cover(&mut self, home: &Home) -> notify::Result<()> {
        for path in std::mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner)) {
            if self.watched.remove(&path) {
                let _ = self.watcher.unwatch(&path);
            }
        }
        let folders = home.configuration_folders();
        for gone in self.watched.difference(&folders) {
            // A folder that was removed took its watch along.
            let _ = self.watcher.unwatch(gone);
        }
        for folder in folders.difference(&self.watched) {
            match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                Err(error) if !matches!(error.kind, notify::ErrorKind::PathNotFound) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        self.watched = folders;
        Ok(())
    }

    /// Waits until something changed and then stayed quiet for a moment.
    pub async fn changed(&mut self, world: &World) {
        if self.events.recv().await.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::select! {
                more = self.events.recv() => if more.is_none() { return },
                () = world.clock.sleep(QUIET) => return,
            }
        }
    }
}

/// What was removed or renamed since the last look: a folder among them took its watch along,
/// and one of the same name that came after it has none.
type Lost = Arc<Mutex<BTreeSet<PathBuf>>>;

/// Passes on that something changed.
struct Tell {
    tell: mpsc::Sender<()>,
    lost: Lost,
}

impl EventHandler for Tell {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        // An error may have swallowed an event: better one look too many.
        if !event.as_ref().map_or(true, concerns_configuration) {
            return;
        }
        if let Ok(Event {
            kind: EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)),
            paths,
            ..
        }) = event
        {
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).extend(paths);
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
    !matches!(event.kind, EventKind::Access(_))
        && (event.paths.is_empty() || event.paths.iter().any(by_name))
}
