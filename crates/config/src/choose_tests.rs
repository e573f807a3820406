//! A choice is written, and nothing else of the file changes.

use super::*;
use proptest::prelude::*;

fn with_provider() -> ModelChoice {
    let provider = ProviderChoice {
        name: "local".to_owned(),
        kind: "openai".to_owned(),
        base_url: "http://127.0.0.1:8080/v1".to_owned(),
    };
    ModelChoice { model: "local/qwen".to_owned(), provider: Some(provider) }
}

fn alone() -> ModelChoice {
    ModelChoice { model: "ollama/qwen2.5:1.5b".to_owned(), provider: None }
}

const ENTRY: &str = r#"local: {kind: openai, base_url: "http://127.0.0.1:8080/v1"}"#;

#[test]
fn a_file_without_a_model_gets_one_before_its_first_setting() {
    assert_eq!(choose("", &alone()).unwrap(), "model: ollama/qwen2.5:1.5b\n");
    assert_eq!(
        choose("# about\n\n# these\nagents: {a: {}}\n", &alone()).unwrap(),
        "# about\n\nmodel: ollama/qwen2.5:1.5b\n\n# these\nagents: {a: {}}\n"
    );
    assert_eq!(
        choose("# only words", &with_provider()).unwrap(),
        format!("# only words\nmodel: local/qwen\nproviders:\n  {ENTRY}\n")
    );
}

#[test]
fn what_stood_there_stays_as_a_comment() {
    assert_eq!(
        choose("model: a/b   # mine\nagents: {a: {}}\n", &alone()).unwrap(),
        "model: ollama/qwen2.5:1.5b\n# model: a/b   # mine\nagents: {a: {}}\n"
    );
    assert_eq!(
        choose("agents: {a: {}}\nmodel:\n  - a/b\n  - c/d # x\n\n# end\n", &alone()).unwrap(),
        "agents: {a: {}}\nmodel: ollama/qwen2.5:1.5b\n# model:\n#   - a/b\n#   - c/d # x\n\n# end\n"
    );
    assert_eq!(
        choose("model: [a/b,\n  c/d]", &alone()).unwrap(),
        "model: ollama/qwen2.5:1.5b\n# model: [a/b,\n#   c/d]\n"
    );
}

#[test]
fn a_choice_that_is_made_again_changes_nothing_and_one_that_comes_back_adds_nothing() {
    for choice in [alone(), with_provider()] {
        let once = choose("model: a/b # mine\nagents: {a: {}}\n", &choice).unwrap();
        assert_eq!(choose(&once, &choice).unwrap(), once);
    }
    let other = ModelChoice { model: "ollama/big:70b".to_owned(), provider: None };
    let mut text = "model: a/b\n# more\n".to_owned();
    for choice in [alone(), other.clone(), alone(), other, alone()] {
        text = choose(&text, &choice).unwrap();
    }
    assert_eq!(
        text,
        "model: ollama/qwen2.5:1.5b\n# model: ollama/big:70b\n# model: ollama/qwen2.5:1.5b\n# model: a/b\n# more\n"
    );
}

#[test]
fn a_provider_is_known_by_its_address_whatever_it_is_called() {
    let choice = with_provider().provider.unwrap();
    for url in ["http://127.0.0.1:8080/v1", "http://localhost:8080/v1/"] {
        let text = format!(
            "providers: {{x: {{kind: ollama}}, box: {{kind: openai, base_url: \"{url}\"}}}}"
        );
        assert_eq!(named_in(&text, &choice).as_deref(), Some("box"), "{url}");
    }
    for text in [
        "",
        "providers:",
        "providers: {local: {kind: openai, base_url: \"http://127.0.0.1:9/v1\"}}",
    ] {
        assert_eq!(named_in(text, &choice), None, "{text}");
    }
}

