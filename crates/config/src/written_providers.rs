//! Model providers as they are written under `providers`: those of the house, and those of one
//! agent. Knows no values of keys.

use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::model::{KNOWN_PROVIDERS, KnownProvider, Provider};
use crate::provider;
use crate::sensitive::looks_like_credential;
use crate::source::Span;
use crate::suggest::nearest;
use crate::yaml::{MapEntry, Node};
use insula_domain::AgentId;
use std::collections::{BTreeMap, BTreeSet};

/// Reads the providers of `owner` from a checked tree.
pub(crate) fn read(
    report: &mut LoadReport,
    owner: &FindingOwner,
    written: Option<&Node>,
) -> BTreeMap<Box<str>, Provider> {
    let mut providers = BTreeMap::new();
    for entry in written.map(Node::entries).unwrap_or_default() {
        keys(report, owner, entry);
        let all = provider::read(report, owner, &entry.value, None);
        let named = entry.value.get("models").map(Node::entries).unwrap_or_default();
        let models = named
            .iter()
            .map(|it| (it.key.clone(), provider::read(report, owner, &it.value, Some(&all))))
            .collect();
        let usual = KnownProvider::find(&entry.key).map(|it| it.kind);
        let Some(kind) = text(&entry.value, "kind").or(usual) else {
            kindless(report, owner, entry);
            continue;
        };
        let agents = entry.value.get("agents").map(|list| {
            let names = list.items().iter().filter_map(Node::text);
            names.filter_map(|name| AgentId::new(name).ok()).collect()
        });
        let provider = Provider {
            kind: kind.into(),
            base_url: text(&entry.value, "base_url").map(Into::into),
            api_key: text(&entry.value, "api_key").map(Into::into),
            agents,
            models,
            all,
        };
        providers.insert(entry.key.clone(), provider.with_usual_key(&entry.key));
    }
    providers
}

/// Tells of agents that do not exist. No error: an agent that is deleted must not keep all others
/// from starting.
pub(crate) fn check_agents(
    report: &mut LoadReport,
    written: Option<&Node>,
    agents: &BTreeSet<AgentId>,
) {
    for provider in written.map(Node::entries).unwrap_or_default() {
        for node in provider.value.get("agents").map(Node::items).unwrap_or_default() {
            let Some(id) = node.text().filter(|id| !agents.contains(*id)) else { continue };
            let message =
                format!("provider `{}` names agent `{id}`, which does not exist", provider.key);
            let near = nearest(id, agents.iter().map(AgentId::as_str));
            let help = match near {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("take it out of `providers.{}.agents`", provider.key),
            };
            report.push(Diagnostic::warning(&FindingOwner::Shared, node.span, message).help(help));
        }
    }
}

/// What is wrong with keys that stand in the file. The house's stand there with a warning, and
/// are kept out of what is said; an agent's have a vault of their own, and nobody else knows
/// them.
fn keys(report: &mut LoadReport, owner: &FindingOwner, entry: &MapEntry) {
    let base_url = text(&entry.value, "base_url");
    let key = entry.value.get("api_key").filter(|key| is_literal(key));
    let key = key.filter(|_| !base_url.is_some_and(is_local));
    let FindingOwner::Agent(agent) = owner else {
        let Some(key) = key else { return };
        let message = format!("the key of provider `{}` stands in the file", entry.key);
        let found = Diagnostic::warning(owner, key.span, message);
        report.push(found.help("write `${secret:NAME}` instead").conceal());
        return;
    };
    let of_models = entry.value.get("models").map(Node::entries).unwrap_or_default();
    let parts = std::iter::once(&entry.value).chain(of_models.iter().map(|it| &it.value));
    let headers = parts.filter_map(|it| it.get("headers")).flat_map(Node::entries);
    let headers = headers
        .map(|it| &it.value)
        .filter(|it| is_literal(it) && it.text().is_some_and(looks_like_credential));
    for node in key.into_iter().chain(headers) {
        let message =
            format!("a key of provider `{}` of agent `{agent}` stands in the file", entry.key);
        let help = format!(
            "write `${{secret:NAME}}` instead, and set it with `insula secret set {agent} NAME`"
        );
        report.push(Diagnostic::error(owner, node.span, message).help(help).conceal());
    }
}

/// A provider that nobody knows has to say what it speaks.
fn kindless(report: &mut LoadReport, owner: &FindingOwner, entry: &MapEntry) {
    let span = entry.value.span;
    let within = |inner: Span| {
        inner.source == span.source && span.start <= inner.start && inner.end <= span.end
    };
    // A kind that is written wrongly was said before, and is none.
    if report.errors().any(|found| within(found.span)) {
        return;
    }
    let whose = match owner {
        FindingOwner::Agent(agent) => format!("agent `{agent}`"),
        _ => "config.yaml".to_owned(),
    };
    let message = format!("`providers.{}` of {whose} needs `kind`", entry.key);
    let names = KNOWN_PROVIDERS.map(|it| it.name);
    let help = match nearest(&entry.key, names) {
        Some(near) => format!("did you mean `{near}`, which is built in?"),
        None => "write what it speaks: `openai`, `anthropic` or `ollama`".to_owned(),
    };
    report.push(Diagnostic::error(owner, span, message).help(help));
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::text)
}

fn is_literal(node: &Node) -> bool {
    node.text().is_some_and(|text| !text.contains("${"))
}

fn is_local(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default();
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}
