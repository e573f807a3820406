//! An agent as an MCP server: over HTTP and over standard streams, in both generations of the
//! protocol, with credentials of every kind.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch processes and sockets and fail by panicking"
)]

use crate::provider::{Provider, Step};
use crate::support::*;
use insula_testkit::{Daemon, Home, run_with_input};
use serde_json::{Value, json as value};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::channel;

const CONFIG: &str =
    "agents:\n  a: {default: true, tools: minimal}\n  b: {tools: minimal, name: Annabel}\n";

fn served() -> (Home, Daemon) {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    (home, daemon)
}

/// A token for agents with verbs: its id and its text.
fn token_for(home: &Home, agents: &[&str], verbs: &[&str]) -> (String, String) {
    let mut args = vec!["token", "create"];
    agents.iter().for_each(|agent| args.extend(["--agent", agent]));
    verbs.iter().for_each(|verb| args.extend(["--verb", verb]));
    let made = json(home, &args);
    let field = |name: &str| made[name].as_str().unwrap().to_owned();
    (field("id"), field("token"))
}

fn request(id: u32, method: &str, params: Value) -> Value {
    value!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A request that stands for itself.
fn single(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = value!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = value!({});
    request(id, method, params)
}

struct Client<'d> {
    daemon: &'d Daemon,
    token: String,
    path: String,
    headers: Vec<String>,
}

impl<'d> Client<'d> {
    fn new(daemon: &'d Daemon, token: &str) -> Self {
        Self { daemon, token: token.to_owned(), path: "/mcp".to_owned(), headers: vec![] }
    }

