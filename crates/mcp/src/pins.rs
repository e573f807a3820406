//! What is known of the tools of an agent's servers, kept so that its tool table stands
//! before any server runs and does not change under anybody's hands.
//!
//! The first list of a server is taken as it is, but for what the scanner finds. After that a
//! tool that is new or described otherwise waits for an operator, or is shown and reported,
//! as configured. A pin is of one description: when that changes, what an operator said about
//! the one before holds no longer. Whether the tool is said to only read belongs to it: else a
//! server could first offer what acts, and call it harmless once it is in use.

use crate::name::full_name;
use crate::offer::{Offer, TOOLS_MAX, mark};
use crate::server::{Beside, Prompt, PromptArgument};
use insula_domain::scan::{Use, scan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The form of the text.
const VERSION: u32 = 1;

/// What is known of all servers of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins {
    /// By the server's name.
    pub servers: BTreeMap<String, ServerPins>,
}

/// What is known of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPins {
    /// Which server this was learnt from: what was run or asked.
    pub identity: String,
    /// By the name the server gives a tool.
    pub tools: BTreeMap<String, Pinned>,
    /// Whether it has resources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resources: bool,
    /// What people can choose, by the name the server gives it. No model is shown these words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, PinnedPrompt>,
}

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedPrompt {
    /// What the server says that it is for.
    pub description: String,
    pub arguments: Vec<PinnedArgument>,
}

/// What a prompt is filled with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedArgument {
    pub name: String,
    pub description: String,
    pub is_needed: bool,
}

impl From<Prompt> for PinnedPrompt {
    fn from(prompt: Prompt) -> Self {
        let argument = |it: PromptArgument| PinnedArgument {
            name: it.name,
            description: it.description,
            is_needed: it.is_needed,
        };
        let arguments = prompt.arguments.into_iter().map(argument).collect();
        Self { description: prompt.description, arguments }
    }
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// What the server says that it is for.
    pub description: String,
    /// The JSON schema of its arguments, as JSON text.
    pub parameters: String,
    /// Whether the server says that it changes nothing. `None` was pinned before anybody asked:
    /// the first to say something about it is taken at its word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_reads: Option<bool>,
    /// Whether a model may be shown it.
    pub standing: Standing,
    /// Whether an operator has looked at it as it is. What nobody looked at may be shown, and its
    /// words are the server's all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked_at: bool,
    /// Whether the server had it when last asked.
    pub offered: bool,
}

impl Pinned {
    /// Tells two descriptions apart.
    pub fn mark(&self) -> blake3::Hash {
        mark(&self.description, &self.parameters, self.claims_to_read())
    }

    /// Whether the server says that it changes nothing.
    pub fn claims_to_read(&self) -> bool {
        self.only_reads == Some(true)
    }

    /// Whether that counts: the first list is taken at its word, and what was said later when an
    /// operator has looked at it, also where the tool is shown meanwhile.
    pub fn only_reads(&self) -> bool {
        self.claims_to_read() && self.standing == Standing::Shown
    }

    fn is_described_as(&self, offer: &Offer) -> bool {
        let only_reads = self.only_reads.unwrap_or(offer.only_reads);
        mark(&self.description, &self.parameters, only_reads) == offer.mark()
    }
}

/// Whether a model may be shown a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It may.
    Shown,
    /// It came later than the first list; an operator has not looked at it yet.
    New,
    /// It is described otherwise than before; an operator has not looked at it yet.
    Changed,
    /// It reads as if it wanted to steer whoever reads it.
    Suspect(String),
    /// It can't be used.
    Unfit(String),
}

/// The text can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("mcp.json can't be read: {0}; delete it to have the servers asked anew")]
pub struct PinsError(String);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    servers: BTreeMap<String, ServerPins>,
}

impl Pins {
    /// Reads the text.
    pub fn parse(text: &str) -> Result<Self, PinsError> {
        let written: Written =
            serde_json::from_str(text).map_err(|error| PinsError(error.to_string()))?;
        if written.version != VERSION {
            return Err(PinsError(format!("it has version {}, not {VERSION}", written.version)));
        }
        Ok(Self { servers: written.servers })
    }

    pub fn to_text(&self) -> String {
        let written = Written { version: VERSION, servers: self.servers.clone() };
        // A map of texts has a form in JSON.
        let text = serde_json::to_string_pretty(&written).unwrap_or_default();
        format!("{text}\n")
    }
}

/// What is different about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChange {
    /// The name the server gives it.
    pub tool: String,
    pub kind: ToolChangeKind,
}

/// What is different about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChangeKind {
    /// It is new.
    Added,
    /// It is described otherwise.
    Changed,
    /// It is gone.
    Removed,
    /// It may not be shown.
    Hidden(String),
}

impl fmt::Display for ToolChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added => f.write_str("added"),
            Self::Changed => f.write_str("described otherwise"),
            Self::Removed => f.write_str("removed"),
            Self::Hidden(why) => write!(f, "hidden: {why}"),
        }
    }
}

