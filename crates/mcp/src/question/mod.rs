//! A question that a server puts to the person behind a call (`elicitation/create`): read in
//! bounds, put in words, and answered by what the person says. Pure.
//!
//! The words of a question are the server's. One that asks for a secret, tries to steer whoever
//! reads it, or is more than a person would fill in is put to nobody.

mod field;

use field::{Field, Wrong};
use insula_domain::scan::{Use, scan};
use rmcp::model::ElicitRequestParams;
use serde_json::{Map, Value};
use std::time::Duration;

/// Longest message of a question, in characters.
const MESSAGE_CHARS_MAX: usize = 2_000;
/// Most fields of a form: more is no question.
const FIELDS_MAX: usize = 20;
/// Longest address of a page, in characters.
const URL_CHARS_MAX: usize = 2_000;

/// How long a call waits for the answer to a question. Then the server is told that nobody
/// answered.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(15 * 60);

/// What may not be asked for in a form: it would stand in the conversation. As words of letters
/// and digits, each group in a row.
const SECRETS: &[&[&str]] = &[
    &["password"],
    &["passwort"],
    &["passwd"],
    &["passphrase"],
    &["passcode"],
    &["pwd"],
    &["secret"],
    &["secrets"],
    &["token"],
    &["apikey"],
    &["api", "key"],
    &["access", "key"],
    &["private", "key"],
    &["secret", "key"],
    &["credential"],
    &["credentials"],
    &["credit", "card"],
    &["card", "number"],
    &["cvv"],
    &["cvc"],
    &["pin"],
    &["ssn"],
    &["social", "security"],
    &["otp"],
    &["totp"],
    &["2fa"],
    &["one", "time", "code"],
    &["seed", "phrase"],
    &["recovery", "phrase"],
];

/// What a server asks of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    message: String,
    asks: Asks,
}

#[derive(Debug, Clone, PartialEq)]
enum Asks {
    /// For values.
    Form(Vec<Field>),
    /// To open a page, and do there what is not for us to see.
    Page(String),
}

/// What becomes of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// These are the values; none where a page was opened.
    Accept(Option<Map<String, Value>>),
    /// The person does not want to say.
    Decline,
    /// The person was not asked, or did not answer.
    Cancel,
}

/// Why a question is put to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("it asks for a secret, which is not for a conversation")]
    Secret,
    #[error("it reads as if it wanted to steer whoever reads it")]
    Suspect,
    #[error("it is no form that can be asked for in words")]
    Form,
    #[error("it leads to no page on the web by https")]
    Page,
}

impl Question {
    pub(crate) fn of(params: &ElicitRequestParams) -> Result<Self, Unfit> {
        Self::read(&serde_json::to_value(params).map_err(|_| Unfit::Form)?)
    }

    /// A question out of the parameters of a request.
    pub(crate) fn read(params: &Value) -> Result<Self, Unfit> {
        let text = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = field::tidy(text("message"), MESSAGE_CHARS_MAX);
        if text("mode") == "url" {
            let url = text("url");
            let is_plain = url.chars().all(|it| it.is_ascii_graphic());
            let host = url.strip_prefix("https://").and_then(|it| it.split('/').next());
            let is_page = host.is_some_and(|host| !host.is_empty() && !host.contains('@'));
            if !is_plain || !is_page || url.len() > URL_CHARS_MAX {
                return Err(Unfit::Page);
            }
            return Self { message, asks: Asks::Page(url.to_owned()) }.judged();
        }
        let schema = params.get("requestedSchema").ok_or(Unfit::Form)?;
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        if properties.len() > FIELDS_MAX {
            return Err(Unfit::Form);
        }
        let needed: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|it| it.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut fields = Vec::new();
        for (name, described) in properties {
            let is_needed = needed.contains(&name.as_str());
            fields.push(Field::read(name, described, is_needed).ok_or(Unfit::Form)?);
        }
        // What is needed and described nowhere could never be given.
        if needed.iter().any(|name| !properties.contains_key(*name)) {
            return Err(Unfit::Form);
        }
        Self { message, asks: Asks::Form(fields) }.judged()
    }

