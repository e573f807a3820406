//! Servers that put a conversation through the template of a model, as llama.cpp and vLLM do.

use super::{list, text};
use minijinja::{Environment, Error, ErrorKind, Value as Jinja, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde_json::{Value, json};

/// The template of a family of models.
pub struct Template {
    /// The family.
    pub name: &'static str,
    environment: Environment<'static>,
}

/// The templates there are.
const SOURCES: [(&str, &str); 7] = [
    ("gemma-2", include_str!("templates/gemma-2.jinja")),
    ("gemma-3", include_str!("templates/gemma-3.jinja")),
    ("llama-3", include_str!("templates/llama-3.jinja")),
    ("mistral", include_str!("templates/mistral.jinja")),
    ("mistral-small", include_str!("templates/mistral-small.jinja")),
    ("qwen-2.5", include_str!("templates/qwen-2.5.jinja")),
    ("qwen-3", include_str!("templates/qwen-3.jinja")),
];

impl Template {
    /// All there are.
    pub fn all() -> Result<Vec<Self>, String> {
        let load = |(name, source): (&'static str, &'static str)| {
            let mut environment = Environment::new();
            environment.set_unknown_method_callback(unknown_method_callback);
            environment.add_function("raise_exception", |words: String| -> Result<Jinja, Error> {
                Err(Error::new(ErrorKind::InvalidOperation, words))
            });
            environment.add_template(name, source).map_err(|error| error.to_string())?;
            Ok(Self { name, environment })
        };
        SOURCES.into_iter().map(load).collect()
    }

    /// The prompt that a request becomes, or what the server answers instead.
    pub fn render(&self, body: &Value) -> Result<String, String> {
        let messages =
            list(body, "messages").iter().map(prepared).collect::<Result<Vec<_>, _>>()?;
        let template = self.environment.get_template(self.name).map_err(|it| it.to_string())?;
        let rendered = template.render(context! {
            messages,
            tools => body.get("tools"),
            bos_token => "<s>",
            eos_token => "</s>",
        });
        rendered.map_err(|error| error.to_string())
    }
}

/// A message as servers hand it to a template: arguments parsed, parts as one text.
fn prepared(message: &Value) -> Result<Value, String> {
    let mut message = message.clone();
    if let Value::Array(parts) = &message["content"] {
        let texts = parts.iter().map(|part| text(part, "text").unwrap_or("<image>"));
        message["content"] = json!(texts.collect::<Vec<_>>().join("\n"));
    }
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        let written = text(&call["function"], "arguments").unwrap_or_default();
        let parsed: Value = serde_json::from_str(written)
            .map_err(|error| format!("failed to parse tool call arguments as JSON: {error}"))?;
        if !parsed.is_object() {
            return Err("tool call arguments must be an object".to_owned());
        }
        call["function"]["arguments"] = parsed;
    }
    // Reading a member that is not there makes one.
    if let Some(fields) = message.as_object_mut()
        && fields.get("tool_calls").is_some_and(Value::is_null)
    {
        fields.remove("tool_calls");
    }
    Ok(message)
}
