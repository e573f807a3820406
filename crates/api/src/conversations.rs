//! The conversations that whoever asks has with an agent over the API: which there are, and what
//! was said. One may read one's own words where one may talk, and nobody else's.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::numbers::{Number, Numbers};
use crate::sessions::{self, MessageView};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_domain::{SessionKey, marks};
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{MessageSeq, Role, Session, SessionRef, SessionState};
use insula_turns::messages::text_of;
use serde::Serialize;
use utoipa::ToSchema;

/// How many of an agent's newest sessions are looked through for one's own.
const LOOKED_AT_MAX: usize = 2_000;
/// Conversations in one answer.
const TOLD_MAX: usize = 100;
/// Messages of one that are shown, the newest.
const MESSAGES_MAX: usize = 400;

/// One of the caller's conversations.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationView {
    #[schema(value_type = Object)]
    id: Number,
    /// The name by which it goes on.
    session: String,
    title: Option<String>,
    used: String,
    /// Whether it goes on under its name, or another began there.
    ended: bool,
}

/// A conversation and what was said in it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationText {
    conversation: ConversationView,
    messages: Vec<MessageView>,
}

/// The name that a session goes by with the caller, if it is theirs.
fn own_name(caller: &Caller, session: &Session) -> Option<String> {
    let key: SessionKey = session.key.parse().ok()?;
    let own = caller.address(key.chat.to_string()).ok()?;
    let is_own = key.platform == own.platform
        && key.account == own.account
        && key.kind == own.chat_type
        && session.state != SessionState::Forgotten;
    is_own.then(|| key.chat.to_string())
}

fn view(numbers: &Numbers, session: &Session, name: String) -> ConversationView {
    ConversationView {
        id: numbers.session(session.id),
        session: name,
        title: session.title.clone(),
        used: session.active_at.to_string(),
        ended: session.state != SessionState::Current,
    }
}

/// The caller's conversations with an agent, newest first.
#[utoipa::path(get, path = "/api/agents/{id}/conversations", params(("id" = String, Path)),
    responses((status = 200, body = [ConversationView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Vec<ConversationView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let numbers = Numbers::of(&caller, &agent.store);
    let sessions = agent.store.sessions(None, LOOKED_AT_MAX).await?;
    let own = sessions.iter().filter_map(|it| Some((it, own_name(&caller, it)?)));
    let mut told = Vec::new();
    for (session, name) in own.take(TOLD_MAX) {
        let mut view = view(&numbers, session, name);
        if view.title.is_none() {
            view.title = first_words(&api, &agent, session).await?;
        }
        told.push(view);
    }
    Ok(Json(told))
}

/// What a conversation without a title is called: how it began.
pub(crate) async fn first_words(
    api: &Api,
    agent: &AgentContext,
    session: &Session,
) -> Result<Option<String>, ApiError> {
    let first = agent.store.messages_after(session.id, MessageSeq::default(), 1).await?;
    let Some(first) = first.first().filter(|it| it.role == Role::User) else { return Ok(None) };
    let text = api.secrets.known().told(&agent.id, text_of(&first.parts));
    Ok(marks::title(&text))
}

/// What was said in one of the caller's conversations.
#[utoipa::path(get, path = "/api/agents/{id}/conversations/{conversation}",
    params(("id" = String, Path), ("conversation" = String, Path)),
    responses((status = 200, body = ConversationText), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path((id, asked)): Path<(String, String)>,
) -> Result<Json<ConversationText>, ApiError> {
    let agent = kept(&api, &id)?;
    let numbers = Numbers::of(&caller, &agent.store);
    let (session, name) = find(&caller, &agent, &numbers, &asked).await?.ok_or_else(|| {
        let message = format!("you have no conversation {} here", asked.escape_debug());
        ApiError::new(StatusCode::NOT_FOUND, "no_such_session", message)
    })?;
    let messages = agent.store.messages_before(session.id, MessageSeq::END, MESSAGES_MAX).await?;
    // What tools said is for who may look into the agent.
    let reads = caller.may(&agent.id, Verb::Read);
    let is_told = |role: Role| reads || matches!(role, Role::User | Role::Assistant);
    let secrets = api.secrets.known();
    let mut views = Vec::with_capacity(messages.len());
    for message in messages.iter().filter(|it| is_told(it.role)) {
        let told = |text| secrets.told(&agent.id, text);
        views.push(sessions::with_its_end(&agent, &numbers, message, told).await?);
    }
    let conversation = view(&numbers, &session, name);
    Ok(Json(ConversationText { conversation, messages: views }))
}

pub(crate) async fn find(
    caller: &Caller,
    agent: &AgentContext,
    numbers: &Numbers,
    asked: &str,
) -> Result<Option<(Session, String)>, ApiError> {
    let Some(id) = numbers.read_session(asked) else { return Ok(None) };
    let found = agent.store.session(SessionRef::Id(id)).await?;
    Ok(found.and_then(|it| own_name(caller, &it).map(|name| (it, name))))
}
