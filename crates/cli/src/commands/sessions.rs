//! `insula sessions …`

use super::text;
use crate::arguments::Sessions;
use crate::chat::markdown::Renderer;
use crate::chat::terminal::{self, Screen};
use crate::failure::Failure;
use crate::names::short;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::{Answer, Setting};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Longest title in a list; a list is for finding, not for reading.
const TITLE_CHARS_MAX: usize = 60;
/// Longest text of a find in a list.
const FIND_CHARS_MAX: usize = 200;

/// Runs it.
pub async fn run(reach: &Reach, setting: &Setting, command: Sessions) -> Result<u8, Failure> {
    let answer = setting.answer;
    match command {
        Sessions::List { agent, limit, before } => {
            let found = list(reach, &agent, limit, before).await?;
            match answer {
                Answer::Json => answer.give(&found, table),
                Answer::Text => table(&titled(reach, &agent, found).await),
            }
        }
        Sessions::Show { agent, id, limit, before } => {
            let mut path = format!("{}/{}?limit={limit}", base(&agent), part(&id));
            if let Some(before) = before {
                path += &format!("&before={before}");
            }
            let found = reach.get(&path).await?;
            reach.give_of(&agent, answer, &found, |found| show(found, setting)).await;
        }
        Sessions::Search { words, all: true, limit, .. } => {
            let words = part(&words.join(" "));
            let found = reach.get(&format!("/api/sessions/search?q={words}&limit={limit}")).await?;
            reach.give(answer, &found, finds).await;
        }
        Sessions::Search { words, scope, limit, .. } => {
            let [agent, words @ ..] = words.as_slice() else { return Ok(0) };
            if words.is_empty() {
                let told = format!("say what to look for in the conversations of {agent}");
                return Err(Failure::WrongUse(told));
            }
            let words = part(&words.join(" "));
            let mut path = format!("{}/search?q={words}&limit={limit}", base(agent));
            if let Some(scope) = scope {
                path += &format!("&scope={}", part(&scope));
            }
            let found = reach.get(&path).await?;
            reach.give_of(agent, answer, &found, finds).await;
        }
        Sessions::Forget { agent, id, yes } => {
            let id = reach.session_called(&agent, &id).await?;
            if !yes {
                confirm(&agent, &id)?;
            }
            reach.delete(&format!("{}/{}", base(&agent), part(&id))).await?;
            answer.give(&json!({ "id": id, "forgotten": true }), |_| {
                output::line(&format!("forgot {id} of {agent}"));
            });
        }
    }
    Ok(0)
}

/// The conversations of an agent.
pub async fn list(
    reach: &Reach,
    agent: &str,
    limit: usize,
    before: Option<u64>,
) -> Result<Value, Failure> {
    let mut path = format!("{}?limit={limit}", base(agent));
    if let Some(before) = before {
        path += &format!("&before={before}");
    }
    reach.get(&path).await
}

/// Conversations, those without a title by how they begin.
pub async fn titled(reach: &Reach, agent: &str, mut found: Value) -> Value {
    let id = reach.agent_called(agent).await;
    let begins = format!("/api/sessions?agent={}&limit={BEGINNINGS}", part(&id));
    let begins = reach.get(&begins).await.unwrap_or_default();
    for row in found.as_array_mut().into_iter().flatten().filter(|row| row["title"].is_null()) {
        let mut all = begins.as_array().into_iter().flatten();
        if let Some(it) = all.find(|it| it["id"] == row["id"]) {
            row["title"] = it["begins"].clone();
        }
    }
    found
}

/// Conversations whose beginnings are asked for: as many as one answer has.
const BEGINNINGS: usize = 200;

fn base(agent: &str) -> String {
    format!("/api/agents/{}/sessions", part(agent))
}

/// Prints a list of conversations.
pub fn table(sessions: &Value) {
    let sessions = sessions.as_array().map_or(&[][..], Vec::as_slice);
    if sessions.is_empty() {
        return output::line("no conversations yet");
    }
    let rows = sessions.iter().map(|session| {
        let used = when(&session["used"]);
        let ended = session["ended"].as_bool().unwrap_or(!session["ended"].is_null());
        let used = if ended { format!("{used} (ended)") } else { used };
        vec![
            text(session, "id"),
            short(session["title"].as_str().unwrap_or("-"), TITLE_CHARS_MAX),
            text(session, "messages"),
            used,
            text(session, "scope"),
        ]
    });
    output::table(&["id", "title", "messages", "used", "scope"], rows);
}

