//! Applying changes to one text: pure, and the same for every way of writing a patch.

use super::find::{self, Likeness};
use crate::files::Edited;
use crate::files::text::{Document, Ending};
use crate::workspace::states::LineRange;

/// The shortest text, in characters, that nobody finds once in a file by chance.
const GIVEN_CHARS_MIN: usize = 4;

/// One place of a file and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hunk {
    /// Lines to pass on the way, in order.
    pub(super) anchors: Vec<String>,
    pub(super) lines: Vec<HunkLine>,
    /// Whether it has to be at the end of the file.
    pub(super) at_end: bool,
    /// The line it is said to begin at, from 0.
    pub(super) hint: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

impl Hunk {
    fn old(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        });
        old.collect()
    }

    fn new_lines(&self, there: &[String], likeness: Likeness) -> Vec<String> {
        let old = self.old();
        let mut kept = there.iter();
        let mut new = Vec::new();
        for line in &self.lines {
            match line {
                // As it stands in the file, however it was written here.
                HunkLine::Keep(_) => new.extend(kept.next().cloned()),
                HunkLine::Remove(_) => {
                    kept.next();
                }
                HunkLine::Add(text) if likeness == Likeness::Exact => new.push(text.clone()),
                HunkLine::Add(text) => new.push(find::reindented(text, &old, there)),
            }
        }
        new
    }
}

struct Change {
    old: LineRange,
    new: Vec<String>,
}

/// Applies hunks, in whatever order they come; each has to fit in one place.
pub(super) fn hunks(text: &str, hunks: &[Hunk]) -> Result<Edited, String> {
    let document = Document::parse(text);
    let mut changes: Vec<Change> = Vec::new();
    let mut notes = Vec::new();
    let mut cursor = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let failed = |what: String| match hunks.len() {
            1 => what,
            count => format!("part {} of {count}: {what}", number + 1),
        };
        let (old, likeness) = settle(&document, hunk, cursor, &changes).map_err(failed)?;
        notes.extend(likeness.note().map(str::to_owned));
        let new = hunk.new_lines(&document.lines[old.clone()], likeness);
        cursor = old.end;
        changes.push(Change { old, new });
    }
    changes.sort_by_key(|change| (change.old.start, change.old.end));
    finish(&document, changes, notes)
}

/// Where one hunk goes.
fn settle(
    document: &Document,
    hunk: &Hunk,
    cursor: usize,
    taken: &[Change],
) -> Result<(LineRange, Likeness), String> {
    let lines = &document.lines;
    let mut from = cursor;
    for anchor in &hunk.anchors {
        let places = find::places(lines, &[anchor.as_str()]);
        let next = places.iter().find(|(at, _)| *at >= from).or_else(|| places.first());
        match next {
            Some((at, _)) => from = at + 1,
            None => return Err(format!("the line `{anchor}` is not in it")),
        }
    }
    let mut old = hunk.old();
    if old.is_empty() {
        let at = match (hunk.anchors.is_empty(), hunk.hint) {
            (false, _) => from,
            (true, Some(hint)) if !hunk.at_end => hint.min(lines.len()),
            (true, _) => lines.len(),
        };
        return Ok((at..at, Likeness::Exact));
    }
    let mut places = find::places(lines, &old);
    // A blank line at the end is often only the end of the patch.
    if places.is_empty()
        && matches!(hunk.lines.last(), Some(HunkLine::Keep(last)) if last.is_empty())
    {
        old.pop();
        places = find::places(lines, &old);
    }
    let span = |at: usize| at..at + old.len();
    let is_free = |at: usize| {
        taken.iter().all(|change| change.old.end <= at || at + old.len() <= change.old.start)
    };
    places.retain(|(at, _)| is_free(*at));
    if hunk.at_end {
        places.retain(|(at, _)| span(*at).end == lines.len());
    }
    let after: Vec<_> = places.iter().copied().filter(|(at, _)| *at >= from).collect();
    let pool = if after.is_empty() && hunk.anchors.is_empty() { places } else { after };
    let pick = match pool.as_slice() {
        [] => return Err(find::nowhere(lines, &old)),
        [only] => *only,
        // Anchors are there to say which one.
        [first, ..] if !hunk.anchors.is_empty() => *first,
        several => match several.iter().find(|(at, _)| Some(*at) == hunk.hint) {
            Some(said) => *said,
            None => return Err(find::several(several.iter().map(|(at, _)| *at))),
        },
    };
    Ok((span(pick.0), pick.1))
}

