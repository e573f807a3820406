//! What a step does: over the engine, the gateway, the daemon and the API, as the surfaces of a
//! daemon would.

use super::cast;
use super::looks::get;
use super::pages;
use super::stage::{OPERATOR, Open, Stage};
use super::stranger;
use super::trace::{Chat, Joining, Room, Step, Verdict};
use anyhow::Result;
use insula_channel::{Envelope, EventId, Happening, Message, MessageId, Quoted, Sender};
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, Integrity, Label, Platform, SessionKey, Source,
    SourceKind, UserId,
};
use insula_registry::daemon::lifecycle::NewAgent;
use insula_registry::tokens::Verb;
use insula_registry::{AgentContext, AgentState};
use insula_store::{Part, SessionRef};
use insula_turns::approvals::{ApprovalAnswer, ApprovalDuration};
use insula_turns::{Acknowledge, BusyMode, Inbound, TurnHandle};
use insula_vault::{Secret, SecretName, SecretOwner};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Makes the token of the agent that is watched.
pub async fn make_token(stage: &Stage, open: &Open) -> Result<()> {
    if let Some((id, text)) = token_for(stage, open, &AgentId::new(cast::WATCHED)?).await {
        stage.observed.note("token", format!("{id} {text}"));
    }
    Ok(())
}

/// Makes a token for an agent, and keeps it as its only one.
async fn token_for(stage: &Stage, open: &Open, id: &AgentId) -> Option<(String, String)> {
    let agents = [id.clone()].into();
    let made = open.daemon.create_token(agents, Verb::ALL.into(), None, &OPERATOR).await;
    let (token, text) = made.ok()?;
    stage.tokens().insert(id.to_string(), text.clone());
    Some((token.id.to_string(), text))
}

/// The token of an agent, which is made where there is none.
async fn token_of(stage: &Stage, open: &Open, id: &AgentId) -> Option<String> {
    let known = stage.tokens().get(id.as_str()).cloned();
    match known {
        Some(text) => Some(text),
        None => token_for(stage, open, id).await.map(|(_, text)| text),
    }
}

/// A page of whoever has the agent's token says a frame.
async fn on_page(stage: &Stage, open: &Open, id: &AgentId, frame: &Value) -> String {
    let Some(token) = token_of(stage, open, id).await else { return "no token".to_owned() };
    let watching = (id.as_str() == cast::WATCHED).then_some(&stage.observed);
    plain(open.pages.say(&token, watching, frame).await)
}

fn room(id: &str, room: Room) -> String {
    match room {
        Room::Own => pages::den(id),
        Room::Common => pages::COMMON.to_owned(),
    }
}

/// Something happens to another agent; first it is added, should it not be there.
pub async fn perform_other(stage: &Stage, open: &Open, who: usize, step: Step) -> String {
    let (other, is_new) = {
        let mut others = stage.others();
        let Some(other) = others.get_mut(who) else { return String::new() };
        let is_new = !other.is_there;
        other.is_there = true;
        (other.clone(), is_new)
    };
    let Ok(id) = AgentId::new(&other.id) else { return String::new() };
    if is_new {
        let _ = stage.write_shared();
        if !other.is_in_shared_file {
            let new = NewAgent {
                model: Some(format!("p-{id}/gpt-4o")),
                memory: Some(true),
                ..NewAgent::default()
            };
            let _ = open.daemon.add(&id, &new, &OPERATOR).await;
        }
        let _ = open.daemon.reload(None, &OPERATOR).await;
    }
    if step == Step::Look {
        let _ = open.daemon.create_token([id].into(), Verb::ALL.into(), None, &OPERATOR).await;
        return get(&open.router, open.admin.reveal(), "/api/agents").await;
    }
    perform(stage, open, &other.id, &step).await
}

fn context(open: &Open, id: &AgentId) -> Option<Arc<AgentContext>> {
    open.parts.registry.snapshot().agents.get(id)?.state.context().cloned()
}

