//! Which of an agent's skills its programs are shown.

use super::here::starts_programs;
use crate::Capabilities;
use crate::skills::shelf;
use insula_config::skills::{Skill, SkillLocation};
use insula_domain::Switch;
use insula_domain::hook::HookEvent;
use insula_registry::context::AgentContext;
use insula_sandbox::{Spec, Walls};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Gives a program the skills of its agent, to read and to run from; those it does not get, by
/// the path they would have, and why.
///
/// Where a hook decides about each view, these are the skills that were viewed: others would be
/// read without anybody being asked.
pub(super) async fn give_skills(
    caps: &Capabilities,
    agent: &AgentContext,
    viewed: &BTreeSet<String>,
    spec: &mut Spec,
) -> Vec<(String, String)> {
    let is_shown = agent.tools().verdict("skill_view").is_in();
    if spec.walls == Walls::Down || !is_shown || agent.skills.skills.is_empty() {
        return Vec::new();
    }
    let shown = caps.show_skills(&agent.id).await;
    let folder = shelf::folder(&caps.home, &agent.id);
    let given: Vec<PathBuf> = match agent.hooks.has(HookEvent::SkillLoad) {
        false if shown.names.is_empty() => Vec::new(),
        false => vec![folder.clone()],
        true => {
            let viewed = shown.names.iter().filter(|name| viewed.contains(&***name));
            viewed.map(|name| folder.join(&**name)).collect()
        }
    };
    spec.executes.extend(given.iter().cloned());
    spec.reads.extend(given);
    let path = |name: &str| folder.join(name).display().to_string();
    shown.withheld.into_iter().map(|(name, why)| (path(&name), why)).collect()
}

/// Where programs of an agent find the files of a skill; nothing where it runs none.
pub(crate) fn skill_folder(
    caps: &Capabilities,
    agent: &AgentContext,
    skill: &Skill,
) -> Option<PathBuf> {
    if !starts_programs(agent.tools()) {
        return None;
    }
    Some(match agent.programs.sandbox {
        Switch::On => shelf::folder(&caps.home, &agent.id).join(&*skill.name),
        Switch::Off => {
            let home = match skill.place {
                SkillLocation::Own => caps.home.real_root(),
                // A bundle may be a link of the operator's, which leads programs on.
                SkillLocation::Bundle(_) => caps.home.root().to_owned(),
            };
            home.join(skill.place.folder(agent.id.as_str())).join(&*skill.folder)
        }
    })
}
