//! The gate: the one place that admits or refuses what a tool wants to do.
//!
//! The order is fixed: exposed in the table, tool policy with its argument rules ([`examine`]),
//! hooks, boundary, the classifier of commands ([`judge`]), approval, budget. Whoever runs what
//! was admitted gets the approval that [`Admitted::concern`] asks for first. A
//! refusal tells the model what was refused, by which rule, whether anybody could allow it,
//! and what it can do instead.

use crate::children::{Ground, Reader, real};
use crate::context::AgentContext;
use crate::turn::facts::{Among, CallFacts, InTurn, Nowhere, Surroundings};
use insula_domain::argument::Refused;
use insula_domain::command::{
    Assessment, DangerRule, Finding, classify_code, classify_in, classify_input, runs_its_input,
};
use insula_domain::question::TooLong;
use insula_domain::{
    AccessMode, ApprovalMode, Boundary, Effect, OpaqueRule, Rule, Switch, Verdict,
};
use insula_tools::{Risk, Tool, ToolRef};
use serde_json::Value;
use std::fmt;
use std::path::{Component, Path};

/// Largest arguments of a call, in bytes: a file to write fits, a disk image does not.
pub const ARGUMENTS_BYTES_MAX: usize = 512 * 1024;

/// A call the gate let through.
pub struct Admitted {
    /// The tool.
    pub tool: ToolRef,
    /// Its arguments.
    pub arguments: Value,
    /// Why somebody has to agree before it runs.
    pub concern: Option<Finding>,
    /// The folder a program of it would begin in, where that is not where they begin anyway.
    pub(super) ground: Option<Ground>,
    /// The process that reads it, where it is written to one.
    pub(super) reader: Option<Reader>,
}

/// Why a call does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// The agent does not have the tool.
    NotExposed {
        /// The tool.
        name: String,
        /// The rule that decided.
        rule: Rule,
    },
    /// The agent may have it, and this version does not run it.
    NotBuilt {
        /// The tool.
        name: String,
    },
    /// An argument rule does not allow the call.
    Rule {
        /// The tool.
        name: String,
        /// The rule, and what is wrong.
        refused: Refused,
    },
    /// A hook of the agent does not allow it.
    Hook {
        /// The tool.
        name: String,
        /// The hook.
        hook: String,
        /// Why.
        reason: String,
    },
    /// The tool's effect is outside of the boundary, whatever the arguments.
    Boundary {
        /// The tool.
        name: String,
        /// The effect.
        effect: Effect,
    },
    /// The arguments can't be read.
    Arguments {
        /// What is wrong with them.
        what: String,
    },
    /// It is among what nobody may allow.
    Never {
        /// The tool.
        name: String,
        /// What stands against it.
        finding: Finding,
    },
    /// It needs approval, and did not get it.
    Unapproved {
        /// The tool.
        name: String,
        /// What stands against it.
        finding: Finding,
        /// Why there was no approval.
        why: Unapproved,
    },
    /// Not all of it can be looked at, and the operator allows no such thing.
    Opaque {
        /// The tool.
        name: String,
        /// What stands against it.
        finding: Finding,
    },
    /// Every conversation could read what it writes, and that was not allowed.
    Everywhere {
        /// The tool.
        name: String,
        /// Why there was no approval; `None` where nobody can give one.
        why: Option<Unapproved>,
    },
    /// The agent has less by now than the turn began with, of what the call touches.
    Changed {
        /// The tool.
        name: String,
        /// What there is less of.
        what: &'static str,
    },
    /// The same refused call was made again and again.
    Repeated {
        /// The tool.
        name: String,
    },
}

/// Why something was not approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unapproved {
    /// An admin said no.
    Denied {
        /// Why.
        reason: Option<String>,
    },
    /// Nobody answered in time.
    Silence,
    /// The model that judges did not say yes.
    Judged,
    /// There is nobody to ask.
    Nobody,
    /// Nobody could see all of it.
    TooLong(TooLong),
}

impl fmt::Display for Unapproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { reason: Some(reason) } => write!(f, "an admin denied it: {reason}"),
            Self::Denied { reason: None } => f.write_str("an admin denied it"),
            Self::Silence => {
                f.write_str("no admin of this agent answered in time; one could allow it later")
            }
            Self::Judged => f.write_str("the judging model did not approve it"),
            Self::Nobody => f.write_str("there is nobody here who could be asked"),
            Self::TooLong(why) => why.fmt(f),
        }
    }
}

