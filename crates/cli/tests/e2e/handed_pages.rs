//! A conversation on a page that is handed to another agent: the same chat and the same people,
//! and nobody else.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use crate::web_chat::{Socket, closed, next, say, token, wait_for, with_token};
use insula_testkit::{Daemon, Home};
use serde_json::json as value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Only the first agent has an audience.
const CONFIG: &str = r#"
defaults: {integrity: off}
agents:
  support:
    access: {allow: ["web:*"]}
    tools: {also_allow: [handoff]}
    links: [{to: coder, as: handoff}]
  coder: {tools: {also_allow: [handoff]}}
bindings: [{agent: support, web: {account: site}}]
channels: {web: {accounts: {site: {}}}}
"#;

const HAND_OVER: &str = r#"call handoff {"agent": "coder", "summary": "it does not build"}"#;
const HANDED: &str = "coder answers here from now on";

fn is_open(home: &Home) {
    eventually("the chat is open", || {
        let status = json(home, &["status"]);
        (status["accounts"][0]["state"] == "connected").then_some(())
    });
}

fn served(config: &str) -> (Home, Daemon) {
    let home = configured(config);
    let daemon = start_still(&home);
    is_open(&home);
    (home, daemon)
}

/// What was said so far: each is another event, also for other pages of the same bearer.
static SAID: AtomicUsize = AtomicUsize::new(0);

/// A page in a room, or in the bearer's own.
struct Page {
    socket: Socket,
    room: Option<&'static str>,
    /// All that it was told by agents.
    told: Vec<String>,
}

impl Page {
    fn open(daemon: &Daemon, token: &str, room: Option<&'static str>) -> Self {
        let mut socket = with_token(daemon, token);
        let mut join = value!({ "type": "join" });
        room.into_iter().for_each(|room| join["room"] = room.into());
        say(&mut socket, &join);
        wait_for(&mut socket, "joined");
        Self { socket, room, told: Vec::new() }
    }

    fn say(&mut self, text: &str) {
        let id = SAID.fetch_add(1, Ordering::Relaxed).to_string();
        let mut frame = value!({ "type": "say", "id": id, "text": text });
        if let Some(room) = self.room {
            frame["room"] = room.into();
            frame["mention"] = true.into();
        }
        say(&mut self.socket, &frame);
    }

    /// What an agent says next that has these words in it.
    fn hears(&mut self, words: &str) -> String {
        loop {
            let frame = next(&mut self.socket);
            assert_ne!(frame["type"], "refused", "{frame}");
            let is_agents = frame["type"] == "edit" || frame["by"] == "agent";
            let text = frame["text"].as_str().unwrap_or_default().to_owned();
            if is_agents {
                self.told.push(text.clone());
            }
            if is_agents && text.contains(words) {
                return text;
            }
        }
    }

    fn asks(&mut self, text: &str, words: &str) -> String {
        self.say(text);
        self.hears(words)
    }

    /// Whether it was told something with these words, up to an answer of its own.
    fn was_told(&mut self, words: &str) -> bool {
        self.asks("/whoami", "talking to");
        self.told.iter().any(|text| text.contains(words))
    }
}

