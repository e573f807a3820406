//! Jobs from outside: added, paused and removed at the command line, and seen in the status.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use serde_json::{Value, json};

#[test]
fn the_status_tells_whose_jobs_come_next() {
    let home = configured(
        "agents: {late: {cron: {yearly: {schedule: '@yearly', prompt: x}}}, soon: {}, idle: {}}\n",
    );
    let _daemon = start_still(&home);
    let next = || -> Vec<Value> {
        let status = insula(&home, &["status", "--json"]).json();
        status["next_runs"].as_array().unwrap().iter().map(|it| it["agent"].clone()).collect()
    };
    eventually("the year's job is known", || (next() == [json!("late")]).then_some(()));
    insula(&home, &["cron", "add", "soon", "every 2h", "Look", "--name", "look"]).ok();
    eventually("the sooner one comes first", || {
        (next() == [json!("soon"), json!("late")]).then_some(())
    });
    let told = insula(&home, &["status"]).ok().stdout;
    assert!(told.contains("NEXT RUN") && told.contains("soon"), "{told}");
    insula(&home, &["cron", "pause", "soon", "look"]).ok();
    eventually("a paused one does not come", || (next() == [json!("late")]).then_some(()));
    insula(&home, &["cron", "resume", "soon", "look"]).ok();
    eventually("it goes on", || (next().len() == 2).then_some(()));
    insula(&home, &["cron", "remove", "soon", "look"]).ok();
    eventually("it is gone", || (next() == [json!("late")]).then_some(()));
}

#[test]
fn a_script_that_fails_says_what_it_printed() {
    let home = configured("agents: {a: {}}\n");
    let _daemon = start_still(&home);
    let script = "echo IMPORTANT; exit 4";
    let job = ["cron", "add", "a", "every 2h", "Look", "--name", "look", "--script", script];
    insula(&home, &job).ok();
    insula(&home, &["cron", "run", "a", "look"]).ok();
    let why = eventually("it failed", || {
        let runs = json(&home, &["cron", "history", "a", "look"]);
        runs[0]["outcome"].as_str()?;
        Some(runs[0]["why"].as_str().unwrap().to_owned())
    });
    assert!(why.contains("ended with 4 and printed: IMPORTANT"), "{why}");
}

#[test]
fn a_turn_says_what_began_it() {
    let config = "agents: {a: {tools: {also_allow: [notify]}, links: [{to: c, as: notify}]}, b: {}, c: {}}\nboards: {work: {agents: {b: work}}}\n";
    let home = configured(config);
    let _daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "-m", "hello"]).ok();
    let wish = "call notify {\"agent\": \"c\", \"message\": \"it is done\"}";
    insula(&home, &["cron", "add", "a", "every 2h", "Look", "--name", "look"]).ok();
    insula(&home, &["cron", "run", "a", "look"]).ok();
    insula(&home, &["chat", "--agent", "a", "-m", wish]).ok();
    json(&home, &["board", "add", "work", "Mend it", "--assignee", "b"]);
    let began = |agent: &str, wanted: Value| {
        eventually("there is such a turn", || {
            let turns = json(&home, &["turns", "list", agent]);
            turns.as_array().unwrap().iter().any(|it| it["began"] == wanted).then_some(())
        });
    };
    began("a", json!({ "kind": "message" }));
    began("a", json!({ "kind": "job", "job": "look" }));
    began("b", json!({ "kind": "card", "board": "work", "card": "1" }));
    began("c", json!({ "kind": "link", "agent": "a" }));
    let told = ["a", "b", "c"].map(|it| insula(&home, &["turns", "list", it]).ok().stdout).concat();
    for words in ["BEGAN BY", "job look", "card 1 of work", "link from a", "message"] {
        assert!(told.contains(words), "`{words}` is not in {told}");
    }
}

#[test]
fn a_job_shows_what_it_was_given_and_one_that_never_could_run_is_not_taken() {
    let home = configured("agents: {a: {model: rehearsal/practice, timezone: Asia/Tokyo}}\n");
    let daemon = start_still(&home);
    let add = |words: &[&str]| insula(&home, &[&["cron", "add", "a"], words].concat());
    let limits =
        ["--tokens-per-day", "100", "--count", "2", "--until", "2099-01-31", "--name", "x"];
    add(&[&["every 2h", "Look"][..], &limits].concat()).ok();
    let shown = json(&home, &["cron", "show", "a", "x"]);
    assert_eq!(shown["settings"]["budget"], "tokens_per_day 100");
    let next = shown["next_at"][0].as_str().unwrap();
    assert!(next.ends_with('Z') && next.contains('T'), "{next}");
    let told = insula(&home, &["cron", "show", "a", "x"]).ok().stdout;
    assert!(told.contains("until         Saturday 2099-01-31 23:59"), "{told}");

    for (words, said) in [
        (&["every 2h", "x", "--until", "garbage"][..], "write a day or a time"),
        (&["every 2h", "x", "--name", "a b"], "a letter or digit first"),
        (&["every 2h", "x", "--timeout", "0s"], "leaves it no time"),
        (&["2020-05-01T00:00", "x"], "Friday 2020-05-01 00:00 +09:00 Asia/Tokyo has no moment"),
    ] {
        let output = add(words);
        assert!(output.code == Some(2) && output.stderr.contains(said), "{output:?}");
    }
    let path = "/api/agents/a/jobs";
    let post = |body: Value| call(&daemon, &home, "POST", path, &body.to_string());
    let model = json!({ "schedule": "every 2h", "prompt": "x", "model": "rehearsal/other" });
    let refused = post(model);
    assert!(
        refused.status == 400 && refused.body.contains("it has rehearsal/practice"),
        "{refused:?}"
    );

    let off = json!({ "schedule": "every 2h", "prompt": "x", "name": "off", "enabled": false });
    assert_eq!(post(off).json()["state"], "disabled");
    let resumed = json(&home, &["cron", "resume", "a", "off"]);
    assert!(resumed["state"] == "active" && resumed["next"].as_array().unwrap().len() > 1);
}
