//! Schemas of tools as servers take them. Tools of others come with whatever their authors wrote,
//! and one schema that a server refuses would refuse every request of its agent.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Ways to combine schemas, which servers refuse at the top.
const COMBINED: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// What Google's server knows of a schema.
const GOOGLE: [&str; 14] = [
    "type",
    "description",
    "title",
    "enum",
    "properties",
    "required",
    "items",
    "nullable",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "anyOf",
];
/// How deep a schema is looked into. Parsing stops at about the same depth.
const DEPTH_MAX: usize = 64;

/// A schema that every server takes for the arguments of a tool, as text; `None` where it is one
/// already. It stays what it was as far as that goes.
pub(crate) fn mended(raw: &str) -> Option<String> {
    let Ok(mut schema) = serde_json::from_str::<Value>(raw) else { return None };
    let before = schema.clone();
    if !schema.is_object() {
        schema = json!({});
    }
    let Value::Object(top) = &mut schema else { return None };
    if top.get("type").and_then(Value::as_str) != Some("object") {
        top.insert("type".to_owned(), json!("object"));
    }
    if !top.get("properties").is_some_and(Value::is_object) {
        top.insert("properties".to_owned(), json!({}));
    }
    let mut gathered = Map::new();
    for key in COMBINED {
        let Some(Value::Array(branches)) = top.shift_remove(key) else { continue };
        for branch in branches {
            if let Some(Value::Object(properties)) = branch.get("properties") {
                gathered.extend(properties.clone());
            }
        }
    }
    if let Some(Value::Object(properties)) = top.get_mut("properties") {
        for (name, property) in gathered {
            properties.entry(name).or_insert(property);
        }
    }
    itemised(&mut schema, 0);
    (schema != before).then(|| schema.to_string())
}

/// Gives every list a schema of its items: some servers refuse one that has none.
fn itemised(schema: &mut Value, depth: usize) {
    let Value::Object(object) = schema else { return };
    if depth > DEPTH_MAX {
        return;
    }
    if object.get("type").and_then(Value::as_str) == Some("array")
        && !object.contains_key("items")
        && !object.contains_key("prefixItems")
    {
        object.insert("items".to_owned(), json!({}));
    }
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values_mut().for_each(|schema| itemised(schema, depth + 1));
            }
            ("items" | "additionalProperties", schema) => itemised(schema, depth + 1),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(|schema| itemised(schema, depth + 1));
            }
            _ => {}
        }
    }
}

/// A schema in the words that Google's server knows: it refuses others, and one of an object
/// that has nothing in it. `None` for a tool without arguments.
pub(crate) fn for_google(raw: &RawValue) -> Option<Value> {
    let schema = google(serde_json::from_str(raw.get()).ok()?, 0);
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_empty = properties.is_none_or(Map::is_empty);
    (!is_empty).then_some(schema)
}

fn google(schema: Value, depth: usize) -> Value {
    let Value::Object(mut object) = schema else { return json!({ "type": "string" }) };
    if depth > DEPTH_MAX {
        return json!({ "type": "string" });
    }
    if let Some(only) = object.shift_remove("const") {
        object.entry("enum").or_insert(json!([only]));
    }
    if let Some(Value::Array(branches)) = object.shift_remove("oneOf") {
        object.entry("anyOf").or_insert(Value::Array(branches));
    }
    // `["string", "null"]` is a string that may be missing.
    if let Some(Value::Array(types)) = object.get("type").cloned() {
        let (nulls, mut others): (Vec<_>, Vec<_>) = types.into_iter().partition(|it| it == "null");
        if !nulls.is_empty() {
            object.insert("nullable".to_owned(), json!(true));
        }
        let first = if others.is_empty() { json!("string") } else { others.swap_remove(0) };
        object.insert("type".to_owned(), first);
    }
    let mut kept = Map::new();
    for (key, value) in object {
        if !GOOGLE.contains(&key.as_str()) {
            continue;
        }
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(named)) => {
                let named = named.into_iter().map(|(name, it)| (name, google(it, depth + 1)));
                Value::Object(named.collect())
            }
            ("items", items) => google(items, depth + 1),
            ("anyOf", Value::Array(list)) => {
                list.into_iter().map(|schema| google(schema, depth + 1)).collect()
            }
            // Only words can be listed.
            ("enum", Value::Array(list)) if !list.iter().all(Value::is_string) => continue,
            ("format", format) if format != "date-time" && format != "enum" => continue,
            (_, value) => value,
        };
        kept.insert(key, value);
    }
    if kept.get("type").and_then(Value::as_str) == Some("array") {
        kept.entry("items").or_insert(json!({ "type": "string" }));
    }
    // It must be known that what is required is there.
    let names: Vec<String> = match kept.get("properties") {
        Some(Value::Object(named)) => named.keys().cloned().collect(),
        _ => vec![],
    };
    if let Some(Value::Array(required)) = kept.get_mut("required") {
        required.retain(|name| names.iter().any(|known| name == known));
    }
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_schema_stays_as_it_stands() {
        for good in [
            r#"{"type":"object","properties":{}}"#,
            r#"{"type": "object", "properties": {"a": {"type": "array", "items": {}}}}"#,
            r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}"#,
        ] {
            assert_eq!(mended(good), None, "{good}");
        }
    }

    #[test]
    fn what_servers_refuse_is_mended_and_nothing_else() {
        let mended = |schema: Value| -> Value {
            serde_json::from_str(&mended(&schema.to_string()).unwrap()).unwrap()
        };
        assert_eq!(
            mended(json!({"properties": {"a": {"type": "array"}}})),
            json!({"properties": {"a": {"type": "array", "items": {}}}, "type": "object"})
        );
        for empty in [json!("nonsense"), json!({}), json!({"type": "object"})] {
            assert_eq!(mended(empty), json!({"type": "object", "properties": {}}));
        }
        assert_eq!(
            mended(json!({"type": "object", "properties": {"x": {"type": "string"}}, "anyOf": [
                {"properties": {"x": {"type": "number"}, "y": {"type": "number"}}},
                {"required": ["x"]},
            ]})),
            json!({"type": "object", "properties":
                {"x": {"type": "string"}, "y": {"type": "number"}}})
        );
    }

    #[test]
    fn google_is_told_only_what_it_knows() {
        let schema = json!({
            "$schema": "x", "type": "object", "additionalProperties": false,
            "properties": {
                "a": {"type": ["string", "null"], "minLength": 1, "format": "uri"},
                "b": {"oneOf": [{"const": "x"}, {"type": "integer", "enum": [1, 2]}]},
                "c": {"type": "array"},
            },
            "required": ["a", "gone"],
        });
        let raw = |schema: Value| RawValue::from_string(schema.to_string()).unwrap();
        assert_eq!(for_google(&raw(json!({"type": "object", "properties": {}}))), None);
        assert_eq!(
            for_google(&raw(schema)).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string", "nullable": true},
                    "b": {"anyOf": [{"enum": ["x"]}, {"type": "integer"}]},
                    "c": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["a"],
            })
        );
    }
}
