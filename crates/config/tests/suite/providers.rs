//! How models are asked, as a configuration says it.

use crate::common::load_text;
use insula_config::provider::Thousandths;
use std::time::Duration;

#[test]
fn what_could_never_be_answered_is_refused() {
    let errors = |provider: &str| -> Vec<String> {
        let text = format!("providers:\n  ollama: {provider}\nagents: {{main: {{}}}}\n");
        let (report, _) = load_text(&text);
        report.errors().map(|it| it.message.clone()).collect()
    };
    for key in ["connect", "first_byte", "idle"] {
        let said = errors(&format!("{{timeout: {{{key}: 0s}}}}"));
        assert_eq!(said, [format!("`{key}` of a provider's `timeout` leaves no time")]);
        assert!(errors(&format!("{{timeout: {{{key}: 1ms}}}}")).is_empty());
    }
    let said = "`max_tokens` of 8192 leaves no room for a question in a `context_window` of 4096";
    for provider in [
        "{max_tokens: 8192, context_window: 4096}",
        "{max_tokens: 8192, models: {m: {context_window: 4096}}}",
        "{context_window: 4096, models: {m: {max_tokens: 8192}, n: {temperature: 1}}}",
    ] {
        assert_eq!(errors(provider), [said], "{provider}");
    }
    for provider in [
        "{max_tokens: 1000, context_window: 4096}",
        "{max_tokens: 8192}",
        "{context_window: 4096, models: {m: {max_tokens: 8192, context_window: 16384}}}",
    ] {
        assert!(errors(provider).is_empty(), "{provider}");
    }
}

#[test]
fn what_is_set_is_read_for_the_provider_and_for_each_model() {
    let (report, loaded) = load_text(
        "
providers:
  p:
    kind: openai
    base_url: http://127.0.0.1:8080/v1
    timeout: {connect: 2s, first_byte: 10m}
    max_tokens: 1000
    temperature: 0.75
    top_p: 1
    sees_images: false
    headers: {X-A: all}
    extra_body: {a: {b: 1.5, c: [x, true]}}
    models:
      org/seeing:8b:
        sees_images: true
        context_window: 8192
        reasoning_effort: off
        headers: {X-B: one}
agents: {main: {}}
",
    );
    assert_eq!(report.errors().count(), 0);
    let loaded = loaded.unwrap();
    let read = &loaded.daemon.providers.configured["p"];
    assert_eq!(read.all.connect, Some(Duration::from_secs(2)));
    assert_eq!(read.all.first_byte, Some(Duration::from_secs(600)));
    assert_eq!(read.all.idle, None);
    assert_eq!(read.all.max_tokens, Some(1_000));
    assert_eq!(read.all.temperature, Some(Thousandths(750)));
    assert_eq!(read.all.top_p.map(Thousandths::as_f32), Some(1.0));
    assert_eq!(&*read.all.extra_body, r#"{"a":{"b":1.5,"c":["x",true]}}"#);
    let seeing = &read.models["org/seeing:8b"];
    assert_eq!(seeing.context_window, Some(8_192));
    assert_eq!(seeing.reasoning_effort.as_deref(), Some("off"));
    assert_eq!(
        (read.sees_images("org/seeing:8b"), read.sees_images("x")),
        (Some(true), Some(false))
    );
    assert_eq!(read.sent().collect::<Vec<_>>(), ["all", "one"]);
}
