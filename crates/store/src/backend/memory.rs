//! What a backend must provide of memory.

use crate::error::Result;
use crate::id::SessionId;
use crate::memory::{
    Affected, Forget, Fragment, FragmentHit, FragmentId, Frozen, ListName, MemoryList, MemoryPage,
    MemoryReport, Provenance,
};
use async_trait::async_trait;
use insula_domain::ScopeName;
use std::sync::Arc;

/// The part of a backend that keeps memory; see [`AgentStore`](crate::AgentStore) for what each method means.
#[async_trait]
pub trait MemoryBackend: Send + Sync {
    /// One list.
    async fn memory_page(&self, scope: &ScopeName, target: MemoryList) -> Result<MemoryPage>;

    /// Several lists, in their order.
    async fn memory_pages(&self, lists: Vec<ListName>) -> Result<Vec<MemoryPage>>;

    /// Fragments by id.
    async fn fragments_after(&self, after: FragmentId, limit: usize) -> Result<Vec<Fragment>>;

    async fn fragment(&self, id: FragmentId) -> Result<Option<Fragment>>;

    /// Records by place.
    async fn provenance_after(&self, after: FragmentId, limit: usize) -> Result<Vec<Provenance>>;

    /// What forgetting would take away.
    async fn memory_affected(&self, what: Forget) -> Result<Affected>;

    /// Which of some words were forgotten in a list.
    async fn memory_forgotten(
        &self,
        scope: &ScopeName,
        target: MemoryList,
        texts: Vec<String>,
    ) -> Result<Vec<bool>>;

    /// The lists whose files may still have what was forgotten.
    async fn memory_due(&self) -> Result<Vec<ListName>>;

    /// The days' lists that have something in them, of every scope.
    async fn memory_days(&self) -> Result<Vec<ListName>>;

    /// Whether anything was ever remembered in a scope.
    async fn memory_knows(&self, scope: &ScopeName) -> Result<bool>;

    /// Fragments of one scope, by their words.
    async fn memory_search(
        &self,
        scope: &ScopeName,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FragmentHit>>;

    /// The same in several scopes, each for itself, in their order.
    async fn memory_searches(
        &self,
        scopes: Vec<Arc<str>>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Vec<FragmentHit>>>;

    /// What a session was shown.
    async fn memory_block(&self, session: SessionId, chain: &str) -> Result<Option<Frozen>>;

    /// Checks the chain.
    async fn memory_verify(&self) -> Result<MemoryReport>;
}
