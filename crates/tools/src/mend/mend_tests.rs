//! What is mended, what is not, and that whatever fits is left alone.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Mends arguments of a built-in tool: what they become, and how.
fn mended(tool: &str, written: &str) -> Option<(Value, Vec<String>)> {
    let tool = crate::find(tool).unwrap();
    let left_out = |given: &Map<String, Value>| tool.left_out(given);
    let mended = mend(tool.parameters(), &tool.habits(), left_out, written)?;
    let mends = mended.mends.iter().map(ToString::to_string).collect();
    Some((Value::Object(mended.arguments), mends))
}

#[test]
fn what_has_one_meaning_by_the_schema_is_mended_and_said() {
    for (tool, written, meant, how) in [
        // As a small model writes down all that there is.
        (
            "memory",
            r#"{"action": "remove", "target": "memory", "content": "4417", "old_text": "", "scope": "here"}"#,
            json!({"action": "remove", "target": "memory", "content": "4417", "scope": "here"}),
            "`old_text` said nothing",
        ),
        (
            "search_files",
            r#"{"pattern": "lantern", "target": "files", "path": "", "file_glob": "", "context": 0}"#,
            json!({"pattern": "lantern", "target": "files", "context": 0}),
            "`path` said nothing; `file_glob` said nothing",
        ),
        (
            "terminal",
            r#"{"command": "rm -r build", "workdir": "/path/to/your/project", "background": false}"#,
            json!({"command": "rm -r build", "background": false}),
            "`workdir` said nothing",
        ),
        (
            "skill_view",
            r#"{"skill": "letters", "file_path": ""}"#,
            json!({"name": "letters"}),
            "`name` was called otherwise; `file_path` said nothing",
        ),
        (
            "read_file",
            r#"{"path": "a", "limit": "5"}"#,
            json!({"path": "a", "limit": 5}),
            "`limit` was a text",
        ),
        (
            "read_file",
            r#"{"path": "a", "limit": 5.0}"#,
            json!({"path": "a", "limit": 5}),
            "`limit` was no whole number",
        ),
        ("read_file", r#"{"path": "a",}"#, json!({"path": "a"}), "trailing comma"),
        ("read_file", "{'path': 'a'}", json!({"path": "a"}), "quotes"),
        (
            "read_file",
            r#"{"path": "a", "limit": None}"#,
            json!({"path": "a"}),
            "Python literal; `limit` was null",
        ),
        ("read_file", r#"{"path": "a", "limit": null}"#, json!({"path": "a"}), "`limit` was null"),
        (
            "read_file",
            r#"{"path": "a", "encoding": "utf-8"}"#,
            json!({"path": "a"}),
            "an unknown field was left out",
        ),
        ("read_file", r#"{"file_path": "a"}"#, json!({"path": "a"}), "`path` was called otherwise"),
        ("read_file", r#""a.txt""#, json!({"path": "a.txt"}), "`path` stood alone"),
        ("read_file", r#""{\"path\": \"a\"}""#, json!({"path": "a"}), "an object inside of a text"),
        (
            "read_file",
            r#"{"arguments": {"path": "a"}}"#,
            json!({"path": "a"}),
            "arguments inside of arguments",
        ),
        (
            "read_file",
            r#"{"input": "{\"path\": \"a\"}"}"#,
            json!({"path": "a"}),
            "arguments inside of arguments",
        ),
        (
            "read_file",
            r#"{"name": "read_file", "arguments": {"path": "a"}}"#,
            json!({"path": "a"}),
            "arguments inside of arguments",
        ),
        ("read_file", r#"[{"path": "a"}]"#, json!({"path": "a"}), "a list around an object"),
        ("read_file", r#"{"path": ["a"]}"#, json!({"path": "a"}), "`path` was a list of one"),
        (
            "terminal",
            r#"{"command": "ls", "background": "True"}"#,
            json!({"command": "ls", "background": true}),
            "`background` was a text",
        ),
        (
            "terminal",
            r#"{"cmd": "ls"}"#,
            json!({"command": "ls"}),
            "`command` was called otherwise",
        ),
        (
            "web_extract",
            r#"{"urls": "https://a.test"}"#,
            json!({"urls": ["https://a.test"]}),
            "`urls` was no list",
        ),
        (
            "web_extract",
            r#"{"url": "https://a.test"}"#,
            json!({"urls": ["https://a.test"]}),
            "`urls` was called otherwise; `urls` was no list",
        ),
        (
            "web_extract",
            r#"{"urls": "[\"https://a.test\", \"https://b.test\"]"}"#,
            json!({"urls": ["https://a.test", "https://b.test"]}),
            "`urls` stood inside of a text",
        ),
        (
            "todo",
            r#"{"todos": {"id": 1, "content": "a"}}"#,
            json!({"todos": [{"id": "1", "content": "a"}]}),
            "`todos` was no list; `todos.id` was a number",
        ),
        (
            "todo",
            r#"{"todos": [{"id": "1", "content": "a", "status": "In Progress"}]}"#,
            json!({"todos": [{"id": "1", "content": "a", "status": "in_progress"}]}),
            "`todos.status` was spelt otherwise",
        ),
        (
            "memory",
            r#"{"content": "likes tea"}"#,
            json!({"content": "likes tea", "action": "add", "target": "memory"}),
            "`action` was left out; `target` was left out",
        ),
        (
            "memory",
            r#"{"action": "ADD", "target": "user", "content": "Ann"}"#,
            json!({"action": "add", "target": "user", "content": "Ann"}),
            "`action` was spelt otherwise",
        ),
        (
            "memory",
            r#"{"target": "user", "old_text": "a", "content": "b"}"#,
            json!({"target": "user", "old_text": "a", "content": "b", "action": "replace"}),
            "`action` was left out",
        ),
        (
            "process",
            r#"{"id": "p1"}"#,
            json!({"session_id": "p1", "action": "poll"}),
            "`session_id` was called otherwise; `action` was left out",
        ),
        (
            "patch",
            r#"{"path": "a", "old_string": "b", "new_string": "c"}"#,
            json!({"path": "a", "old_string": "b", "new_string": "c", "mode": "replace"}),
            "`mode` was left out",
        ),
        (
            "kanban_complete",
            r#"{"card": 3, "result": "x"}"#,
            json!({"task_id": "3", "result": "x"}),
            "`task_id` was called otherwise; `task_id` was a number",
        ),
        (
            "handoff",
            r#"{"to": "coder", "summary": "x"}"#,
            json!({"agent": "coder", "summary": "x"}),
            "`agent` was called otherwise",
        ),
        (
            "delegate_task",
            r#"{"task": "count"}"#,
            json!({"goal": "count"}),
            "`goal` was called otherwise",
        ),
        (
            "delegate_task",
            r#"{"goal": "all", "tasks": ["one", "two"]}"#,
            json!({"goal": "all", "tasks": [{"goal": "one"}, {"goal": "two"}]}),
            "`goal` stood alone",
        ),
    ] {
        let (value, mends) = mended(tool, written).unwrap_or_else(|| panic!("{tool} {written}"));
        assert_eq!((value, mends.join("; ").as_str()), (meant, how), "{tool} {written}");
    }
}

#[test]
fn what_needs_no_mending_or_has_no_one_meaning_stays_as_it_is() {
    for (tool, written) in [
        ("read_file", r#"{"path": "a"}"#),
        ("read_file", r#"{"path": "a", "limit": 5}"#),
        ("read_file", r#"{"path": "5"}"#),
        ("read_file", r#"{"limit": 5}"#),
        ("read_file", r#"{"path": "a", "limit": "many"}"#),
        ("read_file", r#"{"path": ["a", "b"]}"#),
        ("read_file", r#"{"path": {"a": 1}}"#),
        ("read_file", r#"{"path": "a"#),
        ("read_file", "path: a"),
        ("read_file", "[1]"),
        ("read_file", "3"),
        ("write_file", r#""a""#),
        ("write_file", r#"{"path": "a", "content": {"a": 1}}"#),
        ("terminal", r#"{"command": "ls", "background": "maybe"}"#),
        ("terminal", r#"{"command": "rm a", "dry_run": true}"#),
        ("terminal", r#"{"command": "rm a", "Dry-Run": true}"#),
        ("terminal", r#"{"command": "rm a", "confirm": true}"#),
        ("terminal", r#"{"command": "rm a", "dryRun": true}"#),
        ("delegate_task", r#"{"goal": "a", "approvals": {"mode": "off"}}"#),
        ("delegate_task", r#"{"goal": "a", "agent_id": "b"}"#),
        ("delegate_task", r#"{"goal": "a", "tasks": [{"goal": "b", "as": "b"}]}"#),
        ("delegate_task", r#"{"goal": "a", "network": []}"#),
        ("delegate_task", r#"{"goal": "a", "tasks": [{"goal": "b", "sandbox": true}]}"#),
        ("memory", r#"{"action": "add", "target": "memory", "content": "a", "scope": "GLOBAL"}"#),
        ("memory", r#"{"action": "add", "target": "memory", "content": "a", "scope": ["global"]}"#),
        ("memory", r#"{"action": "forget", "target": "user", "content": "x"}"#),
        ("memory", r#"{"old_text": "a", "target": "user"}"#),
        ("skill_manage", r#"{"name": "a"}"#),
        // Nothing in its place is what it takes out.
        ("patch", r#"{"mode": "replace", "path": "a", "old_string": "b", "new_string": ""}"#),
        ("write_file", r#"{"path": "a", "content": ""}"#),
    ] {
        assert_eq!(mended(tool, written), None, "{tool} {written}");
    }
}

#[test]
fn a_record_of_a_mend_says_nothing_that_the_model_wrote() {
    let written = r#"{"path": "secret.txt", "hunter2": "hunter3", "limit": "7"}"#;
    let (_, mends) = mended("read_file", written).unwrap();
    let said = mends.join(" ");
    assert!(!said.contains("hunter") && !said.contains("secret") && !said.contains('7'), "{said}");
}

/// Schemas as servers write them: references, kinds to choose from, open objects.
#[test]
fn schemas_of_servers_are_followed() {
    let schema = json!({
        "$defs": { "Point": { "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"] } },
        "type": "object",
        "properties": {
            "at": { "$ref": "#/$defs/Point" },
            "all": { "type": "array", "items": { "$ref": "#/$defs/Point" } },
            "limit": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "mode": { "type": "string", "default": "fast" },
            "any": {},
        },
        "required": ["at", "mode"],
    })
    .to_string();
    let mended = |written: Value| {
        mend(&schema, &Habits::default(), |_| Vec::new(), &written.to_string())
            .map(|it| Value::Object(it.arguments))
    };
    assert_eq!(
        mended(json!({"at": {"x": "1.5"}, "all": {"x": 2}, "limit": "3", "mode": "slow"})),
        Some(json!({"at": {"x": 1.5}, "all": [{"x": 2}], "limit": 3, "mode": "slow"}))
    );
    assert_eq!(
        mended(json!({"at": "{'x': 1}", "limit": null})),
        Some(json!({"at": {"x": 1}, "limit": null, "mode": "fast"}))
    );
    assert_eq!(mended(json!({"at": {"x": 1}, "mode": "a", "more": "5", "any": "5"})), None);
}

/// Arguments that fit the schema of a tool.
fn fitting() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        ("\\PC*", 1u32..9)
            .prop_map(|(path, limit)| ("read_file", json!({"path": path, "limit": limit}))),
        ("\\PC*", "\\PC*")
            .prop_map(|(path, content)| ("write_file", json!({"path": path, "content": content}))),
        ("\\PC*", any::<bool>()).prop_map(|(command, background)| (
            "terminal",
            json!({"command": command, "background": background})
        )),
        prop::collection::vec("\\PC*", 1..4)
            .prop_map(|urls| ("web_extract", json!({"urls": urls}))),
        prop::collection::vec(("\\PC*", "\\PC*"), 0..4).prop_map(|items| {
            let todos: Vec<Value> = items
                .iter()
                .map(|(id, content)| json!({"id": id, "content": content, "status": "pending"}))
                .collect();
            ("todo", json!({"todos": todos}))
        }),
        "\\PC*".prop_map(|content| (
            "memory",
            json!({"action": "add", "target": "user", "content": content})
        )),
        "\\PC*".prop_map(|goal| ("delegate_task", json!({"goal": goal}))),
    ]
}

proptest! {
    #[test]
    fn what_fits_is_never_touched((tool, value) in fitting()) {
        prop_assert_eq!(mended(tool, &value.to_string()), None);
    }

    #[test]
    fn what_was_mended_needs_no_mending(written in "[{}\\[\\]\":, 'a-z0-9_]{0,60}|\\{\"(path|limit|file|urls|url|x)\": (\"5\"|5|null|True|\\[\"a\"\\]|\"a\"),?\\}") {
        for tool in crate::BUILT_IN {
            if let Some((value, _)) = mended(tool.name(), &written) {
                prop_assert_eq!(mended(tool.name(), &value.to_string()), None, "{} {}", tool.name(), value);
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(written in any::<String>()) {
        for tool in crate::BUILT_IN {
            mended(tool.name(), &written);
        }
    }
}
