//! The gate: the one place that admits or refuses what a tool wants to do.
//!
//! The order is fixed: exposed in the table, tool policy, (hooks, later,) boundary, the
//! classifier of commands, approval, budget. All but the last two are decided here; whoever
//! runs what was admitted gets the approval that [`Admitted::concern`] asks for first. A
//! refusal tells the model what was refused, by which rule, whether anybody could allow it,
//! and what it can do instead.

use crate::context::AgentContext;
use insula_domain::command::{Assessment, Finding, classify, classify_code, runs_its_input};
use insula_domain::{AccessMode, ApprovalMode, Boundary, Effect, Rule, Verdict};
use insula_tools::{Risk, Tool};
use serde_json::Value;
use std::fmt;

/// Largest arguments of a call, in bytes: a file to write fits, a disk image does not.
pub const ARGUMENTS_BYTES_MAX: usize = 512 * 1024;

/// A call the gate let through.
pub struct Admitted {
    /// The tool.
    pub tool: &'static dyn Tool,
    /// Its arguments.
    pub arguments: Value,
    /// Why somebody has to agree before it runs.
    pub concern: Option<Finding>,
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
    /// Every conversation could read what it writes, and that was not allowed.
    Everywhere {
        /// The tool.
        name: String,
        /// Why there was no approval; `None` where nobody can give one.
        why: Option<Unapproved>,
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
        }
    }
}

impl Denial {
    /// The rule, as one word for the audit.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotExposed { .. } => "exposure",
            Self::NotBuilt { .. } => "availability",
            Self::Boundary { .. } => "boundary",
            Self::Arguments { .. } => "arguments",
            Self::Never { .. } => "never",
            Self::Unapproved { .. } => "approval",
            Self::Everywhere { .. } => "global_writes",
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
            Self::NotBuilt { name } => {
                write!(
                    f,
                    "refused: the tool `{name}` does not run in this version; go on without it"
                )
            }
            Self::Boundary { name, effect } => write!(
                f,
                "refused: `{name}` would {effect}, which your boundary does not allow{}; go on without it",
                grant_hint(*effect)
            ),
            Self::Arguments { what } => {
                write!(f, "refused: {what}; correct the arguments and call again")
            }
            Self::Never { name, finding: Finding { rule, piece } } => write!(
                f,
                "refused: `{piece}` in this call of `{name}` {} (rule `{rule}`); nobody can allow that; instead, {}",
                rule.says(),
                rule.instead()
            ),
            Self::Unapproved { name, finding: Finding { rule, piece }, why } => write!(
                f,
                "refused: `{piece}` in this call of `{name}` {} (rule `{rule}`), which needs the approval of an admin of this agent; {why}; do not try to get around it; instead, {}",
                rule.says(),
                rule.instead()
            ),
            Self::Everywhere { name, why: None } => write!(
                f,
                "refused: every conversation could read what this call of `{name}` writes, and `memory.global_writes` of this agent is `deny`; leave `scope` out to remember it here"
            ),
            Self::Everywhere { name, why: Some(why) } => write!(
                f,
                "refused: every conversation could read what this call of `{name}` writes, which needs the approval of an admin of this agent; {why}; leave `scope` out to remember it here"
            ),
            Self::Repeated { name } => write!(
                f,
                "refused: this call of `{name}` was refused before; do something else or answer without it"
            ),
        }
    }
}

/// The tools there are.
pub type Tools = &'static [&'static dyn Tool];

/// Decides about one call of a built-in tool.
pub fn admit(agent: &AgentContext, name: &str, arguments: &str) -> Result<Admitted, Denial> {
    admit_among(insula_tools::BUILT_IN, agent, name, arguments, &|_| None)
}

/// The command line of a process of this conversation, by the process's name.
pub(super) type Running<'r> = &'r (dyn Fn(&str) -> Option<String> + Sync);

/// Decides about one call of one of these tools.
pub(super) fn admit_among(
    tools: Tools,
    agent: &AgentContext,
    name: &str,
    arguments: &str,
    running: Running<'_>,
) -> Result<Admitted, Denial> {
    if let Verdict::Out(rule) = agent.tools().verdict(name) {
        return Err(Denial::NotExposed { name: name.to_owned(), rule });
    }
    let Some(tool) = tools.iter().copied().find(|tool| tool.name() == name) else {
        return Err(Denial::NotBuilt { name: name.to_owned() });
    };
    if let Some(effect) = beyond(agent, name) {
        return Err(Denial::Boundary { name: name.to_owned(), effect });
    }
    if arguments.len() > ARGUMENTS_BYTES_MAX {
        let what = format!("the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes");
        return Err(Denial::Arguments { what });
    }
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    match serde_json::from_str(text) {
        Ok(arguments @ Value::Object(_)) => judged(agent, tool, arguments, running),
        Ok(_) => Err(Denial::Arguments { what: "the arguments are not a JSON object".to_owned() }),
        Err(error) => {
            Err(Denial::Arguments { what: format!("the arguments are not JSON: {error}") })
        }
    }
}

/// What the classifier says about what the call would run.
fn judged(
    agent: &AgentContext,
    tool: &'static dyn Tool,
    arguments: Value,
    running: Running<'_>,
) -> Result<Admitted, Denial> {
    let concern = match assess(&tool.risk(&arguments), running) {
        Assessment::Harmless => None,
        Assessment::Never(finding) => {
            return Err(Denial::Never { name: tool.name().to_owned(), finding });
        }
        Assessment::NeedsApproval(_) if agent.boundary.approvals.mode == ApprovalMode::Off => None,
        Assessment::NeedsApproval(finding) => Some(finding),
    };
    Ok(Admitted { tool, arguments, concern })
}

fn assess(risk: &Risk<'_>, running: Running<'_>) -> Assessment {
    match risk {
        Risk::None => Assessment::Harmless,
        Risk::Command(line) => classify(line),
        // Where nothing of that name runs it can't be known what would read it.
        Risk::Input { process, text } => match running(process) {
            Some(command) if !runs_its_input(&command) => Assessment::Harmless,
            _ => classify(text),
        },
        Risk::Code { language, text } => classify_code(language, text),
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
