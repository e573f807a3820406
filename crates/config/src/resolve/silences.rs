//! What an agent's settings say and will not do, although nothing of it is wrong.

use super::Reader;
use crate::mcp::McpServer;
use crate::shape::quoted;
use crate::yaml::Node;
use insula_domain::tool::Group;
use insula_domain::{Selector, SendGrants, ToolPolicy, ToolTable};

/// Where people are named.
const PEOPLE: [&str; 2] = ["access.allow", "access.admins"];

/// Whether an identity names somebody of Telegram by what they chose to be called. Telegram tells
/// bots a number, and people change what they are called.
pub(crate) fn is_name_on_telegram(identity: &str) -> bool {
    identity.strip_prefix("telegram:").is_some_and(|who| who.starts_with('@'))
}

/// How somebody's number is found.
pub(crate) const THEIR_NUMBER: &str =
    "write their number, as `telegram:12345`; the bot tells it to whoever asks `/whoami`";

impl Reader<'_> {
    /// Tells of all of it.
    pub(super) fn warn_of_silences(
        &mut self,
        tools: (&ToolPolicy, &ToolTable),
        servers: &[McpServer],
        grants: &SendGrants,
    ) {
        self.warn_of_names_on_telegram();
        self.warn_of_servers_outside(tools, servers);
        self.warn_of_places_without_flow(grants);
    }

    fn warn_of_names_on_telegram(&mut self) {
        for path in PEOPLE {
            for node in self.at(path).map(Node::items).unwrap_or_default() {
                let Some(text) = node.text().filter(|text| is_name_on_telegram(text)) else {
                    continue;
                };
                let message = format!("`{text}` is nobody: Telegram tells a number, not a name");
                self.warn(node.span, message, Some(THEIR_NUMBER.to_owned()));
            }
        }
    }

    /// A server of which no tool is let in is connected to for nothing.
    fn warn_of_servers_outside(
        &mut self,
        (policy, table): (&ToolPolicy, &ToolTable),
        servers: &[McpServer],
    ) {
        for server in servers {
            let name = &server.name;
            let concerns = |selector: &Selector| match selector {
                Selector::Mcp(pattern) => pattern.server().is_none_or(|it| it == &**name),
                _ => false,
            };
            let mut lists = policy.allow.iter().flatten().chain(&policy.also_allow);
            // Who takes all of them away means it.
            let all = |it: &Selector| matches!(it, Selector::Group(Group::Mcp)) || concerns(it);
            let is_named = lists.any(concerns) || policy.deny.iter().any(all);
            if is_named || table.verdict(&format!("mcp__{name}__x")).is_in() {
                continue;
            }
            let node = self.at("mcp_servers").and_then(|node| node.get(name));
            let span = node.map_or(self.node.span, |node| node.span);
            let message = format!(
                "MCP server `{name}` is connected and none of its tools is in the profile of agent `{}`",
                self.id
            );
            let help = format!("let them in: `tools: {{also_allow: ['mcp__{name}__*']}}`");
            self.warn(span, message, Some(help));
        }
    }

    fn warn_of_places_without_flow(&mut self, grants: &SendGrants) {
        let leads = |to: &_| grants.flows.iter().any(|flow| flow.to == *to);
        let closed: Vec<String> =
            grants.to.iter().filter(|to| !leads(to)).map(ToString::to_string).collect();
        let Some(span) = self.at("send.to").map(|node| node.span) else { return };
        let Some(first) = closed.first() else { return };
        let places: Vec<&str> = closed.iter().map(String::as_str).collect();
        let message = format!(
            "agent `{}` may send to {} only what was said there: no flow leads to it",
            self.id,
            quoted(&places)
        );
        let help = format!(
            "if words of other chats may go there, say so: `send: {{flows: [{{from: \"telegram:main:12345\", to: \"{first}\"}}]}}`"
        );
        self.warn(span, message, Some(help));
    }
}
