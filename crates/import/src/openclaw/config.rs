//! Settings of an agent, and of all: models, tools, servers.

use super::Reading;
use crate::doc::texts;
use crate::models;
use crate::names::{is_secret, secret_name};
use crate::plan::{AgentPlan, Fate, Note, Plan, SecretPlan};
use insula_config::yaml::{MapEntry, Node};
use insula_domain::Selector;
use serde_json::{Map, Value, json};

/// Tools of theirs, and the same here.
const TOOLS: &[(&str, &[&str])] = &[
    ("apply_patch", &["patch"]),
    ("bash", &["terminal"]),
    ("cron", &["cronjob"]),
    ("edit", &["patch"]),
    ("exec", &["terminal"]),
    ("group:fs", &["group:files"]),
    ("group:memory", &["memory"]),
    ("group:runtime", &["terminal", "process"]),
    ("group:sessions", &["session_search"]),
    ("group:ui", &["group:media"]),
    ("image", &["vision_analyze"]),
    ("memory_get", &["memory"]),
    ("memory_search", &["memory"]),
    ("message", &["send_message"]),
    ("read", &["read_file"]),
    ("sessions_history", &["session_search"]),
    ("sessions_list", &["session_search"]),
    ("sessions_spawn", &["delegate_task"]),
    ("web_fetch", &["web_extract"]),
    ("write", &["write_file"]),
];

/// Top keys that mean something here.
const KNOWN: [&str; 8] =
    ["agents", "bindings", "channels", "env", "mcp", "meta", "models", "tools"];

/// Takes over what is written about one agent, and what holds for all.
pub(super) fn take(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    reading: &Reading<'_>,
    entry: Option<&Node>,
) {
    let own = providers(plan, agent, reading);
    if let Some(node) = entry.and_then(|it| it.get("identity")?.get("name"))
        && let Some(name) = node.text().filter(|it| !it.is_empty() && *it != agent.origin)
    {
        agent.set(&["name"], name);
        let from = reading.doc.place(node.span);
        plan.row(Fate::Comes, Some(&agent.id), Note { what: "name", from, note: name });
    }
    let model = entry
        .and_then(|it| it.get("model"))
        .or_else(|| reading.get(&["agents", "defaults", "model"]));
    if let Some(node) = model {
        chain(plan, agent, reading, (node, &own));
    }
    tools(plan, agent, reading, entry);
    servers(plan, agent, reading);
    keys(plan, agent, reading);
    for inner in entry.map(Node::entries).unwrap_or_default() {
        let from = reading.doc.place(inner.key_span);
        let what = format!("agents.{}.{}", agent.origin, inner.key);
        let (fate, note) = match &*inner.key {
            "id" | "name" | "default" | "workspace" | "agentDir" | "model" | "identity"
            | "tools" => continue,
            "sandbox" => {
                (Fate::Changes, "programs always run in a sandbox here; see docs/sandbox.md")
            }
            "subagents" => {
                if let Some(model) = inner.value.get("model").and_then(Node::text)
                    && let Ok(model) = models::model("", model, &own)
                {
                    agent.set(&["subagents", "model"], model);
                }
                (
                    Fate::Changes,
                    "children have this agent's own rights here; other agents are asked by `links`",
                )
            }
            "skills" => {
                (Fate::Changes, "a choice among shared skills; here an agent has its own alone")
            }
            "groupChat" => {
                (Fate::NoPlace, "it answers when it is mentioned by the platform's own means")
            }
            "memorySearch" => (
                Fate::Closed,
                "folders that several agents searched; here an agent searches its own memory",
            ),
            _ => (Fate::NoPlace, "a setting of the other program"),
        };
        plan.row(fate, Some(&agent.id), Note { what: &what, from, note });
    }
}

/// Providers that the file defines, as this agent's own; their names.
fn providers(plan: &mut Plan, agent: &mut AgentPlan, reading: &Reading<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let all = reading.get(&["models", "providers"]).map(Node::entries).unwrap_or_default();
    for MapEntry { key, key_span, value } in all {
        let from = reading.doc.place(*key_span);
        let what = format!("provider {key}");
        let text = |name: &str| value.get(name).and_then(Node::text).unwrap_or_default();
        let kind = match text("api") {
            "" | "openai-completions" | "openai-responses" => "openai",
            "anthropic-messages" => "anthropic",
            "ollama" => "ollama",
            other => {
                let note = format!("its protocol `{other}` is not spoken here");
                plan.row(Fate::NoPlace, Some(&agent.id), Note { what: &what, from, note: &note });
                continue;
            }
        };
        let name = key.to_ascii_lowercase();
        let mut settings = Map::new();
        settings.insert("kind".to_owned(), json!(kind));
        if !text("baseUrl").is_empty() {
            settings.insert("base_url".to_owned(), json!(text("baseUrl")));
        }
        if let Some(node) = value.get("apiKey").filter(|it| !it.is_null()) {
            let secret = secret_name(&[&name, "API_KEY"]);
            settings.insert("api_key".to_owned(), json!(format!("${{secret:{secret}}}")));
            match reading.resolved(node) {
                Ok(key) => plan.secrets.push(SecretPlan {
                    agent: Some(agent.id.clone()),
                    name: secret,
                    value: key,
                    from: reading.doc.place(node.span),
                }),
                Err(missing) => {
                    let note = format!(
                        "its key was in {missing}; set it by `insula secret set {} {secret}`",
                        agent.id
                    );
                    plan.row(
                        Fate::Changes,
                        Some(&agent.id),
                        Note { what: &what, from: from.clone(), note: &note },
                    );
                }
            }
        }
        agent.set(&["providers", &name], settings);
        let note = "all agents shared it; here each has it as its own, with the key in its part of the vault";
        plan.row(Fate::Changes, Some(&agent.id), Note { what: &what, from, note });
        names.push(name);
    }
    names
}

