//! One address of a provider, with the headers every request to it carries.

use crate::error::{ModelError, ModelFault};
use crate::status::{self, ProviderErrorBody};
use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use http::{Method, Uri};
use http_body_util::Full;
use insula_wire::{Body, Form, Timeouts, Transport, excerpt, retry_after};
use insula_world::Clock;
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The most that is read of an answer that is an error. Its words are cut far shorter.
const ERROR_LEN_MAX: usize = 64 * 1024;
/// The longest wait for what a server may tell of itself: it has it at hand, or not at all.
const ASIDE_WAIT: Duration = Duration::from_secs(3);
/// The longest wait for a server that is tried on purpose.
const PROBE_WAIT: Duration = Duration::from_secs(10);
/// The most that is read of that. Lists of thousands of models fit.
const ASIDE_LEN_MAX: usize = 2 * 1024 * 1024;
/// A value shorter than this is not looked for in what a provider says: it would be found
/// everywhere, and hides nothing.
const SECRET_LEN_MIN: usize = 6;

/// An address or a header can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The base URL is missing and the provider has no well-known one.
    #[error("provider `{provider}` needs a base_url")]
    NoBaseUrl {
        /// The provider.
        provider: String,
    },
    /// The base URL is not one.
    #[error("provider `{provider}` has a base_url that can't be used: {why}")]
    BadBaseUrl {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// The key or a header holds characters that HTTP does not allow.
    #[error("provider `{provider}` has a value for the header `{header}` that can't be sent")]
    BadHeader {
        /// The provider.
        provider: String,
        /// The header.
        header: String,
    },
    /// The provider needs a key.
    #[error("provider `{provider}` needs an api_key")]
    NoKey {
        /// The provider.
        provider: String,
    },
    /// Two providers have one name.
    #[error("there are two providers named `{provider}`")]
    Twice {
        /// The name.
        provider: String,
    },
}

/// Where to send, and what with.
#[derive(Clone)]
pub(crate) struct Endpoint {
    provider: Arc<str>,
    transport: Transport,
    base_url: Arc<str>,
    uri: Uri,
    headers: HeaderMap,
    /// What must not come back in the words of an error.
    secrets: Arc<[SecretString]>,
}

