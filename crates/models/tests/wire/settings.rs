//! What an operator sets for a provider and its models, as it goes over the wire; and what servers
//! tell of themselves.

use crate::support::{KEY, LIMITS, ask, bench, hello};
use insula_models::{
    Effort, Kind, Message, ModelFault, ModelOptions, Phase, Provider, ProviderSpec, Request,
    Sampling, TimeoutOptions,
};
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer, event_stream};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const OK: &str = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;

fn good() -> Vec<Step> {
    event_stream([OK, "[DONE]"])
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn of(model: &str) -> Request {
    Request { model: model.into(), ..hello() }
}

#[tokio::test(start_paused = true)]
async fn what_is_set_for_a_model_comes_before_what_is_set_for_all() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| good()).await;
    let mut spec = ProviderSpec::new("test", Kind::OpenAi);
    spec.base_url = Some(upstream.url("/v1"));
    spec.options = ModelOptions {
        max_tokens: Some(100),
        sampling: Sampling { temperature: Some(0.5), min_p: Some(0.25), ..Sampling::default() },
        headers: vec![("x-all".into(), "all".into()), ("x-which".into(), "all".into())],
        extra_body: object(json!({"chat_template_kwargs": {"a": 1}})),
        ..ModelOptions::default()
    };
    let own = ModelOptions {
        max_tokens: Some(7),
        effort: Some(Effort::Low),
        headers: vec![("x-which".into(), "one".into())],
        extra_body: object(json!({"chat_template_kwargs": {"b": 2}, "max_tokens": 8})),
        ..ModelOptions::default()
    };
    spec.models.insert("one".into(), own);
    let provider = spec.build(&bench.transport).unwrap();
    ask(&*provider, &of("one")).await.unwrap();
    ask(&*provider, &of("other")).await.unwrap();
    let seen = upstream.seen();
    let (one, other) = (seen[0].json(), seen[1].json());
    assert_eq!(one["max_tokens"], 8, "what is added comes last");
    assert_eq!(one["chat_template_kwargs"], json!({"a": 1, "b": 2}));
    assert_eq!((&one["temperature"], &one["min_p"]), (&json!(0.5), &json!(0.25)));
    assert_eq!(one["reasoning_effort"], "low");
    assert_eq!(other["max_tokens"], 100);
    assert!(other.get("reasoning_effort").is_none(), "{other}");
    let which = |seen: &Seen| seen.header("x-which").map(str::to_owned);
    assert_eq!(which(&seen[0]).as_deref(), Some("one"));
    assert_eq!(which(&seen[1]).as_deref(), Some("all"));
    assert_eq!(seen[0].header("x-all"), Some("all"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_an_end_though_nobody_set_one() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| good()).await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    ask(&*provider, &hello()).await.unwrap();
    let asked = upstream.seen()[0].json();
    assert!(asked["max_tokens"].as_u64().is_some_and(|it| (256..=8_192).contains(&it)), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn one_whose_thoughts_used_it_up_has_twice_the_room_within_the_window_and_what_is_set() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| good()).await;
    let longer = Request { has_more_room: true, ..hello() };
    let full = "x".repeat(3 * 30_000);
    let full = Request { has_more_room: true, ..Request::new("small", vec![Message::user(full)]) };
    let told = Request { max_tokens: Some(50), ..longer.clone() };
    let asked = async |set: Option<u32>, request: &Request| {
        let mut spec = ProviderSpec::new("test", Kind::OpenAi);
        spec.base_url = Some(upstream.url("/v1"));
        spec.options = ModelOptions { max_tokens: set, ..ModelOptions::default() };
        spec.options.context_window = Some(32_000);
        let provider = spec.build(&bench.transport).unwrap();
        ask(&*provider, request).await.unwrap();
        upstream.seen().last().unwrap().json()["max_tokens"].as_u64().unwrap()
    };
    assert_eq!(asked(None, &hello()).await, 6_400);
    assert_eq!(asked(None, &longer).await, 12_800);
    assert_eq!(asked(None, &full).await, 6_400, "no more than there is beside the question");
    assert_eq!(asked(Some(100), &longer).await, 100);
    assert_eq!(asked(Some(100), &told).await, 50);
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_waited_for_as_long_as_is_set() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| vec![Step::Hang]).await;
    let mut spec = ProviderSpec::new("test", Kind::OpenAi);
    spec.base_url = Some(upstream.url("/v1"));
    let first_byte = Some(Duration::from_secs(7));
    spec.options.timeouts = TimeoutOptions { first_byte, ..TimeoutOptions::default() };
    let provider = spec.build(&bench.transport).unwrap();
    let error = provider.stream(&hello(), &LIMITS, &CancellationToken::new()).await.err().unwrap();
    let waited = Duration::from_secs(7);
    assert_eq!(error.fault, ModelFault::TimedOut { phase: Phase::FirstByte, waited });
}

