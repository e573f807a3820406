//! The model providers of a daemon, from its configuration, the daemon's secrets and the
//! environment at start.

use crate::environment::Environment;
use crate::secrets::DaemonKeys;
use insula_config::DaemonConfig;
use insula_config::model::Provider;
use insula_config::provider::{ModelSettings, Thousandths};
use insula_config::rules::{Reference, references};
use insula_models::{
    Effort, Kind, ModelOptions, ProviderSpec, Providers, Sampling, SecretString, TimeoutOptions,
    ToolCalls, Transport,
};
use insula_vault::Secret;
use std::collections::BTreeMap;

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
        let mut specs: BTreeMap<String, ProviderSpec> = BTreeMap::new();
        let mut unusable = BTreeMap::new();
        // Built-in ones are there without a word. Their keys are the daemon's secrets: nothing is
        // taken from the environment that nobody wrote down.
        for (name, provider) in daemon.providers.all() {
            match spec(env, name, &provider, keys) {
                Ok(Some(spec)) => drop(specs.insert(name.to_owned(), spec)),
                Ok(None) => {}
                Err(why) => drop(unusable.insert(name.into(), why)),
            }
        }
        let specs: Vec<ProviderSpec> = specs.into_values().collect();
        let (providers, broken) = Providers::build(transport, &specs);
        for error in broken {
            tracing::error!(%error, "a model provider can't be used");
        }
        Self { providers, unusable }
    }
}

fn spec(
    env: &Environment,
    name: &str,
    provider: &Provider,
    keys: &DaemonKeys,
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
    let value = |text: &str| {
        let value = filled_in(text, |reference| match reference {
            Reference::Secret(name) => keys.get(name).cloned(),
            Reference::Env(name) => env.secret(name),
        })?;
        Ok::<_, String>(SecretString::from(value.reveal().trim().to_owned()))
    };
    spec.api_key = provider.api_key.as_deref().map(value).transpose()?;
    spec.options = options(&provider.all, &value)?;
    for (model, settings) in &provider.models {
        spec.models.insert((**model).into(), options(settings, &value)?);
    }
    Ok(Some(spec))
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
    mut value: impl FnMut(Reference<'_>) -> Result<Secret, String>,
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
