//! Whom an agent knows: agents it may ask, people behind several identities, its admins.

use super::Reader;
use crate::agent::People;
use crate::yaml::Node;
use insula_domain::{Admins, AgentId, PersonId, Platform, RoleId, UserId};
use std::collections::BTreeSet;

impl Reader<'_> {
    pub(super) fn links(&mut self) -> BTreeSet<AgentId> {
        let mut send = BTreeSet::new();
        for link in self.nodes("links") {
            let Some(to) = link.get("to") else { continue };
            let Some(target) = to.text().and_then(|text| AgentId::new(text).ok()) else { continue };
            if target == *self.id {
                let message = format!("agent `{}` is linked to itself", self.id);
                self.error(to.span, message, Some("remove the link".to_owned()));
            } else if !self.around.agents.contains(&target) {
                let near = self.around.nearest_agent(self.report, &target);
                let message =
                    format!("agent `{}` is linked to `{target}`, which does not exist", self.id);
                self.error(to.span, message, near.map(|name| format!("did you mean `{name}`?")));
            } else {
                send.insert(target);
            }
        }
        send
    }

    pub(super) fn people(&mut self) -> People {
        let mut people = People::default();
        for entry in self.at("access.people").map(Node::entries).unwrap_or_default() {
            let Ok(person) = PersonId::new(&*entry.key) else { continue };
            for identity in entry.value.items() {
                let Some(text) = identity.text() else { continue };
                if let Some(other) = people.link(text, person.clone()) {
                    let message = format!("`{text}` is linked to both `{other}` and `{person}`");
                    self.error(identity.span, message, Some("link it to one person".to_owned()));
                }
            }
        }
        people
    }

    pub(super) fn admins(&mut self, people: &People) -> Admins {
        let mut admins = Admins::default();
        for entry in self.at("access.admins").map(Node::items).unwrap_or_default() {
            let Some(text) = entry.text() else { continue };
            let Some((platform, who)) = text.split_once(':') else { continue };
            let Ok(platform) = Platform::new(platform) else { continue };
            if who == "*" || who.starts_with("chat:") {
                let message = format!("`{text}` would make admins of whoever happens to be there");
                let help = "name a user, such as `telegram:12345`, or a role";
                self.error(entry.span, message, Some(help.to_owned()));
            } else if let Some(role) = who.strip_prefix("role:") {
                let Ok(role) = RoleId::new(role) else { continue };
                admins.role(platform, role);
            } else if let Ok(user) = UserId::new(who) {
                let person = people.linked(text).cloned();
                admins.user(platform, user, person);
            }
        }
        admins
    }
}
