//! What people do in a conversation of their own besides saying something: which model answers,
//! that the last exchange is taken back, that the older part becomes notes, that one which was ended
//! goes on, and who speaks in it. The same that chats on platforms do by commands.

use crate::Api;
use crate::caller::Caller;
use crate::conversations::find;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, ready};
use crate::messages::Asked;
use crate::numbers::Numbers;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_owner::{Clerk, Typing};
use insula_registry::tokens::Verb;
use insula_turns::{Undone, Wished};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What stands for the models that the configuration names.
const USUAL: &str = "default";

/// Something to do in a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// Say which models may answer, or have one of them do it: by number or name, or `default`.
    Model { session: String, model: Option<String> },
    /// Take back the last exchange.
    Undo { session: String },
    /// Have the older part become notes before the next answer.
    Compress { session: String },
    /// Say who speaks in it.
    Who { session: String },
    /// List, add or change what the agent does by the clock, as `/cron` in a chat.
    Cron { session: String, words: Option<String> },
    /// Look at or change cards of boards, as `/board` in a chat.
    Board { session: String, words: Option<String> },
    /// Go back to the agent that handed the conversation over, as `/back` in a chat.
    Back { session: String },
    /// Go on with a conversation of this name that was ended, in place of the current one.
    GoOn { session: String, conversation: String },
}

impl Act {
    fn session(&self) -> &str {
        match self {
            Self::Model { session, .. }
            | Self::Undo { session }
            | Self::Compress { session }
            | Self::Who { session }
            | Self::Cron { session, .. }
            | Self::Board { session, .. }
            | Self::Back { session }
            | Self::GoOn { session, .. } => session,
        }
    }
}

/// A command that is carried out as in a chat.
#[derive(Debug, Clone, Copy)]
enum InChat {
    Cron,
    Board,
}

/// What came of it.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Acted {
    /// Whether anything was there to be done.
    done: bool,
    /// The models that answer, in the order they are asked.
    models: Vec<String>,
    /// Those that may be chosen.
    choices: Vec<String>,
    /// Who spoke lately.
    people: Vec<String>,
    /// What is said to whoever asked.
    told: String,
}

/// Does something in one of the caller's conversations.
#[utoipa::path(post, path = "/api/agents/{id}/conversation", params(("id" = String, Path)), request_body = Act,
    responses((status = 200, body = Acted), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody),
    (status = 409, body = ErrorBody)), security(("token" = [])))]
pub async fn act(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Act>, JsonRejection>,
) -> Result<Json<Acted>, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(act) = body?;
    let asked = Asked::of(&api, caller, agent, act.session().to_owned())?;
    Ok(Json(match act {
        Act::Model { model, .. } => asked.model(model.as_deref()).await?,
        Act::Undo { .. } => {
            let who = asked.inbound.principal.clone();
            match asked.engine.undo(&asked.agent, asked.key(), &who).await? {
                Undone::Yes => Acted { done: true, ..Acted::default() },
                Undone::Nothing => Acted::default(),
                Undone::UnderWay => return Err(under_way()),
            }
        }
        Act::Compress { .. } => {
            let wished = asked.engine.compress_next(&asked.agent, asked.key()).await?;
            Acted { done: wished == Wished::Yes, ..Acted::default() }
        }
        Act::Who { .. } => {
            let people = asked.engine.speakers(&asked.agent, asked.key()).await?;
            Acted { done: true, people: people.into_iter().collect(), ..Acted::default() }
        }
        Act::Cron { words, session } => {
            asked.typed(&api, session, (InChat::Cron, words.unwrap_or_default())).await?
        }
        Act::Board { words, session } => {
            asked.typed(&api, session, (InChat::Board, words.unwrap_or_default())).await?
        }
        // Only what people say in a chat is handed over.
        Act::Back { .. } => {
            let told = "nobody handed this conversation over; that happens in chats with people";
            Acted { told: told.to_owned(), ..Acted::default() }
        }
        Act::GoOn { session, conversation } => asked.go_on(&session, &conversation).await?,
    }))
}

fn under_way() -> ApiError {
    let message = "a turn of this conversation is under way; stop it first";
    ApiError::new(StatusCode::CONFLICT, "under_way", message)
}

impl Asked {
    async fn model(&self, wanted: Option<&str>) -> Result<Acted, ApiError> {
        let models = &self.agent.models;
        let open = models.open_to(self.caller.may(&self.agent.id, Verb::Admin));
        match wanted {
            None => {}
            Some(USUAL) => self.engine.choose_model(&self.inbound, None).await?,
            Some(wanted) => {
                let Some(model) = models.meant(&open, wanted) else {
                    let wanted = wanted.escape_debug();
                    let message = match open.is_empty() {
                        true => "there is no other model to choose here".to_owned(),
                        false => format!("`{wanted}` is none that you can choose"),
                    };
                    return Err(ApiError::invalid(message));
                };
                self.engine.choose_model(&self.inbound, Some(model)).await?;
            }
        }
        let chosen = self.engine.chosen_model(&self.agent, self.key()).await?;
        let usual = models.models.iter().filter(|it| Some(*it) != chosen.as_ref());
        Ok(Acted {
            done: wanted.is_some(),
            models: chosen.iter().chain(usual).map(ToString::to_string).collect(),
            choices: open.into_iter().map(ToString::to_string).collect(),
            ..Acted::default()
        })
    }

    /// Carries out what is the same in every chat.
    async fn typed(
        &self,
        api: &Api,
        session: String,
        (command, words): (InChat, String),
    ) -> Result<Acted, ApiError> {
        let address = self.caller.address(session);
        let address = address.map_err(|error| ApiError::invalid(error.to_string()))?;
        let clerk = Clerk { registry: &api.registry, jobs: &api.jobs, boards: &api.boards };
        let typing = Typing {
            agent: &self.agent,
            who: self.caller.actor(),
            is_admin: self.caller.may(&self.agent.id, Verb::Admin),
            address: &address,
            is_chat: false,
            event: None,
        };
        let told = match command {
            InChat::Cron => clerk.cron(&typing, &words).await,
            InChat::Board => clerk.board(&typing, &words).await,
        };
        Ok(Acted { done: true, told, ..Acted::default() })
    }

    async fn go_on(&self, name: &str, conversation: &str) -> Result<Acted, ApiError> {
        let numbers = Numbers::of(&self.caller, &self.agent.store);
        let found = find(&self.caller, &self.agent, &numbers, conversation).await?;
        let found = found.filter(|(_, its)| its == name).ok_or_else(|| {
            let (said, name) = (conversation.escape_debug(), name.escape_debug());
            let message = format!("you have no conversation {said} called `{name}` here");
            ApiError::new(StatusCode::NOT_FOUND, "no_such_session", message)
        })?;
        // What was said in one scope never becomes the history of another.
        let caps = self.engine.capabilities();
        let scope = caps.written_scope(&self.agent, &self.inbound.scope, self.key()).await;
        if found.0.scope != scope {
            let message = "that conversation belongs to another memory than what is said here now";
            return Err(ApiError::new(StatusCode::CONFLICT, "other_scope", message));
        }
        if self.engine.under_way(self.key()) > 0 {
            return Err(under_way());
        }
        self.engine.go_on_in(&self.agent, self.key(), found.0.id).await?;
        Ok(Acted { done: true, ..Acted::default() })
    }
}
