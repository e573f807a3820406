//! Conversations of imported agents: each becomes a session that has ended, with the times it
//! had, in the scope of the place where it was held, so that a search from there finds it.
//!
//! Its key names the session it was made of in the place of the account. So it is found again,
//! and it never is the current session of a chat: what is said there from now on begins anew.

use super::Done;
use crate::failure::Failure;
use insula_capabilities::Opened;
use insula_domain::{
    AccountId, Actor, Address, Audience, ChatType, Integrity, Label, Platform, SessionKey, UserId,
};
use insula_import::{AgentPlan, MessagePlan, PartPlan, Plan, SessionPlan, Voice};
use insula_registry::AgentContext;
use insula_store::message::{MESSAGE_BYTES_MAX, PARTS_MAX};
use insula_store::session::{SESSION_PAGE_MAX, TITLE_BYTES_MAX};
use insula_store::turn::{CALL_NAME_BYTES_MAX, MESSAGES_AT_ONCE_MAX};
use insula_store::{
    AgentCommand, AgentLease, NewMessage, OpenSession, Part, Role, Session, SessionRef,
    SessionState, StoreError,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest text of one part, in bytes: with what stands around it, a message fits.
const TEXT_BYTES_MAX: usize = MESSAGE_BYTES_MAX / 2;

/// Most bytes that one commit brings.
const COMMIT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// All conversations of one agent.
pub(super) async fn all(
    opened: &Opened,
    plan: &Plan,
    agent: &AgentPlan,
    context: &Arc<AgentContext>,
    done: &mut Done,
) -> Result<(), Failure> {
    if agent.sessions.is_empty() {
        return Ok(());
    }
    let store = opened.parts.owner.agent(&agent.id);
    let known = known(&store).await.map_err(failed)?;
    for session in &agent.sessions {
        let messages = match plan.messages(session) {
            Ok(messages) => messages,
            Err(why) => {
                let note = format!("session {}: {why}", session.source_id);
                done.trouble(Some(&agent.id), "session", &session.from, note);
                continue;
            }
        };
        let Some(key) = key(plan, context, session) else {
            let note = format!("session {}: its id can't be used here", session.source_id);
            done.trouble(Some(&agent.id), "session", &session.from, note);
            continue;
        };
        let there = known.get(&*key.to_string());
        let one = One { opened, context, store: &store, session, key };
        let (before, after) = one.bring(there, &messages).await.map_err(failed)?;
        done.sessions.note(there.is_none());
        done.messages.known += before;
        done.messages.new += after - before;
    }
    Ok(())
}

fn failed(error: StoreError) -> Failure {
    Failure::Failed(error.to_string())
}

/// The sessions that are here, by key.
async fn known(store: &AgentLease) -> Result<BTreeMap<Box<str>, Session>, StoreError> {
    let (mut found, mut before) = (BTreeMap::new(), None);
    loop {
        let page = store.sessions(before, SESSION_PAGE_MAX).await?;
        let Some(last) = page.last() else { return Ok(found) };
        before = Some(last.id);
        found.extend(page.into_iter().map(|session| (session.key.clone(), session)));
    }
}

fn key(plan: &Plan, context: &AgentContext, session: &SessionPlan) -> Option<SessionKey> {
    let account = format!("{}:{}", plan.source.as_str(), session.source_id);
    Some(SessionKey {
        account: AccountId::new(account).ok()?,
        ..context.session_key(&session.address)
    })
}

/// One conversation while it is brought over.
struct One<'a> {
    opened: &'a Opened,
    context: &'a Arc<AgentContext>,
    store: &'a AgentLease,
    session: &'a SessionPlan,
    key: SessionKey,
}

