//! Boards, out of `boards`: who may do what on each, and its bounds.

use crate::agent::AgentConfig;
use crate::budget::limits;
use crate::diagnostic::{Diagnostic, FindingOwner, LoadReport};
use crate::job_words::held_back;
use crate::rules;
use crate::source::{Sources, Span};
use crate::suggest::nearest;
use crate::yaml::Node;
use insula_domain::{
    Actor, AgentId, BoardName, BoardRight, BoardRights, BudgetLimits, CardId, Narrowing, Rule,
    ToolVerdict,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Who reviews where that is no agent.
pub const PERSON: &str = "person";

/// A board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    pub name: BoardName,
    pub description: Option<Box<str>>,
    pub agents: BTreeMap<AgentId, BoardRights>,
    /// By what records call them.
    pub people: BTreeMap<Box<str>, BoardRights>,
    /// Kinds of work, and who does each.
    pub kinds: BTreeMap<Box<str>, Vec<AgentId>>,
    /// Who reviews cards that do not say.
    pub review: Option<Box<str>>,
    pub max_running: u32,
    pub max_running_per_agent: u32,
    pub lease: Duration,
    pub timeout: Duration,
    pub attempts: u32,
    pub reworks: u32,
    pub max_depth: u32,
    pub max_parts: u32,
    /// What may be spent on one card.
    pub budget: BudgetLimits,
}

/// The tools by which whoever works on a card or reviews one says how it ended.
const ENDS: [&str; 2] = ["kanban_complete", "kanban_block"];

/// Where rights on boards stand, as `file:line:column`, by name: `boards.work.agents.coder`.
pub type BoardPlaces = BTreeMap<String, String>;

/// The boards of a home, by name.
pub type Boards = BTreeMap<BoardName, Arc<Board>>;

impl Board {
    /// What an agent may do.
    pub fn rights_of(&self, agent: &AgentId) -> BoardRights {
        self.agents.get(agent).copied().unwrap_or_default()
    }

    /// What somebody may do who is no agent. The command line is admin of all.
    pub fn rights_of_person(&self, who: &Actor) -> BoardRights {
        match who {
            Actor::CommandLine => BoardRights::all(),
            Actor::User(_) | Actor::Token(_) => {
                self.people.get(who.as_str()).copied().unwrap_or_default()
            }
            _ => BoardRights::default(),
        }
    }

    /// The agents that may do what is assigned to a name: an agent's or a kind's. `None` where it
    /// is neither.
    pub fn workers(&self, assignee: &str) -> Option<Vec<AgentId>> {
        if let Some(agents) = self.kinds.get(assignee) {
            return Some(agents.clone());
        }
        let agent = AgentId::new(assignee).ok()?;
        self.rights_of(&agent).has(BoardRight::Claim).then(|| vec![agent])
    }

    /// Whether somebody of this name can review.
    pub fn can_review(&self, name: &str) -> bool {
        let agent = AgentId::new(name).ok();
        name == PERSON || agent.is_some_and(|it| self.rights_of(&it).has(BoardRight::Review))
    }

    /// What a turn on one of its cards has less than its agent.
    pub fn less(&self, card: CardId) -> Narrowing {
        // What is spent is counted by it, so no two cards may share one.
        let by = format!("card `{}/{card}`", self.name);
        held_back(Narrowing { budget: self.budget, ..Narrowing::by(by.clone()) }, by)
    }
}

fn rights(node: &Node) -> BoardRights {
    match node.text() {
        Some(role) => BoardRights::of_role(role).unwrap_or_default(),
        None => {
            let some = node.items().iter().filter_map(Node::text).filter_map(BoardRight::parse);
            BoardRights::of(&some.collect::<Vec<_>>())
        }
    }
}

/// All boards that are written down.
pub(crate) fn read(node: Option<&Node>) -> Boards {
    let entries = node.map(Node::entries).unwrap_or_default();
    let boards = entries.iter().filter_map(|entry| {
        let name = BoardName::new(&entry.key).ok()?;
        Some((name.clone(), Arc::new(one(name, &entry.value))))
    });
    boards.collect()
}

fn one(name: BoardName, node: &Node) -> Board {
    let number = |key, default: u32| {
        let number = node.get(key).and_then(Node::integer);
        number.and_then(|it| u32::try_from(it).ok()).unwrap_or(default)
    };
    let minutes = |key, default: u64| {
        let written = node.get(key).and_then(Node::text).and_then(rules::duration);
        written.unwrap_or(Duration::from_secs(60 * default))
    };
    let id = |text: &str| AgentId::new(text).ok();
    let agents = node.get("agents");
    let listed = agents.map(Node::items).unwrap_or_default().iter();
    let work = BoardRights::of(&[BoardRight::Add, BoardRight::Claim]);
    let listed = listed.filter_map(Node::text).filter_map(id).map(|id| (id, work));
    let mapped = agents.map(Node::entries).unwrap_or_default().iter();
    let mapped = mapped.filter_map(|entry| Some((id(&entry.key)?, rights(&entry.value))));
    let people = node.get("people").map(Node::entries).unwrap_or_default().iter();
    let kinds = node.get("kinds").map(Node::entries).unwrap_or_default().iter();
    let ids = |node: &Node| node.items().iter().filter_map(Node::text).filter_map(id).collect();
    Board {
        description: node.get("description").and_then(Node::text).map(Into::into),
        agents: listed.chain(mapped).collect(),
        people: people.map(|entry| (entry.key.clone(), rights(&entry.value))).collect(),
        kinds: kinds.map(|entry| (entry.key.clone(), ids(&entry.value))).collect(),
        review: node.get("review").and_then(Node::text).map(Into::into),
        max_running: number("max_running", 8),
        max_running_per_agent: number("max_running_per_agent", 2),
        lease: minutes("lease", 15),
        timeout: minutes("timeout", 60),
        attempts: number("attempts", 2),
        reworks: number("reworks", 3),
        max_depth: number("max_depth", 2),
        max_parts: number("max_parts", 10),
        budget: limits(node.get("budget")),
        name,
    }
}

