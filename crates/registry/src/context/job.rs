//! What a turn is held to that nobody's message began: the memory of its job or card, and what that
//! takes away.

use insula_config::job::{Job, JobApprovals, JobScope};
use insula_domain::boundary::BudgetLimits;
use insula_domain::{
    AccountId, Address, AgentId, BoardName, CardId, ChatId, ChatType, ContextId, Narrowing,
    Platform, Scope, Selector, SessionKey, ToolNarrowing,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a turn of a job is held to, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTurn {
    pub name: Box<str>,
    pub scope: JobScope,
    /// What the job takes away from the agent.
    pub less: Arc<Narrowing>,
    pub approvals: JobApprovals,
    /// The card it is about, where a board began it.
    pub card: Option<CardClaim>,
    /// Its own memory.
    own: Scope,
}

/// A card in the hands of whoever works on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardClaim {
    pub board: BoardName,
    pub card: CardId,
    /// By which claim: a card that was given to another since has a higher one.
    pub run: i64,
}

impl CardClaim {
    fn account(&self) -> Option<AccountId> {
        AccountId::new(self.board.as_str()).ok()
    }

    fn chat(&self) -> Option<ChatId> {
        ChatId::new(self.card.to_string()).ok()
    }

    fn own_scope(&self) -> Option<Scope> {
        let (platform, account, chat) = (Platform::BOARD, self.account()?, self.chat()?);
        Some(Scope::Context(ContextId::Chat { platform, account, chat }))
    }

    /// The conversation of an agent about the card: one for all who come back to it.
    pub fn session(&self, agent: &AgentId) -> Option<SessionKey> {
        Some(SessionKey {
            agent: agent.clone(),
            platform: Platform::BOARD,
            account: self.account()?,
            kind: ChatType::Dm,
            chat: self.chat()?,
            topic: None,
            user: None,
        })
    }

    /// The place its turns are at.
    pub fn place(&self) -> Option<Address> {
        Some(Address {
            platform: Platform::BOARD,
            account: self.account()?,
            chat: self.chat()?,
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: None,
            roles: Vec::new(),
        })
    }
}

/// What jobs are the account of: they have no other.
fn account() -> Option<AccountId> {
    AccountId::new("job").ok()
}

fn own_scope(name: &str) -> Option<Scope> {
    let chat = ChatId::new(name).ok()?;
    Some(Scope::Context(ContextId::Chat { platform: Platform::CRON, account: account()?, chat }))
}

impl JobTurn {
    /// `None` where its name is none that a memory could have.
    pub fn of(job: &Job) -> Option<Self> {
        Some(Self {
            own: own_scope(&job.name)?,
            name: job.name.clone(),
            scope: job.scope.clone(),
            less: job.less.clone(),
            approvals: job.approvals,
            card: None,
        })
    }

    /// What a turn about a card is held to.
    pub fn of_card(claim: CardClaim, less: Narrowing) -> Option<Self> {
        Some(Self {
            own: claim.own_scope()?,
            name: format!("{}/{}", claim.board, claim.card).into(),
            scope: JobScope::Own,
            less: Arc::new(less),
            approvals: JobApprovals::Ask,
            card: Some(claim),
        })
    }

    /// The memory of the job itself.
    pub(crate) fn own_scope(&self) -> Scope {
        self.own.clone()
    }

    /// The memory it has; `None` where that is what its place has.
    pub fn scope(&self) -> Option<Scope> {
        match &self.scope {
            JobScope::Own => Some(self.own_scope()),
            JobScope::Chat => None,
            JobScope::Named(scope) => Some(scope.clone()),
        }
    }

    /// The conversation of a job: one for all its runs.
    pub fn session(agent: &AgentId, name: &str) -> Option<SessionKey> {
        Some(SessionKey {
            agent: agent.clone(),
            platform: Platform::CRON,
            account: account()?,
            kind: ChatType::Dm,
            chat: ChatId::new(name).ok()?,
            topic: None,
            user: None,
        })
    }
}

/// The form in the journal: a turn that a crash cut off goes on under the same bounds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptJob {
    name: String,
    scope: String,
    by: String,
    only: Option<Vec<String>>,
    without: Vec<String>,
    usd_micros: Option<u64>,
    tokens: Option<u64>,
    turns: Option<u32>,
    model: Option<String>,
    denies: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    card: Option<KeptClaim>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptClaim {
    board: String,
    card: i64,
    run: i64,
}

