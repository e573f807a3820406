//! The model providers of a house, from its configuration and the environment at start.

use crate::house::House;
use insula_config::DaemonConfig;
use insula_config::model::Provider;
use insula_config::rules::{Reference, references};
use insula_models::{Kind, ProviderSpec, Providers, SecretString, Transport};
use std::collections::BTreeMap;

/// Providers that need no configuration to be there. Those that need a key get it under
/// `providers`: nothing is taken from the environment that nobody wrote down.
const WITHOUT_KEY: [(&str, Kind); 1] = [("ollama", Kind::Ollama)];

impl House {
    /// Builds the providers there are. One that can't be built is left out and logged; agents
    /// that name it fail their turns with the reason.
    pub(crate) fn providers(&self, daemon: &DaemonConfig, transport: &Transport) -> Providers {
        let mut specs: BTreeMap<String, ProviderSpec> = BTreeMap::new();
        for (name, kind) in WITHOUT_KEY {
            specs.insert(name.to_owned(), ProviderSpec::new(name, kind));
        }
        for (name, provider) in &daemon.providers.configured {
            if let Some(spec) = self.spec(name, provider) {
                specs.insert(name.to_string(), spec);
            }
        }
        let specs: Vec<ProviderSpec> = specs.into_values().collect();
        let (providers, broken) = Providers::build(transport, &specs);
        for error in broken {
            tracing::error!(%error, "a model provider can't be used");
        }
        providers
    }

    fn spec(&self, name: &str, provider: &Provider) -> Option<ProviderSpec> {
        let kind = match &*provider.kind {
            "openai" => Kind::OpenAi,
            "anthropic" => Kind::Anthropic,
            "ollama" => Kind::Ollama,
            "rehearsal" => Kind::Rehearsal,
            _ => return None,
        };
        let mut spec = ProviderSpec::new(name, kind);
        spec.base_url = provider.base_url.as_deref().map(str::to_owned);
        spec.api_key = provider.api_key.as_deref().and_then(|text| self.key(name, text));
        Some(spec)
    }

    /// The key a text refers to. A secret can't be read yet: there is no vault in use.
    fn key(&self, provider: &str, text: &str) -> Option<SecretString> {
        let mut key = text.to_owned();
        for reference in references(text).ok()? {
            match reference {
                Reference::Env(name) => {
                    key = key.replace(&format!("${{env:{name}}}"), self.env.get(name)?);
                }
                Reference::Secret(name) => {
                    tracing::warn!(
                        provider,
                        secret = name,
                        "the secret is not set; requests go without it"
                    );
                    return None;
                }
            }
        }
        Some(SecretString::from(key))
    }
}
