//! What the tests of this folder share.

use insula_adapters::discord::{Discord, Settings};
use insula_channel::{Adapter, Body, Post, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::discord as fake;
use insula_testkit::{Handles, auto_world};
use insula_wire::Transport;
use insula_world::World;
use std::sync::Arc;

pub use crate::conformance::harness::{Listening, Tray, tenant};

pub const TOKEN: &str = "secret.bot.token";

pub struct Bench {
    pub world: World,
    pub handles: Handles,
    pub transport: Transport,
    pub platform: fake::Discord,
    pub bot: String,
    pub ann: String,
    pub bob: String,
    pub guild: String,
    /// A text channel of the server with all of them.
    pub town: String,
}

/// A Discord in memory with the bot `ada`, and Ann and Bob on a server with it.
pub async fn bench() -> Bench {
    let (world, handles) = auto_world(1);
    let platform = fake::Discord::start(&world).await.unwrap();
    let bot = platform.bot(TOKEN, "ada");
    let ann = platform.person("ann", "Ann Lee");
    let bob = platform.person("bob", "");
    let guild = platform.guild(&[&bot, &ann, &bob]);
    let town = platform.channel(&guild, 0);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, handles, transport, platform, bot, ann, bob, guild, town }
}

impl Bench {
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        self.adapter_of("main", TOKEN)
    }

    pub fn adapter_of(&self, account: &str, token: &str) -> Arc<dyn Adapter> {
        let settings = Settings {
            account: AccountId::new(account).unwrap(),
            token: token.into(),
            base_url: Some(self.platform.url()),
        };
        Arc::new(Discord::new(settings, &self.transport, &self.world).unwrap())
    }

    /// Listens, and waits until there is a session.
    pub async fn listening(&self) -> (Arc<dyn Adapter>, Arc<Tray>, Listening) {
        let (adapter, tray) = (self.adapter(), Tray::new(None));
        let listening = Listening::start(&adapter, &tray);
        self.platform.until(|platform| platform.sockets() == 1).await;
        (adapter, tray, listening)
    }

    pub fn say(&self, text: &str) -> String {
        self.platform.say(&self.town, &self.ann, text)
    }

    pub fn town(&self) -> PostTarget {
        target(&self.town, ChatType::Channel)
    }

    /// What the bot said, as people see it.
    pub fn said(&self) -> Vec<String> {
        let messages = self.platform.messages_of(&self.bot).into_iter();
        messages.map(|it| it["content"].as_str().unwrap().to_owned()).collect()
    }

    /// How sessions were begun so far: 2 anew, 6 taken up.
    pub fn begun(&self) -> Vec<u64> {
        self.platform.begun().iter().map(|it| it["op"].as_u64().unwrap()).collect()
    }
}

pub fn target(chat: &str, chat_type: ChatType) -> PostTarget {
    let chat = ChatId::new(chat).unwrap();
    PostTarget { host: None, tenant: tenant(), chat, chat_type, topic: None }
}

pub fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}

pub fn post(target: PostTarget, key: &str, body: Body) -> Post {
    Post { target, reply_to: None, idempotency: key.into(), body }
}
