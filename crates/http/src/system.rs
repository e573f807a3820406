//! The daemon itself: health, status, reload, doctor.

use crate::Server;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use insula_api::{ApiError, ErrorBody, keep_findings_of};
use insula_capabilities::doctor as examine;
use insula_config::render;
use insula_domain::AgentId;
use insula_registry::daemon::Reloaded;
use insula_registry::{Actor, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::SocketAddr;
use utoipa::{IntoParams, ToSchema};

/// A running daemon: which process, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// Its process id.
    pub pid: u32,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Listening {
    /// Whether `host`, with or without a port, names this listener.
    pub fn answers_to(&self, host: &str) -> bool {
        let name = match host.parse::<SocketAddr>() {
            Ok(address) => return self.is_ours(address.ip()),
            Err(_) => match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                Some((ip, "")) => ip,
                Some(_) => return false,
                None => match host.rsplit_once(':') {
                    Some((name, port)) if port.parse::<u16>().is_ok() => name,
                    Some(_) => return false,
                    None => host,
                },
            },
        };
        match name.parse() {
            Ok(ip) => self.is_ours(ip),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Whether a page of this origin is the daemon's own: it was loaded by the very name and port
    /// that its request is for. At another port of this machine is another program's page.
    pub fn is_own_page(&self, origin: &str, headers: &HeaderMap) -> bool {
        let asked = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let from = origin.strip_prefix("http://");
        from.zip(asked).is_some_and(|(from, asked)| from == asked && self.answers_to(from))
    }

    fn is_ours(&self, ip: std::net::IpAddr) -> bool {
        ip.is_loopback() || ip == self.address.ip() || self.address.ip().is_unspecified()
    }
}

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "it lives")))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether it serves: a configuration is applied. Below that, for the admin, how many accounts are
/// in which state.
#[utoipa::path(get, path = "/readyz", responses((status = 200, description = "it serves")))]
pub async fn readyz(State(server): State<Server>, headers: HeaderMap) -> (StatusCode, String) {
    if server.listening.is_none() {
        return (StatusCode::SERVICE_UNAVAILABLE, "no daemon runs\n".to_owned());
    }
    if !server.admin.is_shown(&headers) {
        return (StatusCode::OK, "ready\n".to_owned());
    }
    // One account's trouble is no reason to take the whole daemon out of service.
    let accounts = server.platforms.by_state(&server.front);
    let lines = accounts.iter().filter(|(_, count)| *count > 0);
    let lines: String =
        lines.map(|(state, count)| format!("accounts {state}: {count}\n")).collect();
    (StatusCode::OK, format!("ready\n{lines}"))
}

/// Agents that are told of with their next run.
const NEXT_RUNS_TOLD: usize = 5;

/// How the daemon stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct Status {
    version: &'static str,
    pid: Option<u32>,
    listen: Option<String>,
    ready: bool,
    home: String,
    agents: Counts,
    accounts: Vec<AccountStatus>,
    /// The agents whose jobs come next, five at most.
    next_runs: Vec<NextRun>,
    databases_open: usize,
    /// Why the files as they are now are not applied; null when they are.
    config_refused: Option<String>,
}

/// Agents by state.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Counts {
    total: usize,
    ready: usize,
    failed: usize,
    paused: usize,
    archived: usize,
}

impl Counts {
    /// Counts the agents of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut counts = Self { total: snapshot.agents.len(), ..Self::default() };
        for entry in snapshot.agents.values() {
            match entry.state.as_str() {
                "ready" => counts.ready += 1,
                "paused" => counts.paused += 1,
                "archived" => counts.archived += 1,
                _ => counts.failed += 1,
            }
        }
        counts
    }

    /// Each state and its count.
    pub fn by_state(&self) -> [(&'static str, usize); 4] {
        [
            ("ready", self.ready),
            ("failed", self.failed),
            ("paused", self.paused),
            ("archived", self.archived),
        ]
    }
}

/// One connection to a platform.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccountStatus {
    platform: &'static str,
    account: String,
    /// `connecting`, `connected`, `backing off`, `refused` or `off`.
    state: &'static str,
    /// Why, and what to do; or what it lacks although it is connected.
    reason: Option<String>,
    /// Since when.
    since: String,
    /// Events heard since the daemon started.
    events: u64,
    /// Failures since the daemon started.
    errors: u64,
}

/// When an agent's jobs come next.
#[derive(Debug, Serialize, ToSchema)]
pub struct NextRun {
    agent: String,
    at: String,
}