    fn lines(&self, message: &Value) -> Vec<String> {
        let mut lines = vec![
            format!("Authorization: Bearer {}", self.token),
            "Content-Type: application/json".to_owned(),
        ];
        if message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion").is_some() {
            lines.push("MCP-Protocol-Version: 2026-07-28".to_owned());
            lines.push(format!("Mcp-Method: {}", message["method"].as_str().unwrap()));
            if let Some(name) = message["params"]["name"].as_str() {
                lines.push(format!("Mcp-Name: {name}"));
            }
        }
        lines.extend(self.headers.clone());
        lines
    }

    fn post(&self, message: &Value) -> Answer {
        let lines = self.lines(message);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        send(self.daemon.listen(), "POST", &self.path, &lines, &message.to_string())
    }

    /// Begins a session, which later requests belong to.
    fn initialize(&mut self, version: &str) -> Value {
        let answer = self.post(&request(0, "initialize", value!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"} })));
        let session =
            answer.head.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
        self.headers.push(session.unwrap_or_else(|| panic!("{answer:?}")).to_owned());
        answer.json()["result"].clone()
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = value!({ "name": tool, "arguments": arguments });
        self.post(&request(1, "tools/call", params)).json()
    }

    fn text(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    fn tools(&self) -> Vec<String> {
        let list = self.post(&request(1, "tools/list", value!({}))).json();
        let list = list["result"]["tools"].as_array().unwrap().clone();
        list.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Opens a stream of events.
    fn stream(&self, message: &Value) -> TcpStream {
        let body = message.to_string();
        let mut text = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.path,
            self.daemon.listen(),
            body.len()
        );
        self.lines(message).iter().for_each(|line| text += &format!("{line}\r\n"));
        let mut stream = TcpStream::connect(self.daemon.listen()).unwrap();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        stream
    }
}

/// The messages of an event stream, read to its end.
fn events(mut stream: TcpStream) -> Vec<Value> {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect()
}

#[test]
fn a_client_talks_and_looks_as_far_as_its_token_goes() {
    let (home, daemon) = served();
    let (_, all) = token_for(&home, &["a"], &["chat", "read", "approve"]);
    let mut client = Client::new(&daemon, &all);
    let begun = client.initialize("2025-06-18");
    assert_eq!(
        (&begun["protocolVersion"], &begun["serverInfo"]["name"]),
        (&value!("2025-06-18"), &value!("insula"))
    );
    assert_eq!(begun["capabilities"], value!({ "tools": {} }));
    assert_eq!(
        client.post(&value!({"jsonrpc": "2.0", "method": "notifications/initialized"})).status,
        202
    );
    assert_eq!(client.tools(), ["talk", "sessions", "session", "approvals", "approve"]);
    assert_eq!(client.post(&request(5, "ping", value!({}))).json()["result"], value!({}));
    let said = client.text("talk", value!({ "message": "say hello there", "session": "work" }));
    assert!(said.contains("hello there"), "{said}");
    let sessions: Value = serde_json::from_str(&client.text("sessions", value!({}))).unwrap();
    assert!(sessions[0]["key"].as_str().unwrap().contains("work"), "{sessions}");
    let shown = client.text("session", value!({ "id": sessions[0]["id"] }));
    assert!(shown.contains("hello there"), "{shown}");
    assert!(client.text("session", value!({ "query": "hello" })).contains("hello there"));
    assert_eq!(client.text("approvals", value!({})), "[]");
    assert_eq!(client.call("session", value!({}))["result"]["isError"], true);
    assert_eq!(client.call("talk", value!({ "message": " " }))["result"]["isError"], true);
    assert_eq!(client.call("talk", value!({ "nonsense": 1 }))["result"]["isError"], true);
    assert_eq!(
        client.call("approve", value!({ "id": "x", "decision": "approve" }))["result"]["isError"],
        true
    );
    for (method, code) in
        [("resources/list", -32601), ("prompts/list", -32601), ("nonsense", -32601)]
    {
        assert_eq!(
            client.post(&request(1, method, value!({}))).json()["error"]["code"],
            code,
            "{method}"
        );
    }
    // A credential without a verb does not see its tools, and calls them as ones nobody has.
    let (_, chat) = token_for(&home, &["a"], &["chat"]);
    let (_, read) = token_for(&home, &["a"], &["read"]);
    for (token, tools) in [(&chat, &["talk"][..]), (&read, &["sessions", "session"][..])] {
        let mut client = Client::new(&daemon, token);
        client.initialize("2025-11-25");
        assert_eq!(client.tools(), tools);
        for hidden in ["talk", "sessions", "session", "approvals", "approve"] {
            if !tools.contains(&hidden) {
                let (there, missing) =
                    (client.call(hidden, value!({})), client.call("nobody", value!({})));
                assert_eq!(there.to_string(), missing.to_string().replace("nobody", hidden));
            }
        }
    }
}

#[test]
fn a_credential_is_for_one_agent_at_a_time_and_others_do_not_exist() {
    let (home, daemon) = served();
    let (_, own) = token_for(&home, &["a"], &["chat", "read"]);
    let (_, both) = token_for(&home, &["a", "b"], &["chat"]);
    let ping = request(1, "ping", value!({}));
    let ask = |token: &str, path: &str, header: &str| {
        let mut client = Client::new(&daemon, token);
        client.path = path.to_owned();
        client.headers = (!header.is_empty()).then(|| header.to_owned()).into_iter().collect();
        let answer = client.post(&ping);
        (answer.status, answer.body)
    };
    assert_eq!(ask(&own, "/mcp", "").0, 200);
    assert_eq!(ask(&own, "/mcp?agent=a", "").0, 200);
    let (status, foreign) = ask(&own, "/mcp?agent=b", "");
    let (_, missing) = ask(&own, "/mcp?agent=zz", "");
    assert_eq!((status, foreign.replace("`b`", "`zz`")), (404, missing));
    let (status, body) = ask(&both, "/mcp", "");
    assert!(status == 400 && body.contains("which_agent"), "{body}");
    assert_eq!(ask(&both, "/mcp?agent=b", "").0, 200);
    assert_eq!(ask(&both, "/mcp", "X-Insula-Agent: b").0, 200);
    assert_eq!(ask(&both, "/mcp?agent=a", "X-Insula-Agent: b").0, 400);
    assert_eq!(ask("nonsense", "/mcp", "").0, 401);
    assert_eq!(ask(&own, "/mcp", "Origin: http://evil.example").0, 403);
    assert_eq!(ask(&own, "/mcp", "Origin: https://evil.example").0, 403);
    assert_eq!(ask(&token(&home), "/mcp?agent=b", "").0, 200);
    assert_eq!(ask(&token(&home), "/mcp", "").0, 400);
    // A session is its credential's and its agent's.
    let mut client = Client::new(&daemon, &own);
    client.initialize("2025-06-18");
    let mut thief = Client::new(&daemon, &both);
    thief.headers = client.headers.clone();
    thief.path = "/mcp?agent=a".to_owned();
    let list = request(1, "tools/list", value!({}));
    assert_eq!(thief.post(&list).status, 404);
    assert_eq!(client.post(&list).status, 200);
    let session = client.headers[0].clone();
    let line = format!("Authorization: Bearer {own}");
    assert_eq!(send(daemon.listen(), "DELETE", "/mcp", &[&line, &session], "").status, 204);
    assert_eq!(client.post(&list).status, 404);
    assert_eq!(Client::new(&daemon, &own).post(&list).status, 400);
    assert_eq!(send(daemon.listen(), "GET", "/mcp", &[&line], "").status, 405);
    // What is no message.
    for body in ["[]", "nonsense", "{}", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"] {
        assert_eq!(send(daemon.listen(), "POST", "/mcp", &[&line], body).status, 400, "{body}");
    }
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"{}\"}}",
        "x".repeat(5 << 20)
    );
    assert_eq!(send(daemon.listen(), "POST", "/mcp", &[&line], &long).status, 413);
}

#[test]
fn a_request_that_stands_for_itself_needs_no_session_and_hears_of_progress() {
    let (home, daemon) = served();
    let (_, own) = token_for(&home, &["a"], &["chat"]);
    let client = Client::new(&daemon, &own);
    let found = client.post(&single(1, "server/discover", value!({}))).json();
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["result"]["resultType"], "complete");
    let params = value!({ "name": "talk", "arguments": { "message": "call todo {}" }, "_meta": { "progressToken": "p1" } });
    let heard = events(client.stream(&single(7, "tools/call", params)));
    let (last, before) = heard.split_last().unwrap();
    assert_eq!((&last["id"], &last["result"]["resultType"]), (&value!(7), &value!("complete")));
    let told: Vec<&str> =
        before.iter().map(|it| it["params"]["message"].as_str().unwrap()).collect();
    assert!(told.contains(&"calls todo") && told.contains(&"the message is taken"), "{told:?}");
    let steps: Vec<u64> =
        before.iter().map(|it| it["params"]["progress"].as_u64().unwrap()).collect();
    assert!(steps.is_sorted() && before.iter().all(|it| it["params"]["progressToken"] == "p1"));
    // Headers that say something else than the message are refused.
    let mut liar = Client::new(&daemon, &own);
    liar.headers = vec!["Mcp-Name: approve".to_owned()];
    let answer = liar.post(&single(1, "tools/list", value!({})));
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut message = single(1, "ping", value!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = value!("2025-06-18");
    assert_eq!(liar.post(&message).json()["error"]["code"], -32020);
    assert_eq!(client.post(&single(1, "nonsense", value!({}))).status, 404);
}

/// A daemon whose agent's model waits for ever; told when it is asked.
fn patient() -> (Provider, Home, Daemon, Vec<std::sync::mpsc::Sender<()>>) {
    let (go, wait) = channel();
    let mut wait = Some(wait);
    let provider = Provider::start(move |_| wait.take().map(Step::Wait).into_iter().collect());
    let home = provider.home();
    let daemon = start_still(&home);
    (provider, home, daemon, vec![go])
}

const TALK: &str = "talk";

#[test]
fn cancelling_stops_the_turn() {
    let (provider, home, daemon, _go) = patient();
    let (_, own) = token_for(&home, &["a"], &["chat"]);
    let mut client = Client::new(&daemon, &own);
    client.initialize("2025-06-18");
    let stream = client.stream(&request(
        9,
        "tools/call",
        value!({ "name": TALK, "arguments": { "message": "slow" } }),
    ));
    provider.came.recv().unwrap();
    // Another request of the same id elsewhere is not ours to cancel.
    let mut other = Client::new(&daemon, &own);
    other.initialize("2025-06-18");
    let cancel = value!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    assert_eq!(other.post(&cancel).status, 202);
    assert_eq!(client.post(&value!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "9" } })).status, 202);
    let stopped = |home: &Home| json(home, &["sessions", "show", "a", "1"]);
    assert!(!stopped(&home).to_string().contains("stopped"));
    assert_eq!(client.post(&cancel).status, 202);
    // Nobody waits for an answer any more, and none comes.
    assert_eq!(events(stream), Vec::<Value>::new());
    eventually("the turn is stopped", || {
        let body = value!({ "session": "mcp" }).to_string();
        let headers = [&*format!("Authorization: Bearer {own}"), "Content-Type: application/json"];
        let left = send(daemon.listen(), "POST", "/api/agents/a/stop", &headers, &body);
        (left.json()["stopped"] == 0).then_some(())
    });
}

