//! Sessions of the protocol's older versions: to whom they belong, and which of their calls
//! can be cancelled.

use insula_domain::AgentId;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Sessions of one credential; the one that rested longest makes room.
const PER_CALLER_MAX: usize = 32;
/// Sessions with one agent, of all credentials: what others have takes no place from it.
const PER_AGENT_MAX: usize = 256;
/// Calls of one session that are under way.
const CALLS_MAX: usize = 64;

/// The sessions of a daemon. They hold no words: losing one costs a client its `initialize`.
#[derive(Default)]
pub struct Sessions {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<String, Session>,
    /// Counts uses, for telling which rested longest.
    uses: u64,
}

struct Session {
    caller: String,
    agent: AgentId,
    used: u64,
    calls: HashMap<String, CancellationToken>,
}

impl State {
    /// Ends the session that rested longest among `these`, where there are `most` of them.
    fn make_room(&mut self, these: impl Fn(&Session) -> bool, most: usize) {
        let among = || self.open.iter().filter(|(_, session)| these(session));
        let oldest = among().min_by_key(|(_, session)| session.used);
        let oldest = oldest.map(|(id, _)| id.clone()).filter(|_| among().count() >= most);
        if let Some(oldest) = oldest {
            self.open.remove(&oldest);
        }
    }
}

/// A call that can be cancelled while this lives.
pub(super) struct Cancellable {
    pub(super) cancelled: CancellationToken,
    place: Option<(Arc<Sessions>, String, String)>,
}

impl Sessions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that no other session of this daemon has.
    pub(super) fn number(&self) -> u64 {
        let mut state = self.state();
        state.uses += 1;
        state.uses
    }

    /// Opens a session under an id that nobody can guess.
    pub(super) fn open(&self, id: String, caller: &str, agent: &AgentId) {
        let mut state = self.state();
        let of_caller = |it: &Session| it.caller == caller;
        let with_agent = |it: &Session| it.agent == *agent;
        state.make_room(of_caller, PER_CALLER_MAX);
        state.make_room(with_agent, PER_AGENT_MAX);
        state.uses += 1;
        let used = state.uses;
        let session = Session {
            caller: caller.to_owned(),
            agent: agent.clone(),
            used,
            calls: HashMap::new(),
        };
        state.open.insert(id, session);
    }

    /// Notes that a session is used; whether there is one of this caller's with this agent.
    pub(super) fn touch(&self, id: &str, caller: &str, agent: &AgentId) -> bool {
        let mut state = self.state();
        state.uses += 1;
        let used = state.uses;
        match state.open.get_mut(id).filter(|it| it.is_of(caller, agent)) {
            Some(session) => {
                session.used = used;
                true
            }
            None => false,
        }
    }

    /// Ends a session; whether there was one.
    pub(super) fn end(&self, id: &str, caller: &str, agent: &AgentId) -> bool {
        let mut state = self.state();
        let is_there = state.open.get(id).is_some_and(|it| it.is_of(caller, agent));
        is_there && state.open.remove(id).is_some()
    }

    /// Begins a call. Without a session, or with too many calls in it, it can't be cancelled.
    pub(super) fn begin(self: &Arc<Self>, session: Option<&str>, request: &Value) -> Cancellable {
        let cancelled = CancellationToken::new();
        let key = request.to_string();
        let mut place = None;
        if let Some(id) = session
            && let Some(open) = self.state().open.get_mut(id)
            && open.calls.len() < CALLS_MAX
        {
            open.calls.insert(key.clone(), cancelled.clone());
            place = Some((self.clone(), id.to_owned(), key));
        }
        Cancellable { cancelled, place }
    }

    /// Cancels a call of a session.
    pub(super) fn cancel(&self, id: &str, caller: &str, agent: &AgentId, request: &Value) {
        let state = self.state();
        let session = state.open.get(id).filter(|it| it.is_of(caller, agent));
        if let Some(call) = session.and_then(|it| it.calls.get(&request.to_string())) {
            call.cancel();
        }
    }
}

impl Session {
    fn is_of(&self, caller: &str, agent: &AgentId) -> bool {
        self.caller == caller && self.agent == *agent
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        if let Some((sessions, id, key)) = self.place.take()
            && let Some(session) = sessions.state().open.get_mut(&id)
        {
            session.calls.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn agent(text: &str) -> AgentId {
        AgentId::new(text).unwrap()
    }

    #[test]
    fn a_session_is_its_callers_with_its_agent() {
        let sessions = Arc::new(Sessions::default());
        sessions.open("s".to_owned(), "ann", &agent("a"));
        assert!(sessions.touch("s", "ann", &agent("a")));
        assert!(
            !sessions.touch("s", "bob", &agent("a")) && !sessions.touch("s", "ann", &agent("b"))
        );
        let call = sessions.begin(Some("s"), &json!(1));
        sessions.cancel("s", "bob", &agent("a"), &json!(1));
        sessions.cancel("s", "ann", &agent("a"), &json!("1"));
        assert!(!call.cancelled.is_cancelled());
        sessions.cancel("s", "ann", &agent("a"), &json!(1));
        assert!(call.cancelled.is_cancelled());
        drop(call);
        assert!(sessions.state().open["s"].calls.is_empty());
        assert!(!sessions.end("s", "bob", &agent("a")) && sessions.end("s", "ann", &agent("a")));
        assert!(!sessions.touch("s", "ann", &agent("a")));
    }

    #[test]
    fn one_caller_can_not_push_out_anothers_sessions() {
        let sessions = Sessions::default();
        sessions.open("keep".to_owned(), "ann", &agent("a"));
        for number in 0..1_000 {
            sessions.open(format!("flood-{number}"), "bob", &agent("a"));
        }
        assert!(sessions.touch("keep", "ann", &agent("a")));
        assert_eq!(sessions.state().open.len(), PER_CALLER_MAX + 1);
        assert!(sessions.touch("flood-999", "bob", &agent("a")));
        assert!(!sessions.touch("flood-0", "bob", &agent("a")));
    }
}
