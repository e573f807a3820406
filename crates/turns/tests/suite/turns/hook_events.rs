//! The hooks of memory, children, skills and replies: each may say no, a failure of each is a
//! no, and each is its own agent's alone.

use crate::turns::hooks::says_json;
use crate::turns::memory::puppet;
use crate::turns::support::{Fixture, end, says, shown};
use insula_domain::AgentId;
use insula_store::{FragmentId, SessionRef, Window};
use insula_testdaemon::{TestDaemon, introduce};
use insula_testkit::model::configured;
use insula_testkit::upstream::{Seen, Step, Upstream, answer};
use insula_testkit::{Handles, world};
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};
use std::time::Duration;

const SKILL: &str = "---\nname: tea\ndescription: How tea is made.\n---\nBoil water.\n";

/// A daemon whose model does what it is told, with a hook server beside it: `HOOK` in the
/// agents stands for that. Agents `a` and `b` have a skill.
async fn open(
    agents: &str,
    model: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
    hook: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> (Fixture, Upstream, Handles) {
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, model).await.unwrap();
    let hooks = Upstream::start(&world, hook).await.unwrap();
    let agents = agents.replace("HOOK", &hooks.url("/hook"));
    let config = configured(&upstream, "model", &agents);
    let files = insula_testkit::Home::with([
        ("config.yaml", &*config),
        ("agents/a/skills/tea/SKILL.md", SKILL),
        ("agents/b/skills/tea/SKILL.md", SKILL),
    ]);
    let files = files.unwrap();
    introduce(&files, &world).await;
    let daemon = TestDaemon::open(&files, &world).await;
    let engine = daemon.engine();
    (Fixture { files, daemon, engine, upstream: Some(upstream), handles: None }, hooks, handles)
}

/// A hook server that says this, whatever it is told.
fn replies(status: u16, body: &str) -> impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static {
    let body = body.to_owned();
    move |_, _| vec![answer(status, &[], &body), Step::Close]
}

