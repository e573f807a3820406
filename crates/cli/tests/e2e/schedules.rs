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
