//! Pairing: somebody unknown is given a code, tells it to an admin, and is let in by them.
//!
//! The code is a name for a request, not a key: whoever has it can do nothing with it unless
//! they are an admin. It is kept as a salted hash all the same, and wrong ones are counted,
//! since an admin's command line or token may be in other hands.

use super::Access;
use crate::context::AgentContext;
use insula_domain::{Actor, AgentId, ChatType, Platform};
use insula_store::{
    AgentCommand, DeliveryDestination, Enqueue, IngressCommand, Lane, OutboxCommand, Pairing,
    PairingAsked, PairingRequest, PlatformUser, StoreError, Tries,
};
use insula_world::Timestamp;
use serde_json::json;
use std::time::Duration;

/// Letters of a code.
pub const CODE_LEN: usize = 8;
/// What codes are made of: nothing that looks like something else.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// How long a code is good.
const GOOD_FOR: Duration = Duration::from_secs(60 * 60);
/// How long somebody waits before they can ask again.
const AGAIN_AFTER: Duration = Duration::from_secs(10 * 60);
/// Requests that wait at one account; one more is told to come back later.
pub const PENDING_MAX: u32 = 3;
/// Wrong codes in a row after which none is looked at for a while.
pub const WRONG_MAX: u32 = 5;
/// How long that is.
pub const LOCKED_FOR: Duration = Duration::from_secs(60 * 60);
/// Longest name that is kept of somebody, in characters.
const NAME_CHARS_MAX: usize = 64;

/// What became of somebody's wish to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingOutcome {
    /// They have a code now.
    Code(String),
    /// They asked a moment ago.
    TooSoon,
    /// Too many others wait.
    Full,
}

/// Why nobody was let in.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// who says so is no admin of the agent
    #[error("only an admin of agent `{0}` may let people in")]
    NotAdmin(AgentId),
    /// there is no such code, or not any more
    #[error(
        "no request has this code; a code is good for an hour and for one platform, and `insula pairing list` shows who asks"
    )]
    NoSuchCode,
    /// too many codes were wrong
    #[error("too many codes were wrong; the next one is looked at after {0}")]
    Locked(Timestamp),
    /// nobody of that name asks
    #[error("`{0}` does not ask to be let in; `insula pairing list` shows who does")]
    NotAsking(Box<str>),
    /// nobody of that name was let in
    #[error("`{0}` was not let in; `insula pairing list` shows who was")]
    NotPaired(Box<str>),
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A code as it was meant: people type small letters and put blanks or dashes in between.
pub fn code_of(typed: &str) -> Option<String> {
    let letters = typed.chars().filter(|it| !it.is_whitespace() && *it != '-');
    let code: String = letters.map(|it| it.to_ascii_uppercase()).collect();
    let is_code = code.len() == CODE_LEN && code.bytes().all(|it| LETTERS.contains(&it));
    is_code.then_some(code)
}

/// What is kept of the name somebody gave themselves.
pub fn pairing_name(name: &str) -> String {
    name.chars().filter(|it| !it.is_control()).take(NAME_CHARS_MAX).collect()
}

fn hash(salt: &[u8; 16], code: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("insula 2026 pairing code");
    hasher.update(salt);
    hasher.update(code.as_bytes());
    *hasher.finalize().as_bytes()
}

fn after(at: Timestamp, wait: Duration) -> Timestamp {
    let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.as_millis().saturating_add(wait))
}

fn before(at: Timestamp, wait: Duration) -> Timestamp {
    let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(at.as_millis().saturating_sub(wait))
}

