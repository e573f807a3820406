//! Credentials in plain text: told by how their makers begin them, by their shape, or by the
//! word before them.

use super::fold::Folded;
use super::{Category, Found, Uses};

/// How credentials begin, folded; how many characters follow at least where those look made by
/// chance; and how many where they need not, which is enough in a memory: nobody has to
/// remember what is only like a credential. 0 where the beginning alone says too little.
const BEGINNINGS: &[(&str, usize, usize)] = &[
    ("sk-ant-", 24, 10),
    ("sk-proj-", 24, 10),
    ("sk-or-", 24, 12),
    ("sk_live_", 16, 8),
    ("rk_live_", 16, 8),
    ("sk-", 32, 0),
    ("ghp_", 30, 12),
    ("gho_", 30, 12),
    ("ghs_", 30, 12),
    ("ghu_", 30, 12),
    ("github_pat_", 40, 16),
    ("glpat-", 18, 10),
    ("xoxb-", 20, 10),
    ("xoxp-", 20, 10),
    ("xoxa-", 20, 10),
    ("xapp-", 20, 10),
    ("akia", 16, 16),
    ("asia", 16, 0),
    ("aiza", 33, 30),
    ("npm_", 34, 0),
    ("pypi-", 40, 0),
    ("hf_", 30, 0),
    ("sg.", 40, 0),
];

/// Words that an example has and a credential does not.
const EXAMPLES: &[&str] = &["1234567890", "sample", "abcdef"];

/// Words that somebody writes in place of a credential.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "xxxx",
    "your",
    "placeholder",
    "dummy",
    "...",
    "token-here",
    "key-here",
    "redacted",
    "changeme",
];

/// Different characters that a random string of this length has at least.
const DIFFERENT_MIN: usize = 8;

/// How much of a private key is looked at, in bytes: its first line and some of the second.
const HEAD_BYTES_MAX: usize = 128;

/// Longest credential that is looked at, in bytes, so that a long run of letters is not counted
/// again at every place in it.
const VALUE_BYTES_MAX: usize = 256;

/// Single characters with spaces between that make a credential spaced out.
const SPACED_MIN: usize = 16;

const TOKEN: &str = "an access token or key";
const KEY: &str = "a private key";

/// Notes credentials.
pub(super) fn look(folded: &Folded, found: &mut Found) {
    let text = &folded.text;
    let mut note = |uses, what, at| found.note(uses, Category::Secret, what, folded.origin(at));
    private_keys(text, &mut note);
    tokens(text, &mut note);
    web_tokens(text, &mut note);
    super::named_secret::look(text, &mut note);
    spaced(text, &mut note);
}

/// Notes that at a byte of the folded text there is something, for these uses.
pub(super) type Note<'n> = &'n mut dyn FnMut(Uses, &'static str, usize);

fn private_keys(text: &str, note: Note<'_>) {
    for (at, _) in text.match_indices("-----begin ") {
        let rest = text.get(at..).unwrap_or_default();
        let head = rest.get(..rest.floor_char_boundary(HEAD_BYTES_MAX)).unwrap_or_default();
        let Some((_, body)) = head.split_once("private key-----") else { continue };
        note(Uses::MEMORY, KEY, at);
        let body = body.trim_start_matches(|one: char| !one.is_alphanumeric());
        if body.bytes().take_while(|&byte| is_part(byte)).count() > 20 {
            note(Uses::ALL, KEY, at);
        }
    }
}

fn tokens(text: &str, note: Note<'_>) {
    for &(beginning, random_min, shape_min) in BEGINNINGS {
        for (at, _) in text.match_indices(beginning) {
            if begins_inside(text, at) {
                continue;
            }
            let value = value_of(text.get(at + beginning.len()..).unwrap_or_default());
            if value.len() >= random_min && is_random(value) {
                note(Uses::ALL, TOKEN, at);
            } else if shape_min > 0 && value.len() >= shape_min && has_shape(value) {
                note(Uses::MEMORY, TOKEN, at);
            }
        }
    }
}

/// Three parts of base 64 with dots between, of which the first is a map.
fn web_tokens(text: &str, note: Note<'_>) {
    for (at, _) in text.match_indices("eyj") {
        if begins_inside(text, at) {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let mut parts = rest.splitn(4, '.').take(3).map(value_of);
        let first = parts.next().unwrap_or_default();
        let is_whole = rest.get(first.len()..).is_some_and(|rest| rest.starts_with('.'));
        let others: Vec<&str> = parts.collect();
        let is_long = |part: &str| part.len() >= 10;
        if is_whole && is_long(first) && others.len() == 2 && others.into_iter().all(is_long) {
            note(Uses::ALL, TOKEN, at);
        }
    }
}

/// The same with every character apart.
fn spaced(text: &str, note: Note<'_>) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let (mut run, mut begun, mut at) = (String::new(), start, start);
        // One more word than there is ends the last run.
        for word in line.trim_end().split(' ').chain(["  "]) {
            if word.chars().take(2).count() == 1 {
                if run.is_empty() {
                    begun = at;
                }
                run.push_str(word);
            } else {
                if run.len() >= SPACED_MIN {
                    let mut inside =
                        |_: Uses, what: &'static str, _: usize| note(Uses::MEMORY, what, begun);
                    tokens(&run, &mut inside);
                    web_tokens(&run, &mut inside);
                }
                run.clear();
            }
            at += word.len() + 1;
        }
        start += line.len();
    }
}

/// Whether what begins here is the middle of a word.
fn begins_inside(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    before.is_some_and(|one| one.is_alphanumeric() || one == '-' || one == '_')
}

fn value_of(rest: &str) -> &str {
    let length = rest.bytes().take(VALUE_BYTES_MAX).take_while(|&byte| is_part(byte)).count();
    rest.get(..length).unwrap_or_default()
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// How many different characters a string has.
pub(super) fn different(value: &str) -> usize {
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|&&seen| seen).count()
}

/// Whether a string stands for a credential and is none.
pub(super) fn is_placeholder(value: &str) -> bool {
    PLACEHOLDERS.iter().any(|word| value.contains(word))
}

/// Whether a string is more likely made by chance than written as an example or a name.
fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    different(value) >= DIFFERENT_MIN
        && digits >= 2
        && !is_placeholder(value)
        && !EXAMPLES.iter().any(|word| value.contains(word))
}

/// Whether a string could be the rest of a credential whose beginning is known.
fn has_shape(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    different(value) >= DIFFERENT_MIN && (digits > 0 || value.len() >= 16) && !is_placeholder(value)
}
