//! The handles a tool gets for one call, bound to this turn's agent, session and scope.

use crate::history::results_of;
use crate::run::TurnContext;
use async_trait::async_trait;
use insula_capabilities::Capabilities;
use insula_domain::MemoryOperation;
use insula_domain::ScopeName;
use insula_store::{Counted, Message, MessageSeq, Part, Seals, SessionId, SessionRef};
use insula_tools::hands::{HandError, History, Hit, Order, Search};

/// What was said before, as far as the scope of one turn reaches.
pub(crate) struct ScopedHistory<'c> {
    caps: &'c Capabilities,
    cx: &'c TurnContext,
}

impl<'c> ScopedHistory<'c> {
    /// A handle on what was said in the scope of a turn.
    pub(crate) fn new(caps: &'c Capabilities, cx: &'c TurnContext) -> Self {
        Self { caps, cx }
    }

    /// The scope, decided now.
    async fn scope(&self) -> Result<ScopeName, HandError> {
        let TurnContext { agent, from, key, .. } = self.cx;
        let resolved = self.caps.memory_scope(agent, from, key, MemoryOperation::Read).await;
        let resolved = resolved.map_err(|denied| HandError(denied.to_string()))?;
        Ok(resolved.writes.into())
    }
}

#[async_trait]
impl History for ScopedHistory<'_> {
    async fn search(&self, search: Search<'_>) -> Result<Vec<Hit>, HandError> {
        let scope = self.scope().await?;
        let found = self.cx.agent.store.search(&scope, search.query, search.limit).await;
        let mut found = found.map_err(|error| HandError(error.to_string()))?;
        if search.order == Order::Newest {
            found.sort_by_key(|hit| std::cmp::Reverse(hit.at));
        }
        self.cx.seen.add_all(found.iter().map(|hit| &*hit.label));
        let seals = self.cx.agent.store.seals();
        let hits = found.into_iter().map(|hit| Hit {
            session: seals.seal(Counted::Session, hit.session.0),
            message: i64::try_from(hit.seq.0).unwrap_or(i64::MAX),
            at: hit.at.to_string(),
            role: hit.role.as_str().to_owned(),
            text: hit.snippet,
        });
        Ok(hits.collect())
    }

    async fn around(
        &self,
        session: &str,
        message: i64,
        window: usize,
    ) -> Result<Vec<Hit>, HandError> {
        let failed = |error: insula_store::StoreError| HandError(error.to_string());
        let (scope, store) = (self.scope().await?, &self.cx.agent.store);
        let seals = store.seals();
        let Some(id) = seals.open(Counted::Session, session).map(SessionId) else {
            return Ok(Vec::new());
        };
        // A session of another scope is, from here, one that does not exist.
        let known = store.session(SessionRef::Id(id)).await.map_err(failed)?;
        if known.is_none() {
            return Ok(Vec::new());
        }
        let first = u64::try_from(message).unwrap_or(0).saturating_sub(window as u64 + 1);
        let limit = window.saturating_mul(2) + 1;
        let messages = store.messages_after(id, MessageSeq(first), limit).await.map_err(failed)?;
        // A session that several people share has messages of several scopes.
        let here = messages.iter().filter(|message| message.scope == scope);
        self.cx.seen.add_all(here.clone().map(|message| &*message.label));
        Ok(here.map(|message| hit(message, &seals)).collect())
    }
}

fn hit(message: &Message, seals: &Seals) -> Hit {
    Hit {
        session: seals.seal(Counted::Session, message.session.0),
        message: i64::try_from(message.seq.0).unwrap_or(i64::MAX),
        at: message.at.to_string(),
        role: message.role.as_str().to_owned(),
        text: text_of(&message.parts),
    }
}

/// The words of a message, and what stands beside them.
pub fn text_of(parts: &[Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Beside(text) => Some(text.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// What somebody typed of a message that is theirs: nothing of what stands beside it.
pub fn typed_of(parts: &[Part]) -> String {
    let typed = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    insula_domain::words::join(typed)
}

/// What `tool` gave back in all its calls, in order.
pub fn outputs_of<'h>(history: &'h [Message], tool: &str) -> Vec<&'h str> {
    let mut called = std::collections::BTreeSet::new();
    let mut outputs = Vec::new();
    for part in history.iter().flat_map(|message| &message.parts) {
        match part {
            Part::ToolCall { id, name, .. } if **name == *tool => {
                called.insert(id);
            }
            Part::ToolResult { call, text, is_error: false, .. } if called.contains(call) => {
                outputs.push(text.as_str());
            }
            _ => {}
        }
    }
    outputs
}

/// What `tool` last gave back, by the calls and results of `history`.
pub fn last_output<'h>(history: &'h [Message], tool: &str) -> Option<&'h str> {
    (0..history.len()).rev().find_map(|at| {
        let called = history[at].parts.iter().rev().filter_map(|part| match part {
            Part::ToolCall { id, name, .. } if **name == *tool => Some(id),
            _ => None,
        });
        let results = || results_of(history, at).iter().flat_map(|message| &message.parts);
        let gave = |id: &str| {
            results().find_map(|part| match part {
                Part::ToolResult { call, text, is_error: false, .. } if **call == *id => Some(text),
                _ => None,
            })
        };
        called.into_iter().find_map(|id| gave(id)).map(String::as_str)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_words_is_read_and_was_not_typed() {
        let parts = [
            Part::Beside("⟦from telegram:1⟧".to_owned()),
            Part::Text("pay Ann".to_owned()),
            Part::Beside("DE89".to_owned()),
            Part::Text("now".to_owned()),
        ];
        assert_eq!(text_of(&parts), "⟦from telegram:1⟧\npay Ann\nDE89\nnow");
        let typed = typed_of(&parts);
        assert!(typed.contains("pay Ann") && typed.ends_with("now") && !typed.contains("DE89"));
    }
}
