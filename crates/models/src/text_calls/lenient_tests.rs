//! What is read leniently, what is not, and that nothing strict is read otherwise.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn slips(text: &str) -> Option<(Value, Vec<&'static str>)> {
    whole(text).map(|(value, slips)| (value, slips.into_iter().map(Slip::as_str).collect()))
}

#[test]
fn what_has_one_meaning_is_read_and_said() {
    for (text, value, said) in [
        (r#"{"a": 1}"#, json!({"a": 1}), vec![]),
        (r#"{"a": 1,}"#, json!({"a": 1}), vec!["trailing comma"]),
        (r#"{"a": [1, 2,],}"#, json!({"a": [1, 2]}), vec!["trailing comma"]),
        ("{'a': 'b'}", json!({"a": "b"}), vec!["quotes"]),
        (
            r#"{"a": True, "b": None, "c": False}"#,
            json!({"a": true, "b": null, "c": false}),
            vec!["Python literal"],
        ),
        ("{a: 1, b-c: 2}", json!({"a": 1, "b-c": 2}), vec!["key without quotes"]),
        ("{\"a\": \"x\ny\"}", json!({"a": "x\ny"}), vec!["line break in a text"]),
        (r#"{"a": "\d+\.rs"}"#, json!({"a": r"\d+\.rs"}), vec!["needless backslash"]),
        (r#"{"a": "it\'s"}"#, json!({"a": "it's"}), vec!["needless backslash"]),
        (
            "{\"a\": \"\"\"say \"hi\"\nthere\"\"\"}",
            json!({"a": "say \"hi\"\nthere"}),
            vec!["quotes"],
        ),
        (r#"{"a": {"b": 1}"#, json!({"a": {"b": 1}}), vec!["missing brace"]),
        (r#"{{"a": {{"b": 1}}}}"#, json!({"a": {"b": 1}}), vec!["doubled braces"]),
        (r#"{{"a": 1}}"#, json!({"a": 1}), vec!["doubled braces"]),
        (r#"{"a": "😀 é"}"#, json!({"a": "😀 é"}), vec![]),
        (" [1, -2.5e3] ", json!([1, -2500.0]), vec![]),
    ] {
        assert_eq!(slips(text), Some((value, said)), "{text}");
    }
}

#[test]
fn what_is_cut_off_or_has_two_meanings_is_not_read() {
    for text in [
        "",
        "{",
        r#"{"a": {"b": 1"#,
        r#"{"a": "b"#,
        r#"{"a": "b", "#,
        r#"{"a":"#,
        r#"{"a" 1}"#,
        r#"{"a": 1 "b": 2}"#,
        "{'a': 'it's'}",
        "{a}",
        "{1: 2}",
        "{\"a\": 1} // why",
        "{\"a\": /* b */ 1}",
        "{\"a\": ...}",
        "{\"a\": undefined}",
        "{\"a\": (1, 2)}",
        "{\"a\": 01}",
        r#"{"a": "\ud83d"}"#,
        r#"{"a": "\ud83dA"}"#,
        "{} {}",
        "{,}",
        "{{}, 1}",
        "{{\"a\": 1}, \"b\": 2}",
        "{{{",
    ] {
        assert_eq!(slips(text), None, "{text}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(prefix(&deep, AtEnd::Open), Err(Failed::Wrong(DEPTH_MAX + 1)));
}

#[test]
fn an_object_that_is_cut_off_tells_its_fields() {
    let cut = r#"{"name": "write_file", "arguments": {"path": "a"#;
    let Err(Failed::Unfinished(fields)) = prefix(cut, AtEnd::Closed) else { panic!() };
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["name", "arguments"]);
    assert_eq!(fields[0].1.as_ref().unwrap().text(), Some("write_file"));
    assert_eq!(fields[1].1, Err(cut.find("{\"path").unwrap()));
}

/// Any JSON.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC*".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("\\PC*", inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_strict_is_read_the_same_and_has_no_slip(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(whole(&text), Some((value.clone(), BTreeSet::new())));
        }
    }

    #[test]
    fn what_a_strict_reader_takes_means_the_same_here(text in "[\\[\\]{}:,\"'\\\\a1 \\-.entrufals]{0,40}") {
        if let Ok(strict) = serde_json::from_str::<Value>(&text) {
            prop_assert_eq!(whole(&text).map(|(value, _)| value), Some(strict));
        }
    }

    #[test]
    fn nothing_makes_it_panic(text in any::<String>()) {
        let _ = whole(&text);
        let _ = prefix(&text, AtEnd::Open);
    }

    #[test]
    fn no_beginning_of_an_object_passes_for_a_whole_one(value in any_json(), cut in any::<prop::sample::Index>()) {
        let text = json!({ "arguments": { "a": value } }).to_string();
        let at = cut.index(text.len());
        if let Some(part) = text.get(..at) {
            // But for the outermost brace, which holds nothing.
            let expected = (at == text.len() - 1).then(|| text.parse::<Value>().unwrap());
            prop_assert_eq!(whole(part).map(|(value, _)| value), expected);
            let is_unfinished = matches!(prefix(part, AtEnd::Open), Err(Failed::Unfinished(_)));
            prop_assert!(is_unfinished, "{}", part);
        }
    }
}
