//! Requests to a server, and which of the troubles of [`crate::trouble`] its refusals are.

use super::types::Refusal;
use crate::trouble::Trouble;
use bytes::Bytes;
use insula_channel::{ConnectFault, WaitScope};
use insula_wire::{
    Form, HttpCall, Method, Reply, SocketCall, SocketLimits, Timeouts, Transport, Uri, excerpt,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
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
const FILE_WITHIN: Duration = Duration::from_secs(300);
/// The longest frame of the socket. A post has some tens of kilobytes, its metadata a few more.
const FRAME_LEN_MAX: usize = 2 * 1024 * 1024;
/// Another server is making a message of the same key.
const PENDING: &str = "deduplicate_create_post.pending";

/// One server and our token there.
pub(super) struct Server {
    base: Box<str>,
    token: SecretString,
    pub(super) transport: Transport,
}

impl Server {
    /// The server at `base`.
    pub(super) fn new(
        base: &str,
        token: SecretString,
        transport: &Transport,
    ) -> Result<Self, ConnectFault> {
        let base = base.trim_end_matches('/');
        let uri: Option<Uri> = base.parse().ok();
        let fits = |uri: &Uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        };
        if !uri.as_ref().is_some_and(fits) {
            let why = "`base_url` must be like https://chat.example.org, without user or query";
            return Err(ConnectFault::Refused(why.into()));
        }
        Ok(Self { base: base.into(), token, transport: transport.clone() })
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        cancel: &CancellationToken,
    ) -> Result<T, Trouble> {
        read(&self.call(self.prepare(Method::GET, path)?, cancel).await?)
    }

    /// Sends JSON and reads what comes back.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<T, Trouble> {
        let call = self.prepare(method, path)?.json(body).map_err(Trouble::Wire)?;
        read(&self.call(call, &CancellationToken::new()).await?)
    }

    /// Asks for something to be done that has no words.
    pub(super) async fn tell(&self, method: Method, path: &str) -> Result<(), Trouble> {
        self.call(self.prepare(method, path)?, &CancellationToken::new()).await.map(drop)
    }

    /// Fetches a file of at most `len_max` bytes.
    pub(super) async fn file(&self, path: &str, len_max: usize) -> Result<Bytes, Trouble> {
        let call = self.prepare(Method::GET, path)?.within(FILE_WITHIN).len_max(len_max);
        Ok(self.call(call, &CancellationToken::new()).await?.body)
    }

    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        form: Form,
    ) -> Result<T, Trouble> {
        let limits = Timeouts { first_byte: FILE_WITHIN, ..LIMITS };
        let call = self.prepare(Method::POST, path)?.form(form);
        let call = call.limits(limits).within(FILE_WITHIN);
        read(&self.call(call, &CancellationToken::new()).await?)
    }

    /// The socket, going on where another one was.
    pub(super) fn socket(&self, connection: &str, sequence: u64) -> Result<SocketCall, Trouble> {
        // The scheme begins with `http` in any case.
        let base = self.base.replacen("http", "ws", 1);
        let text = format!(
            "{base}/api/v4/websocket?connection_id={connection}&sequence_number={sequence}"
        );
        let uri = text.parse().map_err(|_| Trouble::no_address())?;
        let limits = SocketLimits {
            frame_len_max: FRAME_LEN_MAX,
            message_len_max: FRAME_LEN_MAX,
            ..SocketLimits::default()
        };
        Ok(SocketCall::new(uri).limits(limits))
    }

    /// What opens a socket for us.
    pub(super) fn token(&self) -> &str {
        self.token.expose_secret()
    }

    fn prepare(&self, method: Method, path: &str) -> Result<HttpCall, Trouble> {
        let uri =
            format!("{}/api/v4{path}", self.base).parse().map_err(|_| Trouble::no_address())?;
        Ok(HttpCall::new(method, uri).limits(LIMITS).bearer(self.token.expose_secret()))
    }

    async fn call(&self, call: HttpCall, cancel: &CancellationToken) -> Result<Reply, Trouble> {
        let reply = self.transport.call(call, cancel).await.map_err(Trouble::Wire)?;
        if reply.is_success() { Ok(reply) } else { Err(trouble(&reply)) }
    }
}

