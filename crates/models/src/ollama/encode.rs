//! A request in Ollama's words.

use crate::answer::is_object;
use crate::openai::Tools;
use crate::request::{Effort, ImageData, Message, Part, Request, Role, ToolChoice, text_of};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The body of the request.
pub(super) fn body(request: &Request) -> Result<Vec<u8>, serde_json::Error> {
    let mut messages = vec![];
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|block| &*block.text).collect();
        messages.push(Wire { role: "system", content: texts.join("\n\n"), ..Wire::default() });
    }
    // A result names its tool here, not its call.
    let mut names: HashMap<&str, &str> = HashMap::new();
    for message in &request.messages {
        for part in &message.parts {
            if let Part::ToolCall { id, name, .. } = part {
                names.insert(id, name);
            }
        }
        append(message, &names, &mut messages)?;
    }
    // There is no way to forbid or demand a call but to show no tools.
    let shown = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    serde_json::to_vec(&Body {
        model: &request.model,
        messages,
        tools: shown.then_some(Tools(&request.tools)),
        stream: true,
        think: request.effort.map(|effort| effort != Effort::Off),
        options: Options {
            temperature: request.temperature,
            num_predict: request.max_tokens,
            stop: &request.stop,
        },
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Wire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Tools<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<bool>,
    options: Options<'a>,
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
}

#[derive(Default, Serialize)]
struct Wire<'a> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

fn append<'a>(
    message: &'a Message,
    names: &HashMap<&str, &'a str>,
    messages: &mut Vec<Wire<'a>>,
) -> Result<(), serde_json::Error> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => {
            for part in &message.parts {
                if let Part::ToolResult { call_id, content, .. } = part {
                    messages.push(Wire {
                        role: "tool",
                        content: words(content),
                        images: images(content),
                        tool_name: names.get(&**call_id).copied(),
                        ..Wire::default()
                    });
                }
            }
            return Ok(());
        }
    };
    let mut tool_calls = vec![];
    for part in &message.parts {
        if let Part::ToolCall { name, arguments, .. } = part {
            let arguments = if is_object(arguments) { arguments } else { "{}" };
            let arguments = serde_json::from_str::<&RawValue>(arguments)?;
            tool_calls.push(Call { function: Function { name, arguments } });
        }
    }
    let images = images(&message.parts);
    messages.push(Wire {
        role,
        content: words(&message.parts),
        images,
        tool_calls,
        tool_name: None,
    });
    Ok(())
}

/// The texts, and the addresses of pictures that Ollama would not fetch.
fn words(parts: &[Part]) -> String {
    let mut all = text_of(parts);
    for part in parts {
        if let Part::Image(image) = part
            && let ImageData::Url(url) = &image.data
        {
            all.push_str("\n[image: ");
            all.push_str(url);
            all.push(']');
        }
    }
    all
}

fn images(parts: &[Part]) -> Vec<&str> {
    let inline = parts.iter().filter_map(|part| match part {
        Part::Image(image) => match &image.data {
            ImageData::Base64(data) => Some(&**data),
            ImageData::Url(_) => None,
        },
        _ => None,
    });
    inline.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Image, ToolSchema};
    use serde_json::json;

    #[test]
    fn results_name_their_tool_and_pictures_stand_apart() {
        let picture = |url| Part::Image(Image::from_url(url));
        let mut request = Request::new(
            "small",
            vec![
                Message {
                    parts: vec![
                        Part::Text("see".into()),
                        picture("data:image/png;base64,AAAA"),
                        picture("https://x.test/a.png"),
                    ],
                    ..Message::user("")
                },
                Message::assistant(vec![Part::ToolCall {
                    id: "call_0".into(),
                    name: "look".into(),
                    arguments: "{\"a\":1}".into(),
                }]),
                Message::tool_result("call_0", "found"),
            ],
        );
        request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
        request.max_tokens = Some(5);
        let wire: serde_json::Value = serde_json::from_slice(&body(&request).unwrap()).unwrap();
        assert_eq!(
            wire,
            json!({
                "model": "small",
                "messages": [
                    {"role": "user", "content": "see\n[image: https://x.test/a.png]",
                        "images": ["AAAA"]},
                    {"role": "assistant", "content": "",
                        "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]},
                    {"role": "tool", "content": "found", "tool_name": "look"},
                ],
                "tools": [{"type": "function", "function":
                    {"name": "look", "description": "looks", "parameters": {}}}],
                "stream": true,
                "options": {"num_predict": 5},
            })
        );
    }
}
