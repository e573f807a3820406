//! What can be done to a conversation besides saying something: steer or interrupt the turn
//! under way, stop, say the last message again, begin anew, forget.

use crate::TurnHandle;
use crate::cleaned::clean;
use crate::client;
use crate::engine::{Engine, beside};
use crate::history::{self, arrange};
use crate::lanes::{Busy, Work};
use crate::live::{Inbox, JOINED_MAX, LiveTurn, UnderWay};
use crate::run;
use crate::seen::{self, text_of};
use crate::submit::{Around, BusyMode, Inbound, SubmitError};
use insula_capabilities::hooks::{self, Occasion};
use insula_domain::Actor;
use insula_domain::Label;
use insula_domain::ScopeName;
use insula_domain::SessionKey;
use insula_domain::hook::HookEvent;
use insula_domain::marks::plain;
use insula_registry::context::AgentContext;
use insula_registry::events::turn::TurnEvent;
use insula_store::{
    Accepted, AgentCommand, AgentStore, Join, Message, MessageSeq, NewMessage, Part, Role, Session,
    SessionId, SessionRef, SessionState, StoreError, TurnId, Window,
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Engine {
    /// Takes a message, in one of three ways should a turn of the same person be under way. A
    /// turn that somebody else began works with their rights: what others say waits.
    pub async fn submit_as(
        &self,
        mode: BusyMode,
        inbound: Inbound,
    ) -> Result<TurnHandle, SubmitError> {
        self.submit_with(inbound, Around { mode, ..Around::default() }).await
    }

    /// Takes a message with what belongs to it. It is one with what its sender said before it
    /// while that waits for more, and nobody else said anything since.
    pub async fn submit_with(
        &self,
        inbound: Inbound,
        around: Around,
    ) -> Result<TurnHandle, SubmitError> {
        let agent = inbound.agent.clone();
        let taken = self.take(inbound, around).await;
        if let Err(SubmitError::Store(error)) = &taken
            && error.is_of_the_files()
        {
            run::unstored(&self.shop, &agent.id, None, error);
        }
        taken
    }

    async fn take(
        &self,
        mut inbound: Inbound,
        mut around: Around,
    ) -> Result<TurnHandle, SubmitError> {
        clean(&mut inbound, &mut around, &self.shop.trail);
        let (agent, key) = (inbound.agent.clone(), inbound.session.clone());
        let running = self.live.first(&key);
        let own = running.filter(|live| live.principal == inbound.principal);
        // What came of a call belongs behind that call, and into no other turn.
        let may_join = around.results.is_empty();
        if let (BusyMode::Steer, Some(live), true) = (around.mode, &own, may_join)
            && let Some(handle) = self.join(live, &inbound, &around).await?
        {
            return Ok(handle);
        }
        let busy = |_: Busy| SubmitError::Busy { agent: agent.id.clone() };
        // Before anything is written: who is told to come back leaves nothing behind.
        let _guard = self.lanes.entry_lock(&key).await.map_err(busy)?;
        if let Some(live) = self.live.last(&key)
            && let Some(debounce) = &live.debounce
        {
            let now = self.shop.world.clock.elapsed();
            if live.principal == inbound.principal
                && may_join
                && debounce.takes(&inbound, now)
                && let Some(handle) = self.join(&live, &inbound, &around).await?
            {
                return Ok(handle);
            }
            debounce.end();
        }
        if self.is_over(&agent, &key).await? {
            self.begin_anew(&agent, &key).await?;
        }
        let mode = around.mode;
        let handle = self.accept(inbound, around).await?;
        if let (BusyMode::Interrupt, Some(live)) = (mode, own) {
            // After the message is durable: a stop without its reason would be a loss.
            live.cancel.cancel();
        }
        Ok(handle)
    }

    /// Something else than a message happened in a conversation: what was said before it waits
    /// for nothing more.
    pub fn go_ahead(&self, session: &SessionKey) {
        if let Some(debounce) =
            self.live.last(session).as_ref().and_then(|live| live.debounce.as_ref())
        {
            debounce.end();
        }
    }

    /// Journals a message into a turn under way; `None` when it is too late for that.
    async fn join(
        &self,
        live: &LiveTurn,
        inbound: &Inbound,
        around: &Around,
    ) -> Result<Option<TurnHandle>, SubmitError> {
        // Before the inbox is held: a hook may take its time, and the turn goes on meanwhile.
        let scope = self.scope(&inbound.agent, &inbound.scope, &inbound.session).await;
        let mut inbox = live.inbox.lock().await;
        self.join_in(live, &mut inbox, scope, inbound, around).await
    }

    /// The same while the turn's inbox is held.
    pub(super) async fn join_in(
        &self,
        live: &LiveTurn,
        inbox: &mut Inbox,
        scope: ScopeName,
        inbound: &Inbound,
        around: &Around,
    ) -> Result<Option<TurnHandle>, SubmitError> {
        if inbox.is_closed || inbox.joined >= JOINED_MAX || live.cancel.is_cancelled() {
            return Ok(None);
        }
        let redaction = self.shop.redaction(&inbound.agent);
        let message = NewMessage {
            role: Role::User,
            parts: redaction.parts(inbound.parts.clone()),
            principal: inbound.principal.clone(),
            scope,
            label: text_of(&inbound.whole_label(&[]).join(&around.seen)),
            generation: inbound.agent.generation.0,
            at: self.shop.world.clock.now(),
        };
        let idempotency = inbound.idempotency.clone();
        let join = Join { turn: live.turn, message: message.clone(), idempotency };
        let context = beside(&redaction, around.context.clone(), &message);
        let mut batch = around.first.clone();
        batch.push(AgentCommand::Join(Box::new(join)));
        if !context.is_empty() {
            batch.push(AgentCommand::Beside(context.clone()));
        }
        let done = match inbound.agent.store.commit(batch).await {
            Ok(done) => done,
            Err(StoreError::TurnOver { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match done.accepted() {
            Some(Accepted::New { seq, .. }) => {
                // One commit: what came with it stands behind it in the journal.
                let beside = (seq.0 + 1..).map(MessageSeq).zip(context);
                inbox.messages.push((seq, message));
                inbox.messages.extend(beside);
                inbox.joined += 1;
                if !inbox.has_begun {
                    inbox.names.extend(around.names.iter().cloned());
                }
            }
            Some(Accepted::Known { turn, status, .. }) => {
                return Err(SubmitError::Known { turn, status });
            }
            None => return Err(SubmitError::Store(StoreError::Closed)),
        }
        let handle = live.listen();
        live.voice.say(TurnEvent::Joined { principal: inbound.principal.clone() });
        Ok(Some(handle))
    }

    /// Stops the turn of a conversation that is under way and those that wait; how many.
    pub fn stop(&self, session: &SessionKey) -> usize {
        let turns = self.live.all(session);
        for live in &turns {
            live.cancel.cancel();
        }
        turns.len()
    }

    /// Stops the turns of a conversation that somebody began themselves; how many.
    pub fn stop_own(&self, session: &SessionKey, principal: &Actor) -> usize {
        let mut turns = self.live.all(session);
        turns.retain(|live| live.principal == *principal);
        for live in &turns {
            live.cancel.cancel();
        }
        turns.len()
    }

    /// How many turns of a conversation are under way or wait.
    pub fn under_way(&self, session: &SessionKey) -> usize {
        self.live.all(session).len()
    }

    /// Every turn that is under way or waits, of all agents.
    pub fn all_under_way(&self) -> Vec<UnderWay> {
        self.live.everyone()
    }

    /// Stops one turn, whether it is under way or waits; whether there was one.
    pub fn stop_turn(&self, session: &SessionKey, turn: TurnId) -> bool {
        let live = self.live.find(session, turn);
        live.inspect(|live| live.cancel.cancel()).is_some()
    }

    /// Listens to a turn that is under way, from its beginning.
    pub fn listen(&self, session: &SessionKey, turn: TurnId) -> Option<TurnHandle> {
        self.live.find(session, turn).map(|live| live.listen_from_the_start())
    }

    /// Says the last message of a conversation again: a new turn takes the place of its last
    /// one. `inbound` says who asks and where; its words are not used. `None` when nothing was
    /// said yet.
    pub async fn retry(&self, mut inbound: Inbound) -> Result<Option<TurnHandle>, SubmitError> {
        let (agent, key) = (inbound.agent.clone(), inbound.session.clone());
        let busy = |_: Busy| SubmitError::Busy { agent: agent.id.clone() };
        let _guard = self.lanes.entry_lock(&key).await.map_err(busy)?;
        if let Some(live) = self.live.first(&key) {
            return Err(SubmitError::UnderWay { turn: live.turn });
        }
        let current = SessionRef::Key(key.to_string().into());
        let Some(session) = agent.store.session(current).await? else { return Ok(None) };
        let window = Window { messages: 200, bytes: history::BYTES_MAX };
        let mut messages = agent.store.messages_tail(session.id, window).await?;
        arrange(&mut messages);
        let Some(turn) = messages.iter().rev().find_map(|message| message.turn) else {
            return Ok(None);
        };
        // Another's words are not said again in one's own name.
        let first = messages.iter().find(|message| message.turn == Some(turn));
        if first.is_none_or(|message| message.principal != inbound.principal) {
            return Ok(None);
        }
        inbound.parts = said_in(&messages, turn, &inbound.principal);
        // What came of a caller's tools is not said again.
        if inbound.parts.is_empty() {
            return Ok(None);
        }
        self.shop.windows.take(&agent, session.id);
        // Whose words they were, and where they were heard, they still are.
        let seen = label_of(&messages, turn);
        let first = vec![AgentCommand::ReplaceTurn { turn }];
        self.accept(inbound, Around { first, seen, ..Around::default() }).await.map(Some)
    }

    /// Takes the last turn of a conversation out of it, where whoever asks began it: the next
    /// answer knows nothing of it. What it did stays done, and what was said stays on record.
    pub async fn undo(
        &self,
        agent: &Arc<AgentContext>,
        key: &SessionKey,
        who: &Actor,
    ) -> Result<Undone, StoreError> {
        let Ok(_guard) = self.lanes.entry_lock(key).await else { return Ok(Undone::UnderWay) };
        if self.live.first(key).is_some() {
            return Ok(Undone::UnderWay);
        }
        let current = SessionRef::Key(key.to_string().into());
        let Some(session) = agent.store.session(current).await? else {
            return Ok(Undone::Nothing);
        };
        let window = Window { messages: 200, bytes: history::BYTES_MAX };
        let messages = agent.store.messages_tail(session.id, window).await?;
        let last = messages.iter().rev().find_map(|message| message.turn);
        let first = messages.iter().find(|message| message.turn.is_some() && message.turn == last);
        let (Some(turn), Some(first)) = (last, first) else { return Ok(Undone::Nothing) };
        // What another said is not taken back in their name.
        if first.principal != *who {
            return Ok(Undone::Nothing);
        }
        self.shop.windows.take(agent, session.id);
        agent.store.commit(vec![AgentCommand::ReplaceTurn { turn }]).await?;
        Ok(Undone::Yes)
    }

    /// Ends the current session of a conversation: the next message begins a new one with an
    /// empty history. What is under way is stopped.
    pub async fn begin_anew(
        &self,
        agent: &Arc<AgentContext>,
        key: &SessionKey,
    ) -> Result<(), StoreError> {
        self.stop(key);
        let session = SessionRef::Key(key.to_string().into());
        if let Some(current) = agent.store.session(session.clone()).await? {
            self.shop.caps.programs.end_session(&agent.id, current.id);
        }
        let at = self.shop.world.clock.now();
        let end = vec![AgentCommand::EndSession { session, at }];
        agent.store.commit(end).await?;
        for event in [HookEvent::OnSessionEnd, HookEvent::OnSessionReset] {
            self.tell(agent, &key.to_string(), event).await;
        }
        Ok(())
    }

    /// Tells hooks of what became of a conversation.
    pub(super) async fn tell(&self, agent: &AgentContext, key: &str, event: HookEvent) {
        let occasion = Occasion {
            agent,
            session: Some((key, SessionId(0))),
            scope: None,
            principal: &Actor::Daemon,
            at: None,
            files: None,
        };
        hooks::tell(&self.shop.caps, event, &occasion, || serde_json::json!({})).await;
    }

    /// Drops what is kept in memory of a conversation; its next turn reads it again.
    pub async fn drop_window(
        &self,
        agent: &Arc<AgentContext>,
        key: &SessionKey,
    ) -> Result<(), StoreError> {
        let current = SessionRef::Key(key.to_string().into());
        if let Some(session) = agent.store.session(current).await? {
            self.shop.windows.take(agent, session.id);
        }
        Ok(())
    }

    /// Erases a session for good: what was said in it, its steps and its index.
    pub async fn forget(
        &self,
        agent: &Arc<AgentContext>,
        id: SessionId,
    ) -> Result<Option<Session>, StoreError> {
        let Some(session) = agent.store.session(SessionRef::Id(id)).await? else { return Ok(None) };
        if let (SessionState::Current, Ok(key)) = (session.state, session.key.parse()) {
            self.stop(&key);
        }
        self.shop.windows.take(agent, id);
        let at = self.shop.world.clock.now();
        let forget = vec![AgentCommand::ForgetSession { session: id, at }];
        agent.store.commit(forget).await?;
        self.shop.forgotten.note(agent);
        self.shop.caps.forget_programs(&agent.id, id).await;
        self.tell(agent, &session.key, HookEvent::OnSessionFinalize).await;
        Ok(Some(session))
    }
}

/// Whether something was taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    Yes,
    /// There is nothing, or it is not theirs.
    Nothing,
    /// A turn goes on.
    UnderWay,
}

/// Whether a turn ended with calls for its caller.
async fn handed_over(store: &AgentStore, turn: TurnId) -> Result<bool, StoreError> {
    let Some(turn) = store.turn(turn).await? else { return Ok(false) };
    let Some(reply) = turn.reply else { return Ok(false) };
    let before = MessageSeq(reply.0.saturating_sub(1));
    let messages = store.messages_after(turn.session, before, 1).await?;
    Ok(messages.first().is_some_and(|it| !client::calls_of(&it.parts).is_empty()))
}

/// What people said in a turn, as somebody says it again: what others typed is not their own.
fn said_in(history: &[Message], turn: TurnId, principal: &Actor) -> Vec<Part> {
    let again = |message: &Message| {
        let is_own = message.principal == *principal;
        let part = move |part: Part| match part {
            // What stands beside words is taken for ours where it has our marks.
            Part::Text(text) if !is_own => Part::Beside(plain(&text)),
            part => part,
        };
        message.parts.clone().into_iter().map(part)
    };
    said_by_anyone(history, turn).flat_map(again).collect()
}

fn said_by_anyone(history: &[Message], turn: TurnId) -> impl Iterator<Item = &Message> {
    history.iter().filter(move |it| it.turn == Some(turn) && it.role == Role::User)
}

/// The label of all that was said in a turn.
fn label_of(history: &[Message], turn: TurnId) -> Label {
    let labels = said_by_anyone(history, turn).map(|it| seen::parse(&it.label));
    labels.reduce(|all, label| all.join(&label)).unwrap_or_default()
}

impl Engine {
    /// Takes a message in a conversation that is for this turn only and forgotten after it;
    /// with an idempotency key, as long after it as the key holds.
    pub async fn submit_once(&self, inbound: Inbound) -> Result<TurnHandle, SubmitError> {
        self.submit_once_with(inbound, Around::default()).await
    }

    /// The same with what belongs to it. One that ends with calls for its caller stays as long as
    /// one with a key: when the caller comes back with what became of them, the steps before
    /// them are still known.
    pub async fn submit_once_with(
        &self,
        inbound: Inbound,
        around: Around,
    ) -> Result<TurnHandle, SubmitError> {
        let (agent, key) = (inbound.agent.clone(), inbound.session.clone());
        let who = inbound.principal.clone();
        let is_keyed = inbound.idempotency.is_some();
        let mut taken = self.submit_with(inbound, around).await;
        // Nobody can come back to it: a caller that goes away takes it along, and what its
        // provider is still busy with.
        if let (Ok(handle), false) = (&mut taken, is_keyed) {
            let live = self.live.find(&key, handle.turn);
            handle.ends = live.map(|live| live.cancel.clone().drop_guard());
        }
        let turn = taken.as_ref().ok().map(|handle| handle.turn);
        let is_over = match &taken {
            Ok(_) => !is_keyed,
            // What was brought along came before it was known.
            Err(SubmitError::Known { .. }) => true,
            Err(_) => false,
        };
        if is_over {
            // In the same lane, so it comes after the turn.
            let one_offs = self.one_offs.clone();
            let name: Box<str> = key.to_string().into();
            let due = one_offs.expect();
            let forget = async move {
                let _due = due;
                if let Some(turn) = turn
                    && matches!(handed_over(&agent.store, turn).await, Ok(true))
                {
                    return;
                }
                match agent.store.session(SessionRef::Key(name)).await {
                    Ok(Some(session)) => one_offs.forget(agent, session.id),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(agent = %agent.id, %error, "a conversation of one turn was not found")
                    }
                }
            };
            // A lane that is full has a conversation of more than one turn.
            let stop = CancellationToken::new();
            let place = Arc::default();
            let work = Work { who, debounce: None, run: Box::pin(forget), stop, place };
            let _ = self.lanes.enter(&key, work);
        }
        taken
    }

    /// Forgets what is to be forgotten by now, before the daemon is closed.
    pub async fn settle(&self) {
        self.one_offs.until_none_is_due().await;
        self.one_offs.settle().await;
    }
}
