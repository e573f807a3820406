//! Whether a call is somebody else's words said again: a page, a file or a message that shows the
//! same call, in whichever form.

use super::found::{Found, ToolNames};
use super::lenient::{AtEnd, Kind, Node, prefix};
use super::shown::Shown;
use crate::request::{Message, Part, Role};
use std::borrow::Cow;
use std::sync::Arc;

/// What stands before or behind the name of a tool where a call of it is written, without blanks
/// and quotes.
const BEFORE: &[&str] = &[
    "name:",
    "name=",
    "tool:",
    "tool=",
    "function:",
    "function=",
    "action:",
    "call:",
    "invoke:",
    "functions.",
    "[tool_calls]",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁begin｜>",
];
const BEHIND: &[&str] = &["(", ".call(", "[args]", "[call_id]"];

/// Entities of HTML that stand for what calls are written with.
const ENTITIES: &[(&str, char)] = &[
    ("quot", '"'),
    ("apos", '\''),
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("nbsp", ' '),
    ("sol", '/'),
    ("bsol", '\\'),
    ("period", '.'),
    ("colon", ':'),
    ("lbrace", '{'),
    ("lcub", '{'),
    ("rcub", '}'),
    ("rbrace", '}'),
    ("lowbar", '_'),
    ("num", '#'),
    ("equals", '='),
    ("lpar", '('),
    ("rpar", ')'),
    ("Tab", '\t'),
    ("NewLine", '\n'),
];
/// The longest of them in bytes, and of numbers: `#x10FFFF`.
const ENTITY_LEN_MAX: usize = 10;
/// How often a text may be escaped: a page that quotes a page that quotes a call.
const ESCAPED_TIMES_MAX: usize = 4;

/// How far from the name arguments may stand, in bytes, beside their own length.
const SLACK_BYTES: usize = 600;

/// From how many bytes on a text says enough by itself, wherever it stands.
const TELLING_BYTES: usize = 4;

/// Whether one text that the model was shown holds this call: the prompt, the conversation, and
/// what it said itself and made no call of, unless the person `ordered` that now. What it called
/// before does not count: it may call that again.
pub fn is_repeated(call: &Found, shown: &Shown, ordered: impl FnOnce() -> bool) -> bool {
    let wanted = Wanted::of(&call.name, &call.arguments);
    let in_prompt = || shown.system.iter().any(|block| wanted.is_in(&block.text, Words::Ours));
    let by_others = || {
        let others = shown.messages.iter().filter(|message| message.role != Role::Assistant);
        others.flat_map(|message| &message.parts).any(|part| match part {
            Part::Text(text) => wanted.is_in(text, Words::Others),
            Part::ToolResult { content, .. } => content.iter().any(|part| match part {
                Part::Text(text) => wanted.is_in(text, Words::Others),
                _ => false,
            }),
            _ => false,
        })
    };
    in_prompt() || by_others() || wanted.was_said(&shown.messages) && !ordered()
}

/// Whether an answer holds this call in its words, and has not made it.
pub fn says(message: &Message, call: &Found) -> bool {
    Wanted::of(&call.name, &call.arguments).is_said_in(message)
}

/// The texts of a call's arguments, as they are compared; of one that has none, its numbers.
pub fn leaves(arguments: &str) -> Vec<String> {
    Given::of(arguments).leaves()
}

/// What a call is given.
#[derive(Debug, Default)]
struct Given {
    texts: Vec<String>,
    /// Numbers and truth values, each with what it is called. Where the shown call does not name
    /// them, they say how it is done: with `"append": false` it is the same call.
    others: Vec<(String, String)>,
}

impl Given {
    fn of(arguments: &str) -> Self {
        let mut given = Self::default();
        match prefix(arguments, AtEnd::Closed) {
            Ok(document) => given.collect("", &document.node),
            Err(_) => given.texts.push(squeezed(arguments)),
        }
        given.texts.retain(|text| !text.is_empty());
        given
    }

    fn leaves(self) -> Vec<String> {
        match self.texts.is_empty() {
            true => self.others.into_iter().map(|(_, value)| value).collect(),
            false => self.texts,
        }
    }

