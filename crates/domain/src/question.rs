//! How a call is shown to whoever has to allow it: all of it, in one way for every surface.
//!
//! What is allowed is what is seen. So every argument is shown, the folder first; what could not
//! be seen, or would be taken for something else, is written out between `⟦` and `⟧`, which stand
//! for nothing else; and a call that is too long to be looked through is not shown in part. Two
//! calls that differ are never shown alike.
//!
//! ```text
//! in "/srv/project"
//! command:
//! | rm -r build
//! timeout = 5
//! ```
//!
//! Of what is written to a process that runs, the folder is the one that process began in, and
//! below it stands the command that it was started with. Where the classifier could not look at
//! all of a call, the last line says what it did not look at.

use crate::command::Unseen;
use crate::scan::look_alike;
use icu_normalizer::DecomposingNormalizerBorrowed;
use std::fmt::Write as _;

/// Longest question, in characters: what somebody looks through before they answer.
pub const SHOWN_CHARS_MAX: usize = 8_000;
/// Most lines of a question.
pub const SHOWN_LINES_MAX: usize = 250;
/// Longest line: what stands further right is looked at by nobody.
const COLUMNS_MAX: usize = 100;
/// Most blanks in a row that are shown as blanks.
const BLANKS_MAX: usize = 24;
/// Most empty lines in a row that are shown as such.
const EMPTY_LINES_MAX: usize = 2;

/// What stands above the command of a process. No argument's name has a blank.
const READ_BY: &str = "written, this once, to a process that began there as:";

/// What stands before what was not looked at, as the last line.
const LOOKED_AT: &str = "looked at: its words as they stand; not looked at:";

/// Where a call would begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFolder<'a> {
    /// It begins nowhere: it runs no program.
    Nowhere,
    /// Where programs of its conversation begin.
    Usual,
    /// Elsewhere.
    In(&'a str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text(String),
    /// Anything else, as JSON in the one form it has here.
    Json(String),
}

/// A call that has to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCall<'a> {
    /// Where it would begin.
    pub folder: StartFolder<'a>,
    /// The command of the process that would read it; the folder is where that one began.
    pub process: Option<&'a str>,
    /// What of it nobody looked at before it was asked about.
    pub unseen: Option<Unseen>,
    /// Its arguments by name, all of them.
    pub arguments: Vec<(String, Argument)>,
}

/// A call is too long to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is too long to be shown whole to whoever would have to allow it ({SHOWN_CHARS_MAX} characters and {SHOWN_LINES_MAX} lines at most); make it shorter, split it into several calls, or write the long part to a file first"
)]
pub struct TooLong;

/// Shows a call.
pub fn show(call: &AskedCall<'_>) -> Result<String, TooLong> {
    let bytes: usize = call
        .arguments
        .iter()
        .map(|(name, argument)| match argument {
            Argument::Text(text) | Argument::Json(text) => name.len() + text.len(),
        })
        .sum();
    let bytes = bytes + call.process.map_or(0, str::len);
    // No character has more than four bytes, and none is shown as less than one.
    if bytes > SHOWN_CHARS_MAX * 4 {
        return Err(TooLong);
    }
    let mut page = Page::default();
    match call.folder {
        StartFolder::Nowhere => {}
        StartFolder::Usual => page.line("where its programs begin", &[]),
        StartFolder::In(folder) => {
            let mut shown = written(folder, &['"']);
            shown.push("\"".to_owned());
            page.line("in \"", &shown);
        }
    }
    if let Some(command) = call.process {
        page.line(READ_BY, &[]);
        page.text(command);
    }
    let mut arguments: Vec<&(String, Argument)> = call.arguments.iter().collect();
    arguments.sort_by(|one, other| one.0.cmp(&other.0));
    for (name, argument) in arguments {
        let name = name_of(name);
        match argument {
            Argument::Text(text) => {
                page.line(&format!("{name}:"), &[]);
                page.text(text);
            }
            Argument::Json(json) => page.line(&format!("{name} = "), &written(json, &[])),
        }
    }
    if let Some(unseen) = call.unseen {
        page.line(&format!("{LOOKED_AT} {}", unseen.says()), &[]);
    }
    page.whole()
}

/// A name in which nothing can be taken for what stands around it.
fn name_of(name: &str) -> String {
    let mut shown = String::new();
    for it in name.chars() {
        match it {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' => shown.push(it),
            it => shown.push_str(&code(it)),
        }
    }
    shown
}

/// Words of somebody else below a question, each line behind a `|`: whatever they say, none of it
/// passes for a line of ours. What is too long to be shown is told so.
pub fn quoted(text: &str) -> String {
    let mut page = Page::default();
    page.text(text);
    page.whole().unwrap_or_else(|TooLong| "| ⟦too long to be shown⟧".to_owned())
}

/// A name between backticks on a line of ours, in which nothing can be taken for what stands
/// around it. Dots stand between names.
pub fn named(name: &str) -> String {
    const SIGNS_MAX: usize = 80;
    shortened(written(name, &['`', '.']), SIGNS_MAX)
}

/// A text between quotes on a line of ours, or at its end.
pub fn on_a_line(text: &str) -> String {
    const SIGNS_MAX: usize = 600;
    shortened(written(text, &['"']), SIGNS_MAX)
}

fn shortened(mut signs: Vec<String>, max: usize) -> String {
    if signs.len() > max {
        signs.truncate(max);
        signs.push("⟦…⟧".to_owned());
    }
    signs.concat()
}

