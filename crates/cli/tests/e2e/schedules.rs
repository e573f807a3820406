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
