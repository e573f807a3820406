//! The tools over handles that only remember.

use super::hands::{HandError, History, Hit, Search};
use super::*;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Mutex;

#[derive(Default)]
struct FakeHistory {
    previous: Mutex<HashMap<String, String>>,
    said: Vec<Hit>,
}

#[async_trait]
impl History for FakeHistory {
    async fn search(&self, search: Search<'_>) -> Result<Vec<Hit>, HandError> {
        let hits = self.said.iter().filter(|hit| hit.text.contains(search.query));
        Ok(hits.take(search.limit).cloned().collect())
    }

    async fn around(
        &self,
        session: &str,
        message: i64,
        window: usize,
    ) -> Result<Vec<Hit>, HandError> {
        let near =
            |hit: &&Hit| hit.session == session && hit.message.abs_diff(message) <= window as u64;
        Ok(self.said.iter().filter(near).cloned().collect())
    }
}

async fn run(history: &FakeHistory, name: &str, arguments: Value) -> Result<Output, ToolError> {
    let previous = history.previous.lock().unwrap().get(name).cloned();
    let hands = Hands { previous: previous.as_deref(), ..Hands::bare(history) };
    let call = Cleared::by_the_gate(ToolRef::BuiltIn(find(name).unwrap()), arguments);
    let output = call.run(&hands).await;
    if let Ok(Output::Text(text)) = &output {
        history.previous.lock().unwrap().insert(name.to_owned(), text.clone());
    }
    output
}

fn text(output: Result<Output, ToolError>) -> String {
    match output {
        Ok(Output::Text(text)) => text,
        other => panic!("not text: {other:?}"),
    }
}

#[tokio::test]
async fn a_list_is_kept_merged_and_replaced() {
    let history = FakeHistory::default();
    assert_eq!(text(run(&history, "todo", json!({})).await), "[]");
    let two = json!({"todos": [{"id": "a", "content": "read"}, {"id": "b", "content": "write", "status": "in_progress"}]});
    assert_eq!(
        text(run(&history, "todo", two).await),
        r#"[{"id":"a","content":"read","status":"pending"},{"id":"b","content":"write","status":"in_progress"}]"#
    );
    let done =
        json!({"todos": [{"id": "a", "content": "read", "status": "completed"}], "merge": true});
    assert_eq!(
        text(run(&history, "todo", done).await),
        r#"[{"id":"a","content":"read","status":"completed"},{"id":"b","content":"write","status":"in_progress"}]"#
    );
    let one = json!({"todos": [{"id": "c", "content": "rest"}]});
    assert_eq!(
        text(run(&history, "todo", one).await),
        r#"[{"id":"c","content":"rest","status":"pending"}]"#
    );
}

#[tokio::test]
async fn a_bad_list_changes_nothing_and_says_why() {
    let history = FakeHistory::default();
    let twice = json!({"todos": [{"id": "a", "content": "x"}, {"id": "a", "content": "y"}]});
    assert!(
        matches!(run(&history, "todo", twice).await, Err(ToolError::Arguments(why)) if why.contains("twice"))
    );
    for bad in [json!({"todos": 5}), json!({"other": 1}), json!([]), json!(null)] {
        assert!(matches!(run(&history, "todo", bad).await, Err(ToolError::Arguments(_))));
    }
    assert_eq!(text(run(&history, "todo", json!({})).await), "[]");
}

#[tokio::test]
async fn a_question_ends_the_turn() {
    let history = FakeHistory::default();
    let asked =
        run(&history, "clarify", json!({"question": "Which?", "choices": ["a", "b"]})).await;
    let expected = Output::Ask { question: "Which?".into(), choices: vec!["a".into(), "b".into()] };
    assert_eq!(asked, Ok(expected));
    assert!(run(&history, "clarify", json!({"question": " "})).await.is_err());
}

#[tokio::test]
async fn a_search_finds_words_and_their_surroundings() {
    let hit = |message, text: &str| Hit {
        session: "s1".into(),
        message,
        at: "now".into(),
        role: "user".into(),
        text: text.into(),
    };
    let history =
        FakeHistory { said: vec![hit(1, "red fox"), hit(2, "blue sky")], ..FakeHistory::default() };
    let found = text(run(&history, "session_search", json!({"query": "fox"})).await);
    assert_eq!(found, "[session s1 message 1 now user] red fox");
    let near = json!({"session_id": "s1", "around_message_id": 2, "window": 0});
    assert_eq!(
        text(run(&history, "session_search", near).await),
        "[session s1 message 2 now user] blue sky"
    );
    assert_eq!(
        text(run(&history, "session_search", json!({"query": "cat"})).await),
        "nothing was found"
    );
    assert!(
        run(&history, "session_search", json!({"agent": "other", "query": "x"})).await.is_err()
    );
    assert!(run(&history, "session_search", json!({})).await.is_err());
}
