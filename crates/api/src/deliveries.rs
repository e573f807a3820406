//! Deliveries over HTTP: what did not go out, and deciding about it.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::numbers::{Number, Numbers};
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use insula_registry::AgentContext;
use insula_store::{Delivery, DeliveryId, StoreError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Deliveries of a page where nothing is said.
const PAGE: usize = 100;

/// Something that is to be sent and was not.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    #[schema(value_type = Object)]
    id: Number,
    agent: String,
    /// `waiting`, `sending`, `uncertain` (it may have arrived, and is sent again), `held` (it
    /// may have arrived; an operator decides) or `failed`.
    state: &'static str,
    /// Why.
    why: Option<String>,
    platform: String,
    /// The account it leaves by.
    account: String,
    chat: String,
    topic: Option<String>,
    #[schema(value_type = Option<Object>)]
    session: Option<Number>,
    #[schema(value_type = Option<Object>)]
    turn: Option<Number>,
    /// What the turn is called in chats, for who sees its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_name: Option<String>,
    /// How many messages of it the platform took.
    parts_sent: usize,
    /// How often it was tried in vain.
    attempts: u32,
    queued_at: String,
    changed_at: String,
    /// Not before this time.
    next_at: String,
}

impl DeliveryView {
    fn of(agent: &AgentContext, numbers: &Numbers, delivery: Delivery) -> Self {
        let lane = delivery.to.lane;
        Self {
            id: numbers.delivery(delivery.id),
            agent: agent.id.to_string(),
            state: delivery.state.as_str(),
            why: delivery.why,
            platform: lane.platform.into(),
            account: lane.account.into(),
            chat: lane.chat.into(),
            topic: delivery.to.topic.map(Into::into),
            session: delivery.session.map(|session| numbers.session(session)),
            turn: delivery.turn.map(|turn| numbers.turn(turn)),
            turn_name: delivery.turn.and_then(|turn| numbers.turn_name(turn)),
            parts_sent: delivery.sent.len(),
            // What is in doubt was tried, and did not say whether that was in vain.
            attempts: delivery.attempts.max(delivery.doubts),
            queued_at: delivery.queued_at.to_string(),
            changed_at: delivery.changed_at.to_string(),
            next_at: delivery.next_at.to_string(),
        }
    }
}

/// Which ones.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Only what was queued before this one.
    before: Option<String>,
    /// At most so many.
    limit: Option<usize>,
}

/// What an agent has to send and did not, whatever the reason, the newest first.
#[utoipa::path(get, path = "/api/agents/{id}/deliveries", params(("id" = String, Path), Page),
    responses((status = 200, body = [DeliveryView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Vec<DeliveryView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(page) = page.map_err(|rejected| ApiError::invalid(rejected.body_text()))?;
    let limit = page.limit.unwrap_or(PAGE);
    let numbers = Numbers::of(&caller, &agent.store);
    let before = page.before.as_deref().map(|before| read(&numbers, before)).transpose()?;
    let found = agent.store.deliveries(before, limit).await?;
    let views = found.into_iter().map(|delivery| DeliveryView::of(&agent, &numbers, delivery));
    Ok(Json(views.collect()))
}

type Named = Result<Path<(String, String)>, PathRejection>;

fn named(
    api: &Api,
    caller: &Caller,
    path: Named,
) -> Result<(Arc<AgentContext>, DeliveryId), ApiError> {
    let Path((id, delivery)) = path.map_err(|_| ApiError::no_agent("\u{fffd}"))?;
    let agent = kept(api, &id)?;
    let id = read(&Numbers::of(caller, &agent.store), &delivery)?;
    Ok((agent, id))
}

/// The delivery that a caller names.
fn read(numbers: &Numbers, delivery: &str) -> Result<DeliveryId, ApiError> {
    numbers.read_delivery(delivery).ok_or_else(|| {
        let message = format!("`{}` is no number of a delivery", delivery.escape_debug());
        ApiError::invalid(message)
    })
}

fn decided(done: Result<(), StoreError>) -> Result<StatusCode, ApiError> {
    match done {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error @ StoreError::NoDelivery { .. }) => {
            Err(ApiError::new(StatusCode::NOT_FOUND, "no_such_delivery", error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends something now that is held, failed or waits. Where it may have arrived before, it
/// says so.
#[utoipa::path(post, path = "/api/agents/{id}/deliveries/{delivery}/resend",
    params(("id" = String, Path), ("delivery" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn resend(
    State(api): State<Api>,
    caller: Caller,
    path: Named,
) -> Result<StatusCode, ApiError> {
    let (agent, id) = named(&api, &caller, path)?;
    decided(api.outbox.resend(&agent, id, &caller.actor()).await)
}

/// Takes something out of the outbox for good.
#[utoipa::path(delete, path = "/api/agents/{id}/deliveries/{delivery}",
    params(("id" = String, Path), ("delivery" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn discard(
    State(api): State<Api>,
    caller: Caller,
    path: Named,
) -> Result<StatusCode, ApiError> {
    let (agent, id) = named(&api, &caller, path)?;
    decided(api.outbox.drop_delivery(&agent, id, &caller.actor()).await)
}
