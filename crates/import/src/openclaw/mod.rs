//! A home of OpenClaw: one configuration, and for each agent a workspace and a database. Known as
//! its release 2026.9 writes it; older ones keep sessions and tasks in files, which are read too.

mod address;
mod channels;
mod config;
mod state;
mod templates;
mod transcript;
mod workspace;

pub(crate) use transcript::{messages, messages_of_lines};

use crate::doc::Doc;
use crate::env::{self, Variable};
use crate::error::ImportError;
use crate::names;
use crate::place::Place;
use crate::plan::{AgentPlan, Fate, Note, Plan, SourceKind};
use crate::source_home::SourceHome;
use insula_config::yaml::Node;
use insula_domain::AgentId;
use std::path::Path;

/// What their configuration is called; older releases called it otherwise.
const CONFIGS: [&str; 3] = ["openclaw.json", "clawdbot.json", "moltbot.json"];

/// The agent where none is written.
const ONLY_AGENT: &str = "main";

/// What all of it is read with.
struct Reading<'r> {
    home: &'r SourceHome,
    doc: &'r Doc,
    variables: &'r [Variable],
}

impl Reading<'_> {
    /// A value by its path.
    fn get(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(&self.doc.root, |at, key| at.get(key))
    }

    /// A text, with the variable it names put in. `Err` has the name of one that is not set.
    fn resolved(&self, node: &Node) -> Result<String, String> {
        let named = |name: &str| {
            let found = self.variables.iter().find(|it| it.name == name && !it.value.is_empty());
            found.map(|it| it.value.clone()).ok_or_else(|| name.to_owned())
        };
        match node.text() {
            Some(text) => match text.strip_prefix("${").and_then(|it| it.strip_suffix('}')) {
                Some(name) => named(name),
                None => Ok(text.to_owned()),
            },
            // A secret that is kept elsewhere.
            None => {
                let id = node.get("id").and_then(Node::text).unwrap_or("a secret kept elsewhere");
                named(id)
            }
        }
    }
}

/// Looks at a home. Copies of its databases go below `scratch`, under names that begin with
/// `name`.
pub fn read(path: &Path, (scratch, name): (&Path, &str)) -> Result<Plan, ImportError> {
    let home = SourceHome::open(path)?;
    let doc = configuration(&home)?;
    let mut plan = Plan::new(SourceKind::OpenClaw);
    let variables = match home.text(".env") {
        Ok(text) => env::parse(".env", &text.unwrap_or_default()),
        Err(why) => {
            plan.row(
                Fate::Trouble,
                None,
                Note { what: "secrets", from: Place::file(".env"), note: &why },
            );
            Vec::new()
        }
    };
    let reading = Reading { home: &home, doc: &doc, variables: &variables };
    let generated = state::shared(&mut plan, &reading, (scratch, &format!("{name}-shared")));
    let found = agents(&mut plan, &reading);
    let first = found.iter().position(|(it, _)| it.is_default).unwrap_or_default();
    for (number, (mut agent, entry)) in found.into_iter().enumerate() {
        agent.is_default = number == first;
        config::take(&mut plan, &mut agent, &reading, entry);
        workspace::take(&mut plan, &mut agent, &reading, (entry, &generated));
        state::sessions(&mut plan, &mut agent, &reading, (scratch, &format!("{name}-{number}")));
        plan.agents.push(agent);
    }
    config::shared(&mut plan, &reading);
    channels::take(&mut plan, &reading);
    state::tasks_and_people(&mut plan, &reading, generated);
    crate::hermes::close_memory(&mut plan);
    Ok(plan)
}

fn configuration(home: &SourceHome) -> Result<Doc, ImportError> {
    for file in CONFIGS {
        let broken = |place: Place, why: String| ImportError::Broken { place, why };
        let text = home.text(file).map_err(|why| broken(Place::file(file), why))?;
        let Some(text) = text else { continue };
        let load = |name: &str| {
            let name = name.trim_start_matches("./");
            home.text(name)?.ok_or_else(|| "there is no such file".to_owned())
        };
        return Doc::json5_with(file, text, &load).map_err(|(place, why)| broken(place, why));
    }
    let path = home.root().display().to_string();
    let why = format!("it has no {}", CONFIGS[0]);
    Err(ImportError::NoHome { path, of: "OpenClaw", why })
}

/// The agents that are written, or the only one there is.
fn agents<'r>(plan: &mut Plan, reading: &'r Reading<'_>) -> Vec<(AgentPlan, Option<&'r Node>)> {
    let mut found: Vec<(AgentPlan, Option<&Node>)> = Vec::new();
    let entries = reading.get(&["agents", "entries"]).map(Node::entries).unwrap_or_default();
    let entries = entries.iter().map(|it| (it.key.to_string(), &it.value));
    let list = reading.get(&["agents", "list"]).map(Node::items).unwrap_or_default().iter();
    let list =
        list.map(|it| (it.get("id").and_then(Node::text).unwrap_or_default().to_owned(), it));
    for (name, node) in entries.chain(list) {
        let from = reading.doc.place(node.span);
        let taken = |id: &AgentId| found.iter().any(|(it, _)| it.id == *id);
        let id = names::agent_id(&name).filter(|id| !taken(id));
        let Some(id) = id else {
            let note =
                "its name can't be made into an id of its own; rename it there and run this again";
            plan.row(Fate::Trouble, None, Note { what: &format!("agent {name}"), from, note });
            continue;
        };
        let mut agent = AgentPlan::new(id.clone(), &name);
        agent.is_default = node.get("default").and_then(Node::bool) == Some(true);
        plan.row(Fate::Comes, Some(&id), Note { what: "agent", from, note: "an agent" });
        found.push((agent, Some(node)));
    }
    if found.is_empty()
        && let Some(id) = names::agent_id(ONLY_AGENT)
    {
        let from = Place::file(CONFIGS[0]);
        plan.row(Fate::Comes, Some(&id), Note { what: "agent", from, note: "the only one there" });
        found.push((AgentPlan::new(id, ONLY_AGENT), None));
    }
    if !found.iter().any(|(it, _)| it.is_default)
        && let Some((main, _)) = found.iter_mut().find(|(it, _)| it.origin == ONLY_AGENT)
    {
        main.is_default = true;
    }
    found
}