impl Endpoint {
    /// An address below `base_url`. Headers with secret values are marked, so that no layer
    /// below prints them.
    pub(crate) fn new(
        transport: &Transport,
        provider: &Arc<str>,
        base_url: &str,
        path: &str,
        headers: &[(String, SecretString)],
    ) -> Result<Self, SpecError> {
        let name = || provider.to_string();
        let bad = |why: String| SpecError::BadBaseUrl { provider: name(), why };
        let base_url = base_url.trim_end_matches('/');
        let uri: Uri = format!("{base_url}{path}")
            .parse()
            .map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(bad("it must begin with http:// or https://".into()));
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(bad("it must name a host, and no user or password".into()));
        }
        if uri.query().is_some() {
            return Err(bad("it must not have a query".into()));
        }
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        map.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("insula/", env!("CARGO_PKG_VERSION"))),
        );
        for (header, value) in headers {
            let bad = || SpecError::BadHeader { provider: name(), header: header.clone() };
            let key = HeaderName::try_from(header.as_str()).map_err(|_| bad())?;
            let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| bad())?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        let secrets = headers.iter().map(|(_, value)| bare(value)).collect();
        Ok(Self {
            provider: provider.clone(),
            transport: transport.clone(),
            base_url: base_url.into(),
            uri,
            headers: map,
            secrets,
        })
    }

    /// Another address of the same server, with the same headers but for another key.
    pub(crate) fn at(&self, path: &str, key: Option<&SecretString>) -> Result<Self, SpecError> {
        let provider = || self.provider.to_string();
        let uri = format!("{}{path}", self.base_url).parse::<Uri>().map_err(|error| {
            SpecError::BadBaseUrl { provider: provider(), why: error.to_string() }
        })?;
        let mut other = Self { uri, ..self.clone() };
        if let Some(key) = key {
            let bearer = format!("Bearer {}", key.expose_secret());
            let mut value = HeaderValue::try_from(bearer).map_err(|_| SpecError::BadHeader {
                provider: provider(),
                header: AUTHORIZATION.to_string(),
            })?;
            value.set_sensitive(true);
            other.headers.insert(AUTHORIZATION, value);
            other.secrets = self.secrets.iter().chain([key]).cloned().collect();
        }
        Ok(other)
    }

    /// The host it is at.
    pub(crate) fn host(&self) -> &str {
        self.uri.host().unwrap_or_default()
    }

    /// The provider's name.
    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    /// The clock of its world.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &**self.transport.clock()
    }

    /// Sends `body` and returns the body of an answer that is no error.
    pub(crate) async fn post(
        &self,
        body: impl Into<Bytes>,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Body, ModelFault> {
        self.send(Method::POST, &self.uri, body.into(), limits, cancel).await
    }

    /// The same with a form.
    pub(crate) async fn post_form(
        &self,
        form: Form,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Body, ModelFault> {
        let (media_type, body) = form.finish();
        // What a form is called is made of hexadecimal digits.
        let media_type = HeaderValue::try_from(media_type)
            .map_err(|error| ModelFault::Unreachable { why: error.to_string() })?;
        let mut with_form = self.clone();
        with_form.headers.insert(CONTENT_TYPE, media_type);
        with_form.post(body, limits, cancel).await
    }

    /// How many entries a list has that the server keeps at another path, under `key`; `None`
    /// where it has none there.
    pub(crate) async fn count(&self, path: &str, key: &str) -> Result<Option<usize>, ModelFault> {
        let uri = format!("{}{path}", self.base_url).parse::<Uri>();
        let uri = uri.map_err(|error| ModelFault::Unreachable { why: error.to_string() })?;
        let limits = Timeouts { connect: PROBE_WAIT, first_byte: PROBE_WAIT, idle: PROBE_WAIT };
        let stop = CancellationToken::new();
        let body = match self.send(Method::GET, &uri, Bytes::new(), &limits, &stop).await {
            Ok(body) => body,
            Err(ModelFault::Missing { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let whole = body.whole(ASIDE_LEN_MAX).await?;
        let list: serde_json::Value = serde_json::from_slice(&whole).map_err(|_| {
            ModelFault::Garbage { what: "its list of models is no JSON".to_owned() }
        })?;
        Ok(list[key].as_array().map(Vec::len))
    }

    /// What is at another path below the base URL, if the server has it at hand.
    pub(crate) async fn ask(&self, path: &str) -> Option<Vec<u8>> {
        self.question(Method::GET, &self.base_url, path, Bytes::new()).await
    }

    /// The same below the base URL without the version of the protocol.
    pub(crate) async fn ask_root(&self, path: &str) -> Option<Vec<u8>> {
        let root = self.base_url.strip_suffix("/v1").unwrap_or(&self.base_url);
        self.question(Method::GET, root, path, Bytes::new()).await
    }

    /// What the server answers to `body` at another path.
    pub(crate) async fn ask_with(&self, path: &str, body: Vec<u8>) -> Option<Vec<u8>> {
        self.question(Method::POST, &self.base_url, path, body.into()).await
    }

    async fn question(
        &self,
        method: Method,
        base: &str,
        path: &str,
        body: Bytes,
    ) -> Option<Vec<u8>> {
        let uri: Uri = format!("{base}{path}").parse().ok()?;
        let limits = Timeouts { connect: ASIDE_WAIT, first_byte: ASIDE_WAIT, idle: ASIDE_WAIT };
        let answer = self.send(method, &uri, body, &limits, &CancellationToken::new()).await;
        let whole = answer.ok()?.whole(ASIDE_LEN_MAX).await.ok()?;
        Some(whole.to_vec())
    }

    async fn send(
        &self,
        method: Method,
        uri: &Uri,
        body: Bytes,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Body, ModelFault> {
        let mut request = http::Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        let response = self.transport.send(request, limits, cancel).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let after = retry_after(response.headers(), self.transport.clock().now());
        let body = response.into_body().excerpt(ERROR_LEN_MAX).await?;
        Err(status::fault(status.as_u16(), after, ProviderErrorBody::from_body(&body)))
    }

    /// The error to show: with its place, and with foreign words made harmless.
    pub(crate) fn error(&self, model: &Arc<str>, mut fault: ModelFault) -> ModelError {
        let words = match &mut fault {
            ModelFault::Unauthorized { message, .. }
            | ModelFault::Unpaid { message, .. }
            | ModelFault::RateLimited { message, .. }
            | ModelFault::Overloaded { message, .. }
            | ModelFault::TooLong { message, .. }
            | ModelFault::Missing { message, .. }
            | ModelFault::Refused { message, .. } => Some(message),
            ModelFault::Unreachable { why } => Some(why),
            ModelFault::Garbage { what } => Some(what),
            ModelFault::TimedOut { .. } | ModelFault::CutOff | ModelFault::Cancelled => None,
        };
        if let Some(words) = words {
            *words = excerpt(&self.without_secrets(words));
        }
        ModelError { provider: self.provider.clone(), model: model.clone(), fault }
    }

    fn without_secrets(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for secret in self.secrets.iter() {
            let secret = secret.expose_secret();
            if secret.len() >= SECRET_LEN_MIN && words.contains(secret) {
                words = words.replace(secret, "[key]");
            }
        }
        words
    }
}

/// A header's value without the scheme before the key.
fn bare(value: &SecretString) -> SecretString {
    let text = value.expose_secret();
    text.strip_prefix("Bearer ").unwrap_or(text).to_owned().into()
}
