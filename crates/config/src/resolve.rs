//! From one agent's merged settings to its [`AgentConfig`], with every reference checked.

mod access;
mod arguments;
mod boundary;
mod credentials;
mod embeddings;
mod hooks;
mod images;
mod jobs;
mod links;
mod logs;
mod mcp;
mod memory;
mod models;
mod people;
mod providers;
mod references;
mod send;
pub(crate) mod silences;
mod tools;
mod voice;
mod web;

pub use hooks::check_hook;

use crate::agent::{AgentConfig, EmbeddingsConfig, Instructions, Soul};
use crate::board::Boards;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::enforcement;
use crate::files::FilesSnapshot;
use crate::mcp::McpSends;
use crate::model::Providers;
use crate::rules;
use crate::settings::flatten;
use crate::skills::skill_set::SharedSkills;
use crate::source::{SourceId, Span};
use crate::suggest::nearest;
use crate::yaml::{Layer, Node};
use insula_domain::boundary::SpawnLimits;
use insula_domain::{
    AgentId, BoardName, BoardRights, Boundary, LinkKind, Metadata, Possible, SCOPE_VARIABLES,
    Switch, ToolPolicy, ToolTable,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What one agent's settings may refer to.
pub struct Surroundings<'s> {
    /// Every agent there is, broken ones included.
    pub agents: &'s BTreeSet<AgentId>,
    /// The providers of models.
    pub providers: &'s Providers,
    /// Boards that agents share.
    pub boards: &'s Boards,
    /// The files, for the skills among them.
    pub files: &'s FilesSnapshot,
    /// Which text is which policy's.
    pub policies: &'s BTreeMap<SourceId, crate::hook::HookPolicy>,
}

impl Surroundings<'_> {
    /// The boards that an agent may do something on, and what.
    fn boards_of(&self, id: &AgentId) -> impl Iterator<Item = (BoardName, BoardRights)> {
        let all = self.boards.iter().map(|(name, board)| (name.clone(), board.rights_of(id)));
        all.filter(|(_, rights)| !rights.is_none())
    }

    fn nearest_agent(&self, report: &LoadReport, wanted: &AgentId) -> Option<&str> {
        nearest_agent(report, self.agents, wanted)
    }
}

/// The agent that was probably meant. Who makes hundreds of mistakes gets no suggestion for
/// the rest of them: each one looks at every agent.
pub fn nearest_agent<'a>(
    report: &LoadReport,
    agents: &'a BTreeSet<AgentId>,
    wanted: &AgentId,
) -> Option<&'a str> {
    const FINDINGS_MAX: usize = 200;
    if report.diagnostics.len() > FINDINGS_MAX {
        return None;
    }
    nearest(wanted.as_str(), agents.iter().map(AgentId::as_str))
}

/// Tables that many agents have in common, made once.
#[derive(Default)]
pub struct SharedTables {
    tables: HashMap<(ToolPolicy, Possible), Arc<ToolTable>>,
    skills: SharedSkills,
    /// Which providers agents ask, and where that stands.
    pub asked: Vec<(Box<str>, Span, AgentId)>,
}

impl SharedTables {
    fn table(&mut self, policy: &ToolPolicy, possible: Possible) -> Arc<ToolTable> {
        let make = || Arc::new(ToolTable::build(policy, &possible));
        self.tables.entry((policy.clone(), possible)).or_insert_with(make).clone()
    }
}

pub(crate) use arguments::RuleReader;
pub use hooks::host_of as hook_host;
pub use providers::{not_shared, ways_to_have};

