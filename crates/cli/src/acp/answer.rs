//! What goes wrong, as the protocol says it.

use crate::failure::Failure;
use crate::stdio;
use serde_json::Value;

/// No JSON.
pub const PARSE: i32 = -32_700;
/// No message, or not now.
pub const INVALID_REQUEST: i32 = -32_600;
const UNKNOWN_METHOD: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
/// The daemon refused, or is not there.
const REFUSED: i32 = -32_000;

/// Why a request is not answered as was wished.
#[derive(Debug)]
pub struct Fault {
    code: i32,
    message: String,
}

impl Fault {
    pub fn new(code: i32, message: &str) -> Self {
        Self { code, message: message.to_owned() }
    }

    /// The request says something that can't be.
    pub fn params(message: &str) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// What was asked failed.
    pub fn failed(message: &str) -> Self {
        Self::new(REFUSED, message)
    }

    pub fn unknown_method(method: &str) -> Self {
        let shown: String = method.chars().take(80).collect();
        Self::new(UNKNOWN_METHOD, &format!("`{}` is not known here", shown.escape_debug()))
    }

    /// As a frame.
    pub fn frame(&self, id: &Value) -> Value {
        stdio::fault(id, self.code, &self.message)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let message = match &failure {
            Failure::Refused { message, .. } => message.clone(),
            Failure::Failed(message) => format!(
                "{message}; where the daemon does not run any more, `insula up` starts it, and \
                 what was said is still there"
            ),
            other => other.json()["error"]["message"].as_str().unwrap_or("it failed").to_owned(),
        };
        Self::failed(&message)
    }
}