impl One<'_> {
    /// Brings what is not here yet; how many messages there were, and are.
    async fn bring(
        &self,
        there: Option<&Session>,
        messages: &[MessagePlan],
    ) -> Result<(usize, usize), StoreError> {
        if there.is_some_and(|it| it.state == SessionState::Forgotten) {
            // What was forgotten here stays forgotten.
            return Ok((messages.len(), messages.len()));
        }
        let SessionPlan { address, started, ended, title, .. } = self.session;
        let label = Label::of(Audience::of(address));
        let place = self.context.scope(address);
        let real = self.context.session_key(address);
        let scope = self.opened.capabilities.written_scope(self.context, &place, &real).await;
        let (id, before) = match there {
            Some(session) => (
                session.id,
                usize::try_from(self.store.message_count(session.id).await?).unwrap_or(usize::MAX),
            ),
            None => {
                let open = OpenSession {
                    key: self.key.to_string().into(),
                    scope: scope.clone(),
                    label: label.to_string().into(),
                    at: *started,
                };
                let done = self.store.commit(vec![AgentCommand::OpenSession(open)]).await?;
                match done.session() {
                    Some(id) => (id, 0),
                    None => return Ok((0, 0)),
                }
            }
        };
        let rest = messages.get(before..).unwrap_or_default();
        let mut batch: Vec<NewMessage> = Vec::new();
        let mut bytes = 0;
        for (index, message) in rest.iter().enumerate() {
            let new = self.message(message, &scope, &label);
            bytes += new.parts.iter().map(weight).sum::<usize>();
            batch.push(new);
            let is_last = index + 1 == rest.len();
            if batch.len() == MESSAGES_AT_ONCE_MAX || bytes >= COMMIT_BYTES_MAX || is_last {
                let messages = std::mem::take(&mut batch);
                let append = AgentCommand::Append { session: SessionRef::Id(id), messages };
                self.store.commit(vec![append]).await?;
                bytes = 0;
            }
        }
        if there.is_none_or(|it| it.state == SessionState::Current) {
            let title = title.as_ref().map(|it| cut(it, TITLE_BYTES_MAX).to_owned());
            let session = SessionRef::Id(id);
            let last = messages.last().map_or(*started, |it| it.at);
            let at = ended.unwrap_or(last);
            let batch = vec![
                AgentCommand::TitleSession { session: session.clone(), title },
                AgentCommand::EndSession { session, at },
            ];
            self.store.commit(batch).await?;
        }
        Ok((before.min(messages.len()), messages.len().max(before)))
    }

    fn message(
        &self,
        message: &MessagePlan,
        scope: &insula_domain::ScopeName,
        label: &Label,
    ) -> NewMessage {
        let (role, own) = match message.voice {
            // In a direct chat nobody else speaks.
            Voice::User => (Role::User, self.session.address.chat_type == ChatType::Dm),
            Voice::Assistant => (Role::Assistant, false),
            Voice::Tool => (Role::Tool, false),
            Voice::System => (Role::System, false),
        };
        // What tools and others said then was not noted: anybody may have had a word in it.
        let label = if own { label.clone() } else { label.clone().with(&Integrity::many()) };
        let mut parts: Vec<Part> = message.parts.iter().map(part).collect();
        parts.truncate(PARTS_MAX);
        let mut left = MESSAGE_BYTES_MAX;
        parts.retain(|part| {
            let fits = weight(part) <= left;
            left -= if fits { weight(part) } else { 0 };
            fits
        });
        NewMessage {
            role,
            parts,
            principal: speaker(&self.session.address, message.sender.as_deref()),
            scope: scope.clone(),
            label: label.to_string().into(),
            generation: self.context.generation.0,
            at: message.at,
        }
    }
}

fn speaker(address: &Address, sender: Option<&str>) -> Actor {
    if address.platform == Platform::CLI {
        return Actor::CommandLine;
    }
    let said = sender.and_then(|it| UserId::new(it).ok()).or_else(|| address.user.clone());
    match said {
        Some(user) => Actor::user(address.platform, user),
        None => Actor::Other(format!("{}:imported", address.platform).into()),
    }
}

fn weight(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Beside(text) => text.len(),
        Part::ToolCall { id, name, arguments } => id.len() + name.len() + arguments.len(),
        Part::ToolResult { call, text, .. } => call.len() + text.len(),
        Part::Reasoning { text, .. } => text.len(),
        Part::Attachment { .. } | Part::Image { .. } => 1024,
    }
}

fn part(part: &PartPlan) -> Part {
    match part {
        PartPlan::Text(text) => Part::Text(shortened(text)),
        PartPlan::Beside(text) => Part::Beside(shortened(text)),
        PartPlan::Reasoning(text) => Part::Reasoning { text: shortened(text), signature: None },
        PartPlan::Call { id, name, arguments } => Part::ToolCall {
            id: cut(id, CALL_NAME_BYTES_MAX).into(),
            name: cut(name, CALL_NAME_BYTES_MAX).into(),
            arguments: shortened(arguments),
        },
        PartPlan::Result { call, text, is_error } => Part::ToolResult {
            call: cut(call, CALL_NAME_BYTES_MAX).into(),
            text: shortened(text),
            is_error: *is_error,
            untrusted: true,
        },
    }
}

/// A text that fits into a message, with a word where some of it is missing.
fn shortened(text: &str) -> String {
    let kept = cut(text, TEXT_BYTES_MAX);
    match text.len() - kept.len() {
        0 => kept.to_owned(),
        left => format!("{kept}\n[{left} more bytes were not imported]"),
    }
}

fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}
