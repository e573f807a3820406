//! Figures for Prometheus. Without the admin token only sums are shown: which agents there
//! are is nobody else's business.

use crate::Surface;
use crate::error::ApiError;
use crate::system::Counts;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

type Labels = Vec<(&'static str, String)>;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All figures, as of now.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "OpenMetrics text")))]
pub async fn scrape(
    State(surface): State<Surface>,
    headers: HeaderMap,
) -> Result<([(HeaderName, &'static str); 1], String), ApiError> {
    let mut registry = Registry::with_prefix("insula");
    daemon(&surface, &mut registry);
    if surface.admin.is_shown(&headers) {
        agents(&surface, &mut registry);
    }
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "metrics", error.to_string())
    })?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text))
}

fn daemon(surface: &Surface, registry: &mut Registry) {
    let snapshot = surface.house.snapshot();
    let version = vec![("version", env!("CARGO_PKG_VERSION"))];
    registry.register("build", "The running version", Info::new(version));
    let by_state = Family::<Labels, Gauge>::default();
    for (state, count) in Counts::of(&snapshot).by_state() {
        by_state.get_or_create(&vec![("state", state.to_owned())]).set(as_i64(count));
    }
    registry.register("agents", "Agents by state", by_state);
    let gauge = |value: usize| {
        let gauge: Gauge = Gauge::default();
        gauge.set(as_i64(value));
        gauge
    };
    let bindings = gauge(snapshot.router.bindings().len());
    registry.register("bindings", "Rules that send messages to agents", bindings);
    let open = gauge(surface.house.store.open_count());
    registry.register("databases_open", "Agents' databases that are open", open);
    let reloads = surface.house.reloads();
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
}

fn agents(surface: &Surface, registry: &mut Registry) {
    let up = Family::<Labels, Gauge>::default();
    let generation = Family::<Labels, Gauge>::default();
    for (id, entry) in &surface.house.snapshot().agents {
        let agent = vec![("agent", id.to_string())];
        generation.get_or_create(&agent).set(i64::try_from(entry.generation.0).unwrap_or(i64::MAX));
        up.get_or_create(&agent).set(i64::from(entry.state.as_str() == "ready"));
    }
    registry.register("agent_up", "Whether the agent serves", up);
    registry.register("agent_generation", "The agent's generation", generation);
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
