//! Values made to fit the schema they were meant for, where there is one way to do so.

use super::Habits;
use super::note::Notes;
use super::schema::{Schema, Type};
use insula_models::text_calls::lenient;
use serde_json::{Map, Number, Value};

/// How deep values are looked into.
const DEPTH_MAX: usize = 16;

/// Words in the names of fields that would hold a call back, narrow it, or have somebody else do
/// it elsewhere, if there were such a thing: who wrote one did not want the call without it.
/// Divided by bars; of two forms of a word the one without `s`.
const RESERVATIONS: &str = "dry|dryrun|simulate|simulated|simulation|preview|test|check|noop|op|\
    confirm|confirmed|confirmation|ask|approve|approved|approval|undo|readonly|condition|if|unles|\
    when|after|before|schedule|delay|only|except|exclude|include|filter|allow|allowed|deny|denied|\
    permission|privilege|right|grant|boundary|wall|sandbox|isolation|network|host|secret|\
    credential|env|environment|file|shared|workspace|memory|scope|agent|account|user|profile|\
    identity|owner|session|chat|target|recipient|a|to|on|role|model|tool|mcp|server|budget|\
    timeout|deadline|limit|max|depth";

/// One text where the arguments should be: those of a tool that needs one text.
pub fn wrapped(schema: &Schema<'_>, value: Value, notes: &mut Notes) -> Option<Map<String, Value>> {
    let name = schema.only_text().filter(|_| value.is_string())?;
    notes.note(name, "stood alone");
    Some(Map::from_iter([(name.to_owned(), value)]))
}

pub struct Fitting<'n> {
    notes: &'n mut Notes,
    /// What models write about the tool's arguments.
    habits: &'n Habits,
    depth: usize,
}

impl<'n> Fitting<'n> {
    pub fn new(notes: &'n mut Notes, habits: &'n Habits) -> Self {
        Self { notes, habits, depth: 0 }
    }

    /// The fields of an object that stands at `path`.
    pub fn object(
        &mut self,
        schema: &Schema<'_>,
        fields: Map<String, Value>,
        path: &str,
    ) -> Map<String, Value> {
        let mut fitting = Map::new();
        for (name, value) in fields {
            let Some(property) = schema.property(&name) else {
                if schema.is_closed() && !self.habits.is_exact && !is_reservation(&name) {
                    // Its name is the model's own word, and no word of ours.
                    self.notes.note_all("an unknown field was left out");
                } else {
                    fitting.insert(name, value);
                }
                continue;
            };
            if self.habits.by_the_letter.contains(&name.as_str()) {
                fitting.insert(name, value);
                continue;
            }
            let at = joined(path, &name);
            let is_required = schema.required().any(|it| it == name);
            if value.is_null() && !property.takes_value(&value) && !is_required {
                self.notes.note(&at, "was null");
                continue;
            }
            let value = self.value(&property, value, &at);
            fitting.insert(name, value);
        }
        for name in schema.required() {
            if !fitting.contains_key(name)
                && let Some(value) = schema.property(name).and_then(|it| it.default())
            {
                self.notes.note(&joined(path, name), "was left out");
                fitting.insert(name.to_owned(), value.clone());
            }
        }
        fitting
    }

    fn value(&mut self, schema: &Schema<'_>, value: Value, path: &str) -> Value {
        if self.depth >= DEPTH_MAX {
            return value;
        }
        self.depth += 1;
        let value = match schema.takes_value(&value) {
            true => self.inside(schema, value, path),
            false => self.converted(schema, value, path),
        };
        self.depth -= 1;
        value
    }

    /// A value of the right type: what stands in it, and which of several it is.
    fn inside(&mut self, schema: &Schema<'_>, value: Value, path: &str) -> Value {
        match value {
            Value::Object(fields) => match schema.for_type(Type::Object) {
                Some(schema) => Value::Object(self.object(&schema, fields, path)),
                None => Value::Object(fields),
            },
            Value::Array(items) => match schema.for_type(Type::List).and_then(|it| it.items()) {
                Some(each) => items.into_iter().map(|item| self.value(&each, item, path)).collect(),
                None => Value::Array(items),
            },
            Value::String(text) => Value::String(self.choice(schema, text, path)),
            other => other,
        }
    }

