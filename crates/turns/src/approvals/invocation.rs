//! What exactly is asked for: one hash for one agent, tool, arguments and folder or process,
//! however the model happened to order or space them.

use insula_domain::AgentId;
use serde_json::Value;

/// The hash of an invocation. `place` is the folder it would begin in, where that is not the one
/// that programs begin in anyway, or what the process is known by that would read it.
pub fn hash(agent: &AgentId, tool: &str, arguments: &Value, place: Option<&str>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("insula approval invocation 1");
    for part in [agent.as_str(), tool] {
        put(&mut hasher, part.as_bytes());
    }
    walk(&mut hasher, arguments);
    if let Some(place) = place {
        put(&mut hasher, place.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// A hash as records have it.
pub fn text(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

/// The length first, so that no two values run into each other.
fn put(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn walk(hasher: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            hasher.update(b"{");
            hasher.update(&(names.len() as u64).to_le_bytes());
            for name in names {
                put(hasher, name.as_bytes());
                walk(hasher, &fields[name]);
            }
        }
        Value::Array(items) => {
            hasher.update(b"[");
            hasher.update(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| walk(hasher, item));
        }
        Value::String(text) => {
            hasher.update(b"s");
            put(hasher, text.as_bytes());
        }
        other => {
            hasher.update(b"v");
            put(hasher, other.to_string().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
    use super::*;
    use serde_json::json;

    #[test]
    fn an_invocation_is_its_agent_tool_and_arguments_and_nothing_else() {
        let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        let arguments = json!({ "command": "rm -r x", "timeout": 5 });
        let same: Value =
            serde_json::from_str(r#"{ "timeout":5,   "command":"rm -r x" }"#).unwrap();
        let hash_of = |agent, tool, arguments: &Value| hash(agent, tool, arguments, None);
        let one = hash_of(&a, "terminal", &arguments);
        assert_eq!(one, hash_of(&a, "terminal", &same));
        let others = [
            hash_of(&b, "terminal", &arguments),
            hash_of(&a, "process", &arguments),
            hash_of(&a, "terminal", &json!({ "command": "rm -r  x", "timeout": 5 })),
            hash_of(&a, "terminal", &json!({ "command": "rm -r x", "timeout": "5" })),
            hash_of(&a, "terminal", &json!({ "command": ["rm", "-r x"], "timeout": 5 })),
            hash(&a, "terminal", &arguments, Some("/p1")),
            hash(&a, "terminal", &arguments, Some("/p2")),
        ];
        assert!(others.iter().all(|other| *other != one));
        assert_ne!(others[5], others[6]);
    }
}
