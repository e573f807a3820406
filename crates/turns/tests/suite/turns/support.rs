//! A daemon with two agents, and ways to talk to them.

use insula_domain::{AccountId, Address, ChatId, ChatType, Label, Platform, SessionKey, UserId};
use insula_store::{Message, Part, Role};
use insula_testdaemon::{TestDaemon, introduce};
pub use insula_testkit::model::{calls, says, shown, shown_apart};
use insula_testkit::model::{calls_all, configured};
use insula_testkit::upstream::{Seen, Step, Upstream};
use insula_testkit::world;
use insula_turns::{Acknowledge, Engine, Inbound, TurnEnd, TurnEvent, TurnHandle};

pub struct Fixture {
    pub files: insula_testkit::Home,
    pub daemon: TestDaemon,
    pub engine: Engine,
    pub upstream: Option<Upstream>,
    pub handles: Option<insula_testkit::Handles>,
}

const AGENTS: &str =
    "agents:\n  a: {tools: minimal}\n  b: {tools: [todo]}\n  coder: {tools: [read_file]}\n";

/// A daemon whose agents practise.
pub async fn open() -> Fixture {
    let (world, _handles) = world(7);
    build(world, AGENTS.to_owned(), None).await
}

/// A daemon whose agents ask a server that answers by `script`.
pub async fn scripted(
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    let (world, _handles) = world(7);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let config = configured(&upstream, "model", AGENTS);
    build(world, config, Some(upstream)).await
}

pub async fn build(
    world: insula_world::World,
    config: String,
    upstream: Option<Upstream>,
) -> Fixture {
    let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
    introduce(&files, &world).await;
    let daemon = TestDaemon::open(&files, &world).await;
    let engine = daemon.engine();
    Fixture { files, daemon, engine, upstream, handles: None }
}

/// The same with agents of `config`, and tools of a test's own.
pub async fn with_tools(
    files: Option<insula_testkit::Home>,
    agents: &str,
    tools: insula_turns::gate::Tools,
    script: impl Fn(&Seen, usize) -> Vec<Step> + Send + Sync + 'static,
) -> Fixture {
    let (world, handles) = world(7);
    let upstream = Upstream::start(&world, script).await.unwrap();
    let config = configured(&upstream, "model", agents);
    let files = match files {
        Some(files) => {
            files.write("config.yaml", &config).unwrap();
            files
        }
        None => insula_testkit::Home::with([("config.yaml", &*config)]).unwrap(),
    };
    introduce(&files, &world).await;
    let daemon = TestDaemon::open(&files, &world).await;
    let engine = daemon.engine_with(tools);
    Fixture { files, daemon, engine, upstream: Some(upstream), handles: Some(handles) }
}

fn address(chat: &str) -> Address {
    Address {
        platform: Platform::API,
        account: AccountId::new("token").unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type: ChatType::Group,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new("ann").unwrap()),
        roles: vec![],
    }
}

/// A streamed answer that puts this many items on a list, one call each.
pub fn calls_at_once(number: usize, count: usize) -> Vec<Step> {
    calls_all((0..count).map(|index| {
        let item = format!("{number}-{index}");
        let todos =
            serde_json::json!({ "todos": [{ "id": "a", "content": format!("item {item}") }] });
        (item, "todo".to_owned(), todos.to_string())
    }))
}

pub async fn end(mut handle: TurnHandle) -> TurnEnd {
    loop {
        match handle.events.recv().await.expect("a turn ends") {
            TurnEvent::Ended(end) => return end,
            _ => continue,
        }
    }
}

/// The reply of a turn that ends with one.
pub async fn reply(handle: TurnHandle) -> String {
    match end(handle).await {
        TurnEnd::Replied { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

impl Fixture {
    pub fn inbound(&self, agent: &str, chat: &str, text: &str) -> (Inbound, SessionKey) {
        let agent = self.daemon.agent(agent);
        let address = address(chat);
        let session = agent.session_key(&address);
        let inbound = Inbound {
            origin: None,
            acknowledge: Acknowledge::AtOnce,
            session: session.clone(),
            scope: agent.scope(&address),
            label: Label::anyone(),
            principal: "api:ann".into(),
            history: vec![],
            parts: vec![Part::Text(text.to_owned())],
            idempotency: None,
            agent,
        };
        (inbound, session)
    }

    pub fn files(&self) -> &insula_testkit::Home {
        &self.files
    }

    pub fn upstream(&self) -> &Upstream {
        self.upstream.as_ref().expect("a model that is scripted")
    }

    pub async fn submit(&self, chat: &str, text: &str) -> TurnHandle {
        self.engine.submit(self.inbound("a", chat, text).0).await.unwrap()
    }

    /// The same by the operator, who may always talk: nobody else has a token here, and who goes
    /// on after a crash is judged anew.
    pub async fn submit_locally(&self, chat: &str, text: &str) -> TurnHandle {
        let (mut inbound, _) = self.inbound("a", chat, text);
        inbound.principal = "cli:local".into();
        self.engine.submit(inbound).await.unwrap()
    }

    pub async fn say(&self, agent: &str, chat: &str, text: &str) -> String {
        let (inbound, _) = self.inbound(agent, chat, text);
        reply(self.engine.submit(inbound).await.unwrap()).await
    }

    pub async fn end(&self, inbound: Inbound) -> TurnEnd {
        end(self.engine.submit(inbound).await.unwrap()).await
    }

    pub async fn messages(&self, key: &SessionKey) -> Vec<Message> {
        self.daemon.messages(key).await
    }

    pub async fn roles(&self, key: &SessionKey) -> Vec<Role> {
        self.messages(key).await.iter().map(|message| message.role).collect()
    }
}
