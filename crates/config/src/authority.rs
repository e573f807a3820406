//! What an agent may do, as data that can be kept and compared.
//!
//! Everything an agent's configuration says ends up in exactly one of five places, by how
//! two values compare: what is there or not ([`Authority::grants`], [`Authority::guards`]),
//! what is more or less ([`Authority::limits`], [`Authority::levels`]), and what is merely
//! different ([`Authority::settings`]). What follows from a difference is in
//! [`changes`].

pub mod changes;
mod daemon;
mod setting;
mod written;

pub use changes::{ConfigChange, ConfigChangeKind, diff};

use crate::mcp::{McpSends, OnChange};

use crate::agent::AgentConfig;
use crate::load::{AgentOutcome, Loaded};
use crate::sensitive::{HIDDEN, is_sensitive, only_refers};
use crate::voice::VoiceBackend;
use insula_domain::TaintedRule;
use insula_domain::boundary::{AccessMode, ChildApprovals};
use insula_domain::policy::Profile;
use insula_domain::{
    DmSessions, GroupSessions, HostCredential, MemoryScope, Narrowing, ScopeRule, SearchReach,
    Selector, Switch,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// What one agent may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Authority {
    /// What it has, by kind: `tool`, `host`, `secret`. An entry more is wider.
    pub grants: BTreeMap<String, BTreeSet<String>>,
    /// What holds it back, by kind: `hook`. An entry more is narrower.
    pub guards: BTreeMap<String, BTreeSet<String>>,
    /// How much, in whole units (money in millionths). Less is narrower, none is no limit.
    pub limits: BTreeMap<String, u64>,
    /// How far, on scales of few steps. A greater rank is wider.
    pub levels: BTreeMap<String, Level>,
    /// Everything else that was written, with credentials left out.
    pub settings: BTreeMap<String, String>,
}

/// A step on a scale.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level {
    /// Greater is wider.
    pub rank: u64,
    /// What people call it.
    pub name: String,
}

/// What a whole configuration lets its agents do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// The agents that can run.
    pub agents: BTreeMap<String, Authority>,
    /// Those that can't.
    pub failed: BTreeSet<String>,
    /// Which messages each agent answers.
    pub routes: BTreeMap<String, BTreeSet<String>>,
    /// What the daemon itself runs by.
    pub daemon: BTreeMap<String, String>,
}

/// What a way in takes away, behind its name.
fn told_of(narrowing: &Narrowing) -> String {
    let told = narrowing.told().into_iter().map(|(kind, what)| format!(" with {kind} {what}"));
    told.collect()
}

/// Which rules lead to which agent, and who answers where none does.
pub fn routes(loaded: &Loaded) -> BTreeMap<String, BTreeSet<String>> {
    let mut routes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |agent: &str, rule: String| {
        routes.entry(agent.to_owned()).or_default().insert(rule);
    };
    for binding in loaded.router.bindings().iter().filter(|binding| binding.refusal.is_none()) {
        let mut rule = binding.matches.to_string();
        if let Some(narrowing) = &binding.narrowing {
            rule += &told_of(narrowing);
        }
        add(binding.agent.as_str(), rule);
    }
    let defaults = loaded.router.defaults();
    if let Some(agent) = &defaults.everywhere {
        add(agent.as_str(), "what no binding matches".to_owned());
    }
    if let Some(agent) = &defaults.cli {
        add(agent.as_str(), "the command line".to_owned());
    }
    routes
}

impl Applied {
    /// What a configuration lets its agents do.
    pub fn of(loaded: &Loaded) -> Self {
        let ready = loaded.agents.iter().filter_map(|(id, outcome)| match outcome {
            AgentOutcome::Ready(config) => Some((id.to_string(), Authority::of(config))),
            AgentOutcome::Failed(_) => None,
        });
        Self { agents: ready.collect(), ..Self::shared(loaded) }
    }

    /// The same without what each agent may do, which is kept with the agent.
    pub fn shared(loaded: &Loaded) -> Self {
        let failed =
            loaded.agents.iter().filter(|(_, outcome)| matches!(outcome, AgentOutcome::Failed(_)));
        Self {
            agents: BTreeMap::new(),
            failed: failed.map(|(id, _)| id.to_string()).collect(),
            routes: routes(loaded),
            daemon: daemon::settings(loaded),
        }
    }
}

