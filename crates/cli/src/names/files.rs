//! Agents by what the files of a home call them, where no daemon is asked.

use super::same;
use crate::failure::Failure;
use crate::output;
use crate::setting::Setting;
use insula_config::files::FilesSnapshot;
use insula_config::suggest::nearest;
use insula_config::{AgentOutcome, load};
use insula_domain::AgentId;
use std::collections::BTreeMap;

/// What the agents of the files are called, by id. Nobody, where the files can't be used.
pub fn names(setting: &Setting) -> BTreeMap<String, String> {
    let Ok(snapshot) = FilesSnapshot::read(setting.home.root()) else { return BTreeMap::new() };
    let loaded = load(&snapshot, &setting.environment.variables).1;
    let agents = loaded.into_iter().flat_map(|loaded| loaded.agents);
    let named = agents.map(|(id, outcome)| match outcome {
        AgentOutcome::Ready(config) => (id.to_string(), config.name.to_string()),
        AgentOutcome::Failed(_) => (id.to_string(), id.to_string()),
    });
    named.collect()
}

/// The agent that is meant by its id or by what it is called. An id that nobody has may be meant
/// all the same, unless it looks like a slip.
pub fn agent_called(setting: &Setting, said: &str) -> Result<AgentId, Failure> {
    let known = names(setting);
    let wrong = |error: insula_domain::IdError| Failure::WrongUse(error.to_string());
    if known.contains_key(said) {
        return AgentId::new(said).map_err(wrong);
    }
    let called = known.iter().filter(|(_, name)| same(name, said)).map(|(id, _)| id.clone());
    let called: Vec<String> = called.collect();
    match called.as_slice() {
        [one] => AgentId::new(one).map_err(wrong),
        [] => {
            let all = known.iter().flat_map(|(id, name)| [id.as_str(), name.as_str()]);
            match nearest(said, all) {
                Some(near) => Err(Failure::Failed(format!(
                    "there is no agent `{}`; did you mean `{near}`?",
                    output::clean(said)
                ))),
                None => AgentId::new(said).map_err(wrong),
            }
        }
        several => Err(Failure::WrongUse(super::things::several(said, several))),
    }
}
