//! Which agent has which tool, and by which rule: all agents that whoever asks may read, in one
//! table.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::refusal::not_found;
use crate::tools::{Ruled, ruled};
use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse as _, Response};
use insula_registry::tokens::Verb;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use utoipa::ToSchema;

/// Agents and tools.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolMatrix {
    tools: Vec<MatrixTool>,
    /// The rules that cells are about, each once.
    rules: Vec<MatrixRule>,
    agents: Vec<MatrixAgent>,
}

/// A tool that some agent has or could have.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MatrixTool {
    name: String,
    group: &'static str,
}

/// Whether a tool is in, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, ToSchema)]
pub struct MatrixRule {
    exposed: bool,
    rule: String,
}

/// An agent, and what holds of each tool.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatrixAgent {
    id: String,
    state: &'static str,
    /// For each tool which of the rules holds; null where the agent can't have such a tool, as one
    /// of another's server.
    cells: Vec<Option<usize>>,
}

/// Gathers rows into a table.
#[derive(Default)]
struct Table {
    tools: Vec<MatrixTool>,
    by_name: HashMap<String, usize>,
    rules: Vec<MatrixRule>,
    by_rule: HashMap<MatrixRule, usize>,
}

impl Table {
    fn cell(&mut self, ruled: Ruled) -> (usize, usize) {
        let Ruled { name, group, exposed, rule } = ruled;
        let tool = *self.by_name.entry(name.clone()).or_insert_with(|| {
            self.tools.push(MatrixTool { name, group });
            self.tools.len() - 1
        });
        let rule = MatrixRule { exposed, rule };
        let rule = *self.by_rule.entry(rule.clone()).or_insert_with(|| {
            self.rules.push(rule);
            self.rules.len() - 1
        });
        (tool, rule)
    }
}

/// Which agent has which tool and why, of all that the caller may read.
#[utoipa::path(get, path = "/api/tools", responses((status = 200, body = ToolMatrix), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn matrix(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
) -> Result<Response, ApiError> {
    let ways: Vec<_> = match &caller {
        Caller::Token(token) if token.scope().is_some() => return Ok(not_found(original).await),
        // The bearer of a token sees what is left to them.
        Caller::Token(token) => token.narrowing.clone().into_iter().collect(),
        Caller::Local => Vec::new(),
    };
    let snapshot = api.registry.snapshot();
    let (mut table, mut rows) = (Table::default(), Vec::new());
    for (id, entry) in caller.own(&snapshot.agents, Verb::Read) {
        let mut cells = BTreeMap::new();
        if let Some(context) = entry.state.context() {
            let context = context.through(&ways).map_err(ApiError::invalid)?;
            let all = ruled(&api, &context, &context.boundary, false)?;
            cells.extend(all.into_iter().map(|it| table.cell(it)));
        }
        rows.push((id.to_string(), entry.state.as_str(), cells));
    }
    let width = table.tools.len();
    let agents = rows.into_iter().map(|(id, state, cells)| MatrixAgent {
        id,
        state,
        cells: (0..width).map(|tool| cells.get(&tool).copied()).collect(),
    });
    let agents = agents.collect();
    Ok(Json(ToolMatrix { tools: table.tools, rules: table.rules, agents }).into_response())
}
