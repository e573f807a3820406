//! The hand by which a turn reaches boards: as its agent, where the conversation is, and in a turn
//! about a card with that card alone. What is read counts as seen, and the words of others are
//! marked as theirs.

use crate::shop::Shop;
use crate::turn::TurnContext;
use crate::untrusted;
use async_trait::async_trait;
use insula_domain::{Actor, Audience, BlockKind, CardId, CardStatus, Label};
use insula_registry::boards::{AgentSeat, BoardError, Desk, NewCard, Seat};
use insula_registry::context::{AgentContext, CardClaim, keep_place};
use insula_store::{CardFilter, CardRow, CardWhole};
use insula_tools::{Boards, CardDraft, CardWish, HandError, Output, Piece, ToolError};
use insula_world::Timestamp;

/// Most characters of a file that are shown.
const FILE_CHARS_MAX: usize = 20_000;

/// Boards, for one call of a turn.
pub(super) struct TurnBoards<'c> {
    shop: &'c Shop,
    cx: &'c TurnContext,
    /// The step in which the call began, by which a card it added is found again.
    step: u32,
}

fn told(error: BoardError) -> ToolError {
    match error {
        BoardError::Wrong(why) => ToolError::Arguments(why),
        BoardError::NotAllowed(why) => ToolError::Refused(why),
        error @ BoardError::Lost(_) => ToolError::Refused(error.to_string()),
        error => ToolError::Hand(HandError(error.to_string())),
    }
}

fn number(text: &str) -> Result<CardId, ToolError> {
    let wrong = || ToolError::Arguments(format!("`{text}` is not the number of a card"));
    CardId::parse(text.trim()).ok_or_else(wrong)
}

fn moment(text: Option<&str>) -> Result<Option<Timestamp>, ToolError> {
    let wrong = |text: &str| {
        ToolError::Arguments(format!("`{text}` is no moment: write it as 2026-12-01T08:30:00Z"))
    };
    text.map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}

impl<'c> TurnBoards<'c> {
    pub(super) fn new(shop: &'c Shop, cx: &'c TurnContext, step: u32) -> Self {
        Self { shop, cx, step }
    }

    fn claim(&self) -> Option<&CardClaim> {
        self.cx.from.job.as_ref().and_then(|job| job.card.as_ref())
    }

    fn seat(&self) -> Seat {
        let cx = self.cx;
        let is_chat = matches!(cx.principal, Actor::User(_));
        Seat::Agent(Box::new(AgentSeat {
            agent: cx.agent.clone(),
            principal: cx.principal.clone(),
            here: Audience::of(&cx.from.address),
            seen: cx.label_of_works(&self.shop.access),
            claim: self.claim().cloned(),
            place: is_chat.then(|| keep_place(&cx.from.address)),
        }))
    }

    /// The board that is meant: by its name, that of the card, or the only one.
    fn desk(&self, board: Option<&str>) -> Result<Desk, ToolError> {
        let seat = self.seat();
        let of_card = self.claim().map(|claim| claim.board.to_string());
        let name = match board.map(str::to_owned).or(of_card) {
            Some(name) => name,
            None => {
                let all = self.shop.boards.seen_by(&seat);
                match &all[..] {
                    [(one, _)] => one.name.to_string(),
                    _ => {
                        let names: Vec<&str> = all.iter().map(|it| it.0.name.as_str()).collect();
                        let what = format!("give `board`: {}", names.join(", "));
                        return Err(ToolError::Arguments(what));
                    }
                }
            }
        };
        self.shop.boards.desk(&name, seat).map_err(told)
    }

    /// The card that is meant.
    fn card(&self, named: Option<String>) -> Result<CardId, ToolError> {
        match (named, self.claim()) {
            (Some(text), _) => number(&text),
            (None, Some(claim)) => Ok(claim.card),
            (None, None) => Err(ToolError::Arguments("give `task_id`".to_owned())),
        }
    }

    /// What the turn has seen once it has read a card.
    fn see(&self, desk: &Desk, whole: &CardWhole) {
        let label = desk.label_of((&self.shop.access, &self.cx.agent), whole);
        self.see_label(&label);
    }

