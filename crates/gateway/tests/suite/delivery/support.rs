//! A daemon with agents that do as they are told, and a way out of it.

use crate::delivery::platform::{Board, Fake, TELEGRAM};
use insula_channel::MessageId;
use insula_domain::{AccountId, Address, ChatId, ChatType, Label, Platform, TopicId, UserId};
use insula_owner::{ChatRef, Relay};
use insula_registry::AgentContext;
use insula_store::{AuditRecord, Delivery, IdempotencyKey, Part};
use insula_testdaemon::TestDaemon;
use insula_testkit::model::{calls, configured, says, shown_apart as shown};
use insula_testkit::upstream::{Seen, Step, Upstream, event_stream};
use insula_turns::{Acknowledge, Around, Engine, Inbound, SubmitError, TurnHandle};
use insula_world::World;
use serde_json::json;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub const AGENTS: &str = r#"
agents:
  a: {tools: [clarify, todo], access: {allow: ["telegram:ann"]}}
  b: {tools: [todo], access: {allow: ["telegram:ann"]}}
"#;

/// Runs something in a time of its own, in which nothing takes long. What still runs at its
/// end is gone, as in a crash.
pub fn in_a_life<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    let result = runtime.block_on(work);
    drop(runtime);
    result
}

/// A home for lives.
pub fn home() -> insula_testkit::Home {
    insula_testkit::Home::empty().unwrap()
}

/// The daemon, between two crashes.
pub struct Life {
    pub daemon: TestDaemon,
    pub engine: Engine,
    pub out: Arc<Relay>,
    pub stop: CancellationToken,
    pub running: tokio::task::JoinHandle<()>,
}

impl Life {
    pub async fn begin(files: &insula_testkit::Home, fake: &Arc<Fake>) -> Self {
        Self::with(files, fake, AGENTS, None).await
    }

    pub async fn with(
        files: &insula_testkit::Home,
        fake: &Arc<Fake>,
        agents: &str,
        tools: Option<insula_turns::gate::Tools>,
    ) -> Self {
        Self::within(insula_testkit::auto_world(7).0, files, fake, agents, tools).await
    }

    /// The same in a world of one's own.
    pub async fn within(
        world: World,
        files: &insula_testkit::Home,
        fake: &Arc<Fake>,
        agents: &str,
        tools: Option<insula_turns::gate::Tools>,
    ) -> Self {
        let tick = Arc::new(Notify::new());
        let model = tick.clone();
        let life = files.read("lives").map_or(1, |lives| lives.len() + 1);
        files.write("lives", "x".repeat(life)).unwrap();
        let answer = move |seen: &Seen, _| answer(seen, &model, life);
        let upstream = Upstream::start(&world, answer).await.unwrap();
        files.write("config.yaml", configured(&upstream, "model", agents)).unwrap();
        let clock = world.clock.clone();
        tokio::spawn(async move {
            loop {
                clock.sleep(Duration::from_millis(1_100)).await;
                tick.notify_waiters();
            }
        });
        let daemon = TestDaemon::open(files, &world).await;
        let engine = daemon.engine_with(tools.unwrap_or(insula_tools::BUILT_IN));
        engine.resume().await.unwrap();
        let board = Arc::new(Board(fake.clone(), Arc::default()));
        let out = Relay::new(&daemon.opened().parts, engine.clone(), board);
        let stop = CancellationToken::new();
        let running = {
            let (out, stop) = (out.clone(), stop.clone());
            tokio::spawn(async move { out.run(stop).await })
        };
        Self { daemon, engine, out, stop, running }
    }

    pub fn agent(&self, id: &str) -> Arc<AgentContext> {
        self.daemon.agent(id)
    }

    /// Says something to an agent in a chat of the account `main`.
    pub async fn say(&self, agent: &str, chat: &str, text: &str) {
        self.say_by("main", agent, chat, text).await;
    }

    pub async fn say_by(&self, account: &str, agent: &str, chat: &str, text: &str) {
        let handle = self.submit(account, agent, chat, text).await.unwrap();
        let place = place(account, chat);
        self.out.follow(self.agent(agent), place, Some(MessageId("q1".into())), handle);
    }

    /// The same where more may be said for a moment.
    pub async fn say_and_wait(&self, quiet: Duration, agent: &str, chat: &str, text: &str) {
        let around = Around { quiet, ..Around::default() };
        let handle = self.submit_with(around, "main", agent, chat, text).await.unwrap();
        let place = place("main", chat);
        self.out.follow(self.agent(agent), place, Some(MessageId("q1".into())), handle);
    }

    /// The same, which nobody follows. A text that was said before is known.
    pub async fn submit(
        &self,
        account: &str,
        agent: &str,
        chat: &str,
        text: &str,
    ) -> Result<TurnHandle, SubmitError> {
        self.submit_with(Around::default(), account, agent, chat, text).await
    }

