//! Which question an answer in words is meant for.
//!
//! People say "ok" to each other all the time. It is an answer to a question of ours only where
//! that is plain: it replies to the question, names it, or is said to us where only one waits; and
//! only after the question was shown where it is said.

use super::commands::{self, PlainAnswer};
use super::{Visitor, WayIn};
use crate::adapter::NotTaken;
use crate::envelope::{Happening, Message};
use crate::way_out::Place;
use insula_domain::{ChatType, Heed};
use insula_runtime::approvals::{Answer, Reach};
use insula_store::{Approval, StoreError};
use std::time::Duration;

/// How long it is waited until it is written down that a question was sent: whoever answers it at
/// once may be quicker.
const NOTED_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Which question something is meant for.
pub(super) enum Meant {
    /// This one.
    One(Box<str>),
    /// One of several; it has to be said which.
    Several,
    /// None of those that wait here.
    None,
}

/// Whether a message is an answer that names what it answers.
pub(super) fn names_one(message: &Message) -> bool {
    commands::worded_answer(message.words.instruction()).is_some_and(|(_, id)| id.is_some())
}

impl WayIn {
    /// Takes a bare yes or no for the answer to what waits in this conversation, where it is plain
    /// that it is one; whether it is. Whether it counts is decided where all answers are.
    pub(super) async fn answers(
        &self,
        visitor: &Visitor<'_>,
        message: &Message,
        heed: Heed,
    ) -> Result<bool, NotTaken> {
        let said = commands::worded_answer(message.words.instruction());
        let Some((said, named)) = said else { return Ok(false) };
        let may = heed == Heed::Answer || visitor.guest.is_admin();
        if !may || !message.attachments.is_empty() {
            return Ok(false);
        }
        let waiting = self.waiting_here(visitor).await?;
        if waiting.is_empty() {
            return Ok(false);
        }
        let is_to_us = visitor.envelope.address.chat_type == ChatType::Dm || message.mentions_us;
        let meant = match named {
            Some(id) => match waiting.iter().find(|it| *it.id == *id) {
                Some(one) => Meant::One(one.id.clone()),
                None => Meant::None,
            },
            None if message.quoted.is_none() && !is_to_us => Meant::None,
            None => self.meant_by(visitor, message, &waiting).await?,
        };
        let told = match meant {
            Meant::None => return Ok(false),
            Meant::Several => which(&waiting),
            Meant::One(id) => {
                let answer = match said {
                    PlainAnswer::Yes => Answer::Approve(Reach::Once),
                    PlainAnswer::No => Answer::Deny(None),
                };
                self.answer(visitor, &id, answer).await
            }
        };
        self.say(visitor, told).await;
        Ok(true)
    }

    /// Which of those that wait a message without a name is meant for: the one it replies to, or
    /// the only one, if that was shown here before.
    pub(super) async fn meant_by(
        &self,
        visitor: &Visitor<'_>,
        message: &Message,
        waiting: &[Approval],
    ) -> Result<Meant, StoreError> {
        if let Some(quoted) = message.quoted.as_ref() {
            for one in waiting {
                let shown = self.out.shown(visitor.agent, &one.id).await?;
                let is_it = shown.is_some_and(|shown| {
                    shown.place == visitor.place() && shown.messages.contains(&quoted.id)
                });
                if is_it && quoted.is_from_here {
                    return Ok(Meant::One(one.id.clone()));
                }
            }
            // Said to something else, it answers that.
            return Ok(Meant::None);
        }
        match waiting {
            [one] if self.was_shown_before(visitor, message, &one.id).await? => {
                Ok(Meant::One(one.id.clone()))
            }
            [] | [_] => Ok(Meant::None),
            _ => Ok(Meant::Several),
        }
    }

    /// The same for a command, which came by the message of its envelope.
    pub(super) async fn meant_here(
        &self,
        visitor: &Visitor<'_>,
        waiting: &[Approval],
    ) -> Result<Meant, StoreError> {
        match &visitor.envelope.what {
            Happening::Said(message) => self.meant_by(visitor, message, waiting).await,
            _ => Ok(Meant::None),
        }
    }

    /// Whether a question was shown where a message was said, and before it was.
    async fn was_shown_before(
        &self,
        visitor: &Visitor<'_>,
        message: &Message,
        id: &str,
    ) -> Result<bool, StoreError> {
        let clock = &self.house.world.clock;
        let until = clock.elapsed() + NOTED_WITHIN;
        let shown = loop {
            match self.out.shown(visitor.agent, id).await? {
                Some(shown) if shown.is_whole => break shown,
                Some(_) if clock.elapsed() < until => clock.sleep(LOOK_EVERY).await,
                Some(_) | None => return Ok(false),
            }
        };
        let place: Place = visitor.place();
        let Some(last) = shown.messages.last().filter(|_| shown.place == place) else {
            return Ok(false);
        };
        let adapter = self.lines.adapter(place.platform, &place.account);
        let target = place.target(self.owner_of(visitor.agent));
        let told = adapter.and_then(|it| it.is_after(&target, &message.id, last));
        Ok(told.unwrap_or_else(|| visitor.envelope.at >= shown.at))
    }
}

/// Asks which of several is meant.
pub(super) fn which(waiting: &[Approval]) -> String {
    let lines = waiting.iter().map(|it| format!("{}: {}", it.id, it.tool));
    let lines: Vec<String> = lines.collect();
    format!(
        "several calls wait; reply to the one you mean, or say `/approve ID` or `/deny ID`\n{}",
        lines.join("\n")
    )
}
