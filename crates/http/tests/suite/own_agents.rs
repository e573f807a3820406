//! What is told of all agents of whoever asks: questions, conversations and what they are made of.

use axum::Router;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use insula_api::{Api, LocalOwner};
use insula_http::{AdminToken, Server};
use insula_testdaemon::TestDaemon;
use insula_testkit::model::{calls, configured, says, shown};
use insula_testkit::upstream::Upstream;
use insula_testkit::world;
use serde_json::{Value, json};

const AGENTS: &str = "agents:\n  a: {memory: true, tools: [todo, memory]}\n  b: {memory: true, tools: [todo, memory]}\n";
const EVERYWHERE: &str =
    r#"{"action":"add","target":"memory","content":"the word is okapi","scope":"global"}"#;

struct Scene {
    daemon: TestDaemon,
    router: Router,
    admin: AdminToken,
    _files: insula_testkit::Home,
}

impl Scene {
    async fn new() -> Self {
        let (world, _handles) = world(7);
        let model = |seen: &insula_testkit::upstream::Seen, _: usize| {
            let told = shown(seen);
            match told.last() {
                Some((role, _)) if role == "tool" => says("done"),
                Some((_, text)) if text.contains("remember") => {
                    calls("call_1", "memory", EVERYWHERE)
                }
                _ => says("heard"),
            }
        };
        let upstream = Upstream::start(&world, model).await.unwrap();
        let config = configured(&upstream, "model", AGENTS);
        let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
        let daemon = TestDaemon::open(&files, &world).await;
        let admin = AdminToken::generate(daemon.world());
        let owner = LocalOwner::new(Api::new(daemon.opened(), Some(daemon.engine())), None);
        let router = insula_http::router(Server::new(daemon.opened(), owner, admin.clone()));
        Self { daemon, router, admin, _files: files }
    }

    async fn answer(&self, call: &str, token: &str, body: &Value) -> Response {
        let (method, path) = call.split_once(' ').unwrap();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        tower::ServiceExt::oneshot(self.router.clone(), request).await.unwrap()
    }

    async fn ask(&self, call: &str, token: &str) -> (StatusCode, Value) {
        self.send(call, token, json!({})).await
    }

    async fn send(&self, call: &str, token: &str, body: Value) -> (StatusCode, Value) {
        let answer = self.answer(call, token, &body).await;
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str, token: &str) -> Value {
        let (status, said) = self.ask(&format!("GET {path}"), token).await;
        assert_eq!(status, 200, "{path}: {said}");
        said
    }

    async fn as_admin(&self, path: &str) -> Value {
        self.get(path, self.admin.reveal()).await
    }

    async fn token(&self, wish: Value) -> String {
        let (_, made) = self.send("POST /api/tokens", self.admin.reveal(), wish).await;
        made["token"].as_str().unwrap().to_owned()
    }

    async fn token_of(&self, agent: &str, verb: &str) -> String {
        self.token(json!({ "agents": [agent], "verbs": [verb] })).await
    }

    /// What is heard of a turn that begins with this.
    async fn begin(&self, agent: &str, token: &str, text: &str) -> BodyDataStream {
        let body = json!({ "session": "s", "text": text });
        let call = format!("POST /api/agents/{agent}/messages");
        self.answer(&call, token, &body).await.into_body().into_data_stream()
    }

    async fn say(&self, agent: &str, token: &str, text: &str) {
        let mut heard = self.begin(agent, token, text).await;
        until(&mut heard, "turn.ended").await;
    }
}

/// Hears until this is said.
async fn until(heard: &mut BodyDataStream, what: &str) {
    let mut all = String::new();
    while !all.contains(what) {
        let piece = heard.next().await.unwrap_or_else(|| panic!("no {what}: {all}")).unwrap();
        all += &String::from_utf8_lossy(&piece);
    }
}

