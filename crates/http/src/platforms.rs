//! What the listener knows of platforms: requests of theirs go to the gateway unread, and pages
//! of web chats are joined to it.

use crate::Server;
use crate::limits::read_within;
use crate::standing::{as_the_daemon_says, as_they_are_alike};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use insula_adapters::{Makers, request_len_max};
use insula_api::{ApiError, ErrorBody};
use insula_capabilities::doctor::DoctorFinding;
use insula_channel::{WebAnswer, WebMethod, WebRequest};
use insula_config::Account;
use insula_gateway::{AccountState, Connection, Gateway};
use insula_registry::Front;
use std::sync::Arc;

/// The gateway and what makes its adapters, as far as they are there.
#[derive(Clone, Default)]
pub struct Platforms {
    /// The gateway; `None` for a command without a daemon.
    pub gateway: Option<Arc<Gateway>>,
    /// What makes adapters.
    pub makers: Option<Arc<Makers>>,
}

impl Platforms {
    /// How every account stands. Without a gateway, those of the configuration are off.
    pub fn accounts(&self, front: &Front) -> Vec<AccountState> {
        if let Some(gateway) = &self.gateway {
            return gateway.accounts();
        }
        let since = front.world().clock.now();
        let accounts = front.accounts().into_iter().map(|account| AccountState {
            platform: account.platform,
            account: account.name,
            state: Connection::Off,
            reason: Some("no daemon runs".to_owned()),
            since,
            events: 0,
            errors: 0,
        });
        accounts.collect()
    }

    /// Each state and how many accounts are in it.
    pub fn by_state(&self, front: &Front) -> [(&'static str, usize); 5] {
        let accounts = self.accounts(front);
        Connection::ALL.map(|state| {
            (state.as_str(), accounts.iter().filter(|account| account.state == state).count())
        })
    }

    /// What `insula doctor` says about accounts.
    pub async fn examine(&self, front: &Front) -> Vec<DoctorFinding> {
        match &self.makers {
            Some(makers) => {
                let running = self.gateway.as_ref().map(|gateway| &**gateway.connections());
                let mut found = insula_gateway::examine(front, &**makers, running).await;
                let states = self.gateway.as_ref().map(|it| it.accounts()).unwrap_or_default();
                as_the_daemon_says(&mut found, &states);
                as_they_are_alike(&mut found, front, &states);
                found
            }
            None => Vec::new(),
        }
    }

    /// The same about one account; `None` where there is none of that name.
    pub async fn examine_account(
        &self,
        front: &Front,
        platform: &str,
        account: &str,
    ) -> Option<DoctorFinding> {
        let all = front.accounts();
        let is_it = |it: &&Account| it.platform.as_str() == platform && it.name.as_str() == account;
        let (account, makers) = (all.iter().find(is_it)?, self.makers.as_ref()?);
        let running = self.gateway.as_ref().map(|gateway| &**gateway.connections());
        let mut found = [insula_gateway::examine_one(front, &**makers, running, account).await];
        if let Some(gateway) = &self.gateway {
            as_the_daemon_says(&mut found, &gateway.accounts());
        }
        let [found] = found;
        Some(found)
    }
}

/// A question of a platform about one of our accounts, as some ask before they call.
#[utoipa::path(get, path = "/hooks/{platform}/{account}",
    params(("platform" = String, Path), ("account" = String, Path)),
    responses(
        (status = 200, description = "what the platform wants to hear", content_type = "text/plain"),
        (status = 401, body = ErrorBody, description = "no such account, or the request does not show its secret")))]
pub async fn hook_asked(
    server: State<Server>,
    path: Path<(String, String)>,
    request: Request,
) -> Response {
    hook(server, path, request).await
}

/// A request of a platform for one of our accounts. Its adapter checks it by a secret of its own;
/// an account that does not exist answers as a wrong secret does.
#[utoipa::path(post, path = "/hooks/{platform}/{account}",
    params(("platform" = String, Path), ("account" = String, Path)),
    responses(
        (status = 202, description = "taken, and durable; some platforms get 200"),
        (status = 401, body = ErrorBody, description = "no such account, or the request does not show its secret"),
        (status = 413, body = ErrorBody, description = "the body is too long"),
        (status = 503, body = ErrorBody, description = "not taken; send it again")))]
pub async fn hook(
    State(server): State<Server>,
    Path((platform, account)): Path<(String, String)>,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    let method = match *request.method() {
        Method::GET => WebMethod::Get,
        Method::POST => WebMethod::Post,
        _ => return answered(WebAnswer::refused()),
    };
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).into();
    let clock = server.world.clock.clone();
    // By the platform alone: which accounts there are does not show in it.
    let len_max = request_len_max(&platform);
    let body = read_within(request, len_max, clock).await;
    let body = match body {
        Ok(body) => body,
        Err(None) => return too_long(len_max),
        Err(Some(over)) => return ApiError::from(over).into_response(),
    };
    let headers = headers.iter().filter_map(|(name, value)| {
        // A value that is no text is nobody's secret.
        Some((name.as_str().into(), value.to_str().ok()?.into()))
    });
    let request = WebRequest { method, target, headers: headers.collect(), body };
    let answer = match &server.platforms.gateway {
        Some(gateway) => gateway.receive(&platform, &account, request).await,
        None => WebAnswer::refused(),
    };
    answered(answer)
}

fn too_long(len_max: usize) -> Response {
    let message = format!("the body is longer than {len_max} bytes");
    let body = serde_json::json!({ "error": { "code": "body_too_large", "message": message } });
    let answer = WebAnswer::json(413, body.to_string());
    // What is left of it is nobody's next request.
    ([(header::CONNECTION, "close")], answered(answer)).into_response()
}

fn answered(answer: WebAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Body::from(answer.body)).into_response();
    if let Some(media_type) = answer.media_type {
        let value = header::HeaderValue::from_static(media_type);
        response.headers_mut().insert(header::CONTENT_TYPE, value);
        // What a platform asked us to repeat is no page of ours.
        let as_it_says = header::HeaderValue::from_static("nosniff");
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, as_it_says);
    }
    response
}
