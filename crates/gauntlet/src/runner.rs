//! Runs scenes, each on a daemon of its own, and gathers what came of their attempts.

use crate::attempt::{Attempt, Scene, Section, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::stage::Stage;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What is to be run.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Letters; all where none is given.
    pub sections: Vec<String>,
    /// Rows, or the beginnings of `row variant`; all where none is given.
    pub only: Vec<String>,
}

impl Choice {
    /// Whether an attempt of this section is wanted.
    pub fn wants(&self, section: &Section, attempt: &Attempt) -> bool {
        let named = |name: &String| {
            attempt.row.eq_ignore_ascii_case(name)
                || format!("{} {}", attempt.row, attempt.variant).starts_with(name.as_str())
        };
        (self.sections.is_empty()
            || self.sections.iter().any(|it| it.eq_ignore_ascii_case(section.id)))
            && (self.only.is_empty() || self.only.iter().any(named))
    }
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The section.
    pub section: &'static str,
    /// The row.
    pub row: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// What came of it.
    pub result: Result<Verdict, String>,
    /// How long it took.
    pub took: Duration,
}

/// Runs all that is chosen, so many scenes at a time. `tell` hears of each attempt as it ends.
pub fn run(
    stage: &Stage,
    sections: &[Section],
    choice: &Choice,
    at_once: usize,
    tell: impl Fn(&Report) + Sync,
) -> Vec<Report> {
    let mut waiting: VecDeque<(Section, Scene, Vec<Attempt>)> = VecDeque::new();
    for section in sections {
        for scene in section.scenes {
            let all = scene.attempts.iter().flat_map(|some| some.iter());
            let wanted: Vec<Attempt> =
                all.filter(|attempt| choice.wants(section, attempt)).copied().collect();
            if !wanted.is_empty() {
                waiting.push_back((*section, *scene, wanted));
            }
        }
    }
    let (waiting, done) = (Mutex::new(waiting), Mutex::new(vec![]));
    machine::on_threads(at_once, || {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((section, scene, attempts)) = next else { return false };
        for report in played(stage, &section, &scene, &attempts, &tell) {
            done.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        }
        true
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let place = |report: &Report| {
        let all = sections.iter().flat_map(|section| section.attempts());
        let is_it = |it: &&Attempt| it.row == report.row && it.variant == report.variant;
        let number = report.row.trim_start_matches(|c: char| !c.is_ascii_digit());
        (
            report.section,
            number.parse::<u32>().unwrap_or(0),
            all.take_while(|it| !is_it(it)).count(),
        )
    };
    done.sort_by_key(place);
    done
}

fn played(
    stage: &Stage,
    section: &Section,
    scene: &Scene,
    attempts: &[Attempt],
    tell: &impl Fn(&Report),
) -> Vec<Report> {
    let raised = contained(|| (scene.raise)(stage));
    let mut reports = vec![];
    for attempt in attempts {
        let (result, took) = machine::timed(|| match &raised {
            Ok(ground) => judged(ground, attempt),
            Err(why) => Err(format!("the scene `{}` could not be raised: {why}", scene.name)),
        });
        let report = Report {
            section: section.id,
            row: attempt.row,
            variant: attempt.variant,
            result,
            took,
        };
        tell(&report);
        reports.push(report);
    }
    reports
}

fn judged(ground: &Ground, attempt: &Attempt) -> Result<Verdict, String> {
    contained(|| (attempt.run)(ground))
}

/// What went wrong in words, a panic included: one attempt's fault is its own.
fn contained<T>(act: impl FnOnce() -> anyhow::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(format!("{error:#}")),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("it panicked: {}", words.unwrap_or("without a word")))
        }
    }
}
