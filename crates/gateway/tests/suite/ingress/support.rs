//! A daemon with agents behind bots, and ways to talk to them as a platform would.

use async_trait::async_trait;
use bytes::Bytes;
use insula_api::{Api, LocalOwner};
use insula_channel::{
    Adapter, Attachment, AttachmentKind, Body, BotIdentity, ConnectFault, Envelope, EventId,
    Features, FetchError, Happening, Idempotency, Inbox, Message, MessageId, Outbound, Pacing,
    Post, PostError, PostTarget, Posted, Press, Quoted, Sender, TextLimit, WaitScope,
};
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, Platform, RoleId, SessionKey, TopicId, UserId,
};
use insula_gateway::Intake;
use insula_owner::Messaging;
use insula_registry::AgentContext;
use insula_store::{AccountLease, Message as Stored, SessionRef, Window};
use insula_testdaemon::TestDaemon;
use insula_testkit::model::configured;
pub use insula_testkit::model::{calls, says, shown_apart as shown};
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::{Handles, world};
use insula_turns::Engine;
use insula_turns::gate::Tools;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// One post: the account it left by, the chat and what it says.
pub type Said = (String, String, String);

/// An adapter for every account there is.
#[derive(Default)]
pub struct Platforms {
    posts: Mutex<Vec<Said>>,
    heard: Notify,
    /// Whether the platform takes nothing for the moment.
    pub is_away: AtomicBool,
    pub joined: Mutex<Vec<String>>,
    /// Buttons under what was posted: what they say, and what comes back.
    pub buttons: Mutex<Vec<(String, String)>>,
    /// Messages that were marked as read.
    pub read: Mutex<Vec<String>>,
    /// What whoever pressed one was told.
    pub pressed: Mutex<Vec<String>>,
    pub files: Mutex<BTreeMap<String, Bytes>>,
    /// Told when somebody fetches a file while they come slowly.
    pub asked: Notify,
    is_slow: AtomicBool,
    go: Notify,
}

impl Platforms {
    /// Gives no file until it goes on.
    pub fn slowly(&self) {
        self.is_slow.store(true, Ordering::SeqCst);
    }

    pub fn go_on(&self) {
        self.is_slow.store(false, Ordering::SeqCst);
        self.go.notify_one();
    }
}

/// One account of it.
struct FakeAdapter {
    account: AccountId,
    all: Arc<Platforms>,
}

pub struct Accounts(pub Arc<Platforms>, pub Arc<Pacing>);

impl insula_channel::Accounts for Accounts {
    fn outbound(&self, _: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>> {
        Some(Arc::new(FakeAdapter { account: account.clone(), all: self.0.clone() }))
    }

    fn pacing(&self) -> &Arc<Pacing> {
        &self.1
    }
}

#[async_trait]
impl Adapter for FakeAdapter {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        Ok(BotIdentity { id: "bot".into(), name: "bot".into(), missing: vec![], about: Vec::new() })
    }

    async fn listen(&self, _: &dyn Inbox, _: &CancellationToken) -> Result<(), ConnectFault> {
        Ok(())
    }
}

#[async_trait]
impl Outbound for FakeAdapter {
    fn features(&self) -> Features {
        Features {
            text: TextLimit::Utf16(4_096),
            can_edit: None,
            idempotency: Idempotency::Always,
            has_buttons: true,
            can_react: false,
            typing: None,
            silence_max: Duration::from_secs(120),
        }
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        if self.all.is_away.load(Ordering::Relaxed) {
            return Err(PostError::Later {
                why: "away".into(),
                wait: None,
                reach: WaitScope::Account,
            });
        }
        let said =
            (self.account.to_string(), post.target.chat.to_string(), post.body.markdown.clone());
        let buttons = post.body.buttons.iter().flatten();
        let buttons = buttons.map(|it| (it.label.to_string(), it.data.to_string()));
        self.all.buttons.lock().unwrap().extend(buttons);
        let mut posts = self.all.posts.lock().unwrap();
        posts.push(said);
        self.all.heard.notify_waiters();
        Ok(Posted { message: MessageId(format!("p{}", posts.len()).into()) })
    }

    async fn edit(&self, _: &PostTarget, _: &MessageId, _: &Body) -> Result<(), PostError> {
        Ok(())
    }

    async fn read(&self, _: &PostTarget, message: &MessageId) {
        self.all.read.lock().unwrap().push(message.0.to_string());
    }

    async fn acknowledge(&self, _: &str, text: &str) {
        self.all.pressed.lock().unwrap().push(text.to_owned());
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        if self.all.is_slow.load(Ordering::SeqCst) {
            self.all.asked.notify_one();
            self.all.go.notified().await;
        }
        let files = self.all.files.lock().unwrap();
        match files.get(&*attachment.handle) {
            Some(content) if content.len() as u64 <= limit => Ok(content.clone()),
            Some(_) => Err(FetchError::TooLarge),
            None => Err(PostError::Never { why: "gone".into() }.into()),
        }
    }

