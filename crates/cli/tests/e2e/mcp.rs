//! MCP servers of real agents, through the real daemon: whose they are, what they are given,
//! what becomes of a server that dies, hangs, floods, lies or changes its mind. A6 of the
//! gauntlet, and its part E from a process that an MCP server is.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::upstream::{Seen, Step, answer};
use insula_testkit::{Home, Upstream, run_with_input};
use insula_world::World;
use serde_json::{Value, json as value};

/// The server that all these tests run.
const SERVER: &str = include_str!("mcp_server.py");

/// A home where every one of these agents has the server in its workspace.
fn home_with(config: &str, agents: &[&str]) -> Home {
    // Whose words steer a turn is tested elsewhere.
    let off = if config.contains("integrity") { "" } else { "defaults: {integrity: off}\n" };
    let home = configured(&format!("{off}{config}"));
    for agent in agents {
        home.write(&format!("agents/{agent}/workspace/server.py"), SERVER).unwrap();
    }
    home
}

/// What a tool gave back, by the practice model.
fn call(home: &Home, agent: &str, tool: &str, arguments: &Value) -> String {
    let message = format!("call {tool} {arguments}");
    insula(home, &["chat", "--agent", agent, "--session", "one", "-m", &message]).ok().stdout
}

/// What the tool of the server `x` gave back.
fn x(home: &Home, agent: &str, tool: &str, text: &str) -> String {
    call(home, agent, &format!("mcp__x__{tool}"), &value!({ "text": text }))
}

/// Whether a server answered. What it says of a failure is between marks too.
fn works(said: &str) -> bool {
    said.contains(" gave back:") && said.contains("<untrusted id=")
}

fn servers(home: &Home, agent: &str) -> Value {
    json(home, &["mcp", "list", agent])
}

/// What `mcp list` says of a tool of the first server.
fn listed(home: &Home, agent: &str, tool: &str) -> Value {
    let servers = servers(home, agent);
    let tools = servers[0]["tools"].as_array().unwrap().clone();
    tools.into_iter().find(|it| it["tool"] == tool).unwrap_or(Value::Null)
}

fn set_secret(home: &Home, agent: &str, value: &str) {
    let args = ["secret", "set", agent, "KEY"];
    run_with_input(INSULA, home.path(), &args, format!("{value}\n")).ok();
}

const PROGRAM: &str = "command: python3, args: [server.py]";

#[test]
fn two_agents_with_one_server_name_have_their_own_started_once_and_within_their_walls() {
    let agent = format!(
        "{{tools: {{profile: minimal, also_allow: ['mcp__x__*']}}, secrets: [KEY], env: {{OTHER: plain}}, mcp_servers: {{x: {{{PROGRAM}, env: {{TOKEN: '${{secret:KEY}}'}}}}}}}}"
    );
    let home = home_with(&format!("agents:\n  a: {agent}\n  b: {agent}\n"), &["a", "b"]);
    set_secret(&home, "a", "token-of-a-4a8a08f09d37b73795649038");
    set_secret(&home, "b", "token-of-b-1111111111222222222233333");
    home.write("agents/b/workspace/secret", "canary-b").unwrap();
    let daemon = start_still(&home);
    let (one, other) = (x(&home, "a", "who", ""), x(&home, "b", "who", ""));
    // Between the marks, whose ids differ anyway.
    let inside = |said: &str| {
        let own = |line: &&str| !line.contains("untrusted") && !line.trim().is_empty();
        said.lines().rfind(own).map(str::to_owned)
    };
    assert_ne!(inside(&one), inside(&other));
    assert!(one.contains("source=\"the MCP server x\""), "{one}");
    for _ in 0..20 {
        x(&home, "a", "who", "");
    }
    assert_eq!(home.read("agents/a/workspace/starts").unwrap(), "x", "started once");
    let said = servers(&home, "a");
    assert_eq!((&said[0]["starts"], &said[0]["connected"]), (&value!(1), &value!(true)), "{said}");
    // Declared ones, and what the shell and the interpreter make themselves.
    let environ = x(&home, "a", "environ", "");
    assert!(environ.contains("HOME") && environ.contains("TOKEN"), "{environ}");
    for absent in ["OTHER", "INSULA", "KEY", "SSH"] {
        let is_there = environ.split_whitespace().any(|name| name.starts_with(absent));
        assert!(!is_there, "{absent} in {environ}");
    }
    let theirs = home.path().canonicalize().unwrap().join("agents/b/workspace/secret");
    let said = x(&home, "a", "read", theirs.to_str().unwrap());
    assert!(said.contains("error") && !said.contains("canary-b"), "{said}");
    for path in ["/proc/1/environ", "../agent.db", "../../../run/admin.token", "/etc/shadow"] {
        let said = x(&home, "a", "read", path);
        assert!(said.contains("error") || path.starts_with("/proc"), "{path}: {said}");
        assert!(!said.contains("token-of-b"), "{path}: {said}");
    }
    // A secret that is replaced reaches the server, which begins anew.
    set_secret(&home, "a", "another-token-of-a-999999999999999999");
    assert_ne!(x(&home, "a", "who", "").lines().last(), one.lines().last());
    assert_eq!(home.read("agents/a/workspace/starts").unwrap(), "xx");
    assert_eq!(home.read("agents/b/workspace/starts").unwrap(), "x");
    // After a restart the tools are known without starting anything.
    daemon.terminate().unwrap();
    let daemon = start_still(&home);
    let tools = json(&home, &["tools", "a"]);
    let known = tools.as_array().unwrap().iter().any(|tool| tool["name"] == "mcp__x__who");
    assert!(known && home.read("agents/a/workspace/starts").unwrap() == "xx", "{tools}");
    drop(daemon);
    assert_chains_hold(&home);
}

