//! Cuts a long text into messages that a platform takes.
//!
//! Pure. A piece is never longer than the limit, all of them together are the whole text, and
//! each can be shown alone: a code fence that a cut goes through is closed before it and opened
//! again, with its language, after it. Where the next piece begins depends on the text and on
//! where the last one ended, and on nothing else, so a delivery goes on after a crash.

use insula_channel::TextLimit;
use unicode_segmentation::UnicodeSegmentation as _;

/// Longest mark of a fence that is kept track of; a longer one is no fence anybody wrote.
const MARK_MAX: usize = 24;
/// Longest language of a fence that is repeated.
const LANGUAGE_MAX: usize = 24;
/// Below this no fence is kept whole: its marks alone would fill a message.
const FENCED_UNITS_MIN: usize = 160;
/// A message has room for this at least, whatever an adapter says.
const UNITS_MIN: usize = 8;
/// Stands before the rest of a line that would be taken for a fence.
const GUARD: &str = "\u{200b}";

/// One message of a longer text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it says.
    pub text: String,
    /// How far the text reaches that it stands for, in bytes.
    pub upto: usize,
    /// Whether nothing comes after it.
    pub is_last: bool,
}

/// A code fence that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: String,
    language: String,
}

impl Fence {
    /// The fence that a line opens.
    fn opened(line: &str) -> Option<Self> {
        let (mark, rest) = marked(line)?;
        // Backticks after backticks are code within a line.
        if mark.starts_with('`') && rest.contains('`') {
            return None;
        }
        let language = rest.split_whitespace().next().unwrap_or_default();
        let fits = language.len() <= LANGUAGE_MAX;
        let language = if fits { language.to_owned() } else { String::new() };
        Some(Self { mark: mark.to_owned(), language })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        marked(line).is_some_and(|(mark, rest)| {
            mark.starts_with(self.mark.as_str()) && rest.trim().is_empty()
        })
    }

    fn opening(&self) -> String {
        format!("{}{}\n", self.mark, self.language)
    }

    fn closing_units(&self) -> usize {
        // With a line break before it.
        self.mark.len() + 1
    }
}

/// The mark a line begins with, and what follows it.
fn marked(line: &str) -> Option<(&str, &str)> {
    let inner = line.trim_start_matches(' ');
    if line.len() - inner.len() > 3 {
        return None;
    }
    let first = inner.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let len = inner.len() - inner.trim_start_matches(first).len();
    ((3..=MARK_MAX).contains(&len)).then(|| inner.split_at(len))
}

/// What is open after a line.
fn after(open: Option<Fence>, line: &str) -> Option<Fence> {
    match open {
        Some(fence) if fence.is_closed_by(line) => None,
        Some(fence) => Some(fence),
        None => Fence::opened(line),
    }
}

/// What is open where a text goes on at `from`. A line that was cut counts as the line it is.
fn open_at(text: &str, from: usize) -> Option<Fence> {
    let mut open = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if start >= from {
            break;
        }
        open = after(open, line.trim_end_matches(['\n', '\r']));
        start += line.len();
    }
    open
}

/// How good a place for a cut is: between paragraphs, between lines, inside a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Fenced,
    Line,
    Paragraph,
}

/// The next message of a text that was sent up to `from`; `None` where nothing is left to say.
pub fn next(text: &str, from: usize, limit: TextLimit) -> Option<Piece> {
    let limit = limit.of(limit.most().max(UNITS_MIN));
    let keeps_fences = limit.most() >= FENCED_UNITS_MIN;
    let mut from = floor(text, from);
    let mut open = if keeps_fences { open_at(text, from) } else { None };
    let is_cut_line = from > 0 && !text[..from].ends_with('\n');
    if let Some(fence) = &open
        && !is_cut_line
    {
        // The end of the fence was said with the piece before.
        let line = text[from..].split_inclusive('\n').next().unwrap_or_default();
        if fence.is_closed_by(line.trim_end_matches(['\n', '\r'])) {
            from += line.len();
            open = None;
        }
    }
    if open.is_none() && !is_cut_line {
        from += text[from..].len() - text[from..].trim_start_matches(['\n', '\r']).len();
    }
    let rest = &text[from..];
    if rest.trim().is_empty() {
        return None;
    }
    let mut head = String::new();
    if let Some(fence) = &open {
        head.push_str(&fence.opening());
    }
    // What is left of a line must not become a fence that it is not.
    if is_cut_line && marked(rest.lines().next().unwrap_or_default()).is_some() {
        head.push_str(GUARD);
    }
    let room = limit.beside(&head);
    let room = room.of(room.most().max(1));
    let way = Way { is_fenced: keeps_fences, is_cut_line };
    let (len, open) = cut(rest, open, room, way);
    let body = &rest[..len];
    let mut said = head;
    match &open {
        Some(fence) => {
            said.push_str(body);
            if !body.ends_with('\n') {
                said.push('\n');
            }
            said.push_str(&fence.mark);
        }
        None => said.push_str(body.trim_end_matches(['\n', '\r', ' '])),
    }
    let after = &rest[len..];
    let only_closes = open.is_some_and(|fence| {
        let mut lines = after.splitn(2, '\n');
        lines.next().is_some_and(|line| fence.is_closed_by(line.trim_end_matches('\r')))
            && lines.next().is_none_or(|more| more.trim().is_empty())
    });
    let is_last = after.trim().is_empty() || only_closes;
    Some(Piece { text: said, upto: if is_last { text.len() } else { from + len }, is_last })
}

