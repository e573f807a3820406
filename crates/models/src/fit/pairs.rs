//! Calls and their results: each call has one result, right behind it, and no result is without
//! its call. Ids, names and arguments are such that a server takes them.

use super::{Calls, Fit, Ids, NO_OUTPUT, ToolPictures, says_something};
use crate::answer::is_object;
use crate::request::{CacheHint, Message, Part, Role};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// What stands for the result of a call that has none: a crash or a stop came in between.
pub const UNFINISHED: &str = "this call was stopped and its outcome is unknown";
/// Stands before pictures that tools gave back, where a result can't hold them.
pub(super) const TOOL_IMAGES: &str = "Images from the tool results above:";
/// The longest id of a call that every server takes.
const ID_LEN_MAX: usize = 40;
/// The longest name of a tool that every server takes.
const NAME_LEN_MAX: usize = 64;
/// What a call of no tool is said to have called.
const NAMELESS: &str = "unknown";

/// The same conversation with calls and results in pairs.
pub(super) fn paired<'r>(messages: &'r [Arc<Message>], fit: &Fit) -> Vec<Cow<'r, Message>> {
    let mut out = Vec::with_capacity(messages.len());
    let mut ids = CallIds::new(fit.ids);
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        at += 1;
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        if message.role != Role::Assistant || !message.parts.iter().any(is_call) {
            out.extend(without_results(message));
            continue;
        }
        // What the model says next was said with the results before it, wherever they stand.
        let rest = &messages[at..];
        let until = rest.iter().take_while(|next| next.role != Role::Assistant).count();
        answered(message, &rest[..until], &mut ids, fit, &mut out);
        at += until;
    }
    out
}

/// A message without results whose calls are not there: nobody knows what they were about.
fn without_results(message: &Message) -> Option<Cow<'_, Message>> {
    let is_result = |part: &Part| matches!(part, Part::ToolResult { .. });
    let has_results = message.parts.iter().any(is_result);
    if !has_results && message.role != Role::Tool {
        return Some(Cow::Borrowed(message));
    }
    let parts: Vec<Part> = message.parts.iter().filter(|part| !is_result(part)).cloned().collect();
    // A message of tools that holds something else is information for the model, as a person's.
    let role = if message.role == Role::Tool { Role::User } else { message.role };
    (!parts.is_empty()).then_some(Cow::Owned(Message { role, parts, cache: message.cache }))
}

/// A call as it goes out, and what it brought.
struct Pair<'r> {
    /// Its id in the conversation.
    id: &'r str,
    call: Part,
    result: Option<&'r Part>,
}

/// An answer with calls, its results, and what was said in between, in this order.
fn answered<'r>(
    message: &'r Message,
    between: &'r [Arc<Message>],
    ids: &mut CallIds,
    fit: &Fit,
    out: &mut Vec<Cow<'r, Message>>,
) {
    let mut said = vec![];
    let mut pairs = vec![];
    for part in &message.parts {
        match part {
            Part::ToolCall { id, name, arguments } => {
                let call = Part::ToolCall {
                    id: ids.next(id),
                    name: tool_name(name),
                    arguments: if is_object(arguments) { arguments.clone() } else { "{}".into() },
                };
                pairs.push(Pair { id, call, result: None });
            }
            Part::ToolResult { .. } => {}
            other => said.push(other.clone()),
        }
    }
    let mut cache = CacheHint::None;
    let mut besides = vec![];
    for between in between {
        let mut is_touched = false;
        let mut rest = vec![];
        for part in &between.parts {
            match part {
                Part::ToolResult { call_id, .. } => {
                    is_touched = true;
                    // Some models count their calls anew in every answer, or not at all.
                    let is_open =
                        |pair: &&mut Pair<'_>| *pair.id == **call_id && pair.result.is_none();
                    if let Some(pair) = pairs.iter_mut().find(is_open) {
                        pair.result = Some(part);
                    }
                }
                other => rest.push(other),
            }
        }
        if is_touched || between.role == Role::Tool {
            if between.cache == CacheHint::Breakpoint {
                cache = CacheHint::Breakpoint;
            }
            if !rest.is_empty() {
                let parts = rest.into_iter().cloned().collect();
                besides.push(Cow::Owned(Message::new(Role::User, parts)));
            }
        } else {
            besides.push(Cow::Borrowed(&**between));
        }
    }
    emit(said, pairs, (message.cache, cache), fit, out);
    out.extend(besides);
}

