//! Recorded runs: what was seen in the first run of many seeds, as digests in a file that is kept.
//! A change that should alter nothing leaves the file as it is; one that should alters it visibly.

use super::{Ground, generate, play};
use crate::machine::on_threads;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How much of a digest is kept: enough that two texts don't share it by accident.
const DIGITS: usize = 8;
/// What stands where a run has nothing of a kind.
const NOTHING: &str = "-";

/// Digests of one run, by kind of stream.
type Digests = BTreeMap<String, String>;

/// The runs of a file, by seed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recorded(BTreeMap<u64, Digests>);

impl Recorded {
    /// Plays `seeds` traces from `first` on.
    pub fn play(first: u64, seeds: u64, steps: usize, at_once: usize) -> Result<Self> {
        let next = AtomicU64::new(0);
        let (all, trouble) = (Mutex::new(BTreeMap::new()), Mutex::new(None));
        on_threads(at_once.max(1), || {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return false;
            }
            let seed = first + number;
            match digests(seed, steps) {
                Ok(digests) => {
                    all.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, digests);
                    true
                }
                Err(error) => {
                    let error = error.context(format!("seed {seed}"));
                    *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    false
                }
            }
        });
        match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Self(all.into_inner().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    /// Reads a file that [`Self::text`] made.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let kinds: Vec<&str> =
            lines.next().context("the file is empty")?.split_whitespace().skip(1).collect();
        let mut runs = BTreeMap::new();
        for line in lines {
            let mut words = line.split_whitespace();
            let seed = words.next().context("a line is empty")?;
            let seed = seed.parse().with_context(|| format!("`{seed}` is no seed"))?;
            let digests = kinds.iter().zip(words).filter(|(_, digest)| *digest != NOTHING);
            let digests = digests.map(|(kind, digest)| ((*kind).to_owned(), digest.to_owned()));
            runs.insert(seed, digests.collect());
        }
        Ok(Self(runs))
    }

    /// The file: a line for the kinds, then one for each seed.
    pub fn text(&self) -> String {
        let mut kinds: Vec<&String> = self.0.values().flat_map(BTreeMap::keys).collect();
        kinds.sort();
        kinds.dedup();
        let mut text = String::from("seed");
        for kind in &kinds {
            let _ = write!(text, " {kind}");
        }
        text.push('\n');
        for (seed, digests) in &self.0 {
            let _ = write!(text, "{seed}");
            for kind in &kinds {
                let _ = write!(text, " {}", digests.get(*kind).map_or(NOTHING, String::as_str));
            }
            text.push('\n');
        }
        text
    }

    /// Fails unless every run of `now` is as it was recorded; says which kinds of streams differ
    /// in how many runs, and how to see one of them.
    pub fn compare(&self, now: &Self) -> Result<()> {
        let mut differing: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (seed, seen) in &now.0 {
            let recorded = self.0.get(seed);
            let recorded = recorded.with_context(|| format!("seed {seed} was never recorded"))?;
            for kind in recorded.keys().chain(seen.keys()) {
                if recorded.get(kind) != seen.get(kind) {
                    let (_, last) = differing.entry(kind).or_insert((0, *seed));
                    *last = *seed;
                }
            }
            for (count, last) in differing.values_mut() {
                *count += u64::from(*last == *seed);
            }
        }
        if differing.is_empty() {
            return Ok(());
        }
        let mut told = String::new();
        for (kind, (count, seed)) in differing {
            let _ = write!(told, "\n  {kind}: {count} of {} runs, seed {seed} is one", now.0.len());
        }
        bail!("what is seen differs from what was recorded:{told}\n`--show --seed N` prints a run")
    }
}

fn digests(seed: u64, steps: usize) -> Result<Digests> {
    let ground = Arc::new(Ground::numbered(seed)?);
    let plan = generate::plan(seed, steps);
    let seen = play(&ground, &plan, &generate::variation(seed, 0, plan.steps.len()))?;
    // Each home is in a folder of its own.
    let home = ground.home().to_string_lossy().into_owned();
    let hashes = seen.by_kind(blake3::Hasher::new, |hash, name, entry| {
        for text in [name, &entry.replace(&home, "HOME")] {
            hash.update(text.as_bytes()).update(&[0]);
        }
    });
    let digest = |hash: blake3::Hasher| hash.finalize().to_hex().chars().take(DIGITS).collect();
    Ok(hashes.into_iter().map(|(kind, hash)| (kind, digest(hash))).collect())
}
