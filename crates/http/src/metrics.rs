//! Figures for Prometheus. Without a token they say that the daemon lives, and nothing else: what
//! there is and how much of it happens is nobody's business. A token that may read an agent sees
//! that agent's figures, the admin sees all.

use crate::Server;
use crate::system::Counts;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use insula_api::{ApiError, Caller, Stranger};
use insula_domain::AgentId;
use insula_gateway::{AccountState, Connection};
use insula_registry::AgentEntry;
use insula_registry::tokens::Verb;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::fmt;

/// Gauges that differ in one label, in the order they were given: the same state gives the
/// same text.
#[derive(Debug)]
struct Gauges {
    label: &'static str,
    values: Vec<(String, i64)>,
}

impl EncodeMetric for Gauges {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, value) in &self.values {
            let labels = [(self.label, name.as_str())];
            ConstGauge::new(*value).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// The same for counters.
#[derive(Debug)]
struct Counters {
    label: &'static str,
    values: Vec<(String, u64)>,
}

impl EncodeMetric for Counters {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, value) in &self.values {
            let labels = [(self.label, name.as_str())];
            ConstCounter::new(*value).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All figures, as of now.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "OpenMetrics text")))]
pub async fn scrape(
    State(server): State<Server>,
    headers: HeaderMap,
) -> Result<([(HeaderName, &'static str); 1], String), ApiError> {
    let mut registry = Registry::with_prefix("insula");
    let version = vec![("version", env!("CARGO_PKG_VERSION"))];
    registry.register("build", "The running version", Info::new(version));
    registry.register("up", "Whether the daemon lives", ConstGauge::new(1_i64));
    match server.caller(&headers) {
        Ok(Caller::Local) => {
            daemon(&server, &mut registry);
            agents(&server, &mut registry, &|_| true);
            accounts(&server, &mut registry);
        }
        Ok(caller) => agents(&server, &mut registry, &|id| caller.may(id, Verb::Read)),
        Err(Stranger) => {}
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics", error.to_string())
    })?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text))
}

fn daemon(server: &Server, registry: &mut Registry) {
    let snapshot = server.registry.snapshot();
    let by_state = Counts::of(&snapshot).by_state();
    let by_state = by_state.map(|(state, count)| (state.to_owned(), as_i64(count)));
    registry.register(
        "agents",
        "Agents by state",
        Gauges { label: "state", values: by_state.into() },
    );
    let by_state = server.platforms.by_state(&server.front);
    let by_state = by_state.map(|(state, count)| (state.to_owned(), as_i64(count)));
    let accounts = Gauges { label: "state", values: by_state.into() };
    registry.register("accounts", "Accounts on platforms by state", accounts);
    let gauge = |value: usize| ConstGauge::new(as_i64(value));
    let bindings = gauge(snapshot.router.bindings().len());
    registry.register("bindings", "Rules that send messages to agents", bindings);
    let open = gauge(server.front.databases_open());
    registry.register("databases_open", "Agents' databases that are open", open);
    let reloads = server.daemon.reloads();
    registry.register(
        "config_applied",
        "Reloads that were applied",
        ConstCounter::new(reloads.applied),
    );
    registry.register(
        "config_refused",
        "Reloads that were refused",
        ConstCounter::new(reloads.refused),
    );
    let deliveries = server.outbox.counts();
    let deliveries = deliveries.map(|(became, count)| (became.as_str(), count));
    let help = "What became of replies and other things that agents sent";
    registry.register("deliveries", help, Deliveries(deliveries.into()));
    let heard = server.inbound.all().map(|(name, count)| (name.to_owned(), count));
    let help = "What became of what platforms told us";
    registry.register("inbound", help, Counters { label: "outcome", values: heard.collect() });
    if let Some(failures) = server.owner.failures() {
        let values = failures.into_iter().map(|(cause, count)| (cause.to_owned(), count)).collect();
        let help = "Turns that failed, by cause";
        registry.register("turn_failures", help, Counters { label: "cause", values });
    }
    if let Some(refusals) = server.owner.refusals() {
        let help = "Turns and calls that a budget did not allow";
        let named = refusals.into_iter().map(|it| (it.level, it.what, it.count));
        registry.register("budget_refusals", help, Refusals(named.collect()));
    }
}

/// How many deliveries became what.
#[derive(Debug)]
struct Deliveries(Vec<(&'static str, u64)>);

impl EncodeMetric for Deliveries {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (outcome, count) in &self.0 {
            let labels = [("outcome", *outcome)];
            ConstCounter::new(*count).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// How often budgets refused, by whose it was and what it counts.
#[derive(Debug)]
struct Refusals(Vec<(&'static str, &'static str, u64)>);

impl EncodeMetric for Refusals {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (level, dimension, count) in &self.0 {
            let labels = [("level", *level), ("dimension", *dimension)];
            ConstCounter::new(*count).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// The figures of those agents that the reader may know of.
fn agents(server: &Server, registry: &mut Registry, may_see: &dyn Fn(&AgentId) -> bool) {
    let snapshot = server.registry.snapshot();
    let each = |value: &dyn Fn(&AgentEntry) -> i64| {
        let seen = snapshot.agents.iter().filter(|(id, _)| may_see(id));
        let values = seen.map(|(id, entry)| (id.to_string(), value(entry))).collect();
        Gauges { label: "agent", values }
    };
    let up = each(&|entry| i64::from(entry.state.as_str() == "ready"));
    registry.register("agent_up", "Whether the agent serves", up);
    let generation = each(&|entry| i64::try_from(entry.generation.0).unwrap_or(i64::MAX));
    registry.register("agent_generation", "The agent's generation", generation);
}

/// A figure for each account.
#[derive(Debug)]
struct EachAccount {
    kind: MetricType,
    values: Vec<(&'static str, String, u64)>,
}

impl EncodeMetric for EachAccount {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (platform, account, value) in &self.values {
            let labels = [("platform", *platform), ("account", account.as_str())];
            let encoder = encoder.encode_family(&labels)?;
            match self.kind {
                MetricType::Counter => ConstCounter::new(*value).encode(encoder)?,
                _ => ConstGauge::new(i64::try_from(*value).unwrap_or(i64::MAX)).encode(encoder)?,
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        self.kind
    }
}

fn accounts(server: &Server, registry: &mut Registry) {
    let accounts = server.platforms.accounts(&server.front);
    let each = |kind, value: &dyn Fn(&AccountState) -> u64| EachAccount {
        kind,
        values: accounts
            .iter()
            .map(|it| (it.platform.as_str(), it.account.to_string(), value(it)))
            .collect(),
    };
    let up = each(MetricType::Gauge, &|it| u64::from(it.state == Connection::Connected));
    registry.register("account_up", "Whether the account is connected", up);
    let events = each(MetricType::Counter, &|it| it.events);
    registry.register("account_events", "Events that the account has heard", events);
    let errors = each(MetricType::Counter, &|it| it.errors);
    registry.register("account_errors", "How often the account failed", errors);
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
