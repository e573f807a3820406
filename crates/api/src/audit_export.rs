//! The records of one scope for its tenant: with what it takes to check them alone, and the key by
//! which that is signed.

use crate::Api;
use crate::audit::{Page, meant, store};
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use insula_domain::AuditScope;
use insula_store::audit::AUDIT_PAGE_MAX;
use insula_store::proof::{
    ScopeRecord, Statement, begin_line, end_line, left_out_line, record_line,
};
use insula_store::{AgentStore, AuditFilter, AuditPart, ScopeFilter, StoreError};
use insula_world::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The key by which exports of one agent are signed.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyView {
    agent: String,
    /// Ed25519, in hexadecimal.
    key: String,
}

/// The key by which exports of an agent's records are signed: to be told to tenants by another way
/// than the exports.
#[utoipa::path(get, path = "/api/agents/{id}/audit/key", params(("id" = String, Path)),
    responses((status = 200, body = KeyView), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn key(State(api): State<Api>, Id(id): Id) -> Result<Json<KeyView>, ApiError> {
    let key = store(&api, &id)?.signer().public_key()?;
    let key = key.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Json(KeyView { agent: id, key }))
}

/// The records of one scope, signed, one JSON object a line; `insula audit verify FILE` checks them.
/// Of those that a filter leaves out, and that are not before `since`, a hash stands there.
#[utoipa::path(get, path = "/api/agents/{id}/audit/export", params(("id" = String, Path), Page),
    responses((status = 200, body = String, content_type = "application/x-ndjson"), (status = 400, body = ErrorBody),
    (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn export(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(page) = page?;
    if page.is_paged() {
        return Err(ApiError::invalid("an export is whole: leave out `after` and `limit`"));
    }
    let store = store(&api, &id)?;
    let filter = meant(&api, &caller, &store, &page).await?;
    let Some(filter) = filter else { return Err(no_scope()) };
    let ScopeFilter::Only(scope) = filter.scope.clone() else { return Err(no_scope()) };
    if scope == AuditScope::Unknown {
        let why = "`scope`: what was recorded before scopes were noted is in no scope's export";
        return Err(ApiError::invalid(why));
    }
    let agent = store.chain_name();
    let (first, before) = first(&store, &agent, &scope, &filter).await?;
    let (head, at) = (before, api.world.clock.now());
    let export = Export { store, filter, agent, scope, first, before, last: first - 1, head, at };
    let begin = begin_line(&export.agent, export.scope.as_str(), first, &before) + "\n";
    let lines = stream::unfold(Next::Begin(begin, Box::new(export)), |next| async move {
        match next {
            Next::Begin(text, export) => Some((Ok(text), Next::Page(export))),
            Next::Page(mut export) => match export.page().await {
                Ok(Some(text)) => Some((Ok(text), Next::Page(export))),
                Ok(None) => Some((export.end(), Next::Over)),
                // It is cut off, and shows it: the line that is signed is missing.
                Err(error) => Some((Err(error), Next::Over)),
            },
            Next::Over => None,
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((headers, Body::from_stream(lines)).into_response())
}

fn no_scope() -> ApiError {
    ApiError::invalid("`scope`: an export is of one scope; name it, or `agent`")
}

/// The place of the first record that is not before a time, and the link that it follows.
async fn first(
    store: &AgentStore,
    agent: &str,
    scope: &AuditScope,
    filter: &AuditFilter,
) -> Result<(u64, [u8; 32]), ApiError> {
    // What was dropped is followed by what is left.
    let dropped = store.audit_start(scope.clone()).await?;
    let start = dropped.map_or_else(
        || (1, Statement::start(agent, scope.as_str())),
        |(last, link)| (last + 1, link),
    );
    let Some(since) = filter.since else { return Ok(start) };
    let scope_filter = || ScopeFilter::Only(scope.clone());
    let from = AuditFilter { scope: scope_filter(), since: Some(since), ..AuditFilter::default() };
    let found = store.audit(from, AuditPart::AfterInScope(0), 1).await?;
    let first = match found.first().and_then(|record| record.scope_seq) {
        Some(first) => first,
        None => {
            let all = AuditFilter { scope: scope_filter(), ..AuditFilter::default() };
            let newest = store.audit(all, AuditPart::Newest, 1).await?;
            newest.first().and_then(|record| record.scope_seq).unwrap_or_default() + 1
        }
    };
    if first <= start.0 {
        return Ok(start);
    }
    let before = store.audit_of_scope(scope.clone(), first - 2, 1).await?;
    Ok(before.first().map_or(start, |record| (first, record.link)))
}

/// What comes next.
enum Next {
    Begin(String, Box<Export>),
    Page(Box<Export>),
    Over,
}

/// An export under way.
struct Export {
    store: AgentStore,
    filter: AuditFilter,
    agent: Box<str>,
    scope: AuditScope,
    first: u64,
    before: [u8; 32],
    last: u64,
    head: [u8; 32],
    at: Timestamp,
}

impl Export {
    /// The next lines; `None` where there are no more.
    async fn page(&mut self) -> Result<Option<String>, StoreError> {
        let scope = self.scope.clone();
        let records = self.store.audit_of_scope(scope, self.last, AUDIT_PAGE_MAX).await?;
        let Some(newest) = records.last() else { return Ok(None) };
        (self.last, self.head) = (newest.seq, newest.link);
        let lines = records.iter().map(|record| self.line(record) + "\n");
        Ok(Some(lines.collect()))
    }

    fn line(&self, record: &ScopeRecord) -> String {
        match self.filter.admits(&record.record) {
            true => record_line(record),
            false => left_out_line(record.seq, &record.body, &record.link),
        }
    }

    /// The last line.
    fn end(&self) -> Result<String, StoreError> {
        let statement = Statement {
            agent: self.agent.clone(),
            scope: self.scope.as_str().into(),
            first: self.first,
            before: self.before,
            last: self.last,
            head: self.head,
            at: self.at,
        };
        let signer = self.store.signer();
        let (key, signature) = (signer.public_key()?, signer.sign(&statement)?);
        Ok(end_line(&statement, &key, &signature) + "\n")
    }
}
