//! The words of a message: which of them address us, and what is left without those.
//!
//! The wire marks parts of a text by offset and length in UTF-16 units. What lies outside the
//! text, ends inside a character or overlaps what came before marks nothing.

use super::types::Entity;
use insula_domain::{WordSource, Words};

/// More marks than the platform makes; what is beyond is not looked at.
const ENTITIES_MAX: usize = 1000;

/// Who we are, for telling whether we are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Myself {
    pub(super) id: i64,
    /// Without `@`.
    pub(super) username: Box<str>,
}

/// What a text says to us.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// What it says without what addresses us.
    pub(super) words: Words,
    pub(super) mentions_us: bool,
    /// It begins with a command for another bot.
    pub(super) is_for_another: bool,
}

/// Reads a text with its marks. What is marked as a quotation, and the name of somebody whom a
/// client put in, its sender did not type.
pub(super) fn read(text: &str, entities: &[Entity], myself: &Myself) -> Read {
    let mut read = Read::default();
    let mut pieces: Vec<(Option<WordSource>, String)> = vec![];
    let mut kept = String::with_capacity(text.len());
    let mut links = vec![];
    let mut done = 0;
    for mark in marks(text, entities, myself) {
        let Mark { start, end, what } = mark;
        if start < done {
            continue;
        }
        let marked = &text[start..end];
        let is_first = text[..start].trim().is_empty();
        match what {
            What::Foreign(source) => {
                kept.push_str(&text[done..start]);
                pieces.push((None, std::mem::take(&mut kept)));
                pieces.push((Some(source), marked.to_owned()));
                done = end;
            }
            What::Us => {
                read.mentions_us = true;
                kept.push_str(&text[done..start]);
                done = without_gap(&kept, text, end);
            }
            What::Command => {
                let Some((command, bot)) = marked.split_once('@') else { continue };
                if is_us(Some(bot), myself) {
                    read.mentions_us = true;
                    kept.push_str(&text[done..start]);
                    kept.push_str(command);
                    done = end;
                } else if is_first && kept.trim().is_empty() {
                    read.is_for_another = true;
                }
            }
            // Where it leads nobody sees in the plain text, and nobody typed it there.
            What::Link(url) => links.extend(Some(url).filter(|url| *url != marked)),
        }
    }
    kept.push_str(&text[done..]);
    pieces.push((None, kept));
    read.is_for_another &= !read.mentions_us;
    read.words = whole(&pieces);
    for url in links {
        read.words.push_foreign(WordSource::Link, None, url);
    }
    read
}

/// The pieces as one, without blanks at its ends.
fn whole(pieces: &[(Option<WordSource>, String)]) -> Words {
    let is_there = |piece: &&(Option<WordSource>, String)| !piece.1.trim().is_empty();
    let pieces: Vec<_> = pieces.iter().filter(is_there).collect();
    let mut words = Words::new();
    for (at, (source, text)) in pieces.iter().enumerate() {
        let text = if at == 0 { text.trim_start() } else { text };
        let text = if at + 1 == pieces.len() { text.trim_end() } else { text };
        match source {
            None => words.push_typed(text),
            Some(source) => words.push_foreign(*source, None, text),
        }
    }
    words
}

/// What a mark says of a piece of text, from where to where in bytes.
struct Mark<'e> {
    start: usize,
    end: usize,
    what: What<'e>,
}

enum What<'e> {
    /// Its sender did not type it.
    Foreign(WordSource),
    /// It names us.
    Us,
    Command,
    Link(&'e str),
}

