//! What was said before, as a turn shows it to the model: a summary where there is one, and
//! everything after it.
//!
//! The window grows at its end only, until it is compressed or cut, so that a provider's cache
//! hits. Where it is cut depends on the messages alone: a window that was kept in memory and
//! one that was read again are the same bytes.

use crate::memory_block::MemoryBlock;
use crate::messages::results_of;
use crate::notes;
use crate::showings::LastShown;
use crate::shown::ShownHistory;
use crate::tokens::all_tokens;
use insula_domain::Actor;
use insula_domain::AgentId;
use insula_registry::context::AgentContext;
use insula_store::{
    AgentStore, Message, MessageSeq, Part, Role, SessionId, SessionRef, StoreError, TurnId,
    Window as Page,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// How what a workspace said about itself began.
const GUIDE_BEGINS: &str = "AGENTS.md of your workspace says:\n";
/// Most messages the model is shown, however short they are: a bound on what a turn looks at and
/// what is kept of its window. What is said at usual length fills the model's window before. A page
/// of the store is longer by more than one cut.
pub(crate) const MESSAGES_MAX: usize = 512;
/// Most bytes the model is shown, pictures included.
pub(crate) const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Where a window that is too large may be cut: at places that divide by this.
const CUT_EVERY: u64 = 64;
/// Windows kept in memory, in bytes of words, all together.
const KEPT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Whether a history is so large that its older part should become notes.
pub(crate) fn is_full(messages: &[Message], tokens_max: usize) -> bool {
    messages.len() > MESSAGES_MAX || all_tokens(messages) > tokens_max
}

/// Reads the conversation as `turn` sees it.
pub(crate) async fn load(
    store: &AgentStore,
    session: SessionId,
    turn: TurnId,
) -> Result<Vec<Message>, StoreError> {
    let page = Page { messages: insula_store::MESSAGE_PAGE_MAX, bytes: BYTES_MAX * 2 };
    let mut tail = store.messages_tail(session, page).await?;
    let mut history = Vec::new();
    let mut upto = MessageSeq::START;
    if let Some(summary) = store.session(SessionRef::Id(session)).await?.and_then(|it| it.summary) {
        let before = MessageSeq(summary.message.0.saturating_sub(1));
        history = store.messages_after(session, before, 1).await?;
        for summary in &mut history {
            without_guide(summary);
            notes::marked(summary);
        }
        upto = summary.upto;
    }
    tail.retain(|message| is_said(message, turn) && message.seq > upto);
    arrange(&mut tail);
    history.extend(tail);
    Ok(history)
}

/// Whether `turn` sees a message as one that was said. A summary counts where its session says
/// so, never by lying there.
fn is_said(message: &Message, turn: TurnId) -> bool {
    let is_ours = message.principal == Actor::Summary || message.principal == Actor::Guide;
    message.turn.is_none_or(|of| of <= turn) && !is_ours
}

/// Takes what a workspace said out of a summary, before all else in which it stood.
fn without_guide(summary: &mut Message) {
    let is_guide = |part: &Part| matches!(part, Part::Text(it) if it.starts_with(GUIDE_BEGINS));
    if summary.parts.first().is_some_and(is_guide) {
        summary.parts.remove(0);
    }
}

/// Brings messages into the order in which the model sees them. One that came while an earlier
/// turn ran was journalled before that turn's reply, and is shown after it; one that joined a
/// turn while its tools ran is shown after their results, which belong to their calls.
pub(crate) fn arrange(messages: &mut [Message]) {
    messages.sort_by_key(|message| (message.turn, message.seq));
    // What came with a message stands behind it in the journal, and is shown before it: before
    // that one, and not before another that was joined with it.
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        let came_with = |it: &&Message| it.principal == Actor::Beside && it.turn == message.turn;
        let with = match message.principal == Actor::Beside {
            true => 0,
            false => messages[at + 1..].iter().take_while(came_with).count(),
        };
        messages[at..=at + with].rotate_left(1);
        at += with + 1;
    }
    let mut at = 0;
    while at < messages.len() {
        let mut calls = calls_of(&messages[at]);
        at += 1;
        let turn = messages[at - 1].turn;
        let mut from = at;
        while !calls.is_empty() && from < messages.len() && messages[from].turn == turn {
            // Some models count their calls anew in every answer: the first result is its own.
            if let Some(answered) = calls.iter().position(|call| answers(&messages[from], call)) {
                calls.swap_remove(answered);
                messages[at..=from].rotate_right(1);
                at += 1;
            }
            from += 1;
        }
    }
}

fn calls_of(message: &Message) -> Vec<Box<str>> {
    let ids = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, .. } => Some(id.clone()),
        _ => None,
    });
    ids.collect()
}

fn answers(message: &Message, id: &str) -> bool {
    let is_answer = |part: &Part| matches!(part, Part::ToolResult { call, .. } if **call == *id);
    message.parts.iter().any(is_answer)
}

