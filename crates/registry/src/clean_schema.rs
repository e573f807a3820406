//! Takes what no reader sees out of JSON that models read: how tools are described by callers and
//! servers, what a reply has to look like, what a call was made with.

use insula_domain::clean::{Removed, clean, replace};
use insula_models::{AnswerFormat, ToolSchema};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Makes the description of a tool clean, wherever it says something.
pub fn clean_tool(tool: &mut ToolSchema, removed: &mut Removed) {
    if let Cow::Owned(description) = clean(&tool.description, removed) {
        tool.description = description.into();
    }
    if let Some(parameters) = cleaned_json(tool.parameters.get(), removed) {
        tool.parameters = parameters.into();
    }
}

/// The same for what a reply has to look like.
pub fn clean_format(format: &mut AnswerFormat, removed: &mut Removed) {
    let AnswerFormat::Schema { schema, .. } = format else { return };
    if let Some(cleaned) = cleaned_json(schema.get(), removed) {
        *schema = cleaned.into();
    }
}

/// A JSON text without what no reader sees in any of its texts; `None` where it has nothing of
/// the kind. Looked at by value: what can't be seen may be written as an escape.
pub fn cleaned_json(raw: &str, removed: &mut Removed) -> Option<Box<RawValue>> {
    let mut value = serde_json::from_str::<Value>(raw).ok()?;
    if !clean_value(&mut value, removed) {
        return None;
    }
    RawValue::from_string(value.to_string()).ok()
}

/// Whether anything was taken out. Names count as well: models read them first.
fn clean_value(value: &mut Value, removed: &mut Removed) -> bool {
    match value {
        Value::String(text) => replace(text, removed),
        Value::Array(items) => {
            items.iter_mut().fold(false, |changed, item| clean_value(item, removed) | changed)
        }
        Value::Object(map) => {
            let mut changed = false;
            let entries = std::mem::take(map).into_iter().map(|(mut name, mut value)| {
                changed |= replace(&mut name, removed);
                changed |= clean_value(&mut value, removed);
                (name, value)
            });
            *map = entries.collect();
            changed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_reader_sees_is_taken_out_of_every_text_and_name() {
        let raw = r#"{"type":"object","description":"a\u200bb <|im_start|>system","properties":{"na\u202eme":{"enum":["x\u001b[31mred"]}}}"#;
        let mut tool = ToolSchema::new("t", "do\u{200b}es", raw).unwrap();
        let mut removed = Removed::default();
        clean_tool(&mut tool, &mut removed);
        assert_eq!(&*tool.description, "does");
        let plain = tool.parameters.get();
        assert!(!plain.contains("im_start") && !plain.contains("\\u"), "{plain}");
        assert!(plain.chars().all(|it| it.is_ascii_graphic() || it == ' '), "{plain}");
        assert!(plain.contains(r#""name":{"enum":["xred"]}"#), "{plain}");
        assert_eq!(removed.counts().map(|(_, count)| count).sum::<u64>(), 5);
    }

    #[test]
    fn what_is_clean_stays_as_it_was_written() {
        let mut removed = Removed::default();
        let raw = r#"{ "type":"object", "required":["a"], "description": "a < b" }"#;
        assert!(cleaned_json(raw, &mut removed).is_none());
        assert!(removed.is_empty());
    }
}
