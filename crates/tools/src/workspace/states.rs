//! The file state registry: who has seen which version of which file.
//!
//! A write is judged by what its writer has seen. What was seen is kept in memory only and
//! is bounded; whatever was forgotten counts as unread, which costs a reader one more look
//! and never a writer's work. It belongs to one agent and outlives its generations.

use super::FileKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pairs of reader and file that are remembered for one agent.
const VIEWS_MAX: usize = 4_096;
/// Files whose last writer is remembered for one agent.
const WRITERS_MAX: usize = 1_024;
/// Separate parts of a file that a reader can have seen; further ones count as unread.
const PARTS_MAX: usize = 64;
/// Locks that all files of an agent share. More would only make waiting rarer.
const LOCKS: usize = 64;

/// One that reads and writes: a conversation of the agent, or a child in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileReader(Arc<str>);

impl FileReader {
    /// A reader by a name that no other reader of the same agent has.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }
}

/// A version of a file: the hash of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version([u8; 32]);

impl Version {
    /// The version with this content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// Which lines of a file: counted from 0, the end excluded.
pub type LineRange = Range<usize>;

/// How much of a version somebody has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    Whole,
    /// These lines: sorted, with gaps between them.
    Parts(Vec<LineRange>),
}

impl Seen {
    /// These lines of `total`.
    pub fn lines(lines: LineRange, total: usize) -> Self {
        if lines.start == 0 && lines.end >= total { Self::Whole } else { Self::Parts(vec![lines]) }
    }

    fn has(&self, lines: &LineRange) -> bool {
        match self {
            Self::Whole => true,
            Self::Parts(parts) => {
                parts.iter().any(|part| part.start <= lines.start && lines.end <= part.end)
            }
        }
    }

    fn with(self, other: Self, total: usize) -> Self {
        let (Self::Parts(mut parts), Self::Parts(more)) = (self, other) else {
            return Self::Whole;
        };
        parts.extend(more);
        parts.sort_by_key(|part| (part.start, part.end));
        let mut joined: Vec<LineRange> = Vec::new();
        for part in parts {
            match joined.last_mut() {
                Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
                _ => joined.push(part),
            }
        }
        joined.truncate(PARTS_MAX);
        match joined.first() {
            Some(only) if joined.len() == 1 => Self::lines(only.clone(), total),
            _ => Self::Parts(joined),
        }
    }

    /// What of the new version was seen, after `changes` to the old one: each some lines and
    /// how many came in their place. Whoever changes lines knows the new ones.
    fn after(&self, changes: &[(LineRange, usize)]) -> Self {
        let Self::Parts(parts) = self else { return Self::Whole };
        let moved = parts.iter().map(|part| {
            let by = |edge: usize| {
                let before = changes.iter().filter(|(old, _)| old.end <= edge);
                let (gone, come) =
                    before.fold((0, 0), |(gone, come), (old, new)| (gone + old.len(), come + new));
                edge - gone + come
            };
            by(part.start)..by(part.end)
        });
        Self::Parts(moved.collect())
    }
}

/// What a write would replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaces {
    /// The whole file.
    Everything,
    /// These lines of it.
    Lines(Vec<LineRange>),
}

/// Why a write would go over something its writer does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// The writer has not read the file, or so long ago that it was forgotten.
    Unread,
    /// The file has changed since the writer read it.
    Changed,
    /// Another reader of the same agent wrote it since.
    Sibling,
    /// The writer has seen other parts of it than those it would replace.
    Partial,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread => "you have not read it, and it exists",
            Self::Changed => "it has changed since you read it",
            Self::Sibling => {
                "another conversation or a child of this agent wrote it since you read it"
            }
            Self::Partial => "you have not read all of what this would replace",
        })
    }
}

#[derive(Debug, Clone)]
struct View {
    version: Version,
    seen: Seen,
}

/// A map that forgets what was used longest ago.
#[derive(Debug)]
struct Recent<K, V> {
    values: HashMap<K, (V, u64)>,
    order: BTreeMap<u64, K>,
    tick: u64,
    len_max: usize,
}

