//! What a command line would do, as far as that can be read off it: harmless, in need of an
//! admin's approval, or never allowed.
//!
//! The line is read as a shell reads it (`reader`), every simple command in it is judged
//! (`judge`), and so is every command inside a command (`wrapper`, `code`). What can't be
//! read, or is only known when it runs, needs approval. This is no wall: walls are the
//! sandbox's. It is what makes somebody look before a mistake is made inside them.

mod act;
mod code;
mod escape;
mod evaluate;
mod input;
mod judge;
mod path;
mod quoting;
mod reader;
mod rule;
mod said;
mod variable;
mod word;
mod wrapper;

#[cfg(test)]
mod act_tests;
#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod evaluate_tests;
#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod output_tests;
#[cfg(test)]
mod shell_tests;
#[cfg(test)]
mod wrapper_tests;
#[cfg(test)]
mod wrapping_tests;

pub use input::{classify_input, runs_its_input};
pub use rule::{DangerRule, Severity};
pub use said::{Said, said};

/// Longest line that is judged, in bytes.
pub const COMMAND_BYTES_MAX: usize = 512 * 1024;
/// Commands inside commands that are judged.
const DEPTH_MAX: usize = 24;
/// Longest piece of a line that an answer repeats, in characters.
const PIECE_CHARS_MAX: usize = 200;
/// Most work for one line, in letters read. A line can say the same thing many times over (values
/// of values, commands inside of commands), and whoever wrote it must not keep the others waiting.
const WORK_MAX: usize = 4 * 1024 * 1024;

/// What stands against a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: DangerRule,
    /// The part of the line that it matched.
    pub piece: String,
}

/// What the classifier says of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assessment {
    /// Nothing stands against it.
    Harmless,
    /// An admin of the agent may allow it.
    NeedsApproval(Finding),
    /// Nobody may allow it.
    Never(Finding),
}

impl Assessment {
    /// How much stands against it.
    pub fn severity(&self) -> Option<Severity> {
        match self {
            Self::Harmless => None,
            Self::NeedsApproval(_) => Some(Severity::NeedsApproval),
            Self::Never(_) => Some(Severity::Never),
        }
    }

    /// What stands against it.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Harmless => None,
            Self::NeedsApproval(finding) | Self::Never(finding) => Some(finding),
        }
    }
}

/// Judges a command line of a POSIX shell or bash.
pub fn classify(line: &str) -> Assessment {
    classify_in(line, None)
}

/// The same of one that begins in a folder which is known.
pub fn classify_in(line: &str, folder: Option<&str>) -> Assessment {
    assess(|worst| {
        if line.len() > COMMAND_BYTES_MAX {
            worst.add(DangerRule::TooComplex, line);
        } else {
            // A variable that is set twice is dangerous if either reading of it is.
            for twice in [judge::Twice::Unknown, judge::Twice::Latest] {
                let folder = folder.map(str::to_owned);
                let around = judge::Around { twice, folder, ..judge::Around::default() };
                judge::script(line, around, worst);
            }
        }
    })
}

/// Judges a program text. The language of a shell is read as a command line.
pub fn classify_code(language: &str, text: &str) -> Assessment {
    if matches!(language, "sh" | "bash" | "shell" | "dash" | "zsh" | "ksh") {
        return classify(text);
    }
    assess(|worst| {
        if text.len() > COMMAND_BYTES_MAX {
            worst.add(DangerRule::TooComplex, text);
        } else {
            code::judge(language, text, 0, worst);
        }
    })
}

fn assess(judge: impl FnOnce(&mut Worst)) -> Assessment {
    let mut worst = Worst::default();
    judge(&mut worst);
    match worst.finding {
        None => Assessment::Harmless,
        Some(finding) => match finding.rule.severity() {
            Severity::NeedsApproval => Assessment::NeedsApproval(finding),
            Severity::Never => Assessment::Never(finding),
        },
    }
}

/// The worst thing found so far; the first of its severity.
#[derive(Default)]
pub(super) struct Worst {
    finding: Option<Finding>,
    /// The commands there were, where somebody wants to know.
    heard: Option<said::Heard>,
    /// The work there was.
    work: usize,
    /// Whether a shell or an interpreter reads its code from whatever is led into it.
    is_hungry: bool,
}

impl Worst {
    /// Notes work that is about to be done; `false` where it would be too much, and is not done.
    fn spend(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_add(work);
        self.work <= WORK_MAX
    }

    /// Judges something on its own, as a part of the same work.
    fn aside(&mut self, judge: impl FnOnce(&mut Self)) -> Option<Finding> {
        let mut aside = Self { work: self.work, ..Self::default() };
        judge(&mut aside);
        self.work = aside.work;
        aside.finding
    }

    /// Judges what may be no command at all: only what is known to be dangerous counts.
    fn suspect(&mut self, judge: impl FnOnce(&mut Self)) {
        if let Some(finding) = self.aside(judge)
            && !matches!(finding.rule, DangerRule::Dynamic | DangerRule::Unreadable)
        {
            self.add(finding.rule, &finding.piece);
        }
    }

    fn add(&mut self, rule: DangerRule, piece: &str) {
        if let Some(heard) = &mut self.heard {
            heard.found(rule);
        }
        let now = self.finding.as_ref().map(|finding| finding.rule.severity());
        if now < Some(rule.severity()) {
            let mut piece: String = piece.trim().chars().take(PIECE_CHARS_MAX + 1).collect();
            if piece.chars().count() > PIECE_CHARS_MAX {
                piece.pop();
                piece.push('…');
            }
            self.finding = Some(Finding { rule, piece });
        }
    }
}
