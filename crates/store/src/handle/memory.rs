//! Reading an agent's memory.

use crate::error::Result;
use crate::handle::agent::AgentStore;
use crate::id::SessionId;
use crate::limits;
use crate::memory::{
    Affected, Forget, Fragment, FragmentHit, FragmentId, Frozen, ListName, MemoryList, MemoryPage,
    MemoryReport, Provenance,
};
use insula_domain::ScopeName;
use std::sync::Arc;

impl AgentStore {
    /// The entries of one scope's list, in order, and its mirror's marks.
    pub async fn memory_page(&self, scope: &ScopeName, target: MemoryList) -> Result<MemoryPage> {
        self.backend().memory_page(scope, target).await
    }

    /// The same of several lists, in their order: one way to the database and back, which is
    /// most of what a short list costs.
    pub async fn memory_pages(&self, lists: Vec<ListName>) -> Result<Vec<MemoryPage>> {
        self.backend().memory_pages(lists).await
    }

    /// Fragments of every scope after one, by id, at most `limit`. For whoever may see all.
    pub async fn fragments_after(&self, after: FragmentId, limit: usize) -> Result<Vec<Fragment>> {
        self.backend().fragments_after(after, limit).await
    }

    /// A fragment, if it is there. For whoever may see all.
    pub async fn fragment(&self, id: FragmentId) -> Result<Option<Fragment>> {
        self.backend().fragment(id).await
    }

    /// Records of the chain after one, at most `limit`.
    pub async fn provenance_after(
        &self,
        after: FragmentId,
        limit: usize,
    ) -> Result<Vec<Provenance>> {
        self.backend().provenance_after(after, limit).await
    }

    /// What forgetting this would take away.
    pub async fn memory_affected(&self, what: Forget) -> Result<Affected> {
        self.backend().memory_affected(what).await
    }

    /// Which of these words were forgotten in one scope's list, and not learned anew since.
    pub async fn memory_forgotten(
        &self,
        scope: &ScopeName,
        target: MemoryList,
        texts: Vec<String>,
    ) -> Result<Vec<bool>> {
        self.backend().memory_forgotten(scope, target, texts).await
    }

    /// The days' lists that have something in them, of every scope.
    pub async fn memory_days(&self) -> Result<Vec<ListName>> {
        self.backend().memory_days().await
    }

    /// The lists of which something was forgotten that may still be in their files.
    pub async fn memory_due(&self) -> Result<Vec<ListName>> {
        self.backend().memory_due().await
    }

    /// Whether anything was ever remembered in a scope.
    pub async fn memory_knows(&self, scope: &ScopeName) -> Result<bool> {
        self.backend().memory_knows(scope).await
    }

    /// Fragments of one scope that match some words of `query`, the best first, at most
    /// `limit`; none that is blocked. What is in other scopes changes neither hits nor scores.
    pub async fn memory_search(
        &self,
        scope: &ScopeName,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FragmentHit>> {
        limits::query(scope.as_str(), query)?;
        self.backend().memory_search(scope, query, limit).await
    }

    /// The same in several scopes, in their order. Each is a search of its own: neither hits nor
    /// scores of one depend on what is in another.
    pub async fn memory_searches(
        &self,
        scopes: Vec<Arc<str>>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Vec<FragmentHit>>> {
        for scope in &scopes {
            limits::query(scope, query)?;
        }
        self.backend().memory_searches(scopes, query, limit).await
    }

    /// What a session that reads these scopes was shown of memory, if it was.
    pub async fn memory_block(&self, session: SessionId, chain: &str) -> Result<Option<Frozen>> {
        self.backend().memory_block(session, chain).await
    }

    /// Checks the whole chain, every fragment against it, and its end against the audit trail.
    pub async fn memory_verify(&self) -> Result<MemoryReport> {
        self.backend().memory_verify().await
    }
}
