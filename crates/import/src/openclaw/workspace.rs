//! An agent's workspace: soul, memory, notes of days, skills.

use super::Reading;
use super::state::Shared;
use crate::hermes::count;
use crate::place::Place;
use crate::plan::{AgentPlan, Fate, MemoryPlan, Note, Plan, SkillPlan, TargetList};
use crate::source_home::SourceHome;
use insula_config::yaml::Node;
use insula_domain::{Day, Scope};
use serde_json::json;
use std::path::Path;

/// Longest list that is shown to a model whole; what is longer is found by search.
const SHOWN_CHARS_MAX: usize = 20_000;

/// Texts that have a place of their own.
const PLACED: [&str; 4] = ["SOUL.md", "USER.md", "MEMORY.md", "memory.md"];

/// Takes over what stands in it.
pub(super) fn take(
    plan: &mut Plan,
    agent: &mut AgentPlan,
    reading: &Reading<'_>,
    (entry, shared): (Option<&Node>, &Shared),
) {
    let written = entry.and_then(|it| it.get("workspace")).and_then(Node::text);
    let of_all = reading.get(&["agents", "defaults", "workspace"]).and_then(Node::text);
    let path = match (written, of_all, agent.is_default) {
        (Some(path), ..) | (None, Some(path), true) => path.to_owned(),
        (None, _, true) => "workspace".to_owned(),
        (None, _, false) => format!("workspace-{}", agent.origin),
    };
    let Some((home, prefix)) = folder(reading.home, &path) else {
        let note = "there is no such folder";
        return plan.row(
            Fate::Trouble,
            Some(&agent.id),
            Note { what: "workspace", from: Place::file(path), note },
        );
    };
    let desk = Desk { home: &home, prefix: &prefix, shared };
    agent.set(&["memory", "enabled"], true);
    soul(plan, agent, &desk);
    memory(plan, agent, &desk);
    texts(plan, agent, &desk);
    skills(plan, agent, &desk);
}

/// A workspace while it is read.
struct Desk<'d> {
    home: &'d SourceHome,
    /// What stands before its files, for people.
    prefix: &'d str,
    shared: &'d Shared,
}

impl Desk<'_> {
    fn place(&self, name: &str) -> Place {
        Place::file(format!("{}/{name}", self.prefix))
    }

    /// A text that somebody wrote; `None` where there is none or only what their program put there.
    fn text(&self, plan: &mut Plan, agent: &AgentPlan, name: &str) -> Option<String> {
        match self.home.text(name) {
            Ok(Some(text)) if !text.trim().is_empty() && !self.shared.is_generated(name, &text) => {
                Some(text)
            }
            Ok(_) => None,
            Err(why) => {
                let note = Note { what: name, from: self.place(name), note: &why };
                plan.row(Fate::Trouble, Some(&agent.id), note);
                None
            }
        }
    }
}

/// The folder of a workspace. A home that was moved has it where the home is now.
fn folder(home: &SourceHome, path: &str) -> Option<(SourceHome, String)> {
    let name = Path::new(path).file_name().and_then(|it| it.to_str())?.to_owned();
    let is_inside = Path::new(path).starts_with(home.root());
    if (is_inside || home.has_folder(&name)) && home.has_folder(&name) {
        let inner = SourceHome::open(&home.root().join(&name)).ok()?;
        return Some((inner, name));
    }
    if !path.starts_with('/') {
        return None;
    }
    let outside = SourceHome::open(Path::new(path)).ok()?;
    Some((outside, path.to_owned()))
}

fn soul(plan: &mut Plan, agent: &mut AgentPlan, desk: &Desk<'_>) {
    if let Some(text) = desk.text(plan, agent, "SOUL.md") {
        agent.soul = Some(text);
        let note = Note { what: "soul", from: desk.place("SOUL.md"), note: "SOUL.md" };
        plan.row(Fate::Comes, Some(&agent.id), note);
    }
}

fn memory(plan: &mut Plan, agent: &mut AgentPlan, desk: &Desk<'_>) {
    let mut lists: Vec<(String, TargetList)> = vec![
        ("MEMORY.md".to_owned(), TargetList::Memory),
        ("USER.md".to_owned(), TargetList::User),
    ];
    match desk.home.list("memory") {
        Ok((found, left)) => {
            for file in found.into_iter().filter(|it| !it.is_folder) {
                let Some(stem) = file.name.strip_suffix(".md") else { continue };
                let list = Day::parse(stem).map_or(TargetList::Memory, TargetList::Day);
                lists.push((format!("memory/{}", file.name), list));
            }
            for name in left {
                let from = desk.place(&format!("memory/{name}"));
                let note = "it is a link that leads out of the folder, and is not followed";
                plan.row(Fate::Trouble, Some(&agent.id), Note { what: "memory", from, note });
            }
        }
        Err(why) => {
            let note = Note { what: "memory", from: desk.place("memory"), note: &why };
            plan.row(Fate::Trouble, Some(&agent.id), note);
        }
    }
    let mut chars = [0_usize; 3];
    for (file, list) in lists {
        let Some(text) = desk.text(plan, agent, &file) else { continue };
        let entries = entries(&text);
        if entries.is_empty() {
            continue;
        }
        let used: usize = entries.iter().map(|it| it.chars().count() + 3).sum();
        match list {
            TargetList::Memory => chars[0] += used,
            TargetList::User => chars[1] += used,
            TargetList::Day(_) => {
                chars[2] = chars[2].max(used);
                agent.set(&["memory", "daily"], true);
            }
        }
        let from = desk.place(&file);
        let note = format!("{}, one for each point or paragraph", count(entries.len()));
        plan.row(
            Fate::Comes,
            Some(&agent.id),
            Note { what: "memory", from: from.clone(), note: &note },
        );
        agent.memory.push(MemoryPlan { scope: Scope::Global, list, entries, from });
    }
    for (key, used, least) in
        [("memory", chars[0], 2_200), ("user", chars[1], 1_375), ("daily", chars[2], 3_000)]
    {
        if used > least {
            // Room for what is there, and for some more.
            agent.set(&["memory", "limits", key], json!((used + used / 4).min(SHOWN_CHARS_MAX)));
        }
    }
}

