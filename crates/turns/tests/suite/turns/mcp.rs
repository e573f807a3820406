//! Turns of an agent whose MCP server is mute or stumbles: how long they wait for it, when it is
//! asked again, and what is said of it. Time is the test's: a turn that waits while no time
//! passes never ends.

use crate::turns::support::{Fixture, reply, says, with_tools};
use insula_capabilities::mcp::ServerReport;
use insula_domain::AgentId;
use insula_testkit::upstream::{Seen, Step, Upstream, answer};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

const PLACE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8890);
const AGENTS: &str = "agents:
  a: {tools: {profile: minimal, also_allow: ['mcp__x__*']}, network: ['127.0.0.1:8890'], mcp_servers: {x: {url: 'http://127.0.0.1:8890/mcp'}}}
";
/// Longer than a turn waits.
const A_WAIT: Duration = Duration::from_secs(16);
/// Longer than connecting may take, and than a server is left alone after a failure or two.
const A_WHILE: Duration = Duration::from_secs(40);

/// A server that is asked for its tools, as long as it speaks.
fn server(seen: &Seen) -> Vec<Step> {
    let tools = json!([
        {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}},
        {"name": ["no", "name"], "inputSchema": {"type": "object"}},
    ]);
    serve(seen, &tools)
}

/// A server over HTTP that offers these tools, and says of every call that it is done.
pub fn serve(seen: &Seen, tools: &Value) -> Vec<Step> {
    if !seen.line.starts_with("POST") {
        return vec![answer(405, &[], "")];
    }
    let asked = seen.json();
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "late", "version": "1"},
        }),
        "tools/list" => json!({"tools": tools}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done by the server"}]}),
        _ => return vec![answer(202, &[], "")],
    };
    let body = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
    vec![answer(200, &[("content-type", "application/json")], &body)]
}

struct Stage {
    fixture: Fixture,
    server: Upstream,
    speaks: Arc<Mutex<Speaks>>,
    may_speak: Arc<Notify>,
}

/// Whether the server says anything.
#[derive(Clone, Copy)]
enum Speaks {
    Never,
    Now,
    /// When it is told that it may.
    AfterIt,
}

impl Stage {
    async fn new() -> Self {
        let fixture = with_tools(None, AGENTS, insula_tools::BUILT_IN, |_, _| says("hello")).await;
        let speaks = Arc::new(Mutex::new(Speaks::Never));
        let may_speak = Arc::new(Notify::new());
        let (how, go) = (speaks.clone(), may_speak.clone());
        let script = move |seen: &Seen, _| {
            let mut how = how.lock().unwrap();
            let first = match *how {
                Speaks::Never => vec![Step::Hang],
                Speaks::Now => vec![],
                Speaks::AfterIt => vec![Step::Wait(go.clone())],
            };
            if matches!(*how, Speaks::AfterIt) {
                *how = Speaks::Now;
            }
            first.into_iter().chain(server(seen)).collect()
        };
        let world = fixture.daemon.world();
        let server = Upstream::listen(world, SocketAddr::from(PLACE), script).await.unwrap();
        Self { fixture, server, speaks, may_speak }
    }

    async fn pass(&self, time: Duration) {
        self.fixture.handles.as_ref().unwrap().clock.advance(time).await;
    }

    /// A turn that ends though no time passes.
    async fn says_at_once(&self) {
        assert_eq!(self.fixture.say("a", "one", "hi").await, "hello");
    }

    /// A turn that ends when time has passed, and not before the server was asked once more.
    async fn says_after_a_wait(&self, asked: usize) {
        let waits = async {
            self.server.requests(asked).await;
            self.pass(A_WAIT).await;
        };
        let (said, ()) = tokio::join!(self.fixture.say("a", "one", "hi"), waits);
        assert_eq!(said, "hello");
    }

    /// Whether the model was shown a tool when it was last asked.
    fn model_has(&self, tool: &str) -> bool {
        let asked = self.fixture.upstream().seen();
        asked.last().unwrap().json()["tools"].to_string().contains(tool)
    }

    fn report(&self) -> ServerReport {
        let id = AgentId::new("a").unwrap();
        self.fixture.engine.capabilities().mcp_servers(&id).unwrap().remove(0)
    }
}

#[tokio::test]
async fn a_mute_server_delays_its_agent_once() {
    let stage = Stage::new().await;
    stage.says_after_a_wait(1).await;
    // The same attempt goes on, and nobody waits for it or makes another.
    stage.says_at_once().await;
    stage.says_at_once().await;
    assert_eq!(stage.server.seen().len(), 1);
    // It failed; the next attempts are made while nobody waits for them.
    for attempt in 2..4 {
        stage.pass(A_WHILE).await;
        stage.says_at_once().await;
        stage.server.requests(attempt).await;
        stage.says_at_once().await;
        assert_eq!(stage.server.seen().len(), attempt);
    }
}

#[tokio::test]
async fn a_server_that_speaks_at_last_is_listed_though_nobody_waits_for_it() {
    let stage = Stage::new().await;
    stage.says_after_a_wait(1).await;
    *stage.speaks.lock().unwrap() = Speaks::Now;
    stage.pass(A_WHILE).await;
    assert!(!stage.report().is_known);
    stage.says_at_once().await;
    while !stage.report().is_known {
        tokio::task::yield_now().await;
    }
    let report = stage.report();
    assert_eq!((report.tools.len(), &*report.tools[0].tool), (1, "echo"));
    let trouble = report.trouble.unwrap();
    assert_eq!(trouble, "one entry of its list of tools has no name and is left out");
    stage.says_at_once().await;
    assert!(stage.model_has("mcp__x__echo"));
}

#[tokio::test]
async fn a_server_that_is_tried_by_hand_may_be_waited_for_once_more() {
    let stage = Stage::new().await;
    stage.says_after_a_wait(1).await;
    stage.pass(A_WHILE).await;
    *stage.speaks.lock().unwrap() = Speaks::AfterIt;
    let id = AgentId::new("a").unwrap();
    let turn = async {
        stage.server.requests(2).await;
        let (inbound, _) = stage.fixture.inbound("a", "one", "hi");
        let handle = stage.fixture.engine.submit(inbound).await.unwrap();
        // A turn that does not wait asks the model by now.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        stage.may_speak.notify_one();
        reply(handle).await
    };
    let (tested, _) = tokio::join!(stage.fixture.engine.capabilities().mcp_test(&id, "x"), turn);
    assert_eq!(tested.unwrap().error, None);
    assert!(stage.model_has("mcp__x__echo"));
}
