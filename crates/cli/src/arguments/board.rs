//! `insula board …`

use clap::{Args, Subcommand};

/// Make boards, list, add and change their cards.
#[derive(Debug, Subcommand)]
pub enum Board {
    /// Write a new board into config.yaml
    Create(BoardCreate),
    /// List boards, or the cards of one
    List {
        /// The board; without it, every board
        board: Option<String>,
        /// Only cards with this status
        #[arg(long)]
        status: Option<String>,
        /// Only cards of this agent or kind of work
        #[arg(long, value_name = "AGENT|WORK")]
        assignee: Option<String>,
    },
    /// Show a card, all that was put on it, and what happened to it
    Show(OneCard),
    /// Add a card
    Add(Box<BoardAdd>),
    /// Put a card elsewhere: triage, todo, ready, blocked, review, done or archived
    Move {
        #[command(flatten)]
        card: OneCard,
        /// Where to; `ready` takes it from whoever has it, and back from review
        status: String,
        /// Why
        #[arg(long)]
        why: Option<String>,
    },
    /// Say something on a card
    Comment {
        #[command(flatten)]
        card: OneCard,
        /// The words
        text: String,
    },
    /// Take a card, to work on it yourself
    Claim {
        #[command(flatten)]
        card: OneCard,
        /// You still work on it: keep it for as long again, by this claim
        #[arg(long, value_name = "RUN")]
        renew: Option<i64>,
    },
    /// Say who is to do a card: an agent, a kind of work, or nobody
    Assign {
        #[command(flatten)]
        card: OneCard,
        /// The agent or kind of work; without it, nobody
        #[arg(value_name = "AGENT|WORK")]
        to: Option<String>,
    },
    /// Say that a card can't go on
    Block {
        #[command(flatten)]
        card: OneCard,
        /// Why
        why: String,
        /// What is missing
        #[arg(long, value_parser = ["dependency", "needs_input", "capability", "transient"])]
        kind: Option<String>,
    },
    /// Say that a card is done, or that its review is good
    Done {
        #[command(flatten)]
        card: OneCard,
        /// What came of it
        #[arg(default_value = "")]
        result: String,
    },
    /// Print what happens on a board from now on, as it happens
    Watch {
        /// The board
        board: String,
        /// What has happened so far, too
        #[arg(long)]
        all: bool,
        /// Print what has happened so far, and end
        #[arg(long)]
        once: bool,
    },
}

/// Which card.
#[derive(Debug, Args)]
pub struct OneCard {
    /// The board
    pub board: String,
    /// The card's number or title
    pub card: String,
}

/// A board to make.
#[derive(Debug, Args)]
pub struct BoardCreate {
    /// Its name
    #[arg(value_name = "NEW")]
    pub board: String,
    /// What an agent may do on it, such as `coder=work`: see, add, work, review or manage; may be given several times
    #[arg(long = "agent", value_name = "AGENT=MAY")]
    pub agents: Vec<String>,
    /// The same for a person, such as `telegram:12345=add`
    #[arg(long = "person", value_name = "WHO=MAY")]
    pub people: Vec<String>,
    /// What it is for
    #[arg(long)]
    pub description: Option<String>,
}

/// A card to add.
#[derive(Debug, Args)]
pub struct BoardAdd {
    /// The board
    pub board: String,
    /// What is to be done, in one line
    pub title: String,
    /// All that whoever does it has to know
    #[arg(default_value = "")]
    pub body: String,
    /// Who is to do it: an agent, or a kind of work
    #[arg(long, value_name = "AGENT|WORK")]
    pub assignee: Option<String>,
    /// Who looks at it before it is done: an agent, or `person`
    #[arg(long, value_name = "AGENT|WORK")]
    pub reviewer: Option<String>,
    /// A card that has to be done first, by its number or title; may be given several times
    #[arg(long = "after", value_name = "CARD")]
    pub parents: Vec<String>,
    /// Higher ones go first
    #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
    pub priority: i32,
    /// When it should be done, such as `2026-12-01T08:30:00Z`
    #[arg(long)]
    pub due: Option<String>,
    /// Not before this moment
    #[arg(long)]
    pub start: Option<String>,
    /// A word to find it by; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    pub labels: Vec<String>,
}