#[test]
fn who_talks_to_the_first_is_answered_by_the_second_until_they_say_back() {
    let (home, daemon) = served(CONFIG);
    let (_, shown) = token(&home, "support");
    let mut page = Page::open(&daemon, &shown, None);
    assert!(page.asks("/whoami", "talking to").contains("talking to support"));
    page.asks(HAND_OVER, HANDED);
    page.asks("call zebra {}", "zebra");
    assert!(page.asks("/whoami", "talking to").contains("talking to coder"));
    assert_eq!(json(&home, &["turns", "list", "coder"]).as_array().unwrap().len(), 1);
    page.asks("/back", "support answers here again");
    assert!(page.asks("/whoami", "talking to").contains("talking to support"));
    page.asks("call heron {}", "heron");
    assert_eq!(json(&home, &["turns", "list", "coder"]).as_array().unwrap().len(), 1);
    // The second hands it back itself, and what it says last is heard.
    page.asks(HAND_OVER, HANDED);
    page.asks(r#"call handoff {"summary": "it builds"}"#, "support answers here again");
    assert!(page.asks("/whoami", "talking to").contains("talking to support"));
}

#[test]
fn it_goes_on_after_a_restart_with_what_was_said_since() {
    let (home, daemon) = served(CONFIG);
    let (_, shown) = token(&home, "support");
    let mut page = Page::open(&daemon, &shown, None);
    page.asks("call heron {}", "heron");
    page.asks(HAND_OVER, HANDED);
    page.asks("call zebra {}", "zebra");
    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    is_open(&home);
    let mut page = Page::open(&daemon, &shown, None);
    page.hears("heron");
    page.hears("zebra");
    page.asks("call otter {}", "otter");
    // What the second was told is not for the people.
    let told = |text: &String| text.contains("hands this conversation to you");
    assert!(!page.told.iter().any(told), "{:?}", page.told);
    page.asks("/back", "support answers here again");
    assert!(page.asks("/whoami", "talking to").contains("talking to support"));
}

#[test]
fn rule_04_it_is_heard_in_that_room_by_those_whom_the_first_lets_in_and_nowhere_else() {
    let carried = CONFIG.replace("as: handoff}", "as: handoff, carry: [\"*\"]}");
    let carried = carried
        .replace("  coder: {", "  coder: {access: {allow: [\"web:*\"]}, ")
        .replace("bindings: [", "bindings: [{agent: coder, web: {chat: lab}}, ");
    let (home, daemon) = served(&carried);
    let [ann, bob, eve] = ["support", "support", "coder"].map(|agent| token(&home, agent));
    let mut page = Page::open(&daemon, &ann.1, Some("family"));
    let mut beside = Page::open(&daemon, &bob.1, Some("family"));
    let mut elsewhere = Page::open(&daemon, &bob.1, Some("other"));
    let mut own = Page::open(&daemon, &bob.1, None);
    let mut lab = Page::open(&daemon, &eve.1, Some("lab"));
    page.asks(HAND_OVER, HANDED);
    page.asks("call zebra {}", "zebra");
    beside.hears(HANDED);
    beside.hears("zebra");
    // What the second says in its own room stays there, while it answers elsewhere too.
    lab.asks("call heron {}", "heron");
    assert!(!lab.was_told("zebra") && !lab.was_told(HANDED));
    for page in [&mut page, &mut beside] {
        assert!(!page.was_told("heron"), "{:?}", page.told);
    }
    for page in [&mut elsewhere, &mut own] {
        assert!(!page.was_told("zebra") && !page.was_told(HANDED), "{:?}", page.told);
        assert!(page.told.iter().all(|text| !text.contains("talking to coder")));
    }
    // Neither bearer has a way into the other's room.
    for (token, room) in [(&ann.1, "lab"), (&eve.1, "family")] {
        let mut socket = with_token(&daemon, token);
        say(&mut socket, &value!({ "type": "join", "room": room }));
        assert_eq!(next(&mut socket)["code"], "no_room");
        let words =
            value!({ "type": "say", "id": "1", "room": room, "text": "hello", "mention": true });
        say(&mut socket, &words);
        assert_eq!(next(&mut socket)["code"], "no_room");
    }
    // Who loses the token is out; the others go on.
    insula(&home, &["token", "revoke", &ann.0]).ok();
    assert_eq!(closed(&mut page.socket), Some(1008));
    beside.asks("call otter {}", "otter");
    // And with the link it is over.
    let unlinked = carried.replace("    links: [{to: coder, as: handoff, carry: [\"*\"]}]\n", "");
    home.write("config.yaml", &unlinked).unwrap();
    insula(&home, &["reload"]).ok();
    assert!(beside.asks("/whoami", "talking to").contains("talking to support"));
}

#[test]
fn whose_own_token_is_for_both_hands_over_in_their_own_room() {
    let (home, daemon) = served(CONFIG);
    let both = ["token", "create", "--agent", "support", "--agent", "coder", "--verb", "chat"];
    let made = json(&home, &both);
    let mut page = Page::open(&daemon, made["token"].as_str().unwrap(), None);
    page.asks(HAND_OVER, HANDED);
    page.asks("call zebra {}", "zebra");
    page.asks("/back", "support answers here again");
    // Somebody else's would hear what was said here.
    token(&home, "coder");
    page.asks(HAND_OVER, "others hear `coder`");
}
