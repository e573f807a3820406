//! What an agent remembers of others' words, in its bundle: one JSON object a line, an entry each.
//!
//! A memory file is its operator's to write, so nothing in it says whose words it holds. A list
//! with an entry that others had a word in goes along as lines instead: nothing that was foreign
//! here is the operator's own there.

use super::sessions::require_here;
use crate::commands::text;
use crate::failure::Failure;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use insula_capabilities::Opened;
use insula_domain::{Actor, AgentId, Label, Scope};
use insula_memory::{MemoryError, file_of};
use insula_registry::daemon::Purpose;
use insula_store::{MemoryList, MemoryOrigin, MemorySource};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Lists whose entries go along as lines.
#[derive(Default)]
pub(super) struct Packed {
    pub(super) lines: String,
    /// Their files, which stay behind.
    pub(super) files: BTreeSet<PathBuf>,
}

/// An entry of such a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    scope: Scope,
    list: MemoryList,
    text: String,
    label: Option<Box<str>>,
}

/// What of an agent's memory can't go along as files.
pub(super) async fn packed(setting: &Setting, id: &AgentId) -> Result<Packed, Failure> {
    let reach = Reach::open(setting, Purpose::Look).await?;
    let found = reach.get(&format!("/api/agents/{}/memory", part(id.as_str()))).await;
    reach.close().await;
    Ok(choose(found?.as_array().map_or(&[], Vec::as_slice)))
}

fn choose(fragments: &[Value]) -> Packed {
    let list = |it: &Value| (text(it, "scope").to_owned(), text(it, "target").to_owned());
    let is_marked = |it: &&Value| it["provenance"]["audience"].is_string();
    let marked: BTreeSet<_> = fragments.iter().filter(is_marked).map(list).collect();
    let mut packed = Packed::default();
    for fragment in fragments.iter().filter(|it| marked.contains(&list(it))) {
        let line = json!({
            "scope": fragment["scope"],
            "list": fragment["target"],
            "text": fragment["text"],
            "label": fragment["provenance"]["audience"],
        });
        packed.lines.push_str(&format!("{line}\n"));
    }
    let files = marked
        .iter()
        .filter_map(|(scope, list)| Some(file_of(&scope.parse().ok()?, MemoryList::parse(list)?)));
    packed.files = files.collect();
    packed
}

/// Reads a line; `None` for what was not written so.
pub(super) fn read(line: &str) -> Option<Entry> {
    let line: Value = serde_json::from_str(line).ok()?;
    let label = match &line["label"] {
        Value::Null => None,
        label => Some(label.as_str()?.into()),
    };
    // What can't be read would be shown to everybody.
    if let Some(Err(_)) = label.as_deref().map(str::parse::<Label>) {
        return None;
    }
    Some(Entry {
        scope: line["scope"].as_str()?.parse().ok()?,
        list: MemoryList::parse(line["list"].as_str()?)?,
        text: line["text"].as_str()?.to_owned(),
        label,
    })
}

/// The way to an agent's memory, where no daemon works with it.
pub(super) async fn reach(setting: &Setting) -> Result<Reach, Failure> {
    require_here(setting, "memory that others had a word in is added").await
}

/// Gives an agent that is new the entries of such lines.
pub(super) async fn bring_in(opened: &Opened, id: &AgentId, lines: &str) -> Result<(), Failure> {
    let context =
        opened.parts.registry.context_of(id).map_err(|it| Failure::Failed(it.to_string()))?;
    for entry in lines.lines().filter_map(read) {
        let origin = MemoryOrigin {
            source: MemorySource::Import,
            principal: Actor::CommandLine,
            platform: "bundle".into(),
            session: None,
            message: None,
            call: None,
            generation: context.generation.0,
            at: opened.parts.world.clock.now(),
            approved_by: None,
            label: entry.label,
        };
        let place = (&entry.scope, entry.list);
        let taken = context.remembered().take_in(place, &[entry.text], &origin).await;
        taken.map_err(|error: MemoryError| Failure::Failed(error.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn fragment(list: &str, text: &str, audience: Option<&str>) -> Value {
        json!({ "scope": "global", "target": list, "text": text,
            "provenance": { "audience": audience } })
    }

    #[test]
    fn a_list_with_words_of_others_goes_along_as_lines() {
        let label = Label::anyone().to_string();
        let packed = choose(&[
            fragment("memory", "tea", None),
            fragment("user", "Ann", None),
            fragment("memory", "from a page", Some(&label)),
        ]);
        assert_eq!(packed.files, BTreeSet::from([PathBuf::from("memories/MEMORY.md")]));
        let again: Vec<Entry> = packed.lines.lines().map(|it| read(it).unwrap()).collect();
        let told: Vec<_> = again.iter().map(|it| (&*it.text, it.label.as_deref())).collect();
        assert_eq!(told, [("tea", None), ("from a page", Some(&*label))]);
        assert!(choose(&[fragment("user", "Ann", None)]).lines.is_empty());
    }

    #[test]
    fn what_was_not_written_so_is_no_entry() {
        for wrong in [
            "",
            "{}",
            r#"{"scope":"x","list":"memory","text":"t","label":null}"#,
            r#"{"scope":"global","list":"else","text":"t","label":null}"#,
            r#"{"scope":"global","list":"memory","text":"t","label":"no label \u0001"}"#,
            r#"{"scope":"global","list":"memory","text":"t","label":7}"#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
