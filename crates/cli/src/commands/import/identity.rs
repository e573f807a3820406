//! Which agent here an agent of theirs is: the one that an earlier import made of it, or a new
//! one under a name that is free. Somebody else's agent is never touched.

use crate::failure::Failure;
use crate::setting::Setting;
use insula_config::source::Sources;
use insula_config::yaml::{Node, parse};
use insula_domain::AgentId;
use insula_import::{Fate, Place, Plan, Row};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The file that says what an agent was made of.
const MARK: &str = "imported/source.json";

/// What an agent was made of, for the file that says so.
pub(super) struct Whereto {
    /// Of every agent of the plan, in its order.
    pub(super) marks: Vec<(PathBuf, String)>,
}

/// Decides about every agent, and calls them so in the whole plan.
pub(super) fn settle(setting: &Setting, plan: &mut Plan, path: &Path) -> Result<Whereto, Failure> {
    let home = &setting.home;
    let config = home.read(&home.config())?.unwrap_or_default();
    let config = tree("config.yaml", &config);
    let named = |id: &AgentId| {
        config
            .as_ref()
            .is_some_and(|it| it.get("agents").is_some_and(|it| it.get(id.as_str()).is_some()))
    };
    let mut taken: BTreeSet<AgentId> = BTreeSet::new();
    let mut marks = Vec::new();
    let mut renamed = Vec::new();
    for agent in &plan.agents {
        let mark = json!({
            "source": plan.source.as_str(),
            "home": path.display().to_string(),
            "agent": agent.origin,
        });
        let mut choices = vec![agent.id.clone()];
        for number in 1..100 {
            let number = if number == 1 { String::new() } else { format!("-{number}") };
            let stem: String = agent.id.as_str().chars().take(50).collect();
            choices.extend(AgentId::new(&format!("{stem}-{}{number}", plan.source.as_str())));
        }
        let mut found = None;
        for choice in choices.iter().filter(|it| !taken.contains(*it)) {
            if is_of(setting, choice, &mark)? {
                found = Some(choice.clone());
                break;
            }
        }
        if found.is_none() {
            let is_free = |id: &&AgentId| {
                let written = home.is_file(&home.agent(id).join("agent.yaml"));
                let used = home.is_file(&home.agent(id).join("agent.db"));
                !taken.contains(*id) && !named(id) && !written && !used
            };
            found = choices.iter().find(is_free).cloned();
        }
        let Some(id) = found else {
            let message =
                format!("no name is free for `{}`; delete or rename agents first", agent.id);
            return Err(Failure::Failed(message));
        };
        taken.insert(id.clone());
        marks.push((home.agent(&id).join(MARK), format!("{mark:#}\n")));
        renamed.push((agent.id.clone(), id));
    }
    rename(plan, &renamed);
    settle_default(setting, plan, config.as_ref())?;
    Ok(Whereto { marks })
}

/// Whether an agent here was made of that one there.
fn is_of(setting: &Setting, id: &AgentId, mark: &Value) -> Result<bool, Failure> {
    let text = setting.home.read(&setting.home.agent(id).join(MARK))?;
    let found = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    Ok(found.as_ref() == Some(mark))
}

fn tree(name: &str, text: &str) -> Option<Node> {
    let id = Sources::default().add(name, text);
    parse(id, text).ok()
}

fn rename(plan: &mut Plan, names: &[(AgentId, AgentId)]) {
    let new = |id: &AgentId| names.iter().find(|(old, _)| old == id).map(|(_, new)| new.clone());
    for row in &mut plan.rows {
        row.agent = row.agent.as_ref().and_then(|id| new(id).or_else(|| Some(id.clone())));
    }
    for secret in &mut plan.secrets {
        secret.agent = secret.agent.as_ref().and_then(|id| new(id).or_else(|| Some(id.clone())));
    }
    for binding in &mut plan.bindings {
        binding.agent = new(&binding.agent).unwrap_or_else(|| binding.agent.clone());
    }
    for (agent, (old, id)) in plan.agents.iter_mut().zip(names) {
        if old != id {
            plan.rows.push(Row {
                fate: Fate::Changes,
                agent: Some(id.clone()),
                what: format!("agent {}", agent.origin),
                from: Place::default(),
                note: format!("called `{id}` here, since there is a `{old}` already"),
            });
        }
        agent.id = id.clone();
    }
}

/// One agent answers where no rule leads elsewhere: theirs, unless somebody here does.
fn settle_default(
    setting: &Setting,
    plan: &mut Plan,
    config: Option<&Node>,
) -> Result<(), Failure> {
    let is_default = |node: &Node| node.get("default").and_then(Node::bool) == Some(true);
    let mut ours: Option<String> = None;
    for entry in config.and_then(|it| it.get("agents")).map(Node::entries).unwrap_or_default() {
        if is_default(&entry.value) {
            ours = Some(entry.key.to_string());
        }
    }
    for id in setting.home.agent_folders() {
        let text = setting.home.read(&setting.home.agent(&id).join("agent.yaml"))?;
        let is_theirs = plan.agents.iter().any(|it| it.id == id && it.is_default);
        if !is_theirs
            && text.and_then(|it| tree("agent.yaml", &it)).is_some_and(|it| is_default(&it))
        {
            ours = Some(id.to_string());
        }
    }
    let Some(at) = plan.agents.iter().position(|it| it.is_default) else { return Ok(()) };
    match ours {
        None => {
            plan.agents[at].settings.insert("default".to_owned(), json!(true));
        }
        Some(ours) => plan.rows.push(Row {
            fate: Fate::Changes,
            agent: Some(plan.agents[at].id.clone()),
            what: "default agent".to_owned(),
            from: Place::default(),
            note: format!("`{ours}` answers here where no binding matches, and still does"),
        }),
    }
    Ok(())
}
