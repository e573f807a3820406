//! Requests to a homeserver, and what its refusals mean for us.

use super::wire::Refusal;
use bytes::Bytes;
use insula_channel::{ConnectFault, PostError, WaitScope};
use insula_wire::{HttpCall, Method, Phase, Reply, Timeouts, Transport, Uri, excerpt};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long an ordinary request may take.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(20),
};
/// How long a file may be on its way.
const MEDIA_WITHIN: Duration = Duration::from_secs(300);
/// The longest answer about many people's devices.
const MUCH: usize = 32 * 1024 * 1024;

/// One homeserver and our token there.
pub(super) struct Homeserver {
    base: Box<str>,
    token: SecretString,
    transport: Transport,
}

/// Why a request did not do what it was to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The server does not take our token, or has locked our account.
    Token {
        /// Its words.
        why: String,
    },
    /// We ask too often.
    Limited {
        /// How long it asks us to wait.
        wait: Option<Duration>,
    },
    /// The server understood and said no: asking again changes nothing.
    No {
        status: u16,
        /// Matrix's name for it.
        code: String,
        /// Its words.
        why: String,
    },
    /// The server, or something before it, is in trouble.
    Ill {
        /// What it said.
        why: String,
        /// How long it asks us to wait.
        wait: Option<Duration>,
    },
    /// The exchange failed below.
    Wire(insula_wire::WireFault),
}

impl Homeserver {
    /// The server at `base`, an address without a path of its own to append to.
    pub(super) fn new(
        base: &str,
        token: SecretString,
        transport: Transport,
    ) -> Result<Self, ConnectFault> {
        let base = base.trim_end_matches('/');
        let uri: Option<Uri> = base.parse().ok();
        let fits =
            |uri: &Uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https"));
        if !uri.as_ref().is_some_and(fits) {
            let why = format!("`homeserver` is no address of one: `{}`", excerpt(base));
            return Err(ConnectFault::Refused(why.into()));
        }
        Ok(Self { base: base.into(), token, transport })
    }

    /// Asks for something.
    pub(super) async fn get(
        &self,
        path: &str,
        cancel: &CancellationToken,
    ) -> Result<Reply, Trouble> {
        self.call(self.prepare(Method::GET, path)?, cancel).await
    }

    /// Asks for something, and waits or takes more than is usual.
    pub(super) async fn get_within(
        &self,
        path: &str,
        (within, len_max): (Duration, usize),
        cancel: &CancellationToken,
    ) -> Result<Reply, Trouble> {
        let limits = Timeouts { first_byte: within, ..LIMITS };
        let call = self.prepare(Method::GET, path)?;
        self.call(call.limits(limits).within(within * 2).len_max(len_max), cancel).await
    }

    /// Fetches a file of at most `len_max` bytes.
    pub(super) async fn media(&self, path: &str, len_max: usize) -> Result<Reply, Trouble> {
        let call = self.prepare(Method::GET, path)?.within(MEDIA_WITHIN).len_max(len_max);
        self.call(call, &CancellationToken::new()).await
    }

    /// Gives the server a file.
    pub(super) async fn upload(
        &self,
        path: &str,
        media_type: &str,
        content: Bytes,
    ) -> Result<Reply, Trouble> {
        let call = self.prepare(Method::POST, path)?.within(MEDIA_WITHIN);
        self.call(call.bytes(media_type, content), &CancellationToken::new()).await
    }

    /// Sends JSON.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Reply, Trouble> {
        let call = self.prepare(method, path)?.json(body).map_err(Trouble::Wire)?;
        self.call(call, &CancellationToken::new()).await
    }

    /// Sends JSON whose answer may be long.
    pub(super) async fn send_much(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Reply, Trouble> {
        let call = self.prepare(method, path)?.json(body).map_err(Trouble::Wire)?;
        self.call(call.len_max(MUCH), &CancellationToken::new()).await
    }

    /// Asks for something that may be long.
    pub(super) async fn get_much(&self, path: &str) -> Result<Reply, Trouble> {
        let call = self.prepare(Method::GET, path)?.len_max(MUCH);
        self.call(call, &CancellationToken::new()).await
    }

    fn prepare(&self, method: Method, path: &str) -> Result<HttpCall, Trouble> {
        let uri = format!("{}/_matrix{path}", self.base).parse().map_err(|_| Trouble::No {
            status: 0,
            code: "INSULA_ADDRESS".into(),
            why: "an id that no address can hold".into(),
        })?;
        Ok(HttpCall::new(method, uri).limits(LIMITS).bearer(self.token.expose_secret()))
    }

    async fn call(&self, call: HttpCall, cancel: &CancellationToken) -> Result<Reply, Trouble> {
        let reply = self.transport.call(call, cancel).await.map_err(Trouble::Wire)?;
        if reply.is_success() { Ok(reply) } else { Err(trouble(&reply)) }
    }
}

