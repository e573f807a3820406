//! Which agents may reach which others now, and who else hears an agent.

use super::Access;
use crate::context::{AgentContext, linked_from};
use crate::registry::{AgentState, Snapshot};
use crate::tokens::Verb;
use insula_domain::{Address, AgentId, Audience, Hearers, Link, LinkKind, Match};
use insula_store::StoreError;
use std::sync::Arc;

impl Snapshot {
    /// The link of an agent that serves to another, for one purpose, as it is now.
    pub fn link(&self, from: &AgentId, to: &AgentId, kind: LinkKind) -> Option<Link> {
        match &self.agents.get(from)?.state {
            AgentState::Ready(agent) => agent.boundary.links.find(to, kind).cloned(),
            _ => None,
        }
    }

    /// The places that an agent speaks in, by its bindings and by where it may send.
    fn heard_at(&self, agent: &AgentContext) -> Hearers {
        let mut hearers = Hearers::default();
        if self.router.defaults().everywhere.as_ref() == Some(&agent.id) {
            hearers.add_anywhere();
        }
        for binding in self.router.bindings().iter().filter(|it| it.agent == agent.id) {
            let places = self.places_of(&binding.matches);
            if places.is_empty() {
                hearers.add_anywhere();
            }
            places.into_iter().for_each(|place| hearers.add(place));
        }
        for target in &agent.boundary.messages.to {
            match target.named() {
                Some(place) => hearers.add(place),
                None => hearers.add_anywhere(),
            }
        }
        hearers
    }

    /// The places that a rule names one by one; none where it does not.
    fn places_of(&self, rule: &Match) -> Vec<Audience> {
        let Some(chat) = &rule.chat else { return Vec::new() };
        let accounts = self.daemon.accounts.iter().filter(|it| it.platform == rule.platform);
        let named = rule.account.iter().cloned();
        let accounts =
            named.chain(accounts.filter(|_| rule.account.is_none()).map(|it| it.name.clone()));
        let place = |account| Audience {
            platform: rule.platform,
            account,
            chat: chat.clone(),
            topic: rule.topic.clone(),
        };
        accounts.map(place).collect()
    }
}

impl Access {
    /// Who hears an agent besides whoever asks it: people of its chats, of places it may send to,
    /// and those whom a token lets talk to it. Operators hear everybody.
    pub fn hearers(&self, agent: &Arc<AgentContext>) -> Hearers {
        let mut hearers = self.snapshot().heard_at(agent);
        let talks = |token: &crate::tokens::Token| {
            token.allows(&agent.id, Verb::Chat) && !token.verbs.contains(&Verb::Admin)
        };
        if self.tokens.list().iter().any(|token| talks(token)) {
            hearers.add_anywhere();
        }
        hearers
    }

    /// Ends handovers between agents that are linked no more.
    pub async fn tidy_handoffs(&self) -> Result<(), StoreError> {
        let now = self.snapshot();
        let are_linked = |from: &AgentId, to: &AgentId| {
            // One that is paused keeps what it handed over.
            let context = now.agents.get(from).and_then(|entry| entry.state.context());
            context.is_some_and(|it| it.boundary.links.find(to, LinkKind::Handoff).is_some())
        };
        self.handoffs.tidy(are_linked).await
    }

    /// Who answers at an address instead of the agent that it leads to, while a link allows that.
    pub fn handed_to(&self, from: &AgentContext, address: &Address) -> Option<AgentId> {
        let to = self.handoffs.to(&from.session_key(address))?;
        let links = &from.root().boundary.links;
        links.find(&to, LinkKind::Handoff).is_some().then_some(to)
    }

    /// Who handed the conversation at an address to this agent, if somebody did.
    pub fn handed_from(&self, to: &AgentId, address: &Address) -> Option<Arc<AgentContext>> {
        let from = self.snapshot().route(address).ok()?.context;
        (self.handed_to(&from, address).as_ref() == Some(to)).then_some(from)
    }

    /// Whether the agent that said something at an address may still reach this one.
    pub(super) fn is_linked(&self, to: &AgentContext, address: &Address) -> bool {
        linked_from(address)
            .is_some_and(|(from, kind)| self.snapshot().link(&from, &to.id, kind).is_some())
    }
}
