//! Where memory asks its agent's hooks: which scope an operation has, and whether it may be.

use crate::Capabilities;
use crate::hooks::{self, HookDecision, Occasion};
use insula_domain::hook::HookEvent;
use insula_domain::{
    Actor, ContextId, CustomId, MemoryOperation, Scope, ScopeDenied, ScopePayload,
};
use insula_memory::{EntryChange, Operation, Scoped};
use insula_registry::context::AgentContext;
use insula_registry::context::Whereabouts;
use insula_store::{SessionId, SessionRef};
use serde_json::json;

/// What is about to be done with memory, as hooks are told.
pub struct Act<'a> {
    /// Where the message was said.
    pub at: &'a Whereabouts,
    /// What it may touch.
    pub scoped: &'a Scoped,
    /// The lists.
    pub targets: Vec<&'static str>,
    /// What is done with each of them.
    pub actions: Vec<&'static str>,
    /// The words that are looked for or written, without secrets.
    pub text: Option<String>,
}

impl<'a> Act<'a> {
    /// Something that is done with both lists.
    pub fn of_both(at: &'a Whereabouts, scoped: &'a Scoped, action: &'static str) -> Self {
        Self { at, scoped, targets: vec!["memory", "user"], actions: vec![action], text: None }
    }

    /// Some changes, whose words have no secrets in them.
    pub fn writing(at: &'a Whereabouts, scoped: &'a Scoped, changes: &[EntryChange]) -> Self {
        let mut act = Self { at, scoped, targets: Vec::new(), actions: Vec::new(), text: None };
        let mut texts: Vec<&str> = Vec::new();
        for EntryChange { target, operation } in changes {
            act.targets.push(target.as_str());
            act.actions.push(match operation {
                Operation::Add { .. } => "add",
                Operation::Replace { .. } => "replace",
                Operation::Remove { .. } => "remove",
            });
            match operation {
                Operation::Add { content } | Operation::Replace { content, .. } => {
                    texts.push(content);
                }
                Operation::Remove { .. } => {}
            }
        }
        act.text = (!texts.is_empty()).then(|| texts.join("\n"));
        act
    }
}

fn custom(id: CustomId) -> Scope {
    Scope::Context(ContextId::Custom(id))
}

impl Capabilities {
    /// What the `memory:scope` hooks of an agent answer: where to write, and what to read
    /// besides; `None` where it has none. Whatever is no answer is a refusal.
    pub(super) async fn ask_scope_hook(
        &self,
        agent: &AgentContext,
        at: &Whereabouts,
        payload: &ScopePayload<'_>,
    ) -> Result<Option<(Scope, Vec<Scope>)>, ScopeDenied> {
        if !agent.hooks.has(HookEvent::MemoryScope) {
            return Ok(None);
        }
        let key = payload.session.to_string();
        // A message that begins a conversation is asked about before there is a session.
        let known = agent.store.session(SessionRef::Key(key.as_str().into())).await;
        let known = known.map_err(|error| ScopeDenied::Hook(error.to_string().into()))?;
        let session = known.map_or(SessionId(0), |session| session.id);
        let files =
            agent.workspace.files(payload.session, session, &agent.store.seals(), &self.world);
        let principal = Actor::from(payload.address);
        let occasion = Occasion {
            agent,
            session: Some((&key, session)),
            scope: None,
            principal: &principal,
            at: Some(at),
            files: Some(&files),
        };
        let fields = || json!({ "operation": payload.operation.as_str() });
        match hooks::ask(self, HookEvent::MemoryScope, &occasion, fields).await {
            HookDecision::Block { reason, .. } => Err(ScopeDenied::Hook(reason.into())),
            HookDecision::Go(go) => {
                let answer =
                    go.scope.ok_or_else(|| ScopeDenied::Hook("there was no answer".into()))?;
                let writes = answer.context.map_or(Scope::Global, custom);
                Ok(Some((writes, answer.read.into_iter().map(custom).collect())))
            }
        }
    }

    /// Asks whether an operation on memory may be; why not, where a hook says so.
    pub async fn ask_memory(
        &self,
        operation: MemoryOperation,
        occasion: Occasion<'_>,
        act: Act<'_>,
    ) -> Result<(), String> {
        let event = match operation {
            MemoryOperation::Read => HookEvent::MemoryRead,
            MemoryOperation::Write => HookEvent::MemoryWrite,
        };
        if !occasion.agent.hooks.has(event) {
            return Ok(());
        }
        let scope = act.scoped.writes().to_string();
        let occasion = Occasion { scope: Some(&scope), at: Some(act.at), ..occasion };
        let reads: Vec<String> = match operation {
            MemoryOperation::Read => act.scoped.reads().iter().map(ToString::to_string).collect(),
            MemoryOperation::Write => Vec::new(),
        };
        let fields = || {
            json!({
                "operation": operation.as_str(),
                "text": act.text,
                "extra": { "targets": act.targets, "actions": act.actions, "reads": reads },
            })
        };
        match hooks::ask(self, event, &occasion, fields).await {
            HookDecision::Go(_) => Ok(()),
            HookDecision::Block { reason, .. } => {
                Err(format!("a hook does not allow this use of memory: {reason}"))
            }
        }
    }
}
