//! Who asks, as the front has judged it. What a token says is read here and its text never.

use crate::error::ApiError;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, IdError, Platform, ScopeName, UserId,
};
use insula_registry::Actor;
use insula_registry::tokens::{Token, Verb};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

/// Who asks.
#[derive(Clone)]
pub enum Caller {
    /// The local command line, admin of all.
    Local,
    /// The bearer of a token.
    Token(Bearer),
}

/// How much of an agent somebody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within<'c> {
    /// All that their rights cover.
    Whole,
    /// What is of this scope.
    Scope(&'c ScopeName),
}

impl Within<'_> {
    /// Whether what is of a scope is seen.
    pub fn sees(self, scope: &ScopeName) -> bool {
        match self {
            Self::Whole => true,
            Self::Scope(own) => own == scope,
        }
    }
}

/// Comes when a right is lost.
pub type Lost = Pin<Box<dyn Future<Output = ()> + Send>>;

type Watch = dyn Fn(&AgentId, Verb) -> Lost + Send + Sync;

/// The bearer of a token: what it is for, and how to hear that it no longer is.
#[derive(Clone)]
pub struct Bearer {
    token: Arc<Token>,
    watch: Arc<Watch>,
}

impl Bearer {
    /// The bearer of this token. What `watch` gives comes when the token no longer lets its bearer
    /// do something with an agent.
    pub fn new(
        token: Arc<Token>,
        watch: impl Fn(&AgentId, Verb) -> Lost + Send + Sync + 'static,
    ) -> Self {
        Self { token, watch: Arc::new(watch) }
    }
}

impl Deref for Bearer {
    type Target = Token;

    fn deref(&self) -> &Token {
        &self.token
    }
}

/// Somebody who shows no token of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stranger;

impl Caller {
    /// Whom the front put beside this request.
    pub fn of(parts: &Parts) -> Result<Self, Stranger> {
        parts.extensions.get::<Self>().cloned().ok_or(Stranger)
    }

    /// Whether it may do `verb` with `agent`.
    pub fn may(&self, agent: &AgentId, verb: Verb) -> bool {
        match self {
            Self::Local => true,
            Self::Token(token) => token.allows(agent, verb),
        }
    }

    /// Of some that are kept by agent, what is of the agents that it may do `verb` with. How many
    /// others there are makes this no longer.
    pub fn own<'a, T: Sync>(
        &'a self,
        all: &'a BTreeMap<AgentId, T>,
        verb: Verb,
    ) -> Box<dyn Iterator<Item = (&'a AgentId, &'a T)> + Send + 'a> {
        match self {
            Self::Local => Box::new(all.iter()),
            Self::Token(token) => {
                let named = token.agents.iter().filter(move |id| token.allows(id, verb));
                Box::new(named.filter_map(|id| all.get_key_value(id)))
            }
        }
    }

    /// How much of an agent it sees.
    pub fn within(&self) -> Within<'_> {
        match self {
            Self::Local => Within::Whole,
            Self::Token(token) => token.scope().map_or(Within::Whole, Within::Scope),
        }
    }

    /// Waits until it may no longer do `verb` with `agent`. What is streamed ends then.
    pub fn lost(&self, agent: &AgentId, verb: Verb) -> Lost {
        match self {
            Self::Local => Box::pin(std::future::pending()),
            Self::Token(bearer) => (bearer.watch)(agent, verb),
        }
    }

    /// The account its conversations belong to: two tokens never share one.
    pub fn account(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Token(token) => &token.id,
        }
    }

    /// Where a message of its own in the chat of this name comes from.
    pub fn address(&self, chat: String) -> Result<Address, IdError> {
        Ok(Address {
            platform: if matches!(self, Self::Local) { Platform::CLI } else { Platform::API },
            account: AccountId::new(self.account())?,
            chat: ChatId::new(chat)?,
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new(self.account())?),
            roles: Vec::new(),
        })
    }

    /// How records name it.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Local => Actor::CommandLine,
            Self::Token(token) => Actor::token(&token.id),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of(parts)?)
    }
}

impl From<Stranger> for ApiError {
    fn from(Stranger: Stranger) -> Self {
        let message = "show a token: Authorization: Bearer …; the local one is in run/admin.token of the home";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }
}
