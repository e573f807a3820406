//! `insula agents export`, `import` and `clone`: an agent as one file, and an agent made of one.
//!
//! A bundle has what makes the agent: configuration, soul, instructions, skills, programs of
//! hooks. What people said to it, and what it keeps for them, goes along only when asked for, and
//! only sealed; conversations and secrets the same. Its audit chain and its bindings are this home's.

mod bring_in;
mod foreign;
mod memory;
mod pack;
mod sessions;

pub use bring_in::import;

use crate::arguments::{Along, CloneAgent, ExportAgent};
use crate::failure::Failure;
use crate::names::files::agent_called;
use crate::output;
use crate::passphrase;
use crate::process::absolute;
use crate::progress::bytes;
use crate::setting::Setting;
use insula_archive::empty_folder;
use insula_domain::AgentId;
use serde_json::json;
use std::path::Path;

/// What a bundle is called in its own words.
const KIND: &str = "bundle of an agent";

/// The file of a bundle that has secrets, by name.
const SECRETS: &str = "secrets.json";

/// The file of a bundle that has lists of memory with words of others.
const MARKED: &str = "memory.jsonl";

/// The file of a bundle that says which files hold words of others.
const FOREIGN: &str = "foreign.jsonl";

/// The file of a bundle that has conversations.
const SESSIONS: &str = "sessions.jsonl";

/// What a file of a bundle is, by its name. What is none of these has no place in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Configuration,
    /// Soul, instructions or a skill.
    Character,
    Hooks,
    Memory,
    Marked,
    Workspace,
    Foreign,
    Sessions,
    Secrets,
}

impl Piece {
    fn of(name: &Path) -> Option<Self> {
        let mut parts = name.iter();
        let first = parts.next()?.to_str()?;
        match (first, parts.next().is_some()) {
            ("agent.yaml", false) => Some(Self::Configuration),
            ("SOUL.md" | "AGENTS.md", false) | ("skills", _) => Some(Self::Character),
            ("hooks", _) => Some(Self::Hooks),
            ("memories", _) => Some(Self::Memory),
            ("workspace", _) => Some(Self::Workspace),
            (FOREIGN, false) => Some(Self::Foreign),
            (MARKED, false) => Some(Self::Marked),
            (SESSIONS, false) => Some(Self::Sessions),
            (SECRETS, false) => Some(Self::Secrets),
            _ => None,
        }
    }

    /// Whether it goes along.
    fn is_wanted(self, along: Along) -> bool {
        match self {
            Self::Configuration | Self::Character | Self::Hooks => true,
            Self::Memory | Self::Marked => along.memory,
            Self::Workspace | Self::Foreign => along.files,
            Self::Sessions => along.sessions,
            Self::Secrets => along.secrets,
        }
    }
}

/// An id, as it was typed.
fn id_of(text: &str) -> Result<AgentId, Failure> {
    AgentId::new(text).map_err(|error| Failure::WrongUse(error.to_string()))
}

/// Packs an agent.
pub async fn export(setting: &Setting, wish: &ExportAgent) -> Result<u8, Failure> {
    let id = agent_called(setting, &wish.agent)?;
    let target = absolute(&wish.file)?;
    let Along { memory, files, sessions, secrets } = wish.along;
    let is_private = memory || files || sessions || secrets;
    let taken = pack::look(setting, &id, wish.along).await?;
    let passphrase = match is_private || wish.seal {
        true => Some(passphrase::to_seal(&wish.passphrase, &wish.file.display().to_string())?),
        false => None,
    };
    let is_sealed = passphrase.is_some();
    let (totals, size) = pack::pack(setting, taken, &target, passphrase).await?;
    let about = json!({
        "agent": id.as_str(),
        "file": target.display().to_string(),
        "sealed": is_sealed,
        "files": totals.files,
        "bytes": totals.bytes,
    });
    setting.answer.give(&about, |_| {
        let seal = if is_sealed { "sealed" } else { "not sealed: nothing in it is private" };
        output::line(&format!("packed {id} into {} ({}, {seal})", target.display(), bytes(size)));
    });
    Ok(0)
}

/// Makes another agent like one: packs it where nobody else reads, and adds what was packed.
pub async fn clone(setting: &Setting, wish: &CloneAgent) -> Result<u8, Failure> {
    let (id, to) = (agent_called(setting, &wish.agent)?, id_of(&wish.to)?);
    let taken = pack::look(setting, &id, wish.along).await?;
    setting.home.prepare()?;
    let scratch = setting.home.run().join("clone");
    empty_folder(&scratch)?;
    let file = scratch.join("bundle");
    let cloned = async {
        pack::pack(setting, taken, &file, None).await?;
        bring_in::bring_in(setting, bring_in::Whence { file: &file, passphrase: None }, &to).await
    };
    let cloned = cloned.await;
    empty_folder(&scratch)?;
    let done = cloned?;
    setting.answer.give(&done.json(), |_| {
        output::line(&format!("made {to} like {id}; its settings are in agents/{to}/agent.yaml"));
        done.tell();
    });
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_place_in_a_bundle_or_none() {
        let along = Along { memory: false, files: false, sessions: false, secrets: false };
        for (name, is_wanted) in [
            ("agent.yaml", Some(true)),
            ("SOUL.md", Some(true)),
            ("AGENTS.md", Some(true)),
            ("skills", Some(true)),
            ("skills/a/SKILL.md", Some(true)),
            ("hooks/guard.sh", Some(true)),
            ("memories/MEMORY.md", Some(false)),
            ("memory.jsonl", Some(false)),
            ("foreign.jsonl", Some(false)),
            ("workspace/a/b", Some(false)),
            ("sessions.jsonl", Some(false)),
            ("secrets.json", Some(false)),
            ("secrets.json/x", None),
            ("agent.db", None),
            ("agent.yaml/x", None),
            ("logs/2026-11-18.jsonl", None),
            ("mcp.json", None),
        ] {
            let found = Piece::of(Path::new(name)).map(|piece| piece.is_wanted(along));
            assert_eq!(found, is_wanted, "{name}");
        }
    }
}
