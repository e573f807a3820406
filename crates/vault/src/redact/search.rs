//! Finds the forms of all secrets in a text, leftmost first and the longest where several
//! begin.
//!
//! A [`Filter`] rules out most places; at the others the forms, which are ordered, are narrowed
//! down byte by byte. By hand and not with `aho-corasick` 1.1.5, whose copies of the values
//! can't be wiped, and which was measured beside it (two cores, `opt-level = 3`, keys of 60
//! bytes, 4 MB of prose, leftmost longest, the best of eight):
//!
//! | secrets | here | its automata |
//! | --- | --- | --- |
//! | 1 | 1,930 MB/s, built in 0.1 ms | 5,600 to 6,000 MB/s, 0.1 to 16 ms |
//! | 10 | 1,970 MB/s, 0.1 ms | 70 to 240 MB/s, 0.7 to 32 ms |
//! | 100 | 1,890 MB/s, 0.7 ms | 60 to 170 MB/s, 18 to 235 ms, 1 to 38 MB |
//! | 5,000 | 1,890 MB/s, 0.2 s | 140 to 210 MB/s, 2.6 to 3.7 s, 44 to 106 MB |
//!
//! `examples/throughput.rs` measures what is here.

use super::MARK;
use super::filter::{BLOCK_BYTES, Filter};
use super::forms::{Form, forms};
use crate::secret::Secret;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Knows the values of secrets and takes them out of texts. Never changes: when a secret
/// does, make another.
///
/// The forms are wiped when this is dropped.
#[derive(Default)]
pub struct Redactor {
    /// Ordered by their bytes.
    forms: Vec<Form>,
    filter: Filter,
    /// The longest form, in bytes.
    len_max: usize,
}

