//! The other files of a profile: soul, memory, skills, scheduled tasks.

use super::{Profile, on};
use crate::doc::{Doc, json};
use crate::place::Place;
use crate::plan::{AgentPlan, Fate, MemoryPlan, Note, Plan, SchedulePlan, SkillPlan, TargetList};
use crate::source_home::SourceHome;
use insula_config::yaml::Node;
use insula_domain::{ChatType, ContextId, CustomId, Scope};
use serde_json::{Map, Value, json};

/// What stands between two entries of a list there, and here.
const SEPARATOR: &str = "\n§\n";

/// The context for what was remembered where groups could read it too.
pub(crate) const CLOSED: &str = "imported";

/// Deepest folder that a skill is looked for in: categories, and categories in them.
const SKILL_DEPTH_MAX: usize = 4;

/// What it is for, which people and planners read.
pub(super) fn description(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>) {
    let file = profile.path("profile.yaml");
    let Ok(Some(text)) = profile.home.text(&file) else { return };
    let doc = match Doc::yaml(&file, text) {
        Ok(doc) => doc,
        Err((from, why)) => {
            let note = Note { what: "description", from, note: &why };
            return plan.row(Fate::Trouble, Some(&profile.id), note);
        }
    };
    let found = doc.root.get("description");
    if let Some(node) = found
        && let Some(text) = node.text().filter(|it| !it.trim().is_empty())
    {
        agent.set(&["description"], text);
        let note = Note { what: "description", from: doc.place(node.span), note: "description" };
        plan.row(Fate::Comes, Some(&profile.id), note);
    }
}

/// Who it is.
pub(super) fn soul(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>) {
    let file = profile.path("SOUL.md");
    let from = Place::file(&file);
    match profile.home.text(&file) {
        Ok(Some(text)) if !text.trim().is_empty() => {
            agent.soul = Some(text);
            plan.row(Fate::Comes, Some(&profile.id), Note { what: "soul", from, note: "SOUL.md" });
        }
        Ok(_) => {}
        Err(why) => {
            plan.row(Fate::Trouble, Some(&profile.id), Note { what: "soul", from, note: &why })
        }
    }
}

/// What it remembers: for everybody, and, in forks that keep them, context by context.
pub(super) fn memory(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>) {
    let switched_off = agent.get(&["memory", "enabled"]) == Some(&Value::Bool(false));
    if !switched_off {
        agent.set(&["memory", "enabled"], true);
    }
    let folder = profile.path("memories");
    lists(plan, agent, profile, (&folder, &Scope::Global));
    let contexts = format!("{folder}/contexts");
    let found = match profile.home.list(&contexts) {
        Ok((found, left)) => {
            for name in left {
                let from = Place::file(format!("{contexts}/{name}"));
                let note = "it is a link that leads out of the home, and is not followed";
                plan.row(Fate::Trouble, Some(&profile.id), Note { what: "context", from, note });
            }
            found
        }
        Err(why) => {
            let from = Place::file(&contexts);
            return plan.row(
                Fate::Trouble,
                Some(&profile.id),
                Note { what: "contexts", from, note: &why },
            );
        }
    };
    for context in found.into_iter().filter(|it| it.is_folder) {
        let folder = format!("{contexts}/{}", context.name);
        // One that is called as a context of ours is that one. Any other is what a rule or a
        // hook answered, and stays so.
        let scope = match context.name.parse::<Scope>() {
            Ok(scope @ Scope::Context(_)) => Some(scope),
            _ => CustomId::new(&context.name).map(|id| Scope::Context(ContextId::Custom(id))),
        };
        let Some(scope) = scope else {
            let from = Place::file(&folder);
            let note = "its name can't be one of a context here";
            plan.row(Fate::Trouble, Some(&profile.id), Note { what: "context", from, note });
            continue;
        };
        lists(plan, agent, profile, (&folder, &scope));
        if matches!(scope, Scope::Context(ContextId::Custom(_))) {
            let note = format!("read where `memory.scope` or a hook answers `{}`", context.name);
            let from = Place::file(&folder);
            plan.row(Fate::Changes, Some(&profile.id), Note { what: "context", from, note: &note });
        }
    }
}

