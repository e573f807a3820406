//! The fake platform's HTTP.

use super::Shared;
use super::state::{Refusal, Trouble};
use crate::upstream::{Seen, read_request};
use crate::world::locked;
use insula_world::{Listener, Stream};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;

pub(super) async fn accept(listener: Box<dyn Listener>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, shared.clone()));
    }
}

async fn serve(mut stream: Box<dyn Stream>, shared: Arc<Shared>) {
    let mut buffer = vec![];
    while let Some(seen) = read_request(&mut stream, &mut buffer, 0).await {
        let (answer, cut) = answer(&shared, &seen);
        let written = &answer[..answer.len().min(cut)];
        if stream.write_all(written).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        if cut < answer.len() {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

fn answer(shared: &Shared, seen: &Seen) -> (Vec<u8>, usize) {
    let (method, target) = seen.line.split_once(' ').unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let token = seen.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    let token = token.unwrap_or_default();
    let mut state = locked(&shared.state);
    if let Some(id) = path.strip_prefix("/files/") {
        let is_known = state.numbers.values().any(|it| it.token == token);
        return match state.files.get(id).filter(|_| is_known) {
            Some(content) => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", content.len());
                ([head.as_bytes(), content].concat(), usize::MAX)
            }
            None => (http(401, "", None), usize::MAX),
        };
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let what = match (method, parts.as_slice()) {
        ("POST", ["v25.0", _, "messages"]) => "messages",
        ("POST", ["v25.0", _, "media"]) => "upload",
        ("GET" | "POST", ["v25.0", id]) if state.numbers.contains_key(*id) => "phone",
        ("GET", ["v25.0", _]) => "media",
        _ => return (http(404, "Not Found", None), usize::MAX),
    };
    let at = state.troubles.iter().position(|(known, _)| known == what);
    let trouble = at.and_then(|at| state.troubles.remove(at)).map(|(_, trouble)| trouble);
    let mut cut = usize::MAX;
    match trouble {
        Some(Trouble::Unheard) => return (vec![0], 0),
        Some(Trouble::Answer { status, body }) => return (http(status, &body, None), cut),
        Some(Trouble::Refuse { status, code, retry_after }) => {
            return (http(status, &error(code, "Trouble"), retry_after), cut);
        }
        Some(Trouble::CutAt(at)) => cut = at,
        None => {}
    }
    let id = parts.get(1).copied().unwrap_or_default();
    let done = match what {
        "media" => match state.numbers.values().any(|it| it.token == token) {
            false => Err(Refusal(401, 190, "Error validating access token")),
            true if !state.files.contains_key(id) => {
                Err(Refusal(400, 100, "Object with ID does not exist"))
            }
            true => {
                let here = format!("http://{}/files/{id}", shared.address);
                let url = state.file_url.clone().unwrap_or(here);
                Ok(json!({"url": url, "id": id, "messaging_product": "whatsapp"}))
            }
        },
        _ => state.may(id, token).and_then(|()| match (what, method) {
            ("messages", _) => {
                let message = seen.json();
                state.post(id, &message)
            }
            ("upload", _) => {
                let content = file_in(&seen.body);
                Ok(json!({ "id": state.add_file(&content) }))
            }
            (_, "POST") => {
                let place =
                    seen.json().pointer("/webhook_configuration/override_callback_uri").cloned();
                if let (Some(number), Some(Value::String(place))) =
                    (state.numbers.get_mut(id), place)
                {
                    number.hook = Some(place);
                }
                Ok(json!({ "success": true }))
            }
            _ => {
                let number = state.numbers.get(id);
                let display = number.map(|it| it.display.clone()).unwrap_or_default();
                let hook = number.and_then(|it| it.hook.clone());
                let mut places = json!({});
                if let Some(hook) = hook {
                    places["phone_number"] = json!(hook);
                }
                Ok(json!({"id": id, "display_phone_number": display, "verified_name": "Ada",
                    "quality_rating": "GREEN", "webhook_configuration": places}))
            }
        }),
    };
    let answered = match done {
        Ok(result) => http(200, &result.to_string(), None),
        Err(Refusal(status, code, words)) => http(status, &error(code, words), None),
    };
    (answered, cut)
}

/// The content of the part called `file` in a form.
fn file_in(body: &[u8]) -> Vec<u8> {
    let find = |from: usize, wanted: &[u8]| {
        let rest = body.get(from..)?;
        rest.windows(wanted.len()).position(|it| it == wanted).map(|at| from + at)
    };
    let found = || {
        let name = find(0, b"name=\"file\"")?;
        let begin = find(name, b"\r\n\r\n")? + 4;
        let end = find(begin, b"\r\n--")?;
        body.get(begin..end).map(<[u8]>::to_vec)
    };
    found().unwrap_or_default()
}

fn error(code: i64, words: &str) -> String {
    json!({"error": {"message": format!("(#{code}) {words}"), "type": "OAuthException",
        "code": code, "fbtrace_id": "x"}})
    .to_string()
}

fn http(status: u16, body: &str, retry_after: Option<u64>) -> Vec<u8> {
    let wait = retry_after.map(|it| format!("retry-after: {it}\r\n")).unwrap_or_default();
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n{wait}\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
