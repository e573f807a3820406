//! Signing in with a browser: by a token, or by a link that the command line made and that opens
//! once. A sign-in is whoever it stands for, and decides nothing itself.

use crate::Server;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{AppendHeaders, IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::stream;
use insula_api::{ApiError, Caller, ErrorBody};
use insula_registry::Actor;
use insula_registry::sign_ins::{Holder, LASTS_MS};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use utoipa::ToSchema;

/// What the page shows beside the cookie.
pub const PAGE: HeaderName = HeaderName::from_static("x-insula-page");

/// What browsers say about who asks. No page can set it.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// How long a link opens something.
const LINK_LASTS: Duration = Duration::from_secs(120);

/// Links that wait to be opened. With one more the oldest goes.
const LINKS_MAX: usize = 16;

/// The last frame of a stream whose sign-in ended.
const SIGNED_OUT: &str =
    "event: error\ndata: {\"error\":{\"code\":\"signed_out\",\"message\":\"You signed out.\"}}\n\n";

/// Links that the command line made, until they are opened.
#[derive(Default)]
pub struct Links {
    waiting: Mutex<VecDeque<(blake3::Hash, Duration)>>,
}

impl Links {
    fn add(&self, code: &str, now: Duration) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back((blake3::hash(code.as_bytes()), now));
        while waiting.len() > LINKS_MAX {
            waiting.pop_front();
        }
    }

    /// Whether it opens something. It does so once.
    fn take(&self, code: &str, now: Duration) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(_, made)| now.saturating_sub(*made) < LINK_LASTS);
        let shown = blake3::hash(code.as_bytes());
        let found = waiting.iter().position(|(code, _)| *code == shown);
        found.and_then(|at| waiting.remove(at)).is_some()
    }
}

/// A link that signs in whoever opens it first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Link {
    /// Where it leads; what stands behind the `#` is sent to nobody by a browser.
    url: String,
    /// How long it opens something.
    expires_s: u64,
}

/// How somebody signs in: by a link, or by the token that the request shows.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Enter {
    /// The code of a link.
    link: Option<String>,
}

/// What a page keeps to show beside its cookie.
#[derive(Debug, Serialize, ToSchema)]
pub struct Entered {
    /// Goes into the header `x-insula-page`.
    key: String,
}

impl Server {
    /// The cookie's name. A browser keeps one for all ports of a host, so the port is in it.
    fn cookie_name(&self) -> String {
        let port = self.listening.map_or(0, |it| it.address.port());
        format!("insula_sign_in_{port}")
    }

    /// The sign-in that a page of ours shows, and whom it stands for.
    pub(crate) fn signed_in(&self, headers: &HeaderMap) -> Option<(Box<str>, Holder)> {
        // Only what our own page asks: whatever else makes a browser ask brings the cookie too.
        let is_own = |value: &axum::http::HeaderValue| value == "same-origin";
        if !headers.get_all(SITE).iter().all(is_own) {
            return None;
        }
        let page = headers.get(PAGE)?.to_str().ok()?;
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
        let mut pairs = cookies.flat_map(|all| all.split(';')).filter_map(|it| it.split_once('='));
        let (_, cookie) = pairs.find(|(key, _)| key.trim() == name)?;
        self.sign_ins.find(cookie.trim(), page, self.world.clock.now())
    }

    /// The sign-in by which these headers ask, if it is one that decides.
    pub(crate) fn sign_in_of(&self, headers: &HeaderMap) -> Option<Box<str>> {
        let shows_more = headers.contains_key(AUTHORIZATION);
        (!shows_more).then(|| self.signed_in(headers).map(|(id, _)| id)).flatten()
    }

    /// The answer; a stream of events ends with the sign-in that it was asked by, as one that was
    /// asked by a token ends with that.
    pub(crate) fn until_signed_out(&self, id: Box<str>, answer: Response) -> Response {
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if !kind.is_some_and(|it| it.starts_with("text/event-stream")) {
            return answer;
        }
        let sign_ins = self.sign_ins.clone();
        let ended = Box::pin(async move { sign_ins.ended(&id).await });
        let (parts, body) = answer.into_parts();
        let open = Some((ended, body.into_data_stream()));
        let frames = stream::unfold(open, |open| async move {
            let (mut ended, mut frames) = open?;
            tokio::select! {
                biased;
                () = &mut ended => Some((Ok(SIGNED_OUT.into()), None)),
                frame = frames.next() => Some((frame?, Some((ended, frames)))),
            }
        });
        Response::from_parts(parts, Body::from_stream(frames))
    }

