//! Turns that fail, as their operator finds them: in lists, in what is shown of one, in the audit,
//! the log, the figures and the doctor; and how a turn is followed.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, Upstream, upstream};
use insula_world::World;
use serde_json::{Value, json};

/// A provider that answers with the status that stands in the model's name, and has a list of
/// models.
fn provider() -> (String, tokio::runtime::Runtime) {
    let (upstream, runtime) = telling();
    (upstream.url("/v1"), runtime)
}

/// The same, to be asked what it saw.
fn telling() -> (Upstream, tokio::runtime::Runtime) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let world = World::real().unwrap();
    let script = move |seen: &upstream::Seen, _: usize| {
        let json = [("content-type", "application/json")];
        if seen.line.contains("/models") {
            return vec![upstream::answer(200, &json, r#"{"data":[{"id":"one"},{"id":"two"}]}"#)];
        }
        let model = seen.json()["model"].as_str().unwrap_or_default().to_owned();
        if model == "hangs" {
            return vec![upstream::Step::Hang];
        }
        let status = match model.as_str() {
            "long" => 400,
            _ => model.strip_prefix("status-").and_then(|it| it.parse().ok()).unwrap_or(200),
        };
        let body = match status {
            200 if model == "silent" => {
                r#"{"choices":[{"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#
            }
            200 if model == "garbled" => "<html>it works</html>",
            400 if model == "long" => {
                r#"{"error":{"message":"This model's maximum context length is 10 tokens. However, your messages resulted in 500 tokens.","code":"context_length_exceeded"}}"#
            }
            200 => {
                r#"{"choices":[{"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}"#
            }
            _ => r#"{"error":{"message":"the provider's own words"}}"#,
        };
        vec![upstream::answer(status, &json, body)]
    };
    (runtime.block_on(Upstream::start_telling(&world, script)).unwrap(), runtime)
}

fn complete(home: &Home, daemon: &Daemon, agent: &str) -> Answer {
    let bearer = format!("Authorization: Bearer {}", token(home));
    let headers = [bearer.as_str(), "Content-Type: application/json", "X-Insula-Session: s"];
    let messages = [json!({ "role": "user", "content": "hello" })];
    let body = json!({ "model": agent, "messages": messages, "user": "ann" });
    send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string())
}

/// The status, the cause that it is, and what the reason says.
const KINDS: [(u16, &str, &str); 4] = [
    (401, "key_refused", "refused the key (401)"),
    (402, "unpaid", "used up (402)"),
    (404, "no_such_model", "no such model or address (404)"),
    (400, "request_refused", "refused the request (400)"),
];

#[test]
fn following_needs_a_daemon_unless_the_turn_is_over() {
    let home = configured("agents: {a: {model: rehearsal/practice}}\n");
    let daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "-m", "hello"]).ok();
    drop(daemon);
    let over = insula(&home, &["turns", "follow", "a", "1"]).ok();
    assert!(over.stdout.contains("turn 1 replied"), "{over:?}");
    let waits = insula(&home, &["turns", "follow", "a"]);
    assert_eq!(waits.code, Some(1));
    assert!(waits.stderr.contains("no daemon runs in this home"), "{waits:?}");
}

#[test]
fn a_turn_that_is_stopped_blames_no_provider() {
    let (upstream, runtime) = telling();
    let url = upstream.url("/v1");
    let home = configured(&format!(
        "providers: {{up: {{kind: openai, base_url: \"{url}\"}}}}\nagents: {{a: {{model: up/hangs}}}}\n"
    ));
    let daemon = start_still(&home);
    let path = home.path().to_owned();
    let asked = std::thread::spawn(move || {
        let words = ["chat", "--agent", "a", "--session", "one", "-m", "hello"];
        insula_testkit::run(INSULA, &path, &words)
    });
    // Its window may be asked for before.
    let mut seen = upstream.seen();
    while !seen.iter().any(|it| it.line.contains("/chat/completions")) {
        runtime.block_on(upstream.requests(seen.len() + 1));
        seen = upstream.seen();
    }
    eventually("the turn is stopped", || {
        let stopped = call(&daemon, &home, "POST", "/api/agents/a/stop", "{\"session\":\"one\"}");
        (stopped.json()["stopped"] == 1).then_some(())
    });
    asked.join().unwrap();
    let found = json(&home, &["turns", "show", "a", "1"]);
    assert_eq!(found["turn"]["status"], "stopped", "{found:#}");
    let course = found["course"].as_array().unwrap();
    let blamed = course.iter().filter_map(|it| it["failed"].as_str()).find(|it| *it != "stopped");
    assert_eq!(blamed, None, "{found:#}");
}