/// What is shown so far.
#[derive(Default)]
struct Page {
    shown: String,
    lines: usize,
}

impl Page {
    /// A line, and further ones where it is too long: those begin with `>`.
    fn line(&mut self, head: &str, signs: &[String]) {
        let mut line = head.to_owned();
        let mut width = head.chars().count();
        let mut at = 0;
        while let Some(sign) = signs.get(at) {
            let wide = sign.chars().count();
            if width + wide > COLUMNS_MAX && width > 2 {
                self.put(&line);
                line = "> ".to_owned();
                width = 2;
            }
            // A blank at either end of a line is not seen.
            let begins = line == "> ";
            let ends = signs
                .get(at + 1)
                .is_none_or(|next| width + wide + next.chars().count() > COLUMNS_MAX);
            let sign = if sign == " " && (begins || ends) { code(' ') } else { sign.clone() };
            width += sign.chars().count();
            line.push_str(&sign);
            at += 1;
        }
        self.put(&line);
    }

    /// A text of several lines, each behind a `|`.
    fn text(&mut self, text: &str) {
        let lines: Vec<&str> = text.split('\n').collect();
        for run in lines.chunk_by(|one, next| one.is_empty() == next.is_empty()) {
            if run[0].is_empty() && run.len() > EMPTY_LINES_MAX {
                self.put(&format!("| ⟦{} empty lines⟧", run.len()));
                continue;
            }
            for line in run {
                self.line("| ", &written(line, &[]));
            }
        }
    }

    fn put(&mut self, line: &str) {
        self.lines += 1;
        if self.is_full() {
            return;
        }
        if self.lines > 1 {
            self.shown.push('\n');
        }
        self.shown.push_str(line.trim_end_matches(' '));
    }

    fn is_full(&self) -> bool {
        self.lines > SHOWN_LINES_MAX || self.shown.len() > SHOWN_CHARS_MAX * 4
    }

    fn whole(self) -> Result<String, TooLong> {
        if self.is_full() || self.shown.chars().count() > SHOWN_CHARS_MAX {
            return Err(TooLong);
        }
        Ok(self.shown)
    }
}

/// A text as signs that each are seen: characters, and what stands for those that are not.
/// `also` are written out besides.
fn written(text: &str, also: &[char]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut signs = Vec::with_capacity(characters.len());
    let mut at = 0;
    while at < characters.len() {
        let it = characters[at];
        if it == ' ' {
            let run = characters[at..].iter().take_while(|it| **it == ' ').count();
            match run > BLANKS_MAX {
                true => signs.push(format!("⟦{run} blanks⟧")),
                false => signs.extend(std::iter::repeat_n(" ".to_owned(), run)),
            }
            at += run;
            continue;
        }
        let is_seen = is_plain(it) && !also.contains(&it);
        let deceives = || is_word(it) && !it.is_ascii() && deceives(&characters, at);
        signs.push(if is_seen && !deceives() { it.to_string() } else { code(it) });
        at += 1;
    }
    signs
}

/// What stands for a character that is not shown as it is.
fn code(it: char) -> String {
    let mut code = String::new();
    // Writing to a text can't fail.
    let _ = write!(code, "⟦U+{:04X}⟧", u32::from(it));
    code
}

/// Whether a character is seen, once, in its place, and as nothing but itself: closed by default.
/// Scripts whose signs combine, or run from the right, are written out.
fn is_plain(it: char) -> bool {
    match it {
        ' '..='~' => true,
        '\u{c0}'..='\u{17e}' | '\u{1ea0}'..='\u{1ef9}' => it.is_alphanumeric(),
        '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' => it.is_alphanumeric() && is_simple(it),
        '\u{3041}'..='\u{30fa}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => {
            it.is_alphanumeric() && is_simple(it)
        }
        '\u{ac00}'..='\u{d7a3}' => true,
        '€' | '£' | '§' | '°' | '«' | '»' | '¡' | '¿' | '、' | '。' | '「' | '」' => {
            true
        }
        '\u{1f300}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1f64f}' => true,
        '\u{1f680}'..='\u{1f6c5}' | '\u{1f90c}'..='\u{1f93a}' => true,
        _ => false,
    }
}

/// Whether a character is no other form of something else.
fn is_simple(it: char) -> bool {
    let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
    let mut parts = normalizer.normalize_iter(std::iter::once(it));
    let first = parts.next();
    // Marks that belong to a letter are part of its own form; another letter is not.
    first == Some(it) || parts.next().is_some()
}

fn is_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// Whether a letter passes for a Latin one, in a word where that can deceive: one that has Latin
/// letters too, or in which every letter does.
fn deceives(characters: &[char], at: usize) -> bool {
    let it = characters[at];
    // Letters of western Europe, which stand among Latin ones everywhere.
    if ('\u{c0}'..='\u{ff}').contains(&it) {
        return false;
    }
    let begin = characters[..at].iter().rposition(|it| !is_word(*it)).map_or(0, |at| at + 1);
    let length = characters[at..].iter().position(|it| !is_word(*it));
    let word = &characters[begin..length.map_or(characters.len(), |length| at + length)];
    let is_other = matches!(it, '\u{370}'..='\u{52f}' | '\u{3041}'..='\u{30fa}');
    let has_latin = word.iter().any(|it| it.is_ascii_alphabetic());
    let passes = |it: &char| it.is_ascii() || look_alike(*it).is_some();
    match look_alike(it) {
        Some(_) => has_latin || word.iter().all(passes),
        None => is_other && has_latin,
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
