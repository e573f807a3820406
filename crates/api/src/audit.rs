//! Audit chains of agents: read and verify; and how any chain is shown.

use crate::Api;
use crate::caller::{Caller, Within};
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use crate::numbers::Numbers;
use crate::since;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use insula_domain::{Actor, AgentId, AuditScope, ScopeError};
use insula_store::audit::KindError;
use insula_store::{
    AgentStore, AuditFilter, AuditPart, AuditRecord, AuditReport, KindFilter, ScopeFilter, Seals,
    Seq, SessionRef, StoreError,
};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Records a page holds unless asked for fewer or more.
const PAGE: usize = 50;

/// Which records. All that is given has to hold.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Records after this one, oldest first; without it the newest.
    after: Option<u64>,
    /// The last records before this one, oldest first.
    before: Option<u64>,
    /// How many at the most.
    limit: Option<usize>,
    /// Whose matter it is: a scope, or `agent`, `daemon` or `unknown`.
    scope: Option<String>,
    /// Who did it, such as `telegram:12345`, `api:TOKEN` or `cli:local`.
    user: Option<String>,
    /// The conversation: its key, or the number of one of its sessions.
    session: Option<String>,
    /// The kind, such as `tool.call`, or `tool.*` for all that begin so.
    kind: Option<String>,
    /// Not before: how long ago, such as `2h` or `7d`, or a day or a time in RFC 3339.
    since: Option<String>,
    /// Before: in the same words.
    until: Option<String>,
}

/// One record.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecordView {
    seq: u64,
    at: String,
    actor: String,
    /// Whose matter it is: a scope, `agent`, `daemon`, or `unknown` for what is older than this.
    scope: String,
    /// The key of the conversation; null where it was in none.
    session: Option<String>,
    kind: String,
    generation: u64,
    /// Details; null once erased.
    #[schema(value_type = Option<Object>)]
    content: Value,
    /// Its link in the chain; null for whoever sees one scope, whose links are in its export.
    mac: Option<String>,
}

impl RecordView {
    fn of(numbers: &Numbers, record: AuditRecord) -> Self {
        let mut content = record.content.map(read);
        content.iter_mut().for_each(|content| numbers.details(content));
        let mac = record.mac.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            seq: record.seq.0,
            at: record.at.to_string(),
            actor: record.actor.to_string(),
            scope: record.scope.to_string(),
            session: record.session.map(Into::into),
            kind: record.kind.into(),
            generation: record.generation,
            content: content.unwrap_or(Value::Null),
            mac: Some(mac),
        }
    }

    /// As the tenant of its scope sees it: by its place among theirs, and told no more than that.
    fn told(seals: &Seals, record: AuditRecord) -> Self {
        let content = record.content.as_deref().map(|text| read(seals.told(text)));
        Self {
            seq: record.scope_seq.unwrap_or_default(),
            at: record.at.to_string(),
            actor: record.actor.to_string(),
            scope: record.scope.to_string(),
            session: record.session.map(Into::into),
            kind: record.kind.into(),
            generation: record.generation,
            content: content.unwrap_or(Value::Null),
            mac: None,
        }
    }
}

fn read(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
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
    /// How many records were dropped from the beginning, as `audit.keep` says.
    dropped: u64,
}

impl From<Result<AuditReport, StoreError>> for ReportView {
    /// A chain that is damaged is broken, and says why like any other. One that could not be
    /// looked at (no space, no rights, in use) is not known to be: it is broken nowhere.
    fn from(report: Result<AuditReport, StoreError>) -> Self {
        match report {
            Ok(AuditReport { ok, records, erased, broken_at, reason, lost, dropped }) => {
                Self { ok, records, broken_at, reason, erased, lost, dropped }
            }
            Err(error) => {
                let is_broken =
                    matches!(error, StoreError::Damaged { .. } | StoreError::BadKey { .. });
                let (broken_at, reason) = match is_broken {
                    true => (Some(1), error.to_string()),
                    false => (None, format!("can't be verified now: {error}")),
                };
                let reason = Some(reason);
                let (erased, lost, dropped) = (0, 0, 0);
                Self { ok: false, records: 0, broken_at, reason, erased, lost, dropped }
            }
        }
    }
}

impl Page {
    /// Which part of the records these are, and how many at the most.
    pub fn part(&self) -> Result<(AuditPart, usize), ApiError> {
        let part = match (self.after, self.before) {
            (None, None) => AuditPart::Newest,
            (Some(after), None) => AuditPart::After(Seq(after)),
            (None, Some(before)) => AuditPart::Before(Seq(before)),
            (Some(_), Some(_)) => {
                return Err(ApiError::invalid("say `after` or `before`, not both"));
            }
        };
        Ok((part, self.limit.unwrap_or(PAGE)))
    }