impl Denial {
    /// The rule, as one word for the audit.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotExposed { .. } => "exposure",
            Self::NotBuilt { .. } => "availability",
            Self::Rule { .. } => "argument_rule",
            Self::Hook { .. } => "hook",
            Self::Boundary { .. } => "boundary",
            Self::Arguments { .. } => "arguments",
            Self::Never { .. } => "never",
            Self::Unapproved { .. } => "approval",
            Self::Opaque { .. } => "opaque",
            Self::Everywhere { .. } => "global_writes",
            Self::Changed { .. } => "changed",
            Self::Repeated { .. } => "loop_guard",
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotExposed { name, rule } => write!(
                f,
                "refused: you do not have the tool `{name}` ({rule}); nobody in this conversation can change that, so go on without it"
            ),
            Self::NotBuilt { name } if name.starts_with("mcp__") => {
                write!(f, "refused: none of your servers offers `{name}`; go on without it")
            }
            Self::NotBuilt { name } => {
                write!(
                    f,
                    "refused: the tool `{name}` does not run in this version; go on without it"
                )
            }
            Self::Rule { name, refused } => write!(
                f,
                "refused: this call of `{name}` is outside of what you may do: {refused}; nobody in this conversation can change the rule, so stay within it or go on without"
            ),
            Self::Hook { name, reason, .. } => write!(
                f,
                "refused: a hook does not allow this call of `{name}`: {reason}; nobody in this conversation can change that, so do something else or go on without it"
            ),
            Self::Boundary { name, effect } => write!(
                f,
                "refused: `{name}` would {effect}, which your boundary does not allow{}; go on without it",
                grant_hint(*effect)
            ),
            Self::Arguments { what } => {
                write!(f, "refused: {what}; correct the arguments and call again")
            }
            Self::Never { name, finding } => write!(
                f,
                "refused: {}; nobody can allow that; instead, {}",
                found(name, finding),
                finding.rule.instead()
            ),
            Self::Unapproved { name, finding, why } => write!(
                f,
                "refused: {}, which needs the approval of an admin of this agent; {why}; do not try to get around it; instead, {}",
                found(name, finding),
                finding.rule.instead()
            ),
            Self::Opaque { name, finding } => write!(
                f,
                "refused: {}; `approvals.opaque` of this agent is `deny`, so nobody in this conversation can allow it; instead, {}",
                found(name, finding),
                DangerRule::Opaque.instead()
            ),
            Self::Everywhere { name, why: None } => write!(
                f,
                "refused: every conversation could read what this call of `{name}` writes, and `memory.global_writes` of this agent is `deny`; leave `scope` out to remember it here"
            ),
            Self::Everywhere { name, why: Some(why) } => write!(
                f,
                "refused: every conversation could read what this call of `{name}` writes, which needs the approval of an admin of this agent; {why}; leave `scope` out to remember it here"
            ),
            Self::Changed { name, what } => write!(
                f,
                "refused: the operator changed what you may do since this turn began ({what}), and this call of `{name}` would be made with what was; go on without it, the next message is answered under what holds then"
            ),
            Self::Repeated { name } => write!(
                f,
                "refused: this call of `{name}` was refused before; do something else or answer without it"
            ),
        }
    }
}

/// What stands against a call, and what of it was not looked at.
fn found(name: &str, finding: &Finding) -> String {
    let Finding { rule, piece, unseen } = finding;
    let says = rule.says();
    let unseen = unseen.map(|it| format!("; not looked at: {}", it.says())).unwrap_or_default();
    format!("`{piece}` in this call of `{name}` {says} (rule `{rule}`{unseen})")
}

/// The tools that any agent could have.
pub type Tools = &'static [&'static dyn Tool];

/// Decides about one call of a built-in tool, or of one of the agent's own, as far as that
/// takes nobody's answer: without hooks, and outside of any turn.
pub fn admit(agent: &AgentContext, name: &str, arguments: &str) -> Result<Admitted, Denial> {
    let examined = examine(insula_tools::BUILT_IN, agent, name, arguments, &Nowhere)?;
    let home = &agent.workspace.path;
    let (by, walls) = (By::Others, Walls::Partial);
    judge(agent, examined, &Beside { reader: None, ground: None, home, by, walls })
}

