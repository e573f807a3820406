//! The description of an owner's routes, for the one of the whole API.

use crate::{
    approvals, audit, context, deliveries, events, files, grants, mcp, mcp_servers, memory,
    messages, pairing, restart, secrets, sessions, skills, tools, turns, usage, v1,
};
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(paths(
    audit::agent,
    audit::verify_agent,
    mcp_servers::list,
    mcp_servers::test,
    mcp_servers::approve,
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
    v1::forget,
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
    files::list,
    files::trust,
    grants::list,
    grants::revoke,
    context::context,
    tools::tools,
    mcp::message,
    mcp::end,
    messages::say,
    messages::retry,
    messages::stop,
    restart::restart,
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
    sessions::search_all,
    sessions::forget,
    turns::list,
    turns::show,
))]
struct Document;

/// The OpenAPI description of what an owner answers.
pub fn described() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
