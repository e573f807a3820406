//! One turn: prompt, model, gate, tool, again, until there is a reply.
//!
//! Each model answer and each tool call is journalled before the next one, so a turn that a
//! crash cut off goes on from its last completed step. A glance and the answer that asked for it
//! are one step (`held.rs`).

use crate::access::Who;
use crate::budget::{BudgetError, Payer, Refusal};
use crate::context::AgentContext;
use crate::memory::Whereabouts;
use crate::subagents::Kin;
use crate::turn::engine::Shop;
use crate::turn::event::{TurnEnd, TurnEvent};
use crate::turn::held::Held;
use crate::turn::history::Window;
use crate::turn::live::LiveTurn;
use crate::turn::made::CallsMade;
use crate::turn::redaction::Redaction;
use crate::turn::remember::Block;
use crate::turn::seen::Seen;
use crate::turn::shown::Shown;
use crate::turn::skills::InUse;
use crate::turn::{history, prompt};
use insula_domain::{SessionKey, Switch};
use insula_models::{Answer, Chain, Fault, Gathering, Timeouts, ToolSchema};
use insula_store::{
    AgentCommand, AuditEntry, Committed, Conclude, Message, MessageSeq, NewMessage, NewStep,
    Outcome, Part, Role, SessionId, StoreError, TurnId, TurnOutcome, Usage,
};
use insula_tools::Files;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Model calls in one turn.
pub const ITERATIONS_MAX: usize = 50;

/// Everything one turn carries.
pub(crate) struct TurnContext {
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) session: SessionId,
    /// The files of this conversation.
    pub(crate) files: Files,
    pub(crate) turn: TurnId,
    pub(crate) principal: Arc<str>,
    pub(crate) scope: Arc<str>,
    /// The audiences that what it has seen came from.
    pub(crate) seen: Seen,
    /// The calls that were made in it and by its children.
    pub(crate) made: CallsMade,
    /// The message it answers, while nothing else was said in it; `None` for a turn that goes
    /// on after a crash.
    pub(crate) message: Option<(MessageSeq, NewMessage)>,
    /// Where that message is.
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
}

impl TurnContext {
    /// Who began it, as rights are judged.
    pub(crate) fn who(&self) -> Who<'_> {
        Who { principal: &self.principal, roles: &self.from.address.roles }
    }
}

/// Why a turn could not go on.
pub(super) enum Broken {
    /// Something a person should read.
    Said(String),
    /// Somebody said stop. What the model had said by then, and what that took.
    Stopped(Option<Box<NewMessage>>, Usage),
    /// A budget leaves no room.
    Over(Refusal),
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
            error @ BudgetError::NoPrice { .. } => Self::Said(error.to_string()),
        }
    }
}

/// Runs a turn to its end, whatever happens, and says how it ended.
pub(crate) async fn run(shop: &Arc<Shop>, cx: &TurnContext) -> TurnEnd {
    let mut turn = Turn::new(shop, cx);
    match turn.go().await {
        Ok(end) => end,
        Err(Broken::Said(error)) => turn.fail(error).await,
        Err(Broken::Stopped(said, usage)) => turn.stop(said, usage).await,
        Err(Broken::Over(refusal)) => match turn.fail(refusal.to_string()).await {
            TurnEnd::Failed { .. } => TurnEnd::OverBudget(refusal),
            other => other,
        },
        Err(Broken::Store(error)) => turn.unwritten(&error),
    }
}

/// Ends a turn that panicked: it failed, and nothing else did.
pub(crate) async fn fail(shop: &Arc<Shop>, cx: &TurnContext, error: String) -> TurnEnd {
    Turn::new(shop, cx).fail(error).await
}

