//! Takes out of text from outside what its reader does not see, or what some reader takes for more
//! than text: control characters, escape sequences, characters that hide or turn letters around,
//! and the markers by which templates of chats tell who speaks.
//!
//! A marker is the worst of them. Servers of models turn it into the very token that ends a turn,
//! so `<|im_end|>` in a message can end it and begin the system's words.
//!
//! What honest text needs stays: joiners in scripts and emoji, direction marks beside letters that
//! are written from the right.

use crate::scan::{Hidden, hidden, is_direction_mark, is_invisible};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::CharIndices;

/// Kinds of things of which an example is kept. Whoever sends more is counted.
const EXAMPLES_MAX: usize = 16;
/// Longest example, in characters.
const EXAMPLE_CHARS_MAX: usize = 80;
/// Longest name inside a marker, in characters. The longest that is in use has about thirty.
const MARKER_CHARS_MAX: usize = 48;
/// How often a text is looked through again. Honest ones are not; in others marks of direction are
/// taken out in the end, whatever stands beside them.
const PASSES_MAX: u32 = 4;

/// Markers of templates that are written out. Others stand between `<|` and `|>`.
const MARKERS: &[&str] = &[
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<sop>",
    "<eop>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<<SYS>>",
    "<</SYS>>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "[INST]",
    "[/INST]",
    "[gMASK]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
];

/// What kind of thing was taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemovedKind {
    /// A control character.
    Control,
    /// A sequence that moves a cursor or colours a terminal.
    Escape,
    /// A character that turns text around.
    Direction,
    /// A character that can't be seen.
    Unseen,
    /// A letter written as a tag, which can't be seen either.
    Tag,
    /// A marker of a template.
    Marker,
}

impl RemovedKind {
    /// How records name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Escape => "escape",
            Self::Direction => "direction",
            Self::Unseen => "unseen",
            Self::Tag => "tag",
            Self::Marker => "marker",
        }
    }
}

/// What was taken out: how much of each kind, and examples that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    counts: BTreeMap<RemovedKind, u64>,
    examples: Vec<String>,
}

impl Removed {
    /// Whether that is nothing.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How much of each kind.
    pub fn counts(&self) -> impl Iterator<Item = (RemovedKind, u64)> {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Some of it, each once, with characters that can't be seen by their numbers.
    pub fn examples(&self) -> &[String] {
        &self.examples
    }

    fn note(&mut self, kind: RemovedKind, what: &str) {
        *self.counts.entry(kind).or_default() += 1;
        if self.examples.len() < EXAMPLES_MAX {
            let example = readable(what);
            if !self.examples.contains(&example) {
                self.examples.push(example);
            }
        }
    }

    /// Puts letters together that were hidden one by one, so that what they spell can be read.
    fn note_tags(&mut self, spelled: &mut String) {
        if !spelled.is_empty() && self.examples.len() < EXAMPLES_MAX {
            self.examples.push(format!("tags that spell {:?}", readable(spelled)));
        }
        spelled.clear();
    }
}

/// A text with what can't be seen in it written out.
fn readable(text: &str) -> String {
    let written = |it: char| match it.is_control() || is_invisible(it) {
        true => format!("U+{:04X}", u32::from(it)),
        false => it.to_string(),
    };
    text.chars().take(EXAMPLE_CHARS_MAX).map(written).collect()
}

/// The text without what does not belong there; what that was is added to `removed`.
pub fn clean<'t>(text: &'t str, removed: &mut Removed) -> Cow<'t, str> {
    if !text.chars().any(is_suspicious) {
        return Cow::Borrowed(text);
    }
    let mut clean = without_controls(text, removed);
    // Where a marker was, what stood on both sides of it meets, and may be neither honest nor plain.
    for pass in 1.. {
        let mut seen = without_hidden(&clean, removed);
        if pass == PASSES_MAX {
            seen.retain(|it| !is_direction_mark(it));
        }
        clean = without_markers(&seen, removed);
        if clean.len() == seen.len() || pass == PASSES_MAX {
            break;
        }
    }
    if clean == text { Cow::Borrowed(text) } else { Cow::Owned(clean) }
}

/// Makes a text that its owner keeps clean; whether it was not.
pub fn replace(text: &mut String, removed: &mut Removed) -> bool {
    match clean(text, removed) {
        Cow::Borrowed(_) => false,
        Cow::Owned(cleaned) => {
            *text = cleaned;
            true
        }
    }
}

/// Whether a character may be something that is taken out, or a part of it.
fn is_suspicious(it: char) -> bool {
    match it {
        '\n' | '\t' => false,
        '<' | '[' | '\u{2028}' | '\u{2029}' => true,
        it => it.is_control() || is_invisible(it),
    }
}

