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

/// What is said of a configuration, with the help.
fn said(text: &str) -> Vec<(String, String)> {
    let (report, _) = load_text(text);
    let found = report.diagnostics.iter();
    found.map(|it| (it.message.clone(), it.help.clone().unwrap_or_default())).collect()
}

#[test]
fn an_agents_own_provider_stands_in_the_place_of_the_shared_one() {
    let (report, loaded) = load_text(
        "
model: openai/gpt-x
providers: {openai: {api_key: '${secret:HOUSE}', agents: [b]}}
agents:
  a: {providers: {openai: {base_url: 'https://proxy.org/v1', api_key: '${secret:MINE}'}, lab: {kind: ollama}}, model: [openai/gpt-x, lab/qwen]}
  b: {}
",
    );
    assert_eq!(report.errors().count(), 0);
    let loaded = loaded.unwrap();
    let insula_config::AgentOutcome::Ready(a) = &loaded.agents["a"] else { panic!() };
    let own = &a.providers["openai"];
    assert_eq!(own.kind.as_ref(), "openai");
    assert_eq!(own.api_key.as_deref(), Some("${secret:MINE}"));
    assert_eq!(a.models[1].to_string(), "lab/qwen");
    let shared = &loaded.daemon.providers;
    let id = |name: &str| insula_domain::AgentId::new(name).unwrap();
    assert!(shared.admits("openai", &id("b")) && !shared.admits("openai", &id("a")));
    assert!(shared.admits("anthropic", &id("a")), "what nobody limits is everybody's");
}

#[test]
fn what_is_missing_for_an_agents_own_provider_names_the_command_that_sets_it() {
    let text = "agents: {main: {model: google/g, providers: {google: {}}}}\n";
    let missing = (
        "secret `GOOGLE_API_KEY` of agent `main` is not set".to_owned(),
        "set it with `insula secret set main GOOGLE_API_KEY`".to_owned(),
    );
    assert_eq!(said(text), [missing]);
    let text = "agents: {main: {model: google/g, providers: {google: {api_key: '${secret:K}'}}}}\n";
    let missing = (
        "secret `K` of agent `main` is not set".to_owned(),
        "set it with `insula secret set main K`".to_owned(),
    );
    assert_eq!(said(text), [missing], "and no grant is asked for");
    let text = "agents: {main: {model: x/g, providers: {x: {kind: anthropic}}}}\n";
    let [(message, help)] = &said(text)[..] else { panic!("{:?}", said(text)) };
    assert_eq!(message, "provider `x` of agent `main` has no key");
    assert!(help.contains("insula secret set main NAME"), "{help}");
}

