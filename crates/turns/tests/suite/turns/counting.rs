//! Rules that count the calls of a turn, and rules that look at what was said in it.

use crate::turns::play::{acts, call, delegate, open_fixture, play, tell};
use crate::turns::support::{Fixture, with_tools};
use insula_domain::AgentId;
use insula_registry::events::AgentEvent;
use insula_testkit::upstream::{Seen, Step};
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};
use std::time::Duration;

const AGENTS: &str = "
agents:
  a:
    tools:
      allow: [read_file, search_files, todo, web_extract, delegate_task]
      rules:
        read_file: {once: [path]}
        search_files: {max_calls: 2}
        todo: {once: true}
        web_extract: {urls: {said: true, or: ['https://docs.rs/']}}
    network: {allow: ['127.0.0.1:9']}
";

fn read(path: &str) -> Value {
    call("read_file", json!({ "path": path }))
}

fn search(pattern: &str) -> Value {
    call("search_files", json!({ "pattern": pattern }))
}

fn list(item: &str) -> Value {
    call("todo", json!({ "todos": [{ "id": "a", "content": item }] }))
}

/// Which of a turn's calls were refused by a rule, in order.
fn refused(told: &str) -> Vec<bool> {
    told.split("\n--\n").map(|it| it.starts_with("refused: this call of")).collect()
}

#[tokio::test]
async fn what_was_done_in_a_turn_is_not_done_again_and_the_next_turn_begins_anew() {
    let fixture = open_fixture(AGENTS).await;
    fixture.files().write("agents/a/workspace/x.txt", "x").unwrap();
    let turn = acts([
        read("x.txt"),
        read("X.TXT "),
        read("y.txt"),
        search("a"),
        search("b"),
        search("c"),
        list("one"),
        list("two"),
        call("todo", json!({ "merge": null, "todos": [{ "content": "one", "id": "a" }] })),
        tell(),
    ]);
    for _ in 0..2 {
        let told = fixture.say("a", "one", &turn).await;
        let wanted = [false, true, false, false, false, true, false, false, true];
        assert_eq!(refused(&told), wanted, "{told}");
        assert!(told.contains("a call with the same `path` was made in this turn"), "{told}");
        assert!(told.contains("2 such calls were made in this turn, of 2"), "{told}");
        assert!(
            told.contains("this very call was made in this turn; its answer is above"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn d3_children_count_with_the_turn_that_they_work_for() {
    let fixture = open_fixture(AGENTS).await;
    let child = |pattern: &str| json!({ "goal": acts([search(pattern), search("more"), tell()]) });
    let told = fixture
        .say("a", "one", &acts([search("a"), delegate([child("b")]), search("c"), tell()]))
        .await;
    assert_eq!(told.matches("such calls were made in this turn").count(), 2, "{told}");
    // Two at once have one left between them.
    let both = acts([search("a"), delegate([child("b"), child("c")]), tell()]);
    let told = fixture.say("a", "two", &both).await;
    assert_eq!(told.matches("such calls were made in this turn").count(), 3, "{told}");
}

#[tokio::test]
async fn only_what_was_said_or_is_listed_may_be_named() {
    let fixture = open_fixture(AGENTS).await;
    // The list of acts is what is said here, so that what stands in it counts.
    let said = acts([call("web_extract", json!({ "urls": ["https://docs.rs/"] })), tell()]);
    let told = fixture.say("a", "one", &said).await;
    assert!(!told.contains("rule `web_extract.urls.said`"), "{told}");
    // What a turn before said does not.
    let escaped = r#"[{"call": "web_extract", "arguments": {"urls": ["https:\u002f\u002fevil.net"]}}, {"tell": true}]"#;
    let told = fixture.say("a", "one", escaped).await;
    assert!(
        told.contains("is `https://evil.net`; allowed is what is said in the message of this turn, or is `https://docs.rs/` (rule `web_extract.urls.said`)"),
        "{told}"
    );
}

/// The turn reads a file and is cut off in its next model call; another process goes on.
#[test]
fn what_was_done_before_a_crash_counts_after_it() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let first = runtime();
    let files = first.block_on(async {
        let hangs = |seen: &Seen, number: usize| match number {
            0 => play(seen),
            _ => vec![Step::Hang],
        };
        let fixture = with_tools(None, AGENTS, insula_tools::BUILT_IN, hangs).await;
        let said = acts([search("a"), search("b"), search("c"), tell()]);
        let _turn = fixture.submit_locally("one", &said).await;
        fixture.upstream().requests(2).await;
        let Fixture { files, .. } = fixture;
        files
    });
    first.shutdown_timeout(Duration::from_secs(30));
    runtime().block_on(async {
        let script = |seen: &Seen, _: usize| play(seen);
        let fixture = with_tools(Some(files), AGENTS, insula_tools::BUILT_IN, script).await;
        let mut events = fixture.daemon.hub().listen(&AgentId::new("a").unwrap());
        fixture.engine.resume().await.unwrap();
        let ended = loop {
            let event = events.recv().await.unwrap();
            if let AgentEvent::Turn { event: TurnEvent::Ended(end), .. } = &*event {
                break end.clone();
            }
        };
        let TurnEnd::Replied { text, .. } = ended else { panic!("{ended:?}") };
        assert_eq!(refused(&text), [false, false, true], "{text}");
    });
}
