//! A request with the body it came in: what makes two requests the same is what was sent, not
//! what of it was understood.

use super::error::OpenAiError;
use crate::error::ApiError;
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
    type Rejection = OpenAiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let refused = |rejection: JsonRejection| OpenAiError::from(ApiError::from(rejection));
        let (parts, body) = request.into_parts();
        let bytes = Bytes::from_request(Request::from_parts(parts.clone(), body), state).await;
        let bytes = bytes.map_err(|rejection| refused(rejection.into()))?;
        let again = Request::from_parts(parts, Body::from(bytes.clone()));
        let Json(value) = Json::<Value>::from_request(again, state).await.map_err(refused)?;
        if !value.is_object() {
            return Err(OpenAiError::invalid("the body must be a JSON object"));
        }
        let request = serde_path_to_error::deserialize(value).map_err(|error| {
            OpenAiError::unfit(&error.path().to_string(), &error.inner().to_string())
        })?;
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
