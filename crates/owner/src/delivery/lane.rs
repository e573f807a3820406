//! One chat's deliveries, one after the other: what is said, how it is sent, what becomes of it.

use super::buttons::HOW_TO_ANSWER;
use super::chat_ref::ChatRef;
use super::recognised::{between, doubtful};
use super::{Called, LOOK_AGAIN, Relay, split};
use insula_channel::MessageId;
use insula_channel::OnUncertain;
use insula_channel::{AccountKey, SlotGuard, WakeRule};
use insula_channel::{Body, Button, Post, PostError};
use insula_channel::{Features, Idempotency, Outbound, TextLimit};
use insula_domain::AgentId;
use insula_registry::AgentContext;
use insula_registry::outbox::Became;
use insula_store::{
    AgentCommand, Content, Delivery, Doubt, Lane, NewButton, OutboxCommand, Provisional, Rest,
    SentPart, StoreError, Tried,
};
use insula_turns::DeliveryFile;
use insula_world::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument as _;

/// The reply of an agent that has nothing to say.
pub const SILENT: &str = "[SILENT]";
/// Stands before what may have been sent before.
const REPETITION: &str =
    "(This may be a repetition: the connection broke off while it was being sent.)\n\n";
/// Messages of one chat in a row, while others wait for a place at the account.
const IN_A_ROW: usize = 8;
/// The first wait after a failure; it doubles.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// How long an account rests that may not send at all.
const REFUSED_WAIT: Duration = Duration::from_secs(300);
/// How often it is tried to send something: for about a day. Whoever waited has gone by then.
const TRIES_MAX: u32 = 300;
/// How often something is said again that may have arrived each time before. Whoever reads it has
/// been told so by then, and a platform that takes everything and answers nothing would show it all.
const REPETITIONS_MAX: u32 = 4;
/// Each wait between two repetitions is so many doublings longer than the one before: few of them
/// outlast what a platform needs to come back.
const REPETITION_DOUBLINGS: u32 = 3;
/// How long what is over stays known.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3_600);
/// How often it is looked for what has been over for longer.
const PRUNED_EVERY: Duration = Duration::from_secs(6 * 3_600);
/// Longest reason that is kept, in characters.
const WHY_CHARS_MAX: usize = 500;
/// How many buttons stand beside each other.
const BUTTONS_IN_A_ROW: usize = 2;

/// Whether a chat goes on.
pub(super) enum Then {
    /// With its next message.
    On,
    /// Not now.
    Leave,
}

/// What came of sending something.
pub(super) enum Attempt {
    /// Nothing was sent: the delivery is gone, or has to be looked at again.
    Void,
    /// The platform answered.
    Made(Result<MessageId, PostError>),
}

/// A delivery on its way.
pub(super) struct Sending<'s> {
    pub(super) agent: &'s AgentContext,
    pub(super) delivery: &'s Delivery,
    pub(super) place: &'s ChatRef,
    pub(super) adapter: &'s dyn Outbound,
    pub(super) features: Features,
}

/// The key under which a part of a delivery is sent, however often.
pub(super) fn key_of(key: [u8; 16], part: usize) -> Box<str> {
    format!("{:032x}-{part}", u128::from_be_bytes(key)).into()
}

