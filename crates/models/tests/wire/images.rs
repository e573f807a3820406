//! Pictures, as servers of `images/generations` answer.

use crate::support::bench;
use insula_models::{
    Kind, ModelError, ModelFault, Picture, PictureRequest, PictureSource, ProviderSpec,
    SecretString, Timeouts,
};
use insula_testkit::upstream::{Seen, Step, Upstream, answer};
use serde_json::json;
use std::net::SocketAddr;
use tokio_util::sync::CancellationToken;

const PNG: &str = r#"{"created":1,"data":[{"b64_json":"cG5n"}]}"#;

/// Whether a fault is the one that is meant.
type IsIt = fn(&ModelFault) -> bool;

fn request(model: &str) -> PictureRequest {
    PictureRequest {
        model: model.into(),
        prompt: "a cat".to_owned(),
        size: Some("1024x1024".into()),
        quality: None,
        key: None,
    }
}

/// Asks a server once; what came of it, and what the server saw.
async fn asked(
    request: PictureRequest,
    steps: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> (Result<Picture, ModelError>, Vec<Seen>) {
    let bench = bench();
    let address: SocketAddr = "127.0.0.1:9090".parse().unwrap();
    let upstream = Upstream::listen(&bench.world, address, steps).await.unwrap();
    let mut spec = ProviderSpec::new("paint", Kind::OpenAi);
    spec.base_url = Some("http://127.0.0.1:9090/v1".to_owned());
    spec.api_key = Some(SecretString::from("the-daemons-key".to_owned()));
    let provider = spec.build(&bench.transport).unwrap();
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    let picture = provider.picture(&request, &limits, &cancel).await;
    (picture, upstream.seen())
}

#[tokio::test(start_paused = true)]
async fn a_picture_is_asked_for_with_the_providers_key_or_ones_own() {
    let (picture, seen) = asked(request("dall-e-3"), |_, _| vec![answer(200, &[], PNG)]).await;
    assert_eq!(picture.unwrap().source, PictureSource::Bytes(b"png".to_vec()));
    assert_eq!(seen[0].line, "POST /v1/images/generations");
    assert_eq!(seen[0].header("authorization"), Some("Bearer the-daemons-key"));
    let body = json!({
        "model": "dall-e-3", "prompt": "a cat", "n": 1, "size": "1024x1024",
        "response_format": "b64_json"
    });
    assert_eq!(seen[0].json(), body);
    let key = Some(SecretString::from("my-own-key".to_owned()));
    let own = PictureRequest { key, ..request("gpt-image-1") };
    let (_, seen) = asked(own, |_, _| vec![answer(200, &[], PNG)]).await;
    assert_eq!(seen[0].header("authorization"), Some("Bearer my-own-key"));
    assert_eq!(seen[0].json().get("response_format"), None, "this model refuses to be told");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_no_format_is_asked_without() {
    let unknown = r#"{"error":{"message":"Unknown parameter: 'response_format'.","type":"invalid_request_error"}}"#;
    let steps = move |_: &Seen, number| match number {
        0 => vec![answer(400, &[], unknown)],
        _ => vec![answer(200, &[], r#"{"data":[{"url":"http://127.0.0.1:9090/a.png"}]}"#)],
    };
    let (picture, seen) = asked(request("sdxl"), steps).await;
    assert_eq!(picture.unwrap().source, PictureSource::Url("http://127.0.0.1:9090/a.png".into()));
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1].json().get("response_format"), None);
}

#[tokio::test(start_paused = true)]
async fn faults_are_told_apart_and_without_keys() {
    let cases: [(u16, &str, IsIt); 5] = [
        (401, "bad key my-own-key", |it| matches!(it, ModelFault::Unauthorized { .. })),
        (429, "{}", |it| matches!(it, ModelFault::RateLimited { .. })),
        (
            400,
            r#"{"error":{"code":"content_policy_violation","message":"rejected by our safety system"}}"#,
            |it| matches!(it, ModelFault::Refused { .. }),
        ),
        (200, "<html>", |it| matches!(it, ModelFault::Garbage { .. })),
        (503, "", |it| matches!(it, ModelFault::Overloaded { .. })),
    ];
    for (status, body, is_it) in cases {
        let key = Some(SecretString::from("my-own-key".to_owned()));
        let own = PictureRequest { key, ..request("m") };
        let (picture, seen) = asked(own, move |_, _| vec![answer(status, &[], body)]).await;
        let error = picture.unwrap_err();
        assert!(is_it(&error.fault), "{status}: {error:?}");
        assert!(!error.to_string().contains("my-own-key"), "{error}");
        assert_eq!(seen.len(), 1, "{status}: it is not asked again");
    }
}

#[tokio::test(start_paused = true)]
async fn who_makes_no_pictures_says_so() {
    let provider = ProviderSpec::new("o", Kind::Ollama).build(&bench().transport).unwrap();
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    let error = provider.picture(&request("m"), &limits, &cancel).await.unwrap_err();
    assert!(error.to_string().contains("no pictures"), "{error}");
}
