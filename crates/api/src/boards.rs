//! Boards over HTTP: cards, what is done with them, and what happened. A board that whoever asks
//! has no right to answers as one that does not exist.

mod shown;

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use insula_domain::{BlockKind, CardId, CardStatus};
use insula_registry::boards::{BoardError, CardSeen, Desk, NewCard, Seat};
use insula_store::CardFilter;
use insula_world::Timestamp;
use serde::Deserialize;
use shown::{BoardShown, CardListed, EventShown, WholeCard, event_shown, listed, whole_shown};
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// How long somebody may wait for something to happen, in seconds.
const WAIT_MAX: u64 = 30;

/// A card to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddCard {
    title: String,
    #[serde(default)]
    body: String,
    assignee: Option<String>,
    reviewer: Option<String>,
    #[serde(default)]
    priority: i32,
    due: Option<String>,
    start: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    /// Cards that have to be done first.
    #[serde(default)]
    parents: Vec<i64>,
    /// The same wish with the same key adds one card.
    idempotency_key: Option<String>,
}

/// What is to be done with a card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum CardAction {
    Comment {
        text: String,
    },
    Claim {},
    /// A sign of life of whoever has it, by their claim.
    Heartbeat {
        run: i64,
        note: Option<String>,
    },
    /// To an agent or a kind of work; to nobody where it is not said.
    Assign {
        to: Option<String>,
    },
    Block {
        kind: Option<String>,
        why: String,
    },
    Unblock {},
    /// It is done, or its review says so.
    Done {
        #[serde(default)]
        result: String,
    },
    /// Its review says that it is not done.
    Rework {
        why: String,
    },
    Move {
        to: String,
        why: Option<String>,
    },
    /// Has it wait for another.
    Link {
        needs: i64,
    },
}

/// Which cards.
#[derive(Debug, Deserialize, IntoParams)]
pub struct CardsWanted {
    /// One status, or several with commas between.
    status: Option<String>,
    assignee: Option<String>,
    after: Option<i64>,
    /// Those before this one, the newest first, in place of `after`; 0 for the newest of all.
    before: Option<i64>,
}

/// How the card stood that is to be changed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AsSeen {
    /// Where it was; where it is somewhere else by now, nothing is done.
    status: Option<String>,
    /// By which claim; needed with `status`.
    run: Option<i64>,
}

impl AsSeen {
    fn of(self) -> Result<Option<CardSeen>, ApiError> {
        match (self.status, self.run) {
            (Some(text), Some(run)) => Ok(Some(CardSeen { status: status(&text)?, run })),
            (None, None) => Ok(None),
            _ => Err(ApiError::invalid("`status` and `run` say together how a card was seen")),
        }
    }
}

/// What a file is called.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Called {
    name: String,
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
pub struct EventsWanted {
    /// Those after this one.
    after: Option<i64>,
    card: Option<i64>,
    /// For how many seconds to wait for one where there is none yet.
    wait: Option<u64>,
}

