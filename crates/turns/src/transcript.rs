//! The handles a tool gets for one call, bound to this turn's agent, session and scope.

use crate::messages::text_of;
use crate::turn::{Turn, TurnContext};
use async_trait::async_trait;
use insula_capabilities::Capabilities;
use insula_domain::{MemoryOperation, ScopeName, SearchReach};
use insula_registry::{Access, AgentContext};
use insula_store::{Counted, Message, MessageSeq, Seals, SessionId, SessionRef, VectorKind};
use insula_tools::hands::{HandError, History, Hit, NOT_GRANTED, Order, Search};
use std::collections::BTreeSet;

/// Hits that may be of the turn itself, and are looked for beside those that are asked for.
const OWN_HITS_MAX: usize = 20;

/// Conversations whose scopes are looked into where an agent may search all of its own.
const SESSIONS_SEARCHED: usize = 1_000;

/// What was said before, as far as the scope of one turn reaches.
pub(crate) struct ScopedHistory<'c> {
    caps: &'c Capabilities,
    access: &'c Access,
    cx: &'c TurnContext,
    turn: &'c Turn<'c>,
    /// Whether all conversations of the agent are meant, which was granted.
    reach: SearchReach,
}

impl<'c> ScopedHistory<'c> {
    /// A handle on what was said in the scope of a turn.
    pub(crate) fn new(turn: &'c Turn<'c>) -> Self {
        let (caps, access) = (&turn.shop.caps, &turn.shop.access);
        Self { caps, access, cx: turn.cx, turn, reach: SearchReach::Here }
    }

    /// The scopes that are looked into, decided now.
    async fn scopes(&self) -> Result<BTreeSet<ScopeName>, HandError> {
        let mut scopes = BTreeSet::from([self.scope().await?]);
        if self.reach == SearchReach::Agent {
            let known = self.cx.agent.store.sessions(None, SESSIONS_SEARCHED).await;
            let known = known.map_err(|error| HandError(error.to_string()))?;
            scopes.extend(known.into_iter().map(|session| session.scope));
        }
        Ok(scopes)
    }

    /// The scope of the turn, decided now.
    async fn scope(&self) -> Result<ScopeName, HandError> {
        let TurnContext { agent, from, key, .. } = self.cx;
        let resolved = self.caps.memory_scope(agent, from, key, MemoryOperation::Read).await;
        let resolved = resolved.map_err(|denied| HandError(denied.to_string()))?;
        Ok(resolved.writes.into())
    }
}

#[async_trait]
impl History for ScopedHistory<'_> {
    async fn search(&self, search: Search<'_>) -> Result<Vec<Hit>, HandError> {
        let most = search.limit.saturating_add(OWN_HITS_MAX);
        let store = &self.cx.agent.store;
        let mut found = Vec::new();
        for scope in self.scopes().await? {
            let scopes = std::slice::from_ref(&scope);
            let some = match self.turn.near(scopes, VectorKind::Messages, search.query).await {
                Some(near) => store.search_near(&scope, search.query, near, most).await,
                None => store.search(&scope, search.query, most).await,
            };
            found.extend(some.map_err(|error| HandError(error.to_string()))?);
        }
        // What is said in this turn the model has before it: a question is no answer to itself.
        found.retain(|hit| hit.session != self.cx.session || hit.seq < self.cx.asked);
        if self.reach == SearchReach::Agent {
            // How well it matches compares inside of a scope; time does everywhere.
            found.sort_by_key(|hit| std::cmp::Reverse(hit.at));
        }
        found.truncate(search.limit);
        if search.order == Order::Newest {
            found.sort_by_key(|hit| std::cmp::Reverse(hit.at));
        }
        self.cx.seen.add_all(found.iter().map(|hit| &*hit.label));
        self.cx.see_people(self.access, found.iter().map(|hit| &hit.principal));
        let seals = self.cx.agent.store.seals();
        let hits = found.into_iter().map(|hit| Hit {
            session: seals.seal(Counted::Session, hit.session.0),
            message: i64::try_from(hit.seq.0).unwrap_or(i64::MAX),
            at: hit.at.to_string(),
            role: hit.role.as_str().to_owned(),
            text: hit.snippet,
        });
        Ok(hits.collect())
    }

    async fn around(
        &self,
        session: &str,
        message: i64,
        window: usize,
    ) -> Result<Vec<Hit>, HandError> {
        let failed = |error: insula_store::StoreError| HandError(error.to_string());
        let (scopes, store) = (self.scopes().await?, &self.cx.agent.store);
        let seals = store.seals();
        let Some(id) = seals.open(Counted::Session, session).map(SessionId) else {
            return Ok(Vec::new());
        };
        // A session of another scope is, from here, one that does not exist.
        let known = store.session(SessionRef::Id(id)).await.map_err(failed)?;
        if known.is_none() {
            return Ok(Vec::new());
        }
        let first = u64::try_from(message).unwrap_or(0).saturating_sub(window as u64 + 1);
        let limit = window.saturating_mul(2) + 1;
        let messages = store.messages_after(id, MessageSeq(first), limit).await.map_err(failed)?;
        // A session that several people share has messages of several scopes.
        let here = messages.iter().filter(|message| scopes.contains(&message.scope));
        self.cx.seen.add_all(here.clone().map(|message| &*message.label));
        self.cx.see_people(self.access, here.clone().map(|message| &message.principal));
        Ok(here.map(|message| hit(message, &seals)).collect())
    }

    fn everywhere(&self) -> Result<Box<dyn History + '_>, HandError> {
        // By the generation of the turn, and by the one that holds now.
        let granted = |agent: &AgentContext| agent.conversations.search == SearchReach::Agent;
        let snapshot = self.access.snapshot();
        let now = snapshot.agents.get(&self.cx.agent.id).and_then(|entry| entry.state.context());
        if !granted(&self.cx.agent) || !now.is_some_and(|now| granted(now)) {
            return Err(HandError(NOT_GRANTED.to_owned()));
        }
        Ok(Box::new(Self { reach: SearchReach::Agent, ..*self }))
    }
}

fn hit(message: &Message, seals: &Seals) -> Hit {
    Hit {
        session: seals.seal(Counted::Session, message.session.0),
        message: i64::try_from(message.seq.0).unwrap_or(i64::MAX),
        at: message.at.to_string(),
        role: message.role.as_str().to_owned(),
        text: text_of(&message.parts),
    }
}
