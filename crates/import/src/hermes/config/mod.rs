//! A profile's `config.yaml`: every key comes over, changes, or is told of.

mod programs;
mod routes;

use super::{Profile, on};
use crate::doc::{Doc, texts};
use crate::models;
use crate::names::secret_name;
use crate::place::Place;
use crate::plan::{AgentPlan, Fate, Note, Plan, SecretPlan};
use insula_config::schema::is_toolset;
use insula_config::yaml::{MapEntry, Node};
use serde_json::{Map, Value, json};

/// Keys whose settings are about another program's screen, voice, updates or inner workings.
const NOT_HERE: &[&str] = &[
    "agent",
    "auxiliary",
    "bedrock",
    "browser",
    "checkpoints",
    "code_execution",
    "compression",
    "computer_use",
    "context",
    "context_file_max_chars",
    "credential_pool_strategies",
    "cron",
    "curator",
    "dashboard",
    "desktop",
    "display",
    "file_read_max_chars",
    "goals",
    "honcho",
    "hooks_auto_accept",
    "human_delay",
    "kanban",
    "logging",
    "lsp",
    "max_concurrent_sessions",
    "max_live_sessions",
    "mcp",
    "mcp_discovery_timeout",
    "moa",
    "model_catalog",
    "network",
    "onboarding",
    "openrouter",
    "paste_collapse_char_threshold",
    "paste_collapse_threshold",
    "paste_collapse_threshold_fallback",
    "personalities",
    "platform_hints",
    "platform_toolsets",
    "plugins",
    "prefill_messages_file",
    "privacy",
    "prompt_caching",
    "quick_commands",
    "secrets",
    "security",
    "sessions",
    "skills",
    "streaming",
    "stt",
    "tool_loop_guardrails",
    "tool_output",
    "tools",
    "tts",
    "updates",
    "vertex",
    "voice",
    "web",
    "x_search",
];

/// Takes over what the file says.
pub(super) fn take(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>, doc: &Doc) {
    let own = providers(plan, agent, profile, doc);
    for entry in doc.root.entries() {
        let mut at = At { plan, agent, profile, doc, own: &own };
        at.key(entry);
    }
}

/// What one key is read with.
struct At<'a, 'p> {
    plan: &'a mut Plan,
    agent: &'a mut AgentPlan,
    profile: &'a Profile<'p>,
    doc: &'a Doc,
    /// Providers that the file defines.
    own: &'a [String],
}

impl At<'_, '_> {
    fn say(&mut self, fate: Fate, entry: &MapEntry, what: &str, note: &str) {
        let from = self.doc.place(entry.key_span);
        self.plan.row(fate, Some(&self.profile.id), Note { what, from, note });
    }

    fn key(&mut self, entry: &MapEntry) {
        match &*entry.key {
            "_config_version" | "providers" | "custom_providers" => {}
            "model" => self.model(entry),
            "fallback_providers" | "fallback_model" => self.fallbacks(entry),
            "toolsets" => self.toolsets(entry),
            "memory" => self.memory(entry),
            "approvals" => self.approvals(entry),
            "command_allowlist" if !entry.value.items().is_empty() => {
                let note = "here an approval is for one exact command; say `always` when it is asked again";
                self.say(Fate::Closed, entry, "command_allowlist", note);
            }
            "command_allowlist" => {}
            "delegation" => self.delegation(entry),
            "mcp_servers" => self.servers(entry),
            "terminal" => self.terminal(entry),
            "timezone" => self.timezone(entry),
            "hooks" => self.hooks(entry),
            "gateway" => self.gateway(entry),
            "profile_routes" => self.routes(entry),
            "group_sessions_per_user" => {
                let per_user = on(&entry.value);
                self.agent
                    .set(&["sessions", "group"], if per_user { "per_user" } else { "per_chat" });
                self.say(Fate::Comes, entry, "group_sessions_per_user", "sessions.group");
            }
            "telegram" | "discord" | "slack" | "matrix" | "mattermost" | "signal" | "whatsapp"
            | "platforms" => self.platform(entry),
            key if NOT_HERE.contains(&key) => {
                self.say(Fate::NoPlace, entry, key, "a setting of the other program");
            }
            key => {
                let what = key.to_owned();
                self.say(Fate::NoPlace, entry, &what, "a key that is not known here");
            }
        }
    }

