//! The way to the API, where what is asked for may be said by name.

use super::known::{Known, Named};
use super::things::{self, Meant, Thing};
use crate::failure::Failure;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

/// Most agents whose people and conversations one answer is given with: each is asked for its own.
const AGENTS_ASKED_MAX: usize = 20;

impl Reach {
    /// Gives an answer; for people, with names and titles beside the ids in it.
    pub async fn give(&self, answer: Answer, value: &Value, show: impl FnOnce(&Value)) {
        self.give_named(answer, None, value, show).await;
    }

    /// Gives an answer about an agent; for people, with names and titles beside the ids in it.
    pub async fn give_of(
        &self,
        agent: &str,
        answer: Answer,
        value: &Value,
        show: impl FnOnce(&Value),
    ) {
        self.give_named(answer, Some(agent), value, show).await;
    }

    async fn give_named(
        &self,
        answer: Answer,
        agent: Option<&str>,
        value: &Value,
        show: impl FnOnce(&Value),
    ) {
        match answer {
            Answer::Json => answer.give(value, show),
            Answer::Text => show(&self.named(agent, value).await),
        }
    }

    /// An answer with names and titles beside the ids in it.
    pub async fn named(&self, agent: Option<&str>, value: &Value) -> Value {
        let agent = match agent {
            Some(said) => Some(self.agent_called(said).await),
            None => None,
        };
        let known = self.known(&Named::of(agent.as_deref(), value)).await;
        known.in_answer(agent.as_deref(), value)
    }

    /// What things are called that an answer names. Whoever may not list them sees their ids.
    async fn known(&self, named: &Named) -> Known {
        let mut known = Known::default();
        known.take_agents(&self.get("/api/agents").await.unwrap_or_default());
        for agent in named.agents.iter().take(AGENTS_ASKED_MAX) {
            if named.has_people {
                self.meet(&mut known, agent).await;
            }
            if named.has_conversations {
                let path = format!("/api/sessions?agent={}&limit=200", part(agent));
                known.take_conversations(agent, &self.get(&path).await.unwrap_or_default());
            }
        }
        known
    }

    async fn meet(&self, known: &mut Known, agent: &str) {
        let base = format!("/api/agents/{}", part(agent));
        let pairing = self.get(&format!("{base}/pairing")).await.unwrap_or_default();
        let context = self.get(&format!("{base}/context")).await.unwrap_or_default();
        known.take_people(agent, &pairing, &context);
    }

    /// The id of an agent that was named by its id or by what it is called; what was said, where
    /// nobody is called so.
    pub async fn agent_called(&self, said: &str) -> String {
        let agents = self.get("/api/agents").await.unwrap_or_default();
        super::id_of(&agents, said).unwrap_or_else(|| said.to_owned())
    }

    /// The id of an agent that is there, said by its id or by what it is called. Who may talk need
    /// not be one who may look: they are believed.
    pub async fn agent_here(&self, said: &str) -> Result<String, Failure> {
        let found = match self.get(&format!("/api/agents/{}", part(said))).await {
            Err(Failure::Refused { code, .. }) if code == "forbidden" => Value::Null,
            found => found?,
        };
        Ok(found["id"].as_str().unwrap_or(said).to_owned())
    }

    /// The ids of agents that were named by id or by what they are called.
    pub async fn ids_of(&self, said: Vec<String>) -> Result<Vec<String>, Failure> {
        let agents = self.get("/api/agents").await?;
        Ok(said.into_iter().map(|it| super::id_of(&agents, &it).unwrap_or(it)).collect())
    }

    /// The identity of somebody whom an agent knows by this name; what was said, where it is an
    /// identity.
    pub async fn person_called(&self, agent: &str, said: &str) -> Result<String, Failure> {
        if said.contains(':') {
            return Ok(said.to_owned());
        }
        let agent = self.agent_called(agent).await;
        let mut known = Known::default();
        self.meet(&mut known, &agent).await;
        let mut found = known.people_called(&agent, said);
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(Failure::Failed(format!(
                "{agent} knows nobody called `{}`; say who as `telegram:12345`",
                crate::output::clean(said)
            ))),
            _ => Err(Failure::WrongUse(things::several(said, &found))),
        }
    }

    /// The id of a conversation of an agent that was named by that or by its title; what was said,
    /// where none is called so. The name of a turn in it is neither.
    pub async fn session_called(&self, agent: &str, said: &str) -> Result<String, Failure> {
        if said.bytes().all(|it| it.is_ascii_digit()) {
            return Ok(said.to_owned());
        }
        let agent = self.agent_called(agent).await;
        let path = format!("/api/sessions?agent={}&limit=200", part(&agent));
        let rows = self.get(&path).await?;
        match things::meant(&rows, ("id", &["title", "begins"]), said) {
            Meant::Called(id) => Ok(id),
            Meant::Several(ids) => Err(Failure::WrongUse(things::several(said, &ids))),
            Meant::Id | Meant::Nothing(_) => Ok(said.to_owned()),
        }
    }

    /// The number of a card of a board that was named by its number or its title.
    pub async fn card_called(&self, board: &str, said: &str) -> Result<i64, Failure> {
        let said = said.trim_start_matches('#');
        let path = format!("/api/boards/{}/cards/{}", part(board), part(said));
        let card = self.get(&path).await?;
        card["id"].as_i64().ok_or_else(|| Failure::Failed(format!("there is no card `{said}`")))
    }

    /// Sends a request. What a path calls by name is found by it, where one alone is called so.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        if super::names_nobody(path) {
            let told = "say which agent; `insula agents list` has them all";
            return Err(Failure::WrongUse(told.to_owned()));
        }
        let (mut status, mut bytes) =
            self.exchange_once(method.clone(), path, body.clone()).await?;
        let mut path = path.to_owned();
        if super::is_unknown_agent(status, &bytes) {
            let agents = self.rows("/api/agents").await?;
            let Some(by_name) = super::by_name(&agents, &path) else {
                return Ok((status, super::with_suggestion(&agents, bytes)));
            };
            (status, bytes) = self.exchange_once(method.clone(), &by_name, body.clone()).await?;
            path = by_name;
        }
        if status != StatusCode::NOT_FOUND {
            return Ok((status, bytes));
        }
        for thing in things::in_path(&path) {
            let rows = self.rows(&thing.list).await?;
            match thing.meant(&rows) {
                Meant::Id => {}
                Meant::Called(id) => {
                    return self.exchange_once(method, &thing.with(&id), body).await;
                }
                Meant::Several(ids) => return Ok(unclear(&thing, &ids)),
                Meant::Nothing(near) => {
                    return Ok((status, thing.suggested(bytes, near.as_deref())));
                }
            }
        }
        Ok((status, bytes))
    }

    /// A list; nothing where there is none, or not for whoever asks.
    async fn rows(&self, path: &str) -> Result<Value, Failure> {
        let (_, bytes) = self.exchange_once(Method::GET, path, None).await?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

fn unclear(thing: &Thing<'_>, ids: &[String]) -> (StatusCode, Vec<u8>) {
    let error = json!({ "error": { "code": "unclear", "message": thing.several(ids) } });
    (StatusCode::BAD_REQUEST, error.to_string().into_bytes())
}
