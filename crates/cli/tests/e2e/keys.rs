//! Whose key pays, with the real daemon and a real server on loopback: what `check` says is
//! missing, what mends it, which key arrives, and what `usage --by key` tells of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::model::says;
use insula_testkit::{Home, Output, Upstream, run_with_input};
use insula_world::World;
use serde_json::json;

const HOUSE: &str = "house-5d41402aBc4B2a76x9719D91";
const MINE: &str = "mine-7d793037A0760186Z574bQwe";

fn set(home: &Home, words: &[&str], value: &str) {
    let args: Vec<&str> = ["secret", "set"].into_iter().chain(words.iter().copied()).collect();
    run_with_input(INSULA, home.path(), &args, format!("{value}\n")).ok();
}

fn ask(home: &Home, agent: &str) -> Output {
    insula(home, &["chat", "--agent", agent, "-m", "hello"])
}

#[test]
fn what_is_missing_is_said_before_and_mended_by_the_command_that_is_named() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let world = World::real().unwrap();
    let upstream = runtime.block_on(Upstream::start(&world, |_, _| says("hello"))).unwrap();
    let url = upstream.url("/v1");
    let home = configured(&format!(
        "model: far/one\nproviders: {{far: {{kind: openai, base_url: \"{url}\", api_key: \"${{secret:KEY}}\", agents: [desk]}}}}\nagents:\n  desk: {{default: true}}\n  lab: {{providers: {{far: {{kind: openai, base_url: \"{url}\", api_key: \"${{secret:KEY}}\"}}}}}}\n  guest: {{}}\n"
    ));
    let check = insula(&home, &["check"]);
    let said = format!("{}{}", check.stdout, check.stderr);
    for line in [
        "secret `KEY` of the daemon is not set",
        "insula secret set --daemon KEY",
        "secret `KEY` of agent `lab` is not set",
        "insula secret set lab KEY",
        "provider `far` is not shared with agent `guest`",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let _daemon = start(&home);
    set(&home, &["--daemon", "KEY"], HOUSE);
    let refused = ask(&home, "lab");
    assert!(refused.stderr.contains("insula secret set lab KEY"), "{}", refused.stderr);
    assert!(upstream.seen().is_empty());
    set(&home, &["lab", "KEY"], MINE);
    ask(&home, "lab").ok();
    ask(&home, "desk").ok();
    let refused = ask(&home, "guest");
    assert!(refused.stderr.contains("not shared with agent `guest`"), "{}", refused.stderr);
    let seen = upstream.seen();
    let came: Vec<_> = seen.iter().map(|it| it.header("authorization").unwrap()).collect();
    assert_eq!(came, [format!("Bearer {MINE}"), format!("Bearer {HOUSE}")]);
    let used = json(&home, &["usage", "--by", "key"]);
    let keys = used["keys"].as_array().unwrap();
    let told: Vec<_> = keys
        .iter()
        .map(|it| json!([it["agent"], it["provider"], it["source"], it["calls"]]))
        .collect();
    assert_eq!(told, [json!(["desk", "far", "shared", 1]), json!(["lab", "far", "own", 1])]);
    assert_ne!(keys[0]["mark"], keys[1]["mark"]);
    let one = json(&home, &["usage", "lab", "--by", "key"]);
    assert_eq!(one["keys"], json!([keys[1]]));
    let table = insula(&home, &["usage", "--by", "key"]).ok().stdout;
    assert!(table.contains("own") && table.contains(keys[1]["mark"].as_str().unwrap()), "{table}");
    for key in [HOUSE, MINE] {
        assert!(!table.contains(key) && !used.to_string().contains(key));
    }
}
