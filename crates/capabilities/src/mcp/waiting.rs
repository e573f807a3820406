//! Calls of servers' tools that wait for an answer of whoever they are made for. A turn ends with
//! the question; the next message of the same person in the same conversation is the answer.

use crate::Capabilities;
use insula_domain::{Actor, AgentId};
use insula_mcp::{ANSWER_WITHIN, Asked, CallOutcome, Reply, ServerError, full_name};
use insula_store::SessionId;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// How often somebody is asked again whose words are no answer.
const TRIES_MAX: usize = 3;

/// Who is asked, and what they said last.
#[derive(Debug, Clone)]
pub struct Person {
    pub session: SessionId,
    pub principal: Actor,
    /// What they typed in this turn.
    pub said: String,
}

/// A call that goes on by itself: it ends when this is dropped.
pub(super) struct RunningCall {
    pub(super) done: AbortOnDropHandle<Result<CallOutcome, ServerError>>,
    pub(super) asked: mpsc::Receiver<Asked>,
}

/// A call that waits for an answer.
struct WaitingCall {
    /// Tells it from one that waits there later.
    number: u64,
    principal: Actor,
    server: Box<str>,
    tool: Box<str>,
    arguments: Value,
    asked: Asked,
    running: RunningCall,
    tries: usize,
}

/// The calls that wait, one a conversation.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    last: u64,
    calls: BTreeMap<(AgentId, SessionId), WaitingCall>,
}

/// What becomes of a call that waited.
pub(super) enum Went {
    /// It was answered, and goes on.
    On(RunningCall),
    /// It waits again: what the person is told, with what was wrong with the answer.
    Asks(String),
    /// It was told that nobody answers, and what the person is told of that.
    GivenUp(RunningCall, String),
}

impl WaitingCalls {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends what waits in a conversation: nobody answers there any more.
    pub(crate) fn end_session(&self, agent: &AgentId, session: SessionId) {
        let ended = self.held().calls.remove(&(agent.clone(), session));
        drop(ended);
    }

    /// Ends what waits for an answer to agents that are none of these.
    pub(crate) fn keep_only(&self, is_there: impl Fn(&AgentId) -> bool) {
        self.held().calls.retain(|(agent, _), _| is_there(agent));
    }
}

impl Capabilities {
    /// The call that waits in a conversation for an answer of this person: the tool, by the name a
    /// model calls it, and its arguments.
    pub fn waiting_call(
        &self,
        agent: &AgentId,
        session: SessionId,
        principal: &Actor,
    ) -> Option<(String, Value)> {
        let held = self.programs.servers.waiting.held();
        let call = held.calls.get(&(agent.clone(), session))?;
        let is_theirs = call.principal == *principal;
        let name = full_name(&call.server, &call.tool).filter(|_| is_theirs)?;
        Some((name, call.arguments.clone()))
    }

    /// Has a call wait for an answer; the question, in words.
    pub(super) fn have_wait(
        &self,
        agent: &AgentId,
        person: &Person,
        (server, tool, arguments): (&str, &str, &Value),
        (asked, running): (Asked, RunningCall),
    ) -> String {
        let call = WaitingCall {
            number: 0,
            principal: person.principal.clone(),
            server: server.into(),
            tool: tool.into(),
            arguments: arguments.clone(),
            asked,
            running,
            tries: 0,
        };
        self.hold(agent, person.session, call)
    }

    fn hold(&self, agent: &AgentId, session: SessionId, mut call: WaitingCall) -> String {
        let question = call.asked.question.in_words(&call.server, &call.tool);
        let place = (agent.clone(), session);
        let number = {
            let mut held = self.programs.servers.waiting.held();
            held.last += 1;
            call.number = held.last;
            let number = call.number;
            drop(held.calls.insert(place.clone(), call));
            number
        };
        let caps = self.clone();
        tokio::spawn(async move {
            caps.world.clock.sleep(ANSWER_WITHIN).await;
            let mut held = caps.programs.servers.waiting.held();
            if held.calls.get(&place).is_some_and(|call| call.number == number) {
                held.calls.remove(&place);
            }
        });
        question
    }

    /// Goes on with exactly this call, where it waits for this person.
    pub(super) fn answer_waiting(
        &self,
        agent: &AgentId,
        person: &Person,
        (server, tool, arguments): (&str, &str, &Value),
    ) -> Option<Went> {
        let place = (agent.clone(), person.session);
        let mut call = {
            let mut held = self.programs.servers.waiting.held();
            let is_it = held.calls.get(&place).is_some_and(|call| {
                call.principal == person.principal
                    && (&*call.server, &*call.tool) == (server, tool)
                    && call.arguments == *arguments
            });
            if !is_it {
                return None;
            }
            held.calls.remove(&place)?
        };
        let reply = match call.asked.question.answered(&person.said) {
            Ok(reply) => reply,
            Err(why) if call.tries + 1 < TRIES_MAX => {
                call.tries += 1;
                let question = self.hold(agent, person.session, call);
                return Some(Went::Asks(format!("That is no answer to it: {why}.\n{question}")));
            }
            Err(why) => {
                let told = format!(
                    "That is no answer to it either: {why}.\nThat was the third, so the MCP server `{}` was told that nobody answers, and `{}` was given up. Ask for it again if you still want it.",
                    call.server, call.tool
                );
                call.asked.answer(Reply::Cancel);
                return Some(Went::GivenUp(call.running, told));
            }
        };
        let WaitingCall { asked, running, .. } = call;
        asked.answer(reply);
        Some(Went::On(running))
    }
}
