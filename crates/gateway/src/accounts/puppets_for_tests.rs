//! Puppets for platforms, and a scene for tests of accounts: a real daemon, and time that moves
//! when told to.

use super::inbox::{AccountInbox, Takes};
use super::*;
use async_trait::async_trait;
use bytes::Bytes;
use insula_channel::{
    AccountSettings, Attachment, Body, BotIdentity, ConnectFault, Envelope, EventId, Features,
    FetchError, Happening, Idempotency, Inbox, MessageId, NotTaken, Post, PostError, PostTarget,
    Posted, Sender, TextLimit,
};
use insula_domain::{Address, ChatId, ChatType};
use insula_registry::Actor;
use insula_testdaemon::TestDaemon;
use insula_testkit::{Handles, world};
use insula_world::{Timestamp, World};
use std::time::Duration;
use tokio::sync::Notify;

/// What a puppet does each time it is told to listen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Act {
    /// Is heard once, and then silent.
    Connect,
    /// Is never heard, and never answers who we are.
    Hang,
    /// Fails at once.
    Break,
    /// Is refused.
    Refuse,
    /// Panics.
    Panic,
    /// Holds a connection open by which nothing is heard.
    Deaf,
    /// Is heard, and takes its time when it is told to end.
    Linger,
}

/// What happened to the puppets, and what they are to do.
#[derive(Default)]
pub(super) struct Theatre {
    pub(super) acts: Mutex<HashMap<String, Act>>,
    pub(super) made: Mutex<Vec<(String, String)>>,
    pub(super) listened: Mutex<HashMap<String, usize>>,
    ids: Mutex<HashMap<String, String>>,
}

impl Theatre {
    pub(super) fn act(&self, name: &str, act: Act) {
        self.acts.lock().unwrap().insert(name.to_owned(), act);
    }

    /// Says who an account turns out to be, where that is not its name.
    pub(super) fn is_really(&self, name: &str, id: &str) {
        self.ids.lock().unwrap().insert(name.to_owned(), id.to_owned());
    }

