//! The scoreboard: how many attempts there were, what held, what broke, what was not run and why.

use crate::attempt::{Section, Verdict};
use crate::runner::Report;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Counts of attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub attempts: usize,
    /// The wall held.
    pub held: usize,
    /// It gave way.
    pub broken: usize,
    /// A figure was not what was aimed at.
    pub missed: usize,
    /// It could not be tried.
    pub not_run: usize,
    /// Of those not run, the ones that went wrong for no reason that is all right.
    pub failed: usize,
}

impl Totals {
    /// Counts these.
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Self {
        let mut totals = Self::default();
        for report in reports {
            totals.attempts += 1;
            match &report.result {
                Ok(Verdict::Held) => totals.held += 1,
                Ok(Verdict::Broken(_)) => totals.broken += 1,
                Ok(Verdict::Missed(_)) => totals.missed += 1,
                Ok(Verdict::NotRun(_)) => totals.not_run += 1,
                Err(_) => {
                    totals.not_run += 1;
                    totals.failed += 1;
                }
            }
        }
        totals
    }

    fn json(self) -> Value {
        json!({
            "attempts": self.attempts, "held": self.held, "broken": self.broken,
            "missed": self.missed, "not_run": self.not_run, "failed": self.failed,
        })
    }
}

/// Whether anything broke, or could not be judged, in a section where that counts.
pub fn is_lost(sections: &[Section], reports: &[Report]) -> bool {
    let counts = |report: &&Report| {
        let section = sections.iter().find(|section| section.id == report.section);
        section.is_none_or(|section| section.is_fatal)
    };
    let totals = Totals::of(reports.iter().filter(counts));
    totals.broken > 0 || totals.failed > 0
}

/// One word for what came of an attempt, and the reason if there is one.
pub fn words(report: &Report) -> (&'static str, &str) {
    match &report.result {
        Ok(Verdict::Held) => ("held", ""),
        Ok(Verdict::Broken(what)) => ("BROKEN", what),
        Ok(Verdict::Missed(what)) => ("missed", what),
        Ok(Verdict::NotRun(why)) => ("not run", why),
        Err(why) => ("FAILED", why),
    }
}

/// The scoreboard for people.
pub fn table(sections: &[Section], reports: &[Report]) -> String {
    let mut text = String::new();
    let mut line = |cells: [&str; 7]| {
        let [name, rest @ ..] = cells;
        let rest: Vec<String> = rest.iter().map(|cell| format!("{cell:>9}")).collect();
        // Writing to a string can't fail.
        let _ = writeln!(text, "{name:<52}{}", rest.concat());
    };
    line(["section", "attempts", "held", "broken", "missed", "not run", "seconds"]);
    let mut counted = |name: &str, some: &[&Report]| {
        let totals = Totals::of(some.iter().copied());
        let seconds: f64 = some.iter().map(|report| report.took.as_secs_f64()).sum();
        line([
            name,
            &totals.attempts.to_string(),
            &totals.held.to_string(),
            &totals.broken.to_string(),
            &totals.missed.to_string(),
            &totals.not_run.to_string(),
            &format!("{seconds:.1}"),
        ]);
    };
    for section in sections {
        let own: Vec<&Report> = reports.iter().filter(|it| it.section == section.id).collect();
        if !own.is_empty() {
            counted(&format!("{}  {}", section.id, section.title), &own);
        }
    }
    counted("all", &reports.iter().collect::<Vec<_>>());
    for report in reports.iter().filter(|report| words(report).0 != "held") {
        let (word, why) = words(report);
        let _ = writeln!(text, "{word:<8} {} {}: {why}", report.row, report.variant);
    }
    text
}

/// The scoreboard for programs.
pub fn json(sections: &[Section], reports: &[Report], seed: u64) -> Value {
    let section = |section: &Section| {
        let own: Vec<&Report> = reports.iter().filter(|it| it.section == section.id).collect();
        let attempts: Vec<Value> = own
            .iter()
            .map(|report| {
                let (word, why) = words(report);
                json!({
                    "row": report.row, "variant": report.variant, "result": word.to_lowercase(),
                    "why": why, "milliseconds": u64::try_from(report.took.as_millis()).unwrap_or(0),
                })
            })
            .collect();
        (!own.is_empty()).then(|| {
            json!({
                "id": section.id, "title": section.title, "fatal": section.is_fatal,
                "totals": Totals::of(own.iter().copied()).json(), "attempts": attempts,
            })
        })
    };
    let sections: Vec<Value> = sections.iter().filter_map(section).collect();
    json!({ "seed": seed, "totals": Totals::of(reports).json(), "sections": sections })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn report(result: Result<Verdict, String>) -> Report {
        Report { section: "A", row: "A1", variant: "x", result, took: Duration::ZERO }
    }

    #[test]
    fn what_went_wrong_counts_as_not_run_and_loses() {
        let section = Section { id: "A", title: "t", is_fatal: true, rows: &[], scenes: &[] };
        let held = report(Ok(Verdict::Held));
        let absent = report(Ok(Verdict::NotRun("no such feature".to_owned())));
        let failed = report(Err("no daemon".to_owned()));
        let broken = report(Ok(Verdict::Broken("it leaked".to_owned())));
        assert!(!is_lost(&[section], &[held.clone(), absent.clone()]));
        assert!(is_lost(&[section], &[held.clone(), failed.clone()]));
        assert!(is_lost(&[section], std::slice::from_ref(&broken)));
        let noise = Section { is_fatal: false, ..section };
        assert!(!is_lost(&[noise], std::slice::from_ref(&broken)));
        let missed = report(Ok(Verdict::Missed("slower than that".to_owned())));
        assert!(!is_lost(&[section], std::slice::from_ref(&missed)));
        let all = [held, absent, failed, broken, missed];
        let totals = Totals { attempts: 5, held: 1, broken: 1, missed: 1, not_run: 2, failed: 1 };
        assert_eq!(Totals::of(&all), totals);
        assert!(table(&[section], &all).contains("BROKEN   A1 x: it leaked"));
        assert_eq!(json(&[section], &all, 7)["sections"][0]["totals"]["not_run"], 2);
    }
}
