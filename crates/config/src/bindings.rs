//! Bindings: three ways to write a rule, one meaning.

use crate::agent::AgentConfig;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::resolve::{metadata, nearest_agent};
use crate::schema::BINDING;
use crate::shape::{Checker, Shape, shorten};
use crate::source::Span;
use crate::way_in;
use crate::yaml::{Node, Value};
use insula_domain::platform::PLATFORMS;
use insula_domain::{
    AccountId, AgentId, Binding, ChatId, ChatType, Community, GuildId, Match, Platform, RoleId,
    TopicId, UserId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A rule and where it stands.
#[derive(Debug, Clone)]
pub struct Written {
    /// Its place in the list, from 1.
    pub number: usize,
    /// The rule.
    pub binding: Binding,
    /// Where it stands.
    pub span: Span,
    /// Where its agent stands.
    pub agent_span: Span,
    /// Where its model stands.
    pub model_span: Span,
}

/// The list of rules, with those that another runtime keeps under `gateway` behind it.
pub fn with_routes_of(
    report: &mut LoadReport,
    list: Option<Node>,
    gateway: Option<Node>,
) -> Option<Node> {
    let Some(gateway) = gateway else { return list };
    if let Some(only) = gateway.get("multiplex_profiles").filter(|it| it.bool() == Some(false)) {
        let message = "`multiplex_profiles: false` has no effect: one daemon serves all agents";
        report.push(Diagnostic::warning(&FindingOwner::Shared, only.span, message));
    }
    let Some(routes) = gateway.get("profile_routes") else { return list };
    let Some(mut list) = list else { return Some(routes.clone()) };
    if let Value::List(rules) = &mut list.value {
        rules.extend(routes.items().iter().cloned());
    }
    Some(list)
}

/// Reads every rule; one that can't be read is an error of the shared part, because leaving
/// it out would send its messages to somebody else.
pub fn read(report: &mut LoadReport, list: Option<Node>) -> Vec<Written> {
    let Some(Node { value: Value::List(nodes), .. }) = list else { return Vec::new() };
    let mut rules = Vec::with_capacity(nodes.len());
    for (index, mut node) in nodes.into_iter().enumerate() {
        let span = node.span;
        let mut checker =
            Checker::new(report, FindingOwner::Shared, format!("binding {}", index + 1));
        let before = checker.report.diagnostics.len();
        if !checker.admit(&Shape::Object(&BINDING), &mut node)
            || checker.report.diagnostics.len() > before
        {
            continue;
        }
        let read = rule(&node, index).map(|mut bindings| {
            for binding in &mut bindings {
                let name = format!("binding {}", binding.matches);
                let subject = format!("binding {}", index + 1);
                let found = (&mut *report, &FindingOwner::Shared);
                binding.narrowing = way_in::read(found, (&subject, name), &node);
            }
            bindings
        });
        match read {
            Ok(bindings) => {
                for binding in bindings {
                    if binding.priority != 0 && binding.matches.role.is_none() {
                        let message = format!(
                            "`priority` has no effect in binding {}, which names no role",
                            index + 1
                        );
                        report.push(Diagnostic::warning(&FindingOwner::Shared, span, message));
                    }
                    let at = |key| node.get(key).map_or(span, |value: &Node| value.span);
                    let (agent_span, model_span) = (at("agent"), at("model"));
                    rules.push(Written {
                        number: index + 1,
                        binding,
                        span,
                        agent_span,
                        model_span,
                    });
                }
            }
            Err((span, message)) => {
                report.push(Diagnostic::error(&FindingOwner::Shared, span, message));
            }
        }
    }
    rules
}

/// Stands for an agent whose name can't be one; its rule always refuses.
const NOBODY: &str = "nobody";

type Problem = (Span, String);

/// What a rule says: one binding, or one for each role where it names several.
fn rule(node: &Node, index: usize) -> Result<Vec<Binding>, Problem> {
    let fields = Fields::gather(node, index)?;
    let binding = binding(node, &fields, index)?;
    let Some(roles) = fields.get("roles") else { return Ok(vec![binding]) };
    if binding.matches.role.is_some() {
        return Err((roles.span, format!("binding {} names roles twice", index + 1)));
    }
    let named = roles.items().iter().filter_map(Node::text);
    let named: BTreeSet<RoleId> = named.filter_map(|text| RoleId::new(text).ok()).collect();
    if named.is_empty() || named.iter().any(|role| role.as_str() == "*") {
        let message =
            format!("`roles` of binding {} names nobody; leave it out to match all", index + 1);
        return Err((roles.span, message));
    }
    let one = |role| {
        let mut binding = binding.clone();
        binding.matches.role = Some(role);
        binding
    };
    Ok(named.into_iter().map(one).collect())
}

fn binding(node: &Node, fields: &Fields<'_>, index: usize) -> Result<Binding, Problem> {
    let id = |name: &str| fields.text(name);
    // `"*"` for a chat means all of the platform. Anywhere else it would quietly make a rule
    // wider than it looks.
    const EXACT: [&str; 6] = ["topic", "user", "peer", "role", "guild", "team"];
    if let Some(name) = EXACT.into_iter().find(|name| id(name) == Some("*")) {
        let message = format!(
            "`{name}: \"*\"` in binding {} names nobody; leave `{name}` out to match all",
            index + 1
        );
        return Err((fields.get(name).map_or(node.span, |node| node.span), message));
    }
    let named = |name: &str| id(name).filter(|text| *text != "*");
    let mut matches = Match::platform(fields.platform);
    matches.account = named("account").and_then(|text| AccountId::new(text).ok());
    matches.chat = named("chat").and_then(|text| ChatId::new(text).ok());
    matches.topic = named("topic").and_then(|text| TopicId::new(text).ok());
    matches.user = named("user").and_then(|text| UserId::new(text).ok());
    matches.role = named("role").and_then(|text| RoleId::new(text).ok());
    matches.chat_type = id("chat_type").and_then(ChatType::parse);
    let guild = named("guild").and_then(|text| GuildId::new(text).ok());
    let team = named("team").and_then(|text| GuildId::new(text).ok());
    matches.community = match (guild, team) {
        (Some(_), Some(_)) => {
            return Err((
                node.span,
                format!("binding {} names both a guild and a team", index + 1),
            ));
        }
        (guild, team) => guild.map(Community::Guild).or(team.map(Community::Team)),
    };
    if let Some(peer) = fields.get("peer").filter(|peer| peer.text().is_none()) {
        with_peer(&mut matches, peer)
            .map_err(|message| (peer.span, format!("`peer` of binding {} {message}", index + 1)))?;
    }
    if let Some(peer) = named("peer").and_then(|text| UserId::new(text).ok()) {
        let other_user = matches.user.replace(peer).is_some();
        let other_type =
            matches.chat_type.replace(ChatType::Dm).is_some_and(|kind| kind != ChatType::Dm);
        if other_user || other_type {
            let message =
                format!("`peer` of binding {} already means a user in a direct message", index + 1);
            return Err((node.span, message));
        }
    }
    let agent = AgentId::new(node.get("agent").and_then(Node::text).unwrap_or_default());
    // A name that can't be an agent's is one that does not exist: the rule stays and refuses.
    let refusal =
        agent.as_ref().err().map(|error| format!("binding {}: {error}", index + 1).into());
    Ok(Binding {
        number: index + 1,
        agent: agent
            .or_else(|_| AgentId::new(NOBODY))
            .map_err(|error| (node.span, error.to_string()))?,
        matches,
        priority: fields
            .get("priority")
            .and_then(Node::integer)
            .and_then(|n| i32::try_from(n).ok())
            .unwrap_or(0),
        narrowing: None,
        metadata: metadata(node.get("metadata")),
        refusal,
    })
}

/// Adds what a peer with a kind says: a sender in a direct message, or a chat. A chat is known by
/// its id alone, so that its threads are its own; without one it is every chat of the kind.
fn with_peer(matches: &mut Match, peer: &Node) -> Result<(), &'static str> {
    let text = |key: &str| peer.get(key).and_then(Node::text).unwrap_or_default();
    let id = Some(text("id")).filter(|id| *id != "*");
    let is_direct = matches!(text("kind"), "direct" | "dm");
    let kind = if is_direct {
        ChatType::Dm
    } else {
        ChatType::parse(text("kind")).unwrap_or(ChatType::Group)
    };
    if matches.chat_type.is_some_and(|other| other != kind) {
        return Err("has another kind than `chat_type`");
    }
    match (is_direct, id) {
        (true, Some(id)) => {
            if matches.user.replace(UserId::new(id).map_err(|_| "has no id")?).is_some() {
                return Err("already means a user in a direct message");
            }
            matches.chat_type = Some(kind);
        }
        (false, Some(id)) => {
            if matches.chat.replace(ChatId::new(id).map_err(|_| "has no id")?).is_some() {
                return Err("names a second chat");
            }
        }
        (_, None) => matches.chat_type = Some(kind),
    }
    Ok(())
}

