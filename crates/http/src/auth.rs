//! Who may come in: whoever shows the admin token, or a token whose agents and verbs cover
//! what is asked, from a page of nobody else's.

use crate::Surface;
use crate::error::{ApiError, shaped};
use crate::id::Id;
use crate::places::{Holder, NoPlace, Seat};
use crate::system::Listening;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use insula_domain::{AccountId, Address, AgentId, ChatId, ChatType, IdError, Platform, UserId};
use insula_registry::Actor;
use insula_registry::tokens::{Token, Verb};
use insula_world::World;
use std::pin::Pin;
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

/// Who asks.
#[derive(Clone)]
pub enum Caller {
    /// The local command line, admin of all.
    Local,
    /// The bearer of a token.
    Token(Arc<Token>),
}

/// Comes when a right is lost.
pub type Lost = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Somebody who shows no token of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stranger;

impl Caller {
    /// Who shows what these headers show.
    pub fn of(surface: &Surface, headers: &HeaderMap) -> Result<Self, Stranger> {
        if surface.admin.is_shown(headers) {
            return Ok(Self::Local);
        }
        let token = shown(headers).and_then(|text| surface.house.tokens.find(text));
        token.map(Self::Token).ok_or(Stranger)
    }

    /// Whether it may do `verb` with `agent`.
    pub fn may(&self, agent: &AgentId, verb: Verb) -> bool {
        match self {
            Self::Local => true,
            Self::Token(token) => token.allows(agent, verb),
        }
    }

    /// Waits until it may no longer do `verb` with `agent`. What is streamed ends then.
    pub fn lost(&self, surface: &Surface, agent: &AgentId, verb: Verb) -> Lost {
        let (house, agent) = (surface.house.clone(), agent.clone());
        match self {
            Self::Local => Box::pin(std::future::pending()),
            Self::Token(token) => {
                let token = token.clone();
                Box::pin(async move { house.tokens.lost(&token.id, &agent, verb).await })
            }
        }
    }

    /// The account its conversations belong to: two tokens never share one.
    pub fn account(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Token(token) => &token.id,
        }
    }

    /// Where a message of its own in the chat of this name comes from.
    pub fn address(&self, chat: String) -> Result<Address, IdError> {
        Ok(Address {
            platform: if matches!(self, Self::Local) { Platform::CLI } else { Platform::API },
            account: AccountId::new(self.account())?,
            chat: ChatId::new(chat)?,
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new(self.account())?),
            roles: Vec::new(),
        })
    }

    /// Whose its connections are.
    pub fn holder(&self) -> Holder {
        match self {
            Self::Local => Holder::Admin,
            Self::Token(token) => Holder::Token((*token.id).into()),
        }
    }

    /// How records name it.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Local => Actor::CommandLine,
            Self::Token(token) => Actor::token(&token.id),
        }
    }
}

impl FromRequestParts<Surface> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, surface: &Surface) -> Result<Self, ApiError> {
        Ok(Self::of(surface, &parts.headers)?)
    }
}

/// What a token must let its bearer do with an agent for this request about it; `None` where
/// only the admin of all will do. Routes that are not listed are the admin's.
fn verb(method: &Method, path: &str) -> Option<Verb> {
    let rest = path.strip_prefix("/api/agents/{id}")?;
    // A part of a longer path, as one session, goes by the first word.
    let what = rest.trim_start_matches('/').split('/').next()?;
    let reads = method == Method::GET || method == Method::HEAD;
    match what {
        "" | "context" | "tools" | "mcp" | "audit" | "sessions" | "sessions-search" | "usage"
        | "events" | "skills" | "skills-verify" | "memory" | "memory-search" | "memory-export"
        | "memory-verify" | "memory-troubles"
            if reads =>
        {
            Some(Verb::Read)
        }
        "messages" | "stop" | "retry" | "new" | "remembered" | "forget"
            if method == Method::POST =>
        {
            Some(Verb::Chat)
        }
        "approvals" if reads || method == Method::POST => Some(Verb::Approve),
        "grants" if reads || method == Method::DELETE => Some(Verb::Approve),
        "pairing" => Some(Verb::Approve),
        "pause" | "resume" | "reload" if method == Method::POST => Some(Verb::Manage),
        "deliveries" if reads => Some(Verb::Read),
        "skills" | "deliveries" => Some(Verb::Manage),
        _ => None,
    }
}

/// Counts a request for whoever asks. Who holds as much as one may is refused before anything of
/// the request is read.
pub async fn count_in(State(surface): State<Surface>, request: Request, next: Next) -> Response {
    let Some(seat) = request.extensions().get::<Seat>() else { return next.run(request).await };
    let caller = Caller::of(&surface, request.headers());
    match seat.begin(&caller.map_or(Holder::Nobody, |caller| caller.holder())) {
        Ok(()) => next.run(request).await,
        Err(why) => no_place(request.uri().path(), &why),
    }
}

/// What is said to somebody for whom there is no place.
pub fn no_place(path: &str, why: &NoPlace) -> Response {
    let mut answer = shaped(path, why.into());
    // What is left of the request is nobody's next one.
    answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    answer
}

