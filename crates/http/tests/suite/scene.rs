//! A daemon without a socket, asked as its listener would be.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use insula_api::{Api, LocalOwner};
use insula_http::{AdminToken, Listening, Server};
use insula_testdaemon::TestDaemon;
use insula_testkit::Home;
use insula_testkit::model::{configured, says};
use insula_testkit::upstream::Upstream;
use insula_world::World;
use serde_json::{Value, json};

/// A daemon, and who asks it.
pub struct Scene {
    pub daemon: TestDaemon,
    pub files: Home,
    router: Router,
    admin: AdminToken,
}

impl Scene {
    /// One with this behind its providers, changed by `with` before it serves.
    pub async fn new(world: &World, config: &str, with: impl FnOnce(&mut Server)) -> Self {
        let upstream = Upstream::start(world, move |_, _| says("heard")).await.unwrap();
        let config = configured(&upstream, "model", config);
        let files = Home::with([("config.yaml", &*config)]).unwrap();
        let daemon = TestDaemon::open(&files, world).await;
        let admin = AdminToken::generate(daemon.world());
        let owner = LocalOwner::new(Api::new(daemon.opened(), Some(daemon.engine())), None);
        let mut server = Server::new(daemon.opened(), owner, admin.clone());
        server.listening = Some(Listening { pid: 1, address: ([127, 0, 0, 1], 7717).into() });
        with(&mut server);
        Self { daemon, files, router: insula_http::router(server), admin }
    }

    /// What is answered to the bearer of a token.
    pub async fn answer(&self, token: &str, call: &str, body: &Value) -> Response {
        let (method, path) = call.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(path);
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::HOST, "127.0.0.1:7717");
        let request = request.body(Body::from(body.to_string())).unwrap();
        tower::ServiceExt::oneshot(self.router.clone(), request).await.unwrap()
    }

    /// The same, read to its end.
    pub async fn ask(&self, token: &str, call: &str, body: Value) -> (StatusCode, Value) {
        let answer = self.answer(token, call, &body).await;
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, crate::strict::parsed(call, &bytes))
    }

    /// What the admin shows.
    pub fn admin_token(&self) -> String {
        self.admin.reveal().to_owned()
    }

    /// What is answered to the admin, whether or not it is done.
    pub async fn admin(&self, call: &str, body: Value) -> (StatusCode, Value) {
        self.ask(self.admin.reveal(), call, body).await
    }

    /// What is done for the admin.
    pub async fn done(&self, call: &str, body: Value) -> Value {
        let (status, said) = self.admin(call, body).await;
        assert!(status.is_success(), "{call}: {status} {said}");
        said
    }

    /// A token's text.
    pub async fn token(&self, agent: &str, verbs: &[&str]) -> String {
        let made =
            self.done("POST /api/tokens", json!({ "agents": [agent], "verbs": verbs })).await;
        made["token"].as_str().unwrap().to_owned()
    }
}
