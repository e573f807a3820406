//! Bounds what only a quota could deny: space and files on the disks that a program writes to.
//!
//! Looks while the program runs. What counts is what the program itself took: what was written
//! in its folders since it began, and what its processes hold of files without a name. When a
//! disk falls under its floor, the program that took most of it is ended, and nobody for what
//! others took. Content that can't be measured (mapped and closed, or on its way through a
//! socket) makes its holder the one, if the disk goes on filling and nobody explains it.

use insula_config::programs::DiskLimits;
use insula_domain::disk::{Floor, Scarce, Space};
use insula_sandbox::disk::{OPEN_MAX, Unseen, space, written_since};
use insula_sandbox::holdings::{device, holdings};
use insula_world::{Timestamp, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often it looks. A disk that takes 2 GB a second is noticed well above the floor.
const TICK: Duration = Duration::from_millis(100);
/// It rests this many times as long as a look took: a program with many processes costs more to
/// look at, and must not take more than a small part of a processor for it.
const RESTS: u32 = 15;
/// How much one program may take, unless configured.
const GROWTH_BYTES: u64 = 20_000_000_000;
/// How many files one program may make, unless configured: several builds' worth.
const NEW_FILES: u64 = 1_000_000;
/// What a program may take though there was too little from the start: enough to tidy up.
const SLACK_BYTES: u64 = 16_000_000;
/// The same for files.
const SLACK_FILES: u64 = 100;
/// Once a disk lost this much, folders are searched, and again whenever it lost twice as much:
/// so that what each program took is known before a disk gets scarce.
const SEARCHED_FROM: u64 = 64_000_000;
/// Who took this part of what went, and more than others, is ended at the first look.
const SHARE: u64 = 2;
/// Looks after which whoever took most is ended, whatever part that is.
const LOOKS: u32 = 2;
/// Looks at a disk that goes on filling by nobody's hand, before those are ended who hold what
/// can't be measured.
const STRIKES_MAX: u32 = 20;
/// Watches of `epoll` that one program may have. The kernel counts them for the whole user.
const WATCHES_MAX: u64 = 32_768;

/// Why a program was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The disk has less left than is kept free.
    Floor(Scarce, u64),
    /// It took more than one program may.
    Growth(u64),
    /// It made more files than one program may.
    Files(u64),
    /// It watches more than one program may.
    Watches(u64),
    /// It keeps what it writes from being counted.
    Hides(Unseen),
}

impl Over {
    /// In words, for the model.
    pub(crate) fn words(self) -> String {
        let mb = |bytes: u64| bytes / 1_000_000;
        match self {
            Self::Floor(Scarce::Bytes, floor) => format!(
                "it filled the disk: less than {} MB are left, which are kept free (`sandbox.free_space`), and of all programs it took most; remove what is not needed",
                mb(floor)
            ),
            Self::Floor(Scarce::Files, floor) => format!(
                "it made so many files that the disk has places for less than {floor} more, which are kept free; remove what is not needed"
            ),
            Self::Growth(most) => format!(
                "it wrote more than {} MB, the most one program may (`sandbox.growth`); files that were removed count while they are open",
                mb(most)
            ),
            Self::Files(most) => {
                format!(
                    "it made more than {most} files, the most one program may (`sandbox.new_files`)"
                )
            }
            Self::Watches(most) => format!(
                "it watches more than {most} descriptors with epoll, the most one program may"
            ),
            Self::Hides(Unseen::Closed) => {
                "it closed folders so that what it writes there can't be counted".to_owned()
            }
            Self::Hides(Unseen::Deep) => format!(
                "it moved folders about, or made too many, more than {OPEN_MAX} deep, where what it writes can't be counted then"
            ),
        }
    }

    /// For the audit trail.
    pub(crate) fn record(self) -> Value {
        let (limit, value) = match self {
            Self::Floor(Scarce::Bytes, floor) => ("free_space", floor),
            Self::Floor(Scarce::Files, floor) => ("free_files", floor),
            Self::Growth(most) => ("growth", most),
            Self::Files(most) => ("new_files", most),
            Self::Watches(most) => ("watches", most),
            Self::Hides(Unseen::Closed) => ("closed_folders", 0),
            Self::Hides(Unseen::Deep) => ("deep_folders", OPEN_MAX as u64),
        };
        json!({ "limit": limit, "value": value })
    }
}

/// What one program took of one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Taken {
    bytes: u64,
    files: u64,
}

impl Taken {
    fn of(self, scarce: Scarce) -> u64 {
        match scarce {
            Scarce::Bytes => self.bytes,
            Scarce::Files => self.files,
        }
    }
}

/// What every program of the daemon took of every disk, so that the one that took most is known.
#[derive(Default)]
pub(crate) struct Takers {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    begun: u64,
    taken: BTreeMap<(u64, u64), Taken>,
}

