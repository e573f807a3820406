//! Calls that a server works on as tasks, in the form of version `2025-11-25`.

use crate::support::*;
use insula_mcp::Patience;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const IDLE: Duration = Duration::from_secs(7_200);

fn task(status: &str) -> Value {
    json!({"taskId": "t1", "status": status, "createdAt": "x", "lastUpdatedAt": "x",
        "ttl": 60_000, "pollInterval": 2_000, "statusMessage": "so far"})
}

fn lists(message: &Value, takes: bool) -> Option<Value> {
    let described = |name: &str, support: Value| {
        let mut tool = tool(name, "Works.");
        tool["execution"] = support;
        tool
    };
    Some(match message["method"].as_str()? {
        "initialize" => {
            let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            let tasks = if takes { tasks } else { Value::Null };
            json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}, "tasks": tasks},
                "serverInfo": {"name": "tasks", "version": "1"},
            })
        }
        "tools/list" => json!({"tools": [
            described("fine", json!({"taskSupport": "optional"})),
            described("slow", json!({"taskSupport": "required"})),
        ]}),
        _ => return None,
    })
}

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Takes three questions to be through.
fn works(message: &Value) -> Vec<Does> {
    if let Some(result) = lists(message, true) {
        return vec![answer(message, result)];
    }
    let params = &message["params"];
    let result = match message["method"].as_str() {
        Some("tools/call") if params["name"] == "slow" => {
            assert!(params["task"]["ttl"].as_u64().unwrap() >= 600_000, "{params}");
            json!({"task": task("working"), "_meta": {}})
        }
        Some("tools/call") => {
            assert_eq!(params.get("task"), None);
            says("fine")
        }
        Some("tasks/get") => {
            let count = ASKED.fetch_add(1, Ordering::Relaxed);
            task(if count < 2 { "working" } else { "completed" })
        }
        Some("tasks/result") => {
            assert_eq!(params["taskId"], "t1");
            says("slow and done")
        }
        _ => return vec![],
    };
    vec![answer(message, result)]
}

#[tokio::test]
async fn a_tool_that_wants_to_be_a_task_is_waited_for_at_its_pace() {
    let stage = stage(works, IDLE);
    stage.server.tools(&stage.starts, Patience::Usual).await.unwrap();
    stage.works().await;
    let time = async {
        for _ in 0..3 {
            stage.pass(Duration::from_secs(2)).await;
        }
    };
    let (done, ()) = tokio::join!(stage.call("slow"), time);
    assert_eq!(done.unwrap().text, "slow and done");
    assert_eq!(ASKED.load(Ordering::Relaxed), 3);
}

static CANCELLED: AtomicUsize = AtomicUsize::new(0);
static CALLED_PLAINLY: AtomicUsize = AtomicUsize::new(0);

/// Is never through.
fn never(message: &Value) -> Vec<Does> {
    if let Some(result) = lists(message, true) {
        return vec![answer(message, result)];
    }
    let result = match message["method"].as_str() {
        Some("tools/call") => json!({"task": task("working")}),
        Some("tasks/get") => task("working"),
        Some("tasks/cancel") => {
            CANCELLED.fetch_add(1, Ordering::Relaxed);
            task("cancelled")
        }
        _ => return vec![],
    };
    vec![answer(message, result)]
}

#[tokio::test]
async fn a_task_that_nobody_waits_for_any_more_is_cancelled() {
    let stage = stage(never, IDLE);
    stage.server.tools(&stage.starts, Patience::Usual).await.unwrap();
    // Stopped half way.
    tokio::select! {
        biased;
        _ = stage.call("slow") => panic!("it is never through"),
        () = stage.pass(Duration::from_secs(5)) => {}
    }
    while CANCELLED.load(Ordering::Relaxed) == 0 {
        stage.pass(Duration::from_millis(1)).await;
    }
    // By its deadline: ten times what a call may take.
    let time = async {
        for _ in 0..400 {
            stage.pass(Duration::from_secs(2)).await;
        }
    };
    let (late, ()) = tokio::join!(stage.call("slow"), time);
    assert_eq!(late.unwrap_err().to_string(), "it did not answer within 600 s");
    while CANCELLED.load(Ordering::Relaxed) == 1 {
        stage.pass(Duration::from_millis(1)).await;
    }
}

/// Says of a tool what it does not say of itself.
fn takes_none(message: &Value) -> Vec<Does> {
    if let Some(result) = lists(message, false) {
        return vec![answer(message, result)];
    }
    if message["method"] == "tools/call" {
        assert_eq!(message["params"].get("task"), None);
        CALLED_PLAINLY.fetch_add(1, Ordering::Relaxed);
        return vec![answer(message, says("plainly"))];
    }
    vec![]
}

#[tokio::test]
async fn who_does_not_take_tasks_gets_none() {
    let stage = stage(takes_none, IDLE);
    stage.server.tools(&stage.starts, Patience::Usual).await.unwrap();
    assert_eq!(stage.call("slow").await.unwrap().text, "plainly");
    assert_eq!(CALLED_PLAINLY.load(Ordering::Relaxed), 1);
}

/// Fails in the ways a task can.
fn fails(message: &Value) -> Vec<Does> {
    if let Some(result) = lists(message, true) {
        return vec![answer(message, result)];
    }
    let result = match message["method"].as_str() {
        Some("tools/call") if message["params"]["arguments"]["how"] == "cancels" => {
            json!({"task": task("cancelled")})
        }
        Some("tools/call") if message["params"]["arguments"]["how"] == "odd" => {
            json!({"task": {"taskId": "t1"}})
        }
        Some("tools/call") => json!({"task": task("failed")}),
        Some("tasks/result") => {
            let error = json!({"code": -32603, "message": "it broke"});
            return vec![Does::Sends(json!({"id": message["id"], "error": error}))];
        }
        _ => return vec![],
    };
    vec![answer(message, result)]
}

#[tokio::test]
async fn what_becomes_of_a_task_is_told() {
    let stage = stage(fails, IDLE);
    stage.server.tools(&stage.starts, Patience::Usual).await.unwrap();
    for (how, told) in [
        ("fails", "it answered with an error: it broke"),
        ("cancels", "it answered with an error: the task was cancelled: so far"),
        ("odd", "it asks for more than a call: a call as a task, and makes none"),
    ] {
        let arguments = serde_json::Map::from_iter([("how".to_owned(), json!(how))]);
        let call = stage.server.call(&stage.starts, "slow", arguments, None).await;
        assert_eq!(call.unwrap_err().to_string(), told);
    }
}

/// One of its tools is none: the SDK reads no list with it.
fn works_beside_one_without_a_schema(message: &Value) -> Vec<Does> {
    let mut result = match lists(message, true) {
        Some(result) => result,
        None if message["method"] == "tools/call" => {
            says(if message["params"]["task"].is_object() { "as a task" } else { "plainly" })
        }
        None => return vec![],
    };
    if let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) {
        tools.push(json!({"name": "bare", "description": "Has no schema."}));
    }
    vec![answer(message, result)]
}

#[tokio::test]
async fn tools_stay_tasks_beside_one_that_can_not_be_read() {
    let stage = stage(works_beside_one_without_a_schema, IDLE);
    let offers = stage.server.tools(&stage.starts, Patience::Usual).await.unwrap();
    let fit: Vec<_> = offers.iter().filter(|it| it.unfit.is_none()).map(|it| &*it.name).collect();
    assert_eq!(fit, ["fine", "slow"]);
    assert_eq!(stage.call("slow").await.unwrap().text, "as a task");
    assert_eq!(stage.call("fine").await.unwrap().text, "plainly");
}
