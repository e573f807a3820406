//! Writes a choice of a model into the text of `config.yaml`. Comments, order and everything
//! else stay as they are; what can't be written so is left to the person.

use crate::source::Sources;
use crate::yaml::{MapEntry, Node, Value, parse};

/// A model, and the provider that has it where that has to be written too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// `provider/name`.
    pub model: String,
    pub provider: Option<ProviderChoice>,
}

/// A provider on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderChoice {
    pub name: String,
    pub kind: String,
    pub base_url: String,
}

/// Why a choice can't be written into a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwritten {
    #[error("it is no YAML that can be read: {0}")]
    Unreadable(String),
    #[error("its `{0}` is written in a way that is left to you")]
    Unusual(&'static str),
    #[error("its `{0}` has `{1}` already")]
    There(&'static str, Box<str>),
}

impl ModelChoice {
    /// What stands in the file, as somebody would write it by hand.
    pub fn lines(&self) -> String {
        let mut lines = format!("model: {}\n", scalar(&self.model));
        if let Some(provider) = &self.provider {
            lines.push_str(&format!("providers:\n  {}\n", provider.entry()));
        }
        lines
    }
}

impl ProviderChoice {
    fn entry(&self) -> String {
        let Self { name, kind, base_url } = self;
        let (name, kind) = (scalar(name), scalar(kind));
        format!("{name}: {{kind: {kind}, base_url: {}}}", quoted(base_url))
    }

    /// Whether an entry of the file says the same, whatever more it says.
    fn is_said_by(&self, node: &Node) -> bool {
        let kind = node.get("kind").and_then(Node::text);
        let base_url = node.get("base_url").and_then(Node::text);
        kind == Some(&*self.kind) && base_url.is_some_and(|it| place(it) == place(&self.base_url))
    }
}

/// An address without what differs between two ways to write it.
fn place(url: &str) -> String {
    let url = url.trim_end_matches('/').to_ascii_lowercase();
    url.replacen("//localhost", "//127.0.0.1", 1)
}

/// The provider of a text that is at this address, whatever it is called there.
pub fn named_in(text: &str, provider: &ProviderChoice) -> Option<String> {
    let root = read(text).ok()?;
    let entries = root.get("providers")?.entries();
    let known = entries.iter().find(|entry| provider.is_said_by(&entry.value));
    known.map(|entry| entry.key.to_string())
}

/// The model that a text names for every agent that names none.
pub fn model_in(text: &str) -> Option<String> {
    let root = read(text).ok()?;
    let model = root.get("model")?;
    let first = model.items().first().unwrap_or(model);
    first.text().map(str::to_owned)
}

/// Whether a text has a provider of that name that is another one.
pub fn is_taken(text: &str, provider: &ProviderChoice) -> bool {
    let Ok(root) = read(text) else { return false };
    let known = root.get("providers").and_then(|it| it.get(&provider.name));
    known.is_some_and(|node| !provider.is_said_by(node))
}

/// The text with the choice in it. What stood there instead stays as a comment.
pub fn choose(text: &str, choice: &ModelChoice) -> Result<String, Unwritten> {
    let root = read(text)?;
    if text.get(root.span.start as usize..).is_some_and(|it| it.starts_with('{')) {
        return Err(Unwritten::Unusual("model"));
    }
    let mut edits = Vec::new();
    let mut new = String::new();
    let is_written = |provider: &&ProviderChoice| {
        let known = root.get("providers").and_then(|it| it.get(&provider.name));
        known.is_some_and(|node| provider.is_said_by(node))
    };
    let provider = choice.provider.as_ref().filter(|it| !is_written(it));
    let model = format!("model: {}\n", scalar(&choice.model));
    match entry(&root, "model") {
        // It was chosen before.
        Some(old) if old.value.text() == Some(&*choice.model) => {}
        Some(old) => edits.push(replaced(text, old, &model)),
        None => new.push_str(&model),
    }
    if let Some(provider) = provider {
        match entry(&root, "providers") {
            Some(old) => edits.push(added(text, old, provider)?),
            None => new.push_str(&format!("providers:\n  {}\n", provider.entry())),
        }
    }
    if !new.is_empty() {
        edits.push(inserted(text, &root, new));
    }
    // From the end, so that places before stay where they are.
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.from));
    let mut done = text.to_owned();
    for Edit { from, to, by } in edits {
        done.replace_range(from..to, &by);
    }
    let after = read(&done).map_err(|_| Unwritten::Unusual("model"))?;
    match is_only(&root, &after, choice) {
        true => Ok(done),
        false => Err(Unwritten::Unusual("model")),
    }
}

/// Bytes of a text, and what comes in their place.
struct Edit {
    from: usize,
    to: usize,
    by: String,
}

pub(crate) fn read(text: &str) -> Result<Node, Unwritten> {
    let mut sources = Sources::default();
    let source = sources.add("config.yaml", text);
    parse(source, text).map_err(|error| Unwritten::Unreadable(error.message))
}

fn entry<'n>(root: &'n Node, key: &str) -> Option<&'n MapEntry> {
    root.entries().iter().find(|entry| &*entry.key == key)
}