/// How a text is read on.
#[derive(Clone, Copy)]
struct Way {
    /// Whether fences are kept whole.
    is_fenced: bool,
    /// Whether it begins with what is left of a line, which opens and closes nothing.
    is_cut_line: bool,
}

impl Way {
    /// What is open after a line that begins at `at`.
    fn after(self, open: Option<Fence>, at: usize, line: &str) -> Option<Fence> {
        match self {
            Self { is_fenced: false, .. } => None,
            Self { is_cut_line: true, .. } if at == 0 => open,
            _ => after(open, line),
        }
    }
}

/// How much of `rest` goes into `room`, and what is open there.
fn cut(rest: &str, before: Option<Fence>, room: TextLimit, way: Way) -> (usize, Option<Fence>) {
    let mut best: [Option<(usize, usize, Option<Fence>)>; 3] = [None, None, None];
    let (mut at, mut used, mut open) = (0, 0, before.clone());
    let mut lines = rest.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let bare = line.trim_end_matches(['\n', '\r']);
        let next = way.after(open.clone(), at, bare);
        let opens = open.is_none() && next.is_some();
        used += room.len_of(line);
        at += line.len();
        // A line break that ends a message need not go along.
        let spare = line.len() - bare.len();
        let closing = match &next {
            Some(fence) => fence.closing_units() - usize::from(spare > 0),
            None => 0,
        };
        let needed = if next.is_some() { used + closing } else { used - spare };
        if needed > room.most() {
            break;
        }
        open = next;
        let worth = match (&open, lines.peek()) {
            (_, None) => return (at, open),
            // Not right after it: an empty block says nothing.
            (Some(_), _) if opens => continue,
            (Some(_), _) => Worth::Fenced,
            (None, Some(line)) if line.trim().is_empty() => Worth::Paragraph,
            (None, _) if bare.trim().is_empty() => Worth::Paragraph,
            (None, _) => Worth::Line,
        };
        best[worth as usize] = Some((at, used, open.clone()));
    }
    // A better place is worth up to half of the message.
    let furthest = best.iter().flatten().map(|(_, used, _)| *used).max();
    if let Some(furthest) = furthest {
        for worth in [Worth::Paragraph, Worth::Line, Worth::Fenced] {
            if let Some((at, used, open)) = best[worth as usize].take()
                && (used * 2 >= furthest || worth == Worth::Fenced)
            {
                return (at, open);
            }
        }
    }
    within_line(rest, before, room, way)
}

/// A cut inside the first line, which is too long; or after the first lines, where the first
/// opens a fence that its content does not fit into.
fn within_line(
    rest: &str,
    before: Option<Fence>,
    room: TextLimit,
    way: Way,
) -> (usize, Option<Fence>) {
    let mut skipped = 0;
    let mut open = before.clone();
    let mut left = room.most();
    // An opening line goes along with a part of what it opens.
    if way.is_fenced && !way.is_cut_line && before.is_none() {
        let first = rest.split_inclusive('\n').next().unwrap_or_default();
        let fence = Fence::opened(first.trim_end_matches(['\n', '\r']));
        if first.len() < rest.len()
            && let Some(fence) = fence
            && room.len_of(first) + fence.closing_units() < room.most()
        {
            skipped = first.len();
            left -= room.len_of(first);
            open = Some(fence);
        }
    }
    let line = &rest[skipped..];
    let line = &line[..line.find('\n').unwrap_or(line.len())];
    // The line may itself open one, or close the one that is open.
    let open = if skipped > 0 { open } else { way.after(open, 0, line) };
    let closing = open.as_ref().map_or(0, Fence::closing_units);
    let left = left.saturating_sub(closing).max(1);
    let (mut fits, mut word, mut used) = (0, 0, 0);
    for (start, cluster) in line.grapheme_indices(true) {
        let len = room.len_of(cluster);
        if used + len > left {
            if fits == 0 {
                // A cluster that alone is too long is cut between its characters.
                fits = room.of(left).beginning(cluster).len();
            }
            break;
        }
        used += len;
        fits = start + cluster.len();
        if cluster.chars().all(char::is_whitespace) {
            word = fits;
        }
    }
    let at = if open.is_none() && word * 2 >= fits && word > 0 { word } else { fits };
    (skipped + at.max(first_char(line)), open)
}

fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// The nearest place at or before `at` that is between two characters.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
