//! Servers that refuse what stands in a conversation: the messages after it are answered.

use crate::turns::support::{Fixture, build, calls, end, says, scripted, shown};
use insula_models::ToolSchema;
use insula_store::Part;
use insula_testkit::upstream::{Seen, Step, Upstream, answer, event_stream};
use insula_testkit::world;
use insula_turns::{Around, ClientCall, TurnEnd, Wishes};
use serde_json::{Value, json};

const PICTURE: &str = "data:image/png;base64,QUJDREVG";

fn no(status: u16, error: Value) -> Vec<Step> {
    vec![answer(status, &[("content-type", "application/json")], &error.to_string())]
}

fn nothing() -> Vec<Step> {
    event_stream([r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "[DONE]"])
}

fn body(seen: &Seen) -> String {
    String::from_utf8_lossy(&seen.body).into_owned()
}

/// Questions to a model, and no others.
fn asked(fixture: &Fixture) -> Vec<Seen> {
    let seen = fixture.upstream().seen().into_iter();
    seen.filter(|it| it.line.contains("chat/completions")).collect()
}

/// A daemon whose model is set up by `set`, in the words of the configuration.
async fn set_up(
    set: &str,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let url = upstream.url("/v1");
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: \"{url}\"{set}}}\nagents:\n  a: {{tools: minimal}}\n"
    );
    build(world, config, Some(upstream)).await
}

#[tokio::test]
async fn one_picture_that_is_refused_is_in_the_way_of_no_message_after_it() {
    for (status, words) in
        [(400, "Provider returned error"), (404, "No endpoints found that support image input")]
    {
        let fixture =
            set_up(", sees_images: true", move |seen, _| match body(seen).contains("QUJDREVG") {
                true => no(status, json!({ "error": { "message": words } })),
                false => says("ok"),
            })
            .await;
        let (mut inbound, _) = fixture.inbound("a", "one", "see");
        inbound.parts.push(Part::Image { source: PICTURE.into(), media_type: "image/png".into() });
        let ended = fixture.end(inbound).await;
        assert!(matches!(ended, TurnEnd::Replied { .. }), "{status} {ended:?}");
        let first = asked(&fixture).len();
        for text in ["next", "next2"] {
            assert_eq!(fixture.say("a", "one", text).await, "ok");
        }
        let all = asked(&fixture);
        assert_eq!(all.len(), first + 2, "it is not shown again");
        assert!(body(&all[first]).contains("a picture, image/png"));
        // Nor to who brings a conversation along, once it is known of the picture.
        let (mut inbound, _) = fixture.inbound("a", "two", "and?");
        let picture = Part::Image { source: PICTURE.into(), media_type: "image/png".into() };
        inbound.history = vec![(insula_store::Role::User, vec![picture])];
        let ended = end(fixture.engine.submit_once(inbound).await.unwrap()).await;
        assert!(matches!(ended, TurnEnd::Replied { .. }), "{status} {ended:?}");
        let again = asked(&fixture);
        assert_eq!(again.len(), all.len() + 1, "{status}");
        assert!(body(again.last().unwrap()).contains("a picture, image/png"));
    }
}

