//! What an agent is: its live context, secrets by name only.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, live};
use axum::Json;
use axum::extract::State;
use insula_config::settings::Setting;
use insula_domain::Link;
use insula_domain::boundary::Boundary;
use insula_registry::AgentContext;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The live context object, secrets by name only.
#[utoipa::path(get, path = "/api/agents/{id}/context", tag = "agents", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn context(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Value>, ApiError> {
    let context = live(&api, &id)?;
    // Lines move with what others wrote, which only the admin may know of.
    let origin = |setting: &Setting| match caller {
        Caller::Local => setting.origin.to_string(),
        Caller::Token(_) => setting.origin.in_general(),
    };
    let mut settings = context.config.settings.iter();
    let soul_origin = match settings.find(|setting| &*setting.path == "personality") {
        Some(setting) => origin(setting),
        None => context.identity.soul.origin.to_string(),
    };
    let conversations = &context.conversations;
    Ok(Json(json!({
        "id": context.id.as_str(),
        "generation": context.generation.0,
        "identity": {
            "name": &*context.identity.name,
            "description": context.identity.description.as_deref(),
            "timezone": conversations.zones.own.as_str(),
            "timezones_of_people": conversations.zones.people.iter()
                .map(|(who, zone)| (who.to_string(), zone.as_str().into()))
                .collect::<serde_json::Map<String, serde_json::Value>>(),
            "soul": &*context.identity.soul.text,
            "soul_origin": soul_origin,
            "instructions": context.identity.instructions.as_ref().map(|it| &*it.text),
            "instructions_origin": context.identity.instructions.as_ref().map(|it| &*it.origin),
        },
        "boundary": boundary(&context.boundary),
        "tools": context.tools().exposed().filter(|tool| context.runs(tool)).map(str::to_owned).chain(context.toolbox.names().map(str::to_owned)).collect::<Vec<_>>(),
        "memory": context.memory.as_ref().map(|memory| json!({
            "scope": conversations.scope.as_str(),
            "also_read": memory.also_read.iter().map(|it| it.text()).collect::<Vec<_>>(),
            "global_writes": memory.global_writes.as_str(),
        })),
        "workspace": {
            "path": context.workspace.path.display().to_string(),
            "scope": context.boundary.files.workspace.as_str(),
        },
        "skills": {
            "bundles": context.skills.bundles,
            "names": context.skills.skills.iter().map(|skill| &*skill.name).collect::<Vec<_>>(),
            "unusable": context.skills.unusable.iter()
                .map(|it| json!({ "name": &*it.name, "reason": &*it.why }))
                .collect::<Vec<_>>(),
            "prompt_bytes": context.skills.index.len(),
        },
        "hooks": hooks(&context),
        "models": context.models.models.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "isolation": context.boundary.isolation.as_str(),
        "sessions": { "dm": conversations.sessions.dm.as_str(), "group": conversations.sessions.group.as_str() },
        "scope": conversations.scope.as_str(),
        "metadata": context.config.metadata,
        "settings": context.config.settings.iter().map(|setting| json!({
            "setting": &*setting.path,
            "value": setting.shown(),
            "origin": origin(setting),
        })).collect::<Vec<_>>(),
    })))
}

fn hooks(context: &AgentContext) -> Value {
    let trouble = context.hooks.trouble();
    let configured = context.hooks.iter().map(|hook| {
        json!({ "hook": &*hook.name, "event": hook.event.as_str(), "way": hook.way.as_str() })
    });
    json!({
        "configured": configured.collect::<Vec<_>>(),
        "failures": trouble.as_ref().map_or(0, |(count, _)| *count),
        "last_failure": trouble.map(|(_, last)| last),
    })
}

fn link(link: &Link) -> Value {
    let Link { to, kind, timeout_ms, max_depth, budget, carry } = link;
    json!({
        "to": to.as_str(),
        "as": kind.as_str(),
        "timeout_ms": timeout_ms,
        "max_depth": max_depth,
        "budget": crate::usage::limits(budget),
        "carry": carry.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn boundary(boundary: &Boundary) -> Value {
    let Boundary {
        isolation,
        tools,
        rules,
        files,
        network,
        secrets,
        budget,
        approvals,
        integrity,
        spawn,
        links,
        messages,
    } = boundary;
    json!({
        "isolation": isolation.as_str(),
        "tools": tools.exposed().count(),
        "rules": rules.iter()
            .map(|rule| json!({ "tools": rule.tools.to_string(), "rule": &*rule.name, "allows": rule.to_string() }))
            .collect::<Vec<_>>(),
        "files": {
            "workspace": files.workspace.as_str(),
            "shared": files.shared.iter()
                .map(|shared| json!({ "path": &*shared.path, "mode": shared.mode.as_str() }))
                .collect::<Vec<_>>(),
            "stale_writes": files.stale_writes.as_str(),
        },
        "network": network.lists().iter()
            .map(|hosts| hosts.iter().map(ToString::to_string).collect::<Vec<_>>())
            .collect::<Vec<_>>(),
        "credentials": network.credentials().iter()
            .map(|it| json!({
                "host": it.host.to_string(),
                "header": &*it.header,
                "secrets": it.secrets,
                "plain_http": it.plain_http == insula_domain::Switch::On,
            }))
            .collect::<Vec<_>>(),
        "secrets": secrets,
        "budget": {
            "usd_per_day": budget.own.usd_micros_per_day.map(|micros| micros as f64 / 1e6),
            "tokens_per_day": budget.own.tokens_per_day,
            "turns_per_minute": budget.own.turns_per_minute,
            "per_user": crate::usage::limits(&budget.per_user),
            "per_context": crate::usage::limits(&budget.per_context),
        },
        "approvals": {
            "mode": approvals.mode.as_str(),
            "timeout_ms": approvals.timeout_ms,
            "separation": approvals.separation == insula_domain::Switch::On,
            "opaque": approvals.opaque.as_str(),
        },
        "integrity": {
            "profile": integrity.profile.as_str(),
            "trusted": integrity.trusted.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "tainted": integrity.acts.iter().map(|(act, rule)| (act.as_str().to_owned(), rule.as_str()))
                .chain(integrity.tools.iter().map(|(tools, rule)| (tools.to_string(), rule.as_str())))
                .collect::<BTreeMap<_, _>>(),
        },
        "spawn": {
            "max_depth": spawn.max_depth,
            "max_children": spawn.max_children,
            "max_total": spawn.max_total,
            "max_iterations": spawn.max_iterations,
            "wall_clock_ms": spawn.wall_clock_ms,
            "models": spawn.models,
        },
        "links": links.iter().map(link).collect::<Vec<_>>(),
        "messages": {
            "to": messages.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "flows": messages.flows.iter()
                .map(|flow| json!({ "from": flow.from.to_string(), "to": flow.to.to_string() }))
                .collect::<Vec<_>>(),
        },
    })
}
