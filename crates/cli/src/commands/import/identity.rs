//! Which agent here an agent of theirs is: the one that an earlier import made of it, whatever it
//! is called by now, or a new one under a name that is free. Somebody else's agent is never touched.

use super::brought::Brought;
use crate::failure::Failure;
use crate::setting::Setting;
use insula_config::source::Sources;
use insula_config::yaml::{Node, parse};
use insula_domain::AgentId;
use insula_import::{Fate, Place, Plan, Row};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The file that says what an agent was made of.
const MARK: &str = "imported/source.json";

/// What an agent was made of, for the file that says so.
pub(super) struct Whereto {
    pub(super) marks: BTreeMap<AgentId, (PathBuf, String)>,
}

/// Decides about every agent, and calls them so in the whole plan.
pub(super) fn settle(
    setting: &Setting,
    plan: &mut Plan,
    (path, brought): (&Path, &Brought),
) -> Result<Whereto, Failure> {
    let home = &setting.home;
    let config = home.read(&home.config())?.unwrap_or_default();
    let config = tree("config.yaml", &config);
    let named = |id: &AgentId| {
        config
            .as_ref()
            .is_some_and(|it| it.get("agents").is_some_and(|it| it.get(id.as_str()).is_some()))
    };
    let made = made(setting, brought)?;
    let mut taken: BTreeSet<AgentId> = BTreeSet::new();
    let mut marks = BTreeMap::new();
    let mut names = Vec::new();
    for agent in &plan.agents {
        let mut choices = vec![agent.id.clone()];
        for number in 1..100 {
            let number = if number == 1 { String::new() } else { format!("-{number}") };
            let stem: String = agent.id.as_str().chars().take(50).collect();
            choices.extend(AgentId::new(&format!("{stem}-{}{number}", plan.source.as_str())));
        }
        let known = made.iter().filter(|(_, origin)| *origin == agent.origin).map(|(id, _)| id);
        let known: Vec<&AgentId> = known.filter(|id| !taken.contains(*id)).collect();
        // Of several, the one that is called as it was.
        let found = choices.iter().find(|it| known.contains(it)).or(known.first().copied());
        let is_free = |id: &&AgentId| {
            let written = home.is_file(&home.agent(id).join("agent.yaml"));
            let used = home.is_file(&home.agent(id).join("agent.db"));
            !taken.contains(*id) && !named(id) && !written && !used
        };
        let Some(id) = found.or_else(|| choices.iter().find(is_free)).cloned() else {
            let message =
                format!("no name is free for `{}`; delete or rename agents first", agent.id);
            return Err(Failure::Failed(message));
        };
        let mark = json!({
            "source": plan.source.as_str(),
            "home": path.display().to_string(),
            "agent": agent.origin,
        });
        taken.insert(id.clone());
        marks.insert(id.clone(), (home.agent(&id).join(MARK), format!("{mark:#}\n")));
        let why = match found {
            Some(_) => "it came over before".to_owned(),
            None => format!("there is a `{}` already", agent.id),
        };
        names.push((agent.id.clone(), id, why));
    }
    rename(plan, &names);
    settle_default(setting, plan, config.as_ref())?;
    Ok(Whereto { marks })
}

/// The agents here that were made of some of that home, and what each is called there.
fn made(setting: &Setting, brought: &Brought) -> Result<Vec<(AgentId, String)>, Failure> {
    let home = &setting.home;
    let mut made = Vec::new();
    for id in home.agent_folders() {
        let mark = home.agent(&id).join(MARK);
        if !home.is_file(&mark) {
            continue;
        }
        let text = home.read(&mark)?.unwrap_or_default();
        let mark: Value = serde_json::from_str(&text).unwrap_or_default();
        if brought.is_of(&mark) {
            made.push((id, mark["agent"].as_str().unwrap_or_default().to_owned()));
        }
    }
    made.sort();
    Ok(made)
}

fn tree(name: &str, text: &str) -> Option<Node> {
    let id = Sources::default().add(name, text);
    parse(id, text).ok()
}

fn rename(plan: &mut Plan, names: &[(AgentId, AgentId, String)]) {
    let new = |old: &AgentId| {
        let found = names.iter().find(|(known, ..)| known == old);
        found.map_or_else(|| old.clone(), |(_, id, _)| id.clone())
    };
    for row in &mut plan.rows {
        row.agent = row.agent.as_ref().map(new);
    }
    for secret in &mut plan.secrets {
        secret.agent = secret.agent.as_ref().map(new);
    }
    for binding in &mut plan.bindings {
        binding.agent = new(&binding.agent);
    }
    for board in &mut plan.boards {
        board.agents = board.agents.iter().map(new).collect();
        for card in &mut board.cards {
            let id = card.assignee.as_ref().and_then(|it| AgentId::new(it).ok());
            card.assignee = id.map(|id| new(&id).to_string());
        }
    }
    for (agent, (old, id, why)) in plan.agents.iter_mut().zip(names) {
        if old != id {
            plan.rows.push(Row {
                fate: Fate::Changes,
                agent: Some(id.clone()),
                what: format!("agent {}", agent.origin),
                from: Place::default(),
                note: format!("called `{id}` here; {why}"),
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
