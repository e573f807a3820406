//! What a way in (a binding, an account or a token) takes away from the agents it leads to, out
//! of its settings.

use crate::budget::limits;
use crate::diagnostic::{FindingOwner, LoadReport};
use crate::resolve::RuleReader;
use crate::schema::BY_TOKEN;
use crate::shape::{Checker, Shape};
use crate::yaml::{self, Node};
use insula_domain::tool::CATALOGUE;
use insula_domain::{GroupNarrowing, Narrowing, Profile, Respond, Selector, ToolNarrowing};
use std::sync::Arc;

/// Longest settings of a token, in bytes.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Most values in them.
const TOKEN_VALUES_MAX: usize = 1_000;

/// What the settings of a way in take away; `None` where that is nothing. `name` is what records
/// call it, `subject` what messages about its settings do. What is wrong is in the report.
pub(crate) fn read(
    (report, owner): (&mut LoadReport, &FindingOwner),
    (subject, name): (&str, String),
    node: &Node,
) -> Option<Arc<Narrowing>> {
    let narrowing = Narrowing {
        tools: node.get("tools").map(|tools| fewer_tools(tools, &name)),
        rules: RuleReader::new(report, owner, subject).rules(node.get("rules")),
        budget: limits(node.get("budget")),
        model: node.get("model").and_then(Node::text).map(Into::into),
        group: less_in_groups(node.get("group")),
        ..Narrowing::by(name)
    };
    (!narrowing.is_empty()).then(|| Arc::new(narrowing))
}

fn fewer_tools(node: &Node, by: &str) -> ToolNarrowing {
    let list = |key| {
        let texts = node.get(key)?.items().iter().filter_map(Node::text);
        Some(texts.filter_map(|text| Selector::parse(text).ok()).collect::<Vec<_>>())
    };
    let profile = node.get("profile").and_then(Node::text).and_then(Profile::parse);
    let allow: Option<Vec<Selector>> = list("allow");
    let only = match (profile, allow) {
        // Everything that an agent has, it may keep.
        (None | Some(Profile::Full), allow) => allow,
        (Some(profile), allow) => {
            let is_allowed = |tool| {
                let covers = |list: &Vec<Selector>| list.iter().any(|it| it.covers(tool));
                profile.has(tool) && allow.as_ref().is_none_or(covers)
            };
            Some(CATALOGUE.iter().filter(|it| is_allowed(it)).map(Selector::Tool).collect())
        }
    };
    ToolNarrowing { only, without: list("deny").unwrap_or_default(), ..ToolNarrowing::by(by) }
}

fn less_in_groups(node: Option<&Node>) -> GroupNarrowing {
    let get = |key| node.and_then(|node| node.get(key));
    GroupNarrowing {
        respond: get("respond").and_then(Node::text).map(|text| match text {
            "all" => Respond::All,
            "never" => Respond::Never,
            _ => Respond::Mention,
        }),
        observe: get("observe").and_then(Node::bool),
        invites: get("invites").and_then(Node::bool),
        threads: get("threads").and_then(Node::bool),
    }
}

/// What the token of this id takes away, out of YAML or JSON: `tools`, `rules`, `budget` and
/// `model`, as in the configuration. An error says what is wrong with it.
pub fn of_token(id: &str, text: &str) -> Result<Option<Arc<Narrowing>>, String> {
    if text.len() > TOKEN_BYTES_MAX {
        return Err(format!("what a token takes away has at most {TOKEN_BYTES_MAX} bytes"));
    }
    let mut report = LoadReport::default();
    let source = report.sources.add("token", text);
    let mut node = yaml::parse_within(source, text, TOKEN_VALUES_MAX).map_err(|it| it.message)?;
    let (owner, subject) = (FindingOwner::Shared, "the token");
    let is_fine = Checker::new(&mut report, owner.clone(), subject)
        .admit(&Shape::Object(&BY_TOKEN), &mut node);
    let narrowing = read((&mut report, &owner), (subject, format!("token {id}")), &node);
    let first = report.errors().next().map(|found| match &found.help {
        Some(help) => format!("{}: {help}", found.message),
        None => found.message.clone(),
    });
    match first {
        Some(error) => Err(error),
        None if !is_fine => Err("what a token takes away is a map of settings".to_owned()),
        None => Ok(narrowing),
    }
}
