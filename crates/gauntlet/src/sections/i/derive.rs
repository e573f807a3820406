//! What the product says of itself, as lists: tables of its pages, literals of its wire types,
//! keys of its schema. Nothing here judges.

use serde_json::Value;
use std::collections::BTreeSet;

/// A list of names.
pub type Names = BTreeSet<String>;

/// The first column of the first table below a heading, without backquotes.
pub fn table(page: &str, heading: &str) -> Names {
    let below = page.split_once(heading).map(|(_, rest)| rest).unwrap_or_default();
    let lines = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    let first = |row: &str| row.split('|').nth(1).map(|it| it.trim().replace('`', ""));
    rows.filter_map(first).filter(|name| !name.is_empty()).collect()
}

/// Every text in double quotes behind this mark, such as the frames behind `"type": `.
pub fn quoted_after(source: &str, mark: &str) -> Names {
    let pieces = without_tests(source).split(mark).skip(1);
    pieces
        .filter_map(|piece| piece.strip_prefix('"')?.split('"').next().map(str::to_owned))
        .collect()
}

/// Every text in double quotes that this wants.
pub fn quoted(source: &str, wanted: impl Fn(&str) -> bool) -> Names {
    let plain = without_tests(source);
    let texts = plain.split('"').skip(1).step_by(2);
    texts.filter(|text| wanted(text)).map(str::to_owned).collect()
}

/// The variants of an enum, in small letters.
pub fn variants(source: &str, name: &str) -> Names {
    let body = body(source, &format!("enum {name} {{"));
    let at_first_level = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variant = |line: &str| {
        let word: String = line.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        word.chars().next().filter(char::is_ascii_uppercase).map(|_| word.to_lowercase())
    };
    at_first_level.filter_map(variant).collect()
}

/// The fields of a struct.
pub fn fields(source: &str, name: &str) -> Names {
    let body = body(source, &format!("struct {name} {{"));
    let field = |line: &str| {
        let line = line.trim().trim_start_matches("pub(super) ").trim_start_matches("pub ");
        let (name, _) = line.split_once(": ")?;
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        (is_name && !name.is_empty()).then(|| name.to_owned())
    };
    body.lines().filter_map(field).collect()
}

/// What stands between a beginning and the line that closes it.
fn body<'a>(source: &'a str, beginning: &str) -> &'a str {
    let after = source.split_once(beginning).map(|(_, rest)| rest).unwrap_or_default();
    after.split_once("\n}").map_or(after, |(body, _)| body)
}

fn without_tests(source: &str) -> &str {
    source.split_once("#[cfg(test)]").map_or(source, |(code, _)| code)
}

/// The keys that an agent can have, with dots, as far as they are named: what a user names
/// himself, such as a server, is `*`, and an element of a list adds nothing.
pub fn settings(schema: &Value) -> Names {
    let mut found = Names::new();
    let agent = &schema["properties"]["agents"]["additionalProperties"];
    walk(schema, agent, "", 0, &mut found);
    found
}

/// The keys at the top of a configuration.
pub fn top(schema: &Value) -> Names {
    let keys = schema["properties"].as_object().into_iter().flat_map(|it| it.keys());
    keys.cloned().collect()
}

/// Deeper than any key; a schema that nests in itself ends here.
const DEPTH_MAX: usize = 12;

fn walk(schema: &Value, at: &Value, path: &str, depth: usize, found: &mut Names) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Some(name) = at["$ref"].as_str() {
        let there = schema.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null);
        return walk(schema, there, path, depth + 1, found);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for one in at[key].as_array().into_iter().flatten() {
            walk(schema, one, path, depth + 1, found);
        }
    }
    for (key, value) in at["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        found.insert(path.clone());
        walk(schema, value, &path, depth + 1, found);
    }
    if at["additionalProperties"].is_object() && !path.is_empty() {
        let inside = format!("{path}.*");
        walk(schema, &at["additionalProperties"], &inside, depth + 1, found);
    }
    if at["items"].is_object() {
        walk(schema, &at["items"], path, depth + 1, found);
    }
}

/// Runs of digits in a text, as numbers; what looks random is left out.
pub fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut found = vec![];
    for word in words.filter(|word| word.len() < 16) {
        let digits = word.split(|c: char| !c.is_ascii_digit());
        found.extend(digits.filter_map(|run| run.parse::<u64>().ok()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> Names {
        names.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_table_gives_its_first_column() {
        let page = "## One\n\ntext\n\n| a | b |\n| --- | --- |\n| `x` | y |\n| z | `w` |\n\n| n |";
        assert_eq!(table(page, "## One"), set(&["x", "z"]));
        assert_eq!(table(page, "## Two"), set(&[]));
    }

    #[test]
    fn literals_variants_and_fields_are_found() {
        let source = "enum Said {\n    /// A.\n    Hello {\n        token: String,\n    },\n    Bye,\n}\nstruct S {\n    pub(super) id: i64,\n    #[serde(default)]\n    pub(super) first_name: String,\n}\nlet a = json!({ \"type\": \"ready\" });\n#[cfg(test)] \"type\": \"no\"";
        assert_eq!(variants(source, "Said"), set(&["hello", "bye"]));
        assert_eq!(fields(source, "S"), set(&["id", "first_name"]));
        assert_eq!(quoted_after(source, "\"type\": "), set(&["ready"]));
        assert_eq!(quoted("a(\"x.y\", \"z\")", |it| it.contains('.')), set(&["x.y"]));
    }

    #[test]
    fn settings_are_followed_through_references() {
        let schema = serde_json::json!({
            "properties": { "agents": { "additionalProperties": { "$ref": "#/$defs/Agent" } } },
            "$defs": {
                "Agent": { "properties": { "files": { "anyOf": [{ "$ref": "#/$defs/Files" }] },
                    "servers": { "additionalProperties": { "properties": { "url": {} } } } } },
                "Files": { "properties": { "shared": { "items": { "properties": { "mode": {} } } } } },
            },
        });
        let wanted =
            set(&["files", "files.shared", "files.shared.mode", "servers", "servers.*.url"]);
        assert_eq!(settings(&schema), wanted);
    }

    #[test]
    fn numbers_are_those_that_count() {
        let text = r#"{"turn": 12, "id": "e-7", "at": 3, "x": "0123456789abcdef0123"}"#;
        assert_eq!(numbers(text), [12, 7, 3]);
    }
}
