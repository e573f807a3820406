//! Memory in a turn: what the model is shown of it, frozen with the session; and the hand that
//! the tools get.

use crate::course::TurnFailure;
use crate::memory_block::MemoryBlock;
use crate::one_off;
use crate::seen::text_of;
use crate::shop::Shop;
use crate::turn::{Broken, Turn, TurnContext};
use async_trait::async_trait;
use insula_capabilities::memory::{Act, Resolved};
use insula_domain::{Actor, FailureCause, Label, MemoryOperation, Scope};
use insula_memory::{
    AsFound, Changed, EntryChange, MemoryError, MemoryHit, MemoryList, Operation, Scoped,
    ShownMemory,
};
use insula_registry::context::AgentContext;
use insula_store::{AgentCommand, Frozen, MemoryOrigin, MemorySource, VectorKind};
use insula_tools::hands::HandError;
use insula_tools::memory::MemoryReach;
use std::sync::Mutex;

impl Turn<'_> {
    /// What this session was shown when it began, or is from now on.
    pub(super) async fn recall(&mut self) -> Result<(), Broken> {
        let before = std::mem::take(&mut self.block);
        let Some(scoped) = self.scoped(MemoryOperation::Read).await else { return Ok(()) };
        let chain = scoped.chain();
        let cx = self.cx;
        let act = Act::of_both(&cx.from, &scoped, "show");
        let asked = self.shop.caps.ask_memory(MemoryOperation::Read, cx.occasion(), act).await;
        if asked.is_err() {
            // As where memory is closed: the turn goes on without, and the audit says why.
            return Ok(());
        }
        let erasures = cx.agent.store.erasures();
        if before.read.as_ref().is_some_and(|(of, at)| **of == *chain && *at == erasures) {
            self.block = before;
            self.note_block();
            return Ok(());
        }
        // One that an earlier version kept has no marks around its entries: it is made anew.
        let kept = cx.agent.store.memory_block(cx.session, &chain).await?;
        let kept = kept.filter(|it| it.text.is_empty() || insula_memory::is_marked(&it.text));
        let block = match kept {
            Some(block) => block,
            None => {
                let redaction = self.redaction();
                let clear = |text: &str| redaction.kept(text.to_owned());
                let read = scoped.block_through(&clear).await;
                let agent = &self.cx.agent;
                let ShownMemory { text, label } = read.map_err(|it| {
                    Broken::Said(TurnFailure::new(FailureCause::Memory, told(agent, &it)))
                })?;
                let text = redaction.kept(text.unwrap_or_default());
                let block = Frozen { text, label: Some((*text_of(&label)).into()) };
                let (session, chain) = (cx.session, chain.as_str().into());
                let freeze = AgentCommand::FreezeMemory { session, chain, block: block.clone() };
                self.block.due = Mutex::new(Some(freeze));
                block
            }
        };
        if !block.text.is_empty() {
            self.block.label = block.label;
            self.block.text = Some(block.text.into());
        }
        self.block.read = Some((chain.into(), erasures));
        self.note_block();
        Ok(())
    }

    /// Whatever the block says, the turn has seen.
    fn note_block(&self) {
        if self.block.text.is_some() {
            self.cx.seen.add_text(self.block.label.as_deref().unwrap_or_default());
        }
    }

    /// The same after the conversation was compressed: its beginning is new anyway.
    pub(super) async fn recall_anew(&mut self) -> Result<(), Broken> {
        if self.cx.agent.memory.is_none() {
            return Ok(());
        }
        self.commit(vec![AgentCommand::ThawMemory { session: self.cx.session }]).await?;
        self.block = MemoryBlock::default();
        self.recall().await
    }

    /// Memory for one operation; `None` where the agent does not remember, or may not here.
    async fn scoped(&self, operation: MemoryOperation) -> Option<Scoped> {
        let memory = self.cx.agent.memory.as_ref()?;
        let TurnContext { agent, from, key, .. } = self.cx;
        let resolved = self.shop.caps.memory_scope(agent, from, key, operation).await.ok()?;
        Some(memory.keeper.scoped(resolved.reads, resolved.writes))
    }
}

/// Memory as one tool call may use it.
pub(super) struct TurnMemory<'c> {
    shop: &'c Shop,
    cx: &'c TurnContext,
    turn: &'c Turn<'c>,
    memory: &'c insula_registry::context::Memory,
    call: &'c str,
    approved_by: Option<Actor>,
}

impl<'c> TurnMemory<'c> {
    /// A handle for one call; `None` where the agent does not remember.
    pub(super) fn new(
        turn: &'c Turn<'c>,
        call: &'c str,
        approved_by: Option<Actor>,
    ) -> Option<Self> {
        let (shop, cx) = (turn.shop, turn.cx);
        let memory = cx.agent.memory.as_ref()?;
        Some(Self { shop, cx, turn, memory, call, approved_by })
    }

    async fn resolved(&self, operation: MemoryOperation) -> Result<Resolved, HandError> {
        let TurnContext { agent, from, key, .. } = self.cx;
        let resolved = self.shop.caps.memory_scope(agent, from, key, operation).await;
        resolved.map_err(|denied| HandError(denied.to_string()))
    }

    async fn scoped(&self, operation: MemoryOperation) -> Result<Scoped, HandError> {
        let Resolved { reads, writes } = self.resolved(operation).await?;
        Ok(self.memory.keeper.scoped(reads, writes))
    }

