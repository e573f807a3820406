//! Audit chains of agents: read and verify; and how any chain is shown.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use crate::numbers::Numbers;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use insula_domain::AgentId;
use insula_store::{AgentStore, AuditRecord, AuditReport, Seq, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Records a page holds unless asked for fewer or more.
const PAGE: usize = 50;

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Records after this one, oldest first; without it the newest.
    after: Option<u64>,
    /// How many at the most.
    limit: Option<usize>,
}

/// One record.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordView {
    seq: u64,
    at: String,
    actor: String,
    kind: String,
    generation: u64,
    /// Details; null once erased.
    #[schema(value_type = Option<Object>)]
    content: Value,
    mac: String,
}

impl RecordView {
    fn of(numbers: &Numbers, record: AuditRecord) -> Self {
        let mut content =
            record.content.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text)));
        content.iter_mut().for_each(|content| numbers.details(content));
        Self {
            seq: record.seq.0,
            at: record.at.to_string(),
            actor: record.actor.to_string(),
            kind: record.kind.into(),
            generation: record.generation,
            content: content.unwrap_or(Value::Null),
            mac: record.mac.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// What a verification found.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportView {
    ok: bool,
    records: u64,
    broken_at: Option<u64>,
    reason: Option<String>,
    erased: u64,
    /// How many records were lost with the power before they were on the disk.
    lost: u64,
}

impl From<Result<AuditReport, StoreError>> for ReportView {
    /// A chain that is damaged is broken, and says why like any other. One that could not be
    /// looked at (no space, no rights, in use) is not known to be: it is broken nowhere.
    fn from(report: Result<AuditReport, StoreError>) -> Self {
        match report {
            Ok(AuditReport { ok, records, erased, broken_at, reason, lost }) => {
                Self { ok, records, broken_at, reason, erased, lost }
            }
            Err(error) => {
                let is_broken =
                    matches!(error, StoreError::Damaged { .. } | StoreError::BadKey { .. });
                let (broken_at, reason) = match is_broken {
                    true => (Some(1), error.to_string()),
                    false => (None, format!("can't be verified now: {error}")),
                };
                let reason = Some(reason);
                Self { ok: false, records: 0, broken_at, reason, erased: 0, lost: 0 }
            }
        }
    }
}

impl Page {
    /// Which records these are of a chain.
    pub fn part(&self) -> (Option<Seq>, usize) {
        (self.after.map(Seq), self.limit.unwrap_or(PAGE))
    }
}

fn views(numbers: &Numbers, records: Vec<AuditRecord>) -> Json<Vec<RecordView>> {
    Json(records.into_iter().map(|record| RecordView::of(numbers, record)).collect())
}

/// Records of the daemon's own chain, which is the admin's to read: numbers as they are.
pub fn plain(records: Vec<AuditRecord>) -> Json<Vec<RecordView>> {
    views(&Numbers::Plain(None), records)
}

/// The handle on an agent's store. Failed agents have one too, and those that nobody names
/// any more: their trail is still there.
fn store(api: &Api, id: &str) -> Result<AgentStore, ApiError> {
    let id = AgentId::new(id).map_err(|_| ApiError::no_agent(id))?;
    let snapshot = api.registry.snapshot();
    match snapshot.agents.get(&id).map(|entry| entry.state.context()) {
        Some(Some(context)) => Ok(AgentStore::clone(&context.store)),
        None if !api.home.has_agent_folder(&id) => Err(ApiError::no_agent(id.as_str())),
        Some(None) | None => Ok(api.store.agent(&id)),
    }
}

/// An agent's chain.
#[utoipa::path(get, path = "/api/agents/{id}/audit", params(("id" = String, Path), Page),
    responses((status = 200, body = [RecordView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn agent(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Vec<RecordView>>, ApiError> {
    let Query(page) = page?;
    let store = store(&api, &id)?;
    let records = match page.part() {
        (Some(after), limit) => store.audit_after(after, limit).await?,
        (None, limit) => store.audit_tail(limit).await?,
    };
    Ok(views(&Numbers::of(&caller, &store), records))
}

/// Whether an agent's chain is intact.
#[utoipa::path(get, path = "/api/agents/{id}/audit/verify", params(("id" = String, Path)),
    responses((status = 200, body = ReportView), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn verify_agent(
    State(api): State<Api>,
    Id(id): Id,
) -> Result<Json<ReportView>, ApiError> {
    Ok(Json(store(&api, &id)?.audit_verify().await.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_looked_at_is_not_called_broken() {
        let file = || "insula.db".into();
        let full = ReportView::from(Err(StoreError::Full { file: file() }));
        assert_eq!((full.ok, full.broken_at), (false, None));
        assert!(full.reason.is_some_and(|why| why.starts_with("can't be verified now: ")));
        let what = "no database".to_owned();
        let damaged = ReportView::from(Err(StoreError::Damaged { file: file(), what }));
        assert_eq!((damaged.ok, damaged.broken_at), (false, Some(1)));
    }
}
