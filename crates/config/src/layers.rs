//! One agent's settings out of several layers: its own, then `defaults`, then top-level.
//!
//! Maps merge key by key and everything else is taken whole from the nearest layer, with
//! two exceptions that keep a guard from being lost by accident: what any layer denies
//! stays denied, and hooks of every layer run.

use crate::diagnostic::FindingOwner;
use crate::schema::MOVED;
use crate::shape::Checker;
use crate::yaml::{MapEntry, Node, Value};

/// Joins the two files an agent may be written in; a key in both is an error.
pub fn join_files(checker: &mut Checker<'_>, first: Node, second: Node) -> Node {
    let (Value::Map(mut entries), Value::Map(more)) = (first.value, second.value) else {
        return Node::empty_map(first.span);
    };
    for entry in more {
        match entries.iter().find(|earlier| earlier.key == entry.key) {
            None => entries.push(entry),
            Some(earlier) => {
                let earlier_span = earlier.key_span;
                let subject = checker.subject.clone();
                let found = checker.error(
                    entry.key_span,
                    format!("`{}` of {subject} is set in two files", entry.key),
                );
                found.related.push((earlier_span, "also set here".to_owned()));
                found.help = Some("keep it in one of them".to_owned());
            }
        }
    }
    Node { value: Value::Map(entries), ..Node::empty_map(first.span) }
}

/// Gives settings that other runtimes keep elsewhere their place here.
pub fn relocate(checker: &mut Checker<'_>, node: &mut Node) {
    let Value::Map(entries) = &mut node.value else { return };
    let mut index = 0;
    while index < entries.len() {
        let Some(moved) = MOVED.iter().find(|moved| moved.name == &*entries[index].key) else {
            index += 1;
            continue;
        };
        let entry = entries.remove(index);
        let Some(value) = (moved.value)(&entry.value) else {
            checker.error(
                entry.value.span,
                format!(
                    "expected {} for `{}` in {}",
                    moved.expected,
                    moved.name,
                    checker.subject.clone()
                ),
            );
            continue;
        };
        place(checker, entries, &entry, moved.to, value);
    }
}

fn place(
    checker: &mut Checker<'_>,
    entries: &mut Vec<MapEntry>,
    from: &MapEntry,
    (outer, inner): (&str, &str),
    value: Node,
) {
    let new = MapEntry { key: inner.into(), key_span: from.key_span, value };
    let home = entries.iter_mut().find(|entry| &*entry.key == outer);
    let home = home.map(|entry| &mut entry.value);
    let is_empty = home.as_ref().is_some_and(|node| node.is_null());
    match home.map(|node| &mut node.value) {
        None => entries.push(MapEntry {
            key: outer.into(),
            key_span: from.key_span,
            value: Node { value: Value::Map(vec![new]), ..Node::empty_map(from.key_span) },
        }),
        Some(Value::Map(settings)) => match settings.iter().find(|entry| &*entry.key == inner) {
            None => settings.push(new),
            Some(first) => {
                let first_span = first.key_span;
                let message = format!("`{}` and `{outer}.{inner}` are the same setting", from.key);
                let found = checker.error(from.key_span, message);
                found.related.push((first_span, "also set here".to_owned()));
                found.help = Some("keep one of them".to_owned());
            }
        },
        // `sessions:` without a value is an empty map.
        Some(value) if is_empty => *value = Value::Map(vec![new]),
        // Not a map: the shape check reports it.
        Some(_) => {}
    }
}

/// Lays `own` over `inherited`.
pub fn merge(own: Node, inherited: &Node) -> Node {
    merge_at("", own, inherited)
}

fn merge_at(key: &str, own: Node, inherited: &Node) -> Node {
    if key == "tools" {
        return merge_tools(own, inherited);
    }
    let Node { span, layer, value } = own;
    let (mut entries, below) = match (value, &inherited.value) {
        (Value::Map(entries), Value::Map(below)) => (entries, below),
        (value, _) => return Node { span, layer, value },
    };
    for entry in below {
        let Some(mine) = entries.iter_mut().find(|mine| mine.key == entry.key) else {
            entries.push(entry.clone());
            continue;
        };
        let value = std::mem::replace(&mut mine.value, Node::empty_map(span));
        mine.value = match key {
            // A server is one thing: half of one and half of another is neither. A key of one layer
            // does not go to the address of another.
            "mcp_servers" | "providers" => value,
            "hooks" | "rules" => concatenate(&entry.value, value),
            _ => merge_at(&entry.key, value, &entry.value),
        };
    }
    Node { value: Value::Map(entries), span, layer }
}

/// Which tools to start from (`profile`, `allow`, and what is added to them) is one decision
/// and comes from one layer. `also_allow` alone adds to what is inherited: it must not turn
/// a narrow default into everything. `deny` and `rules` only take away and add up.
fn merge_tools(own: Node, inherited: &Node) -> Node {
    let span = own.span;
    let selects = own.get("profile").is_some() || own.get("allow").is_some();
    let Value::Map(mut entries) = own.value else { return own };
    for below in inherited.entries() {
        let mine = entries.iter_mut().find(|mine| mine.key == below.key);
        match (&*below.key, mine) {
            ("deny", Some(mine)) => {
                let value = std::mem::replace(&mut mine.value, Node::empty_map(span));
                mine.value = concatenate(&below.value, value);
            }
            ("rules", Some(mine)) => {
                let value = std::mem::replace(&mut mine.value, Node::empty_map(span));
                mine.value = merge_at("rules", value, &below.value);
            }
            ("deny" | "rules", None) => entries.push(below.clone()),
            (_, None) if !selects => entries.push(below.clone()),
            _ => {}
        }
    }
    Node { value: Value::Map(entries), span, layer: own.layer }
}

fn concatenate(first: &Node, second: Node) -> Node {
    let items = first.items().iter().cloned().chain(second.items().iter().cloned()).collect();
    Node { value: Value::List(items), ..second }
}

/// The owner and the name in messages of one agent's part.
pub fn agent_part(id: &str) -> (FindingOwner, String) {
    (FindingOwner::Agent(id.into()), format!("agent `{}`", crate::shape::shorten(id)))
}
