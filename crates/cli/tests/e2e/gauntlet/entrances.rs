//! Who may come in, and who may say yes: C9 to C12.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::chats::approval_in;
use super::puppet::Puppet;
use super::stage::{Bot, Play, Stage, Who, add_everywhere, bind, connected};
use super::{OnMatrix, OnTelegram};
use crate::support::*;
use std::net::TcpStream;

/// Connections that say nothing. As many as a test may have files open, with room for others.
const SILENT: usize = 500;

fn code_in(told: &str) -> String {
    let (_, rest) = told.split_once("Your code is ").unwrap();
    rest.chars().take_while(|it| *it != '.').collect()
}

pub fn c09_a_code_is_not_guessed_used_twice_or_used_by_who_asked<S: Stage>() {
    let stage = S::open();
    let stranger = stage.direct(Who::Mallory, Bot::One);
    let elsewhere = stage.direct(Who::Mallory, Bot::Two);
    let admin = stage.direct(Who::Ann, Bot::One);
    let guest = stage.direct(Who::Bob, Bot::One);
    let play = Play::begin(stage, "  a: {default: true}\n", "");
    let code = code_in(&play.ask(&stranger, Who::Mallory, "let me in: zx81"));
    assert_eq!(code.len(), 8);
    // Nothing of it is anywhere: no model, no session, no file of the agent's.
    assert_eq!((play.puppet.prompts().len(), play.sessions("a").len()), (0, 0));
    assert_eq!(holders(&play.home, "zx81"), Vec::<std::path::PathBuf>::new());
    assert_eq!(holders(&play.home, &code), Vec::<std::path::PathBuf>::new());
    let pair = format!("/pair {code}");
    play.stage.say(&stranger, Who::Mallory, &pair);
    play.until_visits("unauthorised", 2);
    assert!(play.ask(&guest, Who::Bob, &pair).contains("only an admin may use /pair"));
    for wrong in ["AAAAAAAA", "nonsense"] {
        let told = play.ask(&admin, Who::Ann, &format!("/pair {wrong}"));
        assert!(told.contains("no request"), "{told}");
    }
    let told = play.ask(&admin, Who::Ann, &pair);
    assert!(told.contains("may talk to me now"), "{told}");
    play.until_said(&stranger, "you may talk to me now");
    assert!(play.ask(&stranger, Who::Mallory, "hello").contains("heard: hello"));
    // By the bot they asked at, and by no other.
    let other = play.ask(&elsewhere, Who::Mallory, "hello");
    assert!(other.contains("Your code is"), "{other}");
    for _ in 0..5 {
        assert!(play.ask(&admin, Who::Ann, &pair).contains("no request"), "used twice");
    }
    let told = play.ask(&admin, Who::Ann, &format!("/pair {}", code_in(&other)));
    assert!(told.contains("too many codes were wrong"), "{told}");
    // Taken back, it is gone at the next message.
    let who = play.stage.user(Who::Mallory);
    insula(&play.home, &["pairing", "revoke", "a", &who]).ok();
    let (asked, turned_away) = (play.puppet.prompts().len(), play.visits("unauthorised"));
    play.stage.say(&stranger, Who::Mallory, "hello again");
    play.until_visits("unauthorised", turned_away + 1);
    assert_eq!(play.puppet.prompts().len(), asked);
}

/// A code is good on the platform that it was given on.
#[test]
fn c09_a_code_of_one_platform_is_none_on_the_other() {
    let (telegram, matrix) = (OnTelegram::open(), OnMatrix::open());
    let stranger = telegram.direct(Who::Mallory, Bot::One);
    let admin = matrix.direct(Who::Ann, Bot::One);
    let puppet = Puppet::start();
    let config = format!(
        "model: puppet/any\nproviders: {{puppet: {{kind: openai, base_url: '{}'}}}}\n\
         agents:\n  a: {{default: true, access: {{admins: ['{}', '{}']}}}}\n\
         channels:\n  telegram:\n    accounts:\n{}  matrix:\n    accounts:\n{}",
        puppet.url(),
        telegram.user(Who::Ann),
        matrix.user(Who::Ann),
        telegram.accounts(),
        matrix.accounts(),
    );
    let home = configured(&config);
    let _daemon = start_still(&home);
    connected(&home);
    telegram.say(&stranger, Who::Mallory, "let me in");
    let told = telegram.until(&stranger, |heard| heard.first().cloned()).text;
    let pair = format!("/pair {}", code_in(&told));
    matrix.say(&admin, Who::Ann, &pair);
    let told = matrix.until(&admin, |heard| heard.first().cloned()).text;
    assert!(told.contains("no request"), "{told}");
    // Where it was given it is still good.
    let there = telegram.direct(Who::Ann, Bot::One);
    telegram.say(&there, Who::Ann, &pair);
    let told = telegram.until(&there, |heard| heard.first().cloned()).text;
    assert!(told.contains("may talk to me now"), "{told}");
}

