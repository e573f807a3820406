//! A platform in memory. It outlives the daemon, as platforms do.

use async_trait::async_trait;
use bytes::Bytes;
use insula_channel::{
    Accounts, Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, File,
    Idempotency, Inbox, MessageId, OnUncertain, Outbound, OwnSign, Pacing, Post, PostError,
    PostTarget, Posted, TextLimit, WaitScope,
};
use insula_domain::{AccountId, Platform};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A message as people there see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub account: String,
    pub chat: String,
    pub topic: Option<String>,
    pub id: String,
    pub text: String,
    pub key: String,
    pub reply_to: Option<String>,
    pub buttons: Vec<(String, String)>,
    /// What came along: names, what they are, and how long.
    pub files: Vec<(String, String, usize)>,
    pub edits: usize,
    /// Whether it is what there is so far of a reply.
    pub goes_on: bool,
}

/// What the platform does with a request to send.
#[derive(Debug, Clone)]
pub enum Act {
    /// It arrives, as it does where nothing is said.
    Arrives,
    Later(Option<Duration>),
    /// The platform asks to wait, and means the chat.
    ChatLater(Duration),
    /// It arrives, and nobody is told.
    ArrivesUnsaid,
    /// It does not arrive, and nobody is told.
    Lost,
    Never,
    Account,
    /// It never answers, and nothing arrives.
    Hangs,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    acts: VecDeque<Act>,
    by_chat: HashMap<String, VecDeque<Act>>,
    typed: usize,
    requests: usize,
    /// Everything that happens counts; at this count the daemon is gone.
    events: usize,
    crash_at: Option<usize>,
    refuses_edits: bool,
    away: Vec<String>,
    hold: bool,
    signs: Vec<(String, bool)>,
}

pub struct Fake {
    pub features: Features,
    state: Mutex<State>,
    changed: watch::Sender<usize>,
    crashed: watch::Sender<bool>,
}

pub const TELEGRAM: &str = "telegram";

/// One that knows no idempotency, as some are.
pub fn forgetful() -> Features {
    Features {
        text: TextLimit::Utf16(280),
        can_edit: Some(Duration::from_secs(1)),
        idempotency: Idempotency::Never,
        has_buttons: true,
        can_react: false,
        typing: Some(Duration::from_secs(5)),
        silence_max: Duration::from_secs(120),
    }
}

/// One that recognises what it has.
pub fn mindful() -> Features {
    Features { idempotency: Idempotency::Always, ..forgetful() }
}

/// One that recognises what it has for half a minute.
pub fn forgets_in_time() -> Features {
    Features { idempotency: Idempotency::For(Duration::from_secs(30)), ..forgetful() }
}

/// One that has no sign of writing and takes reactions.
pub fn reacting() -> Features {
    Features { typing: None, can_react: true, can_edit: None, ..forgetful() }
}

