//! The words of a message: whom they name, and what is left when that is taken out.
//!
//! A mention is one character, U+FFFC, and stands at an offset in UTF-16 units. What lies outside the
//! text, ends inside a character or overlaps what came before marks nothing.

use super::people::{Person, Us};
use super::types::Mention;
use insula_domain::words::Piece;
use insula_domain::{WordSource, Words};

/// More than anybody types; what is beyond is not looked at.
const MENTIONS_MAX: usize = 500;
/// What a client puts where a name is to be shown.
const PLACE: char = '\u{fffc}';

/// What a text says to us.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) words: Words,
    pub(super) mentions_us: bool,
    /// It begins by naming somebody else.
    pub(super) is_for_another: bool,
}

/// Reads a text with those it mentions. Our own name is taken out, so that a command behind it is
/// found; that of others is shown, which is not what the sender typed.
pub(super) fn read(
    text: &str,
    mentions: &[Mention],
    us: &Us,
    name_of: impl Fn(&Person) -> Option<String>,
) -> Read {
    let mut read = Read::default();
    let mut typed = String::with_capacity(text.len());
    let mut done = 0;
    let mut begins_with_another = false;
    for (start, end, person) in spans(text, mentions) {
        if start < done {
            continue;
        }
        typed.push_str(&text[done..start]);
        let is_first = read.words.is_empty() && typed.trim().is_empty();
        done = end;
        if us.is(&person) {
            read.mentions_us = true;
            done = without_gap(&typed, text, end, is_first);
            continue;
        }
        begins_with_another |= is_first;
        let before = std::mem::take(&mut typed);
        read.words.push_typed(if is_first { before.trim_start() } else { &before });
        let name = name_of(&person).unwrap_or_else(|| person.id.to_string());
        read.words.push_foreign(WordSource::Name, None, &format!("@{name}"));
    }
    typed.push_str(&text[done..]);
    let typed = if read.words.is_empty() { typed.trim_start() } else { &typed };
    // What stands for a name that nobody told shows nothing.
    read.words.push_typed(&typed.trim_end().replace(PLACE, ""));
    let is_command =
        |piece: &Piece| matches!(piece, Piece::Typed(it) if it.trim_start().starts_with('/'));
    read.is_for_another = begins_with_another
        && !read.mentions_us
        && read.words.pieces().get(1).is_some_and(is_command);
    read
}

/// Where to go on behind our name: without the comma that followed it at the beginning, and without
/// a second space in the middle.
fn without_gap(before: &str, text: &str, end: usize, is_first: bool) -> usize {
    let rest = &text[end..];
    if is_first {
        let behind = rest.trim_start_matches([',', ':']).trim_start();
        return text.len() - behind.len();
    }
    if before.ends_with(char::is_whitespace) && rest.starts_with(' ') { end + 1 } else { end }
}

/// Those who are mentioned, in order, with where that begins and ends in bytes.
fn spans(text: &str, mentions: &[Mention]) -> Vec<(usize, usize, Person)> {
    let mut wanted: Vec<(u64, u64, Person)> = mentions
        .iter()
        .take(MENTIONS_MAX)
        .filter_map(|mention| {
            let start = u64::try_from(mention.start).ok()?;
            let length = u64::try_from(mention.length).ok().filter(|&length| length > 0)?;
            let person = Person::new(mention.uuid.as_deref(), mention.number.as_deref())?;
            Some((start, start.checked_add(length)?, person))
        })
        .collect();
    wanted.sort_by_key(|&(start, end, _)| (start, end));
    let mut units: Vec<u64> = wanted.iter().flat_map(|&(start, end, _)| [start, end]).collect();
    units.sort_unstable();
    units.dedup();
    let bytes = bytes_at(text, &units);
    let find = |unit: u64| units.binary_search(&unit).ok().and_then(|at| bytes[at]);
    wanted
        .into_iter()
        .filter_map(|(start, end, person)| Some((find(start)?, find(end)?, person)))
        .collect()
}