impl From<BoardError> for ApiError {
    fn from(error: BoardError) -> Self {
        let (status, code) = match &error {
            BoardError::NoSuchBoard(_) => (StatusCode::NOT_FOUND, "no_such_board"),
            BoardError::NoSuchCard { .. } => (StatusCode::NOT_FOUND, "no_such_card"),
            BoardError::Wrong(_) => (StatusCode::BAD_REQUEST, "invalid"),
            BoardError::NotAllowed(_) => (StatusCode::FORBIDDEN, "forbidden"),
            BoardError::Lost(_) | BoardError::Step(_) | BoardError::Moved { .. } => {
                (StatusCode::CONFLICT, "wrong_state")
            }
            BoardError::Store(insula_store::StoreError::CardChanged { .. }) => {
                (StatusCode::CONFLICT, "wrong_state")
            }
            BoardError::Store(insula_store::StoreError::TooLong { .. }) => {
                (StatusCode::BAD_REQUEST, "invalid")
            }
            BoardError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        Self::new(status, code, error.to_string())
    }
}

fn desk(api: &Api, caller: &Caller, board: &str) -> Result<Desk, ApiError> {
    Ok(api.boards.desk(board, Seat::Person(caller.actor()))?)
}

fn no_board() -> ApiError {
    BoardError::NoSuchBoard("\u{fffd}".into()).into()
}

type OneCard = Result<Path<(String, String)>, PathRejection>;

fn one(api: &Api, caller: &Caller, path: OneCard) -> Result<(Desk, CardId), ApiError> {
    let Path((board, card)) = path.map_err(|_| no_board())?;
    let desk = desk(api, caller, &board)?;
    let missing = || ApiError::new(StatusCode::NOT_FOUND, "no_such_card", no_card(&board, &card));
    let card = CardId::parse(&card).ok_or_else(missing)?;
    Ok((desk, card))
}

fn no_card(board: &str, card: &str) -> String {
    format!("board `{board}` has no card {card}")
}

fn moment(what: &str, text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let wrong = |text: &str| {
        ApiError::invalid(format!("`{what}` is `{text}`; write it as 2026-12-01T08:30:00Z"))
    };
    text.map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}

fn status(text: &str) -> Result<CardStatus, ApiError> {
    let names: Vec<&str> = CardStatus::ALL.iter().map(|it| it.as_str()).collect();
    let wrong =
        || ApiError::invalid(format!("`{text}` is no status; there are: {}", names.join(", ")));
    CardStatus::parse(text).ok_or_else(wrong)
}

async fn answer(desk: &Desk, card: CardId) -> Result<Json<WholeCard>, ApiError> {
    let whole = desk.show(card).await?;
    let history = desk.events(0, Some(card)).await?;
    Ok(Json(whole_shown(desk.name().as_str(), whole, history)))
}

/// The boards that whoever asks may see.
#[utoipa::path(get, path = "/api/boards", responses((status = 200, body = [BoardShown])), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
) -> Result<Json<Vec<BoardShown>>, ApiError> {
    let seat = Seat::Person(caller.actor());
    let mut all = Vec::new();
    for (board, rights) in api.boards.seen_by(&seat) {
        let desk = api.boards.desk(board.name.as_str(), seat.clone())?;
        let counts = desk.counts().await?.into_iter();
        let cards = counts.map(|(status, count)| (status.as_str(), count)).collect();
        let ids = |ids: &Vec<insula_domain::AgentId>| ids.iter().map(ToString::to_string).collect();
        all.push(BoardShown {
            name: board.name.to_string(),
            description: board.description.as_deref().map(Into::into),
            rights: rights.iter().map(|it| it.as_str()).collect(),
            agents: board.agents.iter().map(|(id, it)| (id.to_string(), it.to_string())).collect(),
            kinds: board.kinds.iter().map(|(kind, it)| (kind.to_string(), ids(it))).collect(),
            cards,
            last_event: desk.last_event().await?,
            max_running: board.max_running,
            max_running_per_agent: board.max_running_per_agent,
            lease_s: board.lease.as_secs(),
            attempts: board.attempts,
        });
    }
    Ok(Json(all))
}

/// The cards of a board, by number; archived ones where they are asked for.
#[utoipa::path(get, path = "/api/boards/{board}/cards", params(("board" = String, Path), CardsWanted),
    responses((status = 200, body = [CardListed]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn cards(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<String>, PathRejection>,
    wanted: Result<Query<CardsWanted>, QueryRejection>,
) -> Result<Json<Vec<CardListed>>, ApiError> {
    let Path(board) = path.map_err(|_| no_board())?;
    let desk = desk(&api, &caller, &board)?;
    let Query(wanted) = wanted?;
    let statuses = wanted.status.iter().flat_map(|text| text.split(',')).map(status);
    let filter = CardFilter {
        status: statuses.collect::<Result<_, _>>()?,
        assignee: wanted.assignee.map(Into::into),
        after: wanted.after.map(CardId),
        before: wanted.before.map(|card| CardId(if card > 0 { card } else { i64::MAX })),
    };
    let cards = desk.list(filter).await?;
    let glances = desk.glances(&cards).await?;
    let both = cards.into_iter().zip(glances);
    Ok(Json(both.map(|(row, glance)| listed(&board, row, glance)).collect()))
}

/// Adds a card.
#[utoipa::path(post, path = "/api/boards/{board}/cards", params(("board" = String, Path)), request_body = AddCard,
    responses((status = 201, body = WholeCard), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn add(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<String>, PathRejection>,
    body: Result<Json<AddCard>, JsonRejection>,
) -> Result<(StatusCode, Json<WholeCard>), ApiError> {
    let Path(board) = path.map_err(|_| no_board())?;
    let desk = desk(&api, &caller, &board)?;
    let Json(new) = body?;
    let boxed = |text: String| -> Box<str> { text.into() };
    let request = new.idempotency_key.map(|key| format!("{}:{key}", caller.actor()));
    let row = desk
        .add(NewCard {
            title: new.title,
            body: new.body,
            assignee: new.assignee.map(boxed),
            reviewer: new.reviewer.map(boxed),
            priority: new.priority,
            due_at: moment("due", new.due.as_deref())?,
            start_at: moment("start", new.start.as_deref())?,
            tags: new.labels.into_iter().map(boxed).collect(),
            needs: new.parents.into_iter().map(CardId).collect(),
            request: request.map(boxed),
        })
        .await?;
    Ok((StatusCode::CREATED, answer(&desk, row.id).await?))
}

/// One card, with all that belongs to it.
#[utoipa::path(get, path = "/api/boards/{board}/cards/{card}", params(("board" = String, Path), ("card" = String, Path)),
    responses((status = 200, body = WholeCard), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    path: OneCard,
) -> Result<Json<WholeCard>, ApiError> {
    let (desk, card) = one(&api, &caller, path)?;
    answer(&desk, card).await
}

/// Does something with a card; only while it stands as it was seen, where that is said.
#[utoipa::path(post, path = "/api/boards/{board}/cards/{card}", params(("board" = String, Path), ("card" = String, Path), AsSeen),
    request_body = CardAction,
    responses((status = 200, body = WholeCard), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)),
    security(("token" = [])))]