/// The marks that mean something, in order. What lies in something foreign means nothing.
fn marks<'e>(text: &str, entities: &'e [Entity], myself: &Myself) -> Vec<Mark<'e>> {
    let all = spans(text, entities);
    let mut marks: Vec<Mark<'e>> = vec![];
    for (start, end, entity) in &all {
        let source = match entity.kind.as_str() {
            "blockquote" | "expandable_blockquote" => WordSource::Quote,
            // The client put in what they call themselves.
            "text_mention" if entity.user.as_ref().is_none_or(|user| user.id != myself.id) => {
                WordSource::Name
            }
            _ => continue,
        };
        match marks.last_mut() {
            Some(before) if *start < before.end => before.end = before.end.max(*end),
            _ => marks.push(Mark { start: *start, end: *end, what: What::Foreign(source) }),
        }
    }
    let foreign: Vec<(usize, usize)> = marks.iter().map(|mark| (mark.start, mark.end)).collect();
    let is_own = |start: usize, end: usize| foreign.iter().all(|(a, b)| end <= *a || *b <= start);
    for (start, end, entity) in all {
        let what = match entity.kind.as_str() {
            "mention" if is_us(text[start..end].strip_prefix('@'), myself) => What::Us,
            "text_mention" if entity.user.as_ref().is_some_and(|user| user.id == myself.id) => {
                What::Us
            }
            "bot_command" => What::Command,
            "text_link" => match entity.url.as_deref() {
                Some(url) => What::Link(url),
                None => continue,
            },
            _ => continue,
        };
        if is_own(start, end) {
            marks.push(Mark { start, end, what });
        }
    }
    marks.sort_by_key(|mark| (mark.start, mark.end));
    marks
}

fn is_us(name: Option<&str>, myself: &Myself) -> bool {
    !myself.username.is_empty()
        && name.is_some_and(|name| name.eq_ignore_ascii_case(&myself.username))
}

/// Where to go on behind a name that was taken out at `end`: without the comma that followed
/// it at the beginning, and without a second space in the middle.
fn without_gap(kept: &str, text: &str, end: usize) -> usize {
    let rest = &text[end..];
    if kept.trim().is_empty() {
        let behind = rest.trim_start_matches([',', ':']);
        return text.len() - behind.len();
    }
    if kept.ends_with(char::is_whitespace) && rest.starts_with(' ') { end + 1 } else { end }
}

