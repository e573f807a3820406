//! Whose a conversation is, as adapters know it: a mark they can compare and nothing else.
//!
//! The same chat may be answered by one agent today and by another tomorrow, by an agent that
//! was deleted and by a new one of its name. What an adapter keeps of a chat belongs to one of
//! them, so it keeps it by this mark. It can't be made without an agent.

use insula_domain::AgentId;
use std::fmt;

/// Whose a conversation is: one life of one agent, since it last had to forget something.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tenant {
    who: [u8; 16],
    /// How often a conversation of this agent was forgotten before.
    since: u64,
}

/// Which of an agent's words a mark is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What is said to whom it lets in.
    Conversation,
    /// What is said to strangers.
    Stranger,
}

impl Tenant {
    /// The mark of what one life of an agent says to those whom it lets in, after it forgot so
    /// often.
    pub fn of_life(agent: &AgentId, life: u64, forgotten: u64) -> Self {
        Self::new(agent, life, forgotten, Kind::Conversation)
    }

    /// The mark of what strangers hear from it, and nobody else does.
    pub fn to_strangers(agent: &AgentId, life: u64, forgotten: u64) -> Self {
        Self::new(agent, life, forgotten, Kind::Stranger)
    }

    fn new(agent: &AgentId, life: u64, since: u64, kind: Kind) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("insula owner of a conversation 1");
        hasher.update(&[kind as u8]);
        hasher.update(&life.to_le_bytes());
        hasher.update(agent.as_str().as_bytes());
        let mut who = [0; 16];
        hasher.finalize_xof().fill(&mut who);
        Self { who, since }
    }

    /// Whether this is the same agent after it forgot something that the other still knew.
    pub fn outdates(&self, other: &Self) -> bool {
        self.who == other.who && self.since > other.since
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A mark is compared, never read.
        f.write_str("Tenant")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_2_no_two_lives_and_no_two_agents_share_a_mark() {
        let agent = |name: &str| AgentId::new(name).unwrap();
        let one = Tenant::of_life(&agent("a"), 1, 0);
        assert_eq!(one, Tenant::of_life(&agent("a"), 1, 0));
        let stranger = Tenant::new(&agent("a"), 1, 0, Kind::Stranger);
        let others = [
            Tenant::of_life(&agent("b"), 1, 0),
            Tenant::of_life(&agent("a"), 2, 0),
            Tenant::of_life(&agent("a"), 1, 1),
            stranger,
        ];
        assert!(others.iter().all(|other| *other != one));
        assert!(others[2].outdates(&one) && !one.outdates(&others[2]));
        assert!(
            !others[1].outdates(&one) && !others[0].outdates(&one) && !others[3].outdates(&one)
        );
    }
}
