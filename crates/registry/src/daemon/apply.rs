//! Applies a loaded configuration: new generations for agents that changed, and for no other.
//!
//! Durable first, visible second: the store commits what changes before the registry shows
//! it, so that a crash leaves either the old state or the new one, never a generation that
//! was used and forgotten.

use super::{Actor, Daemon, Ledger, Purpose};
use crate::context::{AgentContext, Generation};
use crate::error::RuntimeError;
use crate::lives::{LifeFacts, LifeKind};
use crate::registry::{AgentEntry, AgentState, Snapshot};
use insula_config::authority::{Applied as AppliedConfig, Authority};
use insula_config::settings::Setting;
use insula_config::{AgentConfig, AgentOutcome, Loaded};
use insula_domain::AgentId;
use insula_store::{AgentRow, DaemonCommand, Lifecycle, Store};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name under which the store keeps what was last applied beside the agents themselves.
pub const SHARED: &str = "applied.shared";

/// The digest of an agent that nobody names any more. No configuration has it: should the
/// agent come back, it is a new generation.
const GONE: [u8; 32] = [0; 32];

/// Enough to tell the values apart that a setting has had.
const MARK_BYTES: usize = 8;

/// What is known about an agent across restarts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) state: Lifecycle,
    pub(crate) generation: u64,
    pub(crate) digest: [u8; 32],
}

/// What an application of the configuration changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Agents that are new.
    pub added: Vec<AgentId>,
    /// Agents with a new generation.
    pub changed: Vec<AgentId>,
    /// Agents that are gone from the configuration.
    pub removed: Vec<AgentId>,
    /// Agents that now can't be built.
    pub failed: Vec<AgentId>,
}

impl Applied {
    fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    fn log(&self, actor: &Actor, agents: &BTreeMap<AgentId, AgentEntry>) {
        let told = |ids: &[AgentId], what: &str| {
            for id in ids {
                tracing::info!(agent = %id, %actor, "agent {what}");
            }
        };
        told(&self.added, "added");
        told(&self.changed, "changed");
        told(&self.removed, "removed");
        for id in &self.failed {
            let reason = agents.get(id).and_then(|entry| entry.state.reason());
            tracing::error!(agent = %id, %actor, reason = reason.as_deref(), "agent failed");
        }
    }
}

/// Applies `loaded`, to every agent or to `only` one; `batch` is committed with it.
pub(crate) async fn apply(
    daemon: &Daemon,
    ledger: &mut Ledger,
    loaded: Loaded,
    only: Option<&AgentId>,
    actor: &Actor,
    batch: Vec<DaemonCommand>,
) -> Result<Applied, RuntimeError> {
    let now = daemon.snapshot();
    let shared = AppliedConfig::shared(&loaded).to_json();
    let shared_before = daemon.parts.store.daemon().value(SHARED).await?;
    let failed_before = shared_before.as_deref().and_then(AppliedConfig::from_json);
    let damaged = daemon.still_damaged(ledger).await?;
    let mut work = Work {
        daemon,
        damaged,
        actor,
        before: &now,
        failed_before: failed_before.unwrap_or_default().failed,
        records: ledger.records.clone(),
        batch,
        applied: Applied::default(),
        became: Vec::new(),
        anew: ledger.anew.clone(),
    };
    let mut agents = BTreeMap::new();
    for (id, outcome) in loaded.agents {
        if only.is_some_and(|only| *only != id) {
            continue;
        }
        let named = loaded.named_in_config.contains(&id) || loaded.implicit.as_ref() == Some(&id);
        // Whoever only looks may see an agent whose deletion was cut off: it is gone.
        let going = ledger.records.get(&id).is_some_and(|it| it.state == Lifecycle::Deleting);
        if !going || named {
            let entry = work.agent(&id, outcome, named);
            agents.insert(id, entry);
        }
    }
    // Whoever is half gone is seen to be, whatever the files say.
    for (id, reason) in &ledger.stuck {
        let state = AgentState::Deleting(reason.clone());
        agents.insert(id.clone(), AgentEntry { generation: Generation(0), state });
    }
    match only {
        None => work.removals(&agents),
        Some(_) => {
            for (id, entry) in &now.agents {
                agents.entry(id.clone()).or_insert_with(|| entry.clone());
            }
        }
    }
    let Work { records, mut batch, applied, became, .. } = work;
    if !applied.is_empty() {
        let entry = daemon.parts.trail.entry(actor, "config.applied", 0, counts(&applied));
        batch.push(DaemonCommand::Audit(entry));
    }
    if only.is_none() && shared_before.as_deref() != Some(&shared) {
        batch.push(DaemonCommand::PutValue { key: SHARED.into(), value: shared });
    }
    if !batch.is_empty() && daemon.purpose != Purpose::Look {
        daemon.parts.owner.daemon().commit(batch).await?;
    }
    applied.log(actor, &agents);
    ledger.records = records;
    let snapshot = match only {
        Some(_) => Snapshot {
            router: now.router.clone(),
            binding_places: now.binding_places.clone(),
            agents,
            daemon: now.daemon.clone(),
        },
        None => {
            ledger.named_in_config = loaded.named_in_config;
            ledger.implicit = loaded.implicit;
            Snapshot {
                router: loaded.router,
                binding_places: loaded.binding_places.into(),
                agents,
                daemon: Arc::new(loaded.daemon),
            }
        }
    };
    daemon.parts.registry.swap(snapshot);
    daemon.parts.access.tell_of_change().await;
    if daemon.purpose == Purpose::Serve {
        tell(daemon, &now, became, actor);
    }
    Ok(applied)
}

