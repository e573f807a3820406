//! The tool policy of an agent, and a word about tools that were named and are not there.

use super::Reader;
use insula_domain::{
    Backend, Boundary, PUBLIC_WEB, Profile, Rule, Selector, ToolPolicy, ToolTable, ToolVerdict,
};

/// The tool that reads pages.
const READER: &str = "web_extract";
/// A search that needs no key, as an example.
const SEARCH: &str = "{search: {provider: searxng, base_url: \"http://localhost:8888\"}}";
/// A maker of pictures, as an example.
const IMAGES: &str = "{model: openai/gpt-image-1}";

impl Reader<'_> {
    fn selectors(&mut self, path: &str) -> Vec<Selector> {
        let mut selectors = Vec::new();
        for node in self.nodes(path) {
            let Some(selector) = node.text().and_then(|text| Selector::parse(text).ok()) else {
                continue;
            };
            if let (Selector::Tool(tool), true) = (&selector, path != "tools.deny")
                && let Backend::Missing(why) = tool.backend
            {
                let message =
                    format!("tool `{}` of agent `{}` is not available: {why}", tool.name, self.id);
                self.warn(node.span, message, Some("the agent runs without it".to_owned()));
            }
            selectors.push(selector);
        }
        selectors
    }

    /// A tool that was asked for by name and is not there deserves a word.
    pub(super) fn warn_of_impossible_tools(&mut self, table: &ToolTable) {
        if self.failed {
            return;
        }
        for path in ["tools.allow", "tools.also_allow"] {
            for node in self.nodes(path) {
                let named = node.text().and_then(|text| Selector::parse(text).ok());
                let Some(Selector::Tool(tool)) = named else { continue };
                let rule = match table.verdict(tool.name) {
                    ToolVerdict::Out(rule) => rule,
                    ToolVerdict::In(_) => continue,
                };
                if matches!(
                    rule,
                    Rule::MemoryOff
                        | Rule::NoBoard
                        | Rule::NoLink
                        | Rule::NoTarget
                        | Rule::NoMcpServer
                        | Rule::NoSearch
                        | Rule::NoImages
                ) {
                    let message = format!(
                        "agent `{}` names the tool `{}` and does not have it: {rule}",
                        self.id, tool.name
                    );
                    let help = match rule {
                        Rule::NoSearch => self.mended_by("web", SEARCH, "docs/web.md"),
                        Rule::NoImages => self.mended_by("images", IMAGES, "docs/images.md"),
                        _ => "the agent runs without it".to_owned(),
                    };
                    self.warn(node.span, message, Some(help));
                }
            }
        }
    }

    /// A tool that reads pages and may read none.
    pub(super) fn warn_of_nothing_to_read(&mut self, boundary: &Boundary) {
        if self.failed || !boundary.network.is_none() {
            return;
        }
        for path in ["tools.allow", "tools.also_allow"] {
            for node in self.nodes(path) {
                let is_reader = node.text() == Some(READER);
                if !is_reader || !boundary.tools.verdict(READER).is_in() {
                    continue;
                }
                let message =
                    format!("agent `{}` has the tool `{READER}` and reaches no host", self.id);
                let help = format!(
                    "`insula agents set {} network {PUBLIC_WEB}` lets it read the public web, and no private address; or name hosts under its `network`",
                    self.id
                );
                self.warn(node.span, message, Some(help));
            }
        }
    }

    /// The command that names what a tool works with.
    fn mended_by(&self, key: &str, value: &str, page: &str) -> String {
        format!(
            "the agent runs without it; `insula agents set {} {key} '{value}'` names one ({page})",
            self.id
        )
    }

    pub(super) fn tools(&mut self) -> ToolPolicy {
        ToolPolicy {
            profile: self.text("tools.profile").and_then(Profile::parse),
            also_allow: self.selectors("tools.also_allow"),
            allow: self.at("tools.allow").is_some().then(|| self.selectors("tools.allow")),
            deny: self.selectors("tools.deny"),
        }
    }
}
