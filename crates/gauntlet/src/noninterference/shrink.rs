//! Makes two runs that differ smaller, until nothing can be left out: what is left is what the
//! difference needs.

use super::disk::Ground;
use super::pair::{Found, differ};
use super::trace::{Plan, Step, Variation};
use anyhow::Result;
use std::sync::Arc;

/// Most pairs of runs that are spent on one difference.
const RUNS_MAX: usize = 400;

/// Leaves out whatever can be left out while anything still differs.
pub fn shrink(ground: &Arc<Ground>, found: &mut Found) -> Result<()> {
    let mut work = Shrinking { ground, found, runs: 0 };
    // Nobody in the first run, if that is enough.
    let (plan, two) = (work.found.plan.clone(), work.found.two.clone());
    work.attempt(plan, Variation::default(), two);
    if !work.found.one.is_empty() {
        let (plan, one) = (work.found.plan.clone(), work.found.one.clone());
        work.attempt(plan, one, Variation::default());
    }
    // Then pieces, from halves down to single steps, and once more at the end: what was needed
    // for a step that is gone now may go, too.
    let longest = work.found.plan.steps.len().max(work.found.two.asides.len());
    let mut size = longest.div_ceil(2);
    while size > 0 {
        work.cut_pieces(size);
        size /= 2;
    }
    work.cut_pieces(1);
    work.cut_others();
    work.cut_acts();
    work.calm();
    Ok(())
}

struct Shrinking<'w> {
    ground: &'w Arc<Ground>,
    found: &'w mut Found,
    runs: usize,
}

impl Shrinking<'_> {
    /// Whether it still differs so; then that is what was found.
    fn attempt(&mut self, plan: Plan, one: Variation, two: Variation) -> bool {
        self.runs += 1;
        if self.runs > RUNS_MAX {
            return false;
        }
        // A trace that can't be played is no smaller trace.
        let Ok(Some(difference)) = differ(self.ground, &plan, &one, &two) else { return false };
        let pairs_before = self.found.pairs_before;
        *self.found = Found { pairs_before, plan, one, two, difference };
        true
    }

    fn cut_pieces(&mut self, size: usize) {
        for part in [Part::Steps, Part::Asides(false), Part::Asides(true)] {
            let mut at = 0;
            while at < part.len(self.found) {
                let (plan, one, two) = part.without(self.found, at, size);
                if !self.attempt(plan, one, two) {
                    at += size;
                }
            }
        }
    }

    /// Leaves out those of the others who are not needed.
    fn cut_others(&mut self) {
        for number in (0..self.found.two.others.len()).rev() {
            let Found { plan, one, two, .. } = self.found.clone();
            self.attempt(plan, one, without_other(two, number));
        }
        for number in (0..self.found.one.others.len()).rev() {
            let Found { plan, one, two, .. } = self.found.clone();
            self.attempt(plan, without_other(one, number), two);
        }
    }

    /// Leaves out what models did in vain.
    fn cut_acts(&mut self) {
        for number in 0..self.found.plan.steps.len() {
            for act in (0..acts(&self.found.plan.steps[number])).rev() {
                let Found { mut plan, one, two, .. } = self.found.clone();
                cut_act(&mut plan.steps[number], act);
                self.attempt(plan, one, two);
            }
        }
        for number in 0..self.found.two.asides.len() {
            for act in (0..acts(&self.found.two.asides[number].step)).rev() {
                let Found { plan, one, mut two, .. } = self.found.clone();
                cut_act(&mut two.asides[number].step, act);
                self.attempt(plan, one, two);
            }
        }
    }

    /// Lets everybody finish, where it does not matter.
    fn calm(&mut self) {
        for number in 0..self.found.two.asides.len() {
            let Found { plan, one, mut two, .. } = self.found.clone();
            let aside = &mut two.asides[number];
            if aside.cut_after.take().is_some() || aside.yields > 0 {
                aside.yields = 0;
                self.attempt(plan, one, two);
            }
        }
    }
}

fn without_other(mut variation: Variation, number: usize) -> Variation {
    variation.others.remove(number);
    variation.asides.retain(|aside| aside.who != number);
    for aside in variation.asides.iter_mut().filter(|aside| aside.who > number) {
        aside.who -= 1;
    }
    variation
}

fn acts(step: &Step) -> usize {
    match step {
        Step::Say { acts, .. } => acts.len(),
        _ => 0,
    }
}

fn cut_act(step: &mut Step, number: usize) {
    if let Step::Say { acts, .. } = step {
        acts.remove(number);
    }
}

/// What can be left out piece by piece.
#[derive(Clone, Copy)]
enum Part {
    Steps,
    /// Of the second run, or of the first.
    Asides(bool),
}

impl Part {
    fn len(self, found: &Found) -> usize {
        match self {
            Self::Steps => found.plan.steps.len(),
            Self::Asides(false) => found.two.asides.len(),
            Self::Asides(true) => found.one.asides.len(),
        }
    }

    fn without(self, found: &Found, at: usize, size: usize) -> (Plan, Variation, Variation) {
        let Found { mut plan, mut one, mut two, .. } = found.clone();
        let cut = |list: &mut Vec<_>| drop(list.drain(at..(at + size).min(list.len())));
        match self {
            Self::Asides(false) => cut(&mut two.asides),
            Self::Asides(true) => cut(&mut one.asides),
            Self::Steps => {
                let end = (at + size).min(plan.steps.len());
                plan.steps.drain(at..end);
                let last = plan.steps.len().saturating_sub(1);
                for aside in one.asides.iter_mut().chain(&mut two.asides) {
                    let before = aside.before;
                    let moved = if before >= end { before - (end - at) } else { before.min(at) };
                    aside.before = moved.min(last);
                }
            }
        }
        (plan, one, two)
    }
}
