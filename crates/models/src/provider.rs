//! What every provider can do, and the stream of events it answers with.

use crate::embedding::{EmbedRequest, Embedded};
use crate::error::{ModelError, ModelFault};
use crate::event::Event;
use crate::picture::{Picture, PictureRequest};
use crate::request::Request;
use crate::sound::{HearRequest, Heard, SpeakRequest};
use crate::window::Abilities;
use async_trait::async_trait;
use bytes::Bytes;
use insula_wire::Timeouts;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Something that answers requests. It knows no agents: what a request holds is all it gets.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The name it has in the configuration, which comes first in `provider/model`.
    fn name(&self) -> &str;

    /// What its key is called where usage is counted by key.
    fn key_name(&self) -> Option<&Arc<str>> {
        None
    }

    /// Asks. Returns when the answer begins; the events come from the stream. Cancelling,
    /// like dropping the future or the stream, closes the connection to the provider.
    async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError>;

    /// What one of its models can be shown, as its operator or its server says, or its name; what
    /// the server said in answers counts for whom it said it to. Never waits for long.
    async fn abilities(&self, model: &str, _asker: &str) -> Abilities {
        Abilities::by_name(model)
    }

    /// Whether one answer of a model may ask for several calls, as its operator says; `None` where
    /// nobody says.
    fn parallel_calls(&self, _model: &str) -> Option<bool> {
        None
    }

    /// Asks the server for the list of its models, which costs nothing: how many there are. `None`
    /// for one that has no server, or whose server has no list.
    async fn probe(&self) -> Result<Option<usize>, ModelError> {
        Ok(None)
    }

    /// Makes a picture, where it is one that does.
    async fn picture(
        &self,
        request: &PictureRequest,
        _limits: &Timeouts,
        _cancel: &CancellationToken,
    ) -> Result<Picture, ModelError> {
        let message = "it makes no pictures".to_owned();
        let fault = ModelFault::Refused { status: 0, message };
        let (provider, model) = (self.name().into(), (*request.model).into());
        Err(ModelError { provider, model, fault })
    }

    /// Writes down what a recording says, where it is one that does.
    async fn hear(
        &self,
        request: &HearRequest,
        _limits: &Timeouts,
        _cancel: &CancellationToken,
    ) -> Result<Heard, ModelError> {
        let message = "it hears nothing".to_owned();
        let fault = ModelFault::Refused { status: 0, message };
        let (provider, model) = (self.name().into(), (*request.model).into());
        Err(ModelError { provider, model, fault })
    }

    /// Says something, where it is one that does: the sound as a file.
    async fn speak(
        &self,
        request: &SpeakRequest,
        _limits: &Timeouts,
        _cancel: &CancellationToken,
    ) -> Result<Bytes, ModelError> {
        let message = "it does not speak".to_owned();
        let fault = ModelFault::Refused { status: 0, message };
        let (provider, model) = (self.name().into(), (*request.model).into());
        Err(ModelError { provider, model, fault })
    }

    /// Makes vectors of texts, where it is one that does.
    async fn embed(
        &self,
        request: &EmbedRequest,
        _limits: &Timeouts,
        _cancel: &CancellationToken,
    ) -> Result<Embedded, ModelError> {
        let message = "it makes no vectors of texts".to_owned();
        let fault = ModelFault::Refused { status: 0, message };
        let (provider, model) = (self.name().into(), (*request.model).into());
        Err(ModelError { provider, model, fault })
    }

    /// The body that a request would be sent as after it was refused in these words, one after the
    /// other, where nothing was asked of the server. `None` when it would not be sent again, and
    /// for a provider that sends none.
    fn encode(
        &self,
        _request: &Request,
        _refused: &[String],
    ) -> Result<Option<Vec<u8>>, serde_json::Error> {
        Ok(None)
    }
}

/// Where the events of one answer come from. For providers; callers use [`AnswerStream`].
#[async_trait]
pub trait EventSource: Send {
    /// Waits for something to happen and appends what it means, which may be nothing. Must
    /// lose nothing when the future is dropped.
    async fn fill(&mut self, ready: &mut VecDeque<Event>) -> Result<More, ModelError>;
}

/// Whether a source has more to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// Ask again.
    Yes,
    /// That was all.
    No,
}

/// What was changed about a question before it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adjusted {
    /// Its pictures were put in words, since the server takes none.
    pub without_pictures: bool,
    /// Its tools and calls were put in words: calls come back as words too.
    pub calls_in_words: bool,
}

/// The answer of a model while it comes. Dropping it closes the connection it comes from,
/// unless the answer is complete.
pub struct AnswerStream {
    ready: VecDeque<Event>,
    /// What to say after the events that are ready.
    failed: Option<ModelError>,
    /// `None` when nothing more will come.
    source: Option<Box<dyn EventSource>>,
    adjusted: Adjusted,
    /// What was asked, as it was sent.
    asked_as: Option<Bytes>,
}

impl AnswerStream {
    /// A stream of what `source` gives.
    pub fn new(source: Box<dyn EventSource>) -> Self {
        let (ready, adjusted) = (VecDeque::new(), Adjusted::default());
        Self { ready, failed: None, source: Some(source), adjusted, asked_as: None }
    }

    /// A stream of events that are known already.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Self {
        let (ready, adjusted) = (events.into_iter().collect(), Adjusted::default());
        Self { ready, failed: None, source: None, adjusted, asked_as: None }
    }

    /// The same, with what was changed about the question before it was taken.
    pub(crate) fn adjusted(self, adjusted: Adjusted) -> Self {
        Self { adjusted, ..self }
    }

    /// The same, to a question whose pictures were put in words before it was asked.
    pub(crate) fn without_pictures(mut self) -> Self {
        self.adjusted.without_pictures = true;
        self
    }

    /// The same, with what was asked as it was sent.
    pub(crate) fn asked_as(self, body: Bytes) -> Self {
        Self { asked_as: Some(body), ..self }
    }

    /// The body of the request that this answers, byte for byte: once, so that nobody holds it
    /// longer than it is looked at. `None` where nothing was sent.
    pub fn take_asked(&mut self) -> Option<Bytes> {
        self.asked_as.take()
    }

    /// What was changed about the question before the server took it.
    pub fn adjustments(&self) -> Adjusted {
        self.adjusted
    }

    /// The next event. After an error or [`Event::Done`] comes `None`. The future may be
    /// dropped and asked for again; nothing is lost.
    pub async fn next(&mut self) -> Option<Result<Event, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            self.source.as_ref()?;
            self.fill().await;
        }
    }

    /// Waits until the answer has really begun: until there is an event that is not just a
    /// figure of usage. An error before that is returned here, and may be tried again, since
    /// nobody has seen anything yet.
    pub async fn prime(&mut self) -> Result<(), ModelError> {
        while self.source.is_some() && self.ready.iter().all(|e| matches!(e, Event::Usage(_))) {
            self.fill().await;
        }
        let begun = self.ready.iter().any(|event| !matches!(event, Event::Usage(_)));
        match self.failed.take_if(|_| !begun) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    async fn fill(&mut self) {
        let Some(source) = self.source.as_mut() else { return };
        match source.fill(&mut self.ready).await {
            Ok(More::Yes) => {}
            Ok(More::No) => self.source = None,
            Err(error) => {
                self.source = None;
                self.failed = Some(error);
            }
        }
    }
}
