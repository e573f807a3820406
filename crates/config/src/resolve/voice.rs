//! Who hears and who speaks for an agent, out of its settings.

use super::Reader;
use crate::budget::micros;
use crate::images::speaks;
use crate::voice::{HearConfig, SpeakConfig, VoiceBackend, VoiceConfig, VoiceReply};
use crate::web::is_in_the_clear;
use std::time::Duration;

/// The longest memo that is written down, unless configured.
const LONGEST_MS: u64 = 10 * 60_000;
/// How long somebody is waited for who writes down or speaks, unless configured.
const TIMEOUT_MS: u64 = 2 * 60_000;
/// The longest answer that is said, unless configured: the least that well-known providers take.
const LONGEST_CHARS: u32 = 4_000;
/// What is asked for, unless configured: what platforms show as a voice memo.
const FORMAT: &str = "opus";

impl Reader<'_> {
    /// Who was named. What can't be asked is an error; what nobody does, a warning.
    pub(super) fn voice(&mut self) -> VoiceConfig {
        let duration = |millis| Duration::from_millis(millis);
        let hear = self.voice_backend("hear").map(|by| HearConfig {
            by,
            language: self.text("voice.hear.language").map(Into::into),
            price_micros: self.at("voice.hear.price").and_then(micros),
            longest: duration(self.millis("voice.hear.longest", LONGEST_MS)),
            timeout: duration(self.millis("voice.hear.timeout", TIMEOUT_MS)),
        });
        let speak = self.voice_backend("speak").map(|by| SpeakConfig {
            by,
            voice: self.text("voice.speak.voice").map(Into::into),
            format: self.text("voice.speak.format").unwrap_or(FORMAT).into(),
            price_micros: self.at("voice.speak.price").and_then(micros),
            longest_chars: self.number("voice.speak.longest", LONGEST_CHARS),
            timeout: duration(self.millis("voice.speak.timeout", TIMEOUT_MS)),
        });
        let reply = match self.text("voice.reply") {
            Some("same") => VoiceReply::Same,
            Some("always") => VoiceReply::Always,
            _ => VoiceReply::Never,
        };
        self.warn_of_idle_voice((&hear, &speak), reply);
        VoiceConfig { hear, speak, reply }
    }

    /// Whoever does one of the two: a model or a program, and never both.
    fn voice_backend(&mut self, what: &str) -> Option<VoiceBackend> {
        let node = self.at(&format!("voice.{what}"))?;
        let (model, command) = (node.get("model"), node.get("command"));
        if model.is_some() == command.is_some() {
            let message = format!(
                "`voice.{what}` of agent `{}` names {}",
                self.id,
                if model.is_some() { "a model and a program" } else { "nobody" }
            );
            let help = "set one of `model` and `command`".to_owned();
            if !self.has_error_within(node.span) {
                self.error(node.span, message, Some(help));
            }
            return None;
        }
        if let Some(command) = command {
            let text = command.text()?;
            if what == "hear" && !text.contains("{file}") {
                let message = format!(
                    "the program that hears for agent `{}` is not told where the memo is",
                    self.id
                );
                let help = "write `{file}` where its command takes a file".to_owned();
                self.error(command.span, message, Some(help));
                return None;
            }
            return Some(VoiceBackend::Command(text.into()));
        }
        let node = model?;
        let model = self.model(node)?;
        if let Err(why) = speaks(&self.providers, &model) {
            let why = if why == "it has no pictures" { "it has no sound".to_owned() } else { why };
            let message = format!(
                "agent `{}` can't have provider `{}` {what}: {why}",
                self.id, model.provider
            );
            let help = "name a model of a provider of kind `openai`".to_owned();
            self.error(node.span, message, Some(help));
            return None;
        }
        let base_url = self.providers.configured.get(&model.provider);
        let base_url = base_url.and_then(|it| it.base_url.as_deref()).unwrap_or_default();
        let key = self.at(&format!("voice.{what}.api_key"));
        if let Some(key) = key.filter(|_| is_in_the_clear(base_url)) {
            let message =
                format!("the key for the voice of agent `{}` would go over plain http", self.id);
            self.conceal_error(key.span, message, "use https, or a server on this machine");
        }
        let api_key = key.and_then(|key| key.text()).map(Into::into);
        Some(VoiceBackend::Model { model, api_key })
    }

    /// What was asked for and nobody does.
    fn warn_of_idle_voice(
        &mut self,
        (hear, speak): (&Option<HearConfig>, &Option<SpeakConfig>),
        reply: VoiceReply,
    ) {
        let Some(node) = self.at("voice").filter(|it| !self.has_error_within(it.span)) else {
            return;
        };
        let nobody = |what: &str| format!("agent `{}` {what}", self.id);
        let (message, help) = match (hear, speak, reply) {
            (_, None, VoiceReply::Same | VoiceReply::Always) => (
                nobody("is to answer by voice, and nobody is named who speaks"),
                "name a model or a program under `voice.speak`; docs/voice.md has recipes",
            ),
            (_, Some(_), VoiceReply::Never) => (
                nobody("has somebody who speaks, and never answers by voice"),
                "set `voice.reply: same` or `always`",
            ),
            (None, None, VoiceReply::Never) => (
                nobody("has `voice` without anybody who hears or speaks"),
                "name a model or a program under `voice.hear`; docs/voice.md has recipes",
            ),
            _ => return,
        };
        self.warn(node.span, message, Some(help.to_owned()));
    }
}
