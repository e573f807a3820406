//! Credentials that are added to requests on their way out, out of `network.credentials`.

use super::{Reader, switch};
use crate::rules::{Reference, references};
use crate::yaml::Node;
use insula_domain::{HostCredential, HostPattern, NetworkGrants};
use std::collections::BTreeSet;

impl Reader<'_> {
    /// What is written there, as far as it holds: for hosts within the grants, of secrets that
    /// were granted. Everything else is an error with its place.
    pub(super) fn credentials(&mut self, network: &NetworkGrants) -> Vec<HostCredential> {
        self.nodes("network.credentials")
            .iter()
            .filter_map(|node| self.credential(node, network))
            .collect()
    }

    fn credential(&mut self, node: &Node, network: &NetworkGrants) -> Option<HostCredential> {
        let (host, value) = (node.get("host")?, node.get("value")?);
        let pattern = HostPattern::parse(host.text()?).ok()?;
        let header = node.get("header")?.text()?;
        let text = value.text()?;
        if pattern.is_public_web() {
            let message =
                format!("a credential of agent `{}` would go to everybody on the web", self.id);
            let help = "name the host that it is for".to_owned();
            self.error(host.span, message, Some(help));
        }
        if !network.covers(&pattern) {
            let message = format!(
                "agent `{}` has a credential for `{pattern}`, which it does not reach",
                self.id
            );
            let help = format!("add `{pattern}` under its `network.allow`, with the same port");
            self.error(host.span, message, Some(help));
        }
        let mut secrets = BTreeSet::new();
        // A reference that can't be read is an error of its own.
        for reference in references(text).ok()? {
            if let Reference::Secret(name) = reference {
                secrets.insert(Box::from(name));
            }
        }
        if secrets.is_empty() {
            let message =
                format!("the credential of agent `{}` for `{pattern}` names no secret", self.id);
            let help = "write `${secret:NAME}` where the secret belongs, and set it with `insula secret set`";
            self.conceal_error(value.span, message, help);
        }
        for name in &secrets {
            if !self.nodes("secrets").iter().any(|granted| granted.text() == Some(name)) {
                let message = format!(
                    "a credential of agent `{}` needs secret `{name}`, which it was not granted",
                    self.id
                );
                self.error(value.span, message, Some("add it under its `secrets`".to_owned()));
            }
        }
        Some(HostCredential {
            host: pattern,
            header: header.to_ascii_lowercase().into(),
            value: text.into(),
            secrets,
            plain_http: switch(node.get("plain_http").and_then(Node::bool).unwrap_or(false)),
        })
    }
}
