//! The lists that the kinds hang on: the tables of the store, the routes of the API, the effects
//! of tools, the keys of an agent. Whatever is new in one of them needs a kind here first.

use super::Kind;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Script;
use anyhow::{Result, bail, ensure};
use insula_domain::tool::{CATALOGUE, Effect};
use serde_json::Value;
use std::collections::BTreeSet;

/// The kind that a tool with this effect reaches. A new effect does not compile without one.
fn of_effect(effect: Effect) -> Kind {
    match effect {
        Effect::ReadFiles | Effect::WriteFiles => Kind::File,
        Effect::RunProgram | Effect::RunCode => Kind::Process,
        Effect::Recall | Effect::Remember => Kind::MemoryScope,
        Effect::ReadHistory | Effect::AskUser | Effect::Delegate | Effect::Plan => Kind::Session,
        Effect::ReadSkills | Effect::ChangeSelf | Effect::FindTools | Effect::Media => Kind::Tool,
        Effect::Network | Effect::Send => Kind::Route,
        Effect::Schedule => Kind::CronJob,
        Effect::Board | Effect::ReadBoard => Kind::Board,
    }
}

/// The kind that a table of an agent's or the daemon's database belongs to.
fn of_table(table: &str) -> Option<Kind> {
    Some(match table {
        "scope" | "fragment" | "provenance" | "lineage" | "tombstone" | "mirror"
        | "memory_block" | "fragment_posting" | "fragment_scope" | "forgotten_text"
        | "removed_text" | "erasure_due" | "vector" | "looked_through" => Kind::MemoryScope,
        "session" | "message" | "turn" | "unfinished" | "step" | "turn_note" | "idempotency"
        | "shown_part" | "shown_frame" | "shown_frame_part" | "shown_call" | "usage"
        | "posting" | "unindexed" | "search_index" | "taken_in" | "child" | "spent" | "busy"
        | "wake" => Kind::Session,
        "approval" | "approval_grant" | "button" => Kind::Approval,
        "job" | "job_run" => Kind::CronJob,
        "foreign_file" => Kind::File,
        "audit" | "audit_start" | "audit_scope_start" | "audit_queue" | "audit_count"
        | "anchor" => Kind::Audit,
        "origin" | "delivery" | "delivery_part" | "pairing_request" | "pairing"
        | "pairing_tries" | "joined_chat" | "inbox" | "event_taken" | "event" => Kind::Route,
        // Tokens, cursors of accounts, and whatever else has a name and a value.
        "value" | "token" => Kind::Token,
        "agent" | "born" | "fence" | "sqlite_sequence" | "sqlite_stat1" | "sqlite_stat4" => {
            Kind::Database
        }
        name if name.starts_with("cron") => Kind::CronJob,
        name if name.starts_with("board") || name.starts_with("card") => Kind::Board,
        _ => return None,
    })
}

/// The kind that a route of the API is about, by the first word after the agent.
fn of_route(path: &str) -> Option<Kind> {
    let rest = path.strip_prefix("/api/agents/{id}").or_else(|| path.strip_prefix("/api"));
    let rest = rest.unwrap_or(path);
    let word = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
    Some(match word {
        "memory" | "remembered" | "forget" => Kind::MemoryScope,
        "secrets" | "daemon" => Kind::Secret,
        "tools" | "context" | "explain" | "skills" | "skills-verify" => Kind::Tool,
        "mcp" => Kind::McpServer,
        "files" => Kind::File,
        "messages" | "retry" | "stop" | "new" | "conversation" | "editor" | "events"
        | "sessions" | "turns" | "usage" | "costs" | "v1" | "conversations" | "now" => {
            Kind::Session
        }
        "approvals" | "grants" | "inbox" => Kind::Approval,
        "audit" => Kind::Audit,
        "tokens" | "sign-in" | "me" => Kind::Token,
        "route" | "map" | "deliveries" | "pairing" | "hooks" | "chat" | "home" | "accounts"
        | "platforms" => Kind::Route,
        "cron" | "jobs" | "calendar" => Kind::CronJob,
        "board" | "boards" => Kind::Board,
        // What is about the agent or the daemon as a whole, and kept in their databases.
        "" | "agents" | "pause" | "resume" | "archive" | "reload" | "restart" | "status"
        | "doctor" | "applied" | "config" | "gauntlet" | "healthz" | "readyz" | "metrics"
        | "openapi.json" => Kind::Database,
        _ => return None,
    })
}