/// What a call is judged beside.
pub(super) struct Beside<'b> {
    /// The process of this conversation that would read it.
    pub(super) reader: Option<&'b Reader>,
    /// The folder a program of it would begin in, where that is not where they begin anyway.
    pub(super) ground: Option<&'b Ground>,
    /// The daemon's home, by its real path.
    pub(super) home: &'b Path,
    /// Whose word it is by.
    pub(super) by: By,
    /// What holds the programs that it would start.
    pub(super) walls: Walls,
}

/// Whose word a call is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// All that the model was shown came from admins of the agent.
    Admins,
    /// Somebody else's words are among it.
    Others,
}

/// Whether an agent's programs run inside of the whole sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walls {
    /// Every wall stands.
    Full,
    /// There are none, or this machine does not give one.
    Partial,
}

/// What becomes of a command that can't be looked through: nothing but `Deny`, `Ask` or `Allow`.
fn opaque(rule: OpaqueRule, by: By, walls: Walls) -> OpaqueRule {
    match (rule, by, walls) {
        (OpaqueRule::ByTurn, By::Admins, Walls::Full) => OpaqueRule::Allow,
        (OpaqueRule::ByTurn, ..) => OpaqueRule::Ask,
        (rule, ..) => rule,
    }
}

/// A call that the tool policy allows.
#[derive(Clone)]
pub(super) struct Examined {
    pub(super) tool: ToolRef,
    pub(super) arguments: Value,
}

/// The first half: whether the agent has the tool, of these or of its own, and may call it
/// with these arguments. What is around the call is asked for only where a rule looks at it.
pub(super) fn examine(
    tools: Tools,
    agent: &AgentContext,
    name: &str,
    arguments: &str,
    around: &dyn Surroundings,
) -> Result<Examined, Denial> {
    if let Verdict::Out(rule) = agent.tools().verdict(name) {
        return Err(Denial::NotExposed { name: name.to_owned(), rule });
    }
    let built_in = tools.iter().copied().find(|tool| tool.name() == name).map(ToolRef::BuiltIn);
    let Some(tool) = built_in.or_else(|| agent.toolbox.find(name)) else {
        return Err(Denial::NotBuilt { name: name.to_owned() });
    };
    if arguments.len() > ARGUMENTS_BYTES_MAX {
        let what = format!("the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes");
        return Err(Denial::Arguments { what });
    }
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let arguments = match serde_json::from_str(text) {
        Ok(arguments @ Value::Object(_)) => arguments,
        Ok(_) => {
            let what = "the arguments are not a JSON object".to_owned();
            return Err(Denial::Arguments { what });
        }
        Err(error) => {
            return Err(Denial::Arguments { what: format!("the arguments are not JSON: {error}") });
        }
    };
    let call = CallFacts::new(&arguments, around);
    if let Err(refused) = agent.boundary.rules.admit(name, &call) {
        return Err(Denial::Rule { name: name.to_owned(), refused });
    }
    Ok(Examined { tool, arguments })
}

/// The last word, right before a call begins: counts it, unless a rule that counts says that
/// there were enough. Children of the turn may have made calls since it was examined.
pub(super) fn count(
    agent: &AgentContext,
    name: &str,
    arguments: &Value,
    around: &InTurn<'_>,
) -> Result<(), Denial> {
    let rules = &agent.boundary.rules;
    around.cx.made.claim(name, arguments, |made| {
        if !rules.counts(name) {
            return Ok(());
        }
        let among = Among { around, made };
        let call = CallFacts::new(arguments, &among);
        rules.admit(name, &call).map_err(|refused| Denial::Rule { name: name.to_owned(), refused })
    })
}

