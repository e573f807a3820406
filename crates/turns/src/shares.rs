//! Who begins next where many ask one agent: places are shared by who asks, not by how much
//! they ask for. Decides, and knows neither tasks nor time.
//!
//! The next place goes to whoever waits and has the fewest turns running, and among equals to
//! who came first; whoever began one comes again behind the others, so that a long list of
//! turns that was there before is no reason to wait for all of it. While somebody else waits, nobody begins who runs more than their share. One
//! place is only for those of whom nothing runs, so that a newcomer begins at once.
//!
//! Nobody waits for ever: whoever waits while nothing of theirs runs waits for one turn of each
//! of those before them at most, and what runs ends.

use insula_domain::Actor;
use std::collections::{BTreeMap, BTreeSet};

/// Places that are kept for those of whom nothing runs.
const KEPT: usize = 1;

/// The places of one agent, and who has or wants them.
#[derive(Debug)]
pub(super) struct Shares {
    places_max: usize,
    running: usize,
    /// Those who run or wait, and nobody else.
    askers: BTreeMap<Actor, Asker>,
    next: u64,
}

#[derive(Debug, Default)]
struct Asker {
    running: usize,
    /// Since when they are in line, by the count of what happened here.
    since: u64,
    waiting: BTreeSet<Ticket>,
}

/// One turn that waits or runs. Earlier ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ticket(u64);

impl Shares {
    /// This many places, all free.
    pub(super) fn new(places_max: usize) -> Self {
        Self { places_max, running: 0, askers: BTreeMap::new(), next: 0 }
    }

    /// Lines a turn up. It waits until [`Shares::begin`] names it.
    pub(super) fn ask(&mut self, who: &Actor) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        let asker = self.askers.entry(who.clone()).or_default();
        if asker.waiting.is_empty() {
            asker.since = ticket.0;
        }
        asker.waiting.insert(ticket);
        ticket
    }

    /// The turn that begins now, if one may. Others may too until there is none.
    pub(super) fn begin(&mut self) -> Option<Ticket> {
        let share = (self.places_max / self.askers.len().max(1)).max(1);
        let is_kept_free = self.running + KEPT < self.places_max;
        let waiting = self.askers.values().filter(|asker| !asker.waiting.is_empty());
        let is_alone = waiting.count() == 1;
        let first = self.askers.values_mut().filter(|asker| !asker.waiting.is_empty());
        // Who comes after this one runs at least as much, and may not begin either.
        let first = first.min_by_key(|asker| (asker.running, asker.since))?;
        let may = match first.running {
            0 => self.running < self.places_max,
            running => is_kept_free && (is_alone || running <= share),
        };
        if !may {
            return None;
        }
        let ticket = first.waiting.pop_first()?;
        first.running += 1;
        first.since = self.next;
        self.next += 1;
        self.running += 1;
        Some(ticket)
    }

    /// A turn waits no longer, or runs no longer.
    pub(super) fn leave(&mut self, who: &Actor, ticket: Ticket) {
        let Some(asker) = self.askers.get_mut(who) else { return };
        if !asker.waiting.remove(&ticket) {
            asker.running = asker.running.saturating_sub(1);
            self.running = self.running.saturating_sub(1);
        }
        if asker.running == 0 && asker.waiting.is_empty() {
            self.askers.remove(who);
        }
    }
}

#[cfg(test)]
impl Shares {
    /// Those who run or wait.
    pub(super) fn askers(&self) -> Vec<&Actor> {
        self.askers.keys().collect()
    }
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
