//! What a chat sees of a turn while it runs: that something is being written, what there is of
//! it, what it asks, and what became of that.
//!
//! None of it is the reply. What is shown of a reply is journalled by the name the platform
//! gave it, so that the reply itself, from the outbox, takes its place.

use super::buttons::Question;
use super::chat_ref::ChatRef;
use super::lane::SILENT;
use super::progress::{Detail, Progress};
use super::provisional::{Show, Shown};
use super::{LOOK_AGAIN, Relay, split};
use insula_channel::{Body, GOES_ON, MessageId, Outbound, PostTarget};
use insula_domain::ChatType;
use insula_registry::AgentContext;
use insula_store::{Provisional, SessionRef, SessionState, StoreError, Turn, TurnId};
use insula_turns::{TurnEvent, TurnHandle};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// How much is written before it is shown for the first time.
const SHOWN_AFTER: Duration = Duration::from_millis(1_500);
/// How long a turn is silent before the chat shows which tools it uses.
const PROGRESS_AFTER: Duration = Duration::from_secs(4);
/// How long a turn takes before the chat shows that something is being written, beyond the time
/// in which its sender may say more. A reply that is there sooner needs no announcement, and a
/// request that its reply overtakes costs a connection.
const TYPING_AFTER: Duration = Duration::from_millis(300);
/// The shortest time between two edits, whatever a platform allows.
const EDIT_EVERY_MIN: Duration = Duration::from_millis(500);
/// The longest text that is kept to be shown, in bytes. A platform shows less.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// How long a platform may take to show that something was read.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// How soon it is looked again whether what has to be sent first was.
const BEHIND_LOOK: Duration = Duration::from_secs(1);
/// What stands where something was shown of a reply that will not come.
const FORGOTTEN: &str = "(broken off: this conversation was forgotten)";

/// Runs as a task of its own: it writes to the agent's database, whose lock goes to who waited
/// longest. A future here would be given it while this one waits for the same lock to ask
/// something, and neither would ever go on.
type Running<T> = AbortOnDropHandle<T>;
type Showing = Running<Shown>;

/// What is shown of one turn.
pub(super) struct View {
    pub(super) delivery: Arc<Relay>,
    pub(super) agent: Arc<AgentContext>,
    pub(super) place: ChatRef,
    pub(super) reply_to: Option<MessageId>,
    turn: TurnId,
    /// What there is of the reply.
    text: String,
    /// What is shown while there is none of it.
    progress: Progress,
    /// What of it is on its way, or was shown last.
    last: String,
    message: Option<MessageId>,
    /// Not before this moment, on the clock that never goes back; `None` while nothing is there.
    next_at: Option<Duration>,
    is_over: bool,
    /// Whether a sign of ours stands on what it answers.
    pub(super) is_signed: bool,
    /// Signs are put there and taken away one after the other.
    pub(super) signs: Arc<tokio::sync::Mutex<()>>,
}

impl Relay {
    /// Shows a turn in its chat while it runs. What it says at last leaves by the outbox, also
    /// where nobody follows.
    pub fn follow(
        self: &Arc<Self>,
        agent: Arc<AgentContext>,
        place: ChatRef,
        reply_to: Option<MessageId>,
        turn: TurnHandle,
    ) {
        if let Some(message) = &reply_to {
            self.mark_read(&agent, &place, message.clone());
        }
        self.begin(agent, place, reply_to, turn, Since::Now);
    }

    /// Asks in a chat what a turn needs an approval for that nobody follows there.
    pub(crate) async fn put_question(
        self: &Arc<Self>,
        agent: &AgentContext,
        place: &ChatRef,
        turn: TurnId,
        (id, tool, what, rule): (String, String, String, String),
    ) -> Result<(), StoreError> {
        let Some(turn) = agent.store.turn(turn).await? else { return Ok(()) };
        let by = turn.principal.clone();
        let question = Question { id, tool, what, rule, by };
        let named = (Question::name(&question.id), &question);
        self.ask(agent, place, (turn.id, turn.session), named).await
    }

