//! Who may talk to an agent. Closed by default: whoever nothing names may not.
//!
//! A decision is made for every message, from what holds at that moment; nothing remembers it.

use crate::address::{Address, ChatType};
use crate::id::{AccountId, ChatId, PersonId, RoleId, UserId};
use crate::platform::Platform;
use crate::principal::{Admins, Standing};
use std::collections::{BTreeMap, BTreeSet};

/// Whom an operator lets talk to an agent: people, chats, roles, or everybody of a platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList {
    everybody: BTreeSet<Platform>,
    users: BTreeSet<(Platform, UserId)>,
    people: BTreeSet<PersonId>,
    chats: BTreeSet<(Platform, ChatId)>,
    roles: BTreeSet<(Platform, RoleId)>,
}

impl AllowList {
    /// Lets everybody of a platform in.
    pub fn everybody(&mut self, platform: Platform) {
        self.everybody.insert(platform);
    }

    /// Lets a user in, and with them every identity of the person they are linked to.
    pub fn user(&mut self, platform: Platform, user: UserId, person: Option<PersonId>) {
        self.users.insert((platform, user));
        self.people.extend(person);
    }

    /// Lets whoever writes in a chat in, there.
    pub fn chat(&mut self, platform: Platform, chat: ChatId) {
        self.chats.insert((platform, chat));
    }

    /// Lets whoever has a role in.
    pub fn role(&mut self, platform: Platform, role: RoleId) {
        self.roles.insert((platform, role));
    }

    /// Whether it names nobody.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// Whom people let in while the agent ran: by a pairing code, or by adding it to a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// Users that were paired, each with the account they were paired at.
    pub paired: BTreeSet<(Platform, AccountId, UserId)>,
    /// Chats that an allowed person added us to, each with who did.
    pub joined: BTreeMap<(Platform, AccountId, ChatId), UserId>,
}

#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// Where they speak, and the id and roles they have there.
    pub address: &'a Address,
    /// Other ids that the platform itself has for them.
    pub also: &'a [UserId],
    /// Whether the platform says that they are a program.
    pub is_bot: bool,
}

impl<'a> Asker<'a> {
    /// Every id the platform has for them, the one of the address first.
    pub fn ids(&self) -> impl Iterator<Item = &'a UserId> + use<'a> {
        self.address.user.iter().chain(self.also)
    }
}

/// By what somebody may talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission<'a> {
    /// They are an admin, under this id; absent where a role makes them one.
    Admin(Option<&'a UserId>),
    /// They are named, under this id, or linked to somebody who is.
    Named(&'a UserId),
    /// They were paired, under this id.
    Paired(&'a UserId),
    /// They have a role that is named.
    Role,
    /// Everybody of the platform may.
    Everybody,
    /// Whoever writes in this chat may.
    Chat,
    /// Somebody allowed added us to this chat.
    Joined,
    /// They may not.
    Refused,
}

impl Admission<'_> {
    /// Whether they may talk.
    pub fn is_allowed(self) -> bool {
        self != Self::Refused
    }

    /// Whether they may talk for who they are, wherever they speak. Only such people bring an
    /// agent to new places: who is let in by being somewhere could let in whole groups, and
    /// nobody would notice when a role is lost that a group stays open by.
    pub fn is_personal(self) -> bool {
        match self {
            Self::Admin(Some(_)) | Self::Named(_) | Self::Paired(_) | Self::Everybody => true,
            Self::Admin(None) | Self::Role | Self::Chat | Self::Joined | Self::Refused => false,
        }
    }
}

/// What the decision is made from.
#[derive(Clone, Copy)]
pub struct AccessRules<'r> {
    /// Whom the operator lets in.
    pub allow: &'r AllowList,
    /// Who may approve and change the agent; they may talk too.
    pub admins: &'r Admins,
    /// Whom people let in.
    pub roster: &'r Roster,
    /// Whether a chat is open because somebody added the agent to it.
    pub invites: bool,
    /// Whom an identity is linked to.
    pub person: &'r dyn Fn(Platform, &UserId) -> Option<PersonId>,
}

