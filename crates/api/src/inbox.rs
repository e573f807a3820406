//! The inbox of whoever answers: what waits at all agents that are theirs with why it is asked,
//! what was answered, and what was allowed for longer. Answering is `approvals`.

use crate::Api;
use crate::approvals::ApprovalView;
use crate::caller::Caller;
use crate::each::ask_each;
use crate::error::{ApiError, ErrorBody};
use crate::grants::{self, GrantView};
use crate::integrity::IntegrityView;
use crate::numbers::{Number, Numbers};
use crate::refusal::not_found;
use crate::turns::integrity_of;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{OriginalUri, Query, State};
use axum::response::{IntoResponse as _, Response};
use insula_domain::AgentId;
use insula_domain::command::{CommandFinding, DangerRule};
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{AuditFilter, AuditPart, AuditRecord, KindFilter, MessageSeq, SessionRef};
use insula_turns::Engine;
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Reverse;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Answers in one list, where nobody says how many.
const PAGE: usize = 100;
/// Most answers in one list.
const PAGE_MAX: usize = 500;

/// How much later than its newest record a database may seem to have been written to.
const SLACK_MS: i64 = 60_000;

/// How an approval ends, and how what was allowed does.
const ENDS: [(&str, &str); 5] = [
    ("approval.approved", "approved"),
    ("approval.denied", "denied"),
    ("approval.timed_out", "timed_out"),
    ("approval.stopped", "stopped"),
    ("approval.revoked", "revoked"),
];

/// A call that waits for an answer, and why it is asked.
#[derive(Debug, Serialize, ToSchema)]
pub struct WaitingView {
    #[serde(flatten)]
    approval: ApprovalView,
    /// The key of the conversation it is asked in.
    conversation: Option<String>,
    /// The setting that says so, where it is one among others.
    by: Option<String>,
    /// What was found in the call.
    found: Option<FindingView>,
    /// Whose words the turn has read.
    integrity: IntegrityView,
    /// For how long it may be allowed at most: `once`, `session` or `always`.
    widest: &'static str,
}

/// What stands against a call.
#[derive(Debug, Serialize, ToSchema)]
pub struct FindingView {
    rule: &'static str,
    /// What it does: “it …”.
    says: &'static str,
    /// The part that it was found in.
    piece: String,
    /// What of the call nobody looked at.
    unseen: Option<&'static str>,
    /// What could be done instead.
    instead: &'static str,
}

/// How a question ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnsweredView {
    agent: String,
    /// Its place in the agent's audit chain.
    record: u64,
    at: String,
    /// `approved`, `denied`, `timed_out`, `stopped`; or `revoked`, of what was allowed before.
    outcome: &'static str,
    by: String,
    tool: String,
    rule: String,
    /// What a call that the rule is about does: “it …”, and what could be done instead.
    says: Option<&'static str>,
    instead: Option<&'static str>,
    /// For how long, where it was allowed.
    scope: Option<String>,
    asked_by: Option<String>,
    /// The key of the conversation.
    conversation: Option<String>,
    #[schema(value_type = Option<Object>)]
    session: Option<Number>,
    #[schema(value_type = Option<Object>)]
    turn: Option<Number>,
}

/// How many answers.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// How many at most.
    limit: Option<usize>,
}

impl FindingView {
    fn of(api: &Api, agent: &AgentId, found: CommandFinding) -> Self {
        Self {
            rule: found.rule.as_str(),
            says: found.rule.says(),
            piece: api.secrets.known().told(agent, found.piece),
            unseen: found.unseen.map(insula_domain::command::Unseen::says),
            instead: found.rule.instead(),
        }
    }
}

impl AnsweredView {
    fn of(
        agent: &AgentContext,
        numbers: &Numbers,
        outcome: &'static str,
        record: AuditRecord,
    ) -> Self {
        let content = record.content.as_deref().unwrap_or_default();
        let mut content: Value = serde_json::from_str(content).unwrap_or_default();
        numbers.details(&mut content);
        let text = |name: &str| content[name].as_str().map(str::to_owned);
        let rule = DangerRule::ALL.iter().find(|it| content["rule"] == it.as_str()).copied();
        let number = |name: &str| match &content[name] {
            Value::Number(it) => it.as_i64().map(Number::Plain),
            Value::String(it) => Some(Number::Sealed(it.clone())),
            _ => None,
        };
        Self {
            agent: agent.id.to_string(),
            record: record.seq.0,
            at: record.at.to_string(),
            outcome,
            by: record.actor.to_string(),
            tool: text("tool").unwrap_or_default(),
            says: rule.map(DangerRule::says),
            instead: rule.map(DangerRule::instead),
            rule: text("rule").unwrap_or_default(),
            scope: text("scope"),
            asked_by: text("asked_by"),
            conversation: record.session.map(Into::into),
            session: number("session"),
            turn: number("turn"),
        }
    }
}

/// The agents of whoever asks that they may do this with, those first whose databases were written
/// to last; none that has no database yet. `None` where the caller sees one scope, to which nothing
/// is here.
pub(crate) fn own(
    api: &Api,
    caller: &Caller,
    verb: Verb,
) -> Option<Vec<(Timestamp, Arc<AgentContext>)>> {
    if let Caller::Token(token) = caller
        && token.scope().is_some()
    {
        return None;
    }
    let snapshot = api.registry.snapshot();
    let own = caller.own(&snapshot.agents, verb);
    let own = own.filter_map(|(id, entry)| {
        Some((api.home.last_written(id)?, entry.state.context().cloned()?))
    });
    let mut own: Vec<_> = own.collect();
    own.sort_by_key(|(written, _)| Reverse(*written));
    Some(own)
}

