//! What a server has beside its tools: resources and prompts, and pictures in what it answers.

use crate::support::*;
use insula_mcp::{PROMPTS_MAX, Patience};
use serde_json::{Map, Value, json};
use std::time::Duration;

const IDLE: Duration = Duration::from_secs(900);
/// The beginning of a PNG, in base64.
const PNG: &str = "iVBORw0KGgo=";

fn has_more(message: &Value) -> Vec<Does> {
    let params = &message["params"];
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "more", "version": "1"},
        }),
        Some("resources/list") if params["cursor"].is_null() => json!({
            "resources": [{"uri": "note://1", "name": "one", "mimeType": "text/plain", "description": "the\u{1b} first"}],
            "nextCursor": "2",
        }),
        Some("resources/list") => json!({"resources": [{"uri": "note://2", "name": "two"}]}),
        Some("resources/templates/list") => {
            json!({"resourceTemplates": [{"uriTemplate": "note://{id}", "name": "any"}]})
        }
        Some("resources/read") if params["uri"] == "note://1" => json!({"contents": [
            {"uri": "note://1", "text": "words"},
            {"uri": "note://1/p", "mimeType": "image/png", "blob": PNG},
        ]}),
        Some("prompts/list") => {
            let prompt = |name: String, arguments: Value| json!({"name": name, "description": "Looks\nat it", "arguments": arguments});
            let needed = json!([{"name": "path", "required": true}, {"name": "tone"}]);
            let mut prompts = vec![prompt("review".to_owned(), needed)];
            prompts.push(prompt("a=b".to_owned(), json!([])));
            prompts.push(prompt("odd".to_owned(), json!([{"name": "two words"}])));
            prompts.extend((0..2 * PROMPTS_MAX).map(|at| prompt(format!("p{at}"), json!([]))));
            json!({"prompts": prompts})
        }
        Some("prompts/get") => json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": format!("Review {}", params["arguments"]["path"].as_str().unwrap())}},
            {"role": "assistant", "content": {"type": "text", "text": "Gladly."}},
            {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
        ]}),
        Some("tools/call") => {
            json!({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]})
        }
        _ => {
            let unknown = json!({"code": -32002, "message": "no such resource"});
            return match message["method"].as_str() {
                Some("resources/read") => {
                    vec![Does::Sends(json!({"id": message["id"], "error": unknown}))]
                }
                _ => ordinary(message),
            };
        }
    };
    vec![answer(message, result)]
}

#[tokio::test]
async fn resources_are_listed_with_templates_and_read_with_their_pictures() {
    let stage = stage(has_more, IDLE);
    let list = stage.server.resources(&stage.starts).await.unwrap().text;
    assert_eq!(
        list,
        "note://1 one (text/plain): the first\nnote://2 two\nnote://{id} any\nAddresses with `{…}` are templates: fill in what stands there.\n"
    );
    let read = stage.server.read(&stage.starts, "note://1").await.unwrap();
    assert_eq!(read.text, "[note://1]\nwords\n[note://1/p] [picture 1, image/png, 1 KB]");
    assert_eq!(read.pictures[0].data, PNG);
    let gone = stage.server.read(&stage.starts, "note://9").await.unwrap_err().to_string();
    assert_eq!(gone, "it answered with an error: no such resource");
    let long = "x".repeat(9_000);
    assert!(stage.server.read(&stage.starts, &long).await.is_err());
    assert_eq!(stage.call("fine").await.unwrap().pictures.len(), 1);
}

#[tokio::test]
async fn prompts_are_listed_in_bounds_and_filled() {
    let stage = stage(has_more, IDLE);
    let beside = stage.server.beside(&stage.starts, Patience::Usual).await.unwrap();
    assert!(beside.has_resources);
    assert_eq!(beside.prompts.len(), PROMPTS_MAX);
    let names: Vec<&str> = beside.prompts.iter().map(|it| it.name.as_str()).take(2).collect();
    assert_eq!(names, ["review", "p0"], "what nobody could type is left out");
    let review = &beside.prompts[0];
    assert_eq!(review.description, "Looks at it");
    let needed: Vec<bool> = review.arguments.iter().map(|it| it.is_needed).collect();
    assert_eq!(needed, [true, false]);
    let arguments = Map::from_iter([("path".to_owned(), json!("src"))]);
    let text = stage.server.prompt(&stage.starts, "review", arguments).await.unwrap();
    assert_eq!(text.text, "Review src\n[as if you had said] Gladly.\n[picture 1, image/png, 1 KB]");
    assert_eq!(text.pictures.len(), 1);
}

#[tokio::test]
async fn who_has_neither_is_asked_for_neither() {
    let stage = stage(ordinary, IDLE);
    let beside = stage.server.beside(&stage.starts, Patience::Usual).await.unwrap();
    assert!(!beside.has_resources && beside.prompts.is_empty());
    let none = stage.server.resources(&stage.starts).await.unwrap_err().to_string();
    assert!(none.contains("it has no resources"), "{none}");
}
