//! C19: numbers that tell how much others do.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::Script;
use crate::{control, hold};
use serde_json::{Value, json};

fn without_a_token(ground: &Ground) -> Outcome {
    let look = || {
        let get = |path| machine::request(ground.listen()?, "GET", path, &[], "");
        anyhow::Ok([get("/metrics")?.body, get("/readyz")?.body, get("/healthz")?.body])
    };
    let before = look()?;
    control!(before[0].contains("insula_"), "there are no metrics: {before:?}");
    ground.turn("b", "counted by nobody", Script::say("x"))?;
    let made = ground.admin("POST", "/api/agents", &json!({ "id": "one-more" }))?;
    control!((200..300).contains(&made.status), "{made:?}");
    ground.admin("POST", "/api/reload", &Value::Null)?;
    let after = look()?;
    hold!(before == after, "a stranger sees others act: {before:?}\nand then\n{after:?}");
    for name in ["insula_agents", "databases", "bindings", "inbound", "deliveries"] {
        hold!(!after[0].contains(name), "a stranger is told of {name}: {}", after[0]);
    }
    Ok(Verdict::Held)
}

/// Whether a value is, or has in it, a number of a row.
fn counts(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.parse::<i64>().is_ok())
}

fn turns_in_events(ground: &Ground) -> Outcome {
    let (chat, read) = (ground.mint("a", &["chat"])?.text, ground.mint("a", &["read"])?.text);
    let mut stream =
        crate::beside::Reading::open(ground.listen()?, &read, "GET", "/api/agents/a/events", "")?;
    stream.until("listening")?;
    let say = |session: &str| {
        let tag = ground.puppets.learn(Script::say("said"));
        let body = json!({ "session": session, "text": format!("hello {tag}") });
        ground.api(&chat, "POST", "/api/agents/a/messages", &body)
    };
    let told = say("one")?.body + &stream.until("turn.ended")?;
    let data = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.filter_map(|it| serde_json::from_str(it).ok()).collect();
    control!(events.len() > 3, "nothing was told: {told}");
    for event in &events {
        hold!(!counts(&event["turn"]), "an event has the number of its turn: {event}");
    }
    // One turn has one name, and another another.
    let names = |told: &str| -> std::collections::BTreeSet<String> {
        let data = told.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = data.filter_map(|it| serde_json::from_str::<Value>(it).ok());
        events.filter_map(|it| it["turn"].as_str().map(str::to_owned)).collect()
    };
    let (one, two) = (names(&told), names(&say("two")?.body));
    control!(one.len() == 1 && two.len() == 1 && one != two, "{one:?} {two:?}");
    Ok(Verdict::Held)
}

fn what_tokens_read(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve", "manage"])?.text;
    ground.turn("a", "to be listed", Script::say("x"))?;
    for path in ["sessions", "deliveries", "approvals", "grants", "memory"] {
        let path = format!("/api/agents/a/{path}");
        let answer = ground.api(&token, "GET", &path, &Value::Null)?;
        control!(answer.status == 200, "{path}: {answer:?}");
        for row in answer.json().as_array().into_iter().flatten() {
            for key in ["id", "session", "turn"] {
                hold!(!counts(&row[key]), "{path} has a number for {key}: {row}");
            }
        }
    }
    let listed = ground.api(&token, "GET", "/api/agents/a/sessions", &Value::Null)?.json();
    let id = listed[0]["id"].as_str().unwrap_or_default();
    let path = format!("/api/agents/a/sessions/{id}");
    let shown = ground.api(&token, "GET", &path, &Value::Null)?;
    hold!(shown.status == 200, "a session can't be shown by the name it is listed by: {shown:?}");
    let numbered = ground.api(&token, "GET", "/api/agents/a/sessions/1", &Value::Null)?;
    hold!(numbered.status == 404, "a session is found by its number: {}", numbered.status);
    Ok(Verdict::Held)
}

fn spilled_output(ground: &Ground) -> Outcome {
    let told = ground.shell("a", "spills for C19", "seq 1 200000")?;
    let Some((_, rest)) = told.split_once("/output/") else {
        anyhow::bail!("nothing was spilled: {}", &told[told.len().saturating_sub(300)..]);
    };
    let name = rest.split('/').next().unwrap_or_default();
    hold!(name.parse::<u64>().is_err(), "a model is shown the number of its session: {name}");
    let path = told.split_whitespace().find(|word| word.contains("/output/")).unwrap_or_default();
    let path = path.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
    let own = ground.call("a", "spills for C19", "read_file", json!({ "path": path }))?;
    control!(own.contains('1'), "its own conversation can't read it: {own}");
    Ok(Verdict::Held)
}

fn what_a_search_shows(ground: &Ground) -> Outcome {
    ground.turn_saying(
        "a",
        "searched for C19",
        "the weather is marmalade",
        Script::say("noted"),
    )?;
    let told =
        ground.call("a", "searched for C19", "session_search", json!({ "query": "marmalade" }))?;
    let Some((_, rest)) = told.split_once("[session ") else {
        anyhow::bail!("nothing was found: {told}");
    };
    let name = rest.split(' ').next().unwrap_or_default().to_owned();
    hold!(name.parse::<i64>().is_err(), "a model is shown the number of a session: {name}");
    let around = json!({ "session_id": name, "around_message_id": 1 });
    let own = ground.call("a", "searched for C19", "session_search", around.clone())?;
    control!(own.contains("marmalade"), "a session can't be read by its name: {own}");
    let other = ground.call("a", "another chat of C19", "session_search", around)?;
    hold!(!other.contains("marmalade"), "another chat reads it by its name: {other}");
    Ok(Verdict::Held)
}

/// C19.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C19", variant: "metrics and health without a token", run: without_a_token },
    Attempt { row: "C19", variant: "turns in the events of a token", run: turns_in_events },
    Attempt { row: "C19", variant: "ids in what tokens read", run: what_tokens_read },
    Attempt { row: "C19", variant: "sessions in paths of spilled output", run: spilled_output },
    Attempt { row: "C19", variant: "sessions in what a search shows", run: what_a_search_shows },
];