/// What is known of the server called `server` after it offered these tools.
/// `identity` says what was run or asked; what was known of another is forgotten.
pub fn revise(
    before: Option<&ServerPins>,
    server: &str,
    identity: &str,
    offers: Vec<Offer>,
) -> (ServerPins, Vec<ToolChange>) {
    let before = before.filter(|before| before.identity == identity);
    let mut names: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for offer in &offers {
        *names.entry(full_name(server, &offer.name)).or_default() += 1;
    }
    let mut changes = Vec::new();
    let mut tools = BTreeMap::new();
    for offer in offers.into_iter().take(TOOLS_MAX) {
        let name = full_name(server, &offer.name);
        let known = before.and_then(|before| before.tools.get(&offer.name));
        let same = known.filter(|known| known.is_described_as(&offer));
        let unfit = match (&offer.unfit, &name) {
            (Some(why), _) => Some(why.clone()),
            (None, None) => Some("no model could call it by its name".to_owned()),
            (None, Some(_)) if names.get(&name) > Some(&1) => {
                Some("another tool of the server comes to the same name".to_owned())
            }
            _ => None,
        };
        let standing = match (unfit, same, known) {
            (Some(why), ..) => Standing::Unfit(why),
            (None, Some(same), _) if !matches!(same.standing, Standing::Unfit(_)) => {
                same.standing.clone()
            }
            (None, _, Some(_)) => suspect(&offer).unwrap_or(Standing::Changed),
            (None, _, None) if before.is_some() => suspect(&offer).unwrap_or(Standing::New),
            (None, _, None) => suspect(&offer).unwrap_or(Standing::Shown),
        };
        let is_news = known.is_none_or(|known| known.standing != standing || same.is_none());
        match &standing {
            Standing::Suspect(why) | Standing::Unfit(why) if is_news => {
                let kind = ToolChangeKind::Hidden(why.clone());
                changes.push(ToolChange { tool: offer.name.clone(), kind });
            }
            _ if before.is_some() && known.is_none_or(|known| !known.offered) => {
                changes.push(ToolChange { tool: offer.name.clone(), kind: ToolChangeKind::Added });
            }
            _ if before.is_some() && same.is_none() => {
                changes
                    .push(ToolChange { tool: offer.name.clone(), kind: ToolChangeKind::Changed });
            }
            _ => {}
        }
        // The words stay as they were while they mean the same: a prompt is made of them.
        let (description, parameters) = match same {
            Some(same) => (same.description.clone(), same.parameters.clone()),
            None => (offer.description, offer.parameters),
        };
        let only_reads = Some(offer.only_reads);
        let looked_at = same.is_some_and(|same| same.looked_at);
        let pinned =
            Pinned { description, parameters, only_reads, standing, looked_at, offered: true };
        tools.insert(offer.name, pinned);
    }
    for (name, known) in before.iter().flat_map(|before| &before.tools) {
        if tools.contains_key(name) || tools.len() >= TOOLS_MAX {
            continue;
        }
        if known.offered {
            changes.push(ToolChange { tool: name.clone(), kind: ToolChangeKind::Removed });
        }
        tools.insert(name.clone(), Pinned { offered: false, ..known.clone() });
    }
    let after = ServerPins { identity: identity.to_owned(), tools, ..ServerPins::default() };
    (after, changes)
}

/// What the scanner has against it.
fn suspect(offer: &Offer) -> Option<Standing> {
    let name = scan(&offer.name, Use::ToolDescription);
    let said = scan(&offer.description, Use::ToolDescription);
    let schema = scan(&texts(&offer.parameters), Use::ToolDescription);
    let found = name.iter().chain(&said).chain(&schema).next()?;
    Some(Standing::Suspect(format!("{}: {}", found.category.as_str(), found.what)))
}

/// All words of a schema, as they read without the marks of JSON: an escape must not hide
/// what it stands for.
fn texts(schema: &str) -> String {
    fn collect(value: &serde_json::Value, out: &mut String) {
        match value {
            serde_json::Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
            serde_json::Value::Object(members) => {
                for (name, member) in members {
                    out.push_str(name);
                    out.push('\n');
                    collect(member, out);
                }
            }
            _ => {}
        }
    }
    let mut out = String::new();
    match serde_json::from_str(schema) {
        Ok(value) => collect(&value, &mut out),
        Err(_) => out.push_str(schema),
    }
    out
}

impl ServerPins {
    /// Takes in what the server has beside its tools.
    pub fn with(mut self, beside: Beside) -> Self {
        self.resources = beside.has_resources;
        self.prompts = beside.prompts.into_iter().map(|it| (it.name.clone(), it.into())).collect();
        self
    }

    /// An operator has looked: at all that waits or is shown, or at one tool, whatever stood
    /// against it but that it can't be used. The tools it concerned.
    pub fn approve(&mut self, only: Option<&str>) -> Vec<String> {
        let mut approved = Vec::new();
        for (name, pinned) in &mut self.tools {
            let waits = match (&pinned.standing, only) {
                (Standing::New | Standing::Changed, None) => true,
                (Standing::New | Standing::Changed | Standing::Suspect(_), Some(only)) => {
                    only == name
                }
                (Standing::Shown, only) => {
                    !pinned.looked_at && only.is_none_or(|only| only == name)
                }
                _ => false,
            };
            if waits {
                pinned.standing = Standing::Shown;
                pinned.looked_at = true;
                approved.push(name.clone());
            }
        }
        approved
    }
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