#[test]
fn on_standard_streams_a_cancelled_request_gets_no_answer() {
    use std::process::{Command, Stdio};
    for session in [true, false] {
        let (provider, home, _daemon, _go) = patient();
        let mut server = Command::new(INSULA)
            .arg("--home")
            .arg(home.path())
            .args(["mcp", "serve", "--agent", "a"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = server.stdin.take().unwrap();
        if session {
            let hello = value!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"} });
            writeln!(input, "{}", request(1, "initialize", hello)).unwrap();
        }
        let ask = |id: u32, method: &str, params: Value| match session {
            true => request(id, method, params),
            false => single(id, method, params),
        };
        let talk = value!({ "name": TALK, "arguments": { "message": "slow" } });
        writeln!(input, "{}", ask(9, "tools/call", talk)).unwrap();
        provider.came.recv().unwrap();
        let cancel = value!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
        writeln!(input, "{cancel}").unwrap();
        writeln!(input, "{}", ask(10, "ping", value!({}))).unwrap();
        // It ends when every request is answered or cancelled.
        drop(input);
        let output = server.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let heard: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        assert!(output.status.success(), "{text}");
        assert!(heard.iter().all(|it| it["id"] != 9), "{text}");
        assert!(heard.iter().any(|it| it["id"] == 10 && it["result"].is_object()), "{text}");
    }
}

#[test]
fn closing_the_answer_stops_a_turn_that_stands_for_itself() {
    let (provider, home, daemon, _go) = patient();
    let (_, own) = token_for(&home, &["a"], &["chat"]);
    let client = Client::new(&daemon, &own);
    let params = value!({ "name": TALK, "arguments": { "message": "slow" } });
    let stream = client.stream(&single(1, "tools/call", params));
    provider.came.recv().unwrap();
    drop(stream);
    // The session takes the next turn at once: the first is over.
    eventually("the turn is stopped", || {
        let stopped = call(&daemon, &home, "GET", "/api/agents/a/audit", "");
        let body = value!({ "session": "mcp" }).to_string();
        let line = format!("Authorization: Bearer {own}");
        let left = send(
            daemon.listen(),
            "POST",
            "/api/agents/a/stop",
            &[&line, "Content-Type: application/json"],
            &body,
        );
        assert_eq!(stopped.status, 200);
        (left.json()["stopped"] == 0).then_some(())
    });
}

#[test]
fn a_revoked_token_cuts_the_stream() {
    let (provider, home, daemon, _go) = patient();
    let (id, own) = token_for(&home, &["a"], &["chat"]);
    let mut client = Client::new(&daemon, &own);
    client.initialize("2025-06-18");
    let stream = client.stream(&request(
        3,
        "tools/call",
        value!({ "name": TALK, "arguments": { "message": "slow" } }),
    ));
    provider.came.recv().unwrap();
    insula(&home, &["token", "revoke", &id]).ok();
    let heard = events(stream);
    assert_eq!(heard.last().unwrap()["error"]["code"], -32001, "{heard:?}");
    assert_eq!(client.post(&request(4, "ping", value!({}))).status, 401);
}

#[test]
fn approvals_are_answered_by_whoever_may() {
    let home =
        configured("agents:\n  a: {default: true, tools: coding, approvals: {timeout: 10m}}\n");
    let daemon = start_still(&home);
    let (_, own) = token_for(&home, &["a"], &["approve"]);
    let mut client = Client::new(&daemon, &own);
    client.initialize("2025-06-18");
    let message = format!("call terminal {}", value!({ "command": "rm -r build" }));
    std::thread::scope(|threads| {
        let asking =
            threads.spawn(|| insula(&home, &["chat", "--agent", "a", "-m", &message]).ok().stdout);
        let waiting = eventually("a call that waits", || {
            let list: Value = serde_json::from_str(&client.text("approvals", value!({}))).unwrap();
            list.get(0).cloned()
        });
        assert_eq!(waiting["what"], "where its programs begin\ncommand:\n| rm -r build");
        let done = client.text(
            "approve",
            value!({ "id": waiting["id"], "decision": "deny", "reason": "not today" }),
        );
        assert!(done.contains("denied"), "{done}");
        assert!(asking.join().unwrap().contains("not today"));
    });
}

/// Runs the server on these lines; what it wrote.
fn stdio(home: &Home, args: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let args: Vec<&str> = ["mcp", "serve"].into_iter().chain(args.iter().copied()).collect();
    let output = run_with_input(INSULA, home.path(), &args, input).ok();
    output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_same_server_speaks_on_standard_streams() {
    let (home, daemon) = served();
    let lines = [
        request(
            1,
            "initialize",
            value!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"} }),
        ),
        value!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        request(2, "tools/list", value!({})),
        request(
            3,
            "tools/call",
            value!({ "name": "talk", "arguments": { "message": "say hello pipes" }, "_meta": { "progressToken": 1 } }),
        ),
    ];
    let heard = stdio(&home, &["--agent", "a"], &lines);
    let of =
        |id: u32| heard.iter().find(|it| it["id"] == id).unwrap_or_else(|| panic!("{heard:?}"));
    assert_eq!(of(1)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(of(2)["result"]["tools"].as_array().unwrap().len(), 5);
    assert!(of(3)["result"]["content"][0]["text"].as_str().unwrap().contains("hello pipes"));
    assert!(heard.iter().any(|it| it["method"] == "notifications/progress"));
    // An agent is found by what it is called, as by every other command.
    let heard = stdio(&home, &["--agent", "annabel"], &[single(1, "tools/list", value!({}))]);
    assert!(heard[0]["result"]["tools"].is_array(), "{heard:?}");
    // With a token it may what the token may; without a session, too.
    let (_, own) = token_for(&home, &["a"], &["read"]);
    let heard = stdio(
        &home,
        &["--agent", "a", "--token", &own],
        &[single(1, "tools/list", value!({})), value!("nonsense")],
    );
    let listed = heard.iter().find(|it| it["id"] == 1).unwrap();
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2, "{heard:?}");
    assert!(heard.iter().any(|it| it["error"]["code"].as_i64().is_some()), "{heard:?}");
    for (args, expected) in [
        (&["--agent", "zz"][..], "zz"),
        (&["--agent", "Annabell"][..], "did you mean `Annabel`?"),
        (&["--agent", "b", "--token", &own][..], "`b`"),
        (&["--agent", "a", "--token", "nonsense"][..], "token"),
    ] {
        let args: Vec<&str> = ["mcp", "serve"].into_iter().chain(args.iter().copied()).collect();
        let output = run_with_input(INSULA, home.path(), &args, String::new());
        assert_eq!(output.code, Some(1));
        assert!(output.stderr.contains(expected), "{output:?}");
    }
    daemon.kill9().unwrap();
    let output =
        run_with_input(INSULA, home.path(), &["mcp", "serve", "--agent", "a"], String::new());
    assert!(output.stderr.contains("insula up"), "{output:?}");
}
