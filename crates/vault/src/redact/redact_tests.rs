//! Redaction: what is found, what stays as it is, and that pieces make the same whole.

use super::forms::forms;
use super::*;
use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

const TOKEN: &str = "ghp_q7/Rt+zé \"9\"<x>";

fn redactor(values: &[&str]) -> Arc<Redactor> {
    let values: Vec<Secret> = values.iter().map(|value| Secret::new(*value)).collect();
    Arc::new(Redactor::new(&values))
}

/// What the search must find, the slow way.
fn expected(values: &[&str], text: &str) -> String {
    let all: Vec<_> = values.iter().flat_map(|value| forms(value)).collect();
    let word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = text.as_bytes();
    let (mut out, mut at) = (vec![], 0);
    while at < bytes.len() {
        let before = at.checked_sub(1).map(|at| &bytes[at]);
        let fits = |form: &&super::forms::Form| {
            let (f, rest) = (form.bytes.as_slice(), &bytes[at..]);
            let joined =
                word(before) && word(f.first()) || word(f.last()) && word(rest.get(f.len()));
            rest.starts_with(f) && !(form.whole_word && joined)
        };
        match all.iter().filter(fits).map(|form| form.bytes.len()).max() {
            Some(len) => {
                out.extend_from_slice(MARK.as_bytes());
                at += len;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap()
}

fn in_pieces(redactor: &Arc<Redactor>, text: &str, cuts: &[usize]) -> String {
    let mut stream = StreamRedactor::new(redactor.clone());
    let (mut out, mut rest) = (String::new(), text);
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let mut len = (*cut).clamp(1, rest.len());
        while !rest.is_char_boundary(len) {
            len += 1;
        }
        out.push_str(&stream.push(&rest[..len]));
        rest = &rest[len..];
    }
    out + &stream.finish()
}

fn in_byte_pieces(redactor: &Arc<Redactor>, text: &[u8], len: usize) -> Vec<u8> {
    let mut stream = ByteStreamRedactor::new(redactor.clone());
    let mut out = vec![];
    for piece in text.chunks(len) {
        let passed = stream.push(piece);
        assert!(std::str::from_utf8(&passed).is_ok(), "a character was cut");
        out.extend_from_slice(&passed);
    }
    out.extend(stream.finish());
    out
}

#[test]
fn a_value_is_found_in_every_form() {
    let redactor = redactor(&[TOKEN]);
    let json = serde_json::to_string(TOKEN).unwrap();
    let twice = serde_json::to_string(&json).unwrap();
    let hex: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [
        TOKEN,
        json.trim_matches('"'),
        twice.trim_matches(|c| c == '"' || c == '\\'),
        r#"ghp_q7/Rt+z\u00e9 \"9\"<x>"#,
        r#"ghp_q7\/Rt+z\u00e9 \"9\"<x>"#,
        r#"ghp_q7/Rt+zé \"9\"\u003cx\u003e"#,
        "ghp_q7%2FRt%2Bz%C3%A9%20%229%22%3Cx%3E",
        "ghp_q7%2fRt%2bz%c3%a9%20%229%22%3cx%3e",
        "ghp_q7%2FRt%2Bz%C3%A9+%229%22%3Cx%3E",
        "ghp_q7/Rt+z%C3%A9%20%229%22%3Cx%3E",
        &hex,
        &hex.to_uppercase(),
    ] {
        assert_eq!(redactor.redact(&format!("a{form}b")), "a[secret]b", "{form}");
    }
    for engine in [&STANDARD, &URL_SAFE] {
        assert_eq!(redactor.redact(&engine.encode(TOKEN)), "[secret]");
    }
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        assert_eq!(redactor.redact(&engine.encode(TOKEN)), "[secret]");
    }
}

#[test]
fn a_value_inside_something_encoded_is_found_wherever_it_begins() {
    let redactor = redactor(&[TOKEN]);
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..7 {
            for after in 0..4 {
                let text = format!("{}{TOKEN}{}", "u".repeat(before), ":".repeat(after));
                let redacted = redactor.redact(&engine.encode(&text)).into_owned();
                assert!(redacted.contains(MARK), "{before} {after} {redacted}");
                // Nothing of the value is left but bits of its first and last byte.
                let around = redacted.len() - MARK.len();
                assert!(around <= (before + after) * 4 / 3 + 6, "{before} {after} {redacted}");
            }
        }
    }
}

#[test]
fn a_short_value_is_found_as_a_word_only_and_a_tiny_one_never() {
    let redactor = redactor(&["4711", "abc", "-x-y-"]);
    for (text, out) in [
        ("4711", "[secret]"),
        ("pin 4711.", "pin [secret]."),
        ("密4711码", "密[secret]码"),
        ("14711", "14711"),
        ("4711_", "4711_"),
        ("0x4711", "0x4711"),
        ("14711 4711", "14711 [secret]"),
        ("abc", "abc"),
        ("NDcxMQ==", "NDcxMQ=="),
        ("a-x-y-b", "a[secret]b"),
    ] {
        assert_eq!(redactor.redact(text), out);
        assert_eq!(in_pieces(&redactor, text, &[1]), out);
    }
}

