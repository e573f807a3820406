//! B9: recall among 50,000 documents of other scopes.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::Script;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt {
        row: "B9",
        variant: "own recall is what it was, and nothing foreign is found",
        run: crowded,
    },
    Attempt { row: "B9", variant: "a word that only foreign documents have", run: foreign_word },
];

/// An agent with two small conversations.
pub fn crowd(stage: &Stage) -> Result<Ground> {
    let ground = Ground::raise(stage, Plan::new().agent("m", "memory: true"))?;
    let foreign = ground.planted("foreign").text;
    ground.turn_saying("m", "own", "the lantern is in the attic", Script::say("noted"))?;
    ground.turn_saying(
        "m",
        "own",
        "the lantern needs oil, and a lantern needs a wick",
        Script::say("noted"),
    )?;
    ground.turn_saying(
        "m",
        "foreign",
        &format!("the lantern is {foreign} zebra"),
        Script::say("noted"),
    )?;
    Ok(ground)
}

fn recall(ground: &Ground, session: &str, word: &str) -> Result<Vec<String>> {
    let mut all = vec![];
    for sort in ["relevance", "newest"] {
        let asked = json!({ "query": word, "sort": sort, "limit": 50 });
        let told = ground.call("m", session, "session_search", asked)?;
        // What the looking itself says is found too, the next time.
        let lines = told.lines().filter(|line| {
            line.contains("attic") || line.contains("wick") || line.contains("canary")
        });
        all.extend(lines.map(str::to_owned));
    }
    Ok(all)
}

/// Copies of the foreign message, 50,000 of them in 50 scopes, put into the database while
/// nothing runs. Their index is made as the daemon makes it.
fn multiply(ground: &Ground) -> Result<()> {
    ground.stop()?;
    machine::change(
        &ground.path("agents/m/agent.db")?,
        "CREATE TEMP TABLE numbers AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49999) SELECT i FROM n;
         CREATE TEMP TABLE one AS SELECT * FROM message WHERE instr(CAST(parts AS TEXT), 'zebra') > 0 ORDER BY id LIMIT 1;
         INSERT INTO scope (id, name, documents, terms) SELECT 1000 + i, 'chat:api:other:' || i, 1000, 5000 FROM numbers WHERE i < 50;
         INSERT INTO session (id, key, scope, label, created_at, touched_at)
           SELECT 1000 + i, 'agent:m:api:other:dm:' || i || ':user:other', 1000 + i, (SELECT label FROM one), 0, 0 FROM numbers WHERE i < 50;
         INSERT INTO message (id, turn, role, scope, principal, label, generation, at, parts)
           SELECT ((1000 + i % 50) << 32) + 1 + i / 50, NULL, o.role, 1000 + i % 50, o.principal, o.label, o.generation, o.at + i, o.parts FROM numbers, one o;
         INSERT INTO posting (scope, term, message, weight)
           SELECT 1000 + i % 50, 'lantern', ((1000 + i % 50) << 32) + 1 + i / 50, (5 << 10) + 1 FROM numbers;
         INSERT INTO posting (scope, term, message, weight)
           SELECT 1000 + i % 50, 'zebra', ((1000 + i % 50) << 32) + 1 + i / 50, (5 << 10) + 1 FROM numbers;",
    )?;
    ground.start_again()
}

fn crowded(ground: &Ground) -> Outcome {
    let before = recall(ground, "own", "lantern")?;
    control!(before.iter().any(|line| line.contains("wick")), "its own is not found: {before:?}");
    multiply(ground)?;
    let rows = ground.table("m", "message")?.len();
    control!(rows > 50_000, "only {rows} messages");
    let foreign = ground.planted("foreign");
    let after = recall(ground, "own", "lantern")?;
    hold!(!after.concat().contains(&foreign.text), "a foreign document is found: {after:?}");
    hold!(after == before, "{before:?} became {after:?}");
    Ok(Verdict::Held)
}

fn foreign_word(ground: &Ground) -> Outcome {
    let own = recall(ground, "foreign", "zebra")?;
    control!(
        own.concat().contains(&ground.planted("foreign").text),
        "it is not found where it was said: {own:?}"
    );
    let told = recall(ground, "own", "zebra")?;
    hold!(told.is_empty(), "found: {told:?}");
    Ok(Verdict::Held)
}
