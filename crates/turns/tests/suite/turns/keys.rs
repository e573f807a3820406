//! Whose key pays: every way to a provider carries the key of the agent that asks, or that of a
//! shared provider it was granted, or nothing is asked at all.

use crate::turns::play::{acts, call, delegate, play, say, tell};
use crate::turns::support::{Fixture, build, end, reply};
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_registry::key_name::{KeyName, KeySource};
use insula_store::UsageBy;
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::world;
use insula_turns::{TurnEnd, TurnHandle};
use insula_vault::{Secret, SecretName, SecretOwner};
use insula_world::Timestamp;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

const HOUSE: &str = "house-7Kq0ZtW3mB9xLr5VdY2n";
const ANN: &str = "ann-P4hS8jUeC1gNfX6aQoTw";
const BOB: &str = "bob-yR3bGk7MzD5sEvH0iJlA";

/// `house` may use what is shared, `ann` and `bob` pay themselves, `poor` has nothing.
const AGENTS: &str = "
agents:
  house: {tools: [delegate_task, todo, image_generate], images: {model: paint/m}}
  ann: {tools: [delegate_task, todo], providers: {fake: {kind: openai, base_url: 'URL', api_key: '${secret:KEY}'}}}
  bob: {tools: minimal, providers: {fake: {kind: openai, base_url: 'URL', api_key: '${secret:KEY}'}}}
  poor: {tools: minimal}
";

async fn open_with(
    agents: &str,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: 'URL', api_key: '${{secret:KEY}}', agents: [house]}}\n  paint: {{kind: openai, base_url: 'URL', api_key: '${{secret:KEY}}', agents: [house]}}\n{agents}"
    );
    let config = config.replace("URL", &upstream.url("/v1"));
    let fixture = build(world, config, Some(upstream)).await;
    set(&fixture, SecretOwner::Daemon, HOUSE).await;
    set(&fixture, of("ann"), ANN).await;
    set(&fixture, of("bob"), BOB).await;
    fixture
}

async fn open() -> Fixture {
    open_with(AGENTS, |seen, _| play(seen)).await
}

fn of(agent: &str) -> SecretOwner {
    SecretOwner::Agent(AgentId::new(agent).unwrap())
}

async fn set(fixture: &Fixture, owner: SecretOwner, value: &str) {
    let name = SecretName::new("KEY").unwrap();
    let (value, by) = (Secret::new(value), Actor::CommandLine);
    fixture.daemon.set_secret(&owner, &name, value, &by).await.unwrap();
}

async fn unset(fixture: &Fixture, owner: SecretOwner) {
    let name = SecretName::new("KEY").unwrap();
    fixture.daemon.remove_secret(&owner, &name, &Actor::CommandLine).await.unwrap();
}

async fn edit(fixture: &Fixture, from: &str, to: &str) {
    let before = fixture.files().read("config.yaml").unwrap();
    assert!(before.contains(from), "{before}");
    fixture.files().write("config.yaml", before.replace(from, to)).unwrap();
    fixture.daemon.reload(None, &Actor::CommandLine).await.unwrap();
}

/// The keys that came, in order.
fn came(fixture: &Fixture) -> Vec<String> {
    let seen = fixture.upstream().seen();
    let keys = seen.iter().map(|it| it.header("authorization").unwrap_or("none"));
    keys.map(|it| it.trim_start_matches("Bearer ").to_owned()).collect()
}

async fn submit(fixture: &Fixture, agent: &str, text: &str) -> TurnHandle {
    fixture.engine.submit(fixture.inbound(agent, "one", text).0).await.unwrap()
}

async fn failure(fixture: &Fixture, agent: &str) -> String {
    failed(end(submit(fixture, agent, &acts([say("hello")])).await).await)
}

