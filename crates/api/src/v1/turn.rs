//! One turn for a caller of the API: how it begins, and how it is listened to.

use super::error::OpenAiError;
use super::sent::SentBody;
use crate::Api;
use crate::caller::{Caller, Lost};
use crate::submit::{Stay, fingerprint, submit};
use axum::http::HeaderMap;
use insula_domain::{Audience, Label, SessionKey};
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{Cut, IdempotencyKey, Part, Role, SessionRef, StoreError, TurnId, Usage};
use insula_turns::{
    Acknowledge, Engine, Inbound, SubmitError, TurnEnd, TurnEvent, TurnHandle, one_off,
};
use std::sync::Arc;

/// Names the session to continue; without it a request carries its own history.
const SESSION: &str = "x-insula-session";
/// Makes the same request the same turn.
const IDEMPOTENCY: &str = "idempotency-key";

/// What a caller brings: the words of the request's headers.
pub struct Asking<'h> {
    /// Who asks.
    pub caller: Caller,
    /// The session to continue.
    pub session: Option<&'h str>,
    /// What makes it the same request when it comes again.
    idempotency: Option<&'h str>,
    /// The path that was asked.
    endpoint: &'static str,
}

impl<'h> Asking<'h> {
    /// Reads the headers.
    pub fn of(
        caller: Caller,
        headers: &'h HeaderMap,
        endpoint: &'static str,
    ) -> Result<Self, OpenAiError> {
        let text = |name: &str| match headers.get(name).map(|value| value.to_str()) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(Err(_)) => Err(OpenAiError::invalid(format!("`{name}` must be plain ASCII"))),
        };
        let session = text(SESSION)?;
        if session.is_some_and(|name| name.starts_with(one_off::PREFIX)) {
            let message =
                format!("names of sessions that begin with `{}` are ours", one_off::PREFIX);
            return Err(OpenAiError::invalid(message));
        }
        Ok(Self { session, idempotency: text(IDEMPOTENCY)?, caller, endpoint })
    }

    /// Begins a turn of `agent` in the chat that is named. The same request is the same turn:
    /// it is told again how that ended.
    pub async fn begin(
        &self,
        api: &Api,
        agent: &Arc<AgentContext>,
        said: TurnInput,
    ) -> Result<Listening, OpenAiError> {
        let engine = api.engine.clone().ok_or_else(OpenAiError::no_daemon)?;
        let TurnInput { chat, history, parts, body } = said;
        let (chat, stay) = match chat {
            Chat::Named(name) => (name, Stay::Kept),
            Chat::Once(name) => (name, Stay::Once),
        };
        let wrong = |error: insula_domain::IdError| OpenAiError::invalid(error.to_string());
        let address = self.caller.address(chat).map_err(wrong)?;
        let mut inbound = Inbound {
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::of(Audience::of(&address)),
            principal: self.caller.actor(),
            history,
            parts,
            idempotency: None,
            agent: agent.clone(),
            origin: None,
            acknowledge: Acknowledge::WithReply,
        };
        inbound.idempotency = self.idempotency.map(|key| IdempotencyKey {
            who: self.caller.account().into(),
            key: key.into(),
            // By the caller's own name for it: ours differs each time.
            request: fingerprint(
                &agent.id,
                self.endpoint,
                &[self.session.unwrap_or_default(), &body.asked()],
            ),
        });
        let handle = match submit(engine.clone(), inbound, stay).await {
            Err(SubmitError::Known { turn, status }) => again(&engine, agent, turn)
                .await
                .map_err(SubmitError::from)?
                .ok_or(SubmitError::Known { turn, status })?,
            other => other?,
        };
        let lost = self.caller.lost(&agent.id, Verb::Chat);
        Ok(Listening { turn: handle.turn, handle, lost })
    }
}

/// A turn that was begun before: listened to while it is under way, else told how it ended.
async fn again(
    engine: &Engine,
    agent: &AgentContext,
    turn: TurnId,
) -> Result<Option<TurnHandle>, StoreError> {
    if let Some(known) = agent.store.turn(turn).await?
        && let Some(session) = agent.store.session(SessionRef::Id(known.session)).await?
        && let Ok(key) = session.key.parse::<SessionKey>()
        && let Some(handle) = engine.listen(&key, turn)
    {
        return Ok(Some(handle));
    }
    engine.ended(agent, turn).await
}

/// The chat something is said in, which with the caller names the session.
pub enum Chat {
    /// One that stays.
    Named(String),
    /// One for this turn only.
    Once(String),
}

/// What is said, and where.
pub struct TurnInput {
    /// Where.
    pub chat: Chat,
    /// What was said before, where the caller brings it along.
    pub history: Vec<(Role, Vec<Part>)>,
    /// What is said now.
    pub parts: Vec<Part>,
    /// The request it came in.
    pub body: SentBody,
}

/// A turn that is listened to, as long as its caller may.
pub struct Listening {
    /// The turn.
    pub turn: TurnId,
    handle: TurnHandle,
    lost: Lost,
}

/// What is heard next.
pub enum TurnUpdate {
    /// Something happened in the turn.
    Event(TurnEvent),
    /// The caller may not listen any longer. The turn goes on.
    Lost,
    /// The turn is over, and how was not heard.
    Nothing,
}

impl Listening {
    /// What happens next.
    pub async fn next(&mut self) -> TurnUpdate {
        tokio::select! {
            biased;
            () = &mut self.lost => TurnUpdate::Lost,
            event = self.handle.events.recv() => event.map_or(TurnUpdate::Nothing, TurnUpdate::Event),
        }
    }

    /// The reply, when it is there: its text, what it took, and why it breaks off if it does.
    pub async fn reply(&mut self) -> Result<(String, Usage, Option<Cut>), OpenAiError> {
        loop {
            return match self.next().await {
                TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Replied { text, usage, cut })) => {
                    Ok((text, usage, cut))
                }
                TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Failed { error })) => {
                    Err(OpenAiError::failed(error))
                }
                TurnUpdate::Event(TurnEvent::Ended(TurnEnd::OverBudget(refusal))) => {
                    Err(OpenAiError::over_budget(refusal))
                }
                TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Stopped)) => {
                    Err(OpenAiError::failed("the turn was stopped"))
                }
                TurnUpdate::Event(_) => continue,
                TurnUpdate::Lost => Err(OpenAiError::revoked()),
                TurnUpdate::Nothing => Err(OpenAiError::failed("the turn ended without a word")),
            };
        }
    }
}
