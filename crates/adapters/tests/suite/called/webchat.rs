//! Frames of any shape: a page speaks as its bearer and where it may, or is cut.

use crate::called::noise::{Dice, GROWTH_MAX, memory};
use async_trait::async_trait;
use insula_adapters::webchat::{May, PageFrame, PageSession, Past, WebChats};
use insula_channel::Hearing;
use insula_channel::{
    AccountSettings, Cursor, Envelope, Happening, Inbox, NotTaken, Post, PostTarget,
};
use insula_domain::{AccountId, Address, ChatType, Platform};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Looks at each envelope, and keeps none.
#[derive(Default)]
struct Judge {
    taken: AtomicUsize,
}

#[async_trait]
impl Inbox for Judge {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        for envelope in envelopes {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("web", "site"));
            assert_eq!(address.user.as_ref().unwrap().as_str(), "ann");
            assert!(envelope.event.0.starts_with("ann/") && address.roles.is_empty());
            let chat = address.chat.as_str();
            match address.chat_type {
                ChatType::Dm => assert_eq!(chat, "own:ann"),
                ChatType::Group => assert!(!chat.contains(':') && chat != "closed", "{chat}"),
                other => panic!("{other}"),
            }
            if let Happening::Said(message) = &envelope.what {
                assert!(message.words.bytes() <= 64 * 1024 && message.attachments.len() <= 8);
            }
        }
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

fn corpus() -> Vec<Value> {
    let file = json!({ "name": "a", "media_type": "image/png", "content": "aGk=", "voice": true });
    vec![
        json!({ "type": "join", "room": "family", "topic": "7", "after": "e-1" }),
        json!({ "type": "join" }),
        json!({ "type": "leave", "room": "family", "topic": "7" }),
        json!({ "type": "say", "id": "1", "text": "hi @site", "reply_to": "agent/k" }),
        json!({ "type": "say", "id": "2", "room": "r", "text": "x", "mention": true, "files": [file] }),
        json!({ "type": "press", "id": "3", "room": "r", "message": "agent/k", "data": "d" }),
        json!({ "type": "hello", "token": "t" }),
    ]
}

/// Whose words these are.
fn tenant() -> insula_channel::Tenant {
    insula_channel::Tenant::of_life(&insula_domain::AgentId::new("a").unwrap(), 1, 0)
}

fn enter(chats: &WebChats) -> (PageSession, mpsc::Receiver<PageFrame>) {
    let may: May = Arc::new(|address: Address| {
        let hearing = Hearing { tenant: tenant(), past: true };
        Box::pin(std::future::ready((address.chat.as_str() != "closed").then_some(hearing)))
    });
    let past: Past = Arc::new(|_| Box::pin(std::future::ready(vec![])));
    chats.find(None).unwrap().enter("ann", (may, past)).unwrap()
}

async fn fuzz(count: usize, seed: &str) {
    let (world, _) = insula_testkit::world(7);
    let chats = WebChats::new(&world);
    let settings = AccountSettings::new(Platform::WEB, AccountId::new("site").unwrap(), []);
    let adapter = chats.make(&settings);
    let (judge, stop) = (Arc::new(Judge::default()), CancellationToken::new());
    let listening = tokio::spawn({
        let (adapter, judge, stop) = (adapter.clone(), judge.clone(), stop.clone());
        async move { adapter.listen(&*judge, &stop).await }
    });
    while chats.find(None).is_none() {
        tokio::task::yield_now().await;
    }
    let mut dice = Dice::new(&world, seed);
    let corpus = corpus();
    let (mut session, mut told) = enter(&chats);
    let mut early = None;
    for number in 0..count {
        let mut frame = corpus[dice.below(corpus.len())].clone();
        if frame["id"].is_string() {
            frame["id"] = number.to_string().into();
        }
        if dice.below(3) == 0 {
            let name = format!("room{}", dice.below(6_000));
            frame["room"] = [name.as_str(), "closed", "own:bob", ""][dice.below(4)].into();
        }
        for _ in 0..dice.below(3) {
            dice.mutate(&mut frame);
        }
        let mut bytes = match dice.below(20) {
            0 => dice.value(4).to_string().into_bytes(),
            1 => format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)).into_bytes(),
            _ => frame.to_string().into_bytes(),
        };
        if dice.below(10) == 0 {
            dice.garble(&mut bytes);
        }
        let is_cut = session.hear(&String::from_utf8_lossy(&bytes)).await.is_err();
        while told.try_recv().is_ok() {}
        // A page that reads too little, or makes no sense, is cut and comes again.
        if is_cut || told.is_closed() {
            drop(session);
            (session, told) = enter(&chats);
        }
        if dice.below(10) == 0 {
            let chat = insula_domain::ChatId::new(format!("room{}", dice.below(6_000))).unwrap();
            let target =
                PostTarget { tenant: tenant(), chat, chat_type: ChatType::Group, topic: None };
            let body = insula_channel::Body { markdown: dice.text(), ..Default::default() };
            let idempotency = number.to_string().into();
            adapter.post(&Post { target, reply_to: None, idempotency, body }).await.unwrap();
        }
        if early.is_none() && number > count / 10 {
            early = Some(memory());
        }
    }
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
    stop.cancel();
    listening.await.unwrap().unwrap();
}

#[tokio::test]
async fn frames_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_frames_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
