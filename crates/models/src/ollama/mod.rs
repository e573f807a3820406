//! Ollama's own API, which knows more of its models than its OpenAI-compatible one.

mod decode;
mod encode;

use crate::embedding::{EmbedFormat, EmbedRequest, Embedded, embed};
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
use crate::told::{self, Teller, Told};
use crate::window::Abilities;
use async_trait::async_trait;
use insula_wire::{Timeouts, Transport};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where Ollama listens unless told otherwise.
pub(crate) const BASE_URL: &str = "http://127.0.0.1:11434";
/// The window that is asked for where the operator does not say: Ollama's own is so small that
/// the beginning of a prompt falls out of it unsaid, and all that a model could take may be more
/// than the machine has memory for.
const WINDOW_MAX: u32 = 16_384;
/// Tokens of an answer where nobody says.
const ANSWER_TOKENS: u32 = 8_192;

/// A provider that speaks Ollama's API.
pub struct Ollama {
    key_name: Option<Arc<str>>,
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
        let models = PerModel::try_new(&spec.options, &spec.models, |options| {
            let headers: Vec<_> = headers.iter().chain(&options.headers).cloned().collect();
            let endpoint = Endpoint::new(transport, &spec.name, base_url, "/api/chat", &headers)?;
            Ok(Model { endpoint, options })
        })?;
        let (teller, learnt) = (Teller::default(), Learnt::default());
        let seen = SeenThinking::default();
        Ok(Self { key_name: spec.key_name.clone(), models, teller, learnt, seen })
    }
}

/// How a question is put to a model that can do this.
fn manner(abilities: Abilities, options: &ModelOptions) -> Manner {
    let pictures = match abilities.sees_images {
        // It fetches none.
        true => Pictures::Shown(Taken::InPlace),
        false => Pictures::InWords,
    };
    let calls = match options.parallel_calls {
        Some(false) => Calls::Single,
        _ => Calls::Together,
    };
    let fit = Fit {
        pictures,
        tool_pictures: ToolPictures::Inside,
        calls,
        turns: Turns::Free,
        ids: Ids::Kept,
        system: System::Apart,
    };
    Manner::new(fit, LengthName::MaxTokens)
}

#[async_trait]
impl Provider for Ollama {
    fn name(&self) -> &str {
        self.models.of("").endpoint.provider()
    }

    fn key_name(&self) -> Option<&Arc<str>> {
        self.key_name.as_ref()
    }

    async fn abilities(&self, model: &str, asker: &str) -> Abilities {
        let Model { endpoint, options } = self.models.of(model);
        let ask = async {
            let body = serde_json::json!({ "model": model }).to_string();
            let shown = endpoint.ask_with("/api/show", body.into_bytes()).await?;
            told::from_show(&shown)
        };
        let told = match options.context_window {
            None => self.teller.of(model, endpoint.clock(), ask).await,
            Some(_) => Told::default(),
        };
        let known = options.abilities(model, told);
        let mut abilities = self.learnt.corrected((asker, model), known, options.context_window);
        if options.context_window.is_none() {
            abilities.window = abilities.window.min(WINDOW_MAX);
        }
        abilities
    }

    fn parallel_calls(&self, model: &str) -> Option<bool> {
        self.models.of(model).options.parallel_calls
    }

    async fn probe(&self) -> Result<Option<usize>, ModelError> {
        let endpoint = &self.models.of("").endpoint;
        let counted = endpoint.count("/api/tags", "models").await;
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
        let listening = Listening::to(endpoint.host(), options.tool_calls, options.constrained);
        let (shown, asked) = (request, listening.asked(request));
        let usual = ANSWER_TOKENS.min(abilities.window / 4);
        let answer_tokens = asked.answer_tokens(usual, abilities.window);
        let request = options.applied(&asked, Some(answer_tokens));
        let limits = options.timeouts.over(limits);
        let first = manner(abilities, options);
        let encode = |manner: &_| encode::body(&request, manner, options, Some(abilities.window));
        let (body, adjusted, asked_as) =
            put(endpoint, &request, first, (&limits, &self.learnt), cancel, encode).await?;
        let parser = decode::Chat::default();
        let stream = read(endpoint, &request.model, body, Framing::JsonLines, parser);
        Ok(listening.to_answer(stream.adjusted(adjusted), shown, &self.seen).asked_as(asked_as))
    }

    async fn embed(
        &self,
        request: &EmbedRequest,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<Embedded, ModelError> {
        let Model { endpoint, .. } = self.models.of(&request.model);
        embed(endpoint, EmbedFormat::Ollama, request, limits, cancel).await
    }

    fn encode(
        &self,
        request: &Request,
        refused: &[String],
    ) -> Result<Option<Vec<u8>>, serde_json::Error> {
        let Model { endpoint, options } = self.models.of(&request.model);
        let listening = Listening::to(endpoint.host(), options.tool_calls, options.constrained);
        let asked = listening.asked(request);
        let first = manner(options.abilities(&request.model, Told::default()), options);
        let request = options.applied(&asked, None);
        let (manner, window) = (first.after_all(refused, &request), options.context_window);
        manner.map(|it| encode::body(&request, &it, options, window)).transpose()
    }
}

/// What understands its answers, for whoever makes some up.
#[cfg(fuzzing)]
pub(crate) fn parser() -> impl crate::reading::Parser {
    decode::Chat::default()
}
