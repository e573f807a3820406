//! The API of the agents that are owned here.
//!
//! A request comes with its token judged: who asks stands beside it as a [`Caller`], and each
//! route looks at what they may do with its agent. Nothing here knows a token's text, a connection
//! or a platform. Types that go over the wire are defined here and in the front, and nowhere below.

mod all_events;
mod all_sessions;
mod approvals;
pub mod audit;
mod audit_export;
mod boards;
mod body;
mod calendar;
mod caller;
mod choosing;
mod context;
mod conversations;
mod costs;
mod deliveries;
mod downloads;
mod each;
mod editor;
mod error;
mod events;
mod explain;
mod files;
mod front;
mod grants;
pub mod handler;
mod id;
mod inbox;
mod integrity;
mod jobs;
mod kept_files;
mod local;
mod matrix;
mod mcp;
mod mcp_servers;
mod memory;
mod messages;
mod now;
mod numbers;
mod openapi;
mod pairing;
mod parts;
mod refusal;
mod restart;
mod rights;
pub mod secrets;
mod sessions;
mod since;
mod skills;
mod submit;
mod terms;
mod tools;
mod turns;
mod usage;
mod v1;

pub use body::{BODY_LEN_MAX, BODY_TIME_MAX, TooSlow};
pub use caller::{Bearer, Caller, Lost, Stranger};
pub use error::{ApiError, ErrorBody, keep_findings_of};
pub use front::{Endless, RequestSlot};
pub use id::Id;
pub use integrity::IntegrityView;
pub use local::LocalOwner;
pub use openapi::described;
pub use refusal::{not_found, refused_for_good, shaped, wrong_method};
pub use rights::require;

use axum::Router;
use axum::middleware::from_fn;
use handler::{delete, get, post, put};
use insula_capabilities::{Capabilities, Opened};
use insula_registry::boards::Boards;
use insula_registry::forgotten::Forgotten;
use insula_registry::jobs::Jobs;
use insula_registry::outbox::Outbox;
use insula_registry::secrets::SecretBook;
use insula_registry::trail::Trail;
use insula_registry::{Access, Daemon, Home, Registry};
use insula_store::Store;
use insula_turns::Engine;
use insula_world::World;
use std::sync::Arc;

/// What every handler works with.
#[derive(Clone)]
pub struct Api {
    home: Home,
    world: World,
    store: Store,
    registry: Arc<Registry>,
    access: Arc<Access>,
    secrets: Arc<SecretBook>,
    trail: Trail,
    outbox: Arc<Outbox>,
    jobs: Arc<Jobs>,
    boards: Arc<Boards>,
    forgotten: Arc<Forgotten>,
    /// What changes agents.
    daemon: Arc<Daemon>,
    /// What acts for them.
    capabilities: Capabilities,
    /// What runs turns; `None` for a command without a daemon.
    engine: Option<Engine>,
}

impl Api {
    /// For the agents of a home that is open.
    pub fn new(opened: &Opened, engine: Option<Engine>) -> Self {
        let Opened { daemon, parts, capabilities } = opened;
        Self {
            home: parts.home.clone(),
            world: parts.world.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            access: parts.access.clone(),
            secrets: parts.secrets.clone(),
            trail: parts.trail.clone(),
            outbox: parts.outbox.clone(),
            jobs: parts.jobs.clone(),
            boards: parts.boards.clone(),
            forgotten: parts.forgotten.clone(),
            daemon: daemon.clone(),
            capabilities: capabilities.clone(),
            engine,
        }
    }
}

