//! How a reply should look, by the request: words, JSON, and texts that end it.

use super::error::OpenAiError;
use insula_turns::AnswerFormat;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most texts that end a reply: what providers take.
const STOPS_MAX: usize = 4;
/// Longest of them, in bytes.
const STOP_BYTES_MAX: usize = 256;
/// Longest schema of a reply, in bytes.
const SCHEMA_BYTES_MAX: usize = 128 * 1024;

/// The texts that end a reply.
pub fn stop(value: &Value) -> Result<Vec<String>, OpenAiError> {
    let wrong = |message: String| Err(OpenAiError::invalid_at("stop", message));
    let texts: Option<Vec<String>> = match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(all) => all.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let Some(texts) = texts else {
        return wrong("`stop` must be a text or a list of texts".to_owned());
    };
    if texts.len() > STOPS_MAX {
        return wrong(format!("{} texts are more than {STOPS_MAX}", texts.len()));
    }
    match texts.iter().any(|text| text.is_empty() || text.len() > STOP_BYTES_MAX) {
        true => wrong(format!("each text must have 1 to {STOP_BYTES_MAX} bytes")),
        false => Ok(texts),
    }
}

/// What a reply has to look like. `at` is where that stands.
pub fn format(value: &Value, at: &str) -> Result<Option<AnswerFormat>, OpenAiError> {
    let wrong = |message: String| Err(OpenAiError::invalid_at(at, message));
    match value["type"].as_str() {
        _ if value.is_null() => Ok(None),
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(AnswerFormat::Json)),
        Some("json_schema") => {
            // One API has the schema in a field of its own, the other beside the type.
            let inner = Some(&value["json_schema"]).filter(|it| it.is_object());
            let named = inner.unwrap_or(value);
            let schema = &named["schema"];
            if !schema.is_object() {
                return wrong("`json_schema` needs a `schema`, which is an object".to_owned());
            }
            let text = schema.to_string();
            if text.len() > SCHEMA_BYTES_MAX {
                return wrong(format!("the schema is longer than {SCHEMA_BYTES_MAX} bytes"));
            }
            let name = named["name"].as_str().unwrap_or("answer");
            if !super::tool::is_name(name) {
                return wrong("`name` has 1 to 64 letters, digits, `_` and `-`".to_owned());
            }
            match RawValue::from_string(text) {
                Ok(schema) => Ok(Some(AnswerFormat::Schema {
                    name: name.into(),
                    schema: schema.into(),
                    is_strict: named["strict"].as_bool(),
                })),
                Err(error) => wrong(error.to_string()),
            }
        }
        other => {
            let other: String = other.unwrap_or_default().chars().take(40).collect();
            wrong(format!("`{other}` is none of text, json_object and json_schema"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_ends_a_reply_is_a_few_short_texts() {
        assert_eq!(stop(&json!(null)).unwrap(), Vec::<String>::new());
        assert_eq!(stop(&json!("END")).unwrap(), ["END"]);
        assert_eq!(stop(&json!(["a", "b"])).unwrap(), ["a", "b"]);
        assert_eq!(stop(&json!([])).unwrap(), Vec::<String>::new());
        for bad in
            [json!(7), json!([1]), json!(""), json!(["a", ""]), json!(["a", "b", "c", "d", "e"])]
        {
            assert_eq!(stop(&bad).unwrap_err().body()["error"]["param"], "stop", "{bad}");
        }
    }

    #[test]
    fn a_format_is_read_in_the_words_of_both_apis() {
        let read = |value: Value| format(&value, "response_format");
        assert!(matches!(read(json!(null)), Ok(None)));
        assert!(matches!(read(json!({ "type": "text" })), Ok(None)));
        assert!(matches!(read(json!({ "type": "json_object" })), Ok(Some(AnswerFormat::Json))));
        let schema = json!({ "type": "object" });
        for value in [
            json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema, "strict": true } }),
            json!({ "type": "json_schema", "name": "n", "schema": schema, "strict": true }),
        ] {
            let Ok(Some(AnswerFormat::Schema { name, schema, is_strict })) = read(value) else {
                panic!("a schema");
            };
            assert_eq!(
                (&*name, schema.get(), is_strict),
                ("n", r#"{"type":"object"}"#, Some(true))
            );
        }
        for bad in [
            json!({}),
            json!("json"),
            json!({ "type": "grammar" }),
            json!({ "type": "json_schema" }),
            json!({ "type": "json_schema", "schema": "x" }),
            json!({ "type": "json_schema", "name": "a b", "schema": {} }),
        ] {
            let error = read(bad.clone()).unwrap_err().body();
            assert_eq!(error["error"]["param"], "response_format", "{bad}");
        }
    }
}
