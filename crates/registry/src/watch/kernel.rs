//! Changes in folders as the kernel tells them (inotify), asked for at most ten times a
//! second.
//!
//! An agent's database lies in a folder that is watched, and under load it is written tens of
//! thousands of times a second. Whoever listened all the time would be woken for each, which
//! cost a tenth of the daemon's speed. So after the first sign nobody listens for a moment,
//! and what has come by then is read in one go.
//!
//! By hand and not with `notify` 8.2.1, which listens all the time on a thread of its own. Beside
//! a program that writes as fast as it can to a file in the folder (two cores, 4 s, `opt-level =
//! 1`), a write cost 0.48 µs of processor time unwatched, 0.9 µs here, of which 150 events were
//! read, and 1.8 to 2.7 µs with `notify`, which read 0.6 to 2.6 million.

use super::marks::{Marks, concerns, is_of_agent};
use insula_world::World;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;

/// How long nobody listens after a sign.
const DEAF: Duration = Duration::from_millis(100);

/// Room for the events of one read: some hundreds.
const EVENTS_BYTES: usize = 16 * 1024;

/// The watches of one home.
pub(super) struct Kernel {
    descriptor: OwnedFd,
    /// The home.
    root: PathBuf,
    folders: HashMap<i32, PathBuf>,
    watches: HashMap<PathBuf, i32>,
}

impl Kernel {
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let root = root.to_owned();
        Ok(Self { descriptor, root, folders: HashMap::new(), watches: HashMap::new() })
    }

    /// Watches a folder.
    pub(super) fn watch(&mut self, folder: &Path) -> io::Result<()> {
        let flags = WatchFlags::ONLYDIR
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE;
        let watch = inotify::add_watch(&self.descriptor, folder, flags)?;
        self.folders.insert(watch, folder.to_owned());
        self.watches.insert(folder.to_owned(), watch);
        Ok(())
    }

    /// Lets go of a folder, which may be gone and have taken its watch along.
    pub(super) fn unwatch(&mut self, folder: &Path) {
        if let Some(watch) = self.watches.remove(folder) {
            self.folders.remove(&watch);
            let _ = inotify::remove_watch(&self.descriptor, watch);
        }
    }

    /// Waits until something happened that concerns a configuration, and notes all that did.
    pub(super) async fn told(&self, world: &World, marks: &mut Marks) {
        loop {
            if let Ok(ear) = self.ear() {
                let _ = ear.readable().await;
            }
            world.clock.sleep(DEAF).await;
            if self.take(marks) {
                return;
            }
        }
    }

    /// What can be listened at for one wait, and is dropped after it: as long as it is there
    /// the event loop is woken by every event. To the event loop a pipe is what it looks like.
    fn ear(&self) -> io::Result<Receiver> {
        Receiver::from_owned_fd_unchecked(self.descriptor.try_clone()?)
    }

    /// Notes what has happened by now. True if it concerns a configuration.
    pub(super) fn take(&self, marks: &mut Marks) -> bool {
        let mut room = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut reader = Reader::new(&self.descriptor, &mut room);
        let mut concerned = false;
        while let Ok(event) = reader.next() {
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                marks.overrun();
                concerned = true;
                continue;
            }
            let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name())
            else {
                continue;
            };
            if concerns(&self.root, folder, name.to_bytes()) {
                // A folder that goes takes its agent along, and one that is moved here brings one.
                let moves = ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
                if what.intersects(moves) || !is_of_agent(&self.root, folder) {
                    marks.edit();
                }
                marks.note(what, folder.join(OsStr::from_bytes(name.to_bytes())));
                concerned = true;
            }
        }
        concerned
    }
}
