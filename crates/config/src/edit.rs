//! Writes one setting into the text of a configuration, or takes one out. Comments, order and
//! everything else stay as they are; what can't be written so is left to the person.

use crate::choose::{Unwritten, alike, end, line_break, line_end, line_start, read};
use crate::settings;
use crate::yaml::{Layer, MapEntry, Node, Value};
use serde_json::Value as Json;

/// One step into a text: a key of a map, or a place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Key(String),
    At(usize),
}

/// Why a text stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unedited {
    #[error("it is no YAML that can be read: {0}")]
    Unreadable(String),
    #[error("its `{0}` is written in a way that is left to you; change it in the text")]
    Unusual(String),
}

/// Words that mean something else where nothing is around them.
const WORDS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"];

/// What a text says, as JSON.
pub fn value_of(text: &str) -> Result<Json, Unedited> {
    Ok(settings::to_json(&tree(text)?))
}

/// The text with one value set: in place of the one that is there, or beside its neighbours.
/// Maps on the way are made; one behind the last item of a list is added to it.
pub fn set(text: &str, path: &[Step], value: &Json) -> Result<String, Unedited> {
    let root = tree(text)?;
    let written = tree(&format!("v: {}\n", inline(value))).map_err(|_| unusual(path))?;
    let value_node = written.get("v").ok_or_else(|| unusual(path))?;
    let expected = changed(&root, path, Some(value_node)).ok_or_else(|| unusual(path))?;
    let done = put(text, &root, path, value).ok_or_else(|| unusual(path))?;
    checked(done, &expected, path)
}

/// The text without a value. What then holds nothing any more stays, empty.
pub fn unset(text: &str, path: &[Step]) -> Result<String, Unedited> {
    let root = tree(text)?;
    let Some(expected) = changed(&root, path, None) else { return Ok(text.to_owned()) };
    let done = cut(text, &root, path).ok_or_else(|| unusual(path))?;
    checked(done, &expected, path)
}

fn tree(text: &str) -> Result<Node, Unedited> {
    read(text).map_err(|why| match why {
        Unwritten::Unreadable(why) => Unedited::Unreadable(why),
        Unwritten::Unusual(key) | Unwritten::There(key, _) => Unedited::Unusual(key.to_owned()),
    })
}

fn unusual(path: &[Step]) -> Unedited {
    let named = path.iter().map(|step| match step {
        Step::Key(key) => key.clone(),
        Step::At(at) => at.to_string(),
    });
    Unedited::Unusual(named.collect::<Vec<_>>().join("."))
}

/// Makes sure that a text says what it was to say, and nothing else.
fn checked(done: String, expected: &Node, path: &[Step]) -> Result<String, Unedited> {
    match read(&done) {
        Ok(after) if alike(&after, expected) => Ok(done),
        _ => Err(unusual(path)),
    }
}

/// Whether nothing is written behind a key.
fn is_nothing(text: &str, node: &Node) -> bool {
    let written = text.get(node.span.start as usize..node.span.end as usize);
    node.is_null() && written.is_none_or(|it| it.trim().is_empty())
}

fn empty(of: &Node, step: &Step) -> Node {
    let value = match step {
        Step::Key(_) => Value::Map(Vec::new()),
        Step::At(_) => Value::List(Vec::new()),
    };
    Node { span: of.span, layer: Layer::Own, value }
}

/// The tree with a value at a path, or without one; `None` where that can't be.
fn changed(node: &Node, path: &[Step], new: Option<&Node>) -> Option<Node> {
    let Some((step, rest)) = path.split_first() else { return new.cloned() };
    let blank = empty(node, step);
    let node = if node.is_null() { &blank } else { node };
    let mut node = node.clone();
    match (step, &mut node.value) {
        (Step::Key(key), Value::Map(entries)) => {
            let found = entries.iter().position(|it| *it.key == **key);
            match (found, new, rest.is_empty()) {
                (None, None, _) => return None,
                (Some(at), None, true) => drop(entries.remove(at)),
                (Some(at), ..) => entries[at].value = changed(&entries[at].value, rest, new)?,
                (None, Some(_), _) => {
                    let blank = rest.first().map_or(blank.clone(), |step| empty(&blank, step));
                    let value = changed(&blank, rest, new)?;
                    entries.push(MapEntry {
                        key: key.as_str().into(),
                        key_span: blank.span,
                        value,
                    });
                }
            }
        }
        (Step::At(at), Value::List(items)) => {
            let found = items.get(*at).cloned();
            match (found, new, rest.is_empty()) {
                (None, None, _) => return None,
                (Some(_), None, true) => drop(items.remove(*at)),
                (Some(item), ..) => items[*at] = changed(&item, rest, new)?,
                (None, Some(_), _) if *at == items.len() => {
                    let blank = rest.first().map_or(blank.clone(), |step| empty(&blank, step));
                    items.push(changed(&blank, rest, new)?);
                }
                (None, Some(_), _) => return None,
            }
        }
        _ => return None,
    }
    Some(node)
}