/// Writes an answer and its results, together or one by one.
fn emit<'r>(
    mut said: Vec<Part>,
    pairs: Vec<Pair<'r>>,
    (of_answer, of_results): (CacheHint, CacheHint),
    fit: &Fit,
    out: &mut Vec<Cow<'r, Message>>,
) {
    let mut pictures = vec![];
    let mut results = vec![];
    let count = pairs.len();
    for (at, pair) in pairs.into_iter().enumerate() {
        let is_last = at + 1 == count;
        let result = result(&pair, fit, &mut pictures);
        said.push(pair.call);
        results.push(result);
        if fit.calls == Calls::Single || is_last {
            let mark = |cache: CacheHint| if is_last { cache } else { CacheHint::None };
            let (parts, results) = (std::mem::take(&mut said), std::mem::take(&mut results));
            let answer = Message { role: Role::Assistant, parts, cache: mark(of_answer) };
            out.push(Cow::Owned(answer));
            let brought = Message { role: Role::Tool, parts: results, cache: mark(of_results) };
            out.push(Cow::Owned(brought));
        }
    }
    if !pictures.is_empty() {
        let head = Part::Text(TOOL_IMAGES.into());
        let parts = std::iter::once(head).chain(pictures).collect();
        out.push(Cow::Owned(Message::new(Role::User, parts)));
    }
}

/// What a call brought, under the id that it goes out with.
fn result(pair: &Pair<'_>, fit: &Fit, pictures: &mut Vec<Part>) -> Part {
    let call_id = match &pair.call {
        Part::ToolCall { id, .. } => id.clone(),
        _ => pair.id.into(),
    };
    let Some(Part::ToolResult { content, is_error, .. }) = pair.result else {
        let content = vec![Part::Text(UNFINISHED.into())];
        return Part::ToolResult { call_id, content, is_error: true };
    };
    let mut kept = vec![];
    for part in content {
        match part {
            Part::Text(text) if !says_something(text) => {}
            Part::Image(_) if fit.tool_pictures == ToolPictures::After => {
                pictures.push(part.clone());
            }
            Part::Text(_) | Part::Image(_) => kept.push(part.clone()),
            _ => {}
        }
    }
    if kept.is_empty() {
        kept.push(Part::Text(NO_OUTPUT.into()));
    }
    Part::ToolResult { call_id, content: kept, is_error: *is_error }
}

/// Names of calls that every server takes, no two alike in one request.
struct CallIds {
    rule: Ids,
    used: HashSet<Arc<str>>,
    count: u32,
}

impl CallIds {
    fn new(rule: Ids) -> Self {
        Self { rule, used: HashSet::new(), count: 0 }
    }

    fn next(&mut self, id: &Arc<str>) -> Arc<str> {
        self.count += 1;
        if self.rule == Ids::Nine {
            return nine(self.count);
        }
        let is_plain = id.len() <= ID_LEN_MAX && !id.is_empty() && id.chars().all(is_plain);
        let mut made = if is_plain { id.clone() } else { plain(id, ID_LEN_MAX).into() };
        if made.is_empty() || self.used.contains(&made) {
            let begin = plain(id, ID_LEN_MAX - 11);
            made = format!("{begin}_{}", self.count).into();
            // Somebody may have called theirs like that.
            let mut more = self.count;
            while self.used.contains(&made) {
                more = more.wrapping_add(1);
                made = format!("{begin}_{more}").into();
            }
        }
        self.used.insert(made.clone());
        made
    }
}

/// The `count`-th id of nine letters and digits.
fn nine(count: u32) -> Arc<str> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 5];
    let mut rest = count;
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS.get((rest % 36) as usize).copied().unwrap_or(b'0');
        rest /= 36;
    }
    let digits: String = digits.iter().map(|digit| char::from(*digit)).collect();
    format!("call{digits}").into()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The characters of a text that ids and names may have, others as `_`.
fn plain(text: &str, len_max: usize) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { '_' }).take(len_max).collect()
}

/// A tool's name as every server takes it. A model may have called something that is none.
fn tool_name(name: &Arc<str>) -> Arc<str> {
    match name.len() {
        0 => NAMELESS.into(),
        ..=NAME_LEN_MAX if name.chars().all(is_plain) => name.clone(),
        _ => plain(name, NAME_LEN_MAX).into(),
    }
}
