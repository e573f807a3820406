//! All that can be seen of the agent that is watched, as streams of text, and where two runs
//! differ.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How much of a value a difference shows around the place.
const SHOWN_CHARS: usize = 300;

/// What was seen, by stream and in order.
#[derive(Debug, Default)]
pub struct Observed {
    streams: Mutex<BTreeMap<String, Vec<String>>>,
}

impl Observed {
    fn streams(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds something to a stream.
    pub fn note(&self, stream: &str, text: impl Into<String>) {
        let mut streams = self.streams();
        match streams.get_mut(stream) {
            Some(known) => known.push(text.into()),
            None => drop(streams.insert(stream.to_owned(), vec![text.into()])),
        }
    }

    /// How many entries there are, by kind of stream (what stands before a `:`).
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.by_kind(|| 0, |count, _, _| *count += 1)
    }

    /// Folds all entries of each kind of stream, with the name of the stream, in order.
    pub fn by_kind<T>(
        &self,
        new: impl Fn() -> T,
        mut add: impl FnMut(&mut T, &str, &str),
    ) -> BTreeMap<String, T> {
        let mut kinds = BTreeMap::new();
        for (name, entries) in self.streams().iter() {
            let kind = name.split(':').next().unwrap_or_default();
            let of_kind = kinds.entry(kind.to_owned()).or_insert_with(&new);
            for entry in entries {
                add(of_kind, name, entry);
            }
        }
        kinds
    }

    /// How many bytes were seen.
    pub fn bytes(&self) -> usize {
        self.streams().values().flatten().map(String::len).sum()
    }

    /// Everything, for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, entries) in self.streams().iter() {
            for (number, entry) in entries.iter().enumerate() {
                text.push_str(&format!("=== {name} {number}\n{entry}\n"));
            }
        }
        text
    }

    /// The first place where another run differs.
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let (ours, theirs) = (self.streams(), other.streams());
        let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
        // What the model was told says more about a cause than the rows it left.
        names.sort_by_key(|name| (rank(name), *name));
        names.dedup();
        for name in names {
            let empty = Vec::new();
            let (one, two) = (ours.get(name).unwrap_or(&empty), theirs.get(name).unwrap_or(&empty));
            if one == two {
                continue;
            }
            let at = one.iter().zip(two).take_while(|(one, two)| one == two).count();
            return Some(Difference {
                stream: name.clone(),
                number: at,
                one: one.get(at).cloned(),
                two: two.get(at).cloned(),
            });
        }
        None
    }
}

fn rank(stream: &str) -> u8 {
    match stream.split(':').next().unwrap_or_default() {
        "step" => 0,
        "model" => 1,
        "turn" => 2,
        "post" => 3,
        "file" => 5,
        "rows" => 6,
        _ => 4,
    }
}

/// Where two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub stream: String,
    /// The entry, from 0.
    pub number: usize,
    /// It, in the first run.
    pub one: Option<String>,
    /// It, in the second run.
    pub two: Option<String>,
}

impl Difference {
    /// The kind of stream it is in.
    pub fn kind(&self) -> &str {
        self.stream.split(':').next().unwrap_or_default()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "entry {} of `{}` differs", self.number, self.stream)?;
        let (one, two) = (self.one.as_deref(), self.two.as_deref());
        let same = one.unwrap_or_default().chars().zip(two.unwrap_or_default().chars());
        let same = same.take_while(|(one, two)| one == two).count();
        for (name, text) in [("one", one), ("two", two)] {
            let Some(text) = text else {
                writeln!(f, "  {name}: not there")?;
                continue;
            };
            let from = same.saturating_sub(SHOWN_CHARS / 2);
            let part: String = text.chars().skip(from).take(SHOWN_CHARS).collect();
            writeln!(f, "  {name}: …{}", part.replace('\n', "\n       "))?;
        }
        Ok(())
    }
}
