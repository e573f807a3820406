//! Telegram, with direct chats of our bot.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::telegram::{self as fake, Draft, User, Where};
use insula_world::World;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::runtime::Runtime;

const TOKEN: &str = "7:ada-token";

pub struct Telegram {
    platform: fake::Telegram,
    people: AtomicI64,
    _runtime: Runtime,
}

impl Telegram {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let platform = runtime.block_on(fake::Telegram::start(&world)).unwrap();
        platform.bot(TOKEN, "ada_bot");
        Self { platform, people: AtomicI64::new(100), _runtime: runtime }
    }
}

impl Place for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["/sendMessage", "/editMessageText"]
    }

    fn url(&self) -> String {
        self.platform.url()
    }

    fn account(&self, url: &str) -> String {
        format!("{{token: '{TOKEN}', base_url: '{url}'}}")
    }

    fn chat(&self) -> String {
        self.people.fetch_add(1, Ordering::SeqCst).to_string()
    }

    fn say(&self, chat: &str, text: &str) {
        let user = User::new(chat.parse().unwrap(), "Ann");
        self.platform.say(Where::Dm(TOKEN), &Draft::new(&user, text));
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let sent = self.platform.sent_to(chat.parse().unwrap(), None).into_iter();
        sent.map(|sent| sent.text).collect()
    }
}
