//! How a command reaches the agents: through the daemon that runs in the home, or, when
//! none runs, through the same API inside this process, without a socket.

use crate::endpoint::{Answer, Broken, DaemonEndpoint};
use crate::failure::{FAILED, Failure, WRONG_USE};
use crate::setting::Setting;
use arc_swap::ArcSwap;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use insula_adapters::Makers;
use insula_api::{Api, LocalOwner};
use insula_capabilities::{Capabilities, Opened};
use insula_http::{AdminToken, Platforms, Server};
use insula_models::Transport;
use insula_registry::daemon::Purpose;
use insula_registry::{Home, HomeLock};
use insula_world::{LocalPath, World};
use serde::Deserialize;
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt as _;

/// How long to wait for another command that has the home.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Largest answer taken in: the list of 100,000 agents fits.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What the socket of the command line is called, in the folder `run` of the home.
pub const SOCKET: &str = "cli.sock";

/// What a running daemon says of itself in `run/daemon.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Running {
    /// Its process id.
    pub pid: u32,
    pub listen: SocketAddr,
    /// The socket of the command line beside the file, where it has one.
    pub socket: Option<String>,
    /// Whether it begins anew when told so.
    #[serde(default)]
    pub restarts: bool,
}

impl Running {
    /// The way in by its own socket.
    fn local(&self, home: &Home) -> Result<Option<LocalPath>, Failure> {
        let path = self.socket.as_deref().map(|name| LocalPath::new(&home.run(), name));
        Ok(path.transpose()?)
    }

    /// Whether it answers.
    async fn answers(&self, home: &Home, world: &World) -> bool {
        match self.local(home) {
            Ok(Some(path)) => path.answers().await,
            Ok(None) => world.network.connect(self.listen).await.is_ok(),
            Err(_) => false,
        }
    }

    /// The way to it.
    fn line(&self, home: &Home, world: &World) -> Result<DaemonEndpoint, Failure> {
        let local = self.local(home)?.map(Arc::new);
        Ok(DaemonEndpoint { local, listen: self.listen, network: world.network.clone() })
    }
}

/// Whether a daemon has the home.
pub enum Occupied {
    /// It does.
    Daemon(Running),
    /// Nobody does; now this process does.
    Free(HomeLock),
}

/// Finds out who has the home. Waits for other commands, not for a daemon.
pub async fn occupied(home: &Home, world: &World) -> Result<Occupied, Failure> {
    if !home.exists() {
        let path = home.root().display();
        return Err(Failure::Failed(format!(
            "there is no home at {path}; `insula up` creates one"
        )));
    }
    home.prepare()?;
    let start = world.clock.elapsed();
    loop {
        if let Some(lock) = home.try_lock()? {
            // Left by a daemon that was killed: other commands must not look for it.
            home.remove(&home.daemon_file())?;
            return Ok(Occupied::Free(lock));
        }
        let running = home.read(&home.daemon_file())?;
        let running = running.and_then(|text| serde_json::from_str::<Running>(&text).ok());
        // Nobody listens while a daemon drains, nor where the file is a dead one's.
        if let Some(running) = running
            && running.answers(home, world).await
        {
            return Ok(Occupied::Daemon(running));
        }
        if world.clock.elapsed() - start > PATIENCE {
            let path = home.root().display();
            return Err(Failure::Failed(format!(
                "another process has {path} and does not let go of it"
            )));
        }
        world.clock.sleep(LOOK_EVERY).await;
    }
}

/// The way to a daemon that runs.
pub struct Connected {
    pub line: DaemonEndpoint,
    running: Running,
    pub token: String,
    /// Whether the token is one that somebody brought, and not the home's own.
    is_lent: bool,
    /// Where another is looked for that runs in its place.
    home: Home,
    world: World,
}

impl Connected {
    fn new(home: &Home, world: &World, running: Running) -> Result<Self, Failure> {
        let token = home.read(&home.admin_token_file())?.unwrap_or_default();
        let line = running.line(home, world)?;
        let token = token.trim().to_owned();
        let (home, world) = (home.clone(), world.clone());
        Ok(Self { line, running, token, is_lent: false, home, world })
    }

    /// Sends one request.
    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Answer, Broken> {
        self.line.send(method, path, &self.token, headers, body).await
    }
}

