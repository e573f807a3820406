//! One prompt: said to the daemon, and what happens in its turn told to the editor.

use super::answer::{Fault, INVALID_REQUEST};
use super::client::{Answer, chunk, update};
use super::{Bridge, not_open, tool};
use crate::chat::{Frame, Frames};
use crate::reach::part;
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

/// What the daemon's going away is called, in the middle of a turn.
const WENT_AWAY: &str = "the daemon went away in the middle of the turn; when it runs again \
    (`insula up`) the turn goes on, and loading this session shows what came of it";

/// What a turn has come to, as far as the editor was told.
#[derive(Default)]
struct Told {
    /// Words of the passage under way.
    said: String,
    /// The call under way.
    call: Option<String>,
    /// The turn. Models number their calls anew in each.
    turn: String,
    /// Whether calls are told whole.
    is_whole: bool,
    /// Calls that were told by their names alone.
    bare_calls: usize,
}

impl Bridge<'_> {
    /// Says what is asked, and tells what happens until the turn ends.
    pub(super) async fn prompt(&self, params: &Value) -> Result<Value, Fault> {
        let name = self.open_name(params)?;
        let Said { text, parts } = said(&params["prompt"])?;
        let body = {
            let mut sessions = self.sessions();
            let Some(session) = sessions.get_mut(&name) else { return Err(not_open()) };
            if session.is_busy {
                let message = "a prompt is under way in this session; cancel it or wait";
                return Err(Fault::new(INVALID_REQUEST, message));
            }
            session.is_busy = true;
            json!({ "session": name, "text": text, "parts": parts, "terms": {
                "folder": { "path": session.cwd, "share": self.share },
                "model": session.model,
                "looks_only": session.looks_only,
                "editor": session.may_read.then(|| self.client.offers()),
            } })
        };
        let ended = self.follow(&name, &body).await;
        if let Some(session) = self.sessions().get_mut(&name) {
            session.is_busy = false;
        }
        self.client.cancel(&name);
        ended
    }

    async fn follow(&self, name: &str, body: &Value) -> Result<Value, Fault> {
        let mut answer = self.reach.stream(&self.path("messages"), None, body).await?;
        let is_whole = body["terms"]["editor"].is_object();
        let (mut frames, mut told) = (Frames::default(), Told { is_whole, ..Told::default() });
        let mut asking: FuturesUnordered<LocalBoxFuture<'_, ()>> = FuturesUnordered::new();
        loop {
            let piece = tokio::select! {
                biased;
                Some(()) = asking.next(), if !asking.is_empty() => continue,
                piece = answer.piece() => piece,
            };
            let Ok(Some(piece)) = piece else { return Err(Fault::failed(WENT_AWAY)) };
            let read = frames.push(&piece);
            for frame in read.map_err(|_| Fault::failed("the daemon's answer is too long"))? {
                if let Some(ended) = self.happens(name, &frame, &mut told, &mut asking) {
                    return ended;
                }
            }
        }
    }

    /// Tells one thing that happened; the end of the turn, if it is that.
    fn happens<'b>(
        &'b self,
        name: &str,
        frame: &Frame,
        told: &mut Told,
        asking: &mut FuturesUnordered<LocalBoxFuture<'b, ()>>,
    ) -> Option<Result<Value, Fault>> {
        let mut data: Value = serde_json::from_str(&frame.data).unwrap_or_default();
        if let Some(call) = data["call"].as_str() {
            data["call"] = format!("{}-{call}", told.turn).into();
        }
        let text = |key: &str| data[key].as_str().unwrap_or_default();
        match frame.event.as_str() {
            "turn.accepted" => told.turn = data["turn"].to_string().trim_matches('"').to_owned(),
            "text.delta" => {
                told.said.push_str(text("text"));
                chunk(name, "agent_message_chunk", text("text"));
            }
            "reasoning.delta" => chunk(name, "agent_thought_chunk", text("text")),
            "text.reset" => {
                told.said.clear();
                chunk(name, "agent_message_chunk", "\n\n");
            }
            "editor.call" => {
                told.said.clear();
                told.call = data["call"].as_str().map(str::to_owned);
                update(name, tool::begun(&data));
            }
            "tool.call" if !told.is_whole => {
                told.said.clear();
                told.bare_calls += 1;
                let call = format!("{}-bare-{}", told.turn, told.bare_calls);
                update(name, tool::begun_barely(&call, &data));
                told.call = Some(call);
            }
            "tool.done" if !told.is_whole => {
                let call = told.call.take();
                update(name, tool::done_barely(call.as_deref(), &data));
            }
            "editor.done" => {
                told.call = None;
                update(name, tool::done(&data));
                if let Some(plan) = tool::plan(&data) {
                    update(name, plan);
                }
            }
            "editor.read" | "editor.write" => {
                asking.push(Box::pin(self.ask_for_file(name.to_owned(), data)));
            }
            "approval.asked" => {
                let call = told.call.clone();
                asking.push(Box::pin(self.ask_for_leave(name.to_owned(), call, data)));
            }
            "error" => return Some(Err(Fault::failed(text_of(&data["error"])))),
            "turn.ended" => return Some(ended(name, &data, told)),
            _ => {}
        }
        None
    }

    /// Has the editor say what it has open, or take what was written, and tells the turn.
    async fn ask_for_file(&self, name: String, event: Value) {
        let (path, request) = (&event["path"], &event["request"]);
        let answer = match event.get("text") {
            None => {
                let params = json!({ "sessionId": name, "path": path });
                let answer = self.client.ask(&name, "fs/read_text_file", params).await;
                answer.map(|result| result["content"].clone())
            }
            Some(text) => {
                let params = json!({ "sessionId": name, "path": path, "content": text });
                let answer = self.client.ask(&name, "fs/write_text_file", params).await;
                answer.map(|_| Value::Null)
            }
        };
        let body = match answer {
            Ok(text) => json!({ "session": name, "request": request, "text": text }),
            Err(why) => json!({ "session": name, "request": request, "error": why }),
        };
        // A turn that does not wait any more needs no answer.
        let _ = self.post("editor/answer", body).await;
    }

    /// Puts a question to whoever sits at the editor, and answers it as they do. Who may not
    /// answer is told that somebody else has to.
    async fn ask_for_leave(&self, name: String, call: Option<String>, asked: Value) {
        let text = |key: &str| asked[key].as_str().unwrap_or_default();
        let (id, what) = (text("id"), text("what"));
        let may_approve = self.sessions().get(&name).is_some_and(|session| session.may_approve);
        if !may_approve {
            let said = format!("Waits for an admin of the agent to allow this: {what}\n");
            return chunk(&name, "agent_thought_chunk", &said);
        }
        let call = call.unwrap_or_else(|| format!("approval-{id}"));
        let content = json!([{ "type": "content", "content": { "type": "text", "text": what } }]);
        let params = json!({
            "sessionId": name,
            "toolCall": {
                "toolCallId": call,
                "title": format!("{}: {}", text("tool"), text("rule")),
                "kind": tool::kind(text("tool")),
                "status": "pending",
                "content": content,
            },
            "options": [
                { "optionId": "once", "name": "Allow once", "kind": "allow_once" },
                { "optionId": "session", "name": "Allow in this session", "kind": "allow_always" },
                { "optionId": "always", "name": "Always allow", "kind": "allow_always" },
                { "optionId": "deny", "name": "Deny", "kind": "reject_once" },
            ],
        });
        let answer = self.client.ask(&name, "session/request_permission", params).await;
        let path = self.path(&format!("approvals/{}", part(id)));
        // Somebody else may have been faster; the turn says which answer counted.
        let _ = self.reach.post(&path, Some(decision(&answer))).await;
    }
}

