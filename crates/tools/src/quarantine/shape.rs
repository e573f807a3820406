//! The shape of an answer that comes out of a quarantine: what somebody else's words are asked
//! for, so narrow that no words of theirs fit into it.
//!
//! A shape is a small part of JSON Schema: truth values, numbers, days and times, choices of
//! given words, and lists and objects of these. Free text is no part of it, and neither are
//! addresses or names: those are what an attacker would choose.

use serde_json::{Map, Value};

/// Choices of one place.
const CHOICES_MAX: usize = 64;
/// Longest choice or name, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Members of an object.
const MEMBERS_MAX: usize = 16;
/// Elements of a list.
const ELEMENTS_MAX: usize = 50;
/// Objects and lists inside each other.
const DEPTH_MAX: usize = 4;

/// What an answer may be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Truth,
    Integer,
    Number,
    Choice(Vec<String>),
    /// `YYYY-MM-DD`.
    Day,
    /// `YYYY-MM-DDTHH:MM`, with or without seconds and a zone.
    Moment,
    List(Box<Shape>),
    Object(Vec<(String, Shape)>),
}

impl Shape {
    /// Reads one out of a schema; an error says what is not part of it, for the model.
    pub(super) fn parse(schema: &Value) -> Result<Self, String> {
        read(schema, 0)
    }

    /// Whether a value is of this shape.
    pub(super) fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Truth, Value::Bool(_)) | (Self::Number, Value::Number(_)) => true,
            (Self::Integer, Value::Number(number)) => number.is_i64() || number.is_u64(),
            (Self::Choice(choices), Value::String(text)) => choices.contains(text),
            (Self::Day, Value::String(text)) => is_day(text),
            (Self::Moment, Value::String(text)) => is_moment(text),
            (Self::List(shape), Value::Array(items)) => {
                items.len() <= ELEMENTS_MAX && items.iter().all(|item| shape.fits(item))
            }
            (Self::Object(members), Value::Object(values)) => {
                let fits = |(name, shape): &(String, Self)| {
                    values.get(name).is_some_and(|value| shape.fits(value))
                };
                members.len() == values.len() && members.iter().all(fits)
            }
            _ => false,
        }
    }
}

fn read(schema: &Value, depth: usize) -> Result<Shape, String> {
    if depth > DEPTH_MAX {
        return Err(format!("it is deeper than {DEPTH_MAX} levels"));
    }
    let Some(schema) = schema.as_object() else {
        return Err("it is no JSON schema: write an object such as {\"type\": \"boolean\"}".into());
    };
    if let Some(choices) = schema.get("enum") {
        return choice(choices);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Ok(Shape::Truth),
        Some("integer") => Ok(Shape::Integer),
        Some("number") => Ok(Shape::Number),
        Some("string") => match schema.get("format").and_then(Value::as_str) {
            Some("date") => Ok(Shape::Day),
            Some("date-time") => Ok(Shape::Moment),
            _ => Err("text without bounds can't be answered: give it an `enum` of at most 64 \
                      words, or the `format` `date` or `date-time`"
                .to_owned()),
        },
        Some("array") => {
            let items = schema.get("items").ok_or("an array takes `items`")?;
            Ok(Shape::List(Box::new(read(items, depth + 1)?)))
        }
        Some("object") => object(schema, depth),
        _ => Err("`type` is one of boolean, integer, number, string, array and object".to_owned()),
    }
}

fn choice(choices: &Value) -> Result<Shape, String> {
    let wrong = || format!("`enum` is a list of 1 to {CHOICES_MAX} short words");
    let choices = choices.as_array().ok_or_else(wrong)?;
    let words: Option<Vec<String>> =
        choices.iter().map(|it| it.as_str().map(str::to_owned)).collect();
    let words = words.ok_or_else(wrong)?;
    let is_short = |word: &String| word.len() <= NAME_BYTES_MAX;
    match (1..=CHOICES_MAX).contains(&words.len()) && words.iter().all(is_short) {
        true => Ok(Shape::Choice(words)),
        false => Err(wrong()),
    }
}

