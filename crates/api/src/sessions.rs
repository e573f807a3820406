//! The sessions of an agent: which there are, what was said, and forgetting it.

use crate::Api;
use crate::caller::{Caller, Within};
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::kept_files::FileView;
use crate::numbers::{Number, Numbers};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use insula_domain::ScopeName;
use insula_registry::AgentContext;
use insula_store::{
    About, AgentCommand, Cut, Message, MessageSeq, Part, Role, Session, SessionId, SessionRef,
    SessionState, TurnStatus,
};
use insula_turns::call_line;
use insula_turns::messages::text_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::{IntoParams, ToSchema};

/// Sessions or messages in one answer, where nobody says how many.
const PAGE: usize = 50;
/// Sessions whose scopes a search without a scope looks into.
const SCOPES_SEARCHED: usize = 1_000;

/// Which part of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Only what is before this one.
    pub(crate) before: Option<String>,
    /// How many at most.
    pub(crate) limit: Option<usize>,
}

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The words.
    q: String,
    /// The scope to look in; all that the agent's newest sessions are in, where none is given.
    scope: Option<String>,
    /// How many at most.
    limit: Option<usize>,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    #[schema(value_type = Object)]
    id: Number,
    key: String,
    title: Option<String>,
    scope: String,
    label: String,
    messages: u64,
    started: String,
    used: String,
    ended: bool,
}

/// A message, as people read it.
#[derive(Debug, Serialize, ToSchema)]
pub struct MessageView {
    seq: u64,
    #[schema(value_type = Option<Object>)]
    turn: Option<Number>,
    /// What the turn is called in chats, for who sees its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_name: Option<String>,
    role: &'static str,
    at: String,
    principal: String,
    text: String,
    /// The tools it calls.
    tools: Vec<String>,
    /// What each of those calls is about, in one line; empty where nothing tells.
    call_lines: Vec<CallLine>,
    /// Whether some of it is text from outside that may say anything.
    untrusted: bool,
    /// Whether a call failed, or was refused, whose result it is.
    failed: bool,
    /// What became of the turn that it began, where that is over without a reply: `failed` or
    /// `stopped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    became: Option<&'static str>,
    /// Why the turn that it began failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_failed: Option<String>,
    /// Why the reply of the turn that it began is not whole, where it is not: `length`,
    /// `filtered` or `repeating`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'static str>,
    /// What came along or was made, which can be asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileView>,
}

/// A call of a tool, as people who watch it read it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallLine {
    tool: String,
    about: String,
}

/// A session and the end of what was said in it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Transcript {
    session: SessionView,
    /// The turn by whose name the session was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnView>,
    messages: Vec<MessageView>,
}

/// A turn that somebody told the operator of.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnView {
    name: String,
    #[schema(value_type = Object)]
    number: Number,
    status: &'static str,
    /// What went wrong.
    error: Option<String>,
    accepted: String,
}

/// A message that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Found {
    #[schema(value_type = Object)]
    session: Number,
    seq: u64,
    at: String,
    role: &'static str,
    scope: String,
    text: String,
}

impl SessionView {
    pub(crate) fn of(numbers: &Numbers, session: Session) -> Self {
        Self {
            id: numbers.session(session.id),
            key: session.key.into(),
            title: session.title,
            scope: session.scope.to_string(),
            label: session.label.to_string(),
            messages: session.last.0,
            started: session.created_at.to_string(),
            used: session.active_at.to_string(),
            ended: session.state != SessionState::Current,
        }
    }
}

impl MessageView {
    /// A message, told by who takes secrets out.
    pub(crate) fn of(
        numbers: &Numbers,
        message: &Message,
        told: impl Fn(String) -> String,
    ) -> Self {
        let calls = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall { name, arguments, .. } => {
                Some(CallLine { tool: name.to_string(), about: call_line::about(arguments, &told) })
            }
            _ => None,
        });
        let call_lines: Vec<CallLine> = calls.collect();
        let results = message.parts.iter().filter_map(|part| match part {
            Part::ToolResult { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let text = match text_of(&message.parts) {
            text if text.is_empty() => results.collect::<Vec<_>>().join("\n"),
            text => text,
        };
        Self {
            seq: message.seq.0,
            turn: message.turn.map(|turn| numbers.turn(turn)),
            turn_name: message.turn.and_then(|turn| numbers.turn_name(turn)),
            role: message.role.as_str(),
            at: message.at.to_string(),
            principal: message.principal.to_string(),
            text: told(text),
            tools: call_lines.iter().map(|call| call.tool.clone()).collect(),
            call_lines,
            untrusted: message
                .parts
                .iter()
                .any(|part| matches!(part, Part::ToolResult { untrusted: true, .. })),
            failed: message
                .parts
                .iter()
                .any(|part| matches!(part, Part::ToolResult { is_error: true, .. })),
            became: None,
            why_failed: None,
            cut: None,
            files: FileView::all(message).into_iter().map(|file| file.told(&told)).collect(),
        }
    }
}

/// How a turn stands, in a word.
pub(crate) fn status(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Accepted => "running",
        TurnStatus::Replied => "replied",
        TurnStatus::Failed => "failed",
        TurnStatus::Stopped => "stopped",
    }
}

