//! Talking to agents: in the terminal and by the OpenAI-compatible API, with the built-in
//! practice model and with a provider on loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::Receiver;

const TWO: &str = "agents:\n  a: {default: true, tools: minimal}\n  b: {tools: [todo]}\n";

fn served() -> (Home, Daemon) {
    let home = configured(TWO);
    let daemon = start_still(&home);
    (home, daemon)
}

fn say(home: &Home, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["chat"].into_iter().chain(arguments.iter().copied()).collect();
    insula(home, &all).ok().stdout
}

fn token_for(home: &Home, agent: &str) -> (String, String) {
    let made = json(home, &["token", "create", "--agent", agent]);
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

fn complete(daemon: &Daemon, token: &str, headers: &[&str], body: &Value) -> Answer {
    let bearer = format!("Authorization: Bearer {token}");
    let mut all = vec![bearer.as_str(), "Content-Type: application/json"];
    all.extend(headers);
    send(daemon.listen(), "POST", "/v1/chat/completions", &all, &body.to_string())
}

fn ask(agent: &str, text: &str) -> Value {
    json!({ "model": agent, "messages": [{ "role": "user", "content": text }] })
}

#[test]
fn an_agent_answers_in_the_terminal() {
    let (home, _daemon) = served();
    assert!(say(&home, &["-m", "hello"]).contains("rehearsal"), "the default agent");
    assert_eq!(say(&home, &["--agent", "b", "-m", "say only this"]), "only this\n");
    let nobody = insula(&home, &["chat", "--agent", "nobody", "-m", "hello"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
}

#[test]
fn a_conversation_is_continued_and_kept_apart_from_others() {
    let (home, daemon) = served();
    say(&home, &["-m", "todo water the plants"]);
    assert!(say(&home, &["-m", "call todo {}"]).contains("water the plants"));
    assert!(!say(&home, &["--session", "other", "-m", "call todo {}"]).contains("plants"));
    assert!(!say(&home, &["--agent", "b", "-m", "call todo {}"]).contains("plants"));
    daemon.kill9().unwrap();
    let _daemon = start_still(&home);
    assert!(say(&home, &["-m", "call todo {}"]).contains("water the plants"), "after a kill");
}

#[test]
fn without_a_daemon_chat_says_how_to_start_one() {
    let home = configured(TWO);
    let refused = insula(&home, &["chat", "-m", "hello"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("insula up"), "{refused:?}");
}

#[test]
fn a_token_reaches_its_agents_and_no_others_exist() {
    let (home, daemon) = served();
    let (id, token) = token_for(&home, "a");
    let models = send(
        daemon.listen(),
        "GET",
        "/v1/models",
        &[&format!("Authorization: Bearer {token}")],
        "",
    );
    let ids: Vec<Value> =
        models.json()["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, ["a"]);
    let answer = complete(&daemon, &token, &[], &ask("a", "say hi"));
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "hi", "{answer:?}");
    // Somebody else's agent answers exactly as one that does not exist.
    let other = complete(&daemon, &token, &[], &ask("b", "hi"));
    let none = complete(&daemon, &token, &[], &ask("x", "hi"));
    assert_eq!(other.status, 404);
    assert_eq!(other.body.replace("`b`", "`x`"), none.body);
    // Nor does a token of the API open the management API.
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(send(daemon.listen(), "GET", "/api/agents", &[&bearer], "").status, 403);
    insula(&home, &["token", "revoke", &id]).ok();
    assert_eq!(complete(&daemon, &token, &[], &ask("a", "hi")).status, 401);
    assert_eq!(json(&home, &["token", "list"]), json!([]));
}

#[test]
fn tokens_are_kept_as_hashes_and_go_with_their_agent() {
    let (home, daemon) = served();
    let (_, token) = token_for(&home, "b");
    let secret = token.rsplit('_').next().unwrap().to_owned();
    let files = std::process::Command::new("grep")
        .args(["-rl", &secret])
        .arg(home.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&files.stdout), "", "nowhere in the home");
    insula(&home, &["agents", "delete", "b", "--yes"]).ok();
    assert_eq!(json(&home, &["token", "list"]), json!([]));
    assert_eq!(complete(&daemon, &token, &[], &ask("b", "hi")).status, 401);
}

#[test]
fn a_request_without_a_session_carries_its_own_history() {
    let (home, daemon) = served();
    let (_, token) = token_for(&home, "a");
    complete(&daemon, &token, &[], &ask("a", "todo feed the cat"));
    let alone = complete(&daemon, &token, &[], &ask("a", "call todo {}"));
    assert!(!alone.body.contains("feed the cat"), "{alone:?}");
    let session = "X-Insula-Session: kitchen";
    complete(&daemon, &token, &[session], &ask("a", "todo feed the cat"));
    let continued = complete(&daemon, &token, &[session], &ask("a", "call todo {}"));
    assert!(continued.body.contains("feed the cat"), "{continued:?}");
}

#[test]
fn the_same_key_is_the_same_turn() {
    let (home, daemon) = served();
    let (_, token) = token_for(&home, "a");
    let headers = ["X-Insula-Session: s", "Idempotency-Key: once"];
    let first = complete(&daemon, &token, &headers, &ask("a", "say one"));
    assert_eq!(first.status, 200, "{first:?}");
    let again = complete(&daemon, &token, &headers, &ask("a", "say one"));
    let told = |answer: &Answer| (answer.json()["id"].clone(), answer.json()["choices"].clone());
    assert_eq!(told(&again), told(&first));
    // Two callers may choose the same key.
    let (_, other) = token_for(&home, "a");
    let theirs = complete(&daemon, &other, &headers, &ask("a", "say two"));
    assert_eq!(theirs.json()["choices"][0]["message"]["content"], "two", "{theirs:?}");
}

#[test]
fn a_reply_can_be_streamed() {
    let (home, daemon) = served();
    let (_, token) = token_for(&home, "a");
    let mut body = ask("a", "say a few words");
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    let answer = complete(&daemon, &token, &[], &body);
    let chunks: Vec<&str> =
        answer.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(chunks.last(), Some(&"[DONE]"), "{answer:?}");
    let parsed: Vec<Value> = chunks[..chunks.len() - 1]
        .iter()
        .map(|chunk| serde_json::from_str(chunk).unwrap())
        .collect();
    let text: String = parsed
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "a few words");
    assert!(parsed.last().unwrap()["usage"]["prompt_tokens"].is_number());
}

#[test]
fn what_an_agent_can_not_be_asked_is_refused_and_the_next_turn_is_clean() {
    let (home, daemon) = served();
    let (_, token) = token_for(&home, "a");
    let with = |key: &str, value: Value| {
        let mut body = ask("a", "hi");
        body[key] = value;
        body
    };
    for body in [
        json!({ "model": "a", "messages": [] }),
        json!({ "model": "a", "messages": [{ "role": "assistant", "content": "" }] }),
        json!({ "model": "a", "messages": [{ "role": "wizard", "content": "x" }] }),
        json!({ "model": "a" }),
        json!([]),
        with("n", json!(2)),
        with("tools", json!([{ "type": "function" }])),
    ] {
        let answer = complete(&daemon, &token, &[], &body);
        assert_eq!(
            (answer.status, &answer.json()["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{body}"
        );
    }
    assert_eq!(complete(&daemon, &token, &[], &ask("a", "say still here")).status, 200);
    assert_eq!(complete(&daemon, "insula_0_0", &[], &ask("a", "hi")).status, 401);
}

/// A provider on loopback that answers every request with the same text.
fn provider(answers: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let (url, serving, _) = provider_that_hangs(0, answers);
    (url, serving)
}

/// The same, silent for its first few requests; also tells when each request came.
fn provider_that_hangs(
    silent: usize,
    answers: usize,
) -> (String, std::thread::JoinHandle<Vec<String>>, Receiver<()>) {
    let (tell, came) = std::sync::mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut held = Vec::new();
        for number in 0..silent + answers {
            let (mut reader, head) = loop {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    reader.read_line(&mut head).unwrap();
                }
                // What models it has is not what it is here for.
                if !head.starts_with("GET ") {
                    break (reader, head);
                }
            };
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            seen.push(head + &String::from_utf8(body).unwrap());
            let _ = tell.send(());
            if number < silent {
                held.push(reader);
                continue;
            }
            let text = json!({
                "choices": [{ "message": { "role": "assistant", "content": "from afar" }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
            })
            .to_string();
            write!(
                reader.get_mut(),
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            )
            .unwrap();
        }
        seen
    });
    (url, serving, came)
}

#[test]
fn a_provider_of_the_configuration_answers_and_sees_only_its_agent() {
    let (url, serving) = provider(1);
    let config = format!(
        "providers:\n  far: {{kind: openai, base_url: \"{url}\", api_key: local}}\nagents:\n  a: {{model: far/one, personality: I am the first.}}\n  b: {{personality: I am the second.}}\n"
    );
    let home = configured(&config);
    let _daemon = start_still(&home);
    say(&home, &["--agent", "b", "-m", "say the second's words"]);
    assert_eq!(say(&home, &["--agent", "a", "-m", "hello"]), "from afar\n");
    let seen = serving.join().unwrap();
    assert!(seen[0].contains("I am the first.") && seen[0].contains(r#""model":"one""#));
    assert!(!seen[0].contains("the second"), "{}", seen[0]);
}

#[test]
fn a_provider_without_a_key_fails_the_turn_with_the_remedy() {
    let home = configured("agents: {a: {model: anthropic/claude-sonnet-4-5}}\n");
    let _daemon = start_still(&home);
    let failed = insula(&home, &["chat", "-m", "hello"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("insula secret set --daemon ANTHROPIC_API_KEY"), "{failed:?}");
    // A key that is added while it runs counts from the next turn on.
    let (url, serving) = provider(1);
    home.write(
        "config.yaml",
        format!("providers: {{anthropic: {{kind: openai, base_url: \"{url}\"}}}}\nagents: {{a: {{model: anthropic/x}}}}\n"),
    )
    .unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(say(&home, &["-m", "hello"]), "from afar\n");
    serving.join().unwrap();
}

#[test]
fn rule_11_accepted_means_durable() {
    let (url, serving, came) = provider_that_hangs(1, 2);
    let config = format!(
        "providers: {{far: {{kind: openai, base_url: \"{url}\"}}}}\nagents: {{a: {{model: far/one}}}}\n"
    );
    let home = configured(&config);
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    // A turn that waits for its model when the daemon is killed.
    let bearer = format!("Authorization: Bearer {token}");
    let body = ask("a", "what became of me?").to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\n{bearer}\r\nX-Insula-Session: s\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        daemon.listen(),
        body.len()
    );
    let mut asking = std::net::TcpStream::connect(daemon.listen()).unwrap();
    asking.write_all(request.as_bytes()).unwrap();
    came.recv().unwrap();
    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    // It goes on by itself, and the next message of the conversation follows its reply.
    let next = complete(&daemon, &token, &["X-Insula-Session: s"], &ask("a", "and then?"));
    assert_eq!(next.status, 200, "{next:?}");
    let seen = serving.join().unwrap();
    assert_eq!(seen.len(), 3);
    assert!(seen[1].contains("what became of me?") && !seen[1].contains("and then?"));
    let order = ["what became of me?", "from afar", "and then?"].map(|text| seen[2].find(text));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{}", seen[2]);
}

#[test]
fn what_can_be_typed_in_every_chat_can_be_typed_at_a_terminal() {
    let home = configured(&format!("{TWO}boards: {{work: {{agents: {{a: work}}}}}}\n"));
    let _daemon = start_still(&home);
    assert_eq!(say(&home, &["-m", "/cron"]).trim(), "there are no jobs");
    let added = say(&home, &["-m", "/cron add every 2h | Look around"]);
    assert!(added.contains("is added; it runs"), "{added}");
    let jobs = json(&home, &["cron", "list", "a"]);
    let name = jobs[0]["name"].as_str().unwrap().to_owned();
    assert_eq!(jobs[0]["prompt"], "Look around");
    assert!(say(&home, &["-m", "/cron"]).starts_with(&name));
    assert!(say(&home, &["--agent", "b", "-m", "/cron"]).contains("there are no jobs"));
    let removed = say(&home, &["-m", &format!("/cron remove {name}")]);
    assert_eq!(removed.trim(), format!("job {name} is removed"));
    assert!(say(&home, &["-m", "/cron dance"]).contains("/cron add WHEN | WHAT"));
    // A board is there for whoever may see it, by an agent that may.
    assert_eq!(say(&home, &["-m", "/board"]).trim(), "work: nothing open");
    let added = say(&home, &["-m", "/board add Mend the gate | It squeaks"]);
    assert!(added.contains("card 1 is added to board work"), "{added}");
    assert!(say(&home, &["-m", "/board show 1"]).contains("Mend the gate"));
    assert_eq!(say(&home, &["--agent", "b", "-m", "/board"]).trim(), "there are no boards");
    let told = say(&home, &["-m", "/back"]);
    assert!(told.contains("nobody handed this conversation over"), "{told}");
    let json = insula(&home, &["chat", "--json", "-m", "/cron"]).json();
    assert_eq!(json["told"], "there are no jobs");
    let help = say(&home, &["-m", "/help"]);
    for command in ["/cron [WHAT]", "/board [WHAT]", "/back"] {
        assert!(help.contains(command), "{help}");
    }
}

#[test]
fn a_token_types_what_its_bearer_may_and_no_more() {
    let home = configured(&format!("{TWO}boards: {{work: {{agents: {{a: work}}}}}}\n"));
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let bearer = format!("Authorization: Bearer {token}");
    let typed = |agent: &str, action: &str, words: &str| {
        let body = json!({ "session": "s", "action": action, "words": words }).to_string();
        let headers = [bearer.as_str(), "Content-Type: application/json"];
        let path = format!("/api/agents/{agent}/conversation");
        send(daemon.listen(), "POST", &path, &headers, &body)
    };
    let told = |answer: Answer| answer.json()["told"].as_str().unwrap().to_owned();
    say(&home, &["-m", "/cron add every 2h | Look around"]);
    assert!(told(typed("a", "cron", "add every 3h | Mine")).contains("only an admin"));
    assert_eq!(told(typed("a", "cron", "")), "there are no jobs");
    assert_eq!(told(typed("a", "board", "")), "there are no boards");
    assert_eq!(typed("b", "cron", "").status, 404);
}
