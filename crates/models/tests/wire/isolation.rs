//! One pool for everyone, and nothing of one answer in another. On real sockets.

use crate::support::{begin, events, hello, provider};
use insula_models::{Event, Kind, Message, ModelFault, Provider, Request, Transport};
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer, chunk, end, event_stream, head};
use insula_world::World;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How many pairs of requests run, one of each cancelled.
const ROUNDS: usize = 40;

fn said(text: &str) -> Step {
    chunk(format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"))
}

fn asking(canary: &str) -> Request {
    Request::new("small", vec![Message::user(canary)])
}

fn canary(seen: &Seen) -> String {
    seen.json()["messages"][0]["content"].as_str().unwrap().to_owned()
}

async fn real(
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> (Upstream, Arc<dyn Provider>) {
    let world = World::real().unwrap();
    let upstream = Upstream::start(&world, script).await.unwrap();
    let transport = Transport::new(&world, &[]).unwrap();
    let provider = provider(&transport, Kind::OpenAi, &upstream.url("/v1"));
    (upstream, provider)
}

fn text_of(events: &[Event]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            Event::TextDelta(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn two_at_once_with_one_cancelled_half_way_never_share_a_byte() {
    let go = Arc::new(Notify::new());
    let wait = go.clone();
    let (upstream, provider) = real(move |seen, _| {
        let canary = canary(seen);
        let halves = [said(&format!("{canary}-1 ")), said(&format!("{canary}-2 "))];
        let [first, second] = halves;
        if canary.starts_with("cancelled") {
            // The second half is on its way when the client goes away.
            return vec![head("text/event-stream"), first, second, Step::Hang];
        }
        let done = chunk("data: [DONE]\n\n");
        vec![head("text/event-stream"), first, Step::Wait(wait.clone()), second, done, end()]
    })
    .await;
    for round in 0..ROUNDS {
        let (kept, dropped) = (format!("kept{round}"), format!("cancelled{round}"));
        let (kept_asked, dropped_asked) = (asking(&kept), asking(&dropped));
        let (one, two) =
            tokio::join!(begin(&*provider, &kept_asked), begin(&*provider, &dropped_asked));
        let (mut one, mut two) = (one.unwrap(), two.unwrap());
        let first = one.next().await.unwrap().unwrap();
        assert_eq!(first, Event::TextDelta(format!("{kept}-1 ")));
        let other = two.next().await.unwrap().unwrap();
        assert_eq!(other, Event::TextDelta(format!("{dropped}-1 ")));
        drop(two);
        upstream.closed_by_client(round + 1).await;
        go.notify_one();
        let (rest, error) = events(&mut one).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(text_of(&rest), format!("{kept}-2 "));
    }
    // Those that were cancelled took their connections with them; the others shared theirs.
    let connections = upstream.seen().iter().map(|seen| seen.connection).max().unwrap() + 1;
    assert!(connections <= 2 * ROUNDS + 1, "{connections}");
}

#[tokio::test]
async fn cancelling_closes_the_connection_and_the_next_request_is_clean() {
    let (upstream, provider) = real(|seen, _| match canary(seen).as_str() {
        "hang" => vec![Step::Hang],
        "stall" => vec![head("text/event-stream"), said("secret"), Step::Hang],
        other => {
            let text = format!(r#"{{"choices":[{{"delta":{{"content":"{other}"}}}}]}}"#);
            event_stream([text.as_str(), "[DONE]"])
        }
    })
    .await;
    for (number, kind) in ["hang", "stall", "hang", "stall"].into_iter().enumerate() {
        let cancel = CancellationToken::new();
        let (token, asked) = (cancel.clone(), provider.clone());
        let task = tokio::spawn(async move {
            let limits = crate::support::LIMITS;
            let mut stream = asked.stream(&asking(kind), &limits, &token).await?;
            while let Some(event) = stream.next().await {
                event?;
            }
            Ok::<(), insula_models::ModelError>(())
        });
        upstream.requests(2 * number + 1).await;
        cancel.cancel();
        assert_eq!(task.await.unwrap().unwrap_err().fault, ModelFault::Cancelled);
        upstream.closed_by_client(number + 1).await;
        let clean = crate::support::ask(&*provider, &asking("clean")).await.unwrap();
        assert_eq!(clean.text(), "clean");
    }
}

#[tokio::test]
async fn a_complete_answer_leaves_its_connection_to_the_next() {
    let (upstream, provider) = real(|_, _| {
        let text = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
        event_stream([text, "[DONE]"])
    })
    .await;
    for _ in 0..20 {
        let answer = crate::support::ask(&*provider, &hello()).await.unwrap();
        assert_eq!(answer.text(), "hi");
    }
    let connections = upstream.seen().last().unwrap().connection + 1;
    // The end of a body may come a moment after its last event.
    assert!(connections <= 5, "{connections} connections for 20 requests in a row");
}

#[tokio::test]
async fn a_connection_the_server_closed_meanwhile_is_not_an_error() {
    let (upstream, provider) = real(|_, _| {
        let text = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
        let mut steps = event_stream([text, "[DONE]"]);
        steps.push(Step::Close);
        steps
    })
    .await;
    for _ in 0..10 {
        let answer = crate::support::ask(&*provider, &hello()).await.unwrap();
        assert_eq!(answer.text(), "hi");
    }
    assert_eq!(upstream.seen().len(), 10);
}

#[tokio::test]
async fn what_a_server_says_unasked_is_nobodys_answer() {
    let unasked = r#"{"choices":[{"message":{"content":"unasked"},"finish_reason":"stop"}]}"#;
    let asked = r#"{"choices":[{"message":{"content":"asked"},"finish_reason":"stop"}]}"#;
    let (_upstream, provider) = real(move |_, _| {
        let both = [answer(200, &[], asked), answer(200, &[], unasked)];
        let bytes = both.into_iter().flat_map(|step| match step {
            Step::Write(bytes) => bytes,
            _ => vec![],
        });
        vec![Step::Write(bytes.collect())]
    })
    .await;
    for _ in 0..ROUNDS {
        let answer = crate::support::ask(&*provider, &hello()).await.unwrap();
        assert_eq!(answer.text(), "asked");
    }
}
