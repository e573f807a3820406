//! What the tests of this folder share.

use insula_adapters::slack::{Mode, Slack, SlackSettings};
use insula_channel::{Adapter, Body, Post, PostTarget, WebRequest};
use insula_domain::{AccountId, ChatId, ChatType, TopicId};
use insula_testkit::slack as fake;
use insula_testkit::{Handles, auto_world};
use insula_wire::Transport;
use insula_world::World;
use ring::hmac;
use std::sync::Arc;

pub use crate::conformance::harness::{Listening, Tray, tenant};

pub const TOKEN: &str = "xoxb-1";
pub const APP_TOKEN: &str = "xapp-1";
pub const SECRET: &str = "signing-secret";

pub struct Bench {
    pub world: World,
    pub handles: Handles,
    pub transport: Transport,
    pub platform: fake::Slack,
    pub ann: String,
    pub bob: String,
    /// A channel with all of them.
    pub town: String,
    /// Ann's direct channel.
    pub direct: String,
}

/// A workspace in memory with the bot `ada`, and Ann and Bob in a channel with it.
pub async fn bench() -> Bench {
    let (world, handles) = auto_world(1);
    let platform = fake::Slack::start(&world, TOKEN, APP_TOKEN).await.unwrap();
    let ann = platform.person("Ann Lee");
    let bob = platform.person("Bob");
    let town = platform.channel("C", &[fake::BOT, &ann, &bob]);
    let direct = platform.channel("D", &[fake::BOT, &ann]);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, handles, transport, platform, ann, bob, town, direct }
}

pub fn settings(platform: &fake::Slack, mode: Mode) -> SlackSettings {
    let account = AccountId::new("main").unwrap();
    SlackSettings { account, token: TOKEN.into(), mode, base_url: Some(platform.url()) }
}

impl Bench {
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        self.adapter_by(Mode::Socket(APP_TOKEN.into()))
    }

    pub fn adapter_by(&self, mode: Mode) -> Arc<dyn Adapter> {
        let settings = settings(&self.platform, mode);
        Arc::new(Slack::new(settings, &self.transport, &self.world.clock).unwrap())
    }

    /// Listens, and waits until it is heard.
    pub async fn listening(&self) -> (Arc<dyn Adapter>, Arc<Tray>, Listening) {
        let (adapter, tray) = (self.adapter(), Tray::new(None));
        let listening = Listening::start(&adapter, &tray);
        self.platform.until(|platform| platform.sockets() == 1).await;
        (adapter, tray, listening)
    }

    pub fn say(&self, text: &str) -> String {
        self.platform.say(&self.town, &self.ann, text)
    }

    pub fn town(&self, topic: Option<&str>) -> PostTarget {
        target(&self.town, ChatType::Group, topic)
    }

    pub fn direct(&self, topic: Option<&str>) -> PostTarget {
        target(&self.direct, ChatType::Dm, topic)
    }

    /// What the bot said, as it reads now.
    pub fn said(&self) -> Vec<String> {
        let said = self.platform.said().into_iter();
        said.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    }

    /// A request as Slack signs it, at a moment so many seconds from now.
    pub fn signed(&self, media_type: &str, body: &str, ahead_s: i64) -> WebRequest {
        let at = self.world.clock.now().as_millis() / 1000 + ahead_s;
        signed(media_type, body, at)
    }
}

fn target(chat: &str, chat_type: ChatType, topic: Option<&str>) -> PostTarget {
    let chat = ChatId::new(chat).unwrap();
    let topic = topic.map(|topic| TopicId::new(topic).unwrap());
    PostTarget { host: None, tenant: tenant(), chat, chat_type, topic }
}

pub fn signed(media_type: &str, body: &str, at: i64) -> WebRequest {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, format!("v0:{at}:{body}").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let headers = vec![
        ("content-type".into(), media_type.into()),
        ("x-slack-request-timestamp".into(), at.to_string().into()),
        ("x-slack-signature".into(), format!("v0={hex}").into()),
    ];
    WebRequest::posted(headers, body.to_owned().into())
}

pub fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}

pub fn post(target: PostTarget, key: &str, body: Body) -> Post {
    Post { target, reply_to: None, idempotency: key.into(), body }
}
