//! Tools of whoever asks: their calls end the turn, and what came of them goes on with it.

use crate::turns::support::{Fixture, build, calls, end, says, scripted};
use insula_domain::{Label, SessionKey};
use insula_models::{ToolChoice, ToolSchema};
use insula_store::{IdempotencyKey, Part, Role};
use insula_testkit::model::{calls_all, configured};
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::world;
use insula_turns::{
    Around, ClientCall, ClientResult, Inbound, SubmitError, TurnEnd, TurnEvent, TurnHandle, Wishes,
};

fn wishes() -> Wishes {
    let tool = ToolSchema::new("lookup", "Looks up.", r#"{"type":"object"}"#).unwrap();
    Wishes { tools: [tool].into(), ..Wishes::default() }
}

/// A model that calls the caller's tool first, and then says how often it was asked.
fn looks_up(_: &Seen, number: usize) -> Vec<Step> {
    match number {
        0 => calls("c", "lookup", "{}"),
        _ => says(&format!("answer {number}")),
    }
}

async fn handed(handle: TurnHandle) -> Vec<ClientCall> {
    match end(handle).await {
        TurnEnd::Replied { calls, .. } => calls,
        other => panic!("{other:?}"),
    }
}

fn result(call: &ClientCall, text: &str) -> ClientResult {
    ClientResult { call: call.id.clone(), name: call.name.clone(), text: text.to_owned() }
}

impl Fixture {
    async fn ask_with(&self, chat: &str, text: &str) -> (Vec<ClientCall>, SessionKey) {
        let (inbound, key) = self.inbound("a", chat, text);
        let around = Around { wishes: wishes(), ..Around::default() };
        (handed(self.engine.submit_with(inbound, around).await.unwrap()).await, key)
    }

    fn bringing(&self, chat: &str, text: &str) -> Inbound {
        let (mut inbound, _) = self.inbound("a", chat, text);
        inbound.parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        inbound
    }

    async fn bring(
        &self,
        inbound: Inbound,
        results: Vec<ClientResult>,
    ) -> Result<TurnHandle, SubmitError> {
        self.engine.submit_with(inbound, Around { results, ..Around::default() }).await
    }
}

fn roles(shown: &Seen) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_slice(&shown.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|it| it["role"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn words_where_a_call_is_demanded_are_sent_back_once_and_taken_then() {
    for choice in [ToolChoice::Required, ToolChoice::Tool("lookup".into())] {
        for calls_then in [true, false] {
            let fixture = scripted(move |_, number| match number {
                0 => says("I would rather talk"),
                _ if calls_then => calls("c", "lookup", "{}"),
                _ => says("no"),
            })
            .await;
            let (inbound, _) = fixture.inbound("a", "one", "look");
            let wishes = Wishes { choice: choice.clone(), ..wishes() };
            let around = Around { wishes, ..Around::default() };
            let mut handle = fixture.engine.submit_with(inbound, around).await.unwrap();
            let mut said = String::new();
            let ended = loop {
                match handle.events.recv().await.unwrap() {
                    TurnEvent::Text(text) => said += &text,
                    TurnEvent::Ended(end) => break end,
                    _ => {}
                }
            };
            let TurnEnd::Replied { text, calls, .. } = ended else { panic!("{ended:?}") };
            assert_eq!((&*text, calls.len()), if calls_then { ("", 1) } else { ("no", 0) });
            assert!(!said.contains("rather"), "words that are sent back are for nobody: {said}");
            let asked = fixture.upstream().seen();
            assert_eq!(asked.len(), 2);
            let told = String::from_utf8_lossy(&asked[1].body).into_owned();
            assert!(told.contains("wants a call of one of these tools"), "{told}");
            assert!(told.contains("tool_choice"), "{told}");
        }
    }
}

#[tokio::test]
async fn what_came_of_a_call_is_taken_once_however_many_bring_it() {
    let fixture = scripted(looks_up).await;
    let (calls, key) = fixture.ask_with("one", "look").await;
    assert_eq!((calls.len(), &*calls[0].name), (1, "lookup"));
    let bring = || fixture.bring(fixture.bringing("one", ""), vec![result(&calls[0], "found")]);
    let (first, second) = tokio::join!(bring(), bring());
    let (taken, refused) = match (first, second) {
        (Ok(taken), Err(refused)) | (Err(refused), Ok(taken)) => (taken, refused),
        (first, second) => panic!("{} {}", first.is_ok(), second.is_ok()),
    };
    assert!(matches!(refused, SubmitError::NotWaiting { .. }), "{refused}");
    end(taken).await;
    let expected = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(fixture.roles(&key).await, expected);
    // And what was never asked for is not taken at all.
    let made_up = ClientResult { call: "x".into(), name: "lookup".into(), text: String::new() };
    let refused = fixture.bring(fixture.bringing("one", ""), vec![made_up]).await;
    assert!(matches!(refused, Err(SubmitError::NotWaiting { .. })));
    assert_eq!(fixture.roles(&key).await, expected);
}

#[tokio::test]
async fn the_same_key_is_the_same_turn_also_with_results() {
    let fixture = scripted(looks_up).await;
    let (calls, _) = fixture.ask_with("one", "look").await;
    let bring = || {
        let mut inbound = fixture.bringing("one", "");
        let (who, key) = ("ann".into(), "k".into());
        inbound.idempotency = Some(IdempotencyKey { who, key, request: [1; 32] });
        fixture.bring(inbound, vec![result(&calls[0], "found")])
    };
    let first = bring().await.unwrap();
    let turn = first.turn;
    end(first).await;
    match bring().await {
        Err(SubmitError::Known { turn: known, .. }) => assert_eq!(known, turn),
        other => panic!("{}", other.is_ok()),
    }
}

#[tokio::test]
async fn results_and_words_make_one_turn_whether_the_window_is_kept_or_read_again() {
    for is_kept in [true, false] {
        let fixture = scripted(looks_up).await;
        let (calls, key) = fixture.ask_with("one", "look").await;
        let agent = fixture.daemon.agent("a");
        if !is_kept {
            fixture.engine.drop_window(&agent, &key).await.unwrap();
        }
        let inbound = fixture.bringing("one", "and be brief");
        end(fixture.bring(inbound, vec![result(&calls[0], "found")]).await.unwrap()).await;
        fixture.say("a", "one", "and now?").await;
        fixture.engine.drop_window(&agent, &key).await.unwrap();
        fixture.say("a", "one", "and then?").await;
        let seen = fixture.upstream().seen();
        let first = roles(&seen[1]);
        assert_eq!(first[..4], ["system", "user", "assistant", "tool"]);
        assert_eq!(first.last().unwrap(), "user", "{first:?}");
        assert!(roles(&seen[2]).starts_with(&first), "as it was, so it is");
        assert!(roles(&seen[3]).starts_with(&first), "as it was, so it is read");
        assert!(fixture.engine.retry(fixture.inbound("a", "one", "").0).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn what_came_of_a_call_is_foreign_unless_its_tool_is_trusted() {
    for (trusted, sources) in [("[]", "client:lookup"), ("[\"client:lookup\"]", "own")] {
        let (world, _handles) = world(7);
        let upstream = Upstream::start(&world, looks_up).await.unwrap();
        let agents =
            format!("agents:\n  a: {{tools: [todo], integrity: {{trusted: {trusted}}}}}\n");
        let config = configured(&upstream, "model", &agents);
        let fixture = build(world, config, Some(upstream)).await;
        let (calls, key) = fixture.ask_with("one", "look").await;
        let inbound = fixture.bringing("one", "");
        end(fixture.bring(inbound, vec![result(&calls[0], "found it")]).await.unwrap()).await;
        let messages = fixture.messages(&key).await;
        let reply = messages.last().unwrap();
        let label: Label = reply.label.parse().unwrap();
        assert_eq!(label.integrity().to_string(), sources, "{trusted}");
        let Part::ToolResult { text, untrusted, .. } = &messages[2].parts[0] else { panic!() };
        let is_foreign = sources != "own";
        assert_eq!(*untrusted, is_foreign);
        assert_eq!(text.contains("<untrusted"), is_foreign, "{text}");
        assert!(text.contains("found it"));
        // The turn that asked was its caller's own.
        let label: Label = messages[1].label.parse().unwrap();
        assert!(label.integrity().is_own());
    }
}

#[tokio::test]
async fn what_is_brought_again_is_the_same_prompt() {
    let fixture = scripted(|_, _| says("fine")).await;
    for chat in ["one", "two"] {
        let (mut inbound, _) = fixture.inbound("a", chat, "and?");
        let call = Part::ToolCall {
            id: "call00001".into(),
            name: insula_turns::client::journalled("lookup"),
            arguments: "{}".to_owned(),
        };
        let brought = Part::ToolResult {
            call: "call00001".into(),
            text: "found".to_owned(),
            is_error: false,
            untrusted: false,
        };
        inbound.history = vec![
            (Role::User, vec![Part::Text("look".to_owned())]),
            (Role::Assistant, vec![call]),
            (Role::Tool, vec![brought]),
        ];
        fixture.end(inbound).await;
    }
    let bodies: Vec<serde_json::Value> = fixture
        .upstream()
        .seen()
        .iter()
        .map(|seen| serde_json::from_slice(&seen.body).unwrap())
        .collect();
    assert_eq!(bodies[0]["messages"], bodies[1]["messages"]);
    assert!(bodies[0]["messages"].to_string().contains("client lookup"), "{}", bodies[0]);
}

#[tokio::test]
async fn the_agent_does_its_own_before_it_hands_over_and_a_question_comes_first() {
    let todo = r#"{"todos":[{"id":"1","content":"x","status":"pending"}]}"#;
    let both = move |_: &Seen, _: usize| {
        let own = ("own".to_owned(), "todo".to_owned(), todo.to_owned());
        let theirs = ("theirs".to_owned(), "lookup".to_owned(), "{}".to_owned());
        calls_all([theirs, own].into_iter())
    };
    let fixture = scripted(both).await;
    let (calls, key) = fixture.ask_with("one", "both").await;
    assert_eq!(calls.len(), 1);
    let expected = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(fixture.roles(&key).await, expected);
    let asks = |_: &Seen, _: usize| {
        let own = ("own".to_owned(), "clarify".to_owned(), r#"{"question":"which?"}"#.to_owned());
        let theirs = ("theirs".to_owned(), "lookup".to_owned(), "{}".to_owned());
        calls_all([theirs, own].into_iter())
    };
    let fixture = scripted(asks).await;
    let (inbound, _) = fixture.inbound("a", "one", "both");
    let around = Around { wishes: wishes(), ..Around::default() };
    match end(fixture.engine.submit_with(inbound, around).await.unwrap()).await {
        TurnEnd::Replied { text, calls, .. } => {
            assert!(text.contains("which?") && calls.is_empty(), "{text} {calls:?}");
        }
        other => panic!("{other:?}"),
    }
}