/// How the daemon stands.
#[utoipa::path(get, path = "/api/status", responses((status = 200, body = Status)), security(("token" = [])))]
pub async fn status(State(server): State<Server>) -> Json<Status> {
    // What can't be read is no reason to tell nothing of the rest; `doctor` looks at it.
    let next = server.front.next_runs(NEXT_RUNS_TOLD).await.unwrap_or_default().into_iter();
    let snapshot = server.registry.snapshot();
    let accounts = server.platforms.accounts(&server.front);
    let accounts = accounts.into_iter().map(|account| AccountStatus {
        platform: account.platform.as_str(),
        account: account.account.to_string(),
        state: account.state.as_str(),
        reason: account.reason,
        since: account.since.to_string(),
        events: account.events,
        errors: account.errors,
    });
    Json(Status {
        version: env!("CARGO_PKG_VERSION"),
        pid: server.listening.map(|listening| listening.pid),
        listen: server.listening.map(|listening| listening.address.to_string()),
        ready: server.listening.is_some(),
        home: server.home.root().display().to_string(),
        agents: Counts::of(&snapshot),
        accounts: accounts.collect(),
        next_runs: next
            .map(|due| NextRun { agent: due.agent.to_string(), at: due.at.to_string() })
            .collect(),
        databases_open: server.front.databases_open(),
        config_refused: server.daemon.refused().map(|reason| reason.to_string()),
    })
}

/// What a reload did.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReloadAnswer {
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
    failed: Vec<String>,
    /// Settings of the daemon that changed and wait for a restart.
    restart: Vec<&'static str>,
    /// What is wrong with the configuration, warnings included.
    #[schema(value_type = Object)]
    report: Value,
}

impl From<Reloaded> for ReloadAnswer {
    fn from(reloaded: Reloaded) -> Self {
        let names = |ids: Vec<AgentId>| ids.iter().map(ToString::to_string).collect();
        Self {
            added: names(reloaded.applied.added),
            changed: names(reloaded.applied.changed),
            removed: names(reloaded.applied.removed),
            failed: names(reloaded.applied.failed),
            restart: reloaded.restart,
            report: render::json(&reloaded.report),
        }
    }
}

impl ReloadAnswer {
    /// What a reload did to one agent, and nothing about others.
    pub fn about(id: &AgentId, reloaded: Reloaded) -> Self {
        let mut answer = Self::from(reloaded);
        for names in
            [&mut answer.added, &mut answer.changed, &mut answer.removed, &mut answer.failed]
        {
            names.retain(|name| name == id.as_str());
        }
        answer.restart.clear();
        keep_findings_of(id, &mut answer.report);
        answer
    }
}

/// Reads the configuration again and applies it.
#[utoipa::path(post, path = "/api/reload",
    responses((status = 200, body = ReloadAnswer), (status = 422, body = ErrorBody, description = "nothing was changed")),
    security(("token" = [])))]
pub async fn reload(State(server): State<Server>) -> Result<Json<ReloadAnswer>, ApiError> {
    let reloaded = server.daemon.reload(None, &Actor::CommandLine).await?;
    Ok(Json(reloaded.into()))
}

/// What was found about one thing.
#[derive(Debug, Serialize, ToSchema)]
pub struct FindingView {
    name: String,
    status: &'static str,
    detail: String,
}

impl From<examine::DoctorFinding> for FindingView {
    fn from(found: examine::DoctorFinding) -> Self {
        Self { name: found.name, status: found.status.as_str(), detail: found.detail }
    }
}

/// What may be tried.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DoctorWish {
    /// Also what costs money: one search at each service that counts them.
    #[serde(default)]
    paid: bool,
}

/// What this machine and this home can do, measured, and what is off. Tries every model provider by
/// what costs nothing.
#[utoipa::path(get, path = "/api/doctor", params(DoctorWish), responses((status = 200, body = [FindingView])), security(("token" = [])))]
pub async fn doctor(
    State(server): State<Server>,
    wish: Result<Query<DoctorWish>, QueryRejection>,
) -> Result<Json<Vec<FindingView>>, ApiError> {
    let Query(DoctorWish { paid }) = wish?;
    let mut findings = examine::examine(&server.capabilities).await;
    findings.extend(server.platforms.examine(&server.front).await);
    let views = findings.into_iter().map(FindingView::from);
    let outside = server.owner.examine(paid).await.into_iter().map(|it| FindingView {
        name: it.name,
        status: it.status,
        detail: it.detail,
    });
    Ok(Json(views.chain(outside).collect()))
}

/// What was last applied, to compare an edit with.
#[utoipa::path(get, path = "/api/applied", responses((status = 200, body = Object)), security(("token" = [])))]
pub async fn applied(State(server): State<Server>) -> Result<Json<Value>, ApiError> {
    let text = server.daemon.applied().await?.to_json();
    Ok(Json(serde_json::from_str(&text).unwrap_or_default()))
}