impl Relay {
    /// Sends what is due in one chat, until nothing is.
    pub(super) async fn serve(
        self: Arc<Self>,
        id: AgentId,
        lane: Lane,
        key: AccountKey,
        slot: SlotGuard,
    ) {
        let mut in_a_row = 0;
        loop {
            let then = match self.serve_head(&id, &lane, &key).await {
                Ok(then) => then,
                Err(StoreError::Retired { .. } | StoreError::Closed) => Then::Leave,
                Err(error) => {
                    tracing::error!(agent = %id, %error, "an outbox can't be used");
                    self.look_at(&id, self.now() + LOOK_AGAIN);
                    Then::Leave
                }
            };
            in_a_row += 1;
            let is_long = in_a_row >= IN_A_ROW && self.pacing().is_waited_for(&key);
            let goes_on = matches!(then, Then::On) && !is_long && !self.stop.is_cancelled();
            if goes_on {
                continue;
            }
            let mut in_flight = self.in_flight();
            let place = (id.clone(), lane.clone());
            if let (false, Some(called @ Called::Again)) =
                (is_long, in_flight.lanes.get_mut(&place))
            {
                *called = Called::No;
                continue;
            }
            in_flight.lanes.remove(&place);
            drop(in_flight);
            drop(slot);
            match is_long {
                true => {
                    self.call(&key, WakeRule::Everybody);
                    self.look(id);
                }
                false => self.call(&key, WakeRule::IfFree),
            }
            return;
        }
    }

    /// Fails what goes to a place that can't be.
    pub(super) async fn refuse(&self, id: &AgentId, lane: Lane) {
        let Some(agent) = self.serving(id) else { return };
        while let Ok(Some(head)) = agent.store.delivery_head(lane.clone()).await {
            let why = "this version does not know where that is";
            if self.fail(&agent, &head, why).await.is_err() {
                return;
            }
        }
    }

    async fn serve_head(
        &self,
        id: &AgentId,
        lane: &Lane,
        key: &AccountKey,
    ) -> Result<Then, StoreError> {
        let Some(agent) = self.serving(id) else {
            self.look_at(id, self.now() + LOOK_AGAIN);
            return Ok(Then::Leave);
        };
        let Some(delivery) = agent.store.delivery_head(lane.clone()).await? else {
            self.prune(&agent).await?;
            return Ok(Then::Leave);
        };
        // Whoever follows the turn calls when what was shown of it is settled.
        if let (Some(turn), None) = (delivery.turn, &delivery.name)
            && self.in_flight().followed.contains(&(id.clone(), turn))
        {
            return Ok(Then::Leave);
        }
        let now = self.world.clock.now();
        if let Some(wait) = between(now, delivery.next_at) {
            self.look_at(id, self.now() + wait);
            return Ok(Then::Leave);
        }
        let account = &key.1;
        let Some(adapter) = self.accounts.outbound(key.0, account) else {
            if delivery.why.is_none() {
                let why = format!("account `{}.{}` is not connected", key.0, key.1);
                let away = OutboxCommand::Waits { id: delivery.id, why, at: now };
                self.change(&agent, vec![AgentCommand::Outbox(away)]).await?;
            }
            self.await_account(id, key.clone());
            return Ok(Then::Leave);
        };
        if let Some(until) = self.pacing().rests(key, &lane.chat, self.now()) {
            self.look_at(id, until);
            return Ok(Then::Leave);
        }
        let Some(place) = ChatRef::restored(&delivery.to) else {
            self.fail(&agent, &delivery, "this version does not know where that is").await?;
            return Ok(Then::On);
        };
        let sending = Sending {
            agent: &agent,
            delivery: &delivery,
            place: &place,
            features: adapter.features(),
            adapter: &*adapter,
        };
        let turn = delivery.turn.map(|turn| turn.0);
        let span = tracing::debug_span!("delivery", agent = %agent.id, turn, platform = %key.0);
        self.send(&sending, key).instrument(span).await
    }

