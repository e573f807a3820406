//! Secrets from outside: set, used by a provider, and seen by nobody; damaged vaults; and what
//! can't be asked.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::upstream::{Step, answer, event_stream};
use insula_testkit::{Daemon, Home, Output, Upstream, run_with_input};
use insula_world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const FAR: &str = "sk-far-5d41402abc4b2a76b9719d91";
const OWN: &str = "own-of-a-7d793037a0760186574b";
const OTHER: &str = "other-of-b-e4da3b7fbbce2345d77";
const SECOND: &str = "sk-second-Hq7Zt2Wd9Kx4Rb6Vn8Lm";

/// Sets a secret, its value on standard input with the line end that `echo` gives it.
fn set(home: &Home, words: &[&str], value: &str) -> Output {
    let args: Vec<&str> = ["secret", "set"].into_iter().chain(words.iter().copied()).collect();
    run_with_input(INSULA, home.path(), &args, format!("{value}\n"))
}

/// A provider on loopback, on a runtime of its own.
struct Provider {
    upstream: Upstream,
    _runtime: tokio::runtime::Runtime,
}

impl Provider {
    /// Answers every request with what `script` makes of its number.
    fn start(script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let world = World::real().unwrap();
        let upstream =
            runtime.block_on(Upstream::start(&world, move |_, number| script(number))).unwrap();
        Self { upstream, _runtime: runtime }
    }

    fn config(&self) -> String {
        format!(
            "providers: {{far: {{kind: openai, base_url: \"{}\", api_key: \"${{secret:FAR_KEY}}\", headers: {{X-Title: a house, X-Far: \"Token ${{secret:FAR_KEY}}\"}}}}}}\nagents:\n  a: {{default: true, model: far/one, secrets: [OWN]}}\n  b: {{model: far/one}}\n  calm: {{model: rehearsal/any}}\n",
            self.upstream.url("/v1")
        )
    }

    /// The body of the newest request.
    fn last(&self) -> String {
        String::from_utf8(self.upstream.seen().last().unwrap().body.clone()).unwrap()
    }
}

/// A reply in these pieces.
fn says(pieces: &[&str]) -> Vec<Step> {
    let mut events: Vec<String> = pieces
        .iter()
        .map(|piece| json!({ "choices": [{ "delta": { "content": piece } }] }).to_string())
        .collect();
    events.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }).to_string());
    events.push("[DONE]".to_owned());
    event_stream(events.iter().map(String::as_str))
}

fn chat(home: &Home, agent: &str, text: &str) -> Output {
    insula(home, &["chat", "--agent", agent, "-m", text])
}

fn streamed(daemon: &Daemon, home: &Home, agent: &str) -> String {
    let body = json!({ "model": agent, "stream": true, "messages": [{ "role": "user", "content": "go" }] });
    let answer = call(daemon, home, "POST", "/v1/chat/completions", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// The text of an event stream.
fn text_of(stream: &str) -> String {
    let chunks = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let parsed = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    parsed
        .filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()))
        .collect()
}

fn assert_without_secrets(what: &str, text: &str) {
    assert_without(what, text, &[FAR, OWN, OTHER]);
}

fn assert_without(what: &str, text: &str, values: &[&str]) {
    for value in values {
        assert!(!text.contains(value) && !text.contains(&value[..16]), "{what}: {text}");
    }
}