/// What became of an agent.
struct Became {
    agent: AgentId,
    kind: LifeKind,
    generation: u64,
    facts: LifeFacts,
}

/// Tells agents what became of them: by the generation that holds now, and where there is none,
/// by the last one that did.
fn tell(daemon: &Daemon, before: &Snapshot, became: Vec<Became>, actor: &Actor) {
    let after = daemon.snapshot();
    for Became { agent, kind, generation, facts } in became {
        let context = |snapshot: &Snapshot| {
            snapshot.agents.get(&agent).and_then(|entry| entry.state.context()).cloned()
        };
        if let Some(context) = context(&after).or_else(|| context(before)) {
            daemon.parts.lives.tell(&context, kind, generation, actor, facts);
        }
    }
}

struct Work<'w> {
    daemon: &'w Daemon,
    /// Whose database is damaged, and why; seen when it was used.
    damaged: BTreeMap<AgentId, Arc<str>>,
    actor: &'w Actor,
    before: &'w Snapshot,
    /// Who had failed when the configuration was last applied, by whichever process.
    failed_before: BTreeSet<String>,
    records: BTreeMap<AgentId, Record>,
    batch: Vec<DaemonCommand>,
    applied: Applied,
    became: Vec<Became>,
    /// Who gets a new generation in any case.
    anew: Option<AgentId>,
}

