//! Whom something was told lately. A line that answers whatever is said, as that a budget has
//! no room, is said once and not to every message of a flood.

use super::queue::ChatTopicKey;
use insula_domain::AgentId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// People that are remembered of each agent's. Where more are refused than that, the rest hear
/// nothing.
const KNOWN_MAX: usize = 1_024;

/// Who was told something in an agent's name, and when.
type LastNotices = HashMap<(ChatTopicKey, Box<str>), Duration>;

/// Whom agents told something. A crowd before one of them silences no other.
pub(super) struct Lately {
    /// How long somebody is not told the same again.
    pause: Duration,
    agents: Mutex<HashMap<AgentId, LastNotices>>,
}

impl Lately {
    /// Nobody was told anything yet, and whoever is, is not told again for so long.
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, agents: Mutex::default() }
    }

    /// Whether an agent may tell somebody at a place, `now` in time since the start.
    pub(super) fn may_tell(
        &self,
        agent: &AgentId,
        place: ChatTopicKey,
        who: &str,
        now: Duration,
    ) -> bool {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let told = agents.entry(agent.clone()).or_default();
        let is_recent = |at: &Duration| now.saturating_sub(*at) < self.pause;
        let key = (place, who.into());
        if told.get(&key).is_some_and(is_recent) {
            return false;
        }
        if told.len() >= KNOWN_MAX {
            told.retain(|_, at| is_recent(at));
        }
        let may = told.len() < KNOWN_MAX;
        if may {
            told.insert(key, now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_domain::{AccountId, Address, ChatId, ChatType, Platform};

    #[test]
    fn rule_1_a_crowd_before_one_agent_silences_no_other() {
        let lately = Lately::new(Duration::from_secs(60));
        let [mine, theirs] = ["mine", "theirs"].map(|id| AgentId::new(id).unwrap());
        let at = Duration::from_secs;
        let address = Address {
            platform: Platform::new("telegram").unwrap(),
            account: AccountId::new("bot").unwrap(),
            chat: ChatId::new("7").unwrap(),
            chat_type: ChatType::Group,
            topic: None,
            parent: None,
            community: None,
            user: None,
            roles: Vec::new(),
        };
        let chat_key = || ChatTopicKey::of(&address);
        for n in 0..KNOWN_MAX {
            assert!(lately.may_tell(&theirs, chat_key(), &n.to_string(), at(1)));
        }
        assert!(!lately.may_tell(&theirs, chat_key(), "one more", at(2)));
        assert!(lately.may_tell(&mine, chat_key(), "one more", at(2)));
        // Who was told by one was not told by another, and nobody twice within the pause.
        assert!(lately.may_tell(&mine, chat_key(), "0", at(2)));
        assert!(!lately.may_tell(&mine, chat_key(), "0", at(61)));
        assert!(lately.may_tell(&mine, chat_key(), "0", at(62)));
        assert!(lately.may_tell(&theirs, chat_key(), "one more", at(62)));
    }
}