/// What an answer that is no success means.
fn trouble(reply: &Reply) -> Trouble {
    let refusal: Option<Refusal> = serde_json::from_slice(&reply.body).ok();
    let wait = refusal
        .as_ref()
        .and_then(|refusal| refusal.retry_after_ms)
        .map(Duration::from_millis)
        .or(reply.retry_after);
    let why = match &refusal {
        Some(refusal) => excerpt(&format!("{} ({})", refusal.error, refusal.errcode)),
        None => excerpt(&format!("status {}: {}", reply.status, reply.excerpt())),
    };
    let code = refusal.map(|refusal| refusal.errcode).unwrap_or_default();
    match (reply.status, &*code) {
        (429, _) | (_, "M_LIMIT_EXCEEDED") => Trouble::Limited { wait },
        (
            _,
            "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN" | "M_USER_DEACTIVATED" | "M_USER_LOCKED"
            | "M_USER_SUSPENDED",
        ) => Trouble::Token { why },
        // Without a word of Matrix's it was something before the homeserver that answered.
        (400..500, code) if !code.is_empty() => {
            Trouble::No { status: reply.status, code: code.into(), why }
        }
        _ => Trouble::Ill { why, wait },
    }
}

impl Trouble {
    /// Whether the server has no such thing, or none for us.
    pub(super) fn is_no(&self) -> bool {
        matches!(self, Self::No { .. })
    }

    /// What it means for a request whose answer we can't use.
    pub(super) fn garbage(what: &str) -> Self {
        Self::Wire(insula_wire::WireFault::Garbage { what: what.into() })
    }

    /// What it means for the connection.
    pub(super) fn into_fault(self) -> ConnectFault {
        match self {
            Self::Token { why } => ConnectFault::Refused(format!("the homeserver: {why}").into()),
            Self::Limited { wait } => ConnectFault::Broken {
                why: "the homeserver limits the rate of requests".into(),
                wait,
            },
            Self::No { why, .. } => {
                ConnectFault::Broken { why: format!("the homeserver: {why}").into(), wait: None }
            }
            Self::Ill { why, wait } => {
                ConnectFault::Broken { why: format!("the homeserver: {why}").into(), wait }
            }
            Self::Wire(fault) => {
                ConnectFault::Broken { why: format!("the homeserver: {fault}").into(), wait: None }
            }
        }
    }

    /// What it means for a message of ours.
    pub(super) fn into_post_error(self) -> PostError {
        // A homeserver limits users, whatever the room.
        let later = |why: Box<str>, wait| PostError::Later { why, wait, reach: WaitScope::Account };
        match self {
            Self::Token { why } => PostError::Account { why: why.into() },
            Self::Limited { wait } => {
                later("the homeserver limits the rate of messages".into(), wait)
            }
            Self::No { why, .. } => PostError::Never { why: why.into() },
            // It may have arrived; said again it is recognised, so later is as good as known.
            Self::Ill { why, wait } => later(why.into(), wait),
            Self::Wire(fault @ insula_wire::WireFault::TimedOut { phase: Phase::Connect, .. }) => {
                later(fault.to_string().into(), None)
            }
            Self::Wire(fault) if fault.may_have_arrived() => {
                PostError::Uncertain { why: fault.to_string().into() }
            }
            Self::Wire(fault) => later(fault.to_string().into(), None),
        }
    }
}

/// An id as a segment of a path: everything but letters, digits and `-._~` is encoded.
pub(super) fn segment(id: &str) -> String {
    let mut path = String::with_capacity(id.len() + 8);
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_wire::HeaderMap;

    fn reply(status: u16, body: &'static str) -> Reply {
        let body = Bytes::from_static(body.as_bytes());
        Reply { status, headers: HeaderMap::new(), retry_after: None, body }
    }

    #[test]
    fn a_refusal_is_told_from_trouble() {
        let token = |reply: &Reply| matches!(trouble(reply), Trouble::Token { .. });
        assert!(token(&reply(401, r#"{"errcode":"M_UNKNOWN_TOKEN","error":"x"}"#)));
        assert!(token(&reply(403, r#"{"errcode":"M_USER_DEACTIVATED","error":"x"}"#)));
        assert_eq!(
            trouble(&reply(429, r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":1500}"#)),
            Trouble::Limited { wait: Some(Duration::from_millis(1500)) }
        );
        assert!(trouble(&reply(403, r#"{"errcode":"M_FORBIDDEN","error":"no"}"#)).is_no());
        assert!(trouble(&reply(404, r#"{"errcode":"M_NOT_FOUND"}"#)).is_no());
        for (status, body) in [
            (404, "<html>nginx</html>"),
            (403, "{}"),
            (502, ""),
            (500, r#"{"errcode":"M_UNKNOWN","error":"oops"}"#),
            (302, ""),
            (200, "never asked"),
        ] {
            assert!(
                matches!(trouble(&reply(status, body)), Trouble::Ill { .. }),
                "{status} {body}"
            );
        }
    }

    #[test]
    fn an_id_is_one_segment_whatever_is_in_it() {
        assert_eq!(segment("!a:x.y"), "%21a%3Ax.y");
        assert_eq!(segment("../?#%é"), "..%2F%3F%23%25%C3%A9");
    }
}
