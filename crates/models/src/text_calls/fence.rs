//! Calls in a code fence, and where a fence ends that holds something else.

use super::found::{Form, Outcome, Sequence, ToolNames, blank_len};
use super::lenient::AtEnd;
use super::marked;
use super::python;
use super::sequence;
use super::shape::Setting;

/// What a fence with calls is said to be written in. Any other language is somebody else's text.
const LANGUAGES: &[&str] = &[
    "",
    "json",
    "jsonc",
    "json5",
    "tool",
    "tool_call",
    "tool_calls",
    "tool-call",
    "tool_code",
    "function",
    "function_call",
    "xml",
];

/// The one in which calls may be written as in Python.
const PYTHON_LANGUAGE: &str = "tool_code";

/// A run of backticks or tildes that opens a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    pub mark: char,
    /// How many of them there are: as many close it.
    pub count: usize,
}

impl Fence {
    /// The run that a text begins with, whatever its length.
    pub fn run(text: &str) -> Option<Self> {
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        Some(Self { mark, count: text.chars().take_while(|c| *c == mark).count() })
    }

    /// Whether it is long enough to open a fence.
    pub fn opens(self) -> bool {
        self.count >= 3
    }
}

/// The calls in the fence that a text begins with.
pub fn read(text: &str, fence: Fence, tools: &ToolNames, at_end: AtEnd) -> Outcome {
    let unfinished = if at_end == AtEnd::Open { Outcome::Unfinished } else { Outcome::No };
    let after = &text[fence.count..];
    let is_body = |c: char| c.is_whitespace() || matches!(c, '{' | '[' | '<');
    let Some(len) = after.find(is_body) else {
        let is_language = |known: &&str| known.starts_with(&*after.to_ascii_lowercase());
        return if LANGUAGES.iter().any(is_language) { unfinished } else { Outcome::No };
    };
    if !LANGUAGES.contains(&&*after[..len].to_ascii_lowercase()) {
        return Outcome::No;
    }
    let mut at = fence.count + len;
    at += blank_len(&text[at..], &[]);
    let body = &text[at..];
    if body.is_empty() {
        return unfinished;
    }
    let closer: String = std::iter::repeat_n(fence.mark, fence.count).collect();
    let is_mark = marked::openers().any(|open| body.starts_with(open));
    let calls = if is_mark {
        let mut all = vec![];
        loop {
            match marked::read(&text[at..], tools, at_end) {
                Outcome::Block { end, calls, .. } => {
                    all.extend(calls);
                    at += end;
                    at += blank_len(&text[at..], &[]);
                }
                other => return other,
            }
            if !marked::openers().any(|open| text[at..].starts_with(open)) {
                break all;
            }
        }
    } else if body.starts_with(['{', '[']) {
        match sequence::read(body, tools, Setting::Plain, at_end, &[&closer]) {
            Sequence::Calls(calls, len) => {
                at += len;
                calls
            }
            Sequence::CutOff(calls) => {
                return Outcome::Block { end: text.len(), calls, form: Form::Fence };
            }
            Sequence::Unfinished => return Outcome::Unfinished,
            Sequence::No if at_end == AtEnd::Open && may_be_mark(body) => {
                return Outcome::Unfinished;
            }
            Sequence::No => return Outcome::No,
        }
    } else if at_end == AtEnd::Open && may_be_mark(body) {
        return Outcome::Unfinished;
    } else if after[..len].eq_ignore_ascii_case(PYTHON_LANGUAGE) {
        match python::calls(body, tools, at_end, &closer) {
            Sequence::Calls(calls, len) => {
                at += len;
                calls
            }
            Sequence::CutOff(calls) => {
                return Outcome::Block { end: text.len(), calls, form: Form::Fence };
            }
            Sequence::Unfinished => return Outcome::Unfinished,
            Sequence::No => return Outcome::No,
        }
    } else {
        return Outcome::No;
    };
    at += blank_len(&text[at..], &[]);
    let rest = &text[at..];
    let run = Fence::run(rest).filter(|run| run.mark == fence.mark);
    let count = run.map_or(0, |run| run.count);
    // Where more may come, the run may get longer, and so may the calls.
    let is_open = at_end == AtEnd::Open && (count == rest.len() || may_be_mark(rest));
    match () {
        () if is_open => Outcome::Unfinished,
        () if count >= fence.count || rest.is_empty() => {
            Outcome::Block { end: at + count, calls, form: Form::Fence }
        }
        () => Outcome::No,
    }
}

fn may_be_mark(text: &str) -> bool {
    marked::openers().any(|open| open.starts_with(text))
}