#[test]
fn a_failed_turn_is_found_wherever_its_operator_looks() {
    let (url, _runtime) = provider();
    let agents: String = KINDS
        .iter()
        .map(|(status, ..)| format!("  a{status}: {{model: up/status-{status}}}\n"))
        .collect();
    let home = configured(&format!(
        "defaults: {{tools: minimal}}\nproviders: {{up: {{kind: openai, base_url: \"{url}\"}}}}\nagents:\n{agents}  good: {{model: up/one}}\n"
    ));
    home.write(
        "config.yaml",
        home.read("config.yaml").unwrap()
            + &format!("logging: {{file: \"{}\"}}\n", home.path().join("daemon.log").display()),
    )
    .unwrap();
    let daemon = start_still(&home);
    for (status, ..) in KINDS {
        let agent = format!("a{status}");
        insula(&home, &["chat", "--agent", &agent, "-m", "hello"]);
        assert!(!complete(&home, &daemon, &agent).head.contains(" 200 "));
    }
    insula(&home, &["chat", "--agent", "good", "-m", "hello"]).ok();
    let log = insula(&home, &["logs", "-n", "1000"]).ok().stdout;
    let doctor = insula(&home, &["doctor", "--json"]).json();
    let finding = |name: &str| -> Value {
        let found = doctor.as_array().unwrap().iter().find(|found| found["name"] == name);
        found.cloned().unwrap_or_else(|| panic!("nothing about {name}: {doctor:#}"))
    };
    let bearer = format!("Authorization: Bearer {}", token(&home));
    let metrics = send(daemon.listen(), "GET", "/metrics", &[&bearer], "").body;
    for (status, cause, said) in KINDS {
        let agent = format!("a{status}");
        let turns = insula(&home, &["turns", "list", &agent, "--json"]).json();
        let turns = turns.as_array().unwrap().clone();
        assert!(!turns.is_empty());
        for turn in &turns {
            assert_eq!((&turn["status"], &turn["cause"]), (&json!("failed"), &json!(cause)));
            assert!(turn["error"].as_str().unwrap().contains(said), "{turn}");
        }
        let shown = insula(&home, &["turns", "list", &agent]).ok().stdout;
        assert!(shown.contains(&format!("failed: {cause}")), "{shown}");
        let id = turns[0]["id"].to_string();
        let shown = insula(&home, &["turns", "show", &agent, &id]).ok().stdout;
        let asked = format!("failed: {cause}; up/status-{status} {cause} ({status})");
        assert!(shown.contains(&asked) && shown.contains("the provider's own words"), "{shown}");
        assert!(shown.contains("began, after waiting"), "{shown}");
        let followed = insula(&home, &["turns", "follow", &agent, &id]).ok().stdout;
        assert!(
            followed.contains(&asked) && followed.contains(&format!("turn {id} failed")),
            "{followed}"
        );
        let session = insula(&home, &["sessions", "show", &agent, "1"]).ok().stdout;
        assert!(session.contains("failed: ") && session.contains(said), "{session}");
        let audit = insula(&home, &["audit", "tail", &agent, "--kind", "turn.failed", "--json"])
            .ok()
            .stdout;
        assert!(audit.contains(cause) && !audit.contains("own words"), "{audit}");
        assert!(log.contains(&format!("cause=\"{cause}\"")), "{log}");
        assert!(
            metrics.contains(&format!("insula_turn_failures_total{{cause=\"{cause}\"}}")),
            "{metrics}"
        );
        let found = finding(&format!("turns of {agent}"));
        assert!(found["detail"].as_str().unwrap().contains(cause), "{found}");
    }
    assert!(!log.contains("own words"), "{log}");
    let up = finding("provider up");
    assert_eq!(up["status"], "good", "{up}");
    assert!(up["detail"].as_str().unwrap().contains("lists 2 models"), "{up}");
    assert!(!doctor.to_string().contains("turns of good"));
}

