//! Bounds what only a quota could deny: space and files on the disks that a program writes to.
//!
//! Looks while the program runs. When free space falls under the floor, or falls by more than
//! one program may take, it finds out how much of that was written in the program's own
//! folders; whoever did it is ended. A program that did not is left alone, unless the disk
//! goes on filling and nobody can be found: content without a name shows in no folder.

use insula_config::programs::DiskLimits;
use insula_domain::disk::{Floor, Scarce, Space};
use insula_sandbox::disk::{Written, space, written_since};
use insula_world::{Timestamp, World};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// How often it looks. A disk that takes 2 GB a second is noticed well above the floor.
const TICK: Duration = Duration::from_millis(100);
/// How much one program may take, unless configured.
const GROWTH_BYTES: u64 = 20_000_000_000;
/// How many files one program may make, unless configured: several builds' worth.
const NEW_FILES: u64 = 1_000_000;
/// What a program may take though there was too little from the start: enough to tidy up.
const SLACK_BYTES: u64 = 16_000_000;
/// The same for files.
const SLACK_FILES: u64 = 100;
/// Who wrote this part of what went is the one who did it.
const SHARE: u64 = 4;
/// Looks at a disk that goes on filling by nobody's hand, before everyone who could is ended.
const STRIKES_MAX: u32 = 20;

/// Why a program was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The disk has less left than is kept free.
    Floor(Scarce, u64),
    /// It took more than one program may.
    Growth(u64),
    /// It made more files than one program may.
    Files(u64),
}

impl Over {
    /// In words, for the model.
    pub(crate) fn words(self) -> String {
        let mb = |bytes: u64| bytes / 1_000_000;
        match self {
            Self::Floor(Scarce::Bytes, floor) => format!(
                "it filled the disk: less than {} MB are left, which are kept free (`sandbox.free_space`); remove what is not needed",
                mb(floor)
            ),
            Self::Floor(Scarce::Files, floor) => format!(
                "it made so many files that the disk has places for less than {floor} more, which are kept free; remove what is not needed"
            ),
            Self::Growth(most) => format!(
                "it wrote more than {} MB, the most one program may (`sandbox.growth`)",
                mb(most)
            ),
            Self::Files(most) => {
                format!(
                    "it made more than {most} files, the most one program may (`sandbox.new_files`)"
                )
            }
        }
    }

    /// For the audit trail.
    pub(crate) fn record(self) -> Value {
        let (limit, value) = match self {
            Self::Floor(Scarce::Bytes, floor) => ("free_space", floor),
            Self::Floor(Scarce::Files, floor) => ("free_files", floor),
            Self::Growth(most) => ("growth", most),
            Self::Files(most) => ("new_files", most),
        };
        json!({ "limit": limit, "value": value })
    }
}

/// Watches the disks of one program.
pub(crate) struct Watchdog {
    world: World,
    since: Timestamp,
    limits: DiskLimits,
    folders: Vec<Folder>,
}

struct Folder {
    path: PathBuf,
    start: Space,
    last: Space,
    strikes: u32,
    /// How much had gone at the last look into the folder. It is not searched again for less
    /// than an eighth more.
    searched: u64,
}

impl Watchdog {
    /// Notes what the disks of these folders have, before the program begins.
    pub(crate) async fn new(world: &World, folders: &[PathBuf], limits: DiskLimits) -> Self {
        let since = world.clock.now();
        let paths = folders.to_vec();
        let look = move || -> Vec<Folder> {
            let found = paths.into_iter().filter_map(|path| {
                let start = space(&path).ok()?;
                Some(Folder { path, start, last: start, strikes: 0, searched: 0 })
            });
            found.collect()
        };
        let folders = world.storage.run(look).await.unwrap_or_default();
        Self { world: world.clone(), since, limits, folders }
    }

    /// Comes when the program has to end.
    pub(crate) async fn barks(mut self) -> Over {
        loop {
            self.world.clock.sleep(TICK).await;
            let (since, limits) = (self.since, self.limits);
            let mut folders = std::mem::take(&mut self.folders);
            let looked = self.world.storage.run(move || {
                let over = folders.iter_mut().find_map(|folder| folder.look(since, &limits));
                (folders, over)
            });
            match looked.await {
                Ok((_, Some(over))) => return over,
                Ok((folders, None)) => self.folders = folders,
                // The daemon stops, and all programs with it.
                Err(_) => std::future::pending().await,
            }
        }
    }
}