/// For each of these positions in UTF-16 units, sorted, the position in bytes, if a character
/// begins or the text ends there.
fn bytes_at(text: &str, units: &[u64]) -> Vec<Option<usize>> {
    let mut found = vec![None; units.len()];
    let (mut next, mut unit) = (0, 0);
    let characters = text.char_indices().map(|(at, it)| (at, it.len_utf16() as u64));
    for (at, length) in characters.chain([(text.len(), 0)]) {
        while next < units.len() && units[next] <= unit {
            found[next] = (units[next] == unit).then_some(at);
            next += 1;
        }
        unit += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: &str = "+4900000";
    const BOB: &str = "0b0b0b0b-0000-4000-8000-000000000002";

    fn at(start: i64, length: i64, who: &str) -> Mention {
        let (number, uuid) = match who.starts_with('+') {
            true => (Some(who.to_owned()), None),
            false => (None, Some(who.to_owned())),
        };
        Mention { number, uuid, start, length }
    }

    fn read_of(text: &str, mentions: &[Mention]) -> Read {
        let name = |person: &Person| (&*person.id == BOB).then(|| "Bob".to_owned());
        read(text, mentions, &Us::named(US), name)
    }

    #[test]
    fn a_mention_before_a_command_is_taken_out() {
        for (text, start, expected) in [
            ("\u{fffc} /new", 0, "/new"),
            ("\u{fffc}, /status now", 0, "/status now"),
            ("  \u{fffc}: hello", 2, "hello"),
            ("\u{1f600} hi \u{fffc} there", 6, "\u{1f600} hi there"),
            ("hello \u{fffc}", 6, "hello"),
            ("\u{fffc}", 0, ""),
        ] {
            let got = read_of(text, &[at(start, 1, US)]);
            assert_eq!(got.words.instruction(), expected, "{text:?}");
            assert!(got.mentions_us && !got.is_for_another, "{text:?}");
        }
    }

    #[test]
    fn others_are_shown_by_name_and_nobody_typed_it() {
        let got = read_of("ask \u{fffc} and \u{fffc}", &[at(4, 1, BOB), at(10, 1, "+49111222")]);
        let shown = |piece: &Piece| match piece {
            Piece::Typed(text) => text.clone(),
            Piece::Foreign(it) => format!("[{}]", it.text),
        };
        let pieces: String = got.words.pieces().iter().map(shown).collect();
        assert_eq!(pieces, "ask [@Bob] and [@+49111222]");
        assert_eq!(got.words.instruction(), "");
        assert!(!got.mentions_us && !got.is_for_another);
        let both = read_of("\u{fffc} \u{fffc} hi", &[at(0, 1, US), at(2, 1, BOB)]);
        assert!(both.mentions_us && !both.is_for_another);
        assert!(matches!(&both.words.pieces()[0], Piece::Foreign(it) if it.text == "@Bob"));
    }

    #[test]
    fn a_command_for_another_is_not_ours() {
        let other = read_of("\u{fffc} /new", &[at(0, 1, BOB)]);
        assert!(other.is_for_another && other.words.instruction().is_empty());
        assert!(!read_of("\u{fffc} hello", &[at(0, 1, BOB)]).is_for_another);
        assert!(!read_of("\u{fffc} /new \u{fffc}", &[at(0, 1, BOB), at(7, 1, US)]).is_for_another);
    }

    #[test]
    fn what_marks_nothing_changes_nothing() {
        for mention in [
            at(-1, 1, US),
            at(0, 0, US),
            at(0, -1, US),
            at(99, 1, US),
            at(i64::MAX, i64::MAX, US),
            at(1, 1, US),
            at(0, 1, US),
            at(0, 9, US),
        ] {
            // The first character has two units: nothing begins or ends inside of it.
            let got = read_of("\u{1f600}x", std::slice::from_ref(&mention));
            assert_eq!(got.words.said(), "\u{1f600}x", "{mention:?}");
            assert!(!got.mentions_us, "{mention:?}");
        }
        let twice = read_of("\u{fffc}x", &[at(0, 1, US), at(0, 1, BOB), at(0, 2, BOB)]);
        assert_eq!((twice.words.said().as_str(), twice.mentions_us), ("x", true));
    }
}
