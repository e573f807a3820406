//! An agent's memory: the handle, and the one way in which its lists are changed.

use crate::collision::Collisions;
use crate::entries::{Draft, ListLimits, draft};
use crate::error::MemoryError;
use crate::files::{self, ListFile};
use crate::list::List;
use crate::mirror::{self, Due, Looked, bytes_of, digest};
use insula_domain::{Day, Scope, Zone};
use insula_store::{
    AgentCommand, AgentLease, Fragment, FragmentId, MemoryEntry, MemoryList, MemoryOrigin,
    MemorySource, Remember, StoreError,
};
use insula_world::World;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::{Mutex, MutexGuard};

/// How often a change is tried again that somebody else got in the way of.
const TRIES_MAX: usize = 16;

/// What one agent remembers. Bound to it at birth; cheap to clone.
#[derive(Clone)]
pub struct Memory {
    pub(crate) store: AgentLease,
    /// The agent's folder.
    root: PathBuf,
    pub(crate) limits: ListLimits,
    pub(crate) world: World,
    generation: u64,
    /// Where its days begin.
    zone: Zone,
    /// Generations of an agent share it.
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// What holds for all who use one agent's memory.
#[derive(Default)]
struct Shared {
    /// One change at a time.
    lock: Mutex<()>,
    collisions: Collisions,
}

/// A list that is about to change.
struct Step {
    list: List,
    place: ListFile,
    looked: Looked,
    drafts: Vec<Draft>,
    bytes: Vec<u8>,
}

impl Memory {
    /// The memory of the agent whose store and folder these are.
    pub fn new(
        store: AgentLease,
        root: PathBuf,
        limits: ListLimits,
        generation: u64,
        world: World,
    ) -> Self {
        let (zone, shared) = (Zone::utc(), Arc::default());
        Self { store, root, limits, world, generation, zone, shared }
    }

    /// The same, of an agent whose days begin in this zone.
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Self {
        Self { zone, ..self }
    }

    /// Goes on where an earlier generation of the same agent still works.
    pub fn succeed(&mut self, before: &Self) {
        self.shared = before.shared.clone();
    }

    /// How much a list may hold.
    pub fn limits(&self) -> &ListLimits {
        &self.limits
    }

    pub(crate) async fn hold(&self) -> MutexGuard<'_, ()> {
        self.shared.lock.lock().await
    }

    pub(crate) fn place(&self, list: &List) -> ListFile {
        ListFile { root: self.root.clone(), folder: list.folder(), name: list.name() }
    }

