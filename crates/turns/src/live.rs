//! The turns that are under way: who listens to them, what joins them, what stops them.

use crate::debounce::Debounce;
use crate::editor_questions::EditorQuestions;
use crate::past::{Past, ends_passage};
use crate::place::TurnPlace;
use crate::redaction::Redaction;
use insula_domain::Actor;
use insula_domain::{AgentId, SessionKey};
use insula_registry::events::turn::{ChildAct, TurnEnd, TurnEvent};
use insula_registry::events::{AgentEvent, Hub};
use insula_registry::secrets::SecretBook;
use insula_store::{MessageSeq, NewMessage, TurnId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Events a listener may be behind before deltas are left out.
const EVENTS_WAITING_MAX: usize = 256;
/// Messages that may join one turn; one more waits for a turn of its own.
pub(crate) const JOINED_MAX: usize = 32;

/// A turn that was accepted and is not over.
pub(crate) struct LiveTurn {
    pub(crate) turn: TurnId,
    /// Who began it. Only they may steer or interrupt it: it works with their rights.
    pub(crate) principal: Actor,
    pub(crate) cancel: CancellationToken,
    /// Locked while a message is journalled into the turn, and while the turn looks whether
    /// one came: so none falls between the last look and the end.
    pub(crate) inbox: tokio::sync::Mutex<Inbox>,
    pub(crate) voice: Voice,
    /// What it waits for before it begins, where its sender may say more.
    pub(crate) debounce: Option<Debounce>,
    /// Why it can't go on, where that is no wish of anybody who talks to it.
    given_up: Mutex<Option<String>>,
    /// What it asked the editor it was asked from.
    pub(crate) editor: EditorQuestions,
    /// Its places among all turns. A child runs in its parent's.
    pub(crate) place: Arc<TurnPlace>,
}

/// A turn that is not over, for who looks at all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderWay {
    pub session: SessionKey,
    pub turn: TurnId,
    /// Who began it.
    pub principal: Actor,
    /// Whether it runs; else it waits for its place.
    pub has_begun: bool,
}

/// Messages on their way into a turn under way.
#[derive(Default)]
pub(crate) struct Inbox {
    /// Journalled, and not yet shown to the model.
    pub(crate) messages: Vec<(MessageSeq, NewMessage)>,
    /// How many came in all.
    pub(crate) joined: usize,
    /// No more can come: the turn is ending.
    pub(crate) is_closed: bool,
    /// What the messages it has so far are called where they were said, until it begins.
    pub(crate) names: Vec<Box<str>>,
    /// Whether it has begun.
    pub(crate) has_begun: bool,
}

impl LiveTurn {
    pub(crate) fn new(
        turn: TurnId,
        principal: Actor,
        voice: Voice,
        debounce: Option<Debounce>,
        names: Vec<Box<str>>,
    ) -> Self {
        let cancel = CancellationToken::new();
        let inbox = tokio::sync::Mutex::new(Inbox { names, ..Inbox::default() });
        let (given_up, editor) = (Mutex::default(), EditorQuestions::default());
        let place = Arc::default();
        Self { turn, principal, cancel, inbox, voice, debounce, given_up, editor, place }
    }

    /// A child's, which ends when `cancel` says so.
    pub(crate) fn of_child(
        turn: TurnId,
        principal: Actor,
        voice: Voice,
        cancel: CancellationToken,
    ) -> Self {
        let inbox = tokio::sync::Mutex::default();
        let (given_up, editor) = (Mutex::default(), EditorQuestions::default());
        let (debounce, place) = (None, Arc::default());
        Self { turn, principal, cancel, inbox, voice, debounce, given_up, editor, place }
    }

    /// Ends it, for a reason that whoever waits for it is told.
    pub(crate) fn give_up(&self, why: String) {
        let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.get_or_insert(why);
        drop(given_up);
        self.cancel.cancel();
    }

    /// Why it was given up, if it was.
    pub(crate) fn given_up(&self) -> Option<String> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A handle for one more listener, from now on.
    pub(crate) fn listen(&self) -> TurnHandle {
        self.handle(Since::Now)
    }

    /// A handle for one more listener, who is told first what happened so far.
    pub(crate) fn listen_from_the_start(&self) -> TurnHandle {
        self.handle(Since::Start)
    }

    fn handle(&self, since: Since) -> TurnHandle {
        let (events, is_final) = self.voice.listen(since);
        TurnHandle { turn: self.turn, events, is_final, ends: None }
    }
}

/// Tells everybody who listens to a turn, and nobody a secret.
pub(crate) struct Voice {
    hub: Arc<Hub>,
    secrets: Arc<SecretBook>,
    agent: AgentId,
    session: Arc<str>,
    turn: TurnId,
    ears: Mutex<Ears>,
    /// For a child: who tells of it, and by which name.
    above: Option<(Arc<LiveTurn>, Arc<str>)>,
}

/// Who listens to a turn, and what they were told. Behind one lock, so that who comes now hears
/// everything once.
#[derive(Default)]
struct Ears {
    listeners: Vec<Listener>,
    past: Past,
    end: Option<TurnEnd>,
}

