//! Falling back from one model to the next, and saying why.

use crate::error::{ModelError, ModelFault};
use crate::provider::{AnswerStream, Provider};
use crate::request::Request;
use crate::retry::{RetryPolicy, counting_tries};
use crate::window::Abilities;
use insula_wire::Timeouts;
use insula_world::{Clock, RandomStream};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One model of a chain.
#[derive(Clone)]
pub struct Link {
    pub provider: Arc<dyn Provider>,
    /// Its name there.
    pub model: Arc<str>,
    /// Whom it is asked for, see [`Request::asker`].
    pub asker: Arc<str>,
}

impl Link {
    /// A model, asked for nobody yet.
    pub fn new(provider: Arc<dyn Provider>, model: impl Into<Arc<str>>) -> Self {
        Self { provider, model: model.into(), asker: "".into() }
    }

    /// The same, asked for somebody.
    pub fn asked_for(self, asker: Arc<str>) -> Self {
        Self { asker, ..self }
    }

    /// What the model can be shown.
    pub async fn abilities(&self) -> Abilities {
        self.provider.abilities(&self.model, &self.asker).await
    }

    /// A request as this model is asked it; nothing is copied where it is the same.
    fn asks<'r>(&self, request: &'r Request) -> Cow<'r, Request> {
        if request.model == self.model && request.asker == self.asker {
            return Cow::Borrowed(request);
        }
        let (model, asker) = (self.model.clone(), self.asker.clone());
        Cow::Owned(Request { model, asker, ..request.clone() })
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.name(), self.model)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({self})")
    }
}

/// Models in the order to ask them. Never empty.
#[derive(Debug, Clone)]
pub struct Chain {
    first: Link,
    rest: Vec<Link>,
    policy: RetryPolicy,
}

/// An answer that has begun, and what it took to get it.
pub struct Answering {
    pub stream: AnswerStream,
    pub link: Link,
    /// Where in the chain that is, from 0.
    pub place: usize,
    /// Why the models before it did not, in order.
    pub passed_over: Vec<ModelError>,
    /// Requests that were made, those that were tried again and those of other models included.
    pub tries: u32,
}

/// No model of the chain answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// The error that decides what the caller can do: that the conversation is too long if a
    /// model said so, since that can be helped, or else the last.
    pub error: ModelError,
    /// The errors of the other models, in order.
    pub passed_over: Vec<ModelError>,
    /// Requests that were made in all.
    pub tries: u32,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        for error in &self.passed_over {
            write!(f, "; besides, {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NoAnswer {}

impl Chain {
    /// Asks `first`, and each of `rest` when the one before it could not answer.
    pub fn new(first: Link, rest: Vec<Link>, policy: RetryPolicy) -> Self {
        Self { first, rest, policy }
    }

    /// The models in order.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// The same without its first `count` models, if any are left.
    pub fn without(&self, count: usize) -> Option<Self> {
        let mut links = self.links().skip(count).cloned();
        let first = links.next()?;
        Some(Self { first, rest: links.collect(), policy: self.policy })
    }

    /// Asks one model after the other until an answer begins. Each gets its own retries. The
    /// request's `model` is replaced by the one that is asked.
    pub async fn stream(
        &self,
        request: &Request,
        limits: &Timeouts,
        cancel: &CancellationToken,
        clock: &dyn Clock,
        random: &mut RandomStream,
    ) -> Result<Answering, NoAnswer> {
        let mut passed_over = vec![];
        let mut tries = 0;
        let mut link = &self.first;
        let mut rest = self.rest.iter();
        loop {
            let request = link.asks(request);
            let provider = &*link.provider;
            let asked =
                counting_tries(provider, &request, limits, cancel, &self.policy, clock, random);
            let (asked, count) = asked.await;
            tries += count;
            let mut error = match asked {
                Ok(stream) => {
                    let (link, place) = (link.clone(), passed_over.len());
                    return Ok(Answering { stream, link, place, passed_over, tries });
                }
                Err(error) => error,
            };
            let next = if error.fault.is_curable_elsewhere() { rest.next() } else { None };
            match next {
                Some(next) => {
                    tracing::warn!("{}; asking {next} instead", error.without_words());
                    passed_over.push(error);
                    link = next;
                }
                None => {
                    let is_too_long =
                        |it: &&mut ModelError| matches!(it.fault, ModelFault::TooLong { .. });
                    if error.fault.is_curable_elsewhere()
                        && let Some(it) = passed_over.iter_mut().find(is_too_long)
                    {
                        std::mem::swap(it, &mut error);
                    }
                    return Err(NoAnswer { error, passed_over, tries });
                }
            }
        }
    }
}