fn finds(found: &Value) {
    let found = found.as_array().map_or(&[][..], Vec::as_slice);
    if found.is_empty() {
        return output::line("nothing found");
    }
    // Of one agent's that goes without saying.
    let is_all = found.iter().all(|find| find["agent"].is_string());
    let rows = found.iter().map(|find| {
        let agent = is_all.then(|| text(find, "agent"));
        let row = [
            text(find, "session"),
            text(find, "seq"),
            when(&find["at"]),
            text(find, "role"),
            short(find["text"].as_str().unwrap_or_default(), FIND_CHARS_MAX),
        ];
        agent.into_iter().chain(row).collect()
    });
    let heads = ["session", "message", "at", "who", "text"];
    let heads: Vec<&str> = is_all.then_some("agent").into_iter().chain(heads).collect();
    output::table(&heads, rows);
}

fn show(found: &Value, setting: &Setting) {
    let session = &found["session"];
    let mut facts = vec![("session", text(session, "id"))];
    for key in ["title", "key", "scope", "label"] {
        if session[key].is_string() {
            facts.push((key, text(session, key)));
        }
    }
    // Asked for by the name of a turn, as a chat tells it.
    if let turn @ Value::Object(_) = &found["turn"] {
        facts.push(("turn", format!("{} ({})", text(turn, "name"), text(turn, "number"))));
        facts.push(("turn ended", text(turn, "status")));
        if turn["error"].is_string() {
            facts.push(("error", text(turn, "error")));
        }
    }
    facts.push(("messages", text(session, "messages")));
    facts.push(("started", when(&session["started"])));
    facts.push(("used", when(&session["used"])));
    output::facts(&facts);
    let messages = found["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let all = session["messages"].as_u64().unwrap_or_default();
    if (messages.len() as u64) < all {
        let shown = messages.len();
        let further = match messages.first() {
            Some(first) => format!("; `--before {}` goes further back", text(first, "seq")),
            None => String::new(),
        };
        output::line("");
        output::line(&format!("{shown} of {all} messages{further}, `-n` shows more"));
    }
    let screen = terminal::screen(&setting.environment);
    for message in found["messages"].as_array().into_iter().flatten() {
        output::line("");
        heading(message);
        words(message, screen);
        for tool in message["tools"].as_array().into_iter().flatten() {
            output::line(&format!("⚙ {}", tool.as_str().unwrap_or_default()));
        }
        if message["why_failed"].is_string() {
            let why = text(message, "why_failed");
            output::line(&format!("turn {} failed: {why}", text(message, "turn")));
        }
    }
}

/// Prints who said a message, and when.
pub fn heading(message: &Value) {
    let who = match message["role"].as_str() {
        Some("user") => text(message, "principal"),
        _ => text(message, "role"),
    };
    output::heading(&format!("{who} · {} · {}", when(&message["at"]), text(message, "seq")));
}

/// Prints what a message says.
pub fn words(message: &Value, screen: Option<Screen>) {
    let said = message["text"].as_str().unwrap_or_default();
    match screen {
        Some(screen) => {
            let mut renderer = Renderer::new(screen.paint, screen.columns);
            let shown = renderer.push(said) + &renderer.finish();
            output::block(&shown);
        }
        None if said.is_empty() => {}
        None => output::line(said),
    }
}

/// Forgetting can't be undone, so it has to be meant.
fn confirm(agent: &str, id: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::WrongUse(format!(
            "forgetting {id} can't be undone; say --yes to mean it"
        )));
    }
    let mut out = std::io::stderr();
    let question =
        format!("This erases conversation {id} of {agent} for good. Type yes to go on: ");
    write!(out, "{}", output::clean(&question))?;
    out.flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    let sure = typed.trim() == "yes";
    if sure { Ok(()) } else { Err(Failure::Failed("nothing was forgotten".to_owned())) }
}

/// A moment to the minute, from RFC 3339 or from milliseconds.
pub fn when(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64() {
            Some(millis) => Timestamp::from_millis(millis).to_string(),
            None => return "-".to_owned(),
        },
        _ => return "-".to_owned(),
    };
    let minute: String = text.chars().take("2026-11-15T02:12".len()).collect();
    minute.replace('T', " ")
}
