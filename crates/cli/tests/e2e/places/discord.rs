//! Discord, with direct chats of our bot.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::discord as fake;
use insula_world::World;
use tokio::runtime::Runtime;

const TOKEN: &str = "secret.bot.token";

pub struct Discord {
    platform: fake::Discord,
    bot: String,
    _runtime: Runtime,
}

impl Discord {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let platform = runtime.block_on(fake::Discord::start(&world)).unwrap();
        let bot = platform.bot(TOKEN, "ada");
        Self { platform, bot, _runtime: runtime }
    }
}

impl Place for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["/messages HTTP", "PATCH /api"]
    }

    fn url(&self) -> String {
        self.platform.url()
    }

    fn account(&self, url: &str) -> String {
        format!("{{token: '{TOKEN}', base_url: '{url}'}}")
    }

    fn chat(&self) -> String {
        let user = self.platform.person("ann", "Ann");
        format!("{}/{user}", self.platform.direct(&self.bot, &user))
    }

    fn say(&self, chat: &str, text: &str) {
        let (channel, user) = chat.split_once('/').unwrap();
        self.platform.say(channel, user, text);
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let (channel, _) = chat.split_once('/').unwrap();
        let said = self.platform.messages_of(&self.bot).into_iter();
        let here = said.filter(|it| it["channel_id"] == channel);
        here.map(|it| it["content"].as_str().unwrap().to_owned()).collect()
    }
}
