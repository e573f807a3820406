//! Puts together again what a model was shown, and checks that it is just that.

use super::recipe::{Unfollowed, put_together, refers_to};
use super::{hash, sha256};
use insula_store::{AgentStore, MessageSeq, Part, RecipeAgain, ShownSummary, StoreError, Turn};
use std::collections::BTreeMap;
use std::fmt;

/// What a model was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownBody {
    pub call: ShownSummary,
    /// What it has in common with others, by name; no bytes where they were erased.
    pub parts: Vec<(Box<str>, Option<Vec<u8>>)>,
    /// The body of the request, byte for byte, or why it can't be told.
    pub body: Result<Vec<u8>, NotAgain>,
}

/// Why a request can't be put together again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAgain {
    /// Memory was forgotten that it showed.
    Forgotten,
    /// It had too many words that are in no journal, or memory in other words than its own.
    NeverKept,
    /// An earlier call that it goes on from is too old to be kept.
    TooOld,
    /// A message is gone.
    MessageGone,
    /// Another version wrote it down.
    Format,
    /// What came of it is not what was sent.
    Differs,
}

impl fmt::Display for NotAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forgotten => "something of what was remembered and shown was forgotten since",
            Self::NeverKept => {
                "it was not kept how it was put together: it was too long, or had something in it that is not to be kept twice"
            }
            Self::TooOld => "what it goes on from was removed, since it is too old",
            Self::MessageGone => "a message that was shown is not there any more",
            Self::Format => "it was written down in a form that this version does not read",
            Self::Differs => "what was put together has another hash than what was sent",
        })
    }
}

/// What a model was shown in one call of a turn; `None` where nothing is known of such a call.
pub async fn again(
    store: &AgentStore,
    turn: &Turn,
    number: u32,
) -> Result<Option<ShownBody>, StoreError> {
    let Some(found) = store.shown_call(turn.id, number).await? else { return Ok(None) };
    let (call, parts) = (found.call, found.parts);
    let body = match found.recipe {
        _ if call.hash.is_none() => Err(NotAgain::Forgotten),
        RecipeAgain::NeverKept => Err(NotAgain::NeverKept),
        RecipeAgain::Gone => Err(NotAgain::TooOld),
        RecipeAgain::Whole(recipe) => match said(store, turn, &recipe).await? {
            Err(why) => Err(why),
            Ok(said) => {
                let part = |number: usize| parts.get(number).and_then(|(_, it)| it.as_deref());
                put_together(&recipe, part, &said).map_err(NotAgain::from)
            }
        },
    };
    // Earlier versions kept the other one.
    let is_same = |body: &Vec<u8>| [hash(body), sha256(body)].map(Some).contains(&call.hash);
    let body = body.and_then(|body| if is_same(&body) { Ok(body) } else { Err(NotAgain::Differs) });
    Ok(Some(ShownBody { call, parts, body }))
}

impl From<Unfollowed> for NotAgain {
    fn from(why: Unfollowed) -> Self {
        match why {
            Unfollowed::Format => Self::Format,
            Unfollowed::Part => Self::Forgotten,
            Unfollowed::Message => Self::MessageGone,
        }
    }
}

/// The messages that a recipe refers to.
async fn said(
    store: &AgentStore,
    turn: &Turn,
    recipe: &[u8],
) -> Result<Result<BTreeMap<u64, Vec<Part>>, NotAgain>, StoreError> {
    let wanted = match refers_to(recipe) {
        Ok(wanted) => wanted,
        Err(why) => return Ok(Err(why.into())),
    };
    let mut said = BTreeMap::new();
    for seq in wanted {
        let before = MessageSeq(seq.saturating_sub(1));
        let found = store.messages_after(turn.session, before, 1).await?;
        match found.into_iter().next() {
            Some(message) if message.seq.0 == seq => said.insert(seq, message.parts),
            _ => return Ok(Err(NotAgain::MessageGone)),
        };
    }
    Ok(Ok(said))
}
