//! Files of the configuration changed over HTTP, on the real binary: beside its watch of the same
//! files, and where nothing is to be changed that way.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use serde_json::json;

#[test]
fn a_change_over_http_is_applied_once_and_is_whose_it_was() {
    let home = configured("agents:\n  main: {default: true}\n  a: {tools: minimal}\n");
    let daemon = start_still(&home);
    let before = generations(&home);
    let file = "/api/config/files/config.yaml";
    let read = call(&daemon, &home, "GET", file, "").json();
    let text = read["text"].as_str().unwrap().replace("minimal", "messaging");
    let files = json!([{ "file": "config.yaml", "text": text, "was": read["mark"] }]);
    let check = json!({ "files": files }).to_string();
    let said = call(&daemon, &home, "POST", "/api/config/check", &check).json();
    // What the page shows is what the command line says of the same files.
    let write = json!({ "files": files, "shown": said["shown"] }).to_string();
    let done = call(&daemon, &home, "PUT", "/api/config/files", &write);
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!(home.read("config.yaml").unwrap(), text);
    let after = generations(&home);
    assert_eq!((after["a"], after["main"]), (before["a"] + 1, before["main"]));
    let told = json(&home, &["audit", "tail", "a"]);
    let changed: Vec<_> =
        told.as_array().unwrap().iter().filter(|it| it["kind"] == "agent.changed").collect();
    assert_eq!(changed.len(), 1, "{told:#}");
    assert_eq!(changed[0]["actor"], "cli:local");
    assert_chains_hold(&home);
    drop(daemon);
}

#[test]
fn where_nothing_is_changed_over_http_the_command_line_still_does() {
    let home = configured("api: {changes: false}\nagents:\n  main: {default: true}\n");
    let daemon = start_still(&home);
    let refused = call(&daemon, &home, "POST", "/api/agents/main/pause", "");
    assert_eq!(
        (refused.status, refused.json()["error"]["code"].clone()),
        (403, json!("changes_off"))
    );
    assert_eq!(state(&home, "main"), "ready");
    insula(&home, &["agents", "pause", "main"]).ok();
    assert_eq!(state(&home, "main"), "paused");
    drop(daemon);
}
