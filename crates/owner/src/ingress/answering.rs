//! Which question an answer in words is meant for.
//!
//! People say "ok" to each other all the time. It is an answer to a question of ours only where
//! that is plain: it replies to the question, names it, or is said to us where only one waits; and
//! only after the question was shown where it is said.

use super::commands::{self, PlainAnswer};
use super::{Ingress, IngressContext};
use crate::delivery::{Because, ChatRef, QuestionShown, Showing};
use insula_channel::{Happening, Message};
use insula_domain::{ChatType, Handling};

use insula_store::{Approval, StoreError};
use insula_turns::approvals::{AnswerError, ApprovalAnswer, ApprovalDuration};
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

impl Ingress {
    /// Takes a bare yes or no for the answer to what waits in this conversation, where it is plain
    /// that it is one; whether it is. Whether it counts is decided where all answers are.
    pub(super) async fn answers(
        &self,
        cx: &IngressContext<'_>,
        message: &Message,
        handling: Handling,
    ) -> Result<bool, StoreError> {
        let said = commands::worded_answer(message.words.instruction());
        let Some((said, named)) = said else { return Ok(false) };
        let may = handling == Handling::Answer || cx.caller.is_admin();
        if !may || !message.attachments.is_empty() {
            return Ok(false);
        }
        let waiting = self.answerable_here(cx).await?;
        if waiting.is_empty() {
            return Ok(false);
        }
        let is_to_us = cx.envelope.address.chat_type == ChatType::Dm || message.mentions_us;
        let meant = match named {
            Some(id) => match waiting.iter().find(|it| *it.id == *id) {
                Some(one) => Meant::One(one.id.clone()),
                None => Meant::None,
            },
            None if message.quoted.is_none() && !is_to_us => Meant::None,
            None => self.meant_by(cx, message, &waiting).await?,
        };
        let told = match meant {
            Meant::None => return Ok(false),
            Meant::Several => which(&waiting),
            Meant::One(id) => {
                let answer = match said {
                    PlainAnswer::Yes => ApprovalAnswer::Approve(ApprovalDuration::Once),
                    PlainAnswer::No => ApprovalAnswer::Deny(None),
                };
                self.answer_seen(cx, &id, answer).await
            }
        };
        self.say(cx, told).await;
        Ok(true)
    }

    /// Which of those that wait a message without a name is meant for: the one it replies to, or
    /// the only one, if that was shown here before.
    pub(super) async fn meant_by(
        &self,
        cx: &IngressContext<'_>,
        message: &Message,
        waiting: &[Approval],
    ) -> Result<Meant, StoreError> {
        if let Some(quoted) = message.quoted.as_ref() {
            for one in waiting {
                let shown = self.out.shown(cx.agent, &one.id, &cx.place()).await?;
                let is_it = shown.is_some_and(|shown| shown.messages.contains(&quoted.id));
                if is_it && quoted.is_from_here {
                    return Ok(Meant::One(one.id.clone()));
                }
            }
            // Said to something else, it answers that.
            return Ok(Meant::None);
        }
        match waiting {
            [one] => match self.whole_here(cx, &one.id).await? {
                Some(shown) if self.is_before(cx, message, &shown) => {
                    Ok(Meant::One(one.id.clone()))
                }
                _ => Ok(Meant::None),
            },
            [] => Ok(Meant::None),
            _ => Ok(Meant::Several),
        }
    }

    /// The same for a command, which came by the message of its envelope.
    pub(super) async fn meant_here(
        &self,
        cx: &IngressContext<'_>,
        waiting: &[Approval],
    ) -> Result<Meant, StoreError> {
        match &cx.envelope.what {
            Happening::Said(message) => self.meant_by(cx, message, waiting).await,
            _ => Ok(Meant::None),
        }
    }

    /// What can be answered here: what waits in this conversation, and what was shown here since
    /// somebody named it.
    pub(super) async fn answerable_here(
        &self,
        cx: &IngressContext<'_>,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut here = self.waiting_here(cx).await?;
        let place = cx.place();
        for one in self.engine.approvals().list(cx.agent).await? {
            if here.iter().any(|it| it.id == one.id) {
                continue;
            }
            let shown = self.out.shown(cx.agent, &one.id, &place).await?;
            if shown.is_some_and(|shown| shown.because == Because::Named) {
                here.push(one);
            }
        }
        Ok(here)
    }

