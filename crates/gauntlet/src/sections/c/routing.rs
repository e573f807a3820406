//! C1 to C4: which agent a message reaches, and under which key.

use super::scene::{ann, chats, inbound, reaches_a_model, settled};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::Script;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::Where;
use insula_testkit::{Home, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What somebody says in a chat reaches this agent and no other.
fn reaches(ground: &Ground, chat: i64, agent: &str) -> Outcome {
    let turn =
        ground.tell(Where::Chat(chat), &ann(), "which one are you", Script::say("this one"))?;
    let models: Vec<String> =
        turn.requests.iter().map(|it| it["model"].as_str().unwrap_or("").to_owned()).collect();
    hold!(models.iter().all(|model| model == agent), "{models:?} answered instead of {agent}");
    let sessions = ground.cli_json(&["sessions", "list", agent])?.to_string();
    hold!(sessions.contains(&format!("agent:{agent}:telegram:ada_bot:group:{chat}")), "{sessions}");
    // The command line, which only knows texts, finds the same.
    let args = ["route", "explain", "--platform", "telegram", "--account", "ada_bot", "--chat"];
    let chat = chat.to_string();
    let explained = ground.cli_json(&[&args[..], &[chat.as_str()]].concat())?;
    hold!(explained["agent"] == agent, "{explained}");
    Ok(Verdict::Held)
}

fn bound_by_a_number(ground: &Ground) -> Outcome {
    reaches(ground, chats::NUMBER, "number")
}

fn bound_by_a_text(ground: &Ground) -> Outcome {
    reaches(ground, chats::STRING, "string")
}

fn bound_by_another_spelling(ground: &Ground) -> Outcome {
    reaches(ground, chats::OTHER, "other")
}

/// What is said in this chat is refused, reported, and heard by nobody.
fn refused(ground: &Ground, chat: i64, agent: &str, why: &str) -> Outcome {
    let words = format!("is anybody there {}", ground.stage().random(&["c2", agent]));
    let before = inbound(ground, "unrouted")? + inbound(ground, "stopped")?;
    ground.say(Where::Chat(chat), &ann(), &words)?;
    settled(ground)?;
    if let Some(model) = reaches_a_model(ground, &words) {
        return Ok(Verdict::Broken(format!("{model} was asked instead")));
    }
    // That it is paused may be told, in the daemon's own words.
    let mut answers = ground.telegram()?.sent_to(chat, None);
    answers.retain(|sent| sent.text != "I am paused at the moment");
    hold!(answers.is_empty(), "somebody answered: {answers:?}");
    let args = ["route", "explain", "--platform", "telegram", "--account", "ada_bot", "--chat"];
    let chat = chat.to_string();
    let explained = ground.cli_json(&[&args[..], &[chat.as_str()]].concat())?;
    hold!(explained["agent"].is_null(), "{explained}");
    hold!(explained["refused"].as_str().is_some_and(|it| it.contains(why)), "{explained}");
    let after = inbound(ground, "unrouted")? + inbound(ground, "stopped")?;
    hold!(after > before, "it is not counted as refused: {before} before, {after} after");
    Ok(Verdict::Held)
}

fn bound_to_nobody(ground: &Ground) -> Outcome {
    let checked = ground.cli(&["check", "--json"]).stdout;
    hold!(checked.contains("ghost"), "`check` does not say it: {checked}");
    refused(ground, chats::MISSING, "ghost", "ghost")
}

fn bound_to_one_that_failed(ground: &Ground) -> Outcome {
    let state = ground.cli_json(&["agents", "show", "broken"])?;
    hold!(state["state"] == "failed" && !state["reason"].is_null(), "{state}");
    refused(ground, chats::FAILED, "broken", "broken")
}

fn bound_to_one_that_is_paused(ground: &Ground) -> Outcome {
    refused(ground, chats::PAUSED, "sleeper", "sleeper")
}

fn a_paused_one_over_the_api(ground: &Ground) -> Outcome {
    let turn = ground.turn("sleeper", "paused", Script::say("awake"))?;
    hold!(turn.requests.is_empty(), "a model was asked: {:?}", turn.requests);
    hold!(turn.answer.status != 200, "{:?}", turn.answer);
    Ok(Verdict::Held)
}

/// A configuration with ties is an error that names both rules, and what they tie for is nobody's.
fn tied(ground: &Ground, rules: [&str; 2], message: &[&str]) -> Outcome {
    let config = format!(
        "agents: {{one: {{}}, two: {{}}}}\nbindings:\n  - {{{}}}\n  - {{{}}}\n",
        rules[0], rules[1]
    );
    let home = Home::with([("config.yaml", config)])?;
    let checked = run(&ground.stage().insula, home.path(), &["check", "--json"]);
    hold!(checked.code == Some(2), "`check` takes it: {checked:?}");
    let told = checked.stdout.clone();
    let both =
        told.contains("3:") && told.contains("4:") || told.contains("one") && told.contains("two");
    hold!(both, "it does not name both: {told}");
    let explain = [&["route", "explain", "--json"], message].concat();
    let explained = run(&ground.stage().insula, home.path(), &explain);
    let answer: Value = serde_json::from_str(&explained.stdout).unwrap_or_default();
    let is_refused = answer["agent"].is_null() && answer["refused"].is_string();
    hold!(is_refused, "somebody answers: {explained:?}");
    Ok(Verdict::Held)
}

fn two_for_one_chat(ground: &Ground) -> Outcome {
    let message = ["--platform", "telegram", "--chat", "-5", "--user", "7"];
    tied(ground, ["agent: one, telegram: -5", "agent: two, telegram: '-5'"], &message)
}

fn two_for_one_platform(ground: &Ground) -> Outcome {
    let message = ["--platform", "telegram", "--chat", "-6", "--user", "7"];
    tied(ground, ["agent: one, telegram: '*'", "agent: two, match: {platform: telegram}"], &message)
}

fn two_roles_of_one_rank(ground: &Ground) -> Outcome {
    tied(
        ground,
        [
            "agent: one, discord: {guild: '9', role: x}, priority: 3",
            "agent: two, discord: {guild: '9', role: y}, priority: 3",
        ],
        &[
            "--platform",
            "discord",
            "--chat",
            "5",
            "--guild",
            "9",
            "--role",
            "x",
            "--role",
            "y",
            "--user",
            "7",
        ],
    )
}

/// Ids that look like parts of a key, or like each other.
const HOSTILE: [&str; 12] = [
    "1",
    "1:topic:2",
    "1%3Atopic%3A2",
    "1%253Atopic",
    "../../b",
    "1/2",
    "1 2",
    "é",
    "e\u{301}",
    "1:user:7",
    "%",
    "agent:b:telegram:x:group:1",
];

fn unpacked(text: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                after
            }
            (byte, after) => {
                bytes.push(*byte);
                after
            }
        };
    }
    String::from_utf8(bytes).ok()
}

