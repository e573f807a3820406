//! Create, pause, resume, archive and delete an agent while the daemon runs.

use super::apply::{self, Record, state};
use super::{Actor, Daemon, Ledger};
use crate::context::Generation;
use crate::error::RuntimeError;
use crate::lives::{LifeFacts, LifeKind};
use crate::registry::{AgentEntry, AgentState, Snapshot};
use insula_config::{AgentOutcome, FindingOwner};
use insula_domain::AgentId;
use insula_store::{AgentRow, DaemonCommand, Lifecycle};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often the folder of a deleted agent is tried at once.
const REMOVALS_MAX: usize = 8;

/// What a new agent is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewAgent {
    /// What people see it called.
    pub name: Option<String>,
    pub description: Option<String>,
    /// `provider/name`.
    pub model: Option<String>,
    pub personality: Option<String>,
    /// A profile.
    pub tools: Option<String>,
    /// Whether it remembers.
    pub memory: Option<bool>,
}

impl NewAgent {
    /// The agent's `agent.yaml`. JSON strings are YAML, so nothing a person types can
    /// become anything but a value.
    fn to_yaml(&self) -> String {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text).to_string());
        let lines = [
            ("name", text(&self.name)),
            ("description", text(&self.description)),
            ("model", text(&self.model)),
            ("personality", text(&self.personality)),
            ("tools", text(&self.tools)),
            ("memory", self.memory.map(|on| on.to_string())),
        ];
        let written =
            lines.iter().filter_map(|(key, value)| Some(format!("{key}: {}\n", value.as_ref()?)));
        let body: String = written.collect();
        if body.is_empty() { "{}\n".to_owned() } else { body }
    }
}

impl Daemon {
    /// Stops an agent from serving; it keeps everything. Survives a restart.
    pub async fn pause(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        self.move_to(id, Lifecycle::Paused, LifeKind::Paused, actor).await
    }

    /// Lets a paused or archived agent serve again.
    pub async fn resume(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        self.move_to(id, Lifecycle::Active, LifeKind::Resumed, actor).await
    }

    /// Puts an agent away; it keeps everything. Survives a restart.
    pub async fn archive(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        self.move_to(id, Lifecycle::Archived, LifeKind::Archived, actor).await
    }

    async fn move_to(
        &self,
        id: &AgentId,
        to: Lifecycle,
        kind: LifeKind,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let mut ledger = self.change().await;
        let now = self.snapshot();
        let entry =
            now.agents.get(id).ok_or_else(|| RuntimeError::NoSuchAgent(id.as_str().into()))?;
        if matches!(entry.state, AgentState::Deleted | AgentState::Deleting(_)) {
            return Err(wrong_state(id, "deleted", "remove it from config.yaml first"));
        }
        let Some(record) = ledger.records.get(id).copied() else {
            return Err(wrong_state(
                id,
                "failed",
                "it was never ready; correct its configuration first",
            ));
        };
        if record.state == to {
            return Ok(());
        }
        let row = self.parts.store.daemon().agents().await?.into_iter().find(|row| row.id == *id);
        let row = row.ok_or_else(|| RuntimeError::NoSuchAgent(id.as_str().into()))?;
        let entry_for_audit =
            self.parts.trail.entry_of(id, actor, kind.as_str(), record.generation, json!({}));
        let batch = vec![
            DaemonCommand::PutAgent(AgentRow { state: to, ..row }),
            DaemonCommand::QueueAudit(id.clone(), entry_for_audit),
        ];
        self.parts.owner.daemon().commit(batch).await?;
        tracing::info!(agent = %id, %actor, "{}", kind.as_str().replace('.', " "));
        ledger.records.insert(id.clone(), Record { state: to, ..record });
        let Some(context) = entry.state.context() else { return Ok(()) };
        let state = state(to, context.clone());
        self.show(&now, id, Some(AgentEntry { generation: entry.generation, state }));
        let facts = LifeFacts { why: Some(format!("by {actor}")), ..LifeFacts::default() };
        self.parts.lives.tell(context, kind, record.generation, actor, facts);
        Ok(())
    }

    /// Whether an agent can be begun anew: it serves, or would if its files let it.
    pub(crate) fn may_restart(&self, id: &AgentId) -> Result<(), RuntimeError> {
        match self.snapshot().agents.get(id).map(|entry| &entry.state) {
            None => Err(RuntimeError::NoSuchAgent(id.as_str().into())),
            Some(AgentState::Ready(_) | AgentState::Failed(_)) => Ok(()),
            Some(AgentState::Paused(_)) => {
                Err(wrong_state(id, "paused", "nothing of it runs; resume it instead"))
            }
            Some(AgentState::Archived(_)) => {
                Err(wrong_state(id, "archived", "nothing of it runs; resume it instead"))
            }
            Some(AgentState::Deleted | AgentState::Deleting(_)) => {
                Err(wrong_state(id, "deleted", "remove it from config.yaml first"))
            }
        }
    }