/// Without control characters and escape sequences. What ends a line for anybody ends one.
fn without_controls(text: &str, removed: &mut Removed) -> String {
    let mut out = String::with_capacity(text.len());
    // Whether a sequence ends at all is asked once, or many that don't would be slow.
    let ends = [text.rfind(['\u{7}', '\u{9c}']), text.rfind("\u{1b}\\")];
    let last_end = ends.into_iter().flatten().max().unwrap_or(0);
    let mut characters = text.char_indices().peekable();
    while let Some((at, it)) = characters.next() {
        match it {
            '\n' | '\t' => out.push(it),
            '\r' => {
                characters.next_if(|(_, next)| *next == '\n');
                out.push('\n');
            }
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\u{1b}' | '\u{90}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => {
                pass_sequence(it, &mut characters, at < last_end);
                let end = characters.peek().map_or(text.len(), |(end, _)| *end);
                removed.note(RemovedKind::Escape, text.get(at..end).unwrap_or_default());
            }
            it if it.is_control() => {
                removed.note(RemovedKind::Control, it.encode_utf8(&mut [0; 4]));
            }
            it => out.push(it),
        }
    }
    out
}

/// Goes past the rest of an escape sequence. One that does not end hides nothing: its words stay.
fn pass_sequence(begin: char, characters: &mut Peekable<CharIndices<'_>>, may_end: bool) {
    let kind = match begin {
        '\u{1b}' => match characters.next_if(|(_, it)| matches!(it, ' '..='~')) {
            Some((_, kind)) => kind,
            None => return,
        },
        '\u{9b}' => '[',
        _ => ']',
    };
    match kind {
        '[' => {
            while characters.next_if(|(_, it)| matches!(it, ' '..='?')).is_some() {}
            characters.next_if(|(_, it)| matches!(it, '@'..='~'));
        }
        ']' | 'P' | 'X' | '^' | '_' if may_end => {
            let mut ahead = characters.clone();
            while let Some((_, it)) = ahead.next() {
                let is_end = match it {
                    '\u{7}' | '\u{9c}' => true,
                    '\u{1b}' => ahead.next_if(|(_, next)| *next == '\\').is_some(),
                    _ => false,
                };
                if is_end {
                    *characters = ahead;
                    return;
                }
            }
        }
        // A set of letters is named by one more.
        '(' | ')' | '*' | '+' | '#' | '%' | ' ' => {
            characters.next_if(|(_, it)| matches!(it, '0'..='~'));
        }
        _ => {}
    }
}

/// Without what can't be seen and has no honest reason to be there.
fn without_hidden(text: &str, removed: &mut Removed) -> String {
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => {
            removed.note(RemovedKind::Unseen, "\u{feff}");
            rest
        }
        None => text,
    };
    let mut out = String::with_capacity(text.len());
    let (mut done, mut spelled) = (0, String::new());
    for (at, what) in hidden(text) {
        let (before, rest) = (text.get(done..at).unwrap_or_default(), text.get(at..));
        let Some(it) = rest.and_then(|rest| rest.chars().next()) else { break };
        if !before.is_empty() {
            removed.note_tags(&mut spelled);
        }
        out.push_str(before);
        done = at + it.len_utf8();
        match what {
            Hidden::Direction => {
                removed.note(RemovedKind::Direction, it.encode_utf8(&mut [0; 4]));
            }
            Hidden::Unseen => removed.note(RemovedKind::Unseen, it.encode_utf8(&mut [0; 4])),
            Hidden::Tag => {
                *removed.counts.entry(RemovedKind::Tag).or_default() += 1;
                spelled.extend(char::from_u32(u32::from(it) & 0x7f));
            }
        }
    }
    removed.note_tags(&mut spelled);
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Without markers of templates, and without those that taking others out would make.
fn without_markers(text: &str, removed: &mut Removed) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        out.push(it);
        if matches!(it, '>' | ']')
            && let Some(at) = marker_at_end(&out)
        {
            removed.note(RemovedKind::Marker, out.get(at..).unwrap_or_default());
            out.truncate(at);
        }
    }
    out
}

/// Where the marker begins by which a text ends.
fn marker_at_end(text: &str) -> Option<usize> {
    let written = MARKERS.iter().find(|marker| text.ends_with(**marker));
    if let Some(marker) = written {
        return Some(text.len() - marker.len());
    }
    for bar in ['|', '\u{ff5c}'] {
        let Some(rest) = text.strip_suffix('>').and_then(|rest| rest.strip_suffix(bar)) else {
            continue;
        };
        let named = rest.char_indices().rev().take(MARKER_CHARS_MAX + 1);
        let begin = named.take_while(|(_, it)| is_of_name(*it)).last();
        let (at, _) = begin?;
        let before = rest.get(..at)?.strip_suffix(bar)?.strip_suffix('<')?;
        return Some(before.len());
    }
    None
}

/// Whether a character can be in the name of a marker.
fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '/' | ':' | '.' | '\u{2581}')
}

#[cfg(test)]
#[path = "clean_tests.rs"]
mod tests;
