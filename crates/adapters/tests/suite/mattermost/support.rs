//! What the tests of this folder share.

use insula_adapters::mattermost::{Mattermost, Settings};
use insula_channel::{Adapter, Body, Cursor, Post, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType, TopicId};
use insula_testkit::mattermost as fake;
use insula_testkit::{Handles, auto_world};
use insula_wire::Transport;
use insula_world::World;
use std::sync::Arc;

pub use crate::conformance::harness::{Listening, Tray, tenant};

pub const TOKEN: &str = "secretbottoken";

pub struct Bench {
    pub world: World,
    pub handles: Handles,
    pub transport: Transport,
    pub platform: fake::Mattermost,
    pub bot: String,
    pub ann: String,
    pub bob: String,
    /// An open channel with all of them.
    pub town: String,
}

/// A server in memory with the bot `ada`, and Ann and Bob in a channel with it.
pub async fn bench() -> Bench {
    let (world, handles) = auto_world(1);
    let platform = fake::Mattermost::start(&world).await.unwrap();
    let bot = platform.bot(TOKEN, "ada");
    let ann = platform.person("ann", "Ann Lee");
    let bob = platform.person("bob", "Bob");
    let town = platform.channel("O", &[&bot, &ann, &bob]);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, handles, transport, platform, bot, ann, bob, town }
}

impl Bench {
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        self.adapter_at(None)
    }

    pub fn adapter_at(&self, public_url: Option<&str>) -> Arc<dyn Adapter> {
        let settings = Settings {
            account: AccountId::new("main").unwrap(),
            base_url: self.platform.url(),
            token: TOKEN.into(),
            public_url: public_url.map(str::to_owned),
            secret: None,
        };
        Arc::new(Mattermost::new(settings, &self.transport, &self.world).unwrap())
    }

    /// Listens as one who did before anything was said, and waits until it is heard.
    pub async fn listening(&self) -> (Arc<dyn Adapter>, Arc<Tray>, Listening) {
        let (adapter, tray) = (self.adapter(), Tray::new(Some(beginning())));
        let listening = Listening::start(&adapter, &tray);
        self.platform.until(|platform| platform.sockets() == 1).await;
        (adapter, tray, listening)
    }

    pub fn say(&self, text: &str) -> String {
        self.platform.say(&self.town, &self.ann, text)
    }

    pub fn town(&self, topic: Option<&str>) -> PostTarget {
        PostTarget {
            host: None,
            tenant: tenant(),
            chat: ChatId::new(self.town.as_str()).unwrap(),
            chat_type: ChatType::Group,
            topic: topic.map(|topic| TopicId::new(topic).unwrap()),
        }
    }

    /// What the bot said, as people see it.
    pub fn said(&self) -> Vec<String> {
        let posts = self.platform.posts_of(&self.bot).into_iter();
        posts.map(|post| post["message"].as_str().unwrap().to_owned()).collect()
    }
}

/// Before anything was said.
pub fn beginning() -> Cursor {
    Cursor(r#"{"c":"","n":0,"t":0}"#.into())
}

pub fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}

pub fn post(target: PostTarget, key: &str, body: Body) -> Post {
    Post { target, reply_to: None, idempotency: key.into(), body }
}