fn keys_of_hostile_chats(ground: &Ground) -> Outcome {
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    for chat in HOSTILE {
        for topic in [None, Some("2"), Some("2:user:7")] {
            let chat_argument = format!("--chat={chat}");
            let mut args =
                vec!["route", "explain", "--platform", "whatsapp", &chat_argument, "--user", "7"];
            args.extend(topic.iter().flat_map(|topic| ["--topic", *topic]));
            let key =
                ground.cli_json(&args)?["session_key"].as_str().unwrap_or_default().to_owned();
            let parts: Vec<Option<String>> = key.split(':').map(unpacked).collect();
            hold!(
                parts.get(5).cloned().flatten().as_deref() == Some(chat),
                "{chat} is not in {key}"
            );
            let told = parts.get(7).cloned().flatten();
            hold!(told.as_deref() == topic, "{topic:?} is not in {key}");
            let who = format!("{chat} {topic:?}");
            if let Some(other) = keys.insert(key.clone(), who.clone()) {
                return Ok(Verdict::Broken(format!("{other} and {who} have one key, {key}")));
            }
        }
    }
    Ok(Verdict::Held)
}

fn ids_that_are_none(ground: &Ground) -> Outcome {
    let long = "x".repeat(100_000);
    for (what, chat) in [("empty", ""), ("very long", long.as_str())] {
        let chat = format!("--chat={chat}");
        let told = ground.cli(&["route", "explain", "--json", "--platform", "whatsapp", &chat]);
        hold!(told.code == Some(2), "a chat that is {what} is taken: {:?}", told.code);
    }
    let token = ground.token("main")?.text.clone();
    let body = json!({ "model": "main", "messages": [{ "role": "user", "content": "hi" }] });
    // No name at all is no session: what was said is not there the next time.
    let first = ground.turn_saying("main", "", "the first nameless words", Script::say("heard"))?;
    let second = ground.turn_saying("main", "", "more", Script::say("heard"))?;
    let prompts = String::from_utf8_lossy(&second.prompts()).into_owned();
    hold!(!prompts.contains("nameless"), "an empty name is a session: {:?}", first.answer);
    let before = ground.puppets.count();
    for name in [&long[..30_000], "once-mine", "a\u{7f}b"] {
        let headers = [
            format!("Authorization: Bearer {token}"),
            format!("X-Insula-Session: {name}"),
            "Content-Type: application/json".to_owned(),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let answer = crate::machine::request(
            ground.listen()?,
            "POST",
            "/v1/chat/completions",
            &headers,
            &body.to_string(),
        )?;
        hold!((400..500).contains(&answer.status), "{:?}: {answer:?}", name.get(..10));
    }
    hold!(ground.puppets.count() == before, "a model was asked");
    Ok(Verdict::Held)
}

/// The keys of an agent's sessions.
fn keys_of(ground: &Ground, agent: &str) -> Result<Vec<String>> {
    let sessions = ground.cli_json(&["sessions", "list", agent])?;
    let all = sessions.as_array().cloned().unwrap_or_default();
    let key = |it: &Value| it["key"].as_str().or(it["session_key"].as_str()).map(str::to_owned);
    Ok(all.iter().filter_map(key).collect())
}

fn hostile_names_over_the_api(ground: &Ground) -> Outcome {
    let names = ["s", "s:t", "s%3At", "s/t", "../s", "s.t", "S", "s:user:7", "agent:b:api:x:dm:s"];
    let mut taken = 0;
    for name in names {
        let turn =
            ground.turn_saying("main", name, &format!("word-{taken}"), Script::say("said"))?;
        if turn.answer.status != 200 {
            continue;
        }
        taken += 1;
        let prompt = String::from_utf8_lossy(&turn.prompts()).into_owned();
        let foreign = (0..taken - 1).find(|at| prompt.contains(&format!("word-{at} ")));
        hold!(foreign.is_none(), "`{name}` continues another session: {foreign:?}");
    }
    control!(taken >= 4, "only {taken} names are taken");
    let mut keys: Vec<String> =
        keys_of(ground, "main")?.into_iter().filter(|key| key.contains(":api:")).collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    control!(count >= taken, "{taken} names have {count} sessions: {keys:?}");
    hold!(keys.len() == count, "two sessions have one key: {keys:?}");
    Ok(Verdict::Held)
}

/// C1 to C4.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "C1", variant: "bound by a number", run: bound_by_a_number },
    Attempt { row: "C1", variant: "bound by a text", run: bound_by_a_text },
    Attempt { row: "C1", variant: "bound by another spelling", run: bound_by_another_spelling },
    Attempt { row: "C2", variant: "an agent that is missing", run: bound_to_nobody },
    Attempt { row: "C2", variant: "an agent that failed", run: bound_to_one_that_failed },
    Attempt { row: "C2", variant: "an agent that is paused", run: bound_to_one_that_is_paused },
    Attempt { row: "C2", variant: "a paused agent over the API", run: a_paused_one_over_the_api },
    Attempt { row: "C3", variant: "one chat as a number and as a text", run: two_for_one_chat },
    Attempt { row: "C3", variant: "one platform", run: two_for_one_platform },
    Attempt { row: "C3", variant: "two roles of one priority", run: two_roles_of_one_rank },
    Attempt { row: "C4", variant: "chats and topics", run: keys_of_hostile_chats },
    Attempt { row: "C4", variant: "empty, very long, not to be printed", run: ids_that_are_none },
    Attempt {
        row: "C4",
        variant: "names of sessions over the API",
        run: hostile_names_over_the_api,
    },
];