fn read<T: DeserializeOwned>(reply: &Reply) -> Result<T, Trouble> {
    reply.json().map_err(Trouble::Wire)
}

/// What an answer that is no success means.
fn trouble(reply: &Reply) -> Trouble {
    let status = reply.status;
    let said: Option<Refusal> = serde_json::from_slice(&reply.body).ok();
    let Some(Refusal { id, message }) = said else {
        return match status {
            429 => Trouble::Limited { wait: wait(reply), reach: WaitScope::Account },
            503 => Trouble::Ill { why: reply.excerpt(), wait: reply.retry_after },
            _ => Trouble::Foreign { status, why: reply.excerpt() },
        };
    };
    let why = excerpt(&message);
    match status {
        401 => Trouble::Token { why },
        429 => Trouble::Limited { wait: wait(reply), reach: WaitScope::Account },
        _ if id.ends_with(PENDING) => Trouble::Ill { why, wait: None },
        500.. => Trouble::Ill { why, wait: reply.retry_after },
        _ => Trouble::No { status, why },
    }
}

/// How long we are asked to wait: the server tells in how many seconds its count begins anew.
fn wait(reply: &Reply) -> Option<Duration> {
    let reset =
        reply.headers.get("x-ratelimit-reset").and_then(|it| it.to_str().ok()?.parse().ok());
    reply.retry_after.max(reset.map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_channel::PostError;
    use insula_wire::HeaderMap;

    fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.insert(*name, value.parse().unwrap());
        }
        let body = Bytes::from(body.to_owned());
        Reply { status, headers: all, retry_after: None, body }
    }

    fn named(id: &str) -> String {
        format!(r#"{{"id":"{id}","message":"words","request_id":"x","status_code":1}}"#)
    }

    #[test]
    fn every_refusal_means_one_thing() {
        let class = |reply: &Reply| match trouble(reply).into_post_error() {
            PostError::Later { wait, .. } => ("later", wait.map(|wait| wait.as_secs())),
            PostError::Uncertain { .. } => ("unknown", None),
            PostError::Never { .. } => ("never", None),
            PostError::Account { .. } => ("account", None),
        };
        let error = named("api.context.some_error");
        let pending = named("api.post.deduplicate_create_post.pending");
        for (reply, expected) in [
            (reply(401, &[], &error), ("account", None)),
            (reply(400, &[], &error), ("never", None)),
            (reply(403, &[], &error), ("never", None)),
            (reply(404, &[], &error), ("never", None)),
            (reply(413, &[], &error), ("never", None)),
            (reply(429, &[("x-ratelimit-reset", "7")], &error), ("later", Some(7))),
            (reply(429, &[("x-ratelimit-reset", "7")], "limit exceeded"), ("later", Some(7))),
            (reply(429, &[], &error), ("later", Some(1))),
            (reply(500, &[], &pending), ("later", None)),
            (reply(500, &[], &error), ("later", None)),
            (reply(503, &[], "<html>"), ("later", None)),
            // A proxy does not know what became of it.
            (reply(500, &[], "<html>"), ("unknown", None)),
            (reply(502, &[], "<html>"), ("unknown", None)),
            (reply(504, &[], "<html>"), ("unknown", None)),
            (reply(401, &[], "<html>"), ("unknown", None)),
        ] {
            assert_eq!(class(&reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn an_address_is_one_of_a_server() {
        let (world, _) = insula_testkit::world(1);
        let transport = Transport::new(&world, &[]).unwrap();
        let server = |base: &str| Server::new(base, "t".into(), &transport);
        for bad in ["", "chat.example.org", "ftp://x", "https://u:p@x", "https://x?a=b"] {
            assert!(server(bad).is_err(), "{bad}");
        }
        assert!(server("https://x/mattermost/").is_ok());
    }
}
