//! The websocket of web chats: who may open it, and its frames in and out. What the frames say
//! is the web chat's own.

use crate::Server;
use crate::connection_limits::{ConnectionOwner, ConnectionPermit};
use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{OriginalUri, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use insula_adapters::webchat::{ClientFrame, FRAME_BYTES_MAX, Hub, May, PageFrame, Past};
use insula_api::{ApiError, ErrorBody, not_found};
use insula_channel::Owner;
use insula_domain::Address;
use insula_registry::tokens::{Token, Verb};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What we speak.
const PROTOCOL: &str = "insula.chat.v1";

/// What the subprotocol with the token begins with.
const TOKEN: &str = "insula.token.";

/// How long a page may take to show its token.
const HELLO_MAX: Duration = Duration::from_secs(10);

/// How often a silent page is asked whether it lives.
const PING_EVERY: Duration = Duration::from_secs(30);

/// How long it may take to answer. Then it is taken for gone.
const SILENCE_MAX: Duration = Duration::from_secs(75);

/// What waits in memory for one page's connection to take it.
const UNSENT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How long a page may take to take one frame.
const SEND_MAX: Duration = Duration::from_secs(20);

/// The page broke a rule, or its token is not good.
const POLICY: u16 = 1008;
/// The daemon stops, or the account was turned off.
const AWAY: u16 = 1001;
/// The page does not keep up, or there are too many.
const AGAIN_LATER: u16 = 1013;

/// What a page is told that was behind, or whose chat closed.
const CUT: &str = "the chat closed, or this page did not keep up; come back with its cursor";

/// The websocket of a web chat. See `docs/platforms/web-chat.md` for its frames.
#[utoipa::path(get, path = "/chat/ws",
    params(("account" = Option<String>, Query, description = "which web chat, where there are several")),
    responses(
        (status = 101, description = "a websocket that speaks `insula.chat.v1`"),
        (status = 400, body = ErrorBody, description = "no websocket, or a token in the address"),
        (status = 401, body = ErrorBody, description = "the token is nobody's"),
        (status = 403, body = ErrorBody, description = "a page of another origin"),
        (status = 404, body = ErrorBody, description = "no such web chat")))]
pub async fn socket(
    State(server): State<Server>,
    OriginalUri(uri): OriginalUri,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    permit: Option<Extension<ConnectionPermit>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return ApiError::invalid(rejection.to_string()).into_response(),
    };
    let makers = server.platforms.makers.as_ref();
    let hub = makers.and_then(|it| it.webchats().find(query.get("account").map(String::as_str)));
    let Some(hub) = hub else {
        return not_found(OriginalUri(uri)).await;
    };
    if query.keys().any(|key| key != "account") {
        // An address is kept in histories, logs and referrers.
        let message = "only `account` may stand in the address; show the token as a subprotocol or in the first frame";
        return ApiError::invalid(message).into_response();
    }
    if !is_welcome(&server, &hub, &headers) {
        let message =
            "this page's origin may not open this chat; list it under `origins` of the account";
        return ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", message).into_response();
    }
    let shown = upgrade.requested_protocols().find_map(|protocol| {
        protocol.to_str().ok()?.trim().strip_prefix(TOKEN).map(|token| server.tokens.find(token))
    });
    let token = match shown {
        Some(None) => {
            let message = "the token is nobody's";
            let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
            return error.into_response();
        }
        Some(Some(token)) => Some(token),
        None => None,
    };
    let permit = permit.map(|Extension(permit)| permit);
    permit.iter().for_each(ConnectionPermit::keep);
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(FRAME_BYTES_MAX)
        .max_frame_size(FRAME_BYTES_MAX)
        .max_write_buffer_size(UNSENT_BYTES_MAX)
        .on_upgrade(move |socket| async move {
            let mut page = Page { socket, server, permit };
            let (code, why) = page.converse(&hub, token).await;
            page.close(code, why).await;
        })
}

/// Whether the page that opens the socket is the daemon's own, one of the listed, or no page.
fn is_welcome(server: &Server, hub: &Hub, headers: &HeaderMap) -> bool {
    let ours = |origin: &str| {
        server.listening.is_some_and(|listening| listening.is_own_page(origin, headers))
    };
    headers
        .get_all(header::ORIGIN)
        .iter()
        .all(|origin| origin.to_str().is_ok_and(|origin| ours(origin) || hub.welcomes(origin)))
}

/// Whom the bearer of a token may hear at an address: whoever answers there, as things stand when
/// it is asked.
fn may(server: &Server, token: &str) -> May {
    let (server, token): (_, Arc<str>) = (server.clone(), token.into());
    Arc::new(move |address: Address| {
        let (server, token) = (server.clone(), token.clone());
        Box::pin(async move {
            let agent = server.registry.snapshot().bound(&address)?.clone();
            let may = server.tokens.get(&token)?.allows(&agent, Verb::Chat);
            if may { server.owner.hearing(&agent, &address).await } else { None }
        })
    })
}

