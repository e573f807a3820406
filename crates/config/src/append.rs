//! Adds an account or a binding to the text of `config.yaml`. Comments, order and everything else
//! stay as they are; what can't be written so is left to the person.

use crate::choose::{Unwritten, end, line_break, line_end, read};
use crate::yaml::{MapEntry, Node, Value};

/// The text with one more entry of the map at `path`; the maps on the way to it are made where
/// they are missing. One that is there already is not changed.
pub fn with_entry(text: &str, path: &[&'static str], key: &str, value: &str) -> Appended {
    let root = read(text)?;
    let last = path.last().copied().unwrap_or("it");
    let there = path.iter().try_fold(&root, |node, step| node.get(step));
    if there.and_then(|it| it.get(key)).is_some() {
        return Err(Unwritten::There(last, key.into()));
    }
    let (mut map, mut known) = (&root, 0);
    while let Some(name) = path.get(known) {
        let Some(entry) = entry(map, name) else { break };
        known += 1;
        if is_empty(&entry.value) {
            let lines = below(path.get(known..).unwrap_or_default(), key, value);
            let done = filled(text, entry, &lines).ok_or(Unwritten::Unusual(name))?;
            return checked(done, (path, key), name);
        }
        map = block(text, entry, name)?;
    }
    let missing = path.get(known..).unwrap_or_default();
    let name = missing.first().copied().unwrap_or(last);
    let (at, indent) = match (known, map.entries().first(), map.entries().last()) {
        (0, ..) => (text.len(), 0),
        (_, Some(first), Some(last)) => {
            (line_end(text, end(text, &last.value)), first.key_span.column as usize - 1)
        }
        _ => return Err(Unwritten::Unusual(name)),
    };
    let lines = indented(&below(missing, key, value), indent);
    checked(inserted(text, at, &lines, known == 0), (path, key), name)
}

/// The entry as it is written by hand, with the maps that it stands in.
pub fn entry_lines(path: &[&str], key: &str, value: &str) -> String {
    below(path, key, value)
}

/// An entry in lines, below the maps of these names.
fn below(path: &[&str], key: &str, value: &str) -> String {
    let mut lines = String::new();
    for (depth, step) in path.iter().enumerate() {
        lines.push_str(&format!("{}{step}:\n", " ".repeat(2 * depth)));
    }
    lines + &format!("{}{key}: {value}\n", " ".repeat(2 * path.len()))
}

fn indented(lines: &str, columns: usize) -> String {
    lines.lines().map(|line| format!("{}{line}\n", " ".repeat(columns))).collect()
}

/// Whether nothing stands there, or a map that has nothing in it.
fn is_empty(node: &Node) -> bool {
    node.is_null() || matches!(&node.value, Value::Map(entries) if entries.is_empty())
}

/// The text with these lines as the value of an entry that has none: in place of its brackets.
/// What else stands in its line stays, such as a comment.
fn filled(text: &str, entry: &MapEntry, lines: &str) -> Option<String> {
    let key_end = entry.key_span.end as usize;
    let rest = text.get(key_end..line_end(text, key_end))?;
    let colon = key_end + rest.find(':')? + 1;
    let after = text.get(colon..line_end(text, colon))?;
    let said = after.trim_start();
    let nothing = ["{}", "{ }", "~", "null"].into_iter().find(|it| said.starts_with(it));
    let cut = nothing.map_or(0, |it| after.len() - said.len() + it.len());
    let tail = after.get(cut..)?;
    let is_comment = tail.trim().is_empty() || tail.trim_start().starts_with('#');
    let is_alone = text.get(..key_end)?.lines().last().is_some_and(is_key_alone);
    if !is_comment || !is_alone {
        return None;
    }
    let at = colon + after.len();
    let lines = indented(lines, entry.key_span.column as usize + 1);
    let (before, behind) = (text.get(..colon)?, text.get(at..)?);
    let tail = tail.trim_end();
    Some(format!("{before}{tail}\n{lines}{behind}"))
}

/// Whether a key stands first in its line, and not in a list or in brackets.
fn is_key_alone(line: &str) -> bool {
    !line.trim_start().starts_with("- ") && !line.contains(['{', '[', ','])
}

/// The text, if the entry stands in it now.
fn checked(done: String, (path, key): (&[&str], &str), name: &'static str) -> Appended {
    let after = read(&done).map_err(|_| Unwritten::Unusual(name))?;
    let found = path.iter().try_fold(&after, |node, step| node.get(step));
    match found.and_then(|it| it.get(key)) {
        Some(_) => Ok(done),
        None => Err(Unwritten::Unusual(name)),
    }
}

/// The text with one more item of the list `name`.
pub fn with_item(text: &str, name: &'static str, item: &str) -> Appended {
    let root = read(text)?;
    let Some(entry) = entry(&root, name) else {
        return Ok(inserted(text, text.len(), &format!("{name}:\n  - {item}\n"), true));
    };
    let is_flow = text.get(entry.value.span.start as usize..).is_some_and(|it| it.starts_with('['));
    let (Some(first), Some(last), false) =
        (entry.value.items().first(), entry.value.items().last(), is_flow)
    else {
        return Err(Unwritten::Unusual(name));
    };
    let line = text.get(..first.span.start as usize).and_then(|it| it.lines().last());
    let indent = line.map_or(0, |line| line.len() - line.trim_start().len());
    let at = line_end(text, end(text, last));
    let done = inserted(text, at, &format!("{}- {item}\n", " ".repeat(indent)), false);
    let after = read(&done).map_err(|_| Unwritten::Unusual(name))?;
    let count = |root: &Node| root.get(name).map_or(0, |it| it.items().len());
    match count(&after) == count(&root) + 1 {
        true => Ok(done),
        false => Err(Unwritten::Unusual(name)),
    }
}

type Appended = Result<String, Unwritten>;

fn entry<'n>(map: &'n Node, key: &str) -> Option<&'n MapEntry> {
    map.entries().iter().find(|entry| &*entry.key == key)
}