    fn model(&mut self, entry: &MapEntry) {
        let node = &entry.value;
        let (provider, name) = match node.text() {
            Some(name) => (String::new(), name.to_owned()),
            None => {
                let text = |key: &str| node.get(key).and_then(Node::text).unwrap_or_default();
                let name = [text("default"), text("model"), text("name")];
                let name = name.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
                (text("provider").to_owned(), name.to_owned())
            }
        };
        if name.is_empty() {
            return;
        }
        let mut own = self.own.to_vec();
        if let Some(url) = node.get("base_url").and_then(Node::text).filter(|it| !it.is_empty()) {
            // An address beside the model is a provider of its own.
            let name = if provider.is_empty() { "custom" } else { &provider }.to_owned();
            if !own.contains(&name) {
                self.agent.set(&["providers", &name], json!({ "kind": "openai", "base_url": url }));
                own.push(name);
            }
        }
        let provider =
            if provider.is_empty() && own.len() > self.own.len() { "custom" } else { &provider };
        match models::model(provider, &name, &own) {
            Ok(model) => {
                self.say(Fate::Comes, entry, "model", &model);
                self.agent.set(&["model"], model);
            }
            Err(why) => {
                let note = format!("{why}; write `model: provider/name` into its agent.yaml");
                self.say(Fate::NoPlace, entry, "model", &note);
            }
        }
    }

    fn fallbacks(&mut self, entry: &MapEntry) {
        let one = std::slice::from_ref(&entry.value);
        let items = if entry.value.items().is_empty() { one } else { entry.value.items() };
        for item in items {
            let text = |key: &str| item.get(key).and_then(Node::text).unwrap_or_default();
            let found = match item.text() {
                Some(model) => models::model("", model, self.own),
                None if text("model").is_empty() => continue,
                None => models::model(text("provider"), text("model"), self.own),
            };
            match found {
                Ok(model) => {
                    let mut chain = match self.agent.settings.remove("model") {
                        Some(Value::Array(chain)) => chain,
                        Some(first) => vec![first],
                        None => Vec::new(),
                    };
                    if !chain.contains(&json!(model)) {
                        chain.push(json!(model));
                    }
                    self.agent.set(&["model"], chain);
                    self.say(Fate::Comes, entry, "fallback model", &model);
                }
                Err(why) => self.say(Fate::NoPlace, entry, "fallback model", &why),
            }
        }
    }

    fn toolsets(&mut self, entry: &MapEntry) {
        let sets = texts(&entry.value);
        // All that a terminal of theirs has is all that an agent can have here.
        if sets.iter().any(|it| it == "hermes-cli" || it == "all") || sets.is_empty() {
            let note = "all tools that its other settings make possible; files and programs stay in its own workspace";
            return self.say(Fate::Changes, entry, "toolsets", note);
        }
        let (known, unknown): (Vec<String>, Vec<String>) =
            sets.into_iter().partition(|it| is_toolset(it));
        for set in unknown {
            let what = format!("toolset {set}");
            self.say(Fate::NoPlace, entry, &what, "there are no such tools here");
        }
        self.say(Fate::Comes, entry, "toolsets", &known.join(", "));
        self.agent.set(&["toolsets"], known);
    }

    fn memory(&mut self, entry: &MapEntry) {
        for inner in entry.value.entries() {
            let what = format!("memory.{}", inner.key);
            match &*inner.key {
                "memory_char_limit" | "user_char_limit" => {
                    let list = if inner.key.starts_with("memory") { "memory" } else { "user" };
                    if let Some(limit) = inner.value.integer().filter(|it| *it > 0) {
                        self.agent.set(&["memory", "limits", list], limit);
                        self.say(Fate::Comes, inner, &what, "memory.limits");
                    }
                }
                "memory_enabled" if !on(&inner.value) => {
                    self.agent.set(&["memory", "enabled"], false);
                    self.say(
                        Fate::Comes,
                        inner,
                        &what,
                        "memory is off; what it had remembered is kept",
                    );
                }
                "memory_enabled" | "user_profile_enabled" | "write_approval" => {}
                "provider" if inner.value.text().is_none_or(str::is_empty) => {}
                _ => self.say(Fate::NoPlace, inner, &what, "memory is kept by the daemon itself"),
            }
        }
    }

    fn approvals(&mut self, entry: &MapEntry) {
        for inner in entry.value.entries() {
            let what = format!("approvals.{}", inner.key);
            match (&*inner.key, inner.value.text().unwrap_or_default()) {
                ("mode", mode @ ("manual" | "smart")) => {
                    self.agent.set(&["approvals", "mode"], mode);
                    self.say(Fate::Comes, inner, &what, mode);
                }
                ("mode", "off" | "false") => {
                    let note = "nobody was asked before dangerous acts; here an admin is. Write `approvals: {mode: off}` if you mean it";
                    self.say(Fate::Closed, inner, &what, note);
                }
                ("timeout", _) => {
                    if let Some(seconds) = inner.value.integer().filter(|it| *it > 0) {
                        self.agent.set(&["approvals", "timeout"], format!("{seconds}s"));
                        self.say(Fate::Comes, inner, &what, "approvals.timeout");
                    }
                }
                _ => self.say(Fate::NoPlace, inner, &what, "decided by the gate here"),
            }
        }
    }

