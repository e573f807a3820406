//! Hearing what people say to an agent by voice, before its turn: by a model or a program that its
//! operator named, paid from the agent's budgets and written down in its records.

use crate::Engine;
use crate::budget::{BudgetError, Payer, SoundCost};
use crate::submit::Inbound;
use bytes::Bytes;
use insula_capabilities::voice::VoiceOf;
use insula_config::model::ModelRef;
use insula_config::voice::{HearConfig, VoiceBackend};
use insula_domain::marks::note;
use insula_domain::sound::{self, SoundKind};
use insula_models::{
    ExposeSecret as _, HearRequest, Link, RECORDING_BYTES_MAX, SecretString, Timeouts,
};
use insula_registry::context::AgentContext;
use insula_registry::key_name::{KeyName, KeySource};
use insula_store::{About, AgentCommand, Part, SessionId, UsedAside};
use insula_tools::Files;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How what was said by voice begins, in a message: nobody else writes these marks.
const SPOKEN: &str = "said by voice";
/// Bytes of a second of the leanest recording, where nothing says how long it is.
const BYTES_PER_SECOND: u64 = 1_000;
/// Tokens of a second of sound, where nobody counts them: what well-known providers take.
const TOKENS_PER_SECOND: u64 = 10;
/// Longest words that are taken down, in bytes. Half an hour of fast speech fits.
const WORDS_BYTES_MAX: usize = 64 * 1024;

/// A note about something said by voice.
pub fn spoken_note(rest: &str) -> String {
    note(&format!("{SPOKEN}{rest}"))
}

/// Whether a message was said by voice, whatever became of that.
pub(crate) fn is_spoken(parts: &[Part]) -> bool {
    let begins = format!("{}{SPOKEN}", insula_domain::marks::OPEN);
    parts.iter().any(|part| matches!(part, Part::Beside(text) if text.starts_with(&begins)))
}

/// A recording that somebody sent.
pub struct Memo<'m> {
    /// The message it came with, as far as it is known.
    pub inbound: &'m Inbound,
    pub session: SessionId,
    pub files: &'m Files,
    pub content: Bytes,
    /// What its platform says it is.
    pub media_type: &'m str,
}

/// Why a recording was not heard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotHeard {
    #[error("nobody is named who hears it")]
    Nobody,
    #[error("it is longer than is heard here")]
    TooLong,
    #[error("there were no words in it")]
    NoWords,
    /// What stands against it, in our words.
    #[error("it could not be heard: {0}")]
    Failed(String),
}

impl Engine {
    /// What a recording says. Nothing that a provider or a program says besides is in an error.
    pub async fn hear(&self, memo: Memo<'_>) -> Result<String, NotHeard> {
        let agent = memo.inbound.agent.clone();
        let hear = agent.voice.hear.as_ref().ok_or(NotHeard::Nobody)?;
        let length = sound::length(&memo.content);
        let is_long = length.is_some_and(|length| length > hear.longest);
        if is_long || memo.content.len() > RECORDING_BYTES_MAX {
            return Err(NotHeard::TooLong);
        }
        let heard = tokio::select! {
            heard = self.heard_by(hear, &memo, length) => heard,
            () = self.shop.world.clock.sleep(hear.timeout) => {
                Err(NotHeard::Failed("it took too long".to_owned()))
            }
        };
        if let Err(NotHeard::Failed(why)) = &heard {
            tracing::warn!(agent = %agent.id, why, "a voice memo could not be heard");
        }
        self.note_heard(hear, &memo, (length, &heard)).await;
        let words = heard?;
        let end = words.floor_char_boundary(WORDS_BYTES_MAX);
        match words[..end].trim() {
            "" => Err(NotHeard::NoWords),
            words => Ok(words.to_owned()),
        }
    }

    async fn heard_by(
        &self,
        hear: &HearConfig,
        memo: &Memo<'_>,
        length: Option<Duration>,
    ) -> Result<String, NotHeard> {
        let Inbound { agent, principal, .. } = memo.inbound;
        let kind = SoundKind::of(&memo.content);
        let kind = kind.or_else(|| SoundKind::from_media_type(memo.media_type));
        let ending = kind.map_or("ogg", SoundKind::ending);
        match &hear.by {
            VoiceBackend::Command(command) => {
                let of = VoiceOf { agent, principal, session: memo.session, files: memo.files };
                let recording = (memo.content.to_vec(), ending);
                let heard = self.shop.caps.hear_by_program(of, (command, hear.timeout), recording);
                heard.await.map_err(|why| {
                    // What a program complains about is for whoever runs it.
                    tracing::warn!(agent = %agent.id, why, "the program that hears failed");
                    NotHeard::Failed("the program that hears failed".to_owned())
                })
            }
            VoiceBackend::Model { model, api_key } => {
                let (link, _) = self.shop.maker(agent, model).map_err(|why| {
                    tracing::warn!(agent = %agent.id, why, "nobody can be asked who hears");
                    NotHeard::Failed("who hears can't be asked".to_owned())
                })?;
                let key = own_key(agent, api_key.as_deref()).await.map_err(|why| {
                    tracing::warn!(agent = %agent.id, why, "`voice.hear.api_key`");
                    NotHeard::Failed("the key of who hears is missing".to_owned())
                })?;
                let media_type = kind.map_or(memo.media_type, |kind| kind.media_type());
                let request = HearRequest {
                    model: model.name.clone(),
                    name: format!("voice.{ending}").into(),
                    media_type: media_type.into(),
                    content: memo.content.clone(),
                    language: hear.language.clone(),
                    key,
                };
                self.heard_by_model(hear, (model, &link), memo, (request, length)).await
            }
        }
    }