    async fn join(&self, target: &PostTarget) -> Result<(), PostError> {
        self.all.joined.lock().unwrap().push(target.chat.to_string());
        Ok(())
    }
}

pub struct Fixture {
    pub files: insula_testkit::Home,
    pub daemon: TestDaemon,
    pub engine: Engine,
    pub owner: Arc<Messaging>,
    pub way: Intake,
    pub upstream: Upstream,
    pub handles: Handles,
    pub platforms: Arc<Platforms>,
    events: AtomicU64,
}

/// A model that says what it heard last.
pub fn echo(seen: &Seen, _: usize) -> Vec<Step> {
    let heard = shown(seen);
    let (_, last) = heard.last().cloned().unwrap_or_default();
    says(&format!("heard: {last}"))
}

/// A daemon with these agents, bindings and whatever else a configuration has.
pub async fn open_fixture(config: &str) -> Fixture {
    with(config, insula_tools::BUILT_IN, echo).await
}

pub async fn with(
    config: &str,
    tools: Tools,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    again(insula_testkit::Home::empty().unwrap(), config, tools, script).await
}

/// The same with a server beside the model, which `HOOK` in the configuration stands for.
pub async fn with_hook(
    config: &str,
    hook: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    let (world, handles) = world(7);
    let hooks = Upstream::start(&world, hook).await.unwrap();
    let config = config.replace("HOOK", &hooks.url("/hook"));
    let files = insula_testkit::Home::empty().unwrap();
    inside((world, handles), files, &config, insula_tools::BUILT_IN, echo).await
}

/// The same over a home that was there before.
pub async fn again(
    files: insula_testkit::Home,
    config: &str,
    tools: Tools,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    inside(world(7), files, config, tools, script).await
}

async fn inside(
    (world, handles): (insula_world::World, Handles),
    files: insula_testkit::Home,
    config: &str,
    tools: Tools,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    let upstream = Upstream::start(&world, script).await.unwrap();
    // Time stands still here: only tests about waiting let anybody wait.
    let defaults = match config.contains("quiet:") {
        true => "",
        false => "defaults: {sessions: {quiet: 0s}}\n",
    };
    let config = configured(&upstream, "gpt-4o", &format!("{defaults}{config}"));
    files.write("config.yaml", &config).unwrap();
    let platforms: Arc<Platforms> = Arc::default();
    let (daemon, engine, owner, way) = open(&files, &world, tools, &platforms).await;
    engine.resume().await.unwrap();
    way.resume().await.unwrap();
    let events = AtomicU64::new(0);
    Fixture { files, daemon, engine, owner, way, upstream, handles, platforms, events }
}

async fn open(
    files: &insula_testkit::Home,
    world: &insula_world::World,
    tools: Tools,
    platforms: &Arc<Platforms>,
) -> (TestDaemon, Engine, Arc<Messaging>, Intake) {
    let daemon = TestDaemon::open(files, world).await;
    let engine = daemon.engine_with(tools);
    let accounts = Arc::new(Accounts(platforms.clone(), Arc::default()));
    let owner = Messaging::new(daemon.opened(), engine.clone(), accounts);
    tokio::spawn(owner.delivery().clone().run(CancellationToken::new()));
    let api = Api::new(daemon.opened(), Some(engine.clone()));
    let way = Intake::new(daemon.front(), LocalOwner::new(api, Some(owner.clone())));
    (daemon, engine, owner, way)
}

/// Where something is said, by whom.
#[derive(Debug, Clone)]
pub struct From {
    pub address: Address,
    pub sender: Sender,
}

pub fn platform(name: &str) -> Platform {
    Platform::new(name).unwrap()
}

/// A direct message of a user.
pub fn dm(user: &str) -> From {
    at(user, ChatType::Dm, user)
}

/// A user in a group.
pub fn group(chat: &str, user: &str) -> From {
    at(chat, ChatType::Group, user)
}

fn at(chat: &str, chat_type: ChatType, user: &str) -> From {
    let address = Address {
        platform: platform("telegram"),
        account: AccountId::new("main").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new(user).unwrap()),
        roles: vec![],
    };
    let sender = Sender { name: format!("Name{user}").into(), ..Sender::default() };
    From { address, sender }
}

impl From {
    pub fn by(mut self, account: &str) -> Self {
        self.address.account = AccountId::new(account).unwrap();
        self
    }

    pub fn on(mut self, name: &str) -> Self {
        self.address.platform = platform(name);
        self
    }

    pub fn topic(mut self, topic: &str) -> Self {
        self.address.topic = Some(TopicId::new(topic).unwrap());
        self
    }

    pub fn role(mut self, role: &str) -> Self {
        self.address.roles.push(RoleId::new(role).unwrap());
        self
    }

    pub fn also(mut self, user: &str) -> Self {
        self.sender.also.push(UserId::new(user).unwrap());
        self
    }

    pub fn called(mut self, name: &str) -> Self {
        self.sender.name = name.into();
        self
    }
}