#[test]
fn a_server_that_hangs_dies_floods_or_talks_nonsense_hurts_nobody_else() {
    let agent = |more: &str| {
        format!("{{mcp_servers: {{x: {{{PROGRAM}, timeout: 2s, connect_timeout: 20s{more}}}}}}}")
    };
    let config = format!("agents:\n  bad: {}\n  good: {}\n", agent(""), agent(""));
    let home = home_with(&config, &["bad", "good"]);
    let _daemon = start_still(&home);
    assert!(works(&x(&home, "good", "who", "")));
    // Progress keeps a call alive beyond its time-out.
    assert!(x(&home, "good", "slow", "").contains("slow and done"));
    let said = x(&home, "bad", "hang", "");
    assert!(said.contains("did not answer within 2 s"), "{said}");
    eventually("the server hears that nobody waits", || {
        home.has("agents/bad/workspace/cancelled").then_some(())
    });
    for (tool, why) in [
        ("die", "closed its output"),
        ("garbage", "is not MCP"),
        ("huge", "a line of more than"),
        ("flood", "more messages than anybody could want"),
    ] {
        // It is left alone for a moment after each failure; then it is started anew.
        eventually("it serves again", || works(&x(&home, "bad", "who", "")).then_some(()));
        let said = x(&home, "bad", tool, "");
        assert!(said.contains(why), "{tool}: {said}");
        assert!(works(&x(&home, "good", "who", "")), "{tool}");
    }
    assert_eq!(home.read("agents/good/workspace/starts").unwrap(), "x");
    assert!(x(&home, "good", "nothing", "").contains("(nothing)"));
    assert!(x(&home, "good", "image", "").contains("[image, image/png, about 3 bytes: not shown]"));
    assert!(x(&home, "good", "ask", "").contains("refused refused refused"));
}