impl Redactor {
    /// Looks for these values. Those too short to look for are left out.
    pub fn new<'s>(values: impl IntoIterator<Item = &'s Secret>) -> Self {
        let mut all: Vec<Form> =
            values.into_iter().flat_map(|value| forms(value.reveal())).collect();
        // Of two with the same bytes the one that is found anywhere comes first and stays.
        all.sort_unstable_by(|one, other| {
            (one.bytes.as_slice(), one.whole_word).cmp(&(&other.bytes, other.whole_word))
        });
        all.dedup_by(|later, kept| later.bytes == kept.bytes);
        if all.is_empty() {
            return Self::default();
        }
        let filter = Filter::new(all.iter().map(|form| form.bytes.as_slice()));
        let len_max = all.iter().map(|form| form.bytes.len()).max().unwrap_or(0);
        Self { forms: all, filter, len_max }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The text without secrets: the same text, unless there was one.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(into_text(bytes)),
        }
    }

    /// The same for bytes that need not be text.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        self.advance(bytes, None, Ending::Whole).0
    }

    /// Redacts what can be decided of a text after the byte `before`; how far that is.
    pub(super) fn advance<'t>(
        &self,
        text: &'t [u8],
        before: Option<u8>,
        ending: Ending,
    ) -> (Cow<'t, [u8]>, usize) {
        let mut out: Option<Vec<u8>> = None;
        let mut done = 0;
        let mut undecided = self.undecided(text, done, ending);
        while done < undecided {
            let Some(found) = self.find(text, done, before).filter(|it| it.start < undecided)
            else {
                break;
            };
            let out = out.get_or_insert_with(|| Vec::with_capacity(text.len()));
            out.extend_from_slice(&text[done..found.start]);
            out.extend_from_slice(MARK.as_bytes());
            done = found.end;
            if done > undecided {
                undecided = self.undecided(text, done, ending);
            }
        }
        match out {
            None => (Cow::Borrowed(&text[..undecided]), undecided),
            Some(mut out) => {
                out.extend_from_slice(&text[done..undecided]);
                (Cow::Owned(out), undecided)
            }
        }
    }

    /// Where the first secret at or after `from` is.
    fn find(&self, text: &[u8], mut from: usize, before: Option<u8>) -> Option<Range<usize>> {
        if self.forms.is_empty() {
            return None;
        }
        loop {
            let at = self.filter.next(text, from)?;
            if let Some(len) = self.longest(text, at, before) {
                return Some(at..at + len);
            }
            from = at + 1;
        }
    }

    /// How long the longest form is that begins at `at`, if one does.
    fn longest(&self, text: &[u8], at: usize, before: Option<u8>) -> Option<usize> {
        let before = if at == 0 { before } else { Some(text[at - 1]) };
        let rest = &text[at..];
        let fits = |form: &Form| {
            let bytes = form.bytes.as_slice();
            !form.whole_word || is_whole_word(before, bytes, rest.get(bytes.len()))
        };
        let mut like_it = self.forms.as_slice();
        let mut found = None;
        for (depth, byte) in rest.iter().enumerate() {
            // All of these are longer than `depth` and equal up to there.
            if let [only] = like_it {
                let whole = rest.starts_with(&only.bytes) && fits(only);
                return if whole { Some(only.bytes.len()) } else { found };
            }
            let first = like_it.partition_point(|form| form.bytes[depth] < *byte);
            like_it = &like_it[first..];
            let last = like_it.partition_point(|form| form.bytes[depth] == *byte);
            like_it = &like_it[..last];
            let Some((shortest, longer)) = like_it.split_first() else { break };
            if shortest.bytes.len() == depth + 1 {
                found = if fits(shortest) { Some(depth + 1) } else { found };
                like_it = longer;
            }
        }
        found
    }

    /// The first place at or after `from` that what follows the text could change: where a
    /// form begins that the text ends within, or a character that is not complete.
    fn undecided(&self, text: &[u8], from: usize, ending: Ending) -> usize {
        if ending == Ending::Whole {
            return text.len();
        }
        let first = from.max(text.len().saturating_sub(self.len_max));
        let open = (first..text.len()).find(|at| self.is_open(&text[*at..]));
        open.unwrap_or(text.len()).min(incomplete_character(text)).max(from)
    }

    /// Whether a form begins like this and is longer, or ends here and needs the next byte to
    /// be known.
    fn is_open(&self, tail: &[u8]) -> bool {
        // Forms are text: none begins within a character.
        if matches!(tail.first(), Some(0x80..=0xbf)) {
            return false;
        }
        // A few bytes may be held in vain; they are let go with the next.
        if tail.len() < BLOCK_BYTES || !self.filter.may_begin(tail) {
            return self.filter.may_begin(tail);
        }
        let first = self.forms.partition_point(|form| form.bytes.as_slice() < tail);
        let mut like_it = self.forms[first..].iter().take_while(|it| it.bytes.starts_with(tail));
        like_it.any(|form| form.bytes.len() > tail.len() || form.whole_word)
    }
}

/// Whether more may follow a text.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ending {
    /// This is all.
    Whole,
    /// More may come.
    Open,
}

impl fmt::Debug for Redactor {
    /// Nothing: even how many secrets there are is not for everyone's eyes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(…)")
    }
}

/// What was redacted from text is text: forms are text, so they begin and end where characters
/// do.
pub(super) fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Only ASCII counts: a value right after a letter of another script is a word of its own.
fn is_whole_word(before: Option<u8>, word: &[u8], after: Option<&u8>) -> bool {
    let goes_on = |one: Option<&u8>, other: Option<&u8>| {
        let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        one.is_some_and(in_word) && other.is_some_and(in_word)
    };
    !goes_on(before.as_ref(), word.first()) && !goes_on(word.last(), after)
}

/// Where a character begins that the text ends within, or the end of the text.
fn incomplete_character(text: &[u8]) -> usize {
    for (back, byte) in text.iter().rev().take(4).enumerate() {
        let len = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if len > back + 1 { text.len() - back - 1 } else { text.len() };
    }
    text.len()
}
