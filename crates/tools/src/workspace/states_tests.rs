//! What the registry lets through, as tables.
#![allow(clippy::disallowed_methods, reason = "tests start threads")]

use super::*;
use std::ffi::OsString;

fn key(name: &str) -> FileKey {
    let folder = super::super::FileIdentity::of(std::io::stderr()).unwrap();
    FileKey { folder, name: OsString::from(name) }
}

fn version(text: &str) -> Version {
    Version::of(text.as_bytes())
}

const EVERYTHING: Replaces = Replaces::Everything;

#[test]
fn a_write_is_judged_by_what_its_writer_has_seen() {
    let states = FileStates::default();
    let (ann, ben) = (FileReader::new("ann"), FileReader::new("ben"));
    let (file, one, two) = (key("f"), version("one"), version("two"));
    assert_eq!(states.judge(&ann, &file, one, &EVERYTHING), Err(Stale::Unread));
    states.read(&ann, &file, one, Seen::Whole, 3);
    assert_eq!(states.judge(&ann, &file, one, &EVERYTHING), Ok(()));
    assert_eq!(states.judge(&ben, &file, one, &EVERYTHING), Err(Stale::Unread), "ann's eyes");
    assert_eq!(states.judge(&ann, &file, two, &EVERYTHING), Err(Stale::Changed));
    states.wrote(&ben, &file, two);
    assert_eq!(states.judge(&ann, &file, two, &EVERYTHING), Err(Stale::Sibling));
    assert_eq!(states.judge(&ben, &file, two, &EVERYTHING), Ok(()), "a writer knows its text");
    assert_eq!(states.judge(&ann, &key("g"), two, &EVERYTHING), Err(Stale::Unread), "another file");
    states.removed(&ben, &file);
    assert_eq!(states.judge(&ben, &file, two, &EVERYTHING), Err(Stale::Unread));
}

#[test]
fn parts_add_up_and_only_replaced_lines_have_to_be_seen() {
    let states = FileStates::default();
    let (ann, file, one) = (FileReader::new("ann"), key("f"), version("one"));
    let lines = |lines: LineRange| Replaces::Lines(vec![lines]);
    states.read(&ann, &file, one, Seen::lines(0..3, 10), 10);
    assert_eq!(states.judge(&ann, &file, one, &lines(1..3)), Ok(()));
    assert_eq!(states.judge(&ann, &file, one, &lines(2..4)), Err(Stale::Partial));
    assert_eq!(states.judge(&ann, &file, one, &EVERYTHING), Err(Stale::Partial));
    states.read(&ann, &file, one, Seen::lines(5..10, 10), 10);
    assert_eq!(states.judge(&ann, &file, one, &EVERYTHING), Err(Stale::Partial));
    states.read(&ann, &file, one, Seen::lines(3..5, 10), 10);
    assert_eq!(states.judge(&ann, &file, one, &EVERYTHING), Ok(()));
    // A part of another version starts anew.
    states.read(&ann, &file, version("two"), Seen::lines(0..1, 10), 10);
    assert_eq!(states.judge(&ann, &file, version("two"), &lines(1..2)), Err(Stale::Partial));
}

#[test]
fn what_was_seen_moves_with_the_lines() {
    let states = FileStates::default();
    let (ann, file) = (FileReader::new("ann"), key("f"));
    states.read(&ann, &file, version("one"), Seen::lines(10..20, 100), 100);
    states.changed(&ann, &file, version("two"), &[(12..14, 5)]);
    let judge =
        |lines: LineRange| states.judge(&ann, &file, version("two"), &Replaces::Lines(vec![lines]));
    assert_eq!(judge(10..23), Ok(()));
    assert_eq!(judge(22..24), Err(Stale::Partial));
    assert_eq!(judge(9..10), Err(Stale::Partial));
}

#[test]
fn what_is_forgotten_counts_as_unread() {
    let states = FileStates::default();
    let (ann, one) = (FileReader::new("ann"), version("one"));
    for number in 0..=VIEWS_MAX {
        states.read(&ann, &key(&number.to_string()), one, Seen::Whole, 1);
    }
    assert_eq!(states.judge(&ann, &key("0"), one, &EVERYTHING), Err(Stale::Unread));
    assert_eq!(states.judge(&ann, &key("1"), one, &EVERYTHING), Ok(()));
    let known = states.known();
    assert_eq!((known.views.values.len(), known.views.order.len()), (VIEWS_MAX, VIEWS_MAX));
}

#[test]
fn several_files_are_locked_in_one_order_whatever_the_order_asked_for() {
    let states = FileStates::default();
    let keys: Vec<FileKey> = (0..40).map(|number| key(&number.to_string())).collect();
    let back: Vec<FileKey> = keys.iter().rev().cloned().collect();
    std::thread::scope(|scope| {
        for keys in [&keys, &back, &keys, &back] {
            let states = &states;
            scope.spawn(move || {
                for _ in 0..500 {
                    drop(states.lock(keys));
                }
            });
        }
    });
}