    fn set_cookie(&self, value: &str, lasts_s: i64) -> Response {
        let name = self.cookie_name();
        let cookie =
            format!("{name}={value}; Path=/api; Max-Age={lasts_s}; HttpOnly; SameSite=Strict");
        AppendHeaders([(SET_COOKIE, cookie)]).into_response()
    }
}

/// Makes a link that signs in whoever opens it first, as the admin.
#[utoipa::path(post, path = "/api/sign-in/links",
    responses((status = 200, body = Link), (status = 409, body = ErrorBody, description = "no daemon runs")), security(("token" = [])))]
pub async fn link(State(server): State<Server>) -> Result<Json<Link>, ApiError> {
    let Some(listening) = server.listening else {
        let message = "no daemon runs in this home; start one with `insula up`";
        return Err(ApiError::new(StatusCode::CONFLICT, "no_daemon", message));
    };
    let now = server.world.clock.elapsed();
    let at = now.as_nanos().to_string();
    let mut random = server.world.random.stream(&["sign-in-link", &at]);
    let code = format!("{}{}", random.id(), random.id());
    server.links.add(&code, now);
    let mut address = listening.address;
    if address.ip().is_unspecified() {
        // It listens everywhere, also here.
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let url = format!("http://{address}/#open={code}");
    Ok(Json(Link { url, expires_s: LINK_LASTS.as_secs() }))
}

/// Signs in with a browser. Sets a cookie, and gives what the page shows beside it.
#[utoipa::path(post, path = "/api/sign-in", request_body = Enter,
    responses((status = 200, body = Entered), (status = 401, body = ErrorBody, description = "the token is nobody's, or the link was opened or is too old")), security(("token" = [])))]
pub async fn enter(
    State(server): State<Server>,
    caller: Result<Caller, ApiError>,
    body: Result<Json<Enter>, JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(Enter { link }) = body?;
    let (holder, actor) = match link {
        Some(code) if server.links.take(&code, server.world.clock.elapsed()) => {
            (Holder::Local, Actor::CommandLine)
        }
        Some(_) => {
            let message =
                "the link was opened before, or is too old; make another by `insula open`";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message));
        }
        None => match caller? {
            Caller::Local => (Holder::Local, Actor::CommandLine),
            Caller::Token(token) if token.scope().is_some() => {
                let message = "this token sees one scope, and the dashboard shows whole agents; use it with the API or `insula audit`";
                return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
            }
            Caller::Token(token) => (Holder::Token(token.id.clone()), Actor::token(&token.id)),
        },
    };
    let made = server.daemon.begin_sign_in(holder, &actor).await?;
    let cookie = server.set_cookie(&made.cookie, LASTS_MS / 1_000);
    Ok((cookie.headers().clone(), Json(Entered { key: made.page })).into_response())
}

/// Signs out. The cookie and what the page kept open nothing after that.
#[utoipa::path(delete, path = "/api/sign-in", responses((status = 204)), security(("token" = [])))]
pub async fn leave(State(server): State<Server>, headers: HeaderMap) -> Result<Response, ApiError> {
    if let Some((id, holder)) = server.signed_in(&headers) {
        let actor = match &holder {
            Holder::Local => Actor::CommandLine,
            Holder::Token(token) => Actor::token(token),
        };
        server.daemon.end_sign_in(&id, &actor).await?;
    }
    let cookie = server.set_cookie("", 0);
    Ok((StatusCode::NO_CONTENT, cookie.headers().clone()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_once_and_not_for_long() {
        let links = Links::default();
        let at = Duration::from_secs;
        links.add("a", at(0));
        links.add("b", at(60));
        assert!(!links.take("c", at(60)));
        assert!(links.take("a", at(119)) && !links.take("a", at(119)));
        assert!(!links.take("b", at(180)));
        for count in 0..=LINKS_MAX {
            links.add(&count.to_string(), at(200));
        }
        assert!(!links.take("0", at(200)) && links.take("1", at(200)));
    }
}