/// The kind that a key of an agent's configuration grants or describes.
fn of_key(key: &str) -> Option<Kind> {
    Some(match key {
        "policies" => Kind::Tool,
        "memory" => Kind::MemoryScope,
        "workspace" | "files" => Kind::File,
        "sandbox" | "env" | "isolation" => Kind::Process,
        "secrets" | "providers" => Kind::Secret,
        "tools" | "toolsets" | "skills" | "web" | "images" | "voice" | "hooks" => Kind::Tool,
        "mcp_servers" => Kind::McpServer,
        "sessions"
        | "subagents"
        | "budget"
        | "model"
        | "model_choices"
        | "quote"
        | "personality"
        | "name"
        | "description"
        | "timezone"
        | "default"
        | "metadata"
        | "dm_scope"
        | "dmScope"
        | "group_sessions_per_user" => Kind::Session,
        "approvals" | "integrity" => Kind::Approval,
        "logs" => Kind::File,
        "audit" => Kind::Audit,
        "notices" => Kind::Route,
        "network"
        | "access"
        | "links"
        | "send"
        | "group"
        | "observe_unmentioned_group_messages"
        | "sharedPaths" => Kind::Route,
        "cron" | "heartbeat" | "boot" => Kind::CronJob,
        "boards" => Kind::Board,
        _ => return None,
    })
}

/// Checks that every list of the daemon's has a kind for each of its items, and that the lists
/// are there at all.
pub fn checked(ground: &Ground) -> Result<()> {
    let mut missing = vec![];
    for tool in CATALOGUE {
        ensure!(!tool.effects.is_empty(), "the tool {} has no effect", tool.name);
        for effect in tool.effects {
            // Every effect has a kind, by the compiler.
            let _ = of_effect(*effect);
        }
    }
    // A database is made when it is first needed.
    ground.turn("a", "lists", Script::say("x"))?;
    let mut tables = BTreeSet::new();
    for database in ["agents/a/agent.db", "insula.db"] {
        let all = machine::rows(&ground.path(database)?)?;
        ensure!(all.len() > 5, "{database} has hardly any tables");
        tables.extend(all.into_iter().map(|(name, _)| name));
    }
    missing
        .extend(tables.iter().filter(|it| of_table(it).is_none()).map(|it| format!("table {it}")));
    let document = ground.admin("GET", "/api/openapi.json", &Value::Null)?.json();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    ensure!(paths.len() > 20, "the API describes hardly any routes");
    missing
        .extend(paths.keys().filter(|it| of_route(it).is_none()).map(|it| format!("route {it}")));
    let schema = ground.cli(&["config", "schema"]);
    let schema: Value = serde_json::from_str(&schema.stdout)?;
    let keys = agent_keys(&schema);
    ensure!(keys.len() > 15, "the schema has hardly any keys of an agent: {keys:?}");
    missing.extend(keys.iter().filter(|it| of_key(it).is_none()).map(|it| format!("key {it}")));
    if !missing.is_empty() {
        bail!(
            "these belong to no kind of resource; give each one in matrix/lists.rs: {}",
            missing.join(", ")
        );
    }
    Ok(())
}

/// The keys of an agent in the published schema: those of `defaults`, wherever it refers to.
fn agent_keys(schema: &Value) -> Vec<String> {
    let follow = |at: &Value| {
        let mut at = at.clone();
        while let Some(path) = at["$ref"].as_str() {
            let Some(next) = schema.pointer(path.trim_start_matches('#')) else { break };
            at = next.clone();
        }
        at
    };
    let agents = follow(&schema["properties"]["agents"]);
    let agent = follow(&agents["additionalProperties"]);
    let agent = if agent["properties"].is_object() {
        agent
    } else {
        follow(&schema["properties"]["defaults"])
    };
    let mut keys: BTreeSet<String> =
        agent["properties"].as_object().into_iter().flatten().map(|it| it.0.clone()).collect();
    for part in agent["anyOf"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(agent["oneOf"].as_array().into_iter().flatten())
    {
        let part = follow(part);
        keys.extend(part["properties"].as_object().into_iter().flatten().map(|it| it.0.clone()));
    }
    keys.into_iter().collect()
}
