//! What a scope would find and be shown: the same look that a turn there has.

use super::known_scope;
use crate::Api;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use insula_domain::Scope;
use insula_domain::hook::HookEvent;
use insula_memory::AsFound;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Finds in one answer, where nobody says how many.
const FINDS: usize = 20;

/// Whose eyes to look through.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// The scope of a conversation.
    scope: String,
    /// The words; without them only what is shown is told.
    q: Option<String>,
    /// How many at most.
    limit: Option<usize>,
}

/// An entry that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScopeFound {
    scope: String,
    /// `memory`, `user`, or the day of a daily note.
    target: String,
    text: String,
}

/// What a conversation of a scope sees of memory.
#[derive(Debug, Serialize, ToSchema)]
pub struct Recalled {
    /// The scopes it reads.
    reads: Vec<String>,
    /// What more it may read, where that depends on who says what there.
    also: Option<&'static str>,
    /// What it finds with the words, the best first. None that a model must not see.
    found: Vec<ScopeFound>,
    /// What it is shown before anything is said; null where there is nothing.
    shown: Option<String>,
}

/// What a conversation of a scope would be shown, and find with some words.
#[utoipa::path(get, path = "/api/agents/{id}/memory/recall", params(("id" = String, Path), Looked),
    responses((status = 200, body = Recalled), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn recall(
    State(api): State<Api>,
    Id(id): Id,
    looked: Result<Query<Looked>, QueryRejection>,
) -> Result<Json<Recalled>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(Looked { scope, q, limit }) = looked?;
    let writes = known_scope(&agent, &scope).await?;
    let mut reads = vec![Scope::Global];
    if writes != Scope::Global {
        reads.push(writes.clone());
    }
    let names: Vec<String> = reads.iter().map(ToString::to_string).collect();
    let Some(memory) = &agent.memory else {
        return Ok(Json(Recalled { reads: names, also: None, found: Vec::new(), shown: None }));
    };
    let also = match (memory.also_read.is_empty(), agent.hooks.has(HookEvent::MemoryScope)) {
        (true, false) => None,
        (false, _) => Some("what `memory.also_read` names for who speaks there"),
        (true, true) => Some("what the hook `memory:scope` answers for who speaks there"),
    };
    let scoped = memory.keeper.scoped(reads, writes);
    let known = api.secrets.known();
    let clear = |text: &str| known.told(&agent.id, text.to_owned());
    let shown = scoped.block_through(&clear).await?.text;
    let words = q.unwrap_or_default();
    let hits = match words.trim().is_empty() {
        true => Vec::new(),
        false => scoped.search(&words, limit.unwrap_or(FINDS), &AsFound).await?,
    };
    let found = hits.into_iter().map(|hit| ScopeFound {
        scope: hit.scope.to_string(),
        target: hit.target.name(),
        text: clear(&hit.text),
    });
    Ok(Json(Recalled { reads: names, also, found: found.collect(), shown }))
}
