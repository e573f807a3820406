//! Requests to Discord, and which of the troubles of [`crate::trouble`] its refusals are.

use super::limits::{self, Limits, Route};
use super::types::Refusal;
use crate::trouble::Trouble;
use bytes::Bytes;
use insula_channel::{ConnectFault, WaitScope};
use insula_wire::header::{AUTHORIZATION, USER_AGENT};
use insula_wire::{
    Form, HeaderValue, HttpCall, Method, Reply, SocketCall, SocketLimits, Timeouts, Transport, Uri,
    excerpt,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where Discord is unless the settings say otherwise.
const BASE_URL: &str = "https://discord.com";
/// What Discord asks programs to call themselves.
const AGENT: &str = concat!("DiscordBot (insula, ", env!("CARGO_PKG_VERSION"), ")");
/// How long an ordinary request may take.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(20),
};
/// How long a request may take as a whole, and one that answers an interaction.
const WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a file may be on its way.
const FILE_WITHIN: Duration = Duration::from_secs(300);
/// The longest frame of the gateway: a large server tells all its channels and roles in one.
const FRAME_LEN_MAX: usize = 16 * 1024 * 1024;
/// How long a message waits here for its turn. What has to wait longer is tried again later.
const TURN_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long a question of ours waits for its turn.
const ASKING_WAIT_MAX: Duration = Duration::from_secs(90);
/// Where files lie that people sent.
const FILE_HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// One request.
pub(super) struct Call<'a> {
    pub route: Route<'a>,
    pub method: Method,
    /// Below the API.
    pub path: String,
}

/// Discord, and our token there.
pub(super) struct Api {
    base: Box<str>,
    /// Whether it is Discord's own.
    is_discords: bool,
    token: SecretString,
    pub(super) transport: Transport,
    limits: Mutex<Limits>,
}

