//! Everything that goes wrong: each a clear error, and the next request is fine.

use crate::support::{KEY, LIMITS, ask, begin, bench, events, hello};
use insula_models::{
    EVENT_LEN_MAX, Event, Kind, ModelError, ModelFault, Phase, Provider, ProviderSpec, Request,
};
use insula_testkit::upstream::{Step, answer, chunk, end, event_stream, head};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const HI: &str = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;

fn good() -> Vec<Step> {
    event_stream([HI, "[DONE]"])
}

fn same_kind(fault: &ModelFault, expected: &str) -> bool {
    format!("{fault:?}").starts_with(expected)
}

/// Asks a server that first answers `steps` and then well. The error of the first, after
/// checking that the second is fine and that the key is nowhere.
async fn spoilt(steps: Vec<Step>) -> ModelError {
    let bench = bench();
    let upstream =
        bench.upstream(move |_, number| if number == 0 { steps.clone() } else { good() }).await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url(""));
    let error = ask(&*provider, &hello()).await.unwrap_err();
    assert_eq!(ask(&*provider, &hello()).await.unwrap().text(), "hi");
    for shown in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!shown.contains(KEY), "{shown}");
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
    assert!(error.to_string().starts_with("model `test/small`: "), "{error}");
    error
}

#[tokio::test(start_paused = true)]
async fn statuses_become_what_can_be_done_about_them() {
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}\u001b[2J given"}}}}"#);
    for (status, body, expected) in [
        (401, echo.as_str(), "Unauthorized"),
        (404, r#"{"error":{"message":"no such model"}}"#, "Missing"),
        (400, r#"{"error":{"message":"no"}}"#, "Refused"),
        (400, r#"{"error":{"code":"context_length_exceeded"}}"#, "TooLong"),
        (302, "", "Refused"),
        (500, "<html>oh\x07</html>", "Overloaded"),
        (503, "", "Overloaded"),
        (529, "{}", "Overloaded"),
        (429, "{}", "RateLimited { after: None"),
    ] {
        let error = spoilt(vec![answer(status, &[], body)]).await;
        assert!(same_kind(&error.fault, expected), "{status}: {error:?}");
    }
    let error = spoilt(vec![answer(401, &[], &echo)]).await;
    assert!(error.to_string().ends_with("(401): bad key [key][2J given"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_passed_on() {
    for (value, seconds) in [("12", 12), ("Thu, 01 Jan 2026 00:01:00 GMT", 60)] {
        let error = spoilt(vec![answer(429, &[("retry-after", value)], "")]).await;
        let after = Some(Duration::from_secs(seconds));
        assert_eq!(error.fault, ModelFault::RateLimited { after, message: String::new() });
    }
    let error = spoilt(vec![answer(503, &[("retry-after", "3")], "")]).await;
    assert_eq!(error.fault.after(), Some(Duration::from_secs(3)));
}

#[tokio::test(start_paused = true)]
async fn garbage_is_called_garbage_and_half_an_answer_cut_off() {
    let body = |bytes: &str| vec![head("text/event-stream"), chunk(bytes), end()];
    let raw = |bytes: &str| vec![Step::Write(bytes.as_bytes().to_vec()), Step::Close];
    let html = [("content-type", "text/html")];
    for (what, steps, expected) in [
        ("a page", vec![answer(200, &html, "<html>welcome</html>")], "Garbage"),
        ("not JSON", body("data: {nonsense}\n\n"), "Garbage"),
        ("JSON of another shape", vec![answer(200, &[], r#"{"hello":1}"#)], "Garbage"),
        ("half a document", vec![answer(200, &[], r#"{"choices":[{"mess"#)], "Garbage"),
        ("not HTTP", raw("SSH-2.0-OpenSSH_9.9\r\n"), "Garbage"),
        ("an empty answer", vec![answer(200, &[], "")], "CutOff"),
        ("a cut before the end", body(&format!("data: {HI}\n\n")), "CutOff"),
        ("half an event", body(&format!("data: {HI}\n\ndata: {{\"choi")), "CutOff"),
        (
            "a connection cut in a body",
            vec![head("text/event-stream"), chunk(format!("data: {HI}\n\n")), Step::Close],
            "CutOff",
        ),
        ("a connection cut before the answer", vec![Step::Close], "Unreachable"),
        ("a connection cut in the head", raw("HTTP/1.1 200 OK\r\ncontent-"), "Unreachable"),
        (
            "an error inside the stream",
            event_stream([HI, r#"{"error":{"message":"boom","code":503}}"#]),
            "Overloaded",
        ),
        (
            "more calls than a model makes",
            event_stream([format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{}]}}}}]}}"#,
                (0..300).map(|i| format!(r#"{{"index":{i}}}"#)).collect::<Vec<_>>().join(",")
            )
            .as_str()]),
            "Garbage",
        ),
    ] {
        let error = spoilt(steps).await;
        assert!(same_kind(&error.fault, expected), "{what}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_beyond_its_bound_is_refused_before_it_is_whole() {
    let piece = chunk(vec![b'x'; 256 * 1024]);
    let mut steps = vec![head("text/event-stream"), chunk("data: ")];
    steps.extend(std::iter::repeat_n(piece, EVENT_LEN_MAX / (256 * 1024) + 1));
    // It never ends, and never needs to.
    steps.push(Step::Hang);
    let error = spoilt(steps).await;
    assert!(error.to_string().contains("an event of more than 4 MiB"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn silence_times_out_in_the_phase_it_falls_into() {
    let stalled = vec![head("text/event-stream"), chunk(format!("data: {HI}\n\n")), Step::Hang];
    for (steps, phase, waited) in [
        (vec![Step::Hang], Phase::FirstByte, LIMITS.first_byte),
        (vec![head("text/event-stream"), Step::Hang], Phase::FirstByte, LIMITS.first_byte),
        (stalled, Phase::Idle, LIMITS.idle),
    ] {
        let error = spoilt(steps).await;
        assert_eq!(error.fault, ModelFault::TimedOut { phase, waited });
    }
}

#[tokio::test(start_paused = true)]
async fn what_came_before_a_stall_was_passed_on_and_the_server_sees_the_end() {
    let bench = bench();
    let upstream = bench
        .upstream(|_, _| {
            vec![head("text/event-stream"), chunk(format!("data: {HI}\n\n")), Step::Hang]
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url(""));
    let mut stream = begin(&*provider, &hello()).await.unwrap();
    let (events, error) = events(&mut stream).await;
    assert_eq!(events, [Event::TextDelta("hi".into())]);
    assert!(matches!(error.unwrap().fault, ModelFault::TimedOut { phase: Phase::Idle, .. }));
    upstream.closed_by_client(1).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_there_is_unreachable_and_a_full_house_times_out() {
    let bench = bench();
    for url in ["http://127.0.0.1:1", "http://nobody.test", "https://127.0.0.1:1"] {
        let error = ask(&*bench.provider(Kind::OpenAi, url), &hello()).await.unwrap_err();
        assert!(matches!(error.fault, ModelFault::Unreachable { .. }), "{error}");
    }
    // Nobody accepts: connections wait until the backlog is full, and then to connect.
    let listener = bench.world.network.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = vec![];
    for _ in 0..128 {
        waiting.push(bench.world.network.connect(address).await.unwrap());
    }
    let provider = bench.provider(Kind::OpenAi, &format!("http://{address}"));
    let error = ask(&*provider, &hello()).await.unwrap_err();
    let expected = ModelFault::TimedOut { phase: Phase::Connect, waited: LIMITS.connect };
    assert_eq!(error.fault, expected);
}

#[tokio::test(start_paused = true)]
async fn a_broken_family_of_addresses_does_not_hide_the_other() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| good()).await;
    bench
        .handles
        .network
        .name("model.test", ["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()]);
    let url = format!("http://model.test:{}", upstream.address().port());
    let answer = ask(&*bench.provider(Kind::OpenAi, &url), &hello()).await.unwrap();
    assert_eq!(answer.text(), "hi");
}

async fn cancelled(
    provider: &dyn Provider,
    request: &Request,
    cancel: &CancellationToken,
) -> ModelFault {
    match provider.stream(request, &LIMITS, cancel).await {
        Err(error) => error.fault,
        Ok(mut stream) => events(&mut stream).await.1.unwrap().fault,
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_is_heard_before_and_during_an_answer() {
    for steps in [
        vec![Step::Hang],
        vec![head("text/event-stream"), chunk(format!("data: {HI}\n\n")), Step::Hang],
        vec![answer(500, &[], ""), Step::Hang],
    ] {
        let bench = bench();
        let upstream = bench.upstream(move |_, _| steps.clone()).await;
        let provider = bench.provider(Kind::OpenAi, &upstream.url(""));
        let cancel = CancellationToken::new();
        let early = cancel.clone();
        early.cancel();
        assert_eq!(cancelled(&*provider, &hello(), &early).await, ModelFault::Cancelled);
        let cancel = CancellationToken::new();
        let (token, asking) = (cancel.clone(), provider.clone());
        let task = tokio::spawn(async move { cancelled(&*asking, &hello(), &token).await });
        upstream.requests(1).await;
        bench.world.clock.sleep(Duration::from_secs(1)).await;
        cancel.cancel();
        let fault = task.await.unwrap();
        if same_kind(&fault, "Overloaded") {
            continue;
        }
        assert_eq!(fault, ModelFault::Cancelled);
        upstream.closed_by_client(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_description_of_a_provider_shows_its_key() {
    let bench = bench();
    let mut spec = ProviderSpec::new("test", Kind::OpenAi);
    spec.api_key = Some(KEY.into());
    spec.headers = vec![("x-extra".into(), KEY.into())];
    spec.base_url = Some("ftp://nowhere".into());
    let error = spec.build(&bench.transport).err().unwrap();
    assert_eq!(
        error.to_string(),
        "provider `test` has a base_url that can't be used: it must begin with http:// or https://"
    );
    spec.base_url = Some("http://127.0.0.1".into());
    spec.headers.push(("x-bad".into(), format!("{KEY}\n").into()));
    let error = spec.build(&bench.transport).err().unwrap();
    for shown in [format!("{spec:?}"), format!("{error:?}"), error.to_string()] {
        assert!(!shown.contains(KEY), "{shown}");
    }
}