    async fn submit_with(
        &self,
        around: Around,
        account: &str,
        agent: &str,
        chat: &str,
        text: &str,
    ) -> Result<TurnHandle, SubmitError> {
        let agent = self.agent(agent);
        let address = address(account, chat);
        let key = IdempotencyKey { who: chat.into(), key: text.into(), request: [0; 32] };
        let inbound = Inbound {
            origin: Some(place(account, chat).origin(Some(&MessageId("q1".into())))),
            acknowledge: Acknowledge::AtOnce,
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::anyone(),
            principal: "telegram:ann".into(),
            history: vec![],
            parts: vec![Part::Text(text.to_owned())],
            idempotency: Some(key),
            agent,
        };
        self.engine.submit_with(inbound, around).await
    }

    pub async fn unsent(&self, agent: &str) -> Vec<Delivery> {
        self.agent(agent).store.deliveries(None, 100).await.unwrap()
    }

    /// Waits until nothing of an agent's is open.
    pub async fn quiet(&self, agent: &str) {
        let store = self.agent(agent).store.clone();
        while store.next_delivery().await.unwrap().is_some() {
            self.daemon.world().clock.sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until nothing is asked of an agent any more, and nothing of its is open.
    pub async fn over(&self, agent: &str) {
        let store = self.agent(agent).store.clone();
        while !store.origins(insula_store::TurnId(0), 1).await.unwrap().is_empty() {
            self.daemon.world().clock.sleep(Duration::from_millis(100)).await;
        }
        self.quiet(agent).await;
    }

    pub async fn records(&self, agent: &str, kind: &str) -> Vec<AuditRecord> {
        let all = self.agent(agent).store.audit_tail(1_000).await.unwrap();
        all.into_iter().filter(|record| *record.kind == *kind).collect()
    }

    pub async fn sleep(&self, seconds: u64) {
        self.daemon.world().clock.sleep(Duration::from_secs(seconds)).await;
    }

    pub fn elapsed(&self) -> Duration {
        self.daemon.world().clock.elapsed()
    }

    /// Ends in order.
    pub async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap();
        self.daemon.close().await.unwrap();
    }
}

pub fn address(account: &str, chat: &str) -> Address {
    Address {
        platform: Platform::new(TELEGRAM).unwrap(),
        account: AccountId::new(account).unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type: ChatType::Group,
        topic: Some(TopicId::new("7").unwrap()),
        parent: None,
        community: None,
        user: Some(UserId::new("ann").unwrap()),
        roles: vec![],
    }
}

pub fn place(account: &str, chat: &str) -> ChatRef {
    ChatRef::of(&address(account, chat))
}

/// What an agent says to `say …`.
pub fn reply(text: &str) -> String {
    format!("re: {text}")
}

/// The same where it may be there already.
pub fn repetition(text: &str) -> String {
    format!(
        "(This may be a repetition: the connection broke off while it was being sent.)\n\n{text}"
    )
}

/// What an agent says to `long …`: more than one message holds.
pub fn long_reply(text: &str) -> String {
    let lines: String = (0..30).map(|n| format!("{text} goes on with line {n:02}\n")).collect();
    format!("```text\n{lines}```\nend of {text}")
}

/// Says pieces, waiting for a tick before each but the first.
fn says_slowly(pieces: &[&str], tick: &Arc<Notify>) -> Vec<Step> {
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let deltas: Vec<String> = pieces
        .iter()
        .map(|text| {
            json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }).to_string()
        })
        .collect();
    let events = deltas.iter().map(String::as_str).chain([stop, "[DONE]"]);
    let mut steps = event_stream(events);
    // The first step is the head of the answer, the second its first piece.
    for at in (2..=pieces.len()).rev() {
        steps.insert(at, Step::Wait(tick.clone()));
    }
    steps
}

/// The same, as people talk who think while they do.
fn tells(whole: &str, tick: &Arc<Notify>) -> Vec<Step> {
    let third = whole.len() / 3;
    let pieces = [&whole[..third], &whole[third..2 * third], &whole[2 * third..]];
    says_slowly(&[pieces[0], "", pieces[1], "", pieces[2], "", ""], tick)
}

/// What the model says, by the first word it is told, in a life of the daemon's.
fn answer(seen: &Seen, tick: &Arc<Notify>, life: usize) -> Vec<Step> {
    let (role, text) = shown(seen).pop().unwrap_or_default();
    if role == "tool" {
        return says(&reply(&text));
    }
    let (what, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match what {
        "long" => says(&long_reply(rest)),
        "slowly" => tells(&reply(rest), tick),
        "anew" => tells(&format!("{} told by life {life}", reply(rest)), tick),
        "dies" | "hushes" if life == 1 => tells(&reply(rest), tick),
        "dies" => vec![Step::Close],
        "hushes" => says("[SILENT]"),
        "silent" => says("[SILENT]"),
        "hang" => vec![Step::Hang],
        "fail" => vec![Step::Close],
        "ask" => calls(
            "c1",
            "clarify",
            &json!({ "question": "Which?", "choices": ["red", "blue"] }).to_string(),
        ),
        "run" => calls("c1", "terminal", &json!({ "command": rest }).to_string()),
        "paint" => calls("c1", "image_generate", &json!({ "prompt": rest }).to_string()),
        _ => says(&reply(rest)),
    }
}