fn lists(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    profile: &Profile<'_>,
    (folder, scope): (&str, &Scope),
) {
    for (name, list) in [("MEMORY.md", TargetList::Memory), ("USER.md", TargetList::User)] {
        let file = format!("{folder}/{name}");
        let from = Place::file(&file);
        let text = match profile.home.text(&file) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                plan.row(
                    Fate::Trouble,
                    Some(&profile.id),
                    Note { what: "memory", from, note: &why },
                );
                continue;
            }
        };
        let entries: Vec<String> = entries(&text);
        if entries.is_empty() {
            continue;
        }
        let note = match scope {
            Scope::Global => count(entries.len()),
            scope => format!("{}, in {scope}", count(entries.len())),
        };
        plan.row(
            Fate::Comes,
            Some(&profile.id),
            Note { what: "memory", from: from.clone(), note: &note },
        );
        agent.memory.push(MemoryPlan { scope: scope.clone(), list, entries, from });
    }
}

/// So many entries.
pub(crate) fn count(entries: usize) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
}

/// The entries of a list, as they are written there.
pub(crate) fn entries(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let all = text.split(SEPARATOR).map(|it| it.trim().trim_matches('§').trim().to_owned());
    all.filter(|entry| !entry.is_empty()).collect()
}

/// One memory for every chat is closed where groups have a part in it: what was said in one
/// would be told in another. Direct chats go on reading it.
pub(crate) fn close_memory(plan: &mut Plan) {
    let mut rows = Vec::new();
    for agent in &mut plan.agents {
        let of_all = |it: &MemoryPlan| it.scope == Scope::Global;
        let Some(first) = agent.memory.iter().find(|it| of_all(it)) else { continue };
        let from = first.from.clone();
        let by_session = agent.sessions.iter().any(|it| it.address.chat_type != ChatType::Dm);
        let allowed = agent.get(&["access", "allow"]).and_then(Value::as_array);
        let by_access =
            allowed.into_iter().flatten().filter_map(Value::as_str).any(|it| it.contains(":chat:"));
        let by_binding = plan.bindings.iter().filter(|it| it.agent == agent.id).any(|it| {
            it.fields.values().any(|at| {
                let named = ["chat", "topic", "guild"].iter().any(|key| at.get(key).is_some());
                named || at["peer"]["kind"].as_str().is_some_and(|it| it != "direct")
            })
        });
        if !(by_session || by_access || by_binding || agent.serves_groups) {
            let note = "from now on what it learns stays in the chat where it was said; what it had is read in all of its chats";
            rows.push((Fate::Changes, agent.id.clone(), from, note));
            continue;
        }
        if let Some(id) = CustomId::new(CLOSED) {
            let closed = Scope::Context(ContextId::Custom(id));
            agent
                .memory
                .iter_mut()
                .filter(|it| of_all(it))
                .for_each(|it| it.scope = closed.clone());
        }
        agent.add(&["memory", "also_read"], format!("chat_type == 'dm' ? '{CLOSED}' : 'nothing'"));
        let note = "every chat shared it, groups included; here direct chats read it and groups do not. `insula memory share` opens single entries";
        rows.push((Fate::Closed, agent.id.clone(), from, note));
    }
    for (fate, agent, from, note) in rows {
        plan.row(fate, Some(&agent), Note { what: "shared memory", from, note });
    }
}

/// Its skills, in whatever category.
pub(super) fn skills(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>) {
    let mut open = vec![(profile.path("skills"), 0)];
    while let Some((folder, depth)) = open.pop() {
        match profile.home.list(&folder) {
            Err(why) => {
                let from = Place::file(&folder);
                plan.row(
                    Fate::Trouble,
                    Some(&profile.id),
                    Note { what: "skills", from, note: &why },
                );
            }
            Ok((found, left)) => {
                for name in left {
                    let from = Place::file(format!("{folder}/{name}"));
                    let note = "it is a link that leads out of the home, and is not followed";
                    plan.row(Fate::Trouble, Some(&profile.id), Note { what: "skill", from, note });
                }
                if found.iter().any(|it| it.name == "SKILL.md" && !it.is_folder) {
                    let from = Place::file(format!("{folder}/SKILL.md"));
                    plan.row(
                        Fate::Comes,
                        Some(&profile.id),
                        Note {
                            what: "skill",
                            from: from.clone(),
                            note: "installed if the scanner has nothing against it",
                        },
                    );
                    agent
                        .skills
                        .push(SkillPlan { folder: profile.home.root().join(&folder), from });
                } else if depth < SKILL_DEPTH_MAX {
                    let inner =
                        found.into_iter().filter(|it| it.is_folder && !it.name.starts_with('.'));
                    open.extend(inner.map(|it| (format!("{folder}/{}", it.name), depth + 1)));
                }
            }
        }
    }
    agent.skills.sort_by(|one, other| one.folder.cmp(&other.folder));
}