    fn id_of(&self, name: &str) -> String {
        self.ids.lock().unwrap().get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    pub(super) fn made(&self, name: &str) -> usize {
        self.made.lock().unwrap().iter().filter(|(known, _)| known == name).count()
    }

    pub(super) fn listened(&self, name: &str) -> usize {
        self.listened.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

pub(super) struct Stage(pub(super) Arc<Theatre>);

impl AdapterFactory for Stage {
    fn make(&self, account: &AccountSettings) -> Result<Arc<dyn Adapter>, ConnectFault> {
        let name = account.name.to_string();
        let token = account.get("token").unwrap_or_default().to_owned();
        self.0.made.lock().unwrap().push((name.clone(), token));
        let has_listened = AtomicBool::new(false);
        Ok(Arc::new(Puppet { name, theatre: self.0.clone(), has_listened }))
    }
}

struct Puppet {
    name: String,
    theatre: Arc<Theatre>,
    has_listened: AtomicBool,
}

impl Puppet {
    fn act(&self) -> Act {
        self.theatre.acts.lock().unwrap().get(&self.name).copied().unwrap_or(Act::Connect)
    }
}

#[async_trait]
impl Adapter for Puppet {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        match self.act() {
            Act::Hang => std::future::pending().await,
            Act::Refuse => Err(ConnectFault::Refused("the token hunter2-hunter2 is wrong".into())),
            _ => Ok(BotIdentity {
                id: self.theatre.id_of(&self.name).into(),
                name: "puppet".into(),
                missing: match self.has_listened.load(Ordering::Relaxed) {
                    true => vec!["a room that it can't read".to_owned()],
                    false => vec![],
                },
                about: vec![],
            }),
        }
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        *self.theatre.listened.lock().unwrap().entry(self.name.clone()).or_default() += 1;
        self.has_listened.store(true, Ordering::Relaxed);
        match self.act() {
            Act::Break => Err(ConnectFault::Broken { why: "gone".into(), wait: None }),
            Act::Panic => panic!("a puppet's string broke"),
            Act::Deaf => {
                stop.cancelled().await;
                Ok(())
            }
            Act::Linger => {
                inbox.alive();
                stop.cancelled().await;
                std::future::pending().await
            }
            _ => {
                inbox.alive();
                stop.cancelled().await;
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Outbound for Puppet {
    fn features(&self) -> Features {
        Features {
            text: TextLimit::Utf16(100),
            can_edit: None,
            idempotency: Idempotency::Never,
            has_buttons: false,
            can_react: false,
            typing: None,
            silence_max: Duration::from_secs(120),
        }
    }

    async fn post(&self, _: &Post) -> Result<Posted, PostError> {
        Ok(Posted { message: MessageId("1".into()) })
    }

    async fn edit(&self, _: &PostTarget, _: &MessageId, _: &Body) -> Result<(), PostError> {
        Ok(())
    }

    async fn fetch(&self, _: &Attachment, _: u64) -> Result<Bytes, FetchError> {
        Ok(Bytes::new())
    }
}

/// Takes everything and writes down what.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) taken: Mutex<Vec<String>>,
    /// Chats whose events wait until the ledger is told to go on.
    pub(super) held: Mutex<Vec<String>>,
    pub(super) go_on: Notify,
    pub(super) panics: Mutex<HashMap<String, usize>>,
}

#[async_trait]
impl Takes for Ledger {
    async fn has_taken(&self, _: &Envelope) -> Result<bool, NotTaken> {
        Ok(false)
    }

    async fn take(&self, envelope: Envelope) -> Result<(), NotTaken> {
        let (chat, event) = (envelope.address.chat.to_string(), envelope.event.0.to_string());
        while self.held.lock().unwrap().contains(&chat) {
            self.go_on.notified().await;
        }
        let is_poison = {
            let mut panics = self.panics.lock().unwrap();
            let left = panics.get_mut(&event).filter(|left| **left > 0);
            left.map(|left| *left -= 1).is_some()
        };
        if is_poison {
            std::panic::resume_unwind(Box::new("poison"));
        }
        self.taken.lock().unwrap().push(event);
        Ok(())
    }
}

pub(super) struct Scene {
    pub(super) files: insula_testkit::Home,
    pub(super) daemon: TestDaemon,
    pub(super) accounts: Arc<Connections>,
    pub(super) theatre: Arc<Theatre>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) sink: Arc<dyn Takes>,
    pub(super) handles: Handles,
}

impl Scene {
    pub(super) async fn open(config: &str) -> Self {
        let (world, handles) = world(7);
        let files = insula_testkit::Home::with([("config.yaml", config)]).unwrap();
        Self::open_in(files, world, handles).await
    }

    pub(super) async fn open_in(
        files: insula_testkit::Home,
        world: World,
        handles: Handles,
    ) -> Self {
        let daemon = TestDaemon::open(&files, &world).await;
        let theatre = Arc::new(Theatre::default());
        let accounts = Connections::new(daemon.front(), Arc::new(Stage(theatre.clone())));
        let ledger = Arc::new(Ledger::default());
        let sink: Arc<dyn Takes> = ledger.clone();
        Self { files, daemon, accounts, theatre, ledger, sink, handles }
    }

    /// Settles, and lets everything run that needs no time.
    pub(super) async fn settle(&self) {
        self.accounts.settle(&self.sink, &[]);
        self.pass(Duration::ZERO).await;
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.handles.clock.advance(time).await;
    }

    pub(super) async fn edit(&self, config: &str) {
        self.files.write("config.yaml", config).unwrap();
        self.daemon.reload(None, &Actor::Daemon).await.unwrap();
        self.settle().await;
    }

    pub(super) fn state(&self, name: &str) -> (Connection, Option<String>) {
        let states = self.accounts.states();
        let found = states.into_iter().find(|state| state.account.as_str() == name).unwrap();
        (found.state, found.reason)
    }

    pub(super) fn inbox(&self, name: &str) -> AccountInbox {
        let lines = self.accounts.connections.load();
        let connection =
            lines.values().find(|connection| connection.name.as_str() == name).unwrap().clone();
        let lanes = connection.lanes.clone();
        AccountInbox::new(connection, self.sink.clone(), lanes)
    }

    pub(super) fn envelope(&self, account: &str, chat: &str, event: &str) -> Envelope {
        Envelope {
            event: EventId(event.into()),
            address: Address {
                platform: Platform::new("telegram").unwrap(),
                account: AccountId::new(account).unwrap(),
                chat: ChatId::new(chat).unwrap(),
                chat_type: ChatType::Group,
                topic: None,
                parent: None,
                community: None,
                user: None,
                roles: vec![],
            },
            sender: Sender::default(),
            at: Timestamp::from_millis(0),
            what: Happening::Added,
        }
    }
}
