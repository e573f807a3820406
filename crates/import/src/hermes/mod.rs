//! A home of Hermes Agent: the default profile at its root and one below `profiles/` for each
//! other. Known as its release 0.19 writes it.

mod access;
mod boards;
mod config;
mod parts;
mod state;

pub(crate) use parts::{close_memory, count};
pub(crate) use state::{messages, terminal};

use crate::doc::Doc;
use crate::env;
use crate::error::ImportError;
use crate::names;
use crate::place::Place;
use crate::plan::{AgentPlan, Fate, Note, Plan, SourceKind};
use crate::source_home::SourceHome;
use insula_config::yaml::Node;
use insula_domain::AgentId;
use serde_json::Value;
use std::path::Path;

/// The newest version of their configuration that is known.
const CONFIG_VERSION: i64 = 33;

/// What the profile at the root is called here.
const ROOT_AGENT: &str = "main";

/// One profile while it is read.
struct Profile<'p> {
    home: &'p SourceHome,
    /// What stands before its files: nothing, or `profiles/<name>/`.
    prefix: String,
    id: AgentId,
    is_root: bool,
    /// The name of its accounts here.
    account: String,
}

impl Profile<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Looks at a home. Copies of its databases go below `scratch`, under names that begin with
/// `name`.
pub fn read(path: &Path, (scratch, name): (&Path, &str)) -> Result<Plan, ImportError> {
    let home = SourceHome::open(path)?;
    let marks = ["config.yaml", "SOUL.md", "state.db", "memories", "profiles", ".env", "kanban.db"];
    let (found, _) = home.list("").map_err(|why| unreadable(&home, why))?;
    if !found.iter().any(|it| marks.contains(&&*it.name)) {
        let path = home.root().display().to_string();
        let why = format!("it has none of {}", marks.join(", "));
        return Err(ImportError::NoHome { path, of: "Hermes", why });
    }
    let has = |name: &str| found.iter().any(|it| &*it.name == name);
    // `.env` and a board are there too.
    if has("openclaw.json") && !has("config.yaml") && !has("state.db") {
        let path = home.root().display().to_string();
        let why = "its openclaw.json says that it is OpenClaw's; use `insula import openclaw`";
        return Err(ImportError::NoHome { path, of: "Hermes", why: why.to_owned() });
    }
    let mut plan = Plan::new(SourceKind::Hermes);
    let mut agents = Vec::new();
    let root = names::agent_id(ROOT_AGENT).ok_or_else(|| unreadable(&home, String::new()))?;
    let profile = Profile {
        home: &home,
        prefix: String::new(),
        id: root,
        is_root: true,
        account: ROOT_AGENT.to_owned(),
    };
    let mut first = one(&mut plan, &profile, "default", (scratch, &format!("{name}-root")))?;
    first.is_default = true;
    agents.push(first);
    for (number, other) in profiles(&mut plan, &home).into_iter().enumerate() {
        let Some(id) = names::agent_id(&other) else {
            let note = "its name can't be made into an id; rename it there and run this again";
            let from = Place::file(format!("profiles/{other}"));
            plan.row(Fate::Trouble, None, Note { what: "profile", from, note });
            continue;
        };
        if agents.iter().any(|it: &AgentPlan| it.id == id) {
            let note = format!(
                "another one is called `{id}` here too; rename it there and run this again"
            );
            let from = Place::file(format!("profiles/{other}"));
            plan.row(Fate::Trouble, None, Note { what: "profile", from, note: &note });
            continue;
        }
        let profile = Profile {
            home: &home,
            prefix: format!("profiles/{other}/"),
            account: id.to_string(),
            id,
            is_root: false,
        };
        agents.push(one(&mut plan, &profile, &other, (scratch, &format!("{name}-{number}")))?);
    }
    plan.agents = agents;
    state::hand_over(&mut plan);
    check_bindings(&mut plan);
    share_access(&mut plan);
    parts::close_memory(&mut plan);
    boards::take(&mut plan, &home, (scratch, name));
    parts::left_behind(&mut plan, &home);
    Ok(plan)
}

fn unreadable(home: &SourceHome, why: String) -> ImportError {
    ImportError::Unreadable { path: home.root().display().to_string(), why }
}

fn profiles(plan: &mut Plan, home: &SourceHome) -> Vec<String> {
    match home.list("profiles") {
        Ok((found, left)) => {
            for name in left {
                let from = Place::file(format!("profiles/{name}"));
                let note = "it is a link that leads out of the home, and is not followed";
                plan.row(Fate::Trouble, None, Note { what: "profile", from, note });
            }
            found
                .into_iter()
                .filter(|it| it.is_folder && !it.name.starts_with('.'))
                .map(|it| it.name)
                .collect()
        }
        Err(why) => {
            plan.row(
                Fate::Trouble,
                None,
                Note { what: "profiles", from: Place::file("profiles"), note: &why },
            );
            Vec::new()
        }
    }
}

