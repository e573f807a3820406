//! What the checks say and do, made in one place.

use crate::{
    Accept, Accepted, AgentCommand, AgentLease, Arrival, Conclude, Flush, IdempotencyKey, Message,
    NewMessage, OpenSession, Part, Role, SessionId, TurnId, TurnOutcome, Usage, Window,
};
use insula_world::Timestamp;

/// All of a session that a check needs.
pub const ALL: Window = Window { messages: 1_000, bytes: usize::MAX };

/// A time.
pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_794_708_747_004 + ms)
}

/// A message in a scope.
pub fn message_in(scope: &str, role: Role, text: &str) -> NewMessage {
    NewMessage {
        role,
        parts: vec![Part::Text(text.to_owned())],
        principal: "telegram:1".into(),
        scope: scope.parse().unwrap(),
        label: "private".into(),
        generation: 3,
        at: at(1),
    }
}

/// A message of someone's.
pub fn said(text: &str) -> NewMessage {
    message_in("custom:1", Role::User, text)
}

/// A message of the assistant's.
pub fn replied(text: &str) -> NewMessage {
    message_in("custom:1", Role::Assistant, text)
}

pub fn opening(key: &str) -> OpenSession {
    let (key, scope, label) = (key.into(), "custom:1".parse().unwrap(), "private".into());
    OpenSession { key, scope, label, at: at(0) }
}

/// Takes a message in.
pub fn accept(key: &str, text: &str) -> AgentCommand {
    let (session, message) = (opening(key), said(text));
    AgentCommand::Accept(Box::new(Accept {
        session,
        message,
        idempotency: None,
        origin: None,
        arrival: Arrival::default(),
        flush: Flush::Now,
    }))
}

/// Takes a message in that carries an idempotency key.
pub fn accept_keyed(key: &str, text: &str, who: &str, idempotency: &str) -> AgentCommand {
    // The same key is the same request here, whatever it says.
    let request = [7; 32];
    let idempotency = Some(IdempotencyKey { who: who.into(), key: idempotency.into(), request });
    let (session, message) = (opening(key), said(text));
    AgentCommand::Accept(Box::new(Accept {
        session,
        message,
        idempotency,
        origin: None,
        arrival: Arrival::default(),
        flush: Flush::Now,
    }))
}

/// Ends a turn with a reply.
pub fn conclude(turn: TurnId, text: &str) -> AgentCommand {
    AgentCommand::Conclude(Box::new(Conclude {
        turn,
        messages: vec![replied(text)],
        usage: usage(1),
        outcome: TurnOutcome::Replied { cut: None },
        at: at(2),
    }))
}

pub fn usage(n: u64) -> Usage {
    Usage { input: 100 * n, output: 10 * n, cached: 50 * n, reasoning: n, cost_micros: 7 * n }
}

/// Commits the acceptance of a message.
pub async fn take(agent: &AgentLease, key: &str, text: &str) -> Accepted {
    agent.commit(vec![accept(key, text)]).await.unwrap().accepted().unwrap()
}

/// Commits a whole turn.
pub async fn turn(agent: &AgentLease, key: &str, text: &str) -> Accepted {
    let taken = take(agent, key, text).await;
    agent.commit(vec![conclude(taken.turn(), "done")]).await.unwrap();
    taken
}

/// The words of a message.
pub fn text(message: &Message) -> &str {
    match &message.parts[..] {
        [Part::Text(text)] => text,
        _ => "",
    }
}

/// The words of a session.
pub async fn texts(agent: &AgentLease, session: SessionId) -> Vec<String> {
    let messages = agent.messages_tail(session, ALL).await.unwrap();
    messages.iter().map(|message| text(message).to_owned()).collect()
}
