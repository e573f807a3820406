//! What an agent may do, out of its settings.

use super::{Reader, switch};
use crate::budget::limits;
use crate::model::ModelRef;
use crate::programs::{DiskLimits, ProgramLimits, Programs};
use crate::rules;
use crate::yaml::Node;
use insula_domain::boundary::{
    AccessMode, ApprovalMode, ApprovalRule, Budget, ChildApprovals, FileGrants, Isolation,
    SharedPath, SpawnLimits, StaleWrites, WorkspaceScope,
};
use insula_domain::{Act, IntegrityProfile, IntegrityRule, RuledTools, TaintedRule, TrustedSource};
use insula_domain::{
    ArgumentRules, Boundary, DmSessions, GroupSessions, HostPattern, Links, NetworkGrants,
    OpaqueRule, SearchReach, SendGrants, SessionRule, ToolTable,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Reader<'_> {
    /// Says what it means that people share one conversation who can't see each other.
    pub(super) fn warn_of_shared_direct_chats(&mut self) {
        let Some(node) = self.at("sessions.dm").filter(|it| it.text() == Some("shared")) else {
            return;
        };
        let message = format!(
            "everyone who writes to agent `{}` directly shares one conversation at each account",
            self.id
        );
        let help = "what one person says there is shown to the model when another asks; `sessions.dm: per_user` (`dm_scope: per-channel-peer`) keeps people apart";
        self.warn(node.span, message, Some(help.to_owned()));
    }

    pub(super) fn sessions(&self) -> SessionRule {
        SessionRule {
            dm: match self.text("sessions.dm") {
                Some("shared") => DmSessions::Shared,
                _ => DmSessions::PerUser,
            },
            group: match self.text("sessions.group") {
                Some("per_user") => GroupSessions::PerUser,
                _ => GroupSessions::PerChat,
            },
        }
    }

    pub(super) fn search_reach(&self) -> SearchReach {
        match self.text("sessions.search") {
            Some("agent") => SearchReach::Agent,
            _ => SearchReach::Here,
        }
    }

    pub(super) fn boundary(
        &mut self,
        tools: Arc<ToolTable>,
        models: &[ModelRef],
        links: Links,
    ) -> Boundary {
        let shared = self.nodes("files.shared").iter().filter_map(|item| {
            let mode = item.get("mode").and_then(Node::text).and_then(AccessMode::parse);
            Some(SharedPath {
                path: item.get("path")?.text()?.into(),
                mode: mode.unwrap_or(AccessMode::Ro),
            })
        });
        let hosts = self.nodes("network.allow").iter();
        let hosts: Vec<_> =
            hosts.filter_map(|node| HostPattern::parse(node.text()?).ok()).collect();
        let network = match hosts.is_empty() {
            true => NetworkGrants::none(),
            false => NetworkGrants::allow(hosts),
        };
        let credentials = self.credentials(&network);
        let network = network.with(credentials);
        let secrets: BTreeSet<Box<str>> = self.texts("secrets").into_iter().collect();
        for node in self.nodes("secrets") {
            if let Some(name) = node.text() {
                self.missing_secret(node.span, name);
            }
        }
        let spawn = SpawnLimits::default();
        let child_models = self.child_models("subagents.models").into_iter();
        let child_models = child_models
            .chain(self.child_models("subagents.model"))
            .chain(models.iter().cloned())
            .map(|model| model.to_string().into());
        Boundary {
            isolation: self.text("isolation").and_then(Isolation::parse).unwrap_or_default(),
            tools,
            rules: ArgumentRules::default(),
            files: FileGrants {
                workspace: self
                    .text("workspace.scope")
                    .and_then(WorkspaceScope::parse)
                    .unwrap_or_default(),
                workspace_mode: AccessMode::Rw,
                shared: shared.collect(),
                stale_writes: self
                    .text("files.stale_writes")
                    .and_then(StaleWrites::parse)
                    .unwrap_or_default(),
            },
            network,
            secrets,
            budget: self.budget(),
            approvals: ApprovalRule {
                mode: self.text("approvals.mode").and_then(ApprovalMode::parse).unwrap_or_default(),
                timeout_ms: self.millis("approvals.timeout", ApprovalRule::default().timeout_ms),
                separation: switch(
                    self.at("approvals.separation").and_then(Node::bool).unwrap_or(false),
                ),
                in_children: match self.text("subagents.approvals") {
                    Some("inherit") => ChildApprovals::Inherit,
                    _ => ChildApprovals::Deny,
                },
                opaque: self
                    .text("approvals.opaque")
                    .and_then(OpaqueRule::parse)
                    .unwrap_or_default(),
            },
            integrity: self.integrity(),
            spawn: SpawnLimits {
                max_depth: self.number("subagents.max_depth", spawn.max_depth),
                max_children: self.number("subagents.max_children", spawn.max_children),
                max_total: self.number("subagents.max_total", spawn.max_total),
                max_iterations: self.number("subagents.max_iterations", spawn.max_iterations),
                wall_clock_ms: self.millis("subagents.timeout", spawn.wall_clock_ms),
                models: child_models.collect(),
            },
            links,
            messages: SendGrants::default(),
        }
    }

    /// What it does unasked once it has read words of others.
    fn integrity(&self) -> IntegrityRule {
        let profile = self.text("integrity").or_else(|| self.text("integrity.profile"));
        let mut rule = IntegrityRule {
            profile: profile.and_then(IntegrityProfile::parse).unwrap_or_default(),
            trusted: self
                .texts("integrity.trusted")
                .iter()
                .filter_map(|text| TrustedSource::parse(text))
                .collect(),
            ..IntegrityRule::default()
        };
        for entry in self.at("integrity.tainted").map(Node::entries).unwrap_or_default() {
            let Some(becomes) = entry.value.text().and_then(TaintedRule::parse) else { continue };
            match (Act::parse(&entry.key), RuledTools::parse(&entry.key)) {
                (Some(act), _) => drop(rule.acts.insert(act, becomes)),
                (None, Ok(tools)) => rule.set(tools, becomes),
                (None, Err(_)) => {}
            }
        }
        rule
    }

    pub(super) fn programs(&mut self) -> Programs {
        let off = self.at("sandbox.off").filter(|node| node.bool() == Some(true));
        if let Some(off) = off
            && !self.nodes("network.allow").is_empty()
        {
            let message =
                format!("agent `{}` has no walls, so `network.allow` does not hold", self.id);
            let help = "its programs reach whatever the machine reaches; leave out `sandbox: off`";
            self.warn(off.span, message, Some(help.to_owned()));
        }
        let size = |name: &str| self.text(&format!("sandbox.{name}")).and_then(rules::size);
        let time = |name: &str| self.text(&format!("sandbox.{name}")).and_then(rules::duration);
        let count = |name: &str| {
            let number = self.at(&format!("sandbox.{name}")).and_then(Node::integer);
            number.and_then(|number| u64::try_from(number).ok())
        };
        let env = self.at("env").map(Node::entries).unwrap_or_default();
        Programs {
            sandbox: switch(off.is_none()),
            optional: self.texts("sandbox.optional").into_iter().collect(),
            limits: ProgramLimits {
                memory: size("memory"),
                processes: count("processes"),
                file_size: size("file_size"),
                descriptors: count("descriptors"),
                cpu_time: time("cpu_time"),
                wall_clock: time("wall_clock"),
                output: size("output"),
            },
            disk: DiskLimits {
                free_space: size("free_space"),
                growth: size("growth"),
                new_files: count("new_files"),
            },
            env: env
                .iter()
                .filter_map(|entry| Some((entry.key.as_ref().into(), entry.value.text()?.into())))
                .collect(),
        }
    }

    fn budget(&self) -> Budget {
        Budget {
            own: limits(self.at("budget")),
            per_user: limits(self.at("budget.per_user")),
            per_context: limits(self.at("budget.per_context")),
        }
    }
}