impl<K: Clone + Eq + std::hash::Hash, V> Recent<K, V> {
    fn new(len_max: usize) -> Self {
        Self { values: HashMap::new(), order: BTreeMap::new(), tick: 0, len_max }
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(value, _)| value)
    }

    fn put(&mut self, key: K, value: V) {
        self.tick += 1;
        if let Some((_, before)) = self.values.insert(key.clone(), (value, self.tick)) {
            self.order.remove(&before);
        }
        self.order.insert(self.tick, key);
        if self.values.len() > self.len_max
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.values.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some((_, tick)) = self.values.remove(key) {
            self.order.remove(&tick);
        }
    }
}

#[derive(Debug)]
struct Known {
    views: Recent<(FileReader, FileKey), View>,
    writers: Recent<FileKey, (FileReader, Version)>,
}

/// What the readers of one agent have seen.
#[derive(Debug)]
pub struct FileStates {
    known: Mutex<Known>,
    locks: [Mutex<()>; LOCKS],
    /// Numbers for files on their way to their place.
    pub(crate) staged: AtomicU64,
}

impl Default for FileStates {
    fn default() -> Self {
        Self {
            known: Mutex::new(Known {
                views: Recent::new(VIEWS_MAX),
                writers: Recent::new(WRITERS_MAX),
            }),
            locks: std::array::from_fn(|_| Mutex::new(())),
            staged: AtomicU64::new(0),
        }
    }
}

impl FileStates {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes these files for one writer. Locks are taken in the order of their places, which
    /// is the same for everybody, so two writers never wait for each other.
    pub(crate) fn lock<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k FileKey>,
    ) -> Vec<MutexGuard<'_, ()>> {
        let places: BTreeSet<usize> = keys
            .into_iter()
            .map(|key| {
                let mut hasher = DefaultHasher::new();
                key.hash(&mut hasher);
                usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0)
            })
            .collect();
        let locks = places.into_iter().map(|place| &self.locks[place]);
        locks.map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Notes that `reader` saw lines of a version that has `total` of them.
    pub fn read(
        &self,
        reader: &FileReader,
        key: &FileKey,
        version: Version,
        seen: Seen,
        total: usize,
    ) {
        let mut known = self.known();
        let pair = (reader.clone(), key.clone());
        let seen = match known.views.get(&pair) {
            Some(view) if view.version == version => view.seen.clone().with(seen, total),
            _ => seen,
        };
        known.views.put(pair, View { version, seen });
    }

    /// Decides about a write of `reader` over the version that stands there now.
    pub fn judge(
        &self,
        reader: &FileReader,
        key: &FileKey,
        now: Version,
        replaces: &Replaces,
    ) -> Result<(), Stale> {
        let known = self.known();
        let Some(view) = known.views.get(&(reader.clone(), key.clone())) else {
            return Err(Stale::Unread);
        };
        if view.version != now {
            let by_sibling = known
                .writers
                .get(key)
                .is_some_and(|(writer, version)| writer != reader && *version == now);
            return Err(if by_sibling { Stale::Sibling } else { Stale::Changed });
        }
        let seen = match replaces {
            Replaces::Everything => view.seen == Seen::Whole,
            Replaces::Lines(lines) => lines.iter().all(|lines| view.seen.has(lines)),
        };
        if seen { Ok(()) } else { Err(Stale::Partial) }
    }

    /// Notes that `reader` replaced a whole file.
    pub fn wrote(&self, reader: &FileReader, key: &FileKey, version: Version) {
        let mut known = self.known();
        known.views.put((reader.clone(), key.clone()), View { version, seen: Seen::Whole });
        known.writers.put(key.clone(), (reader.clone(), version));
    }

    /// Notes that `reader` replaced lines of a file.
    pub fn changed(
        &self,
        reader: &FileReader,
        key: &FileKey,
        version: Version,
        changes: &[(LineRange, usize)],
    ) {
        let mut known = self.known();
        let pair = (reader.clone(), key.clone());
        // Who changed what was never read here has not read it by that.
        let before = known.views.get(&pair).map(|view| view.seen.clone());
        if let Some(seen) = before {
            known.views.put(pair, View { version, seen: seen.after(changes) });
        }
        known.writers.put(key.clone(), (reader.clone(), version));
    }

    /// Notes that a file is gone.
    pub fn removed(&self, reader: &FileReader, key: &FileKey) {
        let mut known = self.known();
        known.views.remove(&(reader.clone(), key.clone()));
        known.writers.remove(key);
    }
}

#[cfg(test)]
#[path = "states_tests.rs"]
mod states_tests;
