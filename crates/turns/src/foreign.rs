//! Files that hold words of others: the one way by which an operator takes them for their own.

use crate::approvals::AnswerError;
use insula_registry::context::AgentContext;
use insula_registry::trail::Trail;
use insula_registry::{Access, Actor};
use insula_store::{AgentCommand, ForeignFile};
use serde_json::json;

/// Takes what is in a file, or in all of them, for the agent's own; which those were. What turns
/// have read of them by then they have read.
pub async fn trust(
    (access, trail): (&Access, &Trail),
    agent: &AgentContext,
    path: Option<&str>,
    actor: &Actor,
) -> Result<Vec<ForeignFile>, AnswerError> {
    if !access.may_answer(agent, actor) {
        return Err(AnswerError::NotAdmin(agent.id.clone()));
    }
    let is_meant = |file: &ForeignFile| path.is_none_or(|path| *file.path == *path);
    let known = agent.store.foreign_files().await?;
    let files: Vec<ForeignFile> = known.into_iter().filter(is_meant).collect();
    let mut batch = Vec::new();
    for file in &files {
        let content = json!({ "path": &*file.path, "integrity": file.integrity.to_string() });
        let record = trail.record(agent, actor, "integrity.trusted", content);
        batch.push(AgentCommand::ForgetForeign { path: file.path.clone() });
        batch.push(AgentCommand::Audit(record));
    }
    if !batch.is_empty() {
        agent.store.commit(batch).await?;
    }
    Ok(files)
}
