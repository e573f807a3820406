//! What a turn has of an MCP server beside words: pictures, resources, prompts that people choose,
//! and questions that the server puts to them.

use crate::turns::support::{Fixture, build, calls, reply, says, shown};
use insula_domain::{Actor, AgentId};
use insula_store::{Message, Part, Role};
use insula_testkit::Handles;
use insula_testkit::model::configured;
use insula_testkit::upstream::{Seen, Step, Upstream, answer, chunk, end, head};
use insula_testkit::world;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const PLACE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8891);
const SERVER: &str =
    "network: ['127.0.0.1:8891'], mcp_servers: {x: {url: 'http://127.0.0.1:8891/mcp'}}";
/// The beginning of a PNG, in base64.
const PNG: &str = "iVBORw0KGgo=";

fn result(asked: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string()
}

/// A server with all that one can have.
fn server(seen: &Seen, go_on: &Arc<Notify>) -> Vec<Step> {
    if !seen.line.starts_with("POST") {
        return vec![answer(405, &[], "")];
    }
    let asked = seen.json();
    let params = &asked["params"];
    if asked["id"] == "q" {
        go_on.notify_one();
        return vec![answer(202, &[], "")];
    }
    let said = match (asked["method"].as_str().unwrap_or_default(), params["name"].as_str()) {
        ("initialize", _) => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "all", "version": "1"},
        }),
        ("tools/list", _) => {
            let tool = |name: &str| json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}});
            json!({"tools": [tool("draw"), tool("book")]})
        }
        ("prompts/list", _) => {
            json!({"prompts": [{"name": "review", "description": "Looks at a file.",
            "arguments": [{"name": "path", "required": true}]}]})
        }
        ("prompts/get", _) => json!({"messages": [{"role": "user", "content": {"type": "text",
            "text": format!("Review {} well.", params["arguments"]["path"].as_str().unwrap())}}]}),
        ("resources/list", _) => json!({"resources": [{"uri": "note://1", "name": "one"}]}),
        ("resources/templates/list", _) => json!({"resourceTemplates": []}),
        ("resources/read", _) => json!({"contents": [{"uri": params["uri"], "text": "a note"}]}),
        ("tools/call", Some("draw")) => json!({"content": [
            {"type": "text", "text": "drawn"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
        ]}),
        ("tools/call", Some("book")) => {
            let schema = json!({"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]});
            let ask = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": {"message": "How many guests?", "requestedSchema": schema}});
            let booked = result(&asked, &json!({"content": [{"type": "text", "text": "booked"}]}));
            return vec![
                head("text/event-stream"),
                chunk(format!("data: {ask}\n\n")),
                Step::Wait(go_on.clone()),
                chunk(format!("data: {booked}\n\n")),
                end(),
            ];
        }
        _ => return vec![answer(202, &[], "")],
    };
    vec![answer(200, &[("content-type", "application/json")], &result(&asked, &said))]
}

struct Stage {
    fixture: Fixture,
    server: Upstream,
    handles: Handles,
}

impl Stage {
    /// Agents, and a model that calls `tool` when it is told to and says what it was last told
    /// otherwise.
    async fn new(model: &str, agents: &str) -> Self {
        let (world, handles) = world(7);
        let script = |seen: &Seen, _: usize| {
            let said = shown(seen);
            let body = seen.json();
            if body["model"] == "llava" && body.to_string().contains("image_url") {
                return vec![answer(400, &[], r#"{"error":{"message":"no image input here"}}"#)];
            }
            let (role, words) = said.last().cloned().unwrap_or_default();
            let call = words.split_once("call ").filter(|_| role == "user");
            match call.and_then(|(_, call)| call.lines().next()) {
                Some(call) => {
                    let (tool, arguments) = call.split_once(' ').unwrap_or((call, "{}"));
                    calls(&format!("c{}", said.len()), tool, arguments)
                }
                None => says("so be it"),
            }
        };
        let upstream = Upstream::start(&world, script).await.unwrap();
        let config = configured(&upstream, model, agents);
        let fixture = build(world.clone(), config, Some(upstream)).await;
        let go_on = Arc::new(Notify::new());
        let script = move |seen: &Seen, _: usize| server(seen, &go_on);
        let server = Upstream::listen(&world, SocketAddr::from(PLACE), script).await.unwrap();
        Self { fixture, server, handles }
    }

    /// The same, where an operator has looked at how the server describes its tools.
    async fn looked_at(model: &str, agents: &str) -> Self {
        let stage = Self::new(model, agents).await;
        stage.fixture.say("a", "elsewhere", "hello").await;
        let (id, caps) = (AgentId::new("a").unwrap(), stage.fixture.engine.capabilities());
        caps.mcp_approve(&id, "x", None, &Actor::CommandLine).await.unwrap();
        stage
    }

    async fn say_as(&self, who: &str, text: &str) -> String {
        let (mut inbound, _) = self.fixture.inbound("a", "one", text);
        inbound.principal = Actor::from(who);
        reply(self.fixture.engine.submit(inbound).await.unwrap()).await
    }

    async fn say(&self, text: &str) -> String {
        self.say_as("api:ann", text).await
    }

    async fn messages(&self) -> Vec<Message> {
        // All of them are in one conversation.
        let (_, key) = self.fixture.inbound("a", "one", "");
        self.fixture.messages(&key).await
    }

    /// What the model was last asked.
    fn request(&self) -> Value {
        self.fixture.upstream().seen().last().unwrap().json()
    }

    fn tools(&self) -> Vec<String> {
        let tools = self.request()["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|it| it["function"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What the server was told in answer to its question.
    fn answered(&self) -> Vec<Value> {
        let all = self.server.seen().into_iter().map(|seen| seen.json());
        all.filter(|it| it["id"] == "q").map(|it| it["result"].clone()).collect()
    }
}

fn agents(tools: &str) -> String {
    format!("agents:\n  a: {{tools: {tools}, {SERVER}}}\n  b: {{tools: minimal}}\n")
}

const MINIMAL: &str = "{profile: minimal, also_allow: ['mcp__x__*']}";

#[tokio::test]
async fn a_picture_of_a_server_is_shown_to_a_model_that_sees_and_told_to_one_that_does_not() {
    for (model, sees) in [("gpt-4o", true), ("davinci-002", false)] {
        let stage = Stage::looked_at(model, &agents(MINIMAL)).await;
        assert_eq!(stage.say("call mcp__x__draw").await, "so be it");
        let results: Vec<Message> =
            stage.messages().await.into_iter().filter(|it| it.role == Role::Tool).collect();
        let [Part::ToolResult { text, untrusted: true, .. }, Part::Image { source, media_type }] =
            &results[0].parts[..]
        else {
            panic!("{results:?}")
        };
        assert!(text.contains("drawn\n[picture 1, image/png, 1 KB]"), "{text}");
        assert_eq!(
            (&**source, &**media_type),
            (&*format!("data:image/png;base64,{PNG}"), "image/png")
        );
        let asked = stage.request().to_string();
        assert_eq!(asked.contains(&format!("data:image/png;base64,{PNG}")), sees, "{asked}");
        assert_eq!(
            asked.contains("[a picture, image/png, 1 KB; this model can't be shown it]"),
            !sees
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_picture_of_a_server_that_a_model_does_not_take_is_told_from_then_on() {
    let stage = Stage::looked_at("llava", &agents(MINIMAL)).await;
    assert_eq!(stage.say("call mcp__x__draw").await, "so be it");
    assert_eq!(stage.say("go on").await, "so be it");
    let shown = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains("image_url");
    let seen = stage.fixture.upstream().seen();
    assert_eq!(seen.iter().filter(|seen| shown(seen)).count(), 1, "shown once, and then told");
    assert!(stage.request().to_string().contains("[a picture, image/png, 1 KB;"));
}

#[tokio::test]
async fn a_child_asks_nobody_and_has_no_more_of_a_server_than_its_parent() {
    let agents = format!(
        "agents:\n  a: {{tools: {{allow: [clarify, delegate_task, 'mcp__x__*'], deny: [mcp__x__resources]}}, {}}}\n",
        SERVER.replace("mcp'}", "mcp', sends: false}")
    );
    let stage = Stage::looked_at("model", &agents).await;
    let delegate = |call: &str| format!(r#"call delegate_task {{"goal": "call {call}"}}"#);
    let (inbound, _) = stage.fixture.inbound("a", "first", &delegate("mcp__x__book"));
    assert_eq!(reply(stage.fixture.engine.submit(inbound).await.unwrap()).await, "so be it");
    assert_eq!(stage.answered(), [json!({"action": "decline"})]);
    let (inbound, _) = stage.fixture.inbound("a", "second", &delegate("mcp__x__resources"));
    assert_eq!(reply(stage.fixture.engine.submit(inbound).await.unwrap()).await, "so be it");
    let prompt = r#"call delegate_task {"goal": "/x:review path=a"}"#;
    let (inbound, _) = stage.fixture.inbound("a", "third", prompt);
    assert_eq!(reply(stage.fixture.engine.submit(inbound).await.unwrap()).await, "so be it");
    // It is what the child was asked, in words.
    let asked = stage.fixture.upstream().seen();
    let was_asked = |seen: &Seen| shown(seen).last().is_some_and(|it| it.1 == "/x:review path=a");
    assert!(asked.iter().any(was_asked), "{:?}", asked.iter().map(shown).collect::<Vec<_>>());
    for never in ["resources/list", "prompts/get"] {
        assert!(stage.server.seen().iter().all(|it| it.json()["method"] != never), "{never}");
    }
}

#[tokio::test]
async fn resources_are_a_tool_of_the_server_by_the_rules_of_its_tools() {
    let stage = Stage::new("model", &agents(MINIMAL)).await;
    stage.say("hello").await;
    assert!(stage.tools().contains(&"mcp__x__resources".to_owned()), "{:?}", stage.tools());
    stage.say("call mcp__x__resources").await;
    let shown = stage.request().to_string();
    assert!(
        shown.contains("note://1 one") && shown.contains("source=\\\"the MCP server x\\\""),
        "{shown}"
    );
    // The turn has read words of others by now, and reading is no act.
    stage.say(r#"call mcp__x__resources {"uri": "note://1"}"#).await;
    assert!(stage.request().to_string().contains("[note://1]\\na note"));
    let messages = stage.messages().await;
    let last = messages.iter().rfind(|it| it.role == Role::Tool).unwrap();
    assert!(last.label.contains("mcp:x%2Fresources"), "{}", last.label);
    // Another agent has none of it.
    let said = stage.fixture.say("b", "one", "call mcp__x__resources").await;
    assert_eq!(said, "so be it");
    assert!(
        stage.request().to_string().contains("you do not have the tool"),
        "{}",
        stage.request()
    );
    for tools in [
        "{profile: minimal, also_allow: ['mcp__x__draw']}",
        "{profile: minimal, also_allow: ['mcp__x__*'], deny: [mcp__x__resources]}",
    ] {
        let stage = Stage::new("model", &agents(tools)).await;
        stage.say("call mcp__x__resources").await;
        assert!(!stage.tools().contains(&"mcp__x__resources".to_owned()), "{tools}");
        assert!(stage.server.seen().iter().all(|it| it.json()["method"] != "resources/list"));
    }
}

#[tokio::test]
async fn a_prompt_is_chosen_by_a_command_and_its_words_are_the_servers() {
    let stage = Stage::new("model", &agents(MINIMAL)).await;
    stage.say("hello").await;
    let asked = stage.fixture.upstream().seen().len();
    for (typed, told) in [
        ("/x:revue", "/x:revue: there is no such prompt; there are review"),
        ("/x:review", "/x:review: `path` is missing: type `path=…` behind it"),
        ("/x:review file=a", "/x:review: there is no argument `file`; it takes `path`"),
    ] {
        assert_eq!(stage.say(typed).await, told);
    }
    assert_eq!(stage.fixture.upstream().seen().len(), asked, "the model is not asked");
    assert_eq!(stage.say("/x:review path=src/lib.rs").await, "so be it");
    let shown = shown(stage.fixture.upstream().seen().last().unwrap());
    let words = &shown.last().unwrap().1;
    assert!(words.contains("The user chose the prompt `review` of the MCP server `x`. Its text is what they ask:\n\nReview src/lib.rs well."), "{shown:?}");
    let messages = stage.messages().await;
    let prompt = messages.iter().find(|it| it.principal == Actor::server("x")).unwrap();
    assert!(prompt.label.contains("mcp:x%2Freview"), "{}", prompt.label);
    // For another agent it is words.
    assert_eq!(stage.fixture.say("b", "one", "/x:review path=a").await, "so be it");
    let gets = |it: &Seen| it.json()["method"] == "prompts/get";
    assert_eq!(stage.server.seen().iter().filter(|it| gets(it)).count(), 1);
}

#[tokio::test]
async fn who_may_not_have_a_servers_prompts_gets_none() {
    let tools = "{profile: minimal, also_allow: ['mcp__x__draw']}";
    let stage = Stage::new("model", &agents(tools)).await;
    stage.say("hello").await;
    let told = stage.say("/x:review path=a").await;
    assert_eq!(told, "/x:review: the prompts of this server are not among what I may use");
    assert!(stage.server.seen().iter().all(|it| it.json()["method"] != "prompts/get"));
}

#[tokio::test]
async fn a_question_of_a_server_ends_the_turn_and_the_answer_lets_its_call_go_on() {
    let stage = Stage::looked_at("model", &agents(MINIMAL)).await;
    let question = stage.say("call mcp__x__book").await;
    assert_eq!(
        question,
        "The MCP server `x` asks, to go on with `book`:\nHow many guests?\n- `guests` (whole number)\nAnswer with that alone, or say `decline` or `cancel`."
    );
    // Nobody else answers for them.
    assert_eq!(stage.say_as("api:bob", "9").await, "so be it");
    assert!(stage.answered().is_empty());
    let again = stage.say("a few").await;
    assert!(
        again.starts_with(
            "That is no answer to it: `guests` has to be a whole number.\nThe MCP server"
        ),
        "{again}"
    );
    assert!(stage.answered().is_empty());
    assert_eq!(stage.say("4").await, "so be it");
    assert_eq!(stage.answered(), [json!({"action": "accept", "content": {"guests": 4}})]);
    let shown = stage.request().to_string();
    assert!(shown.contains("booked"), "{shown}");
    let calls = stage.server.seen().iter().filter(|it| it.json()["method"] == "tools/call").count();
    assert_eq!(calls, 1, "it was called once");
    // Every call has its result, in the journal and for the model.
    let messages = stage.messages().await;
    let ids = |wanted: fn(&Part) -> Option<&str>| -> Vec<String> {
        messages.iter().flat_map(|it| &it.parts).filter_map(wanted).map(str::to_owned).collect()
    };
    let made = ids(|it| match it {
        Part::ToolCall { id, .. } => Some(id),
        _ => None,
    });
    let brought = ids(|it| match it {
        Part::ToolResult { call, .. } => Some(call),
        _ => None,
    });
    assert_eq!((made.len(), &made), (3, &brought));
    let asked =
        messages.iter().find(|it| matches!(&it.parts[..], [Part::Text(text)] if *text == question));
    assert!(asked.unwrap().label.contains("mcp:x%2Fbook"), "whose words the question is");
    // What comes after is a message like any other.
    assert_eq!(stage.say("5").await, "so be it");
    assert_eq!(stage.answered().len(), 1);
}

#[tokio::test]
async fn who_gives_no_answer_three_times_is_told_that_the_call_was_given_up() {
    let stage = Stage::looked_at("model", &agents(MINIMAL)).await;
    stage.say("call mcp__x__book").await;
    for words in ["a few", "some"] {
        assert!(stage.say(words).await.starts_with("That is no answer to it: "), "{words}");
    }
    assert_eq!(
        stage.say("many").await,
        "That is no answer to it either: `guests` has to be a whole number.\nThat was the third, so the MCP server `x` was told that nobody answers, and `book` was given up. Ask for it again if you still want it."
    );
    assert_eq!(stage.answered(), [json!({"action": "cancel"})]);
    // What comes after is a message like any other.
    assert_eq!(stage.say("5").await, "so be it");
    assert_eq!(stage.answered().len(), 1);
}

#[tokio::test]
async fn a_person_may_decline_and_who_says_nothing_has_not_answered() {
    let stage = Stage::looked_at("model", &agents(MINIMAL)).await;
    stage.say("call mcp__x__book").await;
    assert_eq!(stage.say("decline").await, "so be it");
    assert_eq!(stage.answered(), [json!({"action": "decline"})]);
    let stage = Stage::looked_at("model", &agents(MINIMAL)).await;
    stage.say("call mcp__x__book").await;
    while stage.answered().is_empty() {
        stage.handles.clock.advance(Duration::from_secs(60)).await;
    }
    assert_eq!(stage.answered(), [json!({"action": "cancel"})]);
    assert_eq!(stage.say("4").await, "so be it");
    assert_eq!(stage.answered().len(), 1);
}

#[tokio::test]
async fn a_conversation_that_is_begun_anew_answers_nothing() {
    let stage = Stage::looked_at("model", &agents(MINIMAL)).await;
    stage.say("call mcp__x__book").await;
    let (inbound, key) = stage.fixture.inbound("a", "one", "");
    stage.fixture.engine.begin_anew(&inbound.agent, &key).await.unwrap();
    while stage.answered().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.answered(), [json!({"action": "cancel"})]);
}

#[tokio::test]
async fn an_agent_that_may_not_ask_has_servers_that_may_not() {
    let stage = Stage::looked_at("model", &agents("[todo, 'mcp__x__*']")).await;
    assert_eq!(stage.say("call mcp__x__book").await, "so be it");
    let refused = stage.server.seen().into_iter().map(|it| it.json()).find(|it| it["id"] == "q");
    assert_eq!(refused.unwrap()["error"]["message"], "a question to the user is not offered here");
    let greeting = stage.server.seen().into_iter().map(|it| it.json());
    let greeting = greeting.into_iter().find(|it| it["method"] == "initialize").unwrap();
    assert_eq!(greeting["params"]["capabilities"], json!({}));
}