/// Reads one profile.
fn one(
    plan: &mut Plan,
    profile: &Profile<'_>,
    origin: &str,
    scratch: (&Path, &str),
) -> Result<AgentPlan, ImportError> {
    let mut agent = AgentPlan::new(profile.id.clone(), origin);
    let doc = configuration(profile)?;
    let variables = match profile.home.text(&profile.path(".env")) {
        Ok(text) => env::parse(&profile.path(".env"), &text.unwrap_or_default()),
        Err(why) => {
            let from = Place::file(profile.path(".env"));
            plan.row(Fate::Trouble, Some(&profile.id), Note { what: "secrets", from, note: &why });
            Vec::new()
        }
    };
    if !profile.is_root {
        agent.set(&["name"], origin);
    }
    access::take(plan, &mut agent, profile, &variables);
    if let Some(doc) = &doc {
        config::take(plan, &mut agent, profile, doc);
    }
    if agent.get(&["sessions", "group"]).is_none() {
        // As it is there where nothing is said.
        agent.set(&["sessions", "group"], "per_user");
    }
    parts::description(plan, &mut agent, profile);
    parts::soul(plan, &mut agent, profile);
    parts::memory(plan, &mut agent, profile);
    parts::skills(plan, &mut agent, profile);
    parts::schedules(plan, &mut agent, profile);
    state::sessions(plan, &mut agent, profile, scratch);
    Ok(agent)
}

fn configuration(profile: &Profile<'_>) -> Result<Option<Doc>, ImportError> {
    let file = profile.path("config.yaml");
    let broken = |place: Place, why: String| ImportError::Broken { place, why };
    let text = profile.home.text(&file).map_err(|why| broken(Place::file(&file), why))?;
    let Some(text) = text else { return Ok(None) };
    let doc = Doc::yaml(&file, text).map_err(|(place, why)| broken(place, why))?;
    if let Some(version) = doc.root.get("_config_version")
        && let Some(found) = version.integer()
        && found > CONFIG_VERSION
    {
        let place = doc.place(version.span);
        return Err(ImportError::Newer { place, found, known: CONFIG_VERSION });
    }
    Ok(Some(doc))
}

/// Whether something is switched on, in any of the ways they write it.
fn is_on(text: &str) -> bool {
    ["true", "1", "yes", "on"].contains(&text.trim().to_ascii_lowercase().as_str())
}

/// The same of a value.
fn on(node: &Node) -> bool {
    node.text().is_some_and(is_on)
}

/// Rules that lead to profiles that are not there are told of, and kept: they refuse here.
fn check_bindings(plan: &mut Plan) {
    let missing: Vec<(AgentId, Place)> = plan
        .bindings
        .iter()
        .filter(|it| !plan.agents.iter().any(|agent| agent.id == it.agent))
        .map(|it| (it.agent.clone(), it.from.clone()))
        .collect();
    for (agent, from) in missing {
        let note = format!("there is no profile `{agent}`, so that the rule is left out");
        plan.row(Fate::Trouble, None, Note { what: "profile route", from, note: &note });
    }
    plan.bindings.retain(|it| plan.agents.iter().any(|agent| agent.id == it.agent));
}

/// Whoever may talk at the gateway could talk to every profile that it leads to.
fn share_access(plan: &mut Plan) {
    let Some((root, others)) = plan.agents.split_first_mut() else { return };
    let allowed = root.get(&["access", "allow"]).and_then(Value::as_array).cloned();
    let allowed = allowed.unwrap_or_default();
    let mut rows = Vec::new();
    for binding in &plan.bindings {
        let Some(agent) = others.iter_mut().find(|it| it.id == binding.agent) else { continue };
        // One with an account of its own has people of its own.
        let own = binding.fields.values().any(|it| it["account"] == agent.id.as_str());
        let Some(platform) = binding.fields.keys().next().filter(|_| !own) else { continue };
        let prefix = format!("{platform}:");
        let people =
            allowed.iter().filter(|it| it.as_str().is_some_and(|it| it.starts_with(&prefix)));
        let before = agent.get(&["access", "allow"]).cloned();
        people.for_each(|it| agent.add(&["access", "allow"], it.clone()));
        if agent.get(&["access", "allow"]) != before.as_ref() {
            rows.push((agent.id.clone(), binding.from.clone()));
        }
    }
    for (agent, from) in rows {
        let note = "who may talk to the default profile could talk to this one by the route, and still can";
        plan.row(Fate::Comes, Some(&agent), Note { what: "access.allow", from, note });
    }
}
