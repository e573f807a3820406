//! Who is talking to an agent.

use crate::id::{AccountId, PersonId, RoleId, UserId};
use crate::platform::Platform;
use std::collections::BTreeSet;

/// The sender of one message, as this agent sees them.
///
/// Whether they may talk, approve or change the agent is decided from this value at the
/// moment they ask, never from what a session remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Where they speak from.
    pub platform: Platform,
    /// Which of our connections heard them.
    pub account: AccountId,
    /// The platform's id for them.
    pub user: UserId,
    /// The person this identity was linked to by the operator of the agent.
    pub person: Option<PersonId>,
    /// The roles they hold where they speak.
    pub roles: Vec<RoleId>,
    /// What they may do to the agent itself.
    pub standing: Standing,
}

/// What a principal may do to the agent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// May talk, no more.
    Guest,
    /// May approve and change this agent.
    Admin,
}

/// Who is admin of one agent, as its operator wrote it: people and roles, never everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admins {
    users: BTreeSet<(Platform, UserId)>,
    roles: BTreeSet<(Platform, RoleId)>,
    people: BTreeSet<PersonId>,
}

impl Admins {
    /// Makes a user of a platform admin, and with it every other identity of the person they
    /// are linked to.
    pub fn user(&mut self, platform: Platform, user: UserId, person: Option<PersonId>) {
        self.users.insert((platform, user));
        self.people.extend(person);
    }

    /// Makes everybody admin who has a role on a platform.
    pub fn role(&mut self, platform: Platform, role: RoleId) {
        self.roles.insert((platform, role));
    }

    /// What somebody may do to the agent. Bearers of tokens and the local command line are
    /// not judged here: theirs is what the token says, and no list of people can widen it.
    pub fn standing(
        &self,
        (platform, user): (Platform, &UserId),
        person: Option<&PersonId>,
        roles: &[RoleId],
    ) -> Standing {
        if platform == Platform::API || platform == Platform::CLI {
            return Standing::Guest;
        }
        let named = self.users.contains(&(platform, user.clone()))
            || person.is_some_and(|person| self.people.contains(person))
            || roles.iter().any(|role| self.roles.contains(&(platform, role.clone())));
        if named { Standing::Admin } else { Standing::Guest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_is_named_by_user_role_or_link_and_nobody_else_is_one() {
        let platform = |text: &str| Platform::new(text).unwrap();
        let user = |text: &str| UserId::new(text).unwrap();
        let ann = PersonId::new("ann").unwrap();
        let bob = PersonId::new("bob").unwrap();
        let staff = [RoleId::new("staff").unwrap()];
        let mut admins = Admins::default();
        admins.user(platform("telegram"), user("1"), Some(ann.clone()));
        admins.user(platform("api"), user("t"), None);
        admins.role(platform("discord"), staff[0].clone());
        for (on, who, person, roles, expected) in [
            ("telegram", "1", None, &[][..], Standing::Admin),
            ("telegram", "2", None, &[], Standing::Guest),
            ("matrix", "1", None, &[], Standing::Guest),
            ("matrix", "@ann:x", Some(&ann), &[], Standing::Admin),
            ("matrix", "@bob:x", Some(&bob), &[], Standing::Guest),
            ("discord", "9", None, &staff, Standing::Admin),
            ("slack", "9", None, &staff, Standing::Guest),
            // A list of people does not widen what a token may do.
            ("api", "t", None, &[], Standing::Guest),
            ("cli", "local", Some(&ann), &[], Standing::Guest),
        ] {
            let found = admins.standing((platform(on), &user(who)), person, roles);
            assert_eq!(found, expected, "{on}:{who}");
        }
        let nobody = Admins::default().standing((platform("telegram"), &user("1")), None, &staff);
        assert_eq!(nobody, Standing::Guest);
    }
}
