//! Signing in with a browser: it is its token and no more, and ends with it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use insula_api::{Api, LocalOwner};
use insula_http::{AdminToken, Listening, Server};
use insula_testdaemon::TestDaemon;
use insula_testkit::model::{configured, says};
use insula_testkit::upstream::Upstream;
use insula_testkit::world;
use serde_json::{Value, json};

const AGENTS: &str = "agents:\n  a: {tools: [todo], links: [{to: b, as: ask}]}\n  b: {tools: [todo], cron: {errand: {schedule: daily at 9am, prompt: x}}}\nboards:\n  work: {agents: {b: work}}\nbindings:\n  - {agent: a, telegram: \"-1\"}\n  - {agent: b, telegram: \"-2\"}\n";

struct Scene {
    daemon: TestDaemon,
    router: Router,
    admin: AdminToken,
    _files: insula_testkit::Home,
}

/// Headers, as a page or a program sends them.
type Shown<'s> = &'s [(&'s str, &'s str)];

impl Scene {
    async fn new() -> Self {
        let (world, _handles) = world(7);
        let upstream = Upstream::start(&world, move |_, _| says("heard")).await.unwrap();
        let config = configured(&upstream, "model", AGENTS);
        let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
        let daemon = TestDaemon::open(&files, &world).await;
        let admin = AdminToken::generate(daemon.world());
        let owner = LocalOwner::new(Api::new(daemon.opened(), Some(daemon.engine())), None);
        let mut server = Server::new(daemon.opened(), owner, admin.clone());
        server.listening = Some(Listening { pid: 1, address: ([127, 0, 0, 1], 7717).into() });
        let router = insula_http::router(server);
        Self { daemon, router, admin, _files: files }
    }

    async fn answer(&self, call: &str, shown: Shown<'_>, body: &Value) -> Response {
        let (method, path) = call.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in shown {
            request = request.header(*name, *value);
        }
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::HOST, "127.0.0.1:7717");
        let request = request.body(Body::from(body.to_string())).unwrap();
        tower::ServiceExt::oneshot(self.router.clone(), request).await.unwrap()
    }

    async fn ask(&self, call: &str, shown: Shown<'_>, body: Value) -> (StatusCode, Value) {
        let answer = self.answer(call, shown, &body).await;
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, crate::strict::parsed(call, &bytes))
    }

    async fn as_admin(&self, call: &str, body: Value) -> Value {
        let bearer = format!("Bearer {}", self.admin.reveal());
        let (status, said) = self.ask(call, &[("authorization", &bearer)], body).await;
        assert!(status.is_success(), "{call}: {status} {said}");
        said
    }

    /// A token's id and text.
    async fn token(&self, agent: &str, verbs: &[&str]) -> (String, String) {
        let wish = json!({ "agents": [agent], "verbs": verbs });
        let made = self.as_admin("POST /api/tokens", wish).await;
        let text = |key: &str| made[key].as_str().unwrap().to_owned();
        (text("id"), text("token"))
    }

    /// Signs in; the cookie and what the page keeps.
    async fn enter(&self, shown: Shown<'_>, body: Value) -> Option<(String, String)> {
        let answer = self.answer("POST /api/sign-in", shown, &body).await;
        if answer.status() != StatusCode::OK {
            return None;
        }
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let said: Value = serde_json::from_slice(&bytes).unwrap();
        let (pair, _) = cookie.split_once(';').unwrap();
        Some((pair.to_owned(), said["key"].as_str().unwrap().to_owned()))
    }

    /// Signs in by a link, as the admin.
    async fn by_link(&self) -> (String, String) {
        let link = self.as_admin("POST /api/sign-in/links", json!({})).await;
        let (_, code) = link["url"].as_str().unwrap().split_once("/#open=").unwrap();
        self.enter(&[], json!({ "link": code })).await.unwrap()
    }

    async fn enter_with(&self, token: &str) -> (String, String) {
        let bearer = format!("Bearer {token}");
        self.enter(&[("authorization", &bearer)], json!({})).await.unwrap()
    }
}

