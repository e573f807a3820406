//! Memory as one turn may use it: the scopes it reads, and the one it writes to.

use crate::audience::{audience, audiences};
use crate::block::{self, Section};
use crate::entries::{self, Draft, Drafts, EntryChange, Sight};
use crate::erase::Remains;
use crate::error::MemoryError;
use crate::list::List;
use crate::memory::Memory;
use crate::objections::{harmless, together};
use crate::text::length;
use async_trait::async_trait;
use insula_domain::{Day, Label, Scope, ScopeName};
use insula_store::{Affected, Fragment, MemoryList, MemoryOrigin, Near};
use std::collections::BTreeMap;

/// A handle on some scopes of one agent's memory. No method names another.
#[derive(Debug, Clone)]
pub struct Scoped {
    memory: Memory,
    reads: Vec<Scope>,
    writes: Scope,
}

/// What a change made of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub target: MemoryList,
    /// Whether whoever made the change may read the list; what follows is empty where not.
    pub is_shown: bool,
    /// Its entries, without those that are blocked.
    pub entries: Vec<String>,
    /// How many characters they have.
    pub used: usize,
    /// How many they may have.
    pub limit: usize,
    /// Why new entries were blocked.
    pub blocked: Vec<Box<str>>,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryHit {
    pub scope: Scope,
    pub target: MemoryList,
    /// The words.
    pub text: String,
    /// How well it matches, compared to others of its scope.
    pub score: f64,
    /// The audiences that the words came from.
    pub label: Label,
}

/// What a session is shown of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMemory {
    /// The words; none where there is nothing.
    pub text: Option<String>,
    /// The audiences they came from.
    pub label: Label,
}

/// Brings what was found into the order in which it is shown. What matches is decided before,
/// inside each scope: this can sort and drop, and can't bring anything in.
#[async_trait]
pub trait Ranking: Send + Sync {
    /// Sorts the candidates.
    async fn rank(&self, query: &str, found: Vec<MemoryHit>) -> Vec<MemoryHit>;
}

/// The order of the search itself: the best first.
pub struct AsFound;

#[async_trait]
impl Ranking for AsFound {
    async fn rank(&self, _query: &str, mut found: Vec<MemoryHit>) -> Vec<MemoryHit> {
        // Stable: of equal ones those of the nearer scope stay first.
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        found
    }
}

/// One list, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListView {
    pub target: MemoryList,
    /// Its entries.
    pub fragments: Vec<Fragment>,
}

impl Memory {
    /// A handle that reads these scopes, the nearest last, and writes to one.
    pub fn scoped(&self, reads: Vec<Scope>, writes: Scope) -> Scoped {
        Scoped { memory: self.clone(), reads, writes }
    }
}

impl Scoped {
    /// The scopes it reads, the widest first, its own last.
    pub fn reads(&self) -> &[Scope] {
        &self.reads
    }

    pub fn writes(&self) -> &Scope {
        &self.writes
    }

    /// What it reads and writes, as one text: two handles with the same one see the same.
    pub fn chain(&self) -> String {
        let reads: Vec<String> = self.reads.iter().map(ToString::to_string).collect();
        format!("{} > {}", reads.join(" "), self.writes)
    }

    /// Whether it reads what it writes to.
    fn sight(&self) -> Sight {
        if self.reads.contains(&self.writes) { Sight::Open } else { Sight::Closed }
    }

    /// The lists of a scope that a turn is shown: those that every one has, and where days have
    /// notes, yesterday's and today's.
    fn shown(&self) -> Vec<MemoryList> {
        let mut shown = MemoryList::ALL.to_vec();
        if self.memory.limits().daily.is_some() {
            let today = self.memory.today();
            let days: [Day; 2] = [today.before(), today];
            shown.extend(days.map(MemoryList::Day));
        }
        shown.dedup();
        shown
    }

