//! The audit by tenant: whose each record is, how records are found, what a tenant can verify
//! alone, and what a token for one scope sees.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and programs and fail by panicking"
)]

use crate::acts_model::ActsModel;
use crate::support::*;
use insula_testkit::{Daemon, Home, run_bare};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// An agent with two tenants: conversations that remember something each.
struct Tenants {
    home: Home,
    daemon: Daemon,
    _model: ActsModel,
}

const TENANTS: [&str; 2] = ["acme", "globex"];

fn tenants() -> Tenants {
    let model = ActsModel::start();
    let home = configured(&format!(
        "
model: acts/model
providers: {{acts: {{kind: openai, base_url: '{}'}}}}
agents:
  clerk: {{default: true, memory: true, tools: [memory, todo]}}
  other: {{tools: minimal}}
",
        model.url()
    ));
    let daemon = start_still(&home);
    for tenant in TENANTS {
        let fact = format!("canary-{tenant}");
        let remember = value!({ "action": "add", "target": "memory", "content": fact });
        let acts = value!([
            { "call": "memory", "arguments": remember },
            { "say": format!("done for {tenant}") },
        ]);
        say(&home, tenant, &acts);
        say(&home, tenant, &value!([{ "call": "todo", "arguments": {} }, { "say": "ok" }]));
    }
    Tenants { home, daemon, _model: model }
}

fn say(home: &Home, session: &str, acts: &Value) {
    insula(home, &["chat", "--agent", "clerk", "--session", session, "-m", &acts.to_string()]).ok();
}

impl Tenants {
    /// Scope, key and number of the session of each tenant.
    fn sessions(&self) -> BTreeMap<&'static str, (String, String, String)> {
        let listed = json(&self.home, &["sessions", "list", "clerk"]);
        let of = |tenant: &'static str| {
            let all = listed.as_array().unwrap().iter();
            let own = all.filter(|it| it["key"].as_str().unwrap().contains(tenant));
            let [own] = own.collect::<Vec<_>>()[..] else { panic!("{listed:#}") };
            let text = |name: &str| own[name].as_str().unwrap().to_owned();
            (tenant, (text("scope"), text("key"), own["id"].to_string()))
        };
        TENANTS.map(of).into()
    }

    fn records(&self, args: &[&str]) -> Vec<Value> {
        let all = [&["audit", "tail", "clerk", "-n", "500"], args].concat();
        json(&self.home, &all).as_array().unwrap().clone()
    }

    fn export(&self, scope: &str, file: &str, args: &[&str]) -> (String, String) {
        let path = self.home.path().join(file).display().to_string();
        let all = ["audit", "export", "clerk", "--scope", scope, "--out", &path];
        insula(&self.home, &[&all, args].concat()).ok();
        let text = std::fs::read_to_string(&path).unwrap();
        (path, text)
    }
}

/// What somebody finds who has the file and nothing else.
fn verified(path: &str, args: &[&str]) -> (Option<i32>, Value) {
    let all = [&["audit", "verify", path, "--json", "--home", "/nowhere/at/all"], args].concat();
    let output = run_bare(INSULA, &[], &all);
    (output.code, output.json())
}

#[test]
fn every_record_says_whose_matter_it_is() {
    let tenants = tenants();
    let sessions = tenants.sessions();
    let records = tenants.records(&[]);
    for record in &records {
        for name in ["scope", "actor", "kind", "session", "seq", "at", "generation", "mac"] {
            assert!(record.get(name).is_some(), "{name} is not in {record}");
        }
        let is_agents = record["kind"].as_str().unwrap().starts_with("agent.");
        assert_eq!(record["scope"] == "agent", is_agents, "{record}");
        assert_eq!(is_agents, record["scope"] == "agent" && record["session"].is_null());
    }
    for (scope, key, number) in sessions.values() {
        let number: u64 = number.parse().unwrap();
        let linked = records.iter().filter(|it| it["kind"] == "memory.linked");
        let linked: Vec<&Value> = linked.filter(|it| it["scope"] == **scope).collect();
        assert!(!linked.is_empty() && linked.iter().all(|it| it["session"] == **key), "{linked:?}");
        let calls: Vec<&Value> = records
            .iter()
            .filter(|it| it["kind"] == "tool.call" && it["scope"] == **scope)
            .collect();
        assert_eq!(calls.len(), 2, "{records:#?}");
        assert!(calls.iter().all(|it| it["session"] == **key), "{calls:#?}");
        assert!(calls.iter().all(|it| it["content"]["session"] == number));
    }
    let own = json(&tenants.home, &["audit", "tail"]);
    assert!(own.as_array().unwrap().iter().all(|it| it["scope"] == "daemon"), "{own:#}");
    assert_chains_hold(&tenants.home);
}

