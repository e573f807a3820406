//! What a turn is held to that another agent began by a link: who asked, through whom, and what
//! it may spend.

use insula_domain::boundary::BudgetLimits;
use insula_domain::{
    AccountId, Address, AgentId, Audience, ChatId, ChatType, ContextId, Hops, Link, LinkKind,
    Narrowing, Platform, Scope, SessionKey,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What stands between the kind of a link and the conversation in the name of a chat.
const BEFORE_NAME: char = '.';
/// Hexadecimal digits of a conversation's name: enough that no two are one.
const NAME_CHARS: usize = 32;

/// What a turn that another agent began is held to, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkTurn {
    pub kind: LinkKind,
    /// Who waits for it, and how many links it may pass.
    pub hops: Hops,
    /// What it may spend.
    pub budget: BudgetLimits,
    from: AgentId,
    to: AgentId,
    account: AccountId,
    chat: ChatId,
}

impl LinkTurn {
    /// What goes from a conversation over a link; `None` where its names are none that a
    /// conversation could have.
    pub fn new(conversation: &SessionKey, link: &Link, before: Option<&Hops>) -> Option<Self> {
        let from = &conversation.agent;
        // Named after who asks, without telling the other agent which chat that is.
        let name = blake3::hash(conversation.to_string().as_bytes()).to_hex();
        let chat = format!("{}{BEFORE_NAME}{}", link.kind, &name[..NAME_CHARS]);
        Some(Self {
            kind: link.kind,
            hops: link.hops(from, before),
            budget: link.budget,
            account: AccountId::new(from.as_str()).ok()?,
            chat: ChatId::new(chat).ok()?,
            from: from.clone(),
            to: link.to.clone(),
        })
    }

    /// Who asked.
    pub fn from(&self) -> &AgentId {
        &self.from
    }

    /// Where it is said: nowhere that people are.
    pub fn address(&self) -> Address {
        Address {
            platform: Platform::LINK,
            account: self.account.clone(),
            chat: self.chat.clone(),
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: None,
            roles: Vec::new(),
        }
    }

    /// Who hears the answer: the conversation that asked.
    pub fn audience(&self) -> Audience {
        Audience::of(&self.address())
    }

    /// The conversation: one for each that asks, so that nothing said in one is told in another.
    pub fn session(&self) -> SessionKey {
        SessionKey {
            agent: self.to.clone(),
            platform: Platform::LINK,
            account: self.account.clone(),
            kind: ChatType::Dm,
            chat: self.chat.clone(),
            topic: None,
            user: None,
        }
    }

    /// Its memory.
    pub fn scope(&self) -> Scope {
        Scope::Context(ContextId::Chat {
            platform: Platform::LINK,
            account: self.account.clone(),
            chat: self.chat.clone(),
        })
    }

    /// What it takes away from the agent that is asked.
    pub fn less(&self) -> Option<Arc<Narrowing>> {
        let name = format!("link {}/{}/{}", self.from, self.kind, self.to);
        let less = Narrowing { budget: self.budget, ..Narrowing::by(name) };
        (!less.is_empty()).then(|| Arc::new(less))
    }
}

/// Which agent says something at an address, and by what kind of link.
pub fn linked_from(address: &Address) -> Option<(AgentId, LinkKind)> {
    let is_link = address.platform == Platform::LINK;
    let (kind, _) = address.chat.as_str().split_once(BEFORE_NAME).filter(|_| is_link)?;
    Some((AgentId::new(address.account.as_str()).ok()?, LinkKind::parse(kind)?))
}

/// The form in the journal: a turn that a crash cut off goes on under the same bounds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptLink {
    to: String,
    through: Vec<String>,
    left: u32,
    usd_micros: Option<u64>,
    tokens: Option<u64>,
    turns: Option<u32>,
}

impl KeptLink {
    pub(super) fn of(link: &LinkTurn) -> Self {
        let BudgetLimits { usd_micros_per_day, tokens_per_day, turns_per_minute } = link.budget;
        Self {
            to: link.to.to_string(),
            through: link.hops.through.iter().map(ToString::to_string).collect(),
            left: link.hops.left,
            usd_micros: usd_micros_per_day,
            tokens: tokens_per_day,
            turns: turns_per_minute,
        }
    }

    pub(super) fn restored(self, address: &Address) -> Option<LinkTurn> {
        let (from, kind) = linked_from(address)?;
        let through: Result<Vec<AgentId>, _> =
            self.through.iter().map(|it| AgentId::new(it.as_str())).collect();
        Some(LinkTurn {
            kind,
            hops: Hops { through: through.ok()?, left: self.left },
            budget: BudgetLimits {
                usd_micros_per_day: self.usd_micros,
                tokens_per_day: self.tokens,
                turns_per_minute: self.turns,
            },
            from,
            to: AgentId::new(&self.to).ok()?,
            account: address.account.clone(),
            chat: address.chat.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(chat: &str) -> SessionKey {
        format!("agent:a:telegram:main:dm:{chat}:user:{chat}").parse().unwrap()
    }

    fn link() -> Link {
        Link {
            to: AgentId::new("b").unwrap(),
            kind: LinkKind::Ask,
            timeout_ms: 1,
            max_depth: 2,
            budget: BudgetLimits { tokens_per_day: Some(9), ..BudgetLimits::default() },
            carry: Vec::new(),
        }
    }

    #[test]
    fn what_a_turn_is_held_to_comes_back_whole_or_not_at_all() {
        let turn = LinkTurn::new(&conversation("5"), &link(), None).unwrap();
        let kept = serde_json::to_string(&KeptLink::of(&turn)).unwrap();
        let read: KeptLink = serde_json::from_str(&kept).unwrap();
        assert_eq!(read.restored(&turn.address()), Some(turn.clone()), "{kept}");
        let read: KeptLink = serde_json::from_str(&kept).unwrap();
        let elsewhere = Address { platform: Platform::CLI, ..turn.address() };
        assert_eq!(read.restored(&elsewhere), None);
    }

    #[test]
    fn each_conversation_that_asks_is_one_of_its_own_and_says_who_asks_and_nothing_else() {
        let turn = |chat| LinkTurn::new(&conversation(chat), &link(), None).unwrap();
        let one = turn("12345678");
        assert_eq!(one, turn("12345678"));
        assert_ne!(one.session(), turn("5").session());
        assert_ne!(one.scope(), turn("5").scope());
        let shown = one.session().to_string();
        assert!(shown.starts_with("agent:b:link:a:dm:ask."), "{shown}");
        assert!(!shown.contains("12345678"), "{shown}");
        assert_eq!(linked_from(&one.address()), Some((conversation("5").agent, LinkKind::Ask)));
        assert_eq!(one.less().unwrap().budget.tokens_per_day, Some(9));
        let free = Link { budget: BudgetLimits::default(), ..link() };
        assert_eq!(LinkTurn::new(&conversation("5"), &free, None).unwrap().less(), None);
    }
}
