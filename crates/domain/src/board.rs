//! Boards: the states of a card, what takes it from one to another, and what somebody may do on a
//! board. What a card says, who asks and how it is kept is unknown here.

use crate::id::{AgentId, IdError};
use std::fmt;
use std::sync::Arc;

/// The name of a board: of the same alphabet as an agent's id, since it names a file too.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BoardName(Arc<str>);

impl BoardName {
    /// Checks and takes a name.
    pub fn new(text: &str) -> Result<Self, IdError> {
        AgentId::new(text).map(|id| Self(id.as_str().into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a card on its board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardId(pub i64);

impl CardId {
    /// A number as people write it, with or without a `#`.
    pub fn parse(text: &str) -> Option<Self> {
        let number: i64 = text.strip_prefix('#').unwrap_or(text).parse().ok()?;
        (number > 0).then_some(Self(number))
    }
}

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a card stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CardStatus {
    /// Nobody is to do it yet.
    Triage,
    /// It waits for others to be done.
    Todo,
    /// It waits for its time.
    Scheduled,
    /// Whoever it is for may take it.
    Ready,
    /// Somebody works on it.
    Running,
    /// It can't go on.
    Blocked,
    /// It is to be looked at before it counts as done.
    Review,
    Done,
    /// Put away.
    Archived,
}

impl CardStatus {
    /// Every status, in the order of a board's columns.
    pub const ALL: [Self; 9] = [
        Self::Triage,
        Self::Todo,
        Self::Scheduled,
        Self::Ready,
        Self::Running,
        Self::Blocked,
        Self::Review,
        Self::Done,
        Self::Archived,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Triage => "triage",
            Self::Todo => "todo",
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Review => "review",
            Self::Done => "done",
            Self::Archived => "archived",
        }
    }

    /// Finds a status by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether nothing is to be done about it any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Archived)
    }
}

impl fmt::Display for CardStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a card can't go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockKind {
    /// Other cards have to be done first; it goes on by itself when they are.
    Dependency,
    /// A person has to say something.
    NeedsInput,
    /// Whoever it is for can't do it.
    Capability,
    /// It failed too often; it may go well another time.
    Transient,
}

impl BlockKind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::Dependency, Self::NeedsInput, Self::Capability, Self::Transient];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::NeedsInput => "needs_input",
            Self::Capability => "capability",
            Self::Transient => "transient",
        }
    }

    /// Finds a kind by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// What is known of a card that nobody works on, as far as it says where it rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    pub has_assignee: bool,
    /// How many cards it waits for that are not done.
    pub needs_open: u32,
    /// Whether its time is still to come.
    pub is_early: bool,
}

impl Facts {
    /// Where a card with these facts rests.
    pub fn rest(self) -> CardStatus {
        match self {
            Self { has_assignee: false, .. } => CardStatus::Triage,
            Self { needs_open: 1.., .. } => CardStatus::Todo,
            Self { is_early: true, .. } => CardStatus::Scheduled,
            _ => CardStatus::Ready,
        }
    }
}

/// What is done with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardStep {
    /// It is looked at what it waits for.
    Settle(Facts),
    /// Somebody takes it.
    Claim,
    /// Whoever had it gives it back, or lost it.
    Release(Facts),
    /// Whoever has it is done with it, and somebody is to look at that.
    Submit,
    /// It is done.
    Complete,
    /// Somebody looked at it, and it is not done.
    Rework(Facts),
    /// It can't go on.
    Block(BlockKind),
    /// It can go on.
    Unblock(Facts),
    /// It is put away.
    Archive,
    /// It is to be done after all.
    Reopen(Facts),
}

/// Why a step can't be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a card that is `{status}` can't be {what}; {help}")]
pub struct WrongStep {
    pub status: CardStatus,
    what: &'static str,
    help: &'static str,
}

