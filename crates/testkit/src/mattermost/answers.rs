//! The fake server's answers as they go over the wire.

use serde_json::json;

/// The body of a refusal.
pub(super) fn error(status: u16, id: &str, message: &str) -> String {
    json!({
        "id": id, "message": message, "detailed_error": "", "request_id": "r1",
        "status_code": status,
    })
    .to_string()
}

/// A whole answer.
pub(super) fn http(
    status: u16,
    media_type: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}
