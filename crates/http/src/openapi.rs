//! The description of the API for programs and their authors.

use crate::{
    accounts, agents, audit, chat, configuration, gauntlet, home_chat, map, me, metrics, platforms,
    route, secrets, sign_in, system, tokens,
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
        accounts::list,
        accounts::test,
        accounts::platforms,
        metrics::scrape,
        platforms::hook_asked,
        platforms::hook,
        chat::socket,
        route::explain,
        audit::daemon,
        audit::verify_daemon,
        audit::chains,
        me::me,
        map::map,
        sign_in::link,
        sign_in::enter,
        sign_in::leave,
        tokens::list,
        tokens::create,
        tokens::revoke,
        secrets::list_all,
        secrets::list_daemon,
        secrets::set_daemon,
        secrets::remove_daemon,
        configuration::show,
        configuration::check,
        configuration::write,
        configuration::edit,
        configuration::schema,
        configuration::templates,
        configuration::begin,
        gauntlet::show,
        gauntlet::start,
        gauntlet::stop,
        gauntlet::follow,
        agents::list,
        agents::add,
        agents::shown,
        agents::delete,
        agents::pause,
        agents::resume,
        agents::archive,
        agents::reload,
        home_chat::set,
        home_chat::clear,
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
pub fn described() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    document.merge(insula_api::described());
    document
}

/// The description, as it is served.
pub async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(described())
}
