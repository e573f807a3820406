//! The fake server's answers as they go over the wire.

pub(super) use crate::upstream::http;
use serde_json::json;

/// The body of a refusal.
pub(super) fn error(status: u16, id: &str, message: &str) -> String {
    json!({
        "id": id, "message": message, "detailed_error": "", "request_id": "r1",
        "status_code": status,
    })
    .to_string()
}