    /// The folder for memory.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join("memories")
    }

    fn origin_of_edit(&self) -> MemoryOrigin {
        MemoryOrigin {
            source: MemorySource::ExternalEdit,
            principal: "file".into(),
            platform: "file".into(),
            session: None,
            message: None,
            call: None,
            generation: self.generation,
            at: self.world.clock.now(),
            approved_by: None,
            label: None,
        }
    }

    pub(crate) async fn commit(
        &self,
        batch: Vec<AgentCommand>,
    ) -> Result<insula_store::Committed, StoreError> {
        self.store.commit(batch).await
    }

    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        place: ListFile,
        work: impl FnOnce(&ListFile) -> Result<T, crate::error::FileFault> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let job = move || {
            work(&place).map_err(|fault| MemoryError::File { file: place.relative(), fault })
        };
        self.world.storage.run(job).await?
    }

    /// Looks at a list and its file. The lock is held.
    pub(crate) async fn look(&self, list: &List) -> Result<Looked, MemoryError> {
        let place = self.place(list);
        let page = self.store.memory_page(&list.scope, list.target).await?;
        let (file, disk) = (place.relative(), self.on_disk(place, files::read).await?);
        let read = |base: &[FragmentId], saved| self.shared.collisions.read(list, base, saved);
        mirror::look(page, disk, read).map_err(|fault| MemoryError::File { file, fault })
    }

    /// A list as it is, after people's edits of its file were taken in, and what is left of
    /// earlier forgetting was tried again. The lock is held.
    async fn settled(&self, list: &List) -> Result<Looked, MemoryError> {
        let looked = self.in_step(list).await?;
        if looked.is_erasure_due {
            self.finish(list).await?;
        }
        Ok(looked)
    }

    /// New entries that were forgotten here before are an old copy's, and left out.
    pub(crate) async fn without_forgotten(
        &self,
        list: &List,
        mut drafts: Vec<Draft>,
    ) -> Result<Vec<Draft>, MemoryError> {
        let is_new = |draft: &Draft| matches!(draft, Draft::New(_));
        let new = drafts.iter().filter(|draft| is_new(draft));
        let texts: Vec<String> = new.map(|draft| draft.text().to_owned()).collect();
        if texts.is_empty() {
            return Ok(drafts);
        }
        let mut forgotten =
            self.store.memory_forgotten(&list.scope, list.target, texts).await?.into_iter();
        drafts.retain(|draft| !is_new(draft) || !forgotten.next().unwrap_or(false));
        Ok(drafts)
    }

    /// A list whose file says the same, after people's edits were taken in. The lock is held.
    pub(crate) async fn in_step(&self, list: &List) -> Result<Looked, MemoryError> {
        for _ in 0..TRIES_MAX {
            let looked = self.look(list).await?;
            let drafts = match &looked.due {
                Due::Nothing if !looked.has_leftover => return Ok(looked),
                Due::Nothing => {
                    self.on_disk(self.place(list), files::unstage).await?;
                    return Ok(Looked { has_leftover: false, ..looked });
                }
                Due::Write => looked.fragments.iter().cloned().map(Draft::Kept).collect(),
                Due::TakeIn(drafts) => self.without_forgotten(list, drafts.clone()).await?,
            };
            if matches!(looked.due, Due::TakeIn(_)) {
                let before: Vec<Draft> =
                    looked.fragments.iter().cloned().map(Draft::Kept).collect();
                let (place, at) = (self.place(list), self.world.clock.now().as_millis());
                let bytes = bytes_of(&before, None);
                if !bytes.is_empty() {
                    self.on_disk(place, move |place| files::keep(place, at, &bytes)).await?;
                }
            }
            let step = self.step(list, looked, drafts);
            match self.take(vec![step], Vec::new(), &self.origin_of_edit()).await {
                Ok(()) | Err(MemoryError::Store(StoreError::MemoryChanged)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(MemoryError::Busy)
    }

    fn step(&self, list: &List, looked: Looked, drafts: Vec<Draft>) -> Step {
        let mut bytes = bytes_of(&drafts, looked.file.as_deref());
        // What a person wrote stays as they wrote it, where it says the same.
        if let Some(file) = &looked.file
            && mirror::entries_of(file).is_ok_and(|entries| {
                entries.iter().map(String::as_str).eq(drafts.iter().map(Draft::text))
            })
        {
            bytes.clone_from(file);
        }
        Step { place: self.place(list), list: list.clone(), looked, drafts, bytes }
    }

    /// Makes steps real: stage every file, commit all, swap every file in.
    async fn take(
        &self,
        steps: Vec<Step>,
        more: Vec<AgentCommand>,
        origin: &MemoryOrigin,
    ) -> Result<(), MemoryError> {
        let mut batch = more;
        let mut staged: Vec<(ListFile, SystemTime)> = Vec::new();
        for step in &steps {
            let is_same = step.looked.file.as_deref().unwrap_or_default() == step.bytes;
            if !is_same {
                let (place, bytes) = (step.place.clone(), step.bytes.clone());
                match self.on_disk(place.clone(), move |at| files::stage(at, &bytes)).await {
                    Ok(written) => staged.push((place, written)),
                    Err(error) => {
                        // Also what is half written of this one.
                        let all = staged.into_iter().map(|(place, _)| place).chain([place]);
                        self.unstage(all).await;
                        return Err(error);
                    }
                }
            }
            batch.push(AgentCommand::Remember(Box::new(Remember {
                scope: step.list.scope.clone(),
                target: step.list.target,
                expects: step.looked.ids(),
                entries: step.drafts.iter().cloned().map(Draft::entry).collect(),
                origin: origin.clone(),
                digest: digest(&step.bytes),
            })));
        }
        if batch.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.commit(batch).await {
            self.unstage(staged.into_iter().map(|(place, _)| place)).await;
            return Err(error.into());
        }
        for (place, written) in staged {
            let old = self.on_disk(place.clone(), files::swap).await?;
            let step = steps.iter().find(|step| step.place == place);
            if let (Some(step), Some(bytes)) = (step, old)
                && step.looked.file.as_ref() != Some(&bytes)
            {
                self.rescue(step, bytes, written).await?;
            }
        }
        Ok(())
    }

    async fn unstage(&self, staged: impl IntoIterator<Item = ListFile>) {
        for place in staged {
            if let Err(error) = self.on_disk(place, files::unstage).await {
                tracing::warn!(%error, "a file that was about to become a mirror was left");
            }
        }
    }

    /// Takes in what a person wrote in the moment between our look at the file and its end.
    async fn rescue(
        &self,
        step: &Step,
        bytes: Vec<u8>,
        written: SystemTime,
    ) -> Result<(), MemoryError> {
        let (list, collisions) = (&step.list, &self.shared.collisions);
        collisions.note(list, &step.looked.read, written);
        let at = self.world.clock.now().as_millis();
        let kept = self.keepable(list, &bytes).await?;
        self.on_disk(step.place.clone(), move |place| files::keep(place, at, &kept)).await?;
        // The file that lacks what they wrote stands there until the next swap. They may read it
        // and write it back: before that swap, and it is theirs to rescue again; or after it.
        let looked = Looked { file: Some(step.bytes.clone()), ..self.look(list).await? };
        let base = collisions.read(list, &step.looked.read, written);
        let drafts = mirror::rescue(&looked.fragments, &base, &bytes)
            .map_err(|fault| MemoryError::File { file: step.place.relative(), fault })?;
        let drafts = self.without_forgotten(list, drafts).await?;
        let next = self.step(list, looked, drafts);
        Box::pin(self.take(vec![next], Vec::new(), &self.origin_of_edit())).await
    }

    /// The bytes of an earlier version without what was forgotten here.
    async fn keepable(&self, list: &List, bytes: &[u8]) -> Result<Vec<u8>, MemoryError> {
        let Ok(entries) = mirror::entries_of(bytes) else { return Ok(bytes.to_vec()) };
        let all: Vec<Draft> = entries.iter().map(|it| Draft::New(draft(it, Vec::new()))).collect();
        let count = all.len();
        let left = self.without_forgotten(list, all).await?;
        Ok(if left.len() == count { bytes.to_vec() } else { bytes_of(&left, None) })
    }

    /// The entries of a list, after people's edits were taken in.
    pub(crate) async fn entries(&self, list: &List) -> Result<Vec<Fragment>, MemoryError> {
        let _held = self.hold().await;
        Ok(self.settled(list).await?.fragments)
    }

    /// The entries of several lists, where nothing has to be done about any of them: the usual
    /// case, in two steps however many there are. `None` where there is something to do.
    pub(crate) async fn entries_at_rest(
        &self,
        lists: &[List],
    ) -> Result<Option<Vec<Vec<Fragment>>>, MemoryError> {
        let _held = self.hold().await;
        let names = lists.iter().map(|list| (list.scope.clone(), list.target));
        let pages = self.store.memory_pages(names.collect()).await?;
        let places: Vec<ListFile> = lists.iter().map(|list| self.place(list)).collect();
        let read = move || places.iter().map(files::read).collect::<Result<Vec<_>, _>>();
        // What is wrong with a file is for whoever looks at that one.
        let Ok(disks) = self.world.storage.run(read).await? else { return Ok(None) };
        let looked = pages.into_iter().zip(disks).map(|(page, disk)| {
            // Whether anything is due does not depend on what was read.
            mirror::look(page, disk, |base, _| base.to_vec())
        });
        let at_rest =
            looked.map(|looked| match looked {
                Ok(Looked {
                    fragments, due: Due::Nothing, has_leftover, is_erasure_due, ..
                }) if !has_leftover && !is_erasure_due => Some(fragments),
                _ => None,
            });
        Ok(at_rest.collect())
    }

    /// Changes lists, all or none: `change` is given the entries of each, in order, and says
    /// what becomes of them.
    pub(crate) async fn change(
        &self,
        lists: &[List],
        more: &[AgentCommand],
        origin: &MemoryOrigin,
        change: impl Fn(Vec<Vec<Fragment>>) -> Result<Vec<Vec<Draft>>, MemoryError>,
    ) -> Result<Vec<Vec<Draft>>, MemoryError> {
        let _held = self.hold().await;
        for _ in 0..TRIES_MAX {
            let mut looked = Vec::with_capacity(lists.len());
            for list in lists {
                looked.push(self.settled(list).await?);
            }
            let now = looked.iter().map(|looked| looked.fragments.clone()).collect();
            let drafts = change(now)?;
            let steps = lists
                .iter()
                .zip(looked)
                .zip(&drafts)
                .map(|((list, looked), drafts)| self.step(list, looked, drafts.clone()))
                .filter(|step| {
                    let kept = step.drafts.iter().cloned().map(Draft::entry);
                    !kept.eq(step.looked.ids().into_iter().map(MemoryEntry::Keep))
                })
                .collect();
            match self.take(steps, more.to_vec(), origin).await {
                Ok(()) => return Ok(drafts),
                Err(MemoryError::Store(StoreError::MemoryChanged)) => continue,
                Err(error) => return Err(error),
            }
        }
        Err(MemoryError::Busy)
    }

    /// The day it is, where the agent is.
    pub(crate) fn today(&self) -> Day {
        self.zone.day(self.world.clock.now().as_millis())
    }

    /// Today's list; `None` where there are no daily notes.
    pub fn today_note(&self) -> Option<MemoryList> {
        self.limits.daily.map(|_| MemoryList::Day(self.today()))
    }

    /// The days that have notes in a scope, as the store knows them and as its folder has files.
    pub(crate) async fn days_of(&self, scope: &Scope) -> Result<Vec<MemoryList>, MemoryError> {
        let known = self.store.memory_days().await?.into_iter();
        let known = known.filter(|(of, _)| of.scope() == scope).map(|(_, target)| target);
        let mut days: Vec<MemoryList> = known.collect();
        let place = self.place(&List::of(scope, MemoryList::Memory));
        let names = self.world.storage.run(move || files::names(&place)).await?;
        // A folder that can't be read is told of by whoever reads its lists.
        days.extend(names.unwrap_or_default().iter().filter_map(|name| List::day_of(name)));
        days.sort_unstable();
        days.dedup();
        Ok(days)
    }

    /// Every list of a scope: those that all have, and the notes of days.
    pub(crate) async fn targets(&self, scope: &Scope) -> Result<Vec<MemoryList>, MemoryError> {
        let mut targets = MemoryList::ALL.to_vec();
        targets.extend(self.days_of(scope).await?);
        Ok(targets)
    }

    /// The scopes that have a folder, and what is global.
    pub(crate) async fn folders(&self) -> Result<Vec<Scope>, MemoryError> {
        let root = self.folder();
        let folders = self.world.storage.run(move || files::contexts(&root)).await?;
        let contexts = folders.iter().filter_map(|folder| crate::encode::scope_of(folder));
        Ok(contexts.chain([Scope::Global]).collect())
    }

    /// Looks at every file there is, also of scopes that nobody uses now.
    pub(crate) async fn settle_all(&self) -> Result<Vec<MemoryError>, MemoryError> {
        let mut scopes = self.folders().await?;
        // A folder that was put out of reach is in none of them.
        let due = self.store.memory_due().await?;
        scopes.extend(due.iter().map(|(scope, _)| scope.scope().clone()));
        scopes.sort();
        scopes.dedup();
        let _held = self.hold().await;
        let mut faults = Vec::new();
        for scope in scopes {
            for target in self.targets(&scope).await? {
                match self.settled(&List::of(&scope, target)).await {
                    Ok(_) => {}
                    Err(error @ MemoryError::File { .. }) => faults.push(error),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(faults)
    }
}
