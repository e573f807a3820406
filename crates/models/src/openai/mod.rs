//! Chat completions as OpenAI defined them and everyone else speaks them: OpenRouter, Google's
//! compatible endpoint, Mistral, vLLM, llama.cpp, LM Studio, Ollama.

mod decode;
mod dialect;
mod encode;
#[cfg(test)]
mod encode_tests;
mod images;
mod messages;
mod sound;

pub(crate) use encode::Tools;

use crate::embedding::{EmbedFormat, EmbedRequest, Embedded, embed};
use crate::endpoint::{Endpoint, SpecError};
use crate::error::ModelError;
use crate::learnt::Learnt;
use crate::options::{ModelOptions, PerModel};
use crate::picture::{Picture, PictureRequest};
use crate::provider::{AnswerStream, Provider};
use crate::put::put;
use crate::reading::{Framing, read};
use crate::request::Request;
use crate::sound::{HearRequest, Heard, SpeakRequest};
use crate::spec::ProviderSpec;
use crate::text_calls::{Listening, SeenThinking};
use crate::told::{self, Further, Teller, Told};
use crate::window::Abilities;
use async_trait::async_trait;
use bytes::Bytes;
use dialect::Dialect;
use insula_wire::{Timeouts, Transport};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where providers are that need no `base_url`.
const WELL_KNOWN: [(&str, &str); 3] = [
    ("openai", "https://api.openai.com/v1"),
    ("openrouter", "https://openrouter.ai/api/v1"),
    ("google", "https://generativelanguage.googleapis.com/v1beta/openai"),
];
/// What begins the signature of a thought that is Google's mark on a call: the call's place in
/// its answer and the mark follow.
pub(crate) const SIGNED_BY_GOOGLE: &str = "google:";

/// A provider that speaks chat completions.
pub struct OpenAi {
    key_name: Option<Arc<str>>,
    dialect: Dialect,
    models: PerModel<Model>,
    teller: Teller,
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

impl OpenAi {
    /// The provider that `spec` describes.
    pub fn new(transport: &Transport, spec: &ProviderSpec) -> Result<Self, SpecError> {
        let known = WELL_KNOWN.iter().find(|(name, _)| *name == &*spec.name);
        let base_url = spec
            .base_url
            .as_deref()
            .or(known.map(|(_, base_url)| *base_url))
            .ok_or_else(|| SpecError::NoBaseUrl { provider: spec.name.to_string() })?;
        if spec.api_key.is_none() && spec.base_url.is_none() {
            return Err(SpecError::NoKey { provider: spec.name.to_string() });
        }
        let mut headers = vec![];
        if let Some(key) = &spec.api_key {
            let bearer = SecretString::from(format!("Bearer {}", key.expose_secret()));
            headers.push(("authorization".to_owned(), bearer));
        }
        headers.extend(spec.headers.iter().cloned());
        let models = PerModel::try_new(&spec.options, &spec.models, |options| {
            let headers: Vec<_> = headers.iter().chain(&options.headers).cloned().collect();
            let path = "/chat/completions";
            let endpoint = Endpoint::new(transport, &spec.name, base_url, path, &headers)?;
            Ok(Model { endpoint, options })
        })?;
        let (teller, learnt) = (Teller::default(), Learnt::default());
        let seen = SeenThinking::default();
        let (dialect, key_name) = (Dialect::at(base_url), spec.key_name.clone());
        Ok(Self { key_name, dialect, models, teller, learnt, seen })
    }

    /// What the server tells of a model, if it does.
    async fn told(&self, endpoint: &Endpoint, model: &str) -> Option<Told> {
        let list = endpoint.ask("/models").await?;
        let (told, further) = told::from_models(&list, model)?;
        let more = match further {
            Some(Further::Props) => {
                endpoint.ask_root("/props").await.and_then(|it| told::from_props(&it))
            }
            Some(Further::Listed) => {
                let list = endpoint.ask_root("/api/v0/models").await;
                list.and_then(|it| told::from_lm_studio(&it, model))
            }
            None => None,
        };
        let more = more.unwrap_or_default();
        Some(Told { window: more.window.or(told.window), sees_images: more.sees_images })
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        self.models.of("").endpoint.provider()
    }