impl Work<'_> {
    fn agent(&mut self, id: &AgentId, outcome: AgentOutcome, named_in_config: bool) -> AgentEntry {
        let record = self.records.get(id).copied();
        let gone =
            |record: Record| matches!(record.state, Lifecycle::Deleted | Lifecycle::Deleting);
        let deleted = record.is_some_and(gone);
        match outcome {
            _ if deleted && named_in_config => {
                AgentEntry { generation: Generation(0), state: AgentState::Deleted }
            }
            AgentOutcome::Failed(reason) => self.failed(id, record, reason),
            AgentOutcome::Ready(config) => {
                // Written anew after it was deleted: a new agent, of which nothing is known.
                let record = record.filter(|_| !deleted);
                self.ready(id, record, Arc::unwrap_or_clone(config))
            }
        }
    }

    fn failed(&mut self, id: &AgentId, record: Option<Record>, reason: Arc<str>) -> AgentEntry {
        let generation = record.map_or(0, |record| record.generation);
        let known = match self.before.agents.get(id) {
            Some(entry) => entry.state.reason().as_ref() == Some(&reason),
            None => self.failed_before.contains(id.as_str()),
        };
        if !known {
            let facts = LifeFacts { why: Some(reason.to_string()), ..LifeFacts::default() };
            let content = json!({ "reason": &*reason });
            self.note(id, LifeKind::Failed, generation, content, facts);
            self.applied.failed.push(id.clone());
        }
        AgentEntry { generation: Generation(generation), state: AgentState::Failed(reason) }
    }

    fn ready(&mut self, id: &AgentId, record: Option<Record>, config: AgentConfig) -> AgentEntry {
        let lifecycle = record.map_or(Lifecycle::Active, |record| record.state);
        let before = self.before.agents.get(id);
        let is_anew = self.anew.as_ref() == Some(id);
        let same = record.is_some_and(|record| record.digest == config.digest && !is_anew);
        if let (true, Some(context)) = (same, before.and_then(|entry| entry.state.context())) {
            let generation = context.generation;
            return AgentEntry { generation, state: state(lifecycle, context.clone()) };
        }
        // It would be found out by whoever speaks to it first.
        let home = &self.daemon.parts.home;
        if let Err(unfit) = insula_store::glance(home.root(), id) {
            return self.failed(id, record, unfit.to_string().into());
        }
        if let Some(reason) = self.damaged.get(id).cloned() {
            return self.failed(id, record, reason);
        }
        let generation = record.map_or(0, |record| record.generation) + u64::from(!same);
        if !same {
            self.new_generation(id, record, lifecycle, generation, &config);
        } else if before.map_or(self.failed_before.contains(id.as_str()), |entry| {
            matches!(entry.state, AgentState::Failed(_))
        }) {
            let facts = LifeFacts::default();
            self.note(id, LifeKind::Recovered, generation, json!({}), facts);
            self.applied.changed.push(id.clone());
        }
        let store = self.daemon.parts.owner.agent(id);
        let generation = Generation(generation);
        let mut context =
            AgentContext::build(config, generation, store, &self.daemon.surroundings());
        if let Some(before) = before.and_then(|entry| entry.state.context()) {
            context.succeed(before);
        }
        AgentEntry { generation, state: state(lifecycle, Arc::new(context)) }
    }

    fn new_generation(
        &mut self,
        id: &AgentId,
        record: Option<Record>,
        lifecycle: Lifecycle,
        generation: u64,
        config: &AgentConfig,
    ) {
        let digest = config.digest;
        let before = self.before.agents.get(id).and_then(|entry| entry.state.context());
        let had_failed = self.before.agents.get(id).is_some_and(|it| it.state.context().is_none());
        let kind = match record {
            None => LifeKind::Created,
            Some(_) if self.anew.as_ref() == Some(id) => LifeKind::Restarted,
            Some(_) => LifeKind::Changed,
        };
        let mut facts = LifeFacts::default();
        let mut content = json!({ "digest": hex(&digest) });
        if let Some(before) = before {
            let marked = changed(&before.config.settings, &config.settings);
            let settings: Vec<&str> = marked.iter().map(|(path, _)| *path).collect();
            let has_new_soul = before.identity.soul.text != config.soul.text;
            let is_told_anew = before.identity.instructions != config.instructions;
            let mut what = settings.clone();
            what.extend(has_new_soul.then_some("SOUL.md"));
            what.extend(is_told_anew.then_some("instructions"));
            facts.what = (!what.is_empty()).then(|| what.join(", "));
            content["settings"] = json!(settings);
            content["soul_changed"] = json!(has_new_soul);
            let mut marks: BTreeMap<&str, [Option<String>; 2]> = marked.into_iter().collect();
            if has_new_soul {
                let [was, is] = [&before.identity.soul.text, &config.soul.text];
                marks.insert("SOUL.md", [Some(mark("SOUL.md", was)), Some(mark("SOUL.md", is))]);
            }
            if is_told_anew {
                content["instructions_changed"] = json!(true);
                let texts = [&before.identity.instructions, &config.instructions];
                let marked = texts.map(|it| it.as_ref().map(|it| mark("instructions", &it.text)));
                marks.insert("instructions", marked);
            }
            content["marks"] = json!(marks);
        }
        self.note(id, kind, generation, content, facts);
        if had_failed && record.is_some() {
            let facts = LifeFacts::default();
            self.became.push(Became {
                agent: id.clone(),
                kind: LifeKind::Recovered,
                generation,
                facts,
            });
        }
        let new = Record { state: lifecycle, generation, digest };
        self.batch.push(DaemonCommand::PutAgent(row(id, &new, Authority::of(config).to_json())));
        self.records.insert(id.clone(), new);
        match record {
            Some(_) => self.applied.changed.push(id.clone()),
            None => self.applied.added.push(id.clone()),
        }
    }

    /// Agents that nobody names any more: they stop, and what they own stays where it is.
    fn removals(&mut self, agents: &BTreeMap<AgentId, AgentEntry>) {
        let shown = self.before.agents.iter().map(|(id, entry)| (id, entry.generation.0));
        // Also those that went while no daemon ran.
        let applied = self.records.iter().filter(|(_, record)| record.digest != GONE);
        let known = applied.map(|(id, record)| (id, record.generation)).chain(shown);
        let deleted = |id: &AgentId| {
            self.records.get(id).is_some_and(|record| record.state == Lifecycle::Deleted)
        };
        let gone: BTreeMap<AgentId, u64> = known
            .filter(|(id, _)| !agents.contains_key(*id) && !deleted(id))
            .map(|(id, generation)| (id.clone(), generation))
            .collect();
        for (id, generation) in &gone {
            self.note(id, LifeKind::Removed, *generation, json!({}), LifeFacts::default());
            self.applied.removed.push(id.clone());
            if let Some(record) = self.records.get_mut(id) {
                record.digest = GONE;
                let row = row(id, record, String::new());
                self.batch.push(DaemonCommand::PutAgent(row));
            }
        }
        let forgotten: Vec<AgentId> = self
            .records
            .iter()
            .filter(|(id, record)| record.state == Lifecycle::Deleted && !agents.contains_key(*id))
            .map(|(id, _)| id.clone())
            .collect();
        for id in forgotten {
            self.records.remove(&id);
            self.batch.push(DaemonCommand::ForgetAgent(id));
        }
    }

    /// Notes what became of an agent: a record, and what is told.
    fn note(
        &mut self,
        id: &AgentId,
        kind: LifeKind,
        generation: u64,
        content: serde_json::Value,
        facts: LifeFacts,
    ) {
        self.record(id, kind.as_str(), generation, content);
        self.became.push(Became { agent: id.clone(), kind, generation, facts });
    }

    /// A record for the agent's own chain, which its database takes in when it next opens.
    fn record(&mut self, id: &AgentId, kind: &str, generation: u64, content: serde_json::Value) {
        let entry = self.daemon.parts.trail.entry_of(id, self.actor, kind, generation, content);
        self.batch.push(DaemonCommand::QueueAudit(id.clone(), entry));
    }
}