    /// Deletes an agent with all it has, also one that nobody names any more. What remains is
    /// one line in the daemon's chain.
    pub async fn delete(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        let mut ledger = self.change().await;
        let now = self.snapshot();
        match now.agents.get(id).map(|entry| &entry.state) {
            Some(AgentState::Deleted) => {
                return Err(wrong_state(id, "deleted already", "remove it from config.yaml"));
            }
            None if !ledger.records.contains_key(id) && !self.parts.home.has_agent_folder(id) => {
                return Err(RuntimeError::NoSuchAgent(id.as_str().into()));
            }
            _ => {}
        }
        // From here on a crash is followed by the end of the deletion, not by half an agent.
        let going = row(id, Lifecycle::Deleting);
        self.parts.owner.daemon().commit(vec![DaemonCommand::PutAgent(going)]).await?;
        let begun = Record { state: Lifecycle::Deleting, generation: 0, digest: [0; 32] };
        ledger.records.insert(id.clone(), begun);
        // The same files again, after somebody put them back, are another agent.
        ledger.files = None;
        if now.agents.contains_key(id) {
            self.show(
                &now,
                id,
                Some(AgentEntry { generation: Generation(0), state: AgentState::Deleted }),
            );
        }
        // While its trail and its voice are still there.
        if let Some(context) = now.agents.get(id).and_then(|entry| entry.state.context()) {
            let facts = LifeFacts { why: Some(format!("by {actor}")), ..LifeFacts::default() };
            let generation = context.generation.0;
            self.parts.lives.tell(context, LifeKind::Deleted, generation, actor, facts);
            self.parts.lives.settle_agent(context).await;
        }
        let is_named = ledger.named_in_config.contains(id) || ledger.implicit.as_ref() == Some(id);
        if let Err(error) = self.erase(id, is_named, actor).await {
            self.note_stuck(&mut ledger, id, &error);
            let state = AgentState::Deleting(reason_of(&error));
            self.show(&self.snapshot(), id, Some(AgentEntry { generation: Generation(0), state }));
            return Err(error);
        }
        ledger.stuck.remove(id);
        if is_named {
            let record = Record { state: Lifecycle::Deleted, generation: 0, digest: [0; 32] };
            ledger.records.insert(id.clone(), record);
        } else {
            ledger.records.remove(id);
            self.show(&self.snapshot(), id, None);
        }
        tracing::info!(agent = %id, %actor, "agent deleted");
        Ok(())
    }

    /// Erases what an agent has; what opens something goes first. Every step may be made again.
    /// `still_named` leaves a mark that makes its name refuse.
    async fn erase(
        &self,
        id: &AgentId,
        still_named: bool,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        if let Some(tokens) = self.tokens_without(id) {
            self.parts.owner.daemon().commit(vec![tokens]).await?;
        }
        if let Some(homes) = self.parts.homes.with(id, None) {
            self.parts.owner.daemon().commit(vec![homes]).await?;
        }
        self.forget_secrets(id).await?;
        self.parts.store.retire(id).await;
        self.remove_folder(id).await?;
        self.acting.forget(&self.parts.owner.daemon(), id).await?;
        let mut batch = vec![DaemonCommand::ForgetAgent(id.clone())];
        if still_named {
            batch.push(DaemonCommand::PutAgent(row(id, Lifecycle::Deleted)));
        }
        let content = json!({ "agent": id.as_str() });
        batch.push(DaemonCommand::Audit(self.parts.trail.entry(
            actor,
            "agent.deleted",
            0,
            content,
        )));
        self.parts.owner.daemon().commit(batch).await?;
        Ok(())
    }

    /// Removes an agent's folder. Its programs were told to end, and may take a moment.
    async fn remove_folder(&self, id: &AgentId) -> Result<(), RuntimeError> {
        let mut tries = 1;
        loop {
            let (home, agent) = (self.parts.home.clone(), id.clone());
            let removed = self.parts.world.storage.run(move || home.remove_agent(&agent)).await;
            match removed.map_err(insula_store::StoreError::from)? {
                Err(_) if tries < REMOVALS_MAX => tries += 1,
                done => return done,
            }
            tokio::task::yield_now().await;
        }
    }

    /// Notes that something of an agent is left, for people to see.
    fn note_stuck(&self, ledger: &mut Ledger, id: &AgentId, error: &RuntimeError) {
        tracing::error!(agent = %id, error = error.reason(), "a deleted agent is not gone yet");
        ledger.stuck.insert(id.clone(), reason_of(error));
    }

