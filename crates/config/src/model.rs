//! Which provider answers for a model's name.

use crate::provider::ModelSettings;
use crate::shape::quoted;
use crate::suggest::nearest;
use insula_domain::AgentId;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Providers that need no configuration.
pub const BUILT_IN_PROVIDERS: &[&str] =
    &["anthropic", "google", "ollama", "openai", "openrouter", "rehearsal"];

/// A provider that is known by its name: what it speaks, and which secret of the daemon is its key
/// where no other is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProvider {
    pub name: &'static str,
    pub kind: &'static str,
    /// The daemon's secret; `None` for one that needs no key.
    pub key: Option<&'static str>,
}

const fn known(name: &'static str, kind: &'static str, key: Option<&'static str>) -> KnownProvider {
    KnownProvider { name, kind, key }
}

/// The built-in providers.
pub const KNOWN_PROVIDERS: [KnownProvider; 6] = [
    known("anthropic", "anthropic", Some("ANTHROPIC_API_KEY")),
    known("google", "openai", Some("GOOGLE_API_KEY")),
    known("ollama", "ollama", None),
    known("openai", "openai", Some("OPENAI_API_KEY")),
    known("openrouter", "openai", Some("OPENROUTER_API_KEY")),
    known("rehearsal", "rehearsal", None),
];

impl KnownProvider {
    /// Finds one by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KNOWN_PROVIDERS.iter().find(|it| it.name == name)
    }

    /// As it is where nobody wrote anything about it.
    fn unwritten(&self) -> Provider {
        Provider {
            kind: self.kind.into(),
            base_url: None,
            api_key: self.key.map(key_reference),
            agents: None,
            all: ModelSettings::default(),
            models: BTreeMap::new(),
        }
    }
}

fn key_reference(secret: &str) -> Box<str> {
    format!("${{secret:{secret}}}").into()
}

