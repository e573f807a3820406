//! What a page of a web chat may hear of a conversation, now and of what was said before.

use crate::delivery::SILENT;
use crate::ingress::without_notes;
use crate::tenant;
use insula_channel::{Hearing, Spoken, Tenant};
use insula_domain::{Actor, Address, AgentId, Asker, ChatType, Platform};
use insula_registry::forgotten::Forgotten;
use insula_registry::{Access, AgentContext, AgentState};
use insula_store::outbox::DELIVERIES_MAX;
use insula_store::{
    Content, Counted, Delivery, DeliveryState, Message, MessageSeq, Part, Role, SessionId,
    SessionRef, StoreError, Window,
};
use insula_turns::Engine;
use insula_turns::messages::text_of;

/// What of a conversation is told.
const PAST: Window = Window { messages: 200, bytes: 128 * 1024 };

/// Whom somebody may hear who speaks at an address, as things stand when it is asked. In a room
/// with others the agent has to let them in: what is said there is not for strangers' ears. In
/// their own they may ask for that, and hear what strangers are told.
pub async fn hearing(
    (access, forgotten): (&Access, &Forgotten),
    agent: &AgentId,
    address: &Address,
) -> Option<Hearing> {
    let snapshot = access.snapshot();
    let (agent, is_serving) = match &snapshot.agents.get(agent)?.state {
        AgentState::Ready(agent) => (agent, true),
        AgentState::Paused(agent) => (agent, false),
        _ => return None,
    };
    let asker = Asker { address, also: &[], is_bot: false };
    let is_let_in = access.admit(agent, asker).await.is_ok_and(|guest| guest.is_some());
    let is_own = address.chat_type == ChatType::Dm;
    let (tenant, past) = match (is_let_in, is_serving) {
        (true, true) => (tenant::of(forgotten, agent), true),
        // That it is paused is told them in a room of their own.
        (true, false) if is_own => (tenant::of(forgotten, agent), false),
        (false, _) if is_own => (tenant::to_strangers(forgotten, agent), false),
        _ => return None,
    };
    let answers = match access.handed_to(agent, address).filter(|_| is_let_in) {
        None => tenant.clone(),
        // While it does not serve nobody answers in its place.
        Some(to) => match &snapshot.agents.get(&to)?.state {
            AgentState::Ready(to) | AgentState::Paused(to) => tenant::of(forgotten, to),
            _ => return None,
        },
    };
    Some(Hearing { tenant, answers, past })
}

/// What was said at an address, from the records of the agent that it leads to, for somebody whom
/// it lets in; and since that one handed it over, from the records of who answers.
pub async fn spoken(
    (access, forgotten): (&Access, &Forgotten),
    engine: Option<&Engine>,
    address: &Address,
) -> Result<Vec<Spoken>, StoreError> {
    let Ok(answering) = access.snapshot().route(address) else { return Ok(Vec::new()) };
    let agent = answering.context;
    let asker = Asker { address, also: &[], is_bot: false };
    if access.admit(&agent, asker).await?.is_none() {
        return Ok(Vec::new());
    }
    let marked = |agent: &AgentContext| (tenant::of(forgotten, agent), None);
    let mut all = records(&agent, engine, address, marked(&agent)).await?;
    if let Some(to) = access.handed_to(&agent, address)
        && let Some(to) = access.snapshot().agents.get(&to).and_then(|it| it.state.context())
    {
        let (tenant, _) = marked(to);
        all.extend(records(to, engine, address, (tenant, Some(&agent.id))).await?);
    }
    Ok(all)
}

/// What was said at an address, from the records of one agent; of one that another handed it to,
/// what came after that.
async fn records(
    agent: &AgentContext,
    engine: Option<&Engine>,
    address: &Address,
    (tenant, since): (Tenant, Option<&AgentId>),
) -> Result<Vec<Spoken>, StoreError> {
    let key = agent.session_key(address).to_string();
    let Some(session) = agent.store.session(SessionRef::Key(key.into())).await? else {
        return Ok(Vec::new());
    };
    let mut kept = agent.store.messages_tail(session.id, PAST).await?;
    // What it was told then is the last thing that the other said to it. Where that is further
    // back, all of this came after it.
    let by = since.map(Actor::agent);
    let told = |message: &Message| by.as_ref() == Some(&message.principal);
    if let Some(at) = kept.iter().rposition(told) {
        kept.drain(..=at);
    }
    // Looked up after the words, so that none is left out of both.
    let coming = still_coming(agent, session.id).await?;
    let session = agent.store.seals().seal(Counted::Session, session.id.0);
    let spoken = kept.iter().filter_map(|message| {
        if coming.contains(&message.seq) {
            return None;
        }
        let text = text_of(&message.parts);
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        let (user, text) = match message.role {
            Role::User => (Some(speaker(message)?), without_notes(&text)),
            Role::Assistant if !message.parts.iter().any(is_call) => (None, text),
            _ => return None,
        };
        let text = engine.map_or_else(|| text.clone(), |engine| engine.told(agent, text.clone()));
        let id = format!("{session}-{}", message.seq.0).into();
        (!text.is_empty() && text.trim() != SILENT).then(|| Spoken {
            id,
            tenant: tenant.clone(),
            user,
            text,
        })
    });
    Ok(spoken.collect())
}

/// The replies of a session that are on their way: they are told when they come.
async fn still_coming(
    agent: &AgentContext,
    session: SessionId,
) -> Result<Vec<MessageSeq>, StoreError> {
    let unsent = agent.store.deliveries(None, DELIVERIES_MAX).await?;
    let own = unsent.into_iter().filter(|it| it.session == Some(session));
    let seq = |it: Delivery| match (it.content, it.state) {
        (_, DeliveryState::Sent | DeliveryState::Held | DeliveryState::Failed) => None,
        (Content::Message(seq), _) => Some(seq),
        (Content::Text(_) | Content::TurnEnd, _) => None,
    };
    Ok(own.filter_map(seq).collect())
}

/// Who of the web chat said something.
fn speaker(message: &Message) -> Option<Box<str>> {
    match &message.principal {
        Actor::User(who) if who.platform == Platform::WEB => Some(who.user.as_str().into()),
        _ => None,
    }
}
