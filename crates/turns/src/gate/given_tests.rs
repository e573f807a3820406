//! Who said what a call is made with.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, json};

/// A tool that takes these, of which `with` has fields of its own and `splits` whatever names.
const SCHEMA: &str = r##"{"type":"object","properties":{"to":{},"amount":{},"note":{},"public":{},
    "file_id":{},"name":{},"all":{},"splits":{"type":"object"},"with":{"$ref":"#/$defs/with"},
    "rows":{"type":"array","items":{"anyOf":[{"properties":{"name":{}}},{"type":"null"}]}}},
    "$defs":{"with":{"properties":{"name":{},"again":{"$ref":"#/$defs/with"}}},"loop":{"$ref":"#/$defs/loop"}}}"##;

fn are_said(arguments: &Value, said: &str) -> bool {
    are_given(&pieces(arguments, SCHEMA), said, |_| false)
}

#[test]
fn what_the_sender_said_is_all_or_nothing() {
    let said = "Send 20 to DE89 3704 for lunch, please";
    assert!(are_said(&json!({ "to": "DE89 3704", "amount": 20 }), said));
    assert!(are_said(&json!({ "to": "de89 3704", "note": "", "name": null }), said));
    for arguments in [
        json!({ "to": "DE89 3705", "amount": 20 }),
        json!({ "to": "DE89 3704", "amount": 200 }),
        json!({ "to": ["DE89 3704", "US12"] }),
        json!({ "with": { "name": "US12" } }),
        json!({ "to": "DE89 3704", "note": " " }),
        // A truth value was said by nobody, whichever it is.
        json!({ "to": "DE89 3704", "public": true }),
        json!({ "to": "DE89 3704", "public": false }),
        json!({ "to": "DE89 3704", "rows": [true] }),
        json!({ "all": true }),
        json!({}),
    ] {
        assert!(!are_said(&arguments, said), "{arguments}");
    }
    assert!(!are_said(&json!({ "file_id": "13" }), "What is on June 13?"));
    assert!(are_said(&json!({ "file_id": "13", "name": "budget" }), "delete 13, the budget"));
}

#[test]
fn a_part_of_a_word_was_not_said() {
    let said = "check the mail and pay 0.20 to jean-luc@mail.com";
    assert!(are_said(&json!({ "to": "jean-luc@mail.com", "amount": 0.20 }), said));
    assert!(!are_said(&json!({ "to": "luc@mail.com", "amount": 0.20 }), said));
    assert!(!are_said(&json!({ "to": "jean-luc@mail.com", "amount": 20 }), said));
}

#[test]
fn a_name_that_the_tool_does_not_have_is_a_value() {
    let said = "summarise report-4711 with Ann";
    assert!(are_said(&json!({ "name": "report-4711" }), said));
    assert!(are_said(&json!({ "splits": { "report-4711": "Ann" } }), said));
    assert!(are_said(&json!({ "with": { "again": { "name": "report-4711" } } }), said));
    assert!(are_said(&json!({ "rows": [{ "name": "report-4711" }] }), said));
    for arguments in [
        json!({ "name": "report-4711", "splits": { "mallory@evil.net": "Ann" } }),
        json!({ "name": "report-4711", "splits": { "mallory@evil.net": null } }),
        json!({ "name": "report-4711", "splits": { "mallory@evil.net": {} } }),
        json!({ "name": "report-4711", "mallory@evil.net": "" }),
        json!({ "with": { "else": "report-4711" } }),
        json!({ "rows": [{ "else": "report-4711" }] }),
    ] {
        assert!(!are_said(&arguments, said), "{arguments}");
    }
    // Nobody knows the names of a tool whose schema can't be read, or goes round in circles.
    let arguments = json!({ "name": "report-4711" });
    for schema in ["", "[]", r##"{"$ref":"#"}"##, r##"{"allOf":[{"$ref":"#"}]}"##] {
        assert!(!are_given(&pieces(&arguments, schema), said, |_| false), "{schema}");
    }
}

#[test]
fn what_the_operator_listed_counts_as_said() {
    let lists = |at: &[&str]| at == ["to"] || at == ["with", "name"] || at == ["public"];
    let given = |arguments: Value| are_given(&pieces(&arguments, SCHEMA), "20 for lunch", lists);
    assert!(given(json!({ "to": "the landlord", "amount": 20 })));
    assert!(given(json!({ "to": ["the landlord"], "amount": 20 })));
    assert!(given(json!({ "with": { "name": "the landlord" }, "public": true })));
    for arguments in [
        json!({ "to": "the landlord", "amount": 200 }),
        json!({ "to": "the landlord", "note": "and more" }),
        json!({ "with": { "to": "the landlord" } }),
        // Rules do not look there, so nothing was held to the list.
        json!({ "with.name": "mallory" }),
        json!({ "with": [{ "name": "mallory" }] }),
        json!({ "to": [["mallory"]] }),
        json!({ "to": { "mallory": 20 } }),
    ] {
        assert!(!given(arguments.clone()), "{arguments}");
    }
}

const WORDS: [&str; 8] =
    ["alpha", "bravo", "charlie", "42", "4.2", "jean-luc@x.org", "luc@x.org", "a b"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => select(WORDS.to_vec()).prop_map(|it| json!(it)),
        2 => select(vec![42, 7]).prop_map(|it| json!(it)),
        1 => any::<bool>().prop_map(|it| json!(it)),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let name = select(["to", "with", "name", "alpha", "bravo", "mallory@evil.net"].to_vec());
        let fields = proptest::collection::vec((name, inner.clone()), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::Array),
            fields.prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(Map::from_iter(fields))
            }),
        ]
    })
}

/// Everything in a value that a sender has to say, by a way of its own; `None` for what nobody
/// can.
fn to_say(value: &Value, is_top: bool, all: &mut Vec<Option<String>>) {
    match value {
        Value::Null => {}
        Value::Bool(_) => all.push(None),
        Value::Array(items) => items.iter().for_each(|it| to_say(it, false, all)),
        Value::Object(fields) => {
            for (name, value) in fields {
                if !(is_top && name == "to") {
                    all.push(Some(name.clone()));
                }
                to_say(value, false, all);
            }
        }
        Value::String(text) => all.push(Some(text.clone())),
        other => all.push(Some(other.to_string())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    /// Whatever leaf, name or truth value the sender did not say, the call was not said.
    #[test]
    fn a_call_was_said_by_who_said_each_piece_of_it(
        value in value(),
        said in proptest::sample::subsequence(
            [&WORDS[..], &["7", "to", "with", "name", "mallory@evil.net"]].concat(), 0..=13),
    ) {
        let arguments = json!({ "to": value });
        let schema = r#"{"properties":{"to":{}}}"#;
        let text = said.join(" \u{fffc} ");
        let mut all = Vec::new();
        to_say(&arguments, true, &mut all);
        let words: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
        let is_said = words.len() == all.len() && words.iter().all(|it| said.contains(it));
        let is_meant = words.iter().any(|it| it.len() > 3);
        prop_assert_eq!(
            are_given(&pieces(&arguments, schema), &text, |_| false),
            is_said && is_meant,
            "{} {}", arguments, text
        );
    }
}
