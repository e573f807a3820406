//! Who asks, and which agents are theirs: what a page needs to show nothing else.

use crate::Server;
use crate::agents::AgentRow;
use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse as _, Response};
use insula_api::{Caller, ErrorBody, not_found};
use insula_domain::AgentId;
use insula_registry::AgentEntry;
use insula_registry::tokens::Verb;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Me {
    /// `local`, or the id of the token.
    who: String,
    /// Whether they are the admin of this daemon.
    admin: bool,
    /// What their token is for, in its maker's words.
    note: Option<String>,
    version: &'static str,
    /// Whether anything can be changed over HTTP; what, their rights say.
    changes: bool,
    /// The agents that they may do anything with.
    agents: Vec<OwnAgent>,
}

/// An agent, and what may be done with it.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnAgent {
    #[serde(flatten)]
    row: AgentRow,
    /// Of `chat`, `read`, `approve`, `manage` and `admin` those that the caller has.
    verbs: Vec<&'static str>,
}

/// Who asks, and which agents are theirs.
#[utoipa::path(get, path = "/api/me", responses((status = 200, body = Me), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn me(State(server): State<Server>, caller: Caller, original: OriginalUri) -> Response {
    let (who, note, scope) = match &caller {
        Caller::Local => ("local".to_owned(), None, None),
        Caller::Token(it) => (it.id.to_string(), it.note.as_deref().map(Into::into), it.scope()),
    };
    if scope.is_some() {
        // To a token that sees one scope nothing else is there.
        return not_found(original).await;
    }
    let snapshot = server.registry.snapshot();
    let mut own: BTreeMap<&AgentId, (&AgentEntry, Vec<Verb>)> = BTreeMap::new();
    for verb in Verb::ALL {
        for (id, entry) in caller.own(&snapshot.agents, verb) {
            own.entry(id).or_insert_with(|| (entry, Vec::new())).1.push(verb);
        }
    }
    let own = own.into_iter().map(|(id, (entry, verbs))| {
        let row = AgentRow::of(id, entry);
        let row = if verbs.contains(&Verb::Read) { row } else { row.for_members() };
        OwnAgent { row, verbs: verbs.into_iter().map(Verb::as_str).collect() }
    });
    let admin = matches!(caller, Caller::Local);
    let version = env!("CARGO_PKG_VERSION");
    let changes = snapshot.daemon.api.changes;
    Json(Me { who, admin, note, version, changes, agents: own.collect() }).into_response()
}