/// A new setting in place of an old one, which becomes a comment.
fn replaced(text: &str, old: &MapEntry, new: &str) -> Edit {
    let (from, to) =
        (line_start(text, old.key_span.start as usize), line_end(text, end(text, &old.value)));
    let was = text.get(from..to).unwrap_or_default();
    let mut was: String = was.lines().map(|line| format!("# {line}\n")).collect();
    // Whoever goes from one to another and back has both below already.
    let below = text.get(to..).unwrap_or_default();
    let comments: Vec<&str> = below.lines().take_while(|line| line.starts_with('#')).collect();
    if was.lines().count() == 1 && comments.contains(&was.trim_end()) {
        was.clear();
    }
    Edit { from, to, by: format!("{new}{was}") }
}

/// One more entry of a map.
fn added(text: &str, map: &MapEntry, provider: &ProviderChoice) -> Result<Edit, Unwritten> {
    let unusual = Unwritten::Unusual("providers");
    let at = map.value.span.start as usize;
    let (Value::Map(entries), false) = (&map.value.value, map.value.is_null()) else {
        return Err(unusual);
    };
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Err(unusual) };
    if text.get(at..).is_some_and(|it| it.starts_with('{')) {
        // Before the brace that closes it.
        let close = (map.value.span.end as usize).checked_sub(1);
        let close = close.filter(|close| text.get(*close..).is_some_and(|it| it.starts_with('}')));
        let close = close.ok_or(unusual)?;
        let before = text.get(..close).unwrap_or_default().trim_end();
        let comma = if before.ends_with(',') { " " } else { ", " };
        let from = before.len();
        return Ok(Edit { from, to: from, by: format!("{comma}{}", provider.entry()) });
    }
    let indent = " ".repeat((first.key_span.column as usize).saturating_sub(1));
    let from = line_end(text, end(text, &last.value));
    let by = format!("{}{indent}{}\n", line_break(text, from), provider.entry());
    Ok(Edit { from, to: from, by })
}

/// New settings, before the first one and what is said about that.
fn inserted(text: &str, root: &Node, new: String) -> Edit {
    let Some(first) = root.entries().iter().map(|entry| entry.key_span.start as usize).min() else {
        let from = text.len();
        return Edit { from, to: from, by: format!("{}{new}", line_break(text, from)) };
    };
    let mut from = line_start(text, first);
    while let Some(above) = text.get(..from.saturating_sub(1)).filter(|_| from > 0) {
        let start = line_start(text, above.len());
        let is_comment = above.get(start..).is_some_and(|line| line.trim_start().starts_with('#'));
        if !is_comment {
            break;
        }
        from = start;
    }
    Edit { from, to: from, by: format!("{new}\n") }
}

/// Where a value ends. Of what has no brackets the parser only knows where the next thing begins.
pub(crate) fn end(text: &str, node: &Node) -> usize {
    let own = node.span.end as usize;
    let is_bracketed =
        text.get(node.span.start as usize..).is_some_and(|rest| rest.starts_with(['{', '[']));
    match &node.value {
        _ if is_bracketed => own,
        Value::List(items) => items.last().map_or(own, |last| end(text, last)),
        Value::Map(entries) => entries.last().map_or(own, |last| end(text, &last.value)),
        Value::Scalar { .. } => own,
    }
}

pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1)
}

/// The first byte after the line that ends at or after `at`.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    if at > 0 && text.get(..at).is_some_and(|before| before.ends_with('\n')) {
        return at;
    }
    let rest = text.get(at..).and_then(|rest| rest.find('\n'));
    rest.map_or(text.len(), |found| at + found + 1)
}

/// What a line needs before it that is put at `at`.
pub(crate) fn line_break(text: &str, at: usize) -> &'static str {
    let before = text.get(..at).unwrap_or_default();
    if before.is_empty() || before.ends_with('\n') { "" } else { "\n" }
}

fn scalar(text: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"._/-:".contains(&it);
    let starts = text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let ends = !text.ends_with(':');
    if starts && ends && text.bytes().all(is_plain) { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether one text says what the other says, and the choice besides.
fn is_only(before: &Node, after: &Node, choice: &ModelChoice) -> bool {
    let others = |root: &Node| -> Vec<(Box<str>, Node)> {
        let rest = root.entries().iter().filter(|it| !["model", "providers"].contains(&&*it.key));
        rest.map(|it| (it.key.clone(), it.value.clone())).collect()
    };
    let (old, new) = (others(before), others(after));
    let is_same = old.len() == new.len()
        && old.iter().zip(&new).all(|(old, new)| old.0 == new.0 && alike(&old.1, &new.1));
    let providers = |root: &Node| -> Vec<MapEntry> {
        root.get("providers").map(Node::entries).unwrap_or_default().to_vec()
    };
    let (old, new) = (providers(before), providers(after));
    let mut kept = old.iter().zip(&new);
    let is_kept = old.len() <= new.len()
        && kept.all(|(old, new)| old.key == new.key && alike(&old.value, &new.value));
    let is_there = choice.provider.as_ref().is_none_or(|provider| {
        let mut named = new.iter().filter(|it| *it.key == *provider.name);
        named.next().is_some_and(|it| provider.is_said_by(&it.value)) && named.next().is_none()
    });
    let model = after.get("model").and_then(Node::text);
    is_same && is_kept && is_there && model == Some(choice.model.as_str())
}

/// Whether two values are the same, wherever they stand.
pub(crate) fn alike(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            let same = |(one, other): (&MapEntry, &MapEntry)| {
                one.key == other.key && alike(&one.value, &other.value)
            };
            one.len() == other.len() && one.iter().zip(other).all(same)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod choose_tests;
