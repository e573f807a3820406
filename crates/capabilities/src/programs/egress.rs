//! What an agent's programs and tools ask of the network, on its audit trail.

use async_trait::async_trait;
use insula_domain::{Actor, Integrity, IntegrityRule, Source, SourceKind};
use insula_registry::context::{AgentContext, AuditLog};
use insula_sandbox::Spec;
use insula_sandbox::egress::{EgressDecision, EgressVerdict, Ending, Ledger, Traffic, Unrecorded};
use insula_store::{About, AgentCommand, AgentLease, ForeignFile, StoreError};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Writes every decision down before it takes effect.
pub(crate) struct Audited {
    pub(crate) audit: AuditLog,
    pub(crate) principal: Actor,
    /// Whose matter it is. What a server of the agent's does is done for no conversation alone.
    pub(crate) about: About,
    /// What a program can keep of what it hears.
    pub(crate) keeps: KeptFolders,
}

/// Folders of a program, which hold words of every host that it reached.
#[derive(Default)]
pub(crate) struct KeptFolders {
    /// By the names that they are noted under; none for what is no program.
    folders: Vec<Box<str>>,
    /// Where that is noted, and what the operator trusts.
    of: Option<(AgentLease, IntegrityRule)>,
}

impl KeptFolders {
    /// The folders that a program can write to, and what stands for what it prints.
    pub(crate) fn of(
        home: &Path,
        agent: &AgentContext,
        spec: &Spec,
        prints: Option<&Path>,
    ) -> Self {
        let writes = spec.writes.iter().map(PathBuf::as_path);
        let folders: BTreeSet<Box<str>> =
            writes.chain(prints).map(|folder| ForeignFile::name(home, folder)).collect();
        let of = Some((agent.store.clone(), agent.boundary.integrity.clone()));
        Self { folders: folders.into_iter().collect(), of }
    }

    /// Notes a host before anything is heard from it.
    async fn note(&self, host: &str) -> Result<(), StoreError> {
        let Some((store, rule)) = &self.of else { return Ok(()) };
        let integrity = rule.untrusted(&Integrity::of(Source::new(SourceKind::Web, host)));
        if integrity.is_own() {
            return Ok(());
        }
        // Asked every time: a note falls when an operator trusts the folder, and what comes after
        // that is as foreign as what came before.
        let known = store.foreign_about(self.folders.clone()).await?;
        let is_noted = |folder: &str| {
            let says = |it: &ForeignFile| it.integrity.join(&integrity) == it.integrity;
            known.iter().any(|it| it.holds(folder) && says(it))
        };
        let note = |path| AgentCommand::NoteForeign { path, integrity: integrity.clone() };
        let missing = self.folders.iter().filter(|it| !is_noted(it)).cloned();
        let batch: Vec<AgentCommand> = missing.map(note).collect();
        match batch.is_empty() {
            true => Ok(()),
            false => store.commit(batch).await.map(drop),
        }
    }
}

impl Audited {
    fn told(&self, decision: &EgressDecision) -> Value {
        let place = decision.destination.as_ref();
        let session = match self.about {
            About::Session(session) => Some(session.0),
            _ => None,
        };
        json!({
            "host": place.map(|place| place.host.to_string()),
            "port": place.map(|place| place.port),
            "address": decision.address.map(|address| address.ip().to_string()),
            "session": session,
        })
    }
}

fn unrecorded(error: impl Display) -> Unrecorded {
    tracing::error!(%error, "a decision about the network could not be recorded");
    Unrecorded
}

#[async_trait]
impl Ledger for Audited {
    async fn decided(&self, decision: &EgressDecision) -> Result<(), Unrecorded> {
        let mut content = self.told(decision);
        match &decision.verdict {
            EgressVerdict::Allowed { rule } => {
                if let Some(place) = &decision.destination {
                    self.keeps.note(&place.host.to_string()).await.map_err(unrecorded)?;
                }
                content["verdict"] = json!("allowed");
                content["rule"] = json!(rule);
            }
            EgressVerdict::Refused(refusal) => {
                content["verdict"] = json!("refused");
                content["reason"] = json!(refusal.to_string());
            }
        }
        let written =
            self.audit.append(self.about.clone(), &self.principal, "egress", content).await;
        written.map(drop).map_err(unrecorded)
    }

    async fn ended(&self, decision: &EgressDecision, traffic: Traffic, ending: Ending) {
        let mut content = self.told(decision);
        content["bytes_up"] = json!(traffic.up);
        content["bytes_down"] = json!(traffic.down);
        content["ending"] = json!(match ending {
            Ending::Finished => "finished",
            Ending::Failed => "failed",
            Ending::TimedOut => "timed_out",
            Ending::LimitReached => "limit_reached",
            Ending::Refused => "refused",
            Ending::Stopped => "stopped",
        });
        let written =
            self.audit.append(self.about.clone(), &self.principal, "egress.ended", content);
        if let Err(error) = written.await {
            tracing::error!(%error, "the end of a connection could not be recorded");
        }
    }
}

#[cfg(test)]
#[path = "egress_tests.rs"]
mod tests;
