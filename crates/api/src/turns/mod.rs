//! The turns of an agent: which there were, and what happened in one: what was said and called,
//! whose words it had read by then, and what became of calls because of that.

mod began;
mod course;
mod rulings;
pub mod shown;

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::integrity::IntegrityView;
use crate::numbers::{Number, Numbers};
use crate::sessions::{MessageView, status};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use began::Began;
use course::Happening;
use insula_domain::{FailureCause, Integrity, Label};
use insula_registry::AgentContext;
use insula_store::{
    Cut, Message, MessageSeq, Part, SessionId, SessionRef, SessionState, Step, StepKind,
    StoreError, Turn, TurnId, TurnStatus,
};
use rulings::RulingView;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// Turns in one answer, where nobody says how many.
const PAGE: usize = 20;
/// Most turns in one answer: of each something is read besides.
const PAGE_MAX: usize = 200;
/// Most messages of a turn that are shown.
const MESSAGES_MAX: usize = 1_000;

/// Which part of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct TurnPage {
    /// Only what is before this one.
    before: Option<String>,
    /// How many at most.
    limit: Option<usize>,
}

/// A turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnSummary {
    #[schema(value_type = Object)]
    id: Number,
    /// What it is called in chats, for who sees its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[schema(value_type = Object)]
    session: Number,
    principal: String,
    /// What began it.
    began: Began,
    status: &'static str,
    /// Why its reply is not all that the model would have said: `length` (it reached the most it
    /// may say), `filtered` (its provider withheld the rest) or `repeating` (it said the same
    /// again and again, and was cut off); left out of one that is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'static str>,
    /// What went wrong.
    error: Option<String>,
    /// Why, by name: the same in records and figures.
    cause: Option<&'static str>,
    accepted: String,
    ended: Option<String>,
    /// Whose words it has read.
    integrity: IntegrityView,
}

/// A turn, and what happened in it.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnAnswer {
    turn: TurnSummary,
    messages: Vec<TurnMessage>,
    /// Whether there are more messages than are shown.
    more: bool,
    /// How it went: waiting, models, calls, delivery, in order, with figures and without words.
    course: Vec<Happening>,
    /// The turns of children that it began.
    children: Vec<TurnSummary>,
}

/// A message of a turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnMessage {
    #[serde(flatten)]
    message: MessageView,
    /// Whose words the turn had read by then.
    integrity: IntegrityView,
    /// The calls that it asks for.
    calls: Vec<CallView>,
}

/// A call of a tool.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallView {
    tool: String,
    /// What it was called with, as the model wrote it.
    arguments: String,
    /// What became of it because of words that the turn had read.
    ruling: Option<RulingView>,
}

/// How turns of one agent are shown to one caller.
struct Shown<'s> {
    api: &'s Api,
    agent: &'s AgentContext,
    numbers: Numbers,
}

/// The turns of an agent's conversations, newest first.
#[utoipa::path(get, path = "/api/agents/{id}/turns", params(("id" = String, Path), TurnPage),
    responses((status = 200, body = [TurnSummary]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    page: Result<Query<TurnPage>, QueryRejection>,
) -> Result<Json<Vec<TurnSummary>>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(TurnPage { before, limit }) = page?;
    let shown = Shown { api: &api, agent: &agent, numbers: Numbers::of(&caller, &agent.store) };
    let before = before.map(|before| shown.read(&before)).transpose()?;
    let turns = agent.store.turns(before, limit.unwrap_or(PAGE).min(PAGE_MAX)).await?;
    Ok(Json(shown.summaries(&turns).await?))
}

/// A turn and what happened in it.
#[utoipa::path(get, path = "/api/agents/{id}/turns/{turn}",
    params(("id" = String, Path), ("turn" = String, Path)),
    responses((status = 200, body = TurnAnswer), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path((id, turn)): Path<(String, String)>,
) -> Result<Json<TurnAnswer>, ApiError> {
    let agent = kept(&api, &id)?;
    let shown = Shown { api: &api, agent: &agent, numbers: Numbers::of(&caller, &agent.store) };
    let found = shown.find(&turn).await?;
    shown.answer(&found).await.map(Json)
}

/// These turns of an agent, as this caller sees them.
pub(crate) async fn summaries_of(
    api: &Api,
    caller: &Caller,
    agent: &AgentContext,
    ids: impl IntoIterator<Item = TurnId>,
) -> Result<Vec<TurnSummary>, StoreError> {
    let mut turns = Vec::new();
    for id in ids {
        turns.extend(agent.store.turn(id).await?);
    }
    Shown { api, agent, numbers: Numbers::of(caller, &agent.store) }.summaries(&turns).await
}

fn no_turn(asked: &str) -> ApiError {
    let asked = asked.escape_debug();
    let message = format!("there is no turn {asked}; `insula turns list` shows those there are");
    ApiError::new(StatusCode::NOT_FOUND, "no_such_turn", message)
}

