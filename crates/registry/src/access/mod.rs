//! Who may talk to an agent, judged from its configuration and from whom people let in since.
//!
//! What people let in is durable in the agent's store, and kept in memory from its first use.
//! Every change goes through here, so that what is kept is what holds.

mod acting;
mod inbound_counts;
mod links;
mod pairing;
mod standing;
mod ways;

pub use acting::Acting;
pub use pairing::{
    CODE_LEN, LOCKED_FOR, PENDING_MAX, PairError, PairingOutcome, WRONG_MAX, code_of, pairing_name,
};

pub use inbound_counts::{InboundCounts, InboundOutcome};

use crate::context::AgentContext;
use crate::handoffs::Handoffs;
use crate::registry::{Registry, Snapshot};
use crate::tokens::Tokens;
use crate::trail::Trail;
use insula_domain::{
    AccessRules, AccountId, Actor, Address, Admission, AgentId, Asker, ChatId, ChatType, PersonId,
    Platform, Principal, Roster, Standing, UserId,
};
use insula_store::{
    About, AgentCommand, Feed, FeedChange, IngressCommand, JoinedChat, StoreError, Subscription,
};
use insula_world::World;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Whom people let in, by agent, as far as somebody asked.
#[derive(Default)]
pub struct Rosters {
    known: Mutex<HashMap<AgentId, (u64, Arc<Roster>)>>,
    /// Counts changes: what was read before one is not kept after it.
    changes: Mutex<u64>,
}

/// Agents whose rosters are kept in memory; one more begins anew.
const ROSTERS_MAX: usize = 4_096;

impl Rosters {
    fn count(&self) -> u64 {
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears of whom people let in.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let rosters = self.clone();
        feed.subscribe(move |change| {
            if let FeedChange::Access(_) = change {
                rosters.changed();
            }
        })
    }

    /// After a change: nothing that was read before it counts.
    fn changed(&self) {
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn get(&self, agent: &AgentId) -> Option<Arc<Roster>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_at, roster) = known.get(agent)?;
        (*read_at == self.count()).then(|| roster.clone())
    }

    fn put(&self, agent: &AgentId, read_at: u64, roster: Arc<Roster>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ROSTERS_MAX {
            known.clear();
        }
        known.insert(agent.clone(), (read_at, roster));
    }
}

/// Somebody whom an agent admits, as it sees them now.
#[derive(Debug, Clone)]
pub struct AdmittedSender {
    /// Who they are; under the id by which they are known, where the platform has several.
    pub principal: Principal,
    /// Whether they may talk for who they are, wherever they speak.
    pub is_personal: bool,
}

impl AdmittedSender {
    /// As those who change something are named.
    pub fn actor(&self) -> Actor {
        Actor::from(&self.principal)
    }

    /// Whether they may approve for and change the agent.
    pub fn is_admin(&self) -> bool {
        self.principal.standing == Standing::Admin
    }
}

/// Who may talk to agents, and who may change that.
pub struct Access {
    world: World,
    registry: Arc<Registry>,
    tokens: Arc<Tokens>,
    rosters: Arc<Rosters>,
    handoffs: Arc<Handoffs>,
    trail: Trail,
    /// Who acts for agents, and has to hear what a change took away.
    acting: Arc<dyn Acting>,
}

/// Whom the rosters and tokens let in at one moment: equal while nothing of either changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessVersion {
    rosters: u64,
    handoffs: u64,
    pub tokens: u64,
}

impl Access {
    pub(crate) fn new(
        world: &World,
        registry: &Arc<Registry>,
        (tokens, rosters, handoffs): (&Arc<Tokens>, &Arc<Rosters>, &Arc<Handoffs>),
        trail: &Trail,
        acting: &Arc<dyn Acting>,
    ) -> Self {
        Self {
            world: world.clone(),
            registry: registry.clone(),
            tokens: tokens.clone(),
            rosters: rosters.clone(),
            handoffs: handoffs.clone(),
            trail: trail.clone(),
            acting: acting.clone(),
        }
    }