    fn see_label(&self, label: &Label) {
        self.cx.seen.add(label);
    }

    async fn create(&self, desk: &Desk, draft: CardDraft) -> Result<String, ToolError> {
        let parents = draft.parents.iter().map(|text| number(text));
        let boxed = |text: String| -> Box<str> { text.into() };
        let new = NewCard {
            title: draft.title,
            body: draft.body,
            assignee: draft.assignee.map(boxed),
            reviewer: draft.reviewer.map(boxed),
            priority: draft.priority,
            due_at: moment(draft.due.as_deref())?,
            start_at: moment(draft.start.as_deref())?,
            tags: draft.labels.into_iter().map(boxed).collect(),
            needs: parents.collect::<Result<_, _>>()?,
            // A call that a crash cut off is made again, and finds what it had added.
            request: Some(format!("{}:{}:{}", self.cx.agent.id, self.cx.turn, self.step).into()),
        };
        let row = desk.add(new).await.map_err(told)?;
        Ok(format!("card {} is added to board {}; it is {}", row.id, desk.name(), row.status))
    }
}

fn line(row: &CardRow) -> String {
    let mut line = format!("{} [{}] {}", row.id, row.status, row.title);
    if let Some(assignee) = &row.assignee {
        line.push_str(&format!(" (for {assignee})"));
    }
    line
}

impl crate::Engine {
    /// A card as an agent that works on it reads it: the words on it between marks.
    pub fn card_text(&self, agent: &AgentContext, board: &str, whole: &CardWhole) -> String {
        let (card, run) = (whole.row.id.to_string(), whole.row.run.to_string());
        let names = ["untrusted", agent.id.as_str(), "card", board, &card, &run];
        let mark = self.shop.world.random.stream(&names).id();
        untrusted::enclosed(&pieces(board, whole), &mark)
    }
}

/// A card for a model: what it says, which may be anybody's words, and how it stands, which is ours.
fn pieces(board: &str, whole: &CardWhole) -> Vec<Piece> {
    let row = &whole.row;
    let mut state = format!("card {} of board {board} is {}", row.id, row.status);
    if let Some(kind) = row.block {
        state.push_str(&format!(" ({})", kind.as_str()));
    }
    if let Some(assignee) = &row.assignee {
        state.push_str(&format!("; for {assignee}"));
    }
    if let Some(reviewer) = &row.reviewer {
        state.push_str(&format!("; reviewed by {reviewer}"));
    }
    if let Some(due) = row.due_at {
        state.push_str(&format!("; due {due}"));
    }
    let list = |cards: &mut dyn Iterator<Item = String>| cards.collect::<Vec<_>>().join(", ");
    if !whole.needs.is_empty() {
        let mut needs = whole.needs.iter().map(|(card, status)| format!("{card} ({status})"));
        state.push_str(&format!("; waits for {}", list(&mut needs)));
    }
    if !whole.parts.is_empty() {
        let mut parts = whole.parts.iter().map(ToString::to_string);
        state.push_str(&format!("; its parts: {}", list(&mut parts)));
    }
    let foreign = |what: &str, by: &str, text: String| Piece::Foreign {
        source: format!("{what} by {by}"),
        text,
    };
    let author = match &row.author_agent {
        Some(agent) => format!("agent {agent}"),
        None => row.author.to_string(),
    };
    let mut all = vec![Piece::Own(state)];
    all.push(foreign("card", &author, format!("{}\n\n{}", row.title, row.body).trim().to_owned()));
    if let Some(why) = &row.why {
        all.push(foreign("reason", "whoever wrote it", why.clone()));
    }
    for it in &whole.comments {
        let by =
            it.agent.as_ref().map_or_else(|| it.author.to_string(), |id| format!("agent {id}"));
        all.push(foreign("comment", &by, it.text.clone()));
    }
    if let Some(result) = &row.result {
        let by = row.result_by.as_deref().unwrap_or("nobody");
        all.push(foreign("result", by, result.clone()));
    }
    for it in &whole.files {
        let short = &it.hash[..it.hash.floor_char_boundary(12)];
        all.push(foreign("file", short, format!("{} ({} bytes)", it.name, it.len)));
    }
    all
}

