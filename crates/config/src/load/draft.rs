//! What is written of each agent, in `config.yaml` and in its folder, before it is resolved.

use super::Loader;
use crate::agent::{Instructions, Soul};
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::file_state::FileState;
use crate::layers::{agent_part, join_files, relocate};
use crate::schema::AGENT;
use crate::shape::{Checker, Shape, shorten};
use crate::source::{Sources, Span};
use crate::yaml::{self, Node, Value};
use insula_domain::AgentId;
use insula_domain::scan::{Use, scan};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who an agent is where nobody said.
const BUILT_IN_SOUL: &str =
    "You are a capable, honest assistant. Be brief, and say plainly when you do not know.";

/// One agent before it is resolved: its own part over what it inherits.
pub(super) struct Draft {
    pub(super) node: Node,
    soul: Option<Soul>,
    pub(super) instructions: Option<Instructions>,
}

impl Loader<'_> {
    /// What is written of every agent.
    pub(super) fn drafts(&mut self, written: Option<Node>) -> BTreeMap<AgentId, Draft> {
        let mut drafts: BTreeMap<AgentId, Draft> = BTreeMap::new();
        let mut first: BTreeMap<Box<str>, Span> = BTreeMap::new();
        let entries = match written.map(|node| node.value) {
            Some(Value::Map(entries)) => entries,
            _ => Vec::new(),
        };
        for entry in entries {
            let (owner, subject) = agent_part(&entry.key);
            let mut checker = Checker::new(self.report, owner, subject);
            if let Some(earlier) = first.insert(entry.key.clone(), entry.key_span) {
                let found = checker
                    .error(entry.key_span, format!("agent `{}` stands twice", shorten(&entry.key)));
                found.related.push((earlier, "first one".to_owned()));
                found.help = Some("keep one of them".to_owned());
                continue;
            }
            let id = match AgentId::new(&entry.key) {
                Ok(id) => id,
                Err(error) => {
                    checker.error(entry.key_span, error.to_string());
                    continue;
                }
            };
            let node = check_agent(&mut checker, entry.value);
            drafts.insert(id, Draft::of(node));
        }
        for name in self.snapshot.folders.keys() {
            self.folder(&mut drafts, name);
        }
        drafts
    }

    /// Adds what stands in `agents/<name>/`.
    fn folder(&mut self, drafts: &mut BTreeMap<AgentId, Draft>, name: &str) {
        let folder = &self.snapshot.folders[name];
        let file = format!("agents/{name}/agent.yaml");
        let (owner, subject) = agent_part(name);
        let id = match (AgentId::new(name), &folder.config) {
            (Ok(id), _) => id,
            (Err(_), FileState::Absent) => return,
            (Err(error), _) => {
                let source = self.report.sources.add(file, "");
                let found = Diagnostic::error(&owner, Sources::whole(source), error.to_string());
                self.report.push(found.help("rename the folder"));
                return;
            }
        };
        match &folder.config {
            FileState::Absent => {}
            FileState::Unreadable(why) => {
                let source = self.report.sources.add(file.clone(), "");
                let span = Sources::whole(source);
                self.report.push(Diagnostic::error(&owner, span, format!("{file} {why}")));
                drafts.entry(id.clone()).or_insert_with(|| Draft::empty(span));
            }
            FileState::Text(text) => {
                let source = self.report.sources.add(file, text.clone());
                let parsed = yaml::parse(source, text);
                if let Ok(node) = &parsed {
                    self.report.hide_credentials(node);
                }
                let mut checker = Checker::new(self.report, owner.clone(), subject);
                let node = match parsed {
                    Ok(node) => check_agent(&mut checker, node),
                    Err(error) => {
                        let help = error.help.map(str::to_owned);
                        checker.error(error.span, error.message).help = help;
                        Node::empty_map(Sources::whole(source))
                    }
                };
                let node = match drafts.remove(&id) {
                    Some(draft) => join_files(&mut checker, draft.node, node),
                    None => node,
                };
                drafts.insert(id.clone(), Draft::of(node));
            }
        }
        let Some(draft) = drafts.get_mut(&id) else { return };
        let file = format!("agents/{name}/SOUL.md");
        match &folder.soul {
            FileState::Absent => {}
            FileState::Text(text) => {
                draft.soul = Some(Soul { text: text.clone(), origin: file.into() });
            }
            FileState::Unreadable(why) => self.unusable(&owner, &file, why),
        }
        let file = format!("agents/{name}/AGENTS.md");
        match &folder.instructions {
            FileState::Absent => {}
            FileState::Text(text) => {
                draft.instructions =
                    Some(Instructions { text: text.clone(), origin: file.as_str().into() });
                self.look_into(&owner, file, text);
            }
            FileState::Unreadable(why) => self.unusable(&owner, &file, why),
        }
        if let FileState::Unreadable(why) = &folder.boot {
            self.unusable(&owner, &format!("agents/{name}/BOOT.md"), why);
        }
        if let FileState::Unreadable(why) = &folder.mcp {
            self.unusable(&owner, &format!("agents/{name}/mcp.json"), why);
        }
    }

    /// Tells what is odd about instructions. They are the operator's, and hold all the same; but
    /// operators copy such files from elsewhere, and do not see everything that is in them.
    fn look_into(&mut self, owner: &FindingOwner, file: String, text: &Arc<str>) {
        let findings = scan(text, Use::Skill);
        if findings.is_empty() {
            return;
        }
        let span = Sources::whole(self.report.sources.add(file.clone(), ""));
        for found in findings {
            let message = format!("{file} has something that instructions seldom need: {found}");
            let help = "read it with care; it is shown to the model in every turn";
            self.report.push(Diagnostic::warning(owner, span, message).help(help));
        }
    }

    /// A file that can't be used fails whose it is.
    fn unusable(&mut self, owner: &FindingOwner, file: &str, why: &str) {
        let source = self.report.sources.add(file.to_owned(), "");
        let message = format!("{file} {why}");
        self.report.push(Diagnostic::error(owner, Sources::whole(source), message));
    }

    /// Who an agent is that does not say so itself.
    pub(super) fn home_soul(&mut self) -> Soul {
        match &self.snapshot.soul {
            FileState::Text(text) => Soul { text: text.clone(), origin: "SOUL.md".into() },
            FileState::Absent => Soul { text: BUILT_IN_SOUL.into(), origin: "built-in".into() },
            FileState::Unreadable(why) => {
                let id = self.report.sources.add("SOUL.md", "");
                let message = format!("SOUL.md {why}");
                self.report.push(Diagnostic::error(
                    &FindingOwner::Shared,
                    Sources::whole(id),
                    message,
                ));
                Soul { text: "".into(), origin: "SOUL.md".into() }
            }
        }
    }
}

impl Draft {
    fn of(node: Node) -> Self {
        Self { node, soul: None, instructions: None }
    }

    fn empty(span: Span) -> Self {
        Self::of(Node::empty_map(span))
    }
}

fn check_agent(checker: &mut Checker<'_>, mut node: Node) -> Node {
    relocate(checker, &mut node);
    let span = node.span;
    if checker.admit(&Shape::Object(&AGENT), &mut node) { node } else { Node::empty_map(span) }
}

/// Who an agent is.
pub(super) fn soul(report: &LoadReport, draft: &Draft, home: &Soul) -> Soul {
    match (draft.node.get("personality"), &draft.soul) {
        (Some(node), _) => Soul {
            text: node.text().unwrap_or_default().into(),
            origin: report.sources.describe(node.span).to_string().into(),
        },
        (None, Some(soul)) => soul.clone(),
        (None, None) => home.clone(),
    }
}