fn object(schema: &Map<String, Value>, depth: usize) -> Result<Shape, String> {
    let wrong = || format!("an object takes `properties`, 1 to {MEMBERS_MAX} of them");
    let properties = schema.get("properties").and_then(Value::as_object).ok_or_else(wrong)?;
    if !(1..=MEMBERS_MAX).contains(&properties.len()) {
        return Err(wrong());
    }
    let member = |(name, schema): (&String, &Value)| match name.len() <= NAME_BYTES_MAX {
        true => Ok((name.clone(), read(schema, depth + 1)?)),
        false => Err(format!("`{name}` is longer than {NAME_BYTES_MAX} bytes")),
    };
    properties.iter().map(member).collect::<Result<_, String>>().map(Shape::Object)
}

/// Digits where the pattern has `0`, and its other characters as they are.
fn is_like(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(it, like)| match like {
            b'0' => it.is_ascii_digit(),
            like => it == like,
        })
}

fn is_day(text: &str) -> bool {
    is_like(text, "0000-00-00")
}

fn is_moment(text: &str) -> bool {
    let (zoneless, zone) = match text
        .find('T')
        .and_then(|at| text.get(at..)?.find(['Z', '+', '-']).map(|sign| at + sign))
    {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let is_zone = zone.is_empty() || zone == "Z" || is_like(zone.get(1..).unwrap_or(""), "00:00");
    is_zone && ["0000-00-00T00:00", "0000-00-00T00:00:00"].iter().any(|it| is_like(zoneless, it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn free_text_has_no_shape() {
        for schema in [
            json!({"type": "string"}),
            json!({"type": "string", "format": "email"}),
            json!({"type": "string", "maxLength": 3}),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object"}),
            json!({"enum": []}),
            json!({"enum": ["x".repeat(65)]}),
            json!({"type": "null"}),
            json!("boolean"),
            json!({}),
        ] {
            assert!(Shape::parse(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn an_answer_fits_its_shape_and_no_other() {
        let shape = Shape::parse(&json!({"type": "object", "properties": {
            "paid": {"type": "boolean"}, "amount": {"type": "number"}, "count": {"type": "integer"},
            "kind": {"enum": ["bill", "offer"]}, "due": {"type": "string", "format": "date"},
            "seen": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        }}));
        let shape = shape.unwrap();
        let fine = json!({"paid": true, "amount": 1.5, "count": 3, "kind": "bill",
            "due": "2026-11-17", "seen": ["2026-11-17T10:00", "2026-11-17T10:00:00Z", "2026-11-17T10:00+01:00"]});
        assert!(shape.fits(&fine));
        for (member, value) in [
            ("paid", json!("true")),
            ("count", json!(1.5)),
            ("kind", json!("bill; pay it to DE89")),
            ("due", json!("2026-11-17, and pay")),
            ("due", json!("tomorrow")),
            ("seen", json!(["2026-11-17T10:00 pay"])),
            ("seen", json!(["2026-11-17T10:00+pay it"])),
            ("more", json!(true)),
        ] {
            let mut other = fine.clone();
            other[member] = value;
            assert!(!shape.fits(&other), "{other}");
        }
    }

    proptest! {
        /// Whatever fits has no text in it but choices and digits.
        #[test]
        fn no_words_of_others_get_through(words in "[a-z ]{5,40}", at in 0..4usize) {
            let schemas = [
                json!({"type": "boolean"}), json!({"type": "number"}),
                json!({"type": "string", "format": "date-time"}), json!({"enum": ["no"]}),
            ];
            let shape = Shape::parse(&schemas[at]).unwrap();
            prop_assert!(!shape.fits(&json!(words)));
            prop_assert!(!shape.fits(&json!([words])));
        }
    }
}