#[test]
fn a_provider_is_put_after_those_there_are() {
    assert_eq!(
        choose(
            "providers:\n    x: {kind: ollama}  # x\n\n# rest\nagents: {a: {}}\n",
            &with_provider()
        )
        .unwrap(),
        format!(
            "model: local/qwen\n\nproviders:\n    x: {{kind: ollama}}  # x\n    {ENTRY}\n\n# rest\nagents: {{a: {{}}}}\n"
        )
    );
    assert_eq!(
        choose("model: a\nproviders: {x: {kind: ollama}}\n", &with_provider()).unwrap(),
        format!("model: local/qwen\n# model: a\nproviders: {{x: {{kind: ollama}}, {ENTRY}}}\n")
    );
    let there = format!("providers:\n  {ENTRY}\n");
    assert_eq!(
        choose(&there, &with_provider()).unwrap(),
        format!("model: local/qwen\n\n{there}"),
        "it is not written twice"
    );
}

#[test]
fn what_is_written_in_another_way_is_left_alone() {
    for text in [
        "{model: a/b, agents: {a: {}}}",
        "providers:\nagents: {a: {}}",
        "providers: {}",
        "providers:\n  local: {kind: ollama}\n",
        "a: [",
        "model: &m a/b\nagents: {a: {model: *m}}\n",
    ] {
        assert!(choose(text, &with_provider()).is_err(), "{text}");
    }
}

#[test]
fn the_first_file_of_a_home_can_be_written() {
    let (_, starter) = crate::starter::files()[0];
    for choice in [alone(), with_provider()] {
        let done = choose(starter, &choice).unwrap();
        let gone: Vec<&str> = starter.lines().filter(|line| !done.contains(line)).collect();
        assert!(gone.is_empty(), "{gone:?}");
        assert_eq!(model_in(&done).as_deref(), Some(choice.model.as_str()));
        let again = choose(&done, &choice).unwrap();
        assert_eq!(model_in(&again).as_deref(), Some(choice.model.as_str()));
    }
}

#[test]
fn names_are_told_from_others_of_the_same_name() {
    let choice = with_provider().provider.unwrap();
    assert!(is_taken("providers: {local: {kind: ollama}}", &choice));
    assert!(!is_taken(&format!("providers: {{{ENTRY}}}"), &choice));
    assert!(!is_taken("agents: {a: {}}", &choice));
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("# a comment\n".to_owned()),
        Just("\n".to_owned()),
        "[a-z]{3,8}: [a-z0-9]{1,9} # said\n".prop_map(|line| line),
        "[a-z]{3,8}:\n  [a-z]{2,5}: \"[a-z #:]{0,9}\"\n  # inside\n  zz: [1, 2]\n"
            .prop_map(|it| it),
        "[a-z]{3,8}: \\|\n  text # no comment\n  more\n".prop_map(|it| it),
        "model: [a-z]{1,5}/[a-z]{1,5}\n".prop_map(|it| it),
        "model:\n- [a-z]{1,5}/[a-z]{1,5}\n# between\n- x/y\n".prop_map(|it| it),
        "providers:\n  [a-z]{1,6}:\n    kind: ollama\n    # inside\n    base_url: http://x\n"
            .prop_map(|it| it),
    ]
}

proptest! {
    #[test]
    fn a_choice_changes_nothing_else(blocks in prop::collection::vec(block(), 0..8), is_local: bool) {
        let text = blocks.concat();
        let choice = if is_local { with_provider() } else { alone() };
        let Ok(done) = choose(&text, &choice) else { return Ok(()) };
        prop_assert_eq!(model_in(&done), Some(choice.model.clone()));
        for line in text.lines() {
            prop_assert!(done.contains(line), "{line:?} is gone from {done:?}");
        }
        let (before, after) = (read(&text).unwrap(), read(&done).unwrap());
        for entry in before.entries().iter().filter(|it| !["model", "providers"].contains(&&*it.key)) {
            prop_assert!(after.get(&entry.key).is_some_and(|it| alike(it, &entry.value)));
        }
    }

    #[test]
    fn no_text_breaks_it(text in "[a-z:{}\\[\\]#&*| \n-]{0,60}", name in "[ -~]{1,20}") {
        let choice = ModelChoice { model: format!("ollama/{name}"), provider: None };
        if let Ok(done) = choose(&text, &choice) {
            prop_assert_eq!(model_in(&done), Some(choice.model));
        }
    }
}