fn row(id: &AgentId, record: &Record, authority: String) -> AgentRow {
    let Record { state, generation, digest } = *record;
    AgentRow { id: id.clone(), state, generation, digest, authority }
}

/// What was last applied, as the store remembers it.
pub(crate) async fn last_applied(store: &Store) -> Result<AppliedConfig, RuntimeError> {
    let shared = store.daemon().value(SHARED).await?;
    let shared = shared.as_deref().and_then(AppliedConfig::from_json).unwrap_or_default();
    let gone = |state| matches!(state, Lifecycle::Deleting | Lifecycle::Deleted);
    let rows = store.daemon().agents().await?;
    let agents = rows
        .iter()
        .filter(|row| !gone(row.state) && !shared.failed.contains(row.id.as_str()))
        .filter_map(|row| Some((row.id.to_string(), Authority::from_json(&row.authority)?)));
    Ok(AppliedConfig { agents: agents.collect(), ..shared })
}

/// Where an agent stands whose configuration is good.
pub(crate) fn state(lifecycle: Lifecycle, context: Arc<AgentContext>) -> AgentState {
    match lifecycle {
        Lifecycle::Active => AgentState::Ready(context),
        Lifecycle::Paused => AgentState::Paused(context),
        Lifecycle::Archived => AgentState::Archived(context),
        Lifecycle::Deleting | Lifecycle::Deleted => AgentState::Deleted,
    }
}

/// What differs, with a mark of each value before and after. A record has no values; by its marks
/// it can still be told that a setting is again what it was some generations before.
fn changed<'s>(before: &'s [Setting], after: &'s [Setting]) -> Vec<(&'s str, [Option<String>; 2])> {
    let mut values: BTreeMap<&str, [Option<&serde_json::Value>; 2]> = BTreeMap::new();
    for (side, settings) in [before, after].into_iter().enumerate() {
        for setting in settings {
            values.entry(&setting.path).or_default()[side] = Some(&setting.value);
        }
    }
    let differ = values.into_iter().filter(|(_, [a, b])| a != b);
    let marked = |path: &str, value: Option<&serde_json::Value>| {
        value.map(|value| mark(path, &value.to_string()))
    };
    differ.map(|(path, values)| (path, values.map(|value| marked(path, value)))).collect()
}

/// What tells one value of a setting from another.
fn mark(path: &str, value: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.as_bytes()).update(&[0]).update(value.as_bytes());
    hex(&hasher.finalize().as_bytes()[..MARK_BYTES])
}

fn counts(applied: &Applied) -> serde_json::Value {
    json!({
        "added": applied.added.len(),
        "changed": applied.changed.len(),
        "removed": applied.removed.len(),
        "failed": applied.failed.len(),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
