//! The terms a caller holds a turn to: which it may ask for, and who may give a folder.

use crate::caller::Caller;
use crate::error::ApiError;
use axum::http::StatusCode;
use insula_config::model::ModelRef;
use insula_domain::{AccessMode, BudgetLimits, Narrowing};
use insula_registry::AgentContext;
use insula_registry::context::{
    AllowedCall, Desk, GrantedBy, Offers, TermApprovals, Terms, is_plain,
};
use insula_registry::tokens::Verb;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::ToSchema;

/// Calls that can be agreed to beforehand.
const ALLOWED_MAX: usize = 64;
/// The word for a folder that can't be granted.
const UNFIT: &str = "unfit_folder";
/// Most dollars that a limit can say: beyond that it is none.
const USD_MAX: f64 = 1_000_000.0;

/// What a turn is held to, beside what its agent is.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AskedTerms {
    /// The folder to work in, before all others.
    pub folder: Option<AskedFolder>,
    /// The one model to run on, out of the agent's.
    pub model: Option<String>,
    /// Nothing that changes anything.
    pub looks_only: bool,
    /// `ask` (where nothing is said) or `deny`: nobody is asked, and what needs an approval is
    /// refused unless `allow` names it.
    pub approvals: Option<String>,
    /// Calls that are agreed to, as `TOOL` or `TOOL:COMMAND`; with `approvals: deny`.
    pub allow: Vec<String>,
    /// What the turn may spend, of what its agent may.
    pub usd: Option<f64>,
    /// In a conversation and a folder for this turn alone, both gone after it.
    pub once: bool,
    /// What the editor it is asked from does.
    pub editor: Option<AskedEditor>,
}

/// A folder to work in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedFolder {
    /// Its whole path.
    pub path: String,
    /// `rw` or `ro`: what is granted for this conversation, where the agent does not have it. Only
    /// the operator's own command line can.
    pub share: Option<String>,
}

/// What an editor does.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AskedEditor {
    /// It says what it has open.
    pub reads: bool,
    /// It takes what is written.
    pub writes: bool,
}

impl AskedFolder {
    /// What may be done in it, and by whose word.
    pub fn granted(
        &self,
        caller: &Caller,
        agent: &AgentContext,
    ) -> Result<(PathBuf, AccessMode, GrantedBy), ApiError> {
        let path = PathBuf::from(&self.path);
        let shown = self.path.escape_debug();
        if !is_plain(&path) || self.path.contains('\0') {
            let message = format!("`{shown}` is no whole path without `..`; give the folder's own");
            return Err(ApiError::invalid(message));
        }
        let share = match self.share.as_deref() {
            None => None,
            Some(mode) => Some(AccessMode::parse(mode).ok_or_else(|| {
                ApiError::invalid(format!("`{}` is no mode: rw, ro", mode.escape_debug()))
            })?),
        };
        if let Some(own) = Terms::folder_of_agent(&agent.workspace, &path) {
            let mode = share.map_or(own, |share| share.min(own));
            return Ok((path, mode, GrantedBy::Agent));
        }
        match (share, caller) {
            (Some(mode), Caller::Local) => match agent.workspace.place().unfit(&path) {
                // Whatever an editor indexes there, or a program reads, would meet the home; and no
                // program is shown a folder that has it.
                None if agent.workspace.place().is_around_home(&path) => {
                    let why = format!(
                        "the folder can't be granted: `{shown}` has the home of the daemon in it; \
                         keep the home elsewhere (`--home`)"
                    );
                    Err(ApiError::new(StatusCode::BAD_REQUEST, UNFIT, why))
                }
                None => Ok((path, mode, GrantedBy::Operator)),
                Some(why) => {
                    let why = format!("the folder can't be granted: {why}");
                    Err(ApiError::new(StatusCode::BAD_REQUEST, UNFIT, why))
                }
            },
            _ => {
                let message = format!(
                    "agent `{}` is not granted `{shown}`: add it to `files.shared` of the agent, \
                     or let the operator's command grant it for this conversation (`--share`)",
                    agent.id
                );
                Err(ApiError::new(StatusCode::FORBIDDEN, "folder_not_granted", message))
            }
        }
    }
}