    /// Applies changes to the scope it writes to, all or none. Where that is none that it
    /// reads, nothing that is answered depends on what is there.
    pub async fn apply(
        &self,
        changes: &[EntryChange],
        origin: &MemoryOrigin,
    ) -> Result<Vec<Changed>, MemoryError> {
        let mut targets: Vec<MemoryList> = changes.iter().map(|change| change.target).collect();
        targets.sort_unstable();
        targets.dedup();
        let lists: Vec<List> =
            targets.iter().map(|target| List::of(&self.writes, *target)).collect();
        let (limits, sight) = (*self.memory.limits(), self.sight());
        let change = |now: Vec<Vec<Fragment>>| {
            let kept = now.into_iter().map(|it| it.into_iter().map(Draft::Kept).collect());
            let mut drafts: Drafts = targets.iter().copied().zip(kept).collect();
            entries::apply(&mut drafts, changes, &limits, sight)?;
            Ok(drafts.into_values().collect())
        };
        let drafts = self.memory.change(&lists, &[], origin, change).await?;
        let told = targets.iter().zip(drafts).map(|(target, drafts)| {
            let visible = drafts.iter().filter(|draft| !draft.is_blocked()).map(Draft::text);
            let blocked = drafts.iter().filter_map(|draft| match draft {
                Draft::New(new) => new.blocked.clone(),
                Draft::Kept(_) => None,
            });
            let (target, limit) = (*target, limits.of(*target));
            let blocked = blocked.collect();
            match sight {
                Sight::Open => Changed {
                    target,
                    is_shown: true,
                    used: length(visible.clone()),
                    limit,
                    entries: visible.map(str::to_owned).collect(),
                    blocked,
                },
                Sight::Closed => Changed {
                    target,
                    is_shown: false,
                    used: 0,
                    limit,
                    entries: Vec::new(),
                    blocked,
                },
            }
        });
        Ok(told.collect())
    }

    /// Entries that match some words of the query, the best first. None that a model must not
    /// see.
    pub async fn search(
        &self,
        query: &str,
        limit: usize,
        ranking: &dyn Ranking,
    ) -> Result<Vec<MemoryHit>, MemoryError> {
        self.search_near(query, None, limit, ranking).await
    }

    /// The scopes it reads, by name.
    pub fn read_names(&self) -> Vec<ScopeName> {
        self.reads.iter().map(|scope| scope.clone().into()).collect()
    }

    /// The same by what the entries mean, too, where the question comes with a vector.
    pub async fn search_near(
        &self,
        query: &str,
        near: Option<Near>,
        limit: usize,
        ranking: &dyn Ranking,
    ) -> Result<Vec<MemoryHit>, MemoryError> {
        self.look_at_all().await?;
        let names = self.reads.iter().rev().map(|scope| scope.to_string().into()).collect();
        let store = &self.memory.store;
        let hits = match near {
            Some(near) => store.memory_searches_near(names, query, near, limit).await?,
            None => store.memory_searches(names, query, limit).await?,
        };
        let mut found = Vec::new();
        for (scope, hits) in self.reads.iter().rev().zip(hits) {
            for hit in hits {
                let fragment = hit.fragment;
                if !harmless(std::slice::from_ref(&fragment)).is_empty() {
                    let label = audience(&fragment);
                    let (target, text, score) = (fragment.target, fragment.text, hit.score);
                    found.push(MemoryHit { scope: scope.clone(), target, text, score, label });
                }
            }
        }
        let mut ranked = ranking.rank(query, found).await;
        ranked.truncate(limit);
        // What is harmless one by one may be an instruction in the order it is shown in.
        let texts: Vec<&str> = ranked.iter().map(|found| found.text.as_str()).collect();
        let kept = together(&texts);
        let mut place = 0..;
        ranked.retain(|_| place.next().is_some_and(|at| kept.contains(&at)));
        Ok(ranked)
    }

    /// Takes in what people wrote into the files of all scopes it reads: the entries of each, in
    /// their order.
    async fn look_at_all(&self) -> Result<Vec<BTreeMap<MemoryList, Vec<Fragment>>>, MemoryError> {
        let shown = self.shown();
        let of_scope = |scope| {
            let lists = shown.iter().map(|target| List::of(scope, *target));
            lists.collect::<Vec<List>>()
        };
        let lists: Vec<List> = self.reads.iter().flat_map(of_scope).collect();
        if let Some(entries) = self.memory.entries_at_rest(&lists).await? {
            let mut entries = entries.into_iter();
            let next = |_: &Scope| shown.iter().copied().zip(entries.by_ref()).collect();
            return Ok(self.reads.iter().map(next).collect());
        }
        let mut all = Vec::with_capacity(self.reads.len());
        for scope in &self.reads {
            all.push(self.look(scope, &shown).await?);
        }
        Ok(all)
    }

