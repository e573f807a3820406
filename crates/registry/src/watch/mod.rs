//! Notices edits of configuration files and asks for a reload.
//!
//! Folders of configuration are watched, not files and not recursively: editors replace
//! files, and a workspace must not be able to use up the watches. Where watching can't be
//! had, the same folders are looked at every few seconds.

mod kernel;
mod looked;
mod marks;

use crate::home::Home;
use insula_world::World;
use kernel::Kernel;
use looked::Looked;
use marks::Marks;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long files must be quiet before they are read: an editor that writes in several
/// steps, or several files saved together, make one reload.
pub const QUIET: Duration = Duration::from_millis(150);

/// How long a file that somebody still writes is waited for after its last change. A writer
/// that died closed the file; this bounds one that keeps it open for ever.
pub const WRITING_MAX: Duration = Duration::from_secs(30);

/// How long a new folder of an agent waits at most to be looked at, where others came just before.
/// Every agent gets one with its first turn, and each look goes through all agents: with thousands
/// whose first turns come one after the other nothing else would be done.
const FOLDER_REST_MAX: Duration = Duration::from_secs(10);
/// How many times as long as a look takes such a folder waits for the next.
const FOLDER_REST: u32 = 4;

/// Watches the configuration of one home.
pub struct ConfigWatch {
    eyes: Eyes,
    watched: BTreeSet<PathBuf>,
    marks: Marks,
    /// When a change was last told: from then until the next is asked for, somebody looks.
    told: Option<Duration>,
}

/// How edits are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The system tells.
    Notified,
    /// By looking every few seconds.
    Polled,
}

enum Eyes {
    Kernel(Kernel),
    Looked(Looked),
}

impl ConfigWatch {
    /// Begins to watch: as the system tells, or else by looking.
    pub fn start(home: &Home) -> Self {
        let told =
            Kernel::new(home.root()).and_then(|kernel| Self::over(home, Eyes::Kernel(kernel)));
        told.unwrap_or_else(|_| {
            let watched = home.configuration_folders();
            let eyes = Eyes::Looked(Looked::at(&watched));
            Self { eyes, watched, marks: Marks::default(), told: None }
        })
    }

    fn over(home: &Home, eyes: Eyes) -> io::Result<Self> {
        let marks = Marks::default();
        let mut watch = Self { eyes, watched: BTreeSet::new(), marks, told: None };
        watch.cover(home)?;
        Ok(watch)
    }

    /// How edits are noticed here.
    pub fn method(&self) -> Method {
        match self.eyes {
            Eyes::Kernel(_) => Method::Notified,
            Eyes::Looked(_) => Method::Polled,
        }
    }

    /// Watches the folders there are now and lets go of those that are gone.
    pub fn cover(&mut self, home: &Home) -> io::Result<()> {
        let Eyes::Kernel(kernel) = &mut self.eyes else {
            self.watched = home.configuration_folders();
            return Ok(());
        };
        let lost = self.marks.take_lost(&self.watched);
        for path in lost {
            if self.watched.remove(&path) {
                kernel.unwatch(&path);
            }
        }
        // Until a look finds nothing new: what came between a look and the watch on the folder
        // above it told nobody.
        loop {
            let folders = home.configuration_folders();
            for gone in self.watched.difference(&folders) {
                kernel.unwatch(gone);
            }
            self.watched.retain(|watched| folders.contains(watched));
            let before = self.watched.len();
            for folder in folders {
                if self.watched.contains(&folder) {
                    continue;
                }
                match kernel.watch(&folder) {
                    Ok(()) => drop(self.watched.insert(folder)),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
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
        let Self { eyes, watched, marks, told } = self;
        let began = world.clock.elapsed();
        let looked = told.map_or(Duration::ZERO, |told| began.saturating_sub(told));
        let rested = began + (looked * FOLDER_REST).min(FOLDER_REST_MAX);
        match eyes {
            // Files that were seen at rest for as long as a look takes are at rest.
            Eyes::Looked(looked) => looked.changed(watched, world).await,
            Eyes::Kernel(kernel) => {
                kernel.told(world, marks).await;
                loop {
                    let patience = if marks.is_writing() { WRITING_MAX } else { QUIET };
                    let left = rested.saturating_sub(world.clock.elapsed());
                    // What people edit does not wait for a rest.
                    let rest = if marks.is_edited() { Duration::ZERO } else { left };
                    tokio::select! {
                        () = kernel.told(world, marks) => {}
                        // What is told with a delay may be on its way.
                        () = world.clock.sleep(patience.max(rest)) => if !kernel.take(marks) { break },
                    }
                }
                marks.forget_writers();
            }
        }
        *told = Some(world.clock.elapsed());
    }
}