impl Takers {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> u64 {
        let mut known = self.known();
        known.begun += 1;
        known.begun
    }

    fn post(&self, program: u64, disk: u64, taken: Taken) {
        self.known().taken.insert((program, disk), taken);
    }

    /// The most that another program took of a disk.
    fn most_of_others(&self, program: u64, disk: u64, scarce: Scarce) -> u64 {
        let known = self.known();
        let others = known.taken.iter().filter(|((who, of), _)| *who != program && *of == disk);
        others.map(|(_, taken)| taken.of(scarce)).max().unwrap_or(0)
    }

    fn end(&self, program: u64) {
        self.known().taken.retain(|(who, _), _| *who != program);
    }
}

/// Watches the disks of one program.
pub(crate) struct Watchdog {
    world: World,
    takers: Arc<Takers>,
    program: u64,
    whose: Whose,
    limits: DiskLimits,
    disks: Vec<Disk>,
}

/// What counts as written by the program.
#[derive(Clone, Copy)]
struct Whose {
    since: Timestamp,
    /// The user of the agent's programs, where they have one of their own.
    owner: Option<u32>,
}

/// One file system that a program writes to.
struct Disk {
    device: u64,
    folders: Vec<PathBuf>,
    start: Space,
    last: Space,
    /// What was written in its folders, at the last search.
    named: Taken,
    /// How much had gone then.
    searched: u64,
    looks: u32,
    strikes: u32,
}

impl Watchdog {
    /// Notes what the disks of these folders have, before the program begins. `owner` is the
    /// user it will run as, where that is its agent's alone.
    pub(crate) async fn new(
        world: &World,
        takers: &Arc<Takers>,
        folders: &[PathBuf],
        owner: Option<u32>,
        limits: DiskLimits,
    ) -> Self {
        let whose = Whose { since: world.clock.now(), owner };
        let paths = folders.to_vec();
        let look = move || -> Vec<Disk> {
            let mut disks: BTreeMap<u64, Disk> = BTreeMap::new();
            for path in paths {
                let (Some(device), Ok(start)) = (device(&path), space(&path)) else { continue };
                let disk = disks.entry(device).or_insert_with(|| Disk::new(device, start));
                disk.folders.push(path);
            }
            disks.into_values().collect()
        };
        let disks = world.storage.run(look).await.unwrap_or_default();
        let (world, takers, program) = (world.clone(), takers.clone(), takers.begin());
        Self { world, takers, program, whose, limits, disks }
    }

    /// Comes when the program has to end: the one that all its processes descend from.
    pub(crate) async fn barks(mut self, first: u32) -> Over {
        let mut rest = TICK;
        loop {
            self.world.clock.sleep(rest).await;
            let (whose, limits, program) = (self.whose, self.limits, self.program);
            let (takers, mut disks) = (self.takers.clone(), std::mem::take(&mut self.disks));
            let begun = self.world.clock.elapsed();
            let looked = self.world.storage.run(move || {
                let held = holdings(first);
                let watches = (held.watches > WATCHES_MAX).then_some(Over::Watches(WATCHES_MAX));
                let over = watches.or_else(|| {
                    disks.iter_mut().find_map(|disk| {
                        let nameless = held.nameless.get(&disk.device).copied();
                        let nameless = nameless.unwrap_or_default();
                        let nameless = Taken { bytes: nameless.bytes, files: nameless.files };
                        let hidden =
                            held.in_flight || held.unseen || held.hidden.contains(&disk.device);
                        disk.look(&takers, program, whose, &limits, nameless, hidden)
                    })
                });
                (disks, over)
            });
            match looked.await {
                Ok((_, Some(over))) => return over,
                Ok((disks, None)) => self.disks = disks,
                // The daemon stops, and all programs with it.
                Err(_) => std::future::pending().await,
            }
            rest = TICK.max(self.world.clock.elapsed().saturating_sub(begun) * RESTS);
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.takers.end(self.program);
    }
}

impl Disk {
    fn new(device: u64, start: Space) -> Self {
        let (named, folders) = (Taken::default(), Vec::new());
        Self { device, folders, start, last: start, named, searched: 0, looks: 0, strikes: 0 }
    }

