//! Configurations as people wrote them elsewhere, from the first check to the first message: each
//! works, or says what is missing and the one command that mends it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, Output, run_with_input};
use std::fs;

const FAMILY: &str = include_str!("../../../config/tests/fixtures/field-family/config.yaml");
const THREE: &str = include_str!("../../../config/tests/fixtures/field-three-agents/config.yaml");
const BOT: &str = include_str!("../../../config/tests/fixtures/field-telegram-bot/config.yaml");
const BINDINGS: &str =
    include_str!("../../../config/tests/fixtures/field-bindings-of-others/config.yaml");

/// What a command said, whole.
fn whole(output: &Output) -> String {
    let code = output.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
    format!("{}{}exit code {code}\n", output.stdout, output.stderr)
}

/// The greeting of a daemon, without its log.
fn greeting(daemon: &Daemon) -> String {
    let log = eventually("the daemon greets", || {
        assert_eq!(get(daemon, "/healthz").status, 200);
        Some(daemon.log()).filter(|log| log.contains("Ctrl-C stops."))
    });
    let lines = log.lines().filter(|line| !line.contains(" INFO "));
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.replace(&daemon.listen().to_string(), "ADDRESS");
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

fn assert_recipe(name: &str, config: &str) {
    let home = configured(config);
    let check = whole(&insula(&home, &["check"]));
    let daemon = start_still(&home);
    let up = greeting(&daemon);
    let message = whole(&insula(&home, &["chat", "-m", "hello"]));
    let text =
        format!("$ insula check\n{check}\n$ insula up\n{up}\n\n$ insula chat -m hello\n{message}");
    assert_text(&format!("field-{name}"), &home, &text);
}

#[test]
fn the_family_recipe_says_what_it_lacks() {
    assert_recipe("family", FAMILY);
}

#[test]
fn the_three_agents_say_what_they_lack() {
    assert_recipe("three-agents", THREE);
}

#[test]
fn one_bot_beside_a_main_agent_says_what_it_lacks() {
    assert_recipe("telegram-bot", BOT);
}

#[test]
fn bindings_of_others_say_what_they_lack() {
    assert_recipe("bindings-of-others", BINDINGS);
}

fn warnings(home: &Home) -> Vec<String> {
    let checked = json(home, &["check"]);
    let warnings = checked["warnings"].as_array().unwrap().iter();
    warnings.map(|found| found["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_command_that_is_named_mends_what_it_says() {
    let home = configured(FAMILY);
    assert_eq!(warnings(&home).len(), 6, "{:#?}", warnings(&home));
    let secret = ["secret", "set", "--daemon", "GOOGLE_API_KEY"];
    run_with_input(INSULA, home.path(), &secret, "a-key-of-some-length\n").ok();
    let search = "{search: {provider: searxng, base_url: \"http://localhost:8888\"}}";
    for (key, value) in [
        ("network", "public"),
        ("web", search),
        ("images", "{model: google/imagen-4}"),
        ("access", "{allow: [\"whatsapp:4915\"]}"),
        ("workspace", "{scope: chat}"),
    ] {
        let said = insula(&home, &["agents", "set", "family", key, value]).ok().stdout;
        assert!(said.starts_with(&format!("wrote `{key}` of family")), "{said}");
    }
    let left = warnings(&home);
    assert!(
        matches!(&*left, [one] if one.contains("waits for whatsapp")),
        "only what no command mends is left: {left:#?}"
    );
    let resolved = json(&home, &["check", "--resolved"]);
    let family = &resolved["agents"]["family"];
    let tools = ["clarify", "image_generate", "memory", "todo", "web_extract", "web_search"];
    assert_eq!(family["tools"], serde_json::json!(tools));
    assert_eq!(
        (&family["memory"], &family["missing_tools"]),
        (&true.into(), &serde_json::json!([]))
    );
}

#[test]
fn a_key_alone_makes_a_built_in_provider() {
    let home = configured(
        "providers: {google: {api_key: \"${env:THE_KEY}\"}}\nmodel: google/gemini-3-flash-preview\nagents: {a: {}}\n",
    );
    assert_eq!(warnings(&home), ["`THE_KEY` is not in the environment"]);
    let unknown = configured("providers: {gogle: {api_key: x}}\nagents: {a: {}}\n");
    let refused = insula(&unknown, &["check"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stdout.contains("did you mean `google`, which is built in?"), "{refused:?}");
}

#[test]
fn a_setting_is_written_where_it_works_and_nowhere_else() {
    let home = configured("agents: {a: {tools: minimal}, b: {}}\n");
    insula(&home, &["agents", "set", "a", "network", "public"]).ok();
    assert_eq!(home.read("agents/a/agent.yaml").unwrap(), "network: public\n");
    for (args, why) in [
        (["a", "network", "[docs.rs]"], "is set already, at agents/a/agent.yaml:1:10"),
        (["a", "tools", "coding"], "is set already, at config.yaml:1:21"),
        (["a", "tolls", "coding"], "unknown key `tolls`"),
        (["a", "Memory", "true"], "no key of an agent"),
        (["a", "memory", "true\nsandbox: off"], "on one line"),
        (["a", "isolation", "process"], "does not enforce it"),
        (["x", "memory", "true"], "there is no agent `x`"),
    ] {
        let refused = insula(&home, &[&["agents", "set"][..], &args].concat());
        assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
        assert!(refused.stderr.contains(why), "{args:?}: {refused:?}");
    }
    assert_eq!(home.read("agents/a/agent.yaml").unwrap(), "network: public\n");
    assert!(!home.path().join("agents/x").exists());
    // A daemon that follows the files has it without another word.
    let _daemon = start(&home);
    insula(&home, &["agents", "set", "a", "memory", "true"]).ok();
    eventually("the agent remembers", || (agent(&home, "a")["memory"] == true).then_some(()));
    let built_in = Home::with([("config.yaml", "{}\n")]).unwrap();
    let refused = insula(&built_in, &["agents", "set", "main", "network", "public"]);
    assert!(refused.stderr.contains("write it into config.yaml"), "{refused:?}");
}

#[test]
fn a_soul_in_a_workspace_is_told_of_and_not_taken() {
    let home = configured("agents: {a: {}, b: {personality: somebody}}\n");
    for id in ["a", "b"] {
        let folder = home.path().join(format!("agents/{id}/workspace"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SOUL.md"), "You are SOMEBODY-ELSE.").unwrap();
    }
    let checked = insula(&home, &["check"]).ok().stdout;
    assert!(checked.contains("agents/a/workspace/SOUL.md is not who agent `a` is"), "{checked}");
    assert!(checked.contains("agents/a/SOUL.md` in the home"), "{checked}");
    assert!(!checked.contains("agent `b`"), "{checked}");
    let daemon = start_still(&home);
    assert!(greeting(&daemon).contains("is not who agent `a` is"));
    let context = insula(&home, &["context", "show", "a"]).ok().stdout;
    assert!(!context.contains("SOMEBODY-ELSE"), "{context}");
}

#[test]
fn contexts_are_listed_by_their_names_and_by_their_folders() {
    let home = configured("agents: {a: {memory: true}}\n");
    let write = |folder: &str, text: &str| {
        let folder = home.path().join("agents/a/memories/contexts").join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("MEMORY.md"), text).unwrap();
    };
    write("chat:telegram:main:-1", "brought along\n§\nby hand");
    write("custom=org%3Aacme", "of the organisation");
    write("whatever", "nobody knows whose");
    let _daemon = start_still(&home);
    let listed = insula(&home, &["memory", "contexts", "a"]).ok();
    assert_text("memory-contexts", &home, &format!("{}{}", listed.stdout, listed.stderr));
    let known = json(&home, &["memory", "list", "a", "--scope", "chat:telegram:main:-1"]);
    assert_eq!(known.as_array().unwrap().len(), 2, "{known}");
}

#[test]
fn every_reference_deployment_lacks_nothing_but_its_secrets() {
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy"));
    let mut seen = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let config = entry.unwrap().path().join("config.yaml");
        let Ok(text) = std::fs::read_to_string(&config) else { continue };
        seen += 1;
        let home = configured(&text);
        let checked = insula(&home, &["check"]).ok();
        let warnings = format!("{}{}", checked.stdout, checked.stderr);
        for warning in warnings.lines().filter(|line| line.starts_with("warning")) {
            let is_secret = warning.contains("is not set") || warning.contains("has no key");
            assert!(is_secret, "{}: {warning}", config.display());
        }
        assert!(agents(&home).values().all(|agent| agent["state"] == "ready"), "{text}");
    }
    assert_eq!(seen, 4);
}