/// A text as entries: each point of a list and each paragraph is one, with the heading it stands
/// under. A heading that opens the text says what the text is, and no more.
pub(super) fn entries(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut heading, mut open): (Option<String>, Option<String>) = (None, None);
    let mut is_first = true;
    let mut close = |open: &mut Option<String>, heading: &Option<String>| {
        let Some(entry) = open.take() else { return };
        // A line that is only this mark would part an entry in two.
        let entry = entry.lines().filter(|line| line.trim() != "§").collect::<Vec<_>>().join("\n");
        let entry = entry.trim();
        if entry.is_empty() {
            return;
        }
        let entry = match heading {
            Some(heading) => format!("{heading}: {entry}"),
            None => entry.to_owned(),
        };
        if !found.contains(&entry) {
            found.push(entry);
        }
    };
    for line in text.lines() {
        let bare = line.trim();
        let title = bare.trim_start_matches('#');
        if bare.starts_with('#') && title.starts_with(' ') {
            close(&mut open, &heading);
            heading = (!is_first).then(|| title.trim().trim_end_matches(':').to_owned());
            heading = heading.filter(|it| !it.is_empty());
        } else if bare.is_empty() {
            close(&mut open, &heading);
        } else if let Some(point) =
            ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark))
        {
            close(&mut open, &heading);
            open = Some(point.trim().to_owned());
        } else {
            let said = open.take().map_or_else(String::new, |it| it + "\n");
            open = Some(said + line.trim_end());
        }
        is_first &= bare.is_empty();
    }
    close(&mut open, &heading);
    found
}

/// Its other texts: they had a part in every prompt there.
fn texts(plan: &mut Plan, agent: &mut AgentPlan, desk: &Desk<'_>) {
    let Ok((found, left)) = desk.home.list("") else { return };
    for name in left {
        let note = "it is a link that leads out of the folder, and is not followed";
        plan.row(
            Fate::Trouble,
            Some(&agent.id),
            Note { what: "file", from: desk.place(&name), note },
        );
    }
    let mut others = 0;
    for file in found.iter().filter(|it| !it.name.starts_with('.')) {
        let is_text = !file.is_folder && file.name.ends_with(".md");
        match is_text {
            _ if PLACED.contains(&&*file.name) || ["memory", "skills"].contains(&&*file.name) => {}
            false => others += 1,
            true => {
                let Some(text) = desk.text(plan, agent, &file.name) else { continue };
                agent.files.insert(file.name.clone(), text.into_bytes());
                let note = "a file of its workspace; no prompt is made of what an agent can write. Put what should always hold into SOUL.md";
                plan.row(
                    Fate::Changes,
                    Some(&agent.id),
                    Note { what: &file.name, from: desk.place(&file.name), note },
                );
            }
        }
    }
    if others > 0 {
        let note = format!(
            "{others} other files and folders stay where they are; grant them by files.shared"
        );
        plan.row(
            Fate::NoPlace,
            Some(&agent.id),
            Note { what: "workspace", from: Place::file(desk.prefix), note: &note },
        );
    }
}

fn skills(plan: &mut Plan, agent: &mut AgentPlan, desk: &Desk<'_>) {
    let Ok((found, left)) = desk.home.list("skills") else { return };
    for name in left {
        let from = desk.place(&format!("skills/{name}"));
        let note = "it is a link that leads out of the folder, and is not followed";
        plan.row(Fate::Trouble, Some(&agent.id), Note { what: "skill", from, note });
    }
    for skill in found.into_iter().filter(|it| it.is_folder) {
        let file = format!("skills/{}/SKILL.md", skill.name);
        if !matches!(desk.home.bytes(&file), Ok(Some(_))) {
            continue;
        }
        let from = desk.place(&file);
        let note = "installed if the scanner has nothing against it";
        plan.row(Fate::Comes, Some(&agent.id), Note { what: "skill", from: from.clone(), note });
        agent
            .skills
            .push(SkillPlan { folder: desk.home.root().join("skills").join(&skill.name), from });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn points_and_paragraphs_are_entries_under_their_headings() {
        let text = "# Long-term\n\n- The lathe needs oil\n  every Monday.\n- Screws are in drawer seven.\n\n## Customers:\n\nThe choir ordered\ntwelve stands.\n\n- The school paid.\n§\n#hashtag stays\n";
        assert_eq!(
            entries(text),
            [
                "The lathe needs oil\n  every Monday.",
                "Screws are in drawer seven.",
                "Customers: The choir ordered\ntwelve stands.",
                "Customers: The school paid.\n#hashtag stays",
            ]
        );
        assert!(entries("# Only a title\n\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_word_is_lost(words in prop::collection::vec("[a-z]{3,8}", 1..20), marks in prop::collection::vec(prop::sample::select(vec!["\n", "\n\n", "\n- ", " ", "\n* "]), 20)) {
            let text: String = words.iter().zip(&marks).map(|(word, mark)| format!("{word}{mark}")).collect();
            let all = entries(&text).join(" ");
            for word in &words {
                prop_assert!(all.contains(word.as_str()), "{} of {:?}", word, text);
            }
        }
    }
}
