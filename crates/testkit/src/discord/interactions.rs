//! Presses of buttons and uses of commands, which have to be answered within three seconds.

use super::answers::{Answer, No};
use super::state::{InteractionState, State};
use crate::upstream::Seen;
use serde_json::{Value, json};

/// How long Discord waits for an answer.
const ANSWER_WITHIN_MS: i64 = 3_000;

impl State {
    /// Somebody does something that a bot has to answer; its id.
    pub fn interact(
        &mut self,
        now: i64,
        (bot, application): (&str, &str),
        (user, channel): (&str, &str),
        fields: &Value,
    ) -> String {
        let id = self.fresh(now);
        let token = format!("token-{id}");
        let guild = self.channels.get(channel).map(|it| it["guild_id"].clone());
        let guild = guild.unwrap_or_default();
        let mut told = json!({
            "id": id, "application_id": application, "token": token, "version": 1,
            "channel_id": channel, "channel": self.channels.get(channel), "locale": "en-US",
            "app_permissions": "0", "entitlements": [], "authorizing_integration_owners": {},
            "attachment_size_limit": 10_485_760,
        });
        match guild.as_str() {
            Some(guild) => {
                told["guild_id"] = guild.into();
                told["guild"] = json!({ "id": guild, "locale": "en-US", "features": [] });
                let mut member = self.member(guild, user).unwrap_or_default();
                member["permissions"] = "0".into();
                told["member"] = member;
            }
            None => told["user"] = self.users.get(user).cloned().unwrap_or_default(),
        }
        super::state::merge(&mut told, fields);
        let interaction = InteractionState { id: id.clone(), at: now, is_answered: false };
        self.interactions.insert(token, interaction);
        let sessions: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.bot == bot)
            .map(|(id, _)| id.clone())
            .collect();
        for session in sessions {
            self.tell_session(&session, "INTERACTION_CREATE", &told);
        }
        id
    }
}

/// The answer to a request about an interaction, which needs no token of a bot.
pub(super) fn answer(
    state: &mut State,
    now: i64,
    (method, parts, query): (&str, &[&str], &str),
    seen: &Seen,
) -> Option<Answer> {
    const UNKNOWN: No = No(404, 10062);
    let (token, kind) = match (method, parts) {
        ("POST", ["interactions", _, token, "callback"]) => (*token, "callback"),
        ("POST", ["webhooks", _, token]) => (*token, "follow-up"),
        ("PATCH", ["webhooks", _, token, "messages", "@original" | "%40original"]) => {
            (*token, "edit")
        }
        _ => return None,
    };
    let Some(interaction) = state.interactions.get_mut(token) else { return Some(Err(UNKNOWN)) };
    if kind == "callback" {
        if interaction.is_answered {
            return Some(Err(No(400, 40060)));
        }
        if now - interaction.at > ANSWER_WITHIN_MS {
            return Some(Err(UNKNOWN));
        }
        interaction.is_answered = true;
    } else if !interaction.is_answered {
        return Some(Err(No(404, 10015)));
    }
    let id = interaction.id.clone();
    let body = match crate::form::parts(seen) {
        Some(parts) => parts
            .into_iter()
            .find(|part| part.name == "payload_json")
            .and_then(|part| serde_json::from_slice(&part.content).ok())
            .unwrap_or_default(),
        None => seen.json(),
    };
    state.answers.push((id, kind.to_owned(), body.clone()));
    Some(match kind {
        "callback" if query.contains("with_response=") && !query.contains("with_response=f") => {
            let kind = body["type"].as_u64().unwrap_or(0);
            let interaction = json!({
                "id": state.answers.last().map(|(id, ..)| id), "type": 2,
                "response_message_id": state.fresh(now), "response_message_loading": kind == 5,
                "response_message_ephemeral": body["data"]["flags"] == 64,
            });
            Ok((200, json!({ "interaction": interaction, "resource": { "type": kind } })))
        }
        "callback" => Ok((204, Value::Null)),
        _ => {
            let message = json!({
                "id": state.fresh(now), "type": 20, "content": body["content"],
                "channel_id": "0", "author": state.users.values().next(), "attachments": [],
                "embeds": [], "mentions": [], "mention_roles": [], "pinned": false, "tts": false,
                "mention_everyone": false, "timestamp": "2026-01-01T00:00:00+00:00",
                "edited_timestamp": null, "flags": body["flags"].as_u64().unwrap_or(0),
                "components": [],
            });
            Ok((200, message))
        }
    })
}
