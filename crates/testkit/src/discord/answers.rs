//! The fake's answers as they go over the wire.

use serde_json::{Value, json};

/// Why a request is refused: its status, and Discord's own number.
pub(super) struct No(pub u16, pub i64);

/// What a request is answered: a status, and JSON.
pub(super) type Answer = Result<(u16, Value), No>;

/// A refusal in Discord's own form.
pub(super) fn refused(status: u16, code: i64, wait: Option<f64>, global: bool) -> Vec<u8> {
    let mut body = json!({ "message": "words of the API", "code": code });
    let mut headers = vec![];
    if let Some(wait) = wait {
        body = json!({
            "message": "You are being rate limited.", "retry_after": wait, "global": global,
        });
        headers.push(("retry-after", format!("{}", wait.ceil())));
        let scope = if global { "global" } else { "user" };
        headers.push(("x-ratelimit-scope", scope.to_owned()));
        if global {
            headers.push(("x-ratelimit-global", "true".to_owned()));
        }
    }
    http(status, "application/json", &headers, body.to_string().as_bytes())
}

/// A whole answer.
pub(super) fn http(
    status: u16,
    media_type: &str,
    headers: &[(&str, String)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Status\r\n");
    if status != 204 {
        head.push_str(&format!("content-type: {media_type}\r\ncontent-length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let body = if status == 204 { &[] } else { body };
    [head.as_bytes(), body].concat()
}
