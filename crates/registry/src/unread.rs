//! Files that other runtimes would read and that are not read here, because whoever works for an
//! agent can write them.

use crate::context::AgentContext;
use crate::home::Home;
use insula_config::AgentConfig;
use insula_domain::AgentId;
use std::path::{Path, PathBuf};

/// Who an agent is, as a file of its folder or the home says.
const SOUL: &str = "SOUL.md";
/// Where a soul comes from that nobody wrote for this one agent.
const NOT_ITS_OWN: [&str; 2] = [SOUL, "built-in"];

/// An agent, as far as it depends on it what another runtime would read.
pub struct Reader<'a> {
    id: &'a AgentId,
    /// Where its soul comes from.
    soul: &'a str,
    /// Its workspace, where it is not the usual one.
    workspace: Option<&'a str>,
}

impl<'a> From<&'a AgentConfig> for Reader<'a> {
    fn from(config: &'a AgentConfig) -> Self {
        let workspace = config.workspace_path.as_deref();
        Self { id: &config.id, soul: &config.soul.origin, workspace }
    }
}

impl<'a> From<&'a AgentContext> for Reader<'a> {
    fn from(context: &'a AgentContext) -> Self {
        let path = context.config.settings.iter().find(|it| &*it.path == "workspace.path");
        let workspace = path.and_then(|it| it.value.as_str());
        Self { id: &context.id, soul: &context.identity.soul.origin, workspace }
    }
}

/// Souls in workspaces that would count elsewhere: a line for each, that says why they do not here
/// and what to do. An agent that has a soul of its own would not be told another's anywhere.
pub fn unread_souls<'a>(
    home: &Home,
    user_home: Option<&str>,
    agents: impl IntoIterator<Item = Reader<'a>>,
) -> Vec<String> {
    let asking = agents.into_iter().filter(|agent| NOT_ITS_OWN.contains(&agent.soul));
    let found = asking.filter_map(|agent| {
        let soul = workspace(home, user_home, &agent).join(SOUL);
        home.is_file(&soul).then(|| sentence(agent.id, &soul))
    });
    found.collect()
}

fn workspace(home: &Home, user_home: Option<&str>, agent: &Reader<'_>) -> PathBuf {
    let Some(path) = agent.workspace else { return home.agent(agent.id).join("workspace") };
    match (path.strip_prefix("~/"), user_home) {
        (Some(rest), Some(user_home)) => Path::new(user_home).join(rest),
        _ => PathBuf::from(path),
    }
}

fn sentence(id: &AgentId, soul: &Path) -> String {
    format!(
        "{} is not who agent `{id}` is: the agent, its programs and its chats can write there, and \
         could make it somebody else; if it is yours, `cp {} agents/{id}/{SOUL}` in the home",
        soul.display(),
        soul.display()
    )
}
