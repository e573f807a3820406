//! Conversations that were held before: which there are, and what was said in one.

use super::answer::Fault;
use super::client::{chunk, update};
use super::{Bridge, session, tool};
use crate::reach::part;
use serde_json::{Value, json};

/// Conversations in one page of the daemon's.
const PAGE: usize = 100;
/// Pages that are looked through for one.
const PAGES_MAX: usize = 50;
/// Messages of a conversation that are told again, the latest ones.
const MESSAGES_MAX: usize = 500;

impl Bridge<'_> {
    /// The conversations of this person's editors, the latest first.
    pub(super) async fn list(&self, params: &Value) -> Result<Value, Fault> {
        let cursor = params["cursor"].as_str();
        let cwd = params["cwd"].as_str();
        let page = self.page(cursor).await?;
        let next = page.last().filter(|_| page.len() == PAGE).map(|last| number(&last["id"]));
        let own = page.iter().filter_map(|it| {
            let name = session::of_key(it["key"].as_str()?, &self.account)?;
            let of = session::cwd_of(&name)?;
            let is_wanted = cwd.is_none_or(|cwd| cwd == of) && it["ended"] != true;
            is_wanted.then(|| {
                json!({ "sessionId": name, "cwd": of, "title": it["title"], "updatedAt": it["used"] })
            })
        });
        let own: Vec<Value> = own.collect();
        let mut told = json!({ "sessions": own });
        if let Some(next) = next {
            told["nextCursor"] = next.into();
        }
        Ok(told)
    }

    async fn page(&self, before: Option<&str>) -> Result<Vec<Value>, Fault> {
        let before = before.map(|before| format!("&before={}", part(before))).unwrap_or_default();
        let path = self.path(&format!("sessions?limit={PAGE}{before}"));
        let Value::Array(page) = self.reach.get(&path).await? else { return Ok(Vec::new()) };
        Ok(page)
    }

    /// What the daemon calls a conversation; `None` where this person has none of that name.
    pub(super) async fn number_of(&self, name: &str) -> Result<Option<String>, Fault> {
        let mut before: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let page = self.page(before.as_deref()).await?;
            let is_it = |it: &&Value| {
                let key = it["key"].as_str().unwrap_or_default();
                it["ended"] != true && session::of_key(key, &self.account).as_deref() == Some(name)
            };
            if let Some(found) = page.iter().find(is_it) {
                return Ok(Some(number(&found["id"])));
            }
            match page.last() {
                Some(last) if page.len() == PAGE => before = Some(number(&last["id"])),
                _ => break,
            }
        }
        Ok(None)
    }

    /// Tells the editor what was said in a conversation, as if it happened now.
    pub(super) async fn tell_history(&self, name: &str, number: &str) -> Result<(), Fault> {
        let path = self.path(&format!("sessions/{}?limit={MESSAGES_MAX}", part(number)));
        let transcript = self.reach.get(&path).await?;
        for message in transcript["messages"].as_array().into_iter().flatten() {
            let text = message["text"].as_str().unwrap_or_default();
            match message["role"].as_str() {
                Some("user") => chunk(name, "user_message_chunk", text),
                Some("assistant") => {
                    chunk(name, "agent_message_chunk", text);
                    let tools = message["tools"].as_array().into_iter().flatten();
                    for (index, called) in tools.filter_map(Value::as_str).enumerate() {
                        let call = format!("past-{}-{index}", message["seq"]);
                        update(
                            name,
                            json!({
                                "sessionUpdate": "tool_call", "toolCallId": call, "title": called,
                                "kind": tool::kind(called), "status": "completed",
                            }),
                        );
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn number(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