/// The newest of what was found, the newest first.
pub(crate) struct Newest<T> {
    found: Vec<(Timestamp, T)>,
    limit: usize,
}

impl<T> Newest<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { found: Vec::new(), limit }
    }

    /// Takes in more.
    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = (Timestamp, T)>) {
        self.found.extend(more);
        self.found.sort_by_key(|(at, _)| Reverse(*at));
        self.found.truncate(self.limit);
    }

    /// Whether what was written to before this moment can't have anything newer. Clocks are set
    /// anew at times, so a minute more is looked at.
    pub(crate) fn is_enough(&self, written: Timestamp) -> bool {
        let last = self.found.get(self.limit.saturating_sub(1));
        last.is_some_and(|(at, _)| at.as_millis() > written.as_millis().saturating_add(SLACK_MS))
    }

    pub(crate) fn all(self) -> impl Iterator<Item = T> {
        self.found.into_iter().map(|(_, it)| it)
    }
}

/// What waits for an answer at all agents whose questions the caller may answer, the oldest first.
#[utoipa::path(get, path = "/api/inbox",
    responses((status = 200, body = [WaitingView]), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn waiting(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
) -> Result<Response, ApiError> {
    let Some(own) = own(&api, &caller, Verb::Approve) else { return Ok(not_found(original).await) };
    let Some(engine) = &api.engine else { return Ok(Json(Value::Array(vec![])).into_response()) };
    // Agents at rest are left at rest: only those with a question are opened.
    let asking = engine.approvals().asking();
    let own = own.into_iter().map(|(_, agent)| agent);
    let asking = own.filter(|agent| asking.contains(&agent.id)).collect();
    let of_each =
        async |agent: Arc<AgentContext>| questions_of(&api, engine, &caller, &agent).await;
    let mut all: Vec<_> = ask_each(asking, of_each).await?.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    let all: Vec<WaitingView> = all.into_iter().map(|(_, it)| it).collect();
    Ok(Json(all).into_response())
}

/// What waits at one agent, and since when.
async fn questions_of(
    api: &Api,
    engine: &Engine,
    caller: &Caller,
    agent: &AgentContext,
) -> Result<Vec<(Timestamp, WaitingView)>, ApiError> {
    let (numbers, mut all) = (Numbers::of(caller, &agent.store), Vec::new());
    for approval in engine.approvals().list(agent).await? {
        // What was answered meanwhile waits no longer.
        let Some(grounds) = engine.approvals().grounds(agent, &approval.id) else { continue };
        let session = agent.store.session(SessionRef::Id(approval.session)).await?;
        let last = agent.store.messages_before(approval.session, MessageSeq::END, 1).await?;
        let label = last.first().map(|message| &*message.label).unwrap_or_default();
        all.push((
            approval.asked_at,
            WaitingView {
                conversation: session.map(|it| it.key.into()),
                by: grounds.by.map(Into::into),
                found: grounds.found.map(|it| FindingView::of(api, &agent.id, it)),
                integrity: (&integrity_of(label)).into(),
                widest: grounds.widest.as_str(),
                approval: ApprovalView::of(&agent.id, &numbers, approval),
            },
        ));
    }
    Ok(all)
}

/// How questions ended at all agents that the caller may read, the newest first.
#[utoipa::path(get, path = "/api/inbox/answered", params(Answers),
    responses((status = 200, body = [AnsweredView]), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn answered(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
    asked: Result<Query<Answers>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Some(own) = own(&api, &caller, Verb::Read) else { return Ok(not_found(original).await) };
    let Query(Answers { limit }) = asked?;
    let limit = limit.unwrap_or(PAGE).min(PAGE_MAX);
    let mut all = Newest::new(limit);
    for (written, agent) in &own {
        if all.is_enough(*written) {
            break;
        }
        all.add(agent.store.in_passing(answers_of(&caller, agent, limit)).await?);
    }
    Ok(Json(all.all().collect::<Vec<AnsweredView>>()).into_response())
}

/// The newest answers at one agent.
async fn answers_of(
    caller: &Caller,
    agent: &AgentContext,
    limit: usize,
) -> Result<Vec<(Timestamp, AnsweredView)>, ApiError> {
    let (numbers, mut all) = (Numbers::of(caller, &agent.store), Vec::new());
    for (kind, outcome) in ENDS {
        // Each by its index: there may be a great many records of other kinds.
        let kind = KindFilter::Exactly(kind.into());
        let filter = AuditFilter { kind, ..AuditFilter::default() };
        let records = agent.store.audit(filter, AuditPart::Newest, limit).await?;
        let of = |it: AuditRecord| (it.at, AnsweredView::of(agent, &numbers, outcome, it));
        all.extend(records.into_iter().map(of));
    }
    Ok(all)
}

/// What the agents whose questions the caller may answer were allowed for longer than once.
#[utoipa::path(get, path = "/api/inbox/grants",
    responses((status = 200, body = [GrantView]), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn granted(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
) -> Result<Response, ApiError> {
    let Some(own) = own(&api, &caller, Verb::Approve) else { return Ok(not_found(original).await) };
    let agents = own.into_iter().map(|(_, agent)| agent).collect();
    let of_each = async |agent: Arc<AgentContext>| grants::of(&caller, &agent).await;
    let all: Vec<Vec<GrantView>> = ask_each(agents, of_each).await?;
    Ok(Json(all.into_iter().flatten().collect::<Vec<GrantView>>()).into_response())
}
