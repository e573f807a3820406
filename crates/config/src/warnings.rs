//! What is not wrong and will still surprise somebody.

use crate::agent::AgentConfig;
use crate::bindings::Written;
use crate::daemon::DaemonConfig;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::settings::Setting;
use insula_domain::boundary::WorkspaceScope;
use insula_domain::{AccountId, AgentId, Effect, Platform};
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
                .help("name people under its `access.allow`"),
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
                .help("files written in one chat can be read in another"),
            );
        }
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
        let [first, rest @ ..] = rules.as_slice() else { continue };
        let who = match rest.len() {
            0 => format!("binding {} waits", first.number),
            1 => format!("bindings {} and {} wait", first.number, rest[0].number),
            more => format!("binding {} and {more} more wait", first.number),
        };
        let (message, help) = match account {
            None => (
                format!("{who} for {platform}, which has no account"),
                format!("add one under `channels.{platform}.accounts`"),
            ),
            Some(name) => (
                format!("{who} for account `{name}` of {platform}, which does not exist"),
                format!("add it under `channels.{platform}.accounts`"),
            ),
        };
        report.push(Diagnostic::warning(&FindingOwner::Shared, first.span, message).help(help));
    }
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
