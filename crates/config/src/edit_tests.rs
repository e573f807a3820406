//! A change of one key leaves the rest of a text as it was.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn steps(path: &str) -> Vec<Step> {
    let parts = path.split('.');
    parts.map(|it| it.parse().map_or_else(|_| Step::Key(it.to_owned()), Step::At)).collect()
}

fn to(text: &str, path: &str, value: Json) -> String {
    set(text, &steps(path), &value).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn without(text: &str, path: &str) -> String {
    unset(text, &steps(path)).unwrap_or_else(|why| panic!("{text}: {why}"))
}

#[test]
fn a_value_is_replaced_and_what_is_said_beside_it_stays() {
    let text = "# mine\nmodel: a/b   # the good one\nmemory: {enabled: true, scope: chat} # why\ntools:\n  # few\n  profile: coding\n  deny:\n    - terminal\n# end\n";
    assert_eq!(to(text, "model", json!("c/d")), text.replace("a/b ", "c/d "));
    assert_eq!(
        to(text, "memory.scope", json!("topic")),
        text.replace("scope: chat", "scope: topic")
    );
    assert_eq!(to(text, "tools.profile", json!("minimal")), text.replace("coding", "minimal"));
    assert_eq!(to(text, "tools.deny.0", json!("process")), text.replace("- terminal", "- process"));
    assert_eq!(
        to(text, "tools", json!("minimal")),
        "# mine\nmodel: a/b   # the good one\nmemory: {enabled: true, scope: chat} # why\ntools: minimal\n# end\n"
    );
    assert_eq!(
        to(text, "memory", json!(false)),
        text.replace("{enabled: true, scope: chat} #", "false #")
    );
}

#[test]
fn what_is_new_stands_beside_its_neighbours() {
    assert_eq!(to("", "model", json!("a/b")), "model: a/b\n");
    assert_eq!(to("# only words\n", "memory", json!(true)), "# only words\nmemory: true\n");
    assert_eq!(to("{}\n", "memory", json!(true)), "{memory: true}\n");
    let text =
        "agents:\n  a: {tools: coding}   # one\n  b:\n    memory: true # two\n\nmodel: x/y\n";
    assert_eq!(
        to(text, "agents.a.model", json!("m/n")),
        text.replace("{tools: coding}", "{tools: coding, model: m/n}")
    );
    assert_eq!(
        to(text, "agents.b.budget.usd_per_day", json!(2.5)),
        text.replace("# two\n", "# two\n    budget: {usd_per_day: 2.5}\n")
    );
    assert_eq!(
        to(text, "agents.c", json!({"tools": ["a", "b"]})),
        text.replace("# two\n", "# two\n  c: {tools: [a, b]}\n")
    );
    assert_eq!(
        to("agents:\n  a:\nmodel: x/y\n", "agents.a.tools", json!("coding")),
        "agents:\n  a: {tools: coding}\nmodel: x/y\n"
    );
    assert_eq!(to("a: {}\n", "a.b", json!("no")), "a: {b: \"no\"}\n");
    let text = "bindings:\n  - {agent: a} # one\n  - agent: b\n    telegram: \"-1\"\nmodel: x/y\n";
    assert_eq!(
        to(text, "bindings.2", json!({"agent": "c", "telegram": "-2"})),
        text.replace("\"-1\"\n", "\"-1\"\n  - {agent: c, telegram: \"-2\"}\n")
    );
    assert_eq!(
        to("model: x/y\n", "bindings.0", json!({"agent": "c"})),
        "model: x/y\nbindings: [{agent: c}]\n"
    );
}

#[test]
fn what_is_taken_out_leaves_the_rest() {
    let text = "# mine\nmodel: a/b\nmemory: true # it remembers\ntools: {profile: coding, deny: [terminal, process]}\n";
    assert_eq!(
        without(text, "memory"),
        "# mine\nmodel: a/b\ntools: {profile: coding, deny: [terminal, process]}\n"
    );
    assert_eq!(without(text, "tools.profile"), text.replace("profile: coding, ", ""));
    assert_eq!(without(text, "tools.deny"), text.replace(", deny: [terminal, process]", ""));
    assert_eq!(without(text, "tools.deny.1"), text.replace(", process", ""));
    assert_eq!(without(text, "nothing"), text);
    assert_eq!(without("memory: true\n", "memory"), "{}\n");
    assert_eq!(without("a:\n  b: 1\nc: 2\n", "a.b"), "a: {}\nc: 2\n");
    let text = "bindings:\n  - {agent: a}\n  - agent: b\n    telegram: \"-1\"\n# end\n";
    assert_eq!(without(text, "bindings.1"), "bindings:\n  - {agent: a}\n# end\n");
    assert_eq!(without(text, "bindings.0"), text.replace("  - {agent: a}\n", ""));
}

#[test]
fn what_could_mean_something_else_has_quotes() {
    for (value, written) in [
        (json!("yes"), "\"yes\""),
        (json!("12"), "\"12\""),
        (json!("a: b"), "\"a: b\""),
        (json!("a\nb # c"), "\"a\\nb # c\""),
        (json!(["telegram:1", "*"]), "[telegram:1, \"*\"]"),
        (json!(null), "null"),
    ] {
        assert_eq!(to("", "k", value.clone()), format!("k: {written}\n"));
        assert_eq!(value_of(&to("", "k", value.clone())).unwrap(), json!({ "k": value }));
    }
}

#[test]
fn what_is_written_unusually_is_left_to_the_person() {
    for (text, path) in [
        ("a: [\n", "b"),
        ("- a\n- b\n", "model"),
        ("model: a/b\n", "model.x"),
        ("a: &x {b: 1}\nc: *x\n", "a.b"),
        ("bindings:\n  - {agent: a}\n", "bindings.7"),
    ] {
        assert!(set(text, &steps(path), &json!(7)).is_err(), "{text}");
    }
    assert!(
        unset("bindings:\n  - agent: a\n    telegram: 1\n", &steps("bindings.0.agent")).is_err()
    );
}

/// YAML as people write it, with comments, in lines and in brackets.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "true",
        "a/b",
        "\"q: #\"",
        "'x'",
        "",
        "[a, b]",
        "{k: v, m: {n: 1}}",
        "\n    - one\n    - two # t",
        "\n    deep: 1 # d\n    more: [x]",
        "|\n    some\n    text",
    ]);
    let note = prop::sample::select(vec!["", "  # note", " "]);
    let line = ("[a-d]", leaf, note, any::<bool>()).prop_map(|(key, leaf, note, above)| {
        let note = if leaf.starts_with('\n') || leaf.starts_with('|') { "" } else { note };
        let above = if above { "# above\n" } else { "" };
        (key.clone(), format!("{above}{key}: {leaf}{note}\n"))
    });
    prop::collection::vec(line, 0..5).prop_map(|lines| {
        let mut seen = std::collections::BTreeSet::new();
        let mut text: String = lines
            .into_iter()
            .filter(|(key, _)| seen.insert(key.clone()))
            .map(|(_, line)| line)
            .collect();
        if text.is_empty() {
            text.push_str("# nothing\n");
        }
        text
    })
}

