//! Accounts on platforms, from outside: how they stand, and requests that platforms send.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, run_with_input};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

pub const SECRET: &str = "0123456789abcdef0123456789abcdef";

const CONFIG: &str = r#"
agents: {a: {default: true, access: {allow: ["webhook:ci"]}}}
channels:
  telegram:
    accounts:
      waits: {token: "${secret:LATER}", base_url: "http://127.0.0.1:1"}
      wrong: {tokn: x}
      asleep: {token: "1:x", enabled: false}
  webhook: {accounts: {ci: {secret: "0123456789abcdef0123456789abcdef", template: "{{ word }}"}}}
  web: {accounts: {site: {}}}
"#;

fn account(home: &Home, name: &str) -> Value {
    let status = json(home, &["status"]);
    let accounts = status["accounts"].as_array().unwrap().clone();
    accounts.into_iter().find(|account| account["account"] == name).unwrap()
}

fn wait_for(home: &Home, name: &str, state: &str) -> Value {
    let what = format!("{name} is {state}");
    eventually(&what, || Some(account(home, name)).filter(|account| account["state"] == state))
}

/// The headers of a signed request.
pub fn signed(secret: &str, seconds_ago: i64, body: &str) -> [String; 2] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let moment = i64::try_from(now).unwrap() - seconds_ago;
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    let tag = ring::hmac::sign(&key, format!("{moment}.{body}").as_bytes());
    let hex = tag.as_ref().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    [format!("X-Insula-Timestamp: {moment}"), format!("X-Insula-Signature: sha256={hex}")]
}

/// Sends a request as a platform would.
pub fn hook(daemon: &Daemon, account: &str, headers: &[String], body: &str) -> Answer {
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    send(daemon.listen(), "POST", &format!("/hooks/{account}"), &headers, body)
}