impl AskedTerms {
    /// The terms, if this caller may have them. `by` is how records call them.
    pub fn made(
        &self,
        caller: &Caller,
        agent: &AgentContext,
        by: &str,
        has_tool: impl Fn(&str) -> bool,
    ) -> Result<Terms, ApiError> {
        let model = self.model.as_deref().map(|model| model_of(agent, model)).transpose()?;
        let usd_micros_per_day = self.usd.map(micros).transpose()?;
        let desk = match &self.folder {
            None => Desk::Usual,
            Some(folder) => {
                let (path, mode, by) = folder.granted(caller, agent)?;
                Desk::Folder { path, mode, by }
            }
        };
        let editor = self.editor.as_ref();
        // It is told what tools bring, as who reads transcripts is.
        if editor.is_some() && !caller.may(&agent.id, Verb::Read) {
            let message = "`editor` needs a token with the verb `read`";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
        }
        Ok(Terms {
            less: Arc::new(Narrowing {
                tools: self.looks_only.then(|| Terms::looks_only(by)),
                budget: BudgetLimits { usd_micros_per_day, ..BudgetLimits::default() },
                model,
                ..Narrowing::by(by)
            }),
            approvals: self.approvals(caller, agent, has_tool)?,
            desk,
            once: self.once,
            editor: editor.map(|it| Offers { reads: it.reads, writes: it.writes }),
        })
    }

    fn approvals(
        &self,
        caller: &Caller,
        agent: &AgentContext,
        has_tool: impl Fn(&str) -> bool,
    ) -> Result<TermApprovals, ApiError> {
        match self.approvals.as_deref() {
            None | Some("ask") if self.allow.is_empty() => return Ok(TermApprovals::Ask),
            None | Some("ask") => {
                let message = "`allow` is for turns that ask nobody: say `approvals: deny`";
                return Err(ApiError::invalid(message));
            }
            Some("deny") => {}
            Some(other) => {
                let message = format!("`{}` is no way: ask, deny", other.escape_debug());
                return Err(ApiError::invalid(message));
            }
        }
        if self.allow.len() > ALLOWED_MAX {
            return Err(ApiError::invalid(format!("`allow` has more than {ALLOWED_MAX} entries")));
        }
        // Whoever allows a call beforehand answers what would be asked, and has to be let.
        if !self.allow.is_empty() && !caller.may(&agent.id, Verb::Approve) {
            let message = "`allow` needs a token with the verb `approve`";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
        }
        let calls = self.allow.iter().map(|text| {
            let shown = text.escape_debug();
            let call = AllowedCall::parse(text).ok_or_else(|| {
                ApiError::invalid(format!("`{shown}` is no call: write TOOL or TOOL:COMMAND"))
            })?;
            if !has_tool(call.tool()) || !agent.tools().verdict(call.tool()).is_in() {
                let message = format!(
                    "agent `{}` does not have the tool `{}`, so it can't be allowed; `insula tools {}` lists its tools",
                    agent.id,
                    call.tool(),
                    agent.id
                );
                return Err(ApiError::invalid(message));
            }
            Ok(call)
        });
        Ok(TermApprovals::Only(calls.collect::<Result<_, _>>()?))
    }
}

/// A model of the agent's, by its whole name or the part behind the provider.
fn model_of(agent: &AgentContext, name: &str) -> Result<Box<str>, ApiError> {
    let own = &agent.models.models;
    let is_it = |it: &&ModelRef| it.to_string() == name || *it.name == *name;
    let found = own.iter().find(is_it).map(|model| model.to_string().into());
    found.ok_or_else(|| {
        let own: Vec<String> = own.iter().map(ToString::to_string).collect();
        let message = format!(
            "agent `{}` does not run on `{}`; it has {}",
            agent.id,
            name.escape_debug(),
            own.join(", ")
        );
        ApiError::invalid(message)
    })
}

fn micros(usd: f64) -> Result<u64, ApiError> {
    if !usd.is_finite() || usd <= 0.0 || usd > USD_MAX {
        return Err(ApiError::invalid("`usd` is how many dollars at most, more than 0"));
    }
    // Positive and small enough by the line above. A limit below the smallest sum is no limit of
    // nothing.
    Ok(((usd * 1e6).round() as u64).max(1))
}