/// Resolves the agent `id`; `None` when it has an error, which is in `report`.
pub fn resolve(
    report: &mut LoadReport,
    shared: &mut SharedTables,
    around: &Surroundings<'_>,
    id: &AgentId,
    node: &Node,
    (soul, instructions): (Soul, Option<Instructions>),
) -> Option<AgentConfig> {
    let owner = FindingOwner::Agent(id.as_str().into());
    let providers = Cow::Borrowed(around.providers);
    let mut reader =
        Reader { report, owner, id, around, providers, node, failed: false, asked: Vec::new() };
    reader.refuse_unenforced();
    reader.check_references(node);
    let own = reader.own_providers();
    let models = reader.models();
    let model_choices = reader.model_choices(&models);
    let tools = reader.tools();
    let memory_on = reader.memory_switch();
    let mcp_servers = reader.mcp_servers(&tools);
    let hooks = reader.hooks();
    let links = reader.links();
    let people = reader.people();
    let zones = Arc::new(reader.zones(&people));
    let admins = reader.admins(&people);
    let access = reader.access(&people);
    let search = reader.search();
    let images = reader.images();
    let voice = reader.voice();
    let messages = reader.send_grants();
    let possible = Possible {
        memory: switch(memory_on),
        boards: switch(around.boards_of(id).next().is_some()),
        asking: switch(links.of(LinkKind::Ask).next().is_some()),
        notifying: switch(links.of(LinkKind::Notify).next().is_some()),
        delegation: switch(
            reader.number("subagents.max_depth", SpawnLimits::default().max_depth) > 0,
        ),
        mcp: switch(!mcp_servers.is_empty()),
        search: switch(search.is_some()),
        images: switch(images.is_some()),
        sending: switch(!messages.to.is_empty()),
    };
    let mut table = shared.table(&tools, possible);
    let quiet: Vec<&str> = mcp_servers
        .iter()
        .filter(|server| server.sends == McpSends::No)
        .map(|server| &*server.name)
        .collect();
    if !quiet.is_empty() {
        table = Arc::new(table.with_quiet_servers(quiet));
    }
    reader.warn_of_impossible_tools(&table);
    let rules = reader.argument_rules();
    reader.warn_of_idle_targets(&table, &messages);
    reader.warn_of_idle_links(&table, &links);
    reader.warn_of_silences((&tools, &table), &mcp_servers, &messages);
    let boundary = Boundary { rules, messages, ..reader.boundary(table, &models, links) };
    reader.warn_of_unreachable_servers(&mcp_servers, &boundary.network);
    reader.warn_of_nothing_to_read(&boundary);
    reader.warn_of_shared_direct_chats();
    let scope = reader.scope_rule();
    let memory = reader.memory(memory_on);
    let logs_keep = reader.logs_keep();
    let sessions_keep = reader.sessions_keep();
    let audit_keep = reader.audit_keep();
    let attachments_kept = reader.attachments_kept();
    let jobs = reader.jobs(&zones.own, &boundary.messages, &models);
    let asked = std::mem::take(&mut reader.asked).into_iter();
    if reader.failed {
        return None;
    }
    shared.asked.extend(asked.map(|(provider, span)| (provider, span, id.clone())));
    reader.warn_of_missing_bundles();
    let bundles = reader.texts("skills");
    let skills = shared.skills.skill_set(
        reader.report,
        around.files,
        id.as_str(),
        bundles,
        &boundary.secrets,
    );
    let quiet_hours = reader.quiet_hours();
    let settings = flatten(node, &reader.report.sources);
    let mut config = AgentConfig {
        id: id.clone(),
        answers_by_default: reader.at("default").and_then(Node::bool).unwrap_or(false),
        name: reader.text("name").unwrap_or(id.as_str()).into(),
        description: reader.text("description").map(Into::into),
        soul,
        instructions,
        sees_images: models
            .iter()
            .chain(&model_choices)
            .filter_map(|model| Some((model.clone(), reader.providers.sees_images(model)?)))
            .collect(),
        models,
        model_choices,
        providers: own,
        child_model: reader.child_models("subagents.model").into_iter().next(),
        tools,
        possible,
        skills,
        memory,
        scope,
        boundary,
        programs: reader.programs(),
        search,
        images,
        voice,
        workspace_path: reader.text("workspace.path").map(Into::into),
        workspace_is_shared: false,
        mcp_servers,
        mcp_pins: None,
        boards: around.boards_of(id).collect(),
        sessions: reader.sessions(),
        search_reach: reader.search_reach(),
        people,
        zones,
        admins,
        access,
        jobs,
        logs_keep,
        sessions_keep,
        audit_keep,
        attachments_kept,
        quiet_hours,
        hooks,
        metadata: metadata(reader.at("metadata")),
        settings,
        digest: [0; 32],
    };
    config.digest = digest(&config, &reader.providers);
    Some(config)
}

/// Reads a map of plain values.
pub fn metadata(node: Option<&Node>) -> Metadata {
    let entries = node.map(Node::entries).unwrap_or_default();
    entries.iter().filter_map(|e| Some((e.key.clone(), e.value.text()?.into()))).collect()
}

