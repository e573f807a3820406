//! An account on a platform: what it needs, where that is had, and how it is written.

use super::draft::Draft;
use super::model::from_environment;
use super::{Wizard, ask};
use crate::arguments::AccountWords;
use crate::failure::Failure;
use crate::output;
use crate::setting::Setting;
use insula_config::schema::{AccountKeys, CONNECTED};
use serde_json::Value;

/// An account that is to be added.
pub struct NewAccount {
    pub platform: &'static str,
    pub name: String,
    /// Each setting, and whether it stands in the file as it is.
    settings: Vec<(String, String)>,
    /// The secret it refers to, and its value where that is not kept yet.
    secret: Option<(String, Option<String>)>,
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
        let told = keys.steps().join("\n");
        if wizard.asks && !told.is_empty() {
            ask::say(&told)?;
        }
        for key in keys.required.iter().filter(|key| keys.secret() != Some(**key)) {
            if settings.iter().any(|(known, _)| known == key) {
                continue;
            }
            let value = match wizard.asks {
                true => ask::line(&format!("`{key}` of the account"), "")?,
                false => {
                    return Err(Failure::WrongUse(format!(
                        "an account of {platform} needs `{key}`; give it with --set {key}=…"
                    )));
                }
            };
            settings.push(((*key).to_owned(), value));
        }
        let secret = secret(setting, wizard, keys, words)?;
        if let Some((key, (name, _))) = &secret {
            settings.push(((*key).to_owned(), format!("${{secret:{name}}}")));
        }
        let secret = secret.map(|(_, secret)| secret);
        Ok(Self { platform: keys.platform, name: words.account.clone(), settings, secret })
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
        if let Some((name, Some(value))) = &self.secret {
            draft.secret(name, value.clone());
        }
        Ok(())
    }

    /// `platform.name`, as findings call it.
    pub fn called(&self) -> String {
        format!("{}.{}", self.platform, self.name)
    }

    /// What is missing for it to work.
    pub fn lacks(&self, wizard: &Wizard) -> Option<String> {
        let (name, value) = self.secret.as_ref()?;
        let is_kept = wizard.secrets.iter().any(|it| it == name);
        (value.is_none() && !is_kept).then(|| {
            format!("its token is missing: `insula secret set --daemon {name}` asks for it")
        })
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

type Secret = (&'static str, (String, Option<String>));

/// The setting of an account that is a secret, what it is called in the vault, and its value.
fn secret(
    setting: &Setting,
    wizard: &Wizard,
    keys: &AccountKeys,
    words: &AccountWords,
) -> Result<Option<Secret>, Failure> {
    let Some(key) = keys.secret() else { return Ok(None) };
    let letters = format!("{}_{}", keys.platform, words.account);
    let letters = letters.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' });
    let name = letters.collect::<String>().to_ascii_uppercase();
    let is_kept = wizard.secrets.contains(&name);
    let value = match &words.token_env {
        Some(variable) => Some(from_environment(&setting.environment.variables, variable)?),
        None if wizard.asks && !is_kept => {
            Some(ask::hidden(&format!("Its {key} (it is kept sealed, as {name})"))?)
        }
        None => None,
    };
    Ok(Some((key, (name, value))))
}
