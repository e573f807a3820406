//! What is due now, of a schedule with its bounds: what was missed, what overlaps, how far a run
//! is moved, and when it is over.

use crate::hours::ActiveHours;
use crate::schedule::Schedule;
use insula_domain::Zone;

/// How late a run may be and still be on time: a busy machine, a restart.
pub const ON_TIME_MS: i64 = 60 * 1_000;
/// How many missed runs are made up for at most, the newest of them.
pub const MISSED_ALL_MAX: usize = 24;
/// How far missed runs are counted.
pub const MISSED_COUNT_MAX: usize = 1_000;
/// How many moments outside the active hours are passed over in one search: more than the minutes
/// of a day.
const OUTSIDE_MAX: usize = 3_000;

/// What becomes of runs that were missed, because nobody was there to begin them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// Nothing.
    Skip,
    /// One run for all of them.
    #[default]
    Once,
    /// Each is made up for, the newest [`MISSED_ALL_MAX`] at most.
    All,
}

impl Missed {
    pub const NAMES: [&'static str; 3] = ["skip", "once", "all"];

    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Skip, Self::Once, Self::All].into_iter().find(|it| it.as_str() == text)
    }
}

/// What becomes of a run that is due while the one before still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It is left out.
    #[default]
    Skip,
    /// It waits; one at most.
    Queue,
}

/// What to do with a run that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Now,
    Wait,
    LeaveOut,
}

impl Overlap {
    pub const NAMES: [&'static str; 2] = ["skip", "queue"];

    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Skip, Self::Queue].into_iter().find(|it| it.as_str() == text)
    }

    /// What becomes of a run, when so many of the same job run or wait.
    pub fn start(self, under_way: usize) -> Start {
        match (self, under_way) {
            (_, 0) => Start::Now,
            (Self::Queue, 1) => Start::Wait,
            _ => Start::LeaveOut,
        }
    }
}

/// Where a schedule ends, and what moves it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Nothing happens after this moment.
    pub until_ms: Option<i64>,
    /// It happens so often.
    pub count: Option<u32>,
    /// Each run is moved by up to so much.
    pub jitter_ms: i64,
    pub within: Option<ActiveHours>,
    pub missed: Missed,
}

/// A schedule, where its clocks stand, and its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub schedule: Schedule,
    pub zone: Zone,
    pub bounds: Bounds,
    /// What its jitter is made of: two jobs have two.
    pub seed: u64,
}

/// How far a plan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The last moment that was dealt with, run or not: it never goes back, whatever the clock does.
    pub handled_ms: i64,
    /// How often it has run.
    pub runs: u32,
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Due {
    /// The moments to run for, in order.
    pub runs: Vec<i64>,
    /// Moments that passed and are not run for, counted up to [`MISSED_COUNT_MAX`].
    pub missed: usize,
    /// The last moment that is dealt with by this; `None` where none is.
    pub handled_ms: Option<i64>,
    /// When there is something to do again, jitter included; `None` where it is over.
    pub next_ms: Option<i64>,
}

impl Plan {
    /// The first moment after this one, without jitter.
    pub fn next(&self, after_ms: i64) -> Option<i64> {
        let mut at = after_ms;
        for _ in 0..OUTSIDE_MAX {
            at = self.schedule.next(at, &self.zone)?;
            if self.bounds.until_ms.is_some_and(|until| at > until) {
                return None;
            }
            if self.bounds.within.is_none_or(|hours| hours.has(at, &self.zone)) {
                return Some(at);
            }
        }
        None
    }

    /// When a moment is run for: itself, moved by its jitter.
    pub fn moved(&self, at_ms: i64) -> i64 {
        at_ms.saturating_add(jitter_ms(self.seed, at_ms, self.bounds.jitter_ms))
    }

    /// When it runs next, as people are told it: jitter included.
    pub fn ahead(&self, progress: Progress, after_ms: i64, count: usize) -> Vec<i64> {
        let jitter = self.bounds.jitter_ms.max(0);
        // A moment that has passed may be moved to one that has not.
        let mut at = after_ms.saturating_sub(jitter).max(progress.handled_ms);
        let left =
            self.bounds.count.map_or(usize::MAX, |all| all.saturating_sub(progress.runs) as usize);
        let most = count.min(left);
        let mut found = Vec::new();
        let mut last = after_ms;
        for _ in 0..OUTSIDE_MAX.saturating_add(most) {
            if found.len() == most {
                break;
            }
            let Some(next) = self.next(at) else { break };
            at = next;
            // One waits for those before it, and what comes at once is one run, unless each is made
            // up for.
            let moved = self.moved(next);
            let is_own = moved > last || self.bounds.missed == Missed::All && !found.is_empty();
            last = last.max(moved);
            if is_own {
                found.push(last);
            }
        }
        found
    }

    /// What is due now.
    pub fn due(&self, progress: Progress, now_ms: i64) -> Due {
        let Progress { handled_ms, runs } = progress;
        let left = self.bounds.count.map(|all| all.saturating_sub(runs) as usize);
        if left == Some(0) {
            return Due::default();
        }
        let (passed, count) = self.passed(handled_ms, now_ms);
        let Some(&last) = passed.last() else {
            let next_ms = self.next(handled_ms).map(|at| self.moved(at));
            return Due { next_ms, ..Due::default() };
        };
        let is_on_time = now_ms.saturating_sub(self.moved(last)) <= ON_TIME_MS;
        let mut runs = match self.bounds.missed {
            Missed::All => passed,
            Missed::Once => vec![last],
            Missed::Skip if is_on_time => vec![last],
            Missed::Skip => Vec::new(),
        };
        runs.truncate(left.unwrap_or(usize::MAX));
        let is_over = left.is_some_and(|left| runs.len() >= left);
        let next = if is_over { None } else { self.next(last) };
        Due {
            missed: count.saturating_sub(runs.len()),
            runs,
            handled_ms: Some(last),
            next_ms: next.map(|at| self.moved(at)),
        }
    }

    /// The newest moments whose time has come since `from_ms`, in order, and how many there were.
    fn passed(&self, from_ms: i64, now_ms: i64) -> (Vec<i64>, usize) {
        let mut found = Vec::new();
        let mut count = 0;
        let mut at = from_ms;
        while let Some(next) = self.next(at).filter(|next| self.moved(*next) <= now_ms) {
            count += 1;
            found.push(next);
            at = next;
            if count == MISSED_COUNT_MAX {
                found.extend(self.newest(next, now_ms));
                break;
            }
        }
        let more = found.len().saturating_sub(MISSED_ALL_MAX);
        (found.split_off(more), count)
    }

    /// The newest moments between two, found from the end: there may be millions.
    fn newest(&self, from_ms: i64, now_ms: i64) -> Vec<i64> {
        let mut window = MISSED_ALL_MAX as i64 * ON_TIME_MS;
        loop {
            let begin = now_ms.saturating_sub(window).max(from_ms);
            let (mut found, mut at) = (Vec::new(), begin);
            while let Some(next) = self.next(at).filter(|next| self.moved(*next) <= now_ms) {
                found.push(next);
                at = next;
            }
            if found.len() >= MISSED_ALL_MAX || begin == from_ms {
                return found;
            }
            window = window.saturating_mul(4);
        }
    }
}

/// How far a run is moved: the same for the same job and moment, spread evenly over the others.
pub fn jitter_ms(seed: u64, at_ms: i64, most_ms: i64) -> i64 {
    if most_ms <= 0 {
        return 0;
    }
    let mut mixed = seed ^ at_ms.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // Below `most_ms`, which fits.
    (mixed % most_ms.cast_unsigned()).cast_signed()
}
