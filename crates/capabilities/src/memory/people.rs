//! What people may ask in their own conversation: what is remembered here, and to have it
//! forgotten. One place for every surface.

use super::{Act, Resolved};
use crate::Capabilities;
use crate::hooks::Occasion;
use insula_domain::Actor;
use insula_domain::{
    Audience, ChatType, ContextId, MemoryOperation, Scope, ScopeDenied, SessionKey,
};
use insula_memory::{ListView, MemoryError, Scoped, audience};
use insula_registry::context::AgentContext;
use insula_registry::context::Whereabouts;
use insula_store::{About, Fragment, MemoryOrigin, MemorySource, SessionId, SessionRef};

pub struct Asking<'a> {
    pub agent: &'a AgentContext,
    /// The conversation.
    pub session: &'a SessionKey,
    /// Where they speak.
    pub at: &'a Whereabouts,
    /// Who they are, as records name them.
    pub principal: &'a Actor,
}

impl Asking<'_> {
    /// Whether an entry may be shown where it is asked for. What somebody remembers for
    /// themselves they may see where nobody else reads; anything else goes to those who could
    /// read it where it was said.
    fn may_show(&self, scope: &Scope, entry: &Fragment) -> bool {
        let here = &self.at.address;
        let is_their_own =
            matches!(scope, Scope::Context(ContextId::User { .. } | ContextId::Person(_)));
        is_their_own && here.chat_type == ChatType::Dm
            || self.agent.boundary.messages.shows(&audience(entry), &Audience::of(here))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    /// The agent does not remember.
    Off,
    /// What can be shown here.
    Lists {
        /// These lists, entries numbered from 1 through all of them.
        lists: Vec<ListView>,
        /// How many entries more there are, which not everyone here could read where they were
        /// said.
        held_back: usize,
    },
}

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forgot {
    /// The agent does not remember.
    Off,
    /// So many entries.
    Entries(usize),
    /// So many entries, and a file that may still have their words could not be cleaned. The
    /// operator was told, and it is tried again.
    Partly(usize),
    /// Nothing: these match, and it is not clear which one is meant.
    Unclear(Vec<String>),
}

/// Why people get no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// the scope can't be decided
    #[error(transparent)]
    Denied(#[from] ScopeDenied),
    /// a hook does not allow it
    #[error("{0}")]
    Refused(String),
    /// what is written from here is not what is read here
    #[error(
        "what is remembered from here can't be read here, so it can't be forgotten here either; an operator of the agent can"
    )]
    Apart,
    /// memory can't be read or changed
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl Capabilities {
    async fn own(
        &self,
        asking: &Asking<'_>,
        operation: MemoryOperation,
    ) -> Result<Option<Scoped>, AskError> {
        let Some(memory) = &asking.agent.memory else { return Ok(None) };
        let Asking { agent, session, at, principal } = asking;
        let Resolved { reads, .. } =
            self.memory_scope(agent, at, session, MemoryOperation::Read).await?;
        let Resolved { writes, .. } = self.memory_scope(agent, at, session, operation).await?;
        let scoped = memory.keeper.scoped(reads, writes);
        let key = session.to_string();
        let known = agent.store.session(SessionRef::Key(key.as_str().into())).await;
        let id = known.map_err(MemoryError::from)?.map_or(SessionId(0), |session| session.id);
        let files = agent.workspace.files(session, id, &agent.store.seals(), &self.world);
        let occasion = Occasion {
            agent,
            session: Some((&key, id)),
            scope: None,
            principal,
            at: Some(at),
            files: Some(&files),
        };
        let action = match operation {
            MemoryOperation::Read => "list",
            MemoryOperation::Write => "forget",
        };
        let act = Act::of_both(at, &scoped, action);
        self.ask_memory(operation, occasion, act).await.map_err(AskError::Refused)?;
        Ok(Some(scoped))
    }

    /// What is remembered in the scope of a conversation.
    pub async fn remembered(&self, asking: &Asking<'_>) -> Result<Remembered, AskError> {
        match self.own(asking, MemoryOperation::Read).await? {
            None => Ok(Remembered::Off),
            Some(scoped) => {
                let (mut lists, mut held_back) = (scoped.own().await?, 0);
                for list in &mut lists {
                    let all = list.fragments.len();
                    list.fragments.retain(|entry| asking.may_show(scoped.writes(), entry));
                    held_back += all - list.fragments.len();
                }
                Ok(Remembered::Lists { lists, held_back })
            }
        }
    }

    /// Forgets, in the scope of a conversation, the entry of this number, the one that has
    /// these words, or `all`.
    pub async fn forget_here(&self, asking: &Asking<'_>, what: &str) -> Result<Forgot, AskError> {
        let Some(scoped) = self.own(asking, MemoryOperation::Write).await? else {
            return Ok(Forgot::Off);
        };
        if !scoped.is_open() {
            return Err(AskError::Apart);
        }
        let lists = scoped.own().await?;
        let mut entries: Vec<Fragment> =
            lists.into_iter().flat_map(|list| list.fragments).collect();
        let what = what.trim();
        // Of one by one, those that were shown: neither numbers nor words tell of others.
        if what != "all" {
            entries.retain(|entry| asking.may_show(scoped.writes(), entry));
        }
        let meant: Vec<Fragment> = if what == "all" {
            entries
        } else if let Ok(number) = what.parse::<usize>() {
            entries.into_iter().nth(number.wrapping_sub(1)).into_iter().collect()
        } else {
            let has = |entry: &Fragment| !what.is_empty() && entry.text.contains(what);
            let found: Vec<Fragment> = entries.into_iter().filter(has).collect();
            if found.len() > 1 {
                let texts = found.into_iter().map(|entry| entry.text).collect();
                return Ok(Forgot::Unclear(texts));
            }
            found
        };
        let key = SessionRef::Key(asking.session.to_string().into());
        let session = asking.agent.store.session(key).await.map_err(MemoryError::from)?;
        let origin = MemoryOrigin {
            source: MemorySource::Said,
            principal: asking.principal.clone(),
            platform: asking.at.address.platform.to_string().into(),
            session: session.map(|session| session.id),
            message: None,
            call: None,
            generation: asking.agent.generation.0,
            at: self.world.clock.now(),
            approved_by: None,
            label: None,
        };
        let (count, remains) = scoped.forget(&meant, &origin).await?;
        if remains.is_empty() {
            return Ok(Forgot::Entries(count));
        }
        let files: Vec<String> = remains.iter().map(ToString::to_string).collect();
        let content = serde_json::json!({ "files": files });
        let scope = scoped.writes().clone().into();
        let about = About::Conversation { scope, key: asking.session.to_string().into() };
        let noted =
            asking.agent.audit.append(about, asking.principal, "memory.left", content).await;
        noted.map_err(MemoryError::from)?;
        Ok(Forgot::Partly(count))
    }
}
