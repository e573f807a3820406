//! From the files of a home to a configuration that can be applied.
//!
//! Everything that is wrong is reported. What is wrong in one agent's part fails that agent;
//! what is wrong in the shared part fails the whole, and the caller keeps what it had.

mod draft;

use self::draft::{Draft, soul};
use crate::account::AccountSpans;
use crate::agent::AgentConfig;
use crate::bindings::{self, Written};
use crate::board;
use crate::daemon::{self, DaemonConfig};
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::enforcement;
use crate::file_state::FileState;
use crate::files::FilesSnapshot;
use crate::layers::{merge, relocate};
use crate::policies::{Over, Policies};
use crate::resolve::{SharedTables, Surroundings, resolve};
use crate::schema::{MOVED, TOP};
use crate::shape::{Checker, Shape};
use crate::source::{Sources, Span};
use crate::warnings;
use crate::workspaces;
use crate::written_providers;
use crate::yaml::{self, Layer, MapEntry, Node, Value};
use insula_domain::{AgentId, Conflict, ConflictKind, Defaults, Router};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A configuration that can be applied.
pub struct Loaded {
    /// What the daemon itself runs by.
    pub daemon: DaemonConfig,
    pub agents: BTreeMap<AgentId, AgentOutcome>,
    /// Which agent answers which message.
    pub router: Arc<Router>,
    /// The agents that `config.yaml` names.
    pub named_in_config: BTreeSet<AgentId>,
    /// The agent that is there because nobody wrote any.
    pub implicit: Option<AgentId>,
    /// Where each binding stands, as `file:line:column`.
    pub binding_places: Vec<String>,
    /// Where each account stands.
    pub account_spans: AccountSpans,
}

/// What became of one agent's configuration.
#[derive(Debug, Clone)]
pub enum AgentOutcome {
    /// It can be built.
    Ready(Arc<AgentConfig>),
    /// It can't; why.
    Failed(Arc<str>),
}

/// What holds where nobody wrote anything.
const IMPLICIT: &str = "agents: {main: {default: true, memory: true}}\n";

/// Loads a snapshot. `env` is the environment the process was started with.
pub fn load(
    snapshot: &FilesSnapshot,
    env: &BTreeMap<String, String>,
) -> (LoadReport, Option<Loaded>) {
    let mut report = LoadReport::default();
    let loaded = Loader { report: &mut report, snapshot }.load(env);
    report.tidy();
    (report, loaded)
}

struct Loader<'l> {
    report: &'l mut LoadReport,
    snapshot: &'l FilesSnapshot,
}

