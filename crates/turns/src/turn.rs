//! One turn: what it was begun with, and what it has come to.

use crate::admitted::Admitted;
use crate::bills::Bills;
use crate::budget::{BudgetError, BudgetRefusal};
use crate::client::Wishes;
use crate::course::{TurnCourse, TurnFailure};
use crate::live::LiveTurn;
use crate::made::CallsMade;
use crate::memory_block::MemoryBlock;
use crate::pending_step::PendingStep;
use crate::seen::{Seen, parse, person, text_of};
use crate::shop::Shop;
use crate::showings::Showings;
use crate::shown::{ShownHistory, Times, TimesTold};
use crate::subagents::Kin;
use crate::{one_off, prompt, untrusted};
use insula_config::model::ModelRef;
use insula_domain::{
    Actor, FailureCause, Integrity, Label, ScopeName, SessionKey, Source, SourceKind,
};
use insula_models::{SystemBlock, ToolSchema};
use insula_registry::Access;
use insula_registry::context::{AgentContext, Whereabouts};
use insula_registry::tokens::Verb;
use insula_registry::whole::Whole;
use insula_store::{
    About, Message, MessageSeq, NewMessage, NotesWish, SessionId, StoreError, TurnId, Usage,
};
use insula_tools::Files;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything one turn carries.
pub(crate) struct TurnContext {
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) session: SessionId,
    /// The files of this conversation.
    pub(crate) files: Files,
    pub(crate) turn: TurnId,
    pub(crate) principal: Actor,
    pub(crate) scope: ScopeName,
    /// The audiences that what it has seen came from.
    pub(crate) seen: Seen,
    /// The calls that were made in it and by its children.
    pub(crate) made: CallsMade,
    /// The message it answers, while nothing else was said in it; `None` for a turn that goes
    /// on after a crash.
    pub(crate) message: Option<(MessageSeq, NewMessage)>,
    pub(crate) asked: MessageSeq,
    /// The conversation.
    pub(crate) key: SessionKey,
    /// What the scope of its operations depends on.
    pub(crate) from: Whereabouts,
    /// Calls that had begun when a crash came, and in which step: what they did is unknown.
    pub(crate) interrupted: BTreeMap<Box<str>, u32>,
    pub(crate) live: Arc<LiveTurn>,
    /// Whose child it is, if it is one, and what is below it.
    pub(crate) kin: Kin,
    /// As of when it is known that who began it may talk to the agent.
    pub(crate) admitted: Admitted,
    /// What its caller asks of it beside the message. A turn that goes on after a crash has no
    /// caller any more.
    pub(crate) wishes: Wishes,
}

impl TurnContext {
    /// What records of it are about.
    pub(crate) fn about(&self) -> About {
        About::Session(self.session)
    }

    /// What its messages are told the time by.
    pub(crate) fn times(&self) -> Times {
        let is_brought_along = self.key.chat.as_str().starts_with(one_off::PREFIX);
        let told = match is_brought_along && !self.agent.is_child() {
            true => TimesTold::One(self.asked),
            false => TimesTold::Each,
        };
        Times { zones: self.agent.conversations.zones.clone(), told }
    }

    /// What it is told about where the conversation takes place. A child is told by its parent
    /// what it is for, and talks to nobody.
    pub(crate) fn place_block(&self) -> Option<SystemBlock> {
        let name = &self.agent.identity.name;
        (!self.agent.is_child()).then(|| prompt::place_block(name, &self.key))
    }

    /// It sees words of others, unless the operator takes them for their own.
    pub(crate) fn see_words_of(&self, source: Source) {
        let integrity = self.agent.boundary.integrity.untrusted(&Integrity::of(source));
        self.seen.add(&Label::anyone().with(&integrity));
    }

    /// It sees how tools describe themselves, which is the words of their servers until an
    /// operator has looked at them.
    pub(crate) fn see_descriptions(&self, tools: &[ToolSchema]) {
        for server in self.agent.mcp.not_looked_at() {
            let is_of = |tool: &ToolSchema| {
                let source = self.agent.toolbox.find(&tool.name).and_then(|it| it.source(""));
                source.is_some_and(|it| it.name().split('/').next() == Some(server))
            };
            if tools.iter().any(is_of) {
                self.see_words_of(Source::new(SourceKind::Description, server));
            }
        }
    }

    /// It sees messages: whoever could hear them, whose words they were made of, and who said them.
    pub(crate) fn see(&self, access: &Access, messages: &[Message]) {
        self.seen.add_all(messages.iter().map(|message| &*message.label));
        self.see_people(access, messages.iter().map(|message| &message.principal));
        // Versions that noted only that words were foreign did not note whose they were.
        if self.seen.is_own() && untrusted::is_noted(messages) {
            self.seen.add(&Label::anyone().with(&Integrity::many()));
        }
    }
}