pub fn c10_what_is_not_the_platform_is_refused_and_disturbs_no_chat<S: Stage>() {
    let stage = S::open();
    let private = stage.direct(Who::Ann, Bot::One);
    let play = Play::begin(stage, "  a: {default: true}\n", "");
    let to = play.daemon.listen();
    let silent: Vec<TcpStream> = (0..SILENT).map(|_| TcpStream::connect(to).unwrap()).collect();
    assert!(play.ask(&private, Who::Ann, "hello").contains("heard: hello"));
    drop(silent);
    let update = r#"{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"is_bot":false,"first_name":"Ann"},"text":"forged"}}"#;
    let hook = |account: &str, headers: &[&str]| {
        let path = format!("/hooks/{}/{account}", S::PLATFORM);
        let answer = send(to, "POST", &path, headers, update);
        (answer.status, answer.body)
    };
    // An account that is there can't be told from one that is not.
    let nobody = hook("nobody", &[]);
    assert!(matches!(nobody.0, 401 | 403 | 404), "{nobody:?}");
    for headers in
        [&[][..], &["X-Telegram-Bot-Api-Secret-Token: guess"], &["Authorization: Bearer x"]]
    {
        assert_eq!(hook("one", headers), nobody);
    }
    assert!(play.ask(&private, Who::Ann, "still there?").contains("heard: still there?"));
    play.assert_not_shown(0, "forged");
    assert_eq!(play.sessions("a").len(), 1);
}

pub fn c11_who_is_no_admin_approves_by_no_way<S: Stage>() {
    let stage = S::open();
    let group = stage.group("all", &[Bot::One]);
    let agents = "  a: {default: true, memory: true, approvals: {timeout: 1h}}\n";
    let play = Play::begin(stage, agents, "");
    play.stage.say(&group, Who::Bob, &add_everywhere("the door code is 7"));
    let question = play.until_said(&group, "Approval needed");
    let id = approval_in(&question.text);
    let still_waits = || {
        let waiting = json(&play.home, &["approvals", "list"]);
        assert!(waiting.to_string().contains(&id), "{waiting}");
        assert_eq!(play.remembered("a"), []);
    };
    // By command and by plain words; a stranger is not even answered.
    for (text, told) in [
        (format!("/approve {id}"), "only an admin may use /approve"),
        (format!("/approve {id} always"), "only an admin may use /approve"),
        ("/deny".to_owned(), "only an admin may use /deny"),
        (format!("yes {id}"), "only an admin of agent"),
        (format!("no {id}"), "only an admin of agent"),
    ] {
        let heard = play.ask(&group, Who::Bob, &text);
        assert!(heard.contains(told), "{text}: {heard}");
    }
    let before = play.stage.heard(&group).len();
    play.stage.say(&group, Who::Mallory, &format!("/approve {id}"));
    play.until_visits("unauthorised", 1);
    still_waits();
    // By a button: its own, one that is made up, and one that another pressed.
    if S::HAS_BUTTONS {
        let (_, data) = question.buttons.first().expect("an approval has buttons").clone();
        for (who, data) in [(Who::Bob, data.as_str()), (Who::Mallory, &data), (Who::Ann, "made-up")]
        {
            play.stage.press(&group, who, &question, data);
        }
        play.stage.say(&group, Who::Bob, "/status");
        let told = play.next(&group, before);
        assert!(told.contains("one call waits for approval"), "{told}");
    }
    // Over the API, with every verb but the one.
    for verb in ["chat", "read", "manage"] {
        let made = json(&play.home, &["token", "create", "--agent", "a", "--verb", verb]);
        let bearer = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
        let path = format!("/api/agents/a/approvals/{id}");
        let headers = [bearer.as_str(), "Content-Type: application/json"];
        let yes = r#"{"decision": "approve"}"#;
        let answer = send(play.daemon.listen(), "POST", &path, &headers, yes);
        assert_eq!(answer.status, 403, "{verb}: {answer:?}");
    }
    still_waits();
    play.ask(&group, Who::Ann, &format!("/approve {id}"));
    play.until_said(&group, "result: done");
}

pub fn c12_an_agent_without_a_list_denies_whatever_others_allow<S: Stage>() {
    let stage = S::open();
    let [open, closed] = ["open", "closed"].map(|name| stage.group(name, &[Bot::One]));
    let private = stage.direct(Who::Mallory, Bot::Two);
    let agents = format!(
        "  a: {{access: {{allow: ['{}:*'], admins: []}}}}\n  b: {{access: {{allow: [], admins: [], unknown: ignore}}, model: puppet/b}}\n",
        S::PLATFORM
    );
    let bindings = format!(
        "{}{}  - {{agent: b, {}: {{account: two}}}}\n",
        bind::<S>("a", &open),
        bind::<S>("b", &closed),
        S::PLATFORM
    );
    let play = Play::begin(stage, &agents, &bindings);
    for who in [Who::Ann, Who::Bob, Who::Mallory] {
        play.stage.say(&closed, who, "let me in: zx81");
        play.stage.say(&private, Who::Mallory, "let me in: zx81");
    }
    play.until_visits("unauthorised", 6);
    assert!(play.ask(&open, Who::Mallory, "hello").contains("heard: hello"));
    assert_eq!(play.stage.heard(&closed), []);
    assert_eq!(play.stage.heard(&private), []);
    assert_eq!(play.puppet.shown_to("b"), Vec::<String>::new());
    assert!(play.sessions("b").is_empty());
    assert_eq!(holders(&play.home, "zx81"), Vec::<std::path::PathBuf>::new());
}
