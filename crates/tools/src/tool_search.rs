//! `tool_search`: finds tools whose descriptions would be too much for every prompt.
//!
//! What it finds can be called from then on in the conversation. Which those are stands in
//! its results, so the transcript alone says what a prompt shows (rule 10), also after a
//! crash.

use crate::{Cleared, Hands, Output, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Tools that one search gives.
const HITS_MAX: usize = 8;
/// How much of a description is repeated, in characters; the rest comes with the tool.
const SAID_CHARS_MAX: usize = 200;
/// Longest query, in characters.
const QUERY_CHARS_MAX: usize = 500;
/// What the line of a found tool begins with.
const MARK: &str = "### ";

/// The search over one agent's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSearch {
    description: String,
    /// Name, description, and the words of both.
    tools: Vec<(String, String, BTreeSet<String>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
}

impl ToolSearch {
    /// A search over these tools, by name and description.
    pub fn new<'t>(tools: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let entry = |(name, said): (&str, &str)| {
            let words = words(name).chain(words(said)).collect();
            (name.to_owned(), said.to_owned(), words)
        };
        let tools: Vec<_> = tools.into_iter().map(entry).collect();
        let servers: BTreeSet<&str> =
            tools.iter().filter_map(|(name, ..)| name.split("__").nth(1)).collect();
        let servers: Vec<&str> = servers.into_iter().collect();
        let description = format!(
            "Find tools of these MCP servers by words or by name: {}. {} tools are there; what is found can be called from then on.",
            servers.join(", "),
            tools.len()
        );
        Self { description, tools }
    }

    /// The best matches: those named outright, then by how many words of the query they have,
    /// a word of the name counting more; the same query always gives the same.
    fn hits(&self, query: &str) -> Vec<&(String, String, BTreeSet<String>)> {
        let wanted: BTreeSet<String> = words(query).collect();
        let named: BTreeSet<&str> =
            query.split(|it: char| it.is_whitespace() || it == ',').collect();
        let score = |(name, _, has): &(String, String, BTreeSet<String>)| {
            let own: BTreeSet<String> = words(name).collect();
            let found = wanted.intersection(has).count() + 2 * wanted.intersection(&own).count();
            found + if named.contains(name.as_str()) { 1_000 } else { 0 }
        };
        let mut hits: Vec<_> = self
            .tools
            .iter()
            .map(|tool| (score(tool), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        hits.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.0.cmp(&other.0)));
        hits.into_iter().take(HITS_MAX).map(|(_, tool)| tool).collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|it: char| !it.is_alphanumeric())
        .filter(|word| word.len() > 1 && *word != "mcp")
        .map(str::to_lowercase)
}

#[async_trait]
impl Tool for ToolSearch {
    fn name(&self) -> &str {
        "tool_search"
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}"#
    }

    async fn run(&self, _: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { query } = arguments(value)?;
        if query.chars().count() > QUERY_CHARS_MAX {
            let what = format!("a query has at most {QUERY_CHARS_MAX} characters");
            return Err(ToolError::Arguments(what));
        }
        let hits = self.hits(&query);
        if hits.is_empty() {
            let text = "No tool matches; try other words, or the name of a server.";
            return Ok(Output::Text(text.to_owned()));
        }
        let mut text = "These can be called from now on:".to_owned();
        for (name, said, _) in hits {
            let said: String = said
                .chars()
                .map(|it| if it == '\n' { ' ' } else { it })
                .take(SAID_CHARS_MAX)
                .collect();
            text.push_str(&format!("\n{MARK}{name}\n{said}"));
        }
        Ok(Output::Text(text))
    }
}

/// The tools that a result of the search names, in order.
pub fn found(result: &str) -> impl Iterator<Item = &str> {
    result.lines().filter_map(|line| line.strip_prefix(MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> ToolSearch {
        ToolSearch::new([
            ("mcp__git__create_issue", "Opens an issue.\n### mcp__git__nothing"),
            ("mcp__git__list_issues", "Lists all issues of a repository"),
            ("mcp__mail__send", "Sends a message about an issue"),
        ])
    }

    fn names(query: &str) -> Vec<String> {
        search().hits(query).into_iter().map(|(name, ..)| name.clone()).collect()
    }

    #[test]
    fn words_of_the_name_count_more_and_a_name_most() {
        assert_eq!(names("create issue")[0], "mcp__git__create_issue");
        assert_eq!(names("issue"), ["mcp__git__create_issue", "mcp__mail__send"]);
        assert_eq!(names("mcp__mail__send, mcp__git__list_issues").len(), 3);
        assert!(names("weather").is_empty() && names("").is_empty());
    }

    #[test]
    fn a_description_can_not_pass_for_a_line_of_the_result() {
        let text = "These can be called from now on:\n### mcp__a__b\nfine ### mcp__c__d";
        assert_eq!(found(text).collect::<Vec<_>>(), ["mcp__a__b"]);
    }
}
