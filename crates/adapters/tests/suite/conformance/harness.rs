//! What the suite needs of a platform under test, and the inbox it listens with.

use async_trait::async_trait;
use insula_channel::{
    Adapter, ConnectFault, Cursor, Envelope, Happening, Inbox, Message, NotTaken, PostTarget,
};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A platform with our account on it, and a person who shares a chat with it.
#[async_trait]
pub trait Harness: Sized + Send + Sync + 'static {
    async fn start() -> Self;

    /// An adapter for our account, as new after a restart.
    fn adapter(&self) -> Arc<dyn Adapter>;

    /// Where an account begins to listen that has heard nothing yet of what the suite says:
    /// nothing, where a platform keeps everything for an account that never listened.
    fn cursor(&self) -> Option<Cursor> {
        None
    }

    /// Whether the platform checks our credentials; where it calls us, we check its own.
    fn has_credentials(&self) -> bool {
        true
    }

    /// Whether people can send files.
    fn has_files(&self) -> bool {
        true
    }

    /// The person's chat.
    fn target(&self) -> PostTarget;

    /// The person says something.
    async fn say(&self, text: &str);

    /// The person sends a file of this content.
    async fn say_file(&self, content: &[u8]);

    /// Whatever the platform has delivered it delivers again.
    async fn redeliver(&self);

    /// What the person sees of our messages, in order.
    async fn seen(&self) -> Vec<String>;

    /// The next message we send meets this. `false` where the platform can't be made to.
    async fn trouble(&self, trouble: Trouble) -> bool;

    /// Delivers an event that is this nonsense. `false` where the platform can't be made to.
    async fn garble(&self, nonsense: serde_json::Value) -> bool;

    /// The platform no longer takes our credentials.
    async fn revoke(&self);
}

/// What can happen to a message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The platform asks us to wait this many seconds.
    TooFast(u64),
    /// The platform has a fault of its own, and says so.
    Broken,
    /// The message is taken, and the connection breaks before the answer.
    AnswerLost,
    /// The connection breaks before the message is taken.
    RequestLost,
    /// The message is refused for good.
    Refused,
    /// Something else answers.
    Garbage,
}

/// An inbox that keeps what it is given.
pub struct Tray {
    kept: Mutex<TrayState>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct TrayState {
    envelopes: Vec<Envelope>,
    cursor: Option<Cursor>,
    refusing: bool,
    alive: usize,
}

impl Tray {
    pub fn new(cursor: Option<Cursor>) -> Arc<Self> {
        let kept = TrayState { cursor, ..TrayState::default() };
        Arc::new(Self { kept: Mutex::new(kept), count: watch::channel(0).0 })
    }

    /// From now on takes nothing, or takes again.
    pub fn refuse(&self, refusing: bool) {
        self.kept.lock().unwrap().refusing = refusing;
    }

    pub fn envelopes(&self) -> Vec<Envelope> {
        self.kept.lock().unwrap().envelopes.clone()
    }

    pub fn was_alive(&self) -> bool {
        self.kept.lock().unwrap().alive > 0
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

    /// Waits until this many envelopes have come.
    pub async fn until(&self, count: usize) -> Vec<Envelope> {
        self.count.subscribe().wait_for(|&kept| kept >= count).await.unwrap();
        self.envelopes()
    }

    /// Waits until it is kept how far listening went.
    pub async fn until_kept(&self) {
        let mut watched = self.count.subscribe();
        while self.kept.lock().unwrap().cursor.is_none() {
            watched.changed().await.unwrap();
        }
    }

    /// Waits until this many messages have come, and whatever else.
    pub async fn until_said(&self, count: usize) -> Vec<String> {
        let mut watched = self.count.subscribe();
        loop {
            watched.mark_unchanged();
            let texts = self.texts();
            if texts.len() >= count {
                return texts;
            }
            watched.changed().await.unwrap();
        }
    }
}

#[async_trait]
impl Inbox for Tray {
    async fn take(&self, envelopes: Vec<Envelope>, cursor: Option<Cursor>) -> Result<(), NotTaken> {
        let mut kept = self.kept.lock().unwrap();
        if kept.refusing {
            return Err(NotTaken("the disk is full".into()));
        }
        // The same event again is nothing new, as for the gateway.
        for envelope in envelopes {
            if kept.envelopes.iter().all(|known| known.event != envelope.event) {
                kept.envelopes.push(envelope);
            }
        }
        if cursor.is_some() {
            kept.cursor = cursor;
        }
        let count = kept.envelopes.len();
        drop(kept);
        self.count.send_replace(count);
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(self.kept.lock().unwrap().cursor.clone())
    }

    fn alive(&self) {
        self.kept.lock().unwrap().alive += 1;
    }
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

    /// Stops, and gives what listening came to.
    pub async fn stop(self) -> Result<(), ConnectFault> {
        self.stop.cancel();
        self.task.await.unwrap()
    }

    /// Waits until listening fails by itself.
    pub async fn failed(self) -> ConnectFault {
        self.task.await.unwrap().unwrap_err()
    }
}

/// Whose words these are.
pub fn tenant() -> insula_channel::Tenant {
    insula_channel::Tenant::of_life(&insula_domain::AgentId::new("a").unwrap(), 1, 0)
}
