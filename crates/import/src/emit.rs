//! Settings as YAML that people read and edit.

use serde_json::{Map, Value};

/// The text of a map, each key on a line of its own.
pub fn yaml(settings: &Map<String, Value>) -> String {
    let mut text = String::new();
    map(&mut text, settings, 0);
    if text.is_empty() { "{}\n".to_owned() } else { text }
}

fn map(text: &mut String, entries: &Map<String, Value>, depth: usize) {
    let indent = "  ".repeat(depth);
    for (key, value) in entries {
        text.push_str(&format!("{indent}{}:", scalar(key)));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                map(text, inner, depth + 1);
            }
            other => text.push_str(&format!(" {}\n", flow(other))),
        }
    }
}

/// A value on one line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar(key), flow(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// A text as it stands, where it can be nothing else; else in quotes, as JSON has them, which
/// YAML reads the same way.
fn scalar(text: &str) -> String {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let means_more = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let is_word = means_more.contains(&text.to_ascii_lowercase().as_str());
    match starts && text.chars().all(plain) && !is_word && !text.contains("---") {
        true => text.to_owned(),
        false => Value::String(text.to_owned()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use crate::doc::{Doc, json};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn people_can_read_it() {
        let settings = json!({"access": {"allow": ["telegram:1"]},
            "memory": {"enabled": true, "limits": {"memory": 3000}}, "name": "Juno", "off": "off", "tools": []});
        let text = yaml(settings.as_object().unwrap());
        assert_eq!(
            text,
            "access:\n  allow: [\"telegram:1\"]\nmemory:\n  enabled: true\n  limits:\n    memory: 3000\nname: Juno\n\"off\": \"off\"\ntools: []\n"
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (-1000_i64..1000).prop_map(Value::from),
            "[ -~é\n\t\"':#{}\\[\\]-]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z:# ]{1,6}", inner, 0..4)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(settings in prop::collection::btree_map("[a-z]{1,5}", value(), 1..5)) {
            let settings: Map<String, Value> = settings.into_iter().collect();
            let text = yaml(&settings);
            let doc = Doc::yaml("x", text.clone()).map_err(|(_, why)| TestCaseError::fail(format!("{why}: {text}")))?;
            prop_assert_eq!(json(&doc.root), Value::Object(settings), "{}", text);
        }
    }
}
