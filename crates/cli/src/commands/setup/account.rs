//! An account on a platform: what it needs, where that is had, and how it is written.

use super::draft::Draft;
use super::model::from_environment;
use super::{Wizard, ask};
use crate::arguments::AccountWords;
use crate::failure::Failure;
use crate::output;
use crate::setting::Setting;
use insula_config::account::CREDENTIALS;
use insula_config::schema::{AccountKeys, CONNECTED};
use serde_json::Value;

/// An account that is to be added.
pub struct NewAccount {
    pub platform: &'static str,
    pub name: String,
    /// Each setting, and whether it stands in the file as it is.
    settings: Vec<(String, String)>,
    /// The secrets it refers to, and their values where those are not kept yet.
    secrets: Vec<(String, Option<String>)>,
    /// What is done on the platform's side, line by line.
    pub steps: Vec<String>,
    /// What is pasted there.
    pub manifest: Option<String>,
}

/// The platforms that there can be accounts of.
pub fn platforms() -> Vec<&'static str> {
    CONNECTED.iter().map(|it| it.platform).collect()
}

impl NewAccount {
    /// By flags, and by asking for what they leave out.
    pub fn new(
        setting: &Setting,
        wizard: &Wizard,
        platform: &str,
        words: &AccountWords,
    ) -> Result<Self, Failure> {
        let Some(keys) = CONNECTED.iter().find(|it| it.platform == platform) else {
            return Err(Failure::WrongUse(format!(
                "`{}` is none of the platforms that this version speaks: {}",
                output::clean(platform),
                platforms().join(", ")
            )));
        };
        let mut settings = given(&words.settings)?;
        refuse_idle_token(keys, words, &settings)?;
        let (steps, manifest) = on_their_side(keys, &words.account, &settings);
        if wizard.asks && !steps.is_empty() {
            ask::say(steps.join("\n"))?;
            // Without the frame that questions stand in: it is to be copied.
            manifest.iter().for_each(|it| output::block(it));
        }
        for key in keys.required.iter().filter(|key| keys.secrets().all(|it| it != **key)) {
            if settings.iter().any(|(known, _)| known == key) {
                continue;
            }
            let value = match wizard.asks {
                true => ask::line(&format!("`{key}` of the account"), "", |_| Ok(()))?,
                false => {
                    return Err(Failure::WrongUse(format!(
                        "an account of {platform} needs `{key}`; give it with --set {key}=…"
                    )));
                }
            };
            settings.push(((*key).to_owned(), value));
        }
        let is_given = |key: &str| settings.iter().any(|(known, _)| known == key);
        // Who can be asked is asked for what most accounts have; others say it themselves.
        let usual = usual(keys, &settings).filter(|_| wizard.asks);
        let wanted: Vec<&'static str> =
            keys.secrets().chain(usual).filter(|key| !is_given(key)).collect();
        let mut secrets = sealed(keys, words, &mut settings);
        for key in wanted {
            let (name, value) = secret(setting, wizard, (keys, key), words)?;
            settings.push((key.to_owned(), reference(&name)));
            secrets.push((name, value));
        }
        let (platform, name) = (keys.platform, words.account.clone());
        Ok(Self { platform, name, settings, secrets, steps, manifest })
    }

    /// Puts it into what is to be written.
    pub fn put(&self, draft: &mut Draft) -> Result<(), Failure> {
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|(key, value)| format!("{key}: {}", Value::from(&**value)))
            .collect();
        let entry = format!("{{{}}}", settings.join(", "));
        draft.entry(&["channels", self.platform, "accounts"], &self.name, &entry)?;
        for (name, value) in &self.secrets {
            if let Some(value) = value {
                draft.secret(name, value.clone());
            }
        }
        Ok(())
    }

    /// `platform.name`, as findings call it.
    pub fn called(&self) -> String {
        format!("{}.{}", self.platform, self.name)
    }

    /// What to do about it where it does not work.
    pub fn correction(&self) -> String {
        let Self { platform, name, .. } = self;
        let secrets =
            self.secrets.iter().map(|(it, _)| format!("`insula secret set --daemon {it}`"));
        let secrets: Vec<String> = secrets.collect();
        let again = match secrets.is_empty() {
            true => String::new(),
            false => format!("{} takes another one, ", secrets.join(" or ")),
        };
        format!(
            "the account is kept as it is: {again}`insula channels test {platform}` asks again; to remove it, take `{name}` out of `channels.{platform}.accounts` in config.yaml"
        )
    }

    /// What is missing for it to work.
    pub fn lacks(&self, wizard: &Wizard) -> Option<String> {
        let is_missing = |(name, value): &&(String, Option<String>)| {
            value.is_none() && !wizard.secrets.contains(name)
        };
        let commands: Vec<String> = self
            .secrets
            .iter()
            .filter(is_missing)
            .map(|(name, _)| format!("`insula secret set --daemon {name}`"))
            .collect();
        match commands.as_slice() {
            [] => None,
            [one] => Some(format!("its token is missing: {one} asks for it")),
            all => Some(format!("its secrets are missing: {} ask for them", all.join(" and "))),
        }
    }
}

