//! Who hears what is said to an agent by voice, and who speaks for it.

use crate::model::ModelRef;
use std::time::Duration;

/// How an agent hears and speaks. Without anybody who does, it is told that somebody spoke.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VoiceConfig {
    pub hear: Option<HearConfig>,
    pub speak: Option<SpeakConfig>,
    pub reply: VoiceReply,
}

/// Who writes down what a memo says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HearConfig {
    pub by: VoiceBackend,
    /// Which language is spoken, where that is known.
    pub language: Option<Box<str>>,
    /// What a minute costs, in millionths of a dollar; else it is counted by tokens.
    pub price_micros: Option<u64>,
    /// The longest memo that is written down.
    pub longest: Duration,
    /// How long it is waited for.
    pub timeout: Duration,
}

/// Who says aloud what an agent answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeakConfig {
    pub by: VoiceBackend,
    /// Whose voice, in the provider's words.
    pub voice: Option<Box<str>>,
    /// What kind of file is asked for, in the provider's words.
    pub format: Box<str>,
    /// What a thousand characters cost, in millionths of a dollar; else it is counted by tokens.
    pub price_micros: Option<u64>,
    /// The longest answer that is said, in characters. Longer ones are only written.
    pub longest_chars: u32,
    /// How long it is waited for.
    pub timeout: Duration,
}

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoiceBackend {
    /// A model of a provider.
    Model {
        model: ModelRef,
        /// The agent's own key, as written: a reference to a secret.
        api_key: Option<Box<str>>,
    },
    /// A program, confined as every program of the agent is.
    Command(Box<str>),
}

impl VoiceBackend {
    /// The model, where it is one.
    pub fn model(&self) -> Option<&ModelRef> {
        match self {
            Self::Model { model, .. } => Some(model),
            Self::Command(_) => None,
        }
    }
}

/// When an agent says aloud what it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VoiceReply {
    #[default]
    Never,
    /// Where it was spoken to.
    Same,
    Always,
}

impl VoiceConfig {
    /// The models that are asked.
    pub fn models(&self) -> impl Iterator<Item = &ModelRef> {
        let hear = self.hear.iter().filter_map(|it| it.by.model());
        hear.chain(self.speak.iter().filter_map(|it| it.by.model()))
    }
}