pub(crate) struct Turn<'t> {
    pub(crate) shop: &'t Arc<Shop>,
    pub(crate) cx: &'t TurnContext,
    /// Calls that a crash cut off and that were not dealt with yet.
    pub(super) interrupted: BTreeMap<Box<str>, u32>,
    pub(super) refused: BTreeMap<(String, String), usize>,
    /// What each call last gave, and how often in a row.
    pub(super) same: BTreeMap<(String, String), (blake3::Hash, usize)>,
    /// What its model calls took so far.
    pub(super) spent: Usage,
    /// What the model sees of the conversation's messages.
    pub(super) shown: Shown,
    /// The skills that were viewed in it.
    pub(super) in_use: InUse,
    /// What it is shown of memory.
    pub(super) block: Block,
    /// An answer that is journalled with what comes of it.
    pub(super) held: Held,
    /// How often its reply was sent back.
    pub(super) objections: usize,
}

impl<'t> Turn<'t> {
    fn new(shop: &'t Arc<Shop>, cx: &'t TurnContext) -> Self {
        let shown = Shown::default();
        Self {
            shop,
            cx,
            interrupted: cx.interrupted.clone(),
            refused: BTreeMap::new(),
            same: BTreeMap::new(),
            spent: Usage::default(),
            shown,
            in_use: InUse::default(),
            block: Block::default(),
            held: Held::default(),
            objections: 0,
        }
    }
}