    /// Of texts to choose from, the one that is meant.
    fn choice(&mut self, schema: &Schema<'_>, text: String, path: &str) -> String {
        let choices = schema.choices();
        let named = |it: &Value| it.as_str() == Some(&*text);
        if choices.is_empty() || choices.iter().any(named) {
            return text;
        }
        let plain = |it: &str| it.trim().to_lowercase().replace(['-', ' '], "_");
        let mut near =
            choices.iter().filter_map(Value::as_str).filter(|it| plain(it) == plain(&text));
        match (near.next(), near.next()) {
            (Some(meant), None) => {
                self.notes.note(path, "was spelt otherwise");
                meant.to_owned()
            }
            _ => text,
        }
    }

    /// A value of another type than it should have.
    fn converted(&mut self, schema: &Schema<'_>, value: Value, path: &str) -> Value {
        let (meant, how) = match &value {
            Value::String(text) => match from_text(schema, text) {
                Some(found) => found,
                None => return self.alone(schema, value, path),
            },
            Value::Number(number) if schema.takes(Type::Integer) && whole(number).is_some() => {
                match whole(number) {
                    Some(number) => (Value::from(number), "was no whole number"),
                    None => return value,
                }
            }
            Value::Number(number) if schema.takes(Type::Text) => {
                (Value::from(number.to_string()), "was a number")
            }
            Value::Bool(it) if schema.takes(Type::Text) => {
                (Value::from(it.to_string()), "was true or false")
            }
            Value::Array(items) if schema.takes(Type::Text) => match items.as_slice() {
                [Value::String(only)] => (Value::from(only.clone()), "was a list of one"),
                _ => return value,
            },
            _ => return self.alone(schema, value, path),
        };
        self.notes.note(path, how);
        self.value(schema, meant, path)
    }

    /// One thing where a list of such things belongs, or a text where an object belongs that needs
    /// one text.
    fn alone(&mut self, schema: &Schema<'_>, value: Value, path: &str) -> Value {
        if let Some(list) = schema.for_type(Type::List).filter(|it| it.takes(Type::List))
            && let Some(each) = list.items()
        {
            let fits = each.takes_value(&value) || value.is_string() && each.only_text().is_some();
            if fits {
                self.notes.note(path, "was no list");
                return Value::Array(vec![self.value(&each, value, path)]);
            }
        }
        if let Some(object) = schema.for_type(Type::Object)
            && let Some(fields) = wrapped(&object, value.clone(), self.notes)
        {
            return Value::Object(self.object(&object, fields, path));
        }
        value
    }
}

/// What a text means where no text belongs.
fn from_text(schema: &Schema<'_>, text: &str) -> Option<(Value, &'static str)> {
    let plain = text.trim();
    let takes_numbers = schema.takes(Type::Integer) || schema.takes(Type::Number);
    if takes_numbers && let Ok(number) = serde_json::from_str::<Number>(plain) {
        let number = match whole(&number) {
            Some(whole) => Some(Number::from(whole)),
            None => schema.takes(Type::Number).then_some(number),
        };
        return number.map(|it| (Value::Number(it), "was a text"));
    }
    if schema.takes(Type::Bool) {
        let is = |word: &str| plain.eq_ignore_ascii_case(word);
        if is("true") || is("false") {
            return Some((Value::Bool(is("true")), "was a text"));
        }
    }
    let is_list = plain.starts_with('[') && schema.takes(Type::List);
    let is_object = plain.starts_with('{') && schema.takes(Type::Object);
    if is_list || is_object {
        let (value, _) = lenient::whole(plain)?;
        return Some((value, "stood inside of a text"));
    }
    None
}

/// A number without a fraction.
fn whole(number: &Number) -> Option<i64> {
    /// Up to here every whole number has a float of its own.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() <= EXACT_MAX)?;
    #[allow(clippy::cast_possible_truncation, reason = "it has no fraction and is small enough")]
    Some(float as i64)
}

fn is_reservation(name: &str) -> bool {
    words(name).iter().any(|word| {
        let one = word.strip_suffix('s').unwrap_or(word);
        RESERVATIONS.split('|').any(|it| it == word || it == one)
    })
}

/// The words of a name, however they are joined: `dry_run`, `Dry-Run` and `dryRun` have two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if (!c.is_alphanumeric() || (was_lower && c.is_uppercase()))
            && words.last().is_some_and(|it| !it.is_empty())
        {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
