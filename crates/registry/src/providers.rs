//! The model providers of a daemon, from its configuration, the daemon's secrets and the
//! environment at start; and those of one agent, from its own secrets alone.

use crate::environment::Environment;
use crate::key_name::{KeyName, KeySource};
use crate::secrets::{AgentKeys, DaemonKeys, KnownSecrets};
use arc_swap::ArcSwapOption;
use insula_config::DaemonConfig;
use insula_config::model::{ModelRef, Provider};
use insula_config::provider::{ModelSettings, Thousandths};
use insula_config::rules::{Reference, references};
use insula_domain::AgentId;
use insula_models::{
    Effort, Kind, Link, ModelOptions, ProviderSpec, Providers, Sampling, SecretString,
    TimeoutOptions, ToolCalls, Transport,
};
use insula_vault::Secret;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The providers there are, and why others are not.
pub struct Built {
    /// Those that can be used.
    pub providers: Providers,
    /// What to do about those that can't, by name.
    pub unusable: BTreeMap<Box<str>, String>,
}

impl Built {
    /// Builds the providers there are. One that can't be built is left out; agents that name
    /// it fail their turns with the reason. No request ever goes without the key that somebody
    /// wrote down for it.
    pub fn new(
        env: &Environment,
        daemon: &DaemonConfig,
        keys: &DaemonKeys,
        transport: &Transport,
    ) -> Self {
        // Built-in ones are there without a word. Their keys are the daemon's secrets: nothing is
        // taken from the environment that nobody wrote down.
        let all = daemon.providers.all();
        let built = all.map(|(name, provider)| {
            let spec = spec(name, &provider, KeySource::Shared, |reference| match reference {
                Reference::Secret(name) => keys.get(name).cloned(),
                Reference::Env(name) => env.secret(name),
            });
            (name.to_owned(), spec)
        });
        Self::of(built.collect(), transport)
    }

    fn of(
        specs: BTreeMap<String, Result<Option<ProviderSpec>, String>>,
        transport: &Transport,
    ) -> Self {
        let (mut usable, mut unusable) = (Vec::new(), BTreeMap::new());
        for (name, spec) in specs {
            match spec {
                Ok(spec) => usable.extend(spec),
                Err(why) => drop(unusable.insert(name.into(), why)),
            }
        }
        let (providers, broken) = Providers::build(transport, &usable);
        for error in broken {
            tracing::error!(%error, "a model provider can't be used");
        }
        Self { providers, unusable }
    }
}

/// The providers of one agent. Nobody else asks them, and their connections, what their servers
/// told of themselves and what was seen of their models are this agent's too.
#[derive(Default)]
pub struct OwnProviders {
    configured: BTreeMap<Box<str>, Provider>,
    /// What was built of them, and the secrets it was built from.
    built: ArcSwapOption<(Arc<AgentKeys>, Built)>,
}

impl OwnProviders {
    /// Those of a configuration.
    pub(crate) fn new(configured: BTreeMap<Box<str>, Provider>) -> Self {
        Self { configured, built: ArcSwapOption::empty() }
    }

    /// One of them, as it was written.
    pub fn get(&self, name: &str) -> Option<&Provider> {
        self.configured.get(name)
    }

    /// Where a model is asked, by the secrets that `agent` has now; `None` where its provider is
    /// not one of these, and why where that can't be used. Neither the daemon's secrets nor its
    /// environment are looked at.
    pub fn link(
        &self,
        model: &ModelRef,
        agent: &AgentId,
        known: &KnownSecrets,
        transport: &Transport,
    ) -> Option<Result<Link, String>> {
        let name = &*model.provider;
        self.configured.get(name)?;
        let keys = known.agent(agent);
        let built = self.built.load_full().filter(|built| Arc::ptr_eq(&built.0, &keys));
        let built = built.unwrap_or_else(|| {
            let built = Arc::new((keys.clone(), self.build(agent, &keys, transport)));
            self.built.store(Some(built.clone()));
            built
        });
        let Built { providers, unusable } = &built.1;
        let unusable = unusable.get(name).map(String::as_str);
        Some(match (unusable, providers.get(name)) {
            (None, Some(provider)) => Ok(Link::new(provider.clone(), &*model.name)),
            (why, _) => Err(format!(
                "provider `{name}` of agent `{agent}` can't be used: {}",
                why.unwrap_or("it needs a key or an address under the agent's `providers`")
            )),
        })
    }

    fn build(&self, agent: &AgentId, keys: &AgentKeys, transport: &Transport) -> Built {
        let built = self.configured.iter().map(|(name, provider)| {
            let spec = spec(name, provider, KeySource::Own, |reference| match reference {
                Reference::Secret(name) => keys.get(name, agent).cloned(),
                // The configuration refuses that; so does this.
                Reference::Env(name) => {
                    Err(format!("an agent may not read `{name}` from the daemon's environment"))
                }
            });
            (name.to_string(), spec)
        });
        Built::of(built.collect(), &transport.apart())
    }
}

