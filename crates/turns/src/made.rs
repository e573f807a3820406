//! The calls that were made in a turn, for rules that count them. A turn shares its list with
//! its children, so that delegating does not begin a new count.

use insula_domain::argument::{Arguments, FoundArgument};
use serde_json::Value as Json;
use std::sync::{Arc, Mutex, PoisonError};

/// Most calls of a turn that are kept: more than its iterations and those of its children make.
const CALLS_MAX: usize = 16_384;

/// A call that was made: it passed the gate and began.
pub(crate) struct Made {
    pub(crate) tool: Box<str>,
    /// What it was called with.
    pub(crate) arguments: Json,
}

impl Arguments for Made {
    fn at(&self, path: &[Box<str>]) -> FoundArgument<'_> {
        argument(&self.arguments, path)
    }
}

/// The calls of a turn and of its children. Cheap to clone; a clone is the same list.
#[derive(Clone, Default)]
pub(crate) struct CallsMade(Arc<Mutex<Vec<Arc<Made>>>>);

impl CallsMade {
    /// A call was made.
    pub(crate) fn add(&self, tool: &str, arguments: Json) {
        push(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), tool, arguments);
    }

    /// A call begins, if it may after those that were made; nobody else's begins meanwhile.
    pub(crate) fn claim<E>(
        &self,
        tool: &str,
        arguments: &Json,
        may: impl FnOnce(&[Arc<Made>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        may(&made)?;
        push(&mut made, tool, arguments.clone());
        Ok(())
    }

    /// All of them, the first one first.
    pub(crate) fn all(&self) -> Vec<Arc<Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn push(made: &mut Vec<Arc<Made>>, tool: &str, arguments: Json) {
    if made.len() < CALLS_MAX {
        made.push(Arc::new(Made { tool: tool.into(), arguments }));
    }
}

/// What stands at a place of arguments.
pub(crate) fn argument<'j>(arguments: &'j Json, path: &[Box<str>]) -> FoundArgument<'j> {
    let at = path.iter().try_fold(arguments, |json, name| json.get(&**name));
    at.map_or(FoundArgument::Absent, found)
}

fn found(json: &Json) -> FoundArgument<'_> {
    match json {
        Json::Null => FoundArgument::Absent,
        Json::Bool(value) => FoundArgument::Bool(*value),
        Json::Number(number) => FoundArgument::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => FoundArgument::Text(text.as_str().into()),
        Json::Array(items) => FoundArgument::List(items.iter().map(found).collect()),
        Json::Object(_) => FoundArgument::Fields,
    }
}

/// Whether two calls have the same arguments: the order of fields does not count, a null is as
/// if it were left out, and 1 is 1.0.
pub(crate) fn is_same(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            let within = |one: &serde_json::Map<String, Json>,
                          other: &serde_json::Map<String, Json>| {
                one.iter().all(|(name, value)| match (value, other.get(name)) {
                    (Json::Null, None) => true,
                    (value, Some(there)) => is_same(value, there),
                    (_, None) => false,
                })
            };
            within(one, other) && within(other, one)
        }
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Json::Number(one), Json::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_arguments_may_be_written_otherwise() {
        let one = json!({"to": ["ann"], "amount": 1, "cc": null, "at": {"x": 1, "y": 2}});
        for (other, same) in [
            (json!({"at": {"y": 2, "x": 1.0}, "amount": 1.0, "to": ["ann"]}), true),
            (json!({"to": ["ann"], "amount": 1, "at": {"x": 1, "y": 2}, "bcc": null}), true),
            (json!({"to": ["ann"], "amount": 1, "at": {"x": 1}}), false),
            (json!({"to": ["ann"], "amount": 2, "at": {"x": 1, "y": 2}}), false),
            (json!({"to": ["ann", "ann"], "amount": 1, "at": {"x": 1, "y": 2}}), false),
            (json!({"to": ["ann"], "amount": 1, "at": {"x": 1, "y": 2}, "bcc": "eve"}), false),
            (json!([]), false),
        ] {
            assert_eq!(is_same(&one, &other), same, "{other}");
            assert_eq!(is_same(&other, &one), same, "{other}");
        }
    }
}
