//! Who may come in: whoever shows the admin token, from a page of nobody else's.

use crate::Surface;
use crate::error::ApiError;
use crate::system::Listening;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use insula_world::World;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

/// What the local command line shows to be let in. Lives as long as the daemon.
#[derive(Clone)]
pub struct AdminToken(Arc<str>);

impl AdminToken {
    /// A new one.
    pub fn generate(world: &World) -> Self {
        let mut stream = world.random.stream(&["admin-token"]);
        Self(format!("insula_admin_{}{}", stream.id(), stream.id()).into())
    }

    /// Its text, to be written where only the owner of the home can read it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a request shows it. Takes the same time however wrong the text is.
    pub fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        shown.is_some_and(|token| bool::from(token.as_bytes().ct_eq(self.0.as_bytes())))
    }
}

/// Lets only the admin through.
pub async fn require_admin(
    State(surface): State<Surface>,
    request: Request,
    next: Next,
) -> Response {
    if surface.admin.is_shown(request.headers()) {
        return next.run(request).await;
    }
    let message =
        "show a token: Authorization: Bearer …; the local one is in run/admin.token of the home";
    let answer = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
    ([(header::WWW_AUTHENTICATE, "Bearer")], answer).into_response()
}

/// Refuses requests that a browser was tricked into: a name that is not this machine's in
/// `Host`, or another site in `Origin`.
pub async fn refuse_foreign_hosts(
    State(surface): State<Surface>,
    request: Request,
    next: Next,
) -> Response {
    if surface.listening.is_none_or(|listening| is_for(&listening, request.headers())) {
        return next.run(request).await;
    }
    let message = "this daemon answers requests for its own address only";
    ApiError::new(StatusCode::FORBIDDEN, "foreign_host", message).into_response()
}

fn is_for(listening: &Listening, headers: &HeaderMap) -> bool {
    // Every header of a name, and one that is no text is nobody's.
    let all = |name, is_ours: &dyn Fn(&str) -> bool| {
        headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(is_ours))
    };
    all(header::HOST, &|host| listening.answers_to(host))
        && all(header::ORIGIN, &|origin| {
            origin.strip_prefix("http://").is_some_and(|host| listening.answers_to(host))
        })
}
