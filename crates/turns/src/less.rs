//! Asking with less of a conversation, where a model finds it too long.

use crate::ask::ModelCallFailure;
use crate::history::fitting;
use crate::turn::{Broken, Turn};
use insula_models::{Answer, Chain, ToolSchema};
use insula_store::{Message, Usage};
use std::sync::Arc;

/// How much of a conversation a turn shows.
pub(super) struct Room {
    /// The tokens that its messages may take.
    pub(super) limit: usize,
    /// Whether its older part may still become notes.
    pub(super) may_compress: bool,
}

impl Turn<'_> {
    /// One model call; where the conversation is too long for the model, again with less of it. The
    /// last of these shows what was asked alone, so that one message that is too long is in the
    /// way of no other.
    pub(super) async fn ask_within(
        &mut self,
        (chain, tools): (&Chain, &Arc<[ToolSchema]>),
        history: &mut Vec<Message>,
        room: &mut Room,
        step: usize,
    ) -> Result<(Answer, Usage), Broken> {
        let mut failure = match self.ask(chain, tools, history, room.limit, step).await {
            Err(ModelCallFailure::TooLong(failure)) => failure,
            other => return other.map_err(Broken::from),
        };
        let mut shown = size(history, room.limit);
        // What it takes may be known by now. Else it counts otherwise than we do.
        let told = self.shop.history_tokens(&self.cx.agent, chain, tools).await;
        room.limit = if told < room.limit { told } else { room.limit / 2 };
        for limit in [room.limit, 0] {
            if std::mem::take(&mut room.may_compress)
                && self.compress(chain, history, limit).await?
            {
                self.recall_anew().await?;
            }
            let now = size(history, limit);
            if now == shown {
                continue;
            }
            shown = now;
            failure = match self.ask(chain, tools, history, limit, step).await {
                Err(ModelCallFailure::TooLong(failure)) => failure,
                other => return other.map_err(Broken::from),
            };
        }
        failure.error += "; what was asked last is too long for it by itself: send less at once, or begin a new conversation (`/new`)";
        Err(Broken::Said(failure))
    }
}

/// How many messages are shown within a limit, and from which on.
fn size(history: &[Message], limit: usize) -> (usize, Option<u64>) {
    let part = fitting(history, limit);
    (part.preface.len() + part.end.len(), part.end.first().map(|message| message.seq.0))
}
