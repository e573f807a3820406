//! Calls that a server works on in the background: begun, asked about until they are over, and
//! cancelled when nobody waits for them any more.

use super::{CallGuard, Connection, PROGRESS_FACTOR, Server, ServerError};
use crate::task_form::{self, Status, Task, TaskSupport};
use crate::words::plain;
use rmcp::RoleClient;
use rmcp::model::{CallToolResult, ClientRequest, CustomRequest, JsonObject, ServerResult, Tool};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Value, json};
use std::sync::PoisonError;
use std::time::Duration;

/// How often a task is asked about, unless the server wants otherwise; at the least and at the most.
const POLL: Duration = Duration::from_secs(1);
const POLL_RANGE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// Longest name of a task: it is sent back.
const ID_BYTES_MAX: usize = 512;

impl Connection {
    /// Those among tools that its server takes as tasks only. Whoever does not say that it takes
    /// any is asked for none, whatever it says of its tools.
    pub(super) fn tasks_among(&self, tools: &[Tool]) -> Vec<String> {
        if !self.takes_tasks() {
            return Vec::new();
        }
        let required = tools.iter().filter(|it| task_form::support(it) == TaskSupport::Required);
        required.map(|tool| tool.name.to_string()).collect()
    }

    /// Whether its server says that it takes calls as tasks.
    pub(super) fn takes_tasks(&self) -> bool {
        let info = self.service.peer().peer_info();
        info.as_deref().is_some_and(|info| task_form::is_taken(&info.capabilities))
    }

    /// Notes which tools are called as tasks.
    pub(super) fn note_tasks(&self, tools: Vec<String>) {
        self.as_tasks.lock().unwrap_or_else(PoisonError::into_inner).extend(tools);
    }

    pub(super) fn calls_as_task(&self, tool: &str) -> bool {
        self.as_tasks.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}

impl Server {
    /// Calls a tool as a task and waits for its end: as long as a call may take whose server tells
    /// of progress.
    pub(super) async fn called_as_task(
        &self,
        connection: &Connection,
        call: &CallGuard,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, ServerError> {
        let longest = self.limits.call.saturating_mul(PROGRESS_FACTOR);
        let kept_ms = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let params = json!({ "name": tool, "arguments": arguments, "task": { "ttl": kept_ms } });
        let peer = connection.service.peer();
        let begun = send(peer, "tools/call", params);
        let mut task = match self.patiently(connection, Some(call), begun).await? {
            // It may have been quicker than the asking.
            ServerResult::CallToolResult(result) => return Ok(result),
            other => of(&other).ok_or(ServerError::Wants("a call as a task, and makes none"))?,
        };
        let id = task.id.clone();
        if id.len() > ID_BYTES_MAX {
            return Err(ServerError::Answered("its task has a name that is too long".to_owned()));
        }
        let unfinished = Unfinished { peer: peer.clone(), id: Some(id.clone()) };
        let until = self.clock.elapsed() + longest;
        while task.status == Status::Working {
            if self.clock.elapsed() >= until {
                return Err(ServerError::TimedOut(longest.as_secs()));
            }
            let pause = task.poll_ms.map_or(POLL, Duration::from_millis);
            self.clock.sleep(pause.clamp(POLL_RANGE.0, POLL_RANGE.1)).await;
            let asking = send(peer, "tasks/get", json!({ "taskId": id }));
            let told = self.patiently(connection, Some(call), asking).await?;
            let told = of(&told).filter(|told| told.id == id);
            let none =
                || ServerError::Answered("nothing that tells how its task stands".to_owned());
            task = told.ok_or_else(none)?;
        }
        if task.status == Status::Cancelled {
            unfinished.end();
            let said = task.message.as_deref().map_or_else(String::new, |it| format!(": {it}"));
            return Err(ServerError::Answered(plain(&format!("the task was cancelled{said}"))));
        }
        // What it asks for comes while its result is waited for.
        let asking = send(peer, "tasks/result", json!({ "taskId": id }));
        let result = self.patiently(connection, Some(call), asking).await;
        match result? {
            ServerResult::CallToolResult(result) => {
                unfinished.end();
                Ok(result)
            }
            _ => Err(ServerError::Answered("something that is no result of a task".to_owned())),
        }
    }
}

fn of(result: &ServerResult) -> Option<Task> {
    match result {
        ServerResult::CustomResult(result) => task_form::read(&result.0),
        _ => None,
    }
}

async fn send(
    peer: &Peer<RoleClient>,
    method: &str,
    params: Value,
) -> Result<ServerResult, ServiceError> {
    let request = CustomRequest::new(method, Some(params));
    peer.send_request(ClientRequest::CustomRequest(request)).await
}

/// A task that is not over: whoever stops waiting for it has it cancelled.
struct Unfinished {
    peer: Peer<RoleClient>,
    id: Option<String>,
}

impl Unfinished {
    fn end(mut self) {
        self.id = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        tokio::spawn(async move {
            // Whatever it answers: nobody waits.
            let _ = send(&peer, "tasks/cancel", json!({ "taskId": id })).await;
        });
    }
}
