//! Credentials in plain text, told by how their makers begin them, and private keys.

use super::fold::Folded;
use super::{Category, Found, Uses};

/// How credentials begin, folded, and how many characters follow at least.
const BEGINNINGS: &[(&str, usize)] = &[
    ("sk-ant-", 24),
    ("sk-proj-", 24),
    ("sk-or-", 24),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("sk-", 32),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 40),
    ("glpat-", 18),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("xapp-", 20),
    ("akia", 16),
    ("asia", 16),
    ("aiza", 33),
    ("npm_", 34),
    ("pypi-", 40),
    ("hf_", 30),
    ("sg.", 40),
];

/// Words that an example has and a credential does not.
const EXAMPLES: &[&str] = &[
    "example",
    "xxxx",
    "your",
    "placeholder",
    "1234567890",
    "dummy",
    "sample",
    "...",
    "abcdef",
    "token-here",
    "redacted",
];

/// Different characters that a random string of this length has at least.
const DIFFERENT_MIN: usize = 8;

/// How much of a private key is looked at, in bytes: its first line and some of the second.
const HEAD_BYTES_MAX: usize = 128;

/// Notes credentials.
pub(super) fn look(folded: &Folded, found: &mut Found) {
    let text = &folded.text;
    let mut note = |what, at| {
        found.note(Uses::ALL, Category::Secret, what, folded.origin(at));
    };
    for (at, _) in text.match_indices("-----begin ") {
        let rest = text.get(at..).unwrap_or_default();
        let head = rest.get(..rest.floor_char_boundary(HEAD_BYTES_MAX)).unwrap_or_default();
        let Some((_, body)) = head.split_once("private key-----") else { continue };
        let body = body.trim_start_matches(|one: char| !one.is_alphanumeric());
        if body.bytes().take_while(|&byte| is_part(byte)).count() > 20 {
            note("a private key", at);
        }
    }
    for &(beginning, length_min) in BEGINNINGS {
        for (at, _) in text.match_indices(beginning) {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let inside =
                before.is_some_and(|one| one.is_alphanumeric() || one == '-' || one == '_');
            if inside {
                continue;
            }
            let rest = text.get(at + beginning.len()..).unwrap_or_default();
            // Bounded, so that a long run of letters is not counted again at every place in it.
            let length = rest.bytes().take(256).take_while(|&byte| is_part(byte)).count();
            let value = rest.get(..length).unwrap_or_default();
            if length >= length_min && is_random(value) {
                note("an access token or key", at);
            }
        }
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// Whether a string is more likely made by chance than written as an example or a name.
fn is_random(value: &str) -> bool {
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    let different = seen.iter().filter(|&&seen| seen).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    different >= DIFFERENT_MIN && digits >= 2 && !EXAMPLES.iter().any(|word| value.contains(word))
}
