//! Anthropic's Messages API.

mod decode;
mod encode;
#[cfg(test)]
mod encode_tests;

use crate::endpoint::{Endpoint, SpecError};
use crate::error::ModelError;
use crate::fit::{Calls, Fit, Ids, Pictures, System, Taken, ToolPictures, Turns};
use crate::learnt::Learnt;
use crate::manner::{LengthName, Manner};
use crate::options::{ModelOptions, PerModel};
use crate::provider::{AnswerStream, Provider};
use crate::put::put;
use crate::reading::{Framing, read};
use crate::request::Request;
use crate::spec::ProviderSpec;
use crate::text_calls::{Listening, SeenThinking};
use crate::told::Told;
use crate::window::Abilities;
use async_trait::async_trait;
use insula_wire::{Timeouts, Transport};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const BASE_URL: &str = "https://api.anthropic.com";
/// The version of the API this file speaks.
const VERSION: &str = "2023-06-01";
/// Marks the signature of reasoning that the provider sent encrypted as a whole.
const REDACTED: &str = "redacted:";
/// A provider that speaks the Messages API.
pub struct Anthropic {
    key_name: Option<Arc<str>>,
    models: PerModel<Model>,
    /// What its refusals taught.
    learnt: Learnt,
    /// Which of them begin in the middle of a thought.
    seen: SeenThinking,
}

/// What holds for one model.
struct Model {
    endpoint: Endpoint,
    options: ModelOptions,
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
        let models = PerModel::try_new(&spec.options, &spec.models, |options| {
            let headers: Vec<_> = headers.iter().chain(&options.headers).cloned().collect();
            let endpoint =
                Endpoint::new(transport, &spec.name, base_url, "/v1/messages", &headers)?;
            Ok(Model { endpoint, options })
        })?;
        let (key_name, seen) = (spec.key_name.clone(), SeenThinking::default());
        Ok(Self { key_name, models, learnt: Learnt::default(), seen })
    }
}

/// How a question is put to a model that can do this.
fn manner(abilities: Abilities) -> Manner {
    let pictures = match abilities.sees_images {
        true => Pictures::Shown(Taken::Https),
        false => Pictures::InWords,
    };
    // Results are a person's words there, and who follows whom is arranged when it is written.
    let fit = Fit {
        pictures,
        tool_pictures: ToolPictures::Inside,
        calls: Calls::Together,
        turns: Turns::Free,
        ids: Ids::Kept,
        system: System::Apart,
    };
    Manner::new(fit, LengthName::MaxTokens)
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        self.models.of("").endpoint.provider()
    }

    fn key_name(&self) -> Option<&Arc<str>> {
        self.key_name.as_ref()
    }

    async fn abilities(&self, model: &str, asker: &str) -> Abilities {
        let options = &self.models.of(model).options;
        let known = options.abilities(model, Told::default());
        self.learnt.corrected((asker, model), known, options.context_window)
    }

    fn parallel_calls(&self, model: &str) -> Option<bool> {
        self.models.of(model).options.parallel_calls
    }

    async fn probe(&self) -> Result<Option<usize>, ModelError> {
        let endpoint = &self.models.of("").endpoint;
        let counted = endpoint.count("/v1/models", "data").await;
        counted.map_err(|fault| endpoint.error(&"".into(), fault))
    }

    async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError> {
        let Model { endpoint, options } = self.models.of(&request.model);
        let first = manner(self.abilities(&request.model, &request.asker).await);
        let listening = Listening::to(endpoint.host(), options.tool_calls, options.constrained);
        let (shown, asked) = (request, listening.asked(request));
        let request = options.applied(&asked, None);
        let limits = options.timeouts.over(limits);
        let encode = |manner: &_| encode::body(&request, manner, options);
        let (body, adjusted, asked_as) =
            put(endpoint, &request, first, (&limits, &self.learnt), cancel, encode).await?;
        let parser = decode::Messages::default();
        let stream = read(endpoint, &request.model, body, Framing::Sse, parser);
        Ok(listening.to_answer(stream.adjusted(adjusted), shown, &self.seen).asked_as(asked_as))
    }

    fn encode(
        &self,
        request: &Request,
        refused: &[String],
    ) -> Result<Option<Vec<u8>>, serde_json::Error> {
        let Model { endpoint, options } = self.models.of(&request.model);
        let listening = Listening::to(endpoint.host(), options.tool_calls, options.constrained);
        let asked = listening.asked(request);
        let first = manner(options.abilities(&request.model, Told::default()));
        let request = options.applied(&asked, None);
        let manner = first.after_all(refused, &request);
        manner.map(|it| encode::body(&request, &it, options)).transpose()
    }
}

/// What understands its answers, for whoever makes some up.
#[cfg(fuzzing)]
pub(crate) fn parser() -> impl crate::reading::Parser {
    decode::Messages::default()
}
