//! An agent's memory, through its slot in the pool.

use super::SqliteAgent;
use crate::backend::MemoryBackend;
use crate::error::Result;
use crate::id::SessionId;
use crate::memory::{
    Affected, Forget, Fragment, FragmentHit, FragmentId, Frozen, ListName, MemoryList, MemoryPage,
    MemoryReport, Provenance,
};
use crate::sqlite::memory::{affected, buried, chain, find, read, verify};
use async_trait::async_trait;
use insula_domain::ScopeName;
use rusqlite::Connection;
use std::sync::Arc;

#[async_trait]
impl MemoryBackend for SqliteAgent {
    async fn memory_page(&self, scope: &ScopeName, target: MemoryList) -> Result<MemoryPage> {
        let scope = scope.to_owned();
        self.read(move |sql| read::page(sql, &scope, target)).await
    }

    async fn memory_pages(&self, lists: Vec<ListName>) -> Result<Vec<MemoryPage>> {
        let count = lists.len();
        let all = move |sql: &Connection| {
            lists.iter().map(|(scope, target)| read::page(sql, scope, *target)).collect()
        };
        let mut pages: Vec<MemoryPage> = self.read(all).await?;
        // Where there is no database yet, every list is empty.
        pages.resize_with(count, MemoryPage::default);
        Ok(pages)
    }

    async fn fragments_after(&self, after: FragmentId, limit: usize) -> Result<Vec<Fragment>> {
        self.read(move |sql| read::after(sql, after, limit)).await
    }

    async fn fragment(&self, id: FragmentId) -> Result<Option<Fragment>> {
        self.read(move |sql| read::one(sql, id)).await
    }

    async fn provenance_after(&self, after: FragmentId, limit: usize) -> Result<Vec<Provenance>> {
        self.read(move |sql| chain::after(sql, after, limit)).await
    }

    async fn memory_affected(&self, what: Forget) -> Result<Affected> {
        self.read(move |sql| affected::affected(sql, &what)).await
    }

    async fn memory_forgotten(
        &self,
        scope: &ScopeName,
        target: MemoryList,
        texts: Vec<String>,
    ) -> Result<Vec<bool>> {
        let count = texts.len();
        let scope = scope.to_owned();
        let found = self.read_with_chain(move |sql, chain| {
            buried::texts(sql, chain, scope.as_str(), target, &texts)
        });
        Ok(found.await?.unwrap_or_else(|| vec![false; count]))
    }

    async fn memory_due(&self) -> Result<Vec<ListName>> {
        self.read(buried::due).await
    }

    async fn memory_days(&self) -> Result<Vec<ListName>> {
        self.read(read::days).await
    }

    async fn memory_knows(&self, scope: &ScopeName) -> Result<bool> {
        let scope = scope.to_owned();
        self.read(move |sql| read::knows(sql, scope.as_str())).await
    }

    async fn memory_search(
        &self,
        scope: &ScopeName,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FragmentHit>> {
        let (scope, query) = (scope.to_owned(), query.to_owned());
        self.read(move |sql| find::search(sql, scope.as_str(), &query, limit)).await
    }

    async fn memory_searches(
        &self,
        scopes: Vec<Arc<str>>,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Vec<FragmentHit>>> {
        let (count, query) = (scopes.len(), query.to_owned());
        let all = move |sql: &Connection| {
            // One look at the file for all that follows.
            let _together = sql.unchecked_transaction()?;
            scopes.iter().map(|scope| find::search(sql, scope, &query, limit)).collect()
        };
        let mut found: Vec<Vec<FragmentHit>> = self.read(all).await?;
        found.resize_with(count, Vec::new);
        Ok(found)
    }

    async fn memory_block(&self, session: SessionId, chain: &str) -> Result<Option<Frozen>> {
        let chain = chain.to_owned();
        self.read(move |sql| read::block(sql, session, &chain)).await
    }

    async fn memory_verify(&self) -> Result<MemoryReport> {
        let report = self.read_with_chain(verify::verify).await?;
        Ok(report.unwrap_or(MemoryReport::EMPTY))
    }
}
