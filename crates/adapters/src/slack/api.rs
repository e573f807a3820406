//! Requests to Slack's Web API: where to, what comes back, and where our token never goes.

use super::failure::Failure;
use super::types::RemoteFile;
use bytes::Bytes;
use insula_channel::ConnectFault;
use insula_wire::{HttpCall, Reply, SocketCall, SocketLimits, Timeouts, Transport, Uri, WireFault};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where the API is unless the settings say otherwise.
const BASE_URL: &str = "https://slack.com/api";
/// The most of an answer that is read.
const ANSWER_LEN_MAX: usize = 2 * 1024 * 1024;
/// How long an ordinary request may take.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(20),
};
/// How long somebody's name, or another courtesy, is waited for: an event has to be acknowledged
/// within three seconds.
const ASIDE_WITHIN: Duration = Duration::from_secs(1);
/// How long a file may be on its way.
const FILE_WITHIN: Duration = Duration::from_secs(300);
/// The longest frame of the socket: a message with all its blocks has some hundred kilobytes.
const FRAME_LEN_MAX: usize = 4 * 1024 * 1024;
/// The hosts that are Slack's own.
const HOSTS: [&str; 3] = ["slack.com", "slack-files.com", "slack-gov.com"];

/// A workspace's API, and our tokens there.
pub(super) struct Api {
    base: Box<str>,
    token: SecretString,
    app_token: Option<SecretString>,
    pub(super) transport: Transport,
}

/// How long an answer is worth waiting for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    Whole,
    /// Something is waiting that can do without it.
    Aside,
}

impl Api {
    /// The API at `base`.
    pub(super) fn new(
        base: Option<&str>,
        (token, app_token): (SecretString, Option<SecretString>),
        transport: &Transport,
    ) -> Result<Self, ConnectFault> {
        let base = base.unwrap_or(BASE_URL).trim_end_matches('/');
        let uri: Option<Uri> = base.parse().ok();
        let fits = |uri: &Uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
                && uri.query().is_none()
        };
        if !uri.as_ref().is_some_and(fits) {
            let why = "`base_url` must be like https://slack.com/api, without user or query";
            return Err(ConnectFault::Refused(why.into()));
        }
        Ok(Self { base: base.into(), token, app_token, transport: transport.clone() })
    }

    /// Where it is.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Asks with a form, which every method takes.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        fields: &[(&str, &str)],
        patience: Patience,
    ) -> Result<T, Failure> {
        let reply = self.reply(method, fields, patience, &CancellationToken::new()).await?;
        reply.json().map_err(Failure::Wire)
    }

    /// The same, with all of the answer.
    pub(super) async fn reply(
        &self,
        method: &'static str,
        fields: &[(&str, &str)],
        patience: Patience,
        cancel: &CancellationToken,
    ) -> Result<Reply, Failure> {
        let mut call = self.post(method)?.bytes(FORM, form(fields));
        if patience == Patience::Aside {
            call = call.within(ASIDE_WITHIN);
        }
        self.answered(method, call.bearer(self.token.expose_secret()), cancel).await
    }

    /// Tells with JSON, which methods that change something take.
    pub(super) async fn tell<T: DeserializeOwned>(
        &self,
        method: &'static str,
        about: &Value,
    ) -> Result<T, Failure> {
        let call = self.post(method)?.json(about).map_err(Failure::Wire)?;
        let call = call.bearer(self.token.expose_secret());
        let reply = self.answered(method, call, &CancellationToken::new()).await?;
        reply.json().map_err(Failure::Wire)
    }

    /// The address of a new socket. It is good for one connection, and holds a secret.
    pub(super) async fn open(&self, cancel: &CancellationToken) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Opened {
            url: String,
        }
        let method = "apps.connections.open";
        let app_token = self.app_token.as_ref().map_or("", |it| it.expose_secret());
        let call = self.post(method)?.bytes(FORM, Bytes::new()).bearer(app_token);
        let opened: Opened =
            self.answered(method, call, cancel).await?.json().map_err(Failure::Wire)?;
        Ok(opened.url)
    }

    /// A socket at an address that Slack gave.
    pub(super) fn socket(&self, url: &str) -> Result<SocketCall, Failure> {
        let uri: Option<Uri> = url.parse().ok();
        // What is said there is not for networks to read, except where the API's own is not.
        let is_plain = self.base.starts_with("http://");
        let fits = |uri: &Uri| match uri.scheme_str() {
            Some("wss") => true,
            Some("ws") => is_plain,
            _ => false,
        };
        let Some(uri) = uri.filter(fits) else {
            return Err(garbage("the address of the socket is none"));
        };
        let limits = SocketLimits {
            frame_len_max: FRAME_LEN_MAX,
            message_len_max: FRAME_LEN_MAX,
            ..SocketLimits::default()
        };
        Ok(SocketCall::new(uri).limits(limits))
    }

    /// Gives Slack the content of a file, where it said.
    pub(super) async fn upload(&self, url: &str, content: Bytes) -> Result<(), Failure> {
        let Some(uri) = self.own(url) else {
            return Err(garbage("the file is to go to an address that is not Slack's"));
        };
        let limits = Timeouts { first_byte: FILE_WITHIN, ..LIMITS };
        let call = HttpCall::post(uri).bytes("application/octet-stream", content);
        let call = call.limits(limits).within(FILE_WITHIN).len_max(ANSWER_LEN_MAX);
        let reply = self.transport.call(call, &CancellationToken::new()).await;
        let reply = reply.map_err(Failure::Wire)?;
        match reply.is_success() {
            true => Ok(()),
            false => Err(Failure::Foreign {
                status: reply.status,
                wait: reply.retry_after,
                words: reply.excerpt(),
            }),
        }
    }

    /// The content of a file of at most `len_max` bytes.
    pub(super) async fn file(&self, file: &RemoteFile, len_max: usize) -> Result<Bytes, Failure> {
        let RemoteFile { url_private, url_private_download, mimetype, .. } = file;
        let url = if url_private_download.is_empty() { url_private } else { url_private_download };
        let Some(uri) = self.own(url) else {
            return Err(garbage("the file is at an address that is not Slack's"));
        };
        let call = HttpCall::get(uri).bearer(self.token.expose_secret());
        let call = call.limits(LIMITS).within(FILE_WITHIN).len_max(len_max);
        let reply = self.transport.call(call, &CancellationToken::new()).await;
        let reply = reply.map_err(Failure::Wire)?;
        let media_type = reply.headers.get("content-type").and_then(|it| it.to_str().ok());
        let is_page = media_type.is_some_and(|it| it.starts_with("text/html"));
        // Whoever may not have a file is shown a page to sign in at.
        if (is_page && !mimetype.starts_with("text/html")) || (300..400).contains(&reply.status) {
            let (error, needed) = ("missing_scope".to_owned(), "files:read".to_owned());
            return Err(Failure::Told { method: "url_private", error, needed });
        }
        match reply.is_success() {
            true => Ok(reply.body),
            false => Err(Failure::Foreign {
                status: reply.status,
                wait: reply.retry_after,
                words: reply.excerpt(),
            }),
        }
    }

    /// Answers somebody where Slack said that it can be done.
    pub(super) async fn respond(&self, url: &str, about: &Value) {
        let Some(uri) = self.own(url) else { return };
        let Ok(call) = HttpCall::post(uri).json(about) else { return };
        let call = call.limits(LIMITS).within(LIMITS.first_byte).len_max(ANSWER_LEN_MAX);
        // A courtesy.
        let _ = self.transport.call(call, &CancellationToken::new()).await;
    }

    /// An address, if it is Slack's own or the API's host.
    fn own(&self, url: &str) -> Option<Uri> {
        let uri: Uri = url.parse().ok()?;
        let base: Uri = self.base.parse().ok()?;
        let is_base = base.authority() == uri.authority() && base.scheme() == uri.scheme();
        let host = uri.host()?.to_ascii_lowercase();
        let is_of = |known: &str| {
            host == known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'))
        };
        let has_user = uri.authority()?.as_str().contains('@');
        let is_own = uri.scheme_str() == Some("https") && HOSTS.iter().any(|it| is_of(it));
        (!has_user && (is_base || is_own)).then_some(uri)
    }

    fn post(&self, method: &str) -> Result<HttpCall, Failure> {
        let uri = format!("{}/{method}", self.base).parse();
        let uri = uri.map_err(|_| garbage("an address that can't be one"))?;
        Ok(HttpCall::post(uri).limits(LIMITS).len_max(ANSWER_LEN_MAX))
    }

    async fn answered(
        &self,
        method: &'static str,
        call: HttpCall,
        cancel: &CancellationToken,
    ) -> Result<Reply, Failure> {
        let reply = self.transport.call(call, cancel).await.map_err(Failure::Wire)?;
        match Failure::of(method, &reply) {
            None => Ok(reply),
            Some(failure) => Err(failure),
        }
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

fn form(fields: &[(&str, &str)]) -> Bytes {
    let mut body = String::new();
    for (name, value) in fields {
        if !body.is_empty() {
            body.push('&');
        }
        body.push_str(name);
        body.push('=');
        for byte in value.bytes() {
            match byte {
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' => {
                    body.push(char::from(byte));
                }
                // Writing to a text does not fail.
                _ => drop(write!(body, "%{byte:02X}")),
            }
        }
    }
    body.into()
}