/// The marks that mark something, in order, with where they begin and end in bytes.
fn spans<'e>(text: &str, entities: &'e [Entity]) -> Vec<(usize, usize, &'e Entity)> {
    let mut wanted: Vec<(u64, u64, &Entity)> = entities
        .iter()
        .take(ENTITIES_MAX)
        .filter_map(|entity| {
            let start = u64::try_from(entity.offset).ok()?;
            let length = u64::try_from(entity.length).ok().filter(|&length| length > 0)?;
            Some((start, start.checked_add(length)?, entity))
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
        .filter_map(|(start, end, entity)| Some((find(start)?, find(end)?, entity)))
        .collect()
}

/// For each of these positions in UTF-16 units, sorted, the position in bytes, if a character
/// begins or the text ends there. One walk for all.
fn bytes_at(text: &str, units: &[u64]) -> Vec<Option<usize>> {
    let mut found = vec![None; units.len()];
    let mut next = 0;
    let mut unit = 0;
    let ends = text.char_indices().map(|(at, character)| (at, character.len_utf16() as u64));
    for (byte, length) in ends.chain([(text.len(), 0)]) {
        while units.get(next).is_some_and(|&wanted| wanted < unit) {
            next += 1;
        }
        if units.get(next) == Some(&unit) {
            found[next] = Some(byte);
        }
        unit += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn us() -> Myself {
        Myself { id: 7, username: "Ada_bot".into() }
    }

    fn mark(kind: &str, text: &str, marked: &str) -> Entity {
        let at = text.find(marked).unwrap();
        Entity {
            kind: kind.into(),
            offset: text[..at].encode_utf16().count() as i64,
            length: marked.encode_utf16().count() as i64,
            url: None,
            user: None,
        }
    }

    #[test]
    fn what_addresses_us_is_found_and_taken_out() {
        for (kind, text, marked, left, ours, another) in [
            ("mention", "@ada_bot hello", "@ada_bot", "hello", true, false),
            ("mention", "@Ada_Bot, hello", "@Ada_Bot", "hello", true, false),
            ("mention", "@ada_bot /new", "@ada_bot", "/new", true, false),
            ("mention", "😀 hello @ada_bot there", "@ada_bot", "😀 hello there", true, false),
            ("mention", "hello @ada_bot", "@ada_bot", "hello", true, false),
            ("mention", "hello @ada_bot!", "@ada_bot", "hello !", true, false),
            ("mention", "hello @bob", "@bob", "hello @bob", false, false),
            ("mention", "@ada_bots hello", "@ada_bots", "@ada_bots hello", false, false),
            ("bot_command", "/new@ada_bot x", "/new@ada_bot", "/new x", true, false),
            ("bot_command", "/new@other_bot", "/new@other_bot", "/new@other_bot", false, true),
            ("bot_command", "say /new@other", "/new@other", "say /new@other", false, false),
            ("bot_command", "/new", "/new", "/new", false, false),
            ("code", "@ada_bot", "@ada_bot", "@ada_bot", false, false),
        ] {
            let got = read(text, &[mark(kind, text, marked)], &us());
            let words = Words::typed(left);
            let expected = Read { words, mentions_us: ours, is_for_another: another };
            assert_eq!(got, expected, "{text}");
        }
    }

    #[test]
    fn a_mention_by_id_counts_and_a_link_says_where_it_leads() {
        let text = "Ada, see here";
        let mut by_id = mark("text_mention", text, "Ada");
        by_id.user = serde_json::from_str(r#"{"id": 7}"#).unwrap();
        let mut link = mark("text_link", text, "here");
        link.url = Some("https://example.org/".into());
        let got = read(text, &[link, by_id], &us());
        assert_eq!(got.words.said(), "see here");
        assert_eq!(got.words.all(), "see here\nhttps://example.org/");
        assert!(got.mentions_us);
    }

    #[test]
    fn what_a_client_or_somebody_else_wrote_was_not_typed() {
        // A quotation with our name and a command in it: neither counts.
        let text = "@ada_bot ok\nmine";
        let quote = mark("blockquote", text, "@ada_bot ok");
        let us_in_it = mark("mention", text, "@ada_bot");
        let got = read(text, &[us_in_it, quote], &us());
        assert_eq!((got.words.said().trim(), got.mentions_us), ("mine", false));
        assert_eq!(got.words.instruction(), "");
        // Names that people chose, by which they are mentioned.
        let text = "pay DE89 3704 now";
        let mut name = mark("text_mention", text, "DE89 3704");
        name.user = serde_json::from_str(r#"{"id": 9}"#).unwrap();
        let got = read(text, &[name], &us());
        assert!(!got.words.said().contains("DE89"), "{:?}", got.words);
        assert_eq!(got.words.all(), "pay \nDE89 3704\n now");
        // A link over the whole of a yes makes it none.
        let mut link = mark("text_link", "ok", "ok");
        link.url = Some("https://evil.net/".into());
        assert_eq!(read("ok", &[link], &us()).words.instruction(), "");
    }

    #[test]
    fn marks_that_make_no_sense_mark_nothing() {
        let text = "😀@ada_bot";
        for (offset, length) in
            [(1, 9), (-2, 8), (2, -8), (2, 0), (2, 9), (11, 1), (i64::MAX, i64::MAX), (0, i64::MAX)]
        {
            let entity = Entity { kind: "mention".into(), offset, length, url: None, user: None };
            let got = read(text, &[entity], &us());
            assert_eq!(got.words, Words::typed(text), "{offset} {length}");
            assert!(!got.mentions_us, "{offset} {length}");
        }
    }

    proptest! {
        #[test]
        fn any_marks_on_any_text_are_survived(
            text in "\\PC{0,40}",
            marks in proptest::collection::vec((0..6usize, -3..50i64, -3..50i64), 0..12),
        ) {
            let kinds = [
                "mention", "bot_command", "text_link", "text_mention", "blockquote",
                "expandable_blockquote",
            ];
            let entities: Vec<Entity> = marks
                .iter()
                .map(|&(kind, offset, length)| Entity {
                    kind: kinds[kind].into(),
                    offset,
                    length,
                    url: None,
                    user: None,
                })
                .collect();
            let got = read(&text, &entities, &us());
            prop_assert!(got.words.bytes() <= text.len());
            // What lies in a quotation is nobody's own.
            let quoted = Entity {
                kind: "blockquote".into(), offset: 0, length: text.encode_utf16().count() as i64,
                url: None, user: None,
            };
            let mut entities = entities;
            entities.push(quoted);
            let got = read(&text, &entities, &us());
            prop_assert!(got.words.said().is_empty(), "{:?}", got.words);
            prop_assert!(!got.mentions_us);
        }
    }
}