#[test]
fn each_account_says_how_it_stands_and_what_to_do() {
    let home = configured(CONFIG);
    let daemon = start(&home);
    let ci = wait_for(&home, "ci", "connected");
    assert_eq!((&ci["platform"], &ci["reason"]), (&"webhook".into(), &Value::Null));
    wait_for(&home, "site", "connected");
    let reason = |name: &str| {
        let account = account(&home, name);
        assert_eq!(account["state"], "off", "{account}");
        account["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason("waits").contains("insula secret set"), "{}", reason("waits"));
    let wrong = reason("wrong");
    assert!(wrong.contains("config.yaml:7:") && wrong.contains("tokn"), "{wrong}");
    assert!(reason("asleep").contains("enabled: false"));
    // The missing secret comes: the account starts, and no other notices.
    run_with_input(INSULA, home.path(), &["secret", "set", "--daemon", "LATER"], "1:token").ok();
    eventually("it is tried", || Some(()).filter(|()| account(&home, "waits")["state"] != "off"));
    assert_eq!(account(&home, "ci"), ci);
    // An account is added, and one is removed, while it runs.
    let edited = CONFIG.replace("site: {}", "other: {}");
    home.write("config.yaml", &edited).unwrap();
    insula(&home, &["reload"]).ok();
    wait_for(&home, "other", "connected");
    let names: Vec<Value> = json(&home, &["status"])["accounts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|account| account["account"].clone())
        .collect();
    assert!(!names.contains(&"site".into()), "{names:?}");
    assert_eq!(account(&home, "ci"), ci, "it was not touched");
    let ready = call(&daemon, &home, "GET", "/readyz", "");
    assert_eq!(ready.status, 200);
    assert!(ready.body.starts_with("ready\n") && ready.body.contains("accounts connected: 2\n"));
    // Strangers see that it lives, the admin each account.
    assert_eq!(get(&daemon, "/readyz").body, "ready\n");
    let open = get(&daemon, "/metrics").body;
    assert!(!open.contains("account"), "{open}");
    let all = call(&daemon, &home, "GET", "/metrics", "").body;
    assert!(all.contains("insula_accounts{state=\"connected\"} 2"), "{all}");
    assert!(all.contains("insula_account_up{platform=\"webhook\",account=\"ci\"} 1"), "{all}");
    let doctor = insula(&home, &["doctor", "--json"]).json();
    let found = |name: &str| {
        let findings = doctor.as_array().unwrap();
        findings.iter().find(|found| found["name"] == name).unwrap()["status"].clone()
    };
    assert_eq!(found("account webhook.ci"), "good");
    assert_eq!(found("account telegram.wrong"), "bad");
    assert_eq!(found("account telegram.asleep"), "off");
}

#[test]
fn a_wrong_account_is_an_error_of_its_own() {
    let home = configured(CONFIG);
    let check = insula(&home, &["check", "--json"]);
    assert_eq!(check.code, Some(2));
    let errors = check.json()["errors"].clone();
    let messages: Vec<&str> =
        errors.as_array().unwrap().iter().map(|it| it["message"].as_str().unwrap()).collect();
    assert!(messages.iter().any(|it| it.contains("unknown key `tokn`")), "{messages:?}");
    assert!(messages.iter().any(|it| it.contains("needs `token`")), "{messages:?}");
    let text = insula(&home, &["check"]);
    assert!(text.stdout.contains("account `telegram.wrong` does not connect"), "{text:?}");
    // The daemon starts, and the rest serves.
    let _daemon = start_still(&home);
    assert_eq!(state(&home, "a"), "ready");
}

#[test]
fn a_hook_is_taken_once_and_only_by_its_secret() {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    wait_for(&home, "ci", "connected");
    let body = r#"{"word": "hello"}"#;
    let good = signed(SECRET, 0, body);
    let answer = hook(&daemon, "webhook/ci", &good, body);
    assert_eq!((answer.status, &*answer.body), (202, r#"{"taken":true}"#));
    let again = hook(&daemon, "webhook/ci", &good, body);
    assert_eq!((again.status, &again.json()["error"]["code"]), (409, &"taken_before".into()));
    let old = hook(&daemon, "webhook/ci", &signed(SECRET, 301, body), body);
    assert_eq!((old.status, &old.json()["error"]["code"]), (409, &"not_now".into()));
    // Whether there is such an account can't be told.
    let wrong = signed("another-secret-of-somebody", 0, body);
    let refused = hook(&daemon, "webhook/ci", &wrong, body);
    assert_eq!(refused.status, 401);
    for nobody in ["webhook/nobody", "telegram/waits", "nowhere/ci", "matrix/x", "cli/local"] {
        let answer = hook(&daemon, nobody, &wrong, body);
        assert_eq!((answer.status, &answer.body), (401, &refused.body), "{nobody}");
    }
    assert_eq!(hook(&daemon, "webhook/ci", &[], body).body, refused.body);
    let changed = hook(&daemon, "webhook/ci", &signed(SECRET, 0, body), r#"{"word": "bye"}"#);
    assert_eq!(changed.status, 401);
    assert_eq!(hook(&daemon, "webhook/ci", &signed(SECRET, 0, "no"), "no").status, 400);
    // Some platforms ask before they call; whoever does not answer that way refuses it as all else.
    let asked = get(&daemon, "/hooks/webhook/ci");
    assert_eq!((asked.status, &asked.body), (401, &refused.body));
    // A proxy passes on the name that the world knows.
    let body = r#"{"word": "from afar"}"#;
    let mut far = signed(SECRET, 0, body).to_vec();
    far.push("Host: bots.example.org".to_owned());
    assert_eq!(hook(&daemon, "webhook/ci", &far, body).status, 202);
    assert_eq!(account(&home, "ci")["events"], 2);
}

#[test]
fn a_hook_that_is_too_long_is_refused_before_it_is_sent() {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    let mut stream = TcpStream::connect(daemon.listen()).unwrap();
    let head = "POST /hooks/webhook/ci HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    // Not a byte of the body was sent: the answer does not wait for it.
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[test]
fn two_hundred_accounts_cost_little() {
    // Only what was allocated: the code that runs is in memory for one account as for many.
    let allocated_kb = |count: usize| -> u64 {
        let accounts = (0..count).fold(String::new(), |mut all, number| {
            write!(all, "a{number}: {{secret: {SECRET}}}, ").unwrap();
            all
        });
        let agents = "agents: {a: {default: true}}";
        let config = format!("{agents}\nchannels: {{webhook: {{accounts: {{{accounts}}}}}}}\n");
        let home = configured(&config);
        let daemon = start_still(&home);
        for number in [0, count - 1] {
            wait_for(&home, &format!("a{number}"), "connected");
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let (one, all) = (allocated_kb(1), allocated_kb(200));
    assert!(all.saturating_sub(one) < 6_000, "{one} KB with one, {all} KB with 200");
}
