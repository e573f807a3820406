//! What real servers refuse. Each function reads the body of a request as that server would and
//! says what it would say; none knows how we make requests.

mod anthropic;
mod chat;
mod ollama;
mod sound;
mod templates;

pub use anthropic::anthropic;
pub use chat::{compatible, google, mistral, openai};
pub use ollama::ollama;
pub use sound::{answer_sound, sound_server};
pub use templates::Template;

use serde_json::Value;

/// Says why a body is refused.
type Verdict = Result<(), String>;

/// Refuses, unless it is so.
macro_rules! demand {
    ($so:expr, $($why:tt)+) => {
        if !$so {
            return Err(format!($($why)+));
        }
    };
}
use demand;

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// Letters, digits, `_` and `-`, at least one and at most so many.
fn is_name(text: &str, len_max: usize) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.len() <= len_max && text.chars().all(is_plain)
}

/// What a schema of arguments has to be like.
fn schema(schema: &Value) -> Verdict {
    demand!(text(schema, "type") == Some("object"), "schema must be of type object: {schema}");
    demand!(schema["properties"].is_object(), "object schema missing properties: {schema}");
    for combined in ["anyOf", "oneOf", "allOf"] {
        demand!(schema.get(combined).is_none(), "{combined} at the top of a schema");
    }
    Ok(())
}

/// Bytes of a picture, in base64.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty() && data.len().is_multiple_of(4) && body.bytes().all(is_digit)
}

/// Kinds of pictures that are understood.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