async fn telling(
    kind: Kind,
    path: &str,
    tell: fn(&str) -> Option<Value>,
) -> (Upstream, Arc<dyn Provider>) {
    let bench = bench();
    let script = move |seen: &Seen, _| {
        let path = seen.line.split(' ').nth(1).unwrap_or_default();
        match tell(path) {
            Some(told) => vec![answer(200, &[], &told.to_string())],
            None if path.ends_with("/completions") => good(),
            None => vec![answer(404, &[], "")],
        }
    };
    let upstream = Upstream::start_telling(&bench.world, script).await.unwrap();
    let mut spec = ProviderSpec::new("test", kind);
    spec.base_url = Some(upstream.url(path));
    spec.api_key = Some(KEY.into());
    let provider = spec.build(&bench.transport).unwrap();
    (upstream, provider)
}

#[tokio::test(start_paused = true)]
async fn a_window_is_asked_once_of_a_server_that_tells() {
    let (upstream, provider) = telling(Kind::OpenAi, "/v1", |path| match path {
        "/v1/models" => Some(json!({"data": [{"id": "q.gguf", "owned_by": "llamacpp",
            "meta": {"n_ctx_train": 131072}}]})),
        "/props" => Some(json!({"default_generation_settings": {"n_ctx": 6000},
            "modalities": {"vision": true}})),
        _ => None,
    })
    .await;
    let abilities = provider.abilities("small", "").await;
    assert_eq!((abilities.window, abilities.sees_images), (6_000, true));
    assert_eq!(provider.abilities("small", "").await, abilities);
    ask(&*provider, &of("small")).await.unwrap();
    let lines: Vec<String> = upstream.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines, ["GET /v1/models", "GET /props", "POST /v1/chat/completions"]);
    let asked = upstream.seen()[2].json();
    assert_eq!(asked["max_tokens"], 1_200, "an answer leaves room for the question");
    assert!(upstream.seen().iter().all(|seen| seen.header("authorization").is_some()));
}

#[tokio::test(start_paused = true)]
async fn vllm_lm_studio_and_ollama_tell_in_their_own_ways() {
    let (_upstream, provider) = telling(Kind::OpenAi, "/v1", |path| {
        (path == "/v1/models").then(|| {
            json!({"data": [
            {"id": "a", "owned_by": "vllm", "max_model_len": 4096},
            {"id": "b", "owned_by": "vllm", "max_model_len": 8192}]})
        })
    })
    .await;
    assert_eq!(provider.abilities("b", "").await.window, 8_192);
    let (_upstream, provider) = telling(Kind::OpenAi, "/v1", |path| match path {
        "/v1/models" => Some(json!({"data": [{"id": "a", "owned_by": "organization_owner"}]})),
        "/api/v0/models" => Some(json!({"data": [{"id": "a", "type": "llm",
            "loaded_context_length": 5000}]})),
        _ => None,
    })
    .await;
    assert_eq!(provider.abilities("a", "").await.window, 5_000);
    let (upstream, provider) = telling(Kind::Ollama, "", |path| {
        (path == "/api/show").then(|| json!({"model_info": {"x.context_length": 9000}}))
    })
    .await;
    assert_eq!(provider.abilities("a", "").await.window, 9_000);
    assert_eq!(upstream.seen()[0].json(), json!({"model": "a"}));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_tells_nothing_or_nonsense_is_like_any_other() {
    let known = insula_models::context_window("small");
    for told in
        [json!({"data": "x"}), json!([]), json!({"data": [{"id": "small", "max_model_len": -3}]})]
    {
        let bench = bench();
        let body = told.to_string();
        let script = move |_: &Seen, _| vec![answer(200, &[], &body)];
        let upstream = Upstream::start_telling(&bench.world, script).await.unwrap();
        let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
        assert_eq!(provider.abilities("small", "").await.window, known, "{told}");
    }
    // One that hangs is not waited for, and not asked again at once.
    let bench = bench();
    let upstream = Upstream::start_telling(&bench.world, |_, _| vec![Step::Hang]).await.unwrap();
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    assert_eq!(provider.abilities("small", "").await.window, known);
    assert_eq!(provider.abilities("small", "").await.window, known);
    assert_eq!(upstream.seen().len(), 1);
    // What its operator says is not asked.
    let mut spec = ProviderSpec::new("test", Kind::OpenAi);
    spec.base_url = Some(upstream.url("/v1"));
    spec.options.context_window = Some(1_234);
    let provider = spec.build(&bench.transport).unwrap();
    assert_eq!(provider.abilities("small", "").await.window, 1_234);
    assert_eq!(upstream.seen().len(), 1);
}
