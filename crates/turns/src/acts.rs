//! What an agent's tools can do that words of others should not bring about, before it is known
//! what they are called with. The gate looks at what is left of it for one call; who lists an
//! agent's tools is told all of it.

use insula_domain::tool::{self, ToolSpec};
use insula_domain::{
    AccessMode, Act, ApprovalMode, Boundary, ChildRequest, Effect, IntegrityProfile, LinkKind,
    Role, Ruling, Switch, TaintedRule,
};
use insula_registry::context::AgentContext;
use serde_json::Value;

/// An act of a tool, and which of its calls it is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PossibleAct {
    pub act: Act,
    pub when: When,
}

/// Which calls of a tool are an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Each.
    Always,
    /// What says something where the sender does not hear it.
    Elsewhere,
    /// What runs something, as all that can be run does.
    Runs,
    /// What writes to something that runs.
    Input,
    /// What writes where others can.
    SharedFolder,
    /// What is for every conversation.
    Everywhere,
    /// What takes something away that is remembered.
    Removal,
    /// What gives a child more than reading.
    Hands,
    /// What does more than answer whoever's card it is about.
    Beyond,
}

impl When {
    /// The same as the end of "if it is …"; nothing where that goes without saying.
    pub fn in_words(self) -> Option<&'static str> {
        match self {
            Self::Always | Self::Runs => None,
            Self::Elsewhere => Some("sent elsewhere"),
            Self::Input => Some("input to a process"),
            Self::SharedFolder => Some("in a shared folder"),
            Self::Everywhere => Some("for every conversation"),
            Self::Removal => Some("to forget or replace"),
            Self::Hands => Some("for more than reading"),
            Self::Beyond => Some("beyond the card that the turn is about"),
        }
    }
}

/// What calls of a tool may do that words of others should not bring about.
pub fn possible(agent: &AgentContext, boundary: &Boundary, tool: &str) -> Vec<PossibleAct> {
    // What a server's tool does nobody here knows, but for what the server says.
    let Some(spec) = tool::find(tool) else {
        let reads = only_reads(agent, boundary, tool);
        return always((!reads).then_some(Act::Call)).into_iter().collect();
    };
    let forgets = || some(Act::Forget, When::Removal).filter(|_| spec.name == "memory");
    let act = |effect: &Effect| match effect {
        // What another agent is asked or told takes along whose words it is of; the people of a
        // conversation are handed over as they are.
        Effect::Send if spec.name == "handoff" => some(Act::Send, When::Elsewhere),
        Effect::Send if LinkKind::of_tool(spec.name).is_some() => None,
        Effect::Send => some(Act::Send, When::Elsewhere),
        Effect::RunProgram | Effect::RunCode if !reaches(agent, boundary) => None,
        Effect::RunProgram | Effect::RunCode => some(Act::Program, runs(spec)),
        Effect::WriteFiles if !writes_among_others(agent, boundary) => None,
        Effect::WriteFiles => some(Act::SharedFiles, When::SharedFolder),
        Effect::Remember => some(Act::RememberGlobally, When::Everywhere),
        Effect::Schedule => some(Act::Schedule, When::Always),
        Effect::Delegate => {
            some(Act::Delegate, When::Hands).filter(|_| has_hands(agent, boundary, spec))
        }
        Effect::ChangeSelf => some(Act::ChangeSelf, When::Always),
        Effect::Board => some(Act::Board, When::Beyond),
        Effect::Network => some(Act::Network, When::Always),
        Effect::ReadFiles
        | Effect::Recall
        | Effect::ReadHistory
        | Effect::ReadSkills
        | Effect::ReadBoard
        | Effect::AskUser
        | Effect::Plan
        | Effect::FindTools
        | Effect::Media => None,
    };
    let mut acts: Vec<PossibleAct> = spec.effects.iter().filter_map(act).collect();
    acts.extend(forgets());
    acts
}

fn some(act: Act, when: When) -> Option<PossibleAct> {
    Some(PossibleAct { act, when })
}

fn always(act: Option<Act>) -> Option<PossibleAct> {
    act.and_then(|act| some(act, When::Always))
}

/// What calls of a tool run.
fn runs(spec: &ToolSpec) -> When {
    if spec.name == "process" { When::Input } else { When::Runs }
}

/// The folders that an agent can write to and others have too, by their paths.
fn shared(boundary: &Boundary) -> impl Iterator<Item = &str> {
    let writable = boundary.files.shared.iter().filter(|it| it.mode == AccessMode::Rw);
    writable.map(|it| &*it.path)
}

