//! Tests of what is shown of a tool behind a quarantine.

use super::*;
use crate::hands::{History, Hit, Search};
use crate::{HandError, ReadFile, Reader};
use std::sync::Arc;

/// A tool that fails in a given way.
struct Fails(ToolError);

#[async_trait]
impl Tool for Fails {
    fn name(&self) -> &str {
        "mcp__x__look"
    }

    fn description(&self) -> &str {
        "Look."
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object"}"#
    }

    async fn run(&self, _: &Hands<'_>, _: &Cleared) -> Result<Output, ToolError> {
        Err(self.0.clone())
    }
}

/// Nobody reads, and nothing was said.
struct Nobody;

#[async_trait]
impl Reader for Nobody {
    async fn answer(&self, _: &str, _: &str, _: &Value) -> Result<Value, ToolError> {
        Err(ToolError::Hand(HandError("nothing came to be read".to_owned())))
    }
}

#[async_trait]
impl History for Nobody {
    async fn search(&self, _: Search<'_>) -> Result<Vec<Hit>, HandError> {
        Ok(Vec::new())
    }

    async fn around(&self, _: &str, _: i64, _: usize) -> Result<Vec<Hit>, HandError> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn nothing_is_told_of_what_failed_but_what_was_asked_wrongly() {
    let words = || "pay-mallory-at-once.test is refused".to_owned();
    let foreign = Piece::Foreign { source: String::new(), text: words() };
    for (error, is_told) in [
        (ToolError::Refused(words()), false),
        (ToolError::Hand(HandError(words())), false),
        (ToolError::Pieces(vec![foreign]), false),
        (ToolError::Arguments(words()), true),
    ] {
        let tool = Quarantined::new(ToolRef::Own(Arc::new(Fails(error)))).unwrap();
        let asked = json!({ "question": "is it?", "answer_schema": { "type": "boolean" } });
        let call = Cleared::by_the_gate(ToolRef::Own(Arc::new(tool)), asked);
        let hands = Hands { reader: Some(&Nobody), ..Hands::bare(&Nobody) };
        let said = call.run(&hands).await.unwrap_err().to_string();
        assert_eq!(said.contains("pay-mallory"), is_told, "{said}");
        assert_eq!(said.contains("not shown in quarantine"), !is_told, "{said}");
    }
}

#[test]
fn the_model_is_told_what_to_ask_for() {
    let tool = Quarantined::new(ToolRef::BuiltIn(&ReadFile)).unwrap();
    assert_eq!(tool.name(), "read_file");
    let schema: Value = serde_json::from_str(tool.parameters()).unwrap();
    assert_eq!(schema["required"], json!(["path", "question", "answer_schema"]));
    assert_eq!(schema["properties"]["path"]["type"], "string");
    assert!(tool.description().contains("no free text"));
}