/// Ten agents that fail, each for a reason of its own: its name, its settings and the cause.
const TEN: [(&str, &str, &str); 10] = [
    ("refused", "{model: up/status-401}", "key_refused"),
    ("unpaid", "{model: up/status-402}", "unpaid"),
    ("nowhere", "{model: up/status-404}", "no_such_model"),
    ("wrong", "{model: up/status-400}", "request_refused"),
    ("long", "{model: up/long}", "too_long"),
    ("silent", "{model: up/silent}", "said_nothing"),
    ("garbled", "{model: up/garbled}", "unreadable"),
    ("unpriced", "{model: up/one, budget: {usd_per_day: 1}}", "no_price"),
    ("hooked", "{model: up/one, hooks: {pre_api_request: [{expr: 'false'}]}}", "hook"),
    ("keyless", "{model: anthropic/claude-sonnet-4-5}", "settings"),
];

#[test]
fn twenty_failed_turns_of_ten_kinds_are_each_found_with_the_true_reason() {
    let (url, _runtime) = provider();
    let agents: String =
        TEN.iter().map(|(id, settings, _)| format!("  {id}: {settings}\n")).collect();
    let home = configured(&format!(
        "defaults: {{tools: minimal}}\nproviders: {{up: {{kind: openai, base_url: \"{url}\"}}}}\nagents:\n{agents}"
    ));
    let daemon = start_still(&home);
    let mut causes = std::collections::BTreeSet::new();
    for (id, _, cause) in TEN {
        for _ in 0..2 {
            assert!(!complete(&home, &daemon, id).head.contains(" 200 "), "{id}");
        }
        let turns = json_of(&home, &["turns", "list", id]);
        let turns = turns.as_array().unwrap();
        assert_eq!(turns.len(), 2, "{id}");
        for turn in turns {
            assert_eq!(
                (&turn["status"], &turn["cause"]),
                (&json!("failed"), &json!(cause)),
                "{id}"
            );
            let shown = json_of(&home, &["turns", "show", id, &turn["id"].to_string()]);
            assert!(shown.to_string().contains(&format!("\"{cause}\"")), "{id}: {shown:#}");
            assert!(!turn["error"].as_str().unwrap().is_empty(), "{id}");
        }
        causes.insert(cause);
    }
    assert_eq!(causes.len(), TEN.len());
    drop(daemon);
}

fn json_of(home: &Home, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    insula(home, &args).ok().json()
}

#[test]
fn an_agent_whose_database_is_damaged_fails_when_that_is_met_and_no_other_pays() {
    let home = configured("agents: {a: {tools: minimal}, b: {tools: minimal}}\n");
    let daemon = start_still(&home);
    for agent in ["a", "b"] {
        insula(&home, &["chat", "--agent", agent, "-m", "hello"]).ok();
    }
    daemon.terminate().unwrap();
    let file = home.path().join("agents/a/agent.db");
    let whole = std::fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[4096..].fill(0xa5);
    std::fs::write(&file, damaged).unwrap();
    let daemon = start_still(&home);
    let refused = insula(&home, &["chat", "--agent", "a", "-m", "hello"]);
    assert!(refused.stderr.contains("damaged"), "{refused:?}");
    let row = eventually("the agent is failed", || {
        Some(agent(&home, "a")).filter(|row| row["state"] == "failed")
    });
    assert!(row["reason"].as_str().unwrap().contains("agent.db is damaged"), "{row}");
    let log = daemon.log();
    assert!(log.contains("a turn failed") && log.contains("store"), "{log}");
    let metrics = call(&daemon, &home, "GET", "/metrics", "").body;
    assert!(metrics.contains("insula_turn_failures_total{cause=\"store\"} 1"), "{metrics}");
    insula(&home, &["chat", "--agent", "b", "-m", "hello"]).ok();
    // A reload looks again, and finds it whole once it is.
    insula(&home, &["reload"]).ok();
    assert_eq!(state(&home, "a"), "failed");
    std::fs::write(&file, whole).unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(state(&home, "a"), "ready");
    insula(&home, &["chat", "--agent", "a", "-m", "hello"]).ok();
}
