//! Looks for injected instructions and hidden text in what reaches a model without anybody
//! having said it: memory entries, skills, descriptions of other people's tools.
//!
//! Everything is matched on folded text (`fold`): characters that can't be seen taken out,
//! compatibility forms and look-alikes replaced by what they look like, lower case. What was
//! taken out is reported (`invisible`). Then phrases (`phrases`, on words), markup that hides
//! text (`markup`), lines that read as commands (`commands`) and credentials (`secret`).
//!
//! This is no wall: a model can be talked into things in words that no list has. It keeps the
//! known tricks out, and makes an operator look. What a use finds ordinary (a skill may well
//! tell how to edit `.bashrc`) is not reported there.

mod commands;
mod confusable;
mod fold;
mod invisible;
mod markup;
mod named_secret;
mod phrases;
mod secret;
mod words;

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod scan_tests;

pub(crate) use invisible::{Hidden, hidden, is_direction_mark, is_invisible};
use std::fmt;

/// Longest text that is looked at, in bytes. What is longer is a finding by itself, since
/// its end was not seen.
pub const SCAN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What the text is for. It decides what is ordinary in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// An entry of memory: a short statement of fact. The strictest.
    Memory,
    /// A skill: instructions that an operator installed, with commands in them.
    Skill,
    /// A tool's or parameter's description by a server that is not ours.
    ToolDescription,
}

/// The uses that a pattern counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Uses {
    memory: bool,
    skill: bool,
    tool_description: bool,
}

impl Uses {
    const ALL: Self = Self { memory: true, skill: true, tool_description: true };
    const NOT_SKILL: Self = Self { memory: true, skill: false, tool_description: true };
    const MEMORY: Self = Self { memory: true, skill: false, tool_description: false };

    const fn has(self, usage: Use) -> bool {
        match usage {
            Use::Memory => self.memory,
            Use::Skill => self.skill,
            Use::ToolDescription => self.tool_description,
        }
    }
}

/// The kind of thing that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Asks to set other instructions aside, or to keep something from the user.
    InstructionOverride,
    /// Speaks as the system or gives the model another role.
    RoleHijack,
    /// Markup whose text a reader does not see.
    HiddenMarkup,
    /// Characters that can't be seen, or that change the order of what is seen.
    InvisibleText,
    /// Sends credentials or a conversation elsewhere.
    Exfiltration,
    /// Leaves something behind that acts later: keys, shell start-up files, an agent's files.
    Persistence,
    /// Lets somebody elsewhere give commands.
    RemoteControl,
    /// A credential in plain text.
    Secret,
    /// Too long to be looked at.
    TooLong,
}

impl Category {
    /// The name that people and programs see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InstructionOverride => "instruction override",
            Self::RoleHijack => "role hijack",
            Self::HiddenMarkup => "hidden markup",
            Self::InvisibleText => "invisible text",
            Self::Exfiltration => "exfiltration",
            Self::Persistence => "persistence",
            Self::RemoteControl => "remote control",
            Self::Secret => "secret in plain text",
            Self::TooLong => "too long",
        }
    }
}

/// One thing that was found. Each (category, what) is reported once, where it occurs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanFinding {
    /// The byte of the text where it begins.
    pub at: usize,
    /// The kind.
    pub category: Category,
    /// What it is, for people. Never a part of the text, which may be what must not be shown.
    pub what: &'static str,
}

impl fmt::Display for ScanFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} (at byte {})", self.category.as_str(), self.what, self.at)
    }
}

/// A text for somebody who looks into what is wrong with it: what can't be seen, or changes the
/// order of what is seen, stands there by its number, as `\u{200b}`.
pub fn reveal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        let hidden = character.is_control() && !matches!(character, '\n' | '\t');
        match hidden || invisible::is_invisible(character) {
            true => out.extend(character.escape_unicode()),
            false => out.push(character),
        }
    }
    out
}

/// The Latin letter that another one passes for, if it does.
pub fn look_alike(character: char) -> Option<char> {
    confusable::latin(character)
}

/// The same without what can't be seen: for finding words in it.
pub fn visible(text: &str) -> String {
    let hidden = |c: char| c.is_control() && !c.is_whitespace() || invisible::is_invisible(c);
    text.chars().filter(|c| !hidden(*c)).collect()
}

/// What stands against showing this text to a model, in the order of its place. Takes time in
/// proportion to the text.
pub fn scan(text: &str, usage: Use) -> Vec<ScanFinding> {
    let mut found = Found { usage, findings: vec![] };
    if text.len() > SCAN_BYTES_MAX {
        let what = "longer than what is looked at";
        return vec![ScanFinding { at: 0, category: Category::TooLong, what }];
    }
    invisible::look(text, &mut found);
    let folded = fold::Folded::new(text);
    words::look(&folded, &mut found);
    markup::look(&folded, &mut found);
    commands::look(&folded, &mut found);
    secret::look(&folded, &mut found);
    found.findings.sort_unstable();
    found.findings
}

/// What was found so far, and for which use one looks.
struct Found {
    usage: Use,
    findings: Vec<ScanFinding>,
}

impl Found {
    /// Notes a finding, unless this use finds it ordinary or it was noted before.
    fn note(&mut self, uses: Uses, category: Category, what: &'static str, at: usize) {
        if !uses.has(self.usage) {
            return;
        }
        let same = |known: &&mut ScanFinding| known.category == category && known.what == what;
        match self.findings.iter_mut().find(same) {
            Some(known) => known.at = known.at.min(at),
            None => self.findings.push(ScanFinding { at, category, what }),
        }
    }
}
