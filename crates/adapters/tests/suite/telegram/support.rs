//! What the tests of this folder share.

use async_trait::async_trait;
use insula_adapters::telegram::{Telegram, TelegramMode, TelegramSettings};
use insula_channel::{
    Adapter, Body, ConnectFault, Cursor, Envelope, Happening, Inbox, Message, NotTaken, Post,
    PostTarget,
};
use insula_domain::{AccountId, ChatId, ChatType, TopicId};
use insula_testkit::auto_world;
use insula_testkit::telegram::{self as fake, Draft, User, Where};
use insula_wire::Transport;
use insula_world::World;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub const TOKEN: &str = "7:secret-token";
pub const FORUM: i64 = -1001;

pub struct Bench {
    pub world: World,
    pub transport: Transport,
    pub platform: fake::Telegram,
    pub ann: User,
}

/// A platform in memory with the bot `ada_bot`, whom Ann has written to before.
pub async fn bench() -> Bench {
    let (world, _) = auto_world(1);
    let platform = fake::Telegram::start(&world).await.unwrap();
    platform.bot(TOKEN, "ada_bot");
    let ann = User::new(42, "Ann");
    platform.say(Where::Dm(TOKEN), &Draft::new(&ann, "/start"));
    platform.forget(TOKEN);
    let transport = Transport::new(&world, &[]).unwrap();
    Bench { world, transport, platform, ann }
}

impl Bench {
    pub fn adapter(&self) -> Arc<dyn Adapter> {
        self.adapter_of(TOKEN, TelegramMode::Polling)
    }

    pub fn adapter_of(&self, token: &str, mode: TelegramMode) -> Arc<dyn Adapter> {
        let settings = TelegramSettings {
            account: AccountId::new("main").unwrap(),
            token: token.into(),
            base_url: Some(self.platform.url()),
            mode,
        };
        Arc::new(Telegram::new(settings, &self.transport, &self.world.clock).unwrap())
    }

    pub fn say(&self, place: Where<'_>, text: &str) -> i64 {
        self.platform.say(place, &Draft::new(&self.ann, text))
    }
}

/// Whose words these are.
pub fn tenant() -> insula_channel::Tenant {
    insula_channel::Tenant::of_life(&insula_domain::AgentId::new("a").unwrap(), 1, 0)
}

pub fn dm() -> PostTarget {
    let tenant = tenant();
    PostTarget {
        host: None,
        tenant,
        chat: ChatId::new("42").unwrap(),
        chat_type: ChatType::Dm,
        topic: None,
    }
}

pub fn group(chat: i64, topic: Option<i64>) -> PostTarget {
    PostTarget {
        host: None,
        tenant: tenant(),
        chat: ChatId::new(chat.to_string()).unwrap(),
        chat_type: ChatType::Group,
        topic: topic.map(|topic| TopicId::new(topic.to_string()).unwrap()),
    }
}

pub fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}

pub fn post(target: PostTarget, body: Body) -> Post {
    Post { target, reply_to: None, idempotency: "key".into(), body }
}

/// An inbox that keeps what it is given.
#[derive(Default)]
pub struct Tray {
    kept: Mutex<(Vec<Envelope>, Option<Cursor>)>,
    count: watch::Sender<usize>,
}

impl Tray {
    pub fn envelopes(&self) -> Vec<Envelope> {
        self.kept.lock().unwrap().0.clone()
    }

    pub fn messages(&self) -> Vec<Message> {
        let said = |envelope: Envelope| match envelope.what {
            Happening::Said(message) => Some(message),
            _ => None,
        };
        self.envelopes().into_iter().filter_map(said).collect()
    }

    pub fn texts(&self) -> Vec<String> {
        self.messages().into_iter().map(|message| message.words.all()).collect()
    }

    pub async fn until(&self, count: usize) -> Vec<Envelope> {
        self.count.subscribe().wait_for(|&kept| kept >= count).await.unwrap();
        self.envelopes()
    }
}

#[async_trait]
impl Inbox for Tray {
    async fn take(&self, envelopes: Vec<Envelope>, cursor: Option<Cursor>) -> Result<(), NotTaken> {
        let mut kept = self.kept.lock().unwrap();
        kept.0.extend(envelopes);
        if cursor.is_some() {
            kept.1 = cursor;
        }
        let count = kept.0.len();
        drop(kept);
        self.count.send_replace(count);
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(self.kept.lock().unwrap().1.clone())
    }

    fn alive(&self) {}
}

/// Somebody who listens, until told to stop.
pub struct Listening {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<(), ConnectFault>>,
}

impl Listening {
    pub fn start(adapter: &Arc<dyn Adapter>, tray: &Arc<Tray>) -> Self {
        let stop = CancellationToken::new();
        let (adapter, tray, stopped) = (adapter.clone(), tray.clone(), stop.clone());
        let task = tokio::spawn(async move { adapter.listen(&*tray, &stopped).await });
        Self { stop, task }
    }

    pub async fn stop(self) -> Result<(), ConnectFault> {
        self.stop.cancel();
        self.task.await.unwrap()
    }

    pub async fn failed(self) -> ConnectFault {
        self.task.await.unwrap().unwrap_err()
    }
}
