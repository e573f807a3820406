//! An inbox that keeps what it is given, and an adapter that listens into it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::keys::MemoryKeep;
use async_trait::async_trait;
use insula_adapters::matrix::{Matrix, Settings};
use insula_channel::{
    Adapter as _, Body, ConnectFault, Cursor, Envelope, Happening, Inbox, Keep, Message, MessageId,
    NotTaken, Post, PostTarget,
};
use insula_domain::{AccountId, ChatId, ChatType, TopicId};
use insula_wire::Transport;
use insula_world::World;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest to wait for what has to come.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub fn adapter(url: &str, user: Option<&str>, token: &str) -> Matrix {
    adapter_in(&World::real().unwrap(), url, user, token)
}

/// The same with another clock than the machine's.
pub fn adapter_in(clock: &World, url: &str, user: Option<&str>, token: &str) -> Matrix {
    adapter_backed_up(clock, (url, user, token), None)
}

/// The same with a recovery key.
pub fn adapter_backed_up(
    clock: &World,
    (url, user, token): (&str, Option<&str>, &str),
    recovery_key: Option<&str>,
) -> Matrix {
    let world = World::real().unwrap();
    let transport = Transport::new(&world, &[]).unwrap();
    let settings = Settings {
        account: AccountId::new("home").unwrap(),
        homeserver: url.to_owned(),
        user: user.map(str::to_owned),
        token: token.to_owned().into(),
        recovery_key: recovery_key.map(Into::into),
    };
    Matrix::new(settings, transport, clock).unwrap()
}

/// Keeps what it is given, the same event once, as the gateway does.
#[derive(Default)]
pub struct RecordingInbox {
    envelopes: Mutex<Vec<Envelope>>,
    cursor: Mutex<Option<Cursor>>,
    /// Where keys are kept, where they are.
    pub keep: Option<Arc<MemoryKeep>>,
    /// Whether it takes nothing.
    pub refuses: AtomicBool,
    /// How often the same event came again.
    pub repeated: AtomicUsize,
    pub taken: watch::Sender<usize>,
    pub alive: watch::Sender<usize>,
}

#[async_trait]
impl Inbox for RecordingInbox {
    async fn take(&self, envelopes: Vec<Envelope>, cursor: Option<Cursor>) -> Result<(), NotTaken> {
        if self.refuses.load(Ordering::SeqCst) {
            self.taken.send_modify(|count| *count += 1);
            return Err(NotTaken("the disk is full".into()));
        }
        let mut kept = self.envelopes.lock().unwrap();
        for envelope in envelopes {
            if kept.iter().any(|known| known.event == envelope.event) {
                self.repeated.fetch_add(1, Ordering::SeqCst);
            } else {
                kept.push(envelope);
            }
        }
        if let Some(cursor) = cursor {
            *self.cursor.lock().unwrap() = Some(cursor);
        }
        drop(kept);
        self.taken.send_modify(|count| *count += 1);
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(self.cursor.lock().unwrap().clone())
    }

    fn keep(&self) -> Option<Arc<dyn Keep>> {
        self.keep.clone().map(|keep| keep as Arc<dyn Keep>)
    }

    fn alive(&self) {
        self.alive.send_modify(|count| *count += 1);
    }
}

impl RecordingInbox {
    /// One that keeps keys.
    pub fn with(keep: &Arc<MemoryKeep>) -> Arc<Self> {
        Arc::new(Self { keep: Some(keep.clone()), ..Self::default() })
    }

    pub fn cursor_now(&self) -> Option<Cursor> {
        self.cursor.lock().unwrap().clone()
    }

    pub fn all(&self) -> Vec<Envelope> {
        self.envelopes.lock().unwrap().clone()
    }

    pub fn clear(&self) {
        self.envelopes.lock().unwrap().clear();
    }

    pub fn has_cursor(&self) -> bool {
        self.cursor.lock().unwrap().is_some()
    }

    pub fn put_cursor(&self, cursor: &str) {
        *self.cursor.lock().unwrap() = Some(Cursor(cursor.into()));
    }

    /// Waits until `find` finds something in what was taken.
    pub async fn find<T>(&self, mut find: impl FnMut(&[Envelope]) -> Option<T>) -> T {
        let mut taken = self.taken.subscribe();
        let mut wait = async || loop {
            taken.borrow_and_update();
            if let Some(found) = find(&self.all()) {
                return found;
            }
            taken.changed().await.unwrap();
        };
        match tokio::time::timeout(WAIT_MAX, wait()).await {
            Ok(found) => found,
            Err(_) => panic!("it never came; there is: {:#?}", self.all()),
        }
    }

    /// Waits for the envelope of one event.
    pub async fn event(&self, id: &str) -> Envelope {
        self.find(|all| all.iter().find(|it| &*it.event.0 == id).cloned()).await
    }

    /// Waits until something was taken or refused so often.
    pub async fn takes(&self, count: usize) {
        let mut taken = self.taken.subscribe();
        let come = taken.wait_for(|taken| *taken >= count);
        tokio::time::timeout(WAIT_MAX, come).await.expect("nothing came").unwrap();
    }

    pub fn texts(&self) -> Vec<String> {
        let said = |envelope: &Envelope| match &envelope.what {
            Happening::Said(message) => Some(message.words.all()),
            _ => None,
        };
        self.all().iter().filter_map(said).collect()
    }
}

/// An adapter that listens.
pub struct Listening {
    stop: CancellationToken,
    task: JoinHandle<Result<(), ConnectFault>>,
}

impl Listening {
    pub fn start(matrix: &Arc<Matrix>, kept: &Arc<RecordingInbox>) -> Self {
        let stop = CancellationToken::new();
        let (matrix, kept, stopped) = (matrix.clone(), kept.clone(), stop.clone());
        let task = tokio::spawn(async move { matrix.listen(&*kept, &stopped).await });
        Self { stop, task }
    }

    /// Begins for the first time, and waits until it knows where.
    pub async fn begin(matrix: &Arc<Matrix>, kept: &Arc<RecordingInbox>) -> Self {
        let listening = Self::start(matrix, kept);
        kept.takes(1).await;
        assert!(kept.has_cursor());
        listening
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }

    /// Waits until it fails.
    pub async fn fails(self) -> ConnectFault {
        let ended = tokio::time::timeout(WAIT_MAX, self.task).await;
        ended.expect("it does not fail").unwrap().unwrap_err()
    }
}

pub fn said(envelope: &Envelope) -> &Message {
    match &envelope.what {
        Happening::Said(message) => message,
        other => panic!("nothing was said: {other:?}"),
    }
}

/// Whose words these are.
pub fn tenant() -> insula_channel::Tenant {
    insula_channel::Tenant::of_life(&insula_domain::AgentId::new("a").unwrap(), 1, 0)
}

pub fn target(room: &str, topic: Option<&str>) -> PostTarget {
    PostTarget {
        host: None,
        tenant: tenant(),
        chat: ChatId::new(room).unwrap(),
        chat_type: ChatType::Group,
        topic: topic.map(|topic| TopicId::new(topic).unwrap()),
    }
}

pub fn post(target: PostTarget, key: &str, text: &str) -> Post {
    let body = Body { markdown: text.into(), ..Body::default() };
    Post { target, reply_to: None, idempotency: key.into(), body }
}

pub fn message_id(id: &str) -> MessageId {
    MessageId(id.into())
}