    fn collect(&mut self, key: &str, node: &Node) {
        match &node.kind {
            Kind::Null => {}
            Kind::Bool(value) => self.others.push((squeezed(key), value.to_string())),
            Kind::Number(number) => self.others.push((squeezed(key), number.to_string())),
            Kind::Text(text) => self.texts.push(unended(squeezed(text))),
            Kind::List(items) => items.iter().for_each(|item| self.collect(key, item)),
            Kind::Fields(fields) => fields.iter().for_each(|(key, node)| self.collect(key, node)),
        }
    }

    /// Whether another call is given the same texts, or the same numbers if there are none.
    fn is_same(&self, other: &Self) -> bool {
        self.texts == other.texts && (!self.texts.is_empty() || self.others == other.others)
    }

    /// Whether a text has all of it.
    fn is_in(&self, text: &str) -> bool {
        let is_more = |key: &str| !self.texts.is_empty() && !names(text, key);
        self.texts.iter().all(|leaf| has_leaf(text, leaf))
            && self.others.iter().all(|(key, value)| has_leaf(text, value) || is_more(key))
    }

    fn len(&self) -> usize {
        let others = self.others.iter().map(|(_, value)| value.len());
        self.texts.iter().map(String::len).chain(others).sum()
    }
}

/// Whether an argument of this name is given in a text, in whichever form.
fn names(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && text[at + key.len()..].starts_with([':', '=', '>'])
    })
}

/// Whose words a call is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Somebody's who may write a call in any way.
    Others,
    /// The operator's or the model's, who also mention tools: `the terminal (a shell)` is no call.
    Ours,
}

/// A call that is looked for.
struct Wanted {
    name: String,
    given: Given,
}

impl Wanted {
    fn of(name: &str, arguments: &str) -> Self {
        Self { name: squeezed(name), given: Given::of(arguments) }
    }

    fn is_in(&self, text: &str, words: Words) -> bool {
        holds(&squeezed(text), &self.name, &self.given, words)
    }

    fn was_said(&self, messages: &[Arc<Message>]) -> bool {
        let mut own = messages.iter().filter(|message| message.role == Role::Assistant);
        own.any(|message| self.is_said_in(message))
    }

    fn is_said_in(&self, message: &Message) -> bool {
        let made = |part: &Part| match part {
            Part::ToolCall { name, arguments, .. } => {
                squeezed(name) == self.name && self.given.is_same(&Given::of(arguments))
            }
            _ => false,
        };
        let said = |part: &Part| match part {
            Part::Text(text) => self.is_in(text, Words::Ours),
            // What it wrote into a file or remembered is no call by that.
            Part::ToolCall { arguments, .. } => self.is_in(arguments, Words::Ours),
            _ => false,
        };
        message.parts.iter().any(said) && !message.parts.iter().any(made)
    }
}

/// Whether a line of code among words is the beginning of a call of one of these tools, written
/// so that nobody can read it.
pub fn has_broken_call(words: &str, tools: &ToolNames) -> bool {
    let begins = |line: &str| line.trim_start().starts_with(['{', '[', '<', '`', '~']);
    let Some(from) = words.lines().position(begins) else { return false };
    let code: Vec<&str> = words.lines().skip(from).collect();
    let code = squeezed(&code.join("\n"));
    tools.all().any(|name| holds(&code, &squeezed(name), &Given::default(), Words::Others))
}

/// A text without what ends a command and changes nothing of it.
fn unended(text: String) -> String {
    match text.trim_end_matches([';', '&']) {
        "" => text,
        bare => bare.to_owned(),
    }
}

