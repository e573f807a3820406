//! What models were shown is put together again byte for byte, whatever became of the settings
//! since, and is gone when what it showed is forgotten.

use crate::turns::memory::{context, puppet};
use crate::turns::prefix::{KINDS, asked, asking};
use crate::turns::support::{Fixture, build, calls, end, says, with_tools};
use insula_domain::SessionKey;
use insula_store::{
    AgentStore, Forget, MemoryOrigin, MemorySource, SessionId, SessionRef, Turn, TurnId,
};
use insula_testdaemon::TestDaemon;
use insula_testkit::upstream::{Step, Upstream};
use insula_testkit::world;
use insula_turns::TurnEvent;
use insula_turns::showings::{NotAgain, ShownBody, again, hash};
use std::time::Duration;

/// What is kept of a conversation, oldest call first.
async fn kept(store: &AgentStore) -> Vec<ShownBody> {
    let mut all = Vec::new();
    let mut turns: Vec<Turn> = store.turns(None, 100).await.unwrap();
    turns.reverse();
    for turn in turns {
        for call in store.shown_calls(turn.id).await.unwrap() {
            all.push(again(store, &turn, call.number).await.unwrap().expect("it was listed"));
        }
    }
    all
}

fn bodies(fixture: &Fixture) -> Vec<String> {
    let body = |body: Vec<u8>| String::from_utf8(body).unwrap();
    asked(fixture).into_iter().map(|seen| body(seen.body)).collect()
}

fn again_of(kept: &[ShownBody]) -> Vec<String> {
    let body = |it: &ShownBody| String::from_utf8(it.body.clone().expect("it is whole")).unwrap();
    kept.iter().map(body).collect()
}

async fn session(store: &AgentStore, key: &SessionKey) -> SessionId {
    let current = SessionRef::Key(key.to_string().into());
    store.session(current).await.unwrap().unwrap().id
}

/// The bytes of all files of an agent's.
fn files(fixture: &Fixture) -> Vec<u8> {
    fn below(folder: &std::path::Path, all: &mut Vec<u8>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => below(&path, all),
                false => all.extend(std::fs::read(path).unwrap()),
            }
        }
    }
    let mut all = Vec::new();
    below(&fixture.files().path().join("agents/a"), &mut all);
    all
}

fn has(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|it| it == needle.as_bytes())
}

#[tokio::test]
async fn a_request_is_put_together_again_byte_for_byte_for_every_protocol() {
    for kind in KINDS {
        let (fixture, _handles) = asking(kind).await;
        let said = [
            "How far is it from the river to the \"old bridge\"?\n\tAnd back? ⟦so⟧ [[x]]",
            "short",
            "How far is it from the river to the \"old bridge\"?\n\tAnd back? ⟦so⟧ [[x]]",
        ];
        for text in said {
            fixture.say("a", "one", text).await;
        }
        let store = context(&fixture, "a").store.clone();
        let kept = kept(&store).await;
        let sent = bodies(&fixture);
        assert_eq!(again_of(&kept), sent, "{kind}");
        for (kept, sent) in kept.iter().zip(&sent) {
            assert_eq!(kept.call.hash, Some(hash(sent.as_bytes())), "{kind}");
            assert_eq!(kept.call.bytes, sent.len() as u64);
            assert_eq!(&*kept.call.model, "fake/model");
            let names: Vec<&str> = kept.parts.iter().map(|(name, _)| &**name).collect();
            let expected = ["settings", "soul", "preamble", "place"];
            assert_eq!(names[..4], expected, "{kind}");
            assert_eq!(names.last(), Some(&"tools"), "{kind}");
            let settings = kept.parts[0].1.clone().unwrap();
            let settings: serde_json::Value = serde_json::from_slice(&settings).unwrap();
            assert_eq!(settings["name"], "Ada", "{settings}");
        }
    }
}

#[test]
fn what_was_shown_stays_what_it_was_when_settings_change_and_the_daemon_begins_anew() {
    let config = |url: &str, model: &str, home: &str| {
        format!(
            "model: {model}\ntimezone: {home}\nproviders:\n  fake: {{kind: openai, base_url: \"{url}\", api_key: k}}\n  other: {{kind: anthropic, base_url: \"{url}\", api_key: k}}\nagents:\n  a: {{tools: minimal, personality: \"You live in {home}, and say so.\"}}\n"
        )
    };
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let (files, sent) = first.block_on(async {
        let (world, _handles) = world(7);
        let upstream = Upstream::start(&world, puppet).await.unwrap();
        let url = upstream.url("/v1");
        let before = config(&url, "fake/model", "Europe/Berlin");
        let fixture = build(world, before, Some(upstream)).await;
        let todos = r#"call todo {"todos": [{"id": "1", "content": "walk to the river"}]}"#;
        fixture.say("a", "one", todos).await;
        fixture.say("a", "one", "and a second message that is long enough").await;
        let sent = bodies(&fixture);
        assert_eq!(sent.len(), 3);
        let changed = config(&url, "other/model", "Asia/Tokyo");
        fixture.files().write("config.yaml", &changed).unwrap();
        fixture.daemon.apply().await;
        let agent = context(&fixture, "a");
        assert!(agent.identity.soul.text.contains("Tokyo"));
        assert_eq!(again_of(&kept(&agent.store).await), sent);
        let Fixture { files, .. } = fixture;
        (files, sent)
    });
    first.shutdown_timeout(Duration::from_secs(30));
    runtime().block_on(async {
        let (world, _handles) = world(8);
        let daemon = TestDaemon::open(&files, &world).await;
        assert_eq!(again_of(&kept(&daemon.agent("a").store).await), sent);
    });
}