#[test]
fn a_provider_that_is_not_shared_with_an_agent_is_told_of_once() {
    let text = "model: [openai/x, openai/y]\nproviders: {openai: {api_key: '${secret:OPENAI_API_KEY}', agents: [a]}}\nagents: {a: {}, b: {}}\n";
    let told: Vec<_> = said(text).into_iter().filter(|it| it.0.contains("not shared")).collect();
    let [(message, help)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(message, "provider `openai` is not shared with agent `b`");
    assert!(help.contains("insula agents set b providers '{openai: {}}'"), "{help}");
    assert!(help.contains("insula secret set b OPENAI_API_KEY"), "{help}");
}

#[test]
fn whoever_is_named_and_does_not_exist_is_told_and_an_own_provider_shares_with_nobody() {
    let (report, loaded) = load_text("providers: {openai: {agents: [mian]}}\nagents: {main: {}}\n");
    let told: Vec<_> = report.warnings().map(|it| (&*it.message, it.help.as_deref())).collect();
    let message = "provider `openai` names agent `mian`, which does not exist";
    assert!(told.contains(&(message, Some("did you mean `main`?"))), "{told:?}");
    // Who deletes an agent must not keep all others from starting.
    assert!(loaded.is_some_and(|loaded| loaded.agents.contains_key("main")));
    let own = "agents: {main: {providers: {openai: {agents: [main]}}}}\n";
    let (report, _) = load_text(own);
    assert!(report.errors().any(|it| it.message.contains("unknown key `agents`")));
}

#[test]
fn a_key_of_an_agents_own_provider_never_stands_in_the_file_or_the_environment() {
    for provider in [
        "{api_key: sk-0123456789abcdef0123}",
        "{api_key: plainwords}",
        "{headers: {Authorization: 'Bearer abcdef0123456789abc'}}",
        "{models: {m: {headers: {X-Key: ghp_0123456789abcdef0123}}}}",
        "{api_key: '${env:OPENAI_API_KEY}'}",
    ] {
        let text = format!("agents: {{main: {{}}, a: {{providers: {{openai: {provider}}}}}}}\n");
        let (report, loaded) = load_text(&text);
        assert_eq!(report.errors().count(), 1, "{provider}");
        let loaded = loaded.unwrap();
        assert!(matches!(&loaded.agents["a"], insula_config::AgentOutcome::Failed(_)));
        assert!(matches!(&loaded.agents["main"], insula_config::AgentOutcome::Ready(_)));
    }
    let local = "agents: {a: {providers: {x: {kind: openai, base_url: 'http://127.0.0.1:1/v1', api_key: none}}}}\n";
    assert_eq!(load_text(local).0.errors().count(), 0);
}

#[test]
fn layers_of_providers_are_taken_whole() {
    let text = "
defaults: {providers: {p: {kind: openai, base_url: 'https://one.org/v1', api_key: '${secret:ONE}'}}}
agents: {a: {providers: {p: {kind: openai, base_url: 'https://two.org/v1'}}}, b: {}}
";
    let loaded = load_text(text).1.unwrap();
    let key = |name: &str| match &loaded.agents[name] {
        insula_config::AgentOutcome::Ready(it) => it.providers["p"].api_key.clone(),
        insula_config::AgentOutcome::Failed(why) => panic!("{why}"),
    };
    assert_eq!(key("a"), None, "a key goes to no other address");
    assert_eq!(key("b").as_deref(), Some("${secret:ONE}"));
}

#[test]
fn embeddings_are_a_model_of_a_provider_that_makes_some_or_a_folder() {
    use insula_config::agent::EmbeddingsConfig;
    let read = |written: &str| {
        let text = format!(
            "providers: {{p: {{kind: openai, base_url: 'http://127.0.0.1:1/v1'}}}}\nagents: {{main: {{memory: {{embeddings: {written}}}}}}}\n"
        );
        let (report, loaded) = load_text(&text);
        let errors: Vec<String> = report.errors().map(|it| it.message.clone()).collect();
        let config = loaded.and_then(|it| match &it.agents["main"] {
            insula_config::AgentOutcome::Ready(it) => it.memory.clone()?.embeddings,
            insula_config::AgentOutcome::Failed(_) => None,
        });
        (errors, config)
    };
    for model in ["p/m", "ollama/nomic-embed-text"] {
        let (errors, config) = read(&format!("{{model: {model}}}"));
        assert!(errors.is_empty(), "{errors:?}");
        let Some(EmbeddingsConfig::Model(named)) = config else { panic!("{config:?}") };
        assert_eq!(named.to_string(), model);
    }
    let folder = EmbeddingsConfig::Folder("/srv/model".into());
    assert_eq!(read("{path: /srv/model}"), (vec![], Some(folder)));
    for (written, said) in [
        ("{model: p/m, path: /srv/model}", "needs `model` or `path`, and not both"),
        ("{}", "needs `model` or `path`, and not both"),
        ("{model: anthropic/x}", "can't have embeddings from provider `anthropic`"),
        ("{model: rehearsal/x}", "it is of kind `rehearsal`"),
        ("{model: nobody/x}", "no provider `nobody`"),
        ("{path: models/x}", "not a full path"),
    ] {
        let (errors, _) = read(written);
        assert!(errors.len() == 1 && errors[0].contains(said), "{written}: {errors:?}");
    }
}