/// A text without what differs between one way to write it and another: escapes of JSON and HTML,
/// `./` before a path, blanks, quotes, backslashes and the case of letters. A line break that is
/// written as `\n` goes with them.
pub fn squeezed(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ESCAPED_TIMES_MAX {
        let plain = unescaped(&text);
        if plain == text {
            break;
        }
        text = Cow::Owned(plain);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                while chars.next_if_eq(&'\\').is_some() {}
                chars.next_if(|c| matches!(c, 'n' | 't' | 'r'));
            }
            '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»' => {}
            c if c.is_whitespace() => {}
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

/// A text in which characters stand for themselves: `\u0068` and `&#104;` are `h`, `&quot;` is a
/// quote, and `\/` and `./` before a path are nothing that counts.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '&', '%', '.', '/']) {
        let (before, here) = rest.split_at(at);
        plain.push_str(before);
        if let Some((c, len)) = escaped(here) {
            plain.push(c);
            rest = &here[len..];
            continue;
        }
        // `a/./b`, `a//b` and `./a` are `a/b` and `a`.
        let begins_path =
            plain.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '.');
        if begins_path && here.starts_with("./") {
            rest = &here[2..];
        } else if here.starts_with("//") && !plain.ends_with(':') {
            rest = &here[1..];
        } else {
            plain.push_str(&here[..1]);
            rest = &here[1..];
        }
    }
    plain.push_str(rest);
    plain
}

/// The character that an escape at the beginning of a text stands for, and its length.
fn escaped(text: &str) -> Option<(char, usize)> {
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
    if let Some(entity) = text.strip_prefix('&') {
        let end = entity.char_indices().take(ENTITY_LEN_MAX).find(|(_, c)| *c == ';')?.0;
        let name = &entity[..end];
        let c = match name.strip_prefix('#') {
            Some(code) => match code.strip_prefix(['x', 'X']) {
                Some(digits) => char::from_u32(hex(digits)?)?,
                None => char::from_u32(code.parse().ok()?)?,
            },
            None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
        };
        return Some((c, end + 2));
    }
    let slashes = text.len() - text.trim_start_matches('\\').len();
    let code = &text[slashes..];
    if slashes == 0 {
        return None;
    }
    if code.starts_with('/') {
        return Some(('/', slashes + 1));
    }
    let (digits, len) = match code.as_bytes().first()? {
        b'u' if code.starts_with("u{") => {
            let end = code.find('}').filter(|end| *end <= ENTITY_LEN_MAX)?;
            (code.get(2..end)?, end + 1)
        }
        b'u' => (code.get(1..5)?, 5),
        b'x' => (code.get(1..3)?, 3),
        _ => return None,
    };
    let unit = hex(digits)?;
    // Characters beyond the first plane are two units.
    if (0xD800..0xDC00).contains(&unit) {
        let second = code[len..].trim_start_matches('\\');
        let between = code.len() - len - second.len();
        let low = hex(second.strip_prefix('u')?.get(..4)?)?.checked_sub(0xDC00)?;
        let c = char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + low)?;
        return Some((c, slashes + len + between + 5));
    }
    Some((char::from_u32(unit)?, slashes + len))
}

/// Whether a text has the name of a tool where a call has it, and all of these near it.
fn holds(text: &str, name: &str, given: &Given, words: Words) -> bool {
    let reach = given.len() * 2 + SLACK_BYTES;
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        let is_call = BEFORE.iter().any(|mark| before.ends_with(mark))
            || BEHIND.iter().any(|mark| behind.starts_with(mark))
                && (words == Words::Others || is_called_with(behind));
        is_call && given.is_in(around(text, at, reach))
    })
}

/// Whether what stands behind a name gives arguments, and is no remark in brackets.
fn is_called_with(behind: &str) -> bool {
    let Some(given) = behind.find('(').and_then(|at| behind.get(at + 1..)) else { return true };
    let key = given.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    given.starts_with(['{', ')']) || key.len() < given.len() && key.starts_with(['=', ':'])
}

/// Whether a text has this argument. A short one stands in many words that are not it.
fn has_leaf(text: &str, leaf: &str) -> bool {
    leaf.len() >= TELLING_BYTES && text.contains(leaf)
        || text.match_indices(leaf).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// What stands within `reach` bytes of a place.
fn around(text: &str, at: usize, reach: usize) -> &str {
    let (mut from, mut upto) = (at.saturating_sub(reach), (at + reach).min(text.len()));
    while !text.is_char_boundary(from) {
        from += 1;
    }
    while !text.is_char_boundary(upto) {
        upto -= 1;
    }
    &text[from..upto]
}

#[cfg(test)]
#[path = "repeated_tests.rs"]
mod tests;
