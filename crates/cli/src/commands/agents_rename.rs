//! `insula agents rename`: calls an agent otherwise, with all that is its own.
//!
//! It is done between two runs of the daemon, so that nothing of the agent runs meanwhile. One that
//! runs begins anew for it: turns under way go on after that, and open chats with them.

use super::ending;
use crate::arguments::RenameAgent;
use crate::failure::Failure;
use crate::names::files::agent_called;
use crate::output;
use crate::reach::{Occupied, Reach, occupied};
use crate::setting::Setting;
use insula_config::files::FilesSnapshot;
use insula_config::load;
use insula_domain::AgentId;
use insula_registry::daemon::Purpose;
use insula_registry::renaming::Renaming;
use serde_json::json;

pub async fn run(setting: &Setting, wish: &RenameAgent) -> Result<u8, Failure> {
    let home = &setting.home;
    let to = AgentId::new(&wish.to).map_err(|error| Failure::WrongUse(error.to_string()))?;
    let what = Renaming { from: agent_called(setting, &wish.agent)?, to };
    if what.from == what.to {
        return Err(Failure::WrongUse(format!("agent `{}` is called so already", what.from)));
    }
    home.prepare()?;
    let files = FilesSnapshot::read(home.root())?;
    let variables = &setting.environment.variables;
    match occupied(home, &setting.world).await? {
        Occupied::Daemon(running) => {
            if !running.restarts {
                return Err(Failure::Failed(format!(
                    "the daemon, pid {}, is of a version that can't begin anew; stop it, and rename then",
                    running.pid
                )));
            }
            what.wish(home, &files, variables)?;
            ending::begin_anew(setting, &running).await?;
        }
        Occupied::Free(lock) => {
            what.wish(home, &files, variables)?;
            drop(lock);
            Reach::open(setting, Purpose::Change).await?.close().await;
        }
    }
    // What could not be done stays to be done, and the log says why.
    let after = load(&FilesSnapshot::read(home.root())?, variables).1;
    let is_done = after.is_some_and(|after| {
        after.agents.contains_key(&what.to) && !after.agents.contains_key(&what.from)
    });
    if Renaming::is_pending(home) || !is_done {
        return Err(Failure::Failed(format!(
            "`{}` is not called `{}` yet; `insula logs` says why, and it is tried again at the next start",
            what.from, what.to
        )));
    }
    let told = json!({ "from": what.from.as_str(), "to": what.to.as_str() });
    setting.answer.give(&told, |_| {
        output::line(&format!(
            "{} is called {} now; its files are in agents/{}",
            what.from, what.to, what.to
        ));
    });
    Ok(0)
}
