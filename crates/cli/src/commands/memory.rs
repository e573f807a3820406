//! `insula memory …`

use super::text;
use crate::arguments::{Forgetting, Memory};
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use insula_domain::Scope;
use insula_domain::scan::reveal;
use insula_memory::{by_hand, folder_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// What stands between two entries of a list.
const SEPARATOR: &str = "\n§\n";

/// Longest text of an entry in a list; a list is for finding.
const TEXT_CHARS_MAX: usize = 80;

fn path(agent: &str, what: &str) -> String {
    format!("/api/agents/{}/{what}", part(agent))
}

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Memory) -> Result<u8, Failure> {
    match command {
        Memory::List { agent, scope, provenance } => {
            let mut from = path(&agent, "memory");
            if let Some(scope) = &scope {
                from += &format!("?scope={}", part(scope));
            }
            let found = reach.get(&from).await?;
            let show = |found: &Value| table(found, scope.as_deref(), provenance);
            reach.give_of(&agent, answer, &found, show).await;
            warn(reach, &agent).await?;
        }
        Memory::Contexts { agent } => {
            let lists = reach.get(&path(&agent, "memory/export")).await?;
            answer.give(&contexts(&lists), show_contexts);
            warn(reach, &agent).await?;
        }
        Memory::Show { agent, fragment } => {
            let found = reach.get(&path(&agent, &format!("memory/{fragment}"))).await?;
            reach.give_of(&agent, answer, &found, show).await;
        }
        Memory::Search { agent, words, scope, limit } => {
            let words = part(&words.join(" "));
            let mut from = path(&agent, &format!("memory/search?q={words}&limit={limit}"));
            if let Some(scope) = &scope {
                from += &format!("&scope={}", part(scope));
            }
            let found = reach.get(&from).await?;
            answer.give(&found, |found| match found.as_array().is_some_and(Vec::is_empty) {
                true => output::line("nothing was found"),
                false => table(found, scope.as_deref(), false),
            });
            warn(reach, &agent).await?;
        }
        Memory::Share { agent, fragment, to } => {
            let body = json!({ "fragment": fragment, "to": to });
            let done = reach.post(&path(&agent, "memory/share"), Some(body)).await?;
            answer.give(&done, |done| {
                let new = text(done, "fragment");
                output::line(&format!("shared {fragment} with {to} as {new}"));
            });
        }
        Memory::Forget(forgetting) => return forget(reach, answer, forgetting).await,
        Memory::Export { agent } => {
            let lists = reach.get(&path(&agent, "memory/export")).await?;
            answer.give(&lists, |lists| {
                for list in lists.as_array().into_iter().flatten() {
                    output::heading(&format!("{} {}", text(list, "scope"), text(list, "target")));
                    output::line(&text(list, "text"));
                }
            });
            warn(reach, &agent).await?;
        }
        Memory::Verify { agent } => {
            let report = reach.get(&path(&agent, "memory/verify")).await?;
            answer.give(&report, |report| {
                let (records, fragments) = (text(report, "records"), text(report, "fragments"));
                match report["reason"].as_str() {
                    None => output::line(&format!(
                        "ok: {records} records, {fragments} fragments, each says what its record stands for"
                    )),
                    Some(reason) => output::line(&format!("broken: {reason}")),
                }
            });
            return Ok(u8::from(report["ok"] != true));
        }
    }
    Ok(0)
}

/// The contexts among an agent's lists: how each is called, which folder it has, what else that
/// folder may be called, and how much is in it.
fn contexts(lists: &Value) -> Value {
    let mut found: BTreeMap<Scope, BTreeMap<String, usize>> = BTreeMap::new();
    for list in lists.as_array().into_iter().flatten() {
        let Ok(scope) = text(list, "scope").parse() else { continue };
        let entries = list["text"].as_str().unwrap_or_default();
        let entries = entries.split(SEPARATOR).filter(|entry| !entry.trim().is_empty()).count();
        *found.entry(scope).or_default().entry(text(list, "target")).or_default() += entries;
    }
    let shown = |folder: PathBuf| Path::new("memories").join(folder).display().to_string();
    found
        .into_iter()
        .map(|(scope, entries)| {
            json!({
                "scope": scope.to_string(),
                "folder": shown(folder_of(&scope)),
                "also": by_hand(&scope).map(shown),
                "entries": entries,
            })
        })
        .collect()
}

fn show_contexts(found: &Value) {
    let found = found.as_array().map_or(&[][..], Vec::as_slice);
    if found.is_empty() {
        return output::line("nothing is remembered");
    }
    let rows = found.iter().map(|context| {
        let entries = context["entries"].as_object().into_iter().flatten();
        let entries: Vec<String> =
            entries.map(|(target, count)| format!("{count} {target}")).collect();
        vec![
            text(context, "scope"),
            text(context, "folder"),
            text(context, "also"),
            entries.join(", "),
        ]
    });
    output::table(&["scope", "folder", "or called", "entries"], rows);
}

