//! Answering by voice: the words of a reply as sound, made before the reply is journalled and kept
//! with it, so that both leave together. Where it can't be had the words are all there is.

use crate::budget::{BudgetError, Payer, SoundCost};
use crate::turn::Turn;
use crate::voice::{by, is_spoken, own_key, own_name};
use insula_capabilities::voice::VoiceOf;
use insula_config::model::ModelRef;
use insula_config::voice::{SpeakConfig, VoiceBackend, VoiceReply};
use insula_domain::Platform;
use insula_domain::sound::SoundKind;
use insula_models::{Link, SpeakRequest, Timeouts};
use insula_store::{AgentCommand, Message, NewStep, Part, Role};
use serde_json::json;

/// What speech is called that goes along with a reply.
const NAME: &str = "voice";
/// Where somebody hears what is said.
const DEAF: [Platform; 6] =
    [Platform::API, Platform::CLI, Platform::CRON, Platform::BOARD, Platform::LINK, Platform::WEB];
/// Characters of a token of speech, by rule of thumb.
const CHARS_PER_TOKEN: u64 = 4;

impl Turn<'_> {
    /// The words of a reply as sound, where its agent answers by voice.
    pub(super) async fn aloud(&self, reply: &str, history: &[Message]) -> Option<Part> {
        let cx = self.cx;
        let voice = &cx.agent.voice;
        let speak = voice.speak.as_ref()?;
        let is_own = |it: &&Message| it.turn == Some(cx.turn) && it.role == Role::User;
        let is_wanted = match voice.reply {
            VoiceReply::Never => false,
            VoiceReply::Always => true,
            VoiceReply::Same => history.iter().filter(is_own).any(|it| is_spoken(&it.parts)),
        };
        if !is_wanted || cx.kin.origin.is_some() || DEAF.contains(&cx.key.platform) {
            return None;
        }
        let words = sayable(&self.redaction().told(reply.to_owned()));
        let is_long = words.chars().count() > speak.longest_chars as usize;
        if words.is_empty() || is_long {
            return None;
        }
        let made = tokio::select! {
            made = self.said_by(speak, words) => made,
            () = self.shop.world.clock.sleep(speak.timeout) => Err("it took too long".to_owned()),
            () = cx.live.cancel.cancelled() => return None,
        };
        let kept = match made {
            Ok(sound) => self.keep_speech(&sound).await,
            Err(why) => Err(why),
        };
        if let Err(why) = &kept {
            tracing::warn!(agent = %cx.agent.id, turn = %cx.turn, why, "a reply is not said, only written");
        }
        self.note_said(speak, kept.as_ref().ok()).await;
        kept.ok()
    }

    async fn said_by(&self, speak: &SpeakConfig, words: String) -> Result<Vec<u8>, String> {
        let cx = self.cx;
        match &speak.by {
            VoiceBackend::Command(command) => {
                let (agent, principal) = (&*cx.agent, &cx.principal);
                let (session, files) = (cx.session, &cx.files);
                let of = VoiceOf { agent, principal, session, files };
                self.shop.caps.speak_by_program(of, (command, speak.timeout), words).await
            }
            VoiceBackend::Model { model, api_key } => {
                let now = self.holds_now().await?;
                let holds = now.as_deref().unwrap_or(&cx.agent);
                let (link, _) = self.shop.maker(holds, model)?;
                let request = SpeakRequest {
                    model: model.name.clone(),
                    text: words,
                    voice: speak.voice.clone(),
                    format: speak.format.clone(),
                    key: own_key(&cx.agent, api_key.as_deref()).await?,
                };
                self.said_by_model(speak, (model, &link), request).await
            }
        }
    }

    /// Asks a provider, and pays.
    async fn said_by_model(
        &self,
        speak: &SpeakConfig,
        (model, link): (&ModelRef, &Link),
        request: SpeakRequest,
    ) -> Result<Vec<u8>, String> {
        let cx = self.cx;
        let (principal, budget, ways) = (&cx.principal, self.budget(), self.ways());
        let payer = Payer { agent: &cx.agent, principal, scope: &cx.scope, budget, ways: &ways };
        let chars = request.text.chars().count() as u64;
        let cost = SoundCost {
            micros: speak.price_micros.map(|price| price.saturating_mul(chars).div_ceil(1_000)),
            input: chars.div_ceil(CHARS_PER_TOKEN),
            output: 0,
        };
        let reserved = self.shop.budgets.reserve_sound(payer, model, cost).await;
        let reserved = reserved.map_err(|error| match error {
            BudgetError::NoPrice { .. } => {
                "nobody knows what it costs; the operator sets `voice.speak.price`".to_owned()
            }
            other => other.to_string(),
        })?;
        let limits = Timeouts::default();
        let sound = link.provider.speak(&request, &limits, &cx.live.cancel).await;
        let sound = sound.map_err(|error| error.without_words().to_string())?;
        let usage = reserved.settle_sound(model, cost);
        let own = request.key.as_ref().map(|key| own_name(model, key));
        self.bills.note_paid(link, own.as_ref().or(link.provider.key_name()), usage);
        let at = self.shop.world.clock.now();
        let spent = self.commit(vec![self.step(NewStep::Spent { usage, at })]).await;
        match spent {
            Ok(_) => Ok(sound.to_vec()),
            Err(_) => Err("what it took could not be written down".to_owned()),
        }
    }

    /// Keeps speech with the conversation, by what it is and not by what was asked for.
    async fn keep_speech(&self, sound: &[u8]) -> Result<Part, String> {
        let kind = SoundKind::of(sound).ok_or("what came is no sound that is known here")?;
        let kept = self.cx.files.keep_attachment(sound.to_vec(), kind.ending()).await;
        let (_, hash) = kept.map_err(|error| error.to_string())?;
        Ok(Part::Attachment {
            hash,
            name: format!("{NAME}.{}", kind.ending()).into(),
            media_type: kind.media_type().into(),
            bytes: sound.len() as u64,
        })
    }

    /// The record: who spoke, and how that went; never what was said.
    async fn note_said(&self, speak: &SpeakConfig, made: Option<&Part>) {
        let cx = self.cx;
        let bytes = match made {
            Some(Part::Attachment { bytes, .. }) => Some(bytes),
            _ => None,
        };
        let content = json!({
            "by": by(&speak.by),
            "bytes": bytes,
            "turn": cx.turn.0,
            "session": cx.session.0,
            "verdict": if made.is_some() { "said" } else { "failed" },
        });
        let trail = &self.shop.trail;
        let record = trail.record(&cx.agent, cx.about(), &cx.principal, "voice.said", content);
        if self.commit(vec![AgentCommand::Audit(record)]).await.is_err() {
            tracing::error!(agent = %cx.agent.id, turn = %cx.turn, "a reply that was said could not be recorded");
        }
    }
}