impl TurnContext {
    /// It sees words of people, and what was made for them. Those of its sender and of admins are
    /// what it is meant to go by; those of anybody else steer it as well.
    pub(crate) fn see_people<'a>(&self, access: &Access, people: impl Iterator<Item = &'a Actor>) {
        let mut before = None;
        // Most were said by whoever said the one before.
        for who in people.filter(|who| **who != self.principal) {
            if before != Some(who) {
                self.others(access, who).into_iter().for_each(|it| self.see_words_of(it));
            }
            before = Some(who);
        }
    }

    /// Somebody who is no admin of the agent, as whoever reads their words is steered by them.
    fn others(&self, access: &Access, who: &Actor) -> Option<Source> {
        person(who).filter(|_| !access.is_admin(&self.agent, who, Verb::Approve))
    }

    /// The label of what the turn writes or remembers: what it has seen, and the words of its
    /// sender, who is somebody else for whoever reads it later.
    pub(crate) fn label_of_works(&self, access: &Access) -> Label {
        let seen = self.seen.label();
        let Some(sender) = self.others(access, &self.principal) else { return seen };
        seen.with(&self.agent.boundary.integrity.untrusted(&Integrity::of(sender)))
    }

    /// The label of notes on messages. Whoever reads them later need not be who the turn is for,
    /// so the sender's words are somebody's there as well.
    pub(crate) fn label_of_notes(&self, access: &Access, messages: &[Message]) -> Arc<str> {
        let made_of = messages.iter().fold(self.seen.label(), |all, message| {
            let by = self.others(access, &message.principal).map(Integrity::of);
            let all = all.with(parse(&message.label).integrity());
            by.map_or(all.clone(), |by| all.with(&by))
        });
        let untrusted = self.agent.boundary.integrity.untrusted(made_of.integrity());
        text_of(&made_of.audiences_alone().with(&untrusted))
    }
}

/// Why a turn could not go on.
pub(super) enum Broken {
    /// It fails, and a person should read why.
    Said(TurnFailure),
    /// Somebody said stop. What the model had said by then, and what that took.
    Stopped(Option<Box<NewMessage>>, Usage),
    /// A budget leaves no room.
    Over(BudgetRefusal),
    /// The store failed: nothing can be concluded.
    Store(StoreError),
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BudgetError> for Broken {
    fn from(error: BudgetError) -> Self {
        match error {
            BudgetError::Refused(refusal) => Self::Over(refusal),
            BudgetError::Store(error) => Self::Store(error),
            error @ BudgetError::NoPrice { .. } => {
                Self::Said(TurnFailure::new(FailureCause::NoPrice, error.to_string()))
            }
        }
    }
}

/// The skills that were viewed in this turn.
#[derive(Default)]
pub(super) struct InUse {
    pub(super) names: BTreeSet<String>,
    /// Whether the journal was looked through for what stood there before a crash.
    pub(super) is_caught_up: bool,
}

pub(crate) struct Turn<'t> {
    pub(crate) shop: &'t Arc<Whole<Shop>>,
    pub(crate) cx: &'t TurnContext,
    /// Calls that a crash cut off and that were not dealt with yet.
    pub(super) interrupted: BTreeMap<Box<str>, u32>,
    pub(super) refused: BTreeMap<(String, String), usize>,
    /// What each call last gave, and how often in a row.
    pub(super) same: BTreeMap<(String, String), (blake3::Hash, usize)>,
    /// What was mended of its calls, for the records of them.
    pub(super) mends: BTreeMap<Box<str>, Vec<String>>,
    /// What its model calls took so far.
    pub(super) spent: Usage,
    /// What the model sees of the conversation's messages.
    pub(super) shown: ShownHistory,
    /// The skills that were viewed in it.
    pub(super) in_use: InUse,
    /// What it is shown of memory.
    pub(super) block: MemoryBlock,
    /// Which keys paid for its calls of models.
    pub(super) bills: Bills,
    /// How it goes, for whoever looks.
    pub(super) course: TurnCourse,
    /// What its models are shown, for whoever looks.
    pub(super) showings: Showings,
    /// An answer that is journalled with what comes of it.
    pub(super) pending: PendingStep,
    /// How often its reply was sent back.
    pub(super) objections: usize,
    /// Whether it was told that its caller wants a call and no words.
    pub(super) was_told_to_call: bool,
    /// Whether its model may be given results of several calls that were made at once.
    pub(super) takes_calls_at_once: bool,
    /// The model whose answer was the last that came to its end.
    pub(super) answered_by: String,
    /// The generation that holds now, where it is another than its own.
    pub(super) now: Option<Arc<AgentContext>>,
    /// The call that goes on from where it asked, while it is made: it was judged when it began.
    pub(super) goes_on: Option<Box<str>>,
    /// The model that is asked first because somebody chose it.
    pub(super) chosen: Option<ModelRef>,
    /// Whether somebody asked that the older part of the conversation becomes notes.
    pub(super) notes: NotesWish,
}

impl<'t> Turn<'t> {
    pub(super) fn new(shop: &'t Arc<Whole<Shop>>, cx: &'t TurnContext) -> Self {
        let shown = ShownHistory::default();
        Self {
            shop,
            cx,
            interrupted: cx.interrupted.clone(),
            refused: BTreeMap::new(),
            same: BTreeMap::new(),
            mends: BTreeMap::new(),
            spent: Usage::default(),
            shown,
            in_use: InUse::default(),
            block: MemoryBlock::default(),
            bills: Bills::default(),
            course: TurnCourse::default(),
            showings: Showings::default(),
            pending: PendingStep::default(),
            objections: 0,
            was_told_to_call: false,
            takes_calls_at_once: false,
            answered_by: String::new(),
            now: None,
            goes_on: None,
            chosen: None,
            notes: NotesWish::Settled,
        }
    }
}
