//! Trying again, and trying elsewhere.

use crate::support::{Bench, LIMITS, bench, events, hello};
use insula_models::{
    Answer, Answering, Chain, Event, Kind, Link, ModelFault, NoAnswer, ProviderSpec, Providers,
    RetryPolicy, stream_with_retries,
};
use insula_testkit::Upstream;
use insula_testkit::upstream::{Step, answer, event_stream};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const POLICY: RetryPolicy = RetryPolicy {
    attempts_max: 3,
    backoff_first: Duration::from_secs(1),
    backoff_max: Duration::from_secs(8),
    wait_total_max: Duration::from_secs(30),
};

const HI: &str = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
const BOOM: &str = r#"{"error":{"message":"boom","code":503}}"#;

fn good() -> Vec<Step> {
    event_stream([HI, "[DONE]"])
}

async fn retried(bench: &Bench, upstream: &Upstream, kind: Kind) -> Result<Answer, ModelFault> {
    let provider = bench.provider(kind, &upstream.url(""));
    let mut random = bench.world.random.stream(&["test"]);
    let cancel = CancellationToken::new();
    let clock = &*bench.world.clock;
    let request = hello();
    let asked =
        stream_with_retries(&*provider, &request, &LIMITS, &cancel, &POLICY, clock, &mut random);
    let mut stream = asked.await.map_err(|error| error.fault)?;
    Answer::collect(&mut stream).await.map_err(|error| error.fault)
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_and_retry_after_is_honoured() {
    for (first, least_s, most_s) in [
        (vec![answer(429, &[("retry-after", "7")], "")], 7, 9),
        (vec![answer(503, &[("retry-after", "Thu, 01 Jan 2026 00:00:20 GMT")], "")], 20, 22),
        (vec![answer(500, &[], "")], 0, 4),
        (vec![Step::Close], 0, 4),
        (event_stream([BOOM]), 0, 4),
        (event_stream([]), 0, 4),
    ] {
        let bench = bench();
        let upstream =
            bench.upstream(move |_, number| if number == 0 { first.clone() } else { good() }).await;
        let answer = retried(&bench, &upstream, Kind::OpenAi).await.unwrap();
        assert_eq!(answer.text(), "hi");
        assert_eq!(upstream.seen().len(), 2);
        let seconds = bench.world.clock.elapsed().as_secs();
        assert!((least_s..=most_s).contains(&seconds), "{seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_end_and_what_does_not_pass_is_not_tried_again() {
    for (status, headers, attempts) in [
        (500, vec![], 3),
        (400, vec![], 1),
        (401, vec![], 1),
        // Longer than we are ready to wait: given up at once.
        (429, vec![("retry-after", "31")], 1),
    ] {
        let bench = bench();
        let upstream = bench.upstream(move |_, _| vec![answer(status, &headers, "")]).await;
        retried(&bench, &upstream, Kind::OpenAi).await.unwrap_err();
        assert_eq!(upstream.seen().len(), attempts, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn once_a_word_was_passed_on_nothing_is_tried_again() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| event_stream([HI, BOOM])).await;
    let fault = retried(&bench, &upstream, Kind::OpenAi).await.unwrap_err();
    assert!(matches!(fault, ModelFault::Overloaded { .. }));
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_figure_of_usage_is_not_yet_an_answer() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":5}}}"#;
    let busy = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let hi =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let bench = bench();
    let upstream = bench
        .upstream(move |_, number| match number {
            0 => event_stream([start, busy]),
            _ => event_stream([start, hi, stop]),
        })
        .await;
    let answer = retried(&bench, &upstream, Kind::Anthropic).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.input), ("hi", 5));
}

/// A chain over one server: the path tells the provider, the script its fate.
async fn chained(
    bench: &Bench,
    fates: &'static [(&'static str, u16)],
) -> (Result<Answering, NoAnswer>, Vec<String>) {
    let upstream = bench
        .upstream(|seen, _| {
            let fate = fates.iter().find(|(name, _)| seen.line.contains(name)).unwrap().1;
            if fate == 200 { good() } else { vec![answer(fate, &[], "")] }
        })
        .await;
    let specs: Vec<ProviderSpec> = fates
        .iter()
        .map(|(name, _)| {
            let mut spec = ProviderSpec::new(*name, Kind::OpenAi);
            spec.base_url = Some(upstream.url(&format!("/{name}")));
            spec
        })
        .collect();
    let (providers, faults) = Providers::build(&bench.transport, &specs);
    assert!(faults.is_empty());
    let mut links: Vec<Link> = fates
        .iter()
        .map(|(name, _)| providers.resolve(&format!("{name}/of/{name}")).unwrap())
        .collect();
    let chain = Chain::new(links.remove(0), links, POLICY);
    let mut random = bench.world.random.stream(&["test"]);
    let cancel = CancellationToken::new();
    let request = hello();
    let clock = &*bench.world.clock;
    let asked = chain.stream(&request, &LIMITS, &cancel, clock, &mut random).await;
    let seen = upstream.seen();
    let models = seen.iter().map(|seen| seen.json()["model"].as_str().unwrap().to_owned());
    (asked, models.collect())
}

