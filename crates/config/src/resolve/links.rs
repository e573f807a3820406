//! Which agents an agent may ask, tell or hand conversations to, out of `links`.

use super::Reader;
use crate::budget::limits;
use crate::rules;
use crate::yaml::Node;
use insula_domain::link::{LINK_DEPTH, LINK_TIMEOUT_MS};
use insula_domain::{AgentId, Link, LinkKind, Links, ToolTable};

/// What has a meaning for some links only.
const BOUNDS: [(&str, &[LinkKind]); 3] = [
    ("timeout", &[LinkKind::Ask]),
    ("max_depth", &[LinkKind::Ask, LinkKind::Notify]),
    ("budget", &[LinkKind::Ask, LinkKind::Notify]),
];

fn kind_of(link: &Node) -> LinkKind {
    link.get("as").and_then(Node::text).and_then(LinkKind::parse).unwrap_or(LinkKind::Ask)
}

impl Reader<'_> {
    pub(super) fn links(&mut self) -> Links {
        let mut links: Vec<Link> = Vec::new();
        for node in self.nodes("links") {
            let Some(to) = node.get("to") else { continue };
            let Some(target) = to.text().and_then(|text| AgentId::new(text).ok()) else { continue };
            let kind = kind_of(node);
            for (key, kinds) in BOUNDS {
                if let Some(bound) = node.get(key).filter(|_| !kinds.contains(&kind)) {
                    let message = format!("`{key}` has no meaning for a link `as: {kind}`");
                    let help = "remove it, or make it a link `as: ask`".to_owned();
                    self.error(bound.span, message, Some(help));
                }
            }
            if target == *self.id {
                let message = format!("agent `{}` is linked to itself", self.id);
                self.error(to.span, message, Some("remove the link".to_owned()));
            } else if !self.around.agents.contains(&target) {
                let near = self.around.nearest_agent(self.report, &target);
                let message =
                    format!("agent `{}` is linked to `{target}`, which does not exist", self.id);
                self.error(to.span, message, near.map(|name| format!("did you mean `{name}`?")));
            } else if links.iter().any(|it| it.to == target && it.kind == kind) {
                let message = format!(
                    "agent `{}` is linked to `{target}` twice, both times to {kind}",
                    self.id
                );
                self.error(to.span, message, Some("keep one of them".to_owned()));
            } else {
                links.push(link(target, kind, node));
            }
        }
        Links::new(links)
    }

    /// A link that no tool goes by deserves a word.
    pub(super) fn warn_of_idle_links(&mut self, table: &ToolTable, links: &Links) {
        for node in self.nodes("links") {
            let kind = kind_of(node);
            let tool = kind.tool();
            if links.of(kind).next().is_none() || table.verdict(tool).is_in() {
                continue;
            }
            let message = format!(
                "agent `{}` has a link `as: {kind}` and does not have `{tool}`, which goes by it",
                self.id
            );
            let help = format!("name it: `tools: {{also_allow: [{tool}]}}`");
            self.warn(node.span, message, Some(help));
        }
    }
}

fn link(to: AgentId, kind: LinkKind, node: &Node) -> Link {
    let timeout = node.get("timeout").and_then(Node::text).and_then(rules::duration);
    let depth = node.get("max_depth").and_then(Node::integer);
    let carry = node.get("carry").map(Node::items).unwrap_or_default();
    Link {
        to,
        kind,
        timeout_ms: timeout
            .and_then(|it| u64::try_from(it.as_millis()).ok())
            .unwrap_or(LINK_TIMEOUT_MS),
        max_depth: depth.and_then(|it| u32::try_from(it).ok()).unwrap_or(LINK_DEPTH),
        budget: limits(node.get("budget")),
        carry: carry.iter().filter_map(|it| it.text()?.parse().ok()).collect(),
    }
}
