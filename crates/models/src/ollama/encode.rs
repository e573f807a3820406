//! A request in Ollama's words.

use crate::fit::{Calls, fitted};
use crate::manner::{Extras, Manner};
use crate::openai::Tools;
use crate::options::{ModelOptions, with_extra};
use crate::request::{
    AnswerFormat, Effort, ImageData, Message, Part, Request, Role, ToolChoice, text_of,
};
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The body of the request, put in this manner, for a window of this size.
pub(super) fn body(
    request: &Request,
    manner: &Manner,
    options: &ModelOptions,
    window: Option<u32>,
) -> Result<Vec<u8>, serde_json::Error> {
    let is_flat = manner.fit.calls == Calls::InWords;
    let said = fitted(request, &manner.fit);
    let mut messages = vec![];
    let blocks = request.system.iter().map(|block| &*block.text).filter(|it| !it.is_empty());
    let system: Vec<&str> = blocks.collect();
    if !system.is_empty() && manner.fit.has_system() {
        messages.push(Wire { role: "system", content: system.join("\n\n"), ..Wire::default() });
    }
    // A result names its tool here, not its call.
    let mut names: HashMap<&str, &str> = HashMap::new();
    for message in &said {
        for part in &message.parts {
            if let Part::ToolCall { id, name, .. } = part {
                names.insert(id, name);
            }
        }
        append(message, &names, &mut messages)?;
    }
    // There is no way to forbid or demand a call but to show no tools.
    let shown = !request.tools.is_empty() && request.tool_choice != ToolChoice::None && !is_flat;
    let has_extras = manner.extras == Extras::All;
    let sampling = &options.sampling;
    let body = serde_json::to_vec(&Body {
        model: &request.model,
        messages,
        tools: shown.then_some(Tools::AsTheyStand(&request.tools)),
        stream: true,
        think: request.effort.filter(|_| has_extras).map(|effort| effort != Effort::Off),
        format: request.format.as_ref().map(|format| match format {
            AnswerFormat::Json => Format::Word("json"),
            AnswerFormat::Schema { schema, .. } => Format::Schema(schema),
        }),
        options: Options {
            temperature: request.temperature,
            top_p: sampling.top_p,
            top_k: sampling.top_k,
            min_p: sampling.min_p,
            presence_penalty: sampling.presence_penalty,
            frequency_penalty: sampling.frequency_penalty,
            repeat_penalty: sampling.repeat_penalty,
            seed: sampling.seed,
            num_ctx: window,
            num_predict: request.max_tokens.map(|tokens| manner.capped(tokens)),
            stop: &request.stop,
        },
    })?;
    with_extra(body, &options.extra_body)
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
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
    options: Options<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Format<'a> {
    Word(&'static str),
    Schema(&'a RawValue),
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u32>,
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
                        content: text_of(content),
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
            let arguments = serde_json::from_str::<&RawValue>(arguments)?;
            tool_calls.push(Call { function: Function { name, arguments } });
        }
    }
    let images = images(&message.parts);
    messages.push(Wire {
        role,
        content: text_of(&message.parts),
        images,
        tool_calls,
        tool_name: None,
    });
    Ok(())
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
    use crate::ollama::manner;
    use crate::request::{Image, ToolSchema};
    use crate::window::Abilities;
    use serde_json::json;

    fn sent(request: &Request, options: &ModelOptions) -> serde_json::Value {
        let manner = manner(Abilities { window: 9, sees_images: true }, options);
        serde_json::from_slice(&body(request, &manner, options, Some(9)).unwrap()).unwrap()
    }

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
        let wire = sent(&request, &ModelOptions::default());
        assert_eq!(
            wire,
            json!({
                "model": "small",
                "messages": [
                    {"role": "user", "images": ["AAAA"],
                        "content": "see[a picture at https://x.test/a.png; this model can't be shown it]"},
                    {"role": "assistant", "content": "",
                        "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]},
                    {"role": "tool", "content": "found", "tool_name": "look"},
                ],
                "tools": [{"type": "function", "function":
                    {"name": "look", "description": "looks",
                        "parameters": {"type": "object", "properties": {}}}}],
                "stream": true,
                "options": {"num_ctx": 9, "num_predict": 5},
            })
        );
    }
    #[test]
    fn a_format_is_a_word_or_a_schema() {
        let mut request = Request::new("small", vec![Message::user("hi")]);
        request.stop = vec!["END".to_owned()];
        let wire = |request: &Request| sent(request, &ModelOptions::default());
        request.format = Some(AnswerFormat::Json);
        assert_eq!(wire(&request)["format"], "json");
        assert_eq!(wire(&request)["options"]["stop"], json!(["END"]));
        let schema = RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap();
        request.format =
            Some(AnswerFormat::Schema { name: "n".into(), schema: schema.into(), is_strict: None });
        assert_eq!(wire(&request)["format"], json!({"type": "object"}));
    }
}
