//! What an operator may do with all of an agent's memory: look, search, share, forget, check.

use crate::entries::{Draft, draft};
use crate::erase::Erased;
use crate::error::MemoryError;
use crate::list::List;
use crate::memory::Memory;
use insula_domain::Scope;
use insula_domain::ScopeName;
use insula_domain::scan::visible;
use insula_store::memory::MEMORY_PAGE_MAX;
use insula_store::{
    Forget, Fragment, FragmentHit, FragmentId, MemoryList, MemoryOrigin, MemoryReport, Provenance,
    RecordKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// A fragment to be shared with another scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub fragment: FragmentId,
    pub to: Scope,
}

/// The text of one list, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub scope: ScopeName,
    pub target: MemoryList,
    pub text: String,
}

impl Memory {
    /// Every fragment with the record that brought it, by id. Edits of files come first; what
    /// is wrong with files is told beside.
    pub async fn all(
        &self,
    ) -> Result<(Vec<(Fragment, Provenance)>, Vec<MemoryError>), MemoryError> {
        let faults = self.settle_all().await?;
        Ok((self.known().await?, faults))
    }

    /// Every fragment with the record that brought it, as last taken in. Writes nothing.
    pub async fn known(&self) -> Result<Vec<(Fragment, Provenance)>, MemoryError> {
        let mut fragments: BTreeMap<FragmentId, Fragment> = BTreeMap::new();
        let mut after = FragmentId::START;
        loop {
            let page = self.store.fragments_after(after, MEMORY_PAGE_MAX).await?;
            let Some(last) = page.last() else { break };
            after = last.id;
            fragments.extend(page.into_iter().map(|fragment| (fragment.id, fragment)));
        }
        let mut found = Vec::with_capacity(fragments.len());
        let ids: Vec<FragmentId> = fragments.keys().copied().collect();
        let mut at = FragmentId::START;
        for id in ids {
            // Pages begin where the next fragment is: records of what is gone are passed over.
            let before = FragmentId(id.0 - 1);
            if before < at {
                continue;
            }
            let page = self.store.provenance_after(before, MEMORY_PAGE_MAX).await?;
            at = page.last().map_or(id, |record| record.seq);
            for record in page.into_iter().filter(|it| it.kind == RecordKind::Learned) {
                if let Some(fragment) = fragments.remove(&record.seq) {
                    found.push((fragment, record));
                }
            }
        }
        Ok(found)
    }

    /// One fragment, where it came from, and what it came from.
    pub async fn show(&self, id: FragmentId) -> Result<(Fragment, Vec<Provenance>), MemoryError> {
        let fragment = self.store.fragment(id).await?.ok_or(MemoryError::NoFragment(id.0))?;
        let mut records = Vec::new();
        let (mut open, mut seen) = (vec![id], BTreeSet::from([id]));
        while let Some(id) = open.pop() {
            let page = self.store.provenance_after(FragmentId(id.0 - 1), 1).await?;
            for record in page {
                open.extend(record.parents.iter().copied().filter(|parent| seen.insert(*parent)));
                records.push(record);
            }
        }
        records.sort_by_key(|record| std::cmp::Reverse(record.seq));
        Ok((fragment, records))
    }

    /// Fragments of one scope with these words, the best first, and those that no model finds.
    pub async fn find(
        &self,
        scope: &ScopeName,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FragmentHit>, MemoryError> {
        let mut hits = self.store.memory_search(scope, query, limit).await?;
        // What is blocked is in no index, so that no model finds it. An operator looks for it too.
        let wanted: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        for target in self.targets(scope.scope()).await? {
            let page = self.store.memory_page(scope, target).await?;
            let blocked = page.fragments.into_iter().filter(|it| it.blocked.is_some());
            let found = blocked.filter(|fragment| {
                let text = visible(&fragment.text).to_lowercase();
                wanted.iter().any(|word| text.contains(word.as_str()))
            });
            hits.extend(found.map(|fragment| FragmentHit { fragment, score: 0.0 }));
        }
        hits.truncate(limit);
        Ok(hits)
    }

    /// Shares a fragment with another scope: a new one there that points back at it.
    pub async fn share(
        &self,
        share: &Share,
        origin: &MemoryOrigin,
    ) -> Result<FragmentId, MemoryError> {
        let id = share.fragment;
        let fragment = self.store.fragment(id).await?.ok_or(MemoryError::NoFragment(id.0))?;
        if fragment.blocked.is_some() {
            let what = format!("fragment {id} is blocked; what is blocked is not shared");
            return Err(MemoryError::Wrong(what));
        }
        if *fragment.scope.scope() == share.to {
            return Err(MemoryError::Wrong(format!("fragment {id} is in that scope already")));
        }
        let list = List::of(&share.to, fragment.target);
        let change = |now: Vec<Vec<Fragment>>| {
            let mut drafts: Vec<Draft> = now.into_iter().flatten().map(Draft::Kept).collect();
            if drafts.iter().any(|it| it.text() == fragment.text) {
                return Err(MemoryError::Wrong("the same words are there already".to_owned()));
            }
            drafts.push(Draft::New(draft(&fragment.text, vec![id])));
            Ok(vec![drafts])
        };
        self.change(std::slice::from_ref(&list), &[], origin, change).await?;
        let entries = self.entries(&list).await?;
        let shared = entries.iter().rev().find(|entry| entry.text == fragment.text);
        shared.map(|entry| entry.id).ok_or(MemoryError::Busy)
    }

    /// Forgets for good, with what was made or shared from it: what that was, and which files
    /// may still have some of it.
    pub async fn forget(&self, what: Forget, origin: &MemoryOrigin) -> Result<Erased, MemoryError> {
        // Words that people wrote since count: they may be of that scope, or come from what is
        // meant. A file that can't be used is told below.
        self.settle_all().await?;
        let affected = self.store.memory_affected(what).await?;
        let lists = affected.lists.clone();
        let mut erased = self.erase(affected, origin).await?;
        erased.remains.extend(self.finish_due(&lists).await?);
        Ok(erased)
    }

    /// Checks the chain of provenance and every fragment against it.
    pub async fn verify(&self) -> Result<MemoryReport, MemoryError> {
        Ok(self.store.memory_verify().await?)
    }
}
