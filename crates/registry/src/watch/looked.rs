//! Changes in folders found by looking, where the system does not tell.
#![expect(clippy::disallowed_methods, reason = "looks at the files of a configuration")]

use super::marks::FILES;
use insula_config::skills::DOCUMENT;
use insula_world::World;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

/// How often folders are looked at.
const EVERY: Duration = Duration::from_secs(2);

/// How the files of a configuration last looked.
pub(super) struct Looked(u64);

impl Looked {
    /// A first look.
    pub(super) fn at(folders: &BTreeSet<PathBuf>) -> Self {
        Self(look(folders))
    }

    /// Waits until files look otherwise than when this last ended, and the same twice.
    pub(super) async fn changed(&mut self, folders: &BTreeSet<PathBuf>, world: &World) {
        let known = self.0;
        let mut before = known;
        loop {
            world.clock.sleep(EVERY).await;
            let now = look(folders);
            if now != known && now == before {
                self.0 = now;
                return;
            }
            before = now;
        }
    }
}

/// A figure that differs when a file came, went or was written.
fn look(folders: &BTreeSet<PathBuf>) -> u64 {
    let mut figure = DefaultHasher::new();
    for folder in folders {
        // The folder itself too: an agent's folder that came is a change of `agents`.
        let names = FILES.iter().map(|name| OsStr::from_bytes(name)).chain([OsStr::new(DOCUMENT)]);
        let files = names.map(|name| folder.join(name));
        let holds_folders = |part: &OsStr| part == "skills" || part == "policies";
        let is_one = folder.ends_with("agents") || folder.iter().any(holds_folders);
        let folder = is_one.then(|| folder.clone());
        for path in files.chain(folder) {
            if let Ok(file) = fs::metadata(&path) {
                let written = (file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
                (path, file.ino(), file.size(), written).hash(&mut figure);
            }
        }
    }
    figure.finish()
}
