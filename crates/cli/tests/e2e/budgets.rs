//! Budgets of the real daemon: who is told what when one is used up, what a crash changes
//! about it, and what `insula usage` says.
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
use serde_json::json;

const ANSWER: &str = r#"{"choices":[{"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":1000,"completion_tokens":200,"prompt_tokens_details":{"cached_tokens":400}}}"#;

/// A provider that says what it used, for as long as the test runs.
fn provider() -> (String, tokio::runtime::Runtime) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let world = World::real().unwrap();
    let json = [("content-type", "application/json")];
    let script = move |_: &upstream::Seen, _: usize| vec![upstream::answer(200, &json, ANSWER)];
    let upstream = runtime.block_on(Upstream::start(&world, script)).unwrap();
    (upstream.url("/v1"), runtime)
}

fn served(url: &str, agents: &str) -> (Home, Daemon) {
    let home = configured(&format!(
        "model: up/one\ndefaults: {{tools: minimal}}\nproviders: {{up: {{kind: openai, base_url: \"{url}\"}}}}\nprices: {{up/one: {{input: 1, output: 5, cached_input: 0.5}}}}\n{agents}\n"
    ));
    let daemon = start_still(&home);
    (home, daemon)
}

fn complete(home: &Home, daemon: &Daemon, agent: &str, stream: bool) -> Answer {
    let bearer = format!("Authorization: Bearer {}", token(home));
    let headers = [bearer.as_str(), "Content-Type: application/json"];
    let messages = [json!({ "role": "user", "content": "hello" })];
    let body = json!({ "model": agent, "messages": messages, "stream": stream });
    send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string())
}

fn assert_refused(answer: &Answer, level: &str, dimension: &str) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let error = answer.json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["type"]),
        (&json!("budget_exceeded"), &json!("rate_limit_error"))
    );
    assert_eq!(
        (&error["budget"]["level"], &error["budget"]["dimension"]),
        (&json!(level), &json!(dimension))
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(level) && message.contains(dimension), "{message}");
    let wait = answer.head.to_lowercase();
    let wait = wait.split("retry-after: ").nth(1).expect("a time to come back");
    assert!(wait.lines().next().unwrap().trim().parse::<u64>().unwrap() >= 1);
}

#[test]
fn who_is_over_budget_is_told_which_and_others_go_on_also_after_a_crash() {
    let (url, _serving) = provider();
    let agents = "agents: {a: {budget: {tokens_per_day: 1250}}, b: {budget: {turns_per_minute: 1}}, c: {budget: {usd_per_day: 0.0019}}, d: {}}";
    let (home, daemon) = served(&url, agents);
    let check = |daemon: &Daemon| {
        assert_refused(&complete(&home, daemon, "a", false), "agent", "tokens_per_day");
        assert_refused(&complete(&home, daemon, "c", false), "agent", "usd_per_day");
        assert_eq!(complete(&home, daemon, "d", false).status, 200, "nobody else is concerned");
        let streamed = complete(&home, daemon, "a", true);
        assert!(streamed.body.contains(r#""code":"budget_exceeded""#), "{streamed:?}");
        assert!(!streamed.body.contains("[DONE]"), "no whole reply: {streamed:?}");
    };
    for agent in ["a", "b", "c"] {
        assert_eq!(complete(&home, &daemon, agent, false).status, 200, "{agent}");
    }
    check(&daemon);
    // The second may have begun a new minute in between; the third has not.
    let minute = eventually("a minute is full", || {
        Some(complete(&home, &daemon, "b", false)).filter(|answer| answer.status != 200)
    });
    assert_refused(&minute, "agent", "turns_per_minute");
    let said = insula(&home, &["chat", "--agent", "a", "-m", "hello"]);
    assert!(said.code == Some(1) && said.stderr.contains("`tokens_per_day` is 1250"), "{said:?}");
    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    check(&daemon);
}

#[test]
fn the_budget_of_the_daemon_holds_for_all_agents_together_and_across_restarts() {
    let (url, _serving) = provider();
    let (home, daemon) = served(&url, "budget: {usd_per_day: 0.0019}\nagents: {a: {}, b: {}}");
    assert_eq!(complete(&home, &daemon, "a", false).status, 200);
    assert_refused(&complete(&home, &daemon, "b", false), "daemon", "usd_per_day");
    daemon.terminate().unwrap();
    let daemon = start_still(&home);
    assert_refused(&complete(&home, &daemon, "b", false), "daemon", "usd_per_day");
    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    assert_refused(&complete(&home, &daemon, "b", false), "daemon", "usd_per_day");
    let metrics = call(&daemon, &home, "GET", "/metrics", "").body;
    let line = r#"insula_budget_refusals_total{level="daemon",dimension="usd_per_day"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
}

#[test]
fn usage_is_told_by_agent_with_what_budgets_leave() {
    let (url, _serving) = provider();
    let agents =
        "budget: {usd_per_day: 1}\nagents: {a: {budget: {tokens_per_day: 10000}}, b: {}, c: {}}";
    let (home, daemon) = served(&url, agents);
    complete(&home, &daemon, "a", false);
    complete(&home, &daemon, "b", false);
    let table = insula(&home, &["usage"]).ok().stdout;
    let lines: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().collect()).collect();
    let words = |line: &'static str| -> Vec<&str> { line.split_whitespace().collect() };
    assert_eq!(
        lines,
        [
            words("AGENT TURNS INPUT CACHED OUTPUT USD LEFT TODAY"),
            words("a 1 1000 400 200 0.0018 8800 of 10000 tokens"),
            words("b 1 1000 400 200 0.0018"),
            words("all 2 2000 800 400 0.0036 0.9964 of 1 usd"),
        ],
        "{table}"
    );
    let one = json(&home, &["usage", "a", "--days", "7"]);
    assert_eq!((&one["turns"], &one["cached_tokens"]), (&json!(1), &json!(400)));
    assert_eq!(one["principals"][0]["name"], "cli:local");
    assert_eq!(one["budget"]["tokens_left"], 8_800);
    let while_served = json(&home, &["usage"]);
    daemon.terminate().unwrap();
    assert_eq!(json(&home, &["usage"]), while_served, "the same without a daemon");
    let nobody = insula(&home, &["usage", "nobody"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
}
