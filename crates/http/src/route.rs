//! Which agent a message would reach, and why.

use crate::Server;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use insula_api::{ApiError, ErrorBody, IntegrityView};
use insula_capabilities::Capabilities;
use insula_config::DaemonConfig;
use insula_config::suggest::nearest;
use insula_domain::platform::PLATFORMS;
use insula_domain::{
    AccountId, Act, Address, ChatId, ChatType, Community, GuildId, Integrity, IntegrityRule,
    Narrowing, Platform, RoleId, Source, TopicId, UserId,
};
use insula_registry::{AgentContext, RuntimeError, Snapshot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// A message, as far as routing looks at it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    platform: String,
    chat: String,
    /// Without it: the platform's only account, or `default` where there is none.
    account: Option<String>,
    topic: Option<String>,
    parent: Option<String>,
    user: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
    guild: Option<String>,
    team: Option<String>,
    /// Without it: `thread` below a parent, `channel` of a guild, `dm` where the chat is the
    /// user, else `group`.
    chat_type: Option<String>,
    /// Whose words it replies to, by their id on the platform.
    quotes: Option<String>,
    /// The names of files that come with it.
    #[serde(default)]
    attachments: Vec<String>,
}

/// Where a message goes.
#[derive(Debug, Serialize, ToSchema)]
pub struct RouteAnswer {
    agent: Option<String>,
    refused: Option<String>,
    tier: Option<&'static str>,
    session_key: Option<String>,
    scope: Option<String>,
    /// Why memory is closed there, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope_refused: Option<String>,
    /// Whose words a turn that it begins has read from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    integrity: Option<IntegrityView>,
    /// What becomes of what the agent does once it has read words of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    tainted: Option<TaintedPolicy>,
    /// What the account, the binding and the token it comes by take away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ways: Vec<WayView>,
    /// The tools that leaves, and the models; nothing where no way takes anything away.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<LeftView>,
    /// Whether whoever sent it may talk to that agent. Nothing for the command line and the API,
    /// where a token says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_talk: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    may_talk_why: Option<&'static str>,
    considered: Vec<ConsideredView>,
}

/// A binding, an account or a token that takes something away from the agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct WayView {
    name: String,
    takes: Vec<String>,
}

/// What ways in leave of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeftView {
    tools: Vec<String>,
    models: Vec<String>,
    /// When it answers among several people.
    respond: &'static str,
}

impl WayView {
    fn of(way: &Arc<Narrowing>) -> Self {
        let takes = way.told().into_iter().map(|(kind, what)| format!("{kind}: {what}"));
        Self { name: way.name.to_string(), takes: takes.collect() }
    }
}

impl LeftView {
    fn of(agent: &AgentContext) -> Self {
        let known = agent.tools().exposed().filter(|tool| agent.runs(tool)).map(str::to_owned);
        Self {
            tools: known.chain(agent.toolbox.names().map(str::to_owned)).collect(),
            models: agent.models.models.iter().map(ToString::to_string).collect(),
            respond: agent.access.group.respond.as_str(),
        }
    }
}

/// What becomes of what an agent does in a turn that has read words of others.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaintedPolicy {
    profile: &'static str,
    /// `ask`, `deny` or `allow`, by act.
    acts: BTreeMap<&'static str, &'static str>,
    /// The same by tool, where the operator says so; that counts before the acts.
    tools: BTreeMap<String, &'static str>,
    /// Sources whose words are taken for the operator's.
    trusted: Vec<String>,
}

impl From<&IntegrityRule> for TaintedPolicy {
    fn from(rule: &IntegrityRule) -> Self {
        let acts = Act::ALL.into_iter();
        let tools = rule.tools.iter();
        Self {
            profile: rule.profile.as_str(),
            acts: acts.map(|it| (it.as_str(), rule.ruling_of(it).rule.as_str())).collect(),
            tools: tools.map(|(tools, rule)| (tools.to_string(), rule.as_str())).collect(),
            trusted: rule.trusted.iter().map(ToString::to_string).collect(),
        }
    }
}

/// One rule, and why it won or lost.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsideredView {
    /// Which one, from 1, in the order of the file.
    binding: usize,
    rule: String,
    agent: String,
    place: Option<String>,
    tier: &'static str,
    matched: bool,
    why: String,
}

