//! Policies laid over an agent's settings. What a policy denies and bounds comes on top of what
//! the agent has, its hooks are asked before the agent's own, and of two ways to approve the
//! stricter one holds.

use super::{DOCUMENT, FOLDER, PolicyFiles, PolicyLock};
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::file_state::FileState;
use crate::hook::HookPolicy;
use crate::layers::merge;
use crate::resolve::RuleReader;
use crate::rules;
use crate::schema::POLICY;
use crate::shape::{Checker, Shape};
use crate::source::SourceId;
use crate::suggest::nearest;
use crate::yaml::{self, Layer, MapEntry, Node, Value};
use insula_domain::{MemoryScope, SCOPE_VARIABLES, hook};
use std::collections::BTreeMap;

/// The hook that decides about scopes.
const SCOPE_HOOK: &str = "memory:scope";

/// What is said for all agents.
pub(crate) struct Over<'n> {
    /// `defaults.policies`.
    pub(crate) policies: &'n [Node],
    /// `hooks` of the daemon.
    pub(crate) hooks: Option<&'n Node>,
}

/// The policies of a home, read once for all agents that name them.
pub(crate) struct Policies<'f> {
    files: &'f BTreeMap<String, PolicyFiles>,
    lock: Result<PolicyLock, String>,
    /// What each says, or why it can't be had.
    read: BTreeMap<String, Result<Node, String>>,
    /// Which text is which policy's.
    pub(crate) sources: BTreeMap<SourceId, HookPolicy>,
}

impl<'f> Policies<'f> {
    pub(crate) fn new(files: &'f BTreeMap<String, PolicyFiles>, lock: &FileState) -> Self {
        Self {
            files,
            lock: PolicyLock::parse(lock),
            read: BTreeMap::new(),
            sources: BTreeMap::new(),
        }
    }

    /// The settings of an agent with the policies it names, and with those that hold for all: what
    /// one of these denies no agent gets back by naming others.
    pub(crate) fn lay(
        &mut self,
        report: &mut LoadReport,
        id: &str,
        mut node: Node,
        over: &Over<'_>,
    ) -> Node {
        let owner = FindingOwner::Agent(id.into());
        let mut named = over.policies.to_vec();
        for own in node.get("policies").map(Node::items).unwrap_or_default() {
            if !named.iter().any(|it| it.text() == own.text()) {
                named.push(own.clone());
            }
        }
        if let Value::Map(entries) = &mut node.value
            && let Some(written) = entries.iter_mut().find(|it| &*it.key == "policies")
        {
            written.value.value = Value::List(named.clone());
        }
        let mut scoped = None;
        for item in named {
            let Some(name) = item.text() else { continue };
            match self.get(report, name) {
                Ok(policy) => {
                    if policy.get("scope").is_some() {
                        scoped = Some((name.to_owned(), item.span));
                    }
                    node = laid((&mut *report, &owner), (name, &item), node, policy);
                }
                Err(why) => {
                    let message = format!("policy `{name}` of agent `{id}`: {why}");
                    let near = nearest(name, self.files.keys().map(String::as_str));
                    let help = match near.filter(|_| !self.files.contains_key(name)) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!(
                            "`insula policies verify {name}` shows what differs; `insula policies install` installs it"
                        ),
                    };
                    report.push(Diagnostic::error(&owner, item.span, message).help(help));
                }
            }
        }
        // A hook is asked before the setting, so it would take the policy's word away.
        let own = node.get("hooks").and_then(|hooks| hooks.get(SCOPE_HOOK));
        let of_all = over.hooks.and_then(|hooks| hooks.get(SCOPE_HOOK));
        if let Some((name, span)) = scoped
            && let Some(hook) = own.or(of_all)
        {
            let message = format!(
                "policy `{name}` says which scope memory has, and so does a hook `{SCOPE_HOOK}`"
            );
            let found = Diagnostic::error(&owner, span, message).related(hook.span, "asked here");
            report.push(found.help("keep one of the two"));
        }
        node
    }

    fn get(&mut self, report: &mut LoadReport, name: &str) -> Result<Node, String> {
        if !self.read.contains_key(name) {
            let read = self.read_one(report, name);
            self.read.insert(name.to_owned(), read);
        }
        self.read.get(name).cloned().unwrap_or_else(|| Err("it can't be had".to_owned()))
    }

    fn read_one(&mut self, report: &mut LoadReport, name: &str) -> Result<Node, String> {
        let Some(files) = self.files.get(name) else {
            return Err(format!("there is no `{FOLDER}/{name}`"));
        };
        let differences = self.lock.as_ref()?.differences(name, Some(files));
        if !differences.is_empty() {
            return Err(format!("it is not as it was installed: {}", differences.join(", ")));
        }
        let FileState::Text(text) = &files.document else {
            return Err(format!("there is no `{DOCUMENT}` in it"));
        };
        let source = report.sources.add(format!("{FOLDER}/{name}/{DOCUMENT}"), text.clone());
        let policy = HookPolicy { name: name.into(), hash: files.hash().into() };
        self.sources.insert(source, policy);
        document(report, source, name, text)
    }
}

