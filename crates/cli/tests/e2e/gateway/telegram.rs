//! The daemon on Telegram, against the fake platform: topics, bots, tokens, restarts.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use insula_testkit::telegram::{Draft, Sent, Telegram, Trouble, User, Where};
use insula_world::World;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

pub const ADA: &str = "7:ada-token";
const BOB: &str = "8:bob-token";
/// What takes longer than any daemon under test takes to answer.
const NEVER: Duration = Duration::from_secs(180);

/// Whether a message says of itself that it may have been there before.
pub fn is_repetition(text: &str) -> bool {
    text.starts_with("(This may be a repetition")
}

/// The platform, on a runtime of its own, for tests that block.
pub struct Platform {
    runtime: Arc<Runtime>,
    pub telegram: Telegram,
    pub ann: User,
}

impl Platform {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let world = World::real().unwrap();
        let telegram = runtime.block_on(Telegram::start(&world)).unwrap();
        telegram.bot(ADA, "ada_bot");
        telegram.bot(BOB, "bob_bot");
        Self { runtime: Arc::new(runtime), telegram, ann: User::new(42, "Ann") }
    }

    /// A home whose agents are reached by both bots.
    pub fn home(&self, agents: &str, bindings: &str) -> Home {
        self.home_with("", agents, bindings)
    }

    /// The same, with more at the top.
    pub fn home_with(&self, top: &str, agents: &str, bindings: &str) -> Home {
        let url = self.telegram.url();
        configured(&format!(
            "{top}agents:\n{agents}\nbindings:\n{bindings}\nchannels:\n  telegram:\n    accounts:\n\
             \x20     ada: {{token: \"{ADA}\", base_url: \"{url}\"}}\n\
             \x20     bob: {{token: \"{BOB}\", base_url: \"{url}\"}}\n"
        ))
    }

    pub fn say(&self, place: Where<'_>, text: &str) -> i64 {
        self.telegram.say(place, &Draft::new(&self.ann, text))
    }

    /// Waits until a message is there, as it reads in the end.
    ///
    /// # Panics
    /// When it never is.
    pub fn until(&self, is_it: impl Fn(&Sent) -> bool) -> Sent {
        let found = |platform: &Telegram| platform.find_sent(&is_it);
        let bounded = async { tokio::time::timeout(NEVER, self.telegram.until(found)).await };
        self.runtime.block_on(bounded).expect("it was never said")
    }

    /// Waits until something is found, and no longer than this.
    pub fn until_or<T>(
        &self,
        longest: Duration,
        found: impl FnMut(&Telegram) -> Option<T>,
    ) -> Option<T> {
        let bounded = async { tokio::time::timeout(longest, self.telegram.until(found)).await };
        self.runtime.block_on(bounded).ok()
    }
}

impl Platform {
    /// The menu of commands, when there is one.
    fn until_menu(&self) -> String {
        let found = |platform: &Telegram| {
            Some(platform.commands(ADA).to_string()).filter(|menu| menu != "null")
        };
        self.runtime.block_on(self.telegram.until(found))
    }
}

#[test]
fn the_log_names_the_place_of_a_message_that_no_rule_leads_anywhere() {
    let platform = Platform::start();
    let home = platform.home("  main: {}\n", "  - {agent: main, telegram: \"-1\"}\n");
    let daemon = start(&home);
    platform.say(Where::Dm(ADA), "who is there");
    let line = daemon.wait_for_line("a message was refused").unwrap();
    assert!(line.contains("chat=42") && line.contains("no binding matches"), "{line}");
    assert!(!line.contains("who is there"), "{line}");
}

#[test]
fn two_bots_and_one_person_are_two_conversations_and_one_token_lost_is_one_bot_lost() {
    let platform = Platform::start();
    let agents = "  main: {default: true, access: {allow: [\"telegram:42\"]}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    let _daemon = start(&home);
    for (token, bot) in [(ADA, "ada_bot"), (BOB, "bob_bot")] {
        platform.say(Where::Dm(token), &format!("say hello from {bot}"));
        let wanted = format!("hello from {bot}");
        let sent = platform.until(|sent| sent.text.contains(&wanted));
        assert_eq!(sent.bot, bot, "the reply leaves by the bot it came in by");
    }
    let sessions = json(&home, &["sessions", "list", "main"]);
    assert_eq!(sessions.as_array().unwrap().len(), 2, "{sessions}");

    // The doctor asks the platform anew, whatever the connection knows of itself.
    let examined = |bot: &str| {
        let all = insula(&home, &["doctor", "--json"]).json();
        let name = format!("account telegram.{bot}");
        let found = all.as_array().unwrap().iter().find(|it| it["name"] == name.as_str()).cloned();
        found.unwrap_or_else(|| panic!("{bot} is not examined: {all:#}"))["status"].clone()
    };
    assert_eq!((examined("ada"), examined("bob")), ("good".into(), "good".into()));
    platform.telegram.revoke(BOB);
    assert_eq!((examined("ada"), examined("bob")), ("good".into(), "bad".into()));
    eventually("the state of the other is told", || {
        let status = json(&home, &["status"]);
        let accounts = status["accounts"].as_array().unwrap().clone();
        accounts
            .into_iter()
            .find(|account| account["account"] == "bob" && account["state"] != "connected")
    });
    platform.say(Where::Dm(ADA), "say still here");
    platform.until(|sent| sent.text.contains("still here"));
}

