//! Boards that agents share: who may do what on each, and the one way to reach one, a [`Desk`].
//!
//! A board that somebody has no right to is to them one that does not exist. Running cards is the
//! owner's; here is what there is to run, and the one place that changes it.

mod change;
mod desk;
mod read;
mod settle;
mod work;

pub use change::TAKEN_AWAY;
pub use desk::{CardSeen, Desk, NewCard};

pub use work::{Open, RunEnd, RunKind};

use crate::access::Access;
use crate::context::{AgentContext, CardClaim};
use crate::registry::Registry;
use crate::signal::{Changes, Signal};
use crate::trail::Trail;
use insula_config::board::Board;
use insula_domain::{
    AccountId, Actor, Audience, BoardName, BoardRight, BoardRights, CardId, CardStatus, ChatId,
    Label, Platform, WrongStep,
};
use insula_store::{LeaseHolder, StoreError};
use insula_world::World;
use std::sync::Arc;

/// Why something was not done with a board.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// there is none of that name, for whoever asks
    #[error("there is no board `{0}`")]
    NoSuchBoard(Box<str>),
    /// there is no such card, for whoever asks
    #[error("board `{board}` has no card {card}")]
    NoSuchCard { board: BoardName, card: CardId },
    /// what was asked for can't be
    #[error("{0}")]
    Wrong(String),
    /// somebody else has to do it
    #[error("{0}")]
    NotAllowed(String),
    /// whoever writes had the card, and somebody else has it now
    #[error(
        "card {0} is no longer yours: it was taken from you, or your time with it ended; stop working on it"
    )]
    Lost(CardId),
    /// it is not as whoever writes saw it
    #[error("card {card} is `{status}` by now{}; look at it again", match worker {
        Some(worker) => format!(", with {worker}"),
        None => String::new(),
    })]
    Moved { card: CardId, status: CardStatus, worker: Option<Box<str>> },
    #[error(transparent)]
    Step(#[from] WrongStep),
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who comes to a board.
#[derive(Clone)]
pub enum Seat {
    /// Somebody by themselves: at the command line, by a token.
    Person(Actor),
    /// An agent, in a turn.
    Agent(Box<AgentSeat>),
    /// The daemon, which runs cards.
    Daemon,
}

/// An agent at a board.
#[derive(Clone)]
pub struct AgentSeat {
    pub agent: Arc<AgentContext>,
    /// Who the turn is for.
    pub principal: Actor,
    /// Who hears what the turn says.
    pub here: Audience,
    /// What the turn has seen: what it writes may tell of all of it.
    pub seen: Label,
    /// The card it works on.
    pub claim: Option<CardClaim>,
    /// The chat that is told what comes of a card.
    pub place: Option<String>,
}

impl Seat {
    /// As records of the board name them.
    pub fn name(&self) -> Box<str> {
        match self {
            Self::Person(who) => who.as_str().into(),
            Self::Agent(seat) => worker_name(seat.agent.id.as_str()),
            Self::Daemon => Actor::Daemon.as_str().into(),
        }
    }

    fn claim(&self) -> Option<&CardClaim> {
        match self {
            Self::Agent(seat) => seat.claim.as_ref(),
            Self::Person(_) | Self::Daemon => None,
        }
    }
}

/// What records of a board call an agent.
pub fn worker_name(agent: &str) -> Box<str> {
    format!("agent:{agent}").into()
}

/// Those who read what people write on a board.
pub fn audience(board: &BoardName) -> Option<Audience> {
    Some(Audience {
        platform: Platform::BOARD,
        account: AccountId::new(board.as_str()).ok()?,
        chat: ChatId::new("cards").ok()?,
        topic: None,
    })
}

/// The boards of a daemon.
pub struct Boards {
    world: World,
    owner: LeaseHolder,
    registry: Arc<Registry>,
    access: Arc<Access>,
    trail: Trail,
    /// Something was written on some board.
    changed: Arc<Signal>,
}

impl Boards {
    pub(crate) fn new(
        world: &World,
        owner: &LeaseHolder,
        registry: &Arc<Registry>,
        access: &Arc<Access>,
        trail: &Trail,
    ) -> Self {
        Self {
            world: world.clone(),
            owner: owner.clone(),
            registry: registry.clone(),
            access: access.clone(),
            trail: trail.clone(),
            changed: Arc::default(),
        }
    }

    /// Hears when something is written on some board.
    pub fn changes(&self) -> Changes {
        self.changed.listen()
    }

    /// What somebody may do on a board.
    fn rights(board: &Board, seat: &Seat) -> BoardRights {
        match seat {
            Seat::Daemon => BoardRights::all(),
            Seat::Person(who) => board.rights_of_person(who),
            Seat::Agent(seat) => match &seat.claim {
                // Whoever works on a card has come for that card.
                Some(claim) if claim.board != board.name => BoardRights::default(),
                _ => board.rights_of(&seat.agent.id),
            },
        }
    }

    /// The boards that somebody may see, by name, and what they may do on each.
    pub fn seen_by(&self, seat: &Seat) -> Vec<(Arc<Board>, BoardRights)> {
        let boards = &self.registry.snapshot().daemon.boards;
        let all = boards.values().map(|board| (board.clone(), Self::rights(board, seat)));
        all.filter(|(_, rights)| rights.has(BoardRight::See)).collect()
    }

    /// The way to a board, for whoever may see it.
    pub fn desk(&self, name: &str, seat: Seat) -> Result<Desk, BoardError> {
        let missing = || BoardError::NoSuchBoard(name.into());
        let known = BoardName::new(name).map_err(|_| missing())?;
        let snapshot = self.registry.snapshot();
        let board = snapshot.daemon.boards.get(&known).ok_or_else(missing)?.clone();
        let rights = Self::rights(&board, &seat);
        if !rights.has(BoardRight::See) {
            return Err(missing());
        }
        Ok(Desk {
            store: self.owner.board(&board.name),
            sees_all: self.sees_all(&board, &seat),
            board,
            rights,
            seat,
            seen: None,
            is_foreign: false,
            world: self.world.clone(),
            changed: self.changed.clone(),
            owner: self.owner.clone(),
            trail: self.trail.clone(),
        })
    }

    /// Whether every card may be shown where somebody is. An agent shows in a chat what those there
    /// may read: all of it to whoever has a right to the board themselves and to the agent's
    /// admins; to others what was asked for there.
    fn sees_all(&self, board: &Board, seat: &Seat) -> bool {
        let Seat::Agent(seat) = seat else { return true };
        match &seat.principal {
            // What an operator had it do by the clock.
            Actor::Daemon => true,
            who => {
                board.rights_of_person(who).has(BoardRight::See)
                    || self.access.is_admin(&seat.agent, who, crate::tokens::Verb::Read)
            }
        }
    }
}
