//! Mattermost, with direct channels of our bot.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::mattermost as fake;
use insula_world::World;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Runtime;

const TOKEN: &str = "secretbottoken";

pub struct Mattermost {
    platform: fake::Mattermost,
    bot: String,
    people: AtomicUsize,
    _runtime: Runtime,
}

impl Mattermost {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let platform = runtime.block_on(fake::Mattermost::start(&world)).unwrap();
        let bot = platform.bot(TOKEN, "ada");
        Self { platform, bot, people: AtomicUsize::new(0), _runtime: runtime }
    }
}

impl Place for Mattermost {
    fn name(&self) -> &'static str {
        "mattermost"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["POST /api/v4/posts HTTP", "PUT /api/v4/posts"]
    }

    fn url(&self) -> String {
        self.platform.url()
    }

    fn account(&self, url: &str) -> String {
        format!("{{token: '{TOKEN}', base_url: '{url}'}}")
    }

    fn chat(&self) -> String {
        let number = self.people.fetch_add(1, Ordering::SeqCst);
        let user = self.platform.person(&format!("ann{number}"), "Ann");
        format!("{}/{user}", self.platform.direct(&self.bot, &user))
    }

    fn say(&self, chat: &str, text: &str) {
        let (channel, user) = chat.split_once('/').unwrap();
        self.platform.say(channel, user, text);
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let (channel, _) = chat.split_once('/').unwrap();
        let said = self.platform.posts_of(&self.bot).into_iter();
        let here = said.filter(|it| it["channel_id"] == channel);
        here.map(|it| it["message"].as_str().unwrap().to_owned()).collect()
    }
}
