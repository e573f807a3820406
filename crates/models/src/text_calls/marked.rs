//! Calls behind marks that models are trained to write: `<tool_call>` and its kin, Qwen's XML,
//! Mistral's `[TOOL_CALLS]`, Llama's python tag, `functools[…]`, DeepSeek's tokens.

use super::deepseek;
use super::found::{Form, Found, Outcome, Sequence, ToolNames, blank_len};
use super::lenient::{AtEnd, Failed, prefix};
use super::python::{self, keywords};
use super::sequence;
use super::shape::Setting;
use serde_json::{Map, Value};

/// Tags around calls. What a model is shown its tools in is among them: some write their calls
/// there, too.
const TAGS: &[(&str, &str)] = &[
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<tools>", "</tools>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("<|tool_call_start|>", "<|tool_call_end|>"),
];
const XML: &str = "<function=";
const MISTRAL: &str = "[TOOL_CALLS]";
const PYTHON: &str = "<|python_tag|>";
/// What some models write before a list of calls.
const FUNCTOOLS: &str = "functools";
const FUNCTOOLS_LIST: &str = "functools[";
/// What Mistral's models write between a name and its arguments.
const MISTRAL_ARGUMENTS: &str = "[ARGS]";
const MISTRAL_ID: &str = "[CALL_ID]";

/// What calls may begin with.
pub fn openers() -> impl Iterator<Item = &'static str> {
    TAGS.iter().map(|(open, _)| *open).chain([
        XML,
        MISTRAL,
        PYTHON,
        FUNCTOOLS_LIST,
        deepseek::BEGIN,
    ])
}

/// The calls that a text begins with.
pub fn read(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    if let Some((open, close)) = TAGS.iter().find(|(open, _)| text.starts_with(open)) {
        return tagged(text, open, close, tools, at_end);
    }
    if text.starts_with(XML) {
        return xml(text, tools, at_end);
    }
    if text.starts_with(MISTRAL) {
        return mistral(text, tools, at_end);
    }
    if text.starts_with(PYTHON) {
        return python(text, tools, at_end);
    }
    if text.starts_with(FUNCTOOLS_LIST) {
        return listed(text, FUNCTOOLS.len(), tools, at_end, Form::Functools);
    }
    if text.starts_with(deepseek::BEGIN) {
        return deepseek::read(text, tools, at_end);
    }
    Outcome::No
}

/// What is to be said where a text ends before its calls do.
fn unless_ended(at_end: AtEnd) -> Outcome {
    if at_end == AtEnd::Open { Outcome::Unfinished } else { Outcome::No }
}

fn tagged(text: &str, open: &str, close: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    let mut at = open.len() + blank_len(&text[open.len()..], &[]);
    let (calls, form) = match &text[at..] {
        "" => return unless_ended(at_end),
        body if body.starts_with(['{', '[']) => {
            // The list of tools is shown between the same tags as some models' calls.
            let setting = if open == "<tools>" { Setting::Plain } else { Setting::Marked };
            match sequence::read(body, tools, setting, at_end, &[close]) {
                Sequence::Calls(calls, len) => {
                    at += len;
                    (calls, Form::Tag)
                }
                Sequence::CutOff(calls) => {
                    return Outcome::Block { end: text.len(), calls, form: Form::Tag };
                }
                Sequence::Unfinished => return Outcome::Unfinished,
                Sequence::No => return Outcome::No,
            }
        }
        body if body.starts_with(XML) => {
            let mut all = vec![];
            while text[at..].starts_with(XML) {
                match xml(&text[at..], tools, at_end) {
                    Outcome::Block { end, calls, .. } => {
                        all.extend(calls);
                        at += end;
                        at += blank_len(&text[at..], &[]);
                    }
                    other => return other,
                }
            }
            (all, Form::Xml)
        }
        body if at_end == AtEnd::Open && XML.starts_with(body) => return Outcome::Unfinished,
        _ => return Outcome::No,
    };
    let behind = at + blank_len(&text[at..], &[]);
    let rest = &text[behind..];
    if rest.starts_with(close) {
        return Outcome::Block { end: behind + close.len(), calls, form };
    }
    let is_open = at_end == AtEnd::Open;
    if is_open && (close.starts_with(rest) || openers().any(|open| open.starts_with(rest))) {
        return Outcome::Unfinished;
    }
    // The closing tag may be missing where the next call begins, or nothing more comes.
    match rest.is_empty() || openers().any(|open| rest.starts_with(open)) {
        true => Outcome::Block { end: behind, calls, form },
        false => Outcome::No,
    }
}

