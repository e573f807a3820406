//! How a call of a tool looks in an editor: its kind, its title, what came of it. Pure.

use serde_json::{Value, json};

/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 120;

/// What kind of thing a tool does, in the protocol's words.
pub fn kind(name: &str) -> &'static str {
    match name {
        "read_file" | "skill_view" | "session_search" | "memory_search" => "read",
        "write_file" | "patch" => "edit",
        "search_files" | "skills_list" | "tool_search" => "search",
        "terminal" | "process" | "execute_code" => "execute",
        "web_extract" | "web_search" => "fetch",
        "todo" | "delegate_task" => "think",
        _ => "other",
    }
}

/// A line about a call: the tool, and what it runs, reads or looks for.
pub fn title(name: &str, arguments: &Value) -> String {
    const TELLING: [&str; 8] =
        ["command", "path", "pattern", "query", "url", "goal", "name", "action"];
    let about = TELLING.iter().find_map(|key| arguments[*key].as_str());
    let about = about.and_then(|text| text.trim().lines().next()).unwrap_or_default();
    let line = if about.is_empty() { name.to_owned() } else { format!("{name}: {about}") };
    let shown: String = line.chars().filter(|c| !c.is_control()).take(TITLE_CHARS_MAX).collect();
    if shown.len() < line.len() { shown + "…" } else { shown }
}

/// Where a call is at work: each file, with the line it begins at where that is said.
pub fn locations(paths: &Value, arguments: &Value) -> Value {
    let line = arguments["offset"].as_u64().filter(|line| *line > 0);
    let paths = paths.as_array().into_iter().flatten().filter_map(Value::as_str);
    let place = |path: &str| match line {
        Some(line) => json!({ "path": path, "line": line }),
        None => json!({ "path": path }),
    };
    paths.map(place).collect()
}

/// A call that begins.
pub fn begun(event: &Value) -> Value {
    let name = event["name"].as_str().unwrap_or_default();
    let written = event["arguments"].as_str().unwrap_or_default();
    let arguments: Value = serde_json::from_str(written).unwrap_or_default();
    json!({
        "sessionUpdate": "tool_call",
        "toolCallId": event["call"],
        "title": title(name, &arguments),
        "kind": kind(name),
        "status": "in_progress",
        "locations": locations(&event["paths"], &arguments),
        "rawInput": arguments,
    })
}

/// A call that is over: its changes as differences, else what came of it as text.
pub fn done(event: &Value) -> Value {
    let changes = event["changes"].as_array().map_or(&[][..], Vec::as_slice);
    let diffs = changes.iter().map(|it| {
        json!({ "type": "diff", "path": it["path"], "oldText": it["old"], "newText": it["new"] })
    });
    let mut content: Vec<Value> = diffs.collect();
    let text = event["text"].as_str().unwrap_or_default();
    if !text.is_empty() && (content.is_empty() || event["is_error"] == true) {
        content.push(json!({ "type": "content", "content": { "type": "text", "text": text } }));
    }
    let mut update = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": event["call"],
        "status": if event["is_error"] == true { "failed" } else { "completed" },
        "content": content,
        "rawOutput": { "text": text },
    });
    if !changes.is_empty() {
        let places = changes.iter().map(|it| json!({ "path": it["path"] }));
        update["locations"] = places.collect();
    }
    update
}

/// A call that begins, for who may not see it whole.
pub fn begun_barely(call: &str, event: &Value) -> Value {
    let name = event["name"].as_str().unwrap_or_default();
    let about = json!({ "command": event["about"] });
    json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call,
        "title": title(name, &about),
        "kind": kind(name),
        "status": "in_progress",
    })
}

/// The end of such a call.
pub fn done_barely(call: Option<&str>, event: &Value) -> Value {
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call.unwrap_or_default(),
        "status": if event["is_error"] == true { "failed" } else { "completed" },
    })
}

/// The plan that `todo` gave back; `None` for what is none.
pub fn plan(event: &Value) -> Option<Value> {
    if event["name"] != "todo" || event["is_error"] == true {
        return None;
    }
    let items: Vec<Value> = serde_json::from_str(event["text"].as_str()?).ok()?;
    // The protocol has no word for what is not done any more.
    let kept = items.iter().filter(|item| item["status"] != "cancelled");
    let entries = kept.map(|item| {
        json!({ "content": item["content"], "priority": "medium", "status": item["status"] })
    });
    let entries: Vec<Value> = entries.collect();
    Some(json!({ "sessionUpdate": "plan", "entries": entries }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_change_is_shown_as_a_difference_and_an_error_by_its_words() {
        let changes = json!([{ "path": "/p/a", "old": "x", "new": "y" }]);
        let ok = json!({ "call": "c", "name": "patch", "is_error": false, "text": "changed a", "changes": changes });
        let shown = done(&ok);
        assert_eq!(
            shown["content"],
            json!([{ "type": "diff", "path": "/p/a", "oldText": "x", "newText": "y" }])
        );
        assert_eq!(
            (&shown["status"], &shown["locations"][0]["path"]),
            (&json!("completed"), &json!("/p/a"))
        );
        let failed = json!({ "call": "c", "name": "patch", "is_error": true, "text": "refused: no", "changes": [] });
        assert_eq!(done(&failed)["content"][0]["content"]["text"], "refused: no");
        assert_eq!(done(&failed)["status"], "failed");
    }

    #[test]
    fn a_list_of_things_to_do_is_a_plan() {
        let text = r#"[{"id":"1","content":"look","status":"completed"},{"id":"2","content":"no","status":"cancelled"}]"#;
        let event = json!({ "name": "todo", "is_error": false, "text": text });
        let plan = plan(&event).unwrap();
        assert_eq!(
            plan["entries"],
            json!([{ "content": "look", "priority": "medium", "status": "completed" }])
        );
        for other in
            [json!({ "name": "todo", "text": "no list" }), json!({ "name": "patch", "text": text })]
        {
            assert_eq!(super::plan(&other), None);
        }
    }

    #[test]
    fn a_place_is_a_path_and_the_line_it_begins_at() {
        let paths = json!(["/p/a"]);
        assert_eq!(
            locations(&paths, &json!({ "offset": 7 })),
            json!([{ "path": "/p/a", "line": 7 }])
        );
        assert_eq!(locations(&paths, &json!({})), json!([{ "path": "/p/a" }]));
        assert_eq!(locations(&Value::Null, &json!({})), json!([]));
    }

    proptest! {
        #[test]
        fn a_title_is_one_short_line_whatever_a_model_writes(name in "[a-z_]{1,20}", about in any::<String>()) {
            let title = title(&name, &json!({ "command": about }));
            prop_assert!(title.starts_with(&*name));
            prop_assert!(title.chars().count() <= TITLE_CHARS_MAX + 1);
            prop_assert!(!title.chars().any(char::is_control));
        }
    }
}
