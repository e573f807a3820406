//! Pages of other origins that the operator lists: they may ask `/v1`, and nothing else.
//!
//! Nothing that a browser adds by itself opens anything here: who asks shows a token. So no
//! answer allows credentials, and none is for every origin.

use crate::Server;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

/// What such a page may do.
const METHODS: &str = "GET, POST, DELETE";
/// How long a browser may remember that, in seconds.
const MAX_AGE: &str = "600";
/// Headers of answers that such a page may read, beside those that every page may.
const EXPOSED: &str = "retry-after, x-should-retry";
/// Headers that such a page may send.
const HEADERS: [&str; 9] = [
    "authorization",
    "content-type",
    "accept",
    "idempotency-key",
    "x-insula-session",
    "openai-organization",
    "openai-project",
    "openai-beta",
    "user-agent",
];
/// What else OpenAI's own package sends begins with.
const PACKAGE: &str = "x-stainless-";
/// Longest list of headers that is answered, in bytes.
const HEADERS_LEN_MAX: usize = 1_024;

const PRIVATE_ASKED: HeaderName = HeaderName::from_static("access-control-request-private-network");
const PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The listed origin that a request to `/v1` comes from, if it comes from one.
pub fn origin(server: &Server, path: &str, headers: &HeaderMap) -> Option<HeaderValue> {
    if path != "/v1" && !path.starts_with("/v1/") {
        return None;
    }
    let mut all = headers.get_all(header::ORIGIN).iter();
    let (origin, None) = (all.next()?, all.next()) else { return None };
    let text = origin.to_str().ok()?;
    server.registry.snapshot().daemon.api.welcomes(text).then(|| origin.clone())
}

/// Tells browsers that a listed page may ask. What asks whether it may is answered here, before
/// anybody is asked for a token: it can't show one.
pub async fn welcome(State(server): State<Server>, request: Request, next: Next) -> Response {
    let Some(origin) = origin(&server, request.uri().path(), request.headers()) else {
        let is_listing = !server.registry.snapshot().daemon.api.cors.is_empty();
        let is_v1 = request.uri().path().starts_with("/v1");
        let mut answer = next.run(request).await;
        if is_listing && is_v1 {
            vary(answer.headers_mut());
        }
        return answer;
    };
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut answer = match is_question {
        true => may(request.headers()),
        false => next.run(request).await,
    };
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    vary(headers);
    answer
}

fn vary(headers: &mut HeaderMap) {
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

/// What such a page may ask, for a browser that wants to know.
fn may(asked: &HeaderMap) -> Response {
    let mut answer = StatusCode::NO_CONTENT.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    if let Some(allowed) = allowed(asked) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    if asked.get(PRIVATE_ASKED).is_some_and(|it| it == "true") {
        headers.insert(PRIVATE, HeaderValue::from_static("true"));
    }
    answer
}

/// Those of the headers that are asked about that may be sent.
fn allowed(asked: &HeaderMap) -> Option<HeaderValue> {
    let asked = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS)?.to_str().ok()?;
    let asked = asked.get(..HEADERS_LEN_MAX).unwrap_or(asked);
    let names = asked.split(',').map(|name| name.trim().to_ascii_lowercase());
    let is_known = |name: &String| {
        HEADERS.contains(&name.as_str()) || name.starts_with(PACKAGE) && is_plain(name)
    };
    let known: Vec<String> = names.filter(is_known).collect();
    HeaderValue::from_str(&known.join(", ")).ok().filter(|it| !it.is_empty())
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_that_mean_something_here_are_allowed() {
        let allowed = |asked: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCESS_CONTROL_REQUEST_HEADERS, asked.parse().unwrap());
            allowed(&headers).map(|it| it.to_str().unwrap().to_owned())
        };
        let asked = "Authorization,content-type, x-stainless-os,X-Insula-Session";
        let told = "authorization, content-type, x-stainless-os, x-insula-session";
        assert_eq!(allowed(asked).as_deref(), Some(told));
        assert_eq!(allowed("cookie, *, x-forwarded-for, x-stainless-a b"), None);
        assert_eq!(allowed(""), None);
    }
}