    /// Sends the next part of a delivery.
    async fn send(&self, sending: &Sending<'_>, key: &AccountKey) -> Result<Then, StoreError> {
        let Sending { agent, delivery, features, .. } = *sending;
        if let Some(why) = doubtful(delivery, features.idempotency, self.world.clock.now()) {
            return self.doubt(sending, why, self.on_doubt(sending)).await;
        }
        let Some(mut words) = self.engine.words_of(agent, delivery).await? else {
            self.fail(agent, delivery, "what it says is gone").await?;
            return Ok(Then::On);
        };
        let is_reply = !matches!(delivery.content, Content::Text(_));
        let is_silent = is_reply && words.text.trim() == SILENT;
        let was_shown = delivery.provisional != Provisional::None || delivery.doubts > 0;
        if is_silent && was_shown {
            // Something was shown that can't be taken back, only said otherwise.
            words.text = "(no reply)".to_owned();
        } else if is_silent {
            words.text.clear();
        }
        if !words.choices.is_empty() {
            words.text.push_str(HOW_TO_ANSWER);
        }
        let sent = delivery.sent.last().map_or(0, |part| part.upto);
        let from = usize::try_from(sent).unwrap_or(usize::MAX);
        let room = room(&features, delivery.doubts);
        let Some(piece) = split::next(&words.text, from, room) else {
            return self.enclose(sending, key, &words.files).await;
        };
        let buttons = match (piece.is_last, features.has_buttons) {
            (true, true) => self.offer(agent, delivery, &words.choices).await?,
            _ => Vec::new(),
        };
        let markdown = match delivery.doubts {
            0 => piece.text,
            _ => format!("{REPETITION}{}", piece.text),
        };
        let body = Body { markdown, buttons: rows(buttons), ..Body::default() };
        let sent = if delivery.sent.is_empty() {
            self.finish_shown(sending, &body).await?
        } else {
            self.post(sending, &body).await?
        };
        match sent {
            Attempt::Void => Ok(Then::On),
            Attempt::Made(Ok(message)) => {
                let part = SentPart { message: message.0, upto: piece.upto as u64 };
                let is_all = piece.is_last && words.files.is_empty();
                let rest = if is_all { Rest::Nothing } else { Rest::More };
                self.done(sending, Some(part), rest, Became::Sent).await?;
                Ok(Then::On)
            }
            Attempt::Made(Err(error)) => self.not_sent(sending, key, error).await,
        }
    }

    /// Sends the next file of a delivery whose words were sent, or all that there was.
    async fn enclose(
        &self,
        sending: &Sending<'_>,
        key: &AccountKey,
        files: &[DeliveryFile],
    ) -> Result<Then, StoreError> {
        let Sending { agent, delivery, .. } = *sending;
        let Some(mut next) = self.next_file(agent, delivery, files).await else {
            let became = if delivery.sent.is_empty() { Became::Silent } else { Became::Sent };
            self.done(sending, None, Rest::Nothing, became).await?;
            return Ok(Then::On);
        };
        if delivery.doubts > 0 {
            REPETITION.trim_end().clone_into(&mut next.body.markdown);
        }
        match self.post(sending, &next.body).await? {
            Attempt::Void => Ok(Then::On),
            Attempt::Made(Ok(message)) => {
                let part = SentPart { message: message.0, upto: next.upto };
                self.done(sending, Some(part), Rest::More, Became::Sent).await?;
                Ok(Then::On)
            }
            Attempt::Made(Err(error)) => self.not_sent(sending, key, error).await,
        }
    }

    /// Sends a new message.
    pub(super) async fn post(
        &self,
        sending: &Sending<'_>,
        body: &Body,
    ) -> Result<Attempt, StoreError> {
        let Sending { agent, delivery, place, adapter, features } = *sending;
        if features.idempotency != Idempotency::Always {
            let at = self.world.clock.now();
            let begun = OutboxCommand::Begun { id: delivery.id, at };
            match self.change(agent, vec![AgentCommand::Outbox(begun)]).await {
                Err(StoreError::NoDelivery { .. }) => return Ok(Attempt::Void),
                other => other?,
            }
        }
        let number = delivery.sent.len() + 1;
        let quotes = number == 1 && place.is_quoted(agent.access.quote);
        let reply_to = delivery.to.reply_to.clone().filter(|_| quotes).map(MessageId);
        let post = Post {
            target: self.target(agent, place),
            reply_to,
            idempotency: sending.key(number),
            body: body.clone(),
        };
        let posted = self.bounded(adapter.post(&post)).await;
        Ok(Attempt::Made(posted.map(|posted| posted.message)))
    }

