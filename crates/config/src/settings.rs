//! Settings as they were resolved, each with its origin.

use crate::sensitive::{HIDDEN, is_sensitive, only_refers};
use crate::source::Sources;
use crate::yaml::{Layer, Node, Value};
use serde_json::Value as Json;
use std::fmt;
use std::sync::Arc;

/// One setting of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its name, parts joined by dots: `memory.scope`.
    pub path: Box<str>,
    pub value: Json,
    /// Where it was written.
    pub origin: SettingOrigin,
}

impl Setting {
    /// The value as people may see it: what might be a credential is left out.
    pub fn shown(&self) -> Json {
        let refers = self.value.as_str().is_some_and(only_refers);
        if is_sensitive(&self.path) && !refers { Json::from(HIDDEN) } else { self.value.clone() }
    }
}

/// Where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingOrigin {
    /// The file, below the home.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    pub layer: Layer,
}

impl SettingOrigin {
    /// The file and the layer, for whoever may know about one agent only: lines move with what
    /// others wrote.
    pub fn in_general(&self) -> String {
        format!("{}{}", self.file, self.of_layer())
    }

    fn of_layer(&self) -> &'static str {
        match self.layer {
            Layer::Own => "",
            Layer::Defaults => " (defaults)",
            Layer::TopLevel => " (top level)",
            Layer::Policy => " (policy)",
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}{}", self.file, self.line, self.column, self.of_layer())
    }
}

/// Every leaf of `node`, sorted by path.
pub fn flatten(node: &Node, sources: &Sources) -> Box<[Setting]> {
    let mut settings = Vec::new();
    collect(node, String::new(), sources, &mut settings);
    settings.sort_by(|a: &Setting, b| a.path.cmp(&b.path));
    settings.into_boxed_slice()
}

fn collect(node: &Node, path: String, sources: &Sources, settings: &mut Vec<Setting>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() || path.is_empty() => {
            for entry in entries {
                let path = if path.is_empty() {
                    entry.key.to_string()
                } else {
                    format!("{path}.{}", entry.key)
                };
                collect(&entry.value, path, sources, settings);
            }
        }
        _ => settings.push(Setting {
            path: path.into(),
            value: to_json(node),
            origin: SettingOrigin {
                file: sources.get(node.span.source).name.clone(),
                line: node.span.line,
                column: node.span.column,
                layer: node.layer,
            },
        }),
    }
}

/// A value as JSON: numbers and booleans where they were written without quotes, and in the
/// one way that reads back as the same text, because `007` and `1.50` may be names.
pub fn to_json(node: &Node) -> Json {
    match &node.value {
        Value::Scalar { .. } if node.is_null() => Json::Null,
        Value::Scalar { text, .. } => {
            let plain_text = || text.replace('_', "");
            if let Some(flag) = node.bool() {
                Json::from(flag)
            } else if let Some(number) = node.integer().filter(|n| n.to_string() == plain_text()) {
                Json::from(number)
            } else if let Some(number) = node.number().filter(|n| n.to_string() == plain_text()) {
                Json::from(number)
            } else {
                Json::from(&**text)
            }
        }
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => Json::Object(
            entries.iter().map(|entry| (entry.key.to_string(), to_json(&entry.value))).collect(),
        ),
    }
}
