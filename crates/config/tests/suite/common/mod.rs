//! What the tests of this crate share: homes in folders and in memory, and a picture of
//! what was loaded, routes included, as the runtime computes them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use insula_config::files::{FileState, FolderFiles};
use insula_config::{AgentOutcome, FilesSnapshot, LoadReport, Loaded, load, render};
use insula_domain::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A home in memory.
pub fn home(files: &[(&str, &str)]) -> FilesSnapshot {
    let mut snapshot = FilesSnapshot::default();
    for (path, text) in files {
        let text = FileState::Text((*text).into());
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["config.yaml"] => snapshot.config = text,
            ["SOUL.md"] => snapshot.soul = text,
            ["agents", id, file] => {
                let folder: &mut FolderFiles =
                    snapshot.folders.entry((*id).to_owned()).or_default();
                match *file {
                    "agent.yaml" => folder.config = text,
                    "AGENTS.md" => folder.instructions = text,
                    "BOOT.md" => folder.boot = text,
                    _ => folder.soul = text,
                }
            }
            _ => panic!("{path}"),
        }
    }
    snapshot
}

pub fn load_text(yaml: &str) -> (LoadReport, Option<Loaded>) {
    load(&home(&[("config.yaml", yaml)]), &environment())
}

pub fn environment() -> BTreeMap<String, String> {
    ["TELEGRAM", "DISCORD", "SLACK"].map(|name| (name.to_owned(), "x".to_owned())).into()
}

/// Everything the tests look at, as text.
pub fn picture(report: &LoadReport, loaded: Option<&Loaded>, probes: &str) -> String {
    let mut out = render::text(report, render::Colour::Plain);
    let Some(loaded) = loaded else {
        out.push_str("\nrefused as a whole\n");
        return out;
    };
    for (id, outcome) in &loaded.agents {
        let _ = writeln!(out, "\nagent {id}");
        match outcome {
            AgentOutcome::Failed(reason) => {
                let _ = writeln!(out, "  failed: {reason}");
            }
            AgentOutcome::Ready(config) => {
                let models: Vec<String> = config.models.iter().map(ToString::to_string).collect();
                let tools: Vec<&str> = config.boundary.tools.exposed().collect();
                let memory = if config.memory.is_some() { "on" } else { "off" };
                let _ = writeln!(out, "  soul     {:?} ({})", config.soul.text, config.soul.origin);
                let _ = writeln!(out, "  models   {}", models.join(", "));
                let _ = writeln!(out, "  tools    {}", tools.join(" "));
                let _ = writeln!(out, "  memory   {memory}, scope {}", config.scope.as_str());
                let _ = writeln!(out, "  sessions {:?}", config.sessions);
                for setting in &config.settings {
                    let (path, value, origin) = (&setting.path, &setting.value, &setting.origin);
                    let _ = writeln!(out, "  {path} = {value} ({origin})");
                }
            }
        }
    }
    for probe in probes.lines() {
        let _ = writeln!(out, "\n{probe}\n  {}", route(loaded, &address(loaded, probe)));
    }
    out
}

/// Reads `platform key=value …`.
pub fn address(loaded: &Loaded, probe: &str) -> Address {
    let mut words = probe.split(' ');
    let platform = Platform::new(words.next().unwrap()).unwrap();
    let mut accounts = loaded.daemon.accounts.iter().filter(|it| it.platform == platform);
    let account = match (accounts.next(), accounts.next()) {
        (Some(only), None) => only.name.clone(),
        _ => AccountId::new("default").unwrap(),
    };
    let mut address = Address {
        platform,
        account,
        chat: ChatId::new("none").unwrap(),
        chat_type: ChatType::Dm,
        topic: None,
        parent: None,
        community: None,
        user: None,
        roles: Vec::new(),
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "account" => address.account = AccountId::new(value).unwrap(),
            "chat" => address.chat = ChatId::new(value).unwrap(),
            "type" => address.chat_type = ChatType::parse(value).unwrap(),
            "topic" => address.topic = Some(TopicId::new(value).unwrap()),
            "parent" => address.parent = Some(ChatId::new(value).unwrap()),
            "guild" => address.community = Some(Community::Guild(GuildId::new(value).unwrap())),
            "team" => address.community = Some(Community::Team(GuildId::new(value).unwrap())),
            "user" => address.user = Some(UserId::new(value).unwrap()),
            "role" => address.roles.push(RoleId::new(value).unwrap()),
            _ => panic!("{key}"),
        }
    }
    address
}

/// Where a message goes, by which tier, in which session and scope.
pub fn route(loaded: &Loaded, address: &Address) -> String {
    let (agent, tier) = match loaded.router.route(address) {
        Route::Nobody => {
            return "refused: no rule matches and there is no default agent".to_owned();
        }
        Route::Default(agent) => (agent, Tier::Default),
        Route::Bound { binding, .. } => {
            if let Some(why) = &binding.refusal {
                return format!("refused by {}: {why}", binding.matches.tier());
            }
            (&binding.agent, binding.matches.tier())
        }
    };
    match &loaded.agents[agent] {
        AgentOutcome::Failed(_) => format!("refused by {tier}: agent {agent} failed"),
        AgentOutcome::Ready(config) => {
            let key = SessionKey::of(agent, address, config.sessions);
            let user = address.user.as_ref();
            let person = user.and_then(|user| config.people.person(address.platform, user));
            let payload = insula_domain::ScopePayload {
                token: None,
                operation: insula_domain::MemoryOperation::Read,
                agent,
                session: &key,
                address,
                person,
                metadata: &config.metadata,
            };
            let scope = match config.scope.decide(&payload) {
                Ok(scope) => scope.to_string(),
                Err(denied) => denied.to_string(),
            };
            assert_eq!(key.to_string().parse::<SessionKey>().unwrap(), key);
            format!("{agent} by {tier}, session {key}, scope {scope}")
        }
    }
}
