//! What kind of thing an argument is, as its tool's schema tells.

use super::data::Tool;
use serde_json::Value;

/// A kind of argument, by what could be wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Somebody to write to, or who wrote.
    Address,
    /// An address on the web.
    Link,
    /// A thing, by its number.
    Id,
    /// A day, maybe with a time.
    Day,
    /// Words to look for.
    Query,
    /// Words for people.
    Prose,
    /// A thing or somebody, by name.
    Name,
    /// A number, a choice, or something with parts: nothing is demanded of it.
    Other,
}

/// An argument of a tool.
#[derive(Debug, Clone)]
pub(super) struct Argument<'t> {
    pub(super) name: &'t str,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) is_list: bool,
}

/// What is written for people whatever the tool is.
const PROSE: [&str; 6] = ["body", "content", "description", "location", "subject", "title"];

/// What tools that only look begin with.
const LOOKS: [&str; 5] = ["check_", "get_", "list_", "read_", "search_"];

/// Whether a tool changes nothing.
pub(super) fn only_looks(tool: &str) -> bool {
    LOOKS.iter().any(|begin| tool.starts_with(begin))
}

/// The arguments of a tool.
pub(super) fn arguments(tool: &Tool) -> Vec<Argument<'_>> {
    let required: Vec<&str> = texts(&tool.parameters["required"]).collect();
    let properties = tool.parameters["properties"].as_object();
    let mut found = Vec::new();
    for (name, schema) in properties.into_iter().flatten() {
        let (kind, is_list) = kind(name, schema);
        found.push(Argument {
            name,
            kind,
            is_required: required.contains(&name.as_str()),
            is_list,
        });
    }
    found
}

fn kind(name: &str, schema: &Value) -> (Kind, bool) {
    let any = schema["anyOf"].as_array();
    let forms: Vec<&Value> = any.map_or_else(|| vec![schema], |any| any.iter().collect());
    let is_list = forms.iter().any(|form| form["type"] == "array");
    let is_text = |form: &&&Value| {
        form["type"] == "string" && form["enum"].is_null() || form["items"]["type"] == "string"
    };
    let says = schema["description"].as_str().unwrap_or_default().to_lowercase();
    let has =
        |word: &str| says.split(|it: char| !it.is_alphanumeric() && it != '-').any(|it| it == word);
    let kind = match name {
        "id" => Kind::Id,
        name if name.ends_with("_id") => Kind::Id,
        _ if !forms.iter().any(|form| is_text(&form)) => Kind::Other,
        "query" => Kind::Query,
        name if PROSE.contains(&name) => Kind::Prose,
        "url" => Kind::Link,
        name if name.ends_with("_url") => Kind::Link,
        _ if has("email") && (has("address") || has("addresses") || has("user")) => Kind::Address,
        _ if has("date") || has("yyyy-mm-dd") => Kind::Day,
        _ => Kind::Name,
    };
    (kind, is_list)
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::data::Suite;
    use super::*;
    use std::collections::BTreeSet;

    fn of_kind(suite: &str, wanted: Kind) -> BTreeSet<String> {
        let suite = Suite::load(suite).expect("a suite");
        let all = suite.tools.iter().flat_map(arguments);
        all.filter(|it| it.kind == wanted).map(|it| it.name.to_owned()).collect()
    }

    #[test]
    fn arguments_are_told_apart_by_their_schema() {
        let set = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(
            of_kind("workspace", Kind::Address),
            set(&["bcc", "cc", "email", "participants", "recipients", "sender"])
        );
        assert_eq!(of_kind("workspace", Kind::Id), set(&["email_id", "event_id", "file_id"]));
        assert_eq!(of_kind("workspace", Kind::Other), set(&["attachments", "permission"]));
        assert_eq!(of_kind("workspace", Kind::Name), set(&["filename"]));
        assert_eq!(of_kind("slack", Kind::Name), set(&["channel", "recipient", "user"]));
        assert_eq!(of_kind("slack", Kind::Address), set(&["user_email"]));
        assert_eq!(of_kind("slack", Kind::Link), set(&["url"]));
        assert_eq!(
            of_kind("banking", Kind::Name),
            set(&[
                "city",
                "file_path",
                "first_name",
                "last_name",
                "password",
                "recipient",
                "street"
            ])
        );
        assert_eq!(of_kind("banking", Kind::Day), set(&["date"]));
        assert_eq!(
            of_kind("travel", Kind::Day),
            set(&["date", "day", "end_day", "end_time", "start_day", "start_time"])
        );
    }
}
