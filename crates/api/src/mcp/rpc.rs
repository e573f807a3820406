//! JSON-RPC 2.0, as far as MCP uses it.

use serde_json::{Map, Value, json};

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    /// A text or a number.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// A message that came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    Request(Request),
    Notification { method: String, params: Map<String, Value> },
    Response,
}

/// Why a request is not answered with a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcFault {
    code: i32,
    message: String,
    data: Option<Value>,
}

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const UNKNOWN_METHOD: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
/// Of ours: the credential was taken back while the answer was made.
const REVOKED: i32 = -32_001;
const HEADER_MISMATCH: i32 = -32_020;
const UNSUPPORTED_VERSION: i32 = -32_022;

impl RpcFault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message)
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        let shown: String = method.chars().take(100).flat_map(char::escape_debug).collect();
        Self::new(UNKNOWN_METHOD, format!("there is no method `{shown}`"))
    }

    pub(super) fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(HEADER_MISMATCH, message)
    }

    pub(super) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let data = json!({ "supported": supported, "requested": requested });
        let message = "this version of the protocol is not spoken here";
        Self { data: Some(data), ..Self::new(UNSUPPORTED_VERSION, message) }
    }

    pub(super) fn revoked() -> Self {
        Self::new(REVOKED, "the token was revoked, or lost this agent; nothing more is done for it")
    }

    pub(super) fn is_unknown_method(&self) -> bool {
        self.code == UNKNOWN_METHOD
    }

    /// The response that tells of it.
    pub(super) fn response(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// Reads one message. Several at once were part of one version only, and are not taken.
pub(super) fn read(body: &[u8]) -> Result<Incoming, RpcFault> {
    let message: Value = serde_json::from_slice(body)
        .map_err(|_| RpcFault::new(PARSE_ERROR, "the body is not JSON"))?;
    let Value::Object(mut message) = message else {
        return Err(RpcFault::invalid_request("a message is one JSON object"));
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(RpcFault::invalid_request("`jsonrpc` has to be \"2.0\""));
    }
    let Some(method) = message.remove("method") else {
        let is_response = message.contains_key("result") || message.contains_key("error");
        return match is_response {
            true => Ok(Incoming::Response),
            false => Err(RpcFault::invalid_request("there is no `method`")),
        };
    };
    let Value::String(method) = method else {
        return Err(RpcFault::invalid_request("`method` has to be a text"));
    };
    let params = match message.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(RpcFault::invalid_request("`params` has to be an object")),
    };
    match message.remove("id") {
        None => Ok(Incoming::Notification { method, params }),
        Some(id @ (Value::String(_) | Value::Number(_))) => {
            Ok(Incoming::Request(Request { id, method, params }))
        }
        Some(_) => Err(RpcFault::invalid_request("`id` has to be a text or a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let request = read(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
        let expected = Request { id: json!(1), method: "ping".to_owned(), params: Map::new() };
        assert_eq!(request, Incoming::Request(expected));
        let notification = read(br#"{"jsonrpc":"2.0","method":"x","params":{"a":1}}"#).unwrap();
        assert!(matches!(notification, Incoming::Notification { .. }));
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Incoming::Response));
        for (body, code) in [
            ("{", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID_REQUEST),
        ] {
            assert_eq!(read(body.as_bytes()).unwrap_err().code, code, "{body}");
        }
    }
}
