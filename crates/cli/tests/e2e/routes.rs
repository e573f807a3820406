//! Which agent a message reaches, in which session and scope, and why.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, Output};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CONFIG: &str = r#"agents:
  main: {default: true}
  coder: {}
  helper: {}
  staff: {}
bindings:
  - {agent: coder, telegram: -100123}
  - {agent: helper, telegram: "-100123", topic: 7}
  - {agent: helper, telegram: {chat: "200"}}
  - {agent: coder, match: {platform: slack, peer: U1}}
  - {agent: helper, discord: {guild: "9", role: guest}, priority: 1}
  - {agent: staff, discord: {guild: "9", role: staff}, priority: 5}
  - {agent: coder, discord: "500"}
  - {agent: staff, discord: "501"}
  - {agent: helper, whatsapp: "*"}
channels:
  telegram: {accounts: {one: {token: "${secret:ONE}"}, two: {token: "${secret:TWO}"}}}
  discord: {accounts: {only: {token: "${secret:ONLY}"}}}
"#;

fn started() -> (Home, Daemon) {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    (home, daemon)
}

fn explain(home: &Home, message: &str) -> Output {
    let args = ["route", "explain", "--json", "--platform"].into_iter();
    insula(home, &args.chain(message.split(' ')).collect::<Vec<_>>())
}

/// Agent, tier, session key and scope of a message.
fn route(home: &Home, message: &str) -> [String; 4] {
    let route = explain(home, message).ok().json();
    assert_eq!(route["refused"], Value::Null, "{message}: {route:#}");
    ["agent", "tier", "session_key", "scope"]
        .map(|key| route[key].as_str().unwrap_or_else(|| panic!("{message}: {route:#}")).to_owned())
}

#[test]
fn an_explanation_has_the_shape_that_programs_read() {
    let home = configured(
        "agents: {main: {default: true}, coder: {integrity: off}}\nbindings:\n  - {agent: coder, telegram: -5, topic: 7}\n  - {agent: main, telegram: -5}\n  - {agent: coder, slack: C1}\n",
    );
    let rule = |binding: u64, rule: &str, agent: &str, tier: &str, matched: bool, why: &str| {
        json!({
            "binding": binding, "rule": rule, "agent": agent,
            "place": format!("config.yaml:{}:5", binding + 2),
            "tier": tier, "matched": matched, "why": why,
        })
    };
    let acts = "board call change_self delegate forget network program remember_globally schedule send shared_files";
    let acts: BTreeMap<&str, &str> = acts.split(' ').map(|act| (act, "allow")).collect();
    let expected = json!({
        "agent": "coder",
        "refused": null,
        "tier": "topic",
        "session_key": "agent:coder:telegram:default:group:-5:topic:7",
        "scope": "topic:telegram:default:-5:7",
        "integrity": { "own": true, "sources": [], "many": false },
        "tainted": { "profile": "off", "acts": acts, "tools": {}, "trusted": [] },
        "may_talk": false,
        "may_talk_why": "nothing lets them in: no entry of `access.allow`, no code, no admin",
        "considered": [
            rule(1, "telegram chat=-5 topic=7", "coder", "topic", true, "won: most specific match"),
            rule(2, "telegram chat=-5", "main", "chat", true, "lost to rule 1, which names a topic"),
            rule(3, "slack chat=C1", "coder", "chat", false, "the rule is for slack"),
        ],
    });
    assert_eq!(explain(&home, "telegram --chat -5 --topic 7").ok().json(), expected);
    let text =
        insula(&home, &["route", "explain", "--platform", "telegram", "--chat=-5", "--topic", "7"]);
    assert_text("route-explain", &home, &text.ok().stdout);
    let daemon = start_still(&home);
    assert_eq!(explain(&home, "telegram --chat -5 --topic 7").ok().json(), expected);
    drop(daemon);
}

#[test]
fn a_refusal_has_the_same_shape_with_a_reason_and_no_agent() {
    let home = configured("agents: {a: {}, b: {}}\nbindings: [{agent: ghost, telegram: 1}]\n");
    let refused = |message: &str| {
        let mut route = explain(&home, message).ok().json();
        route.as_object_mut().unwrap().remove("considered");
        route
    };
    let shape = |reason: &str, tier: Value| json!({ "agent": null, "refused": reason, "tier": tier, "session_key": null, "scope": null });
    let ghost = "binding 1 names agent `ghost`, which does not exist";
    assert_eq!(refused("telegram --chat 1"), shape(ghost, json!("chat")));
    let nobody = "no binding matches and there is no default agent";
    assert_eq!(refused("telegram --chat 2"), shape(nobody, Value::Null));
    let text = insula(&home, &["route", "explain", "--platform", "telegram", "--chat", "1"]);
    assert_text("route-explain-refused", &home, &text.ok().stdout);
}