/// Which agent a message would reach, and why.
#[utoipa::path(post, path = "/api/route/explain", request_body = Probe,
    responses((status = 200, body = RouteAnswer), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn explain(
    State(server): State<Server>,
    body: Result<Json<Probe>, JsonRejection>,
) -> Result<Json<RouteAnswer>, ApiError> {
    let Json(probe) = body?;
    let snapshot = server.registry.snapshot();
    let brought = probe.brought();
    let address = probe.address(&snapshot.daemon).map_err(ApiError::invalid)?;
    let mut told = answer(&server.capabilities, &snapshot, &address, &brought);
    // Where it goes is one thing, whether whoever sent it is heard another.
    if let Ok(answering) = snapshot.route(&address)
        && address.platform != Platform::CLI
        && address.platform != Platform::API
    {
        let judged = server.capabilities.explain_admission(&answering.context, &address).await;
        let (may_talk, why) = judged.map_err(|error| ApiError::from(RuntimeError::from(error)))?;
        told.may_talk = Some(may_talk);
        told.may_talk_why = Some(why);
    }
    Ok(Json(told))
}

fn answer(
    caps: &Capabilities,
    snapshot: &Snapshot,
    address: &Address,
    brought: &Integrity,
) -> RouteAnswer {
    let explained = snapshot.explain(address);
    let considered = explained.considered.iter().map(|considered| {
        let binding = &snapshot.router.bindings()[considered.binding];
        ConsideredView {
            binding: binding.number,
            rule: binding.matches.to_string(),
            agent: binding.agent.to_string(),
            place: snapshot.binding_places.get(considered.binding).cloned(),
            tier: considered.tier.as_str(),
            matched: considered.matched,
            why: considered.why.to_string(),
        }
    });
    let considered = considered.collect();
    let tier = explained.tier.map(|tier| tier.as_str());
    match explained.outcome {
        Ok(answering) => {
            let explained =
                caps.explain_scope(&answering.context, &answering.scope, &answering.session);
            let (scope, scope_refused) = match explained {
                Ok(scope) => (Some(scope.to_string()), None),
                Err(denied) => (None, Some(denied.to_string())),
            };
            let policy = &answering.context.boundary.integrity;
            let (ways, served) = caps.explain_ways(&answering.context, address);
            let is_less = !ways.is_empty();
            let (left, refused) = match served {
                Ok(agent) => (is_less.then(|| LeftView::of(&agent)), None),
                Err(why) => (None, Some(why)),
            };
            RouteAnswer {
                agent: Some(answering.context.id.to_string()),
                refused,
                ways: ways.iter().map(WayView::of).collect(),
                left,
                tier,
                session_key: Some(answering.session.to_string()),
                scope,
                scope_refused,
                integrity: Some((&policy.untrusted(brought)).into()),
                tainted: Some(policy.into()),
                may_talk: None,
                may_talk_why: None,
                considered,
            }
        }
        Err(refusal) => RouteAnswer {
            agent: None,
            refused: Some(refusal.to_string()),
            tier,
            session_key: None,
            scope: None,
            scope_refused: None,
            integrity: None,
            tainted: None,
            ways: Vec::new(),
            left: None,
            may_talk: None,
            may_talk_why: None,
            considered,
        },
    }
}

impl Probe {
    /// Whose words it brings along.
    fn brought(&self) -> Integrity {
        let sender = self.user.as_deref().unwrap_or_default();
        let quoted = self.quotes.as_deref();
        let quoted = quoted.and_then(|it| Source::quoted(&self.platform, Some(it), sender));
        let attached = self.attachments.iter().map(|name| Source::attachment(name));
        let sources = quoted.into_iter().chain(attached);
        sources.fold(Integrity::own(), |all, it| all.join(&Integrity::of(it)))
    }

    pub(crate) fn address(self, daemon: &DaemonConfig) -> Result<Address, String> {
        fn maybe<T, E: ToString>(
            text: Option<String>,
            make: impl FnOnce(String) -> Result<T, E>,
        ) -> Result<Option<T>, String> {
            text.map(make).transpose().map_err(|error| error.to_string())
        }
        let platform = Platform::new(&self.platform).map_err(|error| {
            match nearest(&self.platform, PLATFORMS.iter().copied()) {
                Some(known) => format!("{error}; did you mean `{known}`?"),
                None => format!("{error}; known are {}", PLATFORMS.join(", ")),
            }
        })?;
        let of_a_guild = self.guild.is_some();
        let community = match (self.guild, self.team) {
            (Some(_), Some(_)) => {
                return Err("a message comes from a guild or a team, not both".to_owned());
            }
            (guild, team) => {
                let guild = maybe(guild, GuildId::new)?.map(Community::Guild);
                guild.or(maybe(team, GuildId::new)?.map(Community::Team))
            }
        };
        let chat_type = match self.chat_type.as_deref() {
            Some(text) => ChatType::parse(text)
                .ok_or_else(|| format!("`{text}` is no chat type: dm, group, channel or thread"))?,
            None if self.parent.is_some() => ChatType::Thread,
            None if of_a_guild => ChatType::Channel,
            None if self.user.as_ref() == Some(&self.chat) => ChatType::Dm,
            None => ChatType::Group,
        };
        let roles: Result<Vec<_>, _> = self.roles.into_iter().map(RoleId::new).collect();
        Ok(Address {
            platform,
            account: account(platform, self.account, daemon)?,
            chat: ChatId::new(self.chat).map_err(|error| error.to_string())?,
            chat_type,
            topic: maybe(self.topic, TopicId::new)?,
            parent: maybe(self.parent, ChatId::new)?,
            community,
            user: maybe(self.user, UserId::new)?,
            roles: roles.map_err(|error| error.to_string())?,
        })
    }
}

fn account(
    platform: Platform,
    named: Option<String>,
    daemon: &DaemonConfig,
) -> Result<AccountId, String> {
    let known: Vec<_> =
        daemon.accounts.iter().filter(|account| account.platform == platform).collect();
    let name = match (named, known.as_slice()) {
        (Some(name), _) => name,
        (None, []) => "default".to_owned(),
        (None, [only]) => only.name.to_string(),
        (None, several) => {
            let names: Vec<String> =
                several.iter().map(|account| format!("`{}`", account.name)).collect();
            return Err(format!(
                "{platform} has several accounts; say which: {}",
                names.join(", ")
            ));
        }
    };
    AccountId::new(name).map_err(|error| error.to_string())
}
