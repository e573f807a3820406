//! Sound, as servers of `audio/transcriptions` and `audio/speech` answer.

use crate::support::{Bench, bench};
use bytes::Bytes;
use insula_models::{
    HearRequest, Kind, ModelError, ModelFault, Provider, ProviderSpec, SecretString, SpeakRequest,
    Timeouts,
};
use insula_testkit::sounds;
use insula_testkit::strict::answer_sound;
use insula_testkit::upstream::{Seen, Step, Upstream, answer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

async fn serving(
    steps: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> (Bench, Upstream, Arc<dyn Provider>) {
    let bench = bench();
    let address: SocketAddr = "127.0.0.1:9090".parse().unwrap();
    let upstream = Upstream::listen(&bench.world, address, steps).await.unwrap();
    let mut spec = ProviderSpec::new("sound", Kind::OpenAi);
    spec.base_url = Some("http://127.0.0.1:9090/v1".to_owned());
    spec.api_key = Some(SecretString::from("the-daemons-key".to_owned()));
    let provider = spec.build(&bench.transport).unwrap();
    (bench, upstream, provider)
}

fn memo(name: &str, content: &'static [u8]) -> HearRequest {
    HearRequest {
        model: "whisper-1".into(),
        name: name.into(),
        media_type: "audio/ogg".into(),
        content: Bytes::from_static(content),
        language: Some("en".into()),
        key: None,
    }
}

fn words(format: &str) -> SpeakRequest {
    SpeakRequest {
        model: "tts-1".into(),
        text: "hello".to_owned(),
        voice: None,
        format: format.into(),
        key: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_recording_goes_as_a_form_and_comes_back_as_words() {
    let (_bench, upstream, provider) = serving(|seen, _| answer_sound(seen, "good morning")).await;
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    let heard = provider.hear(&memo("voice.ogg", sounds::OPUS), &limits, &cancel).await.unwrap();
    assert_eq!(heard.text, "good morning");
    assert_eq!(heard.length, Some(Duration::from_secs(3)));
    let key = Some(SecretString::from("my-own-key".to_owned()));
    let own = HearRequest { key, ..memo("voice.ogg", sounds::OPUS) };
    provider.hear(&own, &limits, &cancel).await.unwrap();
    let seen = upstream.seen();
    assert_eq!(seen[0].line, "POST /v1/audio/transcriptions");
    assert_eq!(seen[0].header("authorization"), Some("Bearer the-daemons-key"));
    assert_eq!(seen[1].header("authorization"), Some("Bearer my-own-key"));
    assert!(seen[0].body.windows(sounds::OPUS.len()).any(|it| it == sounds::OPUS));
    // A strict server takes no file by another name.
    let refused = provider.hear(&memo("voice.bin", sounds::OPUS), &limits, &cancel).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused.fault, ModelFault::Refused { .. }), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn words_come_back_as_sound_of_the_kind_that_was_asked_for() {
    let (_bench, upstream, provider) = serving(|seen, _| answer_sound(seen, "")).await;
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    for (format, expected) in [("opus", sounds::OPUS), ("mp3", sounds::MP3), ("wav", sounds::WAV)] {
        let sound = provider.speak(&words(format), &limits, &cancel).await.unwrap();
        assert_eq!(&*sound, expected, "{format}");
    }
    assert_eq!(upstream.seen()[0].json()["voice"], "alloy");
    let mut long = words("opus");
    long.text = "x".repeat(5_000);
    let refused = provider.speak(&long, &limits, &cancel).await.unwrap_err();
    assert!(refused.to_string().contains("4096"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_told_apart_and_without_keys() {
    let steps = |_: &Seen, number| match number {
        0 => vec![answer(401, &[], "bad key the-daemons-key")],
        1 => vec![answer(200, &[], r#"{"error":{"message":"no","code":429}}"#)],
        2 => vec![answer(200, &[], "")],
        _ => vec![answer(200, &[], &"x".repeat(9 << 20))],
    };
    let (_bench, _upstream, provider) = serving(steps).await;
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    let mut faults: Vec<ModelError> = Vec::new();
    for _ in 0..4 {
        faults.push(provider.speak(&words("opus"), &limits, &cancel).await.unwrap_err());
    }
    let [key, limited, empty, large] = &faults[..] else { panic!("{faults:?}") };
    assert!(
        matches!(key.fault, ModelFault::Unauthorized { .. })
            && !key.to_string().contains("the-daemons-key")
    );
    assert!(matches!(limited.fault, ModelFault::RateLimited { .. }), "{limited}");
    assert!(matches!(empty.fault, ModelFault::Garbage { .. }), "{empty}");
    assert!(large.to_string().contains("has more than"), "{large}");
}

#[tokio::test(start_paused = true)]
async fn who_neither_hears_nor_speaks_says_so() {
    let provider = ProviderSpec::new("o", Kind::Ollama).build(&bench().transport).unwrap();
    let (limits, cancel) = (Timeouts::default(), CancellationToken::new());
    let deaf = provider.hear(&memo("voice.ogg", sounds::OPUS), &limits, &cancel).await.unwrap_err();
    assert!(deaf.to_string().contains("hears nothing"), "{deaf}");
    let mute = provider.speak(&words("opus"), &limits, &cancel).await.unwrap_err();
    assert!(mute.to_string().contains("does not speak"), "{mute}");
}
