//! `insula turns …`

use super::integrity::others;
use super::sessions::{heading, when, words};
use super::text;
use crate::arguments::Turns;
use crate::chat::terminal::{self, Screen};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use serde_json::Value;

/// Longest result of a tool that is shown, in characters: a turn is looked at for what happened.
const RESULT_CHARS_MAX: usize = 400;

/// Runs it.
pub async fn run(reach: &Reach, setting: &Setting, command: Turns) -> Result<u8, Failure> {
    match command {
        Turns::List { agent, limit, before } => {
            let mut path = format!("{}?limit={limit}", base(&agent));
            if let Some(before) = before {
                path += &format!("&before={}", part(&before));
            }
            let found = reach.get(&path).await?;
            setting.answer.give(&found, list);
        }
        Turns::Show { agent, turn } => {
            let found = reach.get(&format!("{}/{}", base(&agent), part(&turn))).await?;
            let screen = terminal::screen(&setting.environment);
            setting.answer.give(&found, |found| show(found, screen));
        }
    }
    Ok(0)
}

fn base(agent: &str) -> String {
    format!("/api/agents/{}/turns", part(agent))
}

fn list(turns: &Value) {
    let turns = turns.as_array().map_or(&[][..], Vec::as_slice);
    if turns.is_empty() {
        return output::line("no turns yet");
    }
    table(turns);
}

fn table(turns: &[Value]) {
    let rows = turns.iter().map(|turn| {
        vec![
            text(turn, "id"),
            text(turn, "session"),
            text(turn, "principal"),
            when(&turn["accepted"]),
            text(turn, "status"),
            others(&turn["integrity"]).unwrap_or_default(),
        ]
    });
    output::table(&["id", "session", "from", "at", "", "has read"], rows);
}

fn show(found: &Value, screen: Option<Screen>) {
    facts(&found["turn"]);
    let mut known = None;
    for message in found["messages"].as_array().into_iter().flatten() {
        output::line("");
        heading(message);
        if message["role"] == "tool" {
            output::line(&beginning(message["text"].as_str().unwrap_or_default()));
        } else {
            words(message, screen);
        }
        for call in message["calls"].as_array().into_iter().flatten() {
            output::line(&format!("⚙ {}", text(call, "tool")));
            if let ruling @ Value::Object(_) = &call["ruling"] {
                output::line(&format!("  {}", ruled(ruling)));
            }
        }
        // Where it grows, and not with every message after that.
        let read = others(&message["integrity"]);
        if let Some(read) = read.as_ref().filter(|_| read != known) {
            output::line(&format!("has read: {read}"));
        }
        known = read;
    }
    output::line("");
    if found["more"] == true {
        output::line("there is more; `insula sessions show` has all of it");
    }
    let children = found["children"].as_array().map_or(&[][..], Vec::as_slice);
    if !children.is_empty() {
        output::heading("children");
        table(children);
        output::line("");
    }
    output::line(&match others(&found["turn"]["integrity"]) {
        Some(read) => format!("in all, the turn has read: {read}"),
        None => "the turn has read no words of others".to_owned(),
    });
}

fn facts(turn: &Value) {
    let named = turn["name"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
    let mut facts = vec![
        ("turn", format!("{}{named}", text(turn, "id"))),
        ("session", text(turn, "session")),
        ("from", text(turn, "principal")),
        ("status", text(turn, "status")),
    ];
    if turn["error"].is_string() {
        facts.push(("error", text(turn, "error")));
    }
    facts.push(("accepted", when(&turn["accepted"])));
    if turn["ended"].is_string() {
        facts.push(("ended", when(&turn["ended"])));
    }
    output::facts(&facts);
}

/// What became of a call, and by which rule.
fn ruled(ruling: &Value) -> String {
    let (by, who) = (text(ruling, "by"), text(ruling, "answered_by"));
    let answer = match ruling["outcome"].as_str().unwrap_or_default() {
        "refused" => return format!("refused: {by}"),
        "approved" => format!("approved by {who}"),
        "denied" => format!("denied by {who}"),
        "timed_out" => "nobody answered in time".to_owned(),
        "stopped" => "the turn was stopped".to_owned(),
        _ => "no answer yet".to_owned(),
    };
    format!("asked: {by}; {answer}")
}

fn beginning(said: &str) -> String {
    match said.char_indices().nth(RESULT_CHARS_MAX) {
        Some((cut, _)) => {
            let rest = said[cut..].chars().count();
            format!("{}… ({rest} more characters)", &said[..cut])
        }
        None => said.to_owned(),
    }
}
