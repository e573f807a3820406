//! The gate: the one place that admits or refuses what a tool wants to do.
//!
//! The order is fixed: exposed in the table, tool policy, then what later rooms add
//! (hooks, boundary, classifier, approval, budget). A refusal tells the model what was
//! refused, by which rule, and what it can do instead.

use crate::context::AgentContext;
use insula_domain::{AccessMode, Boundary, Effect, Rule, Verdict};
use insula_tools::Tool;
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
    /// The same refused call was made again and again.
    Repeated {
        /// The tool.
        name: String,
    },
}

impl Denial {
    /// The rule, as one word for the audit.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotExposed { .. } => "exposure",
            Self::NotBuilt { .. } => "availability",
            Self::Boundary { .. } => "boundary",
            Self::Arguments { .. } => "arguments",
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
                "refused: `{name}` would {effect}, which your boundary does not allow; go on without it"
            ),
            Self::Arguments { what } => {
                write!(f, "refused: {what}; correct the arguments and call again")
            }
            Self::Repeated { name } => write!(
                f,
                "refused: this call of `{name}` was refused before; do something else or answer without it"
            ),
        }
    }
}

/// Decides about one call.
pub fn admit(agent: &AgentContext, name: &str, arguments: &str) -> Result<Admitted, Denial> {
    if let Verdict::Out(rule) = agent.tools().verdict(name) {
        return Err(Denial::NotExposed { name: name.to_owned(), rule });
    }
    let Some(tool) = insula_tools::find(name) else {
        return Err(Denial::NotBuilt { name: name.to_owned() });
    };
    if let Some(effect) = beyond(&agent.boundary, name) {
        return Err(Denial::Boundary { name: name.to_owned(), effect });
    }
    if arguments.len() > ARGUMENTS_BYTES_MAX {
        let what = format!("the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes");
        return Err(Denial::Arguments { what });
    }
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    match serde_json::from_str(text) {
        Ok(arguments @ Value::Object(_)) => Ok(Admitted { tool, arguments }),
        Ok(_) => Err(Denial::Arguments { what: "the arguments are not a JSON object".to_owned() }),
        Err(error) => {
            Err(Denial::Arguments { what: format!("the arguments are not JSON: {error}") })
        }
    }
}

/// An effect the tool declares that the boundary rules out altogether. Which file, host or
/// address an effect may have is decided where its handle is.
fn beyond(boundary: &Boundary, name: &str) -> Option<Effect> {
    let files = &boundary.files;
    let modes = files.shared.iter().map(|shared| shared.mode).chain([files.workspace_mode]);
    let writes = modes.max() == Some(AccessMode::Rw);
    let effects = insula_domain::tool::find(name).map_or(&[][..], |tool| tool.effects);
    effects.iter().copied().find(|effect| *effect == Effect::WriteFiles && !writes)
}