    /// Shows that what was said was heard, where the platform shows that. Nobody waits for it.
    fn mark_read(&self, agent: &AgentContext, place: &ChatRef, message: MessageId) {
        let Some(adapter) = self.accounts.outbound(place.platform, &place.account) else { return };
        let (target, stop) = (self.target(agent, place), self.stop.clone());
        let clock = self.world.clock.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = adapter.read(&target, &message) => {}
                () = stop.cancelled() => {}
                () = clock.sleep(READ_WITHIN) => {}
            }
        });
    }

    /// Shows a turn that an earlier run had begun.
    pub(super) fn follow_again(
        self: &Arc<Self>,
        agent: Arc<AgentContext>,
        place: ChatRef,
        reply_to: Option<MessageId>,
        turn: TurnHandle,
    ) {
        self.begin(agent, place, reply_to, turn, Since::Before);
    }

    fn begin(
        self: &Arc<Self>,
        agent: Arc<AgentContext>,
        place: ChatRef,
        reply_to: Option<MessageId>,
        turn: TurnHandle,
        since: Since,
    ) {
        let followed = (agent.id.clone(), turn.turn);
        // A message that joined a turn is answered with it.
        if !self.in_flight().followed.insert(followed.clone()) {
            return;
        }
        let (this, lane) = (self.clone(), place.lane());
        let reply_to = reply_to.filter(|_| place.is_quoted(agent.access.quote));
        self.tasks.spawn(async move {
            let leave = Leave { delivery: this.clone(), followed };
            let view = View {
                delivery: this,
                agent,
                place,
                reply_to,
                turn: turn.turn,
                text: String::new(),
                progress: Progress::default(),
                last: String::new(),
                message: None,
                next_at: None,
                is_over: false,
                // One that an earlier run put there goes with the turn.
                is_signed: since == Since::Before,
                signs: Arc::default(),
            };
            view.go(turn, since).await;
            let Leave { delivery, followed: (id, _) } = &leave;
            let (delivery, id) = (delivery.clone(), id.clone());
            drop(leave);
            delivery.wake(&id, lane);
        });
    }
}

/// Since when there is something to be seen of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Now,
    Before,
}

/// Says that a turn is followed no more, whatever ended it.
struct Leave {
    delivery: Arc<Relay>,
    followed: (insula_domain::AgentId, TurnId),
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.delivery.in_flight().followed.remove(&self.followed);
    }
}

impl View {
    pub(super) fn adapter(&self) -> Option<Arc<dyn Outbound>> {
        self.delivery.accounts.outbound(self.place.platform, &self.place.account)
    }

    async fn go(mut self, mut handle: TurnHandle, since: Since) {
        let delivery = self.delivery.clone();
        let clock = delivery.world.clock.clone();
        // As it is now: what is taken back later was said to those who are there now.
        let target = delivery.target(&self.agent, &self.place);
        if since == Since::Before
            && let Err(error) = self.take_up().await
        {
            tracing::error!(agent = %self.agent.id, turn = %self.turn, %error, "what was shown of a turn can't be read");
        }
        let mut typing_at = clock.elapsed() + self.agent.access.quiet + TYPING_AFTER;
        let mut typing: Option<Running<()>> = None;
        let mut showing: Option<Showing> = None;
        loop {
            let now = clock.elapsed();
            if showing.is_none() && self.is_due(now) {
                showing = self.show(now);
            }
            let show_wait = self.next_at.filter(|_| showing.is_none() && self.has_news());
            let wait = show_wait.into_iter().chain(typing.is_none().then_some(typing_at)).min();
            let pause = clock.sleep(wait.unwrap_or(now).saturating_sub(now));
            tokio::select! {
                biased;
                () = delivery.stop.cancelled() => break,
                event = handle.events.recv() => match event {
                    None | Some(TurnEvent::Ended(_)) => break,
                    Some(event) => self.hear(event).await,
                },
                shown = ready(&mut showing) => {
                    showing = None;
                    self.was_shown(shown.unwrap_or(Shown::Never), clock.elapsed());
                }
                _ = ready(&mut typing) => typing = None,
                () = pause, if wait.is_some() => {
                    if typing.is_none() && clock.elapsed() >= typing_at {
                        self.sign();
                        let (next, again) = self.typing();
                        typing = next;
                        typing_at = clock.elapsed() + again;
                    }
                }
            }
        }
        if !delivery.stop.is_cancelled() {
            self.take_sign_away();
        }
        // What is on its way is settled before the reply takes its place.
        if let Some(showing) = showing
            && let Ok(Shown::In(message)) = showing.await
        {
            self.message = Some(message);
        }
        if let Some(message) = self.message.take() {
            self.take_back(&message, &target).await;
        }
    }

