//! Frames of any shape: a page speaks as its bearer and where it may, or is cut.

use crate::noise::{Cast, Looking, Plan, Subject, Told, fuzzed, platforms, run};
use async_trait::async_trait;
use insula_adapters::webchat::{May, PageFrame, PageSession, Past, WebChats};
use insula_channel::{
    AccountSettings, Adapter, Body, Cursor, Envelope, Happening, Hearing, Inbox, NotTaken, Post,
    PostTarget,
};
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Rooms that frames name.
const ROOMS: usize = 1_500;

/// Looks at each envelope, and also where a page may speak.
struct Doorkeeper(Arc<Looking>);

#[async_trait]
impl Inbox for Doorkeeper {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        for envelope in &envelopes {
            let address = &envelope.address;
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
        self.0.take(envelopes, None).await
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

/// Whose words these are.
fn tenant() -> insula_channel::Tenant {
    insula_channel::Tenant::of_life(&insula_domain::AgentId::new("a").unwrap(), 1, 0)
}

fn enter(chats: &WebChats) -> (PageSession, mpsc::Receiver<PageFrame>) {
    let may: May = Arc::new(|address: Address| {
        let hearing = Hearing { tenant: tenant(), answers: tenant(), past: true };
        Box::pin(std::future::ready((address.chat.as_str() != "closed").then_some(hearing)))
    });
    let past: Past = Arc::new(|_| Box::pin(std::future::ready(vec![])));
    chats.find(None).unwrap().enter("ann", (may, past)).unwrap()
}

struct Page {
    chats: WebChats,
    adapter: Arc<dyn Adapter>,
    session: PageSession,
    frames: mpsc::Receiver<PageFrame>,
    told: usize,
}

#[async_trait]
impl Subject for Page {
    async fn tell(&mut self, told: Told) {
        let is_cut = self.session.hear(&told.text()).await.is_err();
        while self.frames.try_recv().is_ok() {}
        // A page that reads too little, or makes no sense, is cut and comes again.
        if is_cut || self.frames.is_closed() {
            (self.session, self.frames) = enter(&self.chats);
        }
        self.told += 1;
        // Meanwhile the agent says something somewhere.
        if self.told.is_multiple_of(10) {
            let chat = ChatId::new(format!("room{}", self.told % (ROOMS * 4))).unwrap();
            let target = PostTarget {
                host: None,
                tenant: tenant(),
                chat,
                chat_type: ChatType::Group,
                topic: None,
            };
            let body = Body { markdown: told.text(), ..Body::default() };
            let idempotency = self.told.to_string().into();
            self.adapter.post(&Post { target, reply_to: None, idempotency, body }).await.unwrap();
        }
    }
}

async fn fuzz(plan: Plan) {
    let (world, _) = insula_testkit::auto_world(7);
    let chats = WebChats::new(&world);
    let settings = AccountSettings::new(Platform::WEB, AccountId::new("site").unwrap(), []);
    let adapter = chats.make(&settings);
    let cast = Cast { friend: "ann".to_owned(), stranger: "ann".to_owned(), ..Cast::default() };
    let looking = Arc::new(Looking::new("web", "site", "ann", &["own:ann"]));
    let stop = CancellationToken::new();
    let listening = tokio::spawn({
        let (adapter, stop) = (adapter.clone(), stop.clone());
        let doorkeeper = Doorkeeper(looking.clone());
        async move { adapter.listen(&doorkeeper, &stop).await }
    });
    while chats.find(None).is_none() {
        tokio::task::yield_now().await;
    }
    let (session, frames) = enter(&chats);
    let mut page = Page { chats, adapter, session, frames, told: 0 };
    let templates = |_: &str| platforms::frames(ROOMS);
    run(plan, &world, &mut page, &looking.judge, templates, &cast).await;
    stop.cancel();
    listening.await.unwrap().unwrap();
}

fuzzed!("web", batch 1, a_hundred_thousand_frames_of_pages_are_survived, fuzz);