/// A value, and the key that it stands behind.
#[derive(Clone, Copy)]
struct Place<'n> {
    key: Option<&'n MapEntry>,
    node: &'n Node,
}

impl<'n> Place<'n> {
    fn step(self, step: &Step) -> Option<Self> {
        match (step, &self.node.value) {
            (Step::Key(key), Value::Map(entries)) => {
                let entry = entries.iter().find(|it| *it.key == **key)?;
                Some(Self { key: Some(entry), node: &entry.value })
            }
            (Step::At(at), Value::List(items)) => Some(Self { key: None, node: items.get(*at)? }),
            _ => None,
        }
    }

    /// The text with another value here.
    fn replaced(self, text: &str, by: &str) -> Option<String> {
        let (from, to) = match self.key {
            Some(entry) => {
                let behind = behind_key(text, entry)?;
                let is_below =
                    self.node.span.line > entry.key_span.line && !is_flow(text, self.node);
                match is_nothing(text, self.node) || is_below {
                    true => {
                        let to = if is_nothing(text, self.node) {
                            behind
                        } else {
                            value_end(text, self.node)
                        };
                        return Some(spliced(text, behind, to.max(behind), &format!(" {by}")));
                    }
                    false => (self.node.span.start as usize, value_end(text, self.node)),
                }
            }
            None => (self.node.span.start as usize, value_end(text, self.node)),
        };
        Some(spliced(text, from, to, by))
    }
}

/// The first byte behind a key and its colon.
fn behind_key(text: &str, entry: &MapEntry) -> Option<usize> {
    let from = entry.key_span.start as usize;
    // A key may be quoted, with a colon in it.
    let from = (entry.key_span.end as usize).max(from);
    let colon = text.get(from.checked_sub(1)?..)?.find(':')?;
    Some(from - 1 + colon + 1)
}

/// Where a value ends, without the space and the line break after it.
fn value_end(text: &str, node: &Node) -> usize {
    let (from, to) = (node.span.start as usize, end(text, node));
    let own = text.get(from..to).unwrap_or_default();
    from + own.trim_end().len()
}

/// Where an entry ends, which may have no value.
fn entry_end(text: &str, entry: &MapEntry) -> usize {
    match is_nothing(text, &entry.value) {
        true => behind_key(text, entry).unwrap_or(entry.key_span.end as usize),
        false => value_end(text, &entry.value),
    }
}

fn is_flow(text: &str, node: &Node) -> bool {
    let bracket = if matches!(node.value, Value::List(_)) { '[' } else { '{' };
    text.get(node.span.start as usize..).is_some_and(|it| it.starts_with(bracket))
}

fn spliced(text: &str, from: usize, to: usize, by: &str) -> String {
    let (before, after) = (text.get(..from).unwrap_or(text), text.get(to..).unwrap_or_default());
    format!("{before}{by}{after}")
}

fn put(text: &str, root: &Node, path: &[Step], value: &Json) -> Option<String> {
    let mut place = Place { key: None, node: root };
    for (depth, step) in path.iter().enumerate() {
        match place.step(step) {
            Some(next) => place = next,
            None => {
                let nested = wrapped(path.get(depth + 1..)?, value)?;
                return added(text, place, step, &nested, depth == 0);
            }
        }
    }
    place.replaced(text, &inline(value))
}

/// A value inside of what the rest of a path makes.
fn wrapped(path: &[Step], value: &Json) -> Option<Json> {
    let mut nested = value.clone();
    for step in path.iter().rev() {
        nested = match step {
            Step::Key(key) => serde_json::json!({ key: nested }),
            Step::At(0) => Json::Array(vec![nested]),
            Step::At(_) => return None,
        };
    }
    Some(nested)
}

