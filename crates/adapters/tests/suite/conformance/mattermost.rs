//! Mattermost, against the fake server.

use crate::conformance::harness::{Harness, Trouble};
use async_trait::async_trait;
use insula_adapters::mattermost::{Mattermost, Settings};
use insula_channel::{Adapter, Cursor, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::mattermost as fake;
use insula_wire::Transport;
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;

const TOKEN: &str = "secretbottoken";

struct Bench {
    world: World,
    transport: Transport,
    platform: fake::Mattermost,
    bot: String,
    ann: String,
    chat: String,
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let world = World::real().unwrap();
        let platform = fake::Mattermost::start(&world).await.unwrap();
        let bot = platform.bot(TOKEN, "ada");
        let ann = platform.person("ann", "Ann Lee");
        let chat = platform.direct(&bot, &ann);
        let transport = Transport::new(&world, &[]).unwrap();
        Self { world, transport, platform, bot, ann, chat }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = Settings {
            account: AccountId::new("main").unwrap(),
            base_url: self.platform.url(),
            token: TOKEN.into(),
            public_url: None,
            secret: None,
        };
        Arc::new(Mattermost::new(settings, &self.transport, &self.world).unwrap())
    }

    /// It has listened before anybody said anything.
    fn cursor(&self) -> Option<Cursor> {
        Some(Cursor(r#"{"c":"","n":0,"t":0}"#.into()))
    }

    fn target(&self) -> PostTarget {
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat: ChatId::new(self.chat.as_str()).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        self.platform.say(&self.chat, &self.ann, text);
    }

    async fn say_file(&self, content: &[u8]) {
        let file = self.platform.file("a.bin", "application/x-thing", content);
        self.platform.post(&json!({
            "channel_id": self.chat, "user_id": self.ann, "file_ids": [file],
        }));
    }

    async fn redeliver(&self) {
        self.platform.forget_connections();
    }

    async fn seen(&self) -> Vec<String> {
        let posts = self.platform.posts_of(&self.bot).into_iter();
        posts.map(|post| post["message"].as_str().unwrap().to_owned()).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        let refuse =
            |status, id: &str, reset| fake::Trouble::Refuse { status, id: id.into(), reset };
        let trouble = match trouble {
            Trouble::TooFast(seconds) => refuse(429, "api.context.rate_limit", Some(seconds)),
            Trouble::Broken => refuse(500, "store.sql_post.save.app_error", None),
            Trouble::AnswerLost => fake::Trouble::CutAt(20),
            Trouble::RequestLost => fake::Trouble::Unheard,
            Trouble::Refused => refuse(403, "api.context.permissions.app_error", None),
            Trouble::Garbage => {
                fake::Trouble::Answer { status: 502, body: "<html>Bad Gateway</html>".into() }
            }
        };
        self.platform.trouble("POST /posts", trouble);
        true
    }

    async fn garble(&self, nonsense: Value) -> bool {
        self.platform.frame(&nonsense);
        self.platform.event("posted", &self.chat, &nonsense);
        self.platform.event("posted", &self.chat, &json!({ "post": nonsense.to_string() }));
        self.platform.event("reaction_added", &self.chat, &json!({ "reaction": "{}" }));
        true
    }

    async fn revoke(&self) {
        self.platform.revoke(TOKEN);
    }
}

crate::conformance!(Bench);