/// Whether programs of an agent can tell somebody something, or change what others have.
fn reaches(agent: &AgentContext, boundary: &Boundary) -> bool {
    boundary.integrity.profile == IntegrityProfile::Strict
        || agent.programs.sandbox == Switch::Off
        || !boundary.network.is_none()
        || writes_among_others(agent, boundary)
}

/// Whether an agent writes to folders that others have too.
fn writes_among_others(agent: &AgentContext, boundary: &Boundary) -> bool {
    agent.workspace.is_shared() || shared(boundary).next().is_some()
}

/// Whether a tool of an agent's servers only reads. That is the server's own word, which an
/// operator who is strict does not take.
fn only_reads(agent: &AgentContext, boundary: &Boundary, name: &str) -> bool {
    boundary.integrity.profile != IntegrityProfile::Strict
        && agent.toolbox.find(name).is_some_and(|tool| tool.only_reads())
}

/// Whether a child of an agent could do more than read.
fn has_hands(agent: &AgentContext, boundary: &Boundary, delegate: &ToolSpec) -> bool {
    let mut known = boundary.tools.exposed().filter_map(tool::find);
    known.any(|spec| spec.name != delegate.name && !is_reading(spec))
        || hands_on_servers(agent, boundary)
}

fn is_reading(spec: &ToolSpec) -> bool {
    let reads = |effect: &Effect| {
        effect.only_looks() || matches!(effect, Effect::Network | Effect::Plan | Effect::AskUser)
    };
    spec.effects.iter().all(reads)
}

/// Whether a call asks for a child that could do more than read: one that does not name its tools
/// has those of its parent, and what is no tool by name may be many.
pub fn asks_for_hands(arguments: &Value) -> bool {
    let reads_only = |task: &Value| {
        let tools = task.get("tools").and_then(Value::as_array);
        tools.is_some_and(|tools| {
            tools.iter().all(|it| it.as_str().and_then(tool::find).is_some_and(is_reading))
        })
    };
    let tasks = arguments.get("tasks").and_then(Value::as_array);
    match tasks.filter(|tasks| !tasks.is_empty()) {
        Some(tasks) => !tasks.iter().all(reads_only),
        None => !reads_only(arguments),
    }
}

/// Whether a child of an agent could have a tool of a server that does more than read: most
/// servers are not for children.
fn hands_on_servers(agent: &AgentContext, boundary: &Boundary) -> bool {
    let widest = ChildRequest { role: Role::Orchestrator, ..ChildRequest::default() };
    let Ok(child) = boundary.child(&widest) else { return false };
    let mut own = agent.toolbox.names().filter(|name| child.tools.verdict(name).is_in());
    own.any(|name| !only_reads(agent, boundary, name))
}

/// The folders by which every call of a tool is judged as in a tainted turn, also in a clean one:
/// what it runs finds words of others there, and reaches out.
pub fn found_by_programs(agent: &AgentContext, boundary: &Boundary, tool: &str) -> Vec<String> {
    let runs = [Effect::RunProgram, Effect::RunCode];
    let is_program = tool::find(tool).is_some_and(|it| it.first_of(&runs).is_some());
    let reaches = !boundary.network.is_none() || agent.programs.sandbox == Switch::Off;
    match is_program && reaches {
        true => boundary.untrusted_folders(agent.workspace.user_home()),
        false => Vec::new(),
    }
}

/// What becomes of calls of a tool in tainted turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InTaintedTurns {
    pub ruling: Ruling,
    /// Of which calls that holds; of each, where nothing is said.
    pub when: Vec<&'static str>,
    /// Whether somebody would have to agree and nobody is ever asked.
    pub is_closed: bool,
}

/// What becomes of calls of a tool in tainted turns: of those that fare worst. `None` where no
/// call of it is an act.
pub fn in_tainted_turns(
    agent: &AgentContext,
    boundary: &Boundary,
    tool: &str,
) -> Option<InTaintedTurns> {
    let policy = &boundary.integrity;
    let possible = possible(agent, boundary, tool);
    let ruling = policy.ruling(tool, possible.iter().map(|it| it.act))?;
    let is_it = |it: &&PossibleAct| policy.ruling_of(it.act).rule == ruling.rule;
    let when = match policy.ruling_of_tool(tool) {
        Some(_) => Some(Vec::new()),
        None => possible.iter().filter(is_it).map(|it| it.when.in_words()).collect(),
    };
    let is_closed =
        ruling.rule == TaintedRule::Ask && boundary.approvals.mode == ApprovalMode::Deny;
    Some(InTaintedTurns { ruling, when: when.unwrap_or_default(), is_closed })
}
