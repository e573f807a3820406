//! Ollama's own API, which knows more of its models than its OpenAI-compatible one, and the
//! way to find it on this machine.

mod decode;
mod encode;

use crate::endpoint::{Endpoint, SpecError};
use crate::error::{ModelError, ModelFault};
use crate::provider::{AnswerStream, Provider};
use crate::reading::{Framing, read};
use crate::request::Request;
use crate::spec::ProviderSpec;
use async_trait::async_trait;
use insula_wire::{Timeouts, Transport};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where Ollama listens unless told otherwise.
const BASE_URL: &str = "http://127.0.0.1:11434";
/// How long to look for it. It is on this machine or it is not.
const DISCOVERY_WAIT: Duration = Duration::from_millis(300);
/// The longest list of models that is read. Thousands of models fit.
const LIST_LEN_MAX: usize = 4 * 1024 * 1024;

/// A provider that speaks Ollama's API.
pub struct Ollama {
    endpoint: Endpoint,
}

impl Ollama {
    /// The provider that `spec` describes.
    pub fn new(transport: &Transport, spec: &ProviderSpec) -> Result<Self, SpecError> {
        let base_url = spec.base_url.as_deref().unwrap_or(BASE_URL);
        let mut headers = vec![];
        if let Some(key) = &spec.api_key {
            let bearer = SecretString::from(format!("Bearer {}", key.expose_secret()));
            headers.push(("authorization".to_owned(), bearer));
        }
        headers.extend(spec.headers.iter().cloned());
        let endpoint = Endpoint::new(transport, &spec.name, base_url, "/api/chat", &headers)?;
        Ok(Self { endpoint })
    }
}

#[async_trait]
impl Provider for Ollama {
    fn name(&self) -> &str {
        self.endpoint.provider()
    }

    async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError> {
        let body = encode::body(request).map_err(|error| {
            let message = error.to_string();
            self.endpoint.error(&request.model, ModelFault::Refused { status: 0, message })
        })?;
        let body = self.endpoint.post(&request.model, body, limits, cancel).await?;
        let parser = decode::Chat::default();
        Ok(read(&self.endpoint, &request.model, body, Framing::JsonLines, parser))
    }
}

/// An Ollama that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovered {
    /// Where it listens.
    pub base_url: String,
    /// The models it has, by name, as it lists them.
    pub models: Vec<String>,
}

/// Looks for Ollama at its default port on this machine.
pub async fn discover(transport: &Transport) -> Option<Discovered> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Tag>,
    }
    #[derive(Deserialize)]
    struct Tag {
        name: String,
    }
    let name: Arc<str> = "ollama".into();
    let endpoint = Endpoint::new(transport, &name, BASE_URL, "/api/tags", &[]).ok()?;
    let limits =
        Timeouts { connect: DISCOVERY_WAIT, first_byte: DISCOVERY_WAIT, idle: DISCOVERY_WAIT };
    let body = endpoint.get(&limits, &CancellationToken::new()).await.ok()?;
    let body = body.excerpt(LIST_LEN_MAX).await.ok()?;
    let tags: Tags = serde_json::from_slice(&body).ok()?;
    let models = tags.models.into_iter().map(|tag| tag.name).collect();
    Some(Discovered { base_url: BASE_URL.to_owned(), models })
}

/// What understands its answers, for whoever makes some up.
#[cfg(fuzzing)]
pub(crate) fn parser() -> impl crate::reading::Parser {
    decode::Chat::default()
}
