//! Why a message goes where it goes: every rule, and what became of it.
//!
//! For people, so it looks at every rule in turn; the fast path knows nothing of it. A test
//! holds the two against each other.

use crate::address::{Address, Community};
use crate::binding::{Binding, Field, Match, Tier};
use crate::platform::Platform;
use crate::router::{Rank, Route, Router, Via};
use std::cmp::Reverse;
use std::fmt;

/// Most roles of a sender that an explanation lists.
const ROLES_SHOWN_MAX: usize = 8;

/// Where a message goes, and why not elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation<'r> {
    /// Who answers.
    pub route: Route<'r>,
    /// Every rule, in the order they were given.
    pub considered: Vec<Considered>,
}

/// What became of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Considered {
    /// The place of the rule among those the router was made from.
    pub binding: usize,
    /// How specific it is.
    pub tier: Tier,
    /// Whether the message is one it asks for.
    pub matched: bool,
    /// Why it won or did not.
    pub why: Why,
}

/// Why a rule won or did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It decides.
    Won,
    /// It matches, and another one is preferred.
    Lost {
        /// The place of the rule that won.
        to: usize,
        /// What the other has over it.
        by: Reason,
    },
    /// It is for another platform.
    OtherPlatform { wants: Platform },
    /// The message has another value than the rule asks for.
    Differs {
        field: Field,
        /// What the message has.
        is: Box<str>,
        /// What the rule asks for.
        wants: Box<str>,
    },
    /// The message has no value where the rule asks for one.
    Absent { field: Field },
}

/// What makes one matching rule preferred to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It uses a field that the other does not, and both agree on what is more specific.
    Names(Field),
    /// It names the thread itself, the other the chat above it.
    OwnChat,
    /// It has the higher priority among rules that differ only in the role.
    Priority {
        /// Of the rule that won.
        winner: i32,
        loser: i32,
    },
    /// Same agent and priority, and its role comes first by name.
    RoleName,
    /// Nothing: both ask for the same messages, and both refuse them.
    Nothing,
}

impl Router {
    /// Who answers a message at `address`, and what became of every rule.
    pub fn explain(&self, address: &Address) -> Explanation<'_> {
        let fit: Vec<Result<Via, Why>> =
            self.bindings().iter().map(|binding| hold_against(&binding.matches, address)).collect();
        let best = |(index, fit): (usize, &Result<Via, Why>)| {
            let binding = &self.bindings()[index];
            let via = *fit.as_ref().ok()?;
            Some((Rank::of(&binding.matches, via), binding.standing_among_roles(), index, via))
        };
        let winner = fit
            .iter()
            .enumerate()
            .filter_map(best)
            .max_by_key(|best| (best.0, best.1, Reverse(best.2)));
        let considered =
            fit.into_iter().zip(self.bindings()).enumerate().map(|(index, (fit, binding))| {
                let matched = fit.is_ok();
                let why = match (fit, winner) {
                    (Err(why), _) => why,
                    (Ok(via), Some((_, _, to, winner_via))) if to != index => {
                        let by = preference((&self.bindings()[to], winner_via), (binding, via));
                        Why::Lost { to, by }
                    }
                    (Ok(_), _) => Why::Won,
                };
                Considered { binding: index, tier: binding.matches.tier(), matched, why }
            });
        let considered = considered.collect();
        let route = match winner {
            Some((_, _, index, _)) => Route::Bound { index, binding: &self.bindings()[index] },
            None => self.fall_back(address.platform),
        };
        Explanation { route, considered }
    }
}

