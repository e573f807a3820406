//! What a client tells of a conversation, one thing after the other, in the words of neither API.

use super::part::Brought;
use insula_store::{Part, Role};

/// One thing that a client tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// Somebody said something.
    Said { role: Role, parts: Vec<Brought> },
    /// The agent called tools of the client's, with what it said beside that.
    Calls { said: Vec<Part>, calls: Vec<SaidCall> },
    /// What came of such a call.
    Result {
        /// The call, by the id that the client has for it.
        call: String,
        text: String,
        /// Where in the request it stands.
        at: String,
    },
    /// Something that was given before, by its id.
    Reference {
        id: String,
        /// Where in the request it stands.
        at: String,
    },
}

/// A call of a client's tool, as the client tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidCall {
    /// The id that the client has for it.
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// What a request tells, and how that stands to the conversation it is said in.
pub enum Told {
    /// All that was said so far: the request has its own history.
    Whole(Vec<Item>),
    /// All that was said so far, to a conversation that knows it: of this, only the end is new.
    Again(Vec<Item>),
    /// What is new.
    New(Vec<Item>),
}

impl Told {
    /// The items.
    pub fn items_mut(&mut self) -> &mut Vec<Item> {
        match self {
            Self::Whole(items) | Self::Again(items) | Self::New(items) => items,
        }
    }
}

/// Parts of which every file was dealt with.
pub fn parts_of(parts: Vec<Brought>) -> Vec<Part> {
    let parts = parts.into_iter().filter_map(|part| match part {
        Brought::Part(part) => Some(part),
        Brought::File(_) => None,
    });
    parts.collect()
}
