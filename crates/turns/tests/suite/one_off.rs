//! Conversations of one turn: forgotten with all that was said, unless a key may ask again.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests look at files and fail by panicking"
)]

use insula_domain::{AccountId, Address, AgentId, ChatId, ChatType, Label, Platform, UserId};
use insula_store::{IdempotencyKey, Part, Role, SessionState};
use insula_testdaemon::{TestDaemon, introduce};
use insula_testkit::upstream::{Step, Upstream};
use insula_testkit::world;
use insula_turns::{Acknowledge, Engine, Inbound, SubmitError, TurnEnd, TurnEvent, TurnHandle};
use std::path::Path;

const CANARY: &str = "heliotrope-canary";

struct Fixture {
    files: insula_testkit::Home,
    daemon: TestDaemon,
    engine: Engine,
}

async fn open() -> Fixture {
    let files = insula_testkit::Home::with([("config.yaml", "agents: {a: {}}\n")]).unwrap();
    let (world, _handles) = world(7);
    introduce(&files, &world).await;
    let daemon = TestDaemon::open(&files, &world).await;
    let engine = daemon.engine();
    Fixture { files, daemon, engine }
}

impl Fixture {
    fn inbound(&self, text: &str, history: usize, key: Option<&str>) -> Inbound {
        let agent = self.daemon.agent("a");
        let address = Address {
            platform: Platform::API,
            account: AccountId::new("token").unwrap(),
            chat: ChatId::new(agent.one_off_name(self.daemon.world())).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new("token").unwrap()),
            roles: vec![],
        };
        let said = |number: usize| {
            let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
            (role, vec![Part::Text(format!("{CANARY} {number}"))])
        };
        Inbound {
            origin: None,
            acknowledge: Acknowledge::AtOnce,
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::anyone(),
            principal: "api:token".into(),
            history: (0..history).map(said).collect(),
            parts: vec![Part::Text(text.to_owned())],
            idempotency: key.map(|key| IdempotencyKey {
                who: "token".into(),
                key: key.into(),
                request: [0; 32],
            }),
            agent,
        }
    }

    async fn once(&self, text: &str, history: usize, key: Option<&str>) -> String {
        replied(self.engine.submit_once(self.inbound(text, history, key)).await.unwrap()).await
    }

    async fn states(&self) -> Vec<SessionState> {
        let store = self.daemon.store_of(&AgentId::new("a").unwrap());
        store.sessions(None, 100).await.unwrap().iter().map(|session| session.state).collect()
    }

    /// Waits until every conversation but `kept` is forgotten.
    async fn settled(&self, kept: usize) {
        loop {
            self.engine.settle().await;
            let states = self.states().await;
            let current = states.iter().filter(|state| **state == SessionState::Current).count();
            if current == kept {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

async fn replied(mut handle: TurnHandle) -> String {
    loop {
        match handle.events.recv().await.expect("a turn ends") {
            TurnEvent::Ended(TurnEnd::Replied { text, .. }) => return text,
            TurnEvent::Ended(other) => panic!("{other:?}"),
            _ => continue,
        }
    }
}

/// Whether any file below has the text.
fn has(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return has(&path, text);
        }
        let bytes = std::fs::read(&path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[tokio::test]
async fn what_was_said_is_nowhere_after_the_reply() {
    let fixture = open().await;
    let reply = fixture.once(&format!("say {CANARY}"), 4, None).await;
    assert_eq!(reply, CANARY);
    fixture.settled(0).await;
    assert_eq!(fixture.states().await, [SessionState::Forgotten]);
    assert!(!has(fixture.files.path(), CANARY), "it is still in a file");
}

#[tokio::test]
async fn many_are_forgotten_together_and_others_stay() {
    let fixture = open().await;
    let kept = fixture.inbound("say stays", 0, None);
    replied(fixture.engine.submit(kept).await.unwrap()).await;
    for number in 0..30 {
        fixture.once(&format!("say {number}"), 0, None).await;
    }
    fixture.settled(1).await;
    assert_eq!(fixture.states().await.len(), 31);
}

#[tokio::test]
async fn with_a_key_the_reply_can_be_had_again() {
    let fixture = open().await;
    let reply = fixture.once("say again", 3, Some("k")).await;
    fixture.settled(1).await;
    let again = fixture.engine.submit_once(fixture.inbound("say again", 3, Some("k"))).await;
    let Err(SubmitError::Known { turn, .. }) = again else { panic!("it was taken twice") };
    let agent = fixture.inbound("", 0, None).agent;
    let ended = fixture.engine.ended(&agent, turn).await.unwrap().unwrap();
    assert_eq!(replied(ended).await, reply);
    // What the second request brought along is not kept beside it.
    fixture.settled(1).await;
    assert_eq!(fixture.states().await.len(), 2);
}

#[tokio::test]
async fn a_long_history_can_be_brought_along() {
    let fixture = open().await;
    assert_eq!(fixture.once("say still", 300, None).await, "still");
}

#[tokio::test]
async fn a_caller_that_goes_away_takes_its_request_along_unless_it_may_come_back() {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, |_, _| vec![Step::Hang]).await.unwrap();
    let config = insula_testkit::model::configured(&upstream, "model", "agents: {a: {}}\n");
    let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
    introduce(&files, &world).await;
    let daemon = TestDaemon::open(&files, &world).await;
    let engine = daemon.engine();
    let fixture = Fixture { files, daemon, engine };
    let kept = fixture.engine.submit_once(fixture.inbound("keyed", 0, Some("k"))).await.unwrap();
    let gone = fixture.engine.submit_once(fixture.inbound("asked once", 0, None)).await.unwrap();
    upstream.requests(2).await;
    drop((kept, gone));
    // The provider is told: its connection is closed, and only that one.
    upstream.closed_by_client(1).await;
    let store = fixture.daemon.store_of(&AgentId::new("a").unwrap());
    // And the turn ends; the one with a key goes on.
    while store.unfinished().await.unwrap().len() > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.unfinished().await.unwrap().len(), 1);
}
