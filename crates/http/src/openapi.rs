//! The description of the API for programs and their authors.

use crate::{
    agents, approvals, audit, chat, deliveries, events, grants, mcp, mcp_servers, memory, messages,
    metrics, pairing, platforms, route, secrets, sessions, skills, system, tokens, tools, usage,
    v1,
};
use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

#[derive(OpenApi)]
#[openapi(
    info(title = "Insula", description = "One daemon, many agents, each in its own trust domain"),
    paths(
        system::healthz,
        system::readyz,
        system::status,
        system::reload,
        system::doctor,
        system::applied,
        metrics::scrape,
        platforms::hook,
        chat::socket,
        route::explain,
        audit::daemon,
        audit::verify_daemon,
        audit::chains,
        audit::agent,
        audit::verify_agent,
        tokens::list,
        tokens::create,
        tokens::revoke,
        mcp_servers::list,
        mcp_servers::test,
        mcp_servers::approve,
        secrets::list_all,
        secrets::list_daemon,
        secrets::set_daemon,
        secrets::remove_daemon,
        secrets::list,
        secrets::set,
        secrets::remove,
        skills::list,
        skills::show,
        skills::install,
        skills::remove,
        skills::verify,
        usage::all,
        usage::agent,
        v1::models,
        v1::model,
        v1::completions,
        v1::respond,
        v1::response,
        approvals::list_all,
        approvals::list,
        approvals::decide,
        deliveries::list,
        deliveries::resend,
        deliveries::discard,
        pairing::list_all,
        pairing::list,
        pairing::approve,
        pairing::revoke,
        grants::list,
        grants::revoke,
        agents::list,
        agents::add,
        agents::show,
        agents::delete,
        agents::pause,
        agents::resume,
        agents::archive,
        agents::reload,
        agents::context,
        tools::tools,
        mcp::message,
        mcp::end,
        messages::say,
        messages::retry,
        messages::stop,
        messages::begin_anew,
        events::follow,
        memory::list,
        memory::show,
        memory::search,
        memory::share,
        memory::forget,
        memory::export,
        memory::verify,
        memory::troubles,
        memory::people::remembered,
        memory::people::forget_here,
        sessions::list,
        sessions::show,
        sessions::search,
        sessions::forget,
    ),
    modifiers(&Token)
)]
struct Document;

struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// The OpenAPI description.
pub async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Document::openapi())
}