    /// Answers what waits, where a yes is to something that was seen here. What was not is shown
    /// first, and nothing is decided. A no needs no look.
    pub(super) async fn answer_seen(
        &self,
        cx: &IngressContext<'_>,
        id: &str,
        answer: ApprovalAnswer,
    ) -> String {
        if matches!(answer, ApprovalAnswer::Deny(_))
            || !self.access.may_answer(cx.agent, &cx.caller.actor())
        {
            return self.answer(cx, id, answer).await;
        }
        match self.is_seen(cx, id).await {
            Ok(true) => self.answer(cx, id, answer).await,
            Ok(false) => match self.show_first(cx, id).await {
                Ok(told) => told,
                Err(error) => unread(cx, &error),
            },
            Err(error) => unread(cx, &error),
        }
    }

    /// Whether all of a question was shown here before it is answered.
    async fn is_seen(&self, cx: &IngressContext<'_>, id: &str) -> Result<bool, StoreError> {
        self.until_on_its_way(cx, id).await?;
        let Some(shown) = self.whole_here(cx, id).await? else { return Ok(false) };
        Ok(match (&cx.envelope.what, shown.because) {
            // Its name stands nowhere before it does there.
            (_, Because::Asked) => true,
            (Happening::Said(message), Because::Named) => self.is_before(cx, message, &shown),
            (_, Because::Named) => false,
        })
    }

    /// Shows here what somebody would have answered without having seen it; what they are told.
    async fn show_first(&self, cx: &IngressContext<'_>, id: &str) -> Result<String, StoreError> {
        let (agent, place) = (cx.agent, cx.place());
        let waiting = self.engine.approvals().list(agent).await?;
        let Some(approval) = waiting.into_iter().find(|it| *it.id == *id) else {
            return Ok(AnswerError::NotWaiting(id.into()).to_string());
        };
        let is_own = self.waiting_here(cx).await?.iter().any(|it| *it.id == *id);
        // What is asked in one conversation is not for all who read another.
        if place.chat_type != ChatType::Dm && !is_own {
            return Ok(format!(
                "nothing was decided: it was asked elsewhere and others read here; say `/approve {id}` to me in a direct chat, where I show it to you first"
            ));
        }
        let shown = self.out.shown(agent, id, &place).await?;
        if let Some(QuestionShown { showing: Showing::Failed, because: Because::Named, .. }) = shown
        {
            return Ok("nothing was decided: it was not shown here before, and can't be".to_owned());
        }
        self.out.show_at(agent, &place, approval).await?;
        Ok(format!(
            "nothing was decided yet: this was not shown here before you said that; look at it, then answer it, or say `/approve {id}` again"
        ))
    }

    /// Waits a moment until a question of this conversation is on its way here: one that was just
    /// asked may not be yet.
    async fn until_on_its_way(&self, cx: &IngressContext<'_>, id: &str) -> Result<(), StoreError> {
        if !self.waiting_here(cx).await?.iter().any(|it| *it.id == *id) {
            return Ok(());
        }
        let (clock, place) = (&self.world.clock, cx.place());
        let until = clock.elapsed() + NOTED_WITHIN;
        while self.out.shown(cx.agent, id, &place).await?.is_none() && clock.elapsed() < until {
            clock.sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// A question that was shown here whole. One that is just being sent is waited for.
    async fn whole_here(
        &self,
        cx: &IngressContext<'_>,
        id: &str,
    ) -> Result<Option<QuestionShown>, StoreError> {
        let (clock, place) = (&self.world.clock, cx.place());
        let until = clock.elapsed() + NOTED_WITHIN;
        loop {
            match self.out.shown(cx.agent, id, &place).await? {
                Some(shown) if shown.showing == Showing::Whole => return Ok(Some(shown)),
                Some(_) if clock.elapsed() < until => clock.sleep(LOOK_EVERY).await,
                Some(_) | None => return Ok(None),
            }
        }
    }

    /// Whether a question was there before a message was said.
    fn is_before(&self, cx: &IngressContext<'_>, message: &Message, shown: &QuestionShown) -> bool {
        let place: ChatRef = cx.place();
        let Some(last) = shown.messages.last() else { return false };
        let adapter = self.accounts.outbound(place.platform, &place.account);
        let target = self.out.target(cx.agent, &place);
        let told = adapter.and_then(|it| it.is_after(&target, &message.id, last));
        told.unwrap_or_else(|| cx.envelope.at >= shown.at)
    }
}

/// What people are told where it can't be said what was shown: nothing is decided.
fn unread(cx: &IngressContext<'_>, error: &StoreError) -> String {
    tracing::error!(agent = %cx.agent.id, %error, "it can't be read where a question was shown");
    "nothing was decided: it can't be read where this was shown; the operator finds the reason in the log".to_owned()
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
