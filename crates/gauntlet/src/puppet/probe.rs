//! The puppet that probes: it asks every tool it is shown for every name it was given, in every
//! argument that takes a text.

use super::{Act, Asked, Call, Script};
use serde_json::{Map, Value, json};

/// Asks every tool it is shown for each of these names, in every argument; the tools in
/// `spared` are left out because they have attempts of their own.
pub fn everything(names: Vec<String>, spared: &'static [&'static str]) -> Script {
    Script::live(move |asked| match asked.step {
        0 => {
            let calls = calls(asked, &names, spared);
            if calls.is_empty() { Act::Say("no tools".to_owned()) } else { Act::Call(calls) }
        }
        _ => Act::Say("done".to_owned()),
    })
}

fn calls(asked: &Asked, names: &[String], spared: &[&str]) -> Vec<Call> {
    let tools = asked.tools().into_iter().filter(|(name, _)| !spared.contains(&name.as_str()));
    let mut calls = vec![];
    for (tool, schema) in tools {
        for name in names {
            calls.push(Call { tool: tool.clone(), arguments: filled(&schema, name) });
            // Arguments that no schema mentions, as a tool that looks at more than it says.
            let mut more = filled(&schema, "x");
            if let Some(fields) = more.as_object_mut() {
                for key in [
                    "agent",
                    "agent_id",
                    "profile",
                    "scope",
                    "session",
                    "session_id",
                    "user",
                    "workspace",
                    "home",
                ] {
                    fields.entry(key).or_insert_with(|| json!(name));
                }
            }
            calls.push(Call { tool: tool.clone(), arguments: more });
        }
    }
    calls
}

/// Arguments that a schema admits, with this text wherever a text may stand.
pub fn filled(schema: &Value, text: &str) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(first) = schema[key].as_array().and_then(|all| all.first()) {
            return filled(first, text);
        }
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or("string").to_owned(),
        kind => kind.as_str().unwrap_or("object").to_owned(),
    };
    match kind.as_str() {
        "string" => json!(text),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(false),
        "array" => json!([filled(&schema["items"], text)]),
        "null" => Value::Null,
        _ => {
            let fields = schema["properties"].as_object().cloned().unwrap_or_default();
            let filled: Map<String, Value> =
                fields.iter().map(|(name, inner)| (name.clone(), filled(inner, text))).collect();
            Value::Object(filled)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_a_schema_is_filled() {
        let schema = json!({ "type": "object", "properties": {
            "path": { "type": "string" },
            "mode": { "type": "string", "enum": ["a", "b"] },
            "many": { "type": "array", "items": { "type": "object", "properties": { "x": { "type": "string" } } } },
            "count": { "type": "integer", "minimum": 3 },
        }});
        let wanted = json!({ "path": "b", "mode": "a", "many": [{ "x": "b" }], "count": 3 });
        assert_eq!(filled(&schema, "b"), wanted);
    }
}
