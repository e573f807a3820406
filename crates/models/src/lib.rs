//! Models: asking them, in one vocabulary for all providers.
//!
//! A [`Request`] goes to a [`Provider`], and its answer comes back as a stream of [`Event`]s
//! that add up to an [`Answer`]. [`retry`] tries again while nothing was seen yet, and a
//! [`Chain`] falls back to other models. All connections are made by one [`Transport`], over
//! the network and the clock of the world.
//!
//! This crate knows no agents. What a request holds is all that reaches a provider, and what
//! comes back reaches only who asked.

mod answer;
mod anthropic;
mod catalogue;
mod chain;
mod complaint;
mod embedding;
mod endpoint;
mod error;
mod event;
mod fit;
#[cfg(fuzzing)]
pub mod fuzzing;
mod learnt;
mod limits;
mod line_splitter;
pub mod local;
mod manner;
mod ollama;
mod openai;
mod options;
mod per_asker;
mod picture;
pub mod price;
mod provider;
mod put;
mod reading;
mod rehearsal;
mod repetition;
mod request;
pub mod retry;
mod schema;
mod sound;
mod spec;
mod sse;
mod static_model;
mod status;
mod surrogates;
mod taught;
pub mod text_calls;
mod told;
mod window;

pub use answer::{Answer, Gathering};
pub use anthropic::Anthropic;
pub use catalogue::{Providers, UnknownModel};
pub use chain::{Answering, Chain, Link, NoAnswer};
pub use embedding::{EmbedRequest, Embedded, TEXTS_MAX};
pub use endpoint::SpecError;
pub use error::{ModelError, ModelFault};
pub use event::{Event, StopReason, Usage};
pub use fit::UNFINISHED as UNFINISHED_CALL;
pub use insula_wire::{EXCERPT_CHARS_MAX, Phase, Timeouts, TlsError, Transport};
pub use ollama::Ollama;
pub use openai::OpenAi;
pub use options::{ModelOptions, Sampling, TimeoutOptions};
pub use picture::{PICTURE_BYTES_MAX, Picture, PictureRequest, PictureSource};
pub use provider::{Adjusted, AnswerStream, EventSource, More, Provider};
pub use reading::{ANSWER_LEN_MAX, DOCUMENT_LEN_MAX, EVENT_LEN_MAX};
pub use rehearsal::Rehearsal;
pub use request::{
    AnswerFormat, CacheHint, Effort, Image, ImageData, Message, Part, Request, Role, SystemBlock,
    ToolChoice, ToolSchema,
};
pub use retry::{RetryPolicy, picture_with_retries, stream_with_retries};
pub use secrecy::{ExposeSecret, SecretString};
pub use sound::{HearRequest, Heard, RECORDING_BYTES_MAX, SPEECH_BYTES_MAX, SpeakRequest};
pub use spec::{Kind, ProviderSpec};
pub use static_model::{StaticModel, StaticModelError, TABLE_BYTES_MAX, TOKENIZER_BYTES_MAX};
pub use text_calls::{ANSWER_NOW, ToolCalls};
pub use window::{Abilities, context_window, sees_pictures};
