//! Whether an agent, or somebody by it, can do something, by which rule, where that stands, and
//! what to change: from the configuration that holds, and nothing that was said.

mod boards;
mod files;
mod tools;
mod verbs;

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, live};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use insula_config::board::Board;
use insula_config::settings::Setting;
use insula_domain::{
    AccountId, Address, AgentId, Asker, Audience, ChatId, ChatType, Label, Platform, UserId,
};
use insula_registry::AgentContext;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// What is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// `read`, `write`, `call`, `send`, `ask`, `notify`, `handoff`, `remember`, `schedule`,
    /// `connect`, `see` or `talk`.
    verb: String,
    /// What: a path, a board or a card of it, a tool, a place, an agent, a host.
    what: Option<String>,
    /// For whom: somebody as `telegram:5`, or a place as `telegram:main:-100`.
    #[serde(rename = "as")]
    by: Option<String>,
}

/// The answer, with its reason.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explained {
    agent: String,
    verb: String,
    what: Option<String>,
    #[serde(rename = "as")]
    by: Option<String>,
    /// `yes`, `no`, or `asks` where an admin has to agree.
    allowed: &'static str,
    /// The rule that decides.
    rule: String,
    /// Where the settings stand that decide it.
    places: Vec<String>,
    /// What would make it otherwise.
    change: Option<String>,
    /// What else holds.
    notes: Vec<String>,
}

