//! Whether and how an agent remembers, out of its settings.

use super::{Reader, SCOPE_VARIABLES};
use crate::agent::{GlobalWrites, MemoryConfig};
use crate::diagnostic::Diagnostic;
use crate::yaml::{Layer, Node};
use insula_domain::expr::Expression;
use insula_domain::{MemoryScope, ScopeRule};

/// How many characters lists of memory have, where nobody says otherwise.
struct MemoryLimits {
    memory: u32,
    user: u32,
    daily: u32,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self { memory: 2_200, user: 1_375, daily: 3_000 }
    }
}

impl Reader<'_> {
    /// How it remembers; `None` where it does not. What is wrong is told all the same.
    pub(super) fn memory(&mut self, is_on: bool) -> Option<MemoryConfig> {
        let also_read = self.expressions("memory.also_read");
        let limits = MemoryLimits::default();
        let embeddings = self.embeddings();
        is_on.then(|| MemoryConfig {
            also_read,
            memory_chars: self.number("memory.limits.memory", limits.memory) as usize,
            user_chars: self.number("memory.limits.user", limits.user) as usize,
            daily: self.at("memory.daily").and_then(Node::bool).unwrap_or(false),
            daily_chars: self.number("memory.limits.daily", limits.daily) as usize,
            global_writes: match self.text("memory.global_writes") {
                Some("deny") => GlobalWrites::Deny,
                Some("allow") => GlobalWrites::Allow,
                _ => GlobalWrites::Approve,
            },
            embeddings,
        })
    }

    /// How scopes are chosen: by name, or by an expression.
    pub(super) fn scope_rule(&mut self) -> ScopeRule {
        let Some(node) = self.at("memory.scope") else { return ScopeRule::default() };
        let text = node.text().unwrap_or_default();
        if let Some(named) = MemoryScope::parse(text) {
            return ScopeRule::Named(named);
        }
        self.scope_expression(node).map(ScopeRule::Expression).unwrap_or_default()
    }

    /// Expressions about scopes.
    fn expressions(&mut self, path: &str) -> Vec<Expression> {
        let nodes = self.nodes(path);
        nodes.iter().filter_map(|node| self.scope_expression(node)).collect()
    }

    /// An expression about scopes; one that is wrong fails the agent.
    fn scope_expression(&mut self, node: &Node) -> Option<Expression> {
        let text = node.text()?;
        let compiled = Expression::compile(text, SCOPE_VARIABLES).map_err(|it| it.to_string());
        let named = compiled.and_then(|expression| match expression.answers_no_name() {
            None => Ok(expression),
            Some(what) => Err(format!("it answers {what}, and must answer a name")),
        });
        match named {
            Ok(expression) => Some(expression),
            Err(error) => {
                let message = format!("`{text}` is no scope: {error}");
                let help = "use `auto`, `topic`, `chat`, `user`, `global`, or an expression over operation, session_id, platform, account, channel_id, topic_id, user_id, agent_id and metadata that answers a name";
                self.failed = true;
                let found = Diagnostic::error(&self.owner, node.span, message);
                self.report.push(found.help(help.to_owned()));
                None
            }
        }
    }

    /// Whether memory is on: as the switch says, or because the tool is listed.
    pub(super) fn memory_switch(&mut self) -> bool {
        let lists = self.nodes("tools.allow").iter().chain(self.nodes("tools.also_allow"));
        let listed = lists.filter(|item| item.text() == Some("memory"));
        // The nearest layer speaks where several list it.
        let listed = listed.min_by_key(|item| item.layer != Layer::Own);
        let Some(memory) = self.at("memory") else { return listed.is_some() };
        let enabled = memory.get("enabled");
        let on = enabled.and_then(Node::bool).unwrap_or(true);
        let switch = enabled.unwrap_or(memory);
        match (listed.map(|item| (item.span, item.layer)), on) {
            (Some((span, layer)), false) if layer == switch.layer => {
                let message =
                    format!("agent `{}` lists the tool `memory` and turns memory off", self.id);
                let help = "remove one of the two".to_owned();
                self.failed = true;
                self.report.push(
                    Diagnostic::error(&self.owner, switch.span, message)
                        .related(span, "listed here")
                        .help(help),
                );
                false
            }
            // Listing the tool in the agent's own part says more than a switch in `defaults`.
            (Some((_, Layer::Own)), false) => true,
            _ => on,
        }
    }
}