    fn look(
        &mut self,
        takers: &Takers,
        program: u64,
        whose: Whose,
        limits: &DiskLimits,
        nameless: Taken,
        hidden: bool,
    ) -> Option<Over> {
        // One in another that was closed can't be reached; the other can.
        let now = self.folders.iter().find_map(|folder| space(folder).ok())?;
        let gone = gone(&self.start, &now);
        let scarce = scarce(&gone, &now, limits);
        if self.is_to_be_searched(&gone, scarce.is_some(), limits) {
            let (named, unseen) = self.search(whose);
            self.named = named;
            if let Some(unseen) = unseen {
                return Some(Over::Hides(unseen));
            }
        }
        let own = own(self.named, nameless, gone);
        takers.post(program, self.device, own);
        let filling = gone.bytes > gone_bytes(&self.start, &self.last);
        self.last = now;
        if let Some(over) = too_much(own, limits) {
            return Some(over);
        }
        let Some((scarce, floor)) = scarce else {
            (self.looks, self.strikes) = (0, 0);
            return None;
        };
        self.looks += 1;
        self.strikes = if filling { self.strikes + 1 } else { 0 };
        let situation = Situation {
            own: own.of(scarce),
            others: takers.most_of_others(program, self.device, scarce),
            gone: gone.of(scarce),
            slack: match scarce {
                Scarce::Bytes => SLACK_BYTES,
                Scarce::Files => SLACK_FILES,
            },
            looks: self.looks,
            hides: hidden && self.strikes >= STRIKES_MAX,
        };
        situation.ends().then_some(Over::Floor(scarce, floor))
    }

    fn is_to_be_searched(&mut self, gone: &Taken, is_scarce: bool, limits: &DiskLimits) -> bool {
        let exceeds = gone.bytes > limits.growth.unwrap_or(GROWTH_BYTES)
            || gone.files > limits.new_files.unwrap_or(NEW_FILES);
        // Files are few beside bytes; each counts as much as it takes at least.
        let size = gone.bytes.max(gone.files.saturating_mul(FILE_BYTES));
        let more = match is_scarce || exceeds {
            true => size > self.searched.saturating_add(self.searched / 8),
            false => size > SEARCHED_FROM.max(self.searched.saturating_mul(2)),
        };
        if more {
            self.searched = size;
        }
        more
    }

    /// What was written in its folders, and why that may not be all.
    fn search(&self, whose: Whose) -> (Taken, Option<Unseen>) {
        let (mut named, mut unseen) = (Taken::default(), None);
        for folder in &self.folders {
            let found = written_since(folder, whose.since.as_millis(), whose.owner);
            let found = found.unwrap_or_default();
            named.bytes = named.bytes.saturating_add(found.bytes);
            named.files = named.files.saturating_add(found.files);
            unseen = unseen.or(found.unseen);
        }
        (named, unseen)
    }
}

/// The least that a file takes of a disk.
const FILE_BYTES: u64 = 256;

fn gone_bytes(start: &Space, now: &Space) -> u64 {
    start.free_bytes.saturating_sub(now.free_bytes)
}

/// What a disk lost since the program began, by whoever's hand.
fn gone(start: &Space, now: &Space) -> Taken {
    let files = start.free_files.saturating_sub(now.free_files);
    Taken { bytes: gone_bytes(start, now), files }
}

/// What a program took: what it holds without a name, and of what was written in its folders no
/// more than the disk lost besides. What is large and was only touched took nothing.
fn own(named: Taken, nameless: Taken, gone: Taken) -> Taken {
    let sum = |named: u64, nameless: u64, gone: u64| {
        named.min(gone.saturating_sub(nameless)).saturating_add(nameless)
    };
    Taken {
        bytes: sum(named.bytes, nameless.bytes, gone.bytes),
        files: sum(named.files, nameless.files, gone.files),
    }
}

/// What one program may not take, whatever the disk has left.
fn too_much(own: Taken, limits: &DiskLimits) -> Option<Over> {
    let growth = limits.growth.unwrap_or(GROWTH_BYTES);
    let new_files = limits.new_files.unwrap_or(NEW_FILES);
    if own.bytes > growth {
        return Some(Over::Growth(growth));
    }
    (own.files > new_files).then_some(Over::Files(new_files))
}

/// What a disk has less of than is kept free, and lost some of meanwhile.
fn scarce(gone: &Taken, now: &Space, limits: &DiskLimits) -> Option<(Scarce, u64)> {
    let floor = Floor::new(limits.free_space);
    match floor.breached(now, 0)? {
        Scarce::Bytes => Some((Scarce::Bytes, floor.bytes(now))),
        Scarce::Files => Some((Scarce::Files, floor.files(now))),
    }
    // What never was there did not go.
    .filter(|(scarce, _)| gone.of(*scarce) > 0)
}

/// What is known when a disk is scarce.
#[derive(Debug, Clone, Copy)]
struct Situation {
    /// What this program took.
    own: u64,
    /// The most that another took.
    others: u64,
    /// What went since this program began.
    gone: u64,
    /// What anybody may take all the same.
    slack: u64,
    /// How often it was looked at.
    looks: u32,
    /// Whether this program holds what can't be measured, and nobody explains what goes.
    hides: bool,
}

impl Situation {
    /// Whether this program is the one to be ended.
    fn ends(self) -> bool {
        let took_most = self.own > self.slack && self.own >= self.others;
        took_most && (self.own >= self.gone / SHARE || self.looks >= LOOKS) || self.hides
    }
}

#[cfg(test)]
#[path = "watchdog_tests.rs"]
mod watchdog_tests;
