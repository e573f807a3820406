//! Where an agent may send, out of `send`.

use super::Reader;
use crate::yaml::Node;
use insula_domain::{FlowGrant, SendGrants, ToolTable};

/// The tool that sends.
const TOOL: &str = "send_message";

impl Reader<'_> {
    /// What the operator granted. What does not parse was reported by its shape.
    pub(super) fn send_grants(&mut self) -> SendGrants {
        let to = self.nodes("send.to").iter().filter_map(|node| node.text()?.parse().ok());
        let flows = self.nodes("send.flows").iter().filter_map(|node| {
            let text = |key: &str| node.get(key).and_then(Node::text);
            Some(FlowGrant { from: text("from")?.parse().ok()?, to: text("to")?.parse().ok()? })
        });
        SendGrants { to: to.collect(), flows: flows.collect() }
    }

    /// A grant that nothing can use deserves a word, and so does a flow to where nothing goes.
    pub(super) fn warn_of_idle_targets(&mut self, table: &ToolTable, grants: &SendGrants) {
        // A job delivers there without the tool.
        let has_jobs = ["cron", "heartbeat", "boot"].iter().any(|key| self.at(key).is_some());
        if let Some(node) = self.at("send").filter(|_| !has_jobs && !table.verdict(TOOL).is_in()) {
            let message =
                format!("agent `{}` may send somewhere and does not have `{TOOL}`", self.id);
            let help = format!("name it: `tools: {{also_allow: [{TOOL}]}}`");
            self.warn(node.span, message, Some(help));
        }
        for (flow, node) in grants.flows.iter().zip(self.nodes("send.flows")) {
            let is_target = match flow.to.named() {
                Some(place) => grants.to.iter().any(|to| to.has(&place)),
                None => grants.to.contains(&flow.to),
            };
            if !is_target {
                let message = format!(
                    "a flow of agent `{}` leads to `{}`, where it may not send",
                    self.id, flow.to
                );
                self.warn(node.span, message, Some("name the place under `send.to`".to_owned()));
            }
        }
    }
}