#[async_trait]
impl Boards for TurnBoards<'_> {
    async fn act(&self, board: Option<&str>, wish: CardWish) -> Result<Output, ToolError> {
        let desk = self.desk(board)?;
        let text = match wish {
            CardWish::List { status, assignee } => {
                let wanted = status.as_deref().map(|text| {
                    let unknown = || ToolError::Arguments(format!("`{text}` is no status"));
                    CardStatus::parse(text).ok_or_else(unknown)
                });
                let filter = CardFilter {
                    status: wanted.transpose()?.into_iter().collect(),
                    assignee: assignee.map(Into::into),
                    ..CardFilter::default()
                };
                let cards = desk.list(filter).await.map_err(told)?;
                if cards.is_empty() {
                    return Ok(Output::Text("there are no such cards".to_owned()));
                }
                let mut lines = Vec::new();
                for row in &cards {
                    let whole = CardWhole {
                        row: CardRow { result: None, ..row.clone() },
                        needs: Vec::new(),
                        needed_by: Vec::new(),
                        parts: Vec::new(),
                        comments: Vec::new(),
                        files: Vec::new(),
                        runs: Vec::new(),
                    };
                    self.see(&desk, &whole);
                    lines.push(line(row));
                }
                let source = format!("board {}", desk.name());
                return Ok(Output::Pieces(vec![Piece::Foreign { source, text: lines.join("\n") }]));
            }
            CardWish::Show { card, file } => {
                let card = self.card(card)?;
                let whole = desk.show(card).await.map_err(told)?;
                self.see(&desk, &whole);
                if let Some(hash) = file {
                    let bytes = desk.file(card, &hash).await.map_err(told)?;
                    let text = String::from_utf8_lossy(&bytes);
                    let text: String = text.chars().take(FILE_CHARS_MAX).collect();
                    let source = format!("file of card {card}");
                    return Ok(Output::Pieces(vec![Piece::Foreign { source, text }]));
                }
                return Ok(Output::Pieces(pieces(desk.name().as_str(), &whole)));
            }
            CardWish::Create(draft) => self.create(&desk, *draft).await?,
            CardWish::Comment { card, text } => {
                let row = desk.comment(self.card(card)?, &text).await.map_err(told)?;
                format!("it stands on card {}", row.id)
            }
            CardWish::Link { card, needs } => {
                let row = desk.link(number(&card)?, number(&needs)?).await.map_err(told)?;
                format!("card {} waits for card {needs}; it is {}", row.id, row.status)
            }
            CardWish::Complete { card, result } => {
                let row = desk.complete(self.card(card)?, &result).await.map_err(told)?;
                match row.status {
                    CardStatus::Review => format!("card {} is to be reviewed now", row.id),
                    status => format!("card {} is {status}", row.id),
                }
            }
            CardWish::Block { card, kind, why } => {
                let unknown = || ToolError::Arguments(format!("`{kind}` is no kind of block"));
                let kind = BlockKind::parse(&kind).ok_or_else(unknown)?;
                let row = desk.block(self.card(card)?, kind, &why).await.map_err(told)?;
                format!("card {} is {}", row.id, row.status)
            }
            CardWish::Unblock { card } => {
                let row = desk.unblock(number(&card)?).await.map_err(told)?;
                format!("card {} is {}", row.id, row.status)
            }
            CardWish::Heartbeat { note } => {
                let claim = self.claim().ok_or_else(|| {
                    ToolError::Refused("you do not work on a card in this turn".to_owned())
                })?;
                let beat = desk.heartbeat(claim.card, claim.run, note.as_deref());
                beat.await.map_err(told)?;
                format!("noted; card {} is yours", claim.card)
            }
            CardWish::Attach { card, name, bytes } => {
                let card = self.card(card)?;
                let hash = desk.attach(card, &name, bytes).await.map_err(told)?;
                format!("{name} is on card {card}, as {}", &hash[..12])
            }
        };
        Ok(Output::Text(text))
    }
}
