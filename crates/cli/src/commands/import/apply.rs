//! Carries out what the daemon keeps: secrets, skills, memory and sessions.

use super::files::nowhere;
use super::{Done, boards, schedules, sessions};
use crate::commands::skills::{Order, install};
use crate::commands::text;
use crate::failure::Failure;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use insula_capabilities::Opened;
use insula_capabilities::skills::source::SkillSource;
use insula_domain::Actor;
use insula_import::{AgentPlan, Plan, TargetList};
use insula_memory::MemoryList;
use insula_registry::AgentContext;
use insula_store::{About, MemoryOrigin, MemorySource};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All of it.
pub(super) async fn all(
    reach: &Reach,
    setting: &Setting,
    plan: &Plan,
    done: &mut Done,
) -> Result<(), Failure> {
    let Reach::Here { opened, .. } = reach else {
        return Err(Failure::Failed(
            "a daemon was started meanwhile; stop it and try again".to_owned(),
        ));
    };
    secrets(reach, plan, done).await?;
    for agent in &plan.agents {
        let context = match opened.parts.registry.context_of(&agent.id) {
            Ok(context) => context,
            Err(error) => {
                let note = format!("{error}; correct it (`insula check`) and run this again");
                done.trouble(Some(&agent.id), "agent", &nowhere(), note);
                continue;
            }
        };
        one(reach, setting, (plan, agent), (opened, &context), done).await?;
    }
    boards::all(opened, &plan.boards, plan.source, done).await
}

async fn one(
    reach: &Reach,
    setting: &Setting,
    (plan, agent): (&Plan, &AgentPlan),
    (opened, context): (&Opened, &Arc<AgentContext>),
    done: &mut Done,
) -> Result<(), Failure> {
    let before = [done.skills.new, done.memory.new, done.sessions.new, done.messages.new];
    skills(reach, setting, agent, done).await?;
    memory(setting, plan, agent, context, done).await?;
    sessions::all(opened, plan, agent, context, done).await?;
    schedules::all(setting, agent, (opened, context), done).await?;
    let after = [done.skills.new, done.memory.new, done.sessions.new, done.messages.new];
    if before == after {
        return Ok(());
    }
    let [skills, memory, sessions, messages] = std::array::from_fn(|at| after[at] - before[at]);
    let content = json!({
        "from": plan.source.as_str(),
        "agent": agent.origin,
        "skills": skills,
        "memory": memory,
        "sessions": sessions,
        "messages": messages,
    });
    let recorded =
        context.audit.append(About::Agent, &Actor::CommandLine, "agent.imported", content);
    recorded.await.map(|_| ()).map_err(|error| Failure::Failed(error.to_string()))
}

async fn secrets(reach: &Reach, plan: &Plan, done: &mut Done) -> Result<(), Failure> {
    for secret in &plan.secrets {
        let all = match &secret.agent {
            Some(agent) => format!("/api/agents/{}/secrets", part(agent.as_str())),
            None => "/api/daemon/secrets".to_owned(),
        };
        let known = match reach.get(&all).await {
            Ok(known) => known,
            Err(Failure::Refused { message, .. }) => {
                done.trouble(secret.agent.as_ref(), &secret.name, &secret.from, message);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let is_known =
            known.as_array().into_iter().flatten().any(|it| text(it, "name") == secret.name);
        if !is_known {
            let path = format!("{all}/{}", part(&secret.name));
            match reach.put(&path, json!({ "value": secret.value })).await {
                Ok(_) => {}
                Err(Failure::Refused { message, .. }) => {
                    done.trouble(secret.agent.as_ref(), &secret.name, &secret.from, message);
                    continue;
                }
                Err(failure) => return Err(failure),
            }
        }
        done.secrets.note(!is_known);
    }
    Ok(())
}

async fn skills(
    reach: &Reach,
    setting: &Setting,
    agent: &AgentPlan,
    done: &mut Done,
) -> Result<(), Failure> {
    if agent.skills.is_empty() {
        return Ok(());
    }
    let path = format!("/api/agents/{}/skills", part(agent.id.as_str()));
    let rows = reach.get(&path).await?;
    let known: BTreeSet<String> =
        rows.as_array().into_iter().flatten().map(|it| text(it, "source")).collect();
    for skill in &agent.skills {
        let source = SkillSource::Folder(skill.folder.clone());
        if known.contains(&source.name()) {
            done.skills.note(false);
            continue;
        }
        let order = Order { source, replace: false, accept: Vec::new() };
        match install(setting, reach, &path, (&order, &rows)).await {
            Ok(answer) => {
                let installed = answer["installed"].as_array().map_or(0, Vec::len);
                (0..installed).for_each(|_| done.skills.note(true));
                for left in answer["skipped"].as_array().into_iter().flatten() {
                    done.trouble(Some(&agent.id), "skill", &skill.from, text(left, "reason"));
                }
            }
            Err(Failure::Refused { message, .. } | Failure::Failed(message)) => {
                done.trouble(Some(&agent.id), "skill", &skill.from, message);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

async fn memory(
    setting: &Setting,
    plan: &Plan,
    agent: &AgentPlan,
    context: &Arc<AgentContext>,
    done: &mut Done,
) -> Result<(), Failure> {
    let origin = MemoryOrigin {
        source: MemorySource::Import,
        principal: Actor::CommandLine,
        platform: plan.source.as_str().into(),
        session: None,
        message: None,
        call: None,
        generation: context.generation.0,
        at: setting.world.clock.now(),
        approved_by: None,
        label: None,
    };
    for list in &agent.memory {
        let target = match list.list {
            TargetList::Memory => MemoryList::Memory,
            TargetList::User => MemoryList::User,
            TargetList::Day(day) => MemoryList::Day(day),
        };
        let taken =
            context.remembered().take_in((&list.scope, target), &list.entries, &origin).await;
        match taken {
            Ok(taken) => {
                done.memory.new += taken.new;
                done.memory.known += taken.known + taken.forgotten;
                if taken.blocked > 0 {
                    let note = format!(
                        "{} entries read like orders to a model; they are kept and shown to none. `insula memory list {}` tells which",
                        taken.blocked, agent.id
                    );
                    done.trouble(Some(&agent.id), "memory", &list.from, note);
                }
            }
            Err(error) => done.trouble(Some(&agent.id), "memory", &list.from, error.to_string()),
        }
    }
    Ok(())
}