impl Fake {
    pub fn new(features: Features) -> Arc<Self> {
        Arc::new(Self {
            features,
            state: Mutex::default(),
            changed: watch::channel(0).0,
            crashed: watch::channel(false).0,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    pub fn texts(&self, chat: &str) -> Vec<String> {
        let seen = self.seen();
        seen.into_iter().filter(|it| it.chat == chat).map(|it| it.text).collect()
    }

    pub fn will(&self, acts: impl IntoIterator<Item = Act>) {
        self.state().acts.extend(acts);
    }

    pub fn will_in(&self, chat: &str, acts: impl IntoIterator<Item = Act>) {
        self.state().by_chat.entry(chat.to_owned()).or_default().extend(acts);
    }

    pub fn refuse_edits(&self) {
        self.state().refuses_edits = true;
    }

    pub fn hold_uncertain(&self) {
        self.state().hold = true;
    }

    pub fn send_away(&self, account: &str) {
        self.state().away.push(account.to_owned());
    }

    pub fn call_back(&self, account: &str) {
        self.state().away.retain(|it| it != account);
    }

    pub fn typed(&self) -> usize {
        self.state().typed
    }

    /// What was put on which messages, or taken away, in order.
    pub fn signs(&self) -> Vec<(String, bool)> {
        self.state().signs.clone()
    }

    /// Waits until so many signs were put or taken away.
    pub async fn signed(&self, count: usize) {
        let mut changed = self.changed.subscribe();
        while self.signs().len() < count {
            changed.changed().await.unwrap();
        }
    }

    pub fn requests(&self) -> usize {
        self.state().requests
    }

    pub fn events(&self) -> usize {
        self.state().events
    }

    /// Lets the daemon be gone at the `at`th thing that happens from now on; `None` for never.
    pub fn crash_at(&self, at: Option<usize>) {
        let mut state = self.state();
        state.events = 0;
        state.crash_at = at;
        drop(state);
        self.crashed.send_replace(false);
    }

    /// Waits for that moment.
    pub async fn crash(&self) {
        let _ = self.crashed.subscribe().wait_for(|crashed| *crashed).await;
    }

    /// Waits until the platform looks like this.
    pub async fn until(&self, holds: impl Fn(&[Seen]) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            if holds(&self.seen()) {
                return;
            }
            changed.changed().await.unwrap();
        }
    }

    /// Waits until there are so many messages.
    pub async fn count(&self, count: usize) {
        self.until(|seen| seen.len() >= count).await;
    }

    /// Waits until so many requests came.
    pub async fn asked(&self, count: usize) {
        let mut changed = self.changed.subscribe();
        while self.requests() < count {
            changed.changed().await.unwrap();
        }
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn happens(&self) -> bool {
        let mut state = self.state();
        state.events += 1;
        let gone = state.crash_at.is_some_and(|at| state.events >= at);
        drop(state);
        if gone {
            self.crashed.send_replace(true);
        }
        gone
    }

    /// Something happens; whoever is gone does not see what follows.
    async fn happen(&self) {
        if self.happens() {
            std::future::pending::<()>().await;
        }
    }

    fn take(&self, account: &str, post: &Post) -> MessageId {
        let mut state = self.state();
        let known = state.seen.iter().find(|it| it.key == *post.idempotency);
        if self.features.idempotency.knows_keys()
            && let Some(known) = known
        {
            return MessageId(known.id.as_str().into());
        }
        let id = format!("m{}", state.seen.len() + 1);
        let buttons = post.body.buttons.iter().flatten();
        let buttons = buttons.map(|it| (it.label.to_string(), it.data.to_string())).collect();
        let file = |it: &File| (it.name.to_string(), it.media_type.to_string(), it.content.len());
        let files = post.body.files.iter().map(file).collect();
        state.seen.push(Seen {
            account: account.to_owned(),
            chat: post.target.chat.as_str().to_owned(),
            topic: post.target.topic.as_ref().map(|topic| topic.as_str().to_owned()),
            id: id.clone(),
            text: post.body.markdown.clone(),
            key: post.idempotency.to_string(),
            reply_to: post.reply_to.as_ref().map(|it| it.0.to_string()),
            buttons,
            files,
            edits: 0,
            goes_on: post.body.goes_on,
        });
        MessageId(id.into())
    }
}

/// One account's connection.
pub struct Phone {
    fake: Arc<Fake>,
    account: String,
}

#[async_trait]
impl Adapter for Phone {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        Ok(BotIdentity { id: "1".into(), name: "bot".into(), missing: vec![], about: Vec::new() })
    }

    async fn listen(&self, _: &dyn Inbox, stop: &CancellationToken) -> Result<(), ConnectFault> {
        stop.cancelled().await;
        Ok(())
    }
}

#[async_trait]
impl Outbound for Phone {
    fn features(&self) -> Features {
        self.fake.features
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        let units = post.body.markdown.encode_utf16().count();
        assert!(units <= self.fake.features.text.most(), "{units} units");
        self.fake.happen().await;
        let act = {
            let mut state = self.fake.state();
            state.requests += 1;
            let chat = state.by_chat.get_mut(post.target.chat.as_str());
            chat.and_then(VecDeque::pop_front).or_else(|| state.acts.pop_front())
        };
        self.fake.tell();
        let why = || "scripted".into();
        match act {
            None | Some(Act::Arrives) => {
                let message = self.fake.take(&self.account, post);
                self.fake.tell();
                self.fake.happen().await;
                Ok(Posted { message })
            }
            Some(Act::Later(wait)) => {
                Err(PostError::Later { why: why(), wait, reach: WaitScope::Account })
            }
            Some(Act::ChatLater(wait)) => {
                Err(PostError::Later { why: why(), wait: Some(wait), reach: WaitScope::Chat })
            }
            Some(Act::ArrivesUnsaid) => {
                self.fake.take(&self.account, post);
                self.fake.tell();
                Err(PostError::Uncertain { why: why() })
            }
            Some(Act::Lost) => Err(PostError::Uncertain { why: why() }),
            Some(Act::Never) => Err(PostError::Never { why: why() }),
            Some(Act::Account) => Err(PostError::Account { why: why() }),
            Some(Act::Hangs) => std::future::pending().await,
        }
    }

    async fn edit(
        &self,
        _: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        self.fake.happen().await;
        {
            let mut state = self.fake.state();
            if state.refuses_edits {
                return Err(PostError::Never { why: "it is gone".into() });
            }
            let buttons = body.buttons.iter().flatten();
            let buttons = buttons.map(|it| (it.label.to_string(), it.data.to_string())).collect();
            let seen = state.seen.iter_mut().find(|it| *it.id == *message.0).unwrap();
            seen.text.clone_from(&body.markdown);
            seen.buttons = buttons;
            seen.edits += 1;
            seen.goes_on = body.goes_on;
        }
        self.fake.tell();
        self.fake.happen().await;
        Ok(())
    }

    async fn typing(&self, _: &PostTarget) {
        self.fake.state().typed += 1;
        self.fake.tell();
    }

    async fn react(&self, _: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        assert_eq!(sign, OwnSign::Working);
        self.fake.state().signs.push((message.0.to_string(), on));
        self.fake.tell();
    }

    async fn fetch(&self, _: &Attachment, _: u64) -> Result<Bytes, FetchError> {
        Err(PostError::Never { why: "nothing is here".into() }.into())
    }
}

/// Every account of the platform, each by its name.
pub struct Board(pub Arc<Fake>, pub Arc<Pacing>);

impl Accounts for Board {
    fn outbound(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>> {
        self.0.happens();
        let known = platform.as_str() == TELEGRAM;
        let is_away = self.0.state().away.iter().any(|it| it == account.as_str());
        let (fake, account) = (self.0.clone(), account.as_str().to_owned());
        (known && !is_away).then(|| Arc::new(Phone { fake, account }) as Arc<dyn Outbound>)
    }

    fn pacing(&self) -> &Arc<Pacing> {
        &self.1
    }

    fn on_uncertain(&self, _: Platform, _: &AccountId) -> OnUncertain {
        if self.0.state().hold { OnUncertain::Hold } else { OnUncertain::Resend }
    }
}
