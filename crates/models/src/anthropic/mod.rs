//! Anthropic's Messages API.

mod decode;
mod encode;
#[cfg(test)]
mod encode_tests;

use crate::endpoint::{Endpoint, SpecError};
use crate::error::{ModelError, ModelFault};
use crate::provider::{AnswerStream, Provider};
use crate::reading::{Framing, read};
use crate::request::Request;
use crate::spec::ProviderSpec;
use async_trait::async_trait;
use insula_wire::{Timeouts, Transport};
use tokio_util::sync::CancellationToken;

const BASE_URL: &str = "https://api.anthropic.com";
/// The version of the API this file speaks.
const VERSION: &str = "2023-06-01";
/// Marks the signature of reasoning that the provider sent encrypted as a whole.
const REDACTED: &str = "redacted:";

/// A provider that speaks the Messages API.
pub struct Anthropic {
    endpoint: Endpoint,
}

impl Anthropic {
    /// The provider that `spec` describes.
    pub fn new(transport: &Transport, spec: &ProviderSpec) -> Result<Self, SpecError> {
        if spec.api_key.is_none() && spec.base_url.is_none() {
            return Err(SpecError::NoKey { provider: spec.name.to_string() });
        }
        let base_url = spec.base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/');
        let base_url = base_url.strip_suffix("/v1").unwrap_or(base_url);
        let mut headers = vec![("anthropic-version".to_owned(), VERSION.into())];
        headers.extend(spec.api_key.iter().map(|key| ("x-api-key".to_owned(), key.clone())));
        headers.extend(spec.headers.iter().cloned());
        let endpoint = Endpoint::new(transport, &spec.name, base_url, "/v1/messages", &headers)?;
        Ok(Self { endpoint })
    }
}

#[async_trait]
impl Provider for Anthropic {
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
        let parser = decode::Messages::default();
        Ok(read(&self.endpoint, &request.model, body, Framing::Sse, parser))
    }
}

/// What understands its answers, for whoever makes some up.
#[cfg(fuzzing)]
pub(crate) fn parser() -> impl crate::reading::Parser {
    decode::Messages::default()
}
