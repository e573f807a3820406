//! The scope of an operation: computed by the runtime from where a message was said, before
//! the operation, and never from what a model says.

use crate::Capabilities;
use insula_domain::Actor;
use insula_domain::hook::HookEvent;
use insula_domain::{
    Address, Asker, MemoryOperation, Metadata, Narrowing, Route, Scope, ScopeDenied, ScopeName,
    ScopePayload, ScopeRule, SessionKey, scope_rule,
};
use insula_registry::context::{AgentContext, Whereabouts};
use insula_registry::registry::Snapshot;
use insula_store::{About, StoreError};
use std::sync::Arc;

/// What an operation may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What it reads: the widest first, its own last.
    pub reads: Vec<Scope>,
    pub writes: Scope,
}

/// The values of an agent, the account, the binding and, by its platform, the token that a
/// message at this address came by. The later one wins.
fn scope_metadata(snapshot: &Snapshot, agent: &AgentContext, address: &Address) -> Metadata {
    let mut all = agent.config.metadata.clone();
    let account = snapshot
        .daemon
        .accounts
        .iter()
        .find(|it| it.platform == address.platform && it.name == address.account);
    if let Some(account) = account {
        all.extend(account.metadata.clone());
    }
    if let Route::Bound { binding, .. } = snapshot.router.route(address)
        && binding.agent == agent.id
    {
        all.extend(binding.metadata.clone());
    }
    all
}

impl Capabilities {
    /// Values for hooks, rules and expressions: of the agent, the account, the binding and the
    /// token that a message at this address came by. The later one wins.
    pub fn metadata(&self, agent: &AgentContext, address: &Address) -> Metadata {
        let mut all = scope_metadata(&self.registry.snapshot(), agent, address);
        if let Some(token) = self.access.token_of(address) {
            all.extend(token.metadata.clone());
        }
        all
    }

    /// The scope that what is said is journalled under. Where none can be had that is the
    /// conversation's own, and memory is closed.
    pub async fn written_scope(
        &self,
        agent: &AgentContext,
        from: &Whereabouts,
        key: &SessionKey,
    ) -> ScopeName {
        let resolved = self.memory_scope(agent, from, key, MemoryOperation::Write).await;
        let scope = resolved.map_or_else(|_| from.fallback(key), |resolved| resolved.writes);
        scope.into()
    }

    /// What an operation of a message may touch. A failure is a refusal, which is audited.
    pub async fn memory_scope(
        &self,
        agent: &AgentContext,
        at: &Whereabouts,
        session: &SessionKey,
        operation: MemoryOperation,
    ) -> Result<Resolved, ScopeDenied> {
        let resolved = self.resolve_scope(agent, at, session, operation).await;
        if let Err(denied) = &resolved {
            let told = denied.to_string();
            tracing::warn!(agent = %agent.id, reason = told, "memory is closed for an operation");
            let content = serde_json::json!({
                "operation": operation.as_str(),
                "session": session.to_string(),
                "reason": told,
            });
            // None could be had: it is said of the conversation's own, as what is journalled is.
            let scope = at.fallback(session).into();
            let about = About::Conversation { scope, key: session.to_string().into() };
            let written = agent.audit.append(about, &Actor::Daemon, "memory.denied", content);
            if let Err(error) = written.await {
                tracing::error!(agent = %agent.id, %error, "a refusal could not be recorded");
            }
        }
        resolved
    }

    async fn resolve_scope(
        &self,
        agent: &AgentContext,
        at: &Whereabouts,
        session: &SessionKey,
        operation: MemoryOperation,
    ) -> Result<Resolved, ScopeDenied> {
        // What a job remembers was said by whoever made it, and never by what runs then; what
        // another agent says is kept apart for the conversation it asks from.
        let of_job = || at.job.as_ref().and_then(|job| job.scope());
        let of_link = || at.link.as_ref().map(|link| link.scope());
        if let Some(writes) = of_job().or_else(of_link) {
            let reads = match writes {
                Scope::Global => vec![Scope::Global],
                Scope::Context(_) => vec![Scope::Global, writes.clone()],
            };
            return Ok(Resolved { reads, writes });
        }
        let also = agent.memory.as_ref().map(|it| it.also_read.as_slice()).unwrap_or_default();
        // A named scope asks for no values; most agents have one.
        let is_plain = also.is_empty()
            && matches!(agent.conversations.scope, ScopeRule::Named(_))
            && !agent.hooks.has(HookEvent::MemoryScope);
        let metadata = match is_plain {
            true => Metadata::new(),
            false => self.metadata(agent, &at.address),
        };
        let token = self.access.token_of(&at.address);
        let payload = ScopePayload {
            operation,
            agent: &agent.id,
            session,
            address: &at.address,
            person: at.person.as_ref(),
            token: token.as_ref().map(|token| &*token.id),
            metadata: &metadata,
        };
        let (writes, beside) = match self.ask_scope_hook(agent, at, &payload).await? {
            Some(answer) => answer,
            None => (agent.conversations.scope.decide(&payload)?, Vec::new()),
        };
        let mut reads = vec![Scope::Global];
        if !also.is_empty() {
            let bindings = payload.bindings();
            for expression in also {
                reads.push(scope_rule::answered(expression, &bindings)?);
            }
        }
        reads.extend(beside);
        reads.retain(|scope| *scope != writes);
        reads.push(writes.clone());
        let mut seen = std::collections::BTreeSet::new();
        reads.retain(|scope| seen.insert(scope.clone()));
        Ok(Resolved { reads, writes })
    }

    /// What `route explain` shows of the ways by which a message comes in: those that take
    /// something away, and the agent as it then serves, or why it does not.
    pub fn explain_ways(
        &self,
        agent: &Arc<AgentContext>,
        address: &Address,
    ) -> (Vec<Arc<Narrowing>>, Result<Arc<AgentContext>, String>) {
        let ways = self.access.ways(&agent.id, address);
        let served = agent.through(&ways);
        (ways, served)
    }

    /// What `route explain` shows of who may talk: whether whoever speaks there may, and why.
    pub async fn explain_admission(
        &self,
        agent: &AgentContext,
        address: &Address,
    ) -> Result<(bool, &'static str), StoreError> {
        let asker = Asker { address, also: &[], is_bot: false };
        self.access.explain(agent, asker).await
    }

    /// What `route explain` shows as the scope of a message: its text, or why there is none.
    pub fn explain_scope(
        &self,
        agent: &AgentContext,
        at: &Whereabouts,
        session: &SessionKey,
    ) -> Result<Scope, ScopeDenied> {
        if agent.hooks.has(HookEvent::MemoryScope) {
            return Err(ScopeDenied::NotAsked);
        }
        let metadata = self.metadata(agent, &at.address);
        let token = self.access.token_of(&at.address);
        agent.conversations.scope.decide(&ScopePayload {
            operation: MemoryOperation::Read,
            agent: &agent.id,
            session,
            address: &at.address,
            person: at.person.as_ref(),
            token: token.as_ref().map(|token| &*token.id),
            metadata: &metadata,
        })
    }
}
