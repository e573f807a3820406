//! The editor at the other end: what it can do, and what it is asked.

use crate::stdio::write;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;

/// What an editor answers: what it was asked for, or why not.
pub type Answer = Result<Value, String>;

/// The editor.
#[derive(Default)]
pub struct Client {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    reads: bool,
    writes: bool,
    asked: u64,
    is_gone: bool,
    waiting: HashMap<u64, Waiting>,
}

/// A request that the editor has not answered yet.
struct Waiting {
    /// The conversation it belongs to.
    session: String,
    tell: oneshot::Sender<Answer>,
}

impl Client {
    /// Notes what it says of itself.
    pub fn introduce(&self, capabilities: &Value) {
        let mut state = self.state();
        state.reads = capabilities["fs"]["readTextFile"] == true;
        state.writes = capabilities["fs"]["writeTextFile"] == true;
    }

    /// What it does for turns, as the daemon is told.
    pub fn offers(&self) -> Value {
        let state = self.state();
        json!({ "reads": state.reads, "writes": state.writes })
    }

    /// Asks it something, and waits for the answer.
    pub async fn ask(&self, session: &str, method: &str, params: Value) -> Answer {
        let (tell, answer) = oneshot::channel();
        let id = {
            let mut state = self.state();
            if state.is_gone {
                return Err("the editor is gone".to_owned());
            }
            state.asked += 1;
            let id = state.asked;
            state.waiting.insert(id, Waiting { session: session.to_owned(), tell });
            id
        };
        write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        answer.await.unwrap_or_else(|_| Err("it was not answered".to_owned()))
    }

    /// Takes an answer. One to what was not asked, or was answered before, is nobody's.
    pub fn take_answer(&self, id: &Value, frame: &Value) {
        let waiting = id.as_u64().and_then(|id| self.state().waiting.remove(&id));
        let Some(Waiting { tell, .. }) = waiting else { return };
        let answer = match frame.get("error").filter(|error| !error.is_null()) {
            Some(error) => {
                let message = error["message"].as_str().unwrap_or("the editor refused");
                Err(message.chars().take(400).collect())
            }
            None => Ok(frame["result"].clone()),
        };
        // Who does not wait any more needs no answer.
        let _ = tell.send(answer);
    }

    /// Waits no longer for anything of a conversation.
    pub fn cancel(&self, session: &str) {
        self.state().waiting.retain(|_, waiting| waiting.session != session);
    }

    /// Waits for nothing any more: it is gone.
    pub fn leave(&self) {
        let mut state = self.state();
        state.is_gone = true;
        state.waiting.clear();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the editor what happens in a conversation.
pub fn update(session: &str, update: Value) {
    let params = json!({ "sessionId": session, "update": update });
    write(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
}

/// More of what somebody says or thinks.
pub fn chunk(session: &str, kind: &str, text: &str) {
    if !text.is_empty() {
        let content = json!({ "type": "text", "text": text });
        update(session, json!({ "sessionUpdate": kind, "content": content }));
    }
}