fn no_session(id: &dyn std::fmt::Display) -> ApiError {
    let message = format!("there is no session {id}; `insula sessions list` shows those there are");
    ApiError::new(StatusCode::NOT_FOUND, "no_such_session", message)
}

/// The sessions of an agent, newest first.
#[utoipa::path(get, path = "/api/agents/{id}/sessions", params(("id" = String, Path), Page),
    responses((status = 200, body = [SessionView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Vec<SessionView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(page) = page?;
    let limit = page.limit.unwrap_or(PAGE);
    listed(&caller, &agent, page.before.as_deref(), limit).await.map(Json)
}

/// The sessions before one, newest first.
pub(crate) async fn listed(
    caller: &Caller,
    agent: &AgentContext,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<SessionView>, ApiError> {
    let numbers = Numbers::of(caller, &agent.store);
    let missing = |before: &str| no_session(&before.escape_debug());
    let read = |before| numbers.read_session(before).ok_or_else(|| missing(before));
    let before = before.map(read).transpose()?;
    let sessions = match caller.within() {
        Within::Whole => agent.store.sessions(before, limit).await?,
        Within::Scope(scope) => agent.store.sessions_in(scope, before, limit).await?,
    };
    // Of a forgotten session a row without words is left: nothing to show.
    let there = sessions.into_iter().filter(|it| it.state != SessionState::Forgotten);
    Ok(there.map(|session| SessionView::of(&numbers, session)).collect())
}

/// A session and what was said in it, the newest part.
#[utoipa::path(get, path = "/api/agents/{id}/sessions/{session}",
    params(("id" = String, Path), ("session" = String, Path), Page),
    responses((status = 200, body = Transcript), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path((id, session)): Path<(String, String)>,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Transcript>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(page) = page?;
    let before = page.before.map(|before| before.parse()).transpose();
    let before = before.map_err(|_| ApiError::invalid("`before` is the number of a message"))?;
    let limit = page.limit.unwrap_or(PAGE);
    transcript(&api, &caller, &agent, &session, before, limit).await.map(Json)
}

/// A session and the part of it before a message.
pub(crate) async fn transcript(
    api: &Api,
    caller: &Caller,
    agent: &AgentContext,
    session: &str,
    before: Option<i64>,
    limit: usize,
) -> Result<Transcript, ApiError> {
    let numbers = Numbers::of(caller, &agent.store);
    let named = match numbers.named_turn(session) {
        Some(turn) => agent.store.turn(turn).await?,
        None => None,
    };
    let found = match &named {
        Some(turn) => there(agent, turn.session, session).await?,
        None => find(&numbers, agent, session).await?,
    };
    if !caller.within().sees(&found.scope) {
        return Err(no_session(&session.escape_debug()));
    }
    let before = before.and_then(|before| u64::try_from(before).ok());
    // Of a turn that is asked for, its own message is the first.
    let first = named.as_ref().map(|turn| turn.message.0.saturating_add(limit as u64));
    let before = before.or(first).map_or(MessageSeq::END, MessageSeq);
    let mut messages = agent.store.messages_before(found.id, before, limit).await?;
    messages.retain(|message| caller.within().sees(&message.scope));
    let secrets = api.secrets.known();
    let mut views = Vec::with_capacity(messages.len());
    for message in &messages {
        views.push(with_its_end(agent, &numbers, message, |it| secrets.told(&agent.id, it)).await?);
    }
    let turn = named.map(|turn| TurnView {
        name: session.to_owned(),
        number: numbers.turn(turn.id),
        status: status(turn.status),
        error: turn.error.map(|error| secrets.told(&agent.id, error)),
        accepted: turn.accepted_at.to_string(),
    });
    Ok(Transcript { session: SessionView::of(&numbers, found), turn, messages: views })
}

/// A message, and what became of the turn that it began where that is over without a reply, or
/// without a whole one.
pub(crate) async fn with_its_end(
    agent: &AgentContext,
    numbers: &Numbers,
    message: &Message,
    told: impl Fn(String) -> String,
) -> Result<MessageView, ApiError> {
    let view = MessageView::of(numbers, message, &told);
    let Some(turn) = message.turn.filter(|_| message.role == Role::User) else { return Ok(view) };
    let turn = agent.store.turn(turn).await?.filter(|it| it.message == message.seq);
    Ok(match turn {
        Some(turn) if matches!(turn.status, TurnStatus::Failed | TurnStatus::Stopped) => {
            let why_failed = turn.error.filter(|_| turn.status == TurnStatus::Failed).map(told);
            MessageView { became: Some(status(turn.status)), why_failed, ..view }
        }
        Some(turn) => MessageView { cut: turn.cut.map(Cut::as_str), ..view },
        None => view,
    })
}

pub(crate) async fn find(
    numbers: &Numbers,
    agent: &AgentContext,
    session: &str,
) -> Result<Session, ApiError> {
    let missing = || no_session(&session.escape_debug());
    let id = numbers.read_session(session).ok_or_else(missing)?;
    there(agent, id, session).await
}

/// A session that was not forgotten, by the name it was asked for.
async fn there(agent: &AgentContext, id: SessionId, asked: &str) -> Result<Session, ApiError> {
    let found = agent.store.session(SessionRef::Id(id)).await?;
    let found = found.filter(|session| session.state != SessionState::Forgotten);
    found.ok_or_else(|| no_session(&asked.escape_debug()))
}

/// Messages with these words, the best first.
#[utoipa::path(get, path = "/api/agents/{id}/sessions/search", params(("id" = String, Path), Wanted),
    responses((status = 200, body = [Found]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn search(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Vec<Found>>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(Wanted { q, scope, limit }) = wanted?;
    let limit = limit.unwrap_or(PAGE).min(PAGE);
    found(&api, &caller, &agent, &q, scope, limit).await.map(Json)
}

/// Messages of an agent with these words, newest first.
pub(crate) async fn found(
    api: &Api,
    caller: &Caller,
    agent: &AgentContext,
    words: &str,
    scope: Option<String>,
    limit: usize,
) -> Result<Vec<Found>, ApiError> {
    let scopes: BTreeSet<ScopeName> = match (scope, caller.within()) {
        // Nothing was said in what is no scope, nor for whoever sees another one.
        (Some(scope), within) => {
            let named = scope.parse().into_iter();
            named.filter(|scope| within.sees(scope)).collect()
        }
        (None, Within::Scope(own)) => BTreeSet::from([own.clone()]),
        (None, Within::Whole) => {
            let sessions = agent.store.sessions(None, SCOPES_SEARCHED).await?;
            sessions.into_iter().map(|session| session.scope).collect()
        }
    };
    let secrets = api.secrets.known();
    let numbers = Numbers::of(caller, &agent.store);
    let mut found = Vec::new();
    for scope in scopes {
        let hits = agent.store.search(&scope, words, limit).await?;
        // Whoever looks for words wants to see them, not what stands beside them.
        for hit in hits.into_iter().filter(|hit| !hit.marks.is_empty()) {
            found.push((
                hit.at,
                Found {
                    session: numbers.session(hit.session),
                    seq: hit.seq.0,
                    at: hit.at.to_string(),
                    role: hit.role.as_str(),
                    scope: scope.to_string(),
                    text: secrets.told(&agent.id, hit.snippet),
                },
            ));
        }
    }
    // Scores of different scopes don't compare; time does.
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Ok(found.into_iter().take(limit).map(|(_, found)| found).collect())
}

/// A message that was found, and whose conversation it is in.
#[derive(Debug, Serialize, ToSchema)]
pub struct FoundAnywhere {
    agent: String,
    #[serde(flatten)]
    found: Found,
}

/// What to look for, in everybody's conversations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct WantedAnywhere {
    /// The words.
    q: String,
    /// How many at most.
    limit: Option<usize>,
}

/// Messages of all agents with these words, the newest first; for the daemon's admin alone.
#[utoipa::path(get, path = "/api/sessions/search", params(WantedAnywhere),
    responses((status = 200, body = [FoundAnywhere]), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn search_all(
    State(api): State<Api>,
    caller: Caller,
    wanted: Result<Query<WantedAnywhere>, QueryRejection>,
) -> Result<Json<Vec<FoundAnywhere>>, ApiError> {
    let Query(WantedAnywhere { q, limit }) = wanted?;
    let limit = limit.unwrap_or(PAGE).min(PAGE);
    let snapshot = api.registry.snapshot();
    let mut all = Vec::new();
    for agent in snapshot.agents.values().filter_map(|entry| entry.state.context()) {
        let look = found(&api, &caller, agent, &q, None, limit);
        let found = agent.store.in_passing(look).await?;
        let id = agent.id.as_str();
        all.extend(found.into_iter().map(|found| FoundAnywhere { agent: id.to_owned(), found }));
        // Times are of one form, which sorts as it reads.
        all.sort_by(|one, other| other.found.at.cmp(&one.found.at));
        all.truncate(limit);
    }
    Ok(Json(all))
}

/// Erases what was said in a session, for good.
#[utoipa::path(delete, path = "/api/agents/{id}/sessions/{session}",
    params(("id" = String, Path), ("session" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn forget(
    State(api): State<Api>,
    caller: Caller,
    Path((id, session)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let agent = kept(&api, &id)?;
    let found = find(&Numbers::of(&caller, &agent.store), &agent, &session).await?;
    match &api.engine {
        Some(engine) => drop(engine.forget(&agent, found.id).await?),
        // Where no daemon runs nothing of it is under way, and nobody has it in memory.
        None => {
            let at = api.world.clock.now();
            let forget = AgentCommand::ForgetSession { session: found.id, at };
            agent.store.commit(vec![forget]).await?;
        }
    }
    let content = serde_json::json!({ "session": found.id.0 });
    agent
        .audit
        .append(About::Session(found.id), &caller.actor(), "session.forgotten", content)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
