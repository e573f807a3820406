//! What one question and its answer cost on our side: processor time of the asking thread,
//! against an instant server on loopback in another thread.
//!
//! `cargo run --release -p insula-models --example cycle`
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measuring program: the clock, a thread, /proc"
)]

use insula_models::{
    Answer, CacheHint, Kind, Message, ProviderSpec, Request, SystemBlock, Timeouts, ToolSchema,
    Transport,
};
use insula_testkit::Upstream;
use insula_testkit::upstream::{Step, event_stream};
use insula_world::World;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUNDS: u32 = 5000;

fn main() {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let world = World::real().unwrap();
            let upstream = Upstream::start(&world, |_, _| vec![answer()]).await.unwrap();
            send.send(upstream.url("/v1")).unwrap();
            std::future::pending::<()>().await;
        });
    });
    let url = receive.recv().unwrap();
    runtime().block_on(async {
        for system_len in [0, 8 * 1024, 64 * 1024] {
            measure(&url, system_len).await;
        }
    });
}

async fn measure(url: &str, system_len: usize) {
    let transport = Transport::new(&World::real().unwrap(), &[]).unwrap();
    let mut spec = ProviderSpec::new("instant", Kind::OpenAi);
    spec.base_url = Some(url.to_owned());
    spec.api_key = Some("key-of-the-instant-model".into());
    let provider = spec.build(&transport).unwrap();
    let mut request = Request::new("instant", vec![Message::user("ping")]);
    let text = "All work and no play. ".repeat(system_len / 22).into();
    request.system = vec![SystemBlock { text, cache: CacheHint::Breakpoint }];
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
    request.tools = (0..10)
        .map(|n| ToolSchema::new(format!("tool{n}"), "Does one thing.", schema).unwrap())
        .collect();
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    let mut begun = (Instant::now(), cpu_ns());
    for round in 0..ROUNDS + 500 {
        if round == 500 {
            begun = (Instant::now(), cpu_ns());
        }
        let mut stream = provider.stream(&request, &limits, &cancel).await.unwrap();
        assert_eq!(Answer::collect(&mut stream).await.unwrap().text(), "Hello there");
    }
    let wall_us = begun.0.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS);
    let cpu_us = (cpu_ns() - begun.1) as f64 / 1e3 / f64::from(ROUNDS);
    println!("system prompt {system_len:>6} B: {cpu_us:6.1} µs CPU, {wall_us:6.1} µs wall");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// An answer of a few events, written at once as a fast server does.
fn answer() -> Step {
    let said =
        |text: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
    let (one, two) = (said("Hello "), said("there"));
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
    let steps = event_stream([&one, &two, stop, usage, "[DONE]"]);
    let bytes = steps.into_iter().flat_map(|step| match step {
        Step::Write(bytes) => bytes,
        _ => vec![],
    });
    Step::Write(bytes.collect())
}

/// Time this thread has had on a processor.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
