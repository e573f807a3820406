//! Pieces of messages, as model providers write them.

use crate::plan::PartPlan;
use serde_json::Value;

/// One piece. What can't be brought along is told in words, so that nothing is silently gone.
pub(crate) fn part(item: &Value) -> PartPlan {
    let text = |key: &str| item[key].as_str().map(str::to_owned);
    let kind = item["type"].as_str().unwrap_or_default();
    match kind {
        "text" | "input_text" | "output_text" => PartPlan::Text(text("text").unwrap_or_default()),
        "thinking" | "reasoning" => {
            PartPlan::Reasoning(text("thinking").or_else(|| text("text")).unwrap_or_default())
        }
        "toolCall" | "tool_use" => PartPlan::Call {
            id: text("id").unwrap_or_default(),
            name: text("name").unwrap_or_default(),
            arguments: match &item["arguments"] {
                Value::String(arguments) => arguments.clone(),
                Value::Null => item["input"].to_string(),
                arguments => arguments.to_string(),
            },
        },
        "image" | "image_url" | "input_image" => {
            PartPlan::Beside("[a picture, which was not imported]".to_owned())
        }
        _ => match item.as_str() {
            Some(text) => PartPlan::Text(text.to_owned()),
            None => {
                let kind: String = kind
                    .chars()
                    .filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
                    .take(40)
                    .collect();
                PartPlan::Beside(format!("[{kind} content, which was not imported]"))
            }
        },
    }
}

/// All pieces of a content, which may be one text.
pub(crate) fn parts(content: &Value) -> Vec<PartPlan> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![PartPlan::Text(text.clone())],
        Value::Array(items) => items.iter().map(part).collect(),
        _ => Vec::new(),
    }
}

/// The words of pieces, one after another.
pub(crate) fn words(parts: &[PartPlan]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        PartPlan::Text(text) | PartPlan::Beside(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
