//! Who does or says something, as decisions and records know them.
//!
//! The text form is what rows, records and the API show. It is made and parsed here and nowhere
//! else, so no decision looks into a text.

use crate::address::Address;
use crate::id::{AgentId, RoleId, UserId};
use crate::platform::Platform;
use crate::principal::Principal;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What the text of a token's bearer begins with.
const TOKEN: &str = "api:";
/// What that of an MCP server begins with.
const SERVER: &str = "mcp:";
/// What that of another agent begins with.
const AGENT: &str = "agent:";

/// Who does or says something. Two are the same if they are called the same: the roles somebody has
/// where they speak are no part of who they are.
#[derive(Debug, Clone)]
pub enum Actor {
    /// The daemon itself.
    Daemon,
    /// An edit of a file that was noticed.
    FileWatch,
    /// A SIGHUP.
    Signal,
    /// The local command line, admin of all.
    CommandLine,
    /// A hook of the operator's.
    Hook,
    /// One that looks over a reply before it is given.
    Verifier,
    /// The daemon, in notes that stand for older messages.
    Summary,
    /// The daemon, in what came with a message: what it replies to, and what was said before it.
    Beside,
    /// The daemon, in the list of what a child changed.
    Changed,
    /// A workspace, in what it said about itself. Sessions have it that began before only operators
    /// could instruct; nobody is shown it any more.
    Guide,
    /// A model that judges in place of a person.
    Model,
    /// The bearer of a token.
    Token(Bearer),
    /// An MCP server of the agent's, which its conversations have in common.
    Server(Arc<str>),
    /// Another agent of the same daemon, that a link leads from.
    Agent(Arc<str>),
    /// Somebody on a platform. What they may do is looked up at the agent they act on.
    User(Arc<PlatformIdentity>),
    /// A name that says nothing: what an older version wrote, or nobody.
    Other(Arc<str>),
}

/// The bearer of a token, by the token's id.
#[derive(Debug, Clone)]
pub struct Bearer(Arc<str>);

impl Bearer {
    /// The token's id.
    pub fn id(&self) -> &str {
        self.0.strip_prefix(TOKEN).unwrap_or_default()
    }
}

/// Somebody on a platform.
#[derive(Debug, Clone)]
pub struct PlatformIdentity {
    pub platform: Platform,
    pub user: UserId,
    /// The roles they have where they speak. Only a platform knows them: what was read back has
    /// none.
    pub roles: Box<[RoleId]>,
    text: Box<str>,
}

impl Actor {
    /// The bearer of the token of this id.
    pub fn token(id: &str) -> Self {
        Self::Token(Bearer(format!("{TOKEN}{id}").into()))
    }

    /// The MCP server of this name.
    pub fn server(name: &str) -> Self {
        Self::Server(format!("{SERVER}{name}").into())
    }

    /// The agent of this id.
    pub fn agent(id: &AgentId) -> Self {
        Self::Agent(format!("{AGENT}{id}").into())
    }

    /// The agent that it is, if it is one.
    pub fn as_agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(text) => AgentId::new(text.strip_prefix(AGENT)?).ok(),
            _ => None,
        }
    }

    /// Somebody on a platform, with no roles that anybody knows of.
    pub fn user(platform: Platform, user: UserId) -> Self {
        Self::with_roles(platform, user, Box::default())
    }

    /// The same, with the roles they have where they speak.
    pub fn with_roles(platform: Platform, user: UserId, roles: Box<[RoleId]>) -> Self {
        let text = format!("{platform}:{user}").into();
        Self::User(Arc::new(PlatformIdentity { platform, user, roles, text }))
    }

    /// The roles they have where they speak.
    pub fn roles(&self) -> &[RoleId] {
        match self {
            Self::User(identity) => &identity.roles,
            _ => &[],
        }
    }

    /// Their id on the platform they speak by, as expressions and hooks see it.
    pub fn user_id(&self) -> Option<&str> {
        self.as_str().split_once(':').map(|(_, user)| user)
    }

    /// Whether they came by a chat that is led to an agent. Who comes by a token, a link or the
    /// command line names the agent.
    pub fn is_led(&self) -> bool {
        !matches!(self, Self::Token(_) | Self::CommandLine | Self::Agent(_))
    }

    /// As rows and records call them.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Daemon => "daemon",
            Self::FileWatch => "daemon:file-watch",
            Self::Signal => "daemon:signal",
            Self::CommandLine => "cli:local",
            Self::Hook => "hook",
            Self::Verifier => "hook:pre_verify",
            Self::Summary => "insula:summary",
            Self::Beside => "insula:context",
            Self::Guide => "insula:guide",
            Self::Changed => "insula:changed",
            Self::Model => "model",
            Self::Token(bearer) => &bearer.0,
            Self::User(identity) => &identity.text,
            Self::Server(text) | Self::Agent(text) | Self::Other(text) => text,
        }
    }
}