/// The fields of one rule, from wherever they stand in it.
struct Fields<'n> {
    platform: Platform,
    parts: Vec<&'n Node>,
    chat: Option<&'n Node>,
}

impl<'n> Fields<'n> {
    fn gather(node: &'n Node, index: usize) -> Result<Self, Problem> {
        let shorthands: Vec<_> = node
            .entries()
            .iter()
            .filter(|entry| PLATFORMS.contains(&&*entry.key))
            .map(|entry| (&*entry.key, &entry.value))
            .collect();
        let spelled = node.get("match");
        let mut names: Vec<(&str, Span)> =
            shorthands.iter().map(|(name, value)| (*name, value.span)).collect();
        for part in std::iter::once(node).chain(spelled) {
            names.extend(part.get("platform").and_then(|p| Some((p.text()?, p.span))));
        }
        let (name, _) = *names
            .first()
            .ok_or_else(|| (node.span, format!("binding {} names no platform", index + 1)))?;
        if let Some((_, span)) = names.get(1) {
            return Err((*span, format!("binding {} names its platform twice", index + 1)));
        }
        let platform = Platform::new(name).map_err(|error| (node.span, error.to_string()))?;
        let short = shorthands.first().map(|(_, value)| *value);
        let fields = Self {
            platform,
            parts: std::iter::once(node)
                .chain(spelled)
                .chain(short.filter(|value| matches!(value.value, Value::Map(_))))
                .collect(),
            chat: short.filter(|value| value.text().is_some()),
        };
        fields.refuse_repeats(index)?;
        Ok(fields)
    }