/// Its scheduled tasks. They are kept and not run.
pub(super) fn schedules(plan: &mut Plan, agent: &mut AgentPlan, profile: &Profile<'_>) {
    let file = profile.path("cron/jobs.json");
    let read = match profile.home.text(&file) {
        Ok(None) => return,
        Ok(Some(text)) => Doc::json5(&file, text),
        Err(why) => Err((Place::file(&file), why)),
    };
    let doc = match read {
        Ok(doc) => doc,
        Err((from, why)) => {
            return plan.row(
                Fate::Trouble,
                Some(&profile.id),
                Note { what: "cron jobs", from, note: &why },
            );
        }
    };
    for job in doc.root.get("jobs").map(Node::items).unwrap_or_default() {
        let text = |key: &str| job.get(key).and_then(Node::text).map(str::to_owned);
        let from = doc.place(job.span);
        let name = text("name").unwrap_or_default();
        let what = format!("cron job {name}");
        let (Some(source_id), Some(schedule)) = (text("id"), schedule(job)) else {
            let note = "it has no id, or no schedule that can be read";
            plan.row(Fate::Trouble, Some(&profile.id), Note { what: what.trim(), from, note });
            continue;
        };
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(name));
        fields.insert("schedule".to_owned(), json!(schedule));
        for key in [
            "prompt", "deliver", "skills", "model", "provider", "script", "repeat", "origin",
            "workdir",
        ] {
            let value = job.get(key).map(json).unwrap_or_default();
            let is_empty = value.is_null() || value == json!([]);
            if !is_empty {
                fields.insert(key.to_owned(), value);
            }
        }
        fields.insert("enabled".to_owned(), json!(false));
        fields.insert("was_enabled".to_owned(), json!(job.get("enabled").is_none_or(on)));
        let note = format!(
            "a job, `{schedule}`, that is paused, where it can be one here; its reply goes nowhere until you say where"
        );
        plan.row(
            Fate::Changes,
            Some(&profile.id),
            Note { what: what.trim(), from: from.clone(), note: &note },
        );
        agent.schedules.push(SchedulePlan { source_id, fields, from });
    }
}

/// When a job runs, in words that schedules have here too.
fn schedule(job: &Node) -> Option<String> {
    let when = job.get("schedule")?;
    let text = |key: &str| when.get(key).and_then(Node::text);
    match text("kind") {
        Some("cron") => text("expr").map(str::to_owned),
        Some("interval") => Some(format!("every {}m", when.get("minutes")?.integer()?)),
        Some("once") => text("run_at").or_else(|| text("at")).map(str::to_owned),
        _ => when.text().map(str::to_owned),
    }
}

/// What stands in the home and is no profile's.
pub(super) fn left_behind(plan: &mut Plan, home: &SourceHome) {
    let Ok((found, left)) = home.list("") else { return };
    for name in left {
        let note = "it is a link that leads out of the home, and is not followed";
        plan.row(Fate::Trouble, None, Note { what: "file", from: Place::file(&name), note });
    }
    let has = |name: &str| found.iter().any(|it| it.name == name);
    for (name, what, note) in [
        ("auth.json", "logins", "log in again here: logins of other programs are not copied"),
        ("plugins", "plugins", "programs of the other runtime do not run here"),
        ("checkpoints", "checkpoints", "they stay where they are"),
    ] {
        if has(name) {
            plan.row(Fate::NoPlace, None, Note { what, from: Place::file(name), note });
        }
    }
    if let Ok((hooks, _)) = home.list("hooks") {
        for hook in hooks.into_iter().filter(|it| it.is_folder) {
            let from = Place::file(format!("hooks/{}", hook.name));
            let note = "a handler in Python does not run here; write a hook that answers by a program or an expression";
            plan.row(Fate::NoPlace, None, Note { what: "hook", from, note });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_what_stands_between_marks() {
        assert_eq!(entries("one\n§\ntwo\nlines\n§\n"), ["one", "two\nlines"]);
        assert_eq!(entries("a § b\r\n§\r\nc"), ["a § b", "c"]);
        assert!(entries(" \n§\n \n").is_empty());
    }
}
