//! Which JSON is a call: an object that names a tool and its arguments, and says nothing else.
//! Knows nothing of where it stands.

use super::found::{Found, ToolNames};
use super::lenient::{Kind, Node};

/// What a call calls its tool.
const NAMES: &[&str] = &["name", "tool", "tool_name", "function", "function_name", "action"];
/// What it calls its arguments.
const ARGUMENTS: &[&str] =
    &["arguments", "parameters", "args", "params", "input", "tool_input", "action_input"];
/// What else may stand beside them.
const BESIDE: &[&str] = &["id", "call_id", "tool_call_id", "type", "index"];
/// Around one call.
const AROUND_ONE: &[&str] = &["function", "function_call", "tool_call", "call"];
/// Around several.
const AROUND_SEVERAL: &[&str] = &["tool_calls", "calls", "function_calls"];

/// How sure it is that a call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Marks around it say so: what is left out or written otherwise is forgiven.
    Marked,
    /// Nothing but its shape says so.
    Plain,
}

/// The calls that a value is; nothing where it is anything else, in whole or in part.
pub fn calls(node: &Node, text: &str, tools: &ToolNames, setting: Setting) -> Option<Vec<Found>> {
    match &node.kind {
        Kind::List(items) if !items.is_empty() => {
            let each = items.iter().map(|item| match item.kind {
                Kind::Fields(_) => calls(item, text, tools, setting),
                _ => None,
            });
            Some(each.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
        }
        Kind::Fields(fields) => object(fields, text, tools, setting),
        _ => None,
    }
}

fn object(
    fields: &[(String, Node)],
    text: &str,
    tools: &ToolNames,
    setting: Setting,
) -> Option<Vec<Found>> {
    let beside = |fields: &[(String, Node)], known: &[&str]| {
        fields.iter().all(|(name, _)| known.contains(&&**name) || BESIDE.contains(&&**name))
    };
    if let Some((around, inner)) = fields.iter().find(|(name, _)| AROUND_SEVERAL.contains(&&**name))
    {
        let is_list = matches!(inner.kind, Kind::List(_));
        return (is_list && beside(fields, &[around]))
            .then(|| calls(inner, text, tools, setting))?;
    }
    let is_inner = |(name, inner): &&(String, Node)| {
        AROUND_ONE.contains(&&**name) && matches!(inner.kind, Kind::Fields(_))
    };
    if let Some((around, inner)) = fields.iter().find(is_inner) {
        return beside(fields, &[around]).then(|| calls(inner, text, tools, setting))?;
    }
    if fields.iter().any(|(name, node)| name == "type" && !is_type_of_a_call(node)) {
        return None;
    }
    let (key, name) = NAMES.iter().find_map(|key| {
        let (_, node) = fields.iter().find(|(name, _)| name == key)?;
        Some((*key, tools.find(node.text()?.trim())?.to_owned()))
    })?;
    let given = fields.iter().find(|(name, _)| ARGUMENTS.contains(&&**name));
    let arguments = match (given, setting) {
        (Some((given, node)), _) => {
            let is_all = beside(fields, &[key, given]);
            if is_a_schema(node) || !is_all && setting == Setting::Plain {
                return None;
            }
            written(node, text)?
        }
        (None, Setting::Plain) => return None,
        // What stands beside the name is what it is called with.
        (None, Setting::Marked) => {
            let rest = fields.iter().filter(|(name, _)| name != key && !BESIDE.contains(&&**name));
            let rest = rest.map(|(name, node)| (name.clone(), node.to_value()));
            serde_json::Value::Object(rest.collect()).to_string()
        }
    };
    Some(vec![Found { name, arguments }])
}

fn is_type_of_a_call(node: &Node) -> bool {
    matches!(node.text(), Some("function" | "function_call" | "tool_call" | "tool_use" | "tool"))
}

/// Whether these arguments describe arguments: a tool that is shown is not called.
fn is_a_schema(node: &Node) -> bool {
    let Kind::Fields(fields) = &node.kind else { return false };
    let has = |wanted: &str| fields.iter().any(|(name, _)| name == wanted);
    has("properties") && (has("type") || has("required"))
}

/// Arguments as they were written.
fn written(node: &Node, text: &str) -> Option<String> {
    Some(match &node.kind {
        Kind::Null => "{}".to_owned(),
        // An object inside of a text is one all the same.
        Kind::Text(inner) if inner.trim_start().starts_with('{') => inner.clone(),
        Kind::Text(inner) if inner.trim().is_empty() => "{}".to_owned(),
        _ => text.get(node.span.clone())?.to_owned(),
    })
}

/// The fields of an object that is not complete: each with its value, or where that begins.
type Begun = [(String, Result<Node, usize>)];

/// Whether an object can still become a call, by the fields it has so far.
pub fn may_become(fields: &Begun, text: &str, tools: &ToolNames) -> bool {
    let known = [NAMES, ARGUMENTS, BESIDE, AROUND_ONE, AROUND_SEVERAL];
    fields.iter().all(|(name, value)| {
        let name = name.as_str();
        if !known.iter().any(|names| names.contains(&name)) {
            return false;
        }
        match value {
            Ok(node) if name == "type" => is_type_of_a_call(node),
            Ok(node) if NAMES.contains(&name) && !AROUND_ONE.contains(&name) => {
                node.text().is_some_and(|it| tools.find(it.trim()).is_some())
            }
            Ok(_) => true,
            Err(at) if NAMES.contains(&name) => name_may_become(text.get(*at..), tools),
            Err(_) => true,
        }
    })
}

/// Whether a name that has begun can still be that of a tool.
fn name_may_become(begun: Option<&str>, tools: &ToolNames) -> bool {
    match begun.unwrap_or_default().strip_prefix(['"', '\'']) {
        Some(begun) => {
            tools.may_become(begun) || begun.contains('.') || "functions".starts_with(begun)
        }
        // An object, or nothing yet.
        None => true,
    }
}

/// The call that an object would be whose arguments are cut off.
pub fn cut_off(fields: &Begun, text: &str, tools: &ToolNames) -> Option<Found> {
    let name = fields.iter().find_map(|(key, value)| {
        let node = value.as_ref().ok().filter(|_| NAMES.contains(&&**key))?;
        tools.find(node.text()?.trim())
    })?;
    let at = fields.iter().find_map(|(key, value)| {
        value.as_ref().err().filter(|_| ARGUMENTS.contains(&&**key)).copied()
    })?;
    let arguments = text.get(at..).filter(|it| it.starts_with('{'))?;
    may_become(fields, text, tools)
        .then(|| Found { name: name.to_owned(), arguments: arguments.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::lenient::{AtEnd, Failed, prefix};
    use super::*;

    fn tools() -> ToolNames {
        ToolNames::new(["read_file", "memory", "todo"])
    }

    fn read(text: &str, setting: Setting) -> Option<Vec<(String, String)>> {
        let document = prefix(text, AtEnd::Closed).ok()?;
        let found = calls(&document.node, text, &tools(), setting)?;
        Some(found.into_iter().map(|it| (it.name, it.arguments)).collect())
    }

    fn one(name: &str, arguments: &str) -> Option<Vec<(String, String)>> {
        Some(vec![(name.to_owned(), arguments.to_owned())])
    }

    #[test]
    fn a_call_is_a_name_and_its_arguments_in_any_of_the_ways_models_write_it() {
        let path = r#"{"path": "a"}"#;
        for text in [
            r#"{"name": "read_file", "arguments": {"path": "a"}}"#,
            r#"{"arguments": {"path": "a"}, "name": "read_file"}"#,
            r#"{"tool": "read_file", "args": {"path": "a"}}"#,
            r#"{"tool_name": "functions.read_file", "tool_input": {"path": "a"}}"#,
            r#"{"function": "read_file", "parameters": {"path": "a"}}"#,
            r#"{"action": "read_file", "action_input": {"path": "a"}}"#,
            r#"{"id": "x1", "type": "function", "function": {"name": "read_file", "arguments": {"path": "a"}}}"#,
            r#"{"function_call": {"name": "read_file", "arguments": {"path": "a"}}}"#,
            r#"{"tool_calls": [{"name": "read_file", "arguments": {"path": "a"}}]}"#,
            r#"[{"name": "read_file", "arguments": {"path": "a"}}]"#,
            r#"{"name": "read_file", "arguments": "{\"path\": \"a\"}"}"#,
        ] {
            assert_eq!(read(text, Setting::Plain), one("read_file", path), "{text}");
        }
        assert_eq!(
            read(r#"{"name": "todo", "arguments": null}"#, Setting::Plain),
            one("todo", "{}")
        );
        assert_eq!(
            read(r#"{"name": "todo", "arguments": "x"}"#, Setting::Plain),
            one("todo", "\"x\"")
        );
    }

    #[test]
    fn what_says_more_or_less_than_a_call_is_none_unless_marks_say_so() {
        let plain = |text: &str| read(text, Setting::Plain);
        for text in [
            r#"{"name": "todo"}"#,
            r#"{"name": "memory", "arguments": {}, "result": "done"}"#,
            r#"{"name": "read_file", "path": "a"}"#,
        ] {
            assert_eq!(plain(text), None, "{text}");
            assert!(read(text, Setting::Marked).is_some(), "{text}");
        }
        for text in [
            r#"{"name": "memory", "description": "x", "parameters": {"type": "object", "properties": {}}}"#,
            r#"{"name": "memory", "parameters": {"type": "object", "properties": {}}}"#,
            r#"{"type": "object", "name": "memory", "arguments": {}}"#,
            r#"{"name": "nobody", "arguments": {}}"#,
            r#"{"name": ["memory"], "arguments": {}}"#,
            r#"[{"name": "memory", "arguments": {}}, {"name": "nobody", "arguments": {}}]"#,
            r#"[{"name": "memory", "arguments": {}}, 3]"#,
            r#"{"tool_calls": [{"name": "memory", "arguments": {}}], "note": "x"}"#,
            r#"{"tool_calls": {"name": "memory", "arguments": {}}}"#,
            "[]",
            "{}",
            "3",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
        let inline = read(r#"{"name": "read_file", "path": "a", "limit": 2}"#, Setting::Marked);
        assert_eq!(inline, one("read_file", r#"{"path":"a","limit":2}"#));
    }

    #[test]
    fn an_object_that_has_begun_is_given_up_as_soon_as_it_can_be_no_call() {
        let may = |text: &str| match prefix(text, AtEnd::Open) {
            Err(Failed::Unfinished(fields)) => may_become(&fields, text, &tools()),
            other => panic!("{other:?}"),
        };
        for text in [
            "{",
            r#"{"na"#,
            r#"{"name": "re"#,
            r#"{"name": "functions.re"#,
            r#"{"name": "memory", "arguments": {"name": "Bob"#,
            r#"{"id": "1", "function": {"na"#,
            r#"{"type": "function", "#,
        ] {
            assert!(may(text), "{text}");
        }
        for text in [
            r#"{"users": ["#,
            r#"{"name": "Bob"#,
            r#"{"name": "memory", "arguments": {}, "result": ""#,
            r#"{"type": "object", "#,
            r#"{"name": {"first": 1}, "#,
        ] {
            assert!(!may(text), "{text}");
        }
    }

    #[test]
    fn a_call_that_is_cut_off_keeps_what_there_is_of_its_arguments() {
        let cut = |text: &str| match prefix(text, AtEnd::Closed) {
            Err(Failed::Unfinished(fields)) => cut_off(&fields, text, &tools()),
            other => panic!("{other:?}"),
        };
        let found = cut(r#"{"name": "read_file", "arguments": {"path": "a"#).unwrap();
        assert_eq!(
            (found.name.as_str(), found.arguments.as_str()),
            ("read_file", "{\"path\": \"a")
        );
        assert_eq!(cut(r#"{"arguments": {"path": "a"#), None);
        assert_eq!(cut(r#"{"name": "read_file", "argu"#), None);
    }
}
