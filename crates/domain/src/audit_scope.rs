//! Whose matter an audit record is: one scope's, the agent's as a whole, or the daemon's.
//!
//! There is no "none": what is about no scope says so by name, and what was written before scopes
//! were noted does too. The names are no texts of scopes, so nothing else can be called like them.

use crate::scope::{ScopeError, ScopeName};
use std::fmt;
use std::str::FromStr;

/// Whose matter an audit record is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AuditScope {
    /// The daemon as a whole.
    Daemon,
    /// The agent as a whole.
    Agent,
    /// It is not known: the record is older than the note.
    Unknown,
    /// What one scope alone may read.
    Of(ScopeName),
}

impl AuditScope {
    /// As rows and people read it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Daemon => "daemon",
            Self::Agent => "agent",
            Self::Unknown => "unknown",
            Self::Of(scope) => scope.as_str(),
        }
    }

    /// The scope, if it is one's.
    pub fn scope(&self) -> Option<&ScopeName> {
        match self {
            Self::Of(scope) => Some(scope),
            Self::Daemon | Self::Agent | Self::Unknown => None,
        }
    }
}

impl fmt::Display for AuditScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AuditScope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let named = [Self::Daemon, Self::Agent, Self::Unknown];
        match named.into_iter().find(|it| it.as_str() == text) {
            Some(named) => Ok(named),
            None => text.parse().map(Self::Of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_03_every_record_is_somebodys_and_its_text_says_whose() {
        for text in ["daemon", "agent", "unknown", "global", "chat:telegram:main:5", "custom:acme"]
        {
            let scope: AuditScope = text.parse().unwrap();
            assert_eq!(scope.to_string(), text);
            let is_named = ["daemon", "agent", "unknown"].contains(&text);
            assert_eq!(scope.scope().is_none(), is_named, "{text}");
        }
        for text in ["", "*", "all", "Agent", "agent ", "custom:"] {
            assert!(text.parse::<AuditScope>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn no_scope_has_the_text_of_what_is_about_none() {
        for text in ["daemon", "agent", "unknown"] {
            assert!(text.parse::<ScopeName>().is_err(), "{text}");
        }
    }
}