    /// The agents and routes by which it judges.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.registry.snapshot()
    }

    /// Tells whether anybody was let in or out since.
    pub fn version(&self) -> AccessVersion {
        AccessVersion {
            rosters: self.rosters.count(),
            handoffs: self.handoffs.version(),
            tokens: self.tokens.version(),
        }
    }

    /// After something was taken away: whoever acts by it ends.
    pub(crate) async fn tell_of_change(&self) {
        self.acting.rights_changed(self).await;
    }

    /// Whom people let in at an agent.
    pub async fn roster(&self, agent: &AgentContext) -> Result<Arc<Roster>, StoreError> {
        if let Some(roster) = self.rosters.get(&agent.id) {
            return Ok(roster);
        }
        let read_at = self.rosters.count();
        let mut roster = Roster::default();
        for pairing in agent.store.pairings().await? {
            let who = &pairing.who;
            if let (Ok(platform), Ok(account), Ok(user)) = (
                Platform::new(&who.platform),
                AccountId::new(who.account.clone()),
                UserId::new(who.user.clone()),
            ) {
                roster.paired.insert((platform, account, user));
            }
        }
        for joined in agent.store.joined_chats().await? {
            // Where it is not known who added us, nobody answers for the chat.
            if let (Some((platform, account, chat)), Some(by)) = (place(&joined), inviter(&joined))
            {
                roster.joined.insert((platform, account, chat), by);
            }
        }
        let roster = Arc::new(roster);
        self.rosters.put(&agent.id, read_at, roster.clone());
        Ok(roster)
    }

    /// Why somebody may talk to an agent, or may not, for people.
    pub async fn explain(
        &self,
        agent: &AgentContext,
        asker: Asker<'_>,
    ) -> Result<(bool, &'static str), StoreError> {
        let handed = self.handed_from(&agent.id, asker.address);
        let by = handed.as_deref().unwrap_or(agent);
        if !self.can_reach(&by.id, asker.address) {
            return Ok((false, "no binding leads them to it"));
        }
        let people = &by.conversations.people;
        let person = |platform, user: &UserId| people.person(platform, user).cloned();
        let invites = self.group_rule(by, asker.address).invites;
        let roster = self.roster(by).await?;
        let admission = rules(by, &roster, &person, invites).judge(asker);
        Ok((admission.is_allowed(), told_of(admission)))
    }

    /// Whether somebody may talk to an agent, from what holds now; `None` where they may not.
    pub async fn admit(
        &self,
        agent: &AgentContext,
        asker: Asker<'_>,
    ) -> Result<Option<AdmittedSender>, StoreError> {
        // Whoever a conversation was handed to talks with whom the other talked, and is reached
        // by who can reach the other.
        let handed = self.handed_from(&agent.id, asker.address);
        let by = handed.as_deref().unwrap_or(agent);
        if !self.can_reach(&by.id, asker.address) {
            return Ok(None);
        }
        let people = &by.conversations.people;
        let person = |platform, user: &UserId| people.person(platform, user).cloned();
        // Most people are named in the configuration: then the store is left at rest.
        let mut roster = Arc::new(Roster::default());
        let invites = self.group_rule(by, asker.address).invites;
        let judge = |roster: &Roster| rules(by, roster, &person, invites).judge(asker);
        let mut admission = judge(&roster);
        if admission == Admission::Refused {
            roster = self.roster(by).await?;
            admission = judge(&roster);
        }
        if !admission.is_allowed() {
            return Ok(None);
        }
        let Address { platform, account, chat, user, roles, .. } = asker.address;
        let known = match admission {
            Admission::Admin(Some(id)) | Admission::Named(id) | Admission::Paired(id) => {
                Some(id.clone())
            }
            // One of their ids may be linked to a person, who has rights of their own.
            _ => asker
                .ids()
                .find(|id| people.person(*platform, id).is_some())
                .or(user.as_ref())
                .cloned(),
        };
        // What nobody signed is said by the chat.
        let Some(user) = known.or_else(|| UserId::new(format!("chat:{chat}")).ok()) else {
            return Ok(None);
        };
        let principal = agent.principal((*platform, account.clone()), user, roles.clone());
        Ok(Some(AdmittedSender { principal, is_personal: admission.is_personal() }))
    }

    /// Notes that somebody allowed added the agent to a chat.
    pub async fn join_chat(
        &self,
        agent: &AgentContext,
        address: &Address,
        by: &Actor,
    ) -> Result<(), StoreError> {
        let joined = JoinedChat {
            platform: address.platform.as_str().into(),
            account: address.account.as_str().into(),
            chat: address.chat.as_str().into(),
            by: by.clone(),
            at: self.world.clock.now(),
        };
        let told = json!({ "account": address.account.as_str(), "chat": address.chat.as_str() });
        self.change_door(agent, IngressCommand::Join(joined), (by, "chat.joined"), told).await
    }

    /// Notes that the agent is no longer in a chat.
    pub async fn leave_chat(
        &self,
        agent: &AgentContext,
        address: &Address,
    ) -> Result<(), StoreError> {
        match self.joined_chat(agent, address).await? {
            Some(joined) => self.close_chat(agent, joined, (&Actor::Daemon, "chat.left")).await,
            None => Ok(()),
        }
    }

    async fn joined_chat(
        &self,
        agent: &AgentContext,
        address: &Address,
    ) -> Result<Option<JoinedChat>, StoreError> {
        let is_meant = |it: &JoinedChat| {
            *it.platform == *address.platform.as_str()
                && *it.account == *address.account.as_str()
                && *it.chat == *address.chat.as_str()
        };
        Ok(agent.store.joined_chats().await?.into_iter().find(is_meant))
    }

    async fn close_chat(
        &self,
        agent: &AgentContext,
        JoinedChat { platform, account, chat, .. }: JoinedChat,
        record: (&Actor, &str),
    ) -> Result<(), StoreError> {
        let told = json!({ "account": &*account, "chat": &*chat });
        let leave = IngressCommand::Leave { platform, account, chat };
        self.change_door(agent, leave, record, told).await
    }

    /// The chats that people added an agent to, and whether each is open by that now.
    pub async fn joined_list(
        &self,
        agent: &AgentContext,
    ) -> Result<Vec<(JoinedChat, bool)>, StoreError> {
        let roster = self.roster(agent).await?;
        let people = &agent.conversations.people;
        let person = |platform, user: &UserId| people.person(platform, user).cloned();
        let is_open = |joined: &JoinedChat| {
            place(joined).is_some_and(|(platform, account, chat)| {
                let invites = self.group_rule(agent, &group_of(platform, &account, &chat)).invites;
                rules(agent, &roster, &person, invites).is_open(platform, &account, &chat)
            })
        };
        let all = agent.store.joined_chats().await?.into_iter();
        let judged = all.map(|joined| {
            let open = is_open(&joined);
            (joined, open)
        });
        Ok(judged.collect())
    }

    /// A chat continues under another id: who was let in by being there still is.
    pub async fn move_chat(
        &self,
        agent: &AgentContext,
        from: &Address,
        to: &ChatId,
    ) -> Result<(), StoreError> {
        let Some(joined) = self.joined_chat(agent, from).await? else { return Ok(()) };
        let moved = Address { chat: to.clone(), ..from.clone() };
        self.join_chat(agent, &moved, &joined.by).await?;
        self.leave_chat(agent, from).await
    }

    /// Makes a change to whom people let in, with its record, and forgets what was read before.
    async fn change_door(
        &self,
        agent: &AgentContext,
        command: IngressCommand,
        (actor, kind): (&Actor, &str),
        content: Value,
    ) -> Result<(), StoreError> {
        // Whom people let in is the agent's matter: those who are in know nothing of each other.
        let audit = self.trail.record(agent, About::Agent, actor, kind, content);
        let batch = vec![AgentCommand::Ingress(Box::new(command)), AgentCommand::Audit(audit)];
        let done = agent.store.commit(batch).await;
        self.tell_of_change().await;
        done.map(drop)
    }
}

