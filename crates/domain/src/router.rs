//! Which agent answers a message: rules compiled once, then a few lookups a message.
//!
//! Rules are grouped by the set of fields they use. A message is looked up in each group,
//! the most specific first, so the cost depends on how many *kinds* of rules there are and
//! not on how many rules. The order of the rules in a file plays no part anywhere.

use crate::address::Address;
use crate::binding::{Binding, Field, Match};
use crate::id::{AgentId, RoleId};
use crate::lookup::{Chat, Facts, FieldSet, Texts, rule_hash};
use crate::platform::Platform;
use foldhash::quality::FixedState;
use hashbrown::{HashMap, HashTable};
use std::cmp::Reverse;
use std::fmt;

/// Who answers where no rule applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults {
    /// The default agent, if there is one.
    pub everywhere: Option<AgentId>,
    /// Who answers the command line; where absent, the default agent does.
    pub cli: Option<AgentId>,
}

/// Who answers a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route<'r> {
    /// A rule says so. Its agent may be unable to; then the message is refused, and no
    /// other rule is tried.
    Bound {
        /// The place of the rule among those the router was made from.
        index: usize,
        /// The rule.
        binding: &'r Binding,
    },
    /// No rule applies and there is a default agent.
    Default(&'r AgentId),
    /// No rule applies and there is no default agent: refuse.
    Nobody,
}

/// Two rules of which it can't be said which one wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The place of the earlier rule.
    pub first: usize,
    /// The place of the later rule.
    pub second: usize,
    /// What is wrong with them.
    pub kind: ConflictKind,
}

/// How two rules contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConflictKind {
    /// They ask for the same thing.
    SameRule,
    /// They differ only in the role, name different agents, and have one priority: a
    /// sender who holds both roles belongs to neither.
    SameRolePriority,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second, kind } = self;
        match kind {
            ConflictKind::SameRule => {
                write!(f, "rules {first} and {second} match the same messages; remove one of them")
            }
            ConflictKind::SameRolePriority => write!(
                f,
                "rules {first} and {second} differ only in the role, and a sender can hold both; \
                 give one of them a higher `priority`"
            ),
        }
    }
}

/// How specific a match is: one bit a field in the order of [`Field`], two for the chat,
/// where the own id of a thread beats its parent's. Greater wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u8);

impl Rank {
    pub(crate) fn of(rule: &Match, via: Via) -> Self {
        let mut rank = 0;
        for field in Field::ALL {
            rank <<= 1;
            match (field, rule.uses(field)) {
                (Field::Chat, true) => {
                    rank = rank << 1
                        | match via {
                            Via::Own => 0b10,
                            Via::Parent => 0b01,
                        };
                }
                (Field::Chat, false) => rank <<= 1,
                (_, used) => rank |= u8::from(used),
            }
        }
        Self(rank)
    }
}

/// Which chat of a message a rule's `chat` is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// The chat itself.
    Own,
    /// The chat that a thread hangs below.
    Parent,
}

impl Via {
    /// The ways a rule that uses `fields` can match, so that each gets its own lookup.
    fn of(fields: FieldSet) -> &'static [Self] {
        if fields.has(Field::Chat) { &[Self::Own, Self::Parent] } else { &[Self::Own] }
    }
}

/// Where one rule is found: the combined hash of its fields, kept so that most lookups end
/// without touching the rule, and where its texts are.
#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u64,
    texts: usize,
    binding: usize,
}

/// One lookup of a message.
#[derive(Debug, Clone, Copy)]
struct Probe {
    rank: Rank,
    group: usize,
    via: Via,
    fields: FieldSet,
}

/// The compiled rules.
#[derive(Debug, Clone, Default)]
pub struct Router {
    bindings: Vec<Binding>,
    defaults: Defaults,
    texts: Texts,
    /// The rules, grouped by the set of fields they use.
    groups: Vec<HashTable<Slot>>,
    /// Sorted, the most specific first; a group that names chats has two.
    probes: Vec<Probe>,
}

impl Router {
    /// Compiles rules, or says which of them contradict each other.
    ///
    /// Each rule is held against the first of those it contradicts, so the list is never
    /// longer than the rules.
    pub fn compile(bindings: Vec<Binding>, defaults: Defaults) -> Result<Self, Vec<Conflict>> {
        let (router, conflicts) = Self::compile_refusing(bindings, defaults, ToString::to_string);
        if conflicts.is_empty() { Ok(router) } else { Err(conflicts) }
    }