/// Each of `agents` or `people` of a board that is named there, and where.
fn named<'n>(board: &'n Node, key: &str) -> impl Iterator<Item = (&'n str, Span)> {
    let node = board.get(key);
    let listed = node.map(Node::items).unwrap_or_default().iter();
    let listed = listed.filter_map(|node| Some((node.text()?, node.span)));
    let mapped = node.map(Node::entries).unwrap_or_default().iter();
    listed.chain(mapped.map(|entry| (&*entry.key, entry.key_span)))
}

/// Where each right stands.
pub(crate) fn places(node: Option<&Node>, sources: &Sources) -> BoardPlaces {
    let mut places = BoardPlaces::new();
    for entry in node.map(Node::entries).unwrap_or_default() {
        for key in ["agents", "people"] {
            let all = named(&entry.value, key).map(|(who, span)| {
                (format!("boards.{}.{key}.{who}", entry.key), sources.describe(span).to_string())
            });
            places.extend(all);
        }
    }
    places
}

/// Tells of agents that may work on a board and lack what says how a card ended.
pub(crate) fn warn_of_unable(
    report: &mut LoadReport,
    node: Option<&Node>,
    boards: &Boards,
    ready: &BTreeMap<AgentId, Arc<AgentConfig>>,
) {
    for entry in node.map(Node::entries).unwrap_or_default() {
        let board = BoardName::new(&entry.key).ok().and_then(|name| boards.get(&name));
        let Some(board) = board else { continue };
        for (id, span) in named(&entry.value, "agents") {
            let Some(agent) = ready.get(id) else { continue };
            let rights = board.rights_of(&agent.id);
            let does = match (rights.has(BoardRight::Claim), rights.has(BoardRight::Review)) {
                (true, _) => "work on",
                (false, true) => "review",
                (false, false) => continue,
            };
            let lacks = |tool: &&str| !agent.boundary.tools.verdict(tool).is_in();
            let missing: Vec<&str> = ENDS.into_iter().filter(lacks).collect();
            let Some(first) = missing.first() else { continue };
            let message = format!(
                "agent `{id}` may {does} cards of board `{}` and does not have `{}`, by which a card ends",
                board.name,
                missing.join("` and `"),
            );
            let help = match agent.boundary.tools.verdict(first) {
                ToolVerdict::Out(Rule::Denied(selector)) => {
                    format!("take `{selector}` out of its `tools.deny`, or let it only `add`")
                }
                _ => "give it the tools of boards: `tools: {also_allow: [\"group:boards\"]}`"
                    .to_owned(),
            };
            let owner = FindingOwner::Agent(id.into());
            report.push(Diagnostic::warning(&owner, span, message).help(help));
        }
    }
}

/// Says what is wrong with boards beyond their shapes: who is named has to exist, and be able to
/// do what they are named for.
pub(crate) fn check(
    report: &mut LoadReport,
    node: Option<&Node>,
    boards: &Boards,
    agents: &BTreeSet<AgentId>,
) {
    for entry in node.map(Node::entries).unwrap_or_default() {
        let name = &entry.key;
        let mut wrong = |span: Span, message: String, help: Option<String>| {
            let found = Diagnostic::error(&FindingOwner::Shared, span, message);
            report.push(found.maybe_help(help));
        };
        let is_known = |id: &str| agents.contains(id);
        let unknown = |id: &str| {
            let near = nearest(id, agents.iter().map(AgentId::as_str));
            let message = format!("board `{name}` names agent `{id}`, which does not exist");
            (message, near.map(|near| format!("did you mean `{near}`?")))
        };
        for (id, span) in named(&entry.value, "agents").filter(|(id, _)| !is_known(id)) {
            let (message, help) = unknown(id);
            wrong(span, message, help);
        }
        for person in entry.value.get("people").map(Node::entries).unwrap_or_default() {
            let who = person.key.split_once(':').map_or("", |(_, who)| who);
            if who == "*" || who.starts_with("role:") || who.starts_with("chat:") {
                let message =
                    format!("`{}` is not one person, and rights on boards are", person.key);
                let help = "name a user, such as `telegram:12345`".to_owned();
                wrong(person.key_span, message, Some(help));
            }
        }
        let Some(board) = BoardName::new(name).ok().and_then(|name| boards.get(&name)) else {
            continue;
        };
        for kind in entry.value.get("kinds").map(Node::entries).unwrap_or_default() {
            if is_known(&kind.key) {
                let message =
                    format!("board `{name}`: `{}` is an agent and a kind of work", kind.key);
                wrong(kind.key_span, message, Some("call the kind something else".to_owned()));
            }
            for node in kind.value.items() {
                let Some(id) = node.text().and_then(|text| AgentId::new(text).ok()) else {
                    continue;
                };
                if !board.rights_of(&id).has(BoardRight::Claim) {
                    let message = format!(
                        "board `{name}`: agent `{id}` does `{}` and may not claim",
                        kind.key
                    );
                    wrong(node.span, message, Some(format!("say `agents: {{{id}: work}}`")));
                }
            }
        }
        if let Some(node) = entry.value.get("review")
            && let Some(who) = node.text()
            && !board.can_review(who)
        {
            let message = format!("board `{name}`: `{who}` can't review");
            let help = format!("say `person`, or `agents: {{{who}: review}}`");
            wrong(node.span, message, Some(help));
        }
    }
}
