//! From a task to the context of the child that does it.

use super::prompt;
use insula_config::model::ModelRef;
use insula_domain::{Boundary, ChildRequest, Effect, Role, Selector, ToolVerdict};
use insula_registry::context::AgentContext;
use insula_tools::ToolError;
use insula_tools::delegate::Task;
use std::sync::Arc;

/// A child that may be begun.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) agent: Arc<AgentContext>,
    pub(super) role: Role,
    /// What it is to do, in a few words.
    pub(super) goal: String,
    /// Its first message.
    pub(super) message: String,
    pub(super) tokens_max: Option<u64>,
    /// Why it works as a leaf, though its role is another.
    pub(super) leaf_because: Option<String>,
}

/// What a child of `parent` would be for this task, or why there can't be one.
pub(super) fn derive(parent: &Arc<AgentContext>, task: &Task) -> Result<Plan, ToolError> {
    let refused = |why: String| ToolError::Refused(why);
    let asked = task.tools.as_deref();
    let selectors = |names: &[String]| -> Result<Vec<Selector>, _> {
        names.iter().map(|name| Selector::parse(name)).collect()
    };
    let only_tools = asked.map(selectors).transpose().map_err(|it| refused(it.to_string()))?;
    let request = ChildRequest {
        role: task.role,
        only_tools,
        model: task.model.as_deref().map(Into::into),
        ..ChildRequest::default()
    };
    let boundary = parent.boundary.child(&request).map_err(|why| refused(why.to_string()))?;
    // It can't be, by how a boundary is derived; if it ever could, it must not run.
    if let Some(axis) = boundary.exceeds(&parent.boundary) {
        return Err(refused(format!("a child would exceed its parent: {axis}")));
    }
    // Groups and patterns keep what there is; a name that keeps nothing is a mistake.
    for name in asked.unwrap_or_default() {
        let is_name = matches!(Selector::parse(name), Ok(Selector::Tool(_)));
        if let (true, ToolVerdict::Out(rule)) = (is_name, boundary.tools.verdict(name)) {
            return Err(refused(format!("a child of yours can't have the tool `{name}`: {rule}")));
        }
    }
    let chosen = task.model.as_deref().and_then(ModelRef::parse);
    let models = match chosen.or_else(|| parent.models.children.clone()) {
        Some(model) => vec![model],
        None => parent.models.models.clone(),
    };
    let leaf_because = leaf_because(&boundary, task.role);
    let role = if leaf_because.is_some() { Role::Leaf } else { task.role };
    let soul = prompt::soul(&parent.identity.name, role);
    Ok(Plan {
        agent: Arc::new(parent.child(boundary, soul, models)),
        role: task.role,
        goal: task.goal.trim().to_owned(),
        message: prompt::message(&task.goal, task.context.as_deref()),
        tokens_max: task.max_tokens,
        leaf_because,
    })
}

/// Why a child that was to hand work on can't: whoever asked for one should know.
fn leaf_because(boundary: &Boundary, role: Role) -> Option<String> {
    let mut tools = boundary.tools.entries();
    let hands_on = tools.any(|(tool, it)| it.is_in() && tool.effects.contains(&Effect::Delegate));
    if role == Role::Leaf || hands_on {
        return None;
    }
    Some(match boundary.tools.verdict("delegate_task") {
        ToolVerdict::Out(rule) => format!("it could hand nothing on: {rule}"),
        ToolVerdict::In(_) => "it could hand nothing on".to_owned(),
    })
}