impl Authority {
    /// What an agent may do by its configuration.
    pub fn of(config: &AgentConfig) -> Self {
        let mut authority = Self::default();
        authority.read_boundary(config);
        authority.read_tools(config);
        authority.read_levels(config);
        let models: Vec<String> = config.models.iter().map(ToString::to_string).collect();
        models.iter().for_each(|model| authority.grant("model", model));
        authority.set("order of models", models.join(", "));
        let choices = config.model_choices.iter().map(ToString::to_string);
        choices.for_each(|model| authority.grant("model that people may choose", model));
        config.providers.keys().for_each(|name| authority.grant("provider of its own", &**name));
        config.skills.bundles.iter().for_each(|bundle| authority.grant("skill bundle", &**bundle));
        for server in &config.mcp_servers {
            authority.grant("MCP server", &*server.name);
            if server.sends == McpSends::No {
                authority.grant("MCP server that does not send", &*server.name);
            }
            if server.on_change == OnChange::Report {
                authority.grant("MCP server that may change its tools", &*server.name);
            }
        }
        for (board, rights) in &config.boards {
            rights
                .iter()
                .for_each(|it| authority.grant("board", format!("{board}: {}", it.as_str())));
        }
        if config.memory.is_some() {
            authority.grant("memory", "");
        }
        authority.set("soul", fingerprint(&config.soul.text, 8));
        if let Some(instructions) = &config.instructions {
            authority.set("instructions", fingerprint(&instructions.text, 8));
        }
        for setting in &config.settings {
            authority.read_setting(setting);
        }
        authority
    }

    fn grant(&mut self, kind: &str, what: impl Into<String>) {
        self.grants.entry(kind.to_owned()).or_default().insert(what.into());
    }

    fn guard(&mut self, kind: &str, what: impl Into<String>) {
        self.guards.entry(kind.to_owned()).or_default().insert(what.into());
    }

    fn limit(&mut self, name: &str, most: impl Into<u64>) {
        self.limits.insert(name.to_owned(), most.into());
    }

    fn level(&mut self, name: &str, rank: u64, called: &str) {
        self.levels.insert(name.to_owned(), Level { rank, name: called.to_owned() });
    }

    fn set(&mut self, name: &str, value: impl Into<String>) {
        self.settings.insert(name.to_owned(), value.into());
    }

    fn read_boundary(&mut self, config: &AgentConfig) {
        let boundary = &config.boundary;
        for shared in &boundary.files.shared {
            self.grant("reading of", &*shared.path);
            if shared.mode == AccessMode::Rw {
                self.grant("writing to", &*shared.path);
            }
        }
        if let Some(path) = &config.workspace_path {
            self.grant("reading of", &**path);
            self.grant("writing to", &**path);
        }
        for host in boundary.network.lists().iter().flatten() {
            self.grant("host", host.to_string());
        }
        for credential in boundary.network.credentials() {
            let HostCredential { host, header, secrets, plain_http, .. } = credential;
            let names: Vec<&str> = secrets.iter().map(|name| &**name).collect();
            let clear = if *plain_http == Switch::On { ", also over plain http" } else { "" };
            let text = format!("{header} on {host} from {}{clear}", names.join(", "));
            self.grant("credential", text);
        }
        if let Some(search) = &config.search {
            self.grant("search at", &*search.base_url);
        }
        if let Some(images) = &config.images {
            self.grant("pictures by", images.model.to_string());
        }
        let hear = config.voice.hear.iter().map(|it| ("hearing", &it.by));
        let speak = config.voice.speak.iter().map(|it| ("speaking", &it.by));
        for (what, by) in hear.chain(speak) {
            match by {
                VoiceBackend::Model { model, .. } => {
                    self.grant(&format!("{what} by"), model.to_string());
                }
                VoiceBackend::Command(command) => {
                    self.grant(&format!("{what} by the program"), &**command);
                }
            }
        }
        boundary.secrets.iter().for_each(|name| self.grant("secret", &**name));
        for link in boundary.links.iter() {
            self.grant(&format!("link: {}", link.kind), link.to.as_str());
            for source in &link.carry {
                let from = format!("{source} over the {} link to {}", link.kind, link.to);
                self.grant("words that may go along", from);
            }
        }
        boundary.messages.to.iter().for_each(|to| self.grant("sending to", to.to_string()));
        for flow in &boundary.messages.flows {
            self.grant("flow of words", format!("{} to {}", flow.from, flow.to));
        }
        let integrity = &boundary.integrity;
        integrity.trusted.iter().for_each(|it| self.grant("words of", it.to_string()));
        let acts = integrity.acts.iter().map(|(act, rule)| (act.as_str().to_owned(), rule));
        let tools = integrity.tools.iter().map(|(tools, rule)| (tools.to_string(), rule));
        for (what, rule) in acts.chain(tools) {
            match rule {
                TaintedRule::Allow => self.grant("acting on words of others:", what),
                TaintedRule::Ask | TaintedRule::Deny => {
                    self.guard("acting on words of others:", format!("{what}: {}", rule.as_str()));
                }
            }
        }
        boundary.spawn.models.iter().for_each(|model| self.grant("child model", &**model));
        if boundary.approvals.separation == Switch::On {
            self.guard("separation of who asks and who approves", "");
        }
        self.limit("subagents max_depth", boundary.spawn.max_depth);
        self.limit("subagents max_children", boundary.spawn.max_children);
        self.limit("subagents max_total", boundary.spawn.max_total);
        self.limit("subagents max_iterations", boundary.spawn.max_iterations);
        self.limit("subagents timeout ms", boundary.spawn.wall_clock_ms);
        self.limit("approvals timeout ms", boundary.approvals.timeout_ms);
    }

