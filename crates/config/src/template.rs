//! Agents to begin with: what each is for, its settings and who it is.

use serde_json::{Value, json};

/// An agent to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Its `agent.yaml`.
    pub config: &'static str,
    /// Its `SOUL.md`.
    pub soul: &'static str,
}

/// What of a new agent its template does not say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beginning<'b> {
    /// Whether it answers where no binding does.
    pub is_default: bool,
    pub name: Option<&'b str>,
    pub model: Option<&'b str>,
    /// Who may talk to it. The first of them is its admin.
    pub allow: &'b [String],
}

macro_rules! template {
    ($name:literal, $about:literal) => {
        Template {
            name: $name,
            about: $about,
            config: include_str!(concat!("templates/", $name, "/agent.yaml")),
            soul: include_str!(concat!("templates/", $name, "/SOUL.md")),
        }
    };
}

/// All of them, the most usual one first.
pub const TEMPLATES: [Template; 7] = [
    template!("assistant", "one person's assistant, with memory"),
    template!("coder", "code in a folder: files, programs, sub-agents"),
    template!("family", "a group chat with children in it: no shell, no memory"),
    template!("worker", "one task at a time, nothing remembered"),
    template!("community", "questions in public channels"),
    template!("support", "a support desk, one memory for each chat"),
    template!("researcher", "reads the web, writes down what it finds"),
];

impl Template {
    /// Finds one by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|it| it.name == name)
    }

    /// The `agent.yaml` of a new agent. JSON strings are YAML, so nothing a person types becomes
    /// anything but a value.
    pub fn agent_yaml(&self, wish: &Beginning<'_>) -> String {
        let mut text = String::new();
        if wish.is_default {
            text.push_str("default: true\n");
        }
        if let Some(name) = wish.name {
            text.push_str(&format!("name: {}\n", Value::from(name)));
        }
        text.push_str(self.config);
        if let Some(admin) = wish.allow.first() {
            let admin = Value::from(&**admin);
            let allow = json!(wish.allow);
            text.push_str(&format!("access: {{allow: {allow}, admins: [{admin}]}}\n"));
        }
        if let Some(model) = wish.model {
            text.push_str(&format!("model: {}\n", Value::from(model)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{FileState, FilesSnapshot};
    use crate::{AgentOutcome, load};
    use std::collections::BTreeMap;

    #[test]
    fn every_template_is_an_agent_that_works_without_a_warning() {
        for template in &TEMPLATES {
            let mut snapshot = FilesSnapshot {
                config: FileState::Text("model: rehearsal/rehearsal\n".into()),
                ..FilesSnapshot::default()
            };
            let folder = snapshot.folders.entry("one".to_owned()).or_default();
            folder.config = FileState::Text(format!("default: true\n{}", template.config).into());
            folder.soul = FileState::Text(template.soul.into());
            let (report, loaded) = load(&snapshot, &BTreeMap::new());
            assert!(report.diagnostics.is_empty(), "{}: {:?}", template.name, report.diagnostics);
            let id = insula_domain::AgentId::new("one").unwrap();
            let outcome = &loaded.unwrap().agents[&id];
            assert!(matches!(outcome, AgentOutcome::Ready(_)), "{}", template.name);
            assert!(template.soul.len() > 100 && template.soul.ends_with('\n'));
        }
    }
}