#[test]
fn a_server_that_never_comes_up_is_left_alone_and_its_agent_talks_on() {
    let server = |kind: &str| {
        format!(
            "{{mcp_servers: {{x: {{command: python3, args: [server.py, {kind}], connect_timeout: 2s}}}}}}"
        )
    };
    let config = format!(
        "agents:\n  silent: {}\n  broken: {}\n  absent: {{mcp_servers: {{x: {{command: no-such-program-at-all}}}}}}\n",
        server("silent"),
        server("broken")
    );
    let home = home_with(&config, &["silent", "broken", "absent"]);
    let _daemon = start_still(&home);
    for agent in ["silent", "broken", "absent"] {
        let said = insula(&home, &["chat", "--agent", agent, "-m", "hello"]).ok().stdout;
        assert!(!said.is_empty(), "{agent}");
    }
    let failed = insula(&home, &["mcp", "test", "broken"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("no such database"), "{}", failed.stdout);
    let absent = insula(&home, &["mcp", "test", "absent", "x", "--json"]).json();
    assert!(absent[0]["server"]["trouble"].as_str().unwrap().contains("not found"), "{absent}");
    // It was tried, which the count of starts must not deny.
    assert_ne!(absent[0]["server"]["starts"], value!(0), "{absent}");
    let silent = insula(&home, &["mcp", "test", "silent"]);
    assert!(silent.stdout.contains("did not answer within 2 s"), "{}", silent.stdout);
    let doctor = insula(&home, &["doctor"]).stdout;
    assert!(doctor.contains("MCP servers") && doctor.contains("broken/x"), "{doctor}");
}

#[test]
fn a_server_that_fills_the_disk_or_hogs_memory_is_ended_and_its_agent_goes_on() {
    let config = format!(
        "defaults: {{integrity: off}}\nagents:\n  bad: {{sandbox: {{growth: 20MB, memory: 400MB}}, mcp_servers: {{x: {{{PROGRAM}}}}}}}\n  good: {{mcp_servers: {{x: {{{PROGRAM}}}}}}}\n"
    );
    let home = Home::on_own_disk(1200, &config).unwrap();
    for agent in ["bad", "good"] {
        home.write(&format!("agents/{agent}/workspace/server.py"), SERVER).unwrap();
    }
    let _daemon = start_still(&home);
    let works = |agent: &str| works(&x(&home, agent, "who", ""));
    assert!(works("bad") && works("good"));
    let said = x(&home, "bad", "fill", "60");
    assert!(said.contains("closed its output"), "{said}");
    let records = json(&home, &["audit", "tail", "bad", "-n", "1000"]);
    let records = records.as_array().unwrap();
    let ended = records.iter().find(|it| it["kind"] == "sandbox.disk").unwrap();
    assert_eq!(
        (&ended["actor"], &ended["content"]["limit"]),
        (&value!("mcp:x"), &value!("growth"))
    );
    eventually("it serves again", || works("bad").then_some(()));
    // Half of what it may have, it may have.
    assert!(x(&home, "bad", "hog", "100").contains("had 100 MB"));
    let said = x(&home, "bad", "hog", "2000");
    assert!(!said.contains("had 2000 MB"), "{said}");
    eventually("it serves again", || works("bad").then_some(()));
    assert!(works("good"));
    assert_eq!(home.read("agents/good/workspace/starts").unwrap(), "x");
    assert!(!kinds(&home, "good").contains(&"sandbox.disk".to_owned()));
}

#[test]
fn an_answer_that_was_cut_says_so_to_the_model_and_in_its_file() {
    let home = home_with(
        &format!(
            "agents:\n  a: {{tools: {{profile: coding, also_allow: ['mcp__x__*']}}, mcp_servers: {{x: {{{PROGRAM}}}}}}}\n"
        ),
        &["a"],
    );
    let _daemon = start_still(&home);
    x(&home, "a", "much", "3000000");
    let shown = json(&home, &["sessions", "show", "a", "1"]);
    let messages = shown["messages"].as_array().unwrap();
    let said = messages.iter().find(|it| it["role"] == "tool").unwrap()["text"].as_str().unwrap();
    assert!(said.contains("[3000000 bytes in all; what was kept is in "), "{said}");
    assert!(said.contains("bytes at the end were not taken; ask for less]"), "{said}");
    assert!(!said.contains("the whole is"), "{said}");
    // Under a name that tells nothing of other sessions.
    let folders: Vec<_> = std::fs::read_dir(home.path().join("agents/a/output")).unwrap().collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    let folder = folders.into_iter().next().unwrap().unwrap();
    assert_eq!(folder.file_name().len(), 16, "{folder:?}");
    let kept = std::fs::read_to_string(folder.path().join("1.untrusted.txt")).unwrap();
    assert!(kept.trim_end().ends_with("bytes were not kept …]"));
}

#[test]
fn a_test_names_the_grant_that_is_missing_and_says_why_once() {
    let tools = Home::with([("server.py", "print('never seen')\n")]).unwrap();
    let path = tools.path().join("server.py").display().to_string();
    let config = format!(
        "agents:\n  a: {{mcp_servers: {{script: {{command: python3, args: ['{path}']}}, program: {{command: '{path}'}}, quiet: {{command: 'true'}}}}}}\n"
    );
    let home = configured(&config);
    for server in ["script", "program"] {
        let failed = insula(&home, &["mcp", "test", "a", server]);
        assert_eq!(failed.code, Some(1), "{failed:?}");
        let told = &failed.stdout;
        assert!(told.contains(&format!("not granted: `{path}`")), "{told}");
        assert!(told.contains("`files.shared`"), "{told}");
        assert_eq!(told.matches("it can't be reached").count(), 1, "{told}");
        assert_eq!(told.matches("it said").count(), 1, "{told}");
    }
    let quiet = insula(&home, &["mcp", "test", "a", "quiet"]).stdout;
    assert_eq!(quiet.matches("it can't be reached").count(), 1, "{quiet}");
    assert!(!quiet.contains("it said"), "{quiet}");
}

#[test]
fn what_a_server_adds_or_says_anew_waits_for_an_operator() {
    let config = format!(
        "agents:\n  a: {{integrity: off, mcp_servers: {{x: {{{PROGRAM}}}}}}}\n  b: {{integrity: off, mcp_servers: {{x: {{{PROGRAM}, on_change: report}}}}}}\n"
    );
    let home = home_with(&config, &["a", "b"]);
    let _daemon = start_still(&home);
    for agent in ["a", "b"] {
        assert!(x(&home, agent, "shifty", "").contains("shifted"));
    }
    let before = generations(&home);
    // The next turn begins with what the server says by then.
    assert!(works(&x(&home, "a", "who", "")));
    assert!(x(&home, "b", "late", "").contains("late says"));
    let after = generations(&home);
    assert!(after["a"] > before["a"] && after["b"] > before["b"], "{before:?} {after:?}");
    for tool in ["shifty", "late"] {
        let said = listed(&home, "a", tool);
        assert_eq!(said["shown"], false, "{said}");
        assert!(said["why"].as_str().unwrap().starts_with("waits for approval"), "{said}");
        // Who is to approve it sees what it claims.
        assert_eq!(said["reads"], tool == "shifty", "{said}");
        let refused = x(&home, "a", tool, "");
        assert!(refused.contains("does not offer me"), "{refused}");
    }
    assert_eq!(listed(&home, "a", "who")["reads"], true);
    let shown = insula(&home, &["mcp", "list", "a"]).ok().stdout;
    let row = |tool: &str| shown.lines().find(|line| line.contains(tool)).unwrap().to_owned();
    assert!(row("mcp__x__who").contains(" reads "), "{shown}");
    assert!(row("mcp__x__shifty").contains(" says it reads; not taken "), "{shown}");
    assert!(!row("mcp__x__write").contains(" reads "), "{shown}");
    assert!(kinds(&home, "a").contains(&"mcp.changed".to_owned()));
    let said = insula(&home, &["mcp", "approve", "a", "x"]).ok().stdout;
    assert!(said.contains("late") && said.contains("shifty"), "{said}");
    assert!(x(&home, "a", "late", "").contains("late says"));
    assert_eq!(listed(&home, "a", "shifty")["shown"], true);
    assert!(kinds(&home, "a").contains(&"mcp.approved".to_owned()));
    assert_eq!(home.read("agents/a/workspace/starts").unwrap(), "x", "no restart for a new list");
    assert_chains_hold(&home);
}

#[test]
fn orders_in_a_description_hide_the_tool_and_those_in_a_result_are_marked() {
    let config = format!(
        "agents:\n  a: {{mcp_servers: {{x: {{command: python3, args: [server.py, poison]}}}}}}\n  b: {{mcp_servers: {{x: {{{PROGRAM}, tools: {{include: ['w*', inject, read], exclude: [write]}}}}}}, tools: {{deny: [mcp__x__read]}}}}\n"
    );
    let home = home_with(&config, &["a", "b"]);
    let _daemon = start_still(&home);
    assert!(x(&home, "a", "add", "").contains("does not offer me"));
    let said = listed(&home, "a", "add");
    assert!(said["why"].as_str().unwrap().contains("instruction override"), "{said}");
    assert_eq!(listed(&home, "a", "fine")["shown"], true);
    for tool in ["read.file", "read_file"] {
        let said = listed(&home, "a", tool);
        assert!(said["why"].as_str().unwrap().contains("same name"), "{said}");
    }
    // Somebody looked at that very tool.
    insula(&home, &["mcp", "approve", "a", "x", "add"]).ok();
    assert_eq!(listed(&home, "a", "add")["shown"], true);
    let said = x(&home, "b", "inject", "");
    let (mark, words) = (said.find("<untrusted id="), said.find("It rains"));
    assert!(mark.is_some() && mark < words, "{said}");
    for (tool, why) in
        [("write", "left out by `tools`"), ("read", "denied by"), ("die", "left out by `tools`")]
    {
        let listed = listed(&home, "b", tool);
        assert!(listed["why"].as_str().unwrap().contains(why), "{listed}");
        assert!(x(&home, "b", tool, "").contains("does not offer me"), "{tool}");
    }
    assert!(!home.has("agents/b/workspace/written"));
}

#[test]
fn many_tools_are_searched_for_and_can_then_be_called() {
    let config = "agents:\n  a: {mcp_servers: {x: {command: python3, args: [server.py, many]}}}\n";
    let home = home_with(config, &["a"]);
    let _daemon = start_still(&home);
    let found = call(&home, "a", "tool_search", &value!({ "query": "number 77" }));
    assert!(found.contains("mcp__x__tool077") && found.contains("from now on"), "{found}");
    let said = x(&home, "a", "tool077", "hi");
    assert!(said.contains("tool077 says hi"), "{said}");
}

/// A server over HTTP, as far as these tests need one.
fn over_http(seen: &Seen, _: usize) -> Vec<Step> {
    let json = [("content-type", "application/json"), ("mcp-session-id", "s1")];
    if seen.line.contains("/away") {
        return vec![answer(307, &[("location", "http://127.0.0.1:9/else")], "")];
    }
    if seen.header("x-key") != Some("key-0123456789abcdef0123456789") {
        return vec![answer(401, &[("content-type", "text/plain")], "who are you")];
    }
    if !seen.line.starts_with("POST") {
        return vec![answer(405, &[], "")];
    }
    let asked = seen.json();
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => value!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "2"},
        }),
        "tools/list" => value!({"tools": [
            {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}},
        ]}),
        "tools/call" => value!({"content": [{"type": "text", "text": "heard over http"}]}),
        _ => return vec![answer(202, &[], "")],
    };
    let body = value!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
    vec![answer(200, &json, &body)]
}

