//! Having files of conversations back: those that came along, and those that tools made.

use crate::Api;
use crate::caller::Caller;
use crate::conversations;
use crate::error::{ApiError, ErrorBody};
use crate::id::kept;
use crate::kept_files::picture;
use crate::numbers::Numbers;
use crate::sessions;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insula_domain::SessionKey;
use insula_domain::media_type::ending;
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{MessageSeq, Part, Role, Session};

/// Where a file is: the agent, the conversation, the message, the part of it.
type FilePath = Path<(String, String, String, String)>;

fn missing() -> ApiError {
    let message = "there is no such file in this conversation, or it is not kept any more";
    ApiError::new(StatusCode::NOT_FOUND, "no_such_file", message)
}

/// A file of a conversation.
#[utoipa::path(get, path = "/api/agents/{id}/sessions/{session}/files/{message}/{part}",
    params(("id" = String, Path), ("session" = String, Path), ("message" = String, Path), ("part" = String, Path)),
    responses((status = 200, body = Vec<u8>), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn of_session(
    State(api): State<Api>,
    caller: Caller,
    Path((id, session, message, part)): FilePath,
) -> Result<Response, ApiError> {
    let agent = kept(&api, &id)?;
    let numbers = Numbers::of(&caller, &agent.store);
    let found = sessions::find(&numbers, &agent, &session).await?;
    file(&api, &agent, &found, (&message, &part), |_| true).await
}

/// A file of one of the caller's conversations.
#[utoipa::path(get, path = "/api/agents/{id}/conversations/{conversation}/files/{message}/{part}",
    params(("id" = String, Path), ("conversation" = String, Path), ("message" = String, Path), ("part" = String, Path)),
    responses((status = 200, body = Vec<u8>), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn of_conversation(
    State(api): State<Api>,
    caller: Caller,
    Path((id, conversation, message, part)): FilePath,
) -> Result<Response, ApiError> {
    let agent = kept(&api, &id)?;
    let numbers = Numbers::of(&caller, &agent.store);
    let found = conversations::find(&caller, &agent, &numbers, &conversation).await?;
    let (session, _) = found.ok_or_else(missing)?;
    // What tools said is for who may look into the agent.
    let reads = caller.may(&agent.id, Verb::Read);
    let is_told = |role| reads || matches!(role, Role::User | Role::Assistant);
    file(&api, &agent, &session, (&message, &part), is_told).await
}

async fn file(
    api: &Api,
    agent: &AgentContext,
    session: &Session,
    (message, part): (&str, &str),
    is_told: impl Fn(Role) -> bool,
) -> Result<Response, ApiError> {
    // What is no number is the place of nothing.
    let message: u64 = message.parse().map_err(|_| missing())?;
    let part: usize = part.parse().map_err(|_| missing())?;
    let after = MessageSeq(message.saturating_add(1));
    let found = agent.store.messages_before(session.id, after, 1).await?;
    let found = found.first().filter(|it| it.seq.0 == message && is_told(it.role));
    let found = found.and_then(|it| it.parts.get(part)).ok_or_else(missing)?;
    let bytes = match found {
        Part::Image { source, .. } => {
            let (_, content) = picture(source).ok_or_else(missing)?;
            STANDARD.decode(content).map_err(|_| missing())?
        }
        Part::Attachment { hash, media_type, .. } => {
            let key: SessionKey = session.key.parse().map_err(|_| missing())?;
            let seals = agent.store.seals();
            let files = agent.workspace.files(&key, session.id, &seals, &api.world);
            files.kept_attachment(*hash, ending(media_type)).await.map_err(|_| missing())?
        }
        _ => return Err(missing()),
    };
    // Anybody may have sent it: nothing makes a page of it.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, bytes).into_response())
}
