//! The MCP servers of an agent, checked.

use super::Reader;
use crate::mcp::{CONNECT_TIMEOUT, IDLE, McpSends, McpServer, McpWay, OnChange, TIMEOUT};
use crate::rules;
use crate::yaml::{MapEntry, Node};
use insula_domain::host::{Scheme, parse_authority};
use insula_domain::selector::is_mcp_server_name;
use insula_domain::{NetworkGrants, Selector, ToolPolicy};
use std::collections::BTreeMap;

impl Reader<'_> {
    pub(super) fn mcp_servers(&mut self, tools: &ToolPolicy) -> Vec<McpServer> {
        let mut servers = Vec::new();
        for entry in self.at("mcp_servers").map(Node::entries).unwrap_or_default() {
            let name = &entry.key;
            if !is_mcp_server_name(name) {
                let message = format!("`{name}` can't be the name of an MCP server");
                let help = "its tools are called `mcp__<name>__<tool>`: use letters, digits, `-` and single `_`";
                self.error(entry.key_span, message, Some(help.to_owned()));
            }
            let server = &entry.value;
            match (server.get("command"), server.get("url")) {
                (Some(_), Some(url)) => {
                    let message = format!("MCP server `{name}` has both `command` and `url`");
                    self.error(url.span, message, Some("keep one of them".to_owned()));
                }
                (None, None) if !self.has_error_within(server.span) => {
                    let message = format!("MCP server `{name}` needs `command` or `url`");
                    self.error(entry.key_span, message, None);
                }
                _ => {}
            }
            if server.get("enabled").and_then(Node::bool) != Some(false) {
                servers.extend(read(entry));
            }
        }
        self.warn_of_unknown_servers(tools, &servers);
        servers
    }

    /// A server that the agent's boundary keeps it from would fail at its first use.
    pub(super) fn warn_of_unreachable_servers(
        &mut self,
        servers: &[McpServer],
        network: &NetworkGrants,
    ) {
        for server in servers {
            let McpWay::Http { url, .. } = &server.way else { continue };
            let (scheme, rest) = match url.split_once("://") {
                Some(("https", rest)) => (Scheme::Https, rest),
                Some(("http", rest)) => (Scheme::Http, rest),
                _ => continue,
            };
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let Ok((host, port)) = parse_authority(authority) else { continue };
            let port = port.unwrap_or(scheme.default_port());
            if network.reaches(&host, port, scheme).is_some() {
                continue;
            }
            let span = self.at("mcp_servers").and_then(|node| node.get(&server.name)?.get("url"));
            let span = span.map_or(self.node.span, |node| node.span);
            let message = format!(
                "MCP server `{}` is at `{authority}`, which agent `{}` may not reach",
                server.name, self.id
            );
            self.warn(span, message, Some("add it under `network.allow`".to_owned()));
        }
    }

    fn warn_of_unknown_servers(&mut self, tools: &ToolPolicy, servers: &[McpServer]) {
        let named = tools.allow.iter().flatten().chain(&tools.also_allow);
        for selector in named {
            if let Selector::Mcp(pattern) = selector
                && let Some(server) = pattern.server()
                && !servers.iter().any(|known| &*known.name == server)
            {
                let text = pattern.to_string();
                let lists = self.nodes("tools.allow").iter().chain(self.nodes("tools.also_allow"));
                let item = lists.into_iter().find(|item| item.text() == Some(&text));
                let span = item.map_or(self.node.span, |item| item.span);
                let message = format!(
                    "`{pattern}` names an MCP server that agent `{}` does not have",
                    self.id
                );
                self.warn(span, message, Some(format!("add `{server}` under `mcp_servers`")));
            }
        }
    }
}

fn read(entry: &MapEntry) -> Option<McpServer> {
    let server = &entry.value;
    let texts = |node: Option<&Node>| -> Option<Vec<Box<str>>> {
        Some(node?.items().iter().filter_map(|item| Some(item.text()?.into())).collect())
    };
    let map = |key: &str| -> BTreeMap<Box<str>, Box<str>> {
        let entries = server.get(key).map(Node::entries).unwrap_or_default();
        let pairs = entries.iter().filter_map(|e| Some((e.key.clone(), e.value.text()?.into())));
        pairs.collect()
    };
    let time = |key: &str| server.get(key).and_then(Node::text).and_then(rules::duration);
    let way = match (server.get("command"), server.get("url")) {
        (Some(command), None) => McpWay::Program {
            command: command.text()?.into(),
            args: texts(server.get("args")).unwrap_or_default(),
            env: map("env"),
        },
        (None, Some(url)) => McpWay::Http { url: url.text()?.into(), headers: map("headers") },
        _ => return None,
    };
    let tools = server.get("tools");
    Some(McpServer {
        name: entry.key.clone(),
        way,
        timeout: time("timeout").unwrap_or(TIMEOUT),
        connect_timeout: time("connect_timeout").unwrap_or(CONNECT_TIMEOUT),
        idle: time("idle").unwrap_or(IDLE),
        include: texts(tools.and_then(|tools| tools.get("include"))),
        exclude: texts(tools.and_then(|tools| tools.get("exclude"))).unwrap_or_default(),
        sends: match server.get("sends").and_then(Node::bool) {
            Some(false) => McpSends::No,
            _ => McpSends::Yes,
        },
        on_change: match server.get("on_change").and_then(Node::text) {
            Some("report") => OnChange::Report,
            _ => OnChange::Approve,
        },
    })
}
