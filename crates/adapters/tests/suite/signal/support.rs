//! What the tests of this folder share.

pub use crate::conformance::harness::{Listening, Tray, tenant};
use insula_adapters::signal::{Signal, SignalSettings};
use insula_channel::{Adapter, Body, Post, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType};
use insula_testkit::auto_world;
use insula_testkit::signal::{self as fake, Draft, User, Where};
use insula_wire::Transport;
use insula_world::World;
use std::sync::Arc;

pub const OURS: &str = "+4915100000001";
pub const OTHER: &str = "+4915100000002";
pub const GROUP: &str = "Zm91bmRpbmcgbWVtYmVycyBvZiBhIGdyb3VwMTIzNA==";

pub struct Bench {
    pub world: World,
    pub transport: Transport,
    pub platform: fake::Signal,
    pub us: User,
    pub ann: User,
}

/// A daemon with our account, and Ann, who hides her number.
pub async fn bench() -> Bench {
    let (world, _) = auto_world(1);
    let platform = fake::Signal::start(&world).await.unwrap();
    let us = User::new(OURS, "0a0a0a0a-0000-4000-8000-000000000001", "Ada");
    platform.account(&us);
    let ann = User::hidden("0b0b0b0b-0000-4000-8000-000000000042", "Ann Lee");
    platform.person(&ann);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, transport, platform, us, ann }
}

impl Bench {
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        self.adapter_of("main", OURS, None)
    }

    pub fn adapter_of(&self, name: &str, number: &str, called: Option<&str>) -> Arc<dyn Adapter> {
        let settings = SignalSettings {
            account: AccountId::new(name).unwrap(),
            number: number.to_owned(),
            base_url: Some(self.platform.url()),
            profile_name: called.map(str::to_owned),
        };
        Arc::new(Signal::new(settings, &self.transport).unwrap())
    }

    pub fn say(&self, place: Where<'_>, text: &str) -> i64 {
        self.platform.say(place, &Draft::new(&self.ann, text))
    }

    pub fn dm(&self) -> PostTarget {
        let chat = ChatId::new(self.ann.uuid.as_str()).unwrap();
        PostTarget { host: None, tenant: tenant(), chat, chat_type: ChatType::Dm, topic: None }
    }
}

pub fn group() -> PostTarget {
    let chat = ChatId::new(GROUP).unwrap();
    PostTarget { host: None, tenant: tenant(), chat, chat_type: ChatType::Group, topic: None }
}

pub fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}

pub fn post(target: PostTarget, body: Body) -> Post {
    Post { target, reply_to: None, idempotency: "key".into(), body }
}