/// What was said at an address before this run, from the records of the agent that answers
/// there, for somebody whom it lets in.
fn past(owner: &Arc<dyn Owner>) -> Past {
    let owner = owner.clone();
    Arc::new(move |address: Address| {
        let owner = owner.clone();
        Box::pin(async move { owner.spoken(&address).await })
    })
}

struct Page {
    socket: WebSocket,
    server: Server,
    /// The place of its connection, for as long as the page is there.
    permit: Option<ConnectionPermit>,
}

/// What happened first.
enum Next {
    Said(Message),
    Gone,
    Unreadable,
    Tell(PageFrame),
    Cut,
    Changed,
    Quiet,
}

impl Page {
    /// Serves a page to its end; how to close it.
    async fn converse(&mut self, hub: &Arc<Hub>, token: Option<Arc<Token>>) -> (u16, &'static str) {
        let token = match token {
            Some(token) => token,
            None => match self.hello(hub).await {
                Ok(token) => token,
                Err(why) => return why,
            },
        };
        let holder = ConnectionOwner::Token((*token.id).into());
        if self.permit.as_ref().is_some_and(|permit| permit.begin(&holder).is_err()) {
            return (AGAIN_LATER, "this token has too many connections; try again later");
        }
        let mut tokens = self.server.tokens.changes();
        let mut changes = self.server.registry.changes();
        let mut forgotten = self.server.forgotten.changes();
        let rights = (may(&self.server, &token.id), past(&self.server.owner));
        let Some((mut session, mut told)) = hub.enter(&token.id, rights) else {
            return (AGAIN_LATER, "too many pages are open; try again later");
        };
        let clock = self.server.world.clock.clone();
        let mut heard = clock.elapsed();
        loop {
            let next = tokio::select! {
                biased;
                () = tokens.changed() => Next::Changed,
                () = changes.changed() => Next::Changed,
                () = forgotten.changed() => Next::Changed,
                frame = told.recv() => frame.map_or(Next::Cut, Next::Tell),
                said = self.socket.recv() => match said {
                    Some(Ok(message)) => Next::Said(message),
                    Some(Err(_)) => Next::Unreadable,
                    None => Next::Gone,
                },
                () = clock.sleep(PING_EVERY) => Next::Quiet,
            };
            match next {
                Next::Changed => {
                    if self.server.tokens.get(&token.id).is_none_or(|now| now != token) {
                        return (POLICY, "the token was revoked or changed");
                    }
                    session.recheck().await;
                }
                Next::Tell(told) => {
                    if session.may_hear(&told).await
                        && !self.send(Message::text(&*told.frame)).await
                    {
                        return (AWAY, "");
                    }
                }
                Next::Cut => return (AGAIN_LATER, CUT),
                Next::Said(message) => {
                    heard = clock.elapsed();
                    match message {
                        Message::Text(text) => {
                            if let Err(nonsense) = session.hear(text.as_str()).await {
                                tracing::debug!(%nonsense, "a web chat was cut");
                                return (POLICY, "the frame is not understood");
                            }
                        }
                        Message::Binary(_) => return (POLICY, "frames are text"),
                        Message::Close(_) => return (1000, ""),
                        Message::Ping(_) | Message::Pong(_) => {}
                    }
                }
                Next::Quiet => {
                    if clock.elapsed().saturating_sub(heard) > SILENCE_MAX {
                        return (AWAY, "nothing was heard");
                    }
                    if !self.send(Message::Ping(axum::body::Bytes::new())).await {
                        return (AWAY, "");
                    }
                    // Who was paired may be let in no longer, which nothing tells us.
                    session.recheck().await;
                }
                // Where the connection broke nobody hears it.
                Next::Unreadable => return (POLICY, "the frame is too long, or no UTF-8"),
                Next::Gone => return (AWAY, ""),
            }
        }
    }

    /// Waits for the frame that shows the token.
    async fn hello(&mut self, hub: &Hub) -> Result<Arc<Token>, (u16, &'static str)> {
        let Some(_place) = hub.wait_at_the_door() else {
            return Err((AGAIN_LATER, "too many pages are waiting; try again later"));
        };
        let clock = self.server.world.clock.clone();
        let first = tokio::select! {
            said = self.socket.recv() => said,
            () = clock.sleep(HELLO_MAX) => return Err((POLICY, "no token was shown")),
        };
        let said = match &first {
            Some(Ok(Message::Text(text))) => serde_json::from_str(text.as_str()).ok(),
            _ => None,
        };
        match said {
            Some(ClientFrame::Hello { token }) => {
                self.server.tokens.find(&token).ok_or((POLICY, "the token is nobody's"))
            }
            _ => Err((POLICY, "the first frame is `hello` with a token")),
        }
    }

    /// Sends one frame; whether it went.
    async fn send(&mut self, message: Message) -> bool {
        let clock = self.server.world.clock.clone();
        tokio::select! {
            sent = self.socket.send(message) => sent.is_ok(),
            () = clock.sleep(SEND_MAX) => false,
        }
    }

    async fn close(&mut self, code: u16, why: &'static str) {
        let frame = CloseFrame { code, reason: why.into() };
        // One that is gone need not be told.
        self.send(Message::Close(Some(frame))).await;
    }
}
