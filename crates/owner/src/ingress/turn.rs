//! From messages to a turn: joined where a client cut them, with what came with them and what
//! they refer to, journalled once, and followed on the way out.

use super::burst::{self, Sign};
use super::queue::{Chat, ChatTopicKey, Group};
use super::stored::StoredMessage;
use super::{Ingress, IngressContext, ago, bounded, words};
use crate::delivery::ChatRef;
use insula_channel::{Envelope, Message, TextLimit};
use insula_config::agent::Busy;
use insula_domain::{
    Actor, Address, AgentId, Asker, Audience, ChatType, Integrity, Label, SessionKey, Standing,
    UserId,
};
use insula_registry::access::InboundOutcome;
use insula_registry::{AgentContext, AgentState};

use insula_store::{
    AgentCommand, EventName, IdempotencyKey, InboxRow, IngressCommand, Part, StoreError,
};
use insula_turns::{Acknowledge, Around, BusyMode, Inbound, SubmitError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Longest text of one message, in bytes: half of what a message of a session may have.
pub(super) const TEXT_BYTES_MAX: usize = 512 * 1024;
/// Messages that are shown as context of one turn.
const CONTEXT_MAX: usize = 50;
/// How soon a conversation that is full is tried again, at first and at last.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));
/// How often messages are tried whose store fails, before they are left to the next start.
const TRIES_MAX: u32 = 8;

/// Why messages have no turn yet.
enum NoTurn {
    /// The conversation is full.
    Full,
    /// The agent does not serve.
    Asleep,
    /// The store failed.
    Store(StoreError),
}

impl Ingress {
    /// Brings a message to its turn: at once, or by the inbox where it may go on, brings
    /// something to be fetched, or others wait before it.
    pub(super) async fn to_turn(
        &self,
        chat: &Arc<Chat>,
        cx: &IngressContext<'_>,
        message: &Message,
    ) -> Result<(), StoreError> {
        let IngressContext { agent, caller, envelope, .. } = cx;
        if message.words.bytes() > TEXT_BYTES_MAX {
            self.note(cx).await?;
            self.say(cx, "this is too long for one message; send it as a file").await;
            return Ok(());
        }
        let session = &cx.session;
        let sign = self.sign(cx, message);
        let goes_on = sign.goes_on() && !agent.access.burst.is_zero();
        if chat.is_empty() && !goes_on && message.attachments.is_empty() {
            let kept = StoredMessage::of(envelope, message, &caller.principal.user);
            match self.submit(agent, session, &[kept], &[]).await {
                Ok(()) => return Ok(()),
                Err(NoTurn::Full | NoTurn::Asleep) => {}
                Err(NoTurn::Store(error)) => return Err(error),
            }
        }
        if !chat.has_room() {
            self.inbound.count(InboundOutcome::Overflow);
            self.note(cx).await?;
            let (chat_key, now) = (ChatTopicKey::of(&envelope.address), self.world.clock.elapsed());
            if self.lately.may_tell(&agent.id, chat_key, caller.principal.user.as_str(), now) {
                self.say(cx, "too much waits here already; this was not taken in").await;
            }
            return Ok(());
        }
        let Some(row) = self.keep(cx, message, Some(sign.is_long)).await? else {
            self.inbound.count(InboundOutcome::Repeated);
            return Ok(());
        };
        self.queue(chat, envelope, (agent, session), (row, sign));
        Ok(())
    }

    fn sign(&self, cx: &IngressContext<'_>, message: &Message) -> Sign {
        let address = &cx.envelope.address;
        let adapter = self.accounts.outbound(address.platform, &address.account);
        let limit = adapter.map_or(TextLimit::Utf16(0), |adapter| adapter.features().text);
        Sign {
            session: cx.session.to_string().into(),
            sender: cx.caller.actor(),
            is_long: burst::is_long(&message.words.all(), limit),
            album: message.group.clone(),
            bytes: message.words.bytes(),
        }
    }

    /// Puts a kept message into the queue of its chat, and sees that somebody works there.
    fn queue(
        &self,
        chat: &Arc<Chat>,
        envelope: &Envelope,
        (agent, session): (&Arc<AgentContext>, &SessionKey),
        row: (i64, Sign),
    ) {
        let until = self.world.clock.elapsed() + agent.access.burst;
        if chat.push((agent, session), row, until) {
            let (way, chat) = (self.clone(), chat.clone());
            let of = (agent.id.clone(), ChatTopicKey::of(&envelope.address));
            tokio::spawn(async move { way.work(chat, of).await });
        }
    }

    /// Puts a message into the queue of its chat that waited there before the daemon started.
    pub(super) async fn take_up(&self, agent: &Arc<AgentContext>, row: &InboxRow) {
        let (Some(kept), Ok(session)) = (StoredMessage::read(&row.content), row.session.parse())
        else {
            tracing::error!(agent = %agent.id, row = row.id, "a message that waits can't be read; it is left where it is");
            return;
        };
        let Some(address) = kept.address() else { return };
        let chat_key = ChatTopicKey::of(&address);
        let sign = Sign {
            session: row.session.clone(),
            sender: row.sender.clone(),
            is_long: kept.is_long,
            album: kept.album.as_deref().map(Into::into),
            bytes: kept.words.bytes(),
        };
        let entered = self.chats.enter(&agent.id, chat_key.clone()).await;
        let now = self.world.clock.elapsed();
        if entered.chat.push((agent, &session), (row.id, sign), now) {
            let (way, chat) = (self.clone(), entered.chat.clone());
            let of = (agent.id.clone(), chat_key);
            tokio::spawn(async move { way.work(chat, of).await });
        }
    }

    /// Works through what waits in one chat, in order, and ends when nothing does.
    async fn work(&self, chat: Arc<Chat>, of: (AgentId, ChatTopicKey)) {
        let clock = &self.world.clock;
        while let Some(first) = chat.first(clock.elapsed()) {
            match first {
                Ok(group) => {
                    self.run_group(&group).await;
                    chat.done();
                }
                Err(wait) => tokio::select! {
                    biased;
                    () = clock.sleep(wait) => {}
                    () = chat.wake.notified() => {}
                },
            }
        }
        self.chats.tidy(&of);
        drop(chat);
    }

    /// Brings messages of a queue to their turn, however long that takes.
    async fn run_group(&self, group: &Group) {
        let clock = &self.world.clock;
        let (mut wait, mut tries) = (AGAIN.0, 0);
        let mut changes = self.registry.changes();
        loop {
            changes.mark_unchanged();
            match self.try_group(group).await {
                Ok(()) => return,
                Err(NoTurn::Full) => {}
                Err(NoTurn::Asleep) => {
                    changes.changed().await;
                    continue;
                }
                Err(NoTurn::Store(error)) => {
                    tries += 1;
                    let agent = &group.agent.id;
                    tracing::warn!(%agent, %error, tries, "messages that wait could not be brought to their turn");
                    if tries >= TRIES_MAX {
                        tracing::error!(%agent, "messages are left until the next start");
                        return;
                    }
                }
            }
            clock.sleep(wait).await;
            wait = (wait * 2).min(AGAIN.1);
        }
    }

    async fn try_group(&self, group: &Group) -> Result<(), NoTurn> {
        let Group { agent, session, rows, .. } = group;
        // As it is now: it may have changed meanwhile, or serve nobody.
        let snapshot = self.registry.snapshot();
        let agent = match snapshot.agents.get(&agent.id).map(|entry| &entry.state) {
            Some(AgentState::Ready(agent)) => agent,
            Some(_) => return Err(NoTurn::Asleep),
            None => return Ok(()),
        };
        // As they read now: somebody may have changed or taken back what they said.
        let mut waiting = agent.store.inbox_waiting().await.map_err(NoTurn::Store)?;
        waiting.retain(|row| rows.contains(&row.id));
        let mut kept = Vec::with_capacity(waiting.len());
        for row in &waiting {
            let Some(mut message) = StoredMessage::read(&row.content) else { continue };
            let heard = self.hear((agent, session), (row.id, &mut message)).await;
            heard.map_err(NoTurn::Store)?;
            kept.push(message);
        }
        if kept.is_empty() {
            return Ok(());
        }
        self.submit(agent, session, &kept, rows).await
    }

    /// Begins the turn of messages that are one. Their rows go in the same commit.
    async fn submit(
        &self,
        agent: &Arc<AgentContext>,
        session: &SessionKey,
        messages: &[StoredMessage],
        rows: &[i64],
    ) -> Result<(), NoTurn> {
        let (Some(first), Some(last)) = (messages.first(), messages.last()) else { return Ok(()) };
        let (Some(address), Ok(user)) = (first.address(), UserId::new(first.known.as_str())) else {
            return Ok(());
        };
        let place = ChatRef::of(&address);
        let mut inbound = self.inbound(agent, session, &address, user, first, last);
        let platform = address.platform.as_str();
        let mut parts = words::said(platform, messages, session.user.is_none());
        parts.extend(self.attached(agent, &inbound, messages).await.map_err(NoTurn::Store)?);
        if parts.is_empty() {
            parts.push(Part::Beside(words::note("something without words")));
        }
        inbound.parts = parts;
        let others = words::integrity(platform, messages);
        inbound.label = inbound.label.with(&agent.boundary.integrity.untrusted(&others));
        // It may have waited for long, and who sent it be let in no more.
        if !rows.is_empty() && !self.is_still_let_in(agent, first, &inbound).await? {
            return self.settle_refused(agent, (&address, messages), rows).await;
        }
        let (around, heard) =
            self.around((agent, &address), session, messages, rows).await.map_err(NoTurn::Store)?;
        inbound.label = inbound.label.with(&agent.boundary.integrity.untrusted(&heard));
        let mut lately = &self.lately;
        let told = match self.engine.submit_with(inbound, around).await {
            Ok(turn) => {
                self.inbound.count(InboundOutcome::Taken);
                self.out.follow(agent.clone(), place, Some(last.id()), turn);
                return Ok(());
            }
            Err(SubmitError::Known { .. }) => {
                self.inbound.count(InboundOutcome::Repeated);
                return self.drop_rows(agent, rows).await;
            }
            Err(SubmitError::Busy { .. } | SubmitError::UnderWay { .. }) => {
                return Err(NoTurn::Full);
            }
            Err(SubmitError::Store(StoreError::TooLong { what, .. })) => {
                format!("this could not be taken in: {what} is too long")
            }
            Err(SubmitError::Store(error)) => return Err(NoTurn::Store(error)),
            Err(SubmitError::Budget(refusal)) => {
                // What holds until midnight need not be said every minute.
                lately = if refusal.is_of_the_day() { &self.used_up } else { lately };
                refusal.to_people()
            }
            // Nobody on a platform has tools of their own.
            Err(error @ SubmitError::NotWaiting { .. }) => error.to_string(),
        };
        self.settle_refused(agent, (&address, messages), rows).await?;
        let now = self.world.clock.elapsed();
        if lately.may_tell(&agent.id, ChatTopicKey::of(&address), &first.known, now) {
            self.tell(agent.clone(), place, told).await;
        }
        Ok(())
    }

    /// Whether who sent a message may still talk to an agent that serves.
    pub(super) async fn may_still_talk(
        &self,
        agent: &AgentContext,
        message: &StoredMessage,
        inbound: &Inbound,
    ) -> Result<bool, StoreError> {
        match self.is_still_let_in(agent, message, inbound).await {
            Ok(is_let_in) => Ok(is_let_in),
            Err(NoTurn::Store(error)) => Err(error),
            Err(NoTurn::Full | NoTurn::Asleep) => Ok(false),
        }
    }

    /// Whether who sent messages may still talk to the agent that is there now, and their chat
    /// still leads there.
    async fn is_still_let_in(
        &self,
        agent: &AgentContext,
        message: &StoredMessage,
        inbound: &Inbound,
    ) -> Result<bool, NoTurn> {
        let snapshot = self.registry.snapshot();
        let Some(AgentState::Ready(now)) = snapshot.agents.get(&agent.id).map(|entry| &entry.state)
        else {
            return Err(NoTurn::Asleep);
        };
        let leads_here = message.still_leads_to(&now.id, &snapshot);
        // Kept under the id by which the agent knows them.
        let address = &inbound.scope.address;
        let asker = Asker { address, also: &[], is_bot: false };
        let caller = self.access.admit(now, asker).await.map_err(NoTurn::Store)?;
        Ok(leads_here && caller.is_some())
    }

    /// Notes that messages were dealt with, although no turn took them.
    async fn settle_refused(
        &self,
        agent: &AgentContext,
        (address, messages): (&Address, &[StoredMessage]),
        rows: &[i64],
    ) -> Result<(), NoTurn> {
        let who: Box<str> = format!("{}:{}", address.platform, address.account).into();
        let at = self.now();
        let note = |message: &StoredMessage| {
            let event = EventName { who: who.clone(), key: bounded(&message.event) };
            IngressCommand::Note { event, at }
        };
        let drop = (!rows.is_empty()).then(|| IngressCommand::Drop(rows.to_vec()));
        let all = messages.iter().map(note).chain(drop);
        let batch = all.map(|command| AgentCommand::Ingress(Box::new(command))).collect();
        let done = agent.store.commit(batch).await;
        done.map(|_| ()).map_err(NoTurn::Store)
    }

    async fn drop_rows(&self, agent: &AgentContext, rows: &[i64]) -> Result<(), NoTurn> {
        if rows.is_empty() {
            return Ok(());
        }
        let drop = AgentCommand::Ingress(Box::new(IngressCommand::Drop(rows.to_vec())));
        let done = agent.store.commit(vec![drop]).await;
        done.map(|_| ()).map_err(NoTurn::Store)
    }

    pub(super) fn inbound(
        &self,
        agent: &Arc<AgentContext>,
        session: &SessionKey,
        address: &Address,
        user: UserId,
        first: &StoredMessage,
        last: &StoredMessage,
    ) -> Inbound {
        // Rights and scope go by the id that the agent knows them by.
        let known = Address { user: Some(user), ..address.clone() };
        let event = bounded(&first.event);
        Inbound {
            agent: agent.clone(),
            session: session.clone(),
            scope: agent.scope(&known),
            label: Label::of(Audience::of(address)),
            principal: Actor::from(&known),
            history: Vec::new(),
            parts: Vec::new(),
            idempotency: Some(IdempotencyKey {
                who: format!("{}:{}", address.platform, address.account).into(),
                // The same event is the same request, however it was joined with others.
                request: *blake3::hash(event.as_bytes()).as_bytes(),
                key: event,
            }),
            origin: Some(ChatRef::of(address).origin(Some(&last.id()))),
            acknowledge: Acknowledge::AtOnce,
        }
    }

    /// What is committed together with the turn of messages, and what it is shown besides; and
    /// whose words that is.
    async fn around(
        &self,
        (agent, address): (&AgentContext, &Address),
        session: &SessionKey,
        messages: &[StoredMessage],
        rows: &[i64],
    ) -> Result<(Around, Integrity), StoreError> {
        let platform = session.platform.as_str();
        let mut gone = rows.to_vec();
        let mut context = Vec::new();
        let mut others = Integrity::own();
        let is_group = session.kind != ChatType::Dm;
        let observes = is_group && self.access.group_rule(agent, address).observe;
        if observes || agent.access.reactions {
            self.heard_out(agent, session).await;
            let rows = agent.store.inbox_context(&session.to_string(), CONTEXT_MAX).await?;
            let mut heard = Vec::new();
            for row in rows {
                let Some(kept) = StoredMessage::read(&row.content) else { continue };
                // What was said among others is context only while that is wanted.
                if observes || kept.is_reaction() {
                    gone.push(row.id);
                    heard.push(kept);
                }
            }
            context.extend(words::overheard(platform, &heard));
            let sender = messages.first().map(|it| &*it.known);
            let is_admin = |who: &str| {
                let account = (session.platform, session.account.clone());
                UserId::new(who).is_ok_and(|who| {
                    agent.principal(account, who, Vec::new()).standing == Standing::Admin
                })
            };
            let is_own = |who: &str| sender == Some(who) || is_admin(who);
            others = words::overheard_integrity(platform, &heard, is_own);
        }
        context.extend(words::quotations(platform, messages));
        let at = self.now();
        let who: Box<str> = format!("{platform}:{}", session.account).into();
        let mut first: Vec<IngressCommand> = messages
            .iter()
            .map(|message| {
                let event = EventName { who: who.clone(), key: bounded(&message.event) };
                IngressCommand::Note { event, at }
            })
            .collect();
        if !gone.is_empty() {
            first.push(IngressCommand::Drop(gone));
        }
        if self.is_new_day(agent) {
            first.push(IngressCommand::PruneEvents { before: ago(at, insula_channel::REMEMBERED) });
        }
        let first = first.into_iter().map(|it| AgentCommand::Ingress(Box::new(it))).collect();
        let quiet = self.quiet(agent, session);
        let mode = match agent.access.busy {
            Busy::Queue => BusyMode::Queue,
            Busy::Steer => BusyMode::Steer,
            Busy::Interrupt => BusyMode::Interrupt,
        };
        let names = self.named(&agent.id, messages);
        Ok((Around { first, context, quiet, mode, names, ..Around::default() }, others))
    }

    /// How long an answer waits for more of what its asker says.
    fn quiet(&self, agent: &AgentContext, session: &SessionKey) -> Duration {
        let adapter = self.accounts.outbound(session.platform, &session.account);
        match adapter.is_none_or(|adapter| adapter.is_for_people()) {
            true => agent.access.quiet,
            false => Duration::ZERO,
        }
    }

    /// Whether nothing was forgotten at this agent today.
    fn is_new_day(&self, agent: &AgentContext) -> bool {
        let day = self.now().as_millis() / 86_400_000;
        let mut tidied = self.tidied.lock().unwrap_or_else(PoisonError::into_inner);
        tidied.insert(agent.id.clone(), day) != Some(day)
    }
}