impl Shown<'_> {
    fn read(&self, asked: &str) -> Result<TurnId, ApiError> {
        self.numbers.read_turn(asked).ok_or_else(|| no_turn(asked))
    }

    /// A turn of a session that was not forgotten.
    async fn find(&self, asked: &str) -> Result<Turn, ApiError> {
        let store = &self.agent.store;
        let turn = store.turn(self.read(asked)?).await?.ok_or_else(|| no_turn(asked))?;
        let session = store.session(SessionRef::Id(turn.session)).await?;
        let is_there = session.is_some_and(|it| it.state != SessionState::Forgotten);
        if is_there { Ok(turn) } else { Err(no_turn(asked)) }
    }

    async fn answer(&self, turn: &Turn) -> Result<TurnAnswer, ApiError> {
        let steps = self.agent.store.steps(turn.id).await?;
        let (messages, more) = self.messages(turn, &steps).await?;
        let all = messages.iter().map(|message| integrity_of(&message.label));
        let known = self.last(turn, &steps).await?;
        let integrity = all.fold(known, |all, it| all.join(&it));
        // What programs would find decides also in a turn that has read nothing.
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        let rulings = match messages.iter().any(|message| message.parts.iter().any(is_call)) {
            true => rulings::of(&self.agent.store, turn).await?,
            false => BTreeMap::new(),
        };
        let children = self.agent.store.children(turn.id).await?;
        let children: Vec<Turn> = children.into_iter().map(|child| child.turn).collect();
        let notes = self.agent.store.turn_notes(turn.id).await?;
        let sent = self.agent.store.deliveries_of(turn.session, turn.id).await?;
        let began = self.began(turn.session).await?;
        Ok(TurnAnswer {
            turn: self.summary(turn, began, &integrity, course::cause(&notes)),
            messages: messages.iter().map(|it| self.message(it, &rulings)).collect(),
            more,
            course: course::of(turn, &notes, &sent),
            children: self.summaries(&children).await?,
        })
    }

    async fn summaries(&self, turns: &[Turn]) -> Result<Vec<TurnSummary>, StoreError> {
        let mut summaries = Vec::with_capacity(turns.len());
        let mut known: BTreeMap<SessionId, Began> = BTreeMap::new();
        for turn in turns {
            let began = match known.get(&turn.session) {
                Some(began) => began.clone(),
                None => self.began(turn.session).await?,
            };
            known.insert(turn.session, began.clone());
            let steps = match turn.reply {
                Some(_) => Vec::new(),
                None => self.agent.store.steps(turn.id).await?,
            };
            let notes = match turn.status {
                TurnStatus::Failed => self.agent.store.turn_notes(turn.id).await?,
                _ => Vec::new(),
            };
            let integrity = self.last(turn, &steps).await?;
            summaries.push(self.summary(turn, began, &integrity, course::cause(&notes)));
        }
        Ok(summaries)
    }

    /// What began the turns of a conversation.
    async fn began(&self, session: SessionId) -> Result<Began, StoreError> {
        let found = self.agent.store.session(SessionRef::Id(session)).await?;
        Ok(found.map_or(Began::Message {}, |found| Began::in_conversation(&found.key)))
    }

    fn summary(
        &self,
        turn: &Turn,
        began: Began,
        integrity: &Integrity,
        cause: Option<FailureCause>,
    ) -> TurnSummary {
        let secrets = self.api.secrets.known();
        TurnSummary {
            id: self.numbers.turn(turn.id),
            name: self.numbers.turn_name(turn.id),
            session: self.numbers.session(turn.session),
            principal: turn.principal.to_string(),
            began,
            status: status(turn.status),
            cut: turn.cut.map(Cut::as_str),
            error: turn.error.clone().map(|error| secrets.told(&self.agent.id, error)),
            cause: cause.map(FailureCause::as_str),
            accepted: turn.accepted_at.to_string(),
            ended: turn.ended_at.map(|ended| ended.to_string()),
            integrity: integrity.into(),
        }
    }

    /// Whose words a turn has read, by its last message: that only grows.
    async fn last(&self, turn: &Turn, steps: &[Step]) -> Result<Integrity, StoreError> {
        let before = MessageSeq(end(turn, steps).0.saturating_add(1));
        let last = self.agent.store.messages_before(turn.session, before, 1).await?;
        Ok(last.first().map_or(Integrity::own(), |message| integrity_of(&message.label)))
    }

    /// The messages of a turn, and whether there are more. Others stand between them where
    /// something was said meanwhile.
    async fn messages(
        &self,
        turn: &Turn,
        steps: &[Step],
    ) -> Result<(Vec<Message>, bool), StoreError> {
        let end = end(turn, steps);
        let mut after = MessageSeq(turn.message.0.saturating_sub(1));
        let mut messages = Vec::new();
        while after < end && messages.len() <= MESSAGES_MAX {
            let store = &self.agent.store;
            let page = store.messages_after(turn.session, after, MESSAGES_MAX).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            messages.extend(page.into_iter().filter(|it| it.turn == Some(turn.id)));
        }
        let more = messages.len() > MESSAGES_MAX || after < end;
        messages.truncate(MESSAGES_MAX);
        Ok((messages, more))
    }

    fn message(&self, message: &Message, rulings: &BTreeMap<String, RulingView>) -> TurnMessage {
        let secrets = self.api.secrets.known();
        let calls = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall { id, name, arguments } => Some(CallView {
                tool: name.to_string(),
                arguments: secrets.told(&self.agent.id, arguments.to_string()),
                ruling: rulings.get(&**id).cloned(),
            }),
            _ => None,
        });
        TurnMessage {
            message: MessageView::of(&self.numbers, message, |text| {
                secrets.told(&self.agent.id, text)
            }),
            integrity: (&integrity_of(&message.label)).into(),
            calls: calls.collect(),
        }
    }
}

/// Where the last message of a turn is known to be. What it was concluded with follows closely.
fn end(turn: &Turn, steps: &[Step]) -> MessageSeq {
    let stepped = steps.iter().filter_map(|step| match step.kind {
        StepKind::Answered { message }
        | StepKind::CallEnded { message, .. }
        | StepKind::Joined { message } => Some(message),
        StepKind::CallBegun { .. } | StepKind::Spent => None,
    });
    stepped.chain(turn.reply).max().unwrap_or_default().max(turn.message)
}

/// What a label says; one that says nothing is no promise.
pub(crate) fn integrity_of(label: &str) -> Integrity {
    let label: Label = label.parse().unwrap_or_else(|_| Label::unknown());
    label.integrity().clone()
}
