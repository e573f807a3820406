//! Whom an agent knows: people behind several identities and their clocks, its admins.

use super::Reader;
use crate::agent::People;
use crate::yaml::Node;
use insula_domain::{Admins, PersonId, Platform, RoleId, UserId, Zone, Zones};
use std::collections::BTreeMap;

impl Reader<'_> {
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

    /// By whose clocks it is told the time.
    pub(super) fn zones(&mut self, people: &People) -> Zones {
        let own = self.text("timezone.zone").and_then(Zone::named).unwrap_or_default();
        let mut zones = Zones { own, people: BTreeMap::new() };
        for entry in self.at("timezone.people").map(Node::entries).unwrap_or_default() {
            let Some(zone) = entry.value.text().and_then(Zone::named) else { continue };
            let key = &*entry.key;
            let who = key.split_once(':').map(|(_, who)| who);
            match who {
                Some(who) if who == "*" || who.starts_with("role:") || who.starts_with("chat:") => {
                    let message = format!("`{key}` is not one person, and clocks are");
                    let help =
                        "name a user, such as `telegram:12345`, or a name of `access.people`";
                    self.error(entry.key_span, message, Some(help.to_owned()));
                }
                Some(_) => {
                    zones.people.insert(key.into(), zone);
                }
                None => {
                    let person = PersonId::new(key).ok();
                    let identities: Vec<&str> =
                        person.iter().flat_map(|person| people.of(person)).collect();
                    if identities.is_empty() {
                        let message = format!("`{key}` has a time zone and is nobody");
                        let help = format!(
                            "link it: `access: {{people: {{{key}: [telegram:12345]}}}}`, or name the identity itself"
                        );
                        self.error(entry.key_span, message, Some(help));
                    }
                    zones.people.extend(identities.into_iter().map(|it| (it.into(), zone.clone())));
                }
            }
        }
        zones
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
