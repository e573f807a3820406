//! What is known of where something was said and by whom, under the names that expressions,
//! rules and hooks have for it. One list, so that all of them know the same.

use crate::address::{Address, Community};
use crate::expr::{Value, Variable};
use crate::id::{GuildId, PersonId, RoleId};

/// The names, in the order of [`Place::facts`].
pub const PLACE_FACTS: [&str; 7] =
    ["chat_type", "guild", "team", "parent", "roles", "person", "token"];

/// The same as variables of an expression.
pub const PLACE_VARIABLES: [Variable; PLACE_FACTS.len()] = {
    let mut variables = [Variable::open(""); PLACE_FACTS.len()];
    let mut index = 0;
    while index < variables.len() {
        variables[index] = Variable::open(PLACE_FACTS[index]);
        index += 1;
    }
    variables
};

/// Where something was said, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Place<'p> {
    pub address: &'p Address,
    /// The person its sender is linked to.
    pub person: Option<&'p PersonId>,
    /// The id of the token that they speak by.
    pub token: Option<&'p str>,
}

/// One thing that is known of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceFact<'p> {
    /// A text; absent where there is no such thing there.
    Text(Option<&'p str>),
    /// Several.
    Texts(Vec<&'p str>),
}

impl<'p> Place<'p> {
    /// All that is known, in the order of [`PLACE_FACTS`].
    pub fn facts(&self) -> [(&'static str, PlaceFact<'p>); PLACE_FACTS.len()] {
        let address = self.address;
        let (guild, team) = match &address.community {
            Some(Community::Guild(id)) => (Some(GuildId::as_str(id)), None),
            Some(Community::Team(id)) => (None, Some(GuildId::as_str(id))),
            None => (None, None),
        };
        let facts = [
            PlaceFact::Text(Some(address.chat_type.as_str())),
            PlaceFact::Text(guild),
            PlaceFact::Text(team),
            PlaceFact::Text(address.parent.as_ref().map(|parent| parent.as_str())),
            PlaceFact::Texts(address.roles.iter().map(RoleId::as_str).collect()),
            PlaceFact::Text(self.person.map(|person| person.as_str())),
            PlaceFact::Text(self.token),
        ];
        let mut names = PLACE_FACTS.into_iter();
        facts.map(|fact| (names.next().unwrap_or_default(), fact))
    }
}

impl PlaceFact<'_> {
    /// As expressions see it.
    pub fn value(&self) -> Value {
        match self {
            Self::Text(text) => text.map_or_else(Value::null, Value::text),
            Self::Texts(texts) => Value::texts(texts.iter().map(|text| (*text).to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccountId, ChatId, ChatType, Platform};

    #[test]
    fn each_fact_stands_under_its_name_and_what_is_not_there_is_nothing() {
        let mut address = Address {
            platform: Platform::new("discord").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new("9").unwrap(),
            chat_type: ChatType::Thread,
            topic: None,
            parent: Some(ChatId::new("8").unwrap()),
            community: Some(Community::Guild(GuildId::new("g1").unwrap())),
            user: None,
            roles: vec![RoleId::new("staff").unwrap(), RoleId::new("ops").unwrap()],
        };
        let person = PersonId::new("ann").unwrap();
        let place = Place { address: &address, person: Some(&person), token: Some("t1") };
        let text = |text| PlaceFact::Text(Some(text));
        let facts = place.facts();
        assert_eq!(facts.each_ref().map(|(name, _)| *name), PLACE_FACTS);
        let [kind, guild, team, parent, roles, person, token] = facts.map(|(_, fact)| fact);
        assert_eq!([kind, guild, team], [text("thread"), text("g1"), PlaceFact::Text(None)]);
        assert_eq!([parent, person, token], [text("8"), text("ann"), text("t1")]);
        assert_eq!(roles, PlaceFact::Texts(vec!["staff", "ops"]));
        address.community = Some(Community::Team(GuildId::new("g1").unwrap()));
        let facts = Place { address: &address, person: None, token: None }.facts();
        // A guild and a team of one id are not the same.
        assert_eq!((&facts[1].1, &facts[2].1), (&PlaceFact::Text(None), &text("g1")));
        assert_eq!((&facts[5].1, &facts[6].1), (&PlaceFact::Text(None), &PlaceFact::Text(None)));
    }
}
