//! Tests of what is shown of a tool behind a quarantine.

use super::*;
use crate::ReadFile;

#[test]
fn the_model_is_told_what_to_ask_for() {
    let tool = Quarantined::new(ToolRef::BuiltIn(&ReadFile)).unwrap();
    assert_eq!(tool.name(), "read_file");
    let schema: Value = serde_json::from_str(tool.parameters()).unwrap();
    assert_eq!(schema["required"], json!(["path", "question", "answer_schema"]));
    assert_eq!(schema["properties"]["path"]["type"], "string");
    assert!(tool.description().contains("no free text"));
}
