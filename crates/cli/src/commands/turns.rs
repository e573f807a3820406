//! `insula turns …`

use super::course;
use super::integrity::others;
use super::sessions::{heading, when, words};
use super::text;
use crate::arguments::Turns;
use crate::chat::terminal::{self, Screen};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::{Answer, Setting};
use serde_json::Value;
use std::time::Duration;

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
            reach.give_of(&agent, setting.answer, &found, list).await;
        }
        Turns::Show { agent, turn, shown: Some(call) } => {
            super::shown::run(reach, setting, &format!("{}/{}", base(&agent), part(&turn)), call)
                .await?;
        }
        Turns::Show { agent, turn, shown: None } => {
            let found = reach.get(&format!("{}/{}", base(&agent), part(&turn))).await?;
            let screen = terminal::screen(&setting.environment);
            let show = |found: &Value| show(found, screen);
            reach.give_of(&agent, setting.answer, &found, show).await;
        }
        Turns::Follow { agent, turn } => follow(reach, setting, &agent, turn).await?,
    }
    Ok(0)
}

/// How often it is looked whether more happened.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Prints what happens in a turn as it happens; without a turn, in the latest and all after it.
async fn follow(
    reach: &Reach,
    setting: &Setting,
    agent: &str,
    turn: Option<String>,
) -> Result<(), Failure> {
    let only = turn.is_some();
    let mut turn = turn;
    let (mut told, mut is_over) = (0, false);
    loop {
        if let Some(one) = turn.as_ref().filter(|_| !is_over) {
            let found = reach.get(&format!("{}/{}", base(agent), part(one))).await?;
            let course = found["course"].as_array().map_or(&[][..], Vec::as_slice);
            for it in course.iter().skip(told) {
                match setting.answer {
                    Answer::Json => output::line(&it.to_string()),
                    Answer::Text => output::line(&course::line(it)),
                }
            }
            told = told.max(course.len());
            is_over = found["turn"]["status"] != "running";
            if is_over && setting.answer == Answer::Text {
                output::line(&format!("turn {one} {}", state(&found["turn"])));
            }
        }
        if only && is_over {
            return Ok(());
        }
        if !reach.is_daemon() {
            let why = "no daemon runs in this home, and nothing happens meanwhile; start it with `insula up`";
            return Err(Failure::Failed(why.to_owned()));
        }
        if !only && (turn.is_none() || is_over) {
            let newest = reach.get(&format!("{}?limit=1", base(agent))).await?;
            let newest = newest.get(0).map(|newest| text(newest, "id"));
            if newest != turn {
                (turn, told, is_over) = (newest, 0, false);
                continue;
            }
        }
        setting.world.clock.sleep(LOOK_EVERY).await;
    }
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
            began(&turn["began"]),
            when(&turn["accepted"]),
            state(turn),
            others(&turn["integrity"]).unwrap_or_default(),
        ]
    });
    output::table(&["id", "session", "from", "began by", "at", "", "has read"], rows);
}

/// What began a turn.
fn began(began: &Value) -> String {
    match began["kind"].as_str() {
        Some("job") => format!("job {}", text(began, "job")),
        Some("card") => format!("card {} of {}", text(began, "card"), text(began, "board")),
        Some("link") => format!("link from {}", text(began, "agent")),
        _ => "message".to_owned(),
    }
}

/// How a turn stands, and why it failed or its reply is not whole.
fn state(turn: &Value) -> String {
    let why = turn["cause"].as_str().or(turn["cut"].as_str());
    match why {
        Some(cause) => format!("{}: {cause}", text(turn, "status")),
        None => text(turn, "status"),
    }
}

fn show(found: &Value, screen: Option<Screen>) {
    facts(&found["turn"]);
    let course = found["course"].as_array().map_or(&[][..], Vec::as_slice);
    if !course.is_empty() {
        output::line("");
        course.iter().for_each(|it| output::line(&course::line(it)));
    }
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
        ("began by", began(&turn["began"])),
        ("status", state(turn)),
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