/// The whole life of three secrets: of an agent, of another, and of the daemon.
#[test]
fn rule_12_a_secret_is_used_and_shows_nowhere() {
    let provider = Provider::start(|number| match number {
        // With every secret in it, cut in the middle of each.
        0 | 1 => says(&[
            "the key is sk-far-5d41402abc",
            "4b2a76b9719d91, mine own-of-a-7d79",
            "3037a0760186574b, theirs other-of-b-",
            "e4da3b7fbbce2345d77.",
        ]),
        2 => vec![answer(
            401,
            &[],
            &json!({ "error": { "message": format!("wrong key {FAR}, {OWN}, {OTHER}") } })
                .to_string(),
        )],
        _ => says(&["fine"]),
    });
    let home = configured(&provider.config());
    let daemon = start_still(&home);
    set(&home, &["--daemon", "FAR_KEY"], FAR).ok();
    set(&home, &["a", "OWN"], OWN).ok();
    set(&home, &["b", "OTHER"], OTHER).ok();

    let reply = chat(&home, "a", &format!("is it {OWN}, {FAR} or {OTHER}?")).ok().stdout;
    // Another agent's is not looked for: whoever asks would learn that it is one.
    let told = format!("the key is [secret], mine [secret], theirs {OTHER}.");
    assert_eq!(reply, format!("{told}\n"));
    let seen = provider.upstream.seen();
    assert_eq!(seen[0].header("authorization"), Some(&*format!("Bearer {FAR}")));
    assert_eq!(seen[0].header("x-title"), Some("a house"));
    assert_eq!(seen[0].header("x-far"), Some(&*format!("Token {FAR}")));
    // Its own secrets and the daemon's are out of its prompt; whether a text is another's
    // secret is not for it to know.
    assert!(provider.last().contains(&format!("is it [secret], [secret] or {OTHER}?")));
    let stream = streamed(&daemon, &home, "a");
    assert_eq!(text_of(&stream), told);
    assert_without("stream", &stream, &[FAR, OWN]);

    let failed = chat(&home, "a", "once more");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("[secret]"), "{failed:?}");
    assert_without("error", &failed.stderr, &[FAR, OWN]);
    // Later prompts are made of what was journalled.
    chat(&home, "a", "and now?").ok();
    let prompt = provider.last();
    assert!(prompt.contains("mine [secret], theirs"), "{prompt}");
    assert!(!prompt.contains(OWN) && !prompt.contains(FAR), "{prompt}");

    // What opens the daemon is no vault's, and is kept out all the same.
    let master = token(&home);
    let echoed = chat(&home, "calm", &format!("say my token is {master}")).ok().stdout;
    assert_eq!(echoed, "my token is [secret]\n");

    // What was said before its secret was set is journalled, and not shown any more either.
    let late = "late-secret-8f14e45fceea167a";
    chat(&home, "calm", &format!("say {late}")).ok();
    set(&home, &["calm", "LATE"], late).ok();
    let path = "/api/agents/calm/sessions";
    let session = call(&daemon, &home, "GET", path, "").json()[0]["id"].to_string();
    let shown = call(&daemon, &home, "GET", &format!("{path}/{session}"), "").body;
    assert!(shown.contains("say [secret]") && !shown.contains(late), "{shown}");

    for command in [
        "audit tail",
        "audit tail a --json",
        "audit export b",
        "secret list --json",
        "secret list a",
        "context show a --json",
        "check --resolved --json",
        "doctor --json",
        "status --json",
    ] {
        let output = insula(&home, &command.split(' ').collect::<Vec<_>>());
        assert_without_secrets(command, &format!("{output:?}"));
    }
    assert_without_secrets("log", &daemon.log());
    let admin = token(&home);
    daemon.terminate().unwrap();
    for value in [FAR, OWN, &admin] {
        assert_eq!(holders(&home, value), Vec::<std::path::PathBuf>::new(), "nowhere in the home");
    }
    // What b keeps stands in a's journal because a's user wrote it there, and nowhere else.
    let kept = holders(&home, OTHER);
    assert!(
        kept.iter().all(|path| path.to_string_lossy().contains("agents/a/agent.db")),
        "{kept:?}"
    );
}