impl Api {
    pub(super) fn new(
        base: Option<&str>,
        token: SecretString,
        transport: &Transport,
    ) -> Result<Self, ConnectFault> {
        let refused = |why: &str| Err(ConnectFault::Refused(why.into()));
        let given = token.expose_secret();
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if given.is_empty() || given.len() > 256 || !given.bytes().all(fits) {
            return refused(
                "`token` is no bot token: that is letters, digits and full stops alone, from the \
                 application's page `Bot`, without the word `Bot` before it",
            );
        }
        let is_discords = base.is_none();
        let base = base.unwrap_or(BASE_URL).trim_end_matches('/');
        let base = base.strip_suffix("/v10").unwrap_or(base);
        let base = base.strip_suffix("/api").unwrap_or(base);
        let uri: Option<Uri> = base.parse().ok();
        let is_usable = |uri: &Uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        };
        if !uri.as_ref().is_some_and(is_usable) {
            return refused("`base_url` must be like https://host, without user or query");
        }
        let (base, transport) = (base.into(), transport.clone());
        Ok(Self { base, is_discords, token, transport, limits: Mutex::default() })
    }

    /// What opens a session for us, and marks buttons as ours.
    pub(super) fn token(&self) -> &str {
        self.token.expose_secret()
    }

    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for something.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        route: Route<'_>,
        path: String,
        cancel: &CancellationToken,
    ) -> Result<T, Trouble> {
        let call = Call { route, method: Method::GET, path };
        let prepared = self.prepare(&call)?;
        let waits = ASKING_WAIT_MAX;
        self.ask(&call, prepared, waits, cancel).await?.json().map_err(Trouble::Wire)
    }

    /// Sends JSON and reads what comes back.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        body: &Value,
    ) -> Result<T, Trouble> {
        self.tell(call, Some(body)).await?.json().map_err(Trouble::Wire)
    }

    /// Sends JSON, or nothing, and reads whether that went well.
    pub(super) async fn tell(
        &self,
        call: Call<'_>,
        body: Option<&Value>,
    ) -> Result<Reply, Trouble> {
        let mut prepared = self.prepare(&call)?;
        if let Some(body) = body {
            prepared = prepared.json(body).map_err(Trouble::Wire)?;
        }
        self.ask(&call, prepared, TURN_WAIT_MAX, &CancellationToken::new()).await
    }

    /// Sends files.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        form: Form,
    ) -> Result<T, Trouble> {
        let limits = Timeouts { first_byte: FILE_WITHIN, ..LIMITS };
        let prepared = self.prepare(&call)?.form(form).limits(limits).within(FILE_WITHIN);
        let reply = self.ask(&call, prepared, TURN_WAIT_MAX, &CancellationToken::new()).await?;
        reply.json().map_err(Trouble::Wire)
    }

    /// The content of a file that Discord gave an address for. Our token does not go there.
    pub(super) async fn file(&self, url: &str, len_max: usize) -> Result<Bytes, Trouble> {
        let elsewhere = || Trouble::No { status: 0, why: "the file lies elsewhere".to_owned() };
        let uri: Uri = url.parse().map_err(|_| elsewhere())?;
        let is_files = match self.is_discords {
            true => {
                uri.scheme_str() == Some("https")
                    && FILE_HOSTS.contains(&uri.host().unwrap_or_default())
            }
            false => self.is_ours(&uri),
        };
        if !is_files {
            return Err(elsewhere());
        }
        let call = HttpCall::get(uri).limits(LIMITS).within(FILE_WITHIN).len_max(len_max);
        let reply = self.transport.call(call, &CancellationToken::new()).await;
        let reply = reply.map_err(Trouble::Wire)?;
        match reply.status {
            200..300 => Ok(reply.body),
            // Its address is good for a day.
            status @ (403 | 404 | 410) => Err(Trouble::No { status, why: reply.excerpt() }),
            _ => Err(trouble(&reply)),
        }
    }

    /// Whether an address is on the host that the settings name.
    fn is_ours(&self, uri: &Uri) -> bool {
        let base: Option<Uri> = self.base.parse().ok();
        base.is_some_and(|base| base.host() == uri.host())
    }

    /// A socket at an address that Discord named. Our token goes there, so it has to be its own.
    pub(super) fn socket(&self, url: &str) -> Result<SocketCall, Trouble> {
        let strange = || Trouble::No {
            status: 0,
            why: "the gateway is at an address that is not Discord's".to_owned(),
        };
        let uri: Uri = url.parse().map_err(|_| strange())?;
        let host = uri.host().unwrap_or_default();
        let is_gateway = match self.is_discords {
            true => {
                uri.scheme_str() == Some("wss")
                    && (host == "discord.gg" || host.ends_with(".discord.gg"))
            }
            false => matches!(uri.scheme_str(), Some("ws" | "wss")) && self.is_ours(&uri),
        };
        if !is_gateway {
            return Err(strange());
        }
        let base = url.split('?').next().unwrap_or_default().trim_end_matches('/');
        // Discord's own has no path; who plays it may have one, which stays as it is.
        let path = if uri.path() == "/" { "/" } else { "" };
        let uri = format!("{base}{path}?v=10&encoding=json").parse().map_err(|_| strange())?;
        let limits = SocketLimits {
            frame_len_max: FRAME_LEN_MAX,
            message_len_max: FRAME_LEN_MAX,
            // Heartbeats go more often; a ping of the protocol is for who does not answer them.
            ping_every: Duration::from_secs(90),
            ..SocketLimits::default()
        };
        Ok(SocketCall::new(uri).limits(limits).header(USER_AGENT, HeaderValue::from_static(AGENT)))
    }

    fn prepare(&self, call: &Call<'_>) -> Result<HttpCall, Trouble> {
        let uri = format!("{}/api/v10{}", self.base, call.path).parse();
        let uri = uri.map_err(|_| Trouble::no_address())?;
        let mut token = HeaderValue::try_from(format!("Bot {}", self.token()))
            .map_err(|_| Trouble::no_address())?;
        token.set_sensitive(true);
        // An interaction that is not answered by then is over.
        let within = if call.route.is_counted { WITHIN } else { ANSWER_WITHIN };
        Ok(HttpCall::new(call.method.clone(), uri)
            .limits(LIMITS)
            .within(within)
            .header(USER_AGENT, HeaderValue::from_static(AGENT))
            .header(AUTHORIZATION, token))
    }

    /// Makes a request when its turn has come.
    async fn ask(
        &self,
        call: &Call<'_>,
        prepared: HttpCall,
        waits: Duration,
        cancel: &CancellationToken,
    ) -> Result<Reply, Trouble> {
        let clock = self.transport.clock().clone();
        let began = clock.elapsed();
        loop {
            let now = clock.elapsed();
            let taken = self.limits().take(&call.route, now);
            let Err((wait, reach)) = taken else { break };
            if now + wait > began + waits {
                return Err(Trouble::Limited { wait: Some(wait), reach });
            }
            tokio::select! {
                () = cancel.cancelled() => {
                    return Err(Trouble::Wire(insula_wire::WireFault::Cancelled));
                }
                () = clock.sleep(wait) => {}
            }
        }
        let reply = self.transport.call(prepared, cancel).await.map_err(Trouble::Wire)?;
        let now = clock.elapsed();
        self.limits().learn(&call.route, &reply.headers, now);
        if reply.is_success() {
            return Ok(reply);
        }
        let trouble = trouble(&reply);
        if let Trouble::Limited { wait: Some(wait), reach } = &trouble {
            self.limits().shut(&call.route, *reach, *wait, now);
        }
        Err(trouble)
    }
}

