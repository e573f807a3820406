//! `insula status`, `insula reload`, `insula doctor`

use super::text;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::Reach;
use crate::setting::Answer;
use serde_json::{Value, json};

/// How the daemon stands. Fails when none runs, so that a script can ask.
pub async fn status(reach: &Reach, answer: Answer) -> Result<u8, Failure> {
    let mut status = reach.get("/api/status").await?;
    let boards = reach.get_if_there("/api/boards").await?.unwrap_or_default();
    let boards = boards.as_array().map_or(&[][..], Vec::as_slice);
    let boards: Vec<Value> =
        boards.iter().map(|it| json!({ "name": it["name"], "cards": it["cards"] })).collect();
    status["boards"] = boards.into();
    if answer == Answer::Text {
        status["next_runs"] = reach.named(None, &status["next_runs"]).await;
    }
    answer.give(&status, |status| {
        let agents = &status["agents"];
        let count = |key: &str| {
            agents[key].as_u64().filter(|count| *count > 0).map(|count| format!("{count} {key}"))
        };
        let states: Vec<String> =
            ["ready", "failed", "paused", "archived"].into_iter().filter_map(count).collect();
        output::facts(&[
            (
                "daemon",
                match status["pid"].as_u64() {
                    Some(pid) => format!("running, pid {pid}"),
                    None => "not running; `insula up` starts it".to_owned(),
                },
            ),
            ("address", text(status, "listen")),
            ("version", text(status, "version")),
            ("home", text(status, "home")),
            (
                "files",
                match status["config_refused"].as_str() {
                    Some(reason) => format!("not applied: {reason}"),
                    None => "applied".to_owned(),
                },
            ),
            ("agents", format!("{} ({})", text(agents, "total"), states.join(", "))),
        ]);
        let boards = status["boards"].as_array().map_or(&[][..], Vec::as_slice);
        if !boards.is_empty() {
            output::line("");
            let count =
                |it: &Value, status: &str| it["cards"][status].as_u64().unwrap_or(0).to_string();
            let rows = boards.iter().map(|it| {
                let counts = ["running", "ready", "blocked", "review"].map(|key| count(it, key));
                [vec![text(it, "name")], counts.to_vec()].concat()
            });
            output::table(&["board", "running", "ready", "blocked", "review"], rows);
        }
        let next = status["next_runs"].as_array().map_or(&[][..], Vec::as_slice);
        if !next.is_empty() {
            output::line("");
            let rows = next.iter().map(|it| vec![text(it, "agent"), text(it, "at")]);
            output::table(&["agent", "next run"], rows);
        }
        let accounts = status["accounts"].as_array().map_or(&[][..], Vec::as_slice);
        if !accounts.is_empty() {
            output::line("");
            let rows = accounts.iter().map(|account| {
                ["platform", "account", "state", "reason"].map(|key| text(account, key)).to_vec()
            });
            output::table(&["platform", "account", "state", "reason"], rows);
        }
    });
    Ok(if reach.is_daemon() { 0 } else { FAILED })
}

/// Applies the files as they are now.
pub async fn reload(reach: &Reach, answer: Answer) -> Result<u8, Failure> {
    let done = reach.post("/api/reload", None).await?;
    answer.give(&done, reloaded);
    Ok(0)
}

/// Prints what a reload did.
pub fn reloaded(done: &Value) {
    let mut nothing = true;
    for key in ["added", "changed", "removed", "failed"] {
        let ids: Vec<&str> =
            done[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !ids.is_empty() {
            nothing = false;
            output::line(&format!("{key}: {}", ids.join(", ")));
        }
    }
    let restart: Vec<&str> =
        done["restart"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !restart.is_empty() {
        output::line(&format!("after a restart: {}", restart.join(", ")));
    } else if nothing {
        output::line("nothing changed");
    }
    let count = |key: &str| done["report"][key].as_array().map_or(0, Vec::len);
    if count("errors") + count("warnings") > 0 {
        output::line(&format!(
            "{}, {}; `insula check` shows them",
            output::count(count("errors"), "error"),
            output::count(count("warnings"), "warning")
        ));
    }
}

/// What works here, and what is off.
pub async fn doctor(reach: &Reach, answer: Answer, paid: bool) -> Result<u8, Failure> {
    let path = if paid { "/api/doctor?paid=true" } else { "/api/doctor" };
    let findings = reach.get(path).await?;
    answer.give(&findings, |findings| {
        let rows =
            findings.as_array().into_iter().flatten().map(|found| {
                vec![text(found, "name"), text(found, "status"), text(found, "detail")]
            });
        output::table(&["what", "state", "detail"], rows);
    });
    let bad = findings.as_array().into_iter().flatten().any(|found| found["status"] == "bad");
    Ok(if bad { FAILED } else { 0 })
}
