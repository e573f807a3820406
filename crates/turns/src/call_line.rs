//! What a call is about, in one line for people who watch it: the command, the path, the question.
//! No rule looks at it, and whoever has to allow a call is shown all of it elsewhere.

use serde_json::Value;

/// Most characters of the line.
const CHARS_MAX: usize = 160;
/// Longest argument that is looked at, in bytes: the rest of it is no part of a line.
const LOOKED_AT_MAX: usize = 64 * 1024;

/// Arguments that say what a call is about, the most telling first. What somebody writes, as the
/// content of a file or of a note, is none of them.
const TELLING: [&str; 12] = [
    "command",
    "url",
    "urls",
    "query",
    "pattern",
    "path",
    "file_path",
    "goal",
    "code",
    "prompt",
    "name",
    "action",
];

/// The line about a call with these arguments; empty where none of them tells. `told` takes
/// secrets out, before anything is cut off: half a secret is not recognised any more.
pub fn about(arguments: &str, told: impl FnOnce(String) -> String) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str::<Value>(arguments) else {
        return String::new();
    };
    let text = |value: &Value| match value {
        Value::String(text) if text.len() <= LOOKED_AT_MAX => Some(text.clone()),
        Value::Array(all) => match all.as_slice() {
            [Value::String(first)] => Some(first.clone()),
            [Value::String(first), rest @ ..] => Some(format!("{first} and {} more", rest.len())),
            _ => None,
        },
        _ => None,
    };
    let mut tells = TELLING.iter().filter_map(|name| text(arguments.get(*name)?));
    let Some(found) = tells.find(|found| !found.trim().is_empty()) else { return String::new() };
    line(&told(found))
}

/// The first line of a text that has any, cut where it is long.
fn line(text: &str) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim_end();
    let shown: String = first.chars().filter(|c| !c.is_control()).take(CHARS_MAX).collect();
    match shown.len() < text.len() {
        true => shown + "…",
        false => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_call_is_told_by_what_it_runs_reads_or_looks_for() {
        for (arguments, line) in [
            (r#"{"command": "cargo test", "timeout": 5}"#, "cargo test"),
            (r#"{"command": "cd src\nls"}"#, "cd src…"),
            (r#"{"path": "a.txt", "content": "private"}"#, "a.txt"),
            (r#"{"pattern": "fn main", "path": "src"}"#, "fn main"),
            (
                r#"{"urls": ["https://a.example", "https://b.example"]}"#,
                "https://a.example and 1 more",
            ),
            (r#"{"query": "  "}"#, ""),
            (r#"{"content": "private"}"#, ""),
            (r#"{"todos": [1]}"#, ""),
            ("no object", ""),
        ] {
            assert_eq!(about(arguments, |text| text), line, "{arguments}");
        }
    }

    #[test]
    fn a_secret_at_the_cut_is_taken_out_whole() {
        let command = format!("{}hunter2-hunter2", "x".repeat(CHARS_MAX - 5));
        let arguments = serde_json::json!({ "command": command }).to_string();
        let line = about(&arguments, |text| text.replace("hunter2-hunter2", "[redacted]"));
        assert!(!line.contains("hunt"), "{line}");
    }

    proptest! {
        #[test]
        fn a_line_is_one_and_short(text in any::<String>()) {
            let line = line(&text);
            prop_assert!(line.chars().count() <= CHARS_MAX + 1);
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
