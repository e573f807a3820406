//! One request and its whole answer, for servers that answer in one piece.

use crate::after::retry_after;
use crate::fault::{Phase, Timeouts, WireFault};
use crate::form::Form;
use crate::transport::Transport;
use crate::words::excerpt;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_body_util::Full;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long an error may be whatever the limit of what was asked for.
const ERROR_LEN: usize = 64 * 1024;
/// The most of an answer that is taken unless the caller says otherwise.
const LEN_MAX: usize = 8 * 1024 * 1024;
/// How long a whole exchange may take unless the caller says otherwise.
const WITHIN: Duration = Duration::from_secs(60);
/// What is waited for by default. Platforms answer in a moment or not at all.
const LIMITS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(20),
};

/// A request. Nothing of it is in the text of a fault: an address may hold a secret.
#[derive(Clone)]
pub struct HttpCall {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    limits: Timeouts,
    within: Duration,
    len_max: usize,
}

/// What a server answered, whatever the status.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    /// How long the server asks to wait, by its headers.
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

impl HttpCall {
    /// A request without a body.
    pub fn new(method: Method, uri: Uri) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*;q=0.5"));
        let agent = concat!("insula/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        Self {
            method,
            uri,
            headers,
            body: Bytes::new(),
            limits: LIMITS,
            within: WITHIN,
            len_max: LEN_MAX,
        }
    }

    /// Fetches what is at `uri`.
    pub fn get(uri: Uri) -> Self {
        Self::new(Method::GET, uri)
    }

    /// Sends something to `uri`.
    pub fn post(uri: Uri) -> Self {
        Self::new(Method::POST, uri)
    }

    /// Puts something at `uri`.
    pub fn put(uri: Uri) -> Self {
        Self::new(Method::PUT, uri)
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// With a token that no layer below prints. A token that no header can carry is left out,
    /// and the server will say that it is missing.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        match HeaderValue::try_from(format!("Bearer {token}")) {
            Ok(mut value) => {
                value.set_sensitive(true);
                self.header(AUTHORIZATION, value)
            }
            Err(_) => self,
        }
    }

    /// With these bytes of that type.
    #[must_use]
    pub fn bytes(mut self, media_type: &str, body: Bytes) -> Self {
        let media_type = HeaderValue::try_from(media_type)
            .unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
        self.headers.insert(CONTENT_TYPE, media_type);
        self.body = body;
        self
    }

    pub fn json(self, body: &impl Serialize) -> Result<Self, WireFault> {
        let body = serde_json::to_vec(body)
            .map_err(|error| WireFault::Garbage { what: format!("our own request: {error}") })?;
        Ok(self.bytes("application/json", body.into()))
    }

    /// With a form that has files in it.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        let (media_type, body) = form.finish();
        self.bytes(&media_type, body)
    }

    /// Waiting this long for the parts of the exchange.
    #[must_use]
    pub fn limits(mut self, limits: Timeouts) -> Self {
        self.limits = limits;
        self
    }

    /// Waiting this long for the exchange as a whole, so that an answer that drips ends too.
    #[must_use]
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Taking an answer of at most this many bytes.
    #[must_use]
    pub fn len_max(mut self, len_max: usize) -> Self {
        self.len_max = len_max;
        self
    }
}

impl Reply {
    /// Whether the status says that it went well.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, WireFault> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let head = &self.body[..self.body.len().min(200)];
            let head = excerpt(&String::from_utf8_lossy(head));
            WireFault::Garbage { what: format!("{error} in: {head}") }
        })
    }

    /// The beginning of the body, fit for a message.
    pub fn excerpt(&self) -> String {
        excerpt(&String::from_utf8_lossy(&self.body[..self.body.len().min(4096)]))
    }
}

impl Transport {
    /// Sends one request and reads its whole answer. Dropping the future, like cancelling,
    /// closes the connection the request went out on.
    pub async fn call(
        &self,
        call: HttpCall,
        cancel: &CancellationToken,
    ) -> Result<Reply, WireFault> {
        let HttpCall { method, uri, headers, body, limits, within, len_max } = call;
        let mut request = http::Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let exchange = async {
            let answer = self.send(request, &limits, cancel).await?;
            let retry_after = retry_after(answer.headers(), self.clock().now());
            let (head, body) = answer.into_parts();
            // A limit is for what was asked for: why it can't be had is read all the same.
            let is_had = head.status.is_success();
            let len_max = if is_had { len_max } else { len_max.max(ERROR_LEN) };
            let body = body.whole(len_max).await?;
            Ok(Reply { status: head.status.as_u16(), headers: head.headers, retry_after, body })
        };
        tokio::select! {
            biased;
            reply = exchange => reply,
            () = self.clock().sleep(within) => {
                Err(WireFault::TimedOut { phase: Phase::Idle, waited: within })
            }
        }
    }
}
