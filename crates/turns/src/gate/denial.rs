//! Why a call does not happen, told so that a model can do something else: what was refused, by
//! which rule, whether anybody could allow it, and what it can do instead.

use crate::mended::Instead;
use insula_domain::argument::Refused;
use insula_domain::command::{CommandFinding, DangerRule};
use insula_domain::question::TooLong;
use insula_domain::{Effect, Rule};
use std::fmt;

/// Why a call does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// There is no such tool.
    Unknown {
        /// What was called.
        name: String,
        instead: Instead,
    },
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
        hook: String,
        /// Why.
        reason: String,
    },
    /// The tool's effect is outside of the boundary, whatever the arguments.
    Boundary {
        /// The tool.
        name: String,
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
        finding: CommandFinding,
    },
    /// Words of others may have brought it about, and nobody agreed to it.
    Tainted {
        /// The tool.
        name: String,
        /// Whose words.
        sources: String,
        /// What says that somebody has to, or that nobody may.
        by: String,
        /// Why nobody did; `None` where nobody may.
        why: Option<Unapproved>,
    },
    /// It needs approval, and did not get it.
    Unapproved {
        /// The tool.
        name: String,
        /// What stands against it.
        finding: CommandFinding,
        /// Why there was no approval.
        why: Unapproved,
    },
    /// Not all of it can be looked at, and the operator allows no such thing.
    Opaque {
        /// The tool.
        name: String,
        /// What stands against it.
        finding: CommandFinding,
    },
    /// Every conversation could read what it writes, and that was not allowed.
    Everywhere {
        /// The tool.
        name: String,
        /// Why there was no approval; `None` where nobody can give one.
        why: Option<Unapproved>,
    },
    /// No link lets it go to another agent with what the turn has seen.
    Link {
        /// The tool.
        name: String,
        /// Why, as one word.
        by: &'static str,
        why: String,
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
            Self::Unknown { .. } | Self::NotExposed { .. } => "exposure",
            Self::NotBuilt { .. } => "availability",
            Self::Rule { .. } => "argument_rule",
            Self::Hook { .. } => "hook",
            Self::Boundary { .. } => "boundary",
            Self::Arguments { .. } => "arguments",
            Self::Never { .. } => "never",
            Self::Tainted { .. } => "integrity",
            Self::Unapproved { .. } => "approval",
            Self::Opaque { .. } => "opaque",
            Self::Everywhere { .. } => "global_writes",
            Self::Link { .. } => "link",
            Self::Changed { .. } => "changed",
            Self::Repeated { .. } => "loop_guard",
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, instead } => unknown(f, name, instead),
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
            Self::Tainted { name, sources, why: Some(why), .. } => write!(
                f,
                "refused: this turn has read words of others ({sources}), or a program of it would find them, so this call of `{name}` needs the approval of an admin of this agent; {why}; do not try to get around it; instead, tell the user what you would do and why"
            ),
            Self::Tainted { name, sources, why: None, .. } => write!(
                f,
                "refused: this turn has read words of others ({sources}), or a program of it would find them, and `integrity` of this agent does not let it call `{name}` then; nobody in this conversation can allow it, so tell the user what you would have done"
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
            Self::Link { name, why, .. } => write!(
                f,
                "refused: this call of `{name}` goes to no other agent: {why}; nobody in this conversation can change that, so go on without it"
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

fn unknown(f: &mut fmt::Formatter<'_>, name: &str, instead: &Instead) -> fmt::Result {
    let quoted = |names: &[String], between: &str| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(between)
    };
    match name.starts_with("mcp__") {
        true => write!(f, "refused: none of your servers offers `{name}`")?,
        false => {
            write!(f, "refused: you do not have the tool `{name}`, there is none of that name")?
        }
    }
    match (instead.near.as_slice(), instead.offered.as_slice()) {
        ([], []) => f.write_str("; go on without it"),
        ([], offered) => {
            write!(
                f,
                "; your tools are {}; use one of these or go on without",
                quoted(offered, ", ")
            )
        }
        (near, _) => write!(
            f,
            "; did you mean {}? Call that by its name, or go on without",
            quoted(near, " or ")
        ),
    }
}

/// What stands against a call, and what of it was not looked at.
fn found(name: &str, finding: &CommandFinding) -> String {
    let CommandFinding { rule, piece, unseen } = finding;
    let says = rule.says();
    let unseen = unseen.map(|it| format!("; not looked at: {}", it.says())).unwrap_or_default();
    format!("`{piece}` in this call of `{name}` {says} (rule `{rule}`{unseen})")
}

/// Which setting would allow what the boundary rules out, for the model to pass on.
fn grant_hint(effect: Effect) -> &'static str {
    match effect {
        Effect::Network => " (the operator could name hosts under `network.allow` of this agent)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_tool_is_refused_with_what_may_have_been_meant() {
        let told = |name: &str, near: &[&str], offered: &[&str]| {
            let list = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
            let instead = Instead { near: list(near), offered: list(offered) };
            Denial::Unknown { name: name.to_owned(), instead }.to_string()
        };
        assert_eq!(
            told("bash", &["terminal", "execute_code"], &["terminal"]),
            "refused: you do not have the tool `bash`, there is none of that name; did you mean `terminal` or `execute_code`? Call that by its name, or go on without"
        );
        assert_eq!(
            told("quux", &[], &["todo", "memory"]),
            "refused: you do not have the tool `quux`, there is none of that name; your tools are `todo`, `memory`; use one of these or go on without"
        );
        let server = told("mcp__git__psh", &["mcp__git__push"], &[]);
        assert!(server.starts_with("refused: none of your servers offers `mcp__git__psh`; did"));
    }

    #[test]
    fn a_refusal_says_what_was_not_looked_at_and_what_to_do() {
        use insula_domain::command::Unseen;
        let finding = CommandFinding::unseen(Unseen::Code, "python3 x.py");
        let denial = Denial::Opaque { name: "terminal".to_owned(), finding };
        assert_eq!(denial.rule(), "opaque");
        assert_eq!(
            denial.to_string(),
            "refused: `python3 x.py` in this call of `terminal` does something that its words do not say (rule `opaque`; not looked at: the script or code that it runs); `approvals.opaque` of this agent is `deny`, so nobody in this conversation can allow it; instead, write the commands out in full, with every quote closed"
        );
    }
}
