//! How the router finds a rule: sets of fields, the hashes of a message's fields, and the
//! texts of all rules packed one after another.
//!
//! The texts are packed because a lookup is as fast as the memory it touches: a rule is one
//! run of bytes here, and half a dozen separate allocations where it is written down. A hash
//! only says where to look; the texts themselves decide.

use crate::address::{Address, Community};
use crate::binding::{Field, Match};
use crate::id::{ChatId, RoleId};
use crate::platform::Platform;
use foldhash::quality::FixedState;
use std::hash::{BuildHasher, Hash};

/// How many roles of a sender have their hash kept while a message is looked up; what a
/// sender holds beyond that is hashed again for each group, which is slower and still right.
const ROLE_HASHES_MAX: usize = 16;

/// A set of fields, one bit each in the order of [`Field`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldSet(u8);

impl FieldSet {
    /// How many sets there are.
    pub(crate) const COUNT: usize = 1 << Field::ALL.len();

    pub(crate) fn used_by(rule: &Match) -> Self {
        let used = Field::ALL.into_iter().filter(|field| rule.uses(*field));
        used.fold(Self(0), |set, field| Self(set.0 | 1 << field as u8))
    }

    /// Its place among all sets.
    pub(crate) fn place(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn has(self, field: Field) -> bool {
        self.0 & 1 << field as u8 != 0
    }

    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    fn fields(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |field| self.has(*field))
    }
}

/// What is looked up about one message, each part hashed once.
pub(crate) struct Facts<'a> {
    pub(crate) address: &'a Address,
    pub(crate) present: FieldSet,
    platform: u64,
    /// By [`Field`]; zero where absent, and for the role, of which there can be many.
    hashes: [u64; Field::ALL.len()],
    parent: u64,
    roles: [u64; ROLE_HASHES_MAX],
}

impl<'a> Facts<'a> {
    pub(crate) fn of(address: &'a Address) -> Self {
        let mut hashes = [0; Field::ALL.len()];
        let mut present = FieldSet(0);
        let mut note = |field: Field, hash: Option<u64>| {
            if let Some(hash) = hash {
                hashes[field as usize] = hash;
                present.0 |= 1 << field as u8;
            }
        };
        note(Field::Topic, address.topic.as_ref().map(|topic| field_hash(Field::Topic, topic)));
        note(Field::Chat, Some(field_hash(Field::Chat, &address.chat)));
        note(Field::User, address.user.as_ref().map(|user| field_hash(Field::User, user)));
        note(Field::Role, address.roles.first().map(|_| 0));
        let community = address.community.as_ref();
        note(Field::Community, community.map(|it| field_hash(Field::Community, it)));
        note(Field::ChatType, Some(field_hash(Field::ChatType, address.chat_type)));
        note(Field::Account, Some(field_hash(Field::Account, &address.account)));
        let mut roles = [0; ROLE_HASHES_MAX];
        for (hash, role) in roles.iter_mut().zip(&address.roles) {
            *hash = field_hash(Field::Role, role);
        }
        Self {
            address,
            present,
            platform: platform_hash(address.platform),
            hashes,
            parent: address.parent.as_ref().map_or(0, |chat| field_hash(Field::Chat, chat)),
            roles,
        }
    }

    /// The hash under which a rule on `fields` is kept, but for the role's part of it.
    pub(crate) fn hash(&self, fields: FieldSet, chat: Chat<'_>) -> u64 {
        fields.fields().fold(self.platform, |hash, field| {
            hash ^ match (field, chat) {
                (Field::Chat, Chat::Parent(_)) => self.parent,
                _ => self.hashes[field as usize],
            }
        })
    }

    /// The roles of the sender, each with its hash.
    pub(crate) fn roles(&self) -> impl Iterator<Item = (&'a RoleId, u64)> {
        self.address.roles.iter().enumerate().map(|(place, role)| match self.roles.get(place) {
            Some(hash) => (role, *hash),
            None => (role, field_hash(Field::Role, role)),
        })
    }
}