#[test]
fn a_chat_is_the_same_as_a_number_and_as_a_text() {
    let (home, _daemon) = started();
    for spelling in
        ["-100123", "\"-100123\"", "'-100123'", "{chat: -100123}", "{chat_id: '-100123'}"]
    {
        let home = configured(&format!(
            "agents: {{main: {{default: true}}, a: {{}}}}\nbindings: [{{agent: a, telegram: {spelling}}}]\n"
        ));
        let expected = [
            "a",
            "chat",
            "agent:a:telegram:default:group:-100123",
            "chat:telegram:default:-100123",
        ];
        assert_eq!(route(&home, "telegram --chat -100123"), expected, "{spelling}");
    }
    assert_eq!(route(&home, "telegram --account one --chat -100123")[0], "coder");
}

#[test]
fn two_bots_of_one_platform_have_two_sessions_and_two_scopes() {
    let (home, _daemon) = started();
    let [agent, _, one, one_scope] = route(&home, "telegram --account one --chat -100123 --user 5");
    let [other, _, two, two_scope] = route(&home, "telegram --account two --chat -100123 --user 5");
    assert_eq!((agent.as_str(), other.as_str()), ("coder", "coder"));
    assert_eq!(one, "agent:coder:telegram:one:group:-100123");
    assert_eq!(two, "agent:coder:telegram:two:group:-100123");
    assert_ne!(one_scope, two_scope);
}

#[test]
fn a_peer_rule_matches_a_direct_message_and_no_group() {
    let (home, _daemon) = started();
    let dm = route(&home, "slack --chat D7 --user U1 --chat-type dm");
    assert_eq!(
        dm,
        ["coder", "user", "agent:coder:slack:default:dm:D7:user:U1", "chat:slack:default:D7"]
    );
    assert_eq!(route(&home, "slack --chat C7 --user U1 --chat-type channel")[0], "main");
    assert_eq!(route(&home, "slack --chat D7 --user U2 --chat-type dm")[0], "main");
    // Where the chat is the user it is a direct message without saying so.
    assert_eq!(route(&home, "slack --chat U1 --user U1")[..2], ["coder", "user"]);
}

#[test]
fn a_thread_inherits_the_rules_above_it_and_its_own_come_first() {
    let (home, _daemon) = started();
    let inherited = route(&home, "discord --chat 777 --parent 500 --user 1");
    assert_eq!(inherited[..3], ["coder", "chat", "agent:coder:discord:only:thread:777"]);
    let own = route(&home, "discord --chat 501 --parent 500 --user 1");
    assert_eq!(own[..2], ["staff", "chat"]);
    assert_eq!(route(&home, "discord --chat 777 --parent 778 --user 1")[0], "main");
}

#[test]
fn among_roles_the_higher_priority_decides() {
    let (home, _daemon) = started();
    let with = |roles: &str| {
        route(&home, &format!("discord --chat 1 --guild 9 --user 1 {roles}"))[0].clone()
    };
    assert_eq!(with("--role guest"), "helper");
    assert_eq!(with("--role staff"), "staff");
    assert_eq!(with("--role guest --role staff"), "staff");
    assert_eq!(with("--role staff --role guest"), "staff");
    assert_eq!(with("--role other"), "main");
    let place = route(&home, "discord --chat 1 --guild 9 --user 1")[2].clone();
    assert!(place.contains(":channel:"), "a guild has channels: {place}");
    assert_eq!(route(&home, "discord --chat 1 --guild 8 --user 1 --role staff")[0], "main");
    // A chat beats a role, whatever its priority.
    assert_eq!(route(&home, "discord --chat 500 --guild 9 --user 1 --role staff")[0], "coder");
}

#[test]
fn topics_beat_chats_and_platforms_come_last() {
    let (home, _daemon) = started();
    assert_eq!(
        route(&home, "telegram --account one --chat -100123 --topic 7")[..2],
        ["helper", "topic"]
    );
    assert_eq!(
        route(&home, "telegram --account one --chat -100123 --topic 8")[..2],
        ["coder", "chat"]
    );
    assert_eq!(route(&home, "whatsapp --chat 1")[..2], ["helper", "platform"]);
    assert_eq!(route(&home, "matrix --chat !r:x --user @u:x")[..2], ["main", "default"]);
}