#[test]
fn records_are_found_by_scope_user_session_kind_and_time() {
    let tenants = tenants();
    let sessions = tenants.sessions();
    let all = tenants.records(&[]);
    let meant = |test: &dyn Fn(&Value) -> bool| -> Vec<Value> {
        all.iter().filter(|it| test(it)).cloned().collect()
    };
    let (scope, key, number) = &sessions["acme"];
    let of_scope = meant(&|it| it["scope"] == **scope);
    assert!(of_scope.len() >= 3, "{all:#?}");
    assert_eq!(tenants.records(&["--scope", scope]), of_scope);
    let of_session = meant(&|it| it["session"] == **key);
    assert_eq!(tenants.records(&["--session", key]), of_session);
    assert_eq!(tenants.records(&["--session", number]), of_session, "by its number");
    let calls = meant(&|it| it["kind"] == "tool.call");
    assert_eq!(tenants.records(&["--kind", "tool.call"]), calls);
    assert_eq!(tenants.records(&["--kind", "tool.*"]), calls);
    let by_cli = meant(&|it| it["actor"] == "cli:local");
    assert_eq!(tenants.records(&["--user", "cli:local"]), by_cli);
    assert_eq!(tenants.records(&["--since", "1h"]), all);
    assert_eq!(tenants.records(&["--since", "2020-01-01"]), all);
    let middle = all[all.len() / 2]["at"].as_str().unwrap();
    let later = meant(&|it| it["at"].as_str().unwrap() >= middle);
    assert_eq!(tenants.records(&["--since", middle]), later);
    let both = meant(&|it| it["scope"] == **scope && it["kind"] == "tool.call");
    assert_eq!(tenants.records(&["--scope", scope, "--kind", "tool.*", "--since", "1d"]), both);
    let none = tenants.records(&["--scope", scope, "--user", "telegram:1"]);
    assert_eq!(none, Vec::<Value>::new());
    // The same over HTTP, and one record a line.
    let path = format!("/api/agents/clerk/audit?limit=500&kind=tool.call&session={number}");
    let heard = call(&tenants.daemon, &tenants.home, "GET", &path, "").json();
    assert_eq!(heard.as_array().unwrap(), &both);
    let exported = insula(&tenants.home, &["audit", "export", "clerk", "--kind", "tool.*"]).ok();
    let lines = exported.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(lines.collect::<Vec<Value>>(), calls);
}