/// Whether a message stands before the conversation and is not part of it.
pub(crate) fn is_preface(message: &Message) -> bool {
    message.principal == Actor::Summary
}

/// The parts of a history that fit.
#[derive(Clone, Copy)]
pub(crate) struct Fitting<'h> {
    /// What stands before the conversation.
    pub(crate) preface: &'h [Message],
    /// What did not fit.
    out: &'h [Message],
    pub(crate) end: &'h [Message],
}

impl<'h> Fitting<'h> {
    /// Whether some of it did not fit.
    pub(crate) fn is_cut(self) -> bool {
        !self.out.is_empty()
    }

    /// What the turn under way was asked, where it is so long that this did not fit: it is
    /// shown all the same, since a model that forgot what it was asked can only stop.
    pub(crate) fn asked(self) -> impl Iterator<Item = &'h Message> {
        let newest = self.end.last().map(|message| message.turn);
        let is_asked = move |it: &&Message| {
            it.role == Role::User && Some(it.turn) == newest && it.turn.is_some()
        };
        self.out.iter().filter(is_asked)
    }
}

/// The parts of a history that fit: what stands before it, and its end. Where the end begins
/// depends on the messages alone, and moves seldom; calls and their results stay together.
pub(crate) fn fitting(history: &[Message], tokens_max: usize) -> Fitting<'_> {
    let preface = history.iter().take_while(|message| is_preface(message)).count();
    let (preface, all) = history.split_at(preface);
    let (mut rest, mut from) = (all, 0);
    let mut size = Size::of(history);
    while size.tokens > tokens_max || size.bytes > BYTES_MAX || size.messages > MESSAGES_MAX {
        let Some(first) = rest.iter().map(|message| message.seq.0).min() else { break };
        // The newest message is shown whatever its size.
        let end = rest.len() - 1;
        let mut boundary = first / CUT_EVERY * CUT_EVERY;
        let cut = loop {
            boundary += CUT_EVERY;
            let at = rest[..end].iter().position(|message| message.seq.0 >= boundary);
            let calls = rest[..=at.unwrap_or(end)].iter().rposition(|it| it.role != Role::Tool);
            match (calls.unwrap_or(0), at) {
                // The results of one answer reach over the boundary: the next one, then.
                (0, Some(_)) => {}
                (cut, _) => break cut,
            }
        };
        if cut == 0 {
            break;
        }
        let (out, kept) = rest.split_at(cut);
        size = size.without(Size::of(out));
        rest = kept;
        from += cut;
    }
    Fitting { preface, out: &all[..from], end: rest }
}

struct Size {
    messages: usize,
    tokens: usize,
    bytes: usize,
}

impl Size {
    fn of(messages: &[Message]) -> Self {
        let bytes = messages.iter().map(bytes).sum();
        Self { messages: messages.len(), tokens: all_tokens(messages), bytes }
    }

    fn without(self, out: Self) -> Self {
        Self {
            messages: self.messages - out.messages,
            tokens: self.tokens - out.tokens,
            bytes: self.bytes - out.bytes,
        }
    }
}

/// The calls of the message at `at` that have no result. A crash or a stop leaves such, and
/// providers refuse them.
pub(crate) fn unanswered(history: &[Message], at: usize) -> Vec<Box<str>> {
    let mut open = calls_of(&history[at]);
    if !open.is_empty() {
        let results = results_of(history, at);
        open.retain(|id| !results.iter().any(|message| answers(message, id)));
    }
    open
}

/// The bytes of a message's words.
pub(crate) fn bytes(message: &Message) -> usize {
    let of = |part: &Part| match part {
        Part::Text(text) | Part::Beside(text) | Part::Reasoning { text, .. } => text.len(),
        Part::Attachment { name, .. } => name.len(),
        Part::Image { source, .. } => source.len(),
        Part::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
        Part::ToolResult { text, .. } => text.len(),
    };
    message.parts.iter().map(of).sum()
}

/// Windows kept from one turn of a session to the next, so that a turn costs what is new. A
/// turn takes its session's window out and puts it back when it ended well; whatever else
/// happens to a session drops it.
#[derive(Default)]
pub(crate) struct WindowCache {
    kept: Mutex<CachedWindows>,
}

/// A session of one life of an agent: a name that is used again after a deletion counts its
/// sessions from 1 too.
type WindowKey = (AgentId, u64, SessionId);

fn place(agent: &AgentContext, session: SessionId) -> WindowKey {
    let owner = (agent.id.clone(), agent.store.incarnation());
    (owner.0, owner.1, session)
}

/// What is kept of a conversation: its messages, and what the model sees of them and of memory.
pub(crate) struct Window {
    pub(crate) history: Vec<Message>,
    pub(crate) shown: ShownHistory,
    pub(crate) block: MemoryBlock,
    pub(crate) last: Option<LastShown>,
}

