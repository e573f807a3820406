//! Entries that come with an agent from elsewhere.

use crate::entries::{Draft, draft};
use crate::error::MemoryError;
use crate::list::List;
use crate::memory::Memory;
use crate::text::is_one_entry;
use insula_domain::Scope;
use insula_store::{Fragment, MemoryList, MemoryOrigin};
use std::sync::Mutex;

/// What became of such entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TakenIn {
    pub new: usize,
    /// There already.
    pub known: usize,
    /// Forgotten here before, and left out.
    pub forgotten: usize,
    /// Among the new ones: kept, and shown to no model.
    pub blocked: usize,
}

impl Memory {
    /// Adds entries at the end of a list, each once. They may be more than the list's limit: as
    /// with a file that a person made longer, nothing of it is lost and it can be shortened.
    pub async fn take_in(
        &self,
        (scope, target): (&Scope, MemoryList),
        entries: &[String],
        origin: &MemoryOrigin,
    ) -> Result<TakenIn, MemoryError> {
        let list = List::of(scope, target);
        let mut wanted: Vec<&str> = Vec::new();
        for entry in entries.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
            if !is_one_entry(entry) {
                let what = "an entry has a line that is only `§`, which separates entries";
                return Err(MemoryError::Wrong(what.to_owned()));
            }
            if !wanted.contains(&entry) {
                wanted.push(entry);
            }
        }
        if wanted.is_empty() {
            return Ok(TakenIn::default());
        }
        let texts: Vec<String> = wanted.iter().map(|it| (*it).to_owned()).collect();
        let gone = self.store.memory_forgotten(&list.scope, target, texts).await?;
        let done = Mutex::new(TakenIn::default());
        let change = |now: Vec<Vec<Fragment>>| {
            let mut taken = TakenIn::default();
            let mut drafts: Vec<Draft> = now.into_iter().flatten().map(Draft::Kept).collect();
            for (entry, gone) in wanted.iter().zip(&gone) {
                if drafts.iter().any(|it| it.text() == *entry) {
                    taken.known += 1;
                } else if *gone {
                    taken.forgotten += 1;
                } else {
                    let new = draft(entry, Vec::new());
                    taken.new += 1;
                    taken.blocked += usize::from(new.blocked.is_some());
                    drafts.push(Draft::New(new));
                }
            }
            if let Ok(mut done) = done.lock() {
                *done = taken;
            }
            Ok(vec![drafts])
        };
        self.change(std::slice::from_ref(&list), &[], origin, change).await?;
        Ok(done.into_inner().unwrap_or_default())
    }
}