fn failed(end: TurnEnd) -> String {
    match end {
        TurnEnd::Failed { error } => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_agent_asks_with_its_own_key_or_with_the_one_it_was_granted() {
    let fixture = open().await;
    for agent in ["house", "ann", "bob", "ann", "house"] {
        assert_eq!(fixture.say(agent, "one", &acts([say("hello")])).await, "hello");
    }
    assert_eq!(came(&fixture), [HOUSE, ANN, BOB, ANN, HOUSE]);
}

#[tokio::test]
async fn who_was_granted_nothing_asks_nobody_and_hears_what_helps() {
    let fixture = open().await;
    let error = failure(&fixture, "poor").await;
    assert!(error.contains("provider `fake` is not shared with agent `poor`"), "{error}");
    assert!(error.contains("`providers.fake.agents`"), "{error}");
    assert!(came(&fixture).is_empty());
    edit(&fixture, "agents: [house]}\n  paint", "agents: [house, poor]}\n  paint").await;
    assert_eq!(fixture.say("poor", "one", &acts([say("hello")])).await, "hello");
    assert_eq!(came(&fixture), [HOUSE]);
}

#[tokio::test]
async fn a_model_that_leads_nowhere_is_passed_over_for_the_next_one() {
    let agents = format!(
        "{AGENTS}  both: {{tools: minimal, model: [fake/model, mine/model], providers: {{mine: {{kind: openai, base_url: 'URL', api_key: '${{secret:KEY}}'}}}}}}\n"
    );
    let fixture = open_with(&agents, |seen, _| play(seen)).await;
    let error = failure(&fixture, "both").await;
    assert!(error.contains("not shared with agent `both`"), "{error}");
    assert!(error.contains("insula secret set both KEY"), "both are told: {error}");
    set(&fixture, of("both"), BOB).await;
    assert_eq!(fixture.say("both", "one", &acts([say("hello")])).await, "hello");
    assert_eq!(came(&fixture), [BOB]);
}

#[tokio::test]
async fn without_its_own_key_an_agent_uses_nobody_elses_and_hears_which_command_mends_it() {
    let fixture = open().await;
    unset(&fixture, of("ann")).await;
    let error = failure(&fixture, "ann").await;
    assert!(error.contains("provider `fake` of agent `ann` can't be used"), "{error}");
    assert!(error.contains("insula secret set ann KEY"), "{error}");
    assert!(!error.contains("--daemon"), "{error}");
    assert!(came(&fixture).is_empty());
    // Also where the house shares with everybody, and has a secret of that name.
    edit(&fixture, ", agents: [house]", "").await;
    assert!(failure(&fixture, "ann").await.contains("insula secret set ann KEY"));
    assert!(came(&fixture).is_empty());
    set(&fixture, of("ann"), BOB).await;
    fixture.say("ann", "one", &acts([say("hello")])).await;
    set(&fixture, of("ann"), ANN).await;
    fixture.say("ann", "one", &acts([say("hello")])).await;
    assert_eq!(came(&fixture), [BOB, ANN]);
}

#[tokio::test]
async fn a_child_asks_with_its_parents_key() {
    let fixture = open().await;
    for (agent, key) in [("ann", ANN), ("house", HOUSE)] {
        let before = came(&fixture).len();
        let goal = json!({ "goal": acts([say("done")]) });
        let told = fixture.say(agent, "one", &acts([delegate([goal]), tell()])).await;
        assert!(told.contains("done"), "{told}");
        assert_eq!(came(&fixture)[before..], [key, key, key]);
    }
}

/// A model whose answer to the `waits`th request waits for the test.
fn waiting(
    waits: usize,
) -> (Arc<Notify>, impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static) {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let script = move |seen: &Seen, number: usize| {
        let mut answer = play(seen);
        if number == waits {
            answer.insert(0, Step::Wait(gate.clone()));
        }
        answer
    };
    (go, script)
}

const TAKEN: (&str, &str) = ("agents: [house]}\n  paint", "agents: []}\n  paint");

#[tokio::test]
async fn taking_an_agent_off_ends_a_turn_under_way_and_all_that_wait() {
    let (go, script) = waiting(0);
    let fixture = open_with(AGENTS, script).await;
    let todo = call("todo", json!({}));
    let running = submit(&fixture, "house", &acts([todo, say("never")])).await;
    fixture.upstream().requests(1).await;
    let queued = submit(&fixture, "house", &acts([say("never")])).await;
    edit(&fixture, TAKEN.0, TAKEN.1).await;
    go.notify_one();
    for turn in [running, queued] {
        let error = failed(end(turn).await);
        assert!(error.contains("not shared with agent `house`"), "{error}");
    }
    assert_eq!(came(&fixture), [HOUSE]);
}

#[tokio::test]
async fn taking_an_agent_off_ends_what_its_children_ask() {
    let (go, script) = waiting(1);
    let fixture = open_with(AGENTS, script).await;
    let todo = call("todo", json!({}));
    let goal = json!({ "goal": acts([todo, say("never")]) });
    let turn = submit(&fixture, "house", &acts([delegate([goal]), tell()])).await;
    fixture.upstream().requests(2).await;
    edit(&fixture, TAKEN.0, TAKEN.1).await;
    go.notify_one();
    let error = failed(end(turn).await);
    assert!(error.contains("not shared with agent `house`"), "{error}");
    assert_eq!(came(&fixture), [HOUSE, HOUSE]);
}

#[tokio::test]
async fn a_turn_whose_agent_lost_its_own_provider_does_not_take_the_shared_one() {
    let (go, script) = waiting(0);
    let fixture = open_with(AGENTS, script).await;
    let turn = submit(&fixture, "bob", &acts([call("todo", json!({})), say("never")])).await;
    fixture.upstream().requests(1).await;
    let config = fixture.files().read("config.yaml").unwrap();
    let line = config.lines().find(|it| it.starts_with("  bob:")).unwrap();
    edit(&fixture, line, "  bob: {tools: minimal}").await;
    go.notify_one();
    let error = failed(end(turn).await);
    assert!(error.contains("not shared with agent `bob`"), "{error}");
    assert_eq!(came(&fixture), [BOB]);
}

#[tokio::test]
async fn pictures_are_asked_for_with_the_same_right() {
    let script = |seen: &Seen, _: usize| match seen.line.contains("images") {
        true => {
            let body =
                r#"{"data":[{"b64_json":"iVBORw0KGgoAAAANSUhEUgAAAAEuLi4uAAAAAElFTkSuQmCC"}]}"#;
            let head = format!("HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n", body.len());
            vec![Step::Write(format!("{head}{body}").into_bytes())]
        }
        false => play(seen),
    };
    let fixture = open_with(AGENTS, script).await;
    let paint = || acts([call("image_generate", json!({ "prompt": "a cat" })), tell()]);
    let made = fixture.say("house", "one", &paint()).await;
    assert!(made.starts_with("made images/"), "{made}");
    let asked = came(&fixture).len();
    edit(
        &fixture,
        "api_key: '${secret:KEY}', agents: [house]}\n\nagents",
        "api_key: '${secret:KEY}', agents: []}\n\nagents",
    )
    .await;
    let refused = fixture.say("house", "one", &paint()).await;
    assert!(refused.contains("provider `paint` is not shared with agent `house`"), "{refused}");
    let pictures = fixture.upstream().seen();
    let pictures = pictures.iter().skip(asked).filter(|it| it.line.contains("images"));
    assert_eq!(pictures.count(), 0);
}

#[tokio::test]
async fn agents_with_keys_of_their_own_share_no_connection() {
    let fixture = open().await;
    for agent in ["house", "ann", "bob", "ann", "bob", "house"] {
        fixture.say(agent, "one", &acts([say("hello")])).await;
    }
    let seen = fixture.upstream().seen();
    let used: Vec<usize> = seen.iter().map(|it| it.connection).collect();
    let [house, ann, bob] = [used[0], used[1], used[2]];
    assert_eq!(used, [house, ann, bob, ann, bob, house], "an agent's own are used again");
    assert!(house != ann && ann != bob && bob != house, "{used:?}");
}

#[tokio::test]
async fn usage_is_counted_by_key_and_no_key_is_written_down() {
    let fixture = open().await;
    let goal = json!({ "goal": acts([say("done")]) });
    fixture.say("ann", "one", &acts([delegate([goal]), tell()])).await;
    fixture.say("house", "one", &acts([say("hello")])).await;
    let rows = async |agent: &str| {
        let store = fixture.daemon.store_of(&AgentId::new(agent).unwrap());
        let report = store.usage_since(Timestamp::from_millis(0)).await.unwrap();
        let total = report.total.usage;
        let since = Timestamp::from_millis(0);
        let models = store.usage_series(UsageBy::Model, since).await.unwrap().names;
        let [(_, days)] = &*models else { panic!("{models:?}") };
        assert_eq!(days.iter().map(|(_, it)| it.usage.input).sum::<u64>(), total.input);
        (report.keys, total)
    };
    for (agent, source, key, calls) in
        [("ann", KeySource::Own, ANN, 3), ("house", KeySource::Shared, HOUSE, 1)]
    {
        let (keys, total) = rows(agent).await;
        let [(name, paid)] = keys.as_slice() else { panic!("{keys:?}") };
        let parsed = KeyName::parse(name).unwrap();
        assert_eq!(parsed, KeyName::new("fake", source, Some(key)));
        assert!(parsed.mark.is_some() && !name.contains(&key[4..12]), "{name}");
        assert_eq!((paid.turns, paid.usage), (calls, total), "all of it, and once");
    }
}

#[tokio::test]
async fn what_an_own_provider_says_is_cleared_of_its_key() {
    let script = |_: &Seen, _: usize| insula_testkit::model::says(&format!("it is {ANN}"));
    let fixture = open_with(AGENTS, script).await;
    let said = reply(submit(&fixture, "ann", "[]").await).await;
    assert!(!said.contains(ANN), "{said}");
}

#[tokio::test]
async fn a_picture_is_not_asked_for_once_the_right_is_gone_in_the_middle_of_a_turn() {
    let (go, script) = waiting(0);
    let fixture = open_with(AGENTS, script).await;
    let paint = call("image_generate", json!({ "prompt": "a cat" }));
    let turn = submit(&fixture, "house", &acts([paint, tell()])).await;
    fixture.upstream().requests(1).await;
    let (from, to) = ("agents: [house]}\n\nagents", "agents: []}\n\nagents");
    edit(&fixture, from, to).await;
    go.notify_one();
    let told = reply(turn).await;
    assert!(told.contains("provider `paint` is not shared with agent `house`"), "{told}");
    assert!(fixture.upstream().seen().iter().all(|it| !it.line.contains("images")));
}
