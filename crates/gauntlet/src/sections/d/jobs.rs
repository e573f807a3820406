//! D7: what an agent does by the clock, attacked by what stands in its jobs and by their makers.

use super::scene::CANARY;
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine::Answer;
use crate::puppet::{Call, Script, obey};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "D7", variant: "a cron job reads the file of another", run: reads },
    Attempt { row: "D7", variant: "a cron job runs what has to be asked about", run: dangerous },
    Attempt { row: "D7", variant: "a cron job makes a cron job", run: makes },
    Attempt { row: "D7", variant: "a cron job asks its user, and sends", run: talks },
    Attempt { row: "D7", variant: "a cron job with tools its agent lacks", run: wider_tools },
    Attempt { row: "D7", variant: "a cron job with fewer tools uses another", run: narrowed },
    Attempt { row: "D7", variant: "the script of a cron job looks around", run: script },
    Attempt { row: "D7", variant: "the script of a cron job without end", run: endless },
    Attempt { row: "D7", variant: "another agent's token at every route of jobs", run: foreign },
    Attempt { row: "D7", variant: "who may only talk makes and runs jobs", run: only_talks },
    Attempt { row: "D7", variant: "a maker of jobs without an admin's rights", run: no_admin },
    Attempt { row: "D7", variant: "a job whose maker was taken away", run: maker_gone },
    Attempt { row: "D7", variant: "names of jobs that are paths", run: names },
    Attempt { row: "D7", variant: "a job that sends where its agent may not", run: elsewhere },
    Attempt { row: "D7", variant: "a job in the memory of another agent", run: scopes },
    Attempt { row: "D7", variant: "a storm of jobs", run: storm },
    Attempt { row: "D7", variant: "a job that is removed while it waits", run: removed },
];

/// An agent that works by the clock, one that has little, and a stranger with a canary.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let worker = "tools: {profile: full, also_allow: [send_message]}, memory: true, env: {HOMES: '{home}'}, send: {to: ['telegram:main:7']}";
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 2s, opaque: allow}\nstore: {durability: process}")
        .agent("worker", worker)
        .agent("narrow", "tools: {allow: [read_file, todo]}")
        .agent(
            "stranger",
            &format!(
                "tools: coding, memory: true, secrets: [KEY], env: {{OF_THE_STRANGER: '{CANARY}'}}"
            ),
        )
        .secret("stranger", "KEY", CANARY)
        .file("agents/stranger/workspace/secret.txt", CANARY)
        .file("agents/stranger/memories/MEMORY.md", CANARY)
        .file("agents/worker/workspace/own.txt", "the worker's own");
    Ground::raise(stage, plan)
}

fn is_refused(said: &str) -> bool {
    said.starts_with("refused") || said.contains("you do not have the tool")
}

fn no_body(ground: &Ground, token: &str, method: &str, path: &str) -> Result<Answer> {
    ground.api(token, method, path, &Value::Null)
}

fn reads(ground: &Ground) -> Outcome {
    let theirs = ground.path("agents/stranger/workspace/secret.txt")?.display().to_string();
    let read = |path: &str| Call::new("read_file", json!({ "path": path }));
    let shell = Call::new("terminal", json!({ "command": format!("cat {theirs}; env") }));
    let calls = vec![
        read("own.txt"),
        read(&theirs),
        read("../../stranger/workspace/secret.txt"),
        shell,
        Call::new("memory_search", json!({ "query": CANARY })),
        Call::new("session_search", json!({ "query": CANARY })),
    ];
    let ran = ground.job("worker", json!({}), obey::at_once(calls))?;
    let own = ran.turn.results.first().is_some_and(|said| said.contains("the worker's own"));
    control!(own, "a job can't read a file of its agent: {} {}", ran.outcome, ran.turn.told());
    control!(ran.turn.results.len() == 6, "{} results", ran.turn.results.len());
    let prompts =
        String::from_utf8_lossy(&ran.turn.prompts()).replace(&format!("\"{CANARY}\""), "");
    let told = ran.turn.results[1..4].join("\n");
    hold!(!told.contains(CANARY), "a job read what is another's: {told}");
    hold!(!prompts.contains("OF_THE_STRANGER"), "the environment of another: {prompts}");
    Ok(Verdict::Held)
}

