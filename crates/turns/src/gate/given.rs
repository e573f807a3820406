//! What a call is made with, piece by piece, and who said each of them.
//!
//! Every text and every number is a piece, and so is every truth value and every name of a field
//! that the tool's own schema does not have: a name that a model chooses is a value like others.
//! What is empty or null is left out, since leaving it out is the same.

use insula_domain::argument::{is_number_said, is_said};
use serde_json::Value;

/// Letters and digits from which on a word names something, wherever it was said.
const MEANT_CHARS_MIN: usize = 4;
/// How much of a schema is looked at for one name: its references and alternatives may lead round
/// in circles, and into many at once.
const SCHEMAS_MAX: usize = 256;

/// A piece of what a call is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given<'a> {
    /// Where it stands.
    pub(super) at: Vec<Step<'a>>,
    pub(super) what: What<'a>,
}

/// A step into arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Field(&'a str),
    /// Any element of a list.
    Element,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What<'a> {
    Text(&'a str),
    Number(String),
    Truth(bool),
    /// The name of the field that it stands at.
    Name(&'a str),
}

impl Given<'_> {
    /// The words of it; a truth value has none that anybody says.
    pub(super) fn words(&self) -> Option<&str> {
        match &self.what {
            What::Text(text) | What::Name(text) => Some(text),
            What::Number(number) => Some(number),
            What::Truth(_) => None,
        }
    }

    /// Whether somebody said it who said this.
    pub(super) fn is_in(&self, said: &str) -> bool {
        let is_number = match &self.what {
            What::Number(number) => number.parse().is_ok_and(|it| is_number_said(it, said)),
            _ => false,
        };
        is_number || self.words().is_some_and(|words| is_said(words, said))
    }

    /// Whether the operator wrote down which values may stand there. Rules look at a field, or at
    /// every element of a list that is one; further into a list they do not see.
    pub(super) fn is_listed(&self, lists: impl Fn(&[&str]) -> bool) -> bool {
        if matches!(self.what, What::Name(_)) {
            return false;
        }
        let at = match self.at.split_last() {
            Some((Step::Element, at)) => at,
            _ => &self.at,
        };
        let names: Option<Vec<&str>> = at
            .iter()
            .map(|step| match step {
                Step::Field(name) => Some(*name),
                Step::Element => None,
            })
            .collect();
        names.is_some_and(|names| lists(&names))
    }

    /// Whether it is long enough to mean something: a `13` that stands in a date names no file.
    fn is_meant(&self) -> bool {
        let letters = |words: &str| words.chars().filter(|it| it.is_alphanumeric()).count();
        self.words().is_some_and(|words| letters(words) >= MEANT_CHARS_MIN)
    }
}

/// Whether all that a call is made with was said by the sender or listed by the operator, and some
/// of it says what is meant. A truth value is nobody's word: it is listed or left out.
pub(super) fn are_given(given: &[Given<'_>], said: &str, lists: impl Fn(&[&str]) -> bool) -> bool {
    given.iter().all(|it| it.is_listed(&lists) || it.is_in(said))
        && given.iter().any(|it| it.is_listed(&lists) || it.is_meant())
}

/// The pieces of arguments for a tool with this schema.
pub(super) fn pieces<'a>(arguments: &'a Value, schema: &str) -> Vec<Given<'a>> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let mut pieces = Vec::new();
    collect(arguments, Some(&schema), &schema, &mut Vec::new(), &mut pieces);
    pieces
}

fn collect<'a>(
    value: &'a Value,
    schema: Option<&Value>,
    root: &Value,
    at: &mut Vec<Step<'a>>,
    pieces: &mut Vec<Given<'a>>,
) {
    let mut put = |what: What<'a>, at: &[Step<'a>]| pieces.push(Given { at: at.to_vec(), what });
    match value {
        Value::Null => {}
        Value::Bool(truth) => put(What::Truth(*truth), at),
        Value::Number(number) => put(What::Number(number.to_string()), at),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => put(What::Text(text), at),
        Value::Array(items) => {
            let inner = schema.and_then(|it| below(it, root, Step::Element));
            at.push(Step::Element);
            items.iter().for_each(|item| collect(item, inner, root, at, pieces));
            at.pop();
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let step = Step::Field(name);
                let inner = schema.and_then(|it| below(it, root, step));
                at.push(step);
                if inner.is_none() {
                    pieces.push(Given { at: at.clone(), what: What::Name(name) });
                }
                collect(value, inner, root, at, pieces);
                at.pop();
            }
        }
    }
}

/// What a schema says of what stands one step further in; `None` where it says nothing.
fn below<'s>(schema: &'s Value, root: &'s Value, step: Step<'_>) -> Option<&'s Value> {
    let mut open = vec![schema];
    for _ in 0..SCHEMAS_MAX {
        let schema = open.pop()?;
        let here = match step {
            Step::Field(name) => schema.get("properties").and_then(|it| it.get(name)),
            Step::Element => schema.get("items"),
        };
        if here.is_some() {
            return here;
        }
        let place = schema.get("$ref").and_then(Value::as_str);
        open.extend(place.and_then(|it| root.pointer(it.strip_prefix('#')?)));
        for others in ["anyOf", "oneOf", "allOf"] {
            let others = schema.get(others).and_then(Value::as_array);
            open.extend(others.into_iter().flatten().take(SCHEMAS_MAX));
        }
    }
    None
}

#[cfg(test)]
#[path = "given_tests.rs"]
mod tests;