#[tokio::test]
async fn a_sign_in_is_its_token_and_ends_with_it() {
    let scene = Scene::new().await;
    let (id, token) = scene.token("a", &["read"]).await;
    let (cookie, key) = scene.enter_with(&token).await;
    let page: Shown<'_> = &[("cookie", &cookie), ("x-insula-page", &key)];
    let bearer = format!("Bearer {token}");
    for call in [
        "GET /api/me",
        "GET /api/map",
        "GET /api/agents/a",
        "GET /api/agents/b",
        "GET /api/agents/x",
        "GET /api/agents",
        "GET /api/agents/a/conversations",
        "POST /api/agents/a/turns/1/stop",
        "POST /api/sign-in/links",
    ] {
        let by_page = scene.ask(call, page, json!({})).await;
        let by_token = scene.ask(call, &[("authorization", &bearer)], json!({})).await;
        assert_eq!(by_page, by_token, "{call}");
    }
    // Who shows a token that is nobody's is nobody, whatever the browser adds.
    let both: Shown<'_> =
        &[("authorization", "Bearer no"), ("cookie", &cookie), ("x-insula-page", &key)];
    assert_eq!(scene.ask("GET /api/me", both, json!({})).await.0, 401);
    scene.as_admin(&format!("DELETE /api/tokens/{id}"), json!({})).await;
    assert_eq!(scene.ask("GET /api/me", page, json!({})).await.0, 401);
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_cookie_opens_nothing_that_our_own_page_does_not_ask() {
    let scene = Scene::new().await;
    let (_, token) = scene.token("a", &["read"]).await;
    let (cookie, key) = scene.enter_with(&token).await;
    let own = ("sec-fetch-site", "same-origin");
    let both = [("cookie", cookie.as_str()), ("x-insula-page", key.as_str())];
    let good: [Vec<(&str, &str)>; 3] = [
        both.to_vec(),
        [&both[..], &[own]].concat(),
        [&both[..], &[own, ("origin", "http://127.0.0.1:7717")]].concat(),
    ];
    for shown in &good {
        assert_eq!(scene.ask("GET /api/me", shown, json!({})).await.0, 200, "{shown:?}");
    }
    let wrong = format!("{key}0");
    let bad: [Vec<(&str, &str)>; 7] = [
        vec![both[0]],
        vec![both[1]],
        vec![both[0], ("x-insula-page", &wrong)],
        [&both[..], &[("sec-fetch-site", "cross-site")]].concat(),
        [&both[..], &[("sec-fetch-site", "same-site")]].concat(),
        [&both[..], &[("sec-fetch-site", "none")]].concat(),
        [&both[..], &[own, ("origin", "http://127.0.0.1:8080")]].concat(),
    ];
    for shown in &bad {
        let (status, said) = scene.ask("GET /api/me", shown, json!({})).await;
        assert!([401, 403].contains(&status.as_u16()), "{shown:?}: {status} {said}");
    }
    // Who signs out takes it from whoever copied it, also where they hear what happens.
    let by_link = scene.by_link().await;
    let mut streams = Vec::new();
    for (cookie, key) in [(&cookie, &key), (&by_link.0, &by_link.1)] {
        let shown: Shown<'_> = &[("cookie", cookie), ("x-insula-page", key)];
        let heard = scene.answer("GET /api/events", shown, &json!({})).await;
        streams.push(heard.into_body().into_data_stream());
        let begun = streams.last_mut().unwrap().next().await.unwrap().unwrap();
        assert!(begun.starts_with(b": listening"), "{begun:?}");
    }
    let answer = scene.answer("DELETE /api/sign-in", &both, &json!({})).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(scene.ask("GET /api/me", &both, json!({})).await.0, 401);
    let mut last = streams.remove(0);
    let said = last.next().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&said).contains("signed_out"), "{said:?}");
    assert!(last.next().await.is_none());
    // Another's goes on, until it is theirs.
    let link: Shown<'_> = &[("cookie", &by_link.0), ("x-insula-page", &by_link.1)];
    scene.answer("DELETE /api/sign-in", link, &json!({})).await;
    let mut rest = String::new();
    while let Some(said) = streams[0].next().await {
        rest += &String::from_utf8_lossy(&said.unwrap());
    }
    assert!(rest.ends_with("You signed out.\"}}\n\n"), "{rest}");
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_link_signs_in_once_as_the_admin() {
    let scene = Scene::new().await;
    let link = scene.as_admin("POST /api/sign-in/links", json!({})).await;
    let (address, code) = link["url"].as_str().unwrap().split_once("/#open=").unwrap();
    assert_eq!(address, "http://127.0.0.1:7717");
    assert_eq!(scene.enter(&[], json!({ "link": "made up" })).await, None);
    let (cookie, key) = scene.enter(&[], json!({ "link": code })).await.unwrap();
    assert_eq!(scene.enter(&[], json!({ "link": code })).await, None);
    assert_eq!(scene.enter(&[], json!({})).await, None);
    let page: Shown<'_> = &[("cookie", &cookie), ("x-insula-page", &key)];
    let (_, me) = scene.ask("GET /api/me", page, json!({})).await;
    assert_eq!((&me["who"], &me["admin"]), (&json!("local"), &json!(true)));
    let ids: Vec<&Value> = me["agents"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["a", "b"]);
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_token_of_one_agent_is_told_of_no_other() {
    let scene = Scene::new().await;
    let (_, token) = scene.token("a", &["read", "chat"]).await;
    let bearer = format!("Bearer {token}");
    let shown: Shown<'_> = &[("authorization", &bearer)];
    let own = ["now", "calendar", "costs?by=person", "tools"].map(|it| format!("GET /api/{it}"));
    for call in ["GET /api/me", "GET /api/map"].into_iter().chain(own.iter().map(|it| &**it)) {
        let (status, said) = scene.ask(call, shown, json!({})).await;
        let said = said.to_string();
        assert_eq!(status, 200, "{call}");
        // Not by a name, a place of a rule, nor a line that others move.
        assert!(!said.contains("\"b\"") && !said.contains("errand"), "{call}: {said}");
        // Days have such parts too.
        assert!(call.contains("costs") || !said.contains("-2"), "{call}: {said}");
        assert!(!said.contains("config.yaml"), "{call}: {said}");
    }
    let everything = scene.as_admin("GET /api/map", json!({})).await;
    assert_eq!(everything["agents"][0]["links"], json!([{ "to": "b", "as": "ask" }]));
    assert!(everything["bindings"][0]["place"].as_str().unwrap().starts_with("config.yaml:"));
    let scoped = json!({ "agents": ["a"], "verbs": ["read"], "scope": "chat:telegram:main:1" });
    let scoped = scene.as_admin("POST /api/tokens", scoped).await;
    let bearer = format!("Bearer {}", scoped["token"].as_str().unwrap());
    let calls = ["GET /api/me", "GET /api/map", "GET /api/events"].into_iter();
    for call in calls.chain(own.iter().map(|it| &**it)) {
        let (status, _) = scene.ask(call, &[("authorization", &bearer)], json!({})).await;
        assert_eq!(status, 404, "{call}");
    }
    assert_eq!(scene.enter(&[("authorization", &bearer)], json!({})).await, None);
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn a_card_is_changed_as_it_was_seen_or_not_at_all() {
    let scene = Scene::new().await;
    let cards = "POST /api/boards/work/cards";
    let card = scene.as_admin(cards, json!({ "title": "both want it" })).await;
    assert_eq!((&card["id"], &card["status"]), (&json!(1), &json!("triage")));
    let bearer = format!("Bearer {}", scene.admin.reveal());
    let shown: Shown<'_> = &[("authorization", &bearer)];
    let act =
        async |seen: &str, body: Value| scene.ask(&format!("{cards}/1{seen}"), shown, body).await;
    let blocked = act("", json!({ "action": "block", "why": "which one?" })).await;
    assert_eq!((blocked.0, &blocked.1["status"]), (StatusCode::OK, &json!("blocked")));
    let done = || json!({ "action": "move", "to": "done" });
    let (status, refused) = act("?status=triage&run=0", done()).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    let said = "card 1 is `blocked` by now; look at it again";
    assert_eq!(refused["error"]["message"], said);
    let (status, refused) = act("?status=blocked&run=1", done()).await;
    assert_eq!((status, &refused["error"]["message"]), (StatusCode::CONFLICT, &json!(said)));
    assert_eq!(act("?status=blocked", done()).await.0, StatusCode::BAD_REQUEST);
    let (status, moved) = act("?status=blocked&run=0", done()).await;
    assert_eq!((status, &moved["status"]), (StatusCode::OK, &json!("done")));
    let boards = scene.as_admin("GET /api/boards", json!({})).await;
    assert_eq!(boards[0]["cards"], json!({ "done": 1 }));
    let listed = scene.as_admin("GET /api/boards/work/cards?status=done,ready&before=0", json!({}));
    assert_eq!(listed.await[0]["id"], 1);
    let wrong = scene.ask("POST /api/boards/work/cards/1/files?name=a/b", shown, json!({})).await;
    assert_eq!(wrong.0, StatusCode::BAD_REQUEST);
    let whole = scene.as_admin("POST /api/boards/work/cards/1/files?name=a.txt", json!({})).await;
    assert_eq!(
        (&whole["files"][0]["name"], &whole["files"][0]["bytes"]),
        (&json!("a.txt"), &json!(2))
    );
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn what_comes_by_the_clock_and_who_has_which_tool_is_told_over_all_agents() {
    let scene = Scene::new().await;
    let bearer = format!("Bearer {}", scene.admin.reveal());
    for wrong in ["calendar?until=2999-01-01T00:00:00Z", "costs?days=0", "costs?step=hour&by=model"]
    {
        let call = format!("GET /api/{wrong}");
        let (status, said) = scene.ask(&call, &[("authorization", &bearer)], json!({})).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}: {said}");
    }
    let jobs = scene.as_admin("GET /api/calendar", json!({})).await;
    let [job] = &**jobs.as_array().unwrap() else { panic!("{jobs}") };
    assert_eq!(
        (&job["agent"], &job["name"], &job["kind"]),
        (&json!("b"), &json!("errand"), &json!("cron"))
    );
    assert_eq!(job["moments"].as_array().unwrap().len(), 7, "one a day for a week");
    assert_eq!((&job["frequent"], &job["last"]), (&json!(false), &Value::Null));
    let matrix = scene.as_admin("GET /api/tools", json!({})).await;
    let at =
        |name: &str| matrix["tools"].as_array().unwrap().iter().position(|it| it["name"] == name);
    let cell = |agent: usize, tool: &str| {
        let rule = matrix["agents"][agent]["cells"][at(tool).unwrap()].as_u64().unwrap();
        matrix["rules"][usize::try_from(rule).unwrap()].clone()
    };
    assert_eq!(cell(0, "todo")["exposed"], true);
    assert_eq!(cell(1, "terminal")["exposed"], false);
    let alone = scene.as_admin("GET /api/agents/a/tools", json!({})).await;
    for row in alone.as_array().unwrap() {
        let cell = cell(0, row["name"].as_str().unwrap());
        assert_eq!((&cell["exposed"], &cell["rule"]), (&row["exposed"], &row["rule"]), "{row}");
    }
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn who_may_talk_reads_their_own_words_and_nobody_elses() {
    let scene = Scene::new().await;
    let (_, one) = scene.token("a", &["chat"]).await;
    let (_, two) = scene.token("a", &["chat"]).await;
    let (one, two) = (format!("Bearer {one}"), format!("Bearer {two}"));
    let said = json!({ "session": "s", "text": "my own words", "parts": [
        { "type": "file", "file": { "filename": "x.txt", "file_data": "data:text/plain;base64,aGk=" } } ] });
    let answer =
        scene.answer("POST /api/agents/a/messages", &[("authorization", &one)], &said).await;
    let heard = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&heard).contains("turn.ended"));
    let list = "GET /api/agents/a/conversations";
    let (_, own) = scene.ask(list, &[("authorization", &one)], json!({})).await;
    assert_eq!((&own[0]["session"], &own[0]["title"]), (&json!("s"), &json!("my own words")));
    let id = own[0]["id"].as_str().unwrap();
    let show = format!("GET /api/agents/a/conversations/{id}");
    let (_, told) = scene.ask(&show, &[("authorization", &one)], json!({})).await;
    let told = told["messages"].to_string();
    assert!(told.contains("my own words") && told.contains("heard"), "{told}");
    let (_, others) = scene.ask(list, &[("authorization", &two)], json!({})).await;
    assert_eq!(others, json!([]));
    for id in [id, "1", "x"] {
        let show = format!("GET /api/agents/a/conversations/{id}");
        let (status, said) = scene.ask(&show, &[("authorization", &two)], json!({})).await;
        assert_eq!(status, 404, "{said}");
    }
    // What can't be taken says where it stands.
    let bad = json!({ "session": "s", "text": "x", "parts": [{ "type": "video" }] });
    let shown: Shown<'_> = &[("authorization", &one)];
    let (status, said) = scene.ask("POST /api/agents/a/messages", shown, bad).await;
    assert_eq!(status, 400);
    assert!(said["error"]["message"].as_str().unwrap().starts_with("parts[0]"), "{said}");
    scene.daemon.close().await.unwrap();
}

#[tokio::test]
async fn one_stream_tells_of_all_ones_agents_without_words_until_the_token_goes() {
    let scene = Scene::new().await;
    let (id, token) = scene.token("a", &["read"]).await;
    let bearer = format!("Bearer {token}");
    let admin = format!("Bearer {}", scene.admin.reveal());
    let hear = async |bearer: &str| {
        let answer =
            scene.answer("GET /api/events", &[("authorization", bearer)], &json!({})).await;
        assert_eq!(answer.status(), 200);
        answer.into_body().into_data_stream()
    };
    let (mut own, mut all) = (hear(&bearer).await, hear(&admin).await);
    for agent in ["b", "a"] {
        let path = format!("POST /api/agents/{agent}/messages");
        let said = json!({ "session": "s", "text": "hello" });
        let answer = scene.answer(&path, &[("authorization", &admin)], &said).await;
        to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    }
    let mut read = String::new();
    while read.matches("turn.ended").count() < 2 {
        read += &String::from_utf8_lossy(&all.next().await.unwrap().unwrap());
    }
    assert!(read.contains(r#""agent":"a""#) && read.contains(r#""agent":"b""#), "{read}");
    assert!(!read.contains("text.delta"), "{read}");
    let mut read = String::new();
    while !read.contains("turn.ended") {
        read += &String::from_utf8_lossy(&own.next().await.unwrap().unwrap());
    }
    scene.as_admin(&format!("DELETE /api/tokens/{id}"), json!({})).await;
    while let Some(bytes) = own.next().await {
        read += &String::from_utf8_lossy(&bytes.unwrap());
    }
    assert!(!read.contains(r#""b""#), "{read}");
    assert!(read.ends_with("nothing more is done for it\"}}\n\n"), "{read}");
    scene.daemon.close().await.unwrap();
}
