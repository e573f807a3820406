//! Servers of models on this machine, by their real protocols.

use crate::support::bench;
use insula_models::ModelFault;
use insula_models::local::{LocalKind, Pulled, look, pull};
use insula_testkit::upstream::{Seen, Step, Upstream, answer, chunk, end, head};
use std::net::SocketAddr;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const URL: &str = "http://127.0.0.1:11434";

/// Whether a fault is the one that is meant.
type IsIt = fn(&ModelFault) -> bool;

fn address() -> SocketAddr {
    "127.0.0.1:11434".parse().unwrap()
}

/// A server with these answers, by path, and nothing else.
fn answers(
    routes: &'static [(&str, &str)],
) -> impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static {
    move |seen, _| {
        let found = routes.iter().find(|(line, _)| *line == seen.line);
        match found {
            Some((_, body)) => vec![answer(200, &[], body)],
            None => vec![answer(404, &[], "404 page not found")],
        }
    }
}

/// Who is found there, how its base URL ends, and its models.
async fn found(routes: &'static [(&str, &str)]) -> Option<(LocalKind, String, Vec<String>)> {
    let bench = bench();
    let upstream = Upstream::start_telling(&bench.world, answers(routes)).await.unwrap();
    let url = upstream.url("");
    let server = look(&bench.transport, &format!("{url}/")).await?;
    let names = server.models.iter().map(|it| it.name.clone()).collect();
    let base_url = server.base_url();
    Some((server.kind, base_url.strip_prefix(&url).unwrap().to_owned(), names))
}

#[tokio::test(start_paused = true)]
async fn each_is_known_by_what_only_it_answers() {
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let ollama = found(&[(
        "GET /api/tags",
        r#"{"models":[{"name":"llama3:8b","size":4661224676,"details":{"family":"llama"}},{"name":"nomic-embed-text:latest","details":{"family":"nomic-bert"}},{"name":"qwen3"}]}"#,
    )]);
    let expected = (LocalKind::Ollama, String::new(), names(&["llama3:8b", "qwen3"]));
    assert_eq!(ollama.await, Some(expected));
    let llama_cpp = found(&[
        ("GET /props", r#"{"default_generation_settings":{"n_ctx":4096},"total_slots":1}"#),
        ("GET /api/tags", r#"{"models":[{"name":"x"}]}"#),
        (
            "GET /v1/models",
            r#"{"object":"list","data":[{"id":"/m/qwen-q4.gguf","object":"model","meta":{"size":1000}}]}"#,
        ),
    ]);
    let expected = (LocalKind::LlamaCpp, "/v1".to_owned(), names(&["qwen-q4"]));
    assert_eq!(llama_cpp.await, Some(expected));
    let lm_studio = found(&[(
        "GET /api/v0/models",
        r#"{"object":"list","data":[{"id":"qwen2.5-7b","type":"llm"},{"id":"nomic","type":"embeddings"}]}"#,
    )]);
    let expected = (LocalKind::LmStudio, "/v1".to_owned(), names(&["qwen2.5-7b"]));
    assert_eq!(lm_studio.await, Some(expected));
    let other = found(&[("GET /v1/models", r#"{"object":"list","data":[{"id":"m"}]}"#)]);
    let expected = (LocalKind::Other, "/v1".to_owned(), names(&["m"]));
    assert_eq!(other.await, Some(expected));
    assert_eq!(found(&[("GET /", "hello")]).await, None, "something else listens");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_long() {
    let bench = bench();
    assert_eq!(look(&bench.transport, URL).await, None, "nobody listens");
    let _silent = Upstream::listen(&bench.world, address(), |_, _| vec![Step::Hang]).await.unwrap();
    let before = bench.world.clock.elapsed();
    assert_eq!(look(&bench.transport, URL).await, None, "it does not answer");
    assert!(bench.world.clock.elapsed() - before <= Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_fetch_tells_how_far_it_is() {
    let bench = bench();
    let upstream = Upstream::listen(&bench.world, address(), |_, _| {
        vec![
            head("application/x-ndjson"),
            chunk("{\"status\":\"pulling manifest\"}\n{\"status\":\"pulling aa\",\"total\":10,"),
            chunk("\"completed\":4}\n{\"status\":\"pulling aa\",\"total\":10,\"completed\":10}\n"),
            chunk("{\"status\":\"success\"}"),
            end(),
        ]
    })
    .await
    .unwrap();
    let mut heard = Vec::new();
    let cancel = CancellationToken::new();
    pull(&bench.transport, URL, "qwen", &cancel, |it| heard.push(it.clone())).await.unwrap();
    let told = |status: &str, bytes| Pulled { status: status.to_owned(), bytes };
    assert_eq!(
        heard,
        [
            told("pulling manifest", None),
            told("pulling aa", Some((4, 10))),
            told("pulling aa", Some((10, 10))),
            told("success", None),
        ]
    );
    let seen = upstream.seen();
    assert_eq!(seen[0].line, "POST /api/pull");
    assert_eq!(seen[0].json(), serde_json::json!({ "model": "qwen", "stream": true }));
}

#[tokio::test(start_paused = true)]
async fn a_fetch_that_fails_says_why() {
    let ends: [(&str, IsIt); 3] = [
        (
            "{\"status\":\"pulling manifest\"}\n{\"error\":\"file does not exist\"}\n",
            |it| matches!(it, ModelFault::Refused { message, .. } if message == "file does not exist"),
        ),
        ("{\"status\":\"pulling manifest\"}\n", |it| *it == ModelFault::CutOff),
        ("<html>\n", |it| matches!(it, ModelFault::Garbage { .. })),
    ];
    for (body, is_it) in ends {
        let bench = bench();
        let steps = move |_: &Seen, _| vec![head("application/x-ndjson"), chunk(body), end()];
        let _upstream = Upstream::listen(&bench.world, address(), steps).await.unwrap();
        let cancel = CancellationToken::new();
        let error = pull(&bench.transport, URL, "qwen", &cancel, |_| {}).await.unwrap_err();
        assert!(is_it(&error.fault), "{body}: {error}");
    }
}