impl KeptClaim {
    fn of(claim: &CardClaim) -> Self {
        let CardClaim { board, card, run } = claim;
        Self { board: board.to_string(), card: card.0, run: *run }
    }

    fn restored(self) -> Option<CardClaim> {
        let board = BoardName::new(&self.board).ok()?;
        Some(CardClaim { board, card: CardId(self.card), run: self.run })
    }
}

impl KeptJob {
    pub(super) fn of(job: &JobTurn) -> Self {
        let texts = |of: &[Selector]| of.iter().map(ToString::to_string).collect();
        let tools = job.less.tools.as_ref();
        let BudgetLimits { usd_micros_per_day, tokens_per_day, turns_per_minute } = job.less.budget;
        Self {
            name: job.name.to_string(),
            scope: job.scope.to_string(),
            by: job.less.name.to_string(),
            only: tools.and_then(|tools| tools.only.as_deref()).map(texts),
            without: tools.map(|tools| texts(&tools.without)).unwrap_or_default(),
            usd_micros: usd_micros_per_day,
            tokens: tokens_per_day,
            turns: turns_per_minute,
            model: job.less.model.as_deref().map(Into::into),
            denies: job.approvals == JobApprovals::Deny,
            card: job.card.as_ref().map(KeptClaim::of),
        }
    }

    pub(super) fn restored(self) -> Option<JobTurn> {
        let read = |texts: Vec<String>| -> Option<Vec<Selector>> {
            texts.iter().map(|text| Selector::parse(text).ok()).collect()
        };
        let only = match self.only {
            Some(only) => Some(read(only)?),
            None => None,
        };
        let tools = ToolNarrowing {
            only,
            without: read(self.without)?,
            without_effects: insula_config::job::WITHOUT_EFFECTS.to_vec(),
            ..ToolNarrowing::by(&*self.by)
        };
        let budget = BudgetLimits {
            usd_micros_per_day: self.usd_micros,
            tokens_per_day: self.tokens,
            turns_per_minute: self.turns,
        };
        let card = match self.card {
            Some(card) => Some(card.restored()?),
            None => None,
        };
        Some(JobTurn {
            own: match &card {
                Some(card) => card.own_scope()?,
                None => own_scope(&self.name)?,
            },
            card,
            name: self.name.into(),
            scope: JobScope::parse(&self.scope)?,
            less: Arc::new(Narrowing {
                tools: Some(tools),
                budget,
                model: self.model.map(Into::into),
                ..Narrowing::by(self.by)
            }),
            approvals: if self.denies { JobApprovals::Deny } else { JobApprovals::Ask },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_domain::Zone;

    #[test]
    fn what_a_turn_is_held_to_comes_back_whole_or_not_at_all() {
        let agent = AgentId::new("a").unwrap();
        for text in [
            r#"{"schedule": "30m", "prompt": "x"}"#,
            r#"{"schedule": "30m", "prompt": "x", "scope": "chat", "tools": ["web_extract"],
                "budget": {"tokens_per_day": 9, "usd_per_day": 0.5}, "approvals": "deny"}"#,
            r#"{"schedule": "30m", "prompt": "x", "scope": "chat:telegram:main:-1",
                "tools": {"deny": ["terminal", "mcp__x__*"]}, "model": "a/b"}"#,
        ] {
            let job = insula_config::job::of_text((&agent, "j"), text, &Zone::utc()).unwrap();
            let turn = JobTurn::of(&job).unwrap();
            let kept = serde_json::to_string(&KeptJob::of(&turn)).unwrap();
            let read: KeptJob = serde_json::from_str(&kept).unwrap();
            assert_eq!(read.restored(), Some(turn.clone()), "{kept}");
            let claim =
                CardClaim { board: BoardName::new("work").unwrap(), card: CardId(7), run: 3 };
            let card = JobTurn::of_card(claim, (*turn.less).clone()).unwrap();
            let card_kept = serde_json::to_string(&KeptJob::of(&card)).unwrap();
            let read: KeptJob = serde_json::from_str(&card_kept).unwrap();
            assert_eq!(read.restored(), Some(card), "{card_kept}");
            let broken = kept.replace("send_message", "no such tool at all");
            let read: KeptJob = serde_json::from_str(&broken).unwrap();
            assert_eq!(read.restored(), None);
        }
    }
}