#[test]
fn what_comes_again_is_answered_once_also_after_a_kill() {
    let platform = Platform::start();
    let agents = "  main: {default: true, access: {allow: [\"telegram:42\"]}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    let daemon = start(&home);
    platform.say(Where::Dm(ADA), "say one");
    platform.until(|sent| sent.text == "one");
    platform.telegram.redeliver(ADA);
    platform.say(Where::Dm(ADA), "say two");
    platform.until(|sent| sent.text == "two");
    daemon.kill9().unwrap();
    platform.telegram.redeliver(ADA);
    platform.say(Where::Dm(ADA), "say three");
    let _daemon = start(&home);
    platform.until(|sent| sent.text == "three");
    let texts = platform.telegram.sent().into_iter().map(|sent| sent.text);
    // Whether the last one had arrived could not be known after the kill, and it says so.
    let texts: Vec<String> = texts.filter(|text| !is_repetition(text)).collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

#[test]
fn strangers_reach_no_agent() {
    let platform = Platform::start();
    let agents = "  main: {default: true, access: {allow: [\"telegram:42\"]}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    let _daemon = start(&home);
    let mallory = User::new(666, "Mallory");
    platform.telegram.say(Where::Dm(ADA), &Draft::new(&mallory, "say let me in"));
    platform.say(Where::Dm(ADA), "say after that");
    platform.until(|sent| sent.text == "after that");
    assert!(platform.telegram.sent().iter().all(|sent| !sent.text.contains("let me in")));
    let sessions = json(&home, &["sessions", "list", "main"]);
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
}

#[test]
fn a_limit_of_one_chat_silences_no_other_agent_on_the_same_bot() {
    let platform = Platform::start();
    platform.telegram.group(-777, "Loud", &[ADA]);
    let agents = "  main: {default: true, access: {allow: ['telegram:42']}}\n  loud: {access: {allow: ['telegram:42']}, group: {respond: all}}\n";
    let bindings = "  - {agent: main, telegram: \"*\"}\n  - {agent: loud, telegram: \"-777\"}\n";
    let home = platform.home(agents, bindings);
    let _daemon = start(&home);
    // Longer than anybody here waits.
    let retry_after = Some(NEVER.as_secs() * 2);
    let slow = Trouble::Refuse { code: 429, description: "slow".into(), retry_after };
    platform.telegram.trouble_in(ADA, -777, "sendMessage", slow);
    platform.say(Where::Chat(-777), "say held back");
    let is_met = |telegram: &Telegram| {
        let asked = telegram.asked_for("sendMessage");
        asked.iter().any(|it| it["chat_id"] == -777).then_some(())
    };
    platform.runtime.block_on(platform.telegram.until(is_met));
    platform.say(Where::Dm(ADA), "say at once");
    platform.until(|sent| sent.text == "at once");
    assert!(platform.telegram.sent().iter().all(|sent| sent.chat != -777));
}

#[test]
fn a_limit_is_waited_out_and_a_broken_answer_does_not_stop_the_rest() {
    let platform = Platform::start();
    let agents = "  main: {default: true, access: {allow: [\"telegram:42\"]}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    let _daemon = start(&home);
    let slow = Trouble::Refuse { code: 429, description: "slow".into(), retry_after: Some(1) };
    platform.telegram.trouble(ADA, "sendMessage", slow);
    platform.telegram.trouble(ADA, "getUpdates", Trouble::CutAt(30));
    let menu = platform.until_menu();
    assert!(menu.contains("help") && menu.contains("new"), "{menu}");
    platform.say(Where::Dm(ADA), "say patience");
    platform.until(|sent| sent.text == "patience");
    assert_eq!(platform.telegram.sent().len(), 1);
}
