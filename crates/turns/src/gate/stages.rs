//! The stages of the gate that nobody is asked in. Each refuses, or lets through.

use super::super::current::permits;
use super::super::facts::{Among, CallFacts};
use super::{Call, Denial, Judged, NotPassed, around, generations, integrity};
use crate::linking;
use crate::turn::Turn;
use insula_capabilities::programs::{Ground, Reader, real};
use insula_domain::command::{
    Assessment, CommandFinding, DangerRule, Severity, classify_code, classify_in, classify_input,
    runs_its_input,
};
use insula_domain::{
    AccessMode, ApprovalMode, Boundary, Effect, LinkKind, OpaqueRule, Switch, ToolVerdict,
};
use insula_registry::context::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::Message;
use insula_tools::{Risk, ToolRef};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Largest arguments of a call, in bytes: a file to write fits, a disk image does not.
pub const ARGUMENTS_BYTES_MAX: usize = 512 * 1024;

/// Exposed: whether the agent has the tool, of those that any could have or of its own, and no
/// skill in use takes it away.
pub(super) async fn exposed(turn: &mut Turn<'_>, call: Call<'_>) -> Result<ToolRef, NotPassed> {
    let (agent, name) = (&turn.cx.agent, call.name);
    if let Some(denial) = turn.narrowed(name, call.history).await? {
        return Err(denial.into());
    }
    let verdict = agent.tools().verdict(name);
    // Of a server's tool that the table keeps out nobody says whether it is there.
    let may_be_one = name.starts_with("mcp__") && !verdict.is_in();
    if !may_be_one && let Some(instead) = turn.instead_of(name, call.history) {
        return Err(Denial::Unknown { name: name.to_owned(), instead }.into());
    }
    if let ToolVerdict::Out(rule) = verdict {
        return Err(Denial::NotExposed { name: name.to_owned(), rule }.into());
    }
    let mut tools = turn.shop.built.iter().copied();
    let built_in = || tools.find(|tool| tool.name() == name).map(ToolRef::BuiltIn);
    // The agent's own first: what is read in quarantine stands before what is built in.
    let found = agent.toolbox.find(name).or_else(built_in);
    found.ok_or_else(|| Denial::NotBuilt { name: name.to_owned() }.into())
}

/// Tool policy: whether it may be called with these arguments. What is around the call is asked
/// for only where a rule looks at it.
pub(super) fn policy(turn: &Turn<'_>, tool: &ToolRef, call: Call<'_>) -> Result<Value, Denial> {
    let (own, around) = (&turn.cx.agent, around(turn, call.history));
    let arguments = parsed(call.arguments)?;
    let facts = CallFacts::new(&arguments, &around);
    if let Err(refused) = own.boundary.rules.admit(call.name, &facts) {
        return Err(Denial::Rule { name: call.name.to_owned(), refused });
    }
    if let Some(now) = &turn.now {
        permits(own, now, (tool, &arguments), &around)?;
    }
    Ok(arguments)
}

fn parsed(arguments: &str) -> Result<Value, Denial> {
    let refuse = |what: String| Err(Denial::Arguments { what });
    if arguments.len() > ARGUMENTS_BYTES_MAX {
        return refuse(format!("the arguments are larger than {ARGUMENTS_BYTES_MAX} bytes"));
    }
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    match serde_json::from_str(text) {
        Ok(arguments @ Value::Object(_)) => Ok(arguments),
        Ok(_) => refuse("the arguments are not a JSON object".to_owned()),
        Err(error) if error.is_eof() => {
            refuse(format!("the arguments are not JSON: {error}; they were cut off, so write less"))
        }
        Err(error) => refuse(format!("the arguments are not JSON: {error}")),
    }
}

/// Hooks: whether one of them refuses it, or wants somebody to agree.
pub(super) async fn hooks(
    turn: &Turn<'_>,
    call: Call<'_>,
    arguments: &Value,
) -> Result<Option<CommandFinding>, Denial> {
    turn.before_call(call.name, arguments).await
}

/// Boundary: whether it rules out an effect of the tool altogether. Which file, host or address an
/// effect may have is decided where its handle is.
pub(super) fn boundary(turn: &Turn<'_>, tool: &ToolRef) -> Result<(), Denial> {
    let beyond = generations(turn).find_map(|agent| beyond(agent, tool.name()));
    let refuse = |effect| Err(Denial::Boundary { name: tool.name().to_owned(), effect });
    beyond.map_or(Ok(()), refuse)
}

/// Link: whether one leads to the agent that the call names, and may carry what the turn has seen.
pub(super) fn link(turn: &Turn<'_>, tool: &ToolRef, arguments: &Value) -> Result<(), Denial> {
    let name = arguments.get("agent").and_then(Value::as_str).filter(|it| !it.is_empty());
    let (Some(kind), Some(name)) = (LinkKind::of_tool(tool.name()), name) else { return Ok(()) };
    for agent in generations(turn) {
        if let Err(not) = linking::decide(turn.shop, turn.cx, agent, (kind, name)) {
            let name = tool.name().to_owned();
            return Err(Denial::Link { name, by: not.word, why: not.told });
        }
    }
    Ok(())
}