impl Folder {
    fn look(&mut self, since: Timestamp, limits: &DiskLimits) -> Option<Over> {
        let now = space(&self.path).ok()?;
        let suspicion = suspect(&self.start, &now, limits);
        let over = suspicion.and_then(|over| {
            let gone = gone(&self.start, &now, over);
            if gone > self.searched.saturating_add(self.searched / 8) {
                self.searched = gone;
                let written = written_since(&self.path, since.as_millis()).ok()?;
                if did(over, &written, gone) {
                    return Some(over);
                }
            }
            self.strikes = match (over, gone > gone_by(&self.start, &self.last, over)) {
                (Over::Floor(..), true) => self.strikes + 1,
                _ => 0,
            };
            (self.strikes >= STRIKES_MAX).then_some(over)
        });
        self.last = now;
        over
    }
}

/// What may have been exceeded, by what the disk has left.
fn suspect(start: &Space, now: &Space, limits: &DiskLimits) -> Option<Over> {
    let bytes = start.free_bytes.saturating_sub(now.free_bytes);
    let files = start.free_files.saturating_sub(now.free_files);
    let growth = limits.growth.unwrap_or(GROWTH_BYTES);
    let new_files = limits.new_files.unwrap_or(NEW_FILES);
    if bytes > growth {
        return Some(Over::Growth(growth));
    }
    if files > new_files {
        return Some(Over::Files(new_files));
    }
    let floor = Floor::new(limits.free_space);
    match floor.breached(now, 0)? {
        Scarce::Bytes if bytes > SLACK_BYTES => Some(Over::Floor(Scarce::Bytes, floor.bytes(now))),
        Scarce::Files if files > SLACK_FILES => Some(Over::Floor(Scarce::Files, floor.files(now))),
        _ => None,
    }
}

/// How much of what it is about has gone since the start.
fn gone(start: &Space, now: &Space, over: Over) -> u64 {
    match over {
        Over::Floor(Scarce::Bytes, _) | Over::Growth(_) => {
            start.free_bytes.saturating_sub(now.free_bytes)
        }
        Over::Floor(Scarce::Files, _) | Over::Files(_) => {
            start.free_files.saturating_sub(now.free_files)
        }
    }
}

fn gone_by(start: &Space, last: &Space, over: Over) -> u64 {
    gone(start, last, over)
}

/// Whether what was written in the program's folders explains what has gone.
fn did(over: Over, written: &Written, gone: u64) -> bool {
    match over {
        Over::Growth(most) => written.bytes.min(gone) > most,
        Over::Files(most) => written.files.min(gone) > most,
        Over::Floor(Scarce::Bytes, _) => written.bytes >= gone / SHARE,
        Over::Floor(Scarce::Files, _) => written.files >= gone / SHARE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn disk(free_bytes: u64, free_files: u64) -> Space {
        Space { free_bytes, total_bytes: 100 * GB, free_files, total_files: 10_000_000 }
    }

    #[test]
    fn what_has_gone_makes_suspicious_and_what_never_was_there_does_not() {
        let limits = DiskLimits { free_space: Some(GB), growth: Some(5 * GB), new_files: Some(50) };
        let bytes = Over::Floor(Scarce::Bytes, GB);
        for (start, now, expected) in [
            (disk(10 * GB, 5_000_000), disk(9 * GB, 5_000_000), None),
            (disk(10 * GB, 5_000_000), disk(4 * GB, 5_000_000), Some(Over::Growth(5 * GB))),
            (disk(10 * GB, 5_000_000), disk(10 * GB, 4_999_900), Some(Over::Files(50))),
            (disk(2 * GB, 5_000_000), disk(GB - 1, 5_000_000), Some(bytes)),
            // There was too little before: a little more may go, so that one can tidy up.
            (disk(GB / 2, 5_000_000), disk(GB / 2 - 1_000_000, 5_000_000), None),
            (disk(GB / 2, 5_000_000), disk(GB / 2 - 20_000_000, 5_000_000), Some(bytes)),
            // Space that comes back is no sign of anything.
            (disk(GB / 2, 5_000_000), disk(GB - 1, 5_000_000), None),
        ] {
            assert_eq!(suspect(&start, &now, &limits), expected, "{start:?} {now:?}");
        }
    }

    #[test]
    fn who_wrote_it_did_it_and_who_did_not_is_left_alone() {
        let mut written = Written::default();
        written.bytes = 3 * GB;
        assert!(did(Over::Floor(Scarce::Bytes, GB), &written, 4 * GB));
        assert!(!did(Over::Floor(Scarce::Bytes, GB), &written, 40 * GB));
        assert!(did(Over::Growth(2 * GB), &written, 4 * GB));
        // What is large and was only touched did not take anything.
        assert!(!did(Over::Growth(2 * GB), &written, GB));
        assert!(!did(Over::Files(10), &written, 100));
    }
}
