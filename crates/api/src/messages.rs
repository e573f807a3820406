//! Talking to an agent: a message in, what happens in its turn out, as it happens; and the
//! other things one can do to one's own conversation.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::events::{Stream, frame, revoked};
use crate::id::{Id, ready};
use crate::numbers::Numbers;
use crate::submit::{apart, fingerprint};
use crate::terms::AskedTerms;
use crate::v1::brought_along;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::stream;
use insula_domain::{Audience, Label, SessionKey};
use insula_registry::AgentContext;
use insula_registry::context::{Desk, GrantedBy};
use insula_registry::tokens::Verb;
use insula_store::{About, IdempotencyKey, Part};
use insula_turns::{
    Acknowledge, Around, BusyMode, Engine, Inbound, SubmitError, TurnEvent, TurnHandle, one_off,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// Makes the same request the same turn.
const IDEMPOTENCY: &str = "idempotency-key";

/// Something to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// The caller's name for the conversation; none for one of this turn alone.
    #[serde(default)]
    session: String,
    text: String,
    /// Pictures and files that come with it: parts `image_url` and `file`, as in `/v1`.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    parts: Vec<Value>,
    /// What to do when a turn is under way: `queue` (where nothing is said), `steer` or
    /// `interrupt`.
    mode: Option<String>,
    /// What its turn is held to.
    terms: Option<AskedTerms>,
}

/// One of the caller's conversations.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The caller's name for it.
    session: String,
}

/// How much was stopped.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stopped {
    /// Turns that ran or waited.
    pub(crate) stopped: usize,
}

/// What every request here is about.
pub(crate) struct Asked {
    pub(crate) engine: Engine,
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) caller: Caller,
    pub(crate) inbound: Inbound,
}

impl Asked {
    /// A request of a caller's to an agent, in the conversation of this name.
    pub(crate) fn of(
        api: &Api,
        caller: Caller,
        agent: Arc<AgentContext>,
        session: String,
    ) -> Result<Self, ApiError> {
        let engine = api.engine.clone().ok_or_else(ApiError::no_daemon)?;
        // What begins like that is forgotten after one turn, with all that was said in it.
        if session.starts_with(one_off::PREFIX) {
            let message =
                format!("names of sessions that begin with `{}` are ours", one_off::PREFIX);
            return Err(ApiError::invalid(message));
        }
        if session.is_empty() {
            return Err(ApiError::invalid("`session` is empty: name the conversation"));
        }
        Self::at(engine, caller, agent, session)
    }

    fn at(
        engine: Engine,
        caller: Caller,
        agent: Arc<AgentContext>,
        session: String,
    ) -> Result<Self, ApiError> {
        let address =
            caller.address(session).map_err(|error| ApiError::invalid(error.to_string()))?;
        let inbound = Inbound {
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::of(Audience::of(&address)),
            principal: caller.actor(),
            history: Vec::new(),
            parts: Vec::new(),
            idempotency: None,
            agent: agent.clone(),
            origin: None,
            acknowledge: Acknowledge::AtOnce,
        };
        Ok(Self { engine, agent, caller, inbound })
    }

    pub(crate) fn key(&self) -> &SessionKey {
        &self.inbound.session
    }

    /// A request in a conversation for this turn alone.
    fn once(api: &Api, caller: Caller, agent: Arc<AgentContext>) -> Result<Self, ApiError> {
        let engine = api.engine.clone().ok_or_else(ApiError::no_daemon)?;
        let name = agent.one_off_name(&api.world);
        Self::at(engine, caller, agent, name)
    }

    /// Holds the turn to terms, and writes down a folder that is granted by them.
    async fn hold_to(&mut self, terms: &AskedTerms) -> Result<Option<String>, ApiError> {
        let chat = self.inbound.session.chat.as_str();
        let way = if terms.once { "run" } else { "editor" };
        // By its name, so that what is spent under these terms is counted for them alone.
        let by = format!("{way} {chat}");
        let has_tool = |name: &str| self.engine.has_tool(&self.agent, name);
        let made = terms.made(&self.caller, &self.agent, &by, has_tool)?;
        let mut told = None;
        if let Desk::Folder { path, mode, by } = &made.desk {
            let (path, actor) = (path.display().to_string(), self.caller.actor());
            told = Some(format!(
                "Work in the folder {path}; a path without a slash in front begins there."
            ));
            if *by == GrantedBy::Operator {
                let session = self.inbound.session.to_string();
                let content = json!({ "path": path, "mode": mode.as_str(), "session": session });
                self.agent.audit.append(About::Agent, &actor, "files.granted", content).await?;
            }
        }
        self.inbound.scope = self.inbound.scope.clone().under(Arc::new(made));
        Ok(told)
    }
}