/// From where a listener hears a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// From its beginning.
    Start,
    /// From now on.
    Now,
}

struct Listener {
    events: mpsc::Sender<TurnEvent>,
    /// The place of the end, which deltas can't take.
    end: mpsc::OwnedPermit<TurnEvent>,
    /// Whether words of the passage under way were missed. It hears no more of that passage: what
    /// it has stays the beginning of the reply, and the end brings the rest.
    is_behind: bool,
    /// Whether it passes words on to where they can't be taken back.
    is_final: Arc<AtomicBool>,
}

impl Listener {
    fn tell(&mut self, event: &TurnEvent) {
        let is_text = matches!(event, TurnEvent::Text(_));
        if is_text && self.is_behind {
            return;
        }
        let is_told = self.events.try_send(event.clone()).is_ok();
        if is_text || ends_passage(event) {
            self.is_behind = !is_told;
        }
    }
}

impl Voice {
    pub(crate) fn new(
        hub: Arc<Hub>,
        secrets: Arc<SecretBook>,
        key: &SessionKey,
        turn: TurnId,
    ) -> Self {
        let (agent, session) = (key.agent.clone(), key.to_string().into());
        Self { hub, secrets, agent, session, turn, ears: Mutex::default(), above: None }
    }

    /// The voice of a child: what it does is told by its parent, what it says is not.
    pub(crate) fn of_child(parent: &Arc<LiveTurn>, child: Arc<str>) -> Self {
        let Self { hub, secrets, agent, session, turn, .. } = &parent.voice;
        Self {
            hub: hub.clone(),
            secrets: secrets.clone(),
            agent: agent.clone(),
            session: session.clone(),
            turn: *turn,
            ears: Mutex::default(),
            above: Some((parent.clone(), child)),
        }
    }

    /// The key of the conversation.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    fn listen(&self, since: Since) -> (mpsc::Receiver<TurnEvent>, Arc<AtomicBool>) {
        let is_final = Arc::<AtomicBool>::default();
        let redaction = self.redaction();
        let mut ears = self.ears();
        let past = match since {
            Since::Start => ears.past.events(),
            Since::Now => &[],
        };
        // Room for all of the past beside what comes.
        let (events, listening) = mpsc::channel(EVENTS_WAITING_MAX + past.len());
        for event in past {
            // A secret that was set since then is one by now.
            let event = match event.clone() {
                TurnEvent::Text(text) => TurnEvent::Text(redaction.told(text)),
                TurnEvent::Reasoning(text) => TurnEvent::Reasoning(redaction.told(text)),
                other => redaction.event(other),
            };
            let _ = events.try_send(event);
        }
        let is_behind = match since {
            Since::Start => ears.past.is_cut(),
            Since::Now => ears.past.is_in_a_passage(),
        };
        if let Ok(end) = events.clone().try_reserve_owned() {
            match &ears.end {
                Some(ended) => drop(end.send(TurnEvent::Ended(ended.clone()))),
                None => {
                    let is_final = is_final.clone();
                    ears.listeners.push(Listener { events, end, is_behind, is_final });
                }
            }
        }
        (listening, is_final)
    }

    /// Says what happens. Whoever does not keep up misses it.
    pub(crate) fn say(&self, event: TurnEvent) {
        if let Some((parent, child)) = &self.above {
            if let Some(event) = told_of(child, event) {
                parent.voice.say(event);
            }
            return;
        }
        let event = match event {
            // Deltas come redacted, and there are many of them.
            TurnEvent::Text(_) | TurnEvent::Reasoning(_) => event,
            other => self.redaction().event(other),
        };
        {
            let mut ears = self.ears();
            ears.past.note(&event);
            ears.listeners.iter_mut().for_each(|listener| listener.tell(&event));
        }
        if matches!(event, TurnEvent::Editor(_)) {
            return;
        }
        self.publish(event);
    }

    /// Whether anybody listens to this turn.
    pub(crate) fn is_heard(&self) -> bool {
        self.ears().listeners.iter().any(|it| !it.events.is_closed())
    }

    /// Whether somebody listens who can't take back words.
    pub(crate) fn is_final(&self) -> bool {
        let cannot = |it: &Listener| it.is_final.load(Ordering::Relaxed) && !it.events.is_closed();
        self.ears().listeners.iter().any(cannot)
    }

    /// Says how it ended. Nobody misses that, and nobody is waited for.
    pub(crate) fn end(&self, end: TurnEnd) {
        let end = self.redaction().end(end);
        let listeners = {
            let mut ears = self.ears();
            ears.end = Some(end.clone());
            std::mem::take(&mut ears.listeners)
        };
        for listener in listeners {
            listener.end.send(TurnEvent::Ended(end.clone()));
        }
        self.publish(TurnEvent::Ended(end));
    }

    fn redaction(&self) -> Redaction {
        Redaction::of(&self.agent, &self.secrets.known())
    }

    fn publish(&self, event: TurnEvent) {
        let (session, turn) = (&self.session, self.turn);
        self.hub.tell(&self.agent, || AgentEvent::Turn { session: session.clone(), turn, event });
    }

    fn ears(&self) -> std::sync::MutexGuard<'_, Ears> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        self.ears.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is told of something that happened in a child.