impl Turn<'_> {
    async fn go(&mut self) -> Result<TurnEnd, Broken> {
        let cx = self.cx;
        self.go_on()?;
        let chain = self.shop.chain(&cx.agent).map_err(Broken::Said)?;
        let tools = self.shop.tools(&cx.agent);
        let limit = self.shop.history_tokens(&cx.agent, &chain, &tools);
        let mut history = self.remember().await?;
        cx.seen.add_all(history.iter().map(|message| &*message.label));
        self.recall().await?;
        if let Some(end) = self.catch_up(&mut history).await? {
            return Ok(end);
        }
        self.before_turn(&mut history).await?;
        let mut may_compress = true;
        let iterations_max = cx.kin.iterations_max();
        for step in 0..iterations_max {
            if let Some(why) = cx.kin.over(self.spent) {
                return Err(Broken::Said(why));
            }
            self.hear(&mut history).await;
            if may_compress && history::is_full(&history, limit) {
                may_compress = self.compress(&chain, &mut history, limit).await?;
                if may_compress {
                    self.recall_anew().await?;
                }
            }
            // Every call may have found more of them.
            let tools = self.shop.tools_in(&cx.agent, &history);
            let answered = self.ask(&chain, &tools, &history, limit, step).await;
            let (answer, usage) = match answered {
                // The provider counts otherwise than we do: once, with half of it.
                Err(Asked::TooLong(_)) if may_compress && step + 1 < iterations_max => {
                    may_compress = false;
                    if self.compress(&chain, &mut history, limit / 2).await? {
                        self.recall_anew().await?;
                    }
                    let again = self.ask(&chain, &tools, &history, limit / 2, step).await;
                    again.map_err(Broken::from)?
                }
                other => other.map_err(Broken::from)?,
            };
            self.spent += usage;
            let message = self.message(Role::Assistant, prompt::answer_parts(&answer.message));
            if message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. })) {
                if let Some(end) = self.answered(message, usage, &mut history).await? {
                    return Ok(end);
                }
            } else if let Some(objection) = self.unverified(&answer, usage, &history).await? {
                let answered = NewStep::Answered { message: message.clone(), usage };
                let seq = self.journal(answered, None).await?;
                history.push(self.placed(&message, seq));
                self.object(&objection, &mut history).await?;
            } else if self.close().await {
                let text = self.transformed(answer.text()).await?;
                let message = self.replied(message, &answer, &text);
                let concluded = self.reply(vec![message.clone()], usage).await?;
                history.push(self.placed(&message, concluded));
                self.shown.keep(&history);
                // A child is asked once.
                if cx.kin.line.is_none() {
                    let (shown, block) =
                        (std::mem::take(&mut self.shown), std::mem::take(&mut self.block));
                    let window = Window { history, shown, block };
                    self.shop.shelf.put(&cx.agent, cx.session, window);
                }
                return Ok(TurnEnd::Replied { text, usage: self.spent });
            } else {
                // Said before it knew all that was asked: void, and paid for.
                let at = self.shop.house.world.clock.now();
                self.commit(vec![self.step(NewStep::Spent { usage, at })]).await?;
                cx.live.voice.say(TurnEvent::Void);
            }
        }
        Err(Broken::Said(format!("the turn did not end after {iterations_max} model calls")))
    }

    /// Nothing, unless somebody said stop.
    pub(super) fn go_on(&self) -> Result<(), Broken> {
        if self.cx.live.cancel.is_cancelled() {
            return Err(Broken::Stopped(None, Usage::default()));
        }
        Ok(())
    }

    /// Lets nothing more join; `false` when something did that the model has not seen.
    async fn close(&self) -> bool {
        let mut inbox = self.cx.live.inbox.lock().await;
        inbox.is_closed = inbox.messages.is_empty();
        inbox.is_closed
    }

    /// One model call.
    async fn ask(
        &mut self,
        chain: &Chain,
        tools: &Arc<[ToolSchema]>,
        history: &[Message],
        limit: usize,
        step: usize,
    ) -> Result<(Answer, Usage), Asked> {
        let (agent, redaction) = (&self.cx.agent, self.redaction());
        self.shown.under(&redaction);
        let (house, shown) = (&self.shop.house_text, &mut self.shown);
        let part = history::fitting(history, limit);
        let mut request = prompt::request(agent, house, tools.clone(), part, shown);
        request.system.extend(self.block.shown());
        redaction.system(&mut request);
        self.listen(chain, &request, &step.to_string(), true).await
    }

    /// Asks, and passes on what the model says while it says it.
    pub(super) async fn listen(
        &self,
        chain: &Chain,
        request: &insula_models::Request,
        purpose: &str,
        is_reply: bool,
    ) -> Result<(Answer, Usage), Asked> {
        let (cx, world) = (self.cx, &self.shop.house.world);
        let turn = cx.turn.to_string();
        let mut random = world.random.stream(&["turn", cx.agent.id.as_str(), &turn, purpose]);
        let (cancel, limits) = (&cx.live.cancel, Timeouts::default());
        let payer = Payer { agent: &cx.agent, principal: &cx.principal, scope: &cx.scope };
        let reserved = self.shop.budgets.reserve(payer, chain, request).await;
        let reserved = reserved.map_err(Asked::OverBudget)?;
        self.before_request(purpose).await.map_err(Asked::Failed)?;
        let asked = chain.stream(request, &limits, cancel, &*world.clock, &mut random);
        let asked = asked.await;
        if let Err(error) = &asked {
            self.after_request(purpose, Err(&error.to_string())).await;
        }
        let answering = match asked {
            Ok(answering) => answering,
            Err(_) if cancel.is_cancelled() => return Err(Asked::Stopped(None)),
            Err(error) if matches!(error.error.fault, Fault::TooLong { .. }) => {
                return Err(Asked::TooLong(error.to_string()));
            }
            Err(error) => return Err(Asked::Failed(error.to_string())),
        };
        let (link, mut stream) = (answering.link, answering.stream);
        let mut gathering = Gathering::default();
        // What a hook may still change is not for anybody's eyes.
        let is_open = is_reply && !self.holds_back();
        let mut deltas = is_open.then(|| self.redaction().deltas());
        let tell = |heard| cx.live.voice.say(heard);
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(_) if cancel.is_cancelled() => {
                    let answer = gathering.finish();
                    let used = reserved.settle(&link, &answer);
                    let said = if is_open { self.partial(&answer) } else { None };
                    let partial = is_reply.then_some((said, used));
                    return Err(Asked::Stopped(partial));
                }
                Err(error) => return Err(Asked::Failed(error.to_string())),
            };
            if let Some(deltas) = &mut deltas {
                deltas.hear(&event, tell);
            }
            gathering.add(event);
        }
        if let Some(deltas) = deltas {
            deltas.finish(tell);
        }
        let answer = gathering.finish();
        let used = reserved.settle(&link, &answer);
        self.after_request(purpose, Ok(&answer)).await;
        Ok((answer, used))
    }

    /// What the model had said when it was stopped: its words, and no calls.
    fn partial(&self, answer: &Answer) -> Option<Box<NewMessage>> {
        let text = self.redaction().cut_off(answer.text());
        let is_empty = text.is_empty();
        let message = self.message(Role::Assistant, vec![Part::Text(text)]);
        (!is_empty).then(|| Box::new(message))
    }

    /// Ends the turn with a reply; the place of the first of its messages.
    pub(super) async fn reply(
        &self,
        messages: Vec<NewMessage>,
        usage: Usage,
    ) -> Result<MessageSeq, Broken> {
        self.conclude(messages, usage, TurnOutcome::Replied).await
    }

    async fn fail(&self, error: String) -> TurnEnd {
        self.cx.live.inbox.lock().await.is_closed = true;
        let outcome = TurnOutcome::Failed { error: self.redaction().kept(error.clone()) };
        match self.conclude(Vec::new(), Usage::default(), outcome).await {
            Err(Broken::Store(error)) => self.unwritten(&error),
            _ => TurnEnd::Failed { error },
        }
    }

    async fn stop(&self, said: Option<Box<NewMessage>>, usage: Usage) -> TurnEnd {
        self.cx.live.inbox.lock().await.is_closed = true;
        match self
            .conclude(said.into_iter().map(|said| *said).collect(), usage, TurnOutcome::Stopped)
            .await
        {
            // Forgetting a session stops its turns in the store.
            Err(Broken::Store(StoreError::TurnOver { .. })) | Ok(_) => TurnEnd::Stopped,
            Err(Broken::Store(error)) => self.unwritten(&error),
            Err(_) => TurnEnd::Stopped,
        }
    }

    /// The end of a turn that could not be written down.
    fn unwritten(&self, error: &StoreError) -> TurnEnd {
        let (agent, turn) = (&self.cx.agent.id, self.cx.turn);
        if matches!(error, StoreError::TurnOver { .. }) {
            return TurnEnd::Stopped;
        }
        tracing::error!(%agent, %turn, %error, "a turn could not be journalled");
        TurnEnd::Failed { error: error.to_string() }
    }

    /// What keeps secrets out of it, as they are now.
    pub(super) fn redaction(&self) -> Redaction {
        self.shop.redaction(&self.cx.agent)
    }

    async fn conclude(
        &self,
        mut messages: Vec<NewMessage>,
        usage: Usage,
        outcome: TurnOutcome,
    ) -> Result<MessageSeq, Broken> {
        let at = self.shop.house.world.clock.now();
        let (list, mut batch) = self.farewell(&outcome);
        messages.extend(list);
        let conclude = Conclude { turn: self.cx.turn, messages, usage, outcome, at };
        batch.push(AgentCommand::Conclude(Box::new(conclude)));
        let done = self.commit(batch).await?;
        Ok(place(&done))
    }

    pub(super) async fn commit(&self, mut batch: Vec<AgentCommand>) -> Result<Committed, Broken> {
        batch.extend(self.block.due());
        let (store, fence) = (&self.cx.agent.store, &self.shop.house.fence);
        let Some(held) = self.held.take() else { return Ok(store.commit(batch, fence).await?) };
        batch.insert(0, held);
        let mut done = store.commit(batch, fence).await?;
        self.held.committed(&mut done);
        Ok(done)
    }

    /// Journals a step, with its audit record; the place of the message it brought.
    pub(super) async fn journal(
        &self,
        step: NewStep,
        audit: Option<AgentCommand>,
    ) -> Result<MessageSeq, Broken> {
        let batch = [self.step(step)].into_iter().chain(audit).collect();
        Ok(place(&self.commit(batch).await?))
    }

    pub(super) fn step(&self, step: NewStep) -> AgentCommand {
        AgentCommand::Step { turn: self.cx.turn, step: Box::new(step) }
    }

    pub(crate) fn message(&self, role: Role, parts: Vec<Part>) -> NewMessage {
        NewMessage {
            role,
            parts: self.redaction().parts(parts),
            principal: self.cx.principal.clone(),
            scope: self.cx.scope.clone(),
            label: self.cx.seen.text(),
            generation: self.cx.agent.generation.0,
            at: self.shop.house.world.clock.now(),
        }
    }

    /// A new message as it stands in the history.
    pub(super) fn placed(&self, new: &NewMessage, seq: MessageSeq) -> Message {
        Message {
            session: self.cx.session,
            seq,
            turn: Some(self.cx.turn),
            role: new.role,
            parts: new.parts.clone(),
            principal: new.principal.clone(),
            scope: new.scope.clone(),
            label: new.label.clone(),
            generation: new.generation,
            at: new.at,
        }
    }

    /// The record of one call: what was called and what became of it, never its content.
    pub(super) fn audit(&self, tool: &str, verdict: &str, rule: Option<&str>) -> AgentCommand {
        self.audit_about(tool, verdict, rule, None)
    }

    /// The same, with what the call was about where a record may name it.
    pub(super) fn audit_about(
        &self,
        tool: &str,
        verdict: &str,
        rule: Option<&str>,
        subject: Option<String>,
    ) -> AgentCommand {
        let mut content = json!({
            "tool": tool,
            "verdict": verdict,
            "rule": rule,
            "about": subject.map(|it| self.redaction().kept(it)),
            "turn": self.cx.turn.0,
            "session": self.cx.session.0,
        });
        self.with_lineage(&mut content);
        // Whoever reads the record later has to know what held when it was written.
        let programs = &self.cx.agent.programs;
        if programs.sandbox == Switch::Off {
            content["sandbox"] = json!("off");
        } else if !programs.optional.is_empty() {
            content["sandbox"] = json!({ "optional": programs.optional });
        }
        let content = self.shop.house.secrets.known().redact_record_of(&self.cx.agent.id, content);
        AgentCommand::Audit(AuditEntry {
            at: self.shop.house.world.clock.now(),
            actor: (*self.cx.principal).into(),
            kind: "tool.call".into(),
            generation: self.cx.agent.generation.0,
            content: content.to_string(),
        })
    }
}

