//! What was said in a conversation before, for a page that comes to it.

use crate::Api;
use insula_domain::{Actor, Address, Asker, Platform};
use insula_gateway::{SILENT, without_notes};
use insula_store::{Counted, Message, Part, Role, SessionRef, StoreError, Window};
use insula_turns::desk::text_of;

/// What of a conversation is told.
const PAST: Window = Window { messages: 200, bytes: 128 * 1024 };

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Its name, which is the same whenever it is told.
    pub id: Box<str>,
    /// Who said it; `None` for the agent.
    pub user: Option<Box<str>>,
    /// What was said.
    pub text: String,
}

/// What was said at an address, from the records of the agent that answers there, for somebody
/// whom it lets in.
pub async fn spoken(api: &Api, address: &Address) -> Result<Vec<Spoken>, StoreError> {
    let Ok(answering) = api.daemon.snapshot().route(address) else { return Ok(Vec::new()) };
    let agent = answering.context;
    let asker = Asker { address, also: &[], is_bot: false };
    if api.daemon.admit(&agent, asker).await?.is_none() {
        return Ok(Vec::new());
    }
    let key = agent.session_key(address).to_string();
    let Some(session) = agent.store.session(SessionRef::Key(key.into())).await? else {
        return Ok(Vec::new());
    };
    let kept = agent.store.messages_tail(session.id, PAST).await?;
    let session = agent.store.seals().seal(Counted::Session, session.id.0);
    let spoken = kept.iter().filter_map(|message| {
        let text = text_of(&message.parts);
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        let (user, text) = match message.role {
            Role::User => (Some(speaker(message)?), without_notes(&text)),
            Role::Assistant if !message.parts.iter().any(is_call) => (None, text),
            _ => return None,
        };
        let engine = api.engine.as_ref();
        let text = engine.map_or_else(|| text.clone(), |engine| engine.told(&agent, text.clone()));
        let id = format!("{session}-{}", message.seq.0).into();
        (!text.is_empty() && text.trim() != SILENT).then_some(Spoken { id, user, text })
    });
    Ok(spoken.collect())
}

/// Who of the web chat said something.
fn speaker(message: &Message) -> Option<Box<str>> {
    match &message.principal {
        Actor::User(who) if who.platform == Platform::WEB => Some(who.user.as_str().into()),
        _ => None,
    }
}