    fn delegation(&mut self, entry: &MapEntry) {
        let text =
            |key: &str| entry.value.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        let (provider, model) = (text("provider"), text("model"));
        for inner in entry.value.entries() {
            let what = format!("delegation.{}", inner.key);
            let number = inner.value.integer();
            let ours = match &*inner.key {
                "max_spawn_depth" => Some(("max_depth", 16)),
                "max_concurrent_children" => Some(("max_children", 256)),
                "max_iterations" => Some(("max_iterations", 1_000_000)),
                _ => None,
            };
            match (&*inner.key, ours, number) {
                (_, Some((key, most)), Some(number)) if (0..=most).contains(&number) => {
                    self.agent.set(&["subagents", key], number);
                    self.say(Fate::Comes, inner, &what, &format!("subagents.{key}"));
                }
                ("child_timeout_seconds", _, Some(seconds)) if seconds > 0 => {
                    self.agent.set(&["subagents", "timeout"], format!("{seconds}s"));
                    self.say(Fate::Comes, inner, &what, "subagents.timeout");
                }
                ("model", ..) if !model.is_empty() => {
                    match models::model(&provider, &model, self.own) {
                        Ok(model) => {
                            self.say(Fate::Comes, inner, &what, &model);
                            self.agent.set(&["subagents", "model"], model);
                        }
                        Err(why) => self.say(Fate::NoPlace, inner, &what, &why),
                    }
                }
                ("subagent_auto_approve", ..) if on(&inner.value) => {
                    let note = "children were allowed dangerous acts unasked; here they ask nobody and are refused";
                    self.say(Fate::Closed, inner, &what, note);
                }
                ("provider" | "model" | "child_timeout_seconds" | "subagent_auto_approve", ..) => {}
                _ => self.say(Fate::NoPlace, inner, &what, "a setting of the other program"),
            }
        }
    }
}

/// Providers that the file defines; their names.
fn providers(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    profile: &Profile<'_>,
    doc: &Doc,
) -> Vec<String> {
    let mut found: Vec<(String, &Node, Place)> = Vec::new();
    for entry in doc.root.get("providers").map(Node::entries).unwrap_or_default() {
        found.push((entry.key.to_string(), &entry.value, doc.place(entry.key_span)));
    }
    for item in doc.root.get("custom_providers").map(Node::items).unwrap_or_default() {
        let name = item.get("name").and_then(Node::text).unwrap_or("custom");
        found.push((name.to_owned(), item, doc.place(item.span)));
    }
    let mut names = Vec::new();
    for (name, node, from) in found {
        let fit: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        let text = |keys: &[&str]| {
            keys.iter().find_map(|key| node.get(key).and_then(Node::text)).map(str::to_owned)
        };
        let Some(url) = text(&["base_url", "url", "api"]) else {
            let note = "it has no address; nothing to bring along";
            plan.row(
                Fate::NoPlace,
                Some(&profile.id),
                Note { what: &format!("provider {name}"), from, note },
            );
            continue;
        };
        let anthropic = text(&["transport", "api_mode"]).is_some_and(|it| it.contains("anthropic"));
        let mut settings = Map::new();
        settings.insert("kind".to_owned(), json!(if anthropic { "anthropic" } else { "openai" }));
        settings.insert("base_url".to_owned(), json!(url));
        let named = text(&["key_env", "api_key_env"]);
        if let Some(key) = text(&["api_key"]).filter(|it| !it.is_empty() && !it.starts_with("${")) {
            let secret = secret_name(&[&fit, "API_KEY"]);
            settings.insert("api_key".to_owned(), json!(format!("${{secret:{secret}}}")));
            plan.secrets.push(SecretPlan {
                agent: Some(profile.id.clone()),
                name: secret,
                value: key,
                from: from.clone(),
            });
        } else if let Some(named) = named {
            settings.insert(
                "api_key".to_owned(),
                json!(format!("${{secret:{}}}", secret_name(&[&named]))),
            );
        }
        plan.row(
            Fate::Comes,
            Some(&profile.id),
            Note { what: &format!("provider {name}"), from, note: "a provider of its own" },
        );
        agent.set(&["providers", &fit], settings);
        names.push(fit);
    }
    names
}