#[tokio::test(start_paused = true)]
async fn a_chain_goes_on_in_order_and_says_why() {
    let bench = bench();
    let fates = &[("aa", 401), ("bb", 404), ("cc", 500), ("dd", 200), ("ee", 200)];
    let (asked, models) = chained(&bench, fates).await;
    let mut answering = asked.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(answering.link.to_string(), "dd/of/dd");
    assert_eq!(models, ["of/aa", "of/bb", "of/cc", "of/cc", "of/cc", "of/dd"]);
    let why: Vec<String> = answering
        .passed_over
        .iter()
        .map(|error| format!("{}/{}", error.provider, error.model))
        .collect();
    assert_eq!(why, ["aa/of/aa", "bb/of/bb", "cc/of/cc"]);
    let (events, error) = events(&mut answering.stream).await;
    assert!(error.is_none());
    assert_eq!(events[0], Event::TextDelta("hi".into()));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_is_offered_to_the_next() {
    let bench = bench();
    let (asked, models) =
        chained(&bench, &[("aa", 400), ("bb", 302), ("cc", 413), ("dd", 200)]).await;
    let answering = asked.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((answering.link.to_string().as_str(), answering.place), ("dd/of/dd", 3));
    assert_eq!(models, ["of/aa", "of/bb", "of/cc", "of/dd"]);
}

#[tokio::test(start_paused = true)]
async fn when_nobody_answers_what_can_be_helped_is_said_first() {
    let bench = bench();
    let (asked, _) = chained(&bench, &[("aa", 401), ("bb", 413), ("cc", 400)]).await;
    let Err(error) = asked else { panic!("answered") };
    assert_eq!(
        error.to_string(),
        "model `bb/of/bb`: the conversation is too long for this model; \
         besides, model `aa/of/aa`: the provider refused the key (401); \
         besides, model `cc/of/cc`: the provider refused the request (400)"
    );
    let (asked, _) = chained(&bench, &[("aa", 401), ("bb", 400)]).await;
    let Err(error) = asked else { panic!("answered") };
    assert!(matches!(error.error.fault, ModelFault::Refused { status: 400, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_wait_for_another_attempt() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| vec![answer(429, &[("retry-after", "25")], "")]).await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url(""));
    let cancel = CancellationToken::new();
    let (token, world) = (cancel.clone(), bench.world.clone());
    let task = tokio::spawn(async move {
        let mut random = world.random.stream(&["test"]);
        let request = hello();
        let clock = &*world.clock;
        stream_with_retries(&*provider, &request, &LIMITS, &token, &POLICY, clock, &mut random)
            .await
            .map(|_| ())
    });
    upstream.requests(1).await;
    bench.world.clock.sleep(Duration::from_secs(5)).await;
    cancel.cancel();
    assert_eq!(task.await.unwrap().unwrap_err().fault, ModelFault::Cancelled);
    assert!(bench.world.clock.elapsed() < Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn names_lead_to_providers_and_rehearsal_is_always_there() {
    let bench = bench();
    let mut specs = vec![
        ProviderSpec::new("openai", Kind::OpenAi),
        ProviderSpec::new("nowhere", Kind::OpenAi),
        ProviderSpec::new("ollama", Kind::Ollama),
        ProviderSpec::new("ollama", Kind::Ollama),
    ];
    specs[1].api_key = Some("key".into());
    let (providers, faults) = Providers::build(&bench.transport, &specs);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "provider `openai` needs an api_key",
            "provider `nowhere` needs a base_url",
            "there are two providers named `ollama`",
        ]
    );
    assert_eq!(providers.names().collect::<Vec<_>>(), ["ollama", "rehearsal"]);
    assert_eq!(providers.resolve("rehearsal").unwrap().to_string(), "rehearsal/rehearsal");
    assert_eq!(providers.resolve("ollama/hf.co/a/b:c").unwrap().to_string(), "ollama/hf.co/a/b:c");
    assert_eq!(
        providers.resolve("other/x").unwrap_err().to_string(),
        "no provider `other` for the model `other/x`; there are: ollama, rehearsal"
    );
    for bad in ["", "gpt", "/x", "ollama/"] {
        providers.resolve(bad).unwrap_err();
    }
    let link = providers.resolve("rehearsal").unwrap();
    let mut stream =
        link.provider.stream(&hello(), &LIMITS, &CancellationToken::new()).await.unwrap();
    assert!(Answer::collect(&mut stream).await.unwrap().text().contains("practice model"));
}
