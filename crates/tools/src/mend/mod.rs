//! Arguments as models mean them: a number that stands in quotes, one text where a list belongs, a
//! field by another name. What has one meaning by the tool's own schema is mended before anybody
//! judges the call; what has not stays as it is, and is refused.
//!
//! Nothing is guessed that would make a call do more: no value is made up but for those that the
//! tool says it takes them for, and a field that holds a call back is never left out.

mod fit;
mod note;
mod schema;

pub use note::Mend;

use fit::Fitting;
use insula_models::text_calls::{is_placeholder, lenient};
use note::Notes;
use schema::Schema;
use serde_json::{Map, Value};

/// Longest arguments that are mended, in bytes: more is no slip of a small model.
const BYTES_MAX: usize = 512 * 1024;

/// What models write about a tool's arguments, and what they mean by it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habits {
    /// Other names of arguments, each with the one it has.
    pub also_called: &'static [(&'static str, &'static str)],
    /// Arguments that are never mended: what they open is opened by who writes them right.
    pub by_the_letter: &'static [&'static str],
    /// Arguments that say nothing where they are empty, or a place to be filled in: small models
    /// write down all there are.
    pub blank_is_nothing: &'static [&'static str],
    /// Whether an unknown field stays, and is refused: where what it may have named has a default,
    /// the call would do something else without it.
    pub is_exact: bool,
    /// The argument that a text or a list is meant for where the arguments should be.
    pub alone: Option<&'static str>,
}

/// Arguments that were mended, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    pub arguments: Map<String, Value>,
    pub mends: Vec<Mend>,
}

/// Mends what a model wrote; nothing where it needs no mending or can't be mended. `left_out` says
/// what a call is taken to mean that does not say it, by what it does say.
pub fn mend(
    schema: &str,
    habits: &Habits,
    left_out: impl Fn(&Map<String, Value>) -> Vec<(&'static str, &'static str)>,
    written: &str,
) -> Option<Mended> {
    if written.len() > BYTES_MAX {
        return None;
    }
    let mut notes = Notes::default();
    let text = if written.trim().is_empty() { "{}" } else { written };
    let value = read(text, habits, &mut notes)?;
    let root: Value = serde_json::from_str(schema).ok()?;
    let schema = Schema::root(&root);
    let value = unwrapped(value, &schema, &mut notes);
    let mut fields = match (value, habits.alone) {
        (Value::Object(fields), _) => fields,
        (alone @ (Value::String(_) | Value::Array(_)), Some(name)) => {
            notes.note(name, "stood alone");
            Map::from_iter([(name.to_owned(), alone)])
        }
        (other, _) => fit::wrapped(&schema, other, &mut notes)?,
    };
    renamed(&mut fields, &schema, habits.also_called, &mut notes);
    blanked(&mut fields, &schema, habits.blank_is_nothing, &mut notes);
    let mut fields = Fitting::new(&mut notes, habits).object(&schema, fields, "");
    for (name, meant) in left_out(&fields) {
        if !fields.contains_key(name) && schema.property(name).is_some() {
            fields.insert(name.to_owned(), Value::from(meant));
            notes.note(name, "was left out");
        }
    }
    let mends = notes.into_mends();
    (!mends.is_empty()).then_some(Mended { arguments: fields, mends })
}

/// The arguments that a tool's schema requires and that are not there.
pub fn missing(schema: &str, given: &Map<String, Value>) -> Vec<String> {
    let Ok(root) = serde_json::from_str(schema) else { return Vec::new() };
    let required: Vec<&str> = Schema::root(&root).required().collect();
    required.into_iter().filter(|name| !given.contains_key(*name)).map(str::to_owned).collect()
}

/// What was written, in JSON or almost; an object inside of a text is one all the same.
fn read(text: &str, habits: &Habits, notes: &mut Notes) -> Option<Value> {
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => {
            let (value, slips) = lenient::whole(text)?;
            slips.into_iter().for_each(|slip| notes.note_all(slip.as_str()));
            value
        }
    };
    match &value {
        Value::String(inner) if inner.trim_start().starts_with('{') => {
            match lenient::whole(inner) {
                Some((inner @ Value::Object(_), _)) => {
                    notes.note_all("an object inside of a text");
                    Some(inner)
                }
                _ => Some(value),
            }
        }
        Value::Array(items) if habits.alone.is_none() => match items.as_slice() {
            [only @ Value::Object(_)] => {
                notes.note_all("a list around an object");
                Some(only.clone())
            }
            _ => Some(value),
        },
        _ => Some(value),
    }
}

/// What stands around arguments where there should be none.
const AROUND: &[&str] = &["arguments", "parameters", "args", "params", "input", "kwargs"];

/// What a tool's name stands under where the whole call is among its arguments.
const CALLED: &[&str] = &["name", "tool", "function"];

fn unwrapped(value: Value, schema: &Schema<'_>, notes: &mut Notes) -> Value {
    let Value::Object(fields) = &value else { return value };
    if fields.keys().any(|name| schema.property(name).is_some()) {
        return value;
    }
    let says_call =
        |(name, it): &(&String, &Value)| it.is_string() && CALLED.contains(&name.as_str());
    let mut each = fields.iter().filter(|field| fields.len() == 1 || !says_call(field));
    let (Some((name, inner)), None) = (each.next(), each.next()) else { return value };
    if !AROUND.contains(&name.as_str()) || fields.len() > 2 {
        return value;
    }
    let inner = match inner {
        Value::Object(_) => inner.clone(),
        Value::String(text) => match lenient::whole(text) {
            Some((inner @ Value::Object(_), _)) => inner,
            _ => return value,
        },
        _ => return value,
    };
    notes.note_all("arguments inside of arguments");
    inner
}

/// Gives fields the names that they have. One that is there by its own name stays what it is.
fn renamed(
    fields: &mut Map<String, Value>,
    schema: &Schema<'_>,
    names: &[(&str, &str)],
    notes: &mut Notes,
) {
    for (other, name) in names {
        if schema.property(other).is_none()
            && schema.property(name).is_some()
            && !fields.contains_key(*name)
            && let Some(value) = fields.shift_remove(*other)
        {
            fields.insert((*name).to_owned(), value);
            notes.note(name, "was called otherwise");
        }
    }
}

/// Takes out what says nothing.
fn blanked(
    fields: &mut Map<String, Value>,
    schema: &Schema<'_>,
    names: &[&str],
    notes: &mut Notes,
) {
    for name in names {
        let says_nothing =
            |it: &Value| it.as_str().is_some_and(|it| it.trim().is_empty() || is_placeholder(it));
        let is_required = schema.required().any(|it| it == *name);
        if !is_required && fields.get(*name).is_some_and(says_nothing) {
            fields.shift_remove(*name);
            notes.note(name, "said nothing");
        }
    }
}

#[cfg(test)]
#[path = "mend_tests.rs"]
mod tests;