#[test]
fn a_server_over_http_is_asked_with_its_own_key_and_within_the_agents_network() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let world = World::real().unwrap();
    let upstream = runtime.block_on(Upstream::start(&world, over_http)).unwrap();
    let (url, away) = (upstream.url("/mcp"), upstream.url("/away"));
    let place = upstream.address();
    let config = format!(
        "defaults: {{integrity: off}}\nagents:\n  a: {{secrets: [KEY], network: ['{place}'], mcp_servers: {{x: {{url: '{url}', headers: {{X-Key: '${{secret:KEY}}'}}}}}}}}\n  b: {{network: ['{place}'], mcp_servers: {{x: {{url: '{url}'}}}}}}\n  c: {{mcp_servers: {{x: {{url: '{url}'}}}}}}\n  d: {{network: ['{place}', '127.0.0.1:9'], mcp_servers: {{x: {{url: '{away}', headers: {{X-Key: plain}}}}}}}}\n"
    );
    let home = configured(&config);
    set_secret(&home, "a", "key-0123456789abcdef0123456789");
    let checked = insula(&home, &["check"]);
    let warned = format!("{}{}", checked.stdout, checked.stderr);
    assert!(warned.contains("which agent `c` may not reach"), "{warned}");
    let _daemon = start_still(&home);
    let said = x(&home, "a", "echo", "hi");
    assert!(said.contains("heard over http"), "{said}");
    for (agent, why) in [("b", "401"), ("c", "network.allow"), ("d", "which is not followed")] {
        let tested = insula(&home, &["mcp", "test", agent, "--json"]);
        assert_eq!(tested.code, Some(1), "{agent}: {tested:?}");
        let error = tested.json()[0]["error"].as_str().unwrap().to_owned();
        assert!(error.contains(why), "{agent}: {error}");
    }
    let kept = upstream.seen().iter().filter(|seen| seen.line.contains("/else")).count();
    assert_eq!(kept, 0);
    assert!(kinds(&home, "a").contains(&"egress".to_owned()));
}