fn beyond(agent: &AgentContext, name: &str) -> Option<Effect> {
    let Boundary { files, network, .. } = &*agent.boundary;
    let modes = files.shared.iter().map(|shared| shared.mode).chain([files.workspace_mode]);
    let writes = modes.max() == Some(AccessMode::Rw);
    let effects = insula_domain::tool::find(name).map_or(&[][..], |tool| tool.effects);
    // The search has a host of its own, as pictures have, which the operator granted by naming it.
    let reaches = !network.is_none()
        || name == "web_search" && agent.search.is_some()
        || name == "image_generate" && agent.images.is_some();
    effects.iter().copied().find(|effect| match effect {
        Effect::WriteFiles => !writes,
        Effect::Network => !reaches,
        _ => false,
    })
}

/// What a call is judged beside.
pub(super) struct Setting {
    /// The process of this conversation that would read it.
    pub(super) reader: Option<Reader>,
    /// The folder a program of it would begin in, where that is not where they begin anyway.
    pub(super) ground: Option<Ground>,
    /// The daemon's home, by its real path.
    home: PathBuf,
    by: By,
    walls: Walls,
}

/// Whose word a call is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// All that the model was shown came from admins of the agent.
    Admins,
    /// Somebody else's words are among it.
    Others,
}

/// Whether an agent's programs run inside of the whole sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walls {
    /// Every wall stands.
    Full,
    /// There are none, or this machine does not give one.
    Partial,
}

impl Setting {
    pub(super) async fn of(
        turn: &Turn<'_>,
        tool: &ToolRef,
        arguments: &Value,
        call: Call<'_>,
    ) -> Self {
        let (cx, caps) = (turn.cx, &turn.shop.caps);
        let key = (cx.agent.id.clone(), cx.session);
        let ground = caps.programs.ground(&key, arguments, &cx.files).await;
        let risk = tool.risk(arguments);
        let reader = match &risk {
            Risk::Input { process, .. } => caps.programs.reader(&key, process),
            _ => None,
        };
        let (by, walls) = match risk {
            Risk::None | Risk::ChangeSelf(_) => (By::Others, Walls::Partial),
            _ => (by(turn, call.history), walls(turn).await),
        };
        Self { reader, ground, home: caps.home.real_root(), by, walls }
    }
}

fn by(turn: &Turn<'_>, history: &[Message]) -> By {
    match turn.is_all_of_admins(history, Verb::Approve) {
        true => By::Admins,
        false => By::Others,
    }
}

/// Whether this machine gives every layer that the agent's programs could do without. All others
/// have to be there.
async fn walls(turn: &Turn<'_>) -> Walls {
    for agent in generations(turn) {
        if !turn.shop.caps.programs.has_all(&agent.programs.optional).await {
            return Walls::Partial;
        }
    }
    Walls::Full
}

/// Classifier: what it says about what the call would run.
pub(super) fn classifier(
    turn: &Turn<'_>,
    tool: &ToolRef,
    arguments: &Value,
    setting: &Setting,
) -> Result<Option<CommandFinding>, Denial> {
    let mut concern = None;
    for agent in generations(turn) {
        concern = assessed(agent, tool, arguments, setting)?.or(concern);
    }
    Ok(concern)
}

fn assessed(
    agent: &AgentContext,
    tool: &ToolRef,
    arguments: &Value,
    setting: &Setting,
) -> Result<Option<CommandFinding>, Denial> {
    let Setting { reader, ground, home, by, walls } = setting;
    let folder = ground.as_ref().map(Ground::path);
    let foreign = folder.filter(|folder| !is_own(agent, home, folder));
    let approvals = &agent.boundary.approvals;
    // Who may not agree to what they asked for has not agreed by asking.
    let by = if approvals.separation == Switch::On { By::Others } else { *by };
    let is_off = agent.programs.sandbox == Switch::Off;
    let walls = if is_off { Walls::Partial } else { *walls };
    let opaque = opaque(approvals.opaque, by, walls);
    let name = || tool.name().to_owned();
    match assess(&tool.risk(arguments), foreign, reader.as_ref()) {
        Assessment::Harmless => Ok(None),
        Assessment::Never(finding) => Err(Denial::Never { name: name(), finding }),
        Assessment::NeedsApproval(finding)
            if finding.unseen.is_some() && opaque == OpaqueRule::Deny =>
        {
            Err(Denial::Opaque { name: name(), finding })
        }
        Assessment::NeedsApproval(finding)
            if finding.rule == DangerRule::Opaque && opaque == OpaqueRule::Allow =>
        {
            Ok(None)
        }
        // What is an admin's to do is done when admins ask for it, as far as it can be looked at.
        Assessment::NeedsApproval(finding)
            if finding.rule.severity() == Severity::Admins
                && by == By::Admins
                && (finding.unseen.is_none() || opaque == OpaqueRule::Allow) =>
        {
            Ok(None)
        }
        // Approvals that are off are off for what ends with the turn.
        Assessment::NeedsApproval(finding)
            if approvals.mode == ApprovalMode::Off && finding.rule != DangerRule::ChangeSelf =>
        {
            Ok(None)
        }
        Assessment::NeedsApproval(finding) => Ok(Some(finding)),
    }
}