fn finish(document: &Document, changes: Vec<Change>, notes: Vec<String>) -> Result<Edited, String> {
    let mut lines: Vec<String> = Vec::new();
    let mut at = 0;
    for change in &changes {
        if change.old.start < at {
            return Err("two parts of the patch change the same lines".to_owned());
        }
        lines.extend_from_slice(&document.lines[at..change.old.start]);
        lines.extend_from_slice(&change.new);
        at = change.old.end;
    }
    lines.extend_from_slice(&document.lines[at..]);
    let changes = changes.into_iter().map(|change| (change.old, change.new.len())).collect();
    Ok(Edited { text: document.with(&lines), changes, notes, is_given: false })
}

/// Which occurrences are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurrences {
    /// The only one there is.
    One,
    /// Every one.
    All,
}

/// Replaces a piece of text.
pub(super) fn replace(
    text: &str,
    old: &str,
    new: &str,
    which: Occurrences,
) -> Result<Edited, String> {
    if old.is_empty() {
        return Err("`old_string` is empty; to make a file use write_file".to_owned());
    }
    let document = Document::parse(text);
    // Models write line feeds, whatever the file has.
    let (old, new) = (unix(old), unix(new));
    if old == new {
        return Err("`old_string` and `new_string` are the same; nothing would change".to_owned());
    }
    let flat = document.lines.join("\n");
    let flat = if text.ends_with('\n') { flat + "\n" } else { flat };
    let found: Vec<usize> = flat.match_indices(&old).map(|(at, _)| at).collect();
    match (found.len(), which) {
        (0, _) => replace_lines(&document, &old, &new, which),
        (1, _) | (_, Occurrences::All) => Ok(replace_exact(&document, &flat, &old, &new, &found)),
        _ => {
            let mut count = LineCount::new(&flat);
            Err(find::several(found.iter().map(|at| count.line_of(*at))))
        }
    }
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Which lines places of a text are in. They come in order, so that the text is looked through
/// once, however many there are.
struct LineCount<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> LineCount<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 0 }
    }

    fn line_of(&mut self, at: usize) -> usize {
        self.line += self.text.as_bytes()[self.at..at].iter().filter(|it| **it == b'\n').count();
        self.at = at;
        self.line
    }
}

fn replace_exact(document: &Document, flat: &str, old: &str, new: &str, found: &[usize]) -> Edited {
    let breaks = |text: &str| text.matches('\n').count();
    let mut changes: Vec<(LineRange, usize)> = Vec::new();
    let mut count = LineCount::new(flat);
    for at in found {
        let start = count.line_of(*at);
        let end = count.line_of(at + old.len() - 1) + 1;
        match changes.last_mut() {
            Some((last, count)) if start < last.end => {
                *count = (*count + (end - last.end) + breaks(new)).saturating_sub(breaks(old));
                last.end = end;
            }
            _ => {
                let count = (end - start + breaks(new)).saturating_sub(breaks(old));
                changes.push((start..end, count));
            }
        }
    }
    let mut text = flat.replace(old, new);
    if document.ending == Ending::CrLf {
        text = text.replace('\n', "\r\n");
    }
    if document.is_marked() {
        text.insert(0, '\u{feff}');
    }
    let is_given = found.len() == 1 && old.trim().chars().count() >= GIVEN_CHARS_MIN;
    Edited { text, changes, notes: Vec::new(), is_given }
}

fn replace_lines(
    document: &Document,
    old: &str,
    new: &str,
    which: Occurrences,
) -> Result<Edited, String> {
    let cut = |text: &str| text.strip_suffix('\n').unwrap_or(text).to_owned();
    let (old, new) = (cut(old), cut(new));
    let old: Vec<&str> = old.split('\n').collect();
    let places = find::places(&document.lines, &old);
    if places.is_empty() {
        return Err(find::nowhere(&document.lines, &old));
    }
    if places.len() > 1 && which == Occurrences::One {
        return Err(find::several(places.iter().map(|(at, _)| *at)));
    }
    let mut changes: Vec<Change> = Vec::new();
    for (at, _) in &places {
        let lines = *at..at + old.len();
        if changes.last().is_some_and(|last| lines.start < last.old.end) {
            continue;
        }
        let there = &document.lines[lines.clone()];
        let new: Vec<String> = match new.is_empty() {
            true => Vec::new(),
            false => new.split('\n').map(|line| find::reindented(line, &old, there)).collect(),
        };
        changes.push(Change { old: lines, new });
    }
    let notes = places.first().and_then(|(_, likeness)| likeness.note()).map(str::to_owned);
    finish(document, changes, notes.into_iter().collect())
}