fn address(id: &str, chat: Chat) -> Option<Address> {
    let (platform, account, chat, chat_type, user) = match chat {
        // The session of a room is the room's, whoever speaks there.
        Chat::Room(which) => (
            Platform::WEB,
            pages::ACCOUNT.to_owned(),
            room(id, which),
            ChatType::Group,
            "ann".to_owned(),
        ),
        Chat::Api(number) => (
            Platform::API,
            "token".to_owned(),
            format!("talk{number}"),
            ChatType::Dm,
            "ann".to_owned(),
        ),
        Chat::Direct(user) => {
            let user = user.to_string();
            (Platform::new("telegram").ok()?, format!("{id}bot"), user.clone(), ChatType::Dm, user)
        }
        Chat::Group(chat, user) => (
            Platform::new("telegram").ok()?,
            format!("{id}bot"),
            format!("-{chat}"),
            ChatType::Group,
            user.to_string(),
        ),
    };
    Some(Address {
        platform,
        account: AccountId::new(account).ok()?,
        chat: ChatId::new(chat).ok()?,
        chat_type,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new(user).ok()?),
        roles: Vec::new(),
    })
}

fn key(agent: &AgentContext, id: &str, chat: Chat) -> Option<SessionKey> {
    Some(agent.session_key(&address(id, chat)?))
}

/// Something that whoever has the agent's token says.
async fn inbound(
    (stage, open): (&Stage, &Open),
    agent: &Arc<AgentContext>,
    address: &Address,
    text: String,
) -> Inbound {
    let token = token_of(stage, open, &agent.id).await;
    let token = token.and_then(|text| open.parts.tokens.find(&text));
    let who = token.map_or("nobody".into(), |token| token.id.clone());
    Inbound {
        session: agent.session_key(address),
        scope: agent.scope(address),
        label: Label::of(insula_domain::Audience::of(address)),
        principal: format!("api:{who}").into(),
        history: Vec::new(),
        parts: vec![Part::Text(text)],
        idempotency: None,
        origin: None,
        acknowledge: Acknowledge::AtOnce,
        agent: agent.clone(),
    }
}

/// Somebody says something on the platform.
async fn say_there(stage: &Stage, open: &Open, id: &str, chat: Chat, text: String) -> String {
    let Some(address) = address(id, chat) else { return "no address".to_owned() };
    let number = stage.next_event(id);
    let what = Happening::Said(Message {
        id: MessageId(format!("m{number}").into()),
        words: insula_domain::Words::typed(&text),
        mentions_us: true,
        is_for_another: false,
        attachments: Vec::new(),
        quoted: (stage.plan.is_steered && number.is_multiple_of(4)).then(a_stranger_quoted),
        group: None,
    });
    let envelope = Envelope {
        event: EventId(format!("e{number}").into()),
        sender: Sender { name: "Ann".into(), ..Sender::default() },
        address,
        at: Timestamp::from_millis(0),
        what,
    };
    match open.way.take(envelope).await {
        Ok(()) => "taken".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn a_stranger_quoted() -> Quoted {
    Quoted {
        id: MessageId("quoted".into()),
        author: UserId::new("66").ok(),
        is_ours: false,
        is_from_here: true,
        text: stranger::FOREIGN.to_owned(),
    }
}

/// Notes what a turn says until its end, where it is one of the agent that is watched.
fn listen(stage: &Stage, id: &str, mut handle: TurnHandle) -> String {
    let turn = handle.turn;
    if id == cast::WATCHED {
        let observed = stage.observed.clone();
        tokio::spawn(async move {
            while let Some(event) = handle.events.recv().await {
                observed.note(&format!("heard:{turn}"), event.to_string());
            }
        });
    }
    format!("turn {turn}")
}

fn plain<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "done".to_owned())
}

fn reason<T>(result: Result<T, insula_registry::RuntimeError>) -> String {
    result.map_or_else(|error| error.reason(), |_| "done".to_owned())
}