    fn refuse_repeats(&self, index: usize) -> Result<(), Problem> {
        const NAMES: [&str; 11] = [
            "account",
            "chat",
            "chat_type",
            "topic",
            "user",
            "peer",
            "role",
            "roles",
            "guild",
            "team",
            "priority",
        ];
        for name in NAMES {
            let shorthand = self.chat.filter(|_| name == "chat");
            let mut given = self.parts.iter().filter_map(|part| part.get(name)).chain(shorthand);
            if let (Some(_), Some(second)) = (given.next(), given.next()) {
                return Err((
                    second.span,
                    format!("`{name}` is given twice in binding {}", index + 1),
                ));
            }
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Option<&'n Node> {
        let shorthand = self.chat.filter(|_| name == "chat");
        self.parts.iter().find_map(|part| part.get(name)).or(shorthand)
    }

    fn text(&self, name: &str) -> Option<&'n str> {
        self.get(name).and_then(Node::text)
    }
}

/// Checks that each rule's agent exists and has its model. A rule that fails stays in the
/// table and refuses, because without it the next best rule would answer.
pub fn check_targets(
    report: &mut LoadReport,
    rules: &mut [Written],
    agents: &BTreeSet<AgentId>,
    ready: &BTreeMap<AgentId, Arc<AgentConfig>>,
) {
    for rule in rules {
        if let Some(refusal) = &rule.binding.refusal {
            let found = Diagnostic::error(&FindingOwner::Binding, rule.agent_span, &**refusal);
            report.push(found.help("correct the name, or remove the binding"));
            continue;
        }
        let agent = &rule.binding.agent;
        let problem = if !agents.contains(agent) {
            let near = nearest_agent(report, agents, agent);
            let help = near.map_or_else(
                || format!("add `{agent}` under `agents`, or remove the binding"),
                |name| format!("did you mean `{name}`?"),
            );
            let message =
                format!("binding {} names agent `{agent}`, which does not exist", rule.number);
            Some((rule.agent_span, message, help))
        } else {
            missing_model(rule, ready.get(agent))
        };
        if let Some((span, message, help)) = problem {
            rule.binding.refusal = Some(message.as_str().into());
            report.push(Diagnostic::error(&FindingOwner::Binding, span, message).help(help));
        }
    }
}

fn missing_model(
    rule: &Written,
    agent: Option<&Arc<AgentConfig>>,
) -> Option<(Span, String, String)> {
    let (model, agent) = (rule.binding.narrowing.as_ref()?.model.as_deref()?, agent?);
    let has = agent.models.iter().any(|known| known.to_string() == model || &*known.name == model);
    if has {
        return None;
    }
    let models: Vec<String> = agent.models.iter().map(ToString::to_string).collect();
    Some((
        rule.model_span,
        format!(
            "binding {} names model `{}`, which agent `{}` does not have",
            rule.number,
            shorten(model),
            agent.id
        ),
        format!("use one of: {}", models.join(", ")),
    ))
}
