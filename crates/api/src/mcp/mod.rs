//! An agent as an MCP server: talk to it, look at its sessions, answer its approvals, as far as
//! the credential goes.
//!
//! Spoken by hand: of the protocol only tools are offered, which are a handful of JSON
//! messages, and everything around them (whose token, which agent, what it may, when that
//! ends) is ours. Two generations of the protocol are understood: the one that begins with
//! `initialize` and keeps a session, and the one whose every request says all there is to say.
//!
//! The server of `rmcp` 3.8.0 was measured (two cores, `opt-level = 1`): 18 more crates, some 50 s
//! more to build, 1.9 MB more in the program; 93 KB and three tasks for a session, which here takes
//! 291 bytes. What manages its sessions is not told whose they are, so they could be neither
//! bounded by credential nor tied to one; without sessions it hears no cancellation from older
//! clients; and it refuses clients that take JSON alone.

mod call;
mod progress;
mod rpc;
mod sessions;
mod talk;
mod tools;
mod version;

pub use sessions::Sessions;

use crate::Api;
use crate::caller::{Caller, Within};
use crate::error::{ApiError, ErrorBody};
use crate::front::RequestSlot;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use call::Call;
use insula_domain::AgentId;
use rpc::{Incoming, Request, RpcFault};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use version::Era;

/// The longest message: a long text to say, and no files.
const BODY_LEN_MAX: usize = 4 * 1024 * 1024;

/// Says which agent is meant, where a token is for several.
const AGENT_HEADER: &str = "x-insula-agent";
/// The session of the older protocol.
const SESSION_HEADER: &str = "mcp-session-id";

/// Which agent is meant.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// The agent, where the credential is for several.
    agent: Option<String>,
}

/// One message of the Model Context Protocol (streamable HTTP) to an agent.
#[utoipa::path(post, path = "/mcp", params(Which), request_body = Object,
    responses((status = 200, body = Object), (status = 202), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
    (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn message(
    State(api): State<Api>,
    Extension(sessions): Extension<Arc<Sessions>>,
    caller: Caller,
    place: RequestSlot,
    which: Result<Query<Which>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let agent = agent(&api, &caller, which?.0, &headers)?;
    place.about(&agent)?;
    let body = body.ok().filter(|body| body.len() <= BODY_LEN_MAX);
    let Some(body) = body else {
        let message = format!("the message is longer than {BODY_LEN_MAX} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message));
    };
    let incoming = match rpc::read(&body) {
        Ok(incoming) => incoming,
        Err(fault) => return Ok(refused(StatusCode::BAD_REQUEST, &Value::Null, fault)),
    };
    let call = Call { api, caller, agent, sessions };
    Ok(match incoming {
        Incoming::Request(request) => respond(call, &headers, request).await,
        Incoming::Notification { method, params } => {
            call.notified(session_of(&headers), &method, &params);
            StatusCode::ACCEPTED.into_response()
        }
        // Nothing is ever asked of a client, so no answer of one is waited for.
        Incoming::Response => StatusCode::ACCEPTED.into_response(),
    })
}

/// Ends a session of the older protocol. Turns that it began go on.
#[utoipa::path(delete, path = "/mcp", params(Which), responses((status = 204), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn end(
    State(api): State<Api>,
    Extension(sessions): Extension<Arc<Sessions>>,
    caller: Caller,
    which: Result<Query<Which>, QueryRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    let agent = agent(&api, &caller, which?.0, &headers)?;
    match session_of(&headers) {
        Some(id) if sessions.end(id, caller.account(), &agent) => Ok(StatusCode::NO_CONTENT),
        _ => Err(no_session()),
    }
}

/// The one agent that a request is about. A name that is not among the credential's is a name
/// that nobody has.
fn agent(
    api: &Api,
    caller: &Caller,
    which: Which,
    headers: &HeaderMap,
) -> Result<AgentId, ApiError> {
    let header = headers.get(AGENT_HEADER).map(|value| value.to_str().unwrap_or("\u{fffd}"));
    let named = match (which.agent.as_deref(), header) {
        (Some(one), Some(other)) if one != other => {
            return Err(ApiError::invalid(format!("`?agent=` and `{AGENT_HEADER}` differ")));
        }
        (one, other) => one.or(other),
    };
    if let Within::Scope(_) = caller.within() {
        return Err(ApiError::no_agent(named.unwrap_or_default()));
    }
    let is_own = |id: &AgentId| match caller {
        Caller::Local => true,
        Caller::Token(token) => token.agents.contains(id),
    };
    let id = match (named, caller) {
        (Some(named), _) => {
            AgentId::new(named).ok().filter(is_own).ok_or_else(|| ApiError::no_agent(named))?
        }
        (None, Caller::Token(token)) if token.agents.len() == 1 => {
            token.agents.iter().next().cloned().ok_or_else(|| ApiError::no_agent(""))?
        }
        (None, _) => {
            let message = "this credential is for several agents: name one by `?agent=` or the header `X-Insula-Agent`";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "which_agent", message));
        }
    };
    match api.registry.snapshot().agents.contains_key(&id) {
        true => Ok(id),
        false => Err(ApiError::no_agent(id.as_str())),
    }
}

async fn respond(call: Call, headers: &HeaderMap, request: Request) -> Response {
    let era = match version::era(headers, &request) {
        Ok(era) => era,
        Err(fault) => return refused(StatusCode::BAD_REQUEST, &request.id, fault),
    };
    if era == Era::Session && request.method == "initialize" {
        return call.initialize(&request);
    }
    let session = match era {
        Era::Single => None,
        Era::Session => match session_of(headers) {
            Some(id) if call.sessions.touch(id, call.caller.account(), &call.agent) => {
                Some(id.to_owned())
            }
            Some(_) => return no_session().into_response(),
            // A question that a client may ask before anything else.
            None if request.method == "server/discover" || request.method == "ping" => None,
            None => {
                let fault =
                    RpcFault::invalid_request("begin with `initialize`, and show its session");
                return refused(StatusCode::BAD_REQUEST, &request.id, fault);
            }
        },
    };
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let streams = accepts.flat_map(|it| it.split(',')).any(|it| {
        let media = it.split(';').next().unwrap_or_default().trim();
        media == "text/event-stream" || media == "*/*"
    });
    match call.answer(era, session, request, streams).await {
        call::Answered::Result(id, result) => answered(&id, &result),
        call::Answered::Fault(id, fault) => {
            let status = if fault.is_unknown_method() && era == Era::Single {
                StatusCode::NOT_FOUND
            } else {
                StatusCode::OK
            };
            refused(status, &id, fault)
        }
        call::Answered::Stream(response) => response,
    }
}

fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_HEADER)?.to_str().ok()
}

fn no_session() -> ApiError {
    let message = "there is no such session; begin with `initialize`";
    ApiError::new(StatusCode::NOT_FOUND, "no_such_session", message)
}

fn answered(id: &Value, result: &Value) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn refused(status: StatusCode, id: &Value, fault: RpcFault) -> Response {
    let body = fault.response(id).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The answer that begins a session.
fn with_session(mut response: Response, id: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(SESSION_HEADER, value);
    }
    response
}
