//! Telegram, against the fake platform.

use crate::conformance::harness::{Harness, Trouble};
use async_trait::async_trait;
use insula_adapters::telegram::{Telegram, TelegramMode, TelegramSettings};
use insula_channel::{Adapter, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::telegram::{self as fake, Draft, User, Where};
use insula_wire::Transport;
use insula_world::World;
use std::sync::Arc;

const TOKEN: &str = "7:secret-token";

struct Bench {
    world: World,
    transport: Transport,
    platform: fake::Telegram,
    ann: User,
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let world = World::real().unwrap();
        let platform = fake::Telegram::start(&world).await.unwrap();
        platform.bot(TOKEN, "ada_bot");
        let ann = User::new(42, "Ann");
        // A bot can't begin a conversation: Ann has been there before, and it was heard.
        platform.say(Where::Dm(TOKEN), &Draft::new(&ann, "/start"));
        platform.forget(TOKEN);
        let transport = Transport::new(&world, &[]).unwrap();
        Self { world, transport, platform, ann }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = TelegramSettings {
            account: AccountId::new("main").unwrap(),
            token: TOKEN.into(),
            base_url: Some(self.platform.url()),
            mode: TelegramMode::Polling,
        };
        Arc::new(Telegram::new(settings, &self.transport, &self.world.clock).unwrap())
    }

    fn target(&self) -> PostTarget {
        let chat = ChatId::new("42").unwrap();
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat,
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        self.platform.say(Where::Dm(TOKEN), &Draft::new(&self.ann, text));
    }

    async fn say_file(&self, content: &[u8]) {
        let draft = Draft::new(&self.ann, "").document("a.bin", "application/x-thing", content);
        self.platform.say(Where::Dm(TOKEN), &draft);
    }

    async fn redeliver(&self) {
        self.platform.redeliver(TOKEN);
    }

    async fn seen(&self) -> Vec<String> {
        self.platform.sent().into_iter().map(|sent| sent.text).collect()
    }

    async fn trouble(&self, trouble: Trouble) -> bool {
        let refuse = |code, description: &str, retry_after| fake::Trouble::Refuse {
            code,
            description: description.to_owned(),
            retry_after,
        };
        let trouble = match trouble {
            Trouble::TooFast(seconds) => refuse(429, "Too Many Requests", Some(seconds)),
            Trouble::Broken => refuse(500, "Internal Server Error", None),
            Trouble::AnswerLost => fake::Trouble::CutAt(20),
            Trouble::RequestLost => fake::Trouble::Unheard,
            Trouble::Refused => refuse(403, "Forbidden: bot was blocked by the user", None),
            Trouble::Garbage => {
                fake::Trouble::Answer { status: 502, body: "<html>Bad Gateway</html>".into() }
            }
        };
        self.platform.trouble(TOKEN, "sendMessage", trouble);
        true
    }

    async fn garble(&self, nonsense: serde_json::Value) -> bool {
        // The platform's own part, the id, is always there.
        let is_object = nonsense.is_object();
        let update = if is_object { nonsense } else { serde_json::json!({"message": nonsense}) };
        self.platform.update(TOKEN, update);
        true
    }

    async fn revoke(&self) {
        self.platform.revoke(TOKEN);
    }
}

crate::conformance!(Bench);