impl Loader<'_> {
    fn load(&mut self, env: &BTreeMap<String, String>) -> Option<Loaded> {
        let mut top = self.top()?;
        let written_agents = take(&mut top, "agents");
        let gateway = take(&mut top, "gateway");
        let written_bindings =
            bindings::with_routes_of(self.report, take(&mut top, "bindings"), gateway);
        let inherited = inherited(&top);
        let daemon = daemon::read(self.report, &top, env);
        let home_soul = self.home_soul();
        let mut implicit = None;
        let named_in_config: BTreeSet<AgentId> = written_agents
            .iter()
            .flat_map(Node::entries)
            .filter_map(|entry| AgentId::new(&entry.key).ok())
            .collect();
        let mut drafts = self.drafts(written_agents);
        // An agent that was written and can't be read must not be answered for by another.
        if drafts.is_empty() && self.report.errors().next().is_none() {
            let id = self.report.sources.add("built-in", IMPLICIT);
            let written = yaml::parse(id, IMPLICIT).ok();
            drafts = self.drafts(written.and_then(|mut node| take(&mut node, "agents")));
            implicit = drafts.keys().next().cloned();
        }
        let agents: BTreeSet<AgentId> = drafts.keys().cloned().collect();
        for draft in drafts.values_mut() {
            let own = std::mem::replace(&mut draft.node, Node::empty_map(inherited.span));
            draft.node = merge(own, &inherited);
        }
        let mut policies = Policies::new(&self.snapshot.policies, &self.snapshot.policies_lock);
        let over = Over {
            policies: inherited.get("policies").map(Node::items).unwrap_or_default(),
            hooks: top.get("hooks"),
        };
        for (id, draft) in &mut drafts {
            let own = std::mem::replace(&mut draft.node, Node::empty_map(inherited.span));
            draft.node = policies.lay(self.report, id.as_str(), own, &over);
        }
        let default = self.default_agent(&drafts);
        self.refuse_unenforced(&top);
        board::check(self.report, top.get("boards"), &daemon.boards, &agents);
        warnings::shared(self.report, &daemon, &top);
        written_providers::check_agents(self.report, top.get("providers"), &agents);
        let around = Surroundings {
            agents: &agents,
            providers: &daemon.providers,
            boards: &daemon.boards,
            files: self.snapshot,
            policies: &policies.sources,
        };
        let mut shared = SharedTables::default();
        let mut resolved = BTreeMap::new();
        for (id, draft) in drafts {
            let soul = soul(self.report, &draft, &home_soul);
            let told = (soul, draft.instructions);
            let config = resolve(self.report, &mut shared, &around, &id, &draft.node, told);
            let folder = self.snapshot.folders.get(id.as_str());
            let config = match folder.map(|folder| &folder.mcp) {
                Some(FileState::Text(pins)) => config.map(|config| config.with_pins(pins)),
                _ => config,
            };
            let config = match folder.map(|folder| &folder.boot) {
                Some(FileState::Text(text)) => config.map(|config| config.with_boot(text)),
                _ => config,
            };
            if let (Some(config), Some(files)) = (&config, draft.node.get("files")) {
                let user_home = env.get("HOME").map(String::as_str);
                warnings::always_asks(self.report, config, files.span, user_home);
            }
            let place = draft.node.get("workspace").and_then(|it| it.get("path"));
            let place = place.map(|it| it.span);
            resolved.extend(config.map(|config| (id, (config, place))));
        }
        workspaces::mark(self.report, &mut resolved, env.get("HOME").map(String::as_str));
        let mut ready: BTreeMap<_, _> =
            resolved.into_iter().map(|(id, (config, _))| (id, Arc::new(config))).collect();
        self.drop_failed(&mut ready);
        let mut rules = bindings::read(self.report, written_bindings);
        bindings::check_targets(self.report, &mut rules, &agents, &ready);
        warnings::collect(self.report, &daemon, &ready, &rules, default.as_ref());
        warnings::providers(self.report, &daemon.providers, &shared.asked);
        board::warn_of_unable(self.report, top.get("boards"), &daemon.boards, &ready);
        let outcomes = self.outcomes(&agents, ready);
        let cli = default.clone().or_else(|| match agents.len() {
            1 => agents.first().cloned(),
            _ => agents.iter().find(|id| id.as_str() == "main").cloned(),
        });
        let router = self.router(&rules, Defaults { everywhere: default, cli });
        if self.report.has_error(&FindingOwner::Shared) {
            return None;
        }
        let sources = &self.report.sources;
        Some(Loaded {
            daemon,
            agents: outcomes,
            router: Arc::new(router),
            named_in_config,
            implicit,
            binding_places: rules
                .iter()
                .map(|rule| sources.describe(rule.span).to_string())
                .collect(),
            account_spans: AccountSpans::of(top.get("channels")),
        })
    }

    /// `config.yaml`, checked; `None` when it can't be read at all.
    fn top(&mut self) -> Option<Node> {
        let name = self.snapshot.config_name.clone().unwrap_or_else(|| "config.yaml".into());
        let text = match &self.snapshot.config {
            FileState::Text(text) => text.clone(),
            FileState::Absent => "".into(),
            FileState::Unreadable(why) => {
                let message = format!("{name} {why}");
                let id = self.report.sources.add(name, "");
                self.report.push(Diagnostic::error(
                    &FindingOwner::Shared,
                    Sources::whole(id),
                    message,
                ));
                return None;
            }
        };
        let id = self.report.sources.add(name.clone(), text.clone());
        let mut node = match yaml::parse(id, &text) {
            Ok(node) => node,
            Err(error) => {
                self.report.push(
                    Diagnostic::error(&FindingOwner::Shared, error.span, error.message)
                        .maybe_help(error.help.map(str::to_owned)),
                );
                return None;
            }
        };
        self.report.hide_credentials(&node);
        adopt_agent_keys(&mut node);
        let mut checker = Checker::new(self.report, FindingOwner::Shared, &*name);
        if let Value::Map(entries) = &mut node.value {
            // Room for anchors and notes, as in other tools' files.
            entries.retain(|entry| !entry.key.starts_with("x-"));
            if let Some(defaults) = entries.iter_mut().find(|entry| &*entry.key == "defaults") {
                relocate(&mut checker, &mut defaults.value);
                refuse_default_in_defaults(&mut checker, &defaults.value);
            }
        }
        checker.admit(&Shape::Object(&TOP), &mut node).then_some(node)
    }

    /// The agent that answers where no binding matches. Two that both claim it both fail:
    /// guessing between them would be answering for somebody.
    fn default_agent(&mut self, drafts: &BTreeMap<AgentId, Draft>) -> Option<AgentId> {
        let claims: Vec<(&AgentId, Span)> = drafts
            .iter()
            .filter_map(|(id, draft)| {
                let claim = draft.node.get("default")?;
                claim.bool()?.then_some((id, claim.span))
            })
            .collect();
        if let [(only, _)] = claims.as_slice() {
            return Some((*only).clone());
        }
        for (id, span) in &claims {
            let mut found = Diagnostic::error(
                &FindingOwner::Agent(id.as_str().into()),
                *span,
                format!("agent `{id}` is not the only one with `default: true`"),
            )
            .help("keep it on one agent");
            for (other, place) in claims.iter().filter(|(other, _)| other != id) {
                found = found.related(*place, format!("agent `{other}` says so too"));
            }
            self.report.push(found);
        }
        None
    }

    /// A guard of the shared part binds every agent, so every agent waits for it.
    fn refuse_unenforced(&mut self, top: &Node) {
        for (path, node) in enforcement::unenforced(&pick(top, &["hooks"])) {
            let message =
                format!("`{path}` restricts every agent and this version does not enforce it");
            self.report.push(
                Diagnostic::error(&FindingOwner::EveryAgent, node.span, message)
                    .help("remove it to run the agents without that guard"),
            );
        }
    }

    /// Leaves those without an error, so that nothing more is said about the others.
    fn drop_failed(&self, ready: &mut BTreeMap<AgentId, Arc<AgentConfig>>) {
        for found in self.report.errors() {
            if let FindingOwner::Agent(name) = &found.owner {
                ready.remove(&**name);
            }
        }
    }

    fn outcomes(
        &self,
        agents: &BTreeSet<AgentId>,
        mut ready: BTreeMap<AgentId, Arc<AgentConfig>>,
    ) -> BTreeMap<AgentId, AgentOutcome> {
        let mut reasons: BTreeMap<&str, (String, usize)> = BTreeMap::new();
        let mut of_all = None;
        // Where others wrote something else, an agent stays the same failed agent.
        let reason = |found: &Diagnostic| {
            let place = self.report.sources.describe_in_general(found.span);
            (format!("{place}: {}", found.message), 0)
        };
        for found in self.report.errors() {
            match &found.owner {
                FindingOwner::Agent(name) => {
                    reasons.entry(name).or_insert_with(|| reason(found)).1 += 1;
                }
                FindingOwner::EveryAgent => of_all.get_or_insert_with(|| reason(found)).1 += 1,
                FindingOwner::Shared | FindingOwner::Binding | FindingOwner::Account(_) => {}
            }
        }
        let why = |id: &AgentId| reasons.get(id.as_str()).or(of_all.as_ref());
        let outcome = |id: &AgentId| match (why(id), ready.remove(id)) {
            (None, Some(config)) => AgentOutcome::Ready(config),
            (Some((reason, 1)), _) => AgentOutcome::Failed(reason.as_str().into()),
            (Some((reason, count)), _) => {
                AgentOutcome::Failed(format!("{reason} (and {} more)", count - 1).into())
            }
            (None, None) => AgentOutcome::Failed("its configuration could not be resolved".into()),
        };
        let mut outcome = outcome;
        agents.iter().map(|id| (id.clone(), outcome(id))).collect()
    }

    /// The routes. Rules that contradict each other refuse, and the rest of them serves.
    fn router(&mut self, rules: &[Written], defaults: Defaults) -> Router {
        let bindings = rules.iter().map(|rule| rule.binding.clone()).collect();
        let told = |conflict: &Conflict| {
            let (first, second) = (&rules[conflict.first], &rules[conflict.second]);
            let both = format!("bindings {} and {}", first.number, second.number);
            match conflict.kind {
                ConflictKind::SameRule => format!("{both} match the same messages"),
                ConflictKind::SameRolePriority => {
                    format!("{both} differ only in the role, and a sender can hold both")
                }
            }
        };
        let (router, conflicts) = Router::compile_refusing(bindings, defaults, told);
        for conflict in conflicts {
            let (first, second) = (&rules[conflict.first], &rules[conflict.second]);
            let help = match conflict.kind {
                ConflictKind::SameRule => "remove one of them; until then both refuse",
                ConflictKind::SameRolePriority => {
                    "give one of them a higher `priority`; until then both refuse"
                }
            };
            self.report.push(
                Diagnostic::error(&FindingOwner::Binding, second.span, told(&conflict))
                    .related(first.span, format!("binding {}", first.number))
                    .help(help),
            );
        }
        router
    }
}

