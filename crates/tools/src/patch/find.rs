//! Finding the lines that somebody means: as they stand if possible, otherwise as nearly as
//! can be without guessing. The first way that finds anything decides, and has to find it once.

use std::borrow::Cow;

/// How alike lines have to be, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The same characters.
    Exact,
    /// The same but for space at their ends.
    TrailingSpace,
    /// The same but for indentation and the width of space.
    Space,
    /// The same but for that and for typographic quotes, dashes and spaces.
    Typography,
}

impl Likeness {
    pub(super) const ALL: [Self; 4] =
        [Self::Exact, Self::TrailingSpace, Self::Space, Self::Typography];

    /// What is told about a place that was found this way; nothing for one as it was given.
    pub(super) fn note(self) -> Option<&'static str> {
        match self {
            Self::Exact => None,
            Self::TrailingSpace => Some("found by ignoring space at the ends of lines"),
            Self::Space => Some("found by ignoring differences in indentation and space"),
            Self::Typography => Some("found by ignoring differences in quotes, dashes and space"),
        }
    }

    fn fold(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => Cow::Borrowed(line),
            Self::TrailingSpace => Cow::Borrowed(line.trim_end()),
            Self::Space => Cow::Owned(one_space(line.chars())),
            Self::Typography => Cow::Owned(one_space(line.chars().map(plain))),
        }
    }
}

fn one_space(line: impl Iterator<Item = char>) -> String {
    let line: String = line.collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The character of a keyboard for one of a type case.
fn plain(character: char) -> char {
    match character {
        '‘' | '’' | '‚' | '‛' | '′' => '\'',
        '“' | '”' | '„' | '‟' | '″' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// Where `wanted` stands in `lines`: every place, by line, in the strictest way that has any.
pub(super) fn places(lines: &[String], wanted: &[&str]) -> Vec<(usize, Likeness)> {
    if wanted.is_empty() || wanted.len() > lines.len() {
        return Vec::new();
    }
    for likeness in Likeness::ALL {
        let wanted: Vec<Cow<'_, str>> = wanted.iter().map(|line| likeness.fold(line)).collect();
        // Lines of nothing but space would then be found everywhere.
        if likeness != Likeness::Exact && wanted.iter().all(|line| line.is_empty()) {
            continue;
        }
        let folded: Vec<Cow<'_, str>> = lines.iter().map(|line| likeness.fold(line)).collect();
        let found = occurrences(&folded, &wanted);
        if !found.is_empty() {
            return found.into_iter().map(|at| (at, likeness)).collect();
        }
    }
    Vec::new()
}

/// Every place of `wanted` in `all`, those that overlap too. In time that grows with the two
/// together (Knuth, Morris and Pratt): a file may be one line a million times.
fn occurrences<T: PartialEq>(all: &[T], wanted: &[T]) -> Vec<usize> {
    // How much of the beginning of `wanted` ends at each of its places, short of all of it.
    let mut overlaps: Vec<usize> = vec![0; wanted.len()];
    let mut matched = 0;
    for at in 1..wanted.len() {
        matched = longest(wanted, &overlaps, matched, &wanted[at]);
        overlaps[at] = matched;
    }
    let mut found = Vec::new();
    matched = 0;
    for (at, item) in all.iter().enumerate() {
        matched = longest(wanted, &overlaps, matched, item);
        if matched == wanted.len() {
            found.push(at + 1 - matched);
            matched = overlaps[matched - 1];
        }
    }
    found
}

/// How much of `wanted` ends with `item`, where `matched` of it ended just before.
fn longest<T: PartialEq>(wanted: &[T], overlaps: &[usize], mut matched: usize, item: &T) -> usize {
    while matched > 0 && wanted[matched] != *item {
        matched = overlaps[matched - 1];
    }
    if wanted[matched] == *item { matched + 1 } else { 0 }
}

/// The space a line begins with.
fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Moves new lines to the indentation of the place they go to, as it differs from the one
/// that was assumed.
pub(super) fn reindented(line: &str, assumed: &[&str], there: &[String]) -> String {
    let pair = assumed.iter().zip(there).find(|(line, _)| !line.trim().is_empty());
    let Some((assumed, there)) = pair.map(|(a, b)| (indentation(a), indentation(b))) else {
        return line.to_owned();
    };
    match line.strip_prefix(assumed) {
        Some(rest) if assumed != there && !line.trim().is_empty() => format!("{there}{rest}"),
        _ => line.to_owned(),
    }
}

/// Why nothing was found, with what may help.
pub(super) fn nowhere(lines: &[String], wanted: &[&str]) -> String {
    let first = wanted.iter().find(|line| !line.trim().is_empty());
    let alike = first.and_then(|first| {
        let likeness = Likeness::Typography;
        let first = likeness.fold(first).into_owned();
        lines.iter().position(|line| likeness.fold(line) == first)
    });
    match alike {
        Some(at) => format!(
            "the text to replace is not in it; its first line is like line {}, but what follows differs; read it and copy the lines as they are",
            at + 1
        ),
        None => {
            "the text to replace is not in it; read it and copy the lines as they are".to_owned()
        }
    }
}

/// Why several places are none.
pub(super) fn several(places: impl IntoIterator<Item = usize>) -> String {
    let lines: Vec<String> = places.into_iter().map(|at| (at + 1).to_string()).collect();
    let shown = lines.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    format!(
        "the text to replace stands in {} places (lines {shown}); add lines around it until there is one",
        lines.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_found(
            all in prop::collection::vec(0..3_u8, 0..40),
            wanted in prop::collection::vec(0..3_u8, 1..6),
        ) {
            let windows = all.windows(wanted.len()).enumerate();
            let places: Vec<usize> =
                windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect();
            prop_assert_eq!(occurrences(&all, &wanted), places);
        }
    }

    #[test]
    fn one_line_over_and_over_is_searched_in_linear_time() {
        let (all, wanted) = (vec!["x"; 400_000], vec!["x"; 200_000]);
        assert_eq!(occurrences(&all, &wanted).len(), 200_001);
    }
}