/// Lets the admin through everywhere, and a token where it covers what is asked. To a token,
/// an agent of somebody else's is one that does not exist, before anything else is looked at.
pub async fn require_token(
    State(surface): State<Surface>,
    matched: MatchedPath,
    id: Result<Id, ApiError>,
    request: Request,
    next: Next,
) -> Response {
    let caller = match Caller::of(&surface, request.headers()) {
        Ok(caller) => caller,
        Err(stranger) => return ApiError::from(stranger).into_response(),
    };
    let Caller::Token(token) = caller else { return next.run(request).await };
    let Some(verb) = verb(request.method(), matched.as_str()) else {
        let message =
            "only the admin of this daemon may; the local token is in run/admin.token of the home";
        return ApiError::new(StatusCode::FORBIDDEN, "forbidden", message).into_response();
    };
    let id = match id {
        Ok(Id(id)) => id,
        Err(missing) => return missing.into_response(),
    };
    match AgentId::new(&id).ok().filter(|id| token.agents.contains(id)) {
        None => ApiError::no_agent(&id).into_response(),
        Some(id) if token.allows(&id, verb) => {
            let seat = request.extensions().get::<Seat>();
            match seat.map_or(Ok(()), |seat| seat.about(&id)) {
                Ok(()) => next.run(request).await,
                Err(why) => no_place(request.uri().path(), &why),
            }
        }
        Some(_) => {
            let message = format!("this token lacks the verb `{}`", verb.as_str());
            ApiError::new(StatusCode::FORBIDDEN, "forbidden", message).into_response()
        }
    }
}

/// Refuses requests that a browser was tricked into: a name that is not this machine's in
/// `Host`, or another site in `Origin`.
pub async fn refuse_foreign_hosts(
    State(surface): State<Surface>,
    request: Request,
    next: Next,
) -> Response {
    // Platforms call by whatever name they were given, and show a secret of their own; a web
    // chat looks at the origin itself. Neither does anything for a browser that was tricked.
    let path = request.uri().path();
    if path.starts_with("/hooks/") || path == "/chat/ws" {
        return next.run(request).await;
    }
    if surface.listening.is_none_or(|listening| is_for(&listening, request.headers())) {
        return next.run(request).await;
    }
    let message = "this daemon answers requests for its own address only";
    shaped(path, ApiError::new(StatusCode::FORBIDDEN, "foreign_host", message))
}

fn is_for(listening: &Listening, headers: &HeaderMap) -> bool {
    // Every header of a name, and one that is no text is nobody's.
    let all = |name, is_ours: &dyn Fn(&str) -> bool| {
        headers.get_all(name).iter().all(|value| value.to_str().is_ok_and(is_ours))
    };
    all(header::HOST, &|host| listening.answers_to(host))
        && all(header::ORIGIN, &|origin| listening.is_own_page(origin, headers))
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
            assert_eq!(is_for(&listening, &headers), expected, "{host} {origin:?}");
        }
    }

    #[test]
    fn a_route_about_an_agent_needs_the_verb_that_covers_it() {
        let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
        for (method, path, expected) in [
            (&get, "/api/agents/{id}", Some(Verb::Read)),
            (&get, "/api/agents/{id}/context", Some(Verb::Read)),
            (&get, "/api/agents/{id}/audit/verify", Some(Verb::Read)),
            (&get, "/api/agents/{id}/sessions/{session}", Some(Verb::Read)),
            (&Method::HEAD, "/api/agents/{id}/events", Some(Verb::Read)),
            (&post, "/api/agents/{id}/messages", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/stop", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/remembered", Some(Verb::Chat)),
            (&post, "/api/agents/{id}/forget", Some(Verb::Chat)),
            (&get, "/api/agents/{id}/memory/{fragment}", Some(Verb::Read)),
            (&post, "/api/agents/{id}/memory-forget", None),
            (&post, "/api/agents/{id}/memory-share", None),
            (&post, "/api/agents/{id}/pause", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/reload", Some(Verb::Manage)),
            (&get, "/api/agents/{id}/approvals", Some(Verb::Approve)),
            (&post, "/api/agents/{id}/approvals/{approval}", Some(Verb::Approve)),
            (&delete, "/api/agents/{id}/approvals/{approval}", None),
            (&get, "/api/approvals", None),
            (&post, "/api/agents/{id}/pairing", Some(Verb::Approve)),
            (&delete, "/api/agents/{id}/pairing/{who}", Some(Verb::Approve)),
            (&get, "/api/pairing", None),
            (&get, "/api/agents/{id}/grants", Some(Verb::Approve)),
            (&delete, "/api/agents/{id}/grants/{grant}", Some(Verb::Approve)),
            (&get, "/api/agents/{id}/deliveries", Some(Verb::Read)),
            (&post, "/api/agents/{id}/deliveries/{delivery}/resend", Some(Verb::Manage)),
            (&delete, "/api/agents/{id}/deliveries/{delivery}", Some(Verb::Manage)),
            (&post, "/api/agents/{id}/grants", None),
            (&post, "/api/agents/{id}/archive", None),
            (&delete, "/api/agents/{id}", None),
            (&delete, "/api/agents/{id}/sessions/{session}", None),
            (&get, "/api/agents/{id}/secrets", None),
            (&get, "/api/agents", None),
            (&get, "/api/tokens/{id}", None),
            (&post, "/api/reload", None),
        ] {
            assert_eq!(verb(method, path), expected, "{method} {path}");
        }
    }
}