/// What becomes of a command that can't be looked through: nothing but `Deny`, `Ask` or `Allow`.
fn opaque(rule: OpaqueRule, by: By, walls: Walls) -> OpaqueRule {
    match (rule, by, walls) {
        (OpaqueRule::ByTurn, By::Admins, Walls::Full) => OpaqueRule::Allow,
        (OpaqueRule::ByTurn, ..) => OpaqueRule::Ask,
        (rule, ..) => rule,
    }
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
            Assessment::NeedsApproval(CommandFinding::new(DangerRule::ChangeSelf, what.to_string()))
        }
    }
}

/// After the answers: whether a call that was judged a while ago is still allowed. What would need
/// an approval by now that it did not need then has none.
pub(super) async fn once_more(
    turn: &mut Turn<'_>,
    call: Call<'_>,
    judged: &Judged,
) -> Result<(), NotPassed> {
    let before = turn.now.clone();
    turn.still().await?;
    let is_same = match (&before, &turn.now) {
        (None, None) => true,
        (Some(before), Some(now)) => Arc::ptr_eq(before, now),
        _ => false,
    };
    // While somebody was asked, files may have come to hold words of others.
    if is_same && judged.concern.is_none() {
        return Ok(());
    }
    let Judged { tool, arguments, concern, .. } = judged;
    if let Some(now) = &turn.now {
        permits(&turn.cx.agent, now, (tool, arguments), &around(turn, call.history))?;
    }
    boundary(turn, tool)?;
    let steered = integrity::examine(turn, tool, arguments, call).await?;
    if steered.is_some() && judged.steered.is_none() {
        return Err(Denial::Changed { name: call.name.to_owned(), what: "integrity" }.into());
    }
    let Setting { reader, ground, home, .. } = &judged.setting;
    let setting = Setting {
        reader: reader.clone(),
        ground: ground.clone(),
        home: home.clone(),
        by: by(turn, call.history),
        walls: walls(turn).await,
    };
    if classifier(turn, tool, arguments, &setting)?.is_some() && concern.is_none() {
        let name = call.name.to_owned();
        return Err(Denial::Changed { name, what: "approvals" }.into());
    }
    Ok(())
}

/// Budget of calls, right before one begins: counts it, unless a rule that counts says that there
/// were enough. Children of the turn may have made calls since it was examined.
pub(super) fn budget(turn: &Turn<'_>, call: Call<'_>, judged: &Judged) -> Result<(), Denial> {
    let (name, around) = (call.name, around(turn, call.history));
    let rules = &turn.cx.agent.boundary.rules;
    turn.cx.made.claim(name, &judged.arguments, |made| {
        if !rules.counts(name) {
            return Ok(());
        }
        let among = Among { around: &around, made };
        let facts = CallFacts::new(&judged.arguments, &among);
        rules.admit(name, &facts).map_err(|refused| Denial::Rule { name: name.to_owned(), refused })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cant_be_looked_through_runs_by_the_setting_or_by_an_admins_word_behind_all_walls() {
        use {By::*, OpaqueRule::*, Walls::*};
        for (rule, by, walls, expected) in [
            (ByTurn, Admins, Full, Allow),
            (ByTurn, Admins, Partial, Ask),
            (ByTurn, Others, Full, Ask),
            (ByTurn, Others, Partial, Ask),
            (Allow, Others, Partial, Allow),
            (Ask, Admins, Full, Ask),
            (Deny, Admins, Full, Deny),
            (Deny, Others, Partial, Deny),
        ] {
            assert_eq!(opaque(rule, by, walls), expected, "{rule:?} {by:?} {walls:?}");
        }
    }

    #[test]
    fn arguments_have_a_length_at_which_they_end() {
        assert_eq!(ARGUMENTS_BYTES_MAX, 524_288);
        assert!(parsed(&" ".repeat(ARGUMENTS_BYTES_MAX)).is_ok());
        for more in [1, 2] {
            let denial = parsed(&" ".repeat(ARGUMENTS_BYTES_MAX + more)).unwrap_err();
            assert_eq!(denial.rule(), "arguments");
        }
    }
}
