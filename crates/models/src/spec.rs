//! A provider as it is to be built. Knows none that is.

use crate::options::ModelOptions;
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A provider to build, in plain values. Its `Debug` shows no value that may be secret.
#[derive(Clone)]
pub struct ProviderSpec {
    /// What comes first in `provider/model`.
    pub name: Arc<str>,
    /// Which protocol it speaks.
    pub kind: Kind,
    /// Where it is. May be left out for `openai`, `openrouter`, `google`, and for the kinds
    /// Anthropic, Ollama and rehearsal.
    pub base_url: Option<String>,
    /// The key, sent as the protocol wants it.
    pub api_key: Option<SecretString>,
    /// What the key is called where usage is counted by key; never the key.
    pub key_name: Option<Arc<str>>,
    /// More headers, for each request.
    pub headers: Vec<(String, SecretString)>,
    /// How its models are asked.
    pub options: ModelOptions,
    /// The same for some of them, by name.
    pub models: BTreeMap<Arc<str>, ModelOptions>,
}

/// The protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Chat completions, of OpenAI or anyone.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Ollama's own API.
    Ollama,
    /// The built-in practice model.
    Rehearsal,
}

impl ProviderSpec {
    /// A provider with nothing but its name and protocol.
    pub fn new(name: impl Into<Arc<str>>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            base_url: None,
            api_key: None,
            key_name: None,
            headers: vec![],
            options: ModelOptions::default(),
            models: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ProviderSpec")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .field("has_key", &self.api_key.is_some())
            .field("key_name", &self.key_name)
            .field("headers", &headers)
            .field("options", &self.options)
            .field("models", &self.models)
            .finish()
    }
}
