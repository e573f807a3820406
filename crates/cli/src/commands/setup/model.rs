//! Which model: by flags, or by what is found on this machine and in its environment.

use super::Wizard;
use super::ask;
use super::draft::Draft;
use crate::arguments::Init;
use crate::commands::model::{Found, Places, Trial, server_choice};
use crate::failure::Failure;
use crate::output;
use crate::setting::{Answer, Setting};
use insula_config::choose::ModelChoice;
use insula_config::model::{KNOWN_PROVIDERS, KnownProvider};
use insula_models::{Kind, ProviderSpec, Transport};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A model that somebody chose, and what it takes to ask it.
pub struct Chosen {
    provider: String,
    name: String,
    kind: Kind,
    base_url: Option<String>,
    /// The secret that has its key, and the key where it is not kept yet.
    key: Option<(String, Option<String>)>,
    /// What stands in the configuration, where the provider is one on this machine.
    local: Option<ModelChoice>,
    /// Whether its provider is written there already, with all that it takes.
    is_written: bool,
}

/// Models to begin with, by provider.
const USUAL: [(&str, &str); 4] = [
    ("anthropic", "claude-sonnet-4-5"),
    ("google", "gemini-2.5-flash"),
    ("openai", "gpt-5-mini"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
];

/// The model by flags; `None` where none is named.
pub fn by_flags(
    setting: &Setting,
    wizard: &Wizard,
    wish: &Init,
) -> Result<Option<Chosen>, Failure> {
    let Some(model) = &wish.model else { return Ok(None) };
    let named =
        model.split_once('/').filter(|(provider, name)| !provider.is_empty() && !name.is_empty());
    let Some((provider, name)) = named else {
        return Err(Failure::WrongUse(format!(
            "`{}` is no model; write provider/name, such as anthropic/claude-sonnet-4-5",
            output::clean(model)
        )));
    };
    if wish.base_url.is_none() && wish.key_env.is_none() && wizard.providers.contains(provider) {
        return Ok(Some(written_model(provider, name)));
    }
    let known = KnownProvider::find(provider);
    if known.is_none() && wish.base_url.is_none() {
        let all: Vec<&str> = KNOWN_PROVIDERS.iter().map(|it| it.name).collect();
        return Err(Failure::WrongUse(format!(
            "provider `{}` is none of {}; give its address with --base-url",
            output::clean(provider),
            all.join(", ")
        )));
    }
    let kind = known.map_or(Kind::OpenAi, |it| kind_of(it.kind));
    let secret = match (known, &wish.base_url) {
        (Some(known), None) => known.key.map(str::to_owned),
        _ => wish.key_env.is_some().then(|| secret_name(provider)),
    };
    let key = match secret {
        None => None,
        Some(secret) => {
            let variables = &setting.environment.variables;
            let value = match &wish.key_env {
                Some(variable) => Some(from_environment(variables, variable)?),
                None => variables.get(&secret).cloned(),
            };
            Some((secret, value))
        }
    };
    Ok(Some(Chosen {
        provider: provider.to_owned(),
        name: name.to_owned(),
        kind,
        base_url: wish.base_url.clone(),
        key,
        local: None,
        is_written: false,
    }))
}

/// What a variable says; an error where it says nothing.
pub fn from_environment(
    variables: &BTreeMap<String, String>,
    name: &str,
) -> Result<String, Failure> {
    let value = variables.get(name).map(|it| it.trim()).filter(|it| !it.is_empty());
    value.map(str::to_owned).ok_or_else(|| {
        Failure::WrongUse(format!("the environment has no `{}`", output::clean(name)))
    })
}

/// The secret of the daemon that has the key of a provider.
fn secret_name(provider: &str) -> String {
    let letters = provider.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' });
    let name: String = letters.collect();
    format!("{}_API_KEY", name.to_ascii_uppercase())
}

fn kind_of(kind: &str) -> Kind {
    match kind {
        "anthropic" => Kind::Anthropic,
        "ollama" => Kind::Ollama,
        "rehearsal" => Kind::Rehearsal,
        _ => Kind::OpenAi,
    }
}

/// One of the ways to have a model.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// A model of the server of this number.
    Local(usize, String),
    Cloud(&'static str),
    /// One that the configuration has already.
    Written(String),
    /// One at an address that has to be asked for.
    Elsewhere,
    Practice,
}

/// The model, by asking.
pub async fn by_asking(
    setting: &Setting,
    wizard: &Wizard,
    transport: &Transport,
) -> Result<Chosen, Failure> {
    let variables = &setting.environment.variables;
    let places = Places::new(variables, None);
    let found = Found::new(transport, &setting.environment, &places).await;
    let written = wizard
        .providers
        .iter()
        .map(|name| (Way::Written(name.clone()), name.clone(), "stands in config.yaml".to_owned()));
    let mut ways: Vec<(Way, String, String)> = written.collect();
    for (number, server) in found.servers.iter().enumerate() {
        for model in server.models.iter().take(5) {
            let way = Way::Local(number, model.name.clone());
            ways.push((way, model.name.clone(), format!("on this machine, at {}", server.url)));
        }
    }
    let clouds = KNOWN_PROVIDERS.iter().filter_map(|it| Some((it.name, it.key?)));
    let (set, unset): (Vec<_>, Vec<_>) = clouds.partition(|(_, key)| variables.contains_key(*key));
    for (name, key) in set {
        ways.push((Way::Cloud(name), name.to_owned(), format!("{key} is set")));
    }
    for (name, _) in unset {
        ways.push((Way::Cloud(name), name.to_owned(), "needs a key".to_owned()));
    }
    ways.push((
        Way::Elsewhere,
        "another server".to_owned(),
        "any that speaks OpenAI's protocol; you give its address".to_owned(),
    ));
    let practice = "the practice model".to_owned();
    ways.push((
        Way::Practice,
        practice,
        "no key, no network; it only shows how things work".to_owned(),
    ));
    match ask::one("Which model shall your agents use?", ways)? {
        Way::Practice => Ok(practice_model()),
        Way::Written(provider) => {
            let name = ask::line("Which of its models?", "", is_there)?;
            Ok(written_model(&provider, &name))
        }
        Way::Elsewhere => model_elsewhere(wizard),
        Way::Local(number, model) => {
            let server = &found.servers[number];
            let choice = server_choice(&config_text(setting)?, server, &model);
            let (provider, name) = choice.model.split_once('/').unwrap_or(("local", &model));
            Ok(Chosen {
                provider: provider.to_owned(),
                name: name.to_owned(),
                kind: server_kind(server),
                base_url: Some(server.base_url()),
                key: None,
                local: Some(choice.clone()),
                is_written: false,
            })
        }
        Way::Cloud(provider) => {
            let known = KnownProvider::find(provider);
            let secret = known.and_then(|it| it.key).unwrap_or_default().to_owned();
            let value = match variables.get(&secret) {
                Some(value) => value.clone(),
                None => ask::hidden(&format!(
                    "The key for {provider} (it is kept sealed, as {secret})"
                ))?,
            };
            let usual = USUAL.iter().find(|(name, _)| *name == provider).map_or("", |it| it.1);
            Ok(Chosen {
                provider: provider.to_owned(),
                name: ask::line("Which of its models?", usual, |_| Ok(()))?,
                kind: known.map_or(Kind::OpenAi, |it| kind_of(it.kind)),
                base_url: None,
                key: Some((secret, Some(value))),
                local: None,
                is_written: false,
            })
        }
    }
}

/// A model of a provider that is written already.
fn written_model(provider: &str, name: &str) -> Chosen {
    Chosen {
        provider: provider.to_owned(),
        name: name.to_owned(),
        is_written: true,
        ..practice_model()
    }
}

/// A model of a server whose address somebody gives.
fn model_elsewhere(wizard: &Wizard) -> Result<Chosen, Failure> {
    let address = "Its address, such as http://10.0.0.5:8000/v1";
    let base_url = ask::line(address, "", is_address)?;
    let name = ask::line("Which of its models?", "", is_there)?;
    let key = ask::hidden_or_none("Its key (empty: it needs none; it is kept sealed)")?;
    let numbers = (2..).map(|number| format!("server-{number}"));
    let is_free = |it: &String| !wizard.providers.contains(it);
    let provider = std::iter::once("server".to_owned()).chain(numbers).find(is_free);
    let provider = provider.unwrap_or_default();
    let key = (!key.is_empty()).then(|| (secret_name(&provider), Some(key)));
    Ok(Chosen {
        provider,
        name,
        kind: Kind::OpenAi,
        base_url: Some(base_url),
        key,
        ..practice_model()
    })
}

/// Whether it looks like one; asking it says the rest.
fn is_address(answer: &str) -> Result<(), String> {
    match answer.starts_with("http://") || answer.starts_with("https://") {
        true => Ok(()),
        false => Err("it begins with http:// or https://".to_owned()),
    }
}

fn is_there(answer: &str) -> Result<(), String> {
    if answer.is_empty() { Err("it has a name".to_owned()) } else { Ok(()) }
}

fn practice_model() -> Chosen {
    Chosen {
        provider: "rehearsal".to_owned(),
        name: "rehearsal".to_owned(),
        kind: Kind::Rehearsal,
        base_url: None,
        key: None,
        local: None,
        is_written: false,
    }
}

fn server_kind(server: &insula_models::local::LocalServer) -> Kind {
    match server.kind {
        insula_models::local::LocalKind::Ollama => Kind::Ollama,
        _ => Kind::OpenAi,
    }
}

fn config_text(setting: &Setting) -> Result<String, Failure> {
    Ok(setting.home.read(&setting.home.config())?.unwrap_or_default())
}

impl Chosen {
    /// `provider/name`.
    pub fn model(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    /// Puts it into what is to be written.
    pub fn put(&self, draft: &mut Draft) -> Result<(), Failure> {
        let choice = match &self.local {
            Some(choice) => choice.clone(),
            None => ModelChoice { model: self.model(), provider: None },
        };
        if let (Some(url), None) = (&self.base_url, &self.local) {
            let url = Value::from(&**url);
            let key = self.key.as_ref();
            let key = key.map(|(name, _)| format!(", api_key: \"${{secret:{name}}}\""));
            let entry = format!("{{kind: openai, base_url: {url}{}}}", key.unwrap_or_default());
            draft.entry(&["providers"], &self.provider, &entry)?;
        }
        draft.model(&choice)?;
        if let Some((name, Some(value))) = &self.key {
            draft.secret(name, value.clone());
        }
        Ok(())
    }

    /// Asks it one question; what came of it, for programs. An error is why it does not answer.
    pub async fn test(&self, setting: &Setting, transport: &Transport) -> Result<Value, Failure> {
        // What its key is, only the daemon knows: `insula doctor` tries it.
        if self.kind == Kind::Rehearsal || self.is_written {
            return Ok(Value::Null);
        }
        let mut spec = ProviderSpec::new(&*self.provider, self.kind);
        spec.base_url.clone_from(&self.base_url);
        let key = self.key.as_ref();
        match key {
            Some((_, Some(value))) => spec.api_key = Some(value.as_str().into()),
            // It is kept already, or will be set later: nothing to try it with.
            Some((_, None)) => return Ok(Value::Null),
            None => {}
        }
        let provider = spec.build(transport).map_err(|error| Failure::Failed(error.to_string()))?;
        if setting.answer == Answer::Text {
            output::notice(&format!("asking {} one short question", self.model()));
        }
        match Trial::question(&*provider, &self.name, &*setting.world.clock).await {
            Ok(words) => {
                let ms = u64::try_from(words.all.as_millis()).unwrap_or(u64::MAX);
                Ok(json!({ "answer": words.text, "ms": ms }))
            }
            Err(why) => Err(Failure::Failed(format!(
                "{} does not answer: {why}; nothing was written (`--no-test` writes it anyway)",
                self.model()
            ))),
        }
    }

    /// What is missing for it to work.
    pub fn lacks(&self, wizard: &Wizard) -> Option<String> {
        let (secret, value) = self.key.as_ref()?;
        let is_kept = wizard.secrets.iter().any(|it| it == secret);
        (value.is_none() && !is_kept).then(|| {
            format!("the key is missing: `insula secret set --daemon {secret}` asks for it")
        })
    }
}