    /// The tools of the catalogue by name; those of MCP servers, whose names are not known
    /// beforehand, by what gives and what takes them.
    fn read_tools(&mut self, config: &AgentConfig) {
        for tool in config.boundary.tools.exposed() {
            self.grant("tool", tool);
        }
        let policy = &config.tools;
        let of_mcp = |selector: &&Selector| {
            matches!(selector, Selector::Mcp(_) | Selector::Group(insula_domain::Group::Mcp))
        };
        let everything = matches!(policy.profile, None | Some(Profile::Full));
        match &policy.allow {
            None if everything => self.grant("MCP tools", "mcp__*"),
            None => {
                let given = policy.also_allow.iter().filter(of_mcp);
                given.for_each(|selector| self.grant("MCP tools", selector.to_string()));
            }
            Some(allow) => {
                let given = allow.iter().filter(of_mcp);
                given.for_each(|selector| self.grant("MCP tools", selector.to_string()));
            }
        }
        for selector in policy.deny.iter().filter(of_mcp) {
            self.guard("denial of", selector.to_string());
        }
    }

    fn read_levels(&mut self, config: &AgentConfig) {
        let boundary = &config.boundary;
        let isolation = boundary.isolation;
        self.level("isolation", 2 - isolation as u64, isolation.as_str());
        let workspace = boundary.files.workspace;
        self.level("workspace.scope", workspace as u64, workspace.as_str());
        let stale = boundary.files.stale_writes;
        self.level("files.stale_writes", stale as u64, stale.as_str());
        let mode = boundary.approvals.mode;
        self.level("approvals.mode", mode as u64, mode.as_str());
        let opaque = boundary.approvals.opaque;
        self.level("approvals.opaque", opaque as u64, opaque.as_str());
        let integrity = &boundary.integrity;
        self.level("integrity.profile", integrity.profile as u64, integrity.profile.as_str());
        let in_children = match boundary.approvals.in_children {
            ChildApprovals::Deny => (0, "deny"),
            ChildApprovals::Inherit => (1, "inherit"),
        };
        self.level("subagents.approvals", in_children.0, in_children.1);
        // An expression can answer `GLOBAL`: it counts as wide as that.
        let is_narrow = matches!(&config.scope, ScopeRule::Named(it) if *it != MemoryScope::Global);
        self.level("memory.scope", u64::from(!is_narrow), config.scope.as_str());
        if let Some(memory) = &config.memory {
            let writes = memory.global_writes;
            self.level("memory.global_writes", writes as u64, writes.as_str());
            memory.also_read.iter().for_each(|it| self.grant("memory of", it.text()));
        }
        if config.search_reach == SearchReach::Agent {
            self.grant("search of", "every conversation it had");
        }
        let dm = match config.sessions.dm {
            DmSessions::PerUser => (0, "per_user"),
            DmSessions::Shared => (1, "shared"),
        };
        self.level("sessions.dm", dm.0, dm.1);
        let group = match config.sessions.group {
            GroupSessions::PerUser => (0, "per_user"),
            GroupSessions::PerChat => (1, "per_chat"),
        };
        self.level("sessions.group", group.0, group.1);
        self.level("group.respond", 1, "mention");
        self.level("access.unknown", 1, "pair");
    }
}

/// A value as it is kept: a credential as a mark that only tells whether it changed.
fn shown(path: &str, value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if is_sensitive(path) && !only_refers(&text) {
        // Two bytes: enough to notice a change, too few to test guesses against.
        return format!("{HIDDEN}{}", fingerprint(&text, 2));
    }
    text
}

fn fingerprint(text: &str, bytes: usize) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(bytes * 2).collect()
}