    /// Compiles rules. Those that contradict each other refuse, for the reason that `why` gives:
    /// what they ask for belongs to nobody, and to no wider rule either. The others hold.
    pub fn compile_refusing(
        bindings: Vec<Binding>,
        defaults: Defaults,
        why: impl Fn(&Conflict) -> String,
    ) -> (Self, Vec<Conflict>) {
        let mut router = Self {
            bindings,
            defaults,
            texts: Texts::default(),
            groups: Vec::new(),
            probes: Vec::new(),
        };
        let mut group_of = [None; FieldSet::COUNT];
        let mut roles = HashMap::with_hasher(FixedState::default());
        let mut conflicts = Vec::new();
        for (index, binding) in router.bindings.iter().enumerate() {
            let rule = &binding.matches;
            let fields = FieldSet::used_by(rule);
            let group = *group_of[fields.place()].get_or_insert_with(|| {
                let group = router.groups.len();
                router.groups.push(HashTable::new());
                for via in Via::of(fields) {
                    let rank = Rank::of(rule, *via);
                    router.probes.push(Probe { rank, group, via: *via, fields });
                }
                group
            });
            let hash = rule_hash(rule);
            let slots = &mut router.groups[group];
            let same =
                |slot: &Slot| slot.hash == hash && router.bindings[slot.binding].matches == *rule;
            if let Some(slot) = slots.find(hash, same) {
                let kind = ConflictKind::SameRule;
                conflicts.push(Conflict { first: slot.binding, second: index, kind });
                continue;
            }
            let texts = router.texts.add(rule);
            slots.insert_unique(hash, Slot { hash, texts, binding: index }, |slot| slot.hash);
            if rule.role.is_some() {
                let but_role = Match { role: None, ..rule.clone() };
                let key = (but_role, binding.priority);
                let (first, other) = roles.entry(key).or_insert((index, None));
                let against = match *other {
                    _ if router.bindings[*first].agent != binding.agent => {
                        other.get_or_insert(index);
                        Some(*first)
                    }
                    // Also one that agrees with the first of them: the second is against both.
                    other => other,
                };
                if let Some(first) = against {
                    let kind = ConflictKind::SameRolePriority;
                    conflicts.push(Conflict { first, second: index, kind });
                }
            }
        }
        router.probes.sort_by_key(|probe| Reverse(probe.rank));
        for conflict in &conflicts {
            for index in [conflict.first, conflict.second] {
                let refusal = &mut router.bindings[index].refusal;
                refusal.get_or_insert_with(|| why(conflict).into());
            }
        }
        (router, conflicts)
    }

    /// Who answers a message at `address`.
    pub fn route(&self, address: &Address) -> Route<'_> {
        match self.find(address) {
            Some(index) => Route::Bound { index, binding: &self.bindings[index] },
            None => self.fall_back(address.platform),
        }
    }

    /// The rules, in the order they were given.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// Who answers where no rule applies.
    pub fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    pub(crate) fn fall_back(&self, platform: Platform) -> Route<'_> {
        let cli = self.defaults.cli.as_ref().filter(|_| platform == Platform::CLI);
        match cli.or(self.defaults.everywhere.as_ref()) {
            Some(agent) => Route::Default(agent),
            None => Route::Nobody,
        }
    }

    fn find(&self, address: &Address) -> Option<usize> {
        let facts = Facts::of(address);
        self.probes.iter().find_map(|probe| {
            if !probe.fields.is_within(facts.present) {
                return None;
            }
            let chat = match probe.via {
                Via::Own => Chat::Own(&address.chat),
                Via::Parent => Chat::Parent(address.parent.as_ref()?),
            };
            self.look_up(probe, &facts, chat)
        })
    }

    /// The winner among the rules of one group that match, if any does.
    fn look_up(&self, probe: &Probe, facts: &Facts<'_>, chat: Chat<'_>) -> Option<usize> {
        let find = |hash: u64, role: Option<&RoleId>| {
            let slot = self.groups[probe.group].find(hash, |slot| {
                slot.hash == hash
                    && self.texts.agree(slot.texts, probe.fields, facts.address, chat, role)
            });
            slot.map(|slot| slot.binding)
        };
        let hash = facts.hash(probe.fields, chat);
        if !probe.fields.has(Field::Role) {
            return find(hash, None);
        }
        let standing = |index: usize| self.bindings[index].standing_among_roles();
        facts
            .roles()
            .filter_map(|(role, role_hash)| find(hash ^ role_hash, Some(role)))
            .reduce(|best, other| if standing(other) > standing(best) { other } else { best })
    }
}

impl Binding {
    /// Decides between rules that differ only in the role: priority, then the role's text,
    /// so that nothing depends on the order of rules or roles.
    pub(crate) fn standing_among_roles(&self) -> (i32, Reverse<Option<&RoleId>>) {
        (self.priority, Reverse(self.matches.role.as_ref()))
    }
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod router_tests;
