//! What is not wrong and will still surprise somebody.

use crate::account::Account;
use crate::agent::AgentConfig;
use crate::bindings::Written;
use crate::daemon::DaemonConfig;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::model::{Lack, ModelRef, Providers};
use crate::resolve::silences::{THEIR_NUMBER, is_name_on_telegram};
use crate::schema::{AccountKeys, CONNECTED};
use crate::settings::Setting;
use crate::shape::quoted;
use crate::source::Span;
use crate::yaml::Node;
use insula_domain::boundary::{Boundary, WorkspaceScope};
use insula_domain::{AccountId, Act, AgentId, Effect, Match, Platform, Switch, TaintedRule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Adds the warnings that take more than one part of the configuration to see.
pub fn collect(
    report: &mut LoadReport,
    daemon: &DaemonConfig,
    ready: &BTreeMap<AgentId, Arc<AgentConfig>>,
    rules: &[Written],
    default: Option<&AgentId>,
) {
    without_channel(report, daemon, rules);
    names_on_telegram(report, rules);
    without_model(report, daemon, ready, rules);
    let mut by_agent: BTreeMap<&AgentId, Vec<&Written>> = BTreeMap::new();
    for rule in rules {
        by_agent.entry(&rule.binding.agent).or_default().push(rule);
    }
    for rule in rules {
        let Some(agent) = ready.get(&rule.binding.agent) else { continue };
        // Once an agent, at its first rule.
        let Some(mine) = by_agent.remove(&agent.id) else { continue };
        if admits_nobody(agent) {
            let message = format!(
                "agent `{}` is bound by binding {} and admits nobody",
                agent.id, rule.number
            );
            report.push(
                Diagnostic::warning(
                    &FindingOwner::Agent(agent.id.as_str().into()),
                    rule.span,
                    message,
                )
                .help(admission(agent, rule)),
            );
        }
        if shares_one_desk(agent, &mine, default) {
            let message = format!("agent `{}` serves several chats from one workspace", agent.id);
            report.push(
                Diagnostic::warning(
                    &FindingOwner::Agent(agent.id.as_str().into()),
                    rule.span,
                    message,
                )
                .help(desks(agent)),
            );
        }
    }
}

/// Tells of rules for somebody of Telegram by their name, which no message carries.
fn names_on_telegram(report: &mut LoadReport, rules: &[Written]) {
    for rule in rules {
        let Match { platform, user: Some(user), .. } = &rule.binding.matches else { continue };
        if is_name_on_telegram(&format!("{platform}:{user}")) {
            let message = format!(
                "binding {} is for `{user}`, which is nobody: Telegram tells a number, not a name",
                rule.number
            );
            let found = Diagnostic::warning(&FindingOwner::Binding, rule.span, message);
            report.push(found.help(THEIR_NUMBER));
        }
    }
}

/// Tells of what everybody depends on and is likely not meant.
pub fn shared(report: &mut LoadReport, daemon: &DaemonConfig, top: &Node) {
    if let Some(node) = top.get("listen").filter(|_| daemon.listen.ip().is_unspecified()) {
        let message =
            format!("`listen: {}` is open to every network of this machine", daemon.listen);
        let help = "`127.0.0.1` keeps it here; others reach it better by a tunnel, or a proxy that asks who they are";
        report.push(Diagnostic::warning(&FindingOwner::Shared, node.span, message).help(help));
    }
}

/// Tells of accounts that leave an agent a model which it does not have: nobody who comes by them
/// is answered.
fn without_model(
    report: &mut LoadReport,
    daemon: &DaemonConfig,
    ready: &BTreeMap<AgentId, Arc<AgentConfig>>,
    rules: &[Written],
) {
    for rule in rules {
        let Some(agent) = ready.get(&rule.binding.agent) else { continue };
        let Match { platform, account, .. } = &rule.binding.matches;
        let leads = |it: &&Account| {
            it.platform == *platform && account.as_ref().is_none_or(|name| *name == it.name)
        };
        for account in daemon.accounts.iter().filter(leads) {
            let Some(narrowing) = &account.narrowing else { continue };
            let has = |it: &ModelRef| narrowing.leaves_model(&it.to_string(), &it.name);
            if agent.models.iter().any(has) {
                continue;
            }
            let model = narrowing.model.as_deref().unwrap_or_default();
            let message = format!(
                "account `{platform}.{}` leaves only model `{model}`, which agent `{}` does not have",
                account.name, agent.id
            );
            let models: Vec<String> = agent.models.iter().map(ToString::to_string).collect();
            let help = format!(
                "what comes by it is refused; the agent has {}, and the account's `model` is one of those or left out",
                models.join(", ")
            );
            report.push(Diagnostic::warning(&FindingOwner::Binding, rule.span, message).help(help));
        }
    }
}

/// Tells of an agent that asks before every program: what it finds in folders that others write to
/// could steer it, and it could tell what it finds.
pub fn always_asks(
    report: &mut LoadReport,
    agent: &AgentConfig,
    span: Span,
    user_home: Option<&str>,
) {
    let Boundary { tools, integrity, network, .. } = &agent.boundary;
    let runs = [Effect::RunProgram, Effect::RunCode];
    let mut programs =
        tools.entries().filter(|(tool, verdict)| verdict.is_in() && tool.first_of(&runs).is_some());
    let is_asked = programs.any(|(tool, _)| {
        let ruling = integrity.ruling(tool.name, [Act::Program]);
        ruling.is_some_and(|it| it.rule == TaintedRule::Ask)
    });
    let reaches = !network.is_none() || agent.programs.sandbox == Switch::Off;
    let folders = agent.boundary.untrusted_folders(user_home);
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    if !is_asked || !reaches || folders.is_empty() {
        return;
    }
    let message = format!(
        "agent `{}` asks before every program: its programs reach the network and see {}, whose words count as those of others",
        agent.id,
        quoted(&folders)
    );
    let trusted: Vec<String> = folders.iter().map(|it| format!("\"folder:{it}\"")).collect();
    let help = format!(
        "if nobody but you writes there, say so: `integrity: {{trusted: [{}]}}`; what is noted of its own files falls with `insula files trust {}`",
        trusted.join(", "),
        agent.id
    );
    let owner = FindingOwner::Agent(agent.id.as_str().into());
    report.push(Diagnostic::warning(&owner, span, message).help(help));
}

/// What one desk for several chats means, and how each gets its own.
fn desks(agent: &AgentConfig) -> String {
    let means = "files written in one chat can be read in another";
    match agent.settings.iter().any(|setting| setting.path.starts_with("workspace")) {
        true => format!("{means}; `workspace.scope: chat` gives each its own folder"),
        false => format!(
            "{means}; `insula agents set {} workspace '{{scope: chat}}'` gives each its own folder",
            agent.id
        ),
    }
}

/// How somebody is let in. Who writes directly gets a code unless that is turned off.
fn admission(agent: &AgentConfig, rule: &Written) -> String {
    let (id, platform) = (&agent.id, rule.binding.matches.platform);
    let allow = format!("insula agents set {id} access '{{allow: [\"{platform}:ID\"]}}'");
    let code = "who writes to it directly gets a code for `insula pairing approve`";
    let writes = |path: &str| agent.settings.iter().any(|setting| setting.path.starts_with(path));
    match writes("access") {
        true => "name people under its `access.allow`".to_owned(),
        false => format!("{code}; or name people: `{allow}`"),
    }
}

/// Tells of providers that agents ask and that can't be asked: once each, where one is first named.
pub fn providers(
    report: &mut LoadReport,
    providers: &Providers,
    asked: &[(Box<str>, Span, AgentId)],
) {
    let mut lacking: BTreeMap<&str, (Lack, Span, BTreeSet<&AgentId>)> = BTreeMap::new();
    for (name, span, agent) in asked {
        let Some(lack) = providers.lacks(name) else { continue };
        lacking.entry(name).or_insert_with(|| (lack, *span, BTreeSet::new())).2.insert(agent);
    }
    for (name, (lack, span, agents)) in lacking {
        let who: Vec<&AgentId> = agents.into_iter().collect();
        let who = match who.as_slice() {
            [one] => format!("agent `{one}` asks it"),
            [one, other] => format!("agents `{one}` and `{other}` ask it"),
            [one, rest @ ..] => format!("agent `{one}` and {} more ask it", rest.len()),
            [] => continue,
        };
        let (what, help) = match lack {
            Lack::Secret(secret) => {
                ("key", format!("set it with `insula secret set --daemon {secret}`"))
            }
            Lack::Key => (
                "key",
                format!(
                    "write `api_key: \"${{secret:NAME}}\"` under `providers.{name}`, and set it with `insula secret set --daemon NAME`"
                ),
            ),
            Lack::Address => ("address", format!("write `base_url` under `providers.{name}`")),
        };
        let message = format!("provider `{name}` has no {what}, and {who}");
        let found = Diagnostic::warning(&FindingOwner::Shared, span, message).help(help);
        report.push(match lack {
            Lack::Secret(secret) => found.unless_set(secret),
            Lack::Key | Lack::Address => found,
        });
    }
}

/// Once for each platform or account that is missing, at its first rule.
fn without_channel(report: &mut LoadReport, daemon: &DaemonConfig, rules: &[Written]) {
    let accounts: BTreeSet<_> = daemon.accounts.iter().map(|it| (it.platform, &it.name)).collect();
    let platforms: BTreeSet<Platform> = accounts.iter().map(|(platform, _)| *platform).collect();
    let mut missing: BTreeMap<(Platform, Option<&AccountId>), Vec<&Written>> = BTreeMap::new();
    for rule in rules {
        let matches = &rule.binding.matches;
        let platform = matches.platform;
        let there = match &matches.account {
            None => platforms.contains(&platform),
            Some(name) => accounts.contains(&(platform, name)),
        };
        if !there && platform != Platform::CLI && platform != Platform::API {
            missing.entry((platform, matches.account.as_ref())).or_default().push(rule);
        }
    }
    for ((platform, account), rules) in missing {
        // A rule with several roles is several of one number.
        let mut rules = rules;
        rules.dedup_by_key(|rule| rule.number);
        let [first, rest @ ..] = rules.as_slice() else { continue };
        let who = match rest.len() {
            0 => format!("binding {} waits", first.number),
            1 => format!("bindings {} and {} wait", first.number, rest[0].number),
            more => format!("binding {} and {more} more wait", first.number),
        };
        let speaks = |it: &AccountKeys| it.platform == platform.as_str();
        if !CONNECTED.iter().any(speaks) {
            let message = format!("{who} for {platform}, which this version does not speak");
            let known: Vec<&str> = CONNECTED.iter().map(|it| it.platform).collect();
            let help = format!("it speaks {}; the binding holds once it does", quoted(&known));
            report.push(Diagnostic::warning(&FindingOwner::Shared, first.span, message).help(help));
            continue;
        }
        let (message, help) = match account {
            None => (
                format!("{who} for {platform}, which has no account"),
                format!(
                    "add one under `channels.{platform}.accounts`, such as `{}`",
                    account_like(platform)
                ),
            ),
            Some(name) => (
                format!("{who} for account `{name}` of {platform}, which does not exist"),
                format!("add it under `channels.{platform}.accounts`"),
            ),
        };
        report.push(Diagnostic::warning(&FindingOwner::Shared, first.span, message).help(help));
    }
}

/// An account as it is written, by what its platform needs.
fn account_like(platform: Platform) -> String {
    let keys = CONNECTED.iter().find(|it| it.platform == platform.as_str());
    let wanted = keys.into_iter().flat_map(|it| it.required.iter().chain(it.usual));
    let name = platform.as_str().to_ascii_uppercase();
    let parts: Vec<String> = wanted
        .map(|key| match *key {
            "homeserver" | "base_url" => format!("{key}: \"https://…\""),
            "number" => format!("{key}: \"+…\""),
            "phone_number_id" => format!("{key}: \"…\""),
            key => format!("{key}: \"${{secret:{name}_{}}}\"", key.to_ascii_uppercase()),
        })
        .collect();
    format!("main: {{{}}}", parts.join(", "))
}

fn admits_nobody(agent: &AgentConfig) -> bool {
    let names_somebody = |setting: &Setting| {
        matches!(&*setting.path, "access.allow" | "access.admins")
            && setting.value.as_array().is_some_and(|list| !list.is_empty())
    };
    !agent.settings.iter().any(names_somebody)
}

fn shares_one_desk(agent: &AgentConfig, mine: &[&Written], default: Option<&AgentId>) -> bool {
    let touches_files = agent.boundary.tools.entries().any(|(tool, verdict)| {
        verdict.is_in()
            && tool.first_of(&[Effect::ReadFiles, Effect::WriteFiles, Effect::RunProgram]).is_some()
    });
    if !touches_files || agent.boundary.files.workspace != WorkspaceScope::Agent {
        return false;
    }
    let one_chat_only = |rule: &Written| rule.binding.matches.chat.is_some();
    mine.len() > 1 || default == Some(&agent.id) || !mine.iter().all(|rule| one_chat_only(rule))
}