/// What decides who may talk to an agent.
fn rules<'r>(
    agent: &'r AgentContext,
    roster: &'r Roster,
    person: &'r dyn Fn(Platform, &UserId) -> Option<PersonId>,
    invites: bool,
) -> AccessRules<'r> {
    let (allow, admins) = (&agent.access.allow, &agent.admins);
    AccessRules { allow, admins, roster, invites, person }
}

/// A group as a whole: what nobody in particular says there.
fn group_of(platform: Platform, account: &AccountId, chat: &ChatId) -> Address {
    Address {
        platform,
        account: account.clone(),
        chat: chat.clone(),
        chat_type: ChatType::Group,
        topic: None,
        parent: None,
        community: None,
        user: None,
        roles: Vec::new(),
    }
}

fn place(joined: &JoinedChat) -> Option<(Platform, AccountId, ChatId)> {
    let platform = Platform::new(&joined.platform).ok()?;
    let account = AccountId::new(joined.account.clone()).ok()?;
    Some((platform, account, ChatId::new(joined.chat.clone()).ok()?))
}

/// Who added us to a chat, on the platform it is on.
fn inviter(joined: &JoinedChat) -> Option<UserId> {
    match &joined.by {
        Actor::User(by) if by.platform.as_str() == &*joined.platform => Some(by.user.clone()),
        _ => None,
    }
}

/// Why, for people.
fn told_of(admission: Admission<'_>) -> &'static str {
    match admission {
        Admission::Admin(_) => "they are an admin of it",
        Admission::Named(_) => "`access.allow` names them",
        Admission::Paired(_) => "they were let in by a code",
        Admission::Role => "`access.allow` names a role of theirs",
        Admission::Everybody => "`access.allow` lets in everybody of the platform",
        Admission::Chat => "`access.allow` names the chat",
        Admission::Joined => "somebody who may brought it into the chat",
        Admission::Refused => "nothing lets them in: no entry of `access.allow`, no code, no admin",
    }
}
