//! An agent's vectors, through its slot in the pool.

use super::SqliteAgent;
use crate::backend::VectorBackend;
use crate::error::Result;
use crate::memory::FragmentHit;
use crate::search::Hit;
use crate::sqlite::memory::find as fragments;
use crate::sqlite::{find, vectors};
use crate::vectors::{Backlog, Near, VectorKind, VectorModel};
use async_trait::async_trait;
use insula_domain::ScopeName;
use rusqlite::Connection;
use std::sync::Arc;

#[async_trait]
impl VectorBackend for SqliteAgent {
    async fn unembedded(
        &self,
        scope: &ScopeName,
        kind: VectorKind,
        model: VectorModel,
        limit: usize,
    ) -> Result<Backlog> {
        let scope = scope.to_owned();
        self.read(move |sql| vectors::backlog(sql, scope.as_str(), kind, model, limit)).await
    }

    async fn search_near(
        &self,
        scope: &ScopeName,
        query: &str,
        near: Near,
        limit: usize,
    ) -> Result<Vec<Hit>> {
        let (scope, query) = (scope.to_owned(), query.to_owned());
        self.read(move |sql| find::search_near(sql, scope.as_str(), &query, &near, limit)).await
    }

    async fn memory_searches_near(
        &self,
        scopes: Vec<Arc<str>>,
        query: &str,
        near: Near,
        limit: usize,
    ) -> Result<Vec<Vec<FragmentHit>>> {
        let (count, query) = (scopes.len(), query.to_owned());
        let all = move |sql: &Connection| {
            // One look at the file for all that follows.
            let _together = sql.unchecked_transaction()?;
            let found = |scope: &Arc<str>| fragments::search_near(sql, scope, &query, &near, limit);
            scopes.iter().map(found).collect()
        };
        let mut found: Vec<Vec<FragmentHit>> = self.read(all).await?;
        found.resize_with(count, Vec::new);
        Ok(found)
    }
}
