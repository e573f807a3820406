//! Calls of one answer that are made at once: which are, and that all else is as if each had been
//! made after the one before it.

use crate::turns::memory::context;
use crate::turns::play::{acts, call, delegate, open_fixture, play, say, tell, together};
use crate::turns::support::{Fixture, build, end, reply, says, with_tools};
use insula_domain::{AgentId, Label};
use insula_registry::events::AgentEvent;
use insula_store::{Message, Part, Role, StepKind, TurnId};
use insula_testkit::model::{calls_all, configured};
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::world;
use insula_turns::{AT_ONCE_MAX, ChildAct, TurnEnd, TurnEvent};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const SITE: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);

const AGENTS: &str = "agents:\n  a: {tools: [web_extract, write_file, read_file, todo], network: [site.test, other.test]}\n  strict: {tools: [web_extract], network: [site.test, other.test], integrity: {profile: balanced, tainted: {network: ask}}}\n";

/// A daemon whose model does what it is told, and a site that answers by `pages`.
async fn open(
    agents: &str,
    pages: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> (Fixture, Upstream) {
    let fixture = with_tools(None, agents, insula_tools::BUILT_IN, |seen, _| play(seen)).await;
    let site = serve(&fixture, pages).await;
    (fixture, site)
}

async fn serve(
    fixture: &Fixture,
    pages: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Upstream {
    let network = &fixture.handles.as_ref().unwrap().network;
    for name in ["site.test", "other.test", "closed.test"] {
        network.name(name, [IpAddr::from(SITE)]);
    }
    Upstream::listen(fixture.daemon.world(), (SITE, 80).into(), pages).await.unwrap()
}

fn page(words: &str) -> Vec<Step> {
    let body = format!("<p>{words}");
    let head = format!(
        "HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    vec![Step::Write([head.into_bytes(), body.into_bytes()].concat())]
}

fn path(seen: &Seen) -> &str {
    seen.line.split(' ').nth(1).unwrap_or_default()
}

fn extract(url: &str) -> Value {
    call("web_extract", json!({ "urls": [url] }))
}

/// Pages that wait for each other: `/one` is not told before `/two` was asked for, and the other
/// way round.
fn meeting() -> impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync {
    let (one, two) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    move |seen, _| {
        let (own, other) = match path(seen) {
            "/one" => (&one, &two),
            "/two" => (&two, &one),
            _ => return page("another"),
        };
        other.notify_one();
        let wait = Step::Wait(own.clone());
        [wait].into_iter().chain(page(&format!("words of {}", path(seen)))).collect()
    }
}

async fn steps(fixture: &Fixture, agent: &str, turn: TurnId) -> Vec<String> {
    let steps = context(fixture, agent).store.steps(turn).await.unwrap();
    let told = steps.iter().filter_map(|step| match &step.kind {
        StepKind::CallBegun { call, .. } => Some(format!("begun {call}")),
        StepKind::CallEnded { call, .. } => Some(format!("ended {call}")),
        _ => None,
    });
    told.collect()
}

/// Has an agent do something: what its turn comes to, and the steps of its calls.
async fn run(fixture: &Fixture, agent: &str, program: &str) -> (String, Vec<String>, Vec<Message>) {
    let (inbound, key) = fixture.inbound(agent, "one", program);
    let handle = fixture.engine.submit(inbound).await.unwrap();
    let turn = handle.turn;
    let told = reply(handle).await;
    let results = fixture.messages(&key).await.into_iter().filter(|it| it.role == Role::Tool);
    (told, steps(fixture, agent, turn).await, results.collect())
}

fn text(message: &Message) -> &str {
    match &message.parts[..] {
        [Part::ToolResult { text, .. }, ..] => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn two_pages_are_read_at_once_and_their_results_stand_in_the_order_they_were_asked_for() {
    let (fixture, _site) = open(AGENTS, meeting()).await;
    let both = together([extract("http://site.test/one"), extract("http://other.test/two")]);
    // It does not end where one waits for the other.
    let (told, steps, results) = run(&fixture, "a", &acts([both, tell()])).await;
    assert!(told.contains("words of /one") && told.contains("words of /two"), "{told}");
    assert_eq!(steps, ["begun c0", "begun c0-1", "ended c0", "ended c0-1"]);
    assert!(text(&results[0]).contains("words of /one"), "{results:?}");
    assert!(text(&results[1]).contains("words of /two"), "{results:?}");
    // What a result is labelled with is what was read by then, as if they came one by one.
    let sources = |message: &Message| {
        let label: Label = message.label.parse().unwrap();
        let names: Vec<String> =
            label.integrity().sources().map(|it| it.name().to_owned()).collect();
        names.join(" ")
    };
    assert!(sources(&results[0]).contains("site.test"), "{results:?}");
    assert!(!sources(&results[0]).contains("other.test"), "{results:?}");
    assert!(sources(&results[1]).contains("site.test"), "{results:?}");
    assert!(sources(&results[1]).contains("other.test"), "{results:?}");
}

#[tokio::test]
async fn what_writes_is_made_alone_after_what_stands_before_it() {
    let (fixture, site) = open(AGENTS, |seen, _| page(path(seen))).await;
    let write = call("write_file", json!({ "path": "kept.txt", "content": "kept" }));
    let read = call("read_file", json!({ "path": "kept.txt" }));
    let all = together([extract("http://site.test/1"), write, read, extract("http://site.test/2")]);
    let (told, steps, results) = run(&fixture, "a", &acts([all, tell()])).await;
    assert_eq!(
        steps,
        [
            "begun c0",
            "ended c0",
            "begun c0-1",
            "ended c0-1",
            "begun c0-3",
            "ended c0-2",
            "ended c0-3"
        ]
    );
    assert!(text(&results[2]).contains("kept"), "it is read as it was written: {told}");
    assert_eq!(site.seen().len(), 2);
}

#[tokio::test]
async fn a_page_that_may_not_be_read_is_refused_beside_those_that_may() {
    let (fixture, _site) = open(AGENTS, meeting()).await;
    let all = together([
        extract("http://site.test/one"),
        extract("http://closed.test/"),
        extract("http://site.test/two"),
    ]);
    let (_, steps, results) = run(&fixture, "a", &acts([all, tell()])).await;
    let ends: Vec<&String> = steps.iter().filter(|it| it.starts_with("ended")).collect();
    assert_eq!(ends, ["ended c0", "ended c0-1", "ended c0-2"]);
    assert!(text(&results[0]).contains("words of /one"), "{results:?}");
    assert!(text(&results[1]).contains("closed.test"), "{results:?}");
    assert!(text(&results[2]).contains("words of /two"), "{results:?}");
}

#[tokio::test]
async fn where_it_depends_on_what_was_read_whether_a_call_may_be_made_each_is_made_alone() {
    let (fixture, site) = open(AGENTS, |seen, _| page(path(seen))).await;
    let both = together([extract("http://site.test/1"), extract("http://other.test/2")]);
    let (inbound, _) = fixture.inbound("strict", "one", &acts([both, tell()]));
    let handle = fixture.engine.submit(inbound).await.unwrap();
    let turn = handle.turn;
    site.requests(1).await;
    // The second is asked about once the first was read, and nobody answers that here.
    let asked = loop {
        let asked = context(&fixture, "strict").store.approvals().await.unwrap();
        match asked.is_empty() {
            true => tokio::task::yield_now().await,
            false => break asked,
        }
    };
    assert_eq!(asked.len(), 1);
    assert_eq!(steps(&fixture, "strict", turn).await, ["begun c0", "ended c0"]);
    assert_eq!(site.seen().len(), 1, "the second is not read before somebody agreed");
    fixture.engine.stop(&fixture.inbound("strict", "one", "").1);
    assert_eq!(end(handle).await, TurnEnd::Stopped);
}

#[tokio::test]
async fn who_says_stop_stops_all_of_them() {
    let (fixture, site) = open(AGENTS, |_, _| vec![Step::Hang]).await;
    let both = together([extract("http://site.test/one"), extract("http://other.test/two")]);
    let running = fixture.submit("one", &acts([both, tell()])).await;
    site.requests(2).await;
    fixture.engine.stop(&fixture.inbound("a", "one", "").1);
    assert_eq!(end(running).await, TurnEnd::Stopped);
    site.closed_by_client(2).await;
    let store = fixture.daemon.store_of(&AgentId::new("a").unwrap());
    let records = store.audit_tail(50).await.unwrap();
    let contents = records.iter().filter_map(|record| record.content.as_deref());
    let stopped = contents.filter(|it| it.contains("web_extract") && it.contains("\"stopped\""));
    assert_eq!(stopped.count(), 2);
}

#[tokio::test]
async fn no_more_are_made_at_once_than_there_is_room_for() {
    let go = Arc::new(Notify::new());
    let pages = {
        let go = go.clone();
        move |_: &Seen, number: usize| {
            // The last for which there is room lets the first go on.
            if number + 1 == AT_ONCE_MAX {
                go.notify_one();
            }
            match number {
                0 => [Step::Wait(go.clone())].into_iter().chain(page("first")).collect(),
                _ => page("more"),
            }
        }
    };
    let (fixture, site) = open(AGENTS, pages).await;
    let urls: Vec<Value> =
        (0..=AT_ONCE_MAX).map(|n| extract(&format!("http://site.test/{n}"))).collect();
    let urls: [Value; AT_ONCE_MAX + 1] = urls.try_into().unwrap();
    let (_, steps, _) = run(&fixture, "a", &acts([together(urls), tell()])).await;
    let begun = steps.iter().take_while(|it| it.starts_with("begun")).count();
    assert_eq!(begun, AT_ONCE_MAX, "{steps:?}");
    assert_eq!(site.seen().len(), AT_ONCE_MAX + 1);
}

#[tokio::test]
async fn a_provider_that_takes_one_call_at_a_time_gets_one_result_after_the_other() {
    let (world, handles) = world(7);
    let script = |_: &Seen, number: usize| match number {
        0 => {
            let urls = ["http://site.test/1", "http://other.test/2"];
            let calls = ["c0", "c0-1"].into_iter().zip(urls);
            calls_all(calls.map(|(id, url)| {
                let arguments = json!({ "urls": [url] }).to_string();
                (id.to_owned(), "web_extract".to_owned(), arguments)
            }))
        }
        _ => says("done"),
    };
    let upstream = Upstream::start(&world, script).await.unwrap();
    let config = configured(&upstream, "model", AGENTS)
        .replace("kind: openai,", "kind: openai, parallel_calls: false,");
    let mut fixture = build(world, config, Some(upstream)).await;
    fixture.handles = Some(handles);
    let _site = serve(&fixture, |seen, _| page(path(seen))).await;
    let (_, steps, _) = run(&fixture, "a", "read both").await;
    assert_eq!(steps, ["begun c0", "ended c0", "begun c0-1", "ended c0-1"]);
}

#[tokio::test]
async fn children_of_two_calls_work_at_once_under_names_of_their_own() {
    let agents = "agents:\n  a: {tools: [delegate_task, web_extract], network: [site.test], subagents: {max_children: 2}}\n";
    let fixture = open_fixture(agents).await;
    let _site = serve(&fixture, meeting()).await;
    let task = |url: &str| json!({ "goal": acts([extract(url), say(&format!("read {url}"))]) });
    let both = together([
        delegate([task("http://site.test/one")]),
        delegate([task("http://site.test/two")]),
    ]);
    let mut handle = fixture.submit("one", &acts([both, tell()])).await;
    let mut names = Vec::new();
    let told = loop {
        match handle.events.recv().await.unwrap() {
            TurnEvent::Child { child, act: ChildAct::Started { .. } } => {
                names.push(child.to_string())
            }
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => break text,
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => {}
        }
    };
    names.sort();
    assert_eq!(names, ["1", "2"]);
    let (one, two) = told.split_once("\n--\n").unwrap();
    assert!(one.starts_with("child 1 finished") && one.contains("site.test/one"), "{told}");
    assert!(two.starts_with("child 2 finished") && two.contains("site.test/two"), "{told}");
}

#[test]
fn of_calls_that_were_made_at_once_a_crash_repeats_none() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let both = together([extract("http://site.test/one"), extract("http://other.test/two")]);
    let program = acts([both, tell()]);
    let first = runtime();
    let files = first.block_on(async {
        let (fixture, site) = open(AGENTS, |_, _| vec![Step::Hang]).await;
        fixture.submit_locally("one", &program).await;
        site.requests(2).await;
        let Fixture { files, .. } = fixture;
        files
    });
    first.shutdown_timeout(Duration::from_secs(30));
    runtime().block_on(async {
        let script = |seen: &Seen, _: usize| play(seen);
        let fixture = with_tools(Some(files), AGENTS, insula_tools::BUILT_IN, script).await;
        let site = serve(&fixture, |_, _| page("again")).await;
        let mut events = fixture.daemon.hub().listen(&AgentId::new("a").unwrap());
        fixture.engine.resume().await.unwrap();
        let told = loop {
            let event = events.recv().await.unwrap();
            if let AgentEvent::Turn { event: TurnEvent::Ended(end), .. } = &*event {
                let TurnEnd::Replied { text, .. } = end else { panic!("{end:?}") };
                break text.clone();
            }
        };
        assert_eq!(told.matches("was interrupted and its outcome is unknown").count(), 2, "{told}");
        assert_eq!(site.seen().len(), 0, "neither is asked for again");
    });
}
