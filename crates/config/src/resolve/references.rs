//! What an agent's settings refer to outside of them: secrets, and never the environment.

use super::Reader;
use crate::diagnostic::Diagnostic;
use crate::rules::{Reference, references};
use crate::sensitive::looks_like_credential;
use crate::source::Span;
use crate::yaml::{Layer, Node, Value};

impl Reader<'_> {
    /// `${secret:…}` is fine anywhere, `${env:…}` belongs to the shared part.
    pub(super) fn check_references(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { text, .. } => match references(text) {
                Ok(found) => {
                    if found.is_empty() && looks_like_credential(text) {
                        let message = format!(
                            "what looks like a credential of agent `{}` stands in the file",
                            self.id
                        );
                        let found = Diagnostic::warning(&self.owner, node.span, message);
                        self.report.push(found.help("write `${secret:NAME}` instead").conceal());
                    }
                    for reference in found {
                        self.check_reference(node, reference);
                    }
                }
                // A personality may well contain a `${`; only settings that refer fail.
                Err(_) if node.text() == self.text("personality") => {}
                Err(problem) => self.error(node.span, problem, None),
            },
            Value::List(items) => items.iter().for_each(|item| self.check_references(item)),
            Value::Map(entries) => {
                for entry in entries {
                    match std::ptr::eq(node, self.node) && &*entry.key == "providers" {
                        true => self.check_keys(&entry.value),
                        false => self.check_references(&entry.value),
                    }
                }
            }
        }
    }

    /// The same for what its providers are sent. The daemon alone sends that, so the agent needs
    /// no grant for it, which would show it to programs.
    fn check_keys(&mut self, node: &Node) {
        match &node.value {
            Value::Scalar { text, .. } => match references(text) {
                Ok(found) => {
                    for reference in found {
                        match reference {
                            Reference::Secret(name) => self.missing_secret(node.span, name),
                            Reference::Env(_) => self.check_reference(node, reference),
                        }
                    }
                }
                Err(problem) => self.error(node.span, problem, None),
            },
            Value::List(items) => items.iter().for_each(|item| self.check_keys(item)),
            Value::Map(entries) => {
                entries.iter().for_each(|entry| self.check_keys(&entry.value));
            }
        }
    }

    fn check_reference(&mut self, node: &Node, reference: Reference<'_>) {
        match reference {
            Reference::Secret(name) => {
                if !self.nodes("secrets").iter().any(|granted| granted.text() == Some(name)) {
                    let message = format!(
                        "agent `{}` refers to secret `{name}` and was not granted it",
                        self.id
                    );
                    self.warn(node.span, message, Some("add it under its `secrets`".to_owned()));
                }
                self.missing_secret(node.span, name);
            }
            Reference::Env(_) if node.layer == Layer::Own => {
                let message = format!("agent `{}` may not read the daemon's environment", self.id);
                let help = "use `${secret:NAME}`, or write the value in `providers` or `channels`";
                self.error(node.span, message, Some(help.to_owned()));
            }
            Reference::Env(_) => {
                let message = "`${env:…}` in `defaults` would reach every agent".to_owned();
                self.error(node.span, message, Some("use `${secret:NAME}`".to_owned()));
            }
        }
    }

    pub(super) fn missing_secret(&mut self, span: Span, name: &str) {
        let message = format!("secret `{name}` of agent `{}` is not set", self.id);
        let help = format!("set it with `insula secret set {} {name}`", self.id);
        let found = Diagnostic::warning(&self.owner, span, message);
        self.report.push(found.help(help).unless_set(name));
    }
}
