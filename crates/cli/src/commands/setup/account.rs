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
    /// The secrets it refers to, and their values where those are not kept yet.
    secrets: Vec<(String, Option<String>)>,
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
        let wanted: Vec<&'static str> = keys.secrets().filter(|key| !is_given(key)).collect();
        let mut secrets = vec![];
        for (number, key) in wanted.into_iter().enumerate() {
            let (name, value) = secret(setting, wizard, (keys.platform, key, number == 0), words)?;
            settings.push((key.to_owned(), format!("${{secret:{name}}}")));
            secrets.push((name, value));
        }
        Ok(Self { platform: keys.platform, name: words.account.clone(), settings, secrets })
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

    /// What is done on the platform's side, line by line.
    pub fn steps(&self) -> Vec<&'static str> {
        AccountKeys::of(self.platform).map_or(Vec::new(), |keys| keys.steps().to_vec())
    }

    /// `platform.name`, as findings call it.
    pub fn called(&self) -> String {
        format!("{}.{}", self.platform, self.name)
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

/// A setting of an account that is a secret: what it is called in the vault, and its value. The first
/// is called as the account is.
fn secret(
    setting: &Setting,
    wizard: &Wizard,
    (platform, key, is_first): (&str, &str, bool),
    words: &AccountWords,
) -> Result<(String, Option<String>), Failure> {
    let letters = match is_first {
        true => format!("{platform}_{}", words.account),
        false => format!("{platform}_{}_{key}", words.account),
    };
    let letters = letters.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '_' });
    let name = letters.collect::<String>().to_ascii_uppercase();
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
