//! What a configuration comes to, every value with its origin, for people and programs.

use crate::agent::AgentConfig;
use crate::diagnostic::LoadReport;
use crate::load::{AgentOutcome, Loaded};
use crate::render;
use crate::schema::AGENT;
use crate::sensitive::{HIDDEN, is_sensitive, only_refers};
use crate::shape::{Field, Object, Shape, shorten};
use insula_domain::{AgentId, DmSessions, GroupSessions, Selector, ToolSpec, ToolVerdict};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;

/// Whether this version runs the tool of that name. What a file grants and what there is are two
/// things, and only who has the tools knows the second.
pub type Runs = fn(&str) -> bool;

/// Everything as one value: what `check --json` says, and the agents and bindings besides.
pub fn resolved(report: &LoadReport, loaded: &Loaded, runs: Runs) -> Json {
    let mut all = render::json(report);
    let agents: Map<String, Json> =
        loaded.agents.iter().map(|(id, outcome)| (id.to_string(), agent(outcome, runs))).collect();
    all["agents"] = Json::Object(agents);
    all["bindings"] = bindings(loaded);
    let defaults = loaded.router.defaults();
    all["default_agent"] = json!(defaults.everywhere.as_ref().map(AgentId::as_str));
    all["cli_agent"] = json!(defaults.cli.as_ref().map(AgentId::as_str));
    all
}

/// The same as tables, one an agent.
pub fn resolved_text(loaded: &Loaded, runs: Runs) -> String {
    let mut out = String::new();
    for (id, outcome) in &loaded.agents {
        match outcome {
            AgentOutcome::Failed(reason) => {
                let _ = writeln!(out, "agent {id}: failed\n  {}\n", shown(reason));
            }
            AgentOutcome::Ready(config) => {
                let _ = writeln!(out, "agent {id}: ready");
                table(&mut out, &rows(config, runs));
                out.push('\n');
            }
        }
    }
    let rules: Vec<[String; 3]> = loaded
        .router
        .bindings()
        .iter()
        .zip(&loaded.binding_places)
        .map(|(rule, place)| {
            let target = match &rule.refusal {
                None => rule.agent.to_string(),
                Some(why) => format!("refused: {}", shown(why)),
            };
            [shown(&rule.matches.to_string()), target, place.clone()]
        })
        .collect();
    if !rules.is_empty() {
        out.push_str("bindings\n");
        table(&mut out, &rules);
    }
    out
}

fn agent(outcome: &AgentOutcome, runs: Runs) -> Json {
    let config = match outcome {
        AgentOutcome::Failed(reason) => return json!({"state": "failed", "reason": &**reason}),
        AgentOutcome::Ready(config) => config,
    };
    let settings: Map<String, Json> = config
        .settings
        .iter()
        .map(|setting| {
            let value = masked(&setting.path, &setting.value);
            let entry = json!({"value": value, "origin": setting.origin.to_string()});
            (setting.path.to_string(), entry)
        })
        .collect();
    let built_in: Map<String, Json> =
        built_in(config).into_iter().map(|(path, value)| (path, value.into())).collect();
    json!({
        "state": "ready",
        "reason": null,
        "name": &*config.name,
        "settings": settings,
        "built_in": built_in,
        "soul": {"origin": &*config.soul.origin, "text": &*config.soul.text},
        "instructions": config.instructions.as_ref().map(|it| json!({"origin": &*it.origin, "text": &*it.text})),
        "models": models(config),
        "tools": tools(config, runs),
        "missing_tools": missing_tools(config, runs).into_iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Json>(),
        "memory": config.memory.is_some(),
        "scope": config.scope.as_str(),
        "isolation": config.boundary.isolation.as_str(),
        "sessions": {"dm": dm(config), "group": group(config)},
    })
}

fn bindings(loaded: &Loaded) -> Json {
    let rules = loaded.router.bindings().iter().zip(&loaded.binding_places);
    rules
        .enumerate()
        .map(|(index, (rule, place))| {
            json!({
                "binding": index + 1,
                "place": place,
                "agent": rule.agent.as_str(),
                "match": rule.matches.to_string(),
                "tier": rule.matches.tier().as_str(),
                "refusal": rule.refusal.as_deref(),
            })
        })
        .collect()
}

fn models(config: &AgentConfig) -> Vec<String> {
    config.models.iter().map(ToString::to_string).collect()
}

/// The tools it has: granted, possible, and there.
fn tools(config: &AgentConfig, runs: Runs) -> Vec<&'static str> {
    config.boundary.tools.exposed().filter(|name| runs(name)).collect()
}