    /// A handle that writes where a write goes and reads what a read sees, which a rule may
    /// answer differently.
    async fn changing(&self, place: MemoryReach) -> Result<Scoped, HandError> {
        let Resolved { writes, .. } = self.resolved(MemoryOperation::Write).await?;
        let writes = match place {
            MemoryReach::Here if one_off::is_of_itself(&writes, &self.cx.key) => {
                let what = "this request has no conversation of its own, so nothing is remembered here; with a session it would be";
                return Err(HandError(what.to_owned()));
            }
            MemoryReach::Here => writes,
            MemoryReach::Everywhere => Scope::Global,
        };
        // Where nothing may be read, nothing is shown.
        let reads = self.resolved(MemoryOperation::Read).await;
        let reads = reads.map(|resolved| resolved.reads).unwrap_or_default();
        Ok(self.memory.keeper.scoped(reads, writes))
    }

    /// Makes changes, if hooks allow them.
    async fn apply(
        &self,
        scoped: &Scoped,
        changes: &[EntryChange],
    ) -> Result<Result<Vec<Changed>, MemoryError>, HandError> {
        let act = Act::writing(&self.cx.from, scoped, changes);
        let asked =
            self.shop.caps.ask_memory(MemoryOperation::Write, self.cx.occasion(), act).await;
        asked.map_err(HandError)?;
        let origin = MemoryOrigin {
            source: MemorySource::Tool,
            principal: self.cx.principal.clone(),
            platform: self.cx.from.address.platform.to_string().into(),
            session: Some(self.cx.session),
            message: Some(self.cx.asked),
            call: Some(self.call.into()),
            generation: self.cx.agent.generation.0,
            at: self.shop.world.clock.now(),
            approved_by: self.approved_by.clone(),
            label: Some((*text_of(&self.cx.label_of_works(&self.shop.access))).into()),
        };
        let changed = scoped.apply(changes, &origin).await;
        // What became of it is told with the entries that are there, and so is what went wrong.
        let label = scoped.label().await.unwrap_or_else(|_| Label::nobody());
        self.cx.seen.add(&label);
        Ok(changed)
    }
}

/// A change of one entry, of the list that was not named; of several, or where something is only
/// added, nothing.
fn in_the_other(changes: &[EntryChange]) -> Option<Vec<EntryChange>> {
    let [EntryChange { target, operation }] = changes else { return None };
    if matches!(operation, Operation::Add { .. }) {
        return None;
    }
    let target = match target {
        MemoryList::Memory => MemoryList::User,
        MemoryList::User => MemoryList::Memory,
        MemoryList::Day(_) => return None,
    };
    Some(vec![EntryChange { target, operation: operation.clone() }])
}

#[async_trait]
impl insula_tools::Memory for TurnMemory<'_> {
    async fn change(
        &self,
        place: MemoryReach,
        changes: &[EntryChange],
    ) -> Result<Vec<Changed>, HandError> {
        let scoped = self.changing(place).await?;
        let redaction = self.shop.redaction(&self.cx.agent);
        let kept = |text: &String| redaction.kept(text.clone());
        let changes: Vec<EntryChange> = changes
            .iter()
            .map(|EntryChange { target, operation }| {
                let operation = match operation {
                    Operation::Add { content } => Operation::Add { content: kept(content) },
                    Operation::Replace { old_text, content } => {
                        Operation::Replace { old_text: old_text.clone(), content: kept(content) }
                    }
                    remove @ Operation::Remove { .. } => remove.clone(),
                };
                EntryChange { target: *target, operation }
            })
            .collect();
        let error = match self.apply(&scoped, &changes).await? {
            Ok(changed) => return Ok(changed),
            Err(error) => error,
        };
        // Which list an entry is in is easily mistaken. What names one is looked for in the other.
        let (MemoryError::NoMatch { .. }, Some(elsewhere)) = (&error, in_the_other(&changes))
        else {
            return Err(HandError(told(&self.cx.agent, &error)));
        };
        match self.apply(&scoped, &elsewhere).await? {
            Ok(changed) => Ok(changed),
            Err(other) => {
                let agent = &self.cx.agent;
                Err(HandError(format!("{}\n{}", told(agent, &error), told(agent, &other))))
            }
        }
    }

    fn today(&self) -> Option<MemoryList> {
        self.memory.keeper.today_note()
    }

    async fn search(&self, query: &str, limit: usize) -> Result<Vec<MemoryHit>, HandError> {
        let scoped = self.scoped(MemoryOperation::Read).await?;
        let redaction = self.shop.redaction(&self.cx.agent);
        let text = Some(redaction.kept(query.to_owned()));
        let act = Act { text, ..Act::of_both(&self.cx.from, &scoped, "search") };
        let asked = self.shop.caps.ask_memory(MemoryOperation::Read, self.cx.occasion(), act).await;
        asked.map_err(HandError)?;
        let near = self.turn.near(&scoped.read_names(), VectorKind::Fragments, query).await;
        let found = scoped.search_near(query, near, limit, &AsFound).await;
        let found = found.map_err(|error| HandError(told(&self.cx.agent, &error)))?;
        found.iter().for_each(|found| self.cx.seen.add(&found.label));
        Ok(found)
    }
}

/// What a model is told of an error. The log has it only where there is something for the
/// operator to do: what a model got wrong is told with the entries there are, and those are
/// nobody's else.
fn told(agent: &AgentContext, error: &MemoryError) -> String {
    if error.is_for_operator() {
        tracing::warn!(agent = %agent.id, %error, "an operation on memory failed");
    }
    error.for_model()
}
