//! The place of a message as text, for a turn that goes on after a crash.

use super::job::{JobTurn, KeptJob};
use super::terms::{KeptTerms, Terms};
use insula_domain::{
    AccountId, Address, ChatId, ChatType, Community, GuildId, Platform, RoleId, TopicId, UserId,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    platform: String,
    account: String,
    chat: String,
    chat_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guild: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    job: Option<KeptJob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    terms: Option<KeptTerms>,
}

/// What was kept of where a message came from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptPlace {
    pub(super) address: Address,
    pub(super) job: Option<Arc<JobTurn>>,
    pub(super) terms: Option<Arc<Terms>>,
}

/// The place as text.
pub(super) fn write(address: &Address, job: Option<&JobTurn>, terms: Option<&Terms>) -> String {
    let (guild, team) = match &address.community {
        Some(Community::Guild(id)) => (Some(id.to_string()), None),
        Some(Community::Team(id)) => (None, Some(id.to_string())),
        None => (None, None),
    };
    let kept = Kept {
        platform: address.platform.to_string(),
        account: address.account.to_string(),
        chat: address.chat.to_string(),
        chat_type: address.chat_type.to_string(),
        topic: address.topic.as_ref().map(ToString::to_string),
        parent: address.parent.as_ref().map(ToString::to_string),
        guild,
        team,
        user: address.user.as_ref().map(ToString::to_string),
        roles: address.roles.iter().map(ToString::to_string).collect(),
        job: job.map(KeptJob::of),
        terms: terms.map(KeptTerms::of),
    };
    // Nothing in it has a form that JSON could not have.
    serde_json::to_string(&kept).unwrap_or_default()
}

/// The place that a text says; `None` for one that can't be read whole.
pub(super) fn read(text: &str) -> Option<KeptPlace> {
    let kept: Kept = serde_json::from_str(text).ok()?;
    let community = match (kept.guild, kept.team) {
        (Some(_), Some(_)) => return None,
        (Some(guild), None) => Some(Community::Guild(GuildId::new(guild).ok()?)),
        (None, Some(team)) => Some(Community::Team(GuildId::new(team).ok()?)),
        (None, None) => None,
    };
    let job = match kept.job {
        Some(job) => Some(Arc::new(job.restored()?)),
        None => None,
    };
    let terms = match kept.terms {
        Some(terms) => Some(Arc::new(terms.restored()?)),
        None => None,
    };
    let address = Address {
        platform: Platform::new(&kept.platform).ok()?,
        account: AccountId::new(kept.account).ok()?,
        chat: ChatId::new(kept.chat).ok()?,
        chat_type: ChatType::parse(&kept.chat_type)?,
        topic: kept.topic.map(TopicId::new).transpose().ok()?,
        parent: kept.parent.map(ChatId::new).transpose().ok()?,
        community,
        user: kept.user.map(UserId::new).transpose().ok()?,
        roles: kept.roles.into_iter().map(RoleId::new).collect::<Result<_, _>>().ok()?,
    };
    Some(KeptPlace { address, job, terms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_place_is_read_back_whole_or_not_at_all() {
        let least = Address {
            platform: Platform::new("telegram").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new("-1:\"x\"\n").unwrap(),
            chat_type: ChatType::Group,
            topic: None,
            parent: None,
            community: None,
            user: None,
            roles: Vec::new(),
        };
        let most = Address {
            chat_type: ChatType::Thread,
            topic: Some(TopicId::new("7").unwrap()),
            parent: Some(ChatId::new("8").unwrap()),
            community: Some(Community::Team(GuildId::new("g").unwrap())),
            user: Some(UserId::new("9").unwrap()),
            roles: vec![RoleId::new("a").unwrap(), RoleId::new("b").unwrap()],
            ..least.clone()
        };
        let guild = Community::Guild(GuildId::new("g").unwrap());
        let guild = Address { community: Some(guild), ..most.clone() };
        for address in [least, most.clone(), guild] {
            let kept = KeptPlace { address: address.clone(), job: None, terms: None };
            assert_eq!(read(&write(&address, None, None)), Some(kept));
        }
        let text = write(&most, None, None);
        for broken in ["", "{}", &text[..text.len() - 1], &text.replace("thread", "room")] {
            assert_eq!(read(broken), None, "{broken}");
        }
        // Both at once is neither.
        assert_eq!(read(&text.replace("\"team\"", "\"guild\":\"h\",\"team\"")), None);
    }
}
