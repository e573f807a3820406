//! Questions of a server to whoever its call is made for.

use crate::support::*;
use insula_mcp::{Asked, Asking, CallOutcome, Questions, Reply, ServerError};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

const IDLE: Duration = Duration::from_secs(7_200);

/// Asks before it answers, and answers with what it was told. What it asks is the name of the tool.
fn asks(message: &Value) -> Vec<Does> {
    if message["method"] == "initialize" {
        let mut greeting = ordinary(message);
        if let Some(Does::Sends(greeting)) = greeting.first_mut() {
            let said = message["params"]["capabilities"]["elicitation"].to_string();
            greeting["result"]["serverInfo"]["name"] = json!(said);
        }
        return greeting;
    }
    if let Some(id) = message["id"].as_str().and_then(|it| it.strip_prefix("ask ")) {
        let said = message.get("result").unwrap_or(&message["error"]["message"]);
        let id: u64 = id.parse().unwrap();
        return vec![Does::Sends(json!({"id": id, "result": says(&said.to_string())}))];
    }
    if message["method"] != "tools/call" || calls(message, "fine") {
        return ordinary(message);
    }
    if calls(message, "mute") {
        return vec![];
    }
    let properties = match message["params"]["name"].as_str().unwrap() {
        "secret" => json!({"password": {"type": "string"}}),
        _ => json!({"n": {"type": "integer"}}),
    };
    let params = json!({"message": "How many?",
        "requestedSchema": {"type": "object", "properties": properties, "required": ["n"]}});
    let params = match message["params"]["name"].as_str().unwrap() {
        "page" => {
            json!({"mode": "url", "message": "m", "url": "https://e.org/x", "elicitationId": "1"})
        }
        "secret" => {
            let mut params = params;
            params["requestedSchema"]["required"] = json!([]);
            params
        }
        _ => params,
    };
    let id = format!("ask {}", message["id"]);
    vec![Does::Sends(json!({"id": id, "method": "elicitation/create", "params": params}))]
}

async fn ask(
    stage: &Stage,
    tool: &str,
    questions: Option<Questions>,
) -> Result<CallOutcome, ServerError> {
    stage.server.call(&stage.starts, tool, Map::new(), questions).await
}

/// What the server was told.
async fn told(stage: &Stage, tool: &str, answered: impl FnOnce(Asked)) -> String {
    let (questions, mut asked) = mpsc::channel::<Asked>(1);
    let person = async { answered(asked.recv().await.unwrap()) };
    let (outcome, ()) = tokio::join!(ask(stage, tool, Some(questions)), person);
    outcome.unwrap().text
}

#[tokio::test]
async fn whoever_a_call_is_made_for_is_asked_and_answers_as_they_like() {
    let stage = asking_stage(asks, IDLE, Asking::Offered);
    let accepts = told(&stage, "ask", |asked| {
        assert!(asked.question.in_words("s", "ask").contains("asks, to go on with `ask`"));
        let reply = asked.question.answered("4").unwrap();
        asked.answer(reply);
    });
    assert_eq!(accepts.await, r#"{"action":"accept","content":{"n":4}}"#);
    let declines = told(&stage, "ask", |asked| asked.answer(Reply::Decline)).await;
    assert_eq!(declines, r#"{"action":"decline"}"#);
    assert_eq!(told(&stage, "ask", drop).await, r#"{"action":"cancel"}"#);
    let page = told(&stage, "page", |asked| asked.answer(Reply::Accept(None))).await;
    assert_eq!(page, r#"{"action":"accept"}"#);
    let facts = stage.server.facts_now();
    assert_eq!(facts.says_it_is.as_deref(), Some(r#"{"form":{},"url":{}} 1"#));
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_is_not_offered_and_declined() {
    let quiet = asking_stage(asks, IDLE, Asking::Refused);
    let refused = ask(&quiet, "ask", None).await.unwrap().text;
    assert_eq!(refused, r#""a question to the user is not offered here""#);
    assert_eq!(quiet.server.facts_now().says_it_is.as_deref(), Some("null 1"));
    let stage = asking_stage(asks, IDLE, Asking::Offered);
    let declined = ask(&stage, "ask", None).await.unwrap().text;
    assert_eq!(declined, r#"{"action":"decline"}"#);
    // What is not for a conversation reaches nobody.
    let (questions, mut asked) = mpsc::channel::<Asked>(1);
    let declined = ask(&stage, "secret", Some(questions)).await.unwrap().text;
    assert_eq!(declined, r#"{"action":"decline"}"#);
    assert!(asked.try_recv().is_err());
}

#[tokio::test]
async fn where_several_calls_are_under_way_nobody_is_asked_about_anothers() {
    let stage = asking_stage(asks, IDLE, Asking::Offered);
    stage.works().await;
    let (questions, mut asked) = mpsc::channel::<Asked>(1);
    let other = ask(&stage, "mute", None);
    tokio::pin!(other);
    let declined = tokio::select! {
        biased;
        _ = &mut other => panic!("it never answers"),
        told = ask(&stage, "ask", Some(questions)) => told.unwrap().text,
    };
    assert_eq!(declined, r#"{"action":"decline"}"#);
    assert!(asked.try_recv().is_err());
}

#[tokio::test]
async fn while_a_person_thinks_the_server_is_not_late() {
    let stage = asking_stage(asks, IDLE, Asking::Offered);
    stage.works().await;
    let (questions, mut asked) = mpsc::channel::<Asked>(1);
    let person = async {
        let asked = asked.recv().await.unwrap();
        for _ in 0..30 {
            stage.pass(MINUTE).await;
        }
        asked.answer(Reply::Accept(Some(Map::new())));
    };
    let (outcome, ()) = tokio::join!(ask(&stage, "ask", Some(questions)), person);
    assert_eq!(outcome.unwrap().text, r#"{"action":"accept","content":{}}"#);
    // And another call is, all the same.
    let (questions, mut asked) = mpsc::channel::<Asked>(1);
    let waits = ask(&stage, "ask", Some(questions));
    tokio::pin!(waits);
    let held = tokio::select! {
        biased;
        _ = &mut waits => panic!("nobody answered"),
        held = asked.recv() => held,
    };
    let other = tokio::select! {
        biased;
        _ = &mut waits => panic!("nobody answered"),
        (other, ()) = async { tokio::join!(ask(&stage, "mute", None), stage.pass(2 * MINUTE)) } => other,
    };
    assert_eq!(other.unwrap_err().to_string(), "it did not answer within 60 s");
    drop(held);
}