#[tokio::test]
async fn a_conversation_costs_little_besides_what_is_said() {
    let (fixture, _handles) = asking("openai").await;
    for number in 0..100 {
        let text = format!("message {number} of a conversation that goes on for quite a while");
        fixture.say("a", "one", &text).await;
    }
    let store = context(&fixture, "a").store.clone();
    assert_eq!(again_of(&kept(&store).await), bodies(&fixture));
}

#[tokio::test]
async fn what_was_shown_goes_with_its_session() {
    let (fixture, _handles) = asking("openai").await;
    let canary = "canaryoftheriver that is long enough to be referred to";
    let short = "canaryshort";
    fixture.say("a", "one", canary).await;
    fixture.say("a", "one", short).await;
    fixture.say("a", "two", "something else that is said elsewhere").await;
    let agent = context(&fixture, "a");
    let (_, key) = fixture.inbound("a", "one", "");
    let session = session(&agent.store, &key).await;
    assert_eq!(kept(&agent.store).await.len(), 3);
    assert!(has(&files(&fixture), canary) && has(&files(&fixture), short));
    fixture.engine.forget(&agent, session).await.unwrap().expect("it was there");
    let bytes = files(&fixture);
    assert!(!has(&bytes, "canaryoftheriver") && !has(&bytes, short));
    let kept = kept(&agent.store).await;
    assert_eq!(again_of(&kept), bodies(&fixture)[2..]);
    for gone in [1, 2] {
        assert_eq!(agent.store.shown_calls(TurnId(gone)).await.unwrap(), []);
    }
}

#[tokio::test]
async fn what_was_shown_of_memory_goes_when_it_is_forgotten_also_while_a_turn_runs() {
    let agents = "agents:\n  a: {memory: true, tools: minimal}\n";
    let fixture = with_tools(None, agents, insula_tools::BUILT_IN, |_, number| match number {
        0 => says("noted"),
        1 => calls("c", "todo", r#"{"todos": [{"id": "1", "content": "walk"}]}"#),
        _ => says("it begins to answer and says some words")
            .into_iter()
            .take(2)
            .chain([Step::Hang])
            .collect(),
    })
    .await;
    let canary = "canarywood is where the key hangs";
    fixture.files().write("agents/a/memories/MEMORY.md", canary).unwrap();
    fixture.say("a", "one", "hello, is there anything to know?").await;
    let agent = context(&fixture, "a");
    assert_eq!(again_of(&kept(&agent.store).await), bodies(&fixture));
    assert!(bodies(&fixture)[0].contains(canary));
    // It is shown the memory, and what it is shown next is written down after that is forgotten.
    let mut running = fixture.submit("one", "and now?").await;
    while !matches!(running.events.recv().await.expect("it goes on"), TurnEvent::Text(_)) {}
    let origin = MemoryOrigin {
        at: fixture.daemon.world().clock.now(),
        principal: "cli:local".into(),
        source: MemorySource::Said,
        platform: "cli".into(),
        session: None,
        message: None,
        call: None,
        label: None,
        approved_by: None,
        generation: 1,
    };
    let what = Forget::Scope("global".parse().unwrap());
    let erased = agent.remembered().forget(what, &origin).await.unwrap();
    assert_eq!(erased.fragments.len(), 1);
    fixture.engine.stop(&fixture.inbound("a", "one", "").1);
    end(running).await;
    let bytes = files(&fixture);
    assert!(!has(&bytes, "canarywood"), "no byte of it is left");
    let kept = kept(&agent.store).await;
    assert!(kept.len() >= 2, "{kept:?}");
    for call in kept {
        assert_eq!(call.body, Err(NotAgain::Forgotten));
        assert_eq!(call.call.hash, None, "who knows the rest could find it out by its hash");
        let mut memory = call.parts.iter().filter(|(name, _)| &**name == "memory");
        assert!(memory.all(|(_, bytes)| bytes.is_none()), "{:?}", call.parts);
    }
}