/// What a provider lacks that an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// This secret of the daemon, while it is not set.
    Secret(&'static str),
    /// A key, of which nobody wrote where it is.
    Key,
    /// An address.
    Address,
}

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
    /// Of a shared one, the agents that may use it; `None` for all of them.
    pub agents: Option<BTreeSet<AgentId>>,
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

    /// The same with the usual key of a provider of that name, where none is written. A key goes to
    /// the address it was made for: whoever writes another address writes its key too.
    pub(crate) fn with_usual_key(mut self, name: &str) -> Self {
        if let Some(known) = KnownProvider::find(name)
            && self.api_key.is_none()
            && self.base_url.is_none()
            && *self.kind == *known.kind
            && !self.names_credential()
        {
            self.api_key = known.key.map(key_reference);
        }
        self
    }

    /// Whether an agent may use it.
    pub fn admits(&self, agent: &AgentId) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains(agent))
    }

    /// Whether a header is written that servers know callers by.
    fn names_credential(&self) -> bool {
        let headers = self.all.headers.keys();
        headers.into_iter().any(|name| {
            ["authorization", "x-api-key"].iter().any(|it| name.eq_ignore_ascii_case(it))
        })
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

    /// Whether an agent may use the shared provider of that name. One of which nobody wrote who
    /// may is for all.
    pub fn admits(&self, provider: &str, agent: &AgentId) -> bool {
        self.configured.get(provider).is_none_or(|it| it.admits(agent))
    }

    /// These with an agent's own in the place of those of the same name.
    pub(crate) fn with_own(&self, own: &BTreeMap<Box<str>, Provider>) -> Self {
        let mut all = self.clone();
        all.configured.extend(own.iter().map(|(name, it)| (name.clone(), it.clone())));
        all
    }

    /// Whether there is a provider of that name.
    pub fn knows(&self, name: &str) -> bool {
        BUILT_IN_PROVIDERS.contains(&name) || self.configured.contains_key(name)
    }

    /// Every provider there is, as written or as it is known.
    pub fn all(&self) -> impl Iterator<Item = (&str, Cow<'_, Provider>)> {
        let unwritten = KNOWN_PROVIDERS.iter().filter(|it| !self.configured.contains_key(it.name));
        let unwritten = unwritten.map(|it| (it.name, Cow::Owned(it.unwritten())));
        let written = self.configured.iter().map(|(name, it)| (&**name, Cow::Borrowed(it)));
        written.chain(unwritten)
    }

    /// What a provider lacks to be asked, as far as the files say. A secret that somebody wrote
    /// down is another matter: whether that is set is looked at where it stands.
    pub fn lacks(&self, name: &str) -> Option<Lack> {
        let usual = KnownProvider::find(name).and_then(|it| it.key);
        let Some(provider) = self.configured.get(name) else { return usual.map(Lack::Secret) };
        let asks_for_key = matches!(&*provider.kind, "openai" | "anthropic");
        match &provider.api_key {
            _ if !asks_for_key || provider.base_url.is_some() => None,
            _ if &*provider.kind == "openai" && KnownProvider::find(name).is_none() => {
                Some(Lack::Address)
            }
            None => (!provider.names_credential()).then_some(Lack::Key),
            Some(key) => usual.filter(|it| key_reference(it) == *key).map(Lack::Secret),
        }
    }

    /// Where the key of a provider lies that an agent would set for one of its own, if nothing
    /// else was written.
    pub fn usual_secret(name: &str) -> Option<&'static str> {
        KnownProvider::find(name).and_then(|it| it.key)
    }

    /// Every provider's name.
    pub fn names(&self) -> Vec<&str> {
        let configured = self.configured.keys().map(|name| &**name);
        let more = configured.filter(|name| !BUILT_IN_PROVIDERS.contains(name));
        BUILT_IN_PROVIDERS.iter().copied().chain(more).collect()
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

    #[test]
    fn the_built_in_providers_are_the_known_ones() {
        let names: Vec<&str> = KNOWN_PROVIDERS.iter().map(|it| it.name).collect();
        assert_eq!(names, BUILT_IN_PROVIDERS);
    }

    fn written(kind: &str, base_url: Option<&str>, api_key: Option<&str>) -> Provider {
        Provider {
            kind: kind.into(),
            base_url: base_url.map(Into::into),
            api_key: api_key.map(Into::into),
            agents: None,
            all: ModelSettings::default(),
            models: BTreeMap::new(),
        }
    }

    #[test]
    fn a_usual_key_goes_to_the_usual_address_alone() {
        let key = |name: &str, provider: Provider| {
            provider.with_usual_key(name).api_key.as_deref().map(str::to_owned)
        };
        let usual = Some("${secret:GOOGLE_API_KEY}".to_owned());
        assert_eq!(key("google", written("openai", None, None)), usual);
        assert_eq!(key("google", written("openai", Some("https://else.org"), None)), None);
        assert_eq!(key("google", written("anthropic", None, None)), None);
        assert_eq!(key("mine", written("openai", None, None)), None);
        assert_eq!(key("google", written("openai", None, Some("x"))), Some("x".to_owned()));
        let mut by_header = written("openai", None, None);
        by_header.all.headers.insert("Authorization".into(), "Bearer x".into());
        assert_eq!(key("google", by_header), None);
    }

    #[test]
    fn what_a_provider_lacks_is_what_keeps_it_from_being_asked() {
        let mut providers = Providers::default();
        assert_eq!(providers.lacks("google"), Some(Lack::Secret("GOOGLE_API_KEY")));
        assert_eq!(providers.lacks("ollama"), None);
        assert_eq!(providers.lacks("rehearsal"), None);
        for (name, provider, lack) in [
            ("google", written("openai", None, Some("x")), None),
            ("google", written("openai", Some("http://127.0.0.1:1"), None), None),
            ("google", written("openai", None, None), Some(Lack::Secret("GOOGLE_API_KEY"))),
            ("mine", written("anthropic", None, None), Some(Lack::Key)),
            ("mine", written("openai", None, Some("x")), Some(Lack::Address)),
            ("mine", written("openai", Some("https://x.org"), None), None),
            ("mine", written("ollama", None, None), None),
        ] {
            let provider = provider.with_usual_key(name);
            providers.configured.insert(name.into(), provider);
            assert_eq!(providers.lacks(name), lack, "{name}");
        }
    }
}
