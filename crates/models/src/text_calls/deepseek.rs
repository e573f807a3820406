//! Calls between DeepSeek's tokens: `function`, a separator, a name and JSON in a fence; or a name,
//! a separator and JSON.

use super::found::{Form, Found, Outcome, ToolNames, blank_len};
use super::lenient::{AtEnd, Failed, prefix};

pub const BEGIN: &str = "<｜tool▁calls▁begin｜>";
const END: &str = "<｜tool▁calls▁end｜>";
const CALL: &str = "<｜tool▁call▁begin｜>";
const CALL_END: &str = "<｜tool▁call▁end｜>";
const SEPARATOR: &str = "<｜tool▁sep｜>";
/// What stands before the separator where the name stands behind it.
const KIND: &str = "function";
const FENCE: &str = "```";

/// The calls that a text begins with.
pub fn read(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    let mut calls = vec![];
    let mut at = BEGIN.len();
    loop {
        at += blank_len(&text[at..], &[]);
        let rest = &text[at..];
        let block = |end, calls| Outcome::Block { end, calls, form: Form::DeepSeek };
        if rest.starts_with(END) && !calls.is_empty() {
            return block(at + END.len(), calls);
        }
        if !rest.starts_with(CALL) {
            return match at_end {
                AtEnd::Open if CALL.starts_with(rest) || END.starts_with(rest) => {
                    Outcome::Unfinished
                }
                AtEnd::Closed if rest.is_empty() && !calls.is_empty() => block(at, calls),
                _ => Outcome::No,
            };
        }
        at += CALL.len();
        match call(&text[at..], tools, at_end) {
            Next::Call(found, len) => {
                calls.push(found);
                at += len;
            }
            Next::CutOff(found) => {
                calls.push(found);
                return block(text.len(), calls);
            }
            Next::Unfinished => return Outcome::Unfinished,
            Next::No => return Outcome::No,
        }
    }
}

enum Next {
    /// A call, and how far it reaches.
    Call(Found, usize),
    CutOff(Found),
    Unfinished,
    No,
}

/// One call, behind the token that begins it.
fn call(text: &str, tools: &ToolNames, at_end: AtEnd) -> Next {
    let unfinished = || if at_end == AtEnd::Open { Next::Unfinished } else { Next::No };
    let Some((before, behind)) = text.split_once(SEPARATOR) else { return unfinished() };
    let (name, mut at) = match before.trim() {
        KIND => {
            let Some(len) = behind.find(['\n', '{']) else { return unfinished() };
            (behind[..len].trim(), before.len() + SEPARATOR.len() + len)
        }
        name => (name, before.len() + SEPARATOR.len()),
    };
    let Some(name) = tools.find(name) else { return Next::No };
    at += blank_len(&text[at..], &[]);
    let is_fenced = text[at..].starts_with(FENCE);
    if is_fenced {
        let Some(len) = text[at..].find('{') else { return unfinished() };
        at += len;
    }
    if text[at..].is_empty() {
        return unfinished();
    }
    if !text[at..].starts_with('{') {
        return if FENCE.starts_with(&text[at..]) { unfinished() } else { Next::No };
    }
    let found = |arguments: &str| Found {
        name: name.to_owned(),
        arguments: arguments.trim_end().to_owned(),
    };
    let document = match prefix(&text[at..], at_end) {
        Ok(document) => document,
        Err(Failed::Unfinished(_)) if at_end == AtEnd::Open => return Next::Unfinished,
        Err(Failed::Unfinished(_)) => return Next::CutOff(found(&text[at..])),
        Err(Failed::Wrong(_)) => return Next::No,
    };
    let arguments = &text[at..at + document.len];
    at += document.len;
    for closer in [FENCE, CALL_END].into_iter().skip(usize::from(!is_fenced)) {
        at += blank_len(&text[at..], &[]);
        let rest = &text[at..];
        if rest.starts_with(closer) {
            at += closer.len();
        } else if !closer.starts_with(rest) {
            return Next::No;
        } else if at_end == AtEnd::Open {
            return Next::Unfinished;
        }
    }
    Next::Call(found(arguments), at)
}
