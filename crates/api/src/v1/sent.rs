//! A request with the body it came in: what makes two requests the same is what was sent, not
//! what of it was understood.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// How a reply is delivered, which is no part of what is asked: whoever lost a stream may ask
/// for the whole.
const DELIVERY: [&str; 2] = ["stream", "stream_options"];

/// A request, and its body.
pub struct Sent<T> {
    /// What was understood.
    pub request: T,
    /// What was sent.
    pub body: SentBody,
}

/// The body of a request.
pub struct SentBody(Bytes);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = JsonRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let (parts, body) = request.into_parts();
        let bytes = Bytes::from_request(Request::from_parts(parts.clone(), body), state).await?;
        let again = Request::from_parts(parts, Body::from(bytes.clone()));
        let Json(request) = Json::from_request(again, state).await?;
        Ok(Self { request, body: SentBody(bytes) })
    }
}

impl SentBody {
    /// What it asks, whatever the order in which it says so.
    pub fn asked(&self) -> String {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(&self.0) else {
            return String::new();
        };
        fields.retain(|name, value| !value.is_null() && !DELIVERY.contains(&name.as_str()));
        ordered(Value::Object(fields)).to_string()
    }
}

/// The same value with the fields of every object in one order.
fn ordered(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(ordered).collect(),
        Value::Object(fields) => {
            let sorted: BTreeMap<String, Value> =
                fields.into_iter().map(|(name, value)| (name, ordered(value))).collect();
            sorted.into_iter().collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(body: &Value) -> String {
        SentBody(body.to_string().into()).asked()
    }

    #[test]
    fn the_order_and_the_way_back_make_no_other_request_and_a_flag_does() {
        let plain = json!({ "model": "a", "input": [{ "role": "user", "content": "hi" }] });
        let same = json!({ "input": [{ "content": "hi", "role": "user" }], "model": "a",
            "stream": true, "stream_options": {}, "store": null });
        assert_eq!(asked(&plain), asked(&same));
        for flag in ["store", "temperature", "metadata", "nonsense"] {
            let mut other = plain.clone();
            other[flag] = json!(false);
            assert_ne!(asked(&plain), asked(&other), "{flag}");
        }
    }
}
