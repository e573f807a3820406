//! A Slack workspace, with direct channels of our app.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::{Place, runtime};
use insula_testkit::slack as fake;
use insula_world::World;
use tokio::runtime::Runtime;

const TOKEN: &str = "xoxb-1";
const APP_TOKEN: &str = "xapp-1";

pub struct Slack {
    platform: fake::Slack,
    _runtime: Runtime,
}

impl Slack {
    pub fn start() -> Self {
        let (runtime, world) = (runtime(), World::real().unwrap());
        let platform = runtime.block_on(fake::Slack::start(&world, TOKEN, APP_TOKEN)).unwrap();
        Self { platform, _runtime: runtime }
    }
}

impl Place for Slack {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["/api/chat."]
    }

    fn url(&self) -> String {
        self.platform.url()
    }

    fn account(&self, url: &str) -> String {
        format!("{{token: '{TOKEN}', app_token: '{APP_TOKEN}', base_url: '{url}'}}")
    }

    fn chat(&self) -> String {
        let user = self.platform.person("Ann Lee");
        format!("{}/{user}", self.platform.channel("D", &[fake::BOT, &user]))
    }

    fn say(&self, chat: &str, text: &str) {
        let (channel, user) = chat.split_once('/').unwrap();
        // As Slack writes these signs.
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        self.platform.say(channel, user, &text);
    }

    fn texts(&self, chat: &str) -> Vec<String> {
        let (channel, _) = chat.split_once('/').unwrap();
        let said = self.platform.said().into_iter();
        let here = said.filter(|it| it["channel"] == channel);
        let text = |it: serde_json::Value| it["text"].as_str().unwrap_or_default().to_owned();
        here.map(|it| text(it).replace("&lt;", "<").replace("&gt;", ">")).collect()
    }
}