/// A llama.cpp with a window of 4,096 tokens that tells of it when it is too late.
fn small_window(seen: &Seen, tells: bool) -> Vec<Step> {
    if body(seen).len() < 14_000 {
        return says("ok");
    }
    let mut error = json!({ "code": 400, "message": "the request exceeds the available context size",
        "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096 });
    if !tells {
        error.as_object_mut().unwrap().remove("n_ctx");
    }
    no(400, json!({ "error": error }))
}

#[tokio::test]
async fn one_message_that_is_too_long_is_in_the_way_of_no_other() {
    for tells in [true, false] {
        let fixture = scripted(move |seen, _| small_window(seen, tells)).await;
        let ended = end(fixture.submit("one", &"bigx ".repeat(4_000)).await).await;
        let TurnEnd::Failed { error } = ended else { panic!("{ended:?}") };
        assert!(error.contains("too long") && error.contains("`/new`"), "{error}");
        let first = asked(&fixture).len();
        for _ in 0..3 {
            assert_eq!(fixture.say("a", "one", "short question").await, "ok");
        }
        let after = asked(&fixture).len() - first;
        if tells {
            assert_eq!((first, after <= 4), (1, true), "{first}, {after}: its window is known");
        }
    }
}

#[tokio::test]
async fn a_conversation_is_cut_to_the_window_that_a_refusal_names() {
    let fixture = scripted(|seen, _| small_window(seen, true)).await;
    for number in 0..8 {
        let text = format!("message {number} {}", "lorem ipsum dolor ".repeat(150));
        assert_eq!(fixture.say("a", "one", &text).await, "ok");
    }
}

#[tokio::test]
async fn an_answer_that_may_not_be_so_long_is_asked_to_be_shorter_and_not_twice() {
    let fixture = scripted(|seen, _| match seen.json()["max_tokens"].as_u64() {
        Some(tokens) if tokens > 4_096 => no(
            400,
            json!({ "error": { "message": format!("max_tokens is too large: {tokens}. This model supports at most 4096 completion tokens") } }),
        ),
        _ => says("ok"),
    })
    .await;
    for text in ["hello", "again"] {
        assert_eq!(fixture.say("a", "one", text).await, "ok");
    }
    let tokens: Vec<Value> =
        asked(&fixture).iter().map(|it| it.json()["max_tokens"].clone()).collect();
    assert_eq!(tokens[1..], [json!(4_096), json!(4_096)], "{tokens:?}");
}

#[tokio::test]
async fn a_model_that_says_nothing_leaves_the_word_to_the_next() {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, |seen, _| match seen.line.contains("first") {
        true => nothing(),
        false => says("from the second"),
    })
    .await
    .unwrap();
    let (first, second) = (upstream.url("/first"), upstream.url("/second"));
    let config = format!(
        "model: [first/one, second/two]\nproviders:\n  first: {{kind: openai, base_url: \"{first}\"}}\n  second: {{kind: openai, base_url: \"{second}\"}}\nagents:\n  a: {{tools: minimal}}\n"
    );
    let fixture = build(world, config, Some(upstream)).await;
    assert_eq!(fixture.say("a", "one", "hello").await, "from the second");
    let models: Vec<Value> = asked(&fixture).iter().map(|it| it.json()["model"].clone()).collect();
    assert_eq!(models, ["one", "one", "two"]);
    assert!(!body(asked(&fixture).last().unwrap()).contains("your last answer was empty"));
}

const WEATHER: &str = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}"#;

async fn handed(written: &'static str) -> (Vec<ClientCall>, Vec<Seen>) {
    let fixture = scripted(move |_, number| match number {
        0 => calls("c", "get_weather", written),
        _ => calls("d", "get_weather", r#"{"city":"Paris"}"#),
    })
    .await;
    let (inbound, _) = fixture.inbound("a", "one", "weather?");
    let tool = ToolSchema::new("get_weather", "The weather.", WEATHER).unwrap();
    let wishes = Wishes { tools: [tool].into(), ..Wishes::default() };
    let around = Around { wishes, ..Around::default() };
    let ended = end(fixture.engine.submit_with(inbound, around).await.unwrap()).await;
    let TurnEnd::Replied { calls, .. } = ended else { panic!("{ended:?}") };
    (calls, asked(&fixture))
}

#[tokio::test]
async fn what_a_callers_tool_is_called_with_is_mended_by_its_schema() {
    for (written, meant) in [
        (r#"{"city":"Rome",}"#, r#"{"city":"Rome"}"#),
        ("{'city':'Rome'}", r#"{"city":"Rome"}"#),
        (r#""{\"city\":\"Rome\"}""#, r#"{"city":"Rome"}"#),
        (r#"{"city":"Rome","days":"3"}"#, r#"{"city":"Rome","days":3}"#),
        (r#"{"city":"Rome","days":3}"#, r#"{"city":"Rome","days":3}"#),
    ] {
        let (calls, asked) = handed(written).await;
        assert_eq!((calls.len(), asked.len()), (1, 1), "{written}");
        assert_eq!(calls[0].arguments, meant, "{written}");
    }
}

#[tokio::test]
async fn a_call_of_a_callers_tool_that_lacks_something_goes_back_to_the_model() {
    for (written, what) in [("{}", "lack `city`"), ("Rome, please", "not a JSON object")] {
        let (calls, asked) = handed(written).await;
        assert_eq!(calls[0].arguments, r#"{"city":"Paris"}"#, "{written}");
        let told = shown(&asked[1]);
        assert!(told.last().unwrap().1.contains(what), "{told:?}");
    }
}

#[tokio::test]
async fn a_call_that_lacks_the_same_again_and_again_ends_its_turn() {
    let fixture = scripted(|_, number| calls(&format!("c{number}"), "get_weather", "{}")).await;
    let (inbound, _) = fixture.inbound("a", "one", "weather?");
    let tool = ToolSchema::new("get_weather", "The weather.", WEATHER).unwrap();
    let wishes = Wishes { tools: [tool].into(), ..Wishes::default() };
    let around = Around { wishes, ..Around::default() };
    let ended = end(fixture.engine.submit_with(inbound, around).await.unwrap()).await;
    let TurnEnd::Failed { error } = ended else { panic!("{ended:?}") };
    assert!(error.contains("again and again"), "{error}");
    assert_eq!(asked(&fixture).len(), 4);
}
