//! What an attempt is, what can come of it, and how attempts are kept together.
//!
//! A section is a letter of the specification. Its rows are what must be covered, its scenes
//! are daemons that several attempts share.

use crate::ground::Ground;
use crate::stage::Stage;

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The wall held: nothing of what was tried took effect.
    Held,
    /// The wall gave way, and how it showed.
    Broken(String),
    /// A figure is not what was aimed at. That says something of the machine too, and is no
    /// verdict on a wall.
    Missed(String),
    /// It could not be tried, for a reason that is known and all right: the feature does not
    /// exist, this machine lacks something. Never for a reason that is not known.
    NotRun(String),
}

/// An attempt that goes wrong before it can judge is an error: it counts as not run, and fails
/// the run, since nobody knows what would have come of it.
pub type Outcome = anyhow::Result<Verdict>;

/// One thing that is tried, once.
#[derive(Clone, Copy)]
pub struct Attempt {
    /// The row of the specification, such as `A3`.
    pub row: &'static str,
    /// Which variant of it, in a few words.
    pub variant: &'static str,
    /// Tries it.
    pub run: fn(&Ground) -> Outcome,
}

/// A daemon, and the attempts that share it.
#[derive(Clone, Copy)]
pub struct Scene {
    /// What it is called.
    pub name: &'static str,
    /// Starts it.
    pub raise: fn(&Stage) -> anyhow::Result<Ground>,
    /// What is tried there, in order.
    pub attempts: &'static [&'static [Attempt]],
}

/// A row of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Such as `A3`.
    pub id: &'static str,
    /// What is tried, in short.
    pub what: &'static str,
}

/// A letter of the specification.
#[derive(Clone, Copy)]
pub struct Section {
    /// The letter.
    pub id: &'static str,
    /// Who against whom.
    pub title: &'static str,
    /// Whether something broken here fails the run. Noise is measured and never fails.
    pub is_fatal: bool,
    /// What must be covered.
    pub rows: &'static [Row],
    /// Where it is tried.
    pub scenes: &'static [Scene],
}

impl Section {
    pub fn attempts(&self) -> impl Iterator<Item = &'static Attempt> {
        let scenes = self.scenes.iter();
        scenes.flat_map(|scene| scene.attempts.iter().flat_map(|some| some.iter()))
    }
}

/// Ends an attempt as broken unless `$held` is true.
#[macro_export]
macro_rules! hold {
    ($held:expr, $($what:tt)+) => {
        if !$held {
            return Ok($crate::attempt::Verdict::Broken(format!($($what)+)));
        }
    };
}

/// Ends an attempt as one that judged nothing unless `$works` is true: what its rightful owner
/// does must work, or a wall can't be told from a broken tool.
#[macro_export]
macro_rules! control {
    ($works:expr, $($what:tt)+) => {
        if !$works {
            anyhow::bail!("the control failed: {}", format!($($what)+));
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::sections::SECTIONS;
    use std::collections::BTreeSet;

    /// How many rows the specification has, by letter; where it counts them.
    const ROWS: [(&str, usize); 5] = [("A", 19), ("B", 14), ("C", 22), ("D", 7), ("I", 9)];

    #[test]
    fn every_row_of_the_specification_is_there_and_is_tried() {
        for section in SECTIONS {
            let rows: Vec<&str> = section.rows.iter().map(|row| row.id).collect();
            if let Some((letter, count)) = ROWS.iter().find(|(letter, _)| *letter == section.id) {
                let wanted: Vec<String> = (1..=*count).map(|at| format!("{letter}{at}")).collect();
                assert_eq!(rows, wanted);
            }
            let tried: BTreeSet<&str> = section.attempts().map(|attempt| attempt.row).collect();
            assert_eq!(tried, rows.iter().copied().collect(), "section {}", section.id);
        }
    }

    #[test]
    fn no_two_attempts_have_one_name() {
        let all = SECTIONS.iter().flat_map(|section| section.attempts());
        let mut seen = BTreeSet::new();
        for attempt in all {
            assert!(
                seen.insert((attempt.row, attempt.variant)),
                "{} {}",
                attempt.row,
                attempt.variant
            );
        }
    }
}