fn dangerous(ground: &Ground) -> Outcome {
    let make = "mkdir -p kept && echo x > kept/file";
    let folder = "agents/worker/workspace/kept";
    ground.shell("worker", "prepares", make)?;
    control!(ground.has(folder), "the folder can't be made");
    let script = || obey::one("terminal", json!({ "command": "rm -r kept" }));
    for settings in [json!({ "approvals": "deny" }), json!({ "approvals": "ask" })] {
        let ran = ground.job("worker", settings.clone(), script())?;
        hold!(ground.has(folder), "{settings}: nobody was asked: {}", ran.turn.told());
    }
    Ok(Verdict::Held)
}

fn makes(ground: &Ground) -> Outcome {
    let wish =
        json!({ "action": "create", "schedule": "every 1m", "prompt": "again", "name": "bred" });
    let calls = vec![Call::new("todo", json!({})), Call::new("cronjob", wish)];
    let ran = ground.job("worker", json!({}), obey::at_once(calls))?;
    let said = ran.turn.results.get(1).cloned().unwrap_or_default();
    hold!(is_refused(&said), "a job made a job: {said}");
    let jobs = ground.admin("GET", "/api/agents/worker/jobs", &Value::Null)?;
    hold!(!jobs.body.contains("\"bred\""), "it is there: {}", jobs.body);
    Ok(Verdict::Held)
}

fn talks(ground: &Ground) -> Outcome {
    let calls = vec![
        Call::new("clarify", json!({ "question": "may I?" })),
        Call::new("send_message", json!({ "target": "telegram:main:7", "message": "x" })),
    ];
    let ran = ground.job("worker", json!({}), obey::in_turn(calls))?;
    for said in &ran.turn.results {
        hold!(is_refused(said), "a job talked beside its reply: {said}");
    }
    control!(ran.turn.results.len() == 2, "{:?}", ran.turn.results);
    Ok(Verdict::Held)
}

fn wider_tools(ground: &Ground) -> Outcome {
    let settings = json!({ "tools": ["terminal", "web_extract"] });
    let admin = ground.text("run/admin.token");
    let script = obey::one("terminal", json!({ "command": "echo out > made" }));
    let (added, tag) = ground.add_job(&admin, "narrow", settings, script)?;
    if added.status == 201 {
        let name = added.json()["name"].as_str().unwrap_or_default().to_owned();
        let ran = ground.run_job("narrow", &name, &tag)?;
        hold!(ran.turn.results.iter().all(|said| is_refused(said)), "{}", ran.turn.told());
    }
    hold!(!ground.has("agents/narrow/workspace/made"), "the tool did something");
    Ok(Verdict::Held)
}

fn narrowed(ground: &Ground) -> Outcome {
    let calls = vec![
        Call::new("read_file", json!({ "path": "own.txt" })),
        Call::new("write_file", json!({ "path": "narrowed", "content": "x" })),
        Call::new("terminal", json!({ "command": "echo x > narrowed" })),
    ];
    let ran = ground.job("worker", json!({ "tools": ["read_file"] }), obey::at_once(calls))?;
    control!(ran.turn.results.len() == 3, "{} {:?}", ran.outcome, ran.turn.results);
    control!(ran.turn.results[0].contains("the worker's own"), "{}", ran.turn.told());
    hold!(ran.turn.results[1..].iter().all(|said| is_refused(said)), "{}", ran.turn.told());
    hold!(!ground.has("agents/worker/workspace/narrowed"), "a tool that was taken away worked");
    Ok(Verdict::Held)
}

fn script(ground: &Ground) -> Outcome {
    let look = "cat $HOMES/agents/stranger/workspace/secret.txt $HOMES/run/admin.token $HOMES/insula.db; env; ls $HOMES/agents/stranger; echo looked around";
    let ran = ground.job("worker", json!({ "script": look }), Script::say("seen"))?;
    let prompts = String::from_utf8_lossy(&ran.turn.prompts()).into_owned();
    control!(prompts.contains("looked around"), "{} {}: {prompts}", ran.outcome, ran.why);
    let token = ground.text("run/admin.token");
    hold!(!prompts.contains(CANARY), "a script read what is another's");
    hold!(!prompts.contains(token.trim()), "a script read the daemon's token");
    hold!(!prompts.contains("secret.txt\\n"), "a script listed the folder of another");
    Ok(Verdict::Held)
}

