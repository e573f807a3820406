//! The daemon's audit chain: read and verify; and which chains there are.

use crate::Server;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use insula_api::ApiError;
use insula_api::audit::{Page, RecordView, ReportView, plain};
use insula_domain::AgentId;
use std::collections::BTreeSet;

/// The daemon's chain.
#[utoipa::path(get, path = "/api/audit", params(Page), responses((status = 200, body = [RecordView])), security(("token" = [])))]
pub async fn daemon(
    State(server): State<Server>,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Vec<RecordView>>, ApiError> {
    let Query(page) = page?;
    let store = server.front.records();
    let filter = page.filter(server.world.clock.now())?;
    let (part, limit) = page.part()?;
    // Only the admin gets here.
    Ok(plain(store.audit(filter, part, limit).await?))
}

/// Whether the daemon's chain is intact.
#[utoipa::path(get, path = "/api/audit/verify", responses((status = 200, body = ReportView)), security(("token" = [])))]
pub async fn verify_daemon(State(server): State<Server>) -> Result<Json<ReportView>, ApiError> {
    Ok(Json(server.front.records().audit_verify().await.into()))
}

/// The agents that have a chain: those there are, and those of which only files are left.
#[utoipa::path(get, path = "/api/audit/chains", responses((status = 200, body = [String])), security(("token" = [])))]
pub async fn chains(State(server): State<Server>) -> Json<Vec<String>> {
    let mut ids: BTreeSet<AgentId> = server.registry.snapshot().agents.keys().cloned().collect();
    ids.extend(server.home.agent_folders());
    Json(ids.iter().map(ToString::to_string).collect())
}