#[test]
fn a_filter_that_means_nothing_says_what_to_write() {
    let home = configured("agents: {a: {}}\n");
    for (args, told) in [
        (["--scope", "everything"], "`everything` is not a scope: expected global, user:"),
        (["--kind", "*"], "`*` is no kind of record: write one such as `tool.call`, or `tool.*`"),
        (["--kind", "Tool"], "`Tool` is no kind of record"),
        (["--user", "bob"], "`bob` is nobody that records name: write PLATFORM:USER"),
        (["--session", "77"], "there is no session `77`; write its number or its key"),
        (["--since", "soon"], "`soon` is no time: write how long ago, such as 30m, 2h or 7d"),
        (["--since", "-1h"], "`-1h` is no time"),
    ] {
        let [name, value] = args;
        let args = format!("{name}={value}");
        for command in [&["audit", "tail", "a", &args][..], &["audit", "export", "a", &args]] {
            let output = insula(&home, command);
            assert_eq!(output.code, Some(2), "{command:?}: {output:?}");
            assert!(output.stderr.contains(told), "{command:?}: {output:?}");
        }
    }
    let output = insula(&home, &["audit", "tail", "a", "--follow"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("no daemon runs in this home"), "{output:?}");
}

#[test]
fn following_keeps_the_filters() {
    let home = configured("agents: {a: {}, b: {}}\n");
    let _daemon = start_still(&home);
    let mut follower = Command::new(INSULA)
        .args([
            "audit",
            "tail",
            "a",
            "--follow",
            "--json",
            "--kind",
            "agent.*",
            "--user",
            "cli:local",
        ])
        .env_clear()
        .env("INSULA_HOME", home.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for (verb, kind) in [("pause", "agent.paused"), ("resume", "agent.resumed")] {
        insula(&home, &["agents", verb, "b"]).ok();
        insula(&home, &["agents", verb, "a"]).ok();
        let heard: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!((&heard["kind"], &heard["actor"]), (&value!(kind), &value!("cli:local")));
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn an_export_is_verified_by_whoever_has_it_and_names_nobody_else() {
    let tenants = tenants();
    let sessions = tenants.sessions();
    let key = json(&tenants.home, &["audit", "key", "clerk"])["key"].as_str().unwrap().to_owned();
    for (tenant, other) in [("acme", "globex"), ("globex", "acme")] {
        let (scope, _, number) = &sessions[tenant];
        let (path, text) = tenants.export(scope, &format!("{tenant}.jsonl"), &[]);
        let (code, told) = verified(&path, &["--key", &key]);
        assert_eq!((code, &told["ok"]), (Some(0), &value!(true)), "{told:#}");
        let records = tenants.records(&["--scope", scope]);
        assert_eq!(told["records"], records.len(), "{told:#}");
        assert_eq!((&told["scope"], &told["key"]), (&value!(scope), &value!(key)));
        assert!(text.contains(tenant) && !text.contains(other), "{text}");
        assert!(!text.contains("canary"), "no words are in records: {text}");
        // Nor how much happened beside it: numbers have names, and places count its own.
        for (at, line) in text.lines().skip(1).take(records.len()).enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["seq"], at + 1);
            let content = line["content"].as_str().unwrap();
            assert!(!content.contains(&format!("\"session\":{number}")), "{content}");
        }
        // Only whoever made it can read it.
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = ["audit", "export", "clerk", "--scope", scope, "--out", &path];
        let again = insula(&tenants.home, &again);
        assert!(again.code == Some(1) && again.stderr.contains("already"), "{again:?}");
    }
    let people = run_bare(
        INSULA,
        &[],
        &["audit", "verify", &tenants.export(&sessions["acme"].0, "again.jsonl", &[]).0],
    );
    assert!(people.stdout.contains("intact") && people.stderr.contains("--key"), "{people:?}");
}

#[test]
fn whoever_exports_a_scope_that_nothing_was_recorded_of_hears_it() {
    let tenants = tenants();
    let told = |scope: &str| {
        let made = insula(&tenants.home, &["audit", "export", "clerk", "--scope", scope]);
        assert_eq!(made.code, Some(0), "{made:?}");
        made.stderr.contains("nothing was ever recorded of the scope")
    };
    assert!(told("custom:acmee"));
    assert!(!told(&tenants.sessions()["acme"].0));
}

#[test]
fn whatever_is_done_to_an_export_shows() {
    let tenants = tenants();
    let (scope, ..) = &tenants.sessions()["acme"];
    let (path, text) = tenants.export(scope, "acme.jsonl", &[]);
    let lines: Vec<&str> = text.lines().collect();
    let spoiled = |name: &str, lines: Vec<String>| {
        let path = tenants.home.path().join(format!("{name}.jsonl"));
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let (code, told) = verified(path.to_str().unwrap(), &[]);
        assert_eq!((code, &told["ok"]), (Some(1), &value!(false)), "{name}: {told:#}");
        told["reason"].as_str().unwrap().to_owned()
    };
    let own = || lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    let mut changed = own();
    changed[2] = changed[2].replace("cli:local", "cli:other");
    assert!(spoiled("changed", changed).contains("was changed"));
    let mut dropped = own();
    dropped.remove(2);
    assert_eq!(spoiled("dropped", dropped), "record 2 is missing: record 3 stands in its place");
    let mut swapped = own();
    swapped.swap(1, 2);
    spoiled("swapped", swapped);
    let mut twice = own();
    twice.insert(2, twice[1].clone());
    spoiled("twice", twice);
    let mut cut = own();
    cut.remove(lines.len() - 2);
    assert!(spoiled("cut", cut).starts_with("the end is not the one that was signed"));
    spoiled("unsigned", own()[..lines.len() - 1].to_vec());
    let other = &tenants.sessions()["globex"].0;
    let (_, theirs) = tenants.export(other, "globex.jsonl", &[]);
    let mut mixed = own();
    mixed[1] = theirs.lines().nth(1).unwrap().to_owned();
    spoiled("mixed", mixed);
    spoiled("renamed", text.replace(scope.as_str(), other).lines().map(str::to_owned).collect());
    assert_eq!(verified(&path, &[]).0, Some(0), "and as it was it is intact");
}

#[test]
fn a_later_export_goes_on_from_an_earlier_one() {
    let tenants = tenants();
    let (scope, ..) = &tenants.sessions()["acme"];
    let (early, _) = tenants.export(scope, "early.jsonl", &[]);
    say(&tenants.home, "acme", &value!([{ "call": "todo", "arguments": {} }, { "say": "ok" }]));
    let (late, _) = tenants.export(scope, "late.jsonl", &[]);
    let (code, told) = verified(&late, &["--after", &early]);
    assert_eq!((code, &told["goes_on_from_earlier"]), (Some(0), &value!(true)), "{told:#}");
    let (code, told) = verified(&early, &["--after", &late]);
    assert_eq!(code, Some(1), "{told:#}");
    assert!(told["reason"].as_str().unwrap().contains("ends before that"), "{told:#}");
    // Of a part that was chosen, what is left out stands there by its hash, and it holds too.
    let (part, text) = tenants.export(scope, "part.jsonl", &["--kind", "tool.call"]);
    let (code, told) = verified(&part, &["--after", &early]);
    assert_eq!((code, &told["records"]), (Some(0), &value!(3)), "{told:#}");
    assert!(told["left_out"].as_u64().unwrap() > 0 && text.contains("left_out"), "{told:#}");
    let (none, _) = tenants.export(scope, "none.jsonl", &["--since", "0s"]);
    assert_eq!((verified(&none, &[]).0, &verified(&none, &[]).1["records"]), (Some(0), &value!(0)));
    // A tenant that never did anything has something to prove as well.
    let (nobody, _) = tenants.export("custom:nobody", "nobody.jsonl", &[]);
    assert_eq!(verified(&nobody, &[]).0, Some(0));
    for (args, told) in [
        (["--scope", "unknown"], "is in no scope's export"),
        (["--scope", "everything"], "is not a scope"),
    ] {
        let output = insula(&tenants.home, &[&["audit", "export", "clerk"][..], &args].concat());
        assert!(output.code == Some(2) && output.stderr.contains(told), "{output:?}");
    }
    let wrong = insula(&tenants.home, &["audit", "verify", &late, "--key", "xyz"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("64 hexadecimal"), "{wrong:?}");
}

fn with(daemon: &Daemon, token: &str, method: &str, path: &str, body: &str) -> Answer {
    let bearer = format!("Authorization: Bearer {token}");
    send(daemon.listen(), method, path, &[&bearer, "Content-Type: application/json"], body)
}

fn token_for(home: &Home, args: &[&str]) -> String {
    let made = json(home, &[&["token", "create", "--agent", "clerk"][..], args].concat());
    made["token"].as_str().unwrap().to_owned()
}

#[test]
fn a_token_for_a_scope_sees_that_scope_on_every_route() {
    let tenants = tenants();
    let Tenants { home, daemon, .. } = &tenants;
    let sessions = tenants.sessions();
    let (scope, ..) = &sessions["acme"];
    let token = token_for(home, &["--scope", scope]);
    let listed = with(daemon, &token, "GET", "/api/agents/clerk/sessions", "").json();
    let own = listed[0]["id"].as_str().unwrap();
    // What the other's session is called, by a token that sees both.
    let whole = token_for(home, &["--verb", "read"]);
    let both = with(daemon, &whole, "GET", "/api/agents/clerk/sessions", "").json();
    let both = both.as_array().unwrap();
    let theirs = both.iter().find(|it| it["id"] != *own).unwrap()["id"].as_str().unwrap();
    let answers = [
        "/api/agents/{id}/audit",
        "/api/agents/{id}/audit/export",
        "/api/agents/{id}/audit/key",
        "/api/agents/{id}/memory",
        "/api/agents/{id}/memory/search",
        "/api/agents/{id}/sessions",
        "/api/agents/{id}/sessions/search",
        "/api/agents/{id}/sessions/{session}",
    ];
    let document = get(daemon, "/api/openapi.json").json();
    let mut seen = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let query = if path.ends_with("/search") { "?q=canary" } else { "" };
            let called = path.replace("{id}", "clerk").replace("{session}", own) + query;
            let answer = with(daemon, &token, &method, &called, "{}");
            assert!(!answer.body.contains("globex"), "{method} {path}: {answer:?}");
            if method == "GET" && answers.contains(&path.as_str()) {
                assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
                seen.push(path.clone());
                // Another agent is not there, and neither is what is the other tenant's.
                let other = called.replace("/clerk/", "/other/");
                assert_eq!(with(daemon, &token, &method, &other, "").status, 404, "{other}");
                continue;
            }
            if (method.as_str(), path.as_str()) == ("POST", "/api/sign-in") {
                // Whoever shows the token at the door is told why it does not open: a fact about
                // the token alone.
                assert_eq!(answer.status, 403, "{answer:?}");
                assert!(answer.body.contains("this token sees one scope"), "{answer:?}");
                continue;
            }
            if (method.as_str(), path.as_str()) == ("DELETE", "/api/sign-in") {
                // Whoever is not signed in is signed out.
                assert_eq!((answer.status, &*answer.body), (204, ""), "{answer:?}");
                continue;
            }
            if path.starts_with("/api/") {
                let expected = format!("nothing is at {}", called.split('?').next().unwrap());
                let told = &answer.json()["error"]["message"];
                assert_eq!((answer.status, told), (404, &value!(expected)), "{method} {path}");
                continue;
            }
            match path.as_str() {
                "/healthz" | "/readyz" => assert_eq!(answer.status, 200, "{path}"),
                "/metrics" => assert!(!answer.body.contains("clerk"), "{answer:?}"),
                "/v1/models" => assert_eq!(answer.json()["data"], value!([]), "{answer:?}"),
                "/mcp" | "/v1/models/{id}" | "/v1/responses/{id}" => {
                    assert_eq!(answer.status, 404, "{method} {path}: {answer:?}");
                }
                "/v1/chat/completions" | "/v1/responses" => {
                    let said = value!({ "model": "clerk", "input": "hi",
                        "messages": [{ "role": "user", "content": "hi" }] });
                    let mut said = said;
                    let unused = if path.ends_with("responses") { "messages" } else { "input" };
                    said.as_object_mut().unwrap().remove(unused);
                    let answer = with(daemon, &token, &method, &called, &said.to_string());
                    assert_eq!(answer.status, 404, "{method} {path}: {answer:?}");
                }
                "/hooks/{platform}/{account}" | "/chat/ws" => {
                    assert!(answer.status >= 400, "{method} {path}: {answer:?}");
                }
                _ => panic!("{method} {path} is not known here"),
            }
        }
    }
    assert_eq!(seen, answers);
    // What it sees is all of its own, by places of its own.
    let audit = with(daemon, &token, "GET", "/api/agents/clerk/audit?limit=500", "").json();
    let mine = tenants.records(&["--scope", scope]);
    let kinds = |all: &[Value]| all.iter().map(|it| it["kind"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(audit.as_array().unwrap()), kinds(&mine));
    let seqs: Vec<&Value> = audit.as_array().unwrap().iter().map(|it| &it["seq"]).collect();
    assert_eq!(value!(seqs), value!((1..=mine.len()).collect::<Vec<_>>()));
    let rest = with(daemon, &token, "GET", "/api/agents/clerk/audit?after=1&limit=500", "").json();
    assert_eq!(rest.as_array().unwrap()[..], audit.as_array().unwrap()[1..]);
    let memory = with(daemon, &token, "GET", "/api/agents/clerk/memory", "");
    assert!(memory.body.contains("canary-acme"), "{memory:?}");
    let found = with(daemon, &token, "GET", "/api/agents/clerk/memory/search?q=canary", "");
    assert!(found.body.contains("canary-acme"), "{found:?}");
    // Asking for the other's is asking for what is not there.
    let other = sessions["globex"].0.replace(':', "%3A").replace('/', "%2F");
    let never = "custom%3Anever";
    for route in
        ["audit?scope=", "sessions/search?q=canary&scope=", "memory?scope=", "audit/export?scope="]
    {
        let told = |scope: &str| {
            let path = format!("/api/agents/clerk/{route}{scope}");
            let answer = with(daemon, &token, "GET", &path, "");
            (
                answer.status,
                answer.body.replace(&sessions["globex"].0, "…").replace("custom:never", "…"),
            )
        };
        assert_eq!(told(&other), told(never), "{route}");
    }
    let session = |id: &str| {
        let answer = with(daemon, &token, "GET", &format!("/api/agents/clerk/sessions/{id}"), "");
        (answer.status, answer.body.replace(id, "…"))
    };
    assert_eq!(session(theirs).0, 404);
    assert_eq!(session(theirs), session("00112233aabbccdd"));
    let audit_of = |id: &str| {
        let answer =
            with(daemon, &token, "GET", &format!("/api/agents/clerk/audit?session={id}"), "");
        (answer.status, answer.body.replace(id, "…"))
    };
    assert_eq!(audit_of(theirs), audit_of("00112233aabbccdd"));
    // Its export needs no scope to be named, and is the one the operator would make.
    let export = with(daemon, &token, "GET", "/api/agents/clerk/audit/export", "");
    let path = home.path().join("own.jsonl");
    // It comes in pieces, each of whole lines, with their lengths between them.
    let lines = export.body.lines().filter(|line| line.starts_with('{'));
    std::fs::write(&path, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let (code, told) = verified(path.to_str().unwrap(), &[]);
    assert_eq!((code, &told["records"]), (Some(0), &value!(mine.len())), "{told:#}");
}

#[test]
fn a_token_for_a_scope_reads_one_agent_and_says_so() {
    let home = configured("agents: {a: {}, b: {}}\n");
    for (args, told) in [
        (&["--agent", "a", "--scope", "custom:x", "--verb", "chat"][..], "can only read"),
        (
            &["--agent", "a", "--scope", "custom:x", "--verb", "read", "--verb", "admin"],
            "can only read",
        ),
        (&["--agent", "a", "--agent", "b", "--scope", "custom:x"], "a scope is inside one agent"),
        (&["--agent", "a", "--scope", "*"], "not a scope"),
        (&["--agent", "a", "--scope", ""], "not a scope"),
    ] {
        let output = insula(&home, &[&["token", "create"], args].concat());
        assert_eq!(output.code, Some(2), "{args:?}: {output:?}");
        assert!(output.stderr.contains(told), "{args:?}: {output:?}");
    }
    insula(&home, &["token", "create", "--agent", "a", "--scope", "custom:x"]).ok();
    insula(&home, &["token", "create", "--agent", "a"]).ok();
    let listed = json(&home, &["token", "list"]);
    let mut scopes: Vec<(String, String)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["scope"].to_string(), it["verbs"].to_string()))
        .collect();
    scopes.sort();
    let expected = [("\"custom:x\"", "[\"read\"]"), ("null", "[\"chat\"]")];
    assert_eq!(scopes, expected.map(|(scope, verbs)| (scope.to_owned(), verbs.to_owned())));
    let text = insula(&home, &["token", "list"]).ok().stdout;
    assert!(text.contains("read in custom:x"), "{text}");
    let record = &json(&home, &["audit", "tail", "--kind", "token.created"])[0];
    assert_eq!(record["content"]["scope"], "custom:x", "{record:#}");
}