/// Why a model call brought no answer.
pub(super) enum Asked {
    /// Somebody said stop. What it had said by then, and what that took.
    Stopped(Option<(Option<Box<NewMessage>>, Usage)>),
    /// A budget does not allow it.
    OverBudget(BudgetError),
    /// The conversation does not fit.
    TooLong(String),
    /// Anything else, for people.
    Failed(String),
}

impl From<Asked> for Broken {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Stopped(partial) => {
                let (said, usage) = partial.unwrap_or_default();
                Self::Stopped(said, usage)
            }
            Asked::OverBudget(error) => error.into(),
            Asked::TooLong(error) | Asked::Failed(error) => Self::Said(error),
        }
    }
}

/// For the log, and so without a provider's words: some repeat what was said.
impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped(_) => f.write_str("it was stopped"),
            Self::OverBudget(error) => error.fmt(f),
            Self::TooLong(_) => f.write_str("it does not fit the model"),
            Self::Failed(_) => f.write_str("the model gave no answer"),
        }
    }
}

/// The place of the first message that a commit brought.
pub(super) fn place(done: &Committed) -> MessageSeq {
    let first = done.outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Stepped { message, .. } => *message,
        Outcome::Concluded { first, .. } => *first,
        Outcome::Appended { first, .. } => Some(*first),
        _ => None,
    });
    first.unwrap_or_default()
}

/// The calls an answer asks for: id, tool, arguments.
pub(super) fn calls(parts: &[Part]) -> Vec<(String, String, String)> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, arguments } => {
            Some((id.to_string(), name.to_string(), arguments.clone()))
        }
        _ => None,
    });
    calls.collect()
}