impl CardStatus {
    /// The status after a step, or why it can't be taken.
    pub fn after(self, step: CardStep) -> Result<Self, WrongStep> {
        use CardStatus::*;
        let wrong = |what, help| Err(WrongStep { status: self, what, help });
        match (step, self) {
            (CardStep::Settle(facts), Triage | Todo | Scheduled | Ready) => Ok(facts.rest()),
            (CardStep::Settle(_), _) => Ok(self),
            // One that is for nobody becomes that of whoever takes it.
            (CardStep::Claim, Ready | Triage) => Ok(Running),
            (CardStep::Claim, Running) => wrong("claimed", "somebody works on it"),
            (CardStep::Claim, _) => wrong("claimed", "only one in `ready` or `triage` can"),
            (CardStep::Release(facts), Running) => Ok(facts.rest()),
            (CardStep::Release(_), _) => wrong("given back", "nobody works on it"),
            (CardStep::Submit, Running) => Ok(Review),
            (CardStep::Submit, _) => wrong("submitted", "nobody works on it"),
            // What is done stays so, and what was put away has to be taken out first.
            (CardStep::Complete, Done | Archived) => wrong("completed", "it is over"),
            (CardStep::Complete, _) => Ok(Done),
            (CardStep::Rework(facts), Review) => Ok(facts.rest()),
            (CardStep::Rework(_), _) => wrong("sent back", "only one in `review` can"),
            (CardStep::Block(_), Done | Archived) => wrong("blocked", "it is over"),
            (CardStep::Block(_), _) => Ok(Blocked),
            (CardStep::Unblock(facts), Blocked) => Ok(facts.rest()),
            (CardStep::Unblock(_), _) => wrong("unblocked", "it is not blocked"),
            (CardStep::Archive, Running) => {
                wrong("put away", "somebody works on it; block it first")
            }
            (CardStep::Archive, _) => Ok(Archived),
            (CardStep::Reopen(facts), Done | Archived) => Ok(facts.rest()),
            (CardStep::Reopen(_), _) => wrong("opened again", "it is open"),
        }
    }
}

/// One thing that somebody may do on a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BoardRight {
    /// Read its cards.
    See,
    /// Add cards, and write on them.
    Add,
    /// Work on cards.
    Claim,
    /// Say whether something is done.
    Review,
    /// Change every card.
    Administer,
}

impl BoardRight {
    /// Every right.
    pub const ALL: [Self; 5] = [Self::See, Self::Add, Self::Claim, Self::Review, Self::Administer];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::See => "see",
            Self::Add => "add",
            Self::Claim => "claim",
            Self::Review => "review",
            Self::Administer => "administer",
        }
    }

    /// Finds a right by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == text)
    }
}

/// What somebody may do on a board. Whoever has none of it does not know that there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BoardRights(u8);

/// Names for several rights at once.
const ROLES: [(&str, &[BoardRight]); 5] = [
    ("see", &[]),
    ("add", &[BoardRight::Add]),
    ("work", &[BoardRight::Add, BoardRight::Claim]),
    ("review", &[BoardRight::Add, BoardRight::Review]),
    ("manage", &BoardRight::ALL),
];

impl BoardRights {
    /// The names that stand for several rights.
    pub const ROLE_NAMES: [&'static str; 5] = ["see", "add", "work", "review", "manage"];

    /// All of them.
    pub fn all() -> Self {
        Self::of(&BoardRight::ALL)
    }

    /// These. Whoever may do anything on a board may see it.
    pub fn of(rights: &[BoardRight]) -> Self {
        let bits = rights.iter().fold(0, |bits, right| bits | 1 << *right as u8);
        Self(if bits == 0 { 0 } else { bits | 1 << BoardRight::See as u8 })
    }

    /// What a role's name stands for.
    pub fn of_role(name: &str) -> Option<Self> {
        let (_, rights) = ROLES.iter().find(|(role, _)| *role == name)?;
        Some(if rights.is_empty() { Self::of(&[BoardRight::See]) } else { Self::of(rights) })
    }

    pub fn has(self, right: BoardRight) -> bool {
        self.0 & 1 << right as u8 != 0
    }

    /// Whether it is nothing at all.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The rights, in order.
    pub fn iter(self) -> impl Iterator<Item = BoardRight> {
        BoardRight::ALL.into_iter().filter(move |right| self.has(*right))
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for BoardRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(BoardRight::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod board_tests;