    /// Ends deletions that did not come to their end; whether there were any. Which names the
    /// configuration still has may not be known yet, so each leaves its mark; applying the
    /// configuration removes those that nobody names. One that still can't be ended keeps
    /// nobody else from serving.
    pub(crate) async fn finish_deletions(&self, ledger: &mut Ledger) -> bool {
        let going: Vec<AgentId> = ledger
            .records
            .iter()
            .filter(|(_, record)| record.state == Lifecycle::Deleting)
            .map(|(id, _)| id.clone())
            .collect();
        let any = !going.is_empty();
        for id in going {
            if let Err(error) = self.erase(&id, true, &Actor::Daemon).await {
                self.note_stuck(ledger, &id, &error);
                continue;
            }
            ledger.stuck.remove(&id);
            let record = Record { state: Lifecycle::Deleted, generation: 0, digest: [0; 32] };
            ledger.records.insert(id, record);
        }
        any
    }

    /// Adds an agent: writes its `agent.yaml`, after making sure that it will be ready.
    pub async fn add(
        &self,
        id: &AgentId,
        new: &NewAgent,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let mut ledger = self.change().await;
        match self.snapshot().agents.get(id).map(|entry| &entry.state) {
            None => {}
            // No file names the built-in agent, so none stands in the way of a new one.
            Some(AgentState::Deleted) if ledger.implicit.as_ref() == Some(id) => {}
            Some(AgentState::Deleted) => {
                return Err(wrong_state(id, "deleted", "remove it from config.yaml, then add it"));
            }
            Some(AgentState::Deleting(_)) => {
                let help = "`insula agents list` says what of it is left; remove that first";
                return Err(wrong_state(id, "deleted and not gone yet", help));
            }
            Some(_) => {
                let help = "choose another id, or edit its configuration";
                return Err(wrong_state(id, "here already", help));
            }
        }
        if self.parts.home.has_agent_folder(id) {
            return Err(RuntimeError::Invalid(format!(
                "agents/{id} exists already, so a new agent would take over what is in it; move it away, or write agents/{id}/agent.yaml yourself"
            )));
        }
        let yaml = new.to_yaml();
        let (report, loaded) = self.rehearse(id, &yaml).await?;
        let loaded = match loaded {
            Some(loaded) if matches!(loaded.agents.get(id), Some(AgentOutcome::Ready(_))) => loaded,
            _ => {
                let owner = FindingOwner::Agent(id.as_str().into());
                let own = report.errors().find(|found| found.owner == owner);
                return Err(match own {
                    Some(found) => RuntimeError::Invalid(match &found.help {
                        Some(help) => format!("{}; {help}", found.message),
                        None => found.message.clone(),
                    }),
                    None => RuntimeError::Configuration(Box::new(report)),
                });
            }
        };
        self.keep_implicit(&mut ledger, id)?;
        self.parts.home.add_agent(id, yaml.as_bytes())?;
        apply::apply(self, &mut ledger, loaded, Some(id), actor, Vec::new()).await?;
        Ok(())
    }

    /// The built-in agent is there because nobody wrote any. Before the first one is written
    /// it is written down too, or adding an agent would take one away.
    fn keep_implicit(&self, ledger: &mut Ledger, added: &AgentId) -> Result<(), RuntimeError> {
        let Some(implicit) = ledger.implicit.take().filter(|implicit| implicit != added) else {
            return Ok(());
        };
        let serves = self.snapshot().agents.get(&implicit).is_some_and(|entry| {
            !matches!(entry.state, AgentState::Deleted | AgentState::Deleting(_))
        });
        if !serves {
            return Ok(());
        }
        let path = self.parts.home.agent(&implicit).join("agent.yaml");
        self.parts.home.write_new(&path, b"default: true\nmemory: true\n")
    }

    /// Shows the registry with one agent changed or gone.
    pub(super) fn show(&self, now: &Snapshot, id: &AgentId, entry: Option<AgentEntry>) {
        let mut agents: BTreeMap<AgentId, AgentEntry> = now.agents.clone();
        match entry {
            Some(entry) => agents.insert(id.clone(), entry),
            None => agents.remove(id),
        };
        self.parts.registry.swap(Snapshot {
            router: now.router.clone(),
            binding_places: now.binding_places.clone(),
            agents,
            daemon: Arc::clone(&now.daemon),
        });
        self.acting.generations_changed(&self.snapshot());
    }
}

fn row(id: &AgentId, state: Lifecycle) -> AgentRow {
    AgentRow { id: id.clone(), state, generation: 0, digest: [0; 32], authority: "{}".to_owned() }
}

/// What people are told of an agent that could not be removed whole.
fn reason_of(error: &RuntimeError) -> Arc<str> {
    format!(
        "deleted, and not gone yet: {}; tried again at every reload and start, and by `insula agents delete`",
        error.reason()
    )
    .into()
}

pub(crate) fn wrong_state(
    agent: &AgentId,
    state: &'static str,
    help: &'static str,
) -> RuntimeError {
    RuntimeError::WrongState { agent: agent.clone(), state, help }
}