    async fn done(
        &self,
        sending: &Sending<'_>,
        part: Option<SentPart>,
        rest: Rest,
        became: Became,
    ) -> Result<(), StoreError> {
        let at = self.world.clock.now();
        let sent = OutboxCommand::Sent { id: sending.delivery.id, part, rest, at };
        self.change(sending.agent, vec![AgentCommand::Outbox(sent)]).await?;
        if rest == Rest::Nothing {
            self.outbox.count(became);
        }
        Ok(())
    }

    /// What follows from a failure.
    async fn not_sent(
        &self,
        sending: &Sending<'_>,
        key: &AccountKey,
        error: PostError,
    ) -> Result<Then, StoreError> {
        let Sending { agent, delivery, features, .. } = *sending;
        match error {
            PostError::Later { why, wait, reach } => {
                let (chat, now) = (&delivery.to.lane.chat, self.now());
                let asked = wait.map(|wait| self.pacing().hold(key, chat, (reach, wait), now));
                let tried = Tried::AsBefore(delivery.tried_at);
                self.put_off(agent, delivery, (&why, tried), asked.unwrap_or_default()).await?;
                Ok(Then::On)
            }
            // Whether its key still counts is seen when it is sent again.
            PostError::Uncertain { why } if features.idempotency.knows_keys() => {
                self.put_off(agent, delivery, (&why, Tried::Now), Duration::ZERO).await?;
                Ok(Then::On)
            }
            PostError::Uncertain { why } => {
                let is_enough = delivery.doubts >= REPETITIONS_MAX;
                let on = if is_enough { OnUncertain::Hold } else { self.on_doubt(sending) };
                // A daemon that ended comes back by itself; a platform needs its time.
                let attempts = delivery.doubts * REPETITION_DOUBLINGS;
                self.doubt_and_wait(sending, (&why, on), attempts).await
            }
            PostError::Never { why } => {
                self.fail(agent, delivery, &why).await?;
                Ok(Then::On)
            }
            PostError::Account { why } => {
                // It rests, not what it has to send: that goes on when the account does.
                self.pacing().refuse(key, self.now() + REFUSED_WAIT);
                let why = format!("account `{}.{}` can't send: {why}", key.0, key.1);
                let tried = Tried::AsBefore(delivery.tried_at);
                self.put_off(agent, delivery, (&why, tried), Duration::ZERO).await?;
                Ok(Then::On)
            }
        }
    }

    /// What the account's settings want done about a request that may have arrived.
    pub(super) fn on_doubt(&self, sending: &Sending<'_>) -> OnUncertain {
        let ChatRef { platform, account, .. } = sending.place;
        self.accounts.on_uncertain(*platform, account)
    }

    /// Something of it may be there already, and can't be made the reply: what was shown of it
    /// counts no more.
    pub(super) async fn doubt(
        &self,
        sending: &Sending<'_>,
        why: &str,
        on: OnUncertain,
    ) -> Result<Then, StoreError> {
        self.doubt_and_wait(sending, (why, on), sending.delivery.doubts).await
    }

    /// The same, and what is said again waits as after so many tries.
    async fn doubt_and_wait(
        &self,
        sending: &Sending<'_>,
        (why, on): (&str, OnUncertain),
        attempts: u32,
    ) -> Result<Then, StoreError> {
        let Sending { agent, delivery, .. } = *sending;
        let (then, became, kind) = match on {
            OnUncertain::Resend => (Doubt::Resend, Became::Repeated, "delivery.uncertain"),
            OnUncertain::Hold => (Doubt::Hold, Became::Held, "delivery.held"),
        };
        let at = self.world.clock.now();
        let why = cut(why);
        let record = self.outbox.record(agent, delivery, kind, &why);
        let doubt = OutboxCommand::InDoubt { id: delivery.id, then, why, at };
        let lost = OutboxCommand::ProvisionalLost { id: delivery.id };
        let changes = [lost, doubt].map(AgentCommand::Outbox);
        self.change(agent, changes.into_iter().chain([record]).collect()).await?;
        self.outbox.count(became);
        // Not in a circle with a platform that answers nothing.
        if then == Doubt::Resend && attempts > 0 {
            let why = "the platform did not say whether it arrived";
            let doubted = Delivery { attempts, ..delivery.clone() };
            let tried = Tried::AsBefore(None);
            self.put_off(agent, &doubted, (why, tried), Duration::ZERO).await?;
        }
        Ok(Then::On)
    }