impl Access {
    /// Notes that somebody asks to be let in, and gives them a code, unless it is too soon or
    /// too many ask. `place` says where they can be told, in whatever form the caller uses.
    pub async fn ask_pairing(
        &self,
        agent: &AgentContext,
        who: PlatformUser,
        name: &str,
        place: String,
    ) -> Result<PairingOutcome, StoreError> {
        let now = self.world.clock.now();
        let at = now.as_millis().to_string();
        let purpose = ["pairing", agent.id.as_str(), &who.platform, &who.account, &who.user, &at];
        let mut random = self.world.random.stream(&purpose);
        let letters: [u8; CODE_LEN] = random.bytes();
        let code: String = letters.iter().map(|it| LETTERS[usize::from(it % 32)] as char).collect();
        let salt = random.bytes();
        let request = PairingRequest {
            name: pairing_name(name),
            place,
            salt,
            code: hash(&salt, &code),
            asked_at: now,
            expires_at: after(now, GOOD_FOR),
            who,
        };
        let (agent_id, who) = (&agent.id, request.who.clone());
        let command = IngressCommand::AskPairing {
            request,
            last_before: before(now, AGAIN_AFTER),
            waiting_max: PENDING_MAX,
        };
        let batch = vec![
            AgentCommand::Ingress(Box::new(IngressCommand::PrunePairings {
                before: before(now, AGAIN_AFTER),
            })),
            AgentCommand::Ingress(Box::new(command)),
        ];
        match agent.store.commit(batch).await?.asked() {
            Some(PairingAsked::Noted) => Ok(PairingOutcome::Code(code)),
            Some(PairingAsked::TooSoon) | None => Ok(PairingOutcome::TooSoon),
            Some(PairingAsked::Full) => {
                // Whoever runs the bot can make room; the one who asks can't.
                tracing::warn!(agent = %agent_id, platform = &*who.platform, account = &*who.account, "somebody asks to be let in and gets no code: {PENDING_MAX} others wait; `insula pairing list` shows them");
                Ok(PairingOutcome::Full)
            }
        }
    }

    /// Who asks to be let in and whose code is still good, and who was let in.
    pub async fn pairing_list(
        &self,
        agent: &AgentContext,
    ) -> Result<(Vec<PairingRequest>, Vec<Pairing>), StoreError> {
        let now = self.world.clock.now();
        let mut requests = agent.store.pairing_requests().await?;
        requests.retain(|it| it.expires_at > now);
        Ok((requests, agent.store.pairings().await?))
    }

    /// Lets in whoever was given this code; who that is. From outside of chats, where requests
    /// can be listed, `typed` may also say who is meant, as records name them. `on` is the platform
    /// it was typed on, where it was: a code is good on its own platform only.
    pub async fn approve_pairing(
        &self,
        agent: &AgentContext,
        typed: &str,
        on: Option<Platform>,
        actor: &Actor,
    ) -> Result<PairingRequest, PairError> {
        if !self.may_answer(agent, actor) {
            return Err(PairError::NotAdmin(agent.id.clone()));
        }
        let now = self.world.clock.now();
        // Somebody who sees the requests can say which is meant; no code has colons.
        if typed.contains(':') && !matches!(actor, Actor::User(_)) {
            let is_meant = |it: &PairingRequest| {
                it.expires_at > now && format!("{}:{}", it.who.platform, it.who.user) == typed
            };
            let found = agent.store.pairing_requests().await?.into_iter().find(is_meant);
            let request = found.ok_or_else(|| PairError::NotAsking(pairing_name(typed).into()))?;
            return self.let_in(agent, request, actor).await;
        }
        // Nobody guesses by saying nothing.
        if typed.trim().is_empty() {
            return Err(PairError::NoSuchCode);
        }
        // Without a platform all of them are meant: a line of its own counts those.
        let counted = on.map_or("*", Platform::as_str);
        let tries = agent.store.pairing_tries(counted).await?;
        if let Some(tries) = tries.filter(|it| it.wrong >= WRONG_MAX && it.until > now) {
            return Err(PairError::Locked(tries.until));
        }
        let requests = agent.store.pairing_requests().await?;
        let here = |it: &PairingRequest| {
            it.expires_at > now && on.is_none_or(|on| *it.who.platform == *on.as_str())
        };
        let code = code_of(typed);
        let found = code.and_then(|code| {
            requests.into_iter().filter(here).find(|it| hash(&it.salt, &code) == it.code)
        });
        let Some(request) = found else {
            let before = tries.filter(|it| it.until > now).map_or(0, |it| it.wrong);
            let tries = Tries { wrong: before.saturating_add(1), until: after(now, LOCKED_FOR) };
            let put = IngressCommand::PutTries { platform: counted.into(), tries };
            let told = json!({ "wrong": tries.wrong, "on": counted });
            self.change_door(agent, put, (actor, "pairing.wrong_code"), told).await?;
            return Err(PairError::NoSuchCode);
        };
        if tries.is_some() {
            let tries = Tries { wrong: 0, until: now };
            let put = IngressCommand::PutTries { platform: counted.into(), tries };
            agent.store.commit(vec![AgentCommand::Ingress(Box::new(put))]).await?;
        }
        self.let_in(agent, request, actor).await
    }

