//! What each source brought here, in `imported.json` of the home: what was brought once and is no
//! longer here was changed or taken away by somebody, and does not come back.
//!
//! A thing is noted once it is here, never before. So an import that was cut off is completed by
//! the next one, and what an earlier version brought counts from the first time it is seen.

use crate::failure::Failure;
use crate::setting::Setting;
use insula_import::SourceKind;
use insula_registry::Home;
use insula_registry::home::FileMode;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The file, in the home.
const FILE: &str = "imported.json";

/// What one source brought. A thing is a list: what it is, and its names there.
pub(super) struct Brought {
    source: &'static str,
    from: PathBuf,
    things: Vec<Value>,
    /// Whether what is not here is to come again.
    is_again: bool,
}

impl Brought {
    /// What is known of a source.
    pub(super) fn read(
        setting: &Setting,
        kind: SourceKind,
        (from, is_again): (&Path, bool),
    ) -> Result<Self, Failure> {
        let mut brought =
            Self { source: kind.as_str(), from: from.to_owned(), things: Vec::new(), is_again };
        let all = all(&setting.home)?;
        brought.things = all.iter().find(|it| brought.is_of(it)).map(things).unwrap_or_default();
        Ok(brought)
    }

    /// Whether something is of this source: an agent's mark, or what is noted of one.
    pub(super) fn is_of(&self, noted: &Value) -> bool {
        // As paths, so that a slash at the end says nothing.
        let from = noted["home"].as_str().is_some_and(|it| Path::new(it) == self.from);
        from && noted["source"] == self.source
    }

    /// Whether it was brought before and is not to come again.
    pub(super) fn has(&self, thing: &Value) -> bool {
        !self.is_again && self.things.contains(thing)
    }

    /// Notes what is here now.
    pub(super) fn note(&mut self, setting: &Setting, here: Vec<Value>) -> Result<(), Failure> {
        let before = self.things.len();
        for thing in here {
            if !self.things.contains(&thing) {
                self.things.push(thing);
            }
        }
        if self.things.len() == before {
            return Ok(());
        }
        // Another source may have been noted meanwhile.
        let mut all = all(&setting.home)?;
        all.retain(|it| !self.is_of(it));
        let from = self.from.display().to_string();
        all.push(json!({ "source": self.source, "home": from, "brought": self.things }));
        let text = text(&all);
        let path = setting.home.root().join(FILE);
        Ok(setting.home.write(&path, text.as_bytes(), FileMode::Private)?)
    }
}

fn things(noted: &Value) -> Vec<Value> {
    noted["brought"].as_array().cloned().unwrap_or_default()
}

/// A line for each thing: people read it too.
fn text(all: &[Value]) -> String {
    let source = |it: &Value| {
        let (source, home) = (&it["source"], &it["home"]);
        let brought: Vec<String> = things(it).iter().map(Value::to_string).collect();
        let brought = brought.join(",\n  ");
        format!("{{\"source\": {source}, \"home\": {home}, \"brought\": [\n  {brought}\n]}}")
    };
    format!("[{}]\n", all.iter().map(source).collect::<Vec<_>>().join(",\n"))
}

/// What is noted of every source.
fn all(home: &Home) -> Result<Vec<Value>, Failure> {
    let Some(text) = home.read(&home.root().join(FILE))? else { return Ok(Vec::new()) };
    // Without it, all that was changed here would be undone.
    serde_json::from_str(&text).map_err(|error| {
        Failure::Failed(format!(
            "{FILE}, which says what was imported before, can't be read: {error}; restore it, or remove it to have everything brought that is not here"
        ))
    })
}