/// Reads a name up to `end`; how far it reaches.
fn name<'n>(
    text: &str,
    end: impl Fn(char) -> bool,
    tools: &'n ToolNames,
    at_end: AtEnd,
) -> Result<(&'n str, usize), Outcome> {
    match text.find(end) {
        Some(len) => match tools.find(text[..len].trim()) {
            Some(name) => Ok((name, len)),
            None => Err(Outcome::No),
        },
        None if tools.may_become(text) => Err(unless_ended(at_end)),
        None => Err(Outcome::No),
    }
}

/// `<function=NAME>`, its parameters or an object, `</function>`.
fn xml(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    const PARAMETER: &str = "<parameter=";
    const PARAMETER_END: &str = "</parameter>";
    const NEXT: &str = "\n<parameter=";
    const END: &str = "</function>";
    let (name, len) = match name(&text[XML.len()..], |c| c == '>', tools, at_end) {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    let body = XML.len() + len + 1;
    let block = |end, arguments: String| {
        let calls = vec![Found { name: name.to_owned(), arguments }];
        Outcome::Block { end, calls, form: Form::Xml }
    };
    // What is cut off is no JSON, so that nobody takes it for the whole.
    let cut_off = || match at_end {
        AtEnd::Open => Outcome::Unfinished,
        // What has an end was written otherwise than it should be.
        AtEnd::Closed if text[body..].contains(END) => Outcome::No,
        AtEnd::Closed => block(text.len(), text[body..].trim().to_owned()),
    };
    let mut at = body;
    let mut given = Map::new();
    loop {
        at += blank_len(&text[at..], &[]);
        let rest = &text[at..];
        if rest.starts_with(END) {
            return block(at + END.len(), Value::Object(given).to_string());
        } else if let Some(parameter) = rest.strip_prefix(PARAMETER) {
            let Some((key, value)) = parameter.split_once('>') else { return cut_off() };
            // Who closes none of them ends each where the next one begins, or the call ends. That
            // is told when there is no more: a closing one may still come behind a file's text.
            let unclosed = || {
                let ends = [NEXT, END].into_iter().filter_map(|end| value.find(end));
                ends.min().filter(|_| at_end == AtEnd::Closed).map(|len| (len, 0))
            };
            let closed = value.find(PARAMETER_END).map(|len| (len, PARAMETER_END.len()));
            let Some((len, end_len)) = closed.or_else(unclosed) else {
                return cut_off();
            };
            given.insert(key.trim().to_owned(), Value::from(unwrapped(&value[..len])));
            at += PARAMETER.len() + key.len() + 1 + len + end_len;
        } else if rest.starts_with('{') && given.is_empty() {
            match prefix(rest, at_end) {
                Ok(document) => {
                    let behind = at + document.len + blank_len(&rest[document.len..], &[]);
                    let arguments = rest[document.node.span.clone()].to_owned();
                    return match &text[behind..] {
                        tail if tail.starts_with(END) => block(behind + END.len(), arguments),
                        "" if at_end == AtEnd::Closed => block(behind, arguments),
                        tail if at_end == AtEnd::Open && END.starts_with(tail) => {
                            Outcome::Unfinished
                        }
                        _ => Outcome::No,
                    };
                }
                Err(Failed::Unfinished(_)) => return cut_off(),
                Err(Failed::Wrong(_)) => return Outcome::No,
            }
        } else if rest.is_empty() || PARAMETER.starts_with(rest) || END.starts_with(rest) {
            return cut_off();
        } else {
            return Outcome::No;
        }
    }
}

/// A value without the line breaks that stand between it and its tags.
fn unwrapped(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}

/// `[TOOL_CALLS]`, then a list of calls, or a name and its arguments.
fn mistral(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    let at = MISTRAL.len() + blank_len(&text[MISTRAL.len()..], &[]);
    let body = &text[at..];
    if body.is_empty() {
        return unless_ended(at_end);
    }
    if body.starts_with(['[', '{']) {
        return listed(text, at, tools, at_end, Form::Mistral);
    }
    let is_end = |c: char| c == '[' || c == '{' || c.is_whitespace();
    let (name, len) = match name(body, is_end, tools, at_end) {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    let mut at = at + len;
    if let Some(id) = text[at..].strip_prefix(MISTRAL_ID) {
        let Some(len) = id.find(['[', '{']) else { return unless_ended(at_end) };
        at += MISTRAL_ID.len() + len;
    }
    if text[at..].starts_with(MISTRAL_ARGUMENTS) {
        at += MISTRAL_ARGUMENTS.len();
    }
    at += blank_len(&text[at..], &[]);
    let rest = &text[at..];
    let block = |end, arguments: &str| {
        let calls = vec![Found { name: name.to_owned(), arguments: arguments.to_owned() }];
        Outcome::Block { end, calls, form: Form::Mistral }
    };
    if !rest.starts_with('{') {
        let may_go_on = [MISTRAL_ARGUMENTS, MISTRAL_ID].iter().any(|it| it.starts_with(rest));
        return if may_go_on { unless_ended(at_end) } else { Outcome::No };
    }
    match prefix(rest, at_end) {
        Ok(document) => block(at + document.len, &rest[document.node.span.clone()]),
        Err(Failed::Unfinished(_)) if at_end == AtEnd::Open => Outcome::Unfinished,
        Err(Failed::Unfinished(_)) => block(text.len(), rest.trim_end()),
        Err(Failed::Wrong(_)) => Outcome::No,
    }
}

/// Calls in JSON from `at` on, behind a mark.
fn listed(text: &str, at: usize, tools: &ToolNames, at_end: AtEnd, form: Form) -> Outcome {
    match sequence::read(&text[at..], tools, Setting::Marked, at_end, &[]) {
        Sequence::Calls(calls, len) => Outcome::Block { end: at + len, calls, form },
        Sequence::CutOff(calls) => Outcome::Block { end: text.len(), calls, form },
        Sequence::Unfinished => Outcome::Unfinished,
        Sequence::No => Outcome::No,
    }
}

/// `<|python_tag|>`, then JSON, a list in Python, or `NAME.call(key=value)`.
fn python(text: &str, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    let at = PYTHON.len() + blank_len(&text[PYTHON.len()..], &[]);
    let body = &text[at..];
    if body.is_empty() {
        return unless_ended(at_end);
    }
    if body.starts_with(['{', '[']) {
        return match listed(text, at, tools, at_end, Form::Python) {
            Outcome::No => match python::listed(body, tools, at_end) {
                Outcome::Block { end, calls, form } => {
                    Outcome::Block { end: at + end, calls, form }
                }
                other => other,
            },
            other => other,
        };
    }
    let Some(paren) = body.find('(') else {
        let begun = body.split('.').next().unwrap_or_default();
        return if tools.may_become(begun) { unless_ended(at_end) } else { Outcome::No };
    };
    let written = body[..paren].trim();
    let Some(name) = tools.find(written.strip_suffix(".call").unwrap_or(written)) else {
        return Outcome::No;
    };
    let block = |end, arguments: String| {
        let calls = vec![Found { name: name.to_owned(), arguments }];
        Outcome::Block { end, calls, form: Form::Python }
    };
    match keywords(&body[paren + 1..], at_end) {
        Ok((given, len)) => block(at + paren + 1 + len, Value::Object(given).to_string()),
        Err(Failed::Unfinished(_)) if at_end == AtEnd::Open => Outcome::Unfinished,
        Err(Failed::Unfinished(_)) => block(text.len(), body[paren..].trim_end().to_owned()),
        Err(Failed::Wrong(_)) => Outcome::No,
    }
}