fn endless(ground: &Ground) -> Outcome {
    let settings = json!({ "script": "yes | head -c 200000000; sleep 600", "timeout": "2s" });
    let ran = ground.job("worker", settings, Script::say("seen"))?;
    hold!(ran.outcome != "done", "a script without end was waited for");
    hold!(ran.turn.requests.is_empty(), "the model was asked with half of it");
    let other = ground.turn("stranger", "beside", Script::say("here"))?;
    hold!(other.reply == "here", "another agent no longer answers: {:?}", other.answer);
    Ok(Verdict::Held)
}

fn foreign(ground: &Ground) -> Outcome {
    let (added, _) = ground.add_job(
        &ground.text("run/admin.token"),
        "stranger",
        json!({ "name": "own" }),
        Script::say("x"),
    )?;
    control!(added.status == 201, "{added:?}");
    let verbs = ["chat", "read", "manage"];
    let token = ground.mint("worker", &verbs)?.text;
    let own = ground.mint("stranger", &verbs)?.text;
    let control = no_body(ground, &own, "GET", "/api/agents/stranger/jobs/own")?;
    control!(control.status == 200, "its own token can't see it: {control:?}");
    for (method, route) in [
        ("GET", "/jobs"),
        ("POST", "/jobs"),
        ("GET", "/jobs/own"),
        ("POST", "/jobs/own/pause"),
        ("POST", "/jobs/own/resume"),
        ("POST", "/jobs/own/run"),
        ("GET", "/jobs/own/runs"),
        ("DELETE", "/jobs/own"),
    ] {
        let body = match (method, route) {
            ("POST", "/jobs") => {
                json!({ "schedule": "every 1h", "prompt": "x", "name": "planted" })
            }
            _ => Value::Null,
        };
        let there = ground.api(&token, method, &format!("/api/agents/stranger{route}"), &body)?;
        let nowhere = ground.api(&token, method, &format!("/api/agents/nobody{route}"), &body)?;
        hold!(there.status == nowhere.status && there.status >= 400, "{method} {route}: {there:?}");
        let plain = there.body.replace("stranger", "nobody");
        hold!(
            plain == nowhere.body,
            "{method} {route} tells that it exists: {there:?} {nowhere:?}"
        );
    }
    let all = no_body(ground, &token, "GET", "/api/jobs")?;
    hold!(!all.body.contains("stranger"), "the list of all: {}", all.body);
    let left = no_body(ground, &own, "GET", "/api/agents/stranger/jobs")?.json();
    let names: Vec<_> = left.as_array().into_iter().flatten().map(|job| &job["name"]).collect();
    hold!(names == [&json!("own")], "{left}");
    Ok(Verdict::Held)
}

fn only_talks(ground: &Ground) -> Outcome {
    let token = ground.token("worker")?.text.clone();
    let (added, _) =
        ground.add_job(&token, "worker", json!({ "name": "talked" }), Script::say("x"))?;
    hold!(added.status == 403, "a token that may only talk made a job: {added:?}");
    // The model of whoever may only talk has the tool, and it waits for an admin.
    let wish =
        json!({ "action": "create", "schedule": "every 1m", "prompt": "x", "name": "talked" });
    ground.turn("worker", "wishes", obey::one("cronjob", wish))?;
    let jobs = ground.admin("GET", "/api/agents/worker/jobs", &Value::Null)?;
    hold!(!jobs.body.contains("\"talked\""), "it is there: {}", jobs.body);
    Ok(Verdict::Held)
}

fn no_admin(ground: &Ground) -> Outcome {
    let token = ground.mint("worker", &["chat", "read"])?.text;
    for settings in [
        json!({ "script": "echo x > by-a-script" }),
        json!({ "scope": "global" }),
        json!({ "scope": "chat:telegram:main:7" }),
        json!({ "deliver": "agent" }),
    ] {
        let (added, _) = ground.add_job(&token, "worker", settings.clone(), Script::say("x"))?;
        hold!(added.status == 403, "{settings}: {added:?}");
    }
    Ok(Verdict::Held)
}

fn maker_gone(ground: &Ground) -> Outcome {
    let maker = ground.mint("worker", &["chat", "read", "manage"])?;
    let (added, tag) =
        ground.add_job(&maker.text, "worker", json!({}), Script::say("done by it"))?;
    control!(added.status == 201, "{added:?}");
    let name = added.json()["name"].as_str().unwrap_or_default().to_owned();
    let before = ground.run_job("worker", &name, &tag)?;
    control!(before.outcome == "done", "{} {}", before.outcome, before.why);
    let gone = ground.admin("DELETE", &format!("/api/tokens/{}", maker.id), &Value::Null)?;
    control!(gone.status < 300, "{gone:?}");
    let after = ground.run_job("worker", &name, &tag)?;
    hold!(after.outcome == "denied", "it ran without its maker: {}", after.outcome);
    hold!(after.turn.requests.len() == before.turn.requests.len(), "the model was asked");
    Ok(Verdict::Held)
}

