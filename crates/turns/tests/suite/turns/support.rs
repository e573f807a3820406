//! A daemon with two agents, and ways to talk to them.

use insula_capabilities::Capabilities;
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, Label, Platform, SessionKey, UserId,
};
use insula_models::Transport;
use insula_registry::daemon::Purpose;
use insula_registry::{Daemon, Home};
use insula_store::{Message, Part, Role, SessionRef, Window};
use insula_testkit::upstream::{Seen, Step, Upstream, event_stream};
use insula_testkit::world;
use insula_turns::{Acknowledge, Engine, Inbound, TurnEnd, TurnEvent, TurnHandle};
use std::collections::BTreeMap;
use std::sync::Arc;

pub struct Fixture {
    pub files: insula_testkit::Home,
    pub daemon: Arc<Daemon>,
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
    let url = upstream.url("/v1");
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: \"{url}\"}}\n{AGENTS}"
    );
    build(world, config, Some(upstream)).await
}

pub async fn build(
    world: insula_world::World,
    config: String,
    upstream: Option<Upstream>,
) -> Fixture {
    let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
    let home = Home::new(files.path());
    home.prepare().unwrap();
    crate::people::introduce(&home, &world).await;
    let lock = home.try_lock().unwrap().expect("nobody else is here");
    let transport = Transport::new(&world, &[]).unwrap();
    let caps =
        Capabilities::open(home, lock, world, BTreeMap::new(), Purpose::Serve).await.unwrap();
    let daemon = caps.daemon.clone();
    let engine = Engine::new(caps.clone(), transport);
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
    let url = upstream.url("/v1");
    let config = format!(
        "model: fake/model\nproviders:\n  fake: {{kind: openai, base_url: \"{url}\"}}\n{agents}"
    );
    let files = match files {
        Some(files) => {
            files.write("config.yaml", &config).unwrap();
            files
        }
        None => insula_testkit::Home::with([("config.yaml", &*config)]).unwrap(),
    };
    let home = Home::new(files.path());
    home.prepare().unwrap();
    crate::people::introduce(&home, &world).await;
    let lock = home.try_lock().unwrap().expect("nobody else is here");
    let transport = Transport::new(&world, &[]).unwrap();
    let caps =
        Capabilities::open(home, lock, world, BTreeMap::new(), Purpose::Serve).await.unwrap();
    let daemon = caps.daemon.clone();
    let engine = Engine::with_tools(caps.clone(), transport, tools);
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

/// A streamed answer that says `text`.
pub fn says(text: &str) -> Vec<Step> {
    let delta = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    event_stream([&*delta.to_string(), stop, "[DONE]"])
}

/// A streamed answer that calls a tool.
pub fn calls(id: &str, tool: &str, arguments: &str) -> Vec<Step> {
    let function = serde_json::json!({ "name": tool, "arguments": arguments });
    let call =
        serde_json::json!({ "index": 0, "id": id, "type": "function", "function": function });
    let delta =
        serde_json::json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [call] } }] });
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    event_stream([&*delta.to_string(), stop, "[DONE]"])
}

/// A streamed answer that puts this many items on a list, one call each.
pub fn calls_at_once(number: usize, count: usize) -> Vec<Step> {
    let call = |index: usize| {
        let item = format!("{number}-{index}");
        let todos =
            serde_json::json!({ "todos": [{ "id": "a", "content": format!("item {item}") }] });
        let function = serde_json::json!({ "name": "todo", "arguments": todos.to_string() });
        serde_json::json!({ "index": index, "id": item, "type": "function", "function": function })
    };
    let calls: Vec<_> = (0..count).map(call).collect();
    let delta =
        serde_json::json!({ "choices": [{ "index": 0, "delta": { "tool_calls": calls } }] });
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    event_stream([&*delta.to_string(), stop, "[DONE]"])
}

/// What a request to the model says: role and words of each message after the system's.
pub fn shown(seen: &Seen) -> Vec<(String, String)> {
    let body = seen.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.iter().filter(|message| message["role"] != "system").map(|message| {
        let words = match &message["content"] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(parts) => {
                parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("|")
            }
            _ => String::new(),
        };
        (message["role"].as_str().unwrap_or_default().to_owned(), words)
    });
    said.collect()
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
        let id = AgentId::new(agent).unwrap();
        let agent = self.daemon.snapshot().agents[&id].state.context().unwrap().clone();
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
        self.upstream.as_ref().expect("a scripted house")
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
        let store = self.daemon.store.agent(&key.agent);
        let session = store.session(SessionRef::Key(key.to_string().into())).await.unwrap();
        let window = Window { messages: 1_000, bytes: 8 << 20 };
        store.messages_tail(session.unwrap().id, window).await.unwrap()
    }

    pub async fn roles(&self, key: &SessionKey) -> Vec<Role> {
        self.messages(key).await.iter().map(|message| message.role).collect()
    }
}
