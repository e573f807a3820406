//! Tasks as version `2025-11-25` of the protocol writes them. The SDK knows a later form alone
//! and would lose these: what it would lose is put where it keeps what it does not know, before
//! it reads a message.

use serde_json::{Value, json};

/// Under which name of `experimental` it stands that a server takes calls as tasks.
const TAKEN: &str = "insula/tasks";
/// Under which name of a tool's `_meta` it stands whether it is called as a task.
const SUPPORT: &str = "insula/task";
/// What a result that is a task, or tells of one, is put under.
const TASK: &str = "insulaTask";

/// How a tool may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    /// As a task only.
    Required,
    /// Otherwise.
    Other,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) status: Status,
    /// What the server says about it.
    pub(crate) message: Option<String>,
    /// How often it wants to be asked, in milliseconds.
    pub(crate) poll_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Working,
    /// It asks for something, which comes while its result is waited for.
    InputRequired,
    /// It is over, well or not.
    Over,
    Cancelled,
}

/// A message in the form that the SDK keeps; `None` where it is that already.
pub(crate) fn kept(message: &[u8]) -> Option<Vec<u8>> {
    let has_task = message.windows(5).any(|it| it == b"\"task");
    if !has_task {
        return None;
    }
    let mut message: Value = serde_json::from_slice(message).ok()?;
    let result = message.get_mut("result")?;
    rewrite(result).then(|| serde_json::to_vec(&message).ok())?
}

fn rewrite(result: &mut Value) -> bool {
    let is_newer = result.get("resultType").is_some();
    let is_task = |it: &Value| it.get("taskId").is_some_and(Value::is_string);
    if !is_newer && result.get("task").is_some_and(is_task) {
        *result = json!({ TASK: result["task"].take() });
        return true;
    }
    if !is_newer && is_task(result) && result.get("status").is_some_and(Value::is_string) {
        *result = json!({ TASK: result.take() });
        return true;
    }
    let mut is_changed = false;
    if result.pointer("/capabilities/tasks/requests/tools/call").is_some_and(Value::is_object)
        && let Some(Value::Object(capabilities)) = result.get_mut("capabilities")
    {
        let more = capabilities.entry("experimental").or_insert_with(|| json!({}));
        if let Value::Object(more) = more {
            more.insert(TAKEN.to_owned(), json!({}));
            is_changed = true;
        }
    }
    for tool in result.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten() {
        let support = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
        let Some(support) = support.map(str::to_owned) else { continue };
        let Some(tool) = tool.as_object_mut() else { continue };
        let meta = tool.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(SUPPORT.to_owned(), json!({ "is": support }));
            is_changed = true;
        }
    }
    is_changed
}

/// Whether a server says that it takes calls as tasks.
pub(crate) fn is_taken(capabilities: &rmcp::model::ServerCapabilities) -> bool {
    capabilities.experimental.as_ref().is_some_and(|it| it.contains_key(TAKEN))
}

/// How a tool may be called, by what its server says.
pub(crate) fn support(tool: &rmcp::model::Tool) -> TaskSupport {
    let said = tool.meta.as_ref().and_then(|meta| serde_json::to_value(meta).ok());
    let said = said.as_ref().and_then(|it| it.get(SUPPORT)?.get("is")?.as_str());
    if said == Some("required") { TaskSupport::Required } else { TaskSupport::Other }
}

/// The name of a tool in an entry of a list as it was rewritten, where it is called as a task only.
pub(crate) fn required(entry: &Value) -> Option<&str> {
    let said = entry.get("_meta")?.get(SUPPORT)?.get("is")?.as_str()?;
    (said == "required").then(|| entry.get("name")?.as_str())?
}

/// The task that a result is or tells of.
pub(crate) fn read(result: &Value) -> Option<Task> {
    let task = result.get(TASK)?;
    let text = |name: &str| task.get(name).and_then(Value::as_str).map(str::to_owned);
    let status = match task.get("status").and_then(Value::as_str)? {
        "working" => Status::Working,
        "input_required" => Status::InputRequired,
        "completed" | "failed" => Status::Over,
        "cancelled" => Status::Cancelled,
        _ => return None,
    };
    let poll_ms = task.get("pollInterval").and_then(Value::as_u64);
    Some(Task { id: text("taskId")?, status, message: text("statusMessage"), poll_ms })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};

    /// A result as it comes out of the SDK.
    fn through(result: Value) -> ServerResult {
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let bytes = kept(message.as_bytes()).unwrap_or_else(|| message.into_bytes());
        match serde_json::from_slice::<ServerJsonRpcMessage>(&bytes).unwrap() {
            JsonRpcMessage::Response(response) => response.result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_sdk_would_lose_is_there_after_it() {
        let greeting = through(json!({
            "protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"},
            "capabilities": {"tasks": {"requests": {"tools": {"call": {}}}}, "experimental": {"x": {}}},
        }));
        let ServerResult::InitializeResult(greeting) = greeting else { panic!("{greeting:?}") };
        assert!(is_taken(&greeting.capabilities));
        let tool = |more: Value| {
            let mut tool = json!({"name": "t", "inputSchema": {"type": "object"}});
            tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            tool
        };
        let list = through(json!({"tools": [
            tool(json!({"execution": {"taskSupport": "required"}})),
            tool(json!({"execution": {"taskSupport": "optional"}, "_meta": {"a": 1}})),
            tool(json!({})),
        ]}));
        let ServerResult::ListToolsResult(list) = list else { panic!("{list:?}") };
        let supports: Vec<TaskSupport> = list.tools.iter().map(support).collect();
        assert_eq!(supports, [TaskSupport::Required, TaskSupport::Other, TaskSupport::Other]);
        let now = json!({"taskId": "7", "status": "input_required", "statusMessage": "who?",
            "createdAt": "t", "lastUpdatedAt": "t", "ttl": 1, "pollInterval": 20, "_meta": {}});
        for result in [json!({"task": now, "_meta": {}}), now.clone()] {
            let ServerResult::CustomResult(result) = through(result) else { panic!() };
            let task = read(&result.0).unwrap();
            assert_eq!((task.id.as_str(), task.status), ("7", Status::InputRequired));
            assert_eq!((task.message.as_deref(), task.poll_ms), (Some("who?"), Some(20)));
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for result in [
            json!({"content": [{"type": "text", "text": "the \"task\" is done"}]}),
            json!({"content": [], "structuredContent": {"task": {"taskId": "1"}}}),
            json!({"resultType": "task", "taskId": "1", "status": "working"}),
            json!({"tools": [{"name": "task"}]}),
        ] {
            let message = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
            assert_eq!(kept(message.as_bytes()), None, "{message}");
        }
        assert_eq!(kept(b"{\"task"), None);
        assert_eq!(read(&json!({TASK: {"taskId": "1", "status": "odd"}})), None);
    }
}
