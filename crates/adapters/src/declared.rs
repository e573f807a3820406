//! How an adapter declares what its platform can do here.

use insula_channel::Features;

/// The longest request of a platform that says nothing else. Theirs are some kilobytes; files are
/// fetched.
pub const REQUEST_LEN_MAX: usize = 1024 * 1024;

/// What one platform can do here.
pub struct Declared {
    /// As in the configuration.
    pub platform: &'static str,
    /// As people call it.
    pub name: &'static str,
    /// How its events come.
    pub hears_by: &'static str,
    /// What can be sent; where an account decides, what is usual.
    pub features: Features,
    /// What a topic is there, where conversations have topics.
    pub topics: Option<&'static str>,
    pub hears_edits: Support,
    pub hears_deletions: Support,
    pub hears_reactions: Support,
    /// Files that people send, and that we do.
    pub files: Support,
    /// Whether it hears what is said to others in a group.
    pub observes: Support,
    /// What a role is there.
    pub roles: Option<&'static str>,
    /// Whether the platform has a menu of commands.
    pub commands: Support,
    /// The longest request that it sends to us.
    pub request_len_max: usize,
}

/// Whether a platform has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    Yes,
    No,
    /// Under this condition.
    If(&'static str),
}

impl std::fmt::Display for Support {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::No => f.write_str("no"),
            Self::If(condition) => write!(f, "{condition}"),
        }
    }
}
