//! The front of the daemon: its one listener, who comes in by it, and what is the daemon's own.
//!
//! What is about an agent's state is its owner's to answer ([`insula_api`]); requests go there
//! whole, by one function. One router serves the listener of a running daemon and, without any
//! socket, the command line when no daemon runs: what a command prints is the same either way.

mod accounts;
mod agents;
mod audit;
mod auth;
mod bodies;
mod changes;
mod chat;
mod configuration;
mod connection;
mod connection_limits;
mod cors;
mod dashboard;
mod forward;
mod gauntlet;
mod home_chat;
mod limits;
mod map;
mod me;
mod metrics;
mod openapi;
mod platforms;
mod route;
mod secrets;
mod serve;
mod sign_in;
mod standing;
mod system;
mod tokens;

pub use auth::AdminToken;
pub use gauntlet::Programs;
pub use openapi::described;
pub use platforms::Platforms;
pub use serve::{serve, serve_local};
pub use system::Listening;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use insula_api::handler::{delete, get, post, put};
use insula_api::{BODY_LEN_MAX, require, wrong_method};
use insula_capabilities::{Capabilities, Opened};
use insula_channel::Owner;
use insula_registry::access::InboundCounts;
use insula_registry::forgotten::Forgotten;
use insula_registry::outbox::Outbox;
use insula_registry::sign_ins::SignIns;
use insula_registry::tokens::Tokens;
use insula_registry::{Daemon, Front, Home, Registry};
use insula_world::World;
use std::sync::Arc;

/// What the front works with.
#[derive(Clone)]
pub struct Server {
    home: Home,
    world: World,
    registry: Arc<Registry>,
    tokens: Arc<Tokens>,
    sign_ins: Arc<SignIns>,
    /// Links that sign somebody in once.
    links: Arc<sign_in::Links>,
    outbox: Arc<Outbox>,
    inbound: Arc<InboundCounts>,
    forgotten: Arc<Forgotten>,
    /// Accounts, routes and the records of the daemon itself.
    front: Front,
    /// What operators change.
    daemon: Arc<Daemon>,
    /// What is examined, and what says which scope a message would have.
    capabilities: Capabilities,
    /// Who answers what is about agents.
    owner: Arc<dyn Owner>,
    /// What the local command line shows to be let in.
    admin: AdminToken,
    /// Where the daemon listens; `None` for a command without a daemon.
    pub listening: Option<Listening>,
    /// The platforms that agents are reached by.
    pub platforms: Platforms,
    /// What attacks daemons like this one.
    pub gauntlet: gauntlet::Gauntlet,
}

impl Server {
    /// The front of a home that is open, without a listener and platforms.
    pub fn new(opened: &Opened, owner: Arc<dyn Owner>, admin: AdminToken) -> Self {
        let Opened { daemon, parts, capabilities } = opened;
        Self {
            home: parts.home.clone(),
            world: parts.world.clone(),
            registry: parts.registry.clone(),
            tokens: parts.tokens.clone(),
            sign_ins: parts.sign_ins.clone(),
            links: Arc::default(),
            outbox: parts.outbox.clone(),
            inbound: parts.inbound.clone(),
            forgotten: parts.forgotten.clone(),
            front: Front::of(parts),
            daemon: daemon.clone(),
            capabilities: capabilities.clone(),
            owner,
            admin,
            listening: None,
            platforms: Platforms::default(),
            gauntlet: gauntlet::Gauntlet::default(),
        }
    }
}

/// All routes of the front. What is none of them is the owner's.
pub fn router(server: Server) -> Router {
    let api = Router::new()
        .route("/status", get(system::status))
        .route("/reload", post(system::reload))
        .route("/doctor", get(system::doctor))
        .route("/accounts", get(accounts::list))
        .route("/accounts/test", post(accounts::test))
        .route("/platforms", get(accounts::platforms))
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
        .route("/agents", get(agents::list).merge(post(agents::add)))
        .route("/agents/{id}", get(agents::shown).merge(delete(agents::delete)))
        .route("/agents/{id}/pause", post(agents::pause))
        .route("/agents/{id}/resume", post(agents::resume))
        .route("/agents/{id}/archive", post(agents::archive))
        .route("/agents/{id}/reload", post(agents::reload))
        .route("/agents/{id}/home", put(home_chat::set).merge(delete(home_chat::clear)))
        .route("/sign-in/links", post(sign_in::link))
        .route("/config/files", put(configuration::write))
        .route("/config/files/{name}", get(configuration::show))
        .route("/config/check", post(configuration::check))
        .route("/config/edit", post(configuration::edit))
        .route("/config/schema", get(configuration::schema))
        .route("/config/templates", get(configuration::templates))
        .route("/config/templates/{name}", post(configuration::begin))
        .route("/gauntlet", get(gauntlet::show).merge(post(gauntlet::start)))
        .route("/gauntlet", delete(gauntlet::stop))
        .route("/gauntlet/events", get(gauntlet::follow))
        .method_not_allowed_fallback(wrong_method)
        .route_layer(from_fn(require))
        // Anybody asks these: who they are, and to be somebody.
        .route("/me", get(me::me))
        .route("/map", get(map::map))
        .route("/sign-in", post(sign_in::enter).merge(delete(sign_in::leave)))
        .route("/openapi.json", get(openapi::document));
    Router::new()
        .route("/healthz", get(system::healthz))
        .route("/readyz", get(system::readyz))
        .route("/metrics", get(metrics::scrape))
        .route(
            "/hooks/{platform}/{account}",
            get(platforms::hook_asked).merge(post(platforms::hook)),
        )
        .route("/chat/ws", get(chat::socket))
        .method_not_allowed_fallback(wrong_method)
        .nest("/api", api)
        .merge(dashboard::routes())
        .fallback(forward::forward)
        .layer(from_fn_with_state(server.clone(), changes::refuse))
        .layer(from_fn_with_state(server.clone(), auth::judge))
        .layer(from_fn_with_state(server.clone(), limits::take_in))
        .layer(from_fn_with_state(server.clone(), auth::count_in))
        .layer(from_fn_with_state(server.clone(), cors::welcome))
        .layer(from_fn_with_state(server.clone(), auth::refuse_foreign_hosts))
        .layer(from_fn(limits::refuse_too_much))
        .layer(DefaultBodyLimit::max(BODY_LEN_MAX))
        .with_state(server)
}
