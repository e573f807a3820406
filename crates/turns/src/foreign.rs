//! Files that hold words of others: the one way by which an operator takes them for their own.

use crate::approvals::AnswerError;
use insula_registry::context::AgentContext;
use insula_registry::trail::Trail;
use insula_registry::{Access, Actor};
use insula_store::{About, AgentCommand, ForeignFile};
use serde_json::json;

/// Files that one commit forgets.
const FORGOTTEN_AT_ONCE: usize = 128;

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
    let mut trusted = Vec::new();
    // There may be more than one read tells.
    loop {
        let files: Vec<ForeignFile> = match path {
            Some(path) => {
                let known = agent.store.foreign_about(vec![path.into()]).await?;
                known.into_iter().filter(|file| *file.path == *path).collect()
            }
            None => agent.store.foreign_files().await?,
        };
        for some in files.chunks(FORGOTTEN_AT_ONCE) {
            let commands = some.iter().flat_map(|file| forget((trail, agent), file, actor));
            agent.store.commit(commands.collect()).await?;
        }
        let is_all = path.is_some() || files.is_empty();
        trusted.extend(files);
        if is_all {
            return Ok(trusted);
        }
    }
}

fn forget(
    (trail, agent): (&Trail, &AgentContext),
    file: &ForeignFile,
    actor: &Actor,
) -> [AgentCommand; 2] {
    let content = json!({ "path": &*file.path, "integrity": file.integrity.to_string() });
    let record = trail.record(agent, About::Agent, actor, "integrity.trusted", content);
    [AgentCommand::ForgetForeign { path: file.path.clone() }, AgentCommand::Audit(record)]
}
