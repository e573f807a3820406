//! What is said of an import: a table of what becomes of each thing, and what was done.

use super::{Done, Tally};
use crate::output;
use crate::setting::Setting;
use insula_import::{AgentPlan, Fate, Plan, Row};
use serde_json::{Map, Value, json};
use std::path::Path;

/// What is said of what somebody here changed or took away.
const LEFT_OUT: &str = "was brought before, and is no longer here: left out";

/// What would be done.
pub(super) fn plan(setting: &Setting, plan: &Plan, path: &Path) {
    let mut answer = head(plan, path, true);
    answer["rows"] = plan.rows.iter().map(row).collect();
    setting.answer.give(&answer, |_| {
        for (fate, title) in [
            (Fate::Comes, "comes over"),
            (Fate::Changes, "comes over and means something else here"),
            (Fate::Closed, "was open there and is closed here"),
            (Fate::NoPlace, "has no place here"),
            (Fate::LeftOut, LEFT_OUT),
            (Fate::Trouble, "could not be read"),
        ] {
            table(title, plan.rows.iter().filter(|it| it.fate == fate));
        }
        output::line("");
        output::line("nothing was changed; leave out --dry-run to do it");
    });
}

/// What was done.
pub(super) fn done(setting: &Setting, plan: &Plan, done: &Done, path: &Path) {
    let mut answer = head(plan, path, false);
    answer["rows"] = plan.rows.iter().map(row).collect();
    answer["troubles"] = done.troubles.iter().map(row).collect();
    let tallies = done.tallies().into_iter();
    let tallies: Map<String, Value> = tallies
        .map(|(name, Tally { new, known })| {
            (name.replace(' ', "_"), json!({ "new": new, "known": known }))
        })
        .collect();
    answer["done"] = Value::Object(tallies);
    setting.answer.give(&answer, |_| {
        table(
            "was open there and is closed here",
            plan.rows.iter().filter(|it| it.fate == Fate::Closed),
        );
        table(LEFT_OUT, plan.rows.iter().filter(|it| it.fate == Fate::LeftOut));
        table("could not be read", plan.rows.iter().filter(|it| it.fate == Fate::Trouble));
        table("could not be done", done.troubles.iter());
        output::line("");
        let rows = done.tallies().into_iter().filter(|(_, it)| *it != Tally::default());
        let rows = rows.map(|(name, Tally { new, known })| {
            vec![name.to_owned(), new.to_string(), known.to_string()]
        });
        output::table(&["what", "new", "here already"], rows);
        let is_new = done.tallies().iter().any(|(_, it)| it.new > 0);
        let has_left = plan.rows.iter().any(|it| it.fate == Fate::LeftOut);
        let ids: Vec<&str> = plan.agents.iter().map(|it| it.id.as_str()).collect();
        output::line("");
        match is_new {
            true => output::line(&format!(
                "imported {}; `insula check` says what is left to do, `insula up` starts them",
                ids.join(", ")
            )),
            false if has_left => output::line("nothing new was there; nothing was changed"),
            false => output::line("everything was here already; nothing was changed"),
        }
    });
}

fn head(plan: &Plan, path: &Path, dry_run: bool) -> Value {
    json!({
        "source": plan.source.as_str(),
        "path": path.display().to_string(),
        "dry_run": dry_run,
        "agents": plan.agents.iter().map(agent).collect::<Vec<_>>(),
    })
}

fn agent(agent: &AgentPlan) -> Value {
    json!({
        "id": agent.id.as_str(),
        "origin": agent.origin,
        "settings": agent.settings,
        "skills": agent.skills.len(),
        "memory": agent.memory.iter().map(|it| it.entries.len()).sum::<usize>(),
        "sessions": agent.sessions.len(),
        "messages": agent.sessions.iter().map(|it| it.count).sum::<usize>(),
        "schedules": agent.schedules.len(),
    })
}

fn row(row: &Row) -> Value {
    json!({
        "fate": row.fate.as_str(),
        "agent": row.agent.as_ref().map(|it| it.as_str()),
        "what": row.what,
        "file": row.from.file,
        "line": row.from.line,
        "note": row.note,
    })
}

fn table<'r>(title: &str, rows: impl Iterator<Item = &'r Row>) {
    let rows: Vec<Vec<String>> = rows
        .map(|row| {
            let agent = row.agent.as_ref().map_or("-", |it| it.as_str());
            vec![agent.to_owned(), row.what.clone(), row.from.to_string(), row.note.clone()]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    output::line("");
    output::heading(title);
    output::table(&["agent", "what", "from", "note"], rows);
}
