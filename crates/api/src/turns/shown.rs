//! What models were shown in a turn, byte for byte: which calls there were, and the body of the
//! request of one, put together again and checked by its hash.

use super::Shown;
use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::kept;
use crate::numbers::Numbers;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_store::ShownSummary;
use insula_turns::showings;
use serde::Serialize;
use utoipa::ToSchema;

/// What is said of a request in which something is a secret now that was none when it was sent.
const SECRET_SINCE: &str = "something in it is a secret now, and is left out";

/// A call of a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownCallView {
    /// Which of the turn's, from 1.
    call: u32,
    provider: String,
    model: String,
    /// BLAKE3 of the body of its request (SHA-256 where an earlier version noted it); null once some
    /// of that was forgotten.
    hash: Option<String>,
    /// How long that was.
    bytes: u64,
}

/// A part of a request that it has in common with others.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownPartView {
    /// `settings`, `soul`, `instructions`, `skills`, `preamble`, `place`, `memory`, `tools`, or
    /// `aside` for what is asked beside a conversation.
    name: String,
    /// Null once it was forgotten.
    sha256: Option<String>,
    bytes: u64,
    /// The settings of the generation, which are no part of what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// What a model was shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownCallAnswer {
    #[serde(flatten)]
    call: ShownCallView,
    /// SHA-256 of the body of its request, where that can be put together again.
    sha256: Option<String>,
    parts: Vec<ShownPartView>,
    /// The request, as it was sent; null where it can't be put together again.
    body: Option<String>,
    /// Whether that is what was sent, by its hash.
    verified: bool,
    /// Why it is not.
    why: Option<String>,
}

impl From<&ShownSummary> for ShownCallView {
    fn from(call: &ShownSummary) -> Self {
        let (provider, model) = call.model.split_once('/').unwrap_or(("", &call.model));
        Self {
            call: call.number,
            provider: provider.to_owned(),
            model: model.to_owned(),
            hash: call.hash.map(|it| hex(&it)),
            bytes: call.bytes,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The calls of models that a turn made, in order.
#[utoipa::path(get, path = "/api/agents/{id}/turns/{turn}/shown",
    params(("id" = String, Path), ("turn" = String, Path)),
    responses((status = 200, body = [ShownCallView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Path((id, turn)): Path<(String, String)>,
) -> Result<Json<Vec<ShownCallView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let shown = Shown { api: &api, agent: &agent, numbers: Numbers::of(&caller, &agent.store) };
    let turn = shown.find(&turn).await?;
    let calls = agent.store.shown_calls(turn.id).await?;
    Ok(Json(calls.iter().map(ShownCallView::from).collect()))
}

/// What a model was shown in one of them, byte for byte.
#[utoipa::path(get, path = "/api/agents/{id}/turns/{turn}/shown/{call}",
    params(("id" = String, Path), ("turn" = String, Path), ("call" = String, Path)),
    responses((status = 200, body = ShownCallAnswer), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path((id, turn, call)): Path<(String, String, String)>,
) -> Result<Json<ShownCallAnswer>, ApiError> {
    let agent = kept(&api, &id)?;
    let shown = Shown { api: &api, agent: &agent, numbers: Numbers::of(&caller, &agent.store) };
    let asked = turn;
    let turn = shown.find(&asked).await?;
    let number = call.parse().map_err(|_| no_call(&asked, &call))?;
    let again = showings::again(&agent.store, &turn, number).await?;
    let again = again.ok_or_else(|| no_call(&asked, &call))?;
    let told = |text: String| api.secrets.known().told(&agent.id, text);
    let parts = again.parts.into_iter().map(|(name, bytes)| ShownPartView {
        sha256: bytes.as_deref().map(showings::sha256).map(|it| hex(&it)),
        bytes: bytes.as_ref().map_or(0, |it| it.len() as u64),
        text: bytes
            .filter(|_| *name == *showings::SETTINGS)
            .map(|bytes| told(String::from_utf8_lossy(&bytes).into_owned())),
        name: name.into(),
    });
    let parts = parts.collect();
    let sha256 = again.body.as_deref().ok().map(|body| hex(&showings::sha256(body)));
    let (body, why) = match again.body {
        Err(why) => (None, Some(why.to_string())),
        Ok(body) => {
            let exact = String::from_utf8_lossy(&body).into_owned();
            let body = told(exact.clone());
            let why = (body != exact).then(|| SECRET_SINCE.to_owned());
            (Some(body), why)
        }
    };
    let verified = why.is_none();
    Ok(Json(ShownCallAnswer { call: (&again.call).into(), sha256, parts, body, verified, why }))
}

fn no_call(turn: &str, call: &str) -> ApiError {
    let (turn, call) = (turn.escape_debug(), call.escape_debug());
    let message = format!(
        "nothing is known of a call {call} in turn {turn}; `insula turns show AGENT {turn} --shown` lists those there are"
    );
    ApiError::new(StatusCode::NOT_FOUND, "no_such_call", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_with_its_provider_and_a_name_may_have_slashes() {
        let summary = |model: &str| ShownSummary {
            number: 2,
            model: model.into(),
            hash: Some([0xab; 32]),
            bytes: 7,
        };
        let view = ShownCallView::from(&summary("openrouter/meta/llama"));
        assert_eq!((&*view.provider, &*view.model), ("openrouter", "meta/llama"));
        assert_eq!(view.hash, Some("ab".repeat(32)));
    }
}