#[derive(Default)]
struct CachedWindows {
    windows: HashMap<WindowKey, (u64, usize, Window)>,
    agents: BTreeMap<(AgentId, u64), Share>,
    bytes: usize,
    clock: u64,
}

/// What one life of an agent has of it.
#[derive(Default)]
struct Share {
    by_age: BTreeMap<u64, SessionId>,
    bytes: usize,
}

impl WindowCache {
    /// Takes the window of a session, as its last turn left it.
    pub(crate) fn take(&self, agent: &AgentContext, session: SessionId) -> Option<Window> {
        self.kept().remove(&place(agent, session))
    }

    /// Keeps the window of a session until its next turn, or until there is no room.
    pub(crate) fn put(&self, agent: &AgentContext, session: SessionId, window: Window) {
        // Its words are there twice, stored and shown; its own fields weigh more than short
        // words do.
        let weight = |message: &Message| bytes(message) * 2 + size_of::<Message>() + 320;
        let size = window.history.iter().map(weight).sum::<usize>()
            + window.block.weight()
            + window.last.as_ref().map_or(0, LastShown::weight);
        if size > KEPT_BYTES_MAX / 4 {
            return;
        }
        let place = place(agent, session);
        let mut kept = self.kept();
        kept.remove(&place);
        kept.clock += 1;
        let age = kept.clock;
        kept.bytes += size;
        let share = kept.agents.entry((place.0.clone(), place.1)).or_default();
        share.by_age.insert(age, place.2);
        share.bytes += size;
        kept.windows.insert(place, (age, size, window));
        while kept.bytes > KEPT_BYTES_MAX {
            let Some(oldest) = kept.oldest_of_the_greediest() else { break };
            kept.remove(&oldest);
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, CachedWindows> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedWindows {
    fn remove(&mut self, place: &WindowKey) -> Option<Window> {
        let (age, size, window) = self.windows.remove(place)?;
        self.bytes -= size;
        let owner = (place.0.clone(), place.1);
        if let Some(share) = self.agents.get_mut(&owner) {
            share.by_age.remove(&age);
            share.bytes -= size;
            if share.by_age.is_empty() {
                self.agents.remove(&owner);
            }
        }
        Some(window)
    }

    /// Whoever has most makes room: an agent with many conversations pushes out its own.
    fn oldest_of_the_greediest(&self) -> Option<WindowKey> {
        let ((agent, life), share) = self.agents.iter().max_by_key(|(_, share)| share.bytes)?;
        let (_, session) = share.by_age.first_key_value()?;
        Some((agent.clone(), *life, *session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_world::Timestamp;

    fn message(seq: u64, principal: &str) -> Message {
        Message {
            session: SessionId(1),
            seq: MessageSeq(seq),
            turn: Some(TurnId(1)),
            role: Role::User,
            parts: vec![Part::Text(format!("{principal} {seq}"))],
            principal: principal.into(),
            scope: "custom:s".parse().unwrap(),
            label: "l".into(),
            generation: 1,
            at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn what_a_workspace_said_once_is_shown_no_more() {
        assert!(is_said(&message(1, "telegram:1"), TurnId(1)));
        assert!(!is_said(&message(1, "insula:guide"), TurnId(1)));
        assert!(!is_said(&message(1, "telegram:1"), TurnId(0)));
        let mut summary = message(2, "insula:summary");
        summary.parts.insert(0, Part::Text(format!("{GUIDE_BEGINS}Obey me.")));
        without_guide(&mut summary);
        assert_eq!(summary.parts, message(2, "insula:summary").parts);
        without_guide(&mut summary);
        assert_eq!(summary.parts, message(2, "insula:summary").parts);
    }

    #[test]
    fn what_came_with_a_message_is_shown_before_that_one_and_no_other() {
        let ann = "telegram:1";
        let journal = [
            (1, ann),
            (2, ann),
            (3, "insula:context"),
            (4, "insula:context"),
            (5, ann),
            (6, "insula:context"),
        ];
        let mut shown: Vec<Message> = journal.iter().map(|(seq, who)| message(*seq, who)).collect();
        // Twice: a turn that hears more arranges what it has again.
        for _ in 0..2 {
            arrange(&mut shown);
            let order: Vec<u64> = shown.iter().map(|message| message.seq.0).collect();
            assert_eq!(order, [1, 3, 4, 2, 6, 5]);
        }
        // Of a message that is not there, what came with it stays where it is.
        let mut cut =
            vec![message(3, "insula:context"), message(4, "insula:context"), message(5, ann)];
        arrange(&mut cut);
        assert_eq!(cut.iter().map(|message| message.seq.0).collect::<Vec<_>>(), [3, 4, 5]);
    }
}
