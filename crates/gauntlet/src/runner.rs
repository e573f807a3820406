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

/// Whether an attempt is meant by a row, or by the beginning of `row variant`.
fn is_named(attempt: &Attempt, name: &str) -> bool {
    attempt.row.eq_ignore_ascii_case(name)
        || name.contains(' ') && format!("{} {}", attempt.row, attempt.variant).starts_with(name)
}

impl Choice {
    /// Whether an attempt of this section is wanted.
    pub fn wants(&self, section: &Section, attempt: &Attempt) -> bool {
        (self.sections.is_empty()
            || self.sections.iter().any(|it| it.eq_ignore_ascii_case(section.id)))
            && (self.only.is_empty() || self.only.iter().any(|name| is_named(attempt, name)))
    }

    /// Refuses a letter, row or attempt that does not exist: what is misspelt would be left out
    /// without a word.
    pub fn checked(&self, sections: &[Section]) -> anyhow::Result<()> {
        for letter in &self.sections {
            let is_known = sections.iter().any(|it| it.id.eq_ignore_ascii_case(letter));
            let instead = match letter.as_str() {
                "G" | "g" => "it is `insula-gauntlet noninterference`",
                _ => "`--list` says what there is",
            };
            anyhow::ensure!(is_known, "there is no section `{letter}` to choose; {instead}");
        }
        for name in &self.only {
            let mut all = sections.iter().flat_map(|section| section.attempts());
            let is_known = all.any(|attempt| is_named(attempt, name));
            anyhow::ensure!(is_known, "no row or attempt is `{name}`; `--list` says what there is");
        }
        Ok(())
    }
}

/// Attempts that are made, and whether each is reported.
type Chosen = Vec<(Attempt, bool)>;

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub section: &'static str,
    pub row: &'static str,
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
    let mut waiting: VecDeque<(Section, Scene, Chosen)> = VecDeque::new();
    for section in sections {
        for scene in section.scenes {
            let chosen: Chosen = scene
                .attempts
                .iter()
                .flat_map(|some| with_what_comes_before(some, |it| choice.wants(section, it)))
                .collect();
            if !chosen.is_empty() {
                waiting.push_back((*section, *scene, chosen));
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

/// The attempts that are wanted, and with each those before it that are about the same row: they
/// set its scene. `true` for the ones that are reported.
fn with_what_comes_before(attempts: &[Attempt], wanted: impl Fn(&Attempt) -> bool) -> Chosen {
    let is_needed = |(at, attempt): (usize, &Attempt)| {
        let mut later = attempts[at..].iter().filter(|it| it.row == attempt.row);
        later.any(&wanted).then(|| (*attempt, wanted(attempt)))
    };
    attempts.iter().enumerate().filter_map(is_needed).collect()
}

fn played(
    stage: &Stage,
    section: &Section,
    scene: &Scene,
    attempts: &[(Attempt, bool)],
    tell: &impl Fn(&Report),
) -> Vec<Report> {
    let raised = contained(|| (scene.raise)(stage));
    let mut reports = vec![];
    for (attempt, is_reported) in attempts {
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
        if *is_reported {
            tell(&report);
            reports.push(report);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::SECTIONS;

    fn choice(sections: &[&str], only: &[&str]) -> Choice {
        let owned = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        Choice { sections: owned(sections), only: owned(only) }
    }

    fn chosen(choice: &Choice) -> Vec<String> {
        let attempts = SECTIONS.iter().flat_map(|section| {
            section.attempts().filter(|attempt| choice.wants(section, attempt))
        });
        attempts.map(|it| format!("{} {}", it.row, it.variant)).collect()
    }

    #[test]
    fn a_row_is_that_row_and_more_words_are_the_beginning_of_an_attempt() {
        let rows = chosen(&choice(&[], &["a1"]));
        assert!(!rows.is_empty() && rows.iter().all(|name| name.starts_with("A1 ")), "{rows:?}");
        assert_eq!(chosen(&choice(&[], &["C9 replayed"])).len(), 1);
        assert_eq!(chosen(&choice(&["B"], &["A1"])), [""; 0]);
    }

    #[test]
    fn what_does_not_exist_is_refused_by_name() {
        let refused = |sections: &[&str], only: &[&str]| {
            choice(sections, only).checked(SECTIONS).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["A", "b"], &["C9 replayed", "a1"]), None);
        assert!(refused(&["A", "Z"], &[]).unwrap().contains("`Z`"));
        assert!(refused(&["G"], &[]).unwrap().contains("noninterference"));
        assert!(refused(&[], &["A1", "ZZ9"]).unwrap().contains("`ZZ9`"));
    }

    #[test]
    fn an_attempt_is_made_behind_those_before_it_of_its_row() {
        let attempt = |row, variant| Attempt { row, variant, run: |_| Ok(Verdict::Held) };
        let all = [
            attempt("A1", "one"),
            attempt("A2", "x"),
            attempt("A1", "two"),
            attempt("A1", "three"),
        ];
        let chosen = with_what_comes_before(&all, |it| it.variant == "two");
        let names: Vec<_> = chosen.iter().map(|(it, told)| (it.variant, *told)).collect();
        assert_eq!(names, [("one", false), ("two", true)]);
    }
}
