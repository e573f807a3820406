//! What the ids in an answer are called: agents, people and conversations, beside their ids. For
//! people alone; programs read ids.

use super::same;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Where an answer names agents.
const AGENTS: [&str; 7] =
    ["agent", "agents", "assignee", "worker", "reviewer", "author_agent", "chain"];
/// Where an answer names people.
const PEOPLE: [&str; 12] = [
    "principal",
    "who",
    "asked_by",
    "answered_by",
    "granted_by",
    "approved_by",
    "by",
    "owner",
    "actor",
    "user",
    "author",
    "sender",
];
/// Where an answer names conversations.
const CONVERSATION: &str = "session";
/// What has a row for each person, by `name`.
const ROWS_OF_PEOPLE: &str = "principals";

/// Longest words that stand for a conversation beside its number, in characters.
const TITLE_CHARS_MAX: usize = 40;

/// What things are called.
#[derive(Debug, Default)]
pub struct Known {
    pub(super) agents: BTreeMap<String, String>,
    /// By agent and identity.
    pub(super) people: BTreeMap<(String, String), String>,
    /// By agent and number.
    pub(super) conversations: BTreeMap<(String, String), String>,
}

/// What an answer has of what may be called something.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub agents: Vec<String>,
    pub has_people: bool,
    pub has_conversations: bool,
}

impl Named {
    /// By an answer about this agent, or about those that it names itself.
    pub fn of(agent: Option<&str>, answer: &Value) -> Self {
        let mut found = Self::default();
        found.agents.extend(agent.map(str::to_owned));
        found.look(answer);
        found
    }

    fn look(&mut self, answer: &Value) {
        match answer {
            Value::Array(items) => items.iter().for_each(|it| self.look(it)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.has_people |= PEOPLE.contains(&key.as_str()) && value.is_string()
                        || key == ROWS_OF_PEOPLE;
                    self.has_conversations |= key == CONVERSATION && !value.is_null();
                    match value.as_str().filter(|_| key == "agent") {
                        Some(id) if !self.agents.iter().any(|it| it == id) => {
                            self.agents.push(id.to_owned());
                        }
                        _ => self.look(value),
                    }
                }
            }
            _ => {}
        }
    }
}

impl Known {
    /// Takes up a list of agents.
    pub fn take_agents(&mut self, agents: &Value) {
        let all = agents.as_array().into_iter().flatten();
        let named = all.filter_map(|it| Some((it["id"].as_str()?, it["name"].as_str()?)));
        let named = named.filter(|(id, name)| !same(id, name));
        self.agents.extend(named.map(|(id, name)| (id.to_owned(), name.to_owned())));
    }

    /// Takes up whom an agent let in, as they called themselves, and then whom its operator named:
    /// that counts more.
    pub fn take_people(&mut self, agent: &str, pairing: &Value, context: &Value) {
        let mut put = |who: &str, name: &str| {
            if !name.trim().is_empty() {
                self.people.insert((agent.to_owned(), who.to_owned()), name.trim().to_owned());
            }
        };
        for it in pairing.as_array().into_iter().flatten() {
            put(it["who"].as_str().unwrap_or_default(), it["name"].as_str().unwrap_or_default());
        }
        for it in context["settings"].as_array().into_iter().flatten() {
            let path = it["setting"].as_str().unwrap_or_default();
            let Some(name) = path.strip_prefix("access.people.") else { continue };
            let name = name.split(['.', '[']).next().unwrap_or_default();
            match &it["value"] {
                Value::String(who) => put(who, name),
                value => {
                    let all = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                    all.for_each(|who| put(who, name));
                }
            }
        }
    }

    /// Takes up the conversations of an agent: by title, or by how they begin.
    pub fn take_conversations(&mut self, agent: &str, sessions: &Value) {
        for it in sessions.as_array().into_iter().flatten() {
            let Some(title) = it["title"].as_str().or(it["begins"].as_str()) else { continue };
            let place = (agent.to_owned(), plain(&it["id"]));
            self.conversations.insert(place, short(title, TITLE_CHARS_MAX));
        }
    }

    /// What an agent is called, beside its id.
    pub fn agent(&self, id: &str) -> String {
        beside(id, self.agents.get(id))
    }

    /// What somebody is called, beside their identity.
    pub fn person(&self, agent: &str, who: &str) -> String {
        beside(who, self.people.get(&(agent.to_owned(), who.to_owned())))
    }

    /// What a conversation is called.
    pub fn conversation(&self, agent: &str, number: &str) -> Option<&String> {
        self.conversations.get(&(agent.to_owned(), number.to_owned()))
    }

    /// Everybody of an agent who is called so.
    pub fn people_called(&self, agent: &str, name: &str) -> Vec<String> {
        let all = self.people.iter().filter(|((of, _), _)| of == agent);
        all.filter(|(_, known)| same(known, name)).map(|((_, who), _)| who.clone()).collect()
    }

    /// An answer with names beside the ids in it. What says no agent is about this one.
    pub fn in_answer(&self, agent: Option<&str>, answer: &Value) -> Value {
        match answer {
            Value::Array(items) => items.iter().map(|it| self.in_answer(agent, it)).collect(),
            Value::Object(fields) => self.in_fields(agent, fields),
            other => other.clone(),
        }
    }

