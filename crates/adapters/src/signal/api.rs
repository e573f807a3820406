//! Calls of signal-cli's daemon: JSON-RPC, the check, and the stream of events.

use super::failure::Failure;
use super::types::{Answer, FileData};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use insula_channel::ConnectFault;
use insula_wire::{Body, HeaderValue, HttpCall, Timeouts, Transport, Uri, WireFault, header};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where the daemon listens unless it is told otherwise.
const BASE_URL: &str = "http://127.0.0.1:8080";
/// The most of an answer that is read: a list of all groups is the longest.
const ANSWER_LEN_MAX: usize = 16 * 1024 * 1024;
/// How long an ordinary call may take.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(60),
    idle: Duration::from_secs(20),
};
/// How long a message may be on its way: files go out with it, to each member of a group.
const SEND_WITHIN: Duration = Duration::from_secs(180);
/// How long the stream may be silent: it says something every 15 seconds.
pub(super) const STREAM_SILENCE_MAX: Duration = Duration::from_secs(45);
/// The longest id of a file.
const FILE_ID_LEN_MAX: usize = 200;

/// The daemon, and which of its accounts is ours.
pub(super) struct Daemon {
    transport: Transport,
    base: String,
    account: Box<str>,
}

impl Daemon {
    /// The daemon at this address.
    pub(super) fn new(
        transport: &Transport,
        base: Option<&str>,
        account: &str,
    ) -> Result<Self, ConnectFault> {
        let base = base.unwrap_or(BASE_URL).trim_end_matches('/').to_owned();
        let uri: Option<Uri> = base.parse().ok();
        let is_usable = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        });
        if !is_usable {
            let why = "`base_url` must be like http://127.0.0.1:8080, without user or query";
            return Err(ConnectFault::Refused(why.into()));
        }
        Ok(Self { transport: transport.clone(), base, account: account.into() })
    }

    /// Whether it stands on this machine. It asks nobody who they are.
    pub(super) fn is_local(&self) -> bool {
        let uri: Option<Uri> = self.base.parse().ok();
        let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|it| it.is_loopback())
    }

    /// Calls a method of our account.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        self.call_within(method, arguments, (LIMITS, ANSWER_LEN_MAX), cancel).await
    }

    /// Asks the daemon itself something, whichever its accounts are.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        self.exchange(method, Map::new(), (LIMITS, ANSWER_LEN_MAX), cancel).await
    }

    /// Calls a method that sends something.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: Value,
    ) -> Result<T, Failure> {
        let limits = Timeouts { first_byte: SEND_WITHIN, ..LIMITS };
        let cancel = CancellationToken::new();
        self.call_within(method, arguments, (limits, ANSWER_LEN_MAX), &cancel).await
    }

    /// The content of a file that came along with a message, by its id and where it came.
    pub(super) async fn file(
        &self,
        place: (&str, &str),
        id: &str,
        limit: usize,
    ) -> Result<Option<Bytes>, Failure> {
        let (key, chat) = place;
        let arguments = json!({ "id": id, key: chat });
        let limits = Timeouts { first_byte: SEND_WITHIN, ..LIMITS };
        // It comes as base64, inside an answer.
        let len_max = limit.saturating_mul(4) / 3 + 4096;
        let cancel = CancellationToken::new();
        let got = self.call_within("getAttachment", arguments, (limits, len_max), &cancel).await;
        let got: FileData = match got {
            Err(Failure::Wire(WireFault::TooMuch { .. })) => return Ok(None),
            got => got?,
        };
        let content = STANDARD.decode(&got.data).map_err(|error| {
            Failure::Wire(WireFault::Garbage { what: format!("a file: {error}") })
        })?;
        Ok((content.len() <= limit).then(|| content.into()))
    }

    async fn call_within<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: Value,
        within: (Timeouts, usize),
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        let mut params = match arguments {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        params.insert("account".into(), json!(self.account));
        self.exchange(method, params, within, cancel).await
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Map<String, Value>,
        (limits, len_max): (Timeouts, usize),
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        let request = json!({ "jsonrpc": "2.0", "id": "1", "method": method, "params": params });
        let within = limits.first_byte + SEND_WITHIN;
        let call =
            HttpCall::post(self.uri("/api/v1/rpc")?).json(&request).map_err(Failure::Wire)?;
        let call = call.limits(limits).within(within).len_max(len_max);
        let reply = self.transport.call(call, cancel).await.map_err(Failure::Wire)?;
        if reply.status != 200 {
            return Err(Failure::Foreign { status: reply.status, wait: reply.retry_after });
        }
        let Ok(answer) = serde_json::from_slice::<Answer>(&reply.body) else {
            return Err(Failure::Foreign { status: reply.status, wait: None });
        };
        let result = match answer {
            Answer { error: Some(error), .. } => return Err(Failure::told(error)),
            Answer { result: Some(result), .. } => result,
            Answer { .. } => return Err(Failure::Foreign { status: reply.status, wait: None }),
        };
        serde_json::from_str(result.get()).map_err(|error| {
            let what = format!("the result of {method}: {error}");
            Failure::Wire(WireFault::Garbage { what })
        })
    }

    /// Whether the daemon is there at all.
    pub(super) async fn check(&self, cancel: &CancellationToken) -> Result<(), Failure> {
        let call = HttpCall::get(self.uri("/api/v1/check")?).limits(LIMITS);
        let reply = self.transport.call(call, cancel).await.map_err(Failure::Wire)?;
        match reply.is_success() {
            true => Ok(()),
            false => Err(Failure::Foreign { status: reply.status, wait: reply.retry_after }),
        }
    }

    /// The stream of our account's events, behind the one with this id where the daemon can go
    /// on there.
    pub(super) async fn events(
        &self,
        behind: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<Body, Failure> {
        let limits =
            Timeouts { first_byte: STREAM_SILENCE_MAX, idle: STREAM_SILENCE_MAX, ..LIMITS };
        let account = self.account.replace('+', "%2B");
        let mut request = http::Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = self.uri(&format!("/api/v1/events?account={account}"))?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = behind.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert("last-event-id", id);
        }
        let answer = self.transport.send(request, &limits, cancel).await.map_err(Failure::Wire)?;
        let status = answer.status().as_u16();
        match status {
            200 => Ok(answer.into_body()),
            // It says so where it has no such account.
            400 => Err(Failure::Told {
                code: -32602,
                words: "the daemon has no such account".into(),
                outcome: None,
                wait: None,
            }),
            _ => Err(Failure::Foreign { status, wait: None }),
        }
    }

    fn uri(&self, path: &str) -> Result<Uri, Failure> {
        format!("{}{path}", self.base).parse().map_err(|_| {
            Failure::Wire(WireFault::Unreachable { why: "an address that can't be one".into() })
        })
    }
}

/// Whether a text is the id of a file: it names one in signal-cli's own folder.
pub(super) fn is_file_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !id.is_empty()
        && id.len() <= FILE_ID_LEN_MAX
        && !id.starts_with('.')
        && id.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_and_leads_nowhere() {
        for good in ["AbC-123_x", "12.jpg", "x"] {
            assert!(is_file_id(good), "{good}");
        }
        let long = "x".repeat(FILE_ID_LEN_MAX + 1);
        for bad in ["", "../x", "a/b", ".x", "a b", "a\\b", "\u{e4}", &long] {
            assert!(!is_file_id(bad), "{bad}");
        }
    }
}
