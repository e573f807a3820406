//! Whether an agent has a tool, and what it may call it with.

use super::{Finding, Subject};
use insula_domain::{Rule, TaintedRule, ToolVerdict};
use insula_turns::acts::in_tainted_turns;

/// Whether it has a tool.
pub(super) fn call(subject: &Subject<'_>, name: &str) -> Finding {
    let agent = &subject.agent;
    let verdict = agent.tools().verdict(name);
    let rule = verdict.rule().to_string();
    if let ToolVerdict::Out(why) = &verdict {
        let finding = Finding::no(rule);
        return match why {
            // What else may keep it out is not looked at where it is denied.
            Rule::Denied(selector) => finding.by(["tools"]).change(format!(
                "take `{selector}` out of `tools.deny`, and ask again: it may not be in the profile either"
            )),
            Rule::NeedsGrant | Rule::NotInProfile(_) => {
                finding.by(["tools"]).change(format!("name it: `tools: {{also_allow: [{name}]}}`"))
            }
            Rule::NotAllowed => finding.by(["tools"]).change("add it to `tools.allow`"),
            Rule::MemoryOff => finding.by(["memory"]).change("turn memory on: `memory: true`"),
            Rule::NoLink => finding.by(["links"]).change("link it: `links: [{to: AGENT}]`"),
            Rule::NoBoard => finding.change(format!(
                "give it a right to one: `boards: {{NAME: {{agents: {{{}: work}}}}}}`",
                agent.id
            )),
            Rule::NoTarget => finding.by(["send"]).change("name a place: `send: {to: [\"…\"]}`"),
            Rule::NoDelegation => finding.by(["subagents"]).change("raise `subagents.max_depth`"),
            _ => finding.by(["tools"]),
        };
    }
    if !agent.runs(name) {
        return Finding::no("none of its servers offers it").by(["mcp_servers"]);
    }
    let mut finding = Finding::yes(rule).by(["tools"]);
    for rule in agent.boundary.rules.about(name) {
        finding = finding.note(format!("only where {rule}"));
    }
    if let Some(tainted) = in_tainted_turns(agent, &agent.boundary, name) {
        let becomes = match tainted.ruling.rule {
            TaintedRule::Deny => "it is refused",
            TaintedRule::Ask => "an admin has to agree",
            TaintedRule::Allow => "it still may",
        };
        let by = tainted.ruling.to_string();
        finding = finding.note(format!("in a turn that has read words of others {becomes} ({by})"));
    }
    finding
}

/// Whether it lacks a tool, which then is the answer.
pub(super) fn without(subject: &Subject<'_>, tool: &str) -> Option<Finding> {
    let finding = call(subject, tool);
    (finding.allowed == "no").then_some(finding)
}