    async fn heard_by_model(
        &self,
        hear: &HearConfig,
        (model, link): (&ModelRef, &Link),
        memo: &Memo<'_>,
        (request, length): (HearRequest, Option<Duration>),
    ) -> Result<String, NotHeard> {
        let Inbound { agent, principal, scope: from, session, .. } = memo.inbound;
        let scope = self.scope(agent, from, session).await;
        let (budget, ways) = (agent.boundary.budget, from.ways(&self.shop.access, &agent.id));
        let payer = Payer { agent, principal, scope: &scope, budget, ways: &ways };
        let guess = Duration::from_secs(memo.content.len() as u64 / BYTES_PER_SECOND + 1);
        let cost = cost_of_hearing(hear, length.unwrap_or(guess));
        let reserved = self.shop.budgets.reserve_sound(payer, model, cost).await;
        let reserved = reserved.map_err(|error| unpaid(&error, "voice.hear.price"))?;
        let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
        let heard = link.provider.hear(&request, &limits, &cancel).await;
        let heard = heard.map_err(|error| {
            let error = error.without_words();
            tracing::warn!(agent = %agent.id, %error, "a provider did not hear a voice memo");
            NotHeard::Failed(error.to_string())
        })?;
        let told = heard.length.map_or(cost, |length| cost_of_hearing(hear, length));
        let told = match heard.usage {
            Some(usage) => SoundCost { input: usage.input, output: usage.output, ..told },
            None => told,
        };
        let usage = reserved.settle_sound(model, told);
        let key = request.key.as_ref().map(|key| own_name(model, key));
        let key = key.or_else(|| link.provider.key_name().cloned());
        let at = self.shop.world.clock.now();
        let aside = UsedAside {
            principal: principal.clone(),
            scope,
            ways: ways.iter().map(|way| way.name.clone()).collect(),
            usage,
            at,
        };
        let model = link.to_string().into();
        let batch = vec![
            AgentCommand::CountAside(Box::new(aside)),
            AgentCommand::CountCall { model, key, usage, at },
        ];
        let batch = if usage.is_zero() { Vec::new() } else { batch };
        let counted = agent.store.commit(batch).await;
        counted.map_err(|error| NotHeard::Failed(error.to_string()))?;
        Ok(heard.text)
    }

    /// The record: who heard what, and how that went; never what was said.
    async fn note_heard(
        &self,
        hear: &HearConfig,
        memo: &Memo<'_>,
        (length, heard): (Option<Duration>, &Result<String, NotHeard>),
    ) {
        let Inbound { agent, principal, .. } = memo.inbound;
        let content = json!({
            "by": by(&hear.by),
            "bytes": memo.content.len(),
            "seconds": length.map(|length| length.as_secs()),
            "session": memo.session.0,
            "verdict": if heard.is_ok() { "heard" } else { "failed" },
        });
        let about = About::Session(memo.session);
        let record = self.shop.trail.record(agent, about, principal, "voice.heard", content);
        if let Err(error) = agent.store.commit(vec![AgentCommand::Audit(record)]).await {
            tracing::error!(agent = %agent.id, %error, "a voice memo that was heard could not be recorded");
        }
    }
}

/// Who was asked, as records name it.
pub(crate) fn by(backend: &VoiceBackend) -> String {
    match backend {
        VoiceBackend::Model { model, .. } => model.to_string(),
        VoiceBackend::Command(_) => "program".to_owned(),
    }
}

/// The agent's own key, where it has one.
pub(crate) async fn own_key(
    agent: &AgentContext,
    key: Option<&str>,
) -> Result<Option<SecretString>, String> {
    let Some(key) = key else { return Ok(None) };
    let key = agent.secrets.resolve(key).await.map_err(|error| error.to_string())?;
    Ok(Some(SecretString::from(key.reveal().trim().to_owned())))
}

/// What an agent's own key is called where usage is counted by key.
pub(crate) fn own_name(model: &ModelRef, key: &SecretString) -> Arc<str> {
    let value = Some(key.expose_secret());
    KeyName::new(&model.provider, KeySource::Own, value).to_string().into()
}

fn cost_of_hearing(hear: &HearConfig, length: Duration) -> SoundCost {
    let millis = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let micros = hear.price_micros.map(|price| price.saturating_mul(millis).div_ceil(60_000));
    let input = length.as_secs().saturating_add(1).saturating_mul(TOKENS_PER_SECOND);
    SoundCost { micros, input, output: 0 }
}

fn unpaid(error: &BudgetError, price: &str) -> NotHeard {
    NotHeard::Failed(match error {
        BudgetError::Refused(refusal) => refusal.to_people(),
        BudgetError::NoPrice { .. } => {
            format!("nobody knows what it costs; the operator sets `{price}`")
        }
        BudgetError::Store(error) => error.to_string(),
    })
}
