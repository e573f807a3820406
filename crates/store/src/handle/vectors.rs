//! Vectors of an agent's memory and messages.

use crate::error::Result;
use crate::handle::agent::AgentStore;
use crate::limits;
use crate::memory::FragmentHit;
use crate::search::Hit;
use crate::vectors::{Backlog, Near, VectorKind, VectorModel};
use insula_domain::ScopeName;
use std::sync::Arc;

impl AgentStore {
    /// Texts of one scope that have no vector of this model, at most `limit`. Kept with
    /// [`AgentCommand::PutVectors`](crate::AgentCommand::PutVectors). Nothing that is blocked,
    /// and nothing that a child or a tool said.
    pub async fn unembedded(
        &self,
        scope: &ScopeName,
        kind: VectorKind,
        model: VectorModel,
        limit: usize,
    ) -> Result<Backlog> {
        self.backend().unembedded(scope, kind, model, limit).await
    }

    /// As [`search`](Self::search), joined with what is near in meaning: vectors of the same scope
    /// and model, and no others.
    pub async fn search_near(
        &self,
        scope: &ScopeName,
        query: &str,
        near: Near,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        limits::query(scope.as_str(), query)?;
        self.backend().search_near(scope, query, near, limit).await
    }

    /// As [`memory_searches`](Self::memory_searches), joined in the same way in each scope.
    pub async fn memory_searches_near(
        &self,
        scopes: Vec<Arc<str>>,
        query: &str,
        near: Near,
        limit: usize,
    ) -> Result<Vec<Vec<FragmentHit>>> {
        for scope in &scopes {
            limits::query(scope, query)?;
        }
        self.backend().memory_searches_near(scopes, query, near, limit).await
    }
}
