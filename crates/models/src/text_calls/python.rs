//! Calls in Python: `NAME(key=value, …)`, as Gemma writes them into a fence of `tool_code` and
//! Llama behind its tag or in a list.

use super::found::{Form, Found, Outcome, Sequence, ToolNames, blank_len};
use super::lenient::{AtEnd, Failed, prefix};
use serde_json::{Map, Value};

/// What may stand around a call or before its name.
const PRINT: &str = "print(";
const PLACE: &str = "default_api.";

/// Calls one after the other, up to `closer`.
pub fn calls(text: &str, tools: &ToolNames, at_end: AtEnd, closer: &str) -> Sequence {
    let is_open = at_end == AtEnd::Open;
    let mut found = vec![];
    let mut at = 0;
    loop {
        at += blank_len(&text[at..], if found.is_empty() { &[] } else { &[';', ','] });
        let rest = &text[at..];
        if is_open && (rest.is_empty() || closer.starts_with(rest)) {
            return Sequence::Unfinished;
        }
        if rest.is_empty() || rest.starts_with(closer) {
            break;
        }
        let is_printed = rest.starts_with(PRINT);
        let lead = if is_printed { PRINT.len() } else { 0 };
        let lead = lead + if rest[lead..].starts_with(PLACE) { PLACE.len() } else { 0 };
        let call = &rest[lead..];
        let Some(paren) = call.find('(') else {
            let may_be = [PRINT, PLACE].iter().any(|it| it.starts_with(call))
                || tools.may_become(call)
                || tools.find(call).is_some();
            return if is_open && may_be { Sequence::Unfinished } else { Sequence::No };
        };
        let Some(name) = tools.find(call[..paren].trim()) else { return Sequence::No };
        let from = lead + paren + 1;
        match keywords(&rest[from..], at_end) {
            Ok((given, len)) => {
                let arguments = Value::Object(given).to_string();
                found.push(Found { name: name.to_owned(), arguments });
                at += from + len;
            }
            Err(Failed::Unfinished(_)) if is_open => return Sequence::Unfinished,
            // What is cut off is no JSON, so that nobody takes it for the whole.
            Err(Failed::Unfinished(_)) => {
                let arguments = call[paren..].trim_end().to_owned();
                found.push(Found { name: name.to_owned(), arguments });
                return Sequence::CutOff(found);
            }
            Err(Failed::Wrong(_)) => return Sequence::No,
        }
        if is_printed {
            at += blank_len(&text[at..], &[]);
            match text[at..].chars().next() {
                Some(')') => at += 1,
                None if is_open => return Sequence::Unfinished,
                _ => return Sequence::No,
            }
        }
    }
    if found.is_empty() { Sequence::No } else { Sequence::Calls(found, at) }
}

/// `[NAME(key=value), …]`, as Llama writes it with nothing around.
pub fn listed(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    let Some(body) = text.strip_prefix('[') else { return Outcome::No };
    let block = |end, calls| Outcome::Block { end, calls, form: Form::Python };
    match calls(body, tools, at_end, "]") {
        Sequence::Calls(calls, at) if body[at..].starts_with(']') => block(at + 2, calls),
        Sequence::CutOff(calls) => block(text.len(), calls),
        Sequence::Unfinished => Outcome::Unfinished,
        Sequence::Calls(..) | Sequence::No => Outcome::No,
    }
}

/// `key=value, …)`; how far it reaches.
pub fn keywords(text: &str, at_end: AtEnd) -> Result<(Map<String, Value>, usize), Failed> {
    let mut given = Map::new();
    let mut at = 0;
    loop {
        at += blank_len(&text[at..], &[]);
        let rest = &text[at..];
        if rest.starts_with(')') {
            return Ok((given, at + 1));
        }
        let Some((key, value)) = rest.split_once('=') else {
            let is_key = rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ');
            return Err(if is_key { Failed::Unfinished(vec![]) } else { Failed::Wrong(at) });
        };
        let is_key = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !is_key(key.trim()) {
            return Err(Failed::Wrong(at));
        }
        let document = prefix(value, at_end)?;
        given.insert(key.trim().to_owned(), document.node.to_value());
        at += key.len() + 1 + document.len;
        at += blank_len(&text[at..], &[]);
        match text[at..].chars().next() {
            Some(',') => at += 1,
            Some(')') => {}
            Some(_) => return Err(Failed::Wrong(at)),
            None => return Err(Failed::Unfinished(vec![])),
        }
    }
}
