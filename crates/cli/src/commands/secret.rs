//! `insula secret …`: values come from standard input or a hidden prompt, never from an
//! argument, which others on the machine and the shell's history would see.

use super::text;
use crate::arguments::{OneSecret, Secret};
use crate::failure::Failure;
use crate::output;
use crate::process::ask_hidden;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use insula_vault::SECRET_BYTES_MAX;
use insula_vault::strength::is_guessable;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Read as _};

/// What is wrong with a value of the daemon's that a list of words may have.
const GUESSABLE: &str = "warning: this value could be guessed, so what agents say is not cleared of it; use a long random one";

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Secret) -> Result<u8, Failure> {
    match command {
        Secret::Set(one) => {
            let place = SecretRef::of(&one)?;
            let value = value(&place)?;
            reach.put(&place.path(), json!({ "value": value })).await?;
            if one.daemon && is_guessable(&value) {
                output::notice(GUESSABLE);
            }
            answer.give(&place.json("set"), |_| output::line(&format!("set {place}")));
        }
        Secret::List { agent, daemon } => {
            let path = match &agent {
                Some(agent) => format!("/api/agents/{}/secrets", part(agent)),
                None if daemon => "/api/daemon/secrets".to_owned(),
                None => "/api/secrets".to_owned(),
            };
            reach.give(answer, &reach.get(&path).await?, show).await;
        }
        Secret::Remove(one) => {
            let place = SecretRef::of(&one)?;
            reach.delete(&place.path()).await?;
            answer.give(&place.json("removed"), |_| output::line(&format!("removed {place}")));
        }
    }
    Ok(0)
}

fn show(secrets: &Value) {
    let rows = secrets.as_array().into_iter().flatten().map(|secret| {
        let whose = secret["agent"].as_str().unwrap_or("(daemon)");
        vec![whose.to_owned(), text(secret, "name"), text(secret, "set")]
    });
    output::table(&["agent", "name", "set"], rows);
}

/// One secret, as it was typed.
struct SecretRef<'a> {
    agent: Option<&'a str>,
    name: &'a str,
}

impl<'a> SecretRef<'a> {
    fn of(one: &'a OneSecret) -> Result<Self, Failure> {
        match (one.daemon, one.words.as_slice()) {
            (true, [name]) => Ok(Self { agent: None, name }),
            (false, [agent, name]) => Ok(Self { agent: Some(agent), name }),
            (true, _) => Err(Failure::WrongUse(
                "with --daemon give the secret's name alone; a value is read from standard input, never from an argument; see --help".to_owned(),
            )),
            (false, _) => Err(Failure::WrongUse(
                "give the agent and the secret's name, or --daemon and the name; see --help".to_owned(),
            )),
        }
    }

    fn path(&self) -> String {
        match self.agent {
            Some(agent) => format!("/api/agents/{}/secrets/{}", part(agent), part(self.name)),
            None => format!("/api/daemon/secrets/{}", part(self.name)),
        }
    }

    fn json(&self, done: &str) -> Value {
        json!({ "agent": self.agent, "name": self.name, done: true })
    }
}

impl std::fmt::Display for SecretRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.agent {
            Some(agent) => write!(f, "{} of {agent}", self.name),
            None => write!(f, "{} of the daemon", self.name),
        }
    }
}

/// The value: what stands on standard input, or what is typed without being shown. One line
/// end at its end is not part of it: `echo` and files have one that nobody meant.
fn value(place: &SecretRef<'_>) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(ask_hidden(&format!("value of {place}: "))?);
    }
    let mut bytes = Vec::new();
    // One byte more than the largest value and its line end: enough to see that it is more.
    let limit = u64::try_from(SECRET_BYTES_MAX + 3).unwrap_or(u64::MAX);
    stdin.lock().take(limit).read_to_end(&mut bytes)?;
    let mut value = String::from_utf8(bytes).map_err(|_| {
        Failure::WrongUse("the value is not UTF-8 text; encode it first".to_owned())
    })?;
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    Ok(value)
}
