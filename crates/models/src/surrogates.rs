//! Halves of signs beyond the first 65,536 of Unicode, as JSON writes them: `\ud83d\ude00` is one
//! sign. Servers that cut an answer into pieces without looking put the halves into two events,
//! and a reader of JSON refuses each. Here such halves are brought together, and one that stays
//! alone becomes the sign for what can't be read.

use std::borrow::Cow;

/// Bytes of one escape.
const ESCAPE_LEN: usize = 6;
/// Stands for a half that stays alone.
const UNREADABLE: &[u8] = b"\\ufffd";

/// The events of one answer, none with half a sign in it.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    /// An event whose text ends with the first half, and where that is: the next may begin with
    /// the second.
    held: Option<(Vec<u8>, usize)>,
}

/// A half that stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Half {
    at: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A first half at the end of a text.
    End,
    /// A second half at the beginning of a text.
    Begin,
    Elsewhere,
}

impl Joining {
    /// The events that can be read now, where another came.
    pub(crate) fn next<'d>(&mut self, data: &'d [u8]) -> [Option<Cow<'d, [u8]>>; 2] {
        let held = self.held.take();
        let mut halves = match may_have_halves(data) {
            true => halves(data),
            false => vec![],
        };
        if held.is_none() && halves.is_empty() {
            return [Some(Cow::Borrowed(data)), None];
        }
        let mut data = data.to_vec();
        let second = halves.iter().position(|half| half.place == Place::Begin);
        let before = held.map(|(mut before, first)| {
            let second = second.filter(|_| first < before.len()).map(|at| halves.remove(at).at);
            let whole = first..first + ESCAPE_LEN;
            match second {
                Some(at) => {
                    let behind = first + ESCAPE_LEN;
                    before.splice(behind..behind, data.drain(at..at + ESCAPE_LEN));
                    for half in halves.iter_mut().filter(|half| half.at > at) {
                        half.at -= ESCAPE_LEN;
                    }
                }
                None => before[whole].copy_from_slice(UNREADABLE),
            }
            Cow::Owned(before)
        });
        let last = halves.iter().rposition(|half| half.place == Place::End);
        let first = last.map(|at| halves.remove(at).at);
        replace(&mut data, &halves);
        match first {
            Some(at) => {
                self.held = Some((data, at));
                [before, None]
            }
            None => match before {
                Some(before) => [Some(before), Some(Cow::Owned(data))],
                None => [Some(Cow::Owned(data)), None],
            },
        }
    }

    /// What still waits for its other half, where no more comes.
    pub(crate) fn rest(&mut self) -> Option<Vec<u8>> {
        let (mut data, at) = self.held.take()?;
        data[at..at + ESCAPE_LEN].copy_from_slice(UNREADABLE);
        Some(data)
    }
}

/// A document without halves.
pub(crate) fn without_halves(mut document: Vec<u8>) -> Vec<u8> {
    if may_have_halves(&document) {
        let halves = halves(&document);
        replace(&mut document, &halves);
    }
    document
}

fn replace(data: &mut [u8], halves: &[Half]) {
    for half in halves {
        data[half.at..half.at + ESCAPE_LEN].copy_from_slice(UNREADABLE);
    }
}

/// Whether it is worth a closer look: hardly any event is.
fn may_have_halves(data: &[u8]) -> bool {
    data.windows(3).any(|it| it[0] == b'\\' && it[1] == b'u' && it[2].eq_ignore_ascii_case(&b'd'))
}

/// The halves that stand alone in JSON text, in order.
fn halves(data: &[u8]) -> Vec<Half> {
    let mut found = vec![];
    let (mut at, mut begins) = (0, false);
    while at < data.len() {
        if data[at] != b'\\' {
            begins = data[at] == b'"';
            at += 1;
            continue;
        }
        match unit(data, at) {
            Some(0xD800..=0xDBFF) => {
                let next = at + ESCAPE_LEN;
                if matches!(unit(data, next), Some(0xDC00..=0xDFFF)) {
                    at = next;
                } else {
                    let ends = data.get(next) == Some(&b'"');
                    let place = if ends { Place::End } else { Place::Elsewhere };
                    found.push(Half { at, place });
                }
                at += ESCAPE_LEN;
            }
            Some(0xDC00..=0xDFFF) => {
                let place = if begins { Place::Begin } else { Place::Elsewhere };
                found.push(Half { at, place });
                at += ESCAPE_LEN;
            }
            Some(_) => at += ESCAPE_LEN,
            None => at += 2,
        }
        begins = false;
    }
    found
}

/// The unit that an escape at this place stands for.
fn unit(data: &[u8], at: usize) -> Option<u16> {
    let digits = data.get(at..at + ESCAPE_LEN)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The texts of events, as they can be read.
    fn read(events: &[&str]) -> Vec<String> {
        let mut joining = Joining::default();
        let mut out: Vec<Vec<u8>> = vec![];
        for event in events {
            out.extend(joining.next(event.as_bytes()).into_iter().flatten().map(Cow::into_owned));
        }
        out.extend(joining.rest());
        out.iter().map(|it| serde_json::from_slice::<[String; 1]>(it).unwrap()[0].clone()).collect()
    }

    #[test]
    fn halves_find_each_other_and_one_alone_can_be_read() {
        for (events, expected) in [
            (&[r#"["x\ud83d"]"#, r#"["\ude00y"]"#][..], &["x😀", "y"][..]),
            (&[r#"["\uD83D"]"#, r#"["\uDE00\ud83d"]"#, r#"["\ude00"]"#], &["😀", "😀", ""]),
            (&[r#"["x\ud83d"]"#, r#"["y"]"#], &["x\u{fffd}", "y"]),
            (&[r#"["x\ud83d"]"#], &["x\u{fffd}"]),
            (&[r#"["\ude00y"]"#], &["\u{fffd}y"]),
            (&[r#"["\ud83d-\ud83d\ud83d\ude00"]"#], &["\u{fffd}-\u{fffd}😀"]),
            (&[r#"["x\ud83d"]"#, r#"["\"\ude00"]"#], &["x\u{fffd}", "\"\u{fffd}"]),
            // What JSON inside of JSON says is not read here.
            (&[r#"["\\ud83d"]"#, r#"["\\ude00"]"#], &["\\ud83d", "\\ude00"]),
        ] {
            assert_eq!(read(events), expected, "{events:?}");
        }
        let whole = without_halves(br#"["\ud83d\ude00\ud83d"]"#.to_vec());
        assert_eq!(whole, br#"["\ud83d\ude00\ufffd"]"#);
    }

    proptest! {
        #[test]
        fn a_text_that_is_cut_anywhere_comes_out_as_it_was(
            text in "[a😀\"\\\\é𝄞]{0,12}", cuts in prop::collection::vec(any::<bool>(), 24),
        ) {
            let units = text.encode_utf16().zip(cuts);
            let mut events = vec![String::new()];
            for (unit, is_cut) in units {
                if is_cut {
                    events.push(String::new());
                }
                events.last_mut().unwrap().push_str(&format!("\\u{unit:04x}"));
            }
            let events: Vec<String> = events.iter().map(|it| format!("[\"{it}\"]")).collect();
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            prop_assert_eq!(read(&events).concat(), text);
        }

        #[test]
        fn nothing_breaks_it(pieces in prop::collection::vec(r#"[\\uUdDcC8e0-9"]{0,20}"#, 0..5)) {
            let mut joining = Joining::default();
            for piece in &pieces {
                let _ = joining.next(piece.as_bytes());
            }
            let _ = joining.rest();
            let _ = without_halves(pieces.concat().into_bytes());
        }
    }
}
