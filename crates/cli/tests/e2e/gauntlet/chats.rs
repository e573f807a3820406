//! One chat against another inside the same agent: B1 to B5.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::stage::{Bot, Chat, Play, Stage, Who, add, add_everywhere, bind, place, search};
use crate::support::*;
use serde_json::{Value, json as value};

pub fn b01_what_a_private_chat_learns_is_absent_from_a_group<S: Stage>() {
    let stage = S::open();
    let private = stage.direct(Who::Ann, Bot::One);
    let group = stage.group("all", &[Bot::One]);
    let play = Play::begin(stage, "  a: {default: true, memory: true}\n", "");
    let told = play.ask(&private, Who::Ann, &add("the canary is zx81"));
    assert!(told.contains("done"), "{told}");
    play.ask(&private, Who::Ann, "between us: the quetzal flies at nine");
    let from = play.puppet.prompts().len();
    play.ask(&group, Who::Bob, "what do you know?");
    for question in [
        search("canary zx81"),
        r#"call session_search {"query": "quetzal flies"}"#.to_owned(),
        r#"call session_search {"query": "zx81"}"#.to_owned(),
        r#"call session_search {"session_id": 1, "around_message_id": 1}"#.to_owned(),
    ] {
        // The person whose words they are gets no more of them there.
        for who in [Who::Bob, Who::Ann] {
            let told = play.ask(&group, who, &question);
            assert!(!told.contains("canary is") && !told.contains("at nine"), "{told}");
        }
    }
    assert_eq!(play.ask(&group, Who::Ann, "/memory"), "I remember nothing here");
    play.ask(&group, Who::Ann, "/new");
    play.ask(&group, Who::Bob, "and now?");
    for words in ["canary is", "at nine"] {
        play.assert_not_shown(from, words);
    }
    // Where it was learned it is known, in a new conversation too.
    let found = play.ask(&private, Who::Ann, &search("canary"));
    assert_eq!(found, "result: [memory] the canary is zx81");
    play.ask(&private, Who::Ann, "/new");
    let from = play.puppet.prompts().len();
    play.ask(&private, Who::Ann, "hello");
    assert!(play.puppet.prompts()[from].body.contains("the canary is zx81"));
}

pub fn b02_topics_groups_users_and_bots_are_apart<S: Stage>() {
    let stage = S::open();
    let group = stage.group("first", &[Bot::One]);
    let places = [
        stage.topic(&group, "red"),
        stage.topic(&group, "green"),
        group,
        stage.group("second", &[Bot::One]),
        stage.direct(Who::Ann, Bot::One),
        stage.direct(Who::Ann, Bot::Two),
        stage.direct(Who::Bob, Bot::One),
    ];
    let shared = [stage.group("u1", &[Bot::One]), stage.group("u2", &[Bot::One])];
    let other = stage.group("u3", &[Bot::Two]);
    let agents = "  a: {default: true, memory: true, model: puppet/a}\n  u: {memory: {scope: user}, model: puppet/u}\n";
    let bindings = [&shared[0], &shared[1], &other].map(|chat| bind::<S>("u", chat)).concat();
    let play = Play::begin(stage, agents, &bindings);
    let who = |chat: &Chat| chat.direct.map_or(Who::Bob, |(who, _)| who);
    for (number, chat) in places.iter().enumerate() {
        let told = play.ask(chat, who(chat), &add(&format!("fact-{number} holds")));
        assert!(told.contains("done"), "{number}: {told}");
    }
    for (number, chat) in places.iter().enumerate() {
        let found = play.ask(chat, who(chat), &search("fact holds"));
        assert_eq!(found, format!("result: [memory] fact-{number} holds"));
        // A new conversation is shown what belongs there, and nothing else of it all.
        play.ask(chat, who(chat), "/new");
        let from = play.puppet.prompts().len();
        play.ask(chat, who(chat), "hello");
        let shown = &play.puppet.prompts()[from].body;
        for other in 0..places.len() {
            let words = format!("fact-{other} holds");
            assert_eq!(shown.contains(&words), other == number, "{number}: {words}: {shown}");
        }
    }
    assert_eq!(play.sessions("a").iter().filter(|it| it["ended"] == false).count(), places.len());
    // By user: the same person shares among the chats of one bot, and with nobody else.
    play.ask(&shared[0], Who::Ann, &add("mine is ann"));
    play.ask(&shared[0], Who::Bob, &add("mine is bob"));
    assert_eq!(play.ask(&shared[1], Who::Ann, &search("mine")), "result: [memory] mine is ann");
    assert_eq!(play.ask(&shared[1], Who::Bob, &search("mine")), "result: [memory] mine is bob");
    assert_eq!(play.ask(&other, Who::Ann, &search("mine")), "result: nothing was found");
}

