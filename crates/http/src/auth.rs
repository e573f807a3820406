//! Who comes in: whoever shows the admin token or a token of ours, from a page of nobody else's.
//! What they may ask of an agent is looked at where that is answered.

use crate::Server;
use crate::connection_limits::{ConnectionOwner, ConnectionPermit};
use crate::cors;
use crate::system::Listening;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use insula_api::{ApiError, Bearer, Caller, RequestSlot, Stranger, refused_for_good, shaped};
use insula_registry::sign_ins::Holder;
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
        shown(headers).is_some_and(|token| bool::from(token.as_bytes().ct_eq(self.0.as_bytes())))
    }
}

fn shown(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

impl Server {
    /// Who shows what these headers show.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        if self.admin.is_shown(headers) {
            return Ok(Caller::Local);
        }
        // Who shows a token is nobody else by a cookie that a browser adds.
        let token = if headers.contains_key(header::AUTHORIZATION) {
            shown(headers).and_then(|text| self.tokens.find(text))
        } else {
            match self.signed_in(headers).ok_or(Stranger)?.1 {
                Holder::Local => return Ok(Caller::Local),
                Holder::Token(id) => self.tokens.get(&id),
            }
        };
        let token = token.ok_or(Stranger)?;
        let (tokens, id) = (self.tokens.clone(), token.id.clone());
        Ok(Caller::Token(Bearer::new(token, move |agent, verb| {
            let (tokens, id, agent) = (tokens.clone(), id.clone(), agent.clone());
            Box::pin(async move { tokens.lost(&id, &agent, verb).await })
        })))
    }
}

/// Counts a request for whoever asks. Who holds as much as one may is refused before anything of
/// the request is read.
pub async fn count_in(State(server): State<Server>, request: Request, next: Next) -> Response {
    let Some(permit) = request.extensions().get::<ConnectionPermit>() else {
        return next.run(request).await;
    };
    let caller = server.caller(request.headers());
    match permit
        .begin(&caller.map_or(ConnectionOwner::Nobody, |caller| ConnectionOwner::from(&caller)))
    {
        Ok(()) => next.run(request).await,
        Err(why) => refused_for_good(request.uri().path(), (&why).into()),
    }
}

/// Puts beside a request who asks, if that is anybody of ours, and the place it takes up. After
/// its body was read: a token that was revoked meanwhile is nobody's.
pub async fn judge(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let sign_in = server.sign_in_of(request.headers());
    if let Ok(caller) = server.caller(request.headers()) {
        request.extensions_mut().insert(caller);
    }
    if let Some(permit) = request.extensions().get::<ConnectionPermit>().cloned() {
        let place = RequestSlot::new(move |agent| permit.about(agent).map_err(|why| (&why).into()));
        request.extensions_mut().insert(place);
    }
    let answer = next.run(request).await;
    match sign_in {
        Some(id) => server.until_signed_out(id, answer),
        None => answer,
    }
}

/// Refuses requests that a browser was tricked into: a name that is not this machine's in
/// `Host`, or another site in `Origin` that the operator does not list.
pub async fn refuse_foreign_hosts(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Response {
    // Platforms call by whatever name they were given, and show a secret of their own; a web
    // chat looks at the origin itself. Neither does anything for a browser that was tricked.
    let path = request.uri().path();
    if path.starts_with("/hooks/") || path == "/chat/ws" {
        return next.run(request).await;
    }
    let welcome = cors::origin(&server, path, request.headers());
    if server.listening.is_none_or(|it| is_for(&it, request.headers(), welcome.as_ref())) {
        return next.run(request).await;
    }
    let message = "this daemon answers requests for its own address only";
    shaped(path, ApiError::new(StatusCode::FORBIDDEN, "foreign_host", message))
}

fn is_for(listening: &Listening, headers: &HeaderMap, welcome: Option<&HeaderValue>) -> bool {
    // Every header of a name, and one that is no text is nobody's.
    let all = |name, is_ours: &dyn Fn(&str) -> bool| {
        headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(is_ours))
    };
    all(header::HOST, &|host| listening.answers_to(host))
        && all(header::ORIGIN, &|origin| {
            welcome.is_some_and(|it| it == origin) || listening.is_own_page(origin, headers)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_ours_by_the_name_and_port_that_it_was_loaded_by() {
        let address = ([127, 0, 0, 1], 7717).into();
        let listening = Listening { pid: 1, address };
        for (host, origin, expected) in [
            ("127.0.0.1:7717", None, true),
            ("127.0.0.1:7717", Some("http://127.0.0.1:7717"), true),
            ("localhost:8080", Some("http://localhost:8080"), true),
            ("[::1]:7717", Some("http://[::1]:7717"), true),
            ("127.0.0.1:7717", Some("http://127.0.0.1:3000"), false),
            ("127.0.0.1:7717", Some("http://localhost:7717"), false),
            ("127.0.0.1:7717", Some("http://127.0.0.1"), false),
            ("127.0.0.1:7717", Some("https://127.0.0.1:7717"), false),
            ("127.0.0.1:7717", Some("http://127.0.0.1:7717.evil.example"), false),
            ("127.0.0.1:7717.evil.example", None, false),
            ("localhost:x", None, false),
            ("evil.example", None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(is_for(&listening, &headers, None), expected, "{host} {origin:?}");
        }
    }
}
