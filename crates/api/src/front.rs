//! What an owner and the front say to each other beside a request and its answer. What is
//! counted and waited for is the front's affair.

use crate::error::ApiError;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use insula_domain::AgentId;
use std::convert::Infallible;
use std::sync::Arc;

/// Marks an answer that goes on until somebody ends it, as a stream of events: it does not
/// hold up the end of the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Endless;

type About = dyn Fn(&AgentId) -> Result<(), ApiError> + Send + Sync;

/// The place that a request takes up: the front counts those that are about one agent, and which
/// agent that is may stand where only its owner reads.
#[derive(Clone, Default)]
pub struct RequestSlot(Option<Arc<About>>);

impl RequestSlot {
    /// One that is counted.
    pub fn new(about: impl Fn(&AgentId) -> Result<(), ApiError> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(about)))
    }

    /// What is asked is about this agent; refused where too much is already.
    pub fn about(&self, agent: &AgentId) -> Result<(), ApiError> {
        self.0.as_ref().map_or(Ok(()), |about| about(agent))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestSlot {
    type Rejection = Infallible;

    /// A request that came by no connection takes up none.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
