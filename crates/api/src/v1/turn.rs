//! One turn for a caller of the API: how it begins, and how it is listened to.

use super::assemble::{Beginning, assemble};
use super::error::OpenAiError;
use super::file::{Keeping, READERS, Unreadable};
use super::item::{Item, Told};
use super::journal::Journal;
use super::part::{Brought, brought};
use super::sent::SentBody;
use crate::Api;
use crate::caller::{Caller, Lost};
use crate::error::ApiError;
use crate::submit::{Stay, fingerprint, submit};
use axum::http::HeaderMap;
use insula_domain::{Audience, Integrity, Label, SessionKey, Source};
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{Cut, IdempotencyKey, Part, Role, SessionRef, StoreError, TurnId, Usage};
use insula_turns::{
    Acknowledge, Around, ClientCall, Engine, Inbound, SubmitError, TurnEnd, TurnEvent, TurnHandle,
    Wishes, one_off,
};
use serde_json::Value;
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
            Some(Err(_)) => {
                Err(OpenAiError::invalid_at(name, format!("`{name}` must be plain ASCII")))
            }
        };
        let session = text(SESSION)?;
        if session.is_some_and(|name| name.starts_with(one_off::PREFIX)) {
            let message =
                format!("names of sessions that begin with `{}` are ours", one_off::PREFIX);
            return Err(OpenAiError::invalid_at(SESSION, message));
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
        let TurnInput { chat, mut told, list, wishes, body } = said;
        let (chat, stay) = match chat {
            Chat::Named(name) => (name, Stay::Kept),
            Chat::Once(name) => (name, Stay::Once),
        };
        let wrong =
            |error: insula_domain::IdError| OpenAiError::invalid_at(SESSION, error.to_string());
        let address = self.caller.address(chat.clone()).map_err(wrong)?;
        let mut inbound = Inbound {
            session: agent.session_key(&address),
            scope: agent.scope(&address),
            label: Label::of(Audience::of(&address)),
            principal: self.caller.actor(),
            history: Vec::new(),
            parts: Vec::new(),
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
        // What is kept of them has no place in the journal: the turn may be told again by programs.
        let items = told.items_mut();
        let (seen, _) = take_files(api, &engine, &inbound, items, Unreadable::Refused).await?;
        let journal = Journal { caller: &self.caller, agent };
        let Beginning { history, parts, results, places, seen: elsewhere } =
            assemble(&journal, told, &chat, list).await?;
        (inbound.history, inbound.parts) = (history, parts);
        let calls: Vec<Box<str>> = results.iter().map(|result| result.call.clone()).collect();
        let around = Around { wishes, results, seen: seen.join(&elsewhere), ..Around::default() };
        let handle = match submit(engine.clone(), inbound, around, stay).await {
            Err(SubmitError::Known { turn, status }) => again(&engine, agent, turn)
                .await
                .map_err(SubmitError::from)?
                .ok_or(SubmitError::Known { turn, status })?,
            Err(SubmitError::NotWaiting { call }) => {
                let at = calls.iter().position(|known| *known == call);
                let at = at.and_then(|at| places.into_iter().nth(at));
                let error = OpenAiError::from(SubmitError::NotWaiting { call });
                return Err(error.at(at.unwrap_or_else(|| list.to_owned())));
            }
            other => other?,
        };
        let lost = self.caller.lost(&agent.id, Verb::Chat);
        Ok(Listening { turn: handle.turn, handle, lost })
    }
}

/// Has the model shown what files say, or where they are kept; whose words that may be, and what
/// is kept.
async fn take_files(
    api: &Api,
    engine: &Engine,
    inbound: &Inbound,
    items: &mut [Item],
    unreadable: Unreadable,
) -> Result<(Label, Vec<Part>), OpenAiError> {
    let (mut seen, mut files, mut kept) = (Integrity::own(), None, Vec::new());
    let agent = &inbound.agent;
    let can_read = READERS.iter().any(|tool| agent.tools().verdict(tool).is_in());
    for part in file_parts(items) {
        let Brought::File(file) = part else { continue };
        seen = seen.join(&Integrity::of(Source::attachment(&file.name)));
        let takes = can_read || unreadable == Unreadable::Kept;
        if takes && file.is_kept() && files.is_none() {
            let session = engine.open_session(inbound).await.map_err(SubmitError::from)?;
            let (key, seals) = (&inbound.session, agent.store.seals());
            files = Some(agent.workspace.files(key, session, &seals, &api.world));
        }
        let keeping = files.as_ref().map(|files| Keeping { files, can_read });
        let taken = file.taken(keeping).await?;
        kept.extend(taken.kept);
        *part = Brought::Part(taken.told);
    }
    Ok((Label::anyone().with(&agent.boundary.integrity.untrusted(&seen)), kept))
}

/// What comes with a message beside its words: pictures as they are, of files what they say or
/// where they are kept, and those themselves; and whose words those may be.
pub async fn brought_along(
    api: &Api,
    engine: &Engine,
    inbound: &Inbound,
    parts: &Value,
) -> Result<(Vec<Part>, Label), ApiError> {
    let parts = brought(parts, "parts")?;
    let mut items = [Item::Said { role: Role::User, parts }];
    let (seen, kept) = take_files(api, engine, inbound, &mut items, Unreadable::Kept).await?;
    let [Item::Said { parts, .. }] = items else { return Ok((Vec::new(), seen)) };
    let parts = parts.into_iter().filter_map(|part| match part {
        Brought::Part(part) => Some(part),
        Brought::File(_) => None,
    });
    Ok((parts.chain(kept).collect(), seen))
}

/// The files among what is told.
fn file_parts(items: &mut [Item]) -> Vec<&mut Brought> {
    let parts = items.iter_mut().filter_map(|item| match item {
        Item::Said { parts, .. } => Some(parts),
        _ => None,
    });
    parts.flatten().filter(|part| matches!(part, Brought::File(_))).collect()
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
    /// What.
    pub told: Told,
    /// The part of the request that stands in.
    pub list: &'static str,
    /// What is asked beside it.
    pub wishes: Wishes,
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

/// What a turn came to.
pub struct Reply {
    /// What was said.
    pub text: String,
    /// What it took.
    pub usage: Usage,
    /// Why it breaks off, if it does.
    pub cut: Option<Cut>,
    /// What the client is to do before it goes on.
    pub calls: Vec<ClientCall>,
}

impl Listening {
    /// The words are streamed: OpenAI's events have none that takes some back.
    pub fn streams_words(&self) {
        self.handle.words_are_final();
    }

    /// What happens next.
    pub async fn next(&mut self) -> TurnUpdate {
        tokio::select! {
            biased;
            () = &mut self.lost => TurnUpdate::Lost,
            event = self.handle.events.recv() => event.map_or(TurnUpdate::Nothing, TurnUpdate::Event),
        }
    }

    /// The reply, when it is there.
    pub async fn reply(&mut self) -> Result<Reply, OpenAiError> {
        loop {
            return match self.next().await {
                TurnUpdate::Event(TurnEvent::Ended(TurnEnd::Replied {
                    text,
                    usage,
                    cut,
                    calls,
                })) => Ok(Reply { text, usage, cut, calls }),
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
