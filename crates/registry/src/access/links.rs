//! Which agents may reach which others now, and who else hears an agent.

use super::Access;
use crate::context::{AgentContext, linked_from};
use crate::registry::{AgentState, Snapshot};
use crate::tokens::Verb;
use insula_domain::{
    Address, AgentId, Audience, ChatType, Hearers, Link, LinkKind, Match, Platform, SessionKey,
};
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
    /// Who hears an agent besides whoever asks it from an address: people of its chats, of places
    /// it may send to, and those whom a token lets talk to it. Operators hear everybody, and
    /// whoever asks is nobody else.
    pub fn hearers(&self, agent: &Arc<AgentContext>, from: Option<&Address>) -> Hearers {
        let mut hearers = self.snapshot().heard_at(agent);
        // In a chat of others what they said is no part of what the asker may take along.
        let is_own = |it: &&Address| it.platform == Platform::WEB && it.chat_type == ChatType::Dm;
        let own = from.filter(is_own).and_then(|it| self.token_of(it)).map(|it| it.id.clone());
        let talks = |token: &crate::tokens::Token| {
            token.allows(&agent.id, Verb::Chat)
                && !token.verbs.contains(&Verb::Admin)
                && own.as_ref() != Some(&token.id)
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

    /// Whose chat an agent speaks in: who handed it a conversation there, now or since the start,
    /// while the chat still leads to that one and the link is there. What an agent says there by
    /// any other way is its own.
    pub fn host_at(&self, to: &AgentId, place: Audience) -> Option<Arc<AgentContext>> {
        // Only there does it depend on who answers what is heard.
        if place.platform != Platform::WEB {
            return None;
        }
        let now = self.snapshot();
        self.handoffs.at(to, place).into_iter().find_map(|key| {
            let SessionKey { agent, platform, account, kind, chat, topic, user } = key;
            let (parent, community, roles) = (None, None, Vec::new());
            let chat_type = kind;
            let address = Address {
                platform,
                account,
                chat,
                chat_type,
                topic,
                parent,
                community,
                user,
                roles,
            };
            let leads = now.bound(&address) == Some(&agent);
            let from = now.agents.get(&agent).filter(|_| leads)?.state.context()?;
            let is_linked = from.root().boundary.links.find(to, LinkKind::Handoff).is_some();
            is_linked.then(|| from.clone())
        })
    }

    /// Whether the agent that said something at an address may still reach this one.
    pub(super) fn is_linked(&self, to: &AgentContext, address: &Address) -> bool {
        linked_from(address)
            .is_some_and(|(from, kind)| self.snapshot().link(&from, &to.id, kind).is_some())
    }
}