#[tokio::test]
async fn conversations_are_told_of_ones_own_agents_with_all_their_parts() {
    let scene = Scene::new().await;
    let admin = scene.admin.reveal().to_owned();
    scene.say("a", &admin, "hello a").await;
    scene.say("b", &admin, "hello b").await;
    let all = scene.as_admin("/api/sessions").await;
    let begins = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|it| format!("{} {}", it["agent"], it["begins"])).collect()
    };
    assert_eq!(begins(&all), [r#""b" "hello b""#, r#""a" "hello a""#]);
    let reads = scene.token_of("a", "read").await;
    let own = scene.get("/api/sessions", &reads).await;
    assert_eq!(begins(&own), [r#""a" "hello a""#]);
    assert_eq!(begins(&scene.get("/api/sessions?agent=a", &reads).await), begins(&own));
    let (status, said) = scene.ask("GET /api/sessions?agent=b", &reads).await;
    assert_eq!((status.as_u16(), &said["error"]["code"]), (404, &json!("no_such_agent")));
    for wrong in ["before=1", "agent=a&until=2h", "until=soon"] {
        let call = format!("GET /api/sessions?{wrong}");
        assert_eq!(scene.ask(&call, &reads).await.0, 400, "{wrong}");
    }
    assert_eq!(scene.get("/api/sessions?until=2000-01-01", &reads).await, json!([]));
    let id = own[0]["id"].as_str().unwrap();
    let older = scene.get(&format!("/api/sessions?agent=a&before={id}"), &reads).await;
    assert_eq!(older, json!([]));
    let parts = scene.get(&format!("/api/agents/a/sessions/{id}/parts"), &reads).await;
    let texts: Vec<&Value> = parts["messages"].as_array().unwrap().iter().collect();
    assert_eq!(texts[0]["parts"][0]["text"], "hello a");
    assert_eq!(texts.last().unwrap()["parts"][0], json!({ "kind": "text", "text": "heard" }));
    assert_eq!(parts["turns"][0]["status"], "replied");
    assert_eq!(parts["more"], false);
    let last = texts.last().unwrap()["seq"].clone();
    let before = format!("/api/agents/a/sessions/{id}/parts?before={last}&limit=1");
    assert_eq!(scene.get(&before, &reads).await["messages"].as_array().unwrap().len(), 1);
    // What the other agent's is called here is nothing to this one.
    assert_eq!(scene.ask("GET /api/agents/b/sessions/1/parts", &reads).await.0, 404);
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_question_says_why_it_is_asked_to_those_who_may_answer_it() {
    let scene = Scene::new().await;
    let talks = scene.token_of("a", "chat").await;
    let mut heard = scene.begin("a", &talks, "please remember it").await;
    until(&mut heard, "approval.asked").await;
    let answers = scene.token_of("a", "approve").await;
    let waiting = scene.get("/api/inbox", &answers).await;
    let [one] = &waiting.as_array().unwrap()[..] else { panic!("{waiting}") };
    assert_eq!((&one["agent"], &one["tool"]), (&json!("a"), &json!("memory")));
    assert!(one["what"].as_str().unwrap().contains("the word is okapi"), "{one}");
    assert!(one["asked_by"].as_str().unwrap().starts_with("api:"), "{one}");
    assert!(one["conversation"].as_str().unwrap().starts_with("agent:a:api:"), "{one}");
    assert_eq!(one["integrity"]["own"], true);
    assert!(["once", "session", "always"].contains(&one["widest"].as_str().unwrap()), "{one}");
    assert_eq!(scene.as_admin("/api/inbox").await[0]["agent"], "a");
    // Who may answer for another agent, or only talk or read, is told of none.
    for (agent, verb) in [("b", "approve"), ("a", "read"), ("a", "chat")] {
        let token = scene.token_of(agent, verb).await;
        assert_eq!(scene.get("/api/inbox", &token).await, json!([]), "{agent} {verb}");
    }
    let call = format!("POST /api/agents/a/approvals/{}", one["id"].as_str().unwrap());
    let yes = json!({ "decision": "approve", "scope": "always" });
    assert_eq!(scene.send(&call, &answers, yes).await.0, 200);
    until(&mut heard, "turn.ended").await;
    assert_eq!(scene.as_admin("/api/inbox").await, json!([]));
    let reads = scene.token_of("a", "read").await;
    let answered = scene.get("/api/inbox/answered", &reads).await;
    assert_eq!(
        (&answered[0]["outcome"], &answered[0]["tool"]),
        (&json!("approved"), &json!("memory"))
    );
    assert!(answered[0]["turn"].is_string(), "a number counts: {answered}");
    let others = scene.token_of("b", "admin").await;
    for path in ["/api/inbox/answered", "/api/inbox/grants", "/api/sessions"] {
        assert_eq!(scene.get(path, &others).await, json!([]), "{path}");
    }
    // What a scope is shown is what was written there.
    let shown = scene.get("/api/agents/a/memory/recall?scope=global&q=okapi", &reads).await;
    assert_eq!(shown["found"][0]["text"], "the word is okapi", "{shown}");
    assert!(shown["shown"].as_str().unwrap().contains("the word is okapi"), "{shown}");
    let (status, _) =
        scene.ask("GET /api/agents/a/memory/recall?scope=chat:telegram:main:99", &reads).await;
    assert_eq!(status, 404);
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_token_of_one_scope_finds_nothing_here() {
    let scene = Scene::new().await;
    let wish = json!({ "agents": ["a"], "verbs": ["read"], "scope": "chat:telegram:main:1" });
    let scoped = scene.token(wish).await;
    for path in ["/api/inbox", "/api/inbox/answered", "/api/inbox/grants", "/api/sessions"] {
        assert_eq!(scene.ask(&format!("GET {path}"), &scoped).await.0, 404, "{path}");
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn records_are_read_backwards_and_up_to_a_time() {
    let scene = Scene::new().await;
    for _ in 0..5 {
        scene.token_of("a", "read").await;
    }
    let all = scene.as_admin("/api/audit?after=0").await;
    let all = all.as_array().unwrap();
    assert!(all.len() >= 5, "{all:?}");
    let last = all.last().unwrap()["seq"].as_u64().unwrap();
    let newest = scene.as_admin("/api/audit?limit=2").await;
    assert_eq!(newest.as_array().unwrap()[..], all[all.len() - 2..]);
    let before = scene.as_admin(&format!("/api/audit?limit=2&before={}", last - 1)).await;
    assert_eq!(before.as_array().unwrap()[..], all[all.len() - 4..all.len() - 2]);
    let none = scene.as_admin("/api/audit?until=2000-01-01").await;
    assert_eq!(none, json!([]));
    let admin = scene.admin.reveal().to_owned();
    for wrong in ["after=1&before=3", "until=soon"] {
        assert_eq!(scene.ask(&format!("GET /api/audit?{wrong}"), &admin).await.0, 400, "{wrong}");
    }
    scene.daemon.close().await.unwrap();
}