    fn judged(self) -> Result<Self, Unfit> {
        let mut all = vec![self.message.clone()];
        if let Asks::Form(fields) = &self.asks {
            all.extend(fields.iter().flat_map(Field::texts));
            if all.iter().any(|text| asks_for_secret(text)) {
                return Err(Unfit::Secret);
            }
        }
        match all.iter().any(|text| !scan(text, Use::ToolDescription).is_empty()) {
            true => Err(Unfit::Suspect),
            false => Ok(self),
        }
    }

    /// The question for the person, by whom it is asked and for which call.
    pub fn in_words(&self, server: &str, tool: &str) -> String {
        let message = if self.message.is_empty() { "(no words)" } else { &self.message };
        let begin = format!("The MCP server `{server}` asks, to go on with `{tool}`:\n{message}\n");
        let otherwise = "or say `decline` or `cancel`.";
        match &self.asks {
            Asks::Page(url) => {
                let host = url.split('/').nth(2).unwrap_or_default();
                format!(
                    "{begin}It wants you to open a page of `{host}`, which I can't see: {url}\nSay `done` when you are through, {otherwise}"
                )
            }
            Asks::Form(fields) => match fields.as_slice() {
                [] => format!("{begin}Answer `yes`, {otherwise}"),
                [one] => format!("{begin}{}\nAnswer with that alone, {otherwise}", one.in_words()),
                several => {
                    let lines: Vec<String> = several.iter().map(Field::in_words).collect();
                    let lines = lines.join("\n");
                    let only = field::only_needed(several);
                    let only = only.map(|it| format!("`{}` alone, or with ", it.name));
                    let only = only.unwrap_or_default();
                    format!(
                        "{begin}{lines}\nAnswer with {only}one line `name: value` each, {otherwise}"
                    )
                }
            },
        }
    }

    /// What the person's words mean; why they are no answer, so that it can be asked again.
    pub fn answered(&self, said: &str) -> Result<Reply, String> {
        let said = said.trim();
        let word = said.trim_end_matches(['.', '!']).trim_matches('`').to_lowercase();
        match word.as_str() {
            "decline" | "/decline" => return Ok(Reply::Decline),
            "cancel" | "/cancel" | "never mind" => return Ok(Reply::Cancel),
            _ => {}
        }
        let is_yes = matches!(
            word.as_str(),
            "yes" | "y" | "ok" | "okay" | "done" | "accept" | "confirm" | "go ahead"
        );
        let fields = match &self.asks {
            Asks::Page(_) if is_yes => return Ok(Reply::Accept(None)),
            Asks::Form(fields) if fields.is_empty() && is_yes => {
                return Ok(Reply::Accept(Some(Map::new())));
            }
            Asks::Form(fields) if !fields.is_empty() => fields,
            _ if matches!(word.as_str(), "no" | "n") => return Ok(Reply::Decline),
            Asks::Page(_) => return Err("say `done`, `decline` or `cancel`".to_owned()),
            Asks::Form(_) => return Err("say `yes`, `decline` or `cancel`".to_owned()),
        };
        field::values(fields, said).map(|it| Reply::Accept(Some(it))).map_err(|Wrong(why)| why)
    }
}

/// Whether a text asks for something that is not for a conversation. That it is not wanted may be
/// said.
fn asks_for_secret(text: &str) -> bool {
    text.split(['.', ';', '(', ')', '!', '?', '\n']).any(|clause| {
        let words = words(clause);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_unwanted = match words.as_slice() {
            ["do", "not", verb, ..] | ["don", "t", verb, ..] | ["never", verb, ..] => {
                GIVING.contains(verb)
            }
            _ => false,
        };
        !is_unwanted && SECRETS.iter().any(|it| words.windows(it.len()).any(|some| some == *it))
    })
}

/// What is done with a secret by whoever gives it away.
const GIVING: [&str; 8] = ["give", "share", "send", "enter", "include", "provide", "type", "tell"];

fn words(text: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut before = ' ';
    for it in text.chars() {
        // `apiKey` is two words.
        if it.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if it.is_alphanumeric() { it } else { ' ' });
        before = it;
    }
    spaced.to_lowercase().split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