/// The tools that somebody named or granted and that it does not have, each with the reason.
fn missing_tools(config: &AgentConfig, runs: Runs) -> Vec<(&'static str, String)> {
    let policy = &config.tools;
    let named = |tool: &ToolSpec| {
        let lists = policy.allow.iter().flatten().chain(&policy.also_allow);
        lists.into_iter().any(|it| matches!(it, Selector::Tool(named) if named.name == tool.name))
    };
    let entries = config.boundary.tools.entries();
    let missing = entries.filter_map(|(tool, verdict)| match verdict {
        ToolVerdict::In(_) => {
            (!runs(tool.name)).then(|| (tool.name, "this version has no such tool yet".to_owned()))
        }
        ToolVerdict::Out(rule) => named(tool).then(|| (tool.name, rule.to_string())),
    });
    missing.collect()
}

fn dm(config: &AgentConfig) -> &'static str {
    match config.sessions.dm {
        DmSessions::PerUser => "per_user",
        DmSessions::Shared => "shared",
    }
}

fn group(config: &AgentConfig) -> &'static str {
    match config.sessions.group {
        GroupSessions::PerChat => "per_chat",
        GroupSessions::PerUser => "per_user",
    }
}

/// What is written, then what holds without being written, then what follows from both.
fn rows(config: &AgentConfig, runs: Runs) -> Vec<[String; 3]> {
    let mut rows: Vec<[String; 3]> = config
        .settings
        .iter()
        .map(|setting| {
            let value = masked(&setting.path, &setting.value);
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            [setting.path.to_string(), shown(&value), setting.origin.to_string()]
        })
        .collect();
    for (path, value) in built_in(config) {
        rows.push([path, value, "built-in".to_owned()]);
    }
    rows.sort();
    let tools = tools(config, runs);
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    rows.push(["= soul".to_owned(), shown(&config.soul.text), config.soul.origin.to_string()]);
    if let Some(told) = &config.instructions {
        rows.push(["= instructions".to_owned(), shown(&told.text), told.origin.to_string()]);
    }
    rows.push(["= models".to_owned(), models(config).join(", "), String::new()]);
    rows.push(["= tools".to_owned(), tools, String::new()]);
    for (name, why) in missing_tools(config, runs) {
        rows.push([format!("= without {name}"), why, String::new()]);
    }
    rows
}

/// What holds for keys that nobody wrote, in the words of the reference.
fn built_in(config: &AgentConfig) -> Vec<(String, String)> {
    let is_set = |path: &str| {
        config.settings.iter().any(|setting| {
            let rest = setting.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let mut found = Vec::new();
    for field in AGENT.fields {
        // Listing the tool turns memory on.
        let by_tool = field.name == "memory" && config.memory.is_some();
        if by_tool && !is_set("memory") {
            found.push(("memory.enabled".to_owned(), "true, since its tool is listed".to_owned()));
        }
        let set = is_set(field.name) || by_tool;
        match object_of(&field.shape) {
            // A key that is on or off as a whole has parts only once it is there.
            Some(object) if set || field.default.is_empty() => {
                for inner in object.fields {
                    let path = format!("{}.{}", field.name, inner.name);
                    if let Some(value) = plain(inner).filter(|_| !is_set(&path)) {
                        found.push((path, value));
                    }
                }
            }
            _ if set => {}
            _ => found.extend(plain(field).map(|value| (field.name.to_owned(), value))),
        }
    }
    found
}

/// A default that is a value; `None` for words about one, such as "the id".
fn plain(field: &Field) -> Option<String> {
    let text = field.default.replace('`', "");
    (text == "no limit" || !text.is_empty() && !text.contains(' ')).then_some(text)
}

fn object_of(shape: &Shape) -> Option<&'static Object> {
    match shape {
        Shape::Object(object) => Some(object),
        Shape::Forms(forms) => forms.iter().find_map(object_of),
        _ => None,
    }
}

/// A value without what might be a credential.
pub(crate) fn masked(path: &str, value: &Json) -> Json {
    match value {
        Json::Object(entries) => Json::Object(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), masked(&format!("{path}.{key}"), value)))
                .collect(),
        ),
        Json::Array(items) => items.iter().map(|item| masked(path, item)).collect(),
        Json::String(text) if is_sensitive(path) && !only_refers(text) => HIDDEN.into(),
        Json::Number(_) | Json::Bool(_) if is_sensitive(path) => HIDDEN.into(),
        value => value.clone(),
    }
}

/// One line, safe to print.
fn shown(text: &str) -> String {
    shorten(text.lines().next().unwrap_or_default())
}

fn table(out: &mut String, rows: &[[String; 3]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let (first, second) = (width(0).unwrap_or(0), width(1).unwrap_or(0).min(61));
    for [name, value, origin] in rows {
        let line = format!("  {name:first$}  {value:second$}  {origin}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