/// Looks whether a daemon still runs, or another in its place.
async fn look_again(known: &ArcSwap<Connected>) -> Result<Fate, Failure> {
    let before = known.load_full();
    let (home, world) = (&before.home, &before.world);
    let running = home.read(&home.daemon_file())?;
    let running = running.and_then(|text| serde_json::from_str::<Running>(&text).ok());
    let Some(running) = running else { return Ok(Fate::Gone) };
    if !running.answers(home, world).await {
        return Ok(Fate::Gone);
    }
    let mut now = Connected::new(home, world, running)?;
    if before.is_lent {
        (now.token, now.is_lent) = (before.token.clone(), true);
    }
    // One that began anew may have the number of the one before, and never its token.
    if now.running.pid == before.running.pid && now.token == before.token {
        return Ok(Fate::Runs);
    }
    if now.token.is_empty() {
        return Ok(Fate::Gone);
    }
    known.store(Arc::new(now));
    Ok(Fate::Renewed)
}

/// Sends a request to the daemon that runs now: where it is not the one that was found before,
/// to its successor. A request that found nobody, or was not let in, did nothing.
async fn send(
    known: &ArcSwap<Connected>,
    (method, path): (Method, &str),
    headers: &[(&str, &str)],
    body: String,
) -> Result<Answer, Failure> {
    let to = known.load_full();
    let sent = to.send(method.clone(), path, headers, body.clone()).await;
    let is_stale = match &sent {
        Ok(answer) => answer.status == StatusCode::UNAUTHORIZED,
        Err(error) => matches!(error, Broken::Connect(_)),
    };
    if is_stale && look_again(known).await? == Fate::Renewed {
        let to = known.load_full();
        let sent = to.send(method, path, headers, body).await;
        return sent.map_err(|error| silent(&to.running, &error));
    }
    sent.map_err(|error| silent(&to.running, &error))
}

/// What became of the daemon that a command talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Runs,
    /// None runs.
    Gone,
    /// Another runs in its place, and is talked to from now on.
    Renewed,
}

/// A way to the API.
pub enum Reach {
    /// Over the daemon's socket, or its listener; to whichever daemon was found last.
    Daemon(ArcSwap<Connected>),
    /// In this process.
    Here { router: Router, opened: Box<Opened>, token: AdminToken },
}

impl Reach {
    /// Finds the way.
    pub async fn open(setting: &Setting, purpose: Purpose) -> Result<Self, Failure> {
        let Setting { home, world, .. } = setting;
        match occupied(home, world).await? {
            Occupied::Daemon(running) => {
                let connected = Connected::new(home, world, running)?;
                Ok(Self::Daemon(ArcSwap::from_pointee(connected)))
            }
            Occupied::Free(lock) => {
                let env = setting.environment.variables.clone();
                let home = home.clone();
                let opened = Capabilities::open(home, lock, world.clone(), env, purpose).await?;
                let token = AdminToken::generate(world);
                // What the doctor asks platforms by; nothing else here connects to any.
                let makers = Transport::new(world, &[]).ok();
                let makers = makers.map(|it| Arc::new(Makers::new(world.clone(), it)));
                let owner = LocalOwner::new(Api::new(&opened, None), None);
                let mut server = Server::new(&opened, owner, token.clone());
                server.platforms = Platforms { gateway: None, makers };
                let router = insula_http::router(server);
                Ok(Self::Here { router, opened: Box::new(opened), token })
            }
        }
    }

    /// The same way, for the bearer of a token.
    pub fn speaking_as(&self, token: String) -> Option<Self> {
        let Self::Daemon(known) = self else { return None };
        let known = known.load();
        let Connected { line, running, home, world, .. } = &**known;
        let (line, running) = (line.clone(), running.clone());
        let (home, world) = (home.clone(), world.clone());
        let lent = Connected { line, running, token, is_lent: true, home, world };
        Some(Self::Daemon(ArcSwap::from_pointee(lent)))
    }

    /// Whether a daemon runs.
    pub fn is_daemon(&self) -> bool {
        matches!(self, Self::Daemon(_))
    }

    /// Looks whether the daemon still runs, or another in its place.
    pub async fn look_again(&self) -> Result<Fate, Failure> {
        match self {
            Self::Daemon(known) => look_again(known).await,
            Self::Here { .. } => Ok(Fate::Runs),
        }
    }