/// What an answer that is no success means.
fn trouble(reply: &Reply) -> Trouble {
    let status = reply.status;
    let said: Option<Refusal> = serde_json::from_slice(&reply.body).ok();
    let Some(Refusal { message, code, retry_after, global }) = said else {
        return match status {
            // Whoever stands before Discord shuts an address out without saying for what.
            429 => Trouble::Limited { wait: reply.retry_after, reach: WaitScope::Account },
            503 => Trouble::Ill { why: reply.excerpt(), wait: reply.retry_after },
            _ => Trouble::Foreign { status, why: reply.excerpt() },
        };
    };
    let why = if code == 0 { excerpt(&message) } else { format!("{} ({code})", excerpt(&message)) };
    match status {
        401 => Trouble::Token { why: format!("Discord does not take the token ({why})") },
        429 => {
            let wait = reply.retry_after.max(retry_after.and_then(limits::wait));
            let reach = if global { WaitScope::Account } else { WaitScope::Chat };
            Trouble::Limited { wait, reach }
        }
        500.. => Trouble::Ill { why, wait: reply.retry_after },
        _ => Trouble::No { status, why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_channel::PostError;
    use insula_wire::HeaderMap;

    fn reply(status: u16, body: &str) -> Reply {
        let body = Bytes::from(body.to_owned());
        Reply { status, headers: HeaderMap::new(), retry_after: None, body }
    }

    #[test]
    fn every_refusal_means_one_thing() {
        let class = |reply: &Reply| match trouble(reply).into_post_error() {
            PostError::Later { wait, reach, .. } => {
                ("later", wait.map(|wait| wait.as_millis()), reach == WaitScope::Account)
            }
            PostError::Uncertain { .. } => ("unknown", None, false),
            PostError::Never { .. } => ("never", None, false),
            PostError::Account { .. } => ("account", None, false),
        };
        let no = r#"{"message":"Missing Access","code":50001}"#;
        let limited =
            r#"{"message":"You are being rate limited.","retry_after":1.25,"global":false}"#;
        let all = r#"{"message":"You are being rate limited.","retry_after":64.5,"global":true}"#;
        for (reply, expected) in [
            (reply(401, r#"{"message":"401: Unauthorized","code":0}"#), ("account", None, false)),
            (reply(400, no), ("never", None, false)),
            (reply(403, no), ("never", None, false)),
            (reply(404, no), ("never", None, false)),
            (reply(413, no), ("never", None, false)),
            (reply(429, limited), ("later", Some(1250), false)),
            (reply(429, all), ("later", Some(64_500), true)),
            (reply(429, "<html>banned"), ("later", Some(1000), true)),
            (reply(500, no), ("later", None, true)),
            (reply(503, "<html>"), ("later", None, true)),
            // What stands before Discord does not know what became of it.
            (reply(500, "<html>"), ("unknown", None, false)),
            (reply(502, "<html>"), ("unknown", None, false)),
            (reply(401, "<html>"), ("unknown", None, false)),
        ] {
            assert_eq!(class(&reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn addresses_and_tokens_are_what_they_are_said_to_be() {
        let (world, _) = insula_testkit::world(1);
        let transport = Transport::new(&world, &[]).unwrap();
        let api = |base: Option<&str>, token: &str| Api::new(base, token.into(), &transport);
        for bad in ["", "discord.com", "ftp://x", "https://u:p@x", "https://x?a=b"] {
            assert!(api(Some(bad), "t").is_err(), "{bad}");
        }
        for bad in ["", "Bot a.b", "a b", "a\nb", "é"] {
            assert!(api(None, bad).is_err(), "{bad}");
        }
        for base in ["https://x", "https://x/", "https://x/api", "https://x/api/v10/"] {
            assert_eq!(&*api(Some(base), "t").unwrap().base, "https://x");
        }
        let own = api(None, "MTk4.a_b-c").unwrap();
        for good in ["wss://gateway.discord.gg", "wss://gateway-us-east1-b.discord.gg/?a=b"] {
            assert!(own.socket(good).is_ok(), "{good}");
        }
        for bad in [
            "wss://discord.gg.evil.org",
            "wss://evildiscord.gg",
            "ws://gateway.discord.gg",
            "wss://gateway.discord.gg@evil.org",
            "https://gateway.discord.gg",
            "",
        ] {
            assert!(own.socket(bad).is_err(), "{bad}");
        }
        let other = api(Some("http://127.0.0.1:1"), "t").unwrap();
        assert!(other.socket("ws://127.0.0.1:2/gateway").is_ok());
        assert!(other.socket("wss://gateway.discord.gg").is_err());
    }
}