/// The model, and those that are tried after it.
fn chain(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    reading: &Reading<'_>,
    (node, own): (&Node, &[String]),
) {
    let mut all: Vec<&Node> = Vec::new();
    match node.text() {
        Some(_) => all.push(node),
        None => {
            all.extend(node.get("primary"));
            all.extend(node.get("fallbacks").map(Node::items).unwrap_or_default());
        }
    }
    let mut found = Vec::new();
    for node in all {
        let from = reading.doc.place(node.span);
        match models::model("", node.text().unwrap_or_default(), own) {
            Ok(model) => {
                plan.row(Fate::Comes, Some(&agent.id), Note { what: "model", from, note: &model });
                found.push(json!(model));
            }
            Err(why) => {
                plan.row(Fate::NoPlace, Some(&agent.id), Note { what: "model", from, note: &why })
            }
        }
    }
    match found.len() {
        0 => {}
        1 => agent.set(&["model"], found.remove(0)),
        _ => agent.set(&["model"], found),
    }
}

/// What it may use: what holds for all, then what is its own.
fn tools(plan: &mut Plan, agent: &mut AgentPlan, reading: &Reading<'_>, entry: Option<&Node>) {
    let of_all = reading.get(&["tools"]);
    for node in [of_all, entry.and_then(|it| it.get("tools"))].into_iter().flatten() {
        for MapEntry { key, key_span, value } in node.entries() {
            let from = reading.doc.place(*key_span);
            let what = format!("tools.{key}");
            let ours = match &**key {
                "allow" => "allow",
                "alsoAllow" => "also_allow",
                "deny" => "deny",
                "profile" => {
                    let profile = value.text().unwrap_or_default();
                    if ["minimal", "messaging", "coding", "full"].contains(&profile) {
                        agent.set(&["tools", "profile"], profile);
                        plan.row(
                            Fate::Comes,
                            Some(&agent.id),
                            Note { what: &what, from, note: profile },
                        );
                    } else {
                        let note = "no profile of that name is here; it has the smallest one";
                        agent.set(&["tools", "profile"], "minimal");
                        plan.row(Fate::Changes, Some(&agent.id), Note { what: &what, from, note });
                    }
                    continue;
                }
                "exec" | "elevated" => {
                    let note = "commands ran as you wished there; here they run in a sandbox and what is dangerous is asked about";
                    plan.row(Fate::Closed, Some(&agent.id), Note { what: &what, from, note });
                    continue;
                }
                _ => {
                    plan.row(
                        Fate::NoPlace,
                        Some(&agent.id),
                        Note { what: &what, from, note: "a setting of the other program" },
                    );
                    continue;
                }
            };
            // A list that leaves nothing is one that allows nothing.
            if agent.get(&["tools", ours]).is_none() {
                agent.set(&["tools", ours], Value::Array(Vec::new()));
            }
            let mut unknown = Vec::new();
            for tool in texts(value) {
                let mapped =
                    TOOLS.iter().find(|(theirs, _)| *theirs == tool).map(|(_, ours)| *ours);
                match mapped {
                    Some(all) => all.iter().for_each(|it| agent.add(&["tools", ours], *it)),
                    None if tool == "*" && ours != "deny" => {}
                    None if Selector::parse(&tool).is_ok() => agent.add(&["tools", ours], tool),
                    None => unknown.push(tool),
                }
            }
            let note = match unknown.is_empty() {
                true => format!("tools.{ours}"),
                false => format!("tools.{ours}; not here: {}", unknown.join(", ")),
            };
            plan.row(Fate::Changes, Some(&agent.id), Note { what: &what, from, note: &note });
        }
    }
}