    /// Refuses where the configuration can't be used and the answer would follow from it.
    pub fn require_configuration(&self) -> Result<(), Failure> {
        match self {
            Self::Here { opened, .. } if opened.daemon.refused().is_some() => {
                Err(Failure::Configuration(Box::new((*opened.daemon.report()).clone())))
            }
            _ => Ok(()),
        }
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.request(Method::GET, path, None).await
    }

    /// Reads what is no JSON.
    pub async fn get_text(&self, path: &str) -> Result<String, Failure> {
        let (status, bytes) = self.exchange(Method::GET, path, None).await?;
        if !status.is_success() {
            answer(status, &bytes)?;
        }
        String::from_utf8(bytes).map_err(|_| Failure::Failed("the answer is no text".to_owned()))
    }

    /// Changes, or asks with a body.
    pub async fn post(&self, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        self.request(Method::POST, path, body).await
    }

    /// Puts something in its place.
    pub async fn put(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.request(Method::PUT, path, Some(body)).await
    }

    /// Begins something whose answer comes piece by piece. Only a daemon can. The same again under
    /// the same key is the same thing.
    pub async fn stream(
        &self,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> Result<Answer, Failure> {
        let Self::Daemon(known) = self else {
            return Err(Failure::Failed(NO_DAEMON.to_owned()));
        };
        let headers: Vec<(&str, &str)> =
            key.map(|key| ("idempotency-key", key)).into_iter().collect();
        let response = send(known, (Method::POST, path), &headers, body.to_string()).await?;
        let status = response.status;
        if status.is_success() {
            return Ok(response);
        }
        let running = &known.load_full().running;
        let bytes = response.whole().await.map_err(|error| silent(running, &error))?;
        answer(status, &bytes).and(Err(Failure::Failed(format!("the daemon answered {status}"))))
    }

    pub async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.request(Method::DELETE, path, None).await
    }

    /// Lets go of the home properly.
    pub async fn close(self) {
        if let Self::Here { opened, .. } = self {
            opened.parts.store.shutdown().await;
        }
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Failure> {
        let (status, bytes) = self.exchange(method, path, body).await?;
        answer(status, &bytes)
    }

    /// Reads what may not be there.
    pub async fn get_if_there(&self, path: &str) -> Result<Option<Value>, Failure> {
        let (status, bytes) = self.exchange(Method::GET, path, None).await?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        answer(status, &bytes).map(Some)
    }

    /// Sends a request as it is.
    pub(crate) async fn exchange_once(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        let (status, bytes) = match self {
            Self::Daemon(known) => {
                let body = body.map_or_else(String::new, |body| body.to_string());
                let response = send(known, (method, path), &[], body).await?;
                let running = &known.load_full().running;
                let failed = |error: Broken| silent(running, &error);
                (response.status, response.whole().await.map_err(failed)?)
            }
            Self::Here { router, token, .. } => {
                let request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()))
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
                    .map_err(|error| Failure::WrongUse(error.to_string()))?;
                let Ok(response) = router.clone().oneshot(request).await;
                let status = response.status();
                let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await;
                (status, bytes.map_err(|error| Failure::Failed(error.to_string()))?)
            }
        };
        Ok((status, bytes.into()))
    }
}

/// What a command says that needs a daemon.
pub const NO_DAEMON: &str =
    "no daemon runs in this home, and turns need one; start it with `insula up`";

fn silent(running: &Running, error: &Broken) -> Failure {
    let Running { pid, listen, .. } = running;
    Failure::Failed(format!("the daemon (pid {pid}) at {listen} does not answer: {error}"))
}

fn answer(status: StatusCode, bytes: &[u8]) -> Result<Value, Failure> {
    let value: Value = match bytes.is_empty() {
        true => Value::Null,
        false => {
            serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
        }
    };
    if status.is_success() {
        return Ok(value);
    }
    let error = &value["error"];
    if error["report"].is_object() {
        return Err(Failure::RemoteConfiguration(error["report"].clone()));
    }
    let message = error["message"]
        .as_str()
        .map_or_else(|| format!("the daemon answered {status}"), str::to_owned);
    let code = error["code"].as_str().unwrap_or("failed").to_owned();
    let exit = if status == StatusCode::BAD_REQUEST { WRONG_USE } else { FAILED };
    Err(Failure::Refused { code, message, exit })
}

/// A text as one part of a path.
pub fn part(text: &str) -> String {
    let mut encoded = String::new();
    insula_domain::percent::encode_into(&mut encoded, text);
    encoded
}