/// The name of what waits, from the words that ask about it.
pub fn approval_in(text: &str) -> String {
    let (_, rest) = text.split_once("/approve ").unwrap();
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

pub fn b03_a_global_write_waits_for_an_admin_and_keeps_who_asked<S: Stage>() {
    let stage = S::open();
    let group = stage.group("all", &[Bot::One]);
    let other = stage.group("other", &[Bot::One]);
    let denied = stage.group("denied", &[Bot::One]);
    let agents = "  a: {default: true, memory: true, approvals: {timeout: 1h}}\n  d: {memory: {global_writes: deny}}\n";
    let bindings = bind::<S>("d", &denied);
    let play = Play::begin(stage, agents, &bindings);
    play.stage.say(&group, Who::Bob, &add_everywhere("the door code is 7"));
    let question = play.until_said(&group, "Approval needed");
    assert!(question.text.contains("global_memory"), "{question:?}");
    let id = approval_in(&question.text);
    assert_eq!(play.remembered("a"), []);
    // Who asked can't say yes to it.
    let told = play.ask(&group, Who::Bob, &format!("yes {id}"));
    assert!(told.contains("only an admin of agent"), "{told}");
    let told = play.ask(&group, Who::Bob, &format!("/approve {id}"));
    assert!(told.contains("only an admin may use /approve"), "{told}");
    let from = play.puppet.prompts().len();
    play.ask(&other, Who::Bob, "what do you know?");
    play.assert_not_shown(from, "door code");
    assert_eq!(play.remembered("a"), []);
    play.stage.say(&group, Who::Ann, &format!("yes {id}"));
    play.until_said(&group, "result: done");
    assert_eq!(play.remembered("a"), [("global".to_owned(), "the door code is 7".to_owned())]);
    let listed = json(&play.home, &["memory", "list", "a"]);
    let provenance = listed[0]["provenance"].to_string();
    for who in [Who::Ann, Who::Bob] {
        assert!(provenance.contains(&play.stage.user(who)), "{who:?}: {provenance}");
    }
    // From now on it is for all chats of the agent.
    play.ask(&other, Who::Bob, "/new");
    let from = play.puppet.prompts().len();
    play.ask(&other, Who::Bob, "and now?");
    assert!(play.puppet.prompts()[from].body.contains("the door code is 7"));
    // An operator can close it for good.
    let told = play.ask(&denied, Who::Ann, &add_everywhere("x"));
    assert!(told.contains("global_writes"), "{told}");
    assert_eq!(play.remembered("d"), []);
}

pub fn b04_a_scope_hook_that_goes_wrong_opens_nothing<S: Stage>() {
    let stage = S::open();
    let victim = stage.direct(Who::Ann, Bot::One);
    let scope = format!("chat:{}", place::<S>(Bot::One, &victim));
    let answers = |context: &Value| format!("echo '{}'", value!({ "context_id": context }));
    let hooks = [
        ("crash", "echo oh dear >&2; exit 3".to_owned(), "30s"),
        ("hang", "sleep 600".to_owned(), "300ms"),
        ("object", answers(&value!({ "a": 1 })), "30s"),
        ("empty", answers(&value!("")), "30s"),
        ("long", r#"printf '{"context_id": "%0600d"}' 0"#.to_owned(), "30s"),
        ("dots", answers(&value!("../..")), "30s"),
        ("forged", answers(&value!(scope)), "30s"),
    ];
    let groups: Vec<Chat> = hooks.iter().map(|(name, ..)| stage.group(name, &[Bot::One])).collect();
    let mut agents = "  main: {default: true, memory: true}\n".to_owned();
    for (name, command, timeout) in &hooks {
        let hook = value!([{ "command": command, "timeout": timeout }]);
        agents += &format!("  {name}: {{memory: true, hooks: {{\"memory:scope\": {hook}}}}}\n");
    }
    let bindings: String =
        hooks.iter().zip(&groups).map(|((name, ..), chat)| bind::<S>(name, chat)).collect();
    let play = Play::begin(stage, &agents, &bindings);
    // What the forger wants is there to be had, in the very agent: its own private chat's.
    let folder = scope.replace(':', "=");
    let file = format!("agents/forged/memories/contexts/{folder}/MEMORY.md");
    play.home.write(&file, "the private word is zx81\n").unwrap();
    for ((name, ..), chat) in hooks.iter().zip(&groups) {
        let is_named = matches!(*name, "dots" | "forged");
        let told = play.ask(chat, Who::Bob, &add("leak of a group"));
        let found = play.ask(chat, Who::Bob, &search("word leak"));
        assert!(!found.contains("zx81"), "{name}: {found}");
        if is_named {
            assert!(told.contains("done") && found.contains("leak of a group"), "{name}: {told}");
        } else {
            assert!(told.contains("memory is closed here"), "{name}: {told}");
            assert!(found.contains("memory is closed here"), "{name}: {found}");
            assert_eq!(play.remembered(name), [], "{name}");
        }
        // The conversation goes on.
        assert!(play.ask(chat, Who::Bob, "hello").contains("heard: hello"), "{name}");
    }
    let scopes = |agent: &str| -> Vec<String> {
        let all = play.remembered(agent).into_iter().filter(|(_, text)| text.contains("leak"));
        all.map(|(scope, _)| scope).collect()
    };
    assert_eq!(scopes("dots"), ["custom:..%2F.."]);
    let [forged] = &scopes("forged")[..] else { panic!("{:?}", play.remembered("forged")) };
    assert!(forged.starts_with("custom:chat%3A"), "{forged}");
    assert_eq!(play.home.read(&file).unwrap(), "the private word is zx81\n");
    play.assert_not_shown(0, "private word");
}

pub fn b05_a_private_chats_words_reach_no_group_without_a_grant<S: Stage>() {
    let stage = S::open();
    let group = stage.group("all", &Bot::BOTH);
    let closed = stage.direct(Who::Ann, Bot::One);
    let open = stage.direct(Who::Ann, Bot::Two);
    let to = |bot| place::<S>(bot, &group);
    let agents = format!(
        "  a: {{default: true, memory: true, tools: {{also_allow: [send_message]}}, send: {{to: ['{}']}}}}\n\
         \x20 g: {{tools: {{also_allow: [send_message]}}, send: {{to: ['{}'], flows: [{{from: '{}', to: '{}'}}]}}}}\n",
        to(Bot::One),
        to(Bot::Two),
        place::<S>(Bot::Two, &open),
        to(Bot::Two),
    );
    let bindings = format!("  - {{agent: g, {}: {{account: two}}}}\n", S::PLATFORM);
    let play = Play::begin(stage, &agents, &bindings);
    let send = |bot, words: &str| {
        format!("call send_message {}", value!({ "target": to(bot), "message": words }))
    };
    let told = play.ask(&closed, Who::Ann, &send(Bot::One, "the canary"));
    assert!(told.contains("may read what you have seen"), "{told}");
    // By a child, that has no such tool; and by another bot's account.
    let goal = value!({ "goal": send(Bot::One, "the canary of a child") });
    play.ask(&closed, Who::Ann, &format!("call delegate_task {goal}"));
    let told = play.ask(&closed, Who::Ann, &send(Bot::Two, "the canary by another bot"));
    assert!(!told.contains("on its way"), "{told}");
    // A flow that was granted is one direction of one chat.
    let told = play.ask(&open, Who::Ann, &send(Bot::Two, "an announcement"));
    assert!(told.contains("on its way"), "{told}");
    let heard = play.until_said(&group, "an announcement");
    assert_eq!(heard.bot, Bot::Two);
    let all = play.stage.heard(&group);
    assert!(all.iter().all(|heard| !heard.text.contains("canary")), "{all:?}");
    let records = json(&play.home, &["audit", "tail", "a", "-n", "100"]);
    let records = records.as_array().unwrap().iter();
    let attempts: Vec<String> = records
        .filter(|it| it["kind"] == "message.send")
        .map(|it| it["content"].to_string())
        .collect();
    assert!(attempts.iter().any(|it| it.contains("refused") && it.contains("wider audience")));
    assert!(attempts.iter().all(|it| !it.contains("canary")), "{attempts:?}");
}
