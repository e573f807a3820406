//! C20: a request that joins a turn under way; C21: what is left when the power goes.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::beside::Reading;
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Script};
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::upstream::{Step, chunk, end, head};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const AT_ONCE: Duration = Duration::from_secs(20);

/// The words of a stream, in order.
fn words(told: &str) -> String {
    let data = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let deltas = events.filter_map(|event| {
        if event["type"] == "response.output_text.delta" {
            return event["delta"].as_str().map(str::to_owned);
        }
        event["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
    });
    deltas.collect()
}

fn joined(ground: &Ground, path: &str) -> Outcome {
    let go = Arc::new(Notify::new());
    let delta = |text: &str, reason: Value| {
        let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": reason });
        chunk(format!("data: {}\n\n", json!({ "choices": [choice] })))
    };
    let steps = vec![
        head("text/event-stream"),
        delta("one two ", Value::Null),
        delta("three four ", Value::Null),
        Step::Wait(go.clone()),
        delta("five six", json!("stop")),
        chunk("data: [DONE]\n\n"),
        end(),
    ];
    let tag = ground.puppets.learn(Script::steps(vec![Act::Raw(steps)]));
    let text = format!("count {tag}");
    let mut body = match path {
        "/v1/responses" => json!({ "model": "a", "input": text }),
        _ => json!({ "model": "a", "messages": [{ "role": "user", "content": text }] }),
    };
    let token = ground.mint("a", &["chat"])?.text;
    // The header goes along with the token.
    let token = format!("{token}\r\nIdempotency-Key: join{}", path.len());
    let (to, plain) = (ground.listen()?, body.to_string());
    body["stream"] = json!(true);
    let streamed = body.to_string();
    let open = || Reading::open(to, &token, "POST", path, &streamed);
    let mut first = open()?;
    let mut begun = first.until("three")?;
    // In the middle: two with a stream, one without.
    let (mut second, third) = (open()?, open()?);
    let whole = Reading::open(to, &token, "POST", path, &plain)?;
    // It is in the turn once its stream has begun.
    let mut joined = second.until("text/event-stream")?;
    go.notify_one();
    begun += &first.rest(AT_ONCE).unwrap_or_default();
    joined += &second.rest(AT_ONCE).unwrap_or_default();
    let third = third.rest(AT_ONCE).unwrap_or_default();
    let whole = whole.rest(AT_ONCE).unwrap_or_default();
    let reply = "one two three four five six";
    control!(words(&begun) == reply, "the first did not get it: {}", words(&begun));
    for told in [&joined, &third] {
        hold!(words(told) == reply, "who joins gets: {:?}", words(told));
    }
    control!(whole.contains(reply), "who waits for the whole gets: {whole}");
    // After the end.
    let late = open()?.rest(AT_ONCE).unwrap_or_default();
    hold!(words(&late) == reply, "who comes after the end gets: {:?}", words(&late));
    Ok(Verdict::Held)
}

fn a_completion(ground: &Ground) -> Outcome {
    joined(ground, "/v1/chat/completions")
}

fn a_response(ground: &Ground) -> Outcome {
    joined(ground, "/v1/responses")
}

/// What `audit verify` says of a chain.
fn verified(ground: &Ground, chain: &str) -> Result<Value> {
    let told = ground.cli(&["audit", "verify", "--json"]);
    let all: Value = serde_json::from_str(&told.stdout)?;
    let chains = all["chains"].as_array().cloned().unwrap_or_default();
    let found = chains.into_iter().find(|it| it["chain"] == chain);
    found.ok_or_else(|| anyhow::anyhow!("no chain {chain}: {all}"))
}

fn files_of(database: &str) -> [String; 2] {
    [database.to_owned(), format!("{database}-wal")]
}

/// Begins anew, does something, keeps a database as it stands, does more, loses the power, and
/// has that database back as it stood.
fn power_cut(ground: &Ground, database: &str, act: &dyn Fn() -> Result<()>) -> Result<()> {
    ground.stop()?;
    ground.start_again()?;
    act()?;
    let mut kept = Vec::new();
    for name in files_of(database) {
        kept.push((name.clone(), machine::read(&ground.path(&name)?).ok()));
    }
    for _ in 0..3 {
        act()?;
    }
    ground.crash()?;
    let _ = machine::remove(&ground.path(&format!("{database}-shm"))?);
    for (name, bytes) in kept {
        let path = ground.path(&name)?;
        let _ = machine::remove(&path);
        if let Some(bytes) = bytes {
            machine::write(&path, &bytes)?;
        }
    }
    ground.start_again()
}

fn lost(ground: &Ground, database: &str, chain: &str, act: &dyn Fn() -> Result<()>) -> Outcome {
    let before = verified(ground, chain)?;
    control!(before["ok"] == true, "{before}");
    power_cut(ground, database, act)?;
    let found = verified(ground, chain)?;
    hold!(found["ok"] == true, "a power cut counts as a forgery: {found}");
    hold!(found["lost"].as_u64().unwrap_or(0) > 0, "nobody is told that records are lost: {found}");
    act()?;
    let after = verified(ground, chain)?;
    hold!(after["ok"] == true && after["lost"] == found["lost"], "it does not go on: {after}");
    // In the same mode, a tail that was on the disk can't be cut unseen.
    ground.stop()?;
    let path = ground.path(database)?;
    machine::change(
        &path,
        "DROP TRIGGER audit_keeps_records; DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit);",
    )?;
    ground.start_again()?;
    let cut = verified(ground, chain)?;
    hold!(cut["ok"] == false, "a cut tail is taken for a lost one: {cut}");
    Ok(Verdict::Held)
}

fn of_the_daemon(ground: &Ground) -> Outcome {
    lost(ground, "insula.db", "(daemon)", &|| {
        ground.mint("b", &["chat"])?;
        Ok(())
    })
}

fn of_an_agent(ground: &Ground) -> Outcome {
    lost(ground, "agents/b/agent.db", "b", &|| {
        let turn = ground.shell("b", "power", "true")?;
        anyhow::ensure!(!turn.is_empty(), "no program ran");
        Ok(())
    })
}

/// C20 and C21. The last ones leave broken chains behind.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C20", variant: "joined by its key, a streamed completion", run: a_completion },
    Attempt { row: "C20", variant: "joined by its key, a streamed response", run: a_response },
    Attempt { row: "C21", variant: "the chain of an agent", run: of_an_agent },
    Attempt { row: "C21", variant: "the chain of the daemon", run: of_the_daemon },
];