/// A map that is written in lines and has something in it.
fn block<'n>(text: &str, entry: &'n MapEntry, name: &'static str) -> Result<&'n Node, Unwritten> {
    let is_flow = text.get(entry.value.span.start as usize..).is_some_and(|it| it.starts_with('{'));
    match &entry.value.value {
        Value::Map(entries) if !is_flow && !entries.is_empty() => Ok(&entry.value),
        _ => Err(Unwritten::Unusual(name)),
    }
}

/// Lines put in at a place, set off from what stands before them where they begin something new.
fn inserted(text: &str, at: usize, lines: &str, is_new: bool) -> String {
    let (before, after) = text.split_at(at.min(text.len()));
    let line = line_break(text, at);
    let gap = if is_new && !before.trim().is_empty() { "\n" } else { "" };
    format!("{before}{line}{gap}{lines}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: [&str; 3] = ["channels", "telegram", "accounts"];

    fn account(text: &str) -> Result<String, Unwritten> {
        with_entry(text, &ACCOUNT, "two", "{token: x}")
    }

    #[test]
    fn an_account_is_added_where_accounts_stand() {
        assert_eq!(
            account("").unwrap(),
            "channels:\n  telegram:\n    accounts:\n      two: {token: x}\n"
        );
        assert_eq!(
            account("model: a/b # mine").unwrap(),
            "model: a/b # mine\n\nchannels:\n  telegram:\n    accounts:\n      two: {token: x}\n"
        );
        let text = "channels:\n    matrix:\n        accounts:\n            m: {token: y}\n# end\nmodel: a/b\n";
        assert_eq!(
            account(text).unwrap(),
            "channels:\n    matrix:\n        accounts:\n            m: {token: y}\n    telegram:\n      accounts:\n        two: {token: x}\n# end\nmodel: a/b\n"
        );
        let text =
            "channels:\n  telegram:\n    accounts:\n      one: {token: y} # first\n\nmodel: a/b\n";
        assert_eq!(
            account(text).unwrap(),
            "channels:\n  telegram:\n    accounts:\n      one: {token: y} # first\n      two: {token: x}\n\nmodel: a/b\n"
        );
    }

    #[test]
    fn a_map_that_has_nothing_in_it_is_filled() {
        let below = "  telegram:\n    accounts:\n      two: {token: x}\n";
        for empty in ["channels: {}\n", "channels:\n", "channels: { }", "channels: ~\n"] {
            assert_eq!(account(empty).unwrap(), format!("channels:\n{below}"), "{empty}");
        }
        assert_eq!(
            account("# a\nchannels: {} # none yet\nmodel: a/b\n").unwrap(),
            format!("# a\nchannels: # none yet\n{below}model: a/b\n")
        );
        assert_eq!(
            account("channels:\n  telegram:\n    accounts: {}\n# end\n").unwrap(),
            format!("channels:\n{below}# end\n")
        );
        assert_eq!(entry_lines(&ACCOUNT, "two", "{token: x}"), format!("channels:\n{below}"));
    }

    #[test]
    fn what_is_written_otherwise_or_there_already_is_left_to_the_person() {
        for text in [
            "channels: {telegram: {accounts: {one: {token: y}}}}\n",
            "channels: &it {}\nother: *it\n",
            "channels:\n  telegram:\n    accounts:\n      two: {token: y}\n",
            "channels: [a]\n",
            "a: [\n",
        ] {
            assert!(account(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_binding_is_added_behind_the_last_one() {
        let add = |text: &str| with_item(text, "bindings", "{agent: b}");
        assert_eq!(add("").unwrap(), "bindings:\n  - {agent: b}\n");
        assert_eq!(
            add("bindings:\n- agent: a\n  telegram: 1\n\nmodel: x/y\n").unwrap(),
            "bindings:\n- agent: a\n  telegram: 1\n- {agent: b}\n\nmodel: x/y\n"
        );
        assert_eq!(
            add("bindings:\n    - {agent: a} # one\n").unwrap(),
            "bindings:\n    - {agent: a} # one\n    - {agent: b}\n"
        );
        assert!(add("bindings: [{agent: a}]\n").is_err());
    }
}