/// Says something; answers with an event stream of the turn.
#[utoipa::path(post, path = "/api/agents/{id}/messages", params(("id" = String, Path)), request_body = Say,
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 400, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 429, body = ErrorBody)), security(("token" = [])))]
pub async fn say(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
    body: Result<Json<Say>, JsonRejection>,
) -> Result<Response, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(said) = body?;
    let mode = said.mode.as_deref().unwrap_or("queue");
    let mode = BusyMode::parse(mode).ok_or_else(|| {
        ApiError::invalid(format!("`{mode}` is no mode: queue, steer or interrupt"))
    })?;
    if said.text.trim().is_empty() && said.parts.is_empty() {
        return Err(ApiError::invalid("`text` is empty: say something"));
    }
    let is_once = said.terms.as_ref().is_some_and(|terms| terms.once);
    let mut asked = match is_once {
        true if !said.session.is_empty() => {
            return Err(ApiError::invalid("`session` names nothing where `once` is said"));
        }
        true => Asked::once(&api, caller, agent)?,
        false => Asked::of(&api, caller, agent, said.session.clone())?,
    };
    let told = match &said.terms {
        Some(terms) => asked.hold_to(terms).await?,
        None => None,
    };
    let key = headers.get(IDEMPOTENCY).and_then(|value| value.to_str().ok());
    let mut words = vec![&*said.session, &*said.text, said.mode.as_deref().unwrap_or("queue")];
    let terms = said.terms.as_ref().map(|terms| format!("{terms:?}"));
    words.extend(terms.as_deref());
    let along = Value::from(said.parts);
    let sent = along.to_string();
    let (mut along, seen) = match along.as_array().is_some_and(|it| !it.is_empty()) {
        true => {
            words.push(&sent);
            brought_along(&api, &asked.engine, &asked.inbound, &along).await?
        }
        false => (Vec::new(), Label::anyone()),
    };
    asked.inbound.idempotency = key.map(|key| IdempotencyKey {
        who: asked.caller.account().into(),
        key: key.into(),
        request: fingerprint(&asked.agent.id, "messages", &words),
    });
    // A picture may say enough.
    let text = Some(said.text).filter(|text| along.is_empty() || !text.trim().is_empty());
    asked.inbound.parts = text.map(Part::Text).into_iter().collect();
    asked.inbound.parts.append(&mut along);
    let Asked { engine, agent, caller, inbound } = asked;
    let (session, taker) = (inbound.session.clone(), engine.clone());
    let context = told.into_iter().collect();
    let around = Around { mode, context, seen, ..Around::default() };
    let submitted = apart(async move {
        match is_once {
            true => taker.submit_once_with(inbound, around).await,
            false => taker.submit_with(inbound, around).await,
        }
    });
    let handle = match submitted.await {
        // The same request is the same turn: listened to again, or told how it ended.
        Err(SubmitError::Known { turn, status }) => match engine.listen(&session, turn) {
            Some(handle) => handle,
            None => engine.ended(&agent, turn).await?.ok_or(SubmitError::Known { turn, status })?,
        },
        taken => taken?,
    };
    Ok(streamed(&api, (&caller, Verb::Chat), &agent, &session, handle))
}

/// Says the last message of a conversation again; answers with an event stream of the turn.
#[utoipa::path(post, path = "/api/agents/{id}/retry", params(("id" = String, Path)), request_body = Conversation,
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 404, body = ErrorBody),
    (status = 409, body = ErrorBody)), security(("token" = [])))]
pub async fn retry(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Conversation>, JsonRejection>,
) -> Result<Response, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(asked) = body?;
    let Asked { engine, agent, caller, inbound } = Asked::of(&api, caller, agent, asked.session)?;
    let session = inbound.session.clone();
    let handle = apart(async move { engine.retry(inbound).await }).await?.ok_or_else(|| {
        let message = "there is nothing of yours to say again in this conversation";
        ApiError::new(StatusCode::NOT_FOUND, "nothing_said", message)
    })?;
    Ok(streamed(&api, (&caller, Verb::Chat), &agent, &session, handle))
}

/// Stops what is under way in a conversation and what waits.
#[utoipa::path(post, path = "/api/agents/{id}/stop", params(("id" = String, Path)), request_body = Conversation,
    responses((status = 200, body = Stopped), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn stop(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Conversation>, JsonRejection>,
) -> Result<Json<Stopped>, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(asked) = body?;
    let asked = Asked::of(&api, caller, agent, asked.session)?;
    Ok(Json(Stopped { stopped: asked.engine.stop(asked.key()) }))
}

/// Ends a conversation's session: the next message begins with an empty history.
#[utoipa::path(post, path = "/api/agents/{id}/new", params(("id" = String, Path)), request_body = Conversation,
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn begin_anew(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Conversation>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(asked) = body?;
    let asked = Asked::of(&api, caller, agent, asked.session)?;
    asked.engine.begin_anew(&asked.agent, asked.key()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What happens in a turn, as it happens. Whoever goes away misses the rest; it goes on.
pub(crate) fn streamed(
    api: &Api,
    (caller, verb): (&Caller, Verb),
    agent: &AgentContext,
    session: &SessionKey,
    handle: TurnHandle,
) -> Response {
    let lost = caller.lost(&agent.id, verb);
    let turn = Numbers::of(caller, &agent.store).turn(handle.turn);
    let about = Arc::new((session.to_string(), turn));
    let state = Some((handle, lost));
    let events = stream::unfold(state, move |state| {
        let about = about.clone();
        async move {
            let (mut handle, mut lost) = state?;
            let event = tokio::select! {
                biased;
                () = &mut lost => return Some((revoked(), None)),
                event = handle.events.recv() => event?,
            };
            let text = frame(Some((&about.0, &about.1)), &event);
            let ended = matches!(event, TurnEvent::Ended(_));
            Some((text, (!ended).then_some((handle, lost))))
        }
    });
    Stream::response(api, events)
}