/// Servers that all agents shared, as this agent's own.
fn servers(plan: &mut Plan, agent: &mut AgentPlan, reading: &Reading<'_>) {
    for MapEntry { key, key_span, value } in
        reading.get(&["mcp", "servers"]).map(Node::entries).unwrap_or_default()
    {
        let from = reading.doc.place(*key_span);
        let mut settings = Map::new();
        for inner in value.entries() {
            match &*inner.key {
                "command" | "url" => {
                    settings.insert(
                        inner.key.to_string(),
                        json!(inner.value.text().unwrap_or_default()),
                    );
                }
                "args" => {
                    settings.insert("args".to_owned(), json!(texts(&inner.value)));
                }
                "enabled" => {
                    settings.insert("enabled".to_owned(), json!(inner.value.bool() != Some(false)));
                }
                "env" | "headers" => {
                    let mut values = Map::new();
                    for pair in inner.value.entries() {
                        let value = reading.resolved(&pair.value).unwrap_or_default();
                        let shown = match is_secret(&pair.key, &value) {
                            false => value,
                            true => {
                                let name = secret_name(&[key, &pair.key]);
                                plan.secrets.push(SecretPlan {
                                    agent: Some(agent.id.clone()),
                                    name: name.clone(),
                                    value,
                                    from: reading.doc.place(pair.key_span),
                                });
                                agent.add(&["secrets"], name.clone());
                                format!("${{secret:{name}}}")
                            }
                        };
                        values.insert(pair.key.to_string(), shown.into());
                    }
                    settings.insert(inner.key.to_string(), values.into());
                }
                _ => {
                    let what = format!("MCP server {key}: {}", inner.key);
                    let from = reading.doc.place(inner.key_span);
                    plan.row(
                        Fate::NoPlace,
                        Some(&agent.id),
                        Note { what: &what, from, note: "a setting of the other program" },
                    );
                }
            }
        }
        let note = "all agents shared it; here each has its own, in its sandbox, without network and files until they are granted";
        plan.row(
            Fate::Changes,
            Some(&agent.id),
            Note { what: &format!("MCP server {key}"), from, note },
        );
        agent.set(&["mcp_servers", key], settings);
    }
}

/// Keys of providers in the environment.
fn keys(plan: &mut Plan, agent: &mut AgentPlan, reading: &Reading<'_>) {
    for variable in reading.variables.iter().filter(|it| !it.value.is_empty()) {
        let Some((provider, name)) = models::provider_key(&variable.name) else { continue };
        plan.secrets.push(SecretPlan {
            agent: Some(agent.id.clone()),
            name: name.to_owned(),
            value: variable.value.clone(),
            from: variable.from.clone(),
        });
        if agent.get(&["providers", provider]).is_none() {
            agent.set(&["providers", provider], json!({}));
        }
        let note = format!("its own key for {provider}, in its part of the vault");
        let from = variable.from.clone();
        plan.row(Fate::Comes, Some(&agent.id), Note { what: &variable.name, from, note: &note });
    }
}

/// What stands at the top and is no agent's.
pub(super) fn shared(plan: &mut Plan, reading: &Reading<'_>) {
    for entry in reading.doc.root.entries() {
        let (from, key) = (reading.doc.place(entry.key_span), &*entry.key);
        match key {
            _ if KNOWN.contains(&key) => {}
            "session" => {}
            "cron" | "hooks" | "plugins" | "browser" | "gateway" | "logging" | "skills"
            | "talk" | "messages" | "commands" | "update" | "ui" | "wizard" => {
                plan.row(
                    Fate::NoPlace,
                    None,
                    Note { what: key, from, note: "a setting of the other program" },
                );
            }
            _ => plan.row(
                Fate::NoPlace,
                None,
                Note { what: key, from, note: "a key that is not known here" },
            ),
        }
    }
    let defaults = reading.get(&["agents", "defaults"]).map(Node::entries).unwrap_or_default();
    for entry in defaults.iter().filter(|it| !["model", "workspace"].contains(&&*it.key)) {
        let what = format!("agents.defaults.{}", entry.key);
        let from = reading.doc.place(entry.key_span);
        plan.row(
            Fate::NoPlace,
            None,
            Note { what: &what, from, note: "a setting of the other program" },
        );
    }
    let used: Vec<String> = plan.secrets.iter().map(|it| it.value.clone()).collect();
    for variable in reading.variables.iter().filter(|it| is_secret(&it.name, &it.value)) {
        if models::provider_key(&variable.name).is_some() || used.contains(&variable.value) {
            continue;
        }
        let Some(agent) = plan.agents.iter().find(|it| it.is_default).map(|it| it.id.clone())
        else {
            continue;
        };
        let from = variable.from.clone();
        let note = "in its part of the vault; its programs see it once `secrets` names it";
        plan.row(
            Fate::Changes,
            Some(&agent),
            Note { what: &variable.name, from: from.clone(), note },
        );
        let (name, value) = (variable.name.clone(), variable.value.clone());
        plan.secrets.push(SecretPlan { agent: Some(agent), name, value, from });
    }
}