/// All routes of an owner.
pub fn router(state: Api) -> Router {
    let api = Router::new()
        .route("/approvals", get(approvals::list_all))
        .route("/agents/{id}/approvals", get(approvals::list))
        .route("/agents/{id}/approvals/{approval}", post(approvals::decide))
        .route("/agents/{id}/deliveries", get(deliveries::list))
        .route("/agents/{id}/deliveries/{delivery}", delete(deliveries::discard))
        .route("/agents/{id}/deliveries/{delivery}/resend", post(deliveries::resend))
        .route("/boards", get(boards::list))
        .route("/boards/{board}/cards", get(boards::cards).merge(post(boards::add)))
        .route("/boards/{board}/cards/{card}", get(boards::show).merge(post(boards::act)))
        .route("/boards/{board}/cards/{card}/files", post(boards::attach))
        .route("/boards/{board}/cards/{card}/files/{hash}", get(boards::file))
        .route("/boards/{board}/events", get(boards::events))
        .route("/jobs", get(jobs::list_all))
        .route("/agents/{id}/jobs", get(jobs::list).merge(post(jobs::add)))
        .route("/agents/{id}/jobs/{name}", get(jobs::show).merge(delete(jobs::remove)))
        .route("/agents/{id}/jobs/{name}/pause", post(jobs::pause))
        .route("/agents/{id}/jobs/{name}/resume", post(jobs::resume))
        .route("/agents/{id}/jobs/{name}/run", post(jobs::run))
        .route("/agents/{id}/jobs/{name}/runs", get(jobs::runs))
        .route("/pairing", get(pairing::list_all))
        .route("/agents/{id}/pairing", get(pairing::list).merge(post(pairing::approve)))
        .route("/agents/{id}/pairing/{who}", delete(pairing::revoke))
        .route("/agents/{id}/grants", get(grants::list))
        .route("/agents/{id}/files/foreign", get(files::list).delete(files::trust))
        .route("/agents/{id}/grants/{grant}", delete(grants::revoke))
        .route("/agents/{id}/context", get(context::context))
        .route("/agents/{id}/tools", get(tools::tools))
        .route("/agents/{id}/explain", post(explain::explain))
        .route("/agents/{id}/mcp", get(mcp_servers::list))
        .route("/agents/{id}/mcp/{server}/test", post(mcp_servers::test))
        .route("/agents/{id}/mcp/{server}/restart", post(mcp_servers::restart))
        .route("/agents/{id}/mcp/{server}/approve", post(mcp_servers::approve))
        .route("/agents/{id}/messages", post(messages::say))
        .route("/agents/{id}/retry", post(messages::retry))
        .route("/agents/{id}/stop", post(messages::stop))
        .route("/agents/{id}/new", post(messages::begin_anew))
        .route("/agents/{id}/conversation", post(choosing::act))
        .route("/agents/{id}/editor", post(editor::open))
        .route("/agents/{id}/editor/answer", post(editor::answer))
        .route("/agents/{id}/restart", post(restart::restart))
        .route("/agents/{id}/events", get(events::follow))
        .route("/agents/{id}/sessions", get(sessions::list))
        // No number and no name of one is a word: what stands beside `{session}` and `{fragment}`
        // hides none of them.
        .route("/agents/{id}/sessions/search", get(sessions::search))
        .route("/agents/{id}/sessions/{session}", get(sessions::show))
        .route("/agents/{id}/sessions/{session}", delete(sessions::forget))
        .route("/agents/{id}/sessions/{session}/parts", get(parts::parts))
        .route("/agents/{id}/sessions/{session}/files/{message}/{part}", get(downloads::of_session))
        .route("/sessions/search", get(sessions::search_all))
        .route("/agents/{id}/turns", get(turns::list))
        .route("/agents/{id}/turns/{turn}", get(turns::show))
        .route("/agents/{id}/turns/{turn}/shown", get(turns::shown::list))
        .route("/agents/{id}/turns/{turn}/shown/{call}", get(turns::shown::show))
        .route("/agents/{id}/turns/{turn}/events", get(now::follow))
        .route("/agents/{id}/turns/{turn}/stop", post(now::stop))
        .route("/agents/{id}/conversations", get(conversations::list))
        .route("/agents/{id}/conversations/{conversation}", get(conversations::show))
        .route(
            "/agents/{id}/conversations/{conversation}/files/{message}/{part}",
            get(downloads::of_conversation),
        )
        .route("/agents/{id}/skills", get(skills::list).merge(post(skills::install)))
        .route("/agents/{id}/skills/{name}", get(skills::show).merge(delete(skills::remove)))
        .route("/agents/{id}/skills-verify", get(skills::verify))
        .route("/agents/{id}/memory", get(memory::list))
        .route("/agents/{id}/memory/{fragment}", get(memory::show))
        .route("/agents/{id}/memory/search", get(memory::search))
        .route("/agents/{id}/memory/recall", get(memory::recall::recall))
        .route("/agents/{id}/memory/share", post(memory::share))
        .route("/agents/{id}/memory/forget", post(memory::forget))
        .route("/agents/{id}/memory/export", get(memory::export))
        .route("/agents/{id}/memory/verify", get(memory::verify))
        .route("/agents/{id}/memory/troubles", get(memory::troubles))
        .route("/agents/{id}/remembered", post(memory::people::remembered))
        .route("/agents/{id}/forget", post(memory::people::forget_here))
        .route("/agents/{id}/secrets", get(secrets::list))
        .route("/agents/{id}/secrets/{name}", put(secrets::set).merge(delete(secrets::remove)))
        .route("/agents/{id}/audit", get(audit::agent))
        .route("/agents/{id}/audit/verify", get(audit::verify_agent))
        .route("/agents/{id}/audit/export", get(audit_export::export))
        .route("/agents/{id}/audit/key", get(audit_export::key))
        .route("/agents/{id}/usage", get(usage::agent))
        .route("/usage", get(usage::all))
        .method_not_allowed_fallback(wrong_method)
        .route_layer(from_fn(require))
        // Of all agents that are the caller's: it looks at each itself.
        .route("/events", get(all_events::follow))
        .route("/inbox", get(inbox::waiting))
        .route("/inbox/answered", get(inbox::answered))
        .route("/inbox/grants", get(inbox::granted))
        .route("/sessions", get(all_sessions::list))
        .route("/calendar", get(calendar::calendar))
        .route("/costs", get(costs::costs))
        .route("/tools", get(matrix::matrix))
        .route("/now", get(now::now));
    Router::new()
        .route("/v1/models", get(v1::models))
        .route("/v1/models/{id}", get(v1::model))
        .route("/v1/chat/completions", post(v1::completions))
        .route("/v1/responses", post(v1::respond))
        .route("/v1/responses/{id}", get(v1::response).merge(delete(v1::forget)))
        .route("/mcp", post(mcp::message).merge(delete(mcp::end)))
        .method_not_allowed_fallback(wrong_method)
        .nest("/api", api)
        .fallback(not_found)
        .layer(axum::Extension(Arc::new(mcp::Sessions::default())))
        .with_state(state)
}
