//! The handles a tool gets for one call, bound to this turn's agent, session and scope.

use crate::messages::text_of;
use crate::turn::{Turn, TurnContext};
use async_trait::async_trait;
use insula_capabilities::Capabilities;
use insula_domain::MemoryOperation;
use insula_domain::ScopeName;
use insula_registry::Access;
use insula_store::{Counted, Message, MessageSeq, Seals, SessionId, SessionRef, VectorKind};
use insula_tools::hands::{HandError, History, Hit, Order, Search};

/// Hits that may be of the turn itself, and are looked for beside those that are asked for.
const OWN_HITS_MAX: usize = 20;

/// What was said before, as far as the scope of one turn reaches.
pub(crate) struct ScopedHistory<'c> {
    caps: &'c Capabilities,
    access: &'c Access,
    cx: &'c TurnContext,
    turn: &'c Turn<'c>,
}

impl<'c> ScopedHistory<'c> {
    /// A handle on what was said in the scope of a turn.
    pub(crate) fn new(turn: &'c Turn<'c>) -> Self {
        Self { caps: &turn.shop.caps, access: &turn.shop.access, cx: turn.cx, turn }
    }

    /// The scope, decided now.
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
        let scope = self.scope().await?;
        let most = search.limit.saturating_add(OWN_HITS_MAX);
        let store = &self.cx.agent.store;
        let scopes = std::slice::from_ref(&scope);
        let found = match self.turn.near(scopes, VectorKind::Messages, search.query).await {
            Some(near) => store.search_near(&scope, search.query, near, most).await,
            None => store.search(&scope, search.query, most).await,
        };
        let mut found = found.map_err(|error| HandError(error.to_string()))?;
        // What is said in this turn the model has before it: a question is no answer to itself.
        found.retain(|hit| hit.session != self.cx.session || hit.seq < self.cx.asked);
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
        let (scope, store) = (self.scope().await?, &self.cx.agent.store);
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
        let here = messages.iter().filter(|message| message.scope == scope);
        self.cx.seen.add_all(here.clone().map(|message| &*message.label));
        self.cx.see_people(self.access, here.clone().map(|message| &message.principal));
        Ok(here.map(|message| hit(message, &seals)).collect())
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
