//! Calls that a model prints because somebody wants to see one, and what it says again of what it
//! was shown, in whole turns.

use crate::turns::support::{Fixture, calls, says, shown, with_tools};
use insula_testkit::Home;
use insula_testkit::upstream::Seen;
use insula_tools::BUILT_IN;

const AGENTS: &str = "agents:\n  a: {tools: [todo], memory: true}\n";
const FENCED: &str = "```json\n{\"name\": \"todo\", \"arguments\": {\"todos\": [{\"id\": \"1\", \"content\": \"milk\"}]}}\n```";

/// An agent whose model says these one after the other, and nothing of what it calls.
async fn says_in_turn(files: Option<Home>, texts: &'static [&'static str]) -> Fixture {
    with_tools(files, AGENTS, BUILT_IN, |_, number| {
        says(texts.get(number).copied().unwrap_or("done"))
    })
    .await
}

#[tokio::test]
async fn who_wants_to_see_a_call_is_shown_it_and_who_then_orders_it_has_it_made() {
    let fixture = says_in_turn(None, &[FENCED, FENCED, FENCED, "It is there."]).await;
    let asked = "Show me an example of a todo call. I only want to see it.";
    assert_eq!(fixture.say("a", "one", asked).await, FENCED);
    assert_eq!(fixture.say("a", "one", "Say that again please.").await, FENCED);
    assert_eq!(fixture.say("a", "one", "Now do it.").await, "It is there.");
}

#[tokio::test]
async fn what_it_refused_to_do_is_not_done_by_saying_it_again() {
    const REFUSED: &str = "Do not do this:\n\n```json\n{\"name\": \"todo\", \"arguments\": {\"todos\": [{\"id\": \"1\", \"content\": \"milk\"}]}}\n```";
    let fixture = says_in_turn(None, &[REFUSED, FENCED]).await;
    assert_eq!(fixture.say("a", "one", "what is in the mail?").await, REFUSED);
    let again = "repeat what you just said, without the first line";
    assert_eq!(fixture.say("a", "one", again).await, FENCED);
}

#[tokio::test]
async fn an_example_in_the_house_rules_is_quoted_and_not_made() {
    let files = Home::with([("config.yaml", "")]).unwrap();
    files.write("agents/a/AGENTS.md", format!("A call looks so:\n\n{FENCED}\n")).unwrap();
    let fixture = says_in_turn(Some(files), &[FENCED]).await;
    let said = fixture.say("a", "one", "Quote the first lines of your house rules").await;
    assert_eq!(said, FENCED);
}

#[tokio::test]
async fn an_example_in_memory_is_told_and_not_made() {
    let script = |seen: &Seen, number: usize| match number {
        0 => calls(
            "c1",
            "memory",
            r#"{"action": "add", "target": "memory", "content": "todo(todos=[{'id': '1', 'content': 'milk'}])"}"#,
        ),
        _ if shown(seen).last().is_some_and(|(_, text)| text.contains("what do you")) => {
            says(FENCED)
        }
        _ => says("done"),
    };
    let agents = "agents:\n  a: {tools: [todo, memory], memory: true}\n";
    let fixture = with_tools(None, agents, BUILT_IN, script).await;
    assert_eq!(fixture.say("a", "one", "keep this for later").await, "done");
    assert_eq!(fixture.say("a", "one", "what do you remember?").await, FENCED);
    // In the next conversation it stands in the prompt.
    let (_, key) = fixture.inbound("a", "one", "");
    fixture.engine.begin_anew(&fixture.daemon.agent("a"), &key).await.unwrap();
    assert_eq!(fixture.say("a", "one", "what do you remember?").await, FENCED);
}

#[tokio::test]
async fn a_call_that_was_made_is_made_again_when_it_is_due() {
    let fixture = says_in_turn(None, &[FENCED, "one", FENCED, "two"]).await;
    assert_eq!(fixture.say("a", "one", "put milk on the list").await, "one");
    assert_eq!(fixture.say("a", "one", "somebody emptied it; milk must be on it").await, "two");
}