/// What is found out about a question.
pub(super) struct Finding {
    pub(super) allowed: &'static str,
    pub(super) rule: String,
    /// The settings that decide, by how their names begin.
    pub(super) settings: Vec<&'static str>,
    /// The rights on boards that decide, by name.
    pub(super) rights: Vec<String>,
    pub(super) change: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Finding {
    pub(super) fn yes(rule: impl Into<String>) -> Self {
        Self::new("yes", rule)
    }

    pub(super) fn no(rule: impl Into<String>) -> Self {
        Self::new("no", rule)
    }

    pub(super) fn asks(rule: impl Into<String>) -> Self {
        Self::new("asks", rule)
    }

    fn new(allowed: &'static str, rule: impl Into<String>) -> Self {
        let rule = rule.into();
        Self {
            allowed,
            rule,
            settings: Vec::new(),
            rights: Vec::new(),
            change: None,
            notes: Vec::new(),
        }
    }

    pub(super) fn by(mut self, settings: impl IntoIterator<Item = &'static str>) -> Self {
        self.settings.extend(settings);
        self
    }

    pub(super) fn right(mut self, board: &Board, agent: &AgentId) -> Self {
        self.rights.push(format!("boards.{}.agents.{agent}", board.name));
        self
    }

    pub(super) fn change(mut self, change: impl Into<String>) -> Self {
        self.change = Some(change.into());
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// Whom a question is about: an agent, as it serves whoever asks.
pub(super) struct Subject<'a> {
    pub(super) api: &'a Api,
    /// The agent, less what ways in take away.
    pub(super) agent: Arc<AgentContext>,
    /// Where they are, where somebody was named.
    pub(super) address: Option<Address>,
}

impl Subject<'_> {
    /// What a turn has seen that somebody begins there.
    pub(super) fn label(&self) -> Label {
        self.address.as_ref().map_or_else(Label::anyone, |it| Label::of(Audience::of(it)))
    }
}

/// Whether an agent can do something, by which rule, and what to change.
#[utoipa::path(post, path = "/api/agents/{id}/explain", tag = "agents", params(("id" = String, Path)),
    request_body = Question,
    responses((status = 200, body = Explained), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn explain(
    State(api): State<Api>,
    _caller: Caller,
    Id(id): Id,
    body: Result<Json<Question>, JsonRejection>,
) -> Result<Json<Explained>, ApiError> {
    let agent = live(&api, &id)?;
    let Json(question) = body?;
    let address = question.by.as_deref().map(|who| address(&api, who)).transpose();
    let address = address.map_err(ApiError::invalid)?;
    let settings = agent.config.clone();
    let refused = match &address {
        Some(address) => not_let_in(&api, &agent, address).await?,
        None => None,
    };
    let finding = match refused {
        Some(finding) => finding,
        None => {
            let agent = match &address {
                Some(address) => api.access.through(&agent, address).map_err(ApiError::invalid)?,
                None => agent,
            };
            let subject = Subject { api: &api, agent, address };
            verbs::find(&subject, &question.verb, question.what.as_deref())
                .map_err(ApiError::invalid)?
        }
    };
    let places = settings.settings.iter().filter(|it| concerns(it, &finding.settings));
    let snapshot = api.registry.snapshot();
    let rights = finding.rights.iter().filter_map(|right| {
        let place = snapshot.daemon.board_places.get(right)?;
        Some(format!("{right} ({place})"))
    });
    Ok(Json(Explained {
        agent: id,
        places: places.map(|it| format!("{} ({})", it.path, it.origin)).chain(rights).collect(),
        verb: question.verb,
        what: question.what,
        by: question.by,
        allowed: finding.allowed,
        rule: finding.rule,
        change: finding.change,
        notes: finding.notes,
    }))
}

fn concerns(setting: &Setting, wanted: &[&str]) -> bool {
    let is_it = |it: &&str| {
        let rest = setting.path.strip_prefix(*it);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    wanted.iter().any(is_it)
}

/// Why somebody is not heard by the agent at all, if they are not.
async fn not_let_in(
    api: &Api,
    agent: &Arc<AgentContext>,
    address: &Address,
) -> Result<Option<Finding>, ApiError> {
    let asker = Asker { address, also: &[], is_bot: false };
    let (may_talk, why) = api.access.explain(agent, asker).await?;
    if may_talk {
        return Ok(None);
    }
    let who = address.user.as_ref().map_or_else(|| address.chat.to_string(), ToString::to_string);
    let entry = format!("{}:{who}", address.platform);
    Ok(Some(
        Finding::no(format!("they may not talk to it: {why}"))
            .by(["access"])
            .change(format!("let them in: `access: {{allow: [\"{entry}\"]}}`")),
    ))
}

/// Somebody as `telegram:5`, in a direct chat; or a place as `telegram:main:-100`.
fn address(api: &Api, who: &str) -> Result<Address, String> {
    let shape = || {
        format!(
            "`{who}` is neither somebody, as `telegram:5`, nor a place, as `telegram:main:-100`"
        )
    };
    if let Ok(place) = who.parse::<Audience>() {
        return Ok(Address {
            platform: place.platform,
            account: place.account,
            chat: place.chat,
            chat_type: ChatType::Group,
            topic: place.topic,
            parent: None,
            community: None,
            user: None,
            roles: Vec::new(),
        });
    }
    let (platform, user) = who.split_once(':').ok_or_else(shape)?;
    let platform = Platform::new(platform).map_err(|error| error.to_string())?;
    let snapshot = api.registry.snapshot();
    let mut accounts = snapshot.daemon.accounts.iter().filter(|it| it.platform == platform);
    let account = match (accounts.next(), accounts.next()) {
        (Some(_), Some(_)) => {
            return Err(format!(
                "there are several accounts of {platform}; name the place, as `{platform}:ACCOUNT:{user}`"
            ));
        }
        (Some(only), None) => only.name.clone(),
        (None, _) => AccountId::new("default").map_err(|error| error.to_string())?,
    };
    let user = UserId::new(user).map_err(|error| error.to_string())?;
    Ok(Address {
        platform,
        account,
        chat: ChatId::new(user.as_str()).map_err(|error| error.to_string())?,
        chat_type: ChatType::Dm,
        topic: None,
        parent: None,
        community: None,
        user: Some(user),
        roles: Vec::new(),
    })
}
