//! Which provider answers for a model's name.

use crate::provider::ModelSettings;
use crate::shape::quoted;
use crate::suggest::nearest;
use std::collections::BTreeMap;
use std::fmt;

/// Providers that need no configuration.
pub const BUILT_IN_PROVIDERS: &[&str] =
    &["anthropic", "google", "ollama", "openai", "openrouter", "rehearsal"];

/// What answers where nobody named a model: the built-in model that needs no key.
pub const BUILT_IN_MODEL: &str = "rehearsal/rehearsal";

/// A model and who serves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    pub provider: Box<str>,
    pub name: Box<str>,
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

impl ModelRef {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, name) = text.split_once('/')?;
        Some(Self { provider: provider.into(), name: name.into() })
    }
}

/// A model provider of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Provider {
    /// Which protocol it speaks.
    pub kind: Box<str>,
    pub base_url: Option<Box<str>>,
    /// The key as it was written: a reference, or a literal.
    pub api_key: Option<Box<str>>,
    /// What holds for all of its models.
    pub all: ModelSettings,
    /// What comes before that for some, by name.
    pub models: BTreeMap<Box<str>, ModelSettings>,
}

impl Provider {
    /// What it is sent that may be a credential, as it was written.
    pub fn sent(&self) -> impl Iterator<Item = &str> {
        let settings = std::iter::once(&self.all).chain(self.models.values());
        let headers = settings.flat_map(|it| it.headers.values().map(|value| &**value));
        self.api_key.as_deref().into_iter().chain(headers)
    }

    /// Whether a model can be shown pictures, where somebody said so.
    pub fn sees_images(&self, model: &str) -> Option<bool> {
        self.models.get(model).and_then(|it| it.sees_images).or(self.all.sees_images)
    }
}

/// The providers there are, and where other names go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Providers {
    /// Those of the configuration, by name.
    pub configured: BTreeMap<Box<str>, Provider>,
    /// Where a model goes, whole, whose prefix is no provider.
    pub default: Option<Box<str>>,
}

impl Providers {
    /// Whether a model can be shown pictures, where somebody said so.
    pub fn sees_images(&self, model: &ModelRef) -> Option<bool> {
        self.configured.get(&model.provider)?.sees_images(&model.name)
    }

    /// Whether there is a provider of that name.
    pub fn knows(&self, name: &str) -> bool {
        BUILT_IN_PROVIDERS.contains(&name) || self.configured.contains_key(name)
    }

    /// Every provider's name.
    pub fn names(&self) -> Vec<&str> {
        let configured = self.configured.keys().map(|name| &**name);
        BUILT_IN_PROVIDERS.iter().copied().chain(configured).collect()
    }

    /// Finds who serves `text`; otherwise what is wrong and what to do.
    pub fn resolve(&self, text: &str) -> Result<ModelRef, (String, String)> {
        let (prefix, name) = text.split_once('/').unwrap_or((text, ""));
        if self.knows(prefix) {
            return Ok(ModelRef { provider: prefix.into(), name: name.into() });
        }
        if let Some(provider) = &self.default {
            return Ok(ModelRef { provider: provider.clone(), name: text.into() });
        }
        let names = self.names();
        let help = match nearest(prefix, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}/{name}`?"),
            None => format!(
                "use one of {}, add `{prefix}` under `providers`, or set `default_provider`",
                quoted(&names)
            ),
        };
        Err((format!("no provider `{prefix}` for model `{text}`"), help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_is_no_provider_goes_whole_to_the_default() {
        let mut providers = Providers::default();
        let plain = providers.resolve("openrouter/qwen/qwen3").unwrap();
        assert_eq!((&*plain.provider, &*plain.name), ("openrouter", "qwen/qwen3"));
        assert!(providers.resolve("qwen/qwen3").is_err());
        providers.default = Some("openrouter".into());
        assert_eq!(providers.resolve("qwen/qwen3").unwrap(), plain);
    }
}
