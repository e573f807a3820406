//! One turn: prompt, model, gate, tool, again, until there is a reply.
//!
//! Each model answer and each tool call is journalled before the next one, so a turn that a
//! crash cut off goes on from its last completed step. A glance and the answer that asked for it
//! are one step (`pending_step.rs`).

use crate::budget::BudgetRefusal;
use crate::course::TurnFailure;
use crate::history::Window;
use crate::less::Room;
use crate::pending_step::place;
use crate::redaction::Redaction;
use crate::shop::Shop;
use crate::turn::{Broken, Turn, TurnContext};
use crate::{ask, history, prompt, restarted};
use insula_domain::{AgentId, FailureCause, Switch};
use insula_models::Chain;
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_registry::whole::Whole;
use insula_store::{
    AgentCommand, Committed, Conclude, Cut, Message, MessageSeq, NewMessage, NewStep, Part, Role,
    StoreError, TurnId, TurnOutcome, Usage,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs a turn to its end, whatever happens, and says how it ended.
pub(crate) async fn run(shop: &Arc<Whole<Shop>>, cx: &TurnContext) -> TurnEnd {
    let mut turn = Turn::new(shop, cx);
    match turn.go().await {
        Ok(end) => end,
        Err(Broken::Said(failure)) => turn.fail(failure).await,
        Err(Broken::Stopped(said, usage)) => match cx.live.given_up() {
            Some(why) => turn.fail_with(given_up(why), usage).await,
            None => turn.stop(said, usage).await,
        },
        Err(Broken::Over(refusal)) => match turn.fail(over(&refusal)).await {
            TurnEnd::Failed { .. } => TurnEnd::OverBudget(refusal),
            other => other,
        },
        // It would be too long again however often the turn went on.
        Err(Broken::Store(error @ StoreError::TooLong { .. })) => {
            turn.fail(TurnFailure::new(FailureCause::Store, error.to_string())).await
        }
        Err(Broken::Store(error)) => turn.unwritten(&error),
    }
}

/// Counts and logs a turn that failed since its agent's database can't be read or written: nothing
/// of it can be noted there.
pub(crate) fn unstored(shop: &Shop, agent: &AgentId, turn: Option<TurnId>, error: &StoreError) {
    let cause = FailureCause::Store;
    shop.failures.count(cause);
    let (cause, turn) = (cause.as_str(), turn.map(|turn| turn.to_string()));
    tracing::warn!(%agent, turn, cause, %error, "a turn failed, and could not be journalled; `insula doctor` says more");
}

/// Ends a turn that panicked: it failed, and nothing else did.
pub(crate) async fn fail(
    shop: &Arc<Whole<Shop>>,
    cx: &TurnContext,
    failure: TurnFailure,
) -> TurnEnd {
    Turn::new(shop, cx).fail(failure).await
}

/// Why a turn fails that was given up from outside.
fn given_up(why: String) -> TurnFailure {
    let cause = match restarted::was_restarted(&why) {
        true => FailureCause::Restarted,
        false => FailureCause::TakenAway,
    };
    TurnFailure::new(cause, why)
}

fn over(refusal: &BudgetRefusal) -> TurnFailure {
    TurnFailure::new(FailureCause::OverBudget, refusal.to_string())
}

impl Turn<'_> {
    async fn go(&mut self) -> Result<TurnEnd, Broken> {
        let cx = self.cx;
        self.note_begin();
        self.go_on()?;
        self.look_up_choices().await?;
        let mut chain = self.chain().await?;
        let tools = cx.wishes.beside(self.shop.tools(&cx.agent));
        let limit = self.shop.history_tokens(&cx.agent, &chain, &tools).await;
        let mut room = Room { limit, may_compress: true };
        let mut history = self.remember().await?;
        cx.see(&self.shop.access, &history);
        self.recall().await?;
        if let Some(end) = self.catch_up(&mut history).await? {
            return Ok(end);
        }
        if let Some(end) = self.go_on_asked(&mut history).await? {
            return Ok(end);
        }
        if let Some(end) = self.choose_prompt(&mut history).await? {
            return Ok(end);
        }
        self.before_turn(&mut history).await?;
        if self.make_notes_asked(&chain, &mut history).await? {
            self.recall_anew().await?;
        }
        let iterations_max = cx.kin.iterations_max();
        for step in 0..iterations_max {
            if let Some(why) = cx.kin.over(self.spent) {
                return Err(Broken::Said(TurnFailure::new(FailureCause::OverBudget, why)));
            }
            self.hear(&mut history).await;
            chain = self.chain().await?;
            if room.may_compress && history::is_full(&history, room.limit) {
                room.may_compress = self.compress(&chain, &mut history, room.limit).await?;
                if room.may_compress {
                    self.recall_anew().await?;
                }
            }
            // Every call may have found more of them.
            let own = self.shop.tools_in(&cx.agent, &history);
            cx.see_descriptions(&own);
            let tools = cx.wishes.beside(own.clone());
            let asked = self.ask_within((&chain, &tools), &mut history, &mut room, step);
            let (answer, usage) = asked.await?;
            self.spent += usage;
            let parts = self.mended(prompt::answer_parts(&answer.message), &own);
            let message = self.message(Role::Assistant, parts);
            let apart = cx.wishes.apart(message.parts, &own);
            let message = NewMessage { parts: apart.own, ..message };
            if !apart.client.is_empty() {
                let mut usage = usage;
                if !message.parts.is_empty() {
                    let usage = std::mem::take(&mut usage);
                    if let Some(end) = self.answered(message.clone(), usage, &mut history).await? {
                        return Ok(end);
                    }
                }
                let theirs = NewMessage { parts: apart.client, ..message };
                if let Some(end) = self.hand_over(theirs, (&answer, usage), &mut history).await? {
                    return Ok(end);
                }
            } else if message.parts.iter().any(|part| matches!(part, Part::ToolCall { .. })) {
                if let Some(end) = self.answered(message, usage, &mut history).await? {
                    return Ok(end);
                }
            } else if let Some(objection) = self.objection(&answer, usage, &history).await? {
                let answered = NewStep::Answered { message: message.clone(), usage };
                let seq = self.journal(answered, None).await?;
                history.push(self.placed(&message, seq));
                self.object(&objection, &mut history).await?;
            } else if self.close().await {
                let text = self.transformed(answer.text()).await?;
                let mut message = self.replied(message, &answer, &text);
                message.parts.extend(self.aloud(&text, &history).await);
                let cut = ask::cut(&answer.stop);
                let concluded = self.reply(vec![message.clone()], usage, cut).await?;
                history.push(self.placed(&message, concluded));
                self.keep_window(history);
                return Ok(TurnEnd::Replied { text, usage: self.spent, cut, calls: Vec::new() });
            } else {
                // Said before it knew all that was asked: void, and paid for.
                self.spent_in_vain(usage).await?;
                cx.live.voice.say(TurnEvent::Void);
            }
        }
        let why = format!("the turn did not end after {iterations_max} model calls");
        Err(Broken::Said(TurnFailure::new(FailureCause::NoEnd, why)))
    }

    /// Notes that it begins, and how long its message waited for that.
    fn note_begin(&self) {
        let at = self.shop.world.clock.now();
        let said = self.cx.message.as_ref().map(|(_, message)| message.at);
        let waited = said.map(|said| at.as_millis().saturating_sub(said.as_millis()).max(0));
        let generation = self.cx.agent.generation.0;
        self.course
            .note(at, json!({ "kind": "began", "waited_ms": waited, "generation": generation }));
    }

    /// Notes that the call that is made has passed a stage of the gate.
    pub(super) fn passed(&self, stage: &'static str) {
        self.course.passed(stage, self.shop.world.clock.elapsed());
    }

    /// Keeps what it has of the conversation for the next turn.
    pub(super) fn keep_window(&mut self, history: Vec<Message>) {
        self.shown.keep(&history);
        // A child is asked once.
        if self.cx.kin.origin.is_none() {
            let (shown, block) = (std::mem::take(&mut self.shown), std::mem::take(&mut self.block));
            let last = self.showings.take_last();
            let window = Window { history, shown, block, last };
            self.shop.windows.put(&self.cx.agent, self.cx.session, window);
        }
    }

    /// The models it may ask by now.
    pub(super) async fn chain(&mut self) -> Result<Chain, Broken> {
        self.still().await?;
        let chosen = self.chosen.as_ref();
        let chain = self.shop.chain_from(chosen, &self.cx.agent, self.now.as_deref());
        chain.map_err(|why| Broken::Said(TurnFailure::new(FailureCause::Settings, why)))
    }

    /// Nothing, unless somebody said stop.
    pub(super) fn go_on(&self) -> Result<(), Broken> {
        if self.cx.live.cancel.is_cancelled() {
            return Err(Broken::Stopped(None, Usage::default()));
        }
        Ok(())
    }

    /// Lets nothing more join; `false` when something did that the model has not seen.
    pub(super) async fn close(&self) -> bool {
        let mut inbox = self.cx.live.inbox.lock().await;
        inbox.is_closed = inbox.messages.is_empty();
        inbox.is_closed
    }

    /// Ends the turn with a reply; the place of the first of its messages.
    pub(super) async fn reply(
        &self,
        messages: Vec<NewMessage>,
        usage: Usage,
        cut: Option<Cut>,
    ) -> Result<MessageSeq, Broken> {
        self.conclude(messages, usage, TurnOutcome::Replied { cut }).await
    }

    async fn fail(&self, failure: TurnFailure) -> TurnEnd {
        self.fail_with(failure, Usage::default()).await
    }

    async fn fail_with(&self, failure: TurnFailure, usage: Usage) -> TurnEnd {
        self.cx.live.inbox.lock().await.is_closed = true;
        let record = self.failed(&failure);
        let error = failure.error;
        let outcome = TurnOutcome::Failed { error: self.redaction().kept(error.clone()) };
        match self.conclude_after(vec![record], Vec::new(), usage, outcome).await {
            // Of a deleted agent nothing is kept; whoever waits is told all the same.
            Err(Broken::Store(StoreError::Retired { .. })) => TurnEnd::Failed { error },
            Err(Broken::Store(StoreError::TurnOver { .. })) => TurnEnd::Stopped,
            Err(Broken::Store(unwritten)) => {
                // It was counted by what made it fail.
                let (agent, turn) = (&self.cx.agent.id, self.cx.turn);
                tracing::error!(%agent, %turn, error = %unwritten, "a turn could not be journalled");
                TurnEnd::Failed { error: unwritten.to_string() }
            }
            _ => TurnEnd::Failed { error },
        }
    }

    /// Counts and logs a failure, and notes it beside the turn; its record for the audit. What a
    /// provider said is in none of them.
    fn failed(&self, failure: &TurnFailure) -> AgentCommand {
        let (cx, at) = (self.cx, self.shop.world.clock.now());
        self.shop.failures.count(failure.cause);
        let cause = failure.cause.as_str();
        let last = failure.asked.last();
        let model = last.map(|it| it.model.as_str()).unwrap_or_default();
        let status = last.and_then(|it| it.status).unwrap_or_default();
        let (agent, turn, tries) = (&cx.agent.id, cx.turn, failure.tries);
        tracing::warn!(%agent, %turn, cause, model, status, tries, "a turn failed; `insula turns show {agent} {turn}` says why");
        let mut content = failure.in_records();
        content["kind"] = json!("failed");
        self.course.note(at, content.clone());
        if let Value::Object(map) = &mut content {
            map.shift_remove("kind");
        }
        content["turn"] = json!(cx.turn.0);
        content["session"] = json!(cx.session.0);
        self.with_lineage(&mut content);
        let trail = &self.shop.trail;
        AgentCommand::Audit(trail.record(
            &cx.agent,
            cx.about(),
            &cx.principal,
            "turn.failed",
            content,
        ))
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
        if matches!(error, StoreError::TurnOver { .. }) {
            return TurnEnd::Stopped;
        }
        let (agent, turn) = (&self.cx.agent.id, self.cx.turn);
        match error.is_of_the_files() {
            true => unstored(self.shop, agent, Some(turn), error),
            false => tracing::error!(%agent, %turn, %error, "a turn could not be journalled"),
        }
        TurnEnd::Failed { error: error.to_string() }
    }

    /// What keeps secrets out of it, as they are now.
    pub(super) fn redaction(&self) -> Redaction {
        self.shop.redaction(&self.cx.agent)
    }

    /// Writes down what was paid for something that is no answer.
    pub(super) async fn spent_in_vain(&self, usage: Usage) -> Result<(), Broken> {
        let at = self.shop.world.clock.now();
        self.commit(vec![self.step(NewStep::Spent { usage, at })]).await.map(drop)
    }

    async fn conclude(
        &self,
        messages: Vec<NewMessage>,
        usage: Usage,
        outcome: TurnOutcome,
    ) -> Result<MessageSeq, Broken> {
        self.conclude_after(Vec::new(), messages, usage, outcome).await
    }

    /// Ends the turn in one commit with what is to be noted first.
    pub(super) async fn conclude_after(
        &self,
        mut batch: Vec<AgentCommand>,
        mut messages: Vec<NewMessage>,
        usage: Usage,
        outcome: TurnOutcome,
    ) -> Result<MessageSeq, Broken> {
        let at = self.shop.world.clock.now();
        let (list, farewell) = self.farewell(&outcome);
        batch.extend(farewell);
        messages.extend(list);
        let conclude = Conclude { turn: self.cx.turn, messages, usage, outcome, at };
        batch.push(AgentCommand::Conclude(Box::new(conclude)));
        let done = self.commit(batch).await?;
        Ok(place(&done))
    }

    pub(super) async fn commit(&self, mut batch: Vec<AgentCommand>) -> Result<Committed, Broken> {
        batch.extend(self.block.due());
        batch.extend(self.bills.due(self.shop.world.clock.now()));
        batch.extend(self.course.due(self.cx.turn));
        batch.extend(self.showings.due());
        let store = &self.cx.agent.store;
        let Some(pending) = self.pending.take() else { return Ok(store.commit(batch).await?) };
        batch.insert(0, pending);
        let mut done = store.commit(batch).await?;
        self.pending.committed(&mut done);
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
            at: self.shop.world.clock.now(),
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
    pub(super) fn audit(
        &self,
        call: (&str, &str),
        verdict: &str,
        rule: Option<&str>,
    ) -> AgentCommand {
        self.audit_about(call, verdict, rule, None)
    }

    /// The same, with what the call was about where a record may name it.
    pub(super) fn audit_about(
        &self,
        (call, tool): (&str, &str),
        verdict: &str,
        rule: Option<&str>,
        subject: Option<String>,
    ) -> AgentCommand {
        let clock = &self.shop.world.clock;
        let noted = (self.redaction().kept(call.to_owned()), tool);
        self.course.called((clock.now(), clock.elapsed()), noted, verdict, rule);
        let mut content = json!({
            "tool": tool,
            "verdict": verdict,
            "rule": rule,
            "about": subject.map(|it| self.redaction().kept(it)),
            "turn": self.cx.turn.0,
            "session": self.cx.session.0,
        });
        self.with_lineage(&mut content);
        self.note_form(call, &mut content);
        let seen = self.cx.seen.label();
        if !seen.integrity().is_own() {
            content["integrity"] = json!(seen.integrity().to_string());
        }
        // Whoever asks what became of a call finds it by this. What a program would find decides
        // also where the turn has read nothing.
        if !seen.integrity().is_own() || rule == Some("integrity") {
            content["call"] = json!(self.redaction().kept(call.to_owned()));
        }
        // Whoever reads the record later has to know what held when it was written.
        let programs = &self.cx.agent.programs;
        if programs.sandbox == Switch::Off {
            content["sandbox"] = json!("off");
        } else if !programs.optional.is_empty() {
            content["sandbox"] = json!({ "optional": programs.optional });
        }
        let (cx, trail) = (self.cx, &self.shop.trail);
        AgentCommand::Audit(trail.record(
            &cx.agent,
            cx.about(),
            &cx.principal,
            "tool.call",
            content,
        ))
    }
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