/// What an answer to a question means. Whatever is no clear yes is a no.
fn decision(answer: &Answer) -> Value {
    let deny = |reason: &str| json!({ "decision": "deny", "reason": reason });
    let outcome = match answer {
        Ok(result) => &result["outcome"],
        Err(why) => return deny(why),
    };
    if outcome["outcome"] != "selected" {
        return deny("nobody answered at the editor");
    }
    match outcome["optionId"].as_str() {
        Some(scope @ ("once" | "session" | "always")) => {
            json!({ "decision": "approve", "scope": scope })
        }
        _ => json!({ "decision": "deny" }),
    }
}

/// How a turn ended, for the editor.
fn ended(name: &str, data: &Value, told: &Told) -> Result<Value, Fault> {
    let stop = |reason: &str| Ok(json!({ "stopReason": reason }));
    match data["status"].as_str() {
        Some("replied") => {
            let text = data["text"].as_str().unwrap_or_default();
            // Deltas may have been missed; the end has all of it.
            match text.strip_prefix(told.said.as_str()) {
                Some(rest) => chunk(name, "agent_message_chunk", rest),
                None => chunk(name, "agent_message_chunk", &format!("\n\n{text}")),
            }
            match data["cut"].as_str() {
                Some("length" | "repeating") => stop("max_tokens"),
                Some("filtered") => stop("refusal"),
                _ => stop("end_turn"),
            }
        }
        Some("stopped") => stop("cancelled"),
        _ => Err(Fault::failed(text_of(&data["error"]))),
    }
}