/// A message that says `text`.
pub fn message(id: u64, text: &str) -> Message {
    Message {
        id: MessageId(format!("m{id}").into()),
        words: insula_domain::Words::typed(text),
        mentions_us: false,
        is_for_another: false,
        attachments: vec![],
        quoted: None,
        group: None,
    }
}

pub fn attachment(kind: AttachmentKind, name: &str, media_type: &str) -> Attachment {
    let handle = name.into();
    Attachment { kind, name: name.into(), media_type: media_type.into(), size: None, handle }
}

pub fn quoted(text: &str, is_from_here: bool) -> Quoted {
    Quoted {
        id: MessageId("q".into()),
        author: Some(UserId::new("77").unwrap()),
        is_ours: false,
        is_from_here,
        text: text.to_owned(),
    }
}

impl Fixture {
    /// The account that everything comes by.
    pub fn main(&self) -> AccountLease {
        self.daemon.account("telegram", "main")
    }

    /// A number that no event had.
    pub fn next(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed)
    }

    pub fn envelope(&self, from: &From, event: u64, what: Happening) -> Envelope {
        Envelope {
            event: EventId(format!("e{event}").into()),
            address: from.address.clone(),
            sender: from.sender.clone(),
            at: self.daemon.world().clock.now(),
            what,
        }
    }

    /// Something happens.
    pub async fn happens(&self, from: &From, what: Happening) {
        let envelope = self.envelope(from, self.next(), what);
        self.take(envelope).await;
    }

    /// Takes an event, and lets whatever it set off go as far as it gets by itself.
    pub async fn take(&self, envelope: Envelope) {
        self.way.take(envelope).await.unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    /// Somebody says something.
    pub async fn say(&self, from: &From, text: &str) {
        let id = self.next();
        self.take(self.envelope(from, id, Happening::Said(message(id, text)))).await;
    }

    /// Somebody says something to the bot, in a group.
    pub async fn mention(&self, from: &From, text: &str) {
        let id = self.next();
        let said = Message { mentions_us: true, ..message(id, text) };
        self.take(self.envelope(from, id, Happening::Said(said))).await;
    }

    /// Presses a button; what whoever pressed is told.
    pub async fn press(&self, from: &From, data: &str) -> String {
        let (handle, message) = ("press".into(), MessageId("p1".into()));
        let press = Press { handle, message, data: data.into() };
        self.happens(from, Happening::Pressed(press)).await;
        self.platforms.pressed.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// Waits until so many things were posted; all of them.
    pub async fn posts(&self, count: usize) -> Vec<Said> {
        loop {
            let heard = self.platforms.heard.notified();
            tokio::pin!(heard);
            heard.as_mut().enable();
            let posts = self.platforms.posts.lock().unwrap().clone();
            if posts.len() >= count {
                return posts;
            }
            heard.await;
        }
    }

    /// What was posted so far.
    pub fn posted(&self) -> Vec<Said> {
        self.platforms.posts.lock().unwrap().clone()
    }

    /// Says something and waits for one more post; what that says.
    pub async fn ask(&self, from: &From, text: &str) -> String {
        let before = self.posted().len();
        self.say(from, text).await;
        self.posts(before + 1).await[before].2.clone()
    }

    /// The same, to the bot in a group.
    pub async fn ask_in_group(&self, from: &From, text: &str) -> String {
        let before = self.posted().len();
        self.mention(from, text).await;
        self.posts(before + 1).await[before].2.clone()
    }

    pub fn agent(&self, id: &str) -> Arc<AgentContext> {
        let id = AgentId::new(id).unwrap();
        self.daemon.snapshot().agents[&id].state.context().unwrap().clone()
    }

    pub fn key(&self, agent: &str, from: &From) -> SessionKey {
        self.agent(agent).session_key(&from.address)
    }

    /// What a conversation of an agent has in its journal.
    pub async fn journal(&self, agent: &str, from: &From) -> Vec<Stored> {
        let key = self.key(agent, from);
        let store = self.daemon.store_of(&key.agent);
        let session = store.session(SessionRef::Key(key.to_string().into())).await.unwrap();
        let Some(session) = session else { return vec![] };
        let window = Window { messages: 1_000, bytes: 8 << 20 };
        store.messages_tail(session.id, window).await.unwrap()
    }

    /// How often a model was asked.
    pub fn asked(&self) -> usize {
        self.upstream.seen().len()
    }

    /// Reads a changed configuration.
    pub async fn reconfigure(&self, change: impl Fn(&str) -> String) {
        let text = self.files.read("config.yaml").unwrap();
        self.files.write("config.yaml", change(&text)).unwrap();
        self.daemon.reload(None, &insula_registry::Actor::CommandLine).await.unwrap();
    }

    /// What is left of it when its process ends: the files.
    pub fn into_files(self) -> insula_testkit::Home {
        self.files
    }
}

/// A process of its own: when it is dropped, everything that ran in it is gone at once.
pub fn process() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
