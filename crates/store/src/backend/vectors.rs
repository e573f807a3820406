//! What a backend must provide of vectors.

use crate::error::Result;
use crate::memory::FragmentHit;
use crate::search::Hit;
use crate::vectors::{Backlog, Near, VectorKind, VectorModel};
use async_trait::async_trait;
use insula_domain::ScopeName;
use std::sync::Arc;

/// The part of a backend that keeps vectors; see [`AgentStore`](crate::AgentStore) for what each
/// method means.
#[async_trait]
pub trait VectorBackend: Send + Sync {
    /// What a scope has that a model has not seen.
    async fn unembedded(
        &self,
        scope: &ScopeName,
        kind: VectorKind,
        model: VectorModel,
        limit: usize,
    ) -> Result<Backlog>;

    /// Messages of one scope, by their words and by what they mean.
    async fn search_near(
        &self,
        scope: &ScopeName,
        query: &str,
        near: Near,
        limit: usize,
    ) -> Result<Vec<Hit>>;

    /// Fragments of several scopes, each for itself, by their words and by what they mean.
    async fn memory_searches_near(
        &self,
        scopes: Vec<Arc<str>>,
        query: &str,
        near: Near,
        limit: usize,
    ) -> Result<Vec<Vec<FragmentHit>>>;
}
