//! What was allowed for longer than once: looking at it, and taking it back.
//!
//! Works on the store alone, so that a right can also be taken back while no daemon runs.

use super::{AnswerError, ApprovalDuration, cut, invocation};
use insula_registry::context::AgentContext;
use insula_registry::trail::Trail;
use insula_registry::{Access, Actor};
use insula_store::{About, AgentCommand, Grant, StoreError};
use serde_json::json;

/// For how long a grant holds.
pub fn reach(grant: &Grant) -> ApprovalDuration {
    if grant.session.is_some() { ApprovalDuration::Session } else { ApprovalDuration::Always }
}

/// What an agent was allowed for longer than once, the newest first.
pub async fn list(agent: &AgentContext) -> Result<Vec<Grant>, StoreError> {
    agent.store.grants().await
}

/// Takes a grant back. A call that has begun goes on; the next one asks again.
pub async fn revoke(
    (access, trail): (&Access, &Trail),
    agent: &AgentContext,
    id: &str,
    actor: &Actor,
) -> Result<Grant, AnswerError> {
    if !access.may_answer(agent, actor) {
        return Err(AnswerError::NotAdmin(agent.id.clone()));
    }
    let found = list(agent).await?.into_iter().find(|grant| *grant.id == *id);
    let grant = found.ok_or_else(|| AnswerError::NoGrant(cut(id, 80).into()))?;
    let content = json!({
        "grant": &*grant.id,
        "tool": &*grant.tool,
        "rule": &*grant.rule,
        "scope": reach(&grant).as_str(),
        "invocation": invocation::text(&grant.invocation),
        "granted_by": grant.by.as_str(),
    });
    // What was granted for one conversation is its matter, what holds for all of them the agent's.
    let about = grant.session.map_or(About::Agent, About::Session);
    let audit = AgentCommand::Audit(trail.record(agent, about, actor, "approval.revoked", content));
    let revoke = AgentCommand::RevokeGrant { id: grant.id.clone() };
    agent.store.commit(vec![revoke, audit]).await?;
    Ok(grant)
}
