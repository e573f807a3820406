//! Servers of models on this machine: whether one listens somewhere, whose it is, and what it
//! has. Nothing is believed because of a port.

mod pull;

pub use pull::{Pulled, pull};

use crate::ollama;
use insula_wire::{HttpCall, Reply, Timeouts, Transport};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a server is waited for. It is on this machine or it is not.
const WAIT: Duration = Duration::from_secs(1);
/// The longest list of models that is read. Thousands of models fit.
const LIST_LEN_MAX: usize = 4 * 1024 * 1024;
/// Models of one server that are told.
const MODELS_MAX: usize = 500;
/// Longest name of a model that is told, in characters.
const NAME_CHARS_MAX: usize = 200;

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalKind {
    Ollama,
    LlamaCpp,
    LmStudio,
    /// Something else that speaks chat completions.
    Other,
}

impl LocalKind {
    /// What people call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ollama => "Ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::LmStudio => "LM Studio",
            Self::Other => "an OpenAI-compatible server",
        }
    }

    /// Where it listens unless told otherwise.
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Ollama => Some(ollama::BASE_URL),
            Self::LlamaCpp => Some("http://127.0.0.1:8080"),
            Self::LmStudio => Some("http://127.0.0.1:1234"),
            Self::Other => None,
        }
    }
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    pub kind: LocalKind,
    /// Where it is, without a path.
    pub url: String,
    /// The models it has that can talk, as it lists them.
    pub models: Vec<LocalModel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalModel {
    pub name: String,
    /// What it takes on disk, where the server says so.
    pub bytes: Option<u64>,
}

impl LocalServer {
    /// What a provider of it is given as `base_url`.
    pub fn base_url(&self) -> String {
        match self.kind {
            LocalKind::Ollama => self.url.clone(),
            _ => format!("{}/v1", self.url),
        }
    }
}

/// Looks who listens at an address. Each is asked what only it can answer: llama.cpp also answers
/// some of what Ollama is asked.
pub async fn look(transport: &Transport, url: &str) -> Option<LocalServer> {
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix("/v1").unwrap_or(url);
    let found = |kind, models| Some(LocalServer { kind, url: url.to_owned(), models });
    let props = ask(transport, url, "/props").await?;
    if json(&props).is_some_and(|it| it.get("default_generation_settings").is_some()) {
        let list = ask(transport, url, "/v1/models").await?;
        return found(LocalKind::LlamaCpp, listed(&json(&list)?, file_name));
    }
    if let Some(tags) = json(&ask(transport, url, "/api/tags").await?)
        && let Some(models) = tags.get("models").and_then(Value::as_array)
    {
        return found(LocalKind::Ollama, tagged(models));
    }
    let listing = json(&ask(transport, url, "/api/v0/models").await?);
    if let Some(list) = listing.filter(|it| it.get("data").is_some_and(Value::is_array)) {
        return found(LocalKind::LmStudio, listed(&list, str::to_owned));
    }
    let list = json(&ask(transport, url, "/v1/models").await?)?;
    list.get("data")?.as_array()?;
    found(LocalKind::Other, listed(&list, str::to_owned))
}

/// What is at a path; nothing where nobody answers.
async fn ask(transport: &Transport, url: &str, path: &str) -> Option<Reply> {
    let uri = format!("{url}{path}").parse().ok()?;
    let limits = Timeouts { connect: WAIT, first_byte: WAIT, idle: WAIT };
    let call = HttpCall::get(uri).limits(limits).within(WAIT).len_max(LIST_LEN_MAX);
    transport.call(call, &CancellationToken::new()).await.ok()
}

fn json(reply: &Reply) -> Option<Value> {
    let is_had = reply.is_success();
    is_had.then(|| serde_json::from_slice(&reply.body).ok()).flatten()
}

fn named(name: &str, bytes: Option<u64>) -> Option<LocalModel> {
    let fits = !name.is_empty() && name.chars().count() <= NAME_CHARS_MAX;
    // What is no plain name could be written nowhere.
    let is_plain = !name.chars().any(|it| it.is_control() || it.is_whitespace());
    (fits && is_plain).then(|| LocalModel { name: name.to_owned(), bytes })
}

/// The models of an Ollama, without those that only make numbers of words.
fn tagged(models: &[Value]) -> Vec<LocalModel> {
    let talks = |model: &&Value| {
        let families = model.pointer("/details/family").and_then(Value::as_str);
        !families.is_some_and(|family| family.contains("bert"))
    };
    let model = |model: &Value| {
        let bytes = model.get("size").and_then(Value::as_u64).filter(|bytes| *bytes > 0);
        named(model.get("name")?.as_str()?, bytes)
    };
    let is_for_words = |model: &LocalModel| !model.name.contains("embed");
    models.iter().filter(talks).filter_map(model).filter(is_for_words).take(MODELS_MAX).collect()
}

/// The models of a list as OpenAI defined it.
fn listed(list: &Value, name: impl Fn(&str) -> String) -> Vec<LocalModel> {
    let data = list.get("data").and_then(Value::as_array);
    let talks = |model: &&Value| model.get("type").and_then(Value::as_str) != Some("embeddings");
    let model = |model: &Value| {
        let bytes = model.pointer("/meta/size").and_then(Value::as_u64);
        named(&name(model.get("id")?.as_str()?), bytes)
    };
    let is_for_words = |model: &LocalModel| !model.name.contains("embed");
    let models = data.into_iter().flatten().filter(talks).filter_map(model);
    models.filter(is_for_words).take(MODELS_MAX).collect()
}

/// llama.cpp calls a model by the path of its file, and answers to any name.
fn file_name(id: &str) -> String {
    let is_path = id.starts_with(['/', '.', '~']) || id.ends_with(".gguf");
    if !is_path {
        return id.to_owned();
    }
    let name = id.rsplit(['/', '\\']).next().unwrap_or(id);
    name.strip_suffix(".gguf").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_by_their_name() {
        for (id, name) in [
            ("/models/qwen2.5-1.5b-q4.gguf", "qwen2.5-1.5b-q4"),
            ("qwen.gguf", "qwen"),
            ("ggml-org/qwen", "ggml-org/qwen"),
            ("qwen", "qwen"),
        ] {
            assert_eq!(file_name(id), name);
        }
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        assert_eq!(named("", None), None);
        assert_eq!(named("a b", None), None);
        assert_eq!(named("a\u{1b}[31m", None), None);
        assert_eq!(named(&"a".repeat(NAME_CHARS_MAX + 1), None), None);
        assert!(named("qwen2.5:1.5b", Some(1)).is_some());
    }
}
