//! Adds to the text of `config.yaml` what an import brings: entries of maps and items of lists.
//! Comments, order and everything else stay as they are; what can't be added so is left to the
//! person.

use crate::choose::{Unwritten, alike, end, line_break, line_end, line_start, read};
use crate::yaml::{MapEntry, Node, Value};

/// The text with one more entry in the map at this path, which is made where it is not there.
/// `value` is YAML on one line. One that is there already stays as it is.
pub fn add_entry(
    text: &str,
    (path, name): (&[&'static str], &str),
    value: &str,
) -> Result<String, Unwritten> {
    let top = path.first().copied().unwrap_or_default();
    let root = read(text)?;
    refuse_brackets(text, &root, top)?;
    // As far as the path is there.
    let mut at = &root;
    let mut depth = 0;
    for key in path {
        match at.get(key).filter(|it| !it.is_null()) {
            Some(next) => (at, depth) = (next, depth + 1),
            None => break,
        }
    }
    if depth == path.len() && at.get(name).is_some() {
        return Ok(text.to_owned());
    }
    // A key without a value would stand twice.
    let rest = path.get(depth..).unwrap_or_default();
    if let Some(key) = rest.first()
        && at.get(key).is_some()
    {
        return Err(Unwritten::Unusual(top));
    }
    let (from, indent) = place_in_map(text, at, (depth == 0).then_some(0), top)?;
    let mut lines = String::new();
    for (step, key) in rest.iter().enumerate() {
        lines.push_str(&format!("{}{key}:\n", " ".repeat(indent + 2 * step)));
    }
    let inner = " ".repeat(indent + 2 * rest.len());
    lines.push_str(&format!("{inner}{}: {value}\n", quoted(name)));
    checked(text, &root, (from, &lines), top)
}

/// The text with one more item in a list at the top. `value` is YAML on one line.
pub fn add_item(text: &str, list: &'static str, value: &str) -> Result<String, Unwritten> {
    let root = read(text)?;
    refuse_brackets(text, &root, list)?;
    let Some(found) = root.get(list) else {
        let from = text.len();
        let lines = format!("{list}:\n  - {value}\n");
        return checked(text, &root, (from, &lines), list);
    };
    let (Value::List(items), false) = (&found.value, is_bracketed(text, found)) else {
        return Err(Unwritten::Unusual(list));
    };
    let last = items.last().ok_or(Unwritten::Unusual(list))?;
    // The mark of an item stands before it, as far to the right as those of the others.
    let start = line_start(text, items.first().map_or(0, |it| it.span.start as usize));
    let line = text.get(start..).unwrap_or_default();
    let indent = line.find(|c: char| c != ' ').filter(|at| line[*at..].starts_with("- "));
    let indent = indent.ok_or(Unwritten::Unusual(list))?;
    let from = line_end(text, end(text, last));
    checked(text, &root, (from, &format!("{}- {value}\n", " ".repeat(indent))), list)
}

/// Whether a list at the top has an item that says the same.
pub fn has_item(text: &str, list: &str, value: &str) -> bool {
    let (Ok(root), Ok(wanted)) = (read(text), read(value)) else { return false };
    root.get(list).map(Node::items).unwrap_or_default().iter().any(|item| alike(item, &wanted))
}

/// Where an entry of a map goes, and how far to the right.
fn place_in_map(
    text: &str,
    map: &Node,
    top: Option<usize>,
    key: &'static str,
) -> Result<(usize, usize), Unwritten> {
    if let Some(indent) = top {
        return Ok((text.len(), indent));
    }
    let (Value::Map(entries), false) = (&map.value, is_bracketed(text, map)) else {
        return Err(Unwritten::Unusual(key));
    };
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Err(Unwritten::Unusual(key));
    };
    let indent = (first.key_span.column as usize).saturating_sub(1);
    Ok((line_end(text, end(text, &last.value)), indent))
}

fn is_bracketed(text: &str, node: &Node) -> bool {
    // A list whose marks stand below its key begins, for the parser, at its first item.
    let bracket = if matches!(node.value, Value::List(_)) { '[' } else { '{' };
    text.get(node.span.start as usize..).is_some_and(|it| it.starts_with(bracket))
}

fn refuse_brackets(text: &str, root: &Node, key: &'static str) -> Result<(), Unwritten> {
    let written = !root.entries().is_empty() && is_bracketed(text, root);
    if written { Err(Unwritten::Unusual(key)) } else { Ok(()) }
}

/// Puts lines in, and makes sure that nothing else of the text says something else now.
fn checked(
    text: &str,
    before: &Node,
    (from, lines): (usize, &str),
    key: &'static str,
) -> Result<String, Unwritten> {
    let mut done = text.to_owned();
    done.insert_str(from, &format!("{}{lines}", line_break(text, from)));
    let after = read(&done).map_err(|_| Unwritten::Unusual(key))?;
    let others = |root: &Node| -> Vec<MapEntry> {
        root.entries().iter().filter(|it| &*it.key != key).cloned().collect()
    };
    let (old, new) = (others(before), others(&after));
    let same = old.len() == new.len()
        && old
            .iter()
            .zip(&new)
            .all(|(old, new)| old.key == new.key && alike(&old.value, &new.value));
    let grown = after.get(key).is_some_and(|new| match before.get(key) {
        Some(old) => holds(new, old),
        None => true,
    });
    if same && grown { Ok(done) } else { Err(Unwritten::Unusual(key)) }
}

/// Whether one value has all that another has.
fn holds(new: &Node, old: &Node) -> bool {
    match (&new.value, &old.value) {
        (Value::Map(_), Value::Map(old)) => {
            old.iter().all(|entry| new.get(&entry.key).is_some_and(|new| holds(new, &entry.value)))
        }
        (Value::List(new), Value::List(old)) => {
            new.len() >= old.len() && new.iter().zip(old).all(|(new, old)| alike(new, old))
        }
        _ => alike(new, old),
    }
}

fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&name);
    if plain { name.to_owned() } else { serde_json::Value::from(name).to_string() }
}

#[cfg(test)]
#[path = "extend_tests.rs"]
mod tests;