fn told_of(child: &Arc<str>, event: TurnEvent) -> Option<TurnEvent> {
    let act = match event {
        TurnEvent::ToolCall { name, about } => ChildAct::ToolCall { name, about },
        TurnEvent::ToolDone { name, is_error } => ChildAct::ToolDone { name, is_error },
        // A child of its own, or a question that somebody has to answer.
        event @ (TurnEvent::Child { .. }
        | TurnEvent::Approval { .. }
        | TurnEvent::ApprovalDone { .. }) => return Some(event),
        TurnEvent::Accepted { .. }
        | TurnEvent::Joined { .. }
        | TurnEvent::Text(_)
        | TurnEvent::Reasoning(_)
        | TurnEvent::Editor(_)
        | TurnEvent::Void
        | TurnEvent::Compressed
        | TurnEvent::Ended(_) => return None,
    };
    Some(TurnEvent::Child { child: child.clone(), act })
}

/// Every turn under way, by session, in the order they will run.
#[derive(Default)]
pub(crate) struct Live {
    sessions: Mutex<HashMap<SessionKey, Vec<Arc<LiveTurn>>>>,
}

impl Live {
    /// Counts a turn in, until what is returned is dropped.
    pub(crate) fn enter(self: &Arc<Self>, key: &SessionKey, turn: Arc<LiveTurn>) -> Leave {
        let leave = Leave { live: self.clone(), key: key.clone(), turn: turn.turn };
        self.sessions().entry(key.clone()).or_default().push(turn);
        leave
    }

    /// The turn of a session that runs, or will run next.
    pub(crate) fn first(&self, key: &SessionKey) -> Option<Arc<LiveTurn>> {
        self.sessions().get(key)?.first().cloned()
    }

    /// The turn of a session that will run last.
    pub(crate) fn last(&self, key: &SessionKey) -> Option<Arc<LiveTurn>> {
        self.sessions().get(key)?.last().cloned()
    }

    /// All turns of a session that are not over.
    pub(crate) fn all(&self, key: &SessionKey) -> Vec<Arc<LiveTurn>> {
        self.sessions().get(key).cloned().unwrap_or_default()
    }

    /// All turns of an agent that are not over.
    pub(crate) fn of_agent(&self, agent: &AgentId) -> Vec<Arc<LiveTurn>> {
        let sessions = self.sessions();
        let own = sessions.iter().filter(|(key, _)| key.agent == *agent);
        own.flat_map(|(_, turns)| turns.iter().cloned()).collect()
    }

    /// Every turn that is not over.
    pub(crate) fn everyone(&self) -> Vec<UnderWay> {
        let sessions = self.sessions();
        let all = sessions.iter().flat_map(|(key, turns)| turns.iter().map(move |it| (key, it)));
        let told = all.map(|(key, it)| UnderWay {
            session: key.clone(),
            turn: it.turn,
            principal: it.principal.clone(),
            // Who holds it looks at a turn that has begun, or takes in more for it.
            has_begun: it.inbox.try_lock().map_or(true, |inbox| inbox.has_begun),
        });
        told.collect()
    }

    /// A turn of a session, if it is not over.
    pub(crate) fn find(&self, key: &SessionKey, turn: TurnId) -> Option<Arc<LiveTurn>> {
        self.sessions().get(key)?.iter().find(|live| live.turn == turn).cloned()
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<SessionKey, Vec<Arc<LiveTurn>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a turn out when dropped.
pub(crate) struct Leave {
    live: Arc<Live>,
    key: SessionKey,
    turn: TurnId,
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut sessions = self.live.sessions();
        if let Some(turns) = sessions.get_mut(&self.key) {
            turns.retain(|live| live.turn != self.turn);
            if turns.is_empty() {
                sessions.remove(&self.key);
            }
        }
    }
}

/// A turn that was accepted: it is durable, and goes on whether or not anybody listens, unless
/// nobody else could ever hear of it.
pub struct TurnHandle {
    pub turn: TurnId,
    /// What happens in it. A listener that does not keep up misses deltas, never the end.
    pub events: mpsc::Receiver<TurnEvent>,
    is_final: Arc<AtomicBool>,
    /// Ends the turn when its handle goes, where it is for whoever holds it alone.
    pub(crate) ends: Option<DropGuard>,
}

impl TurnHandle {
    /// A turn that is over, as its only event.
    pub(crate) fn of_end(turn: TurnId, events: mpsc::Receiver<TurnEvent>) -> Self {
        Self { turn, events, is_final: Arc::default(), ends: None }
    }

    /// Words that are heard here are passed on to where they can't be taken back: an answer that
    /// breaks off is not asked for again after some of it was told. All who don't say so take
    /// back what they show at [`TurnEvent::Void`], or show nothing before the end.
    pub fn words_are_final(&self) {
        self.is_final.store(true, Ordering::Relaxed);
    }
}