/// Something happens to an agent; what came of it.
pub async fn perform(stage: &Stage, open: &Open, name: &str, step: &Step) -> String {
    let Ok(id) = AgentId::new(name) else { return "no agent".to_owned() };
    let (registry, engine) = (&open.parts.registry, &open.engine);
    let agent = context(open, &id);
    match step {
        Step::Say { chat, joining, acts } => {
            let text = Value::Array(acts.clone()).to_string().replace("{id}", name);
            if let Chat::Room(which) = chat {
                let number = stage.next_event(name);
                let frame = json!({ "type": "say", "id": format!("s{number}"), "room": room(name, *which), "text": text, "mention": true });
                return on_page(stage, open, &id, &frame).await;
            }
            let Chat::Api(_) = chat else { return say_there(stage, open, name, *chat, text).await };
            let (Some(AgentState::Ready(agent)), Some(address)) = (
                registry.snapshot().agents.get(&id).map(|entry| entry.state.clone()),
                address(name, *chat),
            ) else {
                return "it does not serve".to_owned();
            };
            let mode = match joining {
                Joining::Queue => BusyMode::Queue,
                Joining::Steer => BusyMode::Steer,
                Joining::Interrupt => BusyMode::Interrupt,
            };
            let mut inbound = inbound((stage, open), &agent, &address, text).await;
            if stage.plan.is_steered && *joining == Joining::Steer {
                let stranger = Source::new(SourceKind::Quoted, "a stranger");
                inbound.label = inbound.label.with(&Integrity::of(stranger));
            }
            match engine.submit_as(mode, inbound).await {
                Ok(handle) => listen(stage, name, handle),
                Err(error) => error.to_string(),
            }
        }
        Step::Command { chat, text } => say_there(stage, open, name, *chat, text.clone()).await,
        Step::Release => {
            for word in stage.holding.take(name) {
                word.notify_one();
            }
            "released".to_owned()
        }
        Step::Configure(version) => configure(stage, open, name, *version).await,
        Step::Secret(version) => secret(open, &id, *version).await,
        Step::Look => stage.look(open).await,
        Step::Enter(which) => {
            let frame = json!({ "type": "join", "room": room(name, *which) });
            on_page(stage, open, &id, &frame).await
        }
        Step::Leave(which) => {
            let frame = json!({ "type": "leave", "room": room(name, *which) });
            on_page(stage, open, &id, &frame).await
        }
        Step::Claim(is_host) => claim(stage, open, *is_host).await,
        Step::Revoke => revoke(stage, open, &id).await,
        Step::Pause => reason(engine.capabilities().pause(&id, &OPERATOR).await),
        Step::Resume => reason(engine.capabilities().resume(&id, &OPERATOR).await),
        Step::Recreate => recreate(stage, open, &id).await,
        Step::EditFile(path, text) => {
            plain(stage.ground.write(&format!("agents/{name}/workspace/{path}"), text))
        }
        Step::EditMemory(chat, text) => {
            let number = match chat {
                Chat::Api(number) | Chat::Direct(number) | Chat::Group(number, _) => *number,
                Chat::Room(_) => 0,
            };
            stage.ground.add_to_memory(name, usize::from(number), text);
            "edited".to_owned()
        }
        Step::Wait(_) | Step::Crash | Step::Restart => String::new(),
        Step::Stop(_) | Step::Answer(_) | Step::Anew(_) | Step::Forget(_) | Step::Retry(_) => {
            match agent {
                Some(agent) => converse(stage, open, &agent, step).await,
                None => "it is not there".to_owned(),
            }
        }
    }
}

/// What is done to conversations and questions of an agent.
async fn converse(stage: &Stage, open: &Open, agent: &Arc<AgentContext>, step: &Step) -> String {
    let (name, engine) = (agent.id.as_str(), &open.engine);
    match step {
        Step::Stop(chat) => match key(agent, name, *chat) {
            Some(key) => format!("stopped {}", engine.stop(&key)),
            None => "no address".to_owned(),
        },
        Step::Answer(verdict) => {
            let waiting = match engine.approvals().list(agent).await {
                Ok(waiting) => waiting,
                Err(error) => return error.to_string(),
            };
            let is_for_stranger = waiting.first().is_some_and(|it| it.what.contains("steered"));
            let answer = match verdict {
                _ if is_for_stranger => ApprovalAnswer::Deny(None),
                Verdict::Once => ApprovalAnswer::Approve(ApprovalDuration::Once),
                Verdict::Session => ApprovalAnswer::Approve(ApprovalDuration::Session),
                Verdict::Always => ApprovalAnswer::Approve(ApprovalDuration::Always),
                Verdict::Deny => ApprovalAnswer::Deny(Some("not today".to_owned())),
            };
            let first = waiting.first().map_or("none", |it| &*it.id).to_owned();
            let answered = engine.approvals().answer(agent, &first, answer, &OPERATOR).await;
            format!("{} waited, {}", waiting.len(), plain(answered))
        }
        Step::Anew(chat) => match key(agent, name, *chat) {
            Some(key) => plain(engine.begin_anew(agent, &key).await),
            None => "no address".to_owned(),
        },
        Step::Forget(chat) => {
            let Some(key) = key(agent, name, *chat) else { return "no address".to_owned() };
            let current = SessionRef::Key(key.to_string().into());
            match agent.store.session(current).await {
                Ok(Some(session)) => plain(engine.forget(agent, session.id).await),
                Ok(None) => "no session".to_owned(),
                Err(error) => error.to_string(),
            }
        }
        Step::Retry(chat) => {
            let Some(address) = address(name, *chat) else { return "no address".to_owned() };
            match engine.retry(inbound((stage, open), agent, &address, String::new()).await).await {
                Ok(Some(handle)) => listen(stage, name, handle),
                Ok(None) => "nothing to say again".to_owned(),
                Err(error) => error.to_string(),
            }
        }
        _ => String::new(),
    }
}