/// Whether a rule matches, by which chat, or the first thing that keeps it from matching.
fn hold_against(rule: &Match, address: &Address) -> Result<Via, Why> {
    if rule.platform != address.platform {
        return Err(Why::OtherPlatform { wants: rule.platform });
    }
    let via = match &rule.chat {
        Some(chat) if *chat != address.chat && address.parent.as_ref() == Some(chat) => Via::Parent,
        _ => Via::Own,
    };
    for field in Field::ALL {
        let mismatch = match field {
            Field::Topic => differs(field, rule.topic.as_ref(), address.topic.as_ref()),
            Field::Chat if via == Via::Parent => None,
            Field::Chat => differs(field, rule.chat.as_ref(), Some(&address.chat)),
            Field::User => differs(field, rule.user.as_ref(), address.user.as_ref()),
            Field::Role => role_differs(rule, address),
            Field::Community => {
                let (wants, is) = (rule.community.as_ref(), address.community.as_ref());
                differs(field, wants.map(Named).as_ref(), is.map(Named).as_ref())
            }
            Field::ChatType => differs(field, rule.chat_type.as_ref(), Some(&address.chat_type)),
            Field::Account => differs(field, rule.account.as_ref(), Some(&address.account)),
        };
        if let Some(why) = mismatch {
            return Err(why);
        }
    }
    Ok(via)
}

fn differs<T: PartialEq + fmt::Display>(
    field: Field,
    wants: Option<&T>,
    is: Option<&T>,
) -> Option<Why> {
    match (wants, is) {
        (None, _) => None,
        (Some(_), None) => Some(Why::Absent { field }),
        (Some(wants), Some(is)) => (wants != is).then(|| Why::Differs {
            field,
            is: is.to_string().into(),
            wants: wants.to_string().into(),
        }),
    }
}

fn role_differs(rule: &Match, address: &Address) -> Option<Why> {
    let wants = rule.role.as_ref()?;
    let field = Field::Role;
    if address.roles.is_empty() {
        return Some(Why::Absent { field });
    }
    if address.roles.contains(wants) {
        return None;
    }
    let shown: Vec<&str> =
        address.roles.iter().take(ROLES_SHOWN_MAX).map(|role| role.as_str()).collect();
    let more = if address.roles.len() > ROLES_SHOWN_MAX { ", …" } else { "" };
    let is = format!("{}{more}", shown.join(", ")).into();
    Some(Why::Differs { field, is, wants: wants.as_str().into() })
}

/// A guild or team with the word for it.
#[derive(PartialEq)]
struct Named<'a>(&'a Community);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Community::Guild(guild) => write!(f, "guild {guild}"),
            Community::Team(team) => write!(f, "team {team}"),
        }
    }
}

/// What the first, which won, has over the second.
fn preference(winner: (&Binding, Via), loser: (&Binding, Via)) -> Reason {
    let (rule, other) = (&winner.0.matches, &loser.0.matches);
    for field in Field::ALL {
        if rule.uses(field) != other.uses(field) {
            return Reason::Names(field);
        }
        if field == Field::Chat && winner.1 != loser.1 {
            return Reason::OwnChat;
        }
    }
    match (winner.0.priority, loser.0.priority) {
        (winner, loser) if winner != loser => Reason::Priority { winner, loser },
        _ if rule == other => Reason::Nothing,
        _ => Reason::RoleName,
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Won => f.write_str("won: most specific match"),
            Self::Lost { to, by } => write!(f, "lost to rule {}, {by}", to + 1),
            Self::OtherPlatform { wants } => write!(f, "the rule is for {wants}"),
            Self::Differs { field: Field::Role, is, wants } => {
                write!(f, "the sender's roles are {is}, the rule wants {wants}")
            }
            Self::Differs { field: Field::Community, is, wants } => {
                write!(f, "the chat is in {is}, the rule wants {wants}")
            }
            Self::Differs { field, is, wants } => {
                write!(f, "{field} is {is}, the rule wants {wants}")
            }
            Self::Absent { field: Field::Role } => f.write_str("the sender has no role"),
            Self::Absent { field } => write!(f, "the message has no {field}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names(field @ Field::Account) => write!(f, "which names an {field}"),
            Self::Names(field) => write!(f, "which names a {field}"),
            Self::OwnChat => f.write_str("which names the thread itself and not its parent"),
            Self::Priority { winner, loser } => {
                write!(f, "which has priority {winner} over {loser}")
            }
            Self::RoleName => f.write_str("whose role comes first by name"),
            Self::Nothing => f.write_str("which asks for the same messages; both refuse them"),
        }
    }
}