fn switch(on: bool) -> Switch {
    if on { Switch::On } else { Switch::Off }
}

fn digest(config: &AgentConfig, providers: &Providers) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(config.id.as_str());
    part(&config.soul.text);
    if let Some(instructions) = &config.instructions {
        part("instructions");
        part(&instructions.text);
    }
    for setting in &config.settings {
        part(&setting.path);
        part(&setting.value.to_string());
    }
    let images = config.images.iter().map(|images| &images.model);
    let embeddings = config.memory.iter().filter_map(|memory| match &memory.embeddings {
        Some(EmbeddingsConfig::Model(model)) => Some(model),
        _ => None,
    });
    let named = config.models.iter().chain(&config.model_choices);
    for model in named.chain(images).chain(embeddings).chain(config.voice.models()) {
        part(&model.to_string());
        part(&format!("{:?}", providers.configured.get(&model.provider)));
    }
    part(&format!("{:?}", config.boards));
    config.skills.digest(&mut part);
    *hasher.finalize().as_bytes()
}

struct Reader<'r> {
    report: &'r mut LoadReport,
    owner: FindingOwner,
    id: &'r AgentId,
    around: &'r Surroundings<'r>,
    /// The shared providers, and the agent's own in the place of those of the same name.
    providers: Cow<'r, Providers>,
    node: &'r Node,
    failed: bool,
    /// The shared providers of its models, and where they are named.
    asked: Vec<(Box<str>, Span)>,
}

impl<'r> Reader<'r> {
    fn at(&self, path: &str) -> Option<&'r Node> {
        path.split('.').try_fold(self.node, |node, key| node.get(key))
    }

    fn text(&self, path: &str) -> Option<&'r str> {
        self.at(path).and_then(Node::text)
    }

    fn texts(&self, path: &str) -> Vec<Box<str>> {
        self.nodes(path).iter().filter_map(|item| Some(item.text()?.into())).collect()
    }

    fn nodes(&self, path: &str) -> &'r [Node] {
        self.at(path).map(Node::items).unwrap_or_default()
    }

    fn number(&self, path: &str, otherwise: u32) -> u32 {
        let number = self.at(path).and_then(Node::integer);
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(otherwise)
    }

    fn millis(&self, path: &str, otherwise: u64) -> u64 {
        let duration = self.text(path).and_then(rules::duration);
        duration.and_then(|d| u64::try_from(d.as_millis()).ok()).unwrap_or(otherwise)
    }

    fn error(&mut self, span: Span, message: String, help: Option<String>) {
        self.failed = true;
        self.report.push(Diagnostic::error(&self.owner, span, message).maybe_help(help));
    }

    /// An error about a value that may be a credential: the file's line is not shown.
    fn conceal_error(&mut self, span: Span, message: String, help: &str) {
        self.failed = true;
        self.report.push(Diagnostic::error(&self.owner, span, message).help(help).conceal());
    }

    fn warn(&mut self, span: Span, message: String, help: Option<String>) {
        self.report.push(Diagnostic::warning(&self.owner, span, message).maybe_help(help));
    }

    /// Whether what is missing there was written and taken out with an error of its own.
    fn has_error_within(&self, span: Span) -> bool {
        self.report.has_error_within(&self.owner, span)
    }

    /// A guard that nothing enforces is worse than none.
    fn refuse_unenforced(&mut self) {
        for (path, node) in enforcement::unenforced(self.node) {
            // A hook of the top was reported once, for every agent.
            let of_all = |item: &Node| item.layer == Layer::TopLevel;
            if path.starts_with("hooks.") && node.items().iter().all(of_all) {
                self.failed = true;
                continue;
            }
            let message = format!(
                "`{path}` restricts agent `{}` and this version does not enforce it",
                self.id
            );
            let help = "remove it to run the agent without that guard".to_owned();
            self.error(node.span, message, Some(help));
        }
    }

    /// A bundle that is not there is no error: the agent serves without it.
    fn warn_of_missing_bundles(&mut self) {
        for node in self.nodes("skills") {
            let Some(name) = node.text().filter(|it| !self.around.files.bundles.contains_key(*it))
            else {
                continue;
            };
            let message = format!("there is no bundle of skills `{name}`");
            let near = nearest(name, self.around.files.bundles.keys().map(String::as_str));
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("make the folder `skills/{name}` in the home"),
            };
            self.warn(node.span, message, Some(help));
        }
    }
}
