//! What a command line would do, as far as its words say: harmless, in need of an admin's
//! approval, or never allowed.
//!
//! This decides when to ask a person; the wall is the sandbox. So it reads words and does not
//! guess: a small lexer splits the line ([`line`]), and what each command says literally is
//! looked up in a table ([`table`]). What a line does not say is one class, `opaque`,
//! and the operator sets what becomes of it. The lexer is written by hand because a
//! grammar costs more in build time and binary size than reading words is worth.

mod input;
mod judge;
mod line;
mod path;
mod prefix;
mod rule;
mod said;
mod table;
mod word;

#[cfg(test)]
mod command_tests;
#[cfg(test)]
mod lexer_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod said_tests;

pub use input::{classify_input, runs_its_input};
pub use rule::{DangerRule, Severity, Unseen};
pub use said::{SimpleCommand, plain, said};

/// Longest line that is read, in bytes.
pub const COMMAND_BYTES_MAX: usize = 512 * 1024;
/// Longest piece of a line that an answer repeats, in characters.
const PIECE_CHARS_MAX: usize = 200;

/// What stands against a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFinding {
    pub rule: DangerRule,
    /// The part of the line that it matched.
    pub piece: String,
    /// What of the call was not looked at, if anything.
    pub unseen: Option<Unseen>,
}

impl CommandFinding {
    /// A finding about what was looked at.
    pub fn new(rule: DangerRule, piece: impl Into<String>) -> Self {
        Self { rule, piece: piece.into(), unseen: None }
    }

    /// A finding about what can't be looked at.
    pub fn unseen(unseen: Unseen, piece: &str) -> Self {
        Self { unseen: Some(unseen), ..Self::new(DangerRule::Opaque, clipped(piece)) }
    }
}

/// What the classifier says of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assessment {
    /// Nothing stands against it.
    Harmless,
    /// An admin of the agent may allow it. Of less severe rules the operator's settings may, or
    /// that an admin asked for it.
    NeedsApproval(CommandFinding),
    /// Nobody may allow it.
    Never(CommandFinding),
}

impl Assessment {
    /// How much stands against it.
    pub fn severity(&self) -> Option<Severity> {
        self.finding().map(|finding| finding.rule.severity())
    }

    /// What stands against it.
    pub fn finding(&self) -> Option<&CommandFinding> {
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
    let mut worst = Worst::default();
    judge::line(line, folder, &mut worst);
    worst.assessment()
}

/// Judges a program text: a shell's as a command line. Code in another language is not read.
pub fn classify_code(language: &str, text: &str) -> Assessment {
    if word::is_in(table::SHELLS, language) || language == "shell" {
        return classify(text);
    }
    Assessment::NeedsApproval(CommandFinding::unseen(Unseen::Code, text))
}

/// The worst thing found so far: the first of its severity.
#[derive(Default)]
struct Worst {
    finding: Option<CommandFinding>,
    unseen: Option<Unseen>,
}

impl Worst {
    fn add(&mut self, rule: DangerRule, piece: &str) {
        let now = self.finding.as_ref().map(|finding| finding.rule.severity());
        if now < Some(rule.severity()) {
            self.finding = Some(CommandFinding::new(rule, clipped(piece)));
        }
    }

    fn add_unseen(&mut self, unseen: Unseen, piece: &str) {
        self.unseen.get_or_insert(unseen);
        self.add(DangerRule::Opaque, piece);
    }

    fn assessment(self) -> Assessment {
        let Some(finding) = self.finding else { return Assessment::Harmless };
        let finding = CommandFinding { unseen: self.unseen, ..finding };
        match finding.rule.severity() {
            Severity::Opaque | Severity::Admins | Severity::NeedsApproval => {
                Assessment::NeedsApproval(finding)
            }
            Severity::Never => Assessment::Never(finding),
        }
    }
}

/// As much of a text as an answer repeats.
fn clipped(text: &str) -> String {
    let text = text.trim();
    let mut piece: String = text.chars().take(PIECE_CHARS_MAX).collect();
    if piece.len() < text.len() {
        piece.push('…');
    }
    piece
}