#[test]
fn rule_12_the_log_is_redacted() {
    // A path that is a secret: the log names the file it can't use.
    let home = configured("agents: {a: {}}\n");
    set(&home, &["a", "OWN"], OWN).ok();
    set(&home, &["--daemon", OWN.replace('-', "_").as_str()], OWN).ok();
    set(&home, &["a", "NAME"], &OWN.replace('-', "_")).ok();
    let path = format!("vault/daemon/{}", OWN.replace('-', "_"));
    home.write(&path, "junk").unwrap();
    let daemon = start_still(&home);
    // Said before `ready`.
    let log = daemon.log();
    assert!(log.contains("a secret can't be used"), "{log}");
    assert!(log.contains("vault/daemon/[secret] does not open"), "{log}");
    assert!(!log.contains(&OWN.replace('-', "_")), "{log}");
}

#[test]
fn a_missing_secret_is_told_and_can_be_set_while_it_runs() {
    let provider = Provider::start(|_| says(&["from afar"]));
    let home = configured(&provider.config());
    let warned = insula(&home, &["check"]).ok().stdout;
    assert!(warned.contains("secret `FAR_KEY` of the daemon is not set"), "{warned}");
    assert!(warned.contains("insula secret set --daemon FAR_KEY"), "{warned}");
    assert!(warned.contains("insula secret set a OWN"), "{warned}");
    let daemon = start_still(&home);
    eventually("the daemon says what is missing", || {
        assert_eq!(get(&daemon, "/healthz").status, 200);
        daemon.log().contains("secret `FAR_KEY` of the daemon is not set").then_some(())
    });
    let doctor = insula(&home, &["doctor"]).stdout;
    assert!(doctor.contains("0 set, 2 named and not set"), "{doctor}");
    let refused = chat(&home, "a", "hello");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("secret `FAR_KEY` of the daemon is not set: set it with `insula secret set --daemon FAR_KEY`"),
        "{refused:?}"
    );
    assert_eq!(provider.upstream.seen().len(), 0, "nothing was sent without its key");
    set(&home, &["--daemon", "FAR_KEY"], FAR).ok();
    set(&home, &["a", "OWN"], OWN).ok();
    assert_eq!(chat(&home, "a", "hello").ok().stdout, "from afar\n");
    // Another value counts from the next turn on.
    set(&home, &["--daemon", "FAR_KEY"], SECOND).ok();
    chat(&home, "a", "hello").ok();
    let seen = provider.upstream.seen();
    assert_eq!(seen[1].header("authorization"), Some(&*format!("Bearer {SECOND}")));
    let checked = insula(&home, &["check"]).ok().stdout;
    assert!(!checked.contains("is not set"), "{checked}");
    let doctor = insula(&home, &["doctor"]).stdout;
    assert!(doctor.contains("2 set, each opens"), "{doctor}");
    insula(&home, &["secret", "remove", "--daemon", "FAR_KEY"]).ok();
    assert_eq!(chat(&home, "a", "hello").code, Some(1));
    assert!(insula(&home, &["check"]).ok().stdout.contains("`FAR_KEY`"));
    assert_chains_hold(&home);
}

