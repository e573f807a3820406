//! The daemon's HTTP surface: health, metrics and the management API.
//!
//! One router serves the listener of a running daemon and, without any socket, the command
//! line when no daemon runs: what a command prints is the same either way. Types that go
//! over the wire are defined here and nowhere below.

mod agents;
mod approvals;
mod audit;
mod auth;
mod bodies;
mod chat;
mod connection;
mod deliveries;
mod error;
mod events;
mod grants;
mod handler;
mod id;
mod limits;
mod mcp;
mod mcp_servers;
mod memory;
mod messages;
mod metrics;
mod numbers;
mod openapi;
mod pairing;
mod places;
mod platforms;
mod route;
mod secrets;
mod serve;
mod sessions;
mod skills;
mod submit;
mod system;
mod tokens;
mod tools;
mod usage;
mod v1;

pub use auth::AdminToken;
pub use platforms::Platforms;
pub use serve::{serve, serve_local};
pub use system::Listening;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use handler::{delete, get, post, put};
use insula_capabilities::Capabilities;
use insula_registry::Daemon;
use insula_turns::Engine;
use std::sync::Arc;

/// What every handler works with.
#[derive(Clone)]
pub struct Surface {
    /// The agents.
    pub house: Arc<Daemon>,
    /// What acts for them.
    pub caps: Capabilities,
    /// What the local command line shows to be let in.
    pub admin: AdminToken,
    /// What runs turns; `None` for a command without a daemon.
    pub engine: Option<Engine>,
    /// Where the daemon listens; `None` for a command without a daemon.
    pub listening: Option<Listening>,
    /// The platforms that agents are reached by.
    pub platforms: Platforms,
}

/// All routes.
pub fn router(surface: Surface) -> Router {
    let api = Router::new()
        .route("/status", get(system::status))
        .route("/reload", post(system::reload))
        .route("/doctor", get(system::doctor))
        .route("/applied", get(system::applied))
        .route("/route/explain", post(route::explain))
        .route("/audit", get(audit::daemon))
        .route("/audit/verify", get(audit::verify_daemon))
        .route("/audit/chains", get(audit::chains))
        .route("/tokens", get(tokens::list).merge(post(tokens::create)))
        .route("/tokens/{id}", delete(tokens::revoke))
        .route("/secrets", get(secrets::list_all))
        .route("/daemon/secrets", get(secrets::list_daemon))
        .route("/daemon/secrets/{name}", put(secrets::set_daemon))
        .route("/daemon/secrets/{name}", delete(secrets::remove_daemon))
        .route("/approvals", get(approvals::list_all))
        .route("/agents/{id}/approvals", get(approvals::list))
        .route("/agents/{id}/approvals/{approval}", post(approvals::decide))
        .route("/agents/{id}/deliveries", get(deliveries::list))
        .route("/agents/{id}/deliveries/{delivery}", delete(deliveries::discard))
        .route("/agents/{id}/deliveries/{delivery}/resend", post(deliveries::resend))
        .route("/pairing", get(pairing::list_all))
        .route("/agents/{id}/pairing", get(pairing::list).merge(post(pairing::approve)))
        .route("/agents/{id}/pairing/{who}", delete(pairing::revoke))
        .route("/agents/{id}/grants", get(grants::list))
        .route("/agents/{id}/grants/{grant}", delete(grants::revoke))
        .route("/agents", get(agents::list).merge(post(agents::add)))
        .route("/agents/{id}", get(agents::show).merge(delete(agents::delete)))
        .route("/agents/{id}/pause", post(agents::pause))
        .route("/agents/{id}/resume", post(agents::resume))
        .route("/agents/{id}/archive", post(agents::archive))
        .route("/agents/{id}/reload", post(agents::reload))
        .route("/agents/{id}/context", get(agents::context))
        .route("/agents/{id}/tools", get(tools::tools))
        .route("/agents/{id}/mcp", get(mcp_servers::list))
        .route("/agents/{id}/mcp/{server}/test", post(mcp_servers::test))
        .route("/agents/{id}/mcp/{server}/approve", post(mcp_servers::approve))
        .route("/agents/{id}/messages", post(messages::say))
        .route("/agents/{id}/retry", post(messages::retry))
        .route("/agents/{id}/stop", post(messages::stop))
        .route("/agents/{id}/new", post(messages::begin_anew))
        .route("/agents/{id}/events", get(events::follow))
        .route("/agents/{id}/sessions", get(sessions::list))
        .route("/agents/{id}/sessions-search", get(sessions::search))
        .route("/agents/{id}/sessions/{session}", get(sessions::show))
        .route("/agents/{id}/sessions/{session}", delete(sessions::forget))
        .route("/agents/{id}/skills", get(skills::list).merge(post(skills::install)))
        .route("/agents/{id}/skills/{name}", get(skills::show).merge(delete(skills::remove)))
        .route("/agents/{id}/skills-verify", get(skills::verify))
        .route("/agents/{id}/memory", get(memory::list))
        .route("/agents/{id}/memory/{fragment}", get(memory::show))
        .route("/agents/{id}/memory-search", get(memory::search))
        .route("/agents/{id}/memory-share", post(memory::share))
        .route("/agents/{id}/memory-forget", post(memory::forget))
        .route("/agents/{id}/memory-export", get(memory::export))
        .route("/agents/{id}/memory-verify", get(memory::verify))
        .route("/agents/{id}/memory-troubles", get(memory::troubles))
        .route("/agents/{id}/remembered", post(memory::people::remembered))
        .route("/agents/{id}/forget", post(memory::people::forget_here))
        .route("/agents/{id}/secrets", get(secrets::list))
        .route("/agents/{id}/secrets/{name}", put(secrets::set).merge(delete(secrets::remove)))
        .route("/agents/{id}/audit", get(audit::agent))
        .route("/agents/{id}/usage", get(usage::agent))
        .route("/usage", get(usage::all))
        .route("/agents/{id}/audit/verify", get(audit::verify_agent))
        .method_not_allowed_fallback(error::wrong_method)
        .route_layer(from_fn_with_state(surface.clone(), auth::require_token))
        .route("/openapi.json", get(openapi::document));
    Router::new()
        .route("/healthz", get(system::healthz))
        .route("/readyz", get(system::readyz))
        .route("/metrics", get(metrics::scrape))
        .route("/v1/models", get(v1::models))
        .route("/v1/models/{id}", get(v1::model))
        .route("/v1/chat/completions", post(v1::completions))
        .route("/v1/responses", post(v1::respond))
        .route("/v1/responses/{id}", get(v1::response))
        .route("/hooks/{platform}/{account}", post(platforms::hook))
        .route("/chat/ws", get(chat::socket))
        .route("/mcp", post(mcp::message).merge(delete(mcp::end)))
        .method_not_allowed_fallback(error::wrong_method)
        .nest("/api", api)
        .fallback(error::not_found)
        .layer(axum::Extension(Arc::new(mcp::Sessions::default())))
        .layer(from_fn_with_state(surface.clone(), limits::take_in))
        .layer(from_fn_with_state(surface.clone(), auth::count_in))
        .layer(from_fn_with_state(surface.clone(), auth::refuse_foreign_hosts))
        .layer(from_fn(limits::refuse_too_much))
        .layer(DefaultBodyLimit::max(limits::BODY_LEN_MAX))
        .with_state(surface)
}