/// What a policy's text says; an error is its first finding.
pub(super) fn document(
    report: &mut LoadReport,
    source: SourceId,
    name: &str,
    text: &str,
) -> Result<Node, String> {
    let mut node = yaml::parse(source, text).map_err(|error| error.message)?;
    let mut own = LoadReport::default();
    let (owner, subject) = (FindingOwner::Shared, format!("policy `{name}`"));
    let is_map =
        Checker::new(&mut own, owner.clone(), &*subject).admit(&Shape::Object(&POLICY), &mut node);
    if own.errors().next().is_none() && is_map {
        check_expressions((&mut own, &owner, &subject), &node);
    }
    match own.errors().next() {
        Some(found) => {
            let place = report.sources.describe(found.span);
            Err(format!("{place}: {}", found.message))
        }
        None if !is_map => Err("it is no map of settings".to_owned()),
        None => Ok(node.in_layer(Layer::Policy)),
    }
}

/// What a policy says has to be right before it is installed, and not when an agent names it.
fn check_expressions(
    (report, owner, subject): (&mut LoadReport, &FindingOwner, &str),
    node: &Node,
) {
    let mut reader = RuleReader::new(report, owner, subject);
    reader.rules(node.get("tools").and_then(|tools| tools.get("rules")));
    let scope = node.get("scope");
    if let Some(scope) = scope.filter(|it| it.text().and_then(MemoryScope::parse).is_none()) {
        reader.expression(scope, SCOPE_VARIABLES);
    }
    for event in node.get("hooks").map(Node::entries).unwrap_or_default() {
        for expr in event.value.items().iter().filter_map(|hook| hook.get("expr")) {
            reader.expression(expr, hook::VARIABLES);
        }
    }
}

/// One policy over the settings of an agent.
fn laid(
    (report, owner): (&mut LoadReport, &FindingOwner),
    (name, at): (&str, &Node),
    node: Node,
    mut policy: Node,
) -> Node {
    let (scope, approvals) = (take(&mut policy, "scope"), take(&mut policy, "approvals"));
    take(&mut policy, "description");
    let (has_scope, has_approvals) = (scope.is_some(), approvals.is_some());
    let mut node = merge(node, &policy);
    let is_on = lists_memory(&node);
    let memory = has_scope.then(|| part(&mut node, "memory")).flatten();
    if let Some((scope, memory)) = scope.zip(memory) {
        let set = memory.iter().find(|it| &*it.key == "scope").map(|it| &it.value);
        match set {
            Some(set) if set.text() != scope.text() => {
                let message = format!(
                    "policy `{name}` says which scope memory has, and so does `memory.scope`"
                );
                let found = Diagnostic::error(owner, at.span, message);
                let found = found.related(set.span, "said here");
                report.push(found.help("keep one of the two"));
            }
            Some(_) => {}
            None => {
                // A rule for memory is no reason to turn it on.
                if memory.is_empty() && !is_on {
                    memory.push(entry("enabled", off(at)));
                }
                memory.push(entry("scope", scope));
            }
        }
    }
    let own = has_approvals.then(|| part(&mut node, "approvals")).flatten();
    if let Some((approvals, own)) = approvals.zip(own) {
        for MapEntry { key, value, .. } in approvals.entries() {
            match own.iter_mut().find(|it| it.key == *key) {
                Some(mine) if is_stricter(key, value, &mine.value) => mine.value = value.clone(),
                Some(_) => {}
                None => own.push(entry(key, value.clone())),
            }
        }
    }
    node
}

/// Whether one setting of `approvals` lets less happen than another.
fn is_stricter(key: &str, one: &Node, other: &Node) -> bool {
    let among = |order: &[&str], node: &Node| {
        node.text().and_then(|text| order.iter().position(|it| *it == text))
    };
    match key {
        "mode" => {
            let order = ["manual", "smart", "off"];
            among(&order, one) < among(&order, other)
        }
        "opaque" => {
            let order = ["deny", "ask", "allow"];
            among(&order, one) < among(&order, other)
        }
        "separation" => one.bool() == Some(true),
        // The sooner silence is a no, the less happens.
        _ => {
            let wait = |node: &Node| node.text().and_then(rules::duration);
            wait(one) < wait(other)
        }
    }
}

fn entry(key: &str, value: Node) -> MapEntry {
    MapEntry { key: key.into(), key_span: value.span, value }
}

fn off(at: &Node) -> Node {
    let value = Value::Scalar { text: "false".into(), plain: true };
    Node { value, span: at.span, layer: Layer::Policy }
}

/// A map among the settings, made where there is none.
fn part<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Vec<MapEntry>> {
    let span = node.span;
    let Value::Map(entries) = &mut node.value else { return None };
    let at = entries.iter().position(|it| &*it.key == key).unwrap_or_else(|| {
        entries.push(entry(key, Node::empty_map(span).in_layer(Layer::Policy)));
        entries.len() - 1
    });
    match &mut entries.get_mut(at)?.value.value {
        Value::Map(entries) => Some(entries),
        _ => None,
    }
}

/// Whether the tool `memory` is listed, which turns memory on.
fn lists_memory(node: &Node) -> bool {
    let tools = node.get("tools");
    let lists = ["allow", "also_allow"].into_iter().filter_map(|key| tools?.get(key));
    lists.flat_map(Node::items).any(|item| item.text() == Some("memory"))
}

fn take(node: &mut Node, key: &str) -> Option<Node> {
    let Value::Map(entries) = &mut node.value else { return None };
    let at = entries.iter().position(|entry| &*entry.key == key)?;
    Some(entries.remove(at).value)
}