/// Reads a text form. Every text is somebody's, so that an old row can always be read; only a form
/// that is exactly one of ours is more than a name.
impl From<&str> for Actor {
    fn from(text: &str) -> Self {
        let known = [
            Self::Daemon,
            Self::FileWatch,
            Self::Signal,
            Self::CommandLine,
            Self::Hook,
            Self::Verifier,
            Self::Summary,
            Self::Beside,
            Self::Guide,
            Self::Changed,
            Self::Model,
        ];
        if let Some(known) = known.into_iter().find(|it| it.as_str() == text) {
            return known;
        }
        if text.strip_prefix(TOKEN).is_some_and(|id| !id.is_empty()) {
            return Self::Token(Bearer(text.into()));
        }
        if text.strip_prefix(SERVER).is_some_and(|name| !name.is_empty()) {
            return Self::Server(text.into());
        }
        if text.strip_prefix(AGENT).is_some_and(|id| AgentId::new(id).is_ok()) {
            return Self::Agent(text.into());
        }
        let parts = text.split_once(':').and_then(|(platform, user)| {
            Some((Platform::new(platform).ok()?, UserId::new(user).ok()?))
        });
        match parts {
            // The command line is nobody but itself.
            Some((platform, user)) if platform != Platform::CLI => Self::user(platform, user),
            _ => Self::Other(text.into()),
        }
    }
}

impl From<String> for Actor {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// Whoever speaks there, as the platform says, before anybody has looked who they are.
impl From<&Address> for Actor {
    fn from(address: &Address) -> Self {
        let Address { platform, user, roles, .. } = address;
        match user {
            Some(user) => Self::with_roles(*platform, user.clone(), roles.as_slice().into()),
            None => Self::Other(format!("{platform}:").into()),
        }
    }
}

impl From<&Principal> for Actor {
    fn from(who: &Principal) -> Self {
        Self::with_roles(who.platform, who.user.clone(), who.roles.as_slice().into())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for Actor {
    fn eq(&self, other: &Self) -> bool {
        // The kind too: a platform that calls itself like one of ours does not become it.
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.as_str() == other.as_str()
    }
}

impl Eq for Actor {}

impl PartialOrd for Actor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Actor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Actor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_is_read_back_as_what_it_was() {
        let telegram = Platform::new("telegram").unwrap();
        let ann = Actor::user(telegram, UserId::new("1:2").unwrap());
        assert_eq!(ann.as_str(), "telegram:1:2");
        for actor in [
            Actor::Daemon,
            Actor::FileWatch,
            Actor::Signal,
            Actor::CommandLine,
            Actor::Hook,
            Actor::Verifier,
            Actor::Summary,
            Actor::Beside,
            Actor::Guide,
            Actor::Changed,
            Actor::Model,
            Actor::token("t1"),
            Actor::server("files"),
            Actor::agent(&AgentId::new("helper").unwrap()),
            ann,
            Actor::Other("".into()),
        ] {
            assert_eq!(Actor::from(actor.as_str()), actor);
        }
    }

    #[test]
    fn nobody_becomes_the_command_line_or_a_token_by_their_name() {
        for text in [
            "cli:ann",
            "cli:",
            "api:",
            "API:t",
            "cli:local ",
            "nowhere:1",
            "ann",
            "agent:",
            "agent:A B",
        ] {
            assert!(matches!(Actor::from(text), Actor::Other(_)), "{text}");
        }
        let staff = RoleId::new("staff").unwrap();
        let telegram = Platform::new("telegram").unwrap();
        let user = UserId::new("1").unwrap();
        let with = Actor::with_roles(telegram, user, [staff].into());
        assert_eq!(with, Actor::from("telegram:1"), "roles are no part of who somebody is");
        assert!(Actor::from("telegram:1").roles().is_empty());
    }

    proptest! {
        #[test]
        fn a_text_is_kept_as_it_is(text in ".{0,40}") {
            let actor = Actor::from(&*text);
            prop_assert_eq!(actor.as_str(), &*text);
        }
    }
}
