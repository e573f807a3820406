//! Calls in JSON, one after the other, up to what closes them.

use super::found::{Form, Found, Outcome, Sequence, ToolNames, blank_len};
use super::lenient::{AtEnd, Document, Failed, prefix};
use super::python;
use super::shape::{self, Setting};

/// Reads objects and lists of calls until something else comes. `closers` are what may follow
/// them: one of their braces may be missing before that.
pub fn read(
    text: &str,
    tools: &ToolNames,
    setting: Setting,
    at_end: AtEnd,
    closers: &[&str],
) -> Sequence {
    let mut found = vec![];
    let mut at = 0;
    loop {
        let gap = blank_len(&text[at..], if found.is_empty() { &[] } else { &[',', ';'] });
        let rest = &text[at + gap..];
        if rest.is_empty() && at_end == AtEnd::Open {
            return Sequence::Unfinished;
        }
        if !rest.starts_with(['{', '[']) {
            break;
        }
        at += gap;
        match document(rest, tools, at_end, closers) {
            Next::Document(document) => {
                let Some(calls) = shape::calls(&document.node, rest, tools, setting) else {
                    return Sequence::No;
                };
                found.extend(calls);
                at += document.len;
            }
            Next::CutOff(call) => {
                found.push(call);
                return Sequence::CutOff(found);
            }
            Next::Unfinished => return Sequence::Unfinished,
            Next::No => return Sequence::No,
        }
    }
    if found.is_empty() {
        return Sequence::No;
    }
    // A brace too many is a slip like any other.
    while let Some(len) = stray_brace(&text[at..]) {
        at += len;
    }
    if at_end == AtEnd::Open && text[at..].trim_start().is_empty() {
        return Sequence::Unfinished;
    }
    Sequence::Calls(found, at)
}

enum Next {
    Document(Document),
    CutOff(Found),
    Unfinished,
    No,
}

fn document(text: &str, tools: &ToolNames, at_end: AtEnd, closers: &[&str]) -> Next {
    match prefix(text, at_end) {
        Ok(document) => Next::Document(document),
        Err(Failed::Unfinished(fields)) => match at_end {
            AtEnd::Open if may_become(text, &fields, tools) => Next::Unfinished,
            AtEnd::Open => Next::No,
            AtEnd::Closed => shape::cut_off(&fields, text, tools).map_or(Next::No, Next::CutOff),
        },
        Err(Failed::Wrong(at)) => {
            let tail = &text[at..];
            let is_open = at_end == AtEnd::Open;
            if is_open && closers.iter().any(|closer| closer.starts_with(tail)) {
                return Next::Unfinished;
            }
            if !closers.iter().any(|closer| tail.starts_with(closer)) {
                return Next::No;
            }
            prefix(&text[..at], AtEnd::Closed).map_or(Next::No, Next::Document)
        }
    }
}

/// Whether what has begun can still become a call. A list tells when its first object does.
fn may_become(
    text: &str,
    fields: &[(String, Result<super::lenient::Node, usize>)],
    tools: &ToolNames,
) -> bool {
    let Some(inner) = text.strip_prefix('[') else {
        return shape::may_become(fields, text, tools);
    };
    let inner = inner.trim_start();
    if inner.is_empty() {
        return true;
    }
    match prefix(inner, AtEnd::Open) {
        Ok(first) => shape::calls(&first.node, inner, tools, Setting::Marked).is_some(),
        Err(Failed::Unfinished(fields)) => {
            inner.starts_with('{') && shape::may_become(&fields, inner, tools)
        }
        Err(Failed::Wrong(_)) => false,
    }
}

fn stray_brace(text: &str) -> Option<usize> {
    let gap = blank_len(text, &[]);
    text[gap..].starts_with(['}', ']']).then_some(gap + 1)
}

/// One document of calls with nothing around it, or a list of calls in Python.
pub fn bare(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    match document(text, tools, at_end, &[]) {
        Next::Document(document) => {
            match shape::calls(&document.node, text, tools, Setting::Plain) {
                Some(calls) => Outcome::Block { end: document.len, calls, form: Form::Json },
                None => python::listed(text, tools, at_end),
            }
        }
        Next::CutOff(call) => {
            Outcome::Block { end: text.len(), calls: vec![call], form: Form::Json }
        }
        Next::Unfinished => Outcome::Unfinished,
        Next::No => python::listed(text, tools, at_end),
    }
}