    /// Takes in what people wrote into the files of a scope. A file that can't be used is left,
    /// and what was known before is what holds.
    async fn look(
        &self,
        scope: &Scope,
        targets: &[MemoryList],
    ) -> Result<BTreeMap<MemoryList, Vec<Fragment>>, MemoryError> {
        let mut lists = BTreeMap::new();
        for target in targets.iter().copied() {
            let list = List::of(scope, target);
            let fragments = match self.memory.entries(&list).await {
                Ok(fragments) => fragments,
                Err(error @ MemoryError::File { .. }) => {
                    tracing::warn!(%error, "a memory file can't be used; what was known before holds");
                    let page = self.memory.store.memory_page(&list.scope, target).await?;
                    page.fragments
                }
                Err(error) => return Err(error),
            };
            lists.insert(target, fragments);
        }
        Ok(lists)
    }

    /// What a session is shown when it begins.
    pub async fn block(&self) -> Result<ShownMemory, MemoryError> {
        self.block_through(&str::to_owned).await
    }

    /// The same, with each entry as `clear` makes it: without secrets.
    pub async fn block_through(
        &self,
        clear: &(dyn Fn(&str) -> String + Sync),
    ) -> Result<ShownMemory, MemoryError> {
        let looked = self.look_at_all().await?;
        let lists: Vec<_> = self.reads.iter().zip(looked).collect();
        let sections: Vec<Section<'_>> = lists
            .iter()
            .flat_map(|(scope, lists)| {
                lists.iter().map(|(target, fragments)| Section {
                    scope,
                    is_own: **scope == self.writes,
                    target: *target,
                    fragments,
                })
            })
            .collect();
        let label = audiences(sections.iter().flat_map(|section| section.fragments));
        let shown =
            ShownMemory { text: block::text(&sections, self.memory.limits(), clear), label };
        Ok(shown)
    }

    /// The audiences that the words in the scope it writes to came from: what a change of them
    /// tells, its errors included.
    pub async fn label(&self) -> Result<Label, MemoryError> {
        // Where they can't be read they are not told either.
        if self.sight() == Sight::Closed {
            return Ok(Label::anyone());
        }
        let lists = self.look(&self.writes, &self.shown()).await?;
        Ok(audiences(lists.values().flatten()))
    }

    /// What is remembered in the scope it writes to, for the people of that scope.
    pub async fn own(&self) -> Result<Vec<ListView>, MemoryError> {
        // Also the notes of days long gone, and of a time when there were any.
        let mut targets = self.memory.days_of(&self.writes).await?;
        targets.extend(self.shown());
        targets.sort_unstable();
        targets.dedup();
        let lists = self.look(&self.writes, &targets).await?;
        Ok(lists.into_iter().map(|(target, fragments)| ListView { target, fragments }).collect())
    }

    /// Whether people here may see and change what is remembered from here.
    pub fn is_open(&self) -> bool {
        self.sight() == Sight::Open
    }

    /// Forgets entries of the scope it writes to, for good: how many, and which files may
    /// still have some of them. An entry of another scope is, from here, one that does not
    /// exist.
    pub async fn forget(
        &self,
        entries: &[Fragment],
        origin: &MemoryOrigin,
    ) -> Result<(usize, Vec<Remains>), MemoryError> {
        let (mut count, mut all) = (0, Affected::default());
        for entry in entries.iter().filter(|entry| *entry.scope.scope() == self.writes) {
            count += 1;
            let what = insula_store::Forget::Fragment(entry.id);
            let Affected { fragments, ids, lists } =
                self.memory.store.memory_affected(what).await?;
            all.fragments.extend(fragments);
            all.ids.extend(ids);
            all.lists.extend(lists);
        }
        all.ids.sort_unstable();
        all.ids.dedup();
        all.lists.sort();
        all.lists.dedup();
        match count {
            0 => Ok((0, Vec::new())),
            _ => Ok((count, self.memory.erase(all, origin).await?.remains)),
        }
    }
}