#[test]
fn the_longest_that_begins_first_is_taken() {
    let redactor = redactor(&["password", "password-and-more", "and-more-of-it"]);
    assert_eq!(redactor.redact("password-and-mor"), "[secret]-and-mor");
    assert_eq!(redactor.redact("password-and-more"), "[secret]");
    assert_eq!(redactor.redact("password-and-more-of-it"), "[secret]-of-it");
    for text in ["password-and-mor", "password-and-more", "password-and-more-of-it"] {
        assert_eq!(in_pieces(&redactor, text, &[1]), redactor.redact(text));
    }
}

#[test]
fn values_that_begin_alike_and_long_ones_are_told_apart() {
    let head = "-----BEGIN PRIVATE KEY-----\n";
    let long: Vec<String> = (0..3).map(|n| format!("{head}{}{n}", "k".repeat(9_000))).collect();
    let values: Vec<&str> = long.iter().map(String::as_str).collect();
    let redactor = redactor(&values[..2]);
    assert_eq!(redactor.redact(&format!("<{}>", long[1])), "<[secret]>");
    assert_eq!(redactor.redact(&long[2]), long[2].as_str());
    assert_eq!(in_pieces(&redactor, &format!("<{}>", long[0]), &[7, 1, 300]), "<[secret]>");
}

#[test]
fn a_value_with_the_newline_of_its_file_is_found_without_it() {
    assert_eq!(redactor(&["hunter2-hunter2\n"]).redact("is hunter2-hunter2!"), "is [secret]!");
}

#[test]
fn nothing_to_take_out_allocates_nothing() {
    for redactor in [Arc::new(Redactor::default()), redactor(&[TOKEN, "4711"])] {
        assert!(matches!(redactor.redact("an ordinary text"), Cow::Borrowed("an ordinary text")));
        assert!(matches!(redactor.redact_bytes(b"\xff\x00"), Cow::Borrowed(b"\xff\x00")));
        let mut stream = StreamRedactor::new(redactor);
        assert!(matches!(stream.push("an ordinary text."), Cow::Borrowed("an ordinary text.")));
        assert_eq!(stream.finish(), "");
    }
}

#[test]
fn a_stream_holds_back_only_what_could_be_a_secret() {
    let mut stream = StreamRedactor::new(redactor(&["hunter2-hunter2"]));
    assert_eq!(stream.push("it is hunt"), "it is ");
    assert_eq!(stream.push("ing season, hunter2-"), "hunting season, ");
    assert_eq!(stream.push("hunter2"), "[secret]");
    assert_eq!(stream.push(" hunter2-hun"), " ");
    assert_eq!(stream.finish(), "hunter2-hun");
}

#[test]
fn rule_12_a_secret_split_over_pieces_never_leaks() {
    let redactor = redactor(&[TOKEN]);
    for form in forms(TOKEN) {
        let form = std::str::from_utf8(&form.bytes).unwrap();
        for first in 1..form.len() {
            let mut stream = ByteStreamRedactor::new(redactor.clone());
            let (head, tail) = form.as_bytes().split_at(first);
            assert_eq!(*stream.push(head), *b"", "{form} at {first}");
            let mut out = stream.push(tail).into_owned();
            out.extend(stream.finish());
            assert_eq!(out, MARK.as_bytes(), "{form} at {first}");
        }
    }
}

#[test]
fn rule_12_the_mark_is_the_same_for_all() {
    let redactor = redactor(&["first-secret-value", "second-secret-value"]);
    let first = redactor.redact("first-secret-value").into_owned();
    assert_eq!(first, redactor.redact("second-secret-value"));
    assert_eq!(format!("{redactor:?}"), "Redactor(…)");
}

/// Texts of a few letters, so that values, their beginnings and their overlaps are common.
fn texts() -> impl Strategy<Value = (Vec<String>, String)> {
    let values = prop::collection::vec("[abé]{3,12}", 0..4);
    (values, prop::collection::vec("[abé]{0,6}|[ .x]", 0..20), any::<prop::sample::Index>())
        .prop_map(|(values, mut words, place)| {
            for (index, value) in values.iter().enumerate() {
                let all = forms(value);
                let form = all.get(place.index(all.len() + 1)).map(|form| form.bytes.to_vec());
                let form = form.map_or(value.clone(), |form| String::from_utf8(form).unwrap());
                words.insert((place.index(97) + index * 5) % (words.len() + 1), form);
            }
            (values, words.concat())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn redaction_is_what_the_slow_way_says((values, text) in texts()) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        prop_assert_eq!(redactor(&values).redact(&text), expected(&values, &text));
    }

    #[test]
    fn pieces_make_the_same_whole(
        (values, text) in texts(), cuts in prop::collection::vec(1..9_usize, 1..6), len in 1..5_usize
    ) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let redactor = redactor(&values);
        let whole = redactor.redact(&text);
        prop_assert_eq!(&in_pieces(&redactor, &text, &cuts), &whole);
        prop_assert_eq!(in_byte_pieces(&redactor, text.as_bytes(), len), whole.as_bytes());
    }

    #[test]
    fn what_has_no_secret_is_unchanged(text in "\\PC{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let redactor = redactor(&["\u{1}hunter2-hunter2", "\u{1}4711"]);
        prop_assume!(!text.contains("hunter2"));
        prop_assert_eq!(redactor.redact(&text), text.as_str());
        prop_assert_eq!(in_pieces(&redactor, &text, &[3]), text);
        let mut stream = ByteStreamRedactor::new(redactor);
        let mut out = vec![];
        for piece in bytes.chunks(3) {
            out.extend_from_slice(&stream.push(piece));
        }
        out.extend(stream.finish());
        prop_assert_eq!(out, bytes);
    }
}