fn given(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |word: &String| match word.split_once('=') {
        Some((key, value)) if !key.is_empty() && key.bytes().all(is_of_key) => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(Failure::WrongUse(format!("`{}` is no KEY=VALUE", output::clean(word)))),
    };
    words.iter().map(pair).collect()
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'_'
}

/// A token that is given in a way that leads nowhere would be missed only later.
fn refuse_idle_token(
    keys: &AccountKeys,
    words: &AccountWords,
    settings: &[(String, String)],
) -> Result<(), Failure> {
    let (Some(_), platform) = (&words.token_env, keys.platform) else { return Ok(()) };
    let why = match keys.secrets().next() {
        None => format!("an account of {platform} has no token; leave --token-env out"),
        Some(key) if settings.iter().any(|(known, _)| known == key) => {
            format!("`{key}` is given by --set and by --token-env; leave one out")
        }
        Some(_) => return Ok(()),
    };
    Err(Failure::WrongUse(why))
}

/// The steps on the platform's side, and what is pasted there.
fn on_their_side(
    keys: &AccountKeys,
    account: &str,
    settings: &[(String, String)],
) -> (Vec<String>, Option<String>) {
    let public_url = said(settings, "public_url");
    let calls = (said(settings, "mode") == Some("webhook")).then(|| keys.hook(account, public_url));
    (keys.steps_of(account, public_url), keys.manifest(calls.as_deref()))
}

fn said<'s>(settings: &'s [(String, String)], key: &str) -> Option<&'s str> {
    settings.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
}

/// Secrets that an account can do without by itself, and the way in which it is connected can't.
fn usual(
    keys: &AccountKeys,
    settings: &[(String, String)],
) -> impl Iterator<Item = &'static str> + use<> {
    let is_called = said(settings, "mode") == Some("webhook");
    let usual = keys.usual.iter().copied().filter(|key| CREDENTIALS.contains(key));
    usual.map(move |key| if is_called { "secret" } else { key })
}

/// Takes the secrets out of what was given, so that none stands in the file: their names and
/// values.
fn sealed(
    keys: &AccountKeys,
    words: &AccountWords,
    settings: &mut [(String, String)],
) -> Vec<(String, Option<String>)> {
    let is_open = |it: &&mut (String, String)| {
        CREDENTIALS.contains(&&*it.0) && !it.1.is_empty() && !it.1.contains("${")
    };
    let open = settings.iter_mut().filter(is_open).map(|(key, value)| {
        let name = secret_name(keys, key, &words.account);
        let value = std::mem::replace(value, reference(&name));
        (name, Some(value))
    });
    open.collect()
}

fn reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

/// What a secret of an account is called in the vault. The first is called as the account is.
fn secret_name(keys: &AccountKeys, key: &str, account: &str) -> String {
    let letters = match keys.secrets().next() == Some(key) {
        true => format!("{}_{account}", keys.platform),
        false => format!("{}_{account}_{key}", keys.platform),
    };
    let letters = letters.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' });
    letters.collect::<String>().to_ascii_uppercase()
}

/// A setting of an account that is a secret: what it is called in the vault, and its value.
fn secret(
    setting: &Setting,
    wizard: &Wizard,
    (keys, key): (&AccountKeys, &str),
    words: &AccountWords,
) -> Result<(String, Option<String>), Failure> {
    let name = secret_name(keys, key, &words.account);
    let is_first = keys.secrets().next() == Some(key);
    let is_kept = wizard.secrets.contains(&name);
    let value = match words.token_env.as_ref().filter(|_| is_first) {
        Some(variable) => Some(from_environment(&setting.environment.variables, variable)?),
        None if wizard.asks && !is_kept => {
            Some(ask::hidden(&format!("Its {key} (it is kept sealed, as {name})"))?)
        }
        None => None,
    };
    Ok((name, value))
}