/// The text with one more entry or item.
fn added(text: &str, place: Place<'_>, step: &Step, value: &Json, is_root: bool) -> Option<String> {
    let node = place.node;
    let one = match step {
        Step::Key(key) => format!("{}: {}", scalar(key), inline(value)),
        Step::At(_) => inline(value),
    };
    let (open, close) = if matches!(step, Step::Key(_)) { ('{', '}') } else { ('[', ']') };
    let last = match &node.value {
        Value::Map(entries) => entries.last().map(|it| entry_end(text, it)),
        Value::List(items) => items.last().map(|it| value_end(text, it)),
        Value::Scalar { .. } => None,
    };
    let Some(last) = last else {
        // Nothing is in it yet.
        if is_root && !text.get(node.span.start as usize..)?.starts_with('{') {
            return Some(format!("{text}{}{one}\n", line_break(text, text.len())));
        }
        let whole = format!("{open}{one}{close}");
        return match is_root {
            true => Some(spliced(text, node.span.start as usize, value_end(text, node), &whole)),
            false => place.replaced(text, &whole),
        };
    };
    if is_flow(text, node) {
        let has_comma = text.get(last..)?.trim_start().starts_with(',');
        return (!has_comma).then(|| spliced(text, last, last, &format!(", {one}")));
    }
    let (column, mark) = match &node.value {
        Value::Map(entries) => (entries.first()?.key_span.column as usize - 1, ""),
        _ => {
            let start = line_start(text, node.items().first()?.span.start as usize);
            let line = text.get(start..)?;
            (line.find(|c: char| c != ' ').filter(|at| line[*at..].starts_with('-'))?, "- ")
        }
    };
    let at = line_end(text, last);
    let line = format!("{}{}{mark}{one}\n", line_break(text, at), " ".repeat(column));
    Some(spliced(text, at, at, &line))
}

/// The text without what is at a path.
fn cut(text: &str, root: &Node, path: &[Step]) -> Option<String> {
    let (step, above) = path.split_last()?;
    let mut place = Place { key: None, node: root };
    for step in above {
        place = place.step(step)?;
    }
    place.step(step)?;
    let (starts, ends, found) = extents(text, place.node, step)?;
    if starts.len() == 1 {
        let nothing = if matches!(step, Step::Key(_)) { "{}" } else { "[]" };
        return match above.is_empty() && !is_flow(text, place.node) {
            true => {
                let (from, to) = (line_start(text, starts[0]), line_end(text, ends[0]));
                Some(spliced(text, from, to, &format!("{nothing}\n")))
            }
            false if above.is_empty() => {
                let from = place.node.span.start as usize;
                Some(spliced(text, from, value_end(text, place.node), nothing))
            }
            false => place.replaced(text, nothing),
        };
    }
    if is_flow(text, place.node) {
        return Some(match starts.get(found + 1) {
            Some(next) => spliced(text, starts[found], *next, ""),
            None => spliced(text, ends[found - 1], ends[found], ""),
        });
    }
    let from = line_start(text, starts[found]);
    let before = text.get(from..starts[found])?.trim();
    let is_own_line = if matches!(step, Step::Key(_)) { before.is_empty() } else { before == "-" };
    is_own_line.then(|| spliced(text, from, line_end(text, ends[found]), ""))
}

/// Where the parts of a map or a list begin and end, and which of them is meant.
fn extents(text: &str, node: &Node, step: &Step) -> Option<(Vec<usize>, Vec<usize>, usize)> {
    match (step, &node.value) {
        (Step::Key(key), Value::Map(entries)) => Some((
            entries.iter().map(|it| it.key_span.start as usize).collect(),
            entries.iter().map(|it| entry_end(text, it)).collect(),
            entries.iter().position(|it| *it.key == **key)?,
        )),
        (Step::At(at), Value::List(items)) if *at < items.len() => Some((
            items.iter().map(|it| it.span.start as usize).collect(),
            items.iter().map(|it| value_end(text, it)).collect(),
            *at,
        )),
        _ => None,
    }
}

/// A value on one line.
fn inline(value: &Json) -> String {
    match value {
        Json::String(text) => scalar(text),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Json::Object(fields) => {
            let all =
                fields.iter().map(|(key, value)| format!("{}: {}", scalar(key), inline(value)));
            format!("{{{}}}", all.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A text without quotes where it means nothing else so.
fn scalar(text: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"._/-:".contains(&it);
    let starts = text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let is_word = WORDS.contains(&&*text.to_ascii_lowercase());
    match starts && !is_word && !text.ends_with(':') && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => Json::from(text).to_string(),
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