    async fn fail(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        why: &str,
    ) -> Result<(), StoreError> {
        let (at, why) = (self.world.clock.now(), cut(why));
        tracing::warn!(agent = %agent.id, delivery = %delivery.id, why, "something is not delivered");
        let record = self.outbox.record(agent, delivery, "delivery.failed", &why);
        let failed = OutboxCommand::Failed { id: delivery.id, why, at };
        self.change(agent, vec![AgentCommand::Outbox(failed), record]).await?;
        self.outbox.count(Became::Failed);
        Ok(())
    }

    async fn put_off(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        (why, tried): (&str, Tried),
        at_least: Duration,
    ) -> Result<(), StoreError> {
        let at = self.world.clock.now();
        if delivery.attempts >= TRIES_MAX {
            let why = format!("given up after {TRIES_MAX} tries; last: {why}");
            return self.fail(agent, delivery, &why).await;
        }
        let doubled = FIRST_WAIT.saturating_mul(1 << delivery.attempts.min(16)).min(WAIT_MAX);
        let (id, attempt) = (delivery.id.to_string(), delivery.attempts.to_string());
        let purpose = ["delivery", agent.id.as_str(), &id, &attempt];
        let chance = u32::from_le_bytes(self.world.random.stream(&purpose).bytes());
        // Between half of it and all of it, so that many do not come back at once.
        let chosen = doubled.mul_f64(0.5 + f64::from(chance) / f64::from(u32::MAX) / 2.0);
        let wait = chosen.max(at_least);
        let until = at.as_millis().saturating_add(millis(wait));
        let why = cut(why);
        let off = OutboxCommand::PutOff {
            id: delivery.id,
            until: Timestamp::from_millis(until),
            why,
            tried,
            at,
        };
        self.change(agent, vec![AgentCommand::Outbox(off)]).await?;
        self.outbox.count(Became::PutOff);
        Ok(())
    }

    /// Takes out of the outbox what has been over for long.
    async fn prune(&self, agent: &AgentContext) -> Result<(), StoreError> {
        let now = self.now();
        {
            let mut in_flight = self.in_flight();
            let last = in_flight.pruned.get(&agent.id);
            if last.is_some_and(|last| now.saturating_sub(*last) < PRUNED_EVERY) {
                return Ok(());
            }
            in_flight.pruned.insert(agent.id.clone(), now);
        }
        let before = self.world.clock.now().as_millis().saturating_sub(millis(KEPT_FOR));
        let prune = OutboxCommand::Prune { before: Timestamp::from_millis(before) };
        self.change(agent, vec![AgentCommand::Outbox(prune)]).await
    }
}

/// How long a message may be. Where it may have to be said that it is a repetition there is room
/// for that in any case, so that what is repeated is exactly what may have been said.
pub(super) fn room(features: &Features, doubts: u32) -> TextLimit {
    match features.idempotency == Idempotency::Always && doubts == 0 {
        true => features.text,
        false => features.text.beside(REPETITION),
    }
}

fn rows(buttons: Vec<NewButton>) -> Vec<Vec<Button>> {
    let buttons: Vec<Button> =
        buttons.into_iter().map(|NewButton { data, label, .. }| Button { label, data }).collect();
    buttons.chunks(BUTTONS_IN_A_ROW).map(<[Button]>::to_vec).collect()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn cut(why: &str) -> String {
    why.chars().take(WHY_CHARS_MAX).collect()
}