    /// Takes back what was shown of a reply that was forgotten with its session, since none will
    /// take its place. Tried once: nothing is kept of it.
    async fn take_back(&self, message: &MessageId, target: &PostTarget) {
        let Ok(Some(turn)) = self.agent.store.turn(self.turn).await else { return };
        let session = self.agent.store.session(SessionRef::Id(turn.session)).await;
        let is_forgotten =
            matches!(session, Ok(Some(session)) if session.state == SessionState::Forgotten);
        let Some(adapter) = self.adapter().filter(|_| is_forgotten) else { return };
        let body = Body { markdown: FORGOTTEN.to_owned(), ..Body::default() };
        if let Err(error) = self.delivery.bounded(adapter.edit(target, message, &body)).await {
            tracing::warn!(agent = %self.agent.id, turn = %self.turn, %error, "what was shown of a forgotten turn stays");
        }
    }

    /// Goes on from what an earlier run showed of the turn.
    async fn take_up(&mut self) -> Result<(), StoreError> {
        let before = TurnId(self.turn.0 - 1);
        let origin = self.agent.store.origins(before, 1).await?.pop();
        let Some(origin) = origin.filter(|origin| origin.turn == self.turn) else {
            return Ok(());
        };
        match origin.provisional {
            // What may have been shown is looked for when there is something to show.
            Provisional::None | Provisional::Begun => {}
            Provisional::Shown(message) => self.message = Some(MessageId(message)),
        }
        // What it asked before somebody listened again.
        let waiting = self.delivery.engine.approvals().list(&self.agent).await?;
        for approval in waiting.into_iter().filter(|it| it.turn == self.turn) {
            self.ask(|_| approval.into()).await?;
        }
        Ok(())
    }

    async fn ask(&self, ask: impl FnOnce(&Turn) -> Question) -> Result<(), StoreError> {
        let Some(turn) = self.agent.store.turn(self.turn).await? else { return Ok(()) };
        let (of, question) = ((turn.id, turn.session), ask(&turn));
        let named = (Question::name(&question.id), &question);
        self.delivery.ask(&self.agent, &self.place, of, named).await
    }