/// Tells of files that can't be used: what people wrote into them is not in the answer.
async fn warn(reach: &Reach, agent: &str) -> Result<(), Failure> {
    let troubles = reach.get(&path(agent, "memory/troubles")).await?;
    for trouble in troubles.as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::notice(&format!("warning: agents/{agent}/{trouble}"));
    }
    Ok(())
}

async fn forget(reach: &Reach, answer: Answer, asked: Forgetting) -> Result<u8, Failure> {
    let Forgetting { agent, fragment, session, user, scope, yes } = asked;
    let session = match session {
        Some(said) => Some(session_number(&reach.session_called(&agent, &said).await?)?),
        None => None,
    };
    let user = match user {
        Some(said) => Some(reach.person_called(&agent, &said).await?),
        None => None,
    };
    let body = json!({ "fragment": fragment, "session": session, "user": user, "scope": scope });
    if !yes {
        confirm(&agent)?;
    }
    let done = reach.post(&path(&agent, "memory/forget"), Some(body)).await?;
    let remains = done["remains"].as_array().map_or(&[][..], Vec::as_slice);
    answer.give(&done, |done| {
        match done["forgotten"].as_array().map_or(0, Vec::len) {
            0 => output::line(&format!("nothing of {agent} was there to forget")),
            count => output::line(&format!("forgot {count} of {agent}")),
        }
        if !remains.is_empty() {
            output::line("these files may still have words that were forgotten:");
        }
        for left in remains {
            output::line(&format!("  agents/{agent}/{} {}", text(left, "file"), text(left, "why")));
        }
        if !remains.is_empty() {
            output::line("it is tried again when their lists are next used, and by this command");
        }
    });
    // Half done is not done.
    Ok(if remains.is_empty() { 0 } else { FAILED })
}

/// The number of a conversation, as the local admin sees it.
fn session_number(text: &str) -> Result<i64, Failure> {
    text.parse().map_err(|_| Failure::WrongUse(format!("`{text}` is no number of a conversation")))
}

fn table(found: &Value, scope: Option<&str>, with_provenance: bool) {
    let found = found.as_array().map_or(&[][..], Vec::as_slice);
    if found.is_empty() {
        return match scope {
            Some(scope) => output::line(&format!("nothing is remembered in {scope} now")),
            None => output::line("nothing is remembered"),
        };
    }
    let mut heads = vec!["id", "scope", "target", "blocked", "text"];
    if with_provenance {
        heads.extend(["source", "who", "session", "at", "approved by"]);
    }
    let rows = found.iter().map(|fragment| {
        // Whoever looks why something is blocked has to see what can't be seen.
        let flat = text(fragment, "text").split_whitespace().collect::<Vec<_>>().join(" ");
        let flat = reveal(&flat);
        let mut shown: String = flat.chars().take(TEXT_CHARS_MAX).collect();
        if shown.len() < flat.len() {
            shown.push('…');
        }
        let blocked = fragment["blocked_reason"].as_str().unwrap_or("-").to_owned();
        let (id, scope) = (text(fragment, "id"), text(fragment, "scope"));
        let mut row = vec![id, scope, text(fragment, "target"), blocked, shown];
        if with_provenance {
            let from = &fragment["provenance"];
            row.extend(
                ["source", "principal", "session", "at", "approved_by"].map(|key| text(from, key)),
            );
        }
        row
    });
    output::table(&heads, rows);
}

fn show(found: &Value) {
    let fragment = &found["fragment"];
    output::facts(&[
        ("fragment", text(fragment, "id")),
        ("scope", text(fragment, "scope")),
        ("target", text(fragment, "target")),
        ("blocked", fragment["blocked_reason"].as_str().unwrap_or("no").to_owned()),
    ]);
    output::line("");
    output::line(&reveal(&text(fragment, "text")));
    for record in found["provenance"].as_array().into_iter().flatten() {
        output::line("");
        output::heading(&format!("record {}", text(record, "record")));
        let keys = ["source", "principal", "platform", "session", "message", "call", "generation"];
        let mut facts: Vec<(&str, String)> = keys.map(|key| (key, text(record, key))).to_vec();
        for key in ["at", "approved_by", "hash", "previous"] {
            facts.push((key, text(record, key)));
        }
        output::facts(&facts);
    }
}

/// Forgetting can't be undone, so it has to be meant.
fn confirm(agent: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        let message = "forgetting can't be undone; say --yes to mean it";
        return Err(Failure::WrongUse(message.to_owned()));
    }
    let mut out = std::io::stderr();
    let question = format!("This erases memory of {agent} for good. Type yes to go on: ");
    write!(out, "{}", output::clean(&question))?;
    out.flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    let sure = typed.trim() == "yes";
    if sure { Ok(()) } else { Err(Failure::Failed("nothing was forgotten".to_owned())) }
}