async fn configure(stage: &Stage, open: &Open, name: &str, version: u8) -> String {
    let in_shared = {
        let mut others = stage.others();
        let other = others.iter_mut().find(|other| other.id == name);
        other.is_some_and(|other| {
            other.version = version;
            other.is_in_shared_file
        })
    };
    let written = match in_shared {
        true => stage.write_shared(),
        false => stage.write_agent(name, version),
    };
    if let Err(error) = written {
        return error.to_string();
    }
    reason(open.daemon.reload(None, &OPERATOR).await)
}

async fn secret(open: &Open, id: &AgentId, version: u8) -> String {
    let (owner, Ok(name)) = (SecretOwner::Agent(id.clone()), SecretName::new("KEY")) else {
        return "no name".to_owned();
    };
    match cast::secret(id.as_str(), version) {
        Some(value) => {
            let value = Secret::new(value.as_str());
            reason(open.daemon.set_secret(&owner, &name, value, &OPERATOR).await)
        }
        None => reason(open.daemon.remove_secret(&owner, &name, &OPERATOR).await),
    }
}

/// Gives the common room to the agent that is watched, or to another.
async fn claim(stage: &Stage, open: &Open, is_host: bool) -> String {
    stage.is_host.store(is_host, Ordering::Relaxed);
    if let Err(error) = stage.write_shared() {
        return error.to_string();
    }
    reason(open.daemon.reload(None, &OPERATOR).await)
}

/// Revokes the token of an agent and makes another.
async fn revoke(stage: &Stage, open: &Open, id: &AgentId) -> String {
    let Some(text) = stage.tokens().remove(id.as_str()) else { return "no token".to_owned() };
    let revoked = match open.parts.tokens.find(&text) {
        Some(token) => reason(open.daemon.revoke_token(&token.id, &OPERATOR).await),
        None => "it was gone".to_owned(),
    };
    if id.as_str() == cast::WATCHED {
        let _ = make_token(stage, open).await;
    }
    revoked
}

/// Deletes an agent and writes it anew.
async fn recreate(stage: &Stage, open: &Open, id: &AgentId) -> String {
    let name = id.as_str();
    let deleted = reason(open.daemon.delete(id, &OPERATOR).await);
    let of_shared = |there: bool| {
        let mut others = stage.others();
        let other = others.iter_mut().find(|other| other.id == name);
        other.is_some_and(|other| {
            other.is_there = there;
            other.is_in_shared_file
        })
    };
    if of_shared(false) {
        let _ = stage.write_shared();
        let _ = open.daemon.reload(None, &OPERATOR).await;
        of_shared(true);
        let _ = stage.write_shared();
    } else {
        of_shared(true);
        let _ = stage.write_agent(name, 0);
    }
    let again = reason(open.daemon.reload(None, &OPERATOR).await);
    if name == cast::WATCHED {
        let _ = make_token(stage, open).await;
    }
    format!("{deleted}, {again}")
}

impl Stage {
    pub(super) fn tokens(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next event on an agent's account.
    fn next_event(&self, id: &str) -> u64 {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let next = events.entry(id.to_owned()).or_default();
        *next += 1;
        *next
    }
}