    /// Lets somebody in who asked, and tells them so where they did.
    async fn let_in(
        &self,
        agent: &AgentContext,
        request: PairingRequest,
        actor: &Actor,
    ) -> Result<PairingRequest, PairError> {
        let (now, by) = (self.world.clock.now(), actor);
        let pairing = Pairing {
            who: request.who.clone(),
            name: request.name.clone(),
            by: by.clone(),
            at: now,
        };
        let told = json!({ "who": format!("{}:{}", request.who.platform, request.who.user), "account": &*request.who.account });
        let pair = IngressCommand::Pair(pairing);
        self.change_door(agent, pair, (actor, "pairing.approved"), told).await?;
        let welcome = Enqueue {
            session: None,
            turn: None,
            to: DeliveryDestination {
                lane: Lane {
                    platform: request.who.platform.clone(),
                    account: request.who.account.clone(),
                    chat: request.place.as_str().into(),
                },
                chat_type: ChatType::Dm.as_str().into(),
                topic: None,
                reply_to: None,
            },
            text: "you may talk to me now".to_owned(),
            name: None,
            buttons: Vec::new(),
            at: now,
        };
        let put = AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(welcome)));
        if let Err(error) = agent.store.commit(vec![put]).await {
            // They are in, and find that out when they write.
            tracing::warn!(agent = %agent.id, %error, "somebody who was let in can't be told");
        }
        Ok(request)
    }

    /// Lets somebody in no longer: `who` as records name them, such as `telegram:12345`; or
    /// closes a chat that people added the agent to, such as `telegram:chat:-100`.
    pub async fn revoke_pairing(
        &self,
        agent: &AgentContext,
        who: &str,
        actor: &Actor,
    ) -> Result<(), PairError> {
        if !self.may_answer(agent, actor) {
            return Err(PairError::NotAdmin(agent.id.clone()));
        }
        let missing = || PairError::NotPaired(pairing_name(who).into());
        let (platform, user) = who.split_once(':').ok_or_else(missing)?;
        let is_meant = |it: &PlatformUser| &*it.platform == platform && &*it.user == user;
        let (requests, pairings) = self.pairing_list(agent).await?;
        let known = requests.iter().map(|it| &it.who).chain(pairings.iter().map(|it| &it.who));
        if !known.into_iter().any(is_meant) {
            let chat = user.strip_prefix("chat:").ok_or_else(missing)?;
            return self.revoke_chat(agent, (platform, chat), actor).await?.ok_or_else(missing);
        }
        let unpair = IngressCommand::Unpair { platform: platform.into(), user: user.into() };
        let told = json!({ "who": who });
        Ok(self.change_door(agent, unpair, (actor, "pairing.revoked"), told).await?)
    }

    /// Closes a chat that people added the agent to, by every account; `None` where none did.
    async fn revoke_chat(
        &self,
        agent: &AgentContext,
        (platform, chat): (&str, &str),
        actor: &Actor,
    ) -> Result<Option<()>, PairError> {
        let mut closed = None;
        for joined in agent.store.joined_chats().await? {
            if *joined.platform == *platform && *joined.chat == *chat {
                self.close_chat(agent, joined, (actor, "chat.closed")).await?;
                closed = Some(());
            }
        }
        Ok(closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        assert_eq!(code_of("abcd-2345").as_deref(), Some("ABCD2345"));
        assert_eq!(code_of(" ABCD 2345 ").as_deref(), Some("ABCD2345"));
        for wrong in ["", "ABCD234", "ABCD23456", "ABCD234O", "ABCD2341", "ABCD234é", "../../.."] {
            assert_eq!(code_of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn codes_have_no_letters_that_look_alike() {
        for alike in b"IO01" {
            assert!(!LETTERS.contains(alike), "{}", *alike as char);
        }
        let mut sorted = LETTERS.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 32, "each letter is as likely as any other");
    }

    #[test]
    fn the_same_code_is_kept_differently_each_time() {
        assert_ne!(hash(&[1; 16], "ABCD2345"), hash(&[2; 16], "ABCD2345"));
        assert_ne!(hash(&[1; 16], "ABCD2345"), hash(&[1; 16], "ABCD2346"));
    }
}