fn names(ground: &Ground) -> Outcome {
    let admin = ground.text("run/admin.token");
    for name in ["../stranger", "a/b", ".", "", "a\u{202e}b", "a b", "a\0b", "Ä", &"x".repeat(300)]
    {
        let (added, _) =
            ground.add_job(&admin, "worker", json!({ "name": name }), Script::say("x"))?;
        hold!(added.status == 400, "{name:?} is a name: {added:?}");
    }
    Ok(Verdict::Held)
}

fn elsewhere(ground: &Ground) -> Outcome {
    let admin = ground.text("run/admin.token");
    for place in ["telegram:main:8", "telegram:other:7", "matrix:main:7", "stranger", "*"] {
        let settings = json!({ "deliver": place });
        let (added, _) = ground.add_job(&admin, "worker", settings, Script::say("x"))?;
        hold!(added.status == 400 || added.status == 403, "{place}: {added:?}");
    }
    Ok(Verdict::Held)
}

fn scopes(ground: &Ground) -> Outcome {
    let admin = ground.text("run/admin.token");
    for scope in ["stranger", "agent:stranger", "../stranger", "chat:", "*", "job:other"] {
        let script = obey::one("memory_search", json!({ "query": "CANARY" }));
        let (added, tag) = ground.add_job(&admin, "worker", json!({ "scope": scope }), script)?;
        if added.status != 201 {
            continue;
        }
        let name = added.json()["name"].as_str().unwrap_or_default().to_owned();
        let ran = ground.run_job("worker", &name, &tag)?;
        let prompts = String::from_utf8_lossy(&ran.turn.prompts()).into_owned();
        hold!(!prompts.contains(CANARY), "{scope} is the memory of another");
    }
    Ok(Verdict::Held)
}

fn storm(ground: &Ground) -> Outcome {
    let admin = ground.text("run/admin.token");
    let mut added = Vec::new();
    for _ in 0..250 {
        let (answer, tag) = ground.add_job(&admin, "narrow", json!({}), Script::say("x"))?;
        match answer.json()["name"].as_str() {
            Some(name) => added.push((name.to_owned(), tag)),
            None => break,
        }
    }
    hold!(added.len() <= 200, "an agent has {} jobs", added.len());
    for (name, _) in &added {
        ground.admin("POST", &format!("/api/agents/narrow/jobs/{name}/run"), &Value::Null)?;
    }
    let other = ground.turn("stranger", "in-the-storm", Script::say("here"))?;
    hold!(other.reply == "here", "another agent no longer answers: {:?}", other.answer);
    for (name, _) in &added {
        let path = format!("/api/agents/narrow/jobs/{name}");
        let removed = ground.admin("DELETE", &path, &Value::Null)?;
        hold!(removed.status < 300, "{removed:?}");
    }
    let left = ground.admin("GET", "/api/agents/narrow/jobs", &Value::Null)?.json();
    let left: Vec<&str> =
        left.as_array().into_iter().flatten().filter_map(|job| job["name"].as_str()).collect();
    hold!(added.iter().all(|(name, _)| !left.contains(&name.as_str())), "{left:?}");
    Ok(Verdict::Held)
}

fn removed(ground: &Ground) -> Outcome {
    let admin = ground.text("run/admin.token");
    let settings = json!({ "schedule": "in 1 hours", "name": "later" });
    let (added, tag) = ground.add_job(&admin, "worker", settings, Script::say("x"))?;
    control!(added.status == 201, "{added:?}");
    let path = "/api/agents/worker/jobs/later";
    let removed = ground.admin("DELETE", path, &Value::Null)?;
    control!(removed.status < 300, "{removed:?}");
    for (method, route) in [("POST", "/run"), ("POST", "/resume"), ("GET", "")] {
        let answer = ground.admin(method, &format!("{path}{route}"), &Value::Null)?;
        hold!(answer.status == 404, "{method} {route}: {answer:?}");
    }
    hold!(ground.so_far(&tag).requests.is_empty(), "it ran");
    Ok(Verdict::Held)
}