impl AccessRules<'_> {
    /// Whether somebody may talk to the agent, and by what.
    ///
    /// A program may only where it is named itself: two of them that answer each other would
    /// never stop.
    pub fn judge<'a>(&self, asker: Asker<'a>) -> Admission<'a> {
        let Address { platform, account, chat, parent, roles, .. } = asker.address;
        let by_id = asker.ids().find_map(|user| {
            let person = (self.person)(*platform, user);
            match self.admins.standing((*platform, user), person.as_ref(), &[]) {
                Standing::Admin => Some(Admission::Admin(Some(user))),
                Standing::Guest => None,
            }
        });
        if let Some(admin) = by_id {
            return admin;
        }
        let named = asker.ids().find(|user| {
            let person = (self.person)(*platform, user);
            self.allow.users.contains(&(*platform, (*user).clone()))
                || person.is_some_and(|person| self.allow.people.contains(&person))
        });
        if let Some(user) = named {
            return Admission::Named(user);
        }
        let paired = |user: &UserId| (*platform, account.clone(), user.clone());
        if let Some(user) = asker.ids().find(|user| self.roster.paired.contains(&paired(user))) {
            return Admission::Paired(user);
        }
        if asker.is_bot {
            return Admission::Refused;
        }
        if asker.address.user.is_some() {
            if let Some(user) = asker.ids().next()
                && self.admins.standing((*platform, user), None, roles) == Standing::Admin
            {
                return Admission::Admin(None);
            }
            if roles.iter().any(|role| self.allow.roles.contains(&(*platform, role.clone()))) {
                return Admission::Role;
            }
        }
        if self.allow.everybody.contains(platform) {
            return Admission::Everybody;
        }
        // A direct message is no chat that others are in: there people are named, not places.
        let places = std::iter::once(chat).chain(parent);
        if asker.address.chat_type != ChatType::Dm {
            for place in places {
                if self.allow.chats.contains(&(*platform, place.clone())) {
                    return Admission::Chat;
                }
                if self.is_open(*platform, account, place) {
                    return Admission::Joined;
                }
            }
        }
        Admission::Refused
    }

    /// Whether a chat is open because somebody added the agent to it who may do so now.
    pub fn is_open(&self, platform: Platform, account: &AccountId, chat: &ChatId) -> bool {
        let place = (platform, account.clone(), chat.clone());
        let Some(inviter) = self.roster.joined.get(&place).filter(|_| self.invites) else {
            return false;
        };
        // In person, so that no chat is open by another one.
        let address = Address {
            platform,
            account: account.clone(),
            chat: chat.clone(),
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: Some(inviter.clone()),
            roles: Vec::new(),
        };
        self.judge(Asker { address: &address, also: &[], is_bot: false }).is_personal()
    }
}

/// What becomes of somebody who is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unknown {
    /// In a direct message they get a code that an admin can approve.
    #[default]
    Pair,
    /// Nothing is said to them.
    Ignore,
}

impl Unknown {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pair => "pair",
            Self::Ignore => "ignore",
        }
    }
}

/// When an agent answers among several people; a greater one answers more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Respond {
    /// Never.
    Never,
    /// When it is addressed.
    #[default]
    Mention,
    /// Always.
    All,
}

impl Respond {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Mention => "mention",
            Self::All => "all",
        }
    }
}

/// How an agent behaves among several people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRule {
    /// When it answers.
    pub respond: Respond,
    /// Whether it reads along where it does not answer.
    pub observe: bool,
    /// Whether allowed people may add it to groups.
    pub invites: bool,
    /// Whether what is said in a thread or topic where it has answered is said to it.
    pub threads: bool,
}

impl Default for GroupRule {
    fn default() -> Self {
        Self { respond: Respond::default(), observe: false, invites: true, threads: false }
    }
}

/// What becomes of a message of somebody who may talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// It is answered.
    Answer,
    /// It is kept as context for the next answer.
    Observe,
    /// It is none of the agent's business.
    Pass,
}

impl GroupRule {
    /// Whether it has to be known if an agent has answered in a thread: nothing else says that
    /// what is said there is said to it.
    pub fn asks_of_threads(self, chat: ChatType, is_addressed: bool) -> bool {
        self.threads && self.respond == Respond::Mention && chat != ChatType::Dm && !is_addressed
    }

    /// What becomes of a message: `is_addressed` says whether it was said to the agent.
    pub fn handling(self, chat: ChatType, is_addressed: bool) -> Handling {
        let answers = match (chat, self.respond) {
            (ChatType::Dm, _) => true,
            (_, Respond::All) => true,
            (_, Respond::Mention) => is_addressed,
            (_, Respond::Never) => false,
        };
        match (answers, self.observe) {
            (true, _) => Handling::Answer,
            (false, true) => Handling::Observe,
            (false, false) => Handling::Pass,
        }
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod access_tests;
