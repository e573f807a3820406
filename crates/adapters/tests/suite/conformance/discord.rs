//! Discord, against the fake one.

use crate::conformance::harness::{Harness, Trouble};
use async_trait::async_trait;
use insula_adapters::discord::{Discord, Settings};
use insula_channel::{Adapter, Cursor, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::discord as fake;
use insula_wire::Transport;
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;

const TOKEN: &str = "secret.bot.token";

struct Bench {
    world: World,
    transport: Transport,
    platform: fake::Discord,
    bot: String,
    ann: String,
    chat: String,
    session: String,
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let world = World::real().unwrap();
        let platform = fake::Discord::start(&world).await.unwrap();
        let bot = platform.bot(TOKEN, "ada");
        let ann = platform.person("ann", "Ann Lee");
        let chat = platform.direct(&bot, &ann);
        let session = platform.session(&bot);
        let transport = Transport::new(&world, &[]).unwrap();
        Self { world, transport, platform, bot, ann, chat, session }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = Settings {
            account: AccountId::new("main").unwrap(),
            token: TOKEN.into(),
            base_url: Some(self.platform.url()),
        };
        Arc::new(Discord::new(settings, &self.transport, &self.world).unwrap())
    }

    /// It has a session that was begun before anybody said anything.
    fn cursor(&self) -> Option<Cursor> {
        let url = self.platform.url().replace("http", "ws");
        let session = json!({ "i": self.session, "u": url, "n": 0 });
        Some(Cursor(json!({ "s": session, "t": 0, "d": [] }).to_string().into()))
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
        let file = self.platform.file(&self.chat, "a.bin", "application/x-thing", content);
        self.platform.post(&json!({
            "channel_id": self.chat, "author_id": self.ann, "attachments": [file],
        }));
    }

    /// Taken up from its beginning, a session sends all of it again.
    async fn redeliver(&self) {}

    async fn seen(&self) -> Vec<String> {
        let messages = self.platform.messages_of(&self.bot).into_iter();
        messages.map(|it| it["content"].as_str().unwrap().to_owned()).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        let refuse =
            |status, code, wait| fake::Trouble::Refuse { status, code, wait, global: false };
        let trouble = match trouble {
            Trouble::TooFast(seconds) => refuse(429, 0, Some(seconds as f64)),
            Trouble::Broken => refuse(500, 0, None),
            Trouble::AnswerLost => fake::Trouble::CutAt(20),
            Trouble::RequestLost => fake::Trouble::Unheard,
            Trouble::Refused => refuse(403, 50001, None),
            Trouble::Garbage => {
                fake::Trouble::Answer { status: 502, body: "<html>Bad Gateway</html>".into() }
            }
        };
        self.platform.trouble("POST /channels", trouble);
        true
    }

    async fn garble(&self, nonsense: Value) -> bool {
        self.platform.raw(&nonsense.to_string());
        for event in ["MESSAGE_CREATE", "MESSAGE_REACTION_ADD", "GUILD_CREATE", "NO_SUCH_EVENT"] {
            self.platform.event(&self.bot, event, &nonsense);
        }
        self.platform.raw(&json!({ "op": 0, "d": nonsense }).to_string());
        true
    }

    async fn revoke(&self) {
        self.platform.revoke(TOKEN);
    }
}

crate::conformance!(Bench);
