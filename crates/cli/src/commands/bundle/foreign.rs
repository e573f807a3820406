//! Which files of an agent hold words of others, in its bundle: one JSON object a line. Nothing in
//! a file says so itself.

use super::sessions::require_here;
use crate::commands::text;
use crate::failure::Failure;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use insula_capabilities::Opened;
use insula_domain::{AgentId, Integrity};
use insula_registry::daemon::Purpose;
use insula_store::AgentCommand;
use serde_json::{Value, json};
use std::path::{Component, Path};

/// Files that one commit notes.
const AT_ONCE: usize = 128;

/// A file, or a folder with all below it, that holds words of others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    /// Below the agent's folder.
    path: String,
    integrity: Integrity,
}

/// Those of an agent's own folder, as lines.
pub(super) async fn packed(setting: &Setting, id: &AgentId) -> Result<String, Failure> {
    let reach = Reach::open(setting, Purpose::Look).await?;
    let found = reach.get(&format!("/api/agents/{}/files/foreign", part(id.as_str()))).await;
    reach.close().await;
    let own = folder_of(id);
    let found = found?;
    let lines = found.as_array().into_iter().flatten().filter_map(|file| {
        let path = text(file, "path");
        let path = path.strip_prefix(&own)?;
        let sources = file["integrity"]["sources"].as_array()?.iter().filter_map(Value::as_str);
        let integrity = match file["integrity"]["many"].as_bool()? {
            true => Integrity::many().to_string(),
            false => sources.collect::<Vec<_>>().join(","),
        };
        Some(format!("{}\n", json!({ "path": path, "integrity": integrity })))
    });
    Ok(lines.collect())
}

/// Where an agent's files are, as the marks of files have it.
fn folder_of(id: &AgentId) -> String {
    format!("agents/{id}/")
}

/// Reads a line; `None` for what was not written so.
pub(super) fn read(line: &str) -> Option<Foreign> {
    let line: Value = serde_json::from_str(line).ok()?;
    let path = line["path"].as_str()?;
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
    let integrity = line["integrity"].as_str()?.parse().ok()?;
    Path::new(path).components().all(is_below).then(|| Foreign { path: path.to_owned(), integrity })
}

/// The way to such marks, where no daemon works with them.
pub(super) async fn reach(setting: &Setting) -> Result<Reach, Failure> {
    require_here(setting, "files that hold words of others are added").await
}

/// Marks the files of an agent that is new.
pub(super) async fn bring_in(opened: &Opened, id: &AgentId, lines: &str) -> Result<(), Failure> {
    let failed = |why: String| Failure::Failed(why);
    let context = opened.parts.registry.context_of(id).map_err(|it| failed(it.to_string()))?;
    let own = folder_of(id);
    let notes = lines.lines().filter_map(read).map(|it| AgentCommand::NoteForeign {
        path: format!("{own}{}", it.path).into(),
        integrity: it.integrity,
    });
    let notes: Vec<AgentCommand> = notes.collect();
    for some in notes.chunks(AT_ONCE) {
        context.store.commit(some.to_vec()).await.map_err(|it| failed(it.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_for_a_file_below_the_agents_folder() {
        let read = |path: &str, integrity: &str| {
            read(&json!({ "path": path, "integrity": integrity }).to_string())
        };
        let page = read("workspace/page.md", "web:docs.rs").unwrap();
        assert_eq!(
            (&*page.path, page.integrity.to_string()),
            ("workspace/page.md", "web:docs.rs".to_owned())
        );
        assert_eq!(read("", "many").unwrap().integrity, Integrity::many());
        for (path, integrity) in [
            ("../other/workspace/x", "many"),
            ("/etc/passwd", "many"),
            ("workspace/x", "mine, I promise"),
        ] {
            assert_eq!(read(path, integrity), None, "{path}");
        }
    }
}