fn refuse_default_in_defaults(checker: &mut Checker<'_>, defaults: &Node) {
    for key in ["default", "name"] {
        if let Some(entry) = defaults.entries().iter().find(|entry| &*entry.key == key) {
            checker.error(entry.key_span, format!("`{key}` can't be the same for every agent"));
        }
    }
}

/// Other runtimes keep some settings of agents at the top; here they are defaults.
fn adopt_agent_keys(top: &mut Node) {
    let span = top.span;
    let Value::Map(entries) = &mut top.value else { return };
    let is_adopted = |key: &str| key == "toolsets" || MOVED.iter().any(|moved| moved.name == key);
    let adopted: Vec<MapEntry> = entries.extract_if(.., |entry| is_adopted(&entry.key)).collect();
    if adopted.is_empty() {
        return;
    }
    let at = entries.iter().position(|entry| &*entry.key == "defaults").unwrap_or_else(|| {
        entries.push(MapEntry {
            key: "defaults".into(),
            key_span: span,
            value: Node::empty_map(span),
        });
        entries.len() - 1
    });
    if let Value::Map(defaults) = &mut entries[at].value.value {
        defaults.extend(adopted);
    }
}

/// What every agent inherits: `defaults`, and below it the top-level keys that are theirs.
fn inherited(top: &Node) -> Node {
    let own = top.get("defaults").cloned().unwrap_or_else(|| Node::empty_map(top.span));
    let below = pick(top, &["model", "timezone", "approvals", "subagents", "hooks"])
        .in_layer(Layer::TopLevel);
    merge(own.in_layer(Layer::Defaults), &below)
}

fn pick(node: &Node, keys: &[&str]) -> Node {
    let entries = node.entries().iter().filter(|entry| keys.contains(&&*entry.key)).cloned();
    Node { value: Value::Map(entries.collect()), ..Node::empty_map(node.span) }
}

fn take(node: &mut Node, key: &str) -> Option<Node> {
    let Value::Map(entries) = &mut node.value else { return None };
    let at = entries.iter().position(|entry| &*entry.key == key)?;
    Some(entries.remove(at).value)
}