/// How a turn ends, while time goes by.
async fn end_in_time(fixture: &Fixture, handles: &Handles, agent: &str, text: &str) -> TurnEnd {
    let (inbound, _) = fixture.inbound(agent, "one", text);
    let engine = fixture.engine.clone();
    let ended = tokio::spawn(async move { end(engine.submit(inbound).await.unwrap()).await });
    while !ended.is_finished() {
        handles.clock.advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    ended.await.unwrap()
}

fn said(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Replied { text, .. } => text.clone(),
        TurnEnd::Failed { error } => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// Events that decide: what makes a turn ask them, and what it says when they say no.
const DECIDING: &[(&str, &str, &str)] = &[
    (
        "memory:scope",
        r#"call memory {"action": "add", "target": "memory", "content": "tea"}"#,
        "memory is closed here",
    ),
    (
        "memory:write",
        r#"call memory {"action": "add", "target": "memory", "content": "tea"}"#,
        "a hook does not allow this use of memory",
    ),
    (
        "memory:read",
        r#"call memory_search {"query": "tea"}"#,
        "a hook does not allow this use of memory",
    ),
    (
        "subagent_start",
        r#"call delegate_task {"goal": "hello"}"#,
        "a hook does not allow this child",
    ),
    (
        "skill:load",
        r#"call skill_view {"name": "tea"}"#,
        "a hook does not allow you to view skill `tea`",
    ),
    ("pre_verify", "hello", "the reply was not accepted"),
];

async fn fragments(fixture: &Fixture, agent: &str) -> Vec<(String, String)> {
    let store = fixture.daemon.store_of(&AgentId::new(agent).unwrap());
    let all = store.fragments_after(FragmentId::START, 1_000).await.unwrap();
    all.into_iter().map(|it| (it.scope.to_string(), it.text)).collect()
}

#[tokio::test]
async fn a_hook_that_breaks_talks_nonsense_or_hangs_denies_and_only_for_its_agent() {
    type Script = Box<dyn Fn(&Seen, usize) -> Vec<Step> + Send + Sync>;
    for (event, message, denied) in DECIDING {
        let scripts: [(&str, Script); 4] = [
            ("breaks", Box::new(replies(500, "{}"))),
            ("nonsense", Box::new(replies(200, "sure, why not"))),
            ("misspelt", Box::new(replies(200, r#"{"decison": "allow"}"#))),
            ("hangs", Box::new(|_: &Seen, _| vec![Step::Hang])),
        ];
        for (how, script) in scripts {
            let agents = format!(
                "agents:\n  a: {{memory: true, hooks: {{\"{event}\": [{{http: 'HOOK', timeout: 2s}}]}}}}\n  b: {{memory: true}}\n"
            );
            let (fixture, hooks, handles) = open(&agents, puppet, script).await;
            let ended = end_in_time(&fixture, &handles, "a", message).await;
            assert!(said(&ended).contains(denied), "{event} {how}: {ended:?}");
            let asked = hooks.seen().len();
            assert!(asked > 0, "{event} {how}");
            assert!(fragments(&fixture, "a").await.is_empty(), "{event} {how}");
            let records = fixture.hook_records("a").await;
            let failed = |(it, verdicts): &(String, Vec<String>)| {
                it == event && verdicts == &["failed, denied"]
            };
            assert!(
                records.iter().all(failed) && !records.is_empty(),
                "{event} {how}: {records:?}"
            );
            // Another agent does the same and hears nothing of it.
            let other = fixture.say("b", "one", message).await;
            assert!(!other.contains(denied), "{event} {how}: {other}");
            assert_eq!(hooks.seen().len(), asked, "{event} {how}");
            assert!(fixture.hook_records("b").await.is_empty(), "{event} {how}");
        }
    }
}

#[tokio::test]
async fn hooks_of_the_top_hold_for_every_agent_and_come_first() {
    for (event, message, denied) in DECIDING {
        let (top, own) = match *event {
            "memory:scope" => ("\"agent_id == 'b' ? 'top' : metadata.nothing\"", "\"'own'\""),
            _ => ("\"agent_id == 'b'\"", "'true'"),
        };
        let agents = format!(
            "hooks: {{\"{event}\": [{{expr: {top}}}]}}\nagents:\n  a: {{memory: true, hooks: {{\"{event}\": [{{expr: {own}}}]}}}}\n  b: {{memory: true, hooks: {{\"{event}\": [{{expr: {own}}}]}}}}\n"
        );
        let (fixture, _, handles) = open(&agents, puppet, replies(500, "")).await;
        let ended = end_in_time(&fixture, &handles, "a", message).await;
        assert!(said(&ended).contains(denied), "{event}: {ended:?}");
        // The first no ends it: the agent's own is not asked any more.
        let records = fixture.hook_records("a").await;
        assert!(records.iter().all(|(_, verdicts)| verdicts.len() == 1), "{event}: {records:?}");
        let told = fixture.say("b", "one", message).await;
        assert!(!told.contains(denied), "{event}: {told}");
        let records = fixture.hook_records("b").await;
        assert!(records.iter().all(|(_, verdicts)| verdicts.len() == 2), "{event}: {records:?}");
        if *event == "memory:scope" {
            assert_eq!(fragments(&fixture, "b").await[0].0, "custom:top", "the first one decides");
        }
    }
}

#[tokio::test]
async fn a_failure_that_may_be_is_as_if_nobody_had_been_asked() {
    for (event, message, denied) in DECIDING.iter().filter(|(event, ..)| *event != "memory:scope") {
        let agents = format!(
            "agents:\n  a: {{memory: true, hooks: {{\"{event}\": [{{http: 'HOOK', on_failure: allow}}]}}}}\n"
        );
        let (fixture, ..) = open(&agents, puppet, replies(500, "")).await;
        let told = fixture.say("a", "one", message).await;
        assert!(!told.contains(denied), "{event}: {told}");
    }
}

const SCOPED: &str = "agents:\n  a: {memory: {scope: chat}, metadata: {org_id: acme}, hooks: {memory:scope: [{http: 'HOOK'}]}}\n";
const ADD: &str = r#"call memory {"action": "add", "target": "memory", "content": "the leak"}"#;

#[tokio::test]
async fn b04_a_scope_hook_decides_in_a_namespace_of_its_own() {
    for (reply, scope) in [
        (json!({ "context_id": "org:acme" }), "custom:org%3Aacme"),
        (json!({ "context_id": null }), "global"),
        (json!({ "context_id": "global" }), "custom:global"),
        (json!({ "context_id": "../.." }), "custom:..%2F.."),
        (json!({ "context_id": "chat:api:token:victim" }), "custom:chat%3Aapi%3Atoken%3Avictim"),
    ] {
        let (fixture, hooks, _) = open(SCOPED, puppet, says_json(reply.clone())).await;
        let told = fixture.say("a", "one", ADD).await;
        assert!(told.contains("done"), "{reply}: {told}");
        assert_eq!(fragments(&fixture, "a").await, [(scope.to_owned(), "the leak".to_owned())]);
        let asked = hooks.seen()[0].json();
        for (field, expected) in [
            ("hook_event_name", json!("memory:scope")),
            ("operation", json!("write")),
            ("session_id", json!("agent:a:api:token:group:one")),
            ("channel_id", json!("one")),
            ("user_id", json!("ann")),
            ("metadata", json!({ "org_id": "acme" })),
            ("scope", Value::Null),
        ] {
            assert_eq!(asked[field], expected, "{field} in {asked}");
        }
    }
}

#[tokio::test]
async fn b04_whatever_is_no_scope_closes_memory_and_nothing_else() {
    let long = json!({ "context_id": "x".repeat(600) }).to_string();
    for reply in [
        "",
        "{}",
        "null",
        "\"org\"",
        r#"["org"]"#,
        r#"{"decision": "allow"}"#,
        r#"{"decision": "block", "reason": "not here"}"#,
        r#"{"context_id": ""}"#,
        r#"{"context_id": {"a": 1}}"#,
        r#"{"context_id": 7}"#,
        r#"{"context_id": "x", "read": [""]}"#,
        &long,
    ] {
        let (fixture, ..) = open(SCOPED, puppet, replies(200, reply)).await;
        let told = fixture.say("a", "one", ADD).await;
        assert!(told.contains("memory is closed here"), "{reply}: {told}");
        let told = fixture.say("a", "one", r#"call memory_search {"query": "leak"}"#).await;
        assert!(told.contains("memory is closed here"), "{reply}: {told}");
        let told = fixture.say("a", "one", r#"call session_search {"query": "leak"}"#).await;
        assert!(told.contains("memory is closed here"), "{reply}: {told}");
        // The conversation itself goes on.
        assert_eq!(fixture.say("a", "one", "hello").await, "ok");
        assert!(fragments(&fixture, "a").await.is_empty(), "{reply}");
        assert!(!fixture.files().path().join("agents/a/memories").exists(), "{reply}");
    }
}

#[tokio::test]
async fn a_scope_hook_may_have_more_read_than_is_written() {
    let hook = |seen: &Seen, _: usize| {
        let chat = seen.json()["channel_id"].as_str().unwrap().to_owned();
        let reply = json!({ "context_id": chat, "read": ["team"] });
        vec![answer(200, &[], &reply.to_string()), Step::Close]
    };
    let (fixture, ..) = open(SCOPED, puppet, hook).await;
    fixture.say("a", "team", ADD).await;
    fixture
        .say(
            "a",
            "one",
            r#"call memory {"action": "add", "target": "memory", "content": "the tap"}"#,
        )
        .await;
    let search = r#"call memory_search {"query": "the leak tap"}"#;
    let told = fixture.say("a", "one", search).await;
    assert!(told.contains("leak") && told.contains("tap"), "{told}");
    let told = fixture.say("a", "two", search).await;
    assert!(told.contains("leak") && !told.contains("tap"), "{told}");
    let told = fixture.say("a", "team", search).await;
    assert!(told.contains("leak") && !told.contains("tap"), "{told}");
}

#[tokio::test]
async fn hooks_of_memory_are_told_scope_lists_and_words_without_secrets() {
    let agents = "agents:\n  a: {memory: {scope: chat}, metadata: {org_id: acme}, hooks: {memory:write: [{http: 'HOOK'}], memory:read: [{http: 'HOOK'}]}}\n";
    let (fixture, hooks, _) = open(agents, puppet, says_json(json!({}))).await;
    let batch = json!({ "operations": [
        { "action": "add", "target": "memory", "content": "one" },
        { "action": "add", "target": "user", "content": "two" },
    ]});
    fixture.say("a", "one", &format!("call memory {batch}")).await;
    let told: Vec<Value> = hooks.seen().iter().map(Seen::json).collect();
    assert_eq!(told.len(), 2, "the block of the session, then the write: {told:?}");
    assert_eq!(told[0]["extra"]["actions"], json!(["show"]));
    assert_eq!(told[0]["extra"]["reads"], json!(["global", "chat:api:token:one"]));
    let write = &told[1];
    assert_eq!(
        (&write["operation"], &write["scope"]),
        (&json!("write"), &json!("chat:api:token:one"))
    );
    assert_eq!(write["extra"]["targets"], json!(["memory", "user"]));
    assert_eq!(write["extra"]["actions"], json!(["add", "add"]));
    assert_eq!(
        (&write["text"], &write["metadata"]),
        (&json!("one\ntwo"), &json!({ "org_id": "acme" }))
    );
    fixture.say("a", "one", r#"call memory_search {"query": "tea"}"#).await;
    let told: Vec<Value> = hooks.seen().iter().map(Seen::json).collect();
    let search = told.last().unwrap();
    assert_eq!((&search["operation"], &search["text"]), (&json!("read"), &json!("tea")));
    assert_eq!(search["extra"]["actions"], json!(["search"]));
    // A person who asks is told of in the same words.
    let (inbound, _) = fixture.inbound("a", "one", "");
    let asking = insula_capabilities::memory::Asking {
        agent: &inbound.agent,
        session: &inbound.session,
        at: &inbound.scope,
        principal: &"api:ann".into(),
    };
    fixture.engine.capabilities().remembered(&asking).await.unwrap();
    let told: Vec<Value> = hooks.seen().iter().map(Seen::json).collect();
    let list = told.last().unwrap();
    assert_eq!(
        (&list["scope"], &list["extra"]["actions"]),
        (&json!("chat:api:token:one"), &json!(["list"]))
    );
}

#[tokio::test]
async fn a_reply_that_no_hook_changed_keeps_what_the_model_thought() {
    let thinks = |_: &Seen, _: usize| {
        let delta = json!({ "reasoning_content": "it is four o'clock", "content": "tea" });
        let delta = json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string();
        let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        insula_testkit::upstream::event_stream([&*delta, stop, "[DONE]"])
    };
    let agents = "agents:\n  a: {hooks: {transform_llm_output: [{http: 'HOOK'}]}}\n";
    for (text, kept) in [("tea", true), ("coffee", false)] {
        let (fixture, ..) = open(agents, thinks, says_json(json!({ "text": text }))).await;
        let reply = fixture.say("a", "one", "what now?").await;
        assert_eq!(reply, text);
        let (inbound, key) = fixture.inbound("a", "one", "");
        let session = SessionRef::Key(key.to_string().into());
        let session = inbound.agent.store.session(session).await.unwrap().unwrap();
        let window = Window { messages: 10, bytes: 1 << 20 };
        let said = inbound.agent.store.messages_tail(session.id, window).await.unwrap();
        let thought = format!("{:?}", said.last().unwrap()).contains("four o'clock");
        assert_eq!(thought, kept, "{said:?}");
    }
}

#[tokio::test]
async fn memory_that_may_not_be_read_is_in_no_prompt() {
    let agents = "agents:\n  a: {memory: {scope: chat}, hooks: {memory:read: [{expr: \"session_id != 'agent:a:api:token:group:closed'\"}]}}\n";
    let (fixture, ..) = open(agents, puppet, replies(500, "")).await;
    for chat in ["open", "closed"] {
        fixture.say("a", chat, ADD).await;
        let (inbound, key) = fixture.inbound("a", chat, "");
        fixture.engine.begin_anew(&inbound.agent, &key).await.unwrap();
        let from = fixture.upstream().seen().len();
        fixture.say("a", chat, "hello").await;
        let prompt = String::from_utf8_lossy(&fixture.upstream().seen()[from].body).into_owned();
        assert_eq!(prompt.contains("the leak"), chat == "open", "{prompt}");
    }
}

#[tokio::test]
async fn people_are_told_by_the_same_hooks() {
    use insula_capabilities::memory::{AskError, Asking};
    let agents = "agents:\n  a: {memory: {scope: chat}, hooks: {memory:read: [{expr: \"extra.actions[0] != 'list'\"}], memory:write: [{expr: \"extra.actions[0] != 'forget'\"}]}}\n";
    let (fixture, ..) = open(agents, puppet, replies(500, "")).await;
    fixture.say("a", "one", ADD).await;
    let (inbound, _) = fixture.inbound("a", "one", "");
    let asking = Asking {
        agent: &inbound.agent,
        session: &inbound.session,
        at: &inbound.scope,
        principal: &"api:ann".into(),
    };
    let refused = fixture.engine.capabilities().remembered(&asking).await;
    assert!(matches!(refused, Err(AskError::Refused(_))), "{refused:?}");
    let refused = fixture.engine.capabilities().forget_here(&asking, "all").await;
    assert!(matches!(refused, Err(AskError::Refused(_))), "{refused:?}");
    assert_eq!(fragments(&fixture, "a").await.len(), 1);
}

#[tokio::test]
async fn children_are_announced_and_their_end_is_told() {
    let agents = "agents:\n  a: {hooks: {subagent_start: [{http: 'HOOK'}], subagent_stop: [{http: 'HOOK'}]}}\n";
    let hook = |seen: &Seen, _: usize| {
        let is_bad = seen.json()["text"].as_str().unwrap_or_default().contains("bad");
        let reply = if is_bad {
            json!({ "decision": "block", "reason": "not that one" })
        } else {
            json!({})
        };
        vec![answer(200, &[], &reply.to_string()), Step::Close]
    };
    let (fixture, hooks, _) = open(agents, puppet, hook).await;
    let tasks = json!({ "tasks": [{ "goal": "good" }, { "goal": "bad" }] });
    let told = fixture.say("a", "one", &format!("call delegate_task {tasks}")).await;
    assert!(told.contains("ok") && told.contains("not that one"), "{told}");
    let events: Vec<(Value, Value)> = hooks
        .seen()
        .iter()
        .map(|seen| {
            let told = seen.json();
            (told["hook_event_name"].clone(), told["extra"]["child"].clone())
        })
        .collect();
    let count = |event: &str| events.iter().filter(|(it, _)| it == event).count();
    assert_eq!((count("subagent_start"), count("subagent_stop")), (2, 1), "{events:?}");
    let seen = hooks.seen();
    let stop =
        seen.iter().map(Seen::json).find(|it| it["hook_event_name"] == "subagent_stop").unwrap();
    assert_eq!((&stop["extra"]["outcome"], &stop["text"]), (&json!("finished"), &json!("ok")));
    assert_eq!(stop["session_id"], "agent:a:api:token:group:one");
}

#[tokio::test]
async fn a_skill_is_asked_about_by_name_and_file() {
    let agents = "agents:\n  a: {hooks: {skill:load: [{expr: \"extra.skill == 'tea' && extra.file == 'SKILL.md'\"}]}}\n";
    let (fixture, ..) = open(agents, puppet, replies(500, "")).await;
    let told = fixture.say("a", "one", r#"call skill_view {"name": "tea"}"#).await;
    assert!(told.contains("Boil water"), "{told}");
    let told =
        fixture.say("a", "one", r#"call skill_view {"name": "tea", "file_path": "x.md"}"#).await;
    assert!(told.contains("a hook does not allow you"), "{told}");
    // What is not there is not asked about.
    let told = fixture.say("a", "one", r#"call skill_view {"name": "coffee"}"#).await;
    assert!(told.contains("there is no skill `coffee`"), "{told}");
    assert_eq!(fixture.hook_records("a").await.len(), 2);
}

#[tokio::test]
async fn a_reply_is_sent_back_until_it_is_accepted_and_nobody_saw_it() {
    let model = |seen: &Seen, _: usize| {
        let asked =
            shown(seen).iter().filter(|(_, text)| text.contains("was not accepted")).count();
        says(&format!("draft {}", asked + 1))
    };
    let agents = "agents:\n  a: {hooks: {pre_verify: [{expr: \"text == 'draft 3' || extra.round > 3\"}]}}\n  never: {hooks: {pre_verify: [{expr: 'false'}]}}\n";
    let (fixture, ..) = open(agents, model, replies(500, "")).await;
    let (inbound, key) = fixture.inbound("a", "one", "hello");
    let mut turn = fixture.engine.submit(inbound).await.unwrap();
    let mut deltas = 0;
    let text = loop {
        match turn.events.recv().await.unwrap() {
            TurnEvent::Text(_) => deltas += 1,
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => break text,
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => {}
        }
    };
    assert_eq!((text.as_str(), deltas), ("draft 3", 0));
    let seen = fixture.upstream().seen();
    let told = shown(seen.last().unwrap());
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(told[2].1.contains("does not allow it"), "{told:?}");
    // Read again, the conversation is the same.
    let (inbound, _) = fixture.inbound("a", "one", "again");
    fixture.engine.drop_window(&inbound.agent, &key).await.unwrap();
    fixture.end(inbound).await;
    let again = shown(fixture.upstream().seen().last().unwrap());
    assert_eq!(again[..5], told[..], "{again:?}");
    // It is asked four times, and no more.
    let from = fixture.upstream().seen().len();
    let (inbound, _) = fixture.inbound("never", "one", "hello");
    let ended = fixture.end(inbound).await;
    assert!(
        matches!(&ended, TurnEnd::Failed { error } if error.contains("was not accepted, 3 times over")),
        "{ended:?}"
    );
    assert_eq!(fixture.upstream().seen().len() - from, 4);
}

#[tokio::test]
async fn where_a_hook_decides_the_scope_nobody_guesses_it() {
    let (fixture, hooks, _) = open(SCOPED, puppet, says_json(json!({ "context_id": "x" }))).await;
    let (inbound, _) = fixture.inbound("a", "one", "");
    let explained = fixture.engine.capabilities().explain_scope(
        &inbound.agent,
        &inbound.scope,
        &inbound.session,
    );
    assert!(explained.unwrap_err().to_string().contains("`memory:scope` decides it"));
    assert!(hooks.seen().is_empty());
}
