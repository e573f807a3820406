//! One server of one agent: its connection, opened when it is first needed, kept, and given
//! up when it is idle, broken or no longer wanted.

mod beside;
mod listing;
mod opening;
mod tasks;

pub use beside::{Beside, PROMPTS_MAX, Prompt, PromptArgument};

use crate::breaker::{Breaker, Pause};
use crate::content::{CallOutcome, outcome};
use crate::handler::{Asking, CallGuard, OurSide, Questions};
use crate::stdio_lines::{Reading, Writing};
use crate::words::{last_words, plain, without_prefix};
use async_trait::async_trait;
use http::HeaderMap;
use insula_sandbox::Capture;
use insula_sandbox::egress::Egress;
use insula_world::Clock;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::{RunningService, ServiceError};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How many times its time-out a call may take while the server tells of progress.
const PROGRESS_FACTOR: u32 = 10;

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// A call, counted anew whenever the server tells of progress.
    pub call: Duration,
    pub connect: Duration,
    /// How long an unused connection is kept.
    pub idle: Duration,
}

/// Where a connection leads.
pub enum Way {
    /// The streams of a program.
    Program {
        /// What it prints.
        read: Reading,
        /// What it reads.
        write: Writing,
        /// What it says on its error stream.
        errors: Capture,
        /// The program: it ends when this is dropped.
        keeps: Box<dyn Send>,
    },
    /// A server over HTTP.
    Http {
        /// The agent's way to the network.
        egress: Box<Egress>,
        url: String,
        /// What is sent with every request.
        headers: HeaderMap,
    },
}

/// What comes of asking a server. Boxed here: what a future does is compiled by whoever awaits it,
/// and all of the SDK would be compiled once more with the runtime.
pub type ServerFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServerError>> + Send + 'a>>;

/// A way that is open, or why there is none.
pub type Link = Result<Way, String>;

/// Opens the way to a server, for the agent it was made for.
#[async_trait]
pub trait Opener: Send + Sync {
    /// Starts the program, or makes ready to ask.
    async fn open(&self) -> Link;
}

/// Why a server did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// it is left alone for a while
    #[error("it failed before ({why}) and is tried again in {seconds} s at the earliest")]
    Paused {
        /// What went wrong last.
        why: String,
        /// How long yet.
        seconds: u64,
    },
    /// there is no connection
    #[error("it can't be reached: {0}")]
    Unreachable(String),
    /// it took too long
    #[error("it did not answer within {0} s")]
    TimedOut(u64),
    /// it refused
    #[error("it answered with an error: {0}")]
    Answered(String),
    /// it wants something that is not given
    #[error("it asks for more than a call: {0}")]
    Wants(&'static str),
    /// the connection was given up
    #[error("its connection was closed: {0}")]
    Closed(String),
}

impl ServerError {
    /// Whether words of the server's own may be in it.
    pub fn quotes(&self) -> bool {
        match self {
            Self::TimedOut(_) | Self::Wants(_) => false,
            Self::Paused { .. } | Self::Unreachable(_) | Self::Answered(_) | Self::Closed(_) => {
                true
            }
        }
    }
}

/// How patient whoever asks is with a server that failed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// It is left alone for a while after a failure.
    Usual,
    /// An operator wants to know now.
    Insists,
}

/// How a server stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether there is a connection.
    pub is_connected: bool,
    /// How often one was opened, or tried to.
    pub starts: u64,
    /// Calls that were answered.
    pub calls: u64,
    /// What it calls itself, and its version.
    pub says_it_is: Option<String>,
    /// The version of the protocol.
    pub protocol: Option<String>,
    /// What went wrong last, for its operator.
    pub trouble: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// Whether it has more tools than are taken from one server.
    pub has_too_many: bool,
    /// How many entries of its list of tools had no name that can be read. They are left out.
    pub nameless: usize,
}

/// Why a connection ended, as far as we saw.
#[derive(Debug, Default)]
pub(crate) struct Ending(Mutex<Option<String>>);

