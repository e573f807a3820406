//! What we answer to a server that asks, and what we hear when it tells.
//!
//! A server may not have the agent's model think for it, and is told of no folder: it has those of
//! its sandbox. A question to a person is put to whoever the one call under way is made for, where
//! they can be asked.

use crate::question::{Question, Reply};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorCode, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};

/// Questions that one call may put: a server that asks for more than that is no help.
pub(crate) const QUESTIONS_MAX: u32 = 10;

/// A question that waits for its answer. Who drops it does not answer, and the server hears that.
#[derive(Debug)]
pub struct Asked {
    pub question: Question,
    answer: oneshot::Sender<Reply>,
}

impl Asked {
    pub fn answer(self, reply: Reply) {
        // Who asked may have given up.
        let _ = self.answer.send(reply);
    }
}

/// By which questions reach whoever a call is made for.
pub type Questions = mpsc::Sender<Asked>;

/// Whether a server may ask whoever its calls are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// It may, and is told so.
    Offered,
    /// It may not.
    Refused,
}

/// What was heard from a server.
#[derive(Debug)]
pub(crate) struct ServerNotices {
    /// Counts the notes that something goes on.
    pub(crate) progress: watch::Sender<u64>,
    /// Whether its list of tools or prompts is another one than when it was last asked.
    pub(crate) is_list_changed: AtomicBool,
    calls: Mutex<CallsUnderWay>,
}

#[derive(Debug, Default)]
struct CallsUnderWay {
    last: u64,
    open: Vec<CallUnderWay>,
}

#[derive(Debug)]
struct CallUnderWay {
    id: u64,
    asks: Option<Questions>,
    /// How often somebody was asked.
    asked: u32,
    /// How many questions wait for their answer.
    waiting: Arc<watch::Sender<usize>>,
}

impl Default for ServerNotices {
    fn default() -> Self {
        Self {
            progress: watch::Sender::new(0),
            is_list_changed: AtomicBool::new(false),
            calls: Mutex::default(),
        }
    }
}

impl ServerNotices {
    fn calls(&self) -> MutexGuard<'_, CallsUnderWay> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call is under way, and who may be asked about it.
    pub(crate) fn begin(self: &Arc<Self>, asks: Option<Questions>) -> CallGuard {
        let mut calls = self.calls();
        calls.last += 1;
        let id = calls.last;
        let waiting = Arc::new(watch::Sender::new(0));
        calls.open.push(CallUnderWay { id, asks, asked: 0, waiting: waiting.clone() });
        CallGuard { of: self.clone(), id, waiting }
    }

    /// Who is to be asked. A request does not say for which call it is: where several are under
    /// way, it could be about somebody else's.
    fn asked(&self) -> Option<(Questions, Waiting)> {
        let mut calls = self.calls();
        match calls.open.as_mut_slice() {
            [one] if one.asked < QUESTIONS_MAX => {
                let asks = one.asks.clone()?;
                one.asked += 1;
                Some((asks, Waiting::new(one.waiting.clone())))
            }
            _ => None,
        }
    }
}

/// A call that is under way, until this is dropped.
pub(crate) struct CallGuard {
    of: Arc<ServerNotices>,
    id: u64,
    /// How many of its questions wait for their answer.
    pub(crate) waiting: Arc<watch::Sender<usize>>,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.of.calls().open.retain(|call| call.id != self.id);
    }
}

/// A question that waits, until this is dropped.
struct Waiting(Arc<watch::Sender<usize>>);

impl Waiting {
    fn new(waiting: Arc<watch::Sender<usize>>) -> Self {
        waiting.send_modify(|count| *count += 1);
        Self(waiting)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Our side of a connection.
#[derive(Debug, Clone)]
pub(crate) struct OurSide {
    pub(crate) heard: Arc<ServerNotices>,
    asking: Asking,
}

impl OurSide {
    pub(crate) fn new(asking: Asking) -> Self {
        Self { heard: Arc::default(), asking }
    }

    /// What becomes of a question.
    async fn put(&self, params: &ElicitRequestParams) -> Reply {
        let Some((asks, _waiting)) = self.heard.asked() else { return Reply::Decline };
        let question = match Question::of(params) {
            Ok(question) => question,
            Err(why) => {
                tracing::warn!(%why, "a question of an MCP server was declined");
                return Reply::Decline;
            }
        };
        let (answer, answered) = oneshot::channel();
        if asks.send(Asked { question, answer }).await.is_err() {
            return Reply::Cancel;
        }
        answered.await.unwrap_or(Reply::Cancel)
    }
}

fn refused(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("{what} is not offered here"), None)
}

impl ClientHandler for OurSide {
    #[expect(deprecated, reason = "older servers still ask for roots")]
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(refused("a list of roots"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if self.asking == Asking::Refused {
            return Err(refused("a question to the user"));
        }
        let reply = tokio::select! {
            reply = self.put(&params) => reply,
            () = context.ct.cancelled() => Reply::Cancel,
        };
        // It goes on from here, and so does the time it may take.
        self.heard.progress.send_modify(|count| *count = count.wrapping_add(1));
        Ok(match reply {
            Reply::Accept(Some(values)) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            Reply::Accept(None) => ElicitResult::new(ElicitationAction::Accept),
            Reply::Decline => ElicitResult::new(ElicitationAction::Decline),
            Reply::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.heard.progress.send_modify(|count| *count = count.wrapping_add(1));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard.is_list_changed.store(true, Ordering::Release);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard.is_list_changed.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("insula", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        if self.asking == Asking::Offered {
            let both = ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::new());
            capabilities.elicitation = Some(both);
        }
        ClientConfig::new(capabilities, us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