pub async fn act(
    State(api): State<Api>,
    caller: Caller,
    path: OneCard,
    seen: Result<Query<AsSeen>, QueryRejection>,
    body: Result<Json<CardAction>, JsonRejection>,
) -> Result<Json<WholeCard>, ApiError> {
    let (mut desk, card) = one(&api, &caller, path)?;
    let Query(seen) = seen?;
    if let Some(seen) = seen.of()? {
        desk = desk.seen(seen);
    }
    let Json(action) = body?;
    match action {
        CardAction::Comment { text } => desk.comment(card, &text).await?,
        CardAction::Claim {} => desk.claim(card).await?,
        CardAction::Heartbeat { run, note } => desk.heartbeat(card, run, note.as_deref()).await?,
        CardAction::Assign { to } => desk.assign(card, to.as_deref()).await?,
        CardAction::Block { kind, why } => {
            let kind = kind.as_deref().unwrap_or("needs_input");
            let wrong = || {
                let names: Vec<&str> = BlockKind::ALL.iter().map(|it| it.as_str()).collect();
                ApiError::invalid(format!(
                    "`{kind}` is no kind of block; there are: {}",
                    names.join(", ")
                ))
            };
            desk.block(card, BlockKind::parse(kind).ok_or_else(wrong)?, &why).await?
        }
        CardAction::Unblock {} => desk.unblock(card).await?,
        CardAction::Done { result } => desk.complete(card, &result).await?,
        CardAction::Rework { why } => desk.rework(card, &why).await?,
        CardAction::Move { to, why } => desk.move_to(card, status(&to)?, why.as_deref()).await?,
        CardAction::Link { needs } => desk.link(card, CardId(needs)).await?,
    };
    answer(&desk, card).await
}

/// Puts a file on a card.
#[utoipa::path(post, path = "/api/boards/{board}/cards/{card}/files", params(("board" = String, Path), ("card" = String, Path), Called),
    request_body = Vec<u8>,
    responses((status = 201, body = WholeCard), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn attach(
    State(api): State<Api>,
    caller: Caller,
    path: OneCard,
    called: Result<Query<Called>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<WholeCard>), ApiError> {
    let (desk, card) = one(&api, &caller, path)?;
    let Query(Called { name }) = called?;
    let name = name.trim();
    if name.is_empty() || name.contains(['/', '\n', '\r']) {
        return Err(ApiError::invalid("a file has a name of one line without a `/`"));
    }
    let body = body.map_err(|error| ApiError::invalid(error.body_text()))?;
    desk.attach(card, name, body.to_vec()).await?;
    Ok((StatusCode::CREATED, answer(&desk, card).await?))
}

/// What is in a file of a card.
#[utoipa::path(get, path = "/api/boards/{board}/cards/{card}/files/{hash}",
    params(("board" = String, Path), ("card" = String, Path), ("hash" = String, Path)),
    responses((status = 200, body = Vec<u8>), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn file(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<(String, String, String)>, PathRejection>,
) -> Result<Response, ApiError> {
    let Path((board, card, hash)) = path.map_err(|_| no_board())?;
    let (desk, card) = one(&api, &caller, Ok(Path((board, card))))?;
    let bytes = desk.file(card, &hash).await?;
    // Anybody may have put it there: nothing makes a page of it.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, bytes).into_response())
}

/// What happened on a board, the oldest first.
#[utoipa::path(get, path = "/api/boards/{board}/events", params(("board" = String, Path), EventsWanted),
    responses((status = 200, body = [EventShown]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn events(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<String>, PathRejection>,
    wanted: Result<Query<EventsWanted>, QueryRejection>,
) -> Result<Json<Vec<EventShown>>, ApiError> {
    let Path(board) = path.map_err(|_| no_board())?;
    let desk = desk(&api, &caller, &board)?;
    let Query(EventsWanted { after, card, wait }) = wanted?;
    let (after, card) = (after.unwrap_or_default(), card.map(CardId));
    let wait = Duration::from_secs(wait.unwrap_or_default().min(WAIT_MAX));
    let late = api.world.clock.sleep(wait);
    tokio::pin!(late);
    let mut changes = api.boards.changes();
    loop {
        let events = desk.events(after, card).await?;
        if !events.is_empty() || wait.is_zero() {
            return Ok(Json(events.into_iter().map(event_shown).collect()));
        }
        tokio::select! {
            () = &mut late => return Ok(Json(Vec::new())),
            () = changes.changed() => {}
        }
        // A right may have been lost meanwhile.
        self::desk(&api, &caller, &board)?;
    }
}
