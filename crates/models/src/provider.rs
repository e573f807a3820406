//! What every provider can do, and the stream of events it answers with.

use crate::error::ModelError;
use crate::event::Event;
use crate::request::Request;
use async_trait::async_trait;
use insula_wire::Timeouts;
use std::collections::VecDeque;
use tokio_util::sync::CancellationToken;

/// Something that answers requests. It knows no agents: what a request holds is all it gets.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The name it has in the configuration, which comes first in `provider/model`.
    fn name(&self) -> &str;

    /// Asks. Returns when the answer begins; the events come from the stream. Cancelling,
    /// like dropping the future or the stream, closes the connection to the provider.
    async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError>;
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

/// The answer of a model while it comes. Dropping it closes the connection it comes from,
/// unless the answer is complete.
pub struct AnswerStream {
    ready: VecDeque<Event>,
    /// What to say after the events that are ready.
    failed: Option<ModelError>,
    /// `None` when nothing more will come.
    source: Option<Box<dyn EventSource>>,
}

impl AnswerStream {
    /// A stream of what `source` gives.
    pub fn new(source: Box<dyn EventSource>) -> Self {
        Self { ready: VecDeque::new(), failed: None, source: Some(source) }
    }

    /// A stream of events that are known already.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Self {
        Self { ready: events.into_iter().collect(), failed: None, source: None }
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
