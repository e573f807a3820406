//! The shared part: what the daemon itself runs by.

use crate::account::{self, Account};
use crate::board::{self, BoardPlaces, Boards};
use crate::budget::{self, DaemonBudget, Prices};
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::model::Providers;
use crate::resolve::check_hook;
use crate::rules::{self, Reference, references};
use crate::sensitive::looks_like_credential;
use crate::shape::quoted;
use crate::source::Span;
use crate::suggest::nearest;
use crate::written_providers;
use crate::yaml::{Node, Value};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Where the daemon listens unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7717);

/// What the daemon itself runs by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonConfig {
    pub listen: SocketAddr,
    /// What those who ask over HTTP may do.
    pub api: ApiConfig,
    /// What it writes about its work.
    pub logging: Logging,
    /// How state is kept.
    pub store: StoreConfig,
    /// Model providers.
    pub providers: Providers,
    /// Connections to platforms.
    pub accounts: Vec<Account>,
    /// What all agents together may spend.
    pub budget: DaemonBudget,
    /// What models cost, where the operator says.
    pub prices: Prices,
    /// Boards that agents share.
    pub boards: Boards,
    /// Where each right on them stands.
    pub board_places: BoardPlaces,
}

impl Default for DaemonConfig {
    /// What holds where nobody wrote anything.
    fn default() -> Self {
        Self {
            listen: DEFAULT_LISTEN,
            api: ApiConfig::default(),
            logging: logging(None),
            store: store(None),
            providers: Providers::default(),
            accounts: Vec::new(),
            budget: DaemonBudget::default(),
            prices: Prices::new(),
            boards: Boards::new(),
            board_places: BoardPlaces::new(),
        }
    }
}

/// What those who ask over HTTP may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiConfig {
    /// Whether whoever comes over HTTP may change anything.
    pub changes: bool,
    /// Whether a request to `/v1` may bring tools of its own.
    pub client_tools: bool,
    /// Whose pages may ask `/v1`, as browsers name them.
    pub cors: Vec<Box<str>>,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self { changes: true, client_tools: true, cors: Vec::new() }
    }
}

impl ApiConfig {
    /// Whether pages of this origin may ask.
    pub fn welcomes(&self, origin: &str) -> bool {
        self.cors.iter().any(|known| **known == *origin)
    }
}

/// Logging levels as a filter says them: the one for everything first, then those of parts.
fn level(node: Option<&Node>) -> Box<str> {
    let Some(level) = node.and_then(|node| node.get("level")) else { return "info".into() };
    if let Some(all) = level.text() {
        return all.into();
    }
    let mut others = Vec::new();
    let mut all = "info";
    for entry in level.entries() {
        let Some(level) = entry.value.text() else { continue };
        match &*entry.key {
            "default" => all = level,
            part => others.push(format!("insula_{part}={level}")),
        }
    }
    // What a part says of turns and of agents' lives has names of its own, whoever says it.
    let same = |part: &str, name: &str| {
        let level = others.iter().find_map(|it| it.strip_prefix(&format!("insula_{part}=")));
        level.map(|level| format!("{name}={level}"))
    };
    let named = [same("turns", "insula::turn"), same("registry", "insula::life")];
    others.extend(named.into_iter().flatten());
    others.insert(0, all.to_owned());
    others.join(",").into()
}

/// What the daemon writes about its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logging {
    /// `error` to `trace`, and where parts differ, those behind it: `info,insula_turns=debug`.
    pub level: Box<str>,
    /// For people or for programs.
    pub format: LogFormat,
    /// A file instead of standard error.
    pub file: Option<Box<str>>,
    /// A collector that is sent spans.
    pub otlp: Option<Box<str>>,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How state is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreConfig {
    /// What a commit survives.
    pub durability: Durability,
    /// Agents' databases open at once.
    pub open_max: usize,
    /// When an unused database is closed.
    pub idle_close: Duration,
}

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut.
    Power,
    /// The end of the process.
    Process,
}

impl Durability {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Process => "process",
        }
    }
}

/// Reads the shared part of a checked tree. `env` is the environment at start.
pub fn read(report: &mut LoadReport, top: &Node, env: &BTreeMap<String, String>) -> DaemonConfig {
    let mut reader = Reader { report, env };
    if let Some(kind) = top.get("store").and_then(|store| store.get("kind"))
        && kind.text() == Some("postgres")
    {
        let found = Diagnostic::error(
            &FindingOwner::Shared,
            kind.span,
            "PostgreSQL is not available in this version",
        );
        reader.report.push(found.help("use `sqlite`, or leave `store.kind` out"));
    }
    for part in ["providers", "logging", "store"] {
        if let Some(node) = top.get(part) {
            reader.check_references(node);
        }
    }
    for event in top.get("hooks").map(Node::entries).unwrap_or_default() {
        for hook in event.value.items() {
            let within = |inner: Span| {
                let outer = hook.span;
                inner.source == outer.source && outer.start <= inner.start && inner.end <= outer.end
            };
            // A way that is written wrongly was said before, and is none.
            let is_said = reader.report.errors().any(|found| within(found.span));
            if let (false, Some(problem)) = (is_said, check_hook(hook, &event.key)) {
                reader.report.push(Diagnostic::error(&FindingOwner::Shared, hook.span, problem));
            }
        }
    }
    DaemonConfig {
        listen: text(top, "listen").and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_LISTEN),
        api: api(top.get("api")),
        logging: logging(top.get("logging")),
        store: store(top.get("store")),
        providers: reader.providers(top),
        accounts: account::read(reader.report, top.get("channels"), env),
        budget: budget::of_daemon(top.get("budget")),
        prices: budget::prices(top.get("prices")),
        boards: board::read(top.get("boards")),
        board_places: board::places(top.get("boards"), &reader.report.sources),
    }
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::text)
}