#[test]
fn hostile_ids_stay_inside_their_field_of_the_key() {
    let (home, _daemon) = started();
    let args = [
        "route",
        "explain",
        "--json",
        "--platform",
        "whatsapp",
        "--chat",
        "1:topic:2 %/é",
        "--user",
        "u:v",
    ];
    let route = insula(&home, &args).ok().json();
    assert_eq!(
        route["session_key"],
        "agent:helper:whatsapp:default:group:1%3Atopic%3A2%20%25%2F%C3%A9"
    );
}

#[test]
fn two_rules_alike_are_an_error_and_refuse_while_the_daemon_serves_the_rest() {
    for (rules, says) in [
        ("  - {agent: a, telegram: 5}\n  - {agent: b, telegram: '5'}\n", "5:5"),
        ("  - {agent: a, telegram: '*'}\n  - {agent: a, telegram: '*'}\n", "5:5"),
        (
            "  - {agent: a, discord: {guild: '9', role: x}, priority: 3}\n  - {agent: b, discord: {guild: '9', role: y}, priority: 3}\n",
            "priority",
        ),
    ] {
        let home = configured(&format!("agents: {{a: {{}}, b: {{}}}}\n# ties\nbindings:\n{rules}"));
        let checked = insula(&home, &["check", "--json"]);
        assert_eq!(checked.code, Some(2), "{rules}: {checked:?}");
        assert!(!checked.json()["errors"].as_array().unwrap().is_empty());
        let told = insula(&home, &["check"]);
        assert!(told.stdout.contains(says) || told.stderr.contains(says), "{told:?}");
        let _daemon = start_still(&home);
        let message = match rules.contains("discord") {
            true => "discord --chat 1 --guild 9 --role x --role y",
            false => "telegram --chat 5",
        };
        let route = explain(&home, message).ok().json();
        assert!(route["agent"].is_null() && route["refused"].is_string(), "{rules}: {route:#}");
    }
}

#[test]
fn a_tie_edited_in_refuses_what_is_tied_and_nothing_else() {
    let (home, _daemon) = started();
    let tied = CONFIG.replace("channels:", "  - {agent: staff, telegram: 200}\nchannels:");
    home.write("config.yaml", tied).unwrap();
    let reload = insula(&home, &["reload"]);
    assert_eq!(reload.code, Some(0), "{reload:?}");
    assert!(reload.stdout.contains("1 error"), "{reload:?}");
    let tied = explain(&home, "telegram --account one --chat 200").ok().json();
    assert!(tied["agent"].is_null() && tied["refused"].is_string(), "{tied:#}");
    home.write("config.yaml", CONFIG).unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(route(&home, "telegram --account one --chat 200")[0], "helper");
}

#[test]
fn without_a_default_only_the_command_line_finds_a_sole_agent_or_main() {
    for (agents, cli) in [
        ("{solo: {}}", Some("solo")),
        ("{main: {}, other: {}}", Some("main")),
        ("{one: {}, other: {}}", None),
        ("{main: {}, other: {default: true}}", Some("other")),
    ] {
        let home = configured(&format!("agents: {agents}\n"));
        let on = |platform: &str| {
            explain(&home, &format!("{platform} --chat 1")).ok().json()["agent"].clone()
        };
        assert_eq!(on("cli"), json!(cli), "{agents}");
        let default = if agents.contains("default") { json!("other") } else { Value::Null };
        assert_eq!((on("telegram"), on("api")), (default.clone(), default), "{agents}");
    }
}

#[test]
fn wrong_use_is_explained() {
    let (home, _daemon) = started();
    for (message, says) in [
        ("telgram --chat 1", "did you mean `telegram`?"),
        ("zzzzzz --chat 1", "unknown platform `zzzzzz`"),
        ("telegram --chat 1", "say which: `one`, `two`"),
        ("whatsapp --chat 1 --chat-type room", "`room` is no chat type"),
        ("whatsapp --chat 1 --guild 1 --team 2", "a guild or a team, not both"),
        ("whatsapp --chat ", "chat id"),
    ] {
        let output = explain(&home, message);
        assert_eq!(output.code, Some(2), "{message}: {output:?}");
        let told = output.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(told.contains(says), "{message}: {output:?}");
        assert_eq!(output.stderr, "", "{message}");
    }
}

#[test]
fn the_only_account_is_taken_without_saying_so() {
    let (home, _daemon) = started();
    assert_eq!(route(&home, "discord --chat 500")[2], "agent:coder:discord:only:group:500");
    assert_eq!(
        route(&home, "discord --account x --chat 500")[2],
        "agent:coder:discord:x:group:500"
    );
}