/// What can be said of a reply: its words, without what only looks. Blocks of code and addresses
/// are for the eye.
fn sayable(markdown: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in markdown.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if !is_code {
            lines.push(plain_line(bare));
        }
    }
    let text = lines.join("\n");
    let paragraphs = text.split("\n\n").map(str::trim).filter(|it| !it.is_empty());
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// A line without its marks.
fn plain_line(line: &str) -> String {
    let line = line.trim_start_matches(['#', '>', ' ']);
    let line = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['[', '`', '*', '_']) {
        out.push_str(&rest[..at]);
        let after = &rest[at..];
        // `[what it says](where it leads)`: what it says.
        let link = after.strip_prefix('[').and_then(|inner| {
            let (said, further) = inner.split_once("](")?;
            let (_, behind) = further.split_once(')')?;
            (!said.contains('[')).then_some((said, behind))
        });
        match link {
            Some((said, behind)) => {
                out.push_str(said.trim_matches(['*', '_', '`']));
                rest = behind;
            }
            None => {
                let is_inside = after.starts_with('_')
                    && out.ends_with(char::is_alphanumeric)
                    && after[1..].starts_with(char::is_alphanumeric);
                let is_mark = !after.starts_with('[') && !is_inside;
                if !is_mark {
                    out.push_str(&after[..1]);
                }
                rest = &after[1..];
            }
        }
    }
    out.push_str(rest);
    let is_address = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    out.split(' ').filter(|word| !is_address(word)).collect::<Vec<_>>().join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_only_looks_is_not_said() {
        for (written, said) in [
            ("plain words", "plain words"),
            ("# Title\n\nSome **bold** and _soft_ `code`.", "Title\n\nSome bold and soft code."),
            ("- one\n- two", "one\ntwo"),
            ("see [the page](https://x.org/a_b) now", "see the page now"),
            ("see https://x.org/a now", "see now"),
            ("```rust\nfn main() {}\n```\nthat is it", "that is it"),
            ("a snake_case name, 2 * 3 [x]", "a snake_case name, 2  3 [x]"),
            ("```\nall code", ""),
            ("> quoted", "quoted"),
        ] {
            assert_eq!(sayable(written), said, "{written}");
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_it_and_nothing_grows(text in "(.|\n|[\\[\\]()*_`#>~-]|http://){0,80}") {
            prop_assert!(sayable(&text).len() <= text.len());
        }
    }
}