fn text_of(error: &Value) -> &str {
    error.as_str().or_else(|| error["message"].as_str()).unwrap_or("the turn failed")
}

/// What a prompt says, and the pictures that it shows.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    text: String,
    /// As the daemon takes them.
    parts: Vec<Value>,
}

/// Reads a prompt. What an agent can't be shown here is refused.
fn said(prompt: &Value) -> Result<Said, Fault> {
    let blocks = prompt.as_array().ok_or_else(|| Fault::params("`prompt` is a list of blocks"))?;
    let (mut words, mut parts) = (Vec::new(), Vec::new());
    for block in blocks {
        let text = |key: &str| block[key].as_str().unwrap_or_default();
        match block["type"].as_str() {
            Some("text") => words.push(text("text").to_owned()),
            Some("resource_link") => words.push(format!("[{}]({})", text("name"), text("uri"))),
            Some("image") => parts.push(picture(text("mimeType"), text("data"))?),
            Some("resource") => {
                let resource = &block["resource"];
                let text = |key: &str| resource[key].as_str();
                let (uri, kind) = (text("uri").unwrap_or_default(), text("mimeType"));
                match (text("text"), text("blob"), kind.unwrap_or_default()) {
                    (Some(content), ..) => {
                        words.push(format!("<file uri=\"{uri}\">\n{content}\n</file>"));
                    }
                    (None, Some(blob), kind) if kind.starts_with("image/") => {
                        parts.push(picture(kind, blob)?);
                    }
                    _ => return Err(Fault::params("a resource has to be text or a picture")),
                }
            }
            other => {
                let other = other.unwrap_or("nothing").escape_debug().to_string();
                return Err(Fault::params(&format!(
                    "a block of `{other}` is not taken: text and pictures only"
                )));
            }
        }
    }
    let text = words.join("\n\n");
    match text.trim().is_empty() && parts.is_empty() {
        true => Err(Fault::params("the prompt says nothing")),
        false => Ok(Said { text, parts }),
    }
}

/// A picture as the daemon takes one, which looks at what is in it.
fn picture(kind: &str, data: &str) -> Result<Value, Fault> {
    if !kind.starts_with("image/") || data.is_empty() {
        return Err(Fault::params("a picture needs a `mimeType` such as image/png, and `data`"));
    }
    let url = format!("data:{kind};base64,{data}");
    Ok(json!({ "type": "image_url", "image_url": { "url": url } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let selected =
            |id: &str| Ok(json!({ "outcome": { "outcome": "selected", "optionId": id } }));
        assert_eq!(decision(&selected("once"))["scope"], "once");
        assert_eq!(decision(&selected("always"))["scope"], "always");
        for answer in [
            selected("deny"),
            selected("yolo"),
            Ok(json!({ "outcome": { "outcome": "cancelled" } })),
            Ok(json!({ "outcome": "selected", "optionId": "once" })),
            Ok(Value::Null),
            Err("no".to_owned()),
        ] {
            assert_eq!(decision(&answer)["decision"], "deny", "{answer:?}");
        }
    }

    #[test]
    fn a_prompt_is_words_and_pictures_and_what_is_neither_is_refused() {
        let prompt = json!([
            { "type": "text", "text": "look at" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "resource_link", "name": "a.rs", "uri": "file:///p/a.rs" },
            { "type": "resource", "resource": { "uri": "file:///p/b", "text": "fn b() {}" } },
            { "type": "resource", "resource": { "uri": "x", "mimeType": "image/gif", "blob": "BB==" } },
        ]);
        let Said { text, parts } = said(&prompt).unwrap();
        assert_eq!(
            text,
            "look at\n\n[a.rs](file:///p/a.rs)\n\n<file uri=\"file:///p/b\">\nfn b() {}\n</file>"
        );
        let urls: Vec<&Value> = parts.iter().map(|part| &part["image_url"]["url"]).collect();
        assert_eq!(urls, ["data:image/png;base64,AAAA", "data:image/gif;base64,BB=="]);
        let alone = said(&json!([{ "type": "image", "mimeType": "image/png", "data": "AAAA" }]));
        assert_eq!(alone.unwrap().parts.len(), 1);
        for wrong in [
            json!("x"),
            json!([]),
            json!([{}]),
            json!([{ "type": "text", "text": " " }]),
            json!([{ "type": "image", "mimeType": "image/png", "data": "" }]),
            json!([{ "type": "image", "mimeType": "text/html", "data": "AAAA" }]),
            json!([{ "type": "audio", "mimeType": "audio/wav", "data": "AAAA" }]),
            json!([{ "type": "resource", "resource": { "blob": "AAAA" } }]),
        ] {
            said(&wrong).unwrap_err();
        }
    }
}