fn api(node: Option<&Node>) -> ApiConfig {
    let cors = node.and_then(|node| node.get("cors")).map(Node::items).unwrap_or_default();
    // A browser writes scheme and host in lower case.
    let cors = cors.iter().filter_map(Node::text).map(|it| it.to_ascii_lowercase().into());
    let is = |key| node.and_then(|node| node.get(key)).and_then(Node::bool);
    let usual = ApiConfig::default();
    ApiConfig {
        changes: is("changes").unwrap_or(usual.changes),
        client_tools: is("client_tools").unwrap_or(usual.client_tools),
        cors: cors.collect(),
    }
}

fn logging(node: Option<&Node>) -> Logging {
    let get = |key| node.and_then(|node| text(node, key));
    Logging {
        level: level(node),
        format: if get("format") == Some("json") { LogFormat::Json } else { LogFormat::Text },
        file: get("file").map(Into::into),
        otlp: get("otlp").map(Into::into),
    }
}

fn store(node: Option<&Node>) -> StoreConfig {
    let get = |key| node.and_then(|node| node.get(key));
    StoreConfig {
        durability: match get("durability").and_then(Node::text) {
            Some("process") => Durability::Process,
            _ => Durability::Power,
        },
        open_max: get("open_max")
            .and_then(Node::integer)
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(256),
        idle_close: get("idle_close")
            .and_then(Node::text)
            .and_then(rules::duration)
            .unwrap_or(Duration::from_secs(60)),
    }
}

struct Reader<'r> {
    report: &'r mut LoadReport,
    env: &'r BTreeMap<String, String>,
}

impl Reader<'_> {
    fn warn(&mut self, node: &Node, message: String, help: &str) {
        self.report.push(Diagnostic::warning(&FindingOwner::Shared, node.span, message).help(help));
    }

    fn warn_of_credential(&mut self, node: &Node, message: String) {
        let found = Diagnostic::warning(&FindingOwner::Shared, node.span, message);
        self.report.push(found.help("write `${secret:NAME}` instead").conceal());
    }

    fn check_references(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { text, .. } => match references(text) {
                Ok(found) => {
                    if found.is_empty() && looks_like_credential(text) {
                        let message = "what looks like a credential stands in the file".to_owned();
                        self.warn_of_credential(node, message);
                    }
                    for reference in found {
                        self.check_reference(node, reference);
                    }
                }
                Err(problem) => {
                    self.report.push(Diagnostic::error(&FindingOwner::Shared, node.span, problem));
                }
            },
            Value::List(items) => items.iter().for_each(|item| self.check_references(item)),
            Value::Map(entries) => {
                entries.iter().for_each(|entry| self.check_references(&entry.value));
            }
        }
    }

    fn check_reference(&mut self, node: &Node, reference: Reference<'_>) {
        match reference {
            Reference::Secret(name) => {
                let message = format!("secret `{name}` of the daemon is not set");
                let help = format!("set it with `insula secret set --daemon {name}`");
                let found = Diagnostic::warning(&FindingOwner::Shared, node.span, message);
                self.report.push(found.help(help).unless_set(name));
            }
            Reference::Env(name) if !self.env.contains_key(name) => {
                let message = format!("`{name}` is not in the environment");
                self.warn(node, message, "set it before the daemon starts; it is read once");
            }
            Reference::Env(_) => {}
        }
    }

    fn providers(&mut self, top: &Node) -> Providers {
        let written = top.get("providers");
        let configured = written_providers::read(self.report, &FindingOwner::Shared, written);
        let mut providers = Providers { configured, default: None };
        if let Some(node) = top.get("default_provider")
            && let Some(name) = node.text()
        {
            if providers.knows(name) {
                providers.default = Some(name.into());
            } else {
                let names = providers.names();
                let help = nearest(name, names.iter().copied()).map_or_else(
                    || format!("use one of {}, or add it under `providers`", quoted(&names)),
                    |near| format!("did you mean `{near}`?"),
                );
                let message = format!("`default_provider` names `{name}`, which does not exist");
                self.report
                    .push(Diagnostic::error(&FindingOwner::Shared, node.span, message).help(help));
            }
        }
        providers
    }
}