#[test]
fn secrets_are_listed_by_name_recorded_and_gone_with_their_agent() {
    let home = configured("agents: {a: {default: true}, b: {}}\n");
    // Without a daemon, and then with one.
    set(&home, &["a", "OWN"], OWN).ok();
    let daemon = start_still(&home);
    set(&home, &["a", "SECOND"], "second value").ok();
    let made = run_with_input(
        INSULA,
        home.path(),
        &["secret", "set", "--daemon", "FAR_KEY", "--json"],
        FAR,
    );
    assert_eq!(made.ok().json(), json!({ "agent": null, "name": "FAR_KEY", "set": true }));
    let names = |args: &[&str]| -> Vec<(Value, Value)> {
        let rows = json(&home, args);
        let rows = rows.as_array().unwrap().iter();
        rows.inspect(|row| assert!(row["set"].as_str().unwrap().starts_with("20"), "{row}"))
            .map(|row| (row["agent"].clone(), row["name"].clone()))
            .collect()
    };
    let (own, second) = ((json!("a"), json!("OWN")), (json!("a"), json!("SECOND")));
    let far = (Value::Null, json!("FAR_KEY"));
    assert_eq!(names(&["secret", "list"]), [far.clone(), own.clone(), second.clone()]);
    assert_eq!(names(&["secret", "list", "a"]), [own, second]);
    assert_eq!(names(&["secret", "list", "--daemon"]), [far]);
    assert_eq!(names(&["secret", "list", "b"]), []);
    for path in ["vault/key", "vault/agents/a/OWN", "vault/daemon/FAR_KEY"] {
        let mode = fs::metadata(home.path().join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
    insula(&home, &["secret", "remove", "a", "SECOND"]).ok();
    let again = insula(&home, &["secret", "remove", "a", "SECOND"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("agent `a` has no secret `SECOND`"), "{again:?}");
    let kinds_of_a = kinds(&home, "a");
    let about: Vec<&String> = kinds_of_a.iter().filter(|it| it.starts_with("secret.")).collect();
    assert_eq!(about, ["secret.set", "secret.set", "secret.removed"]);
    let trail = insula(&home, &["audit", "tail", "--json"]).ok();
    assert!(trail.stdout.contains("secret.set") && trail.stdout.contains("FAR_KEY"), "{trail:?}");
    insula(&home, &["agents", "delete", "a", "--yes"]).ok();
    assert!(!home.has("vault/agents/a"));
    assert_eq!(json(&home, &["secret", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(insula(&home, &["secret", "list", "a"]).code, Some(1));
    daemon.terminate().unwrap();
    assert_chains_hold(&home);
}

#[test]
fn a_damaged_vault_is_told_and_the_others_are_served() {
    let provider = Provider::start(|_| says(&["from afar"]));
    let home = configured(&provider.config());
    set(&home, &["--daemon", "FAR_KEY"], FAR).ok();
    set(&home, &["b", "OTHER"], OTHER).ok();
    let key = home.path().join("vault/key");
    let kept = fs::read(&key).unwrap();
    let assert_told = |what: &str| {
        let daemon = start_still(&home);
        assert_eq!(chat(&home, "calm", "say still here").ok().stdout, "still here\n", "{what}");
        let failed = chat(&home, "a", "hello");
        assert_eq!(failed.code, Some(1), "{what}: {failed:?}");
        assert!(failed.stderr.contains("FAR_KEY"), "{what}: {failed:?}");
        assert!(failed.stderr.contains("set this secret again"), "{what}: {failed:?}");
        let doctor = insula(&home, &["doctor"]);
        assert_eq!(doctor.code, Some(1), "{what}: {doctor:?}");
        assert!(daemon.log().contains("a secret can't be used"), "{what}: {}", daemon.log());
        daemon.terminate().unwrap();
    };
    // A second key, in place of the one that closed them.
    fs::write(&key, [7; 32]).unwrap();
    assert_told("another key");
    fs::write(&key, &kept).unwrap();
    let file = home.path().join("vault/daemon/FAR_KEY");
    let sealed = fs::read(&file).unwrap();
    fs::write(&file, &sealed[..sealed.len() - 1]).unwrap();
    assert_told("a file cut short");
    // One agent's file in the place of the daemon's opens nothing.
    fs::copy(home.path().join("vault/agents/b/OTHER"), &file).unwrap();
    assert_told("a file of another");
    // Set again, it is whole again, while the daemon runs.
    let _daemon = start_still(&home);
    assert_eq!(chat(&home, "a", "hello").code, Some(1));
    set(&home, &["--daemon", "FAR_KEY"], FAR).ok();
    assert_eq!(chat(&home, "a", "hello").ok().stdout, "from afar\n");
    // Without its key nothing is set that would hide that the old one is lost.
    fs::remove_file(&key).unwrap();
    drop(_daemon);
    let refused = set(&home, &["a", "NEW"], "new value");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("vault/key is missing"), "{refused:?}");
}

#[test]
fn a_key_open_to_others_is_warned_about() {
    let home = configured("agents: {a: {}}\n");
    set(&home, &["a", "OWN"], OWN).ok();
    let key = home.path().join("vault/key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let daemon = start_still(&home);
    assert!(daemon.log().contains("chmod 600"), "{}", daemon.log());
    let doctor = insula(&home, &["doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("vault/key"), "{doctor:?}");
}

#[test]
fn what_can_not_be_set_is_refused_and_not_repeated() {
    let home = configured("agents: {a: {}}\n");
    let daemon = start_still(&home);
    for (args, code) in [
        (&["a", "OWN", "value-in-an-argument"][..], 2),
        (&["--daemon", "a", "OWN"], 2),
        (&["OWN"], 2),
        (&["a", "not-a-name"], 2),
        (&["nobody", "OWN"], 1),
        (&["No Body", "OWN"], 1),
    ] {
        let refused = set(&home, args, OWN);
        assert_eq!(refused.code, Some(code), "{args:?}: {refused:?}");
        assert_without_secrets("refusal", &format!("{refused:?}"));
    }
    let empty = set(&home, &["a", "OWN"], "");
    assert!(empty.code == Some(2) && empty.stderr.contains("is empty"), "{empty:?}");
    let long = set(&home, &["a", "OWN"], &"x".repeat(64 * 1024 + 1));
    assert!(long.code == Some(2) && long.stderr.contains("at most 65536"), "{long:?}");
    set(&home, &["a", "LONGEST"], &"x".repeat(64 * 1024)).ok();
    let bytes = run_with_input(INSULA, home.path(), &["secret", "set", "a", "OWN"], [0xff, 0xfe]);
    assert!(bytes.code == Some(2) && bytes.stderr.contains("not UTF-8"), "{bytes:?}");

    let path = "/api/agents/a/secrets/OWN";
    for body in [
        format!("\"{OWN}\""),
        format!("{{\"value\": [\"{OWN}\"]}}"),
        format!("{{\"{OWN}\": 1}}"),
        format!("{{\"value\": \"{OWN}"),
        format!("{{\"value\": \"{OWN}\", \"{OWN}\": 1}}"),
    ] {
        let refused = call(&daemon, &home, "PUT", path, &body);
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
        assert_without_secrets(&body, &refused.body);
    }
    let large = format!("{{\"value\": \"{}\"}}", "x".repeat(3 << 20));
    let refused = call(&daemon, &home, "PUT", path, &large);
    assert_eq!(refused.status, 400, "{}", refused.head);
    assert!(refused.body.contains("at most 65536") && refused.body.len() < 500);
    let body = json!({ "value": OWN }).to_string();
    let strange = "/api/agents/a/secrets/%ff";
    assert_eq!(call(&daemon, &home, "PUT", strange, &body).status, 404);
    // Only the admin: neither nobody nor somebody who may talk to the agent.
    let bearer = json(
        &home,
        &[
            "token", "create", "--agent", "a", "--verb", "chat", "--verb", "read", "--verb",
            "manage",
        ],
    )["token"]
        .clone();
    let bearer = format!("Authorization: Bearer {}", bearer.as_str().unwrap());
    for (method, path) in [
        ("GET", "/api/secrets"),
        ("GET", "/api/daemon/secrets"),
        ("GET", "/api/agents/a/secrets"),
        ("PUT", path),
        ("DELETE", path),
    ] {
        assert_eq!(send(daemon.listen(), method, path, &[], &body).status, 401, "{path}");
        let refused = send(daemon.listen(), method, path, &[&bearer], &body);
        assert!([403, 404].contains(&refused.status), "{method} {path}: {refused:?}");
    }
    assert_without_secrets("log", &daemon.log());
    let names = json(&home, &["secret", "list"]);
    assert_eq!(names.as_array().unwrap().len(), 1, "only the longest: {names}");
}
