//! The framing of event streams: the same events whatever the pieces.

use super::*;
use proptest::prelude::*;

const CAP: usize = 1024;

fn decode<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<(String, String)>, Oversized> {
    let mut decoder = SseDecoder::new(CAP);
    let mut events = vec![];
    for piece in pieces {
        decoder.push(piece, |name, data| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            events.push((text(name), text(data)));
            Ok::<(), Oversized>(())
        })?;
    }
    Ok(events)
}

fn events(text: &str) -> Vec<(String, String)> {
    decode([text.as_bytes()]).unwrap()
}

#[test]
fn fields_comments_and_line_ends_are_read_as_the_standard_says() {
    let one = |name: &str, data: &str| vec![(name.to_owned(), data.to_owned())];
    for (text, expected) in [
        ("data: a\n\n", one("", "a")),
        ("data:a\r\n\r\n", one("", "a")),
        ("data: a\r\r", one("", "a")),
        ("\u{feff}data: a\n\n", one("", "a")),
        ("event: ping\ndata: {}\n\n", one("ping", "{}")),
        ("data: a\ndata: b\n\n", one("", "a\nb")),
        ("data:  a\n\n", one("", " a")),
        ("data\n\n", one("", "")),
        (": comment\nid: 7\nretry: 10\ndata: a\n\n", one("", "a")),
        ("event: alone\n\ndata: a\n\n", one("", "a")),
        ("data: unfinished\n", vec![]),
        ("data: unfinished", vec![]),
        ("", vec![]),
        ("<html>\n\n", vec![]),
    ] {
        assert_eq!(events(text), expected, "{text:?}");
    }
}

#[test]
fn an_event_that_never_ends_is_refused_at_its_bound() {
    let line = format!("data: {}\n", "x".repeat(100));
    assert_eq!(decode(std::iter::repeat_n(line.as_bytes(), 20)), Err(Oversized));
    assert_eq!(decode(std::iter::repeat_n(b"xxxxxxxxxxxxxxxx".as_slice(), 100)), Err(Oversized));
}

#[test]
fn every_single_split_gives_the_same_events() {
    let text = "\u{feff}event: a\r\ndata: {\"x\": \"é\"}\r\n\r\n: c\r\rdata: 1\ndata: 2\n\ndata: [DONE]\n\n";
    let whole = events(text);
    assert_eq!(whole.len(), 3);
    for at in 0..=text.len() {
        let (left, right) = text.as_bytes().split_at(at);
        assert_eq!(decode([left, right]).unwrap(), whole, "split at {at}");
    }
    assert_eq!(decode(text.as_bytes().chunks(1)).unwrap(), whole);
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_events(
        lines in proptest::collection::vec(
            prop_oneof![
                Just(String::new()),
                "data: ?[a-zé:{}]{0,12}",
                "event: [a-z]{1,6}",
                ": [a-z]{0,6}",
                "[a-z:]{0,8}",
            ],
            0..20,
        ),
        ends in proptest::collection::vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 20),
        cuts in proptest::collection::vec(1usize..9, 1..40),
    ) {
        let text: String =
            lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
        let whole = decode([text.as_bytes()]).unwrap();
        let mut pieces = vec![];
        let (mut rest, mut next) = (text.as_bytes(), 0);
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(cuts[next % cuts.len()].min(rest.len()));
            pieces.push(piece);
            rest = after;
            next += 1;
        }
        prop_assert_eq!(decode(pieces).unwrap(), whole);
    }
}
