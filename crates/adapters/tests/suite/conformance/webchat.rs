//! Web chat, with a page that says again what was not taken.

use crate::conformance::called::{Called, Caller, MessageFeed};
use crate::conformance::harness::{Harness, Listening, Tray, Trouble};
use async_trait::async_trait;
use base64::Engine as _;
use insula_adapters::webchat::{May, PageFrame, PageSession, Past, WebChats};
use insula_channel::Hearing;
use insula_channel::{AccountSettings, Adapter, ConnectFault, Inbox, PostTarget};
use insula_domain::{AccountId, ChatId, ChatType, Platform};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

struct Bench {
    chats: Arc<WebChats>,
    line: Arc<MessageFeed<Value>>,
}

struct Page {
    chats: Arc<WebChats>,
    line: Arc<MessageFeed<Value>>,
}

/// A page of Ann's, as soon as the chat is open.
async fn page(chats: &WebChats) -> (PageSession, mpsc::Receiver<PageFrame>) {
    let hub = loop {
        if let Some(hub) = chats.find(Some("site")) {
            break hub;
        }
        tokio::task::yield_now().await;
    };
    let may: May = Arc::new(|_| {
        let tenant = crate::conformance::harness::tenant();
        let hearing = Hearing { answers: tenant.clone(), tenant, past: true };
        Box::pin(std::future::ready(Some(hearing)))
    });
    let past: Past = Arc::new(|_| Box::pin(std::future::ready(vec![])));
    hub.enter("ann", (may, past)).unwrap()
}

fn read(told: &mut mpsc::Receiver<PageFrame>) -> Vec<Value> {
    std::iter::from_fn(|| told.try_recv().ok())
        .map(|told| serde_json::from_str(&told.frame).unwrap())
        .collect()
}

#[async_trait]
impl Caller for Page {
    async fn call(&self, _: &dyn Adapter, _: &dyn Inbox) -> ConnectFault {
        let (mut session, mut told) = page(&self.chats).await;
        loop {
            let frame = self.line.next().await;
            if session.hear(&frame.to_string()).await.is_err() {
                // A page that makes no sense is cut, and another one comes.
                (session, told) = page(&self.chats).await;
            }
            if read(&mut told).iter().any(|it| it["code"] == "not_taken") {
                return ConnectFault::Broken { why: "not taken".into(), wait: None };
            }
            self.line.taken();
        }
    }
}

#[async_trait]
impl Harness for Bench {
    async fn start() -> Self {
        let (world, _) = insula_testkit::world(7);
        Self { chats: Arc::new(WebChats::new(&world)), line: MessageFeed::new() }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        let settings = AccountSettings::new(Platform::WEB, AccountId::new("site").unwrap(), []);
        let adapter = self.chats.make(&settings);
        let caller = Page { chats: self.chats.clone(), line: self.line.clone() };
        Arc::new(Called { adapter, caller })
    }

    fn has_credentials(&self) -> bool {
        false
    }

    fn target(&self) -> PostTarget {
        let chat = ChatId::new("own:ann").unwrap();
        PostTarget {
            host: None,
            tenant: crate::conformance::harness::tenant(),
            chat,
            chat_type: ChatType::Dm,
            topic: None,
        }
    }

    async fn say(&self, text: &str) {
        let id = self.line.count().to_string();
        self.line.say(json!({ "type": "say", "id": id, "text": text }));
    }

    async fn say_file(&self, content: &[u8]) {
        let content = base64::engine::general_purpose::STANDARD.encode(content);
        let file = json!({ "name": "a.bin", "media_type": "a/b", "content": content });
        self.line.say(json!({ "type": "say", "id": "f", "text": "", "files": [file] }));
    }

    async fn redeliver(&self) {
        self.line.repeat();
    }

    async fn seen(&self) -> Vec<String> {
        let settings = AccountSettings::new(Platform::WEB, AccountId::new("site").unwrap(), []);
        let listening = Listening::start(&self.chats.make(&settings), &Tray::new(None));
        let (mut session, mut told) = page(&self.chats).await;
        session.hear(r#"{"type": "join"}"#).await.unwrap();
        let mut seen: Vec<(Value, String)> = vec![];
        for frame in read(&mut told) {
            let text = frame["text"].as_str().unwrap_or_default().to_owned();
            match frame["type"].as_str().unwrap() {
                "message" if frame["by"] == "agent" => seen.push((frame["id"].clone(), text)),
                "edit" => seen.iter_mut().find(|(id, _)| *id == frame["id"]).unwrap().1 = text,
                _ => {}
            }
        }
        listening.stop().await.unwrap();
        seen.into_iter().map(|(_, text)| text).collect()
    }

    async fn trouble(&self, _: Trouble) -> bool {
        // Nothing lies between a chat and its rooms.
        false
    }

    async fn garble(&self, nonsense: Value) -> bool {
        self.line.say(nonsense);
        true
    }

    async fn revoke(&self) {}
}

crate::conformance!(Bench);
