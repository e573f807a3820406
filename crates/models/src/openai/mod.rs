//! Chat completions as OpenAI defined them and everyone else speaks them: OpenRouter, Google's
//! compatible endpoint, vLLM, llama.cpp, LM Studio, Ollama.

mod decode;
mod encode;
#[cfg(test)]
mod encode_tests;

pub(crate) use encode::Tools;

use crate::endpoint::{Endpoint, SpecError};
use crate::error::{ModelError, ModelFault};
use crate::provider::{AnswerStream, Provider};
use crate::reading::{Framing, read};
use crate::request::Request;
use crate::spec::ProviderSpec;
use async_trait::async_trait;
use insula_wire::{Timeouts, Transport};
use secrecy::{ExposeSecret as _, SecretString};
use tokio_util::sync::CancellationToken;

/// Where providers are that need no `base_url`.
const WELL_KNOWN: [(&str, &str); 3] = [
    ("openai", OPENAI),
    ("openrouter", "https://openrouter.ai/api/v1"),
    ("google", "https://generativelanguage.googleapis.com/v1beta/openai"),
];
const OPENAI: &str = "https://api.openai.com/v1";

/// A provider that speaks chat completions.
pub struct OpenAi {
    endpoint: Endpoint,
    dialect: Dialect,
}

/// What differs between servers of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// OpenAI itself, whose newer models refuse `max_tokens`.
    OpenAi,
    /// Everyone else, of whom some do not know `max_completion_tokens`.
    Compatible,
}

impl OpenAi {
    /// The provider that `spec` describes.
    pub fn new(transport: &Transport, spec: &ProviderSpec) -> Result<Self, SpecError> {
        let known = WELL_KNOWN.iter().find(|(name, _)| *name == &*spec.name);
        let base_url = spec
            .base_url
            .as_deref()
            .or(known.map(|(_, base_url)| *base_url))
            .ok_or_else(|| SpecError::NoBaseUrl { provider: spec.name.to_string() })?;
        let dialect =
            if base_url.starts_with(OPENAI) { Dialect::OpenAi } else { Dialect::Compatible };
        if spec.api_key.is_none() && spec.base_url.is_none() {
            return Err(SpecError::NoKey { provider: spec.name.to_string() });
        }
        let mut headers = vec![];
        if let Some(key) = &spec.api_key {
            let bearer = SecretString::from(format!("Bearer {}", key.expose_secret()));
            headers.push(("authorization".to_owned(), bearer));
        }
        headers.extend(spec.headers.iter().cloned());
        let endpoint =
            Endpoint::new(transport, &spec.name, base_url, "/chat/completions", &headers)?;
        Ok(Self { endpoint, dialect })
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        self.endpoint.provider()
    }

    async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError> {
        let body = encode::body(request, self.dialect).map_err(|error| {
            let message = error.to_string();
            self.endpoint.error(&request.model, ModelFault::Refused { status: 0, message })
        })?;
        let body = self.endpoint.post(&request.model, body, limits, cancel).await?;
        let parser = decode::Completion::default();
        Ok(read(&self.endpoint, &request.model, body, Framing::Sse, parser))
    }
}

/// What understands its answers, for whoever makes some up.
#[cfg(fuzzing)]
pub(crate) fn parser() -> impl crate::reading::Parser {
    decode::Completion::default()
}
