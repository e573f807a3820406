//! The conversations of all agents that whoever asks may read, with what each began with.

use crate::Api;
use crate::caller::Caller;
use crate::conversations::first_words;
use crate::error::{ApiError, ErrorBody};
use crate::id::kept;
use crate::inbox::{Newest, own};
use crate::numbers::Numbers;
use crate::refusal::not_found;
use crate::sessions::SessionView;
use crate::since;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{OriginalUri, Query, State};
use axum::response::{IntoResponse as _, Response};
use insula_domain::AgentId;
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{Session, SessionState};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Sessions in one answer, where nobody says how many.
const PAGE: usize = 50;
/// Most sessions in one answer.
const PAGE_MAX: usize = 200;
/// Sessions of one agent that are looked at: where one agent has more, its own list has them.
const OF_ONE_MAX: usize = 50;

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Only those of this agent.
    agent: Option<String>,
    /// Of one agent: only what is before this one.
    before: Option<String>,
    /// Of all agents: only what was not used after this moment.
    until: Option<String>,
    /// How many at most.
    limit: Option<usize>,
}

/// A session, and whose it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionAnywhere {
    agent: String,
    #[serde(flatten)]
    session: SessionView,
    /// The first words that were said in it.
    begins: Option<String>,
}

/// The sessions of all agents that the caller may read, the last used first: of each agent the newest
/// fifty are looked at. Of one agent all, the newest first, a page at a time.
#[utoipa::path(get, path = "/api/sessions", params(Wanted),
    responses((status = 200, body = [SessionAnywhere]), (status = 401, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
    asked: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Some(own) = own(&api, &caller, Verb::Read) else {
        return Ok(not_found(original).await);
    };
    let Query(wanted) = asked?;
    let limit = wanted.limit.unwrap_or(PAGE).min(PAGE_MAX);
    let found = match wanted {
        Wanted { agent: Some(id), before, until: None, .. } => {
            of_one(&api, &caller, &id, before.as_deref(), limit).await?
        }
        Wanted { agent: None, before: None, until, .. } => of_all(&api, own, until, limit).await?,
        _ => {
            let message = "say `before` with an `agent`, and `until` without one";
            return Err(ApiError::invalid(message));
        }
    };
    let mut told = Vec::with_capacity(found.len());
    for (agent, session) in found {
        let begins = agent.store.in_passing(first_words(&api, &agent, &session)).await?;
        let numbers = Numbers::of(&caller, &agent.store);
        let (agent, session) = (agent.id.to_string(), SessionView::of(&numbers, session));
        told.push(SessionAnywhere { agent, session, begins });
    }
    Ok(Json(told).into_response())
}

type Theirs = (Arc<AgentContext>, Session);

/// Of a forgotten session a row without words is left: nothing to show.
fn is_there(session: &Session) -> bool {
    session.state != SessionState::Forgotten
}

async fn of_one(
    api: &Api,
    caller: &Caller,
    id: &str,
    before: Option<&str>,
    limit: usize,
) -> Result<Vec<Theirs>, ApiError> {
    let known = AgentId::new(id).ok().filter(|id| caller.may(id, Verb::Read));
    let agent = kept(api, known.ok_or_else(|| ApiError::no_agent(id))?.as_str())?;
    let numbers = Numbers::of(caller, &agent.store);
    let read = |text: &str| {
        let wrong = || format!("`before`: there is no session {}", text.escape_debug());
        numbers.read_session(text).ok_or_else(|| ApiError::invalid(wrong()))
    };
    let sessions = agent.store.sessions(before.map(read).transpose()?, limit).await?;
    Ok(sessions.into_iter().filter(is_there).map(|it| (agent.clone(), it)).collect())
}

async fn of_all(
    api: &Api,
    own: Vec<(Timestamp, Arc<AgentContext>)>,
    until: Option<String>,
    limit: usize,
) -> Result<Vec<Theirs>, ApiError> {
    let now = api.world.clock.now();
    let until = until.map(|text| since::read(&text, now)).transpose();
    let until = until.map_err(|why| ApiError::invalid(format!("`until`: {why}")))?;
    let is_meant = |it: &Session| is_there(it) && until.is_none_or(|until| it.active_at <= until);
    let mut all = Newest::new(limit);
    for (written, agent) in own {
        if all.is_enough(written) {
            break;
        }
        let sessions = agent.store.in_passing(agent.store.sessions(None, OF_ONE_MAX)).await?;
        let meant = sessions.into_iter().filter(is_meant);
        all.add(meant.map(|session| (session.active_at, (agent.clone(), session))));
    }
    Ok(all.all().collect())
}