/// A provider to build. `vault` is what a secret counts as.
fn spec(
    name: &str,
    provider: &Provider,
    vault: KeySource,
    find: impl Fn(Reference<'_>) -> Result<Secret, String>,
) -> Result<Option<ProviderSpec>, String> {
    let kind = match &*provider.kind {
        "openai" => Kind::OpenAi,
        "anthropic" => Kind::Anthropic,
        "ollama" => Kind::Ollama,
        "rehearsal" => Kind::Rehearsal,
        _ => return Ok(None),
    };
    let mut spec = ProviderSpec::new(name, kind);
    spec.base_url = provider.base_url.as_deref().map(str::to_owned);
    let text = |text: &str| filled_in(text, &find);
    let value =
        |it: &str| text(it).map(|value| SecretString::from(value.reveal().trim().to_owned()));
    spec.api_key = provider.api_key.as_deref().map(value).transpose()?;
    let paying = provider.api_key.as_deref().or_else(|| credential(&provider.all));
    let filled = paying.map(text).transpose()?;
    let source = paying.map_or(KeySource::Nowhere, |it| source(it, vault));
    let key_name = KeyName::new(name, source, filled.as_ref().map(Secret::reveal));
    spec.key_name = Some(key_name.to_string().into());
    spec.options = options(&provider.all, &value)?;
    for (model, settings) in &provider.models {
        spec.models.insert((**model).into(), options(settings, &value)?);
    }
    Ok(Some(spec))
}

/// The header that servers know callers by, where one is written.
fn credential(settings: &ModelSettings) -> Option<&str> {
    let known =
        |name: &str| ["authorization", "x-api-key"].iter().any(|it| name.eq_ignore_ascii_case(it));
    settings.headers.iter().find(|(name, _)| known(name)).map(|(_, text)| &**text)
}

/// Where a key comes from that was written so.
pub fn source(text: &str, vault: KeySource) -> KeySource {
    let found = references(text).unwrap_or_default();
    match found.first() {
        Some(Reference::Secret(_)) => vault,
        Some(Reference::Env(_)) => KeySource::Environment,
        None => KeySource::File,
    }
}

/// What is set for models, with what its headers refer to filled in.
fn options(
    settings: &ModelSettings,
    value: &impl Fn(&str) -> Result<SecretString, String>,
) -> Result<ModelOptions, String> {
    let number = |it: Option<Thousandths>| it.map(Thousandths::as_f32);
    let headers = settings.headers.iter().map(|(name, text)| Ok((name.to_string(), value(text)?)));
    Ok(ModelOptions {
        timeouts: TimeoutOptions {
            connect: settings.connect,
            first_byte: settings.first_byte,
            idle: settings.idle,
        },
        max_tokens: settings.max_tokens,
        sampling: Sampling {
            temperature: number(settings.temperature),
            top_p: number(settings.top_p),
            top_k: settings.top_k,
            min_p: number(settings.min_p),
            presence_penalty: number(settings.presence_penalty),
            frequency_penalty: number(settings.frequency_penalty),
            repeat_penalty: number(settings.repeat_penalty),
            seed: settings.seed,
        },
        effort: settings.reasoning_effort.as_deref().and_then(Effort::parse),
        context_window: settings.context_window,
        sees_images: settings.sees_images,
        parallel_calls: settings.parallel_calls,
        tool_calls: settings.tool_calls.as_deref().and_then(ToolCalls::parse),
        constrained: settings.constrained,
        headers: headers.collect::<Result<_, String>>()?,
        // What is in it was read as JSON before.
        extra_body: serde_json::from_str(&settings.extra_body).unwrap_or_default(),
    })
}

/// A text with its references filled in, each once: what a value says is never looked at.
pub(crate) fn filled_in(
    text: &str,
    value: impl Fn(Reference<'_>) -> Result<Secret, String>,
) -> Result<Secret, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    for reference in references(text)? {
        let written = match reference {
            Reference::Secret(name) => format!("${{secret:{name}}}"),
            Reference::Env(name) => format!("${{env:{name}}}"),
        };
        let Some((before, after)) = rest.split_once(&written) else { break };
        filled.push_str(before);
        filled.push_str(value(reference)?.reveal());
        rest = after;
    }
    filled.push_str(rest);
    Ok(Secret::new(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_filled_in_once_and_what_is_missing_is_told() {
        let value = |reference: Reference<'_>| match reference {
            Reference::Secret("A") => Ok(Secret::new("${env:B}")),
            Reference::Env("B") => Ok(Secret::new("${secret:A}")),
            _ => Err("not set".to_owned()),
        };
        let filled = filled_in("x ${secret:A} ${env:B} ${secret:A} y", value).unwrap();
        assert_eq!(filled.reveal(), "x ${env:B} ${secret:A} ${env:B} y");
        assert_eq!(filled_in("none", value).unwrap().reveal(), "none");
        assert_eq!(filled_in("${secret:C}", value), Err("not set".to_owned()));
    }
}