/// The chat of a message that a rule's `chat` is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Chat<'a> {
    /// The chat itself.
    Own(&'a ChatId),
    /// The chat that a thread hangs below.
    Parent(&'a ChatId),
}

/// The combined hash of a rule: that of a message which it matches. Each part's hash
/// depends on which field it is, so exclusive or loses nothing.
pub(crate) fn rule_hash(rule: &Match) -> u64 {
    fn part<T: Hash>(field: Field, value: &Option<T>) -> u64 {
        value.as_ref().map_or(0, |value| field_hash(field, value))
    }
    let Match { platform, account, chat, chat_type, topic, community, user, role } = rule;
    platform_hash(*platform)
        ^ part(Field::Topic, topic)
        ^ part(Field::Chat, chat)
        ^ part(Field::User, user)
        ^ part(Field::Role, role)
        ^ part(Field::Community, community)
        ^ part(Field::ChatType, chat_type)
        ^ part(Field::Account, account)
}

/// The seed is fixed: what is in the tables comes from the operator, so nobody outside can
/// fill them with collisions.
fn field_hash(field: Field, value: impl Hash) -> u64 {
    FixedState::default().hash_one((field as u8, value))
}

fn platform_hash(platform: Platform) -> u64 {
    FixedState::default().hash_one(platform)
}

/// The texts of the rules: for each the platform, then the fields it uses in the order of
/// [`Field`], each with its length before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts(Vec<u8>);

impl Texts {
    /// Adds a rule and says where it starts.
    pub(crate) fn add(&mut self, rule: &Match) -> usize {
        let Match { platform, account, chat, chat_type, topic, community, user, role } = rule;
        let start = self.0.len();
        self.put(platform.as_str());
        for field in Field::ALL {
            let text = match field {
                Field::Topic => topic.as_ref().map(|it| it.as_str()),
                Field::Chat => chat.as_ref().map(|it| it.as_str()),
                Field::User => user.as_ref().map(|it| it.as_str()),
                Field::Role => role.as_ref().map(|it| it.as_str()),
                Field::Community => community.as_ref().map(|it| {
                    let (kind, id) = kind_and_id(it);
                    self.put(kind);
                    id
                }),
                Field::ChatType => chat_type.map(|it| it.as_str()),
                Field::Account => account.as_ref().map(|it| it.as_str()),
            };
            if let Some(text) = text {
                self.put(text);
            }
        }
        start
    }

    fn put(&mut self, text: &str) {
        self.0.extend(text.len().to_le_bytes());
        self.0.extend(text.as_bytes());
    }

    /// Whether the rule at `start`, which uses `fields`, says what the message says.
    pub(crate) fn agree(
        &self,
        start: usize,
        fields: FieldSet,
        address: &Address,
        (Chat::Own(chat) | Chat::Parent(chat)): Chat<'_>,
        role: Option<&RoleId>,
    ) -> bool {
        let mut rule = &self.0[start..];
        let mut says = |text: Option<&str>| text.is_some_and(|text| take(&mut rule, text));
        says(Some(address.platform.as_str()))
            && fields.fields().all(|field| match field {
                Field::Topic => says(address.topic.as_ref().map(|it| it.as_str())),
                Field::Chat => says(Some(chat.as_str())),
                Field::User => says(address.user.as_ref().map(|it| it.as_str())),
                Field::Role => says(role.map(|it| it.as_str())),
                Field::Community => address.community.as_ref().is_some_and(|it| {
                    let (kind, id) = kind_and_id(it);
                    says(Some(kind)) && says(Some(id))
                }),
                Field::ChatType => says(Some(address.chat_type.as_str())),
                Field::Account => says(Some(address.account.as_str())),
            })
    }
}

/// Whether `rest` goes on with `text`; then it is past it.
fn take(rest: &mut &[u8], text: &str) -> bool {
    let after_length = rest.strip_prefix(&text.len().to_le_bytes());
    match after_length.and_then(|after| after.strip_prefix(text.as_bytes())) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn kind_and_id(community: &Community) -> (&'static str, &str) {
    match community {
        Community::Guild(id) => ("guild", id.as_str()),
        Community::Team(id) => ("team", id.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{cases, rule, small_address};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(2000))]

        /// Two texts of one hash can't be had for a test, so the comparison that would tell
        /// them apart is asked directly.
        #[test]
        fn texts_agree_exactly_where_every_field_of_the_rule_does(
            other in rule(), rule in rule(), at in small_address(),
        ) {
            let mut texts = Texts::default();
            texts.add(&other);
            let start = texts.add(&rule);
            let role = at.roles.first();
            let expected = rule.platform == at.platform
                && rule.account.as_ref().is_none_or(|it| *it == at.account)
                && rule.chat.as_ref().is_none_or(|it| *it == at.chat)
                && rule.chat_type.is_none_or(|it| it == at.chat_type)
                && (rule.topic.is_none() || rule.topic == at.topic)
                && (rule.community.is_none() || rule.community == at.community)
                && (rule.user.is_none() || rule.user == at.user)
                && (rule.role.is_none() || rule.role.as_ref() == role);
            let fields = FieldSet::used_by(&rule);
            prop_assert_eq!(texts.agree(start, fields, &at, Chat::Own(&at.chat), role), expected);
        }
    }
}