pub(super) fn garbage(what: &str) -> Failure {
    Failure::Wire(WireFault::Garbage { what: what.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(base: Option<&str>) -> Result<Api, ConnectFault> {
        let (world, _) = insula_testkit::world(1);
        let transport = Transport::new(&world, &[]).unwrap();
        Api::new(base, ("t".into(), None), &transport)
    }

    #[test]
    fn our_token_goes_to_slack_alone() {
        let slack = api(None).unwrap();
        for good in [
            "https://files.slack.com/files-pri/T1-F1/download/a.png",
            "https://hooks.slack.com/actions/T1/1/x",
            "https://slack.com/x",
        ] {
            assert!(slack.own(good).is_some(), "{good}");
        }
        for bad in [
            "http://files.slack.com/x",
            "https://files.slack.com.evil.example/x",
            "https://evilslack.com/x",
            "https://a@files.slack.com/x",
            "https://127.0.0.1/x",
            "",
        ] {
            assert!(slack.own(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_socket_is_sealed_unless_the_api_is_not() {
        let slack = api(None).unwrap();
        assert!(slack.socket("wss://wss-primary.slack.com/link/?ticket=1").is_ok());
        for bad in ["ws://wss-primary.slack.com/link", "https://slack.com", ""] {
            assert!(slack.socket(bad).is_err(), "{bad}");
        }
        assert!(api(Some("http://127.0.0.1:1/api")).unwrap().socket("ws://127.0.0.1:1/l").is_ok());
        for bad in ["", "slack.com", "ftp://x", "https://u:p@x", "https://x?a=b"] {
            assert!(api(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_form_carries_any_value() {
        let body = form(&[("name", "a&b=ü c.txt"), ("ts", "1.000001")]);
        assert_eq!(body, "name=a%26b%3D%C3%BC%20c.txt&ts=1.000001");
    }
}