impl Ending {
    /// Notes why, the first time.
    pub(crate) fn note(&self, why: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn why(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One server of one agent.
pub struct Server {
    limits: ServerLimits,
    asking: Asking,
    clock: Arc<dyn Clock>,
    /// Held while a connection is opened, so that there is one.
    slot: tokio::sync::Mutex<Option<Arc<Connection>>>,
    breaker: Mutex<Breaker>,
    facts: Mutex<Facts>,
    closed: CancellationToken,
}

struct Connection {
    service: RunningService<RoleClient, OurSide>,
    side: OurSide,
    ending: Arc<Ending>,
    errors: Option<Capture>,
    /// When it was last used, in milliseconds of the clock.
    used: AtomicU64,
    /// The tools that are called as tasks.
    as_tasks: Mutex<BTreeSet<String>>,
}

impl Connection {
    fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// Why it ended, for people.
    fn why(&self) -> String {
        self.ending.why().unwrap_or_else(|| "the connection ended".to_owned())
    }
}

impl Server {
    /// A server that nobody has asked yet.
    pub fn new(limits: ServerLimits, asking: Asking, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            asking,
            clock,
            slot: tokio::sync::Mutex::default(),
            breaker: Mutex::default(),
            facts: Mutex::default(),
            closed: CancellationToken::new(),
        })
    }

    /// Calls a tool by the name the server gives it. When the future is dropped, the server is
    /// told that nobody waits any more. What the server asks meanwhile goes to `asks`; without
    /// that nobody is asked.
    pub fn call<'a>(
        self: &'a Arc<Self>,
        opener: &'a dyn Opener,
        tool: &'a str,
        arguments: JsonObject,
        asks: Option<Questions>,
    ) -> ServerFuture<'a, CallOutcome> {
        Box::pin(self.called(opener, tool, arguments, asks))
    }

    async fn called(
        self: &Arc<Self>,
        opener: &dyn Opener,
        tool: &str,
        arguments: JsonObject,
        asks: Option<Questions>,
    ) -> Result<CallOutcome, ServerError> {
        let connection = self.connection(opener, Patience::Usual).await?;
        let guard = connection.side.heard.begin(asks);
        if connection.calls_as_task(tool) {
            let result = self.called_as_task(&connection, &guard, tool, arguments).await?;
            self.facts().calls += 1;
            return Ok(outcome(result));
        }
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let asking = connection.service.peer().call_tool_once(params);
        let answered = self.patiently(&connection, Some(&guard), asking).await?;
        self.facts().calls += 1;
        match answered {
            CallToolResponse::Complete(result) => Ok(outcome(result)),
            CallToolResponse::InputRequired(_) => {
                Err(ServerError::Wants("input in between, which nobody gives it"))
            }
            _ => Err(ServerError::Wants("work in the background, which nobody waits for")),
        }
    }

    /// Whether it has said that its list of tools is another one by now.
    pub fn is_list_changed(&self) -> bool {
        let Ok(slot) = self.slot.try_lock() else { return false };
        let heard = |it: &Arc<Connection>| it.side.heard.is_list_changed.load(Ordering::Acquire);
        slot.as_ref().is_some_and(heard)
    }

    /// Whether it would be tried, if somebody asked.
    pub fn admits(&self) -> bool {
        self.breaker().admit(self.clock.elapsed()).is_ok()
    }

    /// How it stands.
    pub fn facts_now(&self) -> Facts {
        let is_connected =
            self.slot.try_lock().is_ok_and(|slot| slot.as_ref().is_some_and(|it| !it.is_over()));
        let failures = self.breaker().failures();
        Facts { is_connected, failures, ..self.facts().clone() }
    }

    /// Gives the connection up, for good: whatever is under way fails, and a program ends.
    pub fn close(&self) {
        self.closed.cancel();
        if let Ok(mut slot) = self.slot.try_lock() {
            *slot = None;
        }
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection there is, or a new one.
    async fn connection(
        self: &Arc<Self>,
        opener: &dyn Opener,
        patience: Patience,
    ) -> Result<Arc<Connection>, ServerError> {
        let mut slot = self.slot.lock().await;
        if self.closed.is_cancelled() {
            return Err(ServerError::Closed("the agent changed".to_owned()));
        }
        if let Some(connection) = slot.as_ref().filter(|it| !it.is_over()) {
            connection.used.store(self.now(), Ordering::Relaxed);
            return Ok(connection.clone());
        }
        *slot = None;
        if patience == Patience::Usual {
            self.breaker().admit(self.clock.elapsed()).map_err(|pause: Pause| {
                let seconds = pause.left.as_secs() + 1;
                ServerError::Paused { why: pause.why, seconds }
            })?;
        }
        self.facts().starts += 1;
        let opened = tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(ServerError::Closed("the agent changed".to_owned())),
            opened = self.open(opener) => opened,
            () = self.clock.sleep(self.limits.connect) => {
                Err(ServerError::TimedOut(self.limits.connect.as_secs()))
            }
        };
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *slot = Some(connection.clone());
                self.note_opened(&connection);
                self.watch();
                Ok(connection)
            }
            Err(error) => {
                self.failed(&error, None);
                Err(error)
            }
        }
    }

    fn note_opened(&self, connection: &Connection) {
        let info = connection.service.peer().peer_info();
        let info = info.as_deref();
        let mut facts = self.facts();
        facts.trouble = None;
        facts.protocol = info.map(|info| info.protocol_version.to_string());
        let is = info.and_then(|info| info.server_info.as_ref());
        facts.says_it_is = is.map(|is| {
            let text = format!("{} {}", is.name, is.version);
            text.chars().filter(|it| !it.is_control()).take(100).collect()
        });
    }

    /// Gives the connection up once nobody has used it for a while.
    fn watch(self: &Arc<Self>) {
        let (server, clock) = (Arc::downgrade(self), self.clock.clone());
        let (idle, closed) = (self.limits.idle, self.closed.clone());
        tokio::spawn(async move {
            let mut pause = idle;
            loop {
                tokio::select! {
                    () = closed.cancelled() => {
                        if let Some(server) = server.upgrade() {
                            *server.slot.lock().await = None;
                        }
                        return;
                    }
                    () = clock.sleep(pause) => {}
                }
                let Some(server) = server.upgrade() else { return };
                let mut slot = server.slot.lock().await;
                let Some(connection) = slot.as_ref() else { return };
                let unused = server.now().saturating_sub(connection.used.load(Ordering::Relaxed));
                let left = idle.saturating_sub(Duration::from_millis(unused));
                // Whoever is in the middle of a call holds it too.
                if left.is_zero() && Arc::strong_count(connection) == 1 || connection.is_over() {
                    *slot = None;
                    return;
                }
                pause = left.max(Duration::from_secs(1));
            }
        });
    }

    /// Waits for an answer as long as the server may take. While a person is asked, it is not the
    /// server that takes long.
    async fn patiently<T>(
        &self,
        connection: &Connection,
        call: Option<&CallGuard>,
        asking: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServerError> {
        let mut progress = connection.side.heard.progress.subscribe();
        let mut person = call.map(|call| call.waiting.subscribe());
        let longest = self.limits.call.saturating_mul(PROGRESS_FACTOR);
        let mut most = self.clock.elapsed() + longest;
        tokio::pin!(asking);
        let answered = loop {
            let is_asked = person.as_mut().is_some_and(|it| *it.borrow_and_update() > 0);
            if is_asked {
                most = self.clock.elapsed() + longest;
            }
            let left = most.saturating_sub(self.clock.elapsed()).min(self.limits.call);
            tokio::select! {
                biased;
                () = self.closed.cancelled() => {
                    return Err(ServerError::Closed("the agent changed".to_owned()));
                }
                answered = &mut asking => break answered,
                Ok(()) = progress.changed(), if !left.is_zero() => {}
                () = changed(&mut person) => {}
                () = self.clock.sleep(left), if !is_asked => {
                    let error = ServerError::TimedOut(self.limits.call.as_secs());
                    self.failed(&error, Some(connection));
                    return Err(error);
                }
            }
        };
        connection.used.store(self.now(), Ordering::Relaxed);
        match answered {
            Ok(answer) => {
                self.succeeded();
                Ok(answer)
            }
            // It answered: there is nothing wrong with the connection.
            Err(ServiceError::McpError(error)) => {
                self.succeeded();
                Err(ServerError::Answered(plain(&error.message)))
            }
            Err(ServiceError::UnexpectedResponse) => {
                Err(ServerError::Answered("something that is no answer to a call".to_owned()))
            }
            Err(error) => {
                let why = match connection.ending.why() {
                    Some(why) => why,
                    None if connection.is_over() => connection.why(),
                    None => match &error {
                        ServiceError::TransportSend(error) => without_prefix(&*error.error),
                        error => plain(&error.to_string()),
                    },
                };
                let error = ServerError::Closed(why);
                self.failed(&error, Some(connection));
                Err(error)
            }
        }
    }

    fn succeeded(&self) {
        self.breaker().succeeded();
        self.facts().trouble = None;
    }

    /// Counts a failure. One too often, and what is left of the connection goes too.
    fn failed(&self, error: &ServerError, connection: Option<&Connection>) {
        let too_often = self.breaker().failed(self.clock.elapsed(), error.to_string());
        let words = connection.and_then(|it| it.errors.as_ref()).and_then(last_words);
        let mut facts = self.facts();
        let before = facts.trouble.take().filter(|_| connection.is_none());
        let more = words.or(before).filter(|words| *words != error.to_string());
        facts.trouble = Some(match more {
            Some(words) => format!("{error}; it said: {words}"),
            None => error.to_string(),
        });
        drop(facts);
        if too_often && let Ok(mut slot) = self.slot.try_lock() {
            *slot = None;
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Until it changes how many questions wait; never where none can.
async fn changed(person: &mut Option<watch::Receiver<usize>>) {
    if let Some(person) = person
        && person.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}
