//! Platforms that call us: what people say waits with the caller until it was taken, and comes
//! again when it was not. The suite listens; so whoever listens is called.

use async_trait::async_trait;
use bytes::Bytes;
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Inbox, MessageId,
    Outbound, Post, PostError, PostTarget, Posted,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What was said, and what of it was not taken yet.
pub struct MessageFeed<T> {
    said: Mutex<Vec<T>>,
    waiting: Mutex<VecDeque<T>>,
    rang: Notify,
}

impl<T: Clone> MessageFeed<T> {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { said: Mutex::default(), waiting: Mutex::default(), rang: Notify::new() })
    }

    /// Somebody says something.
    pub fn say(&self, what: T) {
        self.said.lock().unwrap().push(what.clone());
        self.waiting.lock().unwrap().push_back(what);
        self.rang.notify_one();
    }

    /// How much was said.
    pub fn count(&self) -> usize {
        self.said.lock().unwrap().len()
    }

    /// All of it is said again.
    pub fn repeat(&self) {
        *self.waiting.lock().unwrap() = self.said.lock().unwrap().iter().cloned().collect();
        self.rang.notify_one();
    }

    /// What is to be taken next.
    pub async fn next(&self) -> T {
        loop {
            if let Some(next) = self.waiting.lock().unwrap().front() {
                return next.clone();
            }
            self.rang.notified().await;
        }
    }

    pub fn taken(&self) {
        self.waiting.lock().unwrap().pop_front();
    }
}

/// Brings what was said to an adapter, one after the other, until something is not taken.
#[async_trait]
pub trait Caller: Send + Sync + 'static {
    async fn call(&self, adapter: &dyn Adapter, inbox: &dyn Inbox) -> ConnectFault;
}

/// An adapter, and whoever calls it while it listens.
pub struct Called<C> {
    pub adapter: Arc<dyn Adapter>,
    pub caller: C,
}

#[async_trait]
impl<C: Caller> Adapter for Called<C> {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        self.adapter.identify().await
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        // Nobody is called who does not listen yet.
        tokio::select! {
            biased;
            ended = self.adapter.listen(inbox, stop) => ended,
            fault = self.caller.call(&*self.adapter, inbox) => Err(fault),
        }
    }
}

#[async_trait]
impl<C: Caller> Outbound for Called<C> {
    fn features(&self) -> Features {
        self.adapter.features()
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        self.adapter.post(post).await
    }

    async fn edit(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        self.adapter.edit(target, message, body).await
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        self.adapter.fetch(attachment, limit).await
    }
}