    /// Whether a part is asked for by its place.
    pub(crate) fn is_paged(&self) -> bool {
        self.after.is_some() || self.before.is_some() || self.limit.is_some()
    }

    /// Which records are meant. What a session is called has to be told by who knows its agent.
    pub fn filter(&self, now: Timestamp) -> Result<AuditFilter, ApiError> {
        let wrong = |what: &str, why: String| ApiError::invalid(format!("`{what}`: {why}"));
        let scope = match &self.scope {
            None => ScopeFilter::Any,
            Some(text) => ScopeFilter::Only(text.parse().map_err(|error: ScopeError| {
                let text = text.escape_debug();
                let why = format!("`{text}` is {error}, or agent, daemon or unknown");
                wrong("scope", why)
            })?),
        };
        let kind = match &self.kind {
            None => KindFilter::Any,
            Some(text) => {
                text.parse().map_err(|error: KindError| wrong("kind", error.to_string()))?
            }
        };
        if let Some(user) = &self.user
            && let Actor::Other(_) = Actor::from(user.as_str())
        {
            let user = user.escape_debug();
            let why = format!(
                "`{user}` is nobody that records name: write PLATFORM:USER, api:TOKEN or cli:local"
            );
            return Err(wrong("user", why));
        }
        let moment = |what, text: &Option<String>| {
            let read = text.as_deref().map(|text| since::read(text, now)).transpose();
            read.map_err(|why| wrong(what, why))
        };
        Ok(AuditFilter {
            scope,
            kind,
            actor: self.user.as_deref().map(Into::into),
            session: self.session.as_deref().map(Into::into),
            since: moment("since", &self.since)?,
            until: moment("until", &self.until)?,
        })
    }
}

/// Which records of an agent somebody asks for and may see; `None` where there can be none.
pub(crate) async fn meant(
    api: &Api,
    caller: &Caller,
    store: &AgentStore,
    page: &Page,
) -> Result<Option<AuditFilter>, ApiError> {
    let mut filter = page.filter(api.world.clock.now())?;
    if let Some(asked) = filter.session.take() {
        filter.session = Some(key_of(caller, store, &asked).await?);
    }
    if let Within::Scope(own) = caller.within() {
        let own = AuditScope::Of(own.clone());
        if let ScopeFilter::Only(asked) = &filter.scope
            && *asked != own
        {
            return Ok(None);
        }
        filter.scope = ScopeFilter::Only(own);
    }
    Ok(Some(filter))
}

/// The key of a conversation, by itself or by one of its sessions.
async fn key_of(caller: &Caller, store: &AgentStore, asked: &str) -> Result<Box<str>, ApiError> {
    // Every key has one, and no number or name of one does.
    if asked.contains(':') {
        return Ok(asked.into());
    }
    let missing = || {
        let asked = asked.escape_debug();
        let message = format!(
            "`session`: there is no session `{asked}`; write its number or its key, as `insula sessions list` shows them"
        );
        ApiError::invalid(message)
    };
    let id = Numbers::of(caller, store).read_session(asked).ok_or_else(missing)?;
    let session = store.session(SessionRef::Id(id)).await?.ok_or_else(missing)?;
    match caller.within().sees(&session.scope) {
        true => Ok(session.key),
        false => Err(missing()),
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
pub(crate) fn store(api: &Api, id: &str) -> Result<AgentStore, ApiError> {
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
    responses((status = 200, body = [RecordView]), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn agent(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Vec<RecordView>>, ApiError> {
    let Query(page) = page?;
    let store = store(&api, &id)?;
    let Some(filter) = meant(&api, &caller, &store, &page).await? else {
        return Ok(Json(Vec::new()));
    };
    let (part, limit) = page.part()?;
    if let Within::Scope(_) = caller.within() {
        // Its places are those among its own: how many there are of others is not told.
        let part = match part {
            AuditPart::After(Seq(after)) => AuditPart::AfterInScope(after),
            AuditPart::Before(Seq(before)) => AuditPart::BeforeInScope(before),
            other => other,
        };
        let (records, seals) = (store.audit(filter, part, limit).await?, store.seals());
        return Ok(Json(records.into_iter().map(|it| RecordView::told(&seals, it)).collect()));
    }
    let records = store.audit(filter, part, limit).await?;
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