    async fn hear(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Text(text) => {
                if self.text.is_empty() && self.message.is_none() {
                    let soon = self.delivery.now() + SHOWN_AFTER;
                    self.next_at = Some(self.next_at.map_or(soon, |at| at.min(soon)));
                }
                if self.text.len() + text.len() <= TEXT_BYTES_MAX {
                    self.text.push_str(&text);
                }
            }
            // What was said before a call, or before more was asked, is not the reply.
            TurnEvent::Void => self.text.clear(),
            TurnEvent::ToolCall { name, about } => {
                self.text.clear();
                self.progress.called(name, about);
                let later = self.delivery.now() + PROGRESS_AFTER;
                self.next_at.get_or_insert(later);
            }
            TurnEvent::ToolDone { name, is_error } => self.progress.done(&name, is_error),
            TurnEvent::Approval { id, tool, what, rule, .. } => {
                self.progress.waits(&tool);
                let question =
                    |turn: &Turn| Question { id, tool, what, rule, by: turn.principal.clone() };
                if let Err(error) = self.ask(question).await {
                    tracing::error!(agent = %self.agent.id, turn = %self.turn, %error, "a question can't be asked in its chat");
                }
            }
            TurnEvent::ApprovalDone { id, tool, outcome, by } => {
                self.progress.goes_on(&tool);
                let (delivery, agent) = (self.delivery.clone(), self.agent.clone());
                // Nobody waits for it.
                self.delivery
                    .tasks
                    .spawn(async move { delivery.settled(&agent, &id, outcome, by).await });
            }
            _ => {}
        }
    }

    /// Shows that something is being written; when to do so again.
    fn typing(&self) -> (Option<Running<()>>, Duration) {
        let shows = self.shows_work().by_typing;
        let adapter = self.adapter().filter(|_| shows);
        let lasts = adapter.and_then(|it| it.features().typing.map(|lasts| (it, lasts)));
        let Some((adapter, lasts)) = lasts else { return (None, Duration::from_secs(5)) };
        let delivery = self.delivery.clone();
        let target = delivery.target(&self.agent, &self.place);
        let typing = async move {
            let typing = async {
                adapter.typing(&target).await;
                Ok(())
            };
            let _ = delivery.bounded(typing).await;
        };
        let typing = AbortOnDropHandle::new(tokio::spawn(typing));
        (Some(typing), lasts.mul_f64(0.8).max(Duration::from_secs(1)))
    }

    /// What there is to show: of the reply, or of what is done for it.
    fn shown_text(&self) -> Cow<'_, str> {
        // What may become silence is no part of a reply yet.
        match SILENT.starts_with(self.text.trim()) {
            false => Cow::Borrowed(&self.text),
            true if self.place.chat_type == ChatType::Dm => self.progress.text(Detail::All).into(),
            true => self.progress.text(Detail::Name).into(),
        }
    }

    fn has_news(&self) -> bool {
        // The question that waits says so itself, where nothing is to be put right.
        if self.message.is_none() && self.text.is_empty() && self.progress.is_waiting() {
            return false;
        }
        let text = self.shown_text();
        !self.is_over && !text.trim().is_empty() && text != self.last
    }

    fn is_due(&self, now: Duration) -> bool {
        self.has_news() && self.next_at.is_some_and(|at| at <= now)
    }

    fn was_shown(&mut self, shown: Shown, now: Duration) {
        let every = self.adapter().and_then(|it| it.features().can_edit).unwrap_or_default();
        match shown {
            Shown::In(message) => {
                self.message = Some(message);
                self.next_at = Some(now + every.max(EDIT_EVERY_MIN));
            }
            Shown::Later(wait) => {
                self.last.clear();
                self.next_at = Some(now + wait.max(every).max(EDIT_EVERY_MIN));
            }
            Shown::Behind => {
                self.last.clear();
                self.next_at = Some(now + BEHIND_LOOK);
            }
            Shown::Never => self.is_over = true,
        }
    }

    /// Shows what there is of the reply, where the platform lets it be changed later.
    fn show(&mut self, now: Duration) -> Option<Showing> {
        // Whatever the reason that nothing is shown now, it is looked at again, not at once.
        self.next_at = Some(now + LOOK_AGAIN);
        let adapter = self.adapter()?;
        let features = adapter.features();
        if features.can_edit.is_none() {
            self.is_over = true;
            return None;
        }
        let key = (self.place.platform, self.place.account.clone());
        if let Some(until) = self.delivery.pacing().rests(&key, self.place.chat.as_str(), now) {
            self.next_at = Some(until);
            return None;
        }
        let room = features.text.beside(GOES_ON);
        // What is done for a reply is no part of it.
        let (text, goes_on) = match self.shown_text() {
            Cow::Borrowed(reply) => (reply.to_owned(), true),
            Cow::Owned(progress) => (progress, false),
        };
        let piece = split::next(&text, 0, room)?;
        self.last = text;
        let body = Body { markdown: piece.text + GOES_ON, goes_on, ..Body::default() };
        let shown = Show {
            delivery: self.delivery.clone(),
            agent: self.agent.clone(),
            place: self.place.clone(),
            reply_to: self.reply_to.clone(),
            turn: self.turn,
            adapter,
            body,
        };
        let message = self.message.clone();
        let showing = async move {
            match message {
                Some(message) => shown.again(message).await,
                None => shown.first().await,
            }
        };
        Some(AbortOnDropHandle::new(tokio::spawn(showing)))
    }
}

/// Waits for something that may be there; forever where it is not. `None` if it panicked.
async fn ready<T>(running: &mut Option<Running<T>>) -> Option<T> {
    match running {
        Some(running) => running.await.ok(),
        None => std::future::pending().await,
    }
}