proptest! {
    #[test]
    fn whatever_is_set_or_taken_out_nothing_else_changes(
        text in text(),
        path in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "k", "deep", "m", "0", "1", "2"]), 1..4),
        value in prop::sample::select(vec![json!("x"), json!(true), json!(["a"]), json!({"z": 1}), json!("no")]),
    ) {
        let path = steps(&path.join("."));
        let before = value_of(&text).unwrap();
        if let Ok(done) = set(&text, &path, &value) {
            let after = value_of(&done).unwrap();
            let pointer: String = path.iter().map(|it| match it { Step::Key(key) => format!("/{key}"), Step::At(at) => format!("/{at}") }).collect();
            prop_assert_eq!(after.pointer(&pointer), Some(&value), "{} -> {}", &text, &done);
            // What the whole top of another key says is what it said.
            let own = match &path[0] { Step::Key(key) => key.clone(), Step::At(at) => at.to_string() };
            for (key, old) in before.as_object().into_iter().flatten().filter(|(key, _)| **key != own) {
                prop_assert_eq!(&after[key], old);
            }
            for note in ["# above", "# nothing"] {
                prop_assert_eq!(done.matches(note).count(), text.matches(note).count(), "{} -> {}", &text, &done);
            }
            if let (Ok(back), Some(Step::Key(_))) = (unset(&done, &path), path.last()) {
                let left = value_of(&back).unwrap();
                prop_assert_eq!(left.pointer(&pointer), None);
            }
        }
    }
}