    fn in_fields(&self, agent: Option<&str>, fields: &Map<String, Value>) -> Value {
        let agent = fields.get("agent").and_then(Value::as_str).or(agent);
        // Where a row is about somebody and has their name, it is said once.
        let is_theirs = |key: &str| key == "who" && fields.contains_key("name");
        let named = fields.iter().map(|(key, value)| {
            let named = match (key.as_str(), agent) {
                (key, _) if AGENTS.contains(&key) => self.agents_in(value),
                (key, Some(agent)) if PEOPLE.contains(&key) && !is_theirs(key) => {
                    match value.as_str() {
                        Some(who) => self.person(agent, who).into(),
                        None => self.in_answer(Some(agent), value),
                    }
                }
                (ROWS_OF_PEOPLE, Some(agent)) => self.rows_of_people(agent, value),
                (CONVERSATION, Some(agent)) if !value.is_object() => {
                    let number = plain(value);
                    match self.conversation(agent, &number) {
                        Some(title) => format!("{number} ({title})").into(),
                        None => value.clone(),
                    }
                }
                _ => self.in_answer(agent, value),
            };
            (key.clone(), named)
        });
        Value::Object(named.collect())
    }

    fn agents_in(&self, value: &Value) -> Value {
        match value {
            Value::String(id) => self.agent(id).into(),
            Value::Array(all) => all
                .iter()
                .map(|it| match it.as_str() {
                    Some(id) => self.agent(id).into(),
                    None => self.in_answer(None, it),
                })
                .collect(),
            Value::Object(fields) => {
                let named = fields.iter().map(|(id, it)| (self.agent(id), it.clone()));
                Value::Object(named.collect())
            }
            other => other.clone(),
        }
    }

    fn rows_of_people(&self, agent: &str, rows: &Value) -> Value {
        let named = |row: &Value| {
            let mut row = row.clone();
            if let Some(who) = row["name"].as_str() {
                row["name"] = self.person(agent, who).into();
            }
            row
        };
        rows.as_array().into_iter().flatten().map(named).collect()
    }
}

fn beside(id: &str, name: Option<&String>) -> String {
    match name {
        Some(name) => format!("{id} ({name})"),
        None => id.to_owned(),
    }
}

/// A number or a text, as it is typed.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The beginning of a text, on one line.
pub fn short(text: &str, chars_max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= chars_max {
        return flat;
    }
    flat.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    fn known() -> Known {
        let mut known = Known::default();
        known.take_agents(&json!([
            { "id": "coder", "name": "Ada" }, { "id": "main", "name": "main" },
        ]));
        let paired =
            json!([{ "who": "telegram:5", "name": "M" }, { "who": "telegram:6", "name": " Ned " }]);
        let context = json!({ "settings": [
            { "setting": "access.people.maria", "value": ["telegram:5"] },
            { "setting": "access.allow", "value": ["telegram:7"] },
        ] });
        known.take_people("coder", &paired, &context);
        let sessions = json!([
            { "id": 3, "title": "Garden plans", "begins": "hello" },
            { "id": 4, "title": null, "begins": "plant\nsome trees" },
            { "id": 5, "title": null, "begins": null },
        ]);
        known.take_conversations("coder", &sessions);
        known
    }

    #[test]
    fn what_is_called_something_is_called_so_wherever_it_stands() {
        let rows = json!([
            { "agent": "coder", "session": 3, "principal": "telegram:5", "agents": ["main", "coder"] },
            { "agent": "main", "session": 3, "principal": "telegram:5", "agents": { "coder": "work" } },
            { "agent": null, "session": null },
        ]);
        assert_eq!(
            known().in_answer(None, &rows),
            json!([
                { "agent": "coder (Ada)", "session": "3 (Garden plans)", "principal": "telegram:5 (maria)",
                    "agents": ["main", "coder (Ada)"] },
                { "agent": "main", "session": 3, "principal": "telegram:5", "agents": { "coder (Ada)": "work" } },
                { "agent": null, "session": null },
            ])
        );
        let of_one = json!({ "turn": { "session": 4 }, "messages": [{ "principal": "telegram:6" }],
            "session": { "id": 5 }, "principals": [{ "name": "telegram:6", "turns": 1 }] });
        assert_eq!(
            known().in_answer(Some("coder"), &of_one),
            json!({ "turn": { "session": "4 (plant some trees)" },
                "messages": [{ "principal": "telegram:6 (Ned)" }], "session": { "id": 5 },
                "principals": [{ "name": "telegram:6 (Ned)", "turns": 1 }] })
        );
        // Said once, where a column has the name anyway.
        let paired = json!([{ "who": "telegram:6", "name": "Ned" }]);
        assert_eq!(known().in_answer(Some("coder"), &paired), paired);
    }

    #[test]
    fn people_are_found_by_what_they_are_called_at_that_agent() {
        assert_eq!(known().people_called("coder", "Maria"), ["telegram:5"]);
        assert!(known().people_called("main", "Maria").is_empty());
        assert!(known().people_called("coder", "M").is_empty(), "the operator's word counts");
    }

    #[test]
    fn what_an_answer_has_to_be_called_is_seen() {
        let rows =
            json!([{ "agent": "a", "who": null }, { "agent": "b", "turn": { "session": 4 } }]);
        let seen = Named {
            agents: vec!["a".into(), "b".into()],
            has_people: false,
            has_conversations: true,
        };
        assert_eq!(Named::of(None, &rows), seen);
        let people = json!({ "messages": [{ "principal": "cli:local" }] });
        let seen = Named { agents: vec!["a".into()], has_people: true, has_conversations: false };
        assert_eq!(Named::of(Some("a"), &people), seen);
    }
}
