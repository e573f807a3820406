//! Talking with agents: a turn over the API, a turn on the platform, and what became of it.

use super::Ground;
use crate::machine::{self, Answer};
use crate::puppet::{Call, Script, obey};
use anyhow::{Context as _, Result};
use insula_testkit::telegram::{Draft, Sent, User, Where};
use serde_json::{Value, json};

/// What became of a turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The tag of its script.
    pub tag: String,
    /// The answer of the API.
    pub answer: Answer,
    /// What the agent said.
    pub reply: String,
    /// What its calls came to, as the model was told, in order.
    pub results: Vec<String>,
    /// The requests to the model, in order.
    pub requests: Vec<Value>,
}

impl Turn {
    /// All results in one text.
    pub fn told(&self) -> String {
        self.results.join("\n--\n")
    }

    /// All that the model was sent, as bytes.
    pub fn prompts(&self) -> Vec<u8> {
        let requests = self.requests.iter().map(ToString::to_string);
        requests.collect::<Vec<_>>().join("\n").into_bytes()
    }
}

impl Ground {
    /// Has a puppet know a script; the tag that names it in whatever words it is to be found in.
    pub fn learn(&self, script: Script) -> String {
        self.puppets.learn(script)
    }

    /// One turn over the API with the agent's own token, in the session of this name.
    pub fn turn(&self, agent: &str, session: &str, script: Script) -> Result<Turn> {
        self.turn_saying(agent, session, "", script)
    }

    /// The same, and the message begins with these words.
    pub fn turn_saying(
        &self,
        agent: &str,
        session: &str,
        words: &str,
        script: Script,
    ) -> Result<Turn> {
        let token = self.token(agent)?.text.clone();
        self.turn_with(&token, agent, session, words, script)
    }

    /// The same with any token.
    pub fn turn_with(
        &self,
        token: &str,
        agent: &str,
        session: &str,
        words: &str,
        script: Script,
    ) -> Result<Turn> {
        let tag = self.puppets.learn(script);
        let message = json!({ "role": "user", "content": format!("{words} {tag}").trim() });
        let body = json!({ "model": agent, "messages": [message] });
        let headers = [
            format!("Authorization: Bearer {token}"),
            format!("X-Insula-Session: {session}"),
            "Content-Type: application/json".to_owned(),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let path = "/v1/chat/completions";
        let answer = machine::request(self.listen()?, "POST", path, &headers, &body.to_string())?;
        let reply = answer.json()["choices"][0]["message"]["content"].as_str().map(str::to_owned);
        let reply = reply.unwrap_or_default();
        Ok(self.finished(tag, answer, reply))
    }

    fn finished(&self, tag: String, answer: Answer, reply: String) -> Turn {
        let requests = self.puppets.with_tag(&tag);
        let results = requests.last().map(crate::puppet::results).unwrap_or_default();
        Turn { tag, answer, reply, results, requests }
    }

    /// Makes these calls in one turn, and gives what each came to.
    pub fn calls(&self, agent: &str, session: &str, calls: Vec<Call>) -> Result<Vec<String>> {
        let count = calls.len();
        let turn = self.turn(agent, session, obey::at_once(calls))?;
        anyhow::ensure!(
            turn.results.len() == count,
            "{count} calls of `{agent}` came to {} results: {:?}",
            turn.results.len(),
            turn.answer
        );
        Ok(turn.results)
    }

    /// Makes one call, and gives what it came to.
    pub fn call(&self, agent: &str, session: &str, tool: &str, arguments: Value) -> Result<String> {
        let mut results = self.calls(agent, session, vec![Call::new(tool, arguments)])?;
        Ok(results.pop().unwrap_or_default())
    }

    /// Runs a command in the agent's shell, and gives what the model was told.
    pub fn shell(&self, agent: &str, session: &str, command: &str) -> Result<String> {
        self.call(agent, session, "terminal", json!({ "command": command }))
    }

    /// Somebody says something on the platform that the agent there answers by a script; waits
    /// until its last words are on the platform.
    pub fn tell(&self, place: Where<'_>, who: &User, words: &str, script: Script) -> Result<Turn> {
        let tag = self.puppets.learn(script);
        let telegram = self.telegram()?;
        let before = telegram.sent().len();
        telegram.say(place, &Draft::new(who, format!("{words} {tag}").trim()));
        let (chat, topic) = chat_and_topic(place, who);
        // The platform shows Markdown its own way: words of letters and digits are enough.
        let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        let is_it = |sent: &Sent| {
            let words = self.puppets.last_words(&tag).map(|words| plain(&words));
            let here = sent.chat == chat && sent.topic == topic;
            here && words.is_some_and(|words| plain(&sent.text).contains(&words))
        };
        let found = self.wait("the bot answers", async {
            telegram.until(|it| it.sent().into_iter().skip(before).find(|sent| is_it(sent))).await
        });
        let said = found.with_context(|| {
            let heard = self.puppets.with_tag(&tag).len();
            format!("{heard} requests; sent: {:?}", &telegram.sent()[before..])
        })?;
        let answer = Answer { status: 200, head: String::new(), body: said.text.clone() };
        Ok(self.finished(tag, answer, said.text))
    }

    /// Somebody says something on the platform, and nothing is waited for.
    pub fn say(&self, place: Where<'_>, who: &User, words: &str) -> Result<i64> {
        Ok(self.telegram()?.say(place, &Draft::new(who, words)))
    }

    /// Somebody types a command on the platform; what the bot says next in that place.
    pub fn command(&self, place: Where<'_>, who: &User, text: &str) -> Result<String> {
        let telegram = self.telegram()?;
        let before = telegram.sent().len();
        telegram.say(place, &Draft::new(who, text));
        let (chat, topic) = chat_and_topic(place, who);
        let is_it = |sent: &Sent| sent.chat == chat && sent.topic == topic;
        let said = self.wait("the bot answers a command", async {
            telegram.until(|it| it.sent().into_iter().skip(before).find(|sent| is_it(sent))).await
        });
        Ok(said.with_context(|| format!("`{text}`"))?.text)
    }

    /// What became of the script of this tag so far.
    pub fn so_far(&self, tag: &str) -> Turn {
        let answer = Answer { status: 0, head: String::new(), body: String::new() };
        self.finished(tag.to_owned(), answer, String::new())
    }
}

/// The chat and topic of a place.
fn chat_and_topic(place: Where<'_>, who: &User) -> (i64, Option<i64>) {
    match place {
        Where::Dm(_) => (who.id, None),
        Where::Chat(chat) => (chat, None),
        Where::Topic(chat, topic) => (chat, Some(topic)),
    }
}
