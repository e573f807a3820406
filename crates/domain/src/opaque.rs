//! What an operator wants done with commands that nobody can look through.

/// What becomes of a command whose words do not say what it does; a greater one is laxer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum OpaqueRule {
    /// It is refused.
    Deny,
    /// It needs approval.
    Ask,
    /// It runs in a turn of admins alone inside of the whole sandbox, and needs approval
    /// elsewhere. What holds where nothing is configured.
    #[default]
    ByTurn,
    /// It runs.
    Allow,
}

impl OpaqueRule {
    /// The name, as in configuration where it can be configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::ByTurn => "by_turn",
            Self::Allow => "allow",
        }
    }

    /// Finds a rule that can be configured.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Deny, Self::Ask, Self::Allow].into_iter().find(|rule| rule.as_str() == text)
    }
}
