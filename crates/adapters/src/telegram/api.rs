//! Calls of the Bot API's methods: where to, what comes back, and what never shows.

use super::failure::Failure;
use super::types::{Answer, Parameters};
use insula_channel::ConnectFault;
use insula_wire::{Form, HttpCall, Timeouts, Transport, Uri, excerpt};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where the API is unless the settings say otherwise.
const BASE_URL: &str = "https://api.telegram.org";
/// The most of an answer that is read. One update has at most some hundred kilobytes; whoever
/// asks for many and gets too much asks for fewer.
const ANSWER_LEN_MAX: usize = 2 * 1024 * 1024;
/// How long to wait beyond what the server was asked to hold its answer back.
const SLACK: Duration = Duration::from_secs(20);
/// How long a file may take, either way.
const FILE_WITHIN: Duration = Duration::from_secs(300);

/// One bot's way to the API.
pub(super) struct Api {
    transport: Transport,
    base_url: String,
    token: SecretString,
}

impl Api {
    /// For the bot with this token, at the API's own address or another.
    pub(super) fn new(
        transport: &Transport,
        base_url: Option<&str>,
        token: SecretString,
    ) -> Result<Self, ConnectFault> {
        let refused = |why: &str| ConnectFault::Refused(why.into());
        if !is_token(token.expose_secret()) {
            let why =
                "`token` is no bot token: that is a number, a colon and letters, from @BotFather";
            return Err(refused(why));
        }
        let base_url = base_url.unwrap_or(BASE_URL).trim_end_matches('/').to_owned();
        let uri: Option<Uri> = base_url.parse().ok();
        let is_usable = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        });
        if !is_usable {
            return Err(refused("`base_url` must be like https://host, without user or query"));
        }
        Ok(Self { transport: transport.clone(), base_url, token })
    }

    /// What only we and the platform can know, for telling its requests from others.
    pub(super) fn derived_secret(&self) -> String {
        let key = blake3::derive_key(
            "insula 2026-11 telegram webhook secret",
            self.token.expose_secret().as_bytes(),
        );
        blake3::Hash::from_bytes(key).to_hex().to_string()
    }

    /// Calls a method with arguments as JSON.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: &impl Serialize,
    ) -> Result<T, Failure> {
        let call =
            HttpCall::post(self.uri("bot", method)?).json(arguments).map_err(Failure::Wire)?;
        self.answer(call, &CancellationToken::new()).await
    }

    /// Calls a method that the server may hold back for `held`.
    pub(super) async fn wait<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: &impl Serialize,
        held: Duration,
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        let limits = Timeouts {
            connect: Duration::from_secs(10),
            first_byte: held + SLACK,
            idle: Duration::from_secs(20),
        };
        let call =
            HttpCall::post(self.uri("bot", method)?).json(arguments).map_err(Failure::Wire)?;
        let call = call.limits(limits).within(held + SLACK * 2);
        self.answer(call, cancel).await
    }

    /// Calls a method that takes files.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        form: Form,
    ) -> Result<T, Failure> {
        let limits = Timeouts {
            connect: Duration::from_secs(10),
            // The answer begins after the whole file has gone out.
            first_byte: FILE_WITHIN,
            idle: Duration::from_secs(20),
        };
        let call = HttpCall::post(self.uri("bot", method)?).form(form);
        let call = call.limits(limits).within(FILE_WITHIN);
        self.answer(call, &CancellationToken::new()).await
    }

    /// The content of a file at a path that `getFile` gave.
    pub(super) async fn download(&self, path: &str, limit: usize) -> Result<bytes::Bytes, Failure> {
        let call = HttpCall::get(self.uri("file/bot", path)?).len_max(limit).within(FILE_WITHIN);
        let cancel = CancellationToken::new();
        let reply = self.transport.call(call, &cancel).await.map_err(Failure::Wire)?;
        if reply.is_success() {
            return Ok(reply.body);
        }
        Err(failure(reply.status, reply.retry_after, &reply.body))
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        call: HttpCall,
        cancel: &CancellationToken,
    ) -> Result<T, Failure> {
        let call = call.len_max(ANSWER_LEN_MAX);
        let reply = self.transport.call(call, cancel).await.map_err(Failure::Wire)?;
        let read = serde_json::from_slice::<Answer<'_>>(&reply.body).ok();
        let result = read.filter(|answer| answer.ok).and_then(|answer| answer.result);
        let Some(result) = result.filter(|_| reply.is_success()) else {
            return Err(failure(reply.status, reply.retry_after, &reply.body));
        };
        serde_json::from_str(result.get()).map_err(|error| {
            let what = format!("{error} in: {}", excerpt(&head(result.get())));
            Failure::Wire(insula_wire::WireFault::Garbage { what })
        })
    }

    /// The address of a method or file. It holds the token, so it goes nowhere else.
    fn uri(&self, kind: &str, what: &str) -> Result<Uri, Failure> {
        let text = format!("{}/{kind}{}/{what}", self.base_url, self.token.expose_secret());
        text.parse().map_err(|_| {
            let what = "an address that can't be one".to_owned();
            Failure::Wire(insula_wire::WireFault::Unreachable { why: what })
        })
    }
}

/// Whether a text has the form of a token: what it holds goes into an address as it is.
fn is_token(text: &str) -> bool {
    let Some((number, rest)) = text.split_once(':') else { return false };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !rest.is_empty()
        && rest.bytes().all(is_plain)
}

/// What an answer that is no success says.
fn failure(status: u16, after: Option<Duration>, body: &[u8]) -> Failure {
    match serde_json::from_slice::<Answer<'_>>(body) {
        Ok(answer) if !answer.ok => {
            let Parameters { retry_after, migrate_to_chat_id } = answer.parameters;
            Failure::Told {
                status: answer.error_code.unwrap_or(status),
                description: excerpt(&answer.description),
                wait: retry_after.map(Duration::from_secs).or(after),
                moved_to: migrate_to_chat_id,
            }
        }
        _ => Failure::Foreign {
            status,
            wait: after,
            words: excerpt(&String::from_utf8_lossy(&body[..body.len().min(300)])),
        },
    }
}

fn head(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_number_a_colon_and_letters() {
        assert!(is_token("123:AAE-x_y"));
        for bad in
            ["", "123", ":abc", "123:", "12x:abc", "1:a/b", "1:a b", "1:a?b", "-1:abc", "1:ä"]
        {
            assert!(!is_token(bad), "{bad}");
        }
    }

    #[test]
    fn an_error_is_read_with_what_it_asks_for() {
        let body =
            br#"{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 5",
            "parameters":{"retry_after":5}}"#;
        let expected = Failure::Told {
            status: 429,
            description: "Too Many Requests: retry after 5".into(),
            wait: Some(Duration::from_secs(5)),
            moved_to: None,
        };
        assert_eq!(failure(429, None, body), expected);
        let page = failure(502, None, b"<html>Bad\nGateway</html>");
        assert_eq!(
            page,
            Failure::Foreign { status: 502, wait: None, words: "<html>Bad Gateway</html>".into() }
        );
    }
}