/// The second half, after the hooks: the boundary, and what the classifier says about what the
/// call would run.
pub(super) fn judge(
    agent: &AgentContext,
    examined: Examined,
    beside: &Beside<'_>,
) -> Result<Admitted, Denial> {
    let Examined { tool, arguments } = examined;
    if let Some(effect) = beyond(agent, tool.name()) {
        return Err(Denial::Boundary { name: tool.name().to_owned(), effect });
    }
    let folder = beside.ground.map(Ground::path);
    let foreign = folder.filter(|folder| !is_own(agent, beside.home, folder));
    let approvals = &agent.boundary.approvals;
    // Who may not agree to what they asked for has not agreed by asking.
    let by = if approvals.separation == Switch::On { By::Others } else { beside.by };
    let is_off = agent.programs.sandbox == Switch::Off;
    let walls = if is_off { Walls::Partial } else { beside.walls };
    let opaque = opaque(approvals.opaque, by, walls);
    let concern = match assess(&tool.risk(&arguments), foreign, beside.reader) {
        Assessment::Harmless => None,
        Assessment::Never(finding) => {
            return Err(Denial::Never { name: tool.name().to_owned(), finding });
        }
        Assessment::NeedsApproval(finding)
            if finding.unseen.is_some() && opaque == OpaqueRule::Deny =>
        {
            return Err(Denial::Opaque { name: tool.name().to_owned(), finding });
        }
        Assessment::NeedsApproval(finding)
            if finding.rule == DangerRule::Opaque && opaque == OpaqueRule::Allow =>
        {
            None
        }
        // Approvals that are off are off for what ends with the turn.
        Assessment::NeedsApproval(finding)
            if approvals.mode == ApprovalMode::Off && finding.rule != DangerRule::ChangeSelf =>
        {
            None
        }
        Assessment::NeedsApproval(finding) => Some(finding),
    };
    let (ground, reader) = (beside.ground.cloned(), beside.reader.cloned());
    Ok(Admitted { tool, arguments, concern, ground, reader })
}

/// Whether a folder is one of those that the agent was given: a name in it is no file of the
/// system, wherever its operator keeps it.
fn is_own(agent: &AgentContext, home: &Path, folder: &str) -> bool {
    let mut shared = agent.boundary.files.shared.iter().map(|shared| Path::new(&*shared.path));
    let folder = Path::new(folder);
    let goes_up = folder.components().any(|part| part == Component::ParentDir);
    // A folder is known by its real path; what was granted may be written otherwise.
    let is_in = |granted: &Path| {
        folder.starts_with(granted)
            || real(granted).is_some_and(|granted| folder.starts_with(granted))
    };
    let own = &agent.workspace;
    !goes_up && (own.holds(home, folder) || is_in(&own.path) || shared.any(is_in))
}

fn assess(risk: &Risk<'_>, folder: Option<&str>, reader: Option<&Reader>) -> Assessment {
    match risk {
        Risk::None => Assessment::Harmless,
        Risk::Command(line) => classify_in(line, folder),
        Risk::Input { text, .. } => match reader {
            // Nothing of that name is there, and what was judged for nobody is read by nobody.
            None => Assessment::Harmless,
            Some(Reader { command, .. }) if !runs_its_input(command) => Assessment::Harmless,
            Some(Reader { command, .. }) => classify_input(command, text),
        },
        Risk::Code { language, text } => classify_code(language, text),
        Risk::ChangeSelf(what) => {
            Assessment::NeedsApproval(Finding::new(DangerRule::ChangeSelf, what.to_string()))
        }
    }
}

/// An effect the tool declares that the boundary rules out altogether. Which file, host or
/// address an effect may have is decided where its handle is.
fn beyond(agent: &AgentContext, name: &str) -> Option<Effect> {
    let Boundary { files, network, .. } = &agent.boundary;
    let modes = files.shared.iter().map(|shared| shared.mode).chain([files.workspace_mode]);
    let writes = modes.max() == Some(AccessMode::Rw);
    let effects = insula_domain::tool::find(name).map_or(&[][..], |tool| tool.effects);
    // The search has a host of its own, which the operator granted by naming it.
    let reaches = !network.is_none() || name == "web_search" && agent.search.is_some();
    effects.iter().copied().find(|effect| match effect {
        Effect::WriteFiles => !writes,
        Effect::Network => !reaches,
        _ => false,
    })
}

/// Which setting would allow what the boundary rules out, for the model to pass on.
fn grant_hint(effect: Effect) -> &'static str {
    match effect {
        Effect::Network => " (the operator could name hosts under `network.allow` of this agent)",
        _ => "",
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