    fn key_name(&self) -> Option<&Arc<str>> {
        self.key_name.as_ref()
    }

    async fn abilities(&self, model: &str, asker: &str) -> Abilities {
        let Model { endpoint, options } = self.models.of(model);
        let told = match self.dialect.tells() && options.context_window.is_none() {
            true => self.teller.of(model, endpoint.clock(), self.told(endpoint, model)).await,
            false => Told::default(),
        };
        let known = options.abilities(model, told);
        self.learnt.corrected((asker, model), known, options.context_window)
    }

    fn parallel_calls(&self, model: &str) -> Option<bool> {
        self.models.of(model).options.parallel_calls
    }

    async fn probe(&self) -> Result<Option<usize>, ModelError> {
        let endpoint = &self.models.of("").endpoint;
        let counted = endpoint.count("/models", "data").await;
        counted.map_err(|fault| endpoint.error(&"".into(), fault))
    }

    async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError> {
        let Model { endpoint, options } = self.models.of(&request.model);
        let abilities = self.abilities(&request.model, &request.asker).await;
        let answer_tokens = self.dialect.answer_tokens(&request.model, abilities.window);
        let listening = Listening::to(endpoint.host(), options.tool_calls, options.constrained);
        let (shown, asked) = (request, listening.asked(request));
        let answer_tokens = asked.answer_tokens(answer_tokens, abilities.window);
        let request = options.applied(&asked, Some(answer_tokens));
        let limits = options.timeouts.over(limits);
        let first = self.dialect.manner(&abilities, options);
        let encode = |manner: &_| encode::body(&request, self.dialect, manner, options);
        let (body, adjusted, asked_as) =
            put(endpoint, &request, first, (&limits, &self.learnt), cancel, encode).await?;
        let parser = decode::Completion::default();
        let stream = read(endpoint, &request.model, body, Framing::Sse, parser);
        Ok(listening.to_answer(stream.adjusted(adjusted), shown, &self.seen).asked_as(asked_as))
    }

    async fn picture(
        &self,
        request: &PictureRequest,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Picture, ModelError> {
        let Model { endpoint, options } = self.models.of(&request.model);
        images::picture(endpoint, request, &options.timeouts.over(limits), cancel).await
    }

    async fn hear(
        &self,
        request: &HearRequest,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Heard, ModelError> {
        let Model { endpoint, options } = self.models.of(&request.model);
        sound::hear(endpoint, request, &options.timeouts.over(limits), cancel).await
    }

    async fn speak(
        &self,
        request: &SpeakRequest,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Bytes, ModelError> {
        let Model { endpoint, options } = self.models.of(&request.model);
        sound::speak(endpoint, request, &options.timeouts.over(limits), cancel).await
    }

    async fn embed(
        &self,
        request: &EmbedRequest,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Embedded, ModelError> {
        let Model { endpoint, .. } = self.models.of(&request.model);
        embed(endpoint, EmbedFormat::OpenAi, request, limits, cancel).await
    }

    fn encode(
        &self,
        request: &Request,
        refused: &[String],
    ) -> Result<Option<Vec<u8>>, serde_json::Error> {
        let Model { endpoint, options } = self.models.of(&request.model);
        let listening = Listening::to(endpoint.host(), options.tool_calls, options.constrained);
        let asked = listening.asked(request);
        let abilities = options.abilities(&request.model, Told::default());
        let request = options.applied(&asked, None);
        let first = self.dialect.manner(&abilities, options);
        let manner = first.after_all(refused, &request);
        manner.map(|it| encode::body(&request, self.dialect, &it, options)).transpose()
    }
}

/// What understands its answers, for whoever makes some up.
#[cfg(fuzzing)]
pub(crate) fn parser() -> impl crate::reading::Parser {
    decode::Completion::default()
}
