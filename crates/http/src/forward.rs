//! The one way from the front to whoever owns an agent.

use crate::{Server, sign_in};
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::Response;

/// Hands over a request whole, with who asks beside it; what they showed stays here. What
/// nobody answers is told so there.
pub async fn forward(State(server): State<Server>, mut request: Request) -> Response {
    request.headers_mut().remove(header::AUTHORIZATION);
    request.headers_mut().remove(header::COOKIE);
    request.headers_mut().remove(sign_in::PAGE);
    server.owner.request(request).await
}
