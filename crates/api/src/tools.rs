//! The tool table of an agent, or of a child it could have, and why each tool is in or out.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use crate::id::live;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use insula_domain::boundary::Boundary;
use insula_domain::{ChildRequest, Group, Role, TaintedRule};
use insula_registry::AgentContext;
use insula_turns::acts::{InTaintedTurns, found_by_programs, in_tainted_turns};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Whose tools.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Whose {
    /// Those of a child with this role (`leaf`, `orchestrator`) in place of the agent's own.
    child: Option<String>,
    /// As they are left to whoever comes by this way: the number of a binding, an account as
    /// `platform:account`, or the id of a token. For the operator alone.
    via: Option<String>,
}

/// Why a tool is out that the agent may have.
const NOT_YET: &str = "this version has no such tool yet";

/// One tool, in or out.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolRow {
    name: String,
    exposed: bool,
    rule: String,
    group: &'static str,
    /// What it may be called with; nothing stands here where anything may.
    rules: Vec<String>,
    /// What becomes of its calls in a turn that has read words of others; nothing where none of
    /// them is an act, and where it is out.
    tainted: Option<TaintedView>,
}

/// What becomes of the calls of a tool in a turn that has read words of others.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaintedView {
    /// `asks`, `refused` or `allowed`.
    becomes: &'static str,
    /// Of which of its calls, as the end of "if it is …"; of each, where nothing stands here.
    when: Option<String>,
    /// The rule, and the setting that says so.
    by: String,
    /// Folders whose words count as those of others and that what it runs finds: because of them
    /// the same becomes of it in every turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    always_by: Vec<String>,
}

impl TaintedView {
    fn of(agent: &AgentContext, boundary: &Boundary, tool: &str) -> Option<Self> {
        let InTaintedTurns { ruling, when, is_closed } = in_tainted_turns(agent, boundary, tool)?;
        Some(Self {
            always_by: match ruling.rule {
                TaintedRule::Allow => Vec::new(),
                _ => found_by_programs(agent, boundary, tool),
            },
            becomes: match ruling.rule {
                TaintedRule::Deny => "refused",
                TaintedRule::Ask if is_closed => "refused",
                TaintedRule::Ask => "asks",
                TaintedRule::Allow => "allowed",
            },
            when: (!when.is_empty()).then(|| when.join(" or ")),
            by: match is_closed {
                true => format!("{ruling}; nobody is asked for it"),
                false => ruling.to_string(),
            },
        })
    }
}

/// The tool table, and why each tool is in or out.
#[utoipa::path(get, path = "/api/agents/{id}/tools", params(("id" = String, Path), Whose),
    responses((status = 200, body = [ToolRow]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn tools(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    whose: Result<Query<Whose>, QueryRejection>,
) -> Result<Json<Vec<ToolRow>>, ApiError> {
    let context = live(&api, &id)?;
    let Query(Whose { child, via }) = whose?;
    let ways = match (&caller, via) {
        (Caller::Local, Some(via)) => {
            api.access.ways_by(&context.id, &via).map_err(ApiError::invalid)?
        }
        (Caller::Token(_), Some(_)) => {
            return Err(ApiError::invalid("`via` is for the operator at the command line"));
        }
        // The bearer of a token sees what is left to them.
        (Caller::Token(token), None) => token.narrowing.clone().into_iter().collect(),
        (Caller::Local, None) => Vec::new(),
    };
    let context = context.through(&ways).map_err(ApiError::invalid)?;
    let child = child.map(|role| childs(&context.boundary, &id, &role)).transpose()?;
    let boundary = child.as_ref().unwrap_or(&context.boundary);
    let all = ruled(&api, &context, boundary, child.is_some())?;
    let rows = all.into_iter().map(|Ruled { name, group, exposed, rule }| ToolRow {
        rules: boundary.rules.about(&name).map(ToString::to_string).collect(),
        tainted: exposed.then(|| TaintedView::of(&context, boundary, &name)).flatten(),
        name,
        exposed,
        rule,
        group,
    });
    Ok(Json(rows.collect()))
}

/// A tool, whether it is in, and by which rule.
pub(crate) struct Ruled {
    pub(crate) name: String,
    pub(crate) group: &'static str,
    pub(crate) exposed: bool,
    pub(crate) rule: String,
}

/// Every tool there is to an agent within a boundary: its own, or that of a child.
pub(crate) fn ruled(
    api: &Api,
    context: &AgentContext,
    boundary: &Boundary,
    is_child: bool,
) -> Result<Vec<Ruled>, ApiError> {
    let rows = boundary.tools.entries().map(|(tool, verdict)| {
        let is_there = !verdict.is_in() || context.runs(tool.name);
        Ruled {
            name: tool.name.to_owned(),
            group: tool.group.as_str(),
            exposed: verdict.is_in() && is_there,
            rule: if is_there { verdict.rule().to_string() } else { NOT_YET.to_owned() },
        }
    });
    let servers = api.capabilities.mcp_servers(&context.id)?;
    let of_servers = servers.into_iter().flat_map(|server| server.tools).filter_map(|tool| {
        let name = tool.name?;
        // What keeps its parent from having it comes first.
        let is_less = is_child || !context.ways().is_empty();
        let (exposed, rule) = match tool.is_shown && is_less {
            true => {
                let verdict = boundary.tools.verdict(&name);
                (verdict.is_in(), verdict.rule().to_string())
            }
            false => (tool.is_shown, tool.why),
        };
        Some(Ruled { name, group: Group::Mcp.as_str(), exposed, rule })
    });
    Ok(rows.chain(of_servers).collect())
}

/// What a child of this role would have, derived as one that is begun.
fn childs(parent: &Boundary, id: &str, role: &str) -> Result<Boundary, ApiError> {
    let role = Role::parse(role).ok_or_else(|| {
        let role = role.escape_debug();
        ApiError::invalid(format!("`{role}` is no role; there are `leaf` and `orchestrator`"))
    })?;
    let request = ChildRequest { role, ..ChildRequest::default() };
    parent.child(&request).map_err(|why| {
        let message = format!("agent `{id}` can have no children: {why}");
        ApiError::new(StatusCode::CONFLICT, "no_children", message)
    })
}
