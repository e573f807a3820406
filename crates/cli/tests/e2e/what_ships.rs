//! The program that is tested is the program that ships: none of the bugs that are planted to
//! test the tests is in it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read files")]

use crate::support::INSULA;
use std::fs;
use std::path::Path;

fn is_of_a_name(byte: u8) -> bool {
    byte == b'-' || byte.is_ascii_lowercase()
}

/// The names that planted bugs are woken by, from the patches that plant them.
fn planted_names() -> Vec<String> {
    let patches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/seeded-leaks");
    let declared = fs::read_to_string(patches.join("domain.patch")).unwrap();
    let is_name = |word: &&str| word.contains('-') && word.bytes().all(is_of_a_name);
    let names = declared.lines().filter(|line| line.starts_with("+    "));
    names.filter_map(|line| line.split('"').nth(1).filter(is_name)).map(str::to_owned).collect()
}

#[test]
fn no_planted_leak_is_in_the_program() {
    let names = planted_names();
    assert!(names.len() >= 40, "the search for names is broken: {names:?}");
    let program = fs::read(INSULA).unwrap();
    // Words stand in it without anything between them.
    let words = program.split(|byte| !is_of_a_name(*byte)).filter(|word| word.contains(&b'-'));
    let words: Vec<&str> = words.filter_map(|word| str::from_utf8(word).ok()).collect();
    let has = |name: &str| words.iter().any(|word| word.contains(name));
    assert!(has("no-watch"), "the search of the program is broken");
    let planted: Vec<&String> = names.iter().filter(|name| has(name)).collect();
    assert!(planted.is_empty(), "planted bugs are in the program: {planted:?}");
}
