//! JSON in expressions.

use insula_domain::expr::{Record, Value};
use serde_json::Value as Json;

/// A JSON value as expressions see it.
pub fn expression_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::null(),
        Json::Bool(value) => Value::bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::int(whole),
            None => Value::double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(expression_value)),
        Json::Object(fields) => {
            let fields = fields.iter().fold(Record::new(), |record, (name, value)| {
                record.with(name.as_str(), expression_value(value))
            });
            fields.build()
        }
    }
}
