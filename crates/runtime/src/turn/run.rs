//! One turn, from its accepted message to its conclusion.

use crate::context::AgentContext;
use crate::turn::desk::{ScopedHistory, last_output};
use crate::turn::engine::Shop;
use crate::turn::event::{TurnEnd, TurnEvent};
use crate::turn::gate::{Denial, admit};
use crate::turn::prompt;
use insula_models::{Answer, Event, Gathering, Timeouts, price};
use insula_store::{
    AgentCommand, AuditEntry, Conclude, Message, NewMessage, NewStep, Part, Role, SessionId,
    StoreError, TurnId, TurnOutcome, Usage, Window,
};
use insula_tools::{Hands, Output, Recall};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Model calls in one turn.
pub const ITERATIONS_MAX: usize = 50;
/// How often one refused call may come again before the turn is told to stop trying.
const REFUSALS_MAX: usize = 3;
/// How much of a session the model is shown.
const WINDOW: Window = Window { messages: 400, bytes: 400_000 };

/// Everything one turn carries.
pub(crate) struct TurnContext {
    pub(crate) agent: Arc<AgentContext>,
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) principal: Box<str>,
    pub(crate) scope: Box<str>,
    pub(crate) label: Box<str>,
    /// Calls that had begun when a crash came: what they did is unknown.
    pub(crate) interrupted: BTreeSet<Box<str>>,
    pub(crate) cancel: CancellationToken,
}

/// Why a turn could not go on.
enum Broken {
    /// Something a person should read.
    Said(String),
    /// The store failed: nothing can be concluded.
    Store(StoreError),
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Runs a turn to its end, whatever happens, and says how it ended.
pub(crate) async fn run(shop: Arc<Shop>, cx: TurnContext, events: mpsc::Sender<TurnEvent>) {
    let mut turn = Turn { shop: &shop, cx: &cx, events: &events, refused: BTreeMap::new() };
    let end = match turn.go().await {
        Ok(end) => end,
        Err(Broken::Said(error)) => turn.fail(error).await,
        Err(Broken::Store(error)) => {
            tracing::error!(agent = %cx.agent.id, turn = %cx.turn, %error, "a turn could not be journalled");
            TurnEnd::Failed { error: error.to_string() }
        }
    };
    // Nobody listening is fine: the turn is durable.
    let _ = events.send(TurnEvent::Ended(end)).await;
}

struct Turn<'t> {
    shop: &'t Shop,
    cx: &'t TurnContext,
    events: &'t mpsc::Sender<TurnEvent>,
    refused: BTreeMap<(String, String), usize>,
}

impl Turn<'_> {
    async fn go(&mut self) -> Result<TurnEnd, Broken> {
        let cx = self.cx;
        let chain = self.shop.chain(&cx.agent).map_err(Broken::Said)?;
        let tools = self.shop.tools(&cx.agent);
        let mut history =
            in_order(cx.agent.store.messages_tail(cx.session, WINDOW).await?, cx.turn);
        if let Some(end) = self.catch_up(&mut history).await? {
            return Ok(end);
        }
        for step in 0..ITERATIONS_MAX {
            let request =
                prompt::request(&cx.agent, &self.shop.house_text, tools.clone(), &history);
            let world = &self.shop.house.world;
            let mut random = world.random.stream(&[
                "turn",
                cx.agent.id.as_str(),
                &cx.turn.to_string(),
                &step.to_string(),
            ]);
            let answering = chain
                .stream(&request, &Timeouts::default(), &cx.cancel, &*world.clock, &mut random)
                .await
                .map_err(|error| Broken::Said(error.to_string()))?;
            let model = answering.link.to_string();
            let answer = self.listen(answering.stream).await?;
            let usage = usage(&answer, &model);
            let message = self.message(Role::Assistant, prompt::answer_parts(&answer.message));
            let calls = calls(&message.parts);
            if calls.is_empty() {
                return self.reply(answer.text(), vec![message], usage).await;
            }
            history.push(self.placed(&message, &history));
            let step = NewStep::Answered { message, usage };
            self.commit(vec![self.step(step)]).await?;
            if let Some(end) = self.calls(calls, &mut history).await? {
                return Ok(end);
            }
        }
        Err(Broken::Said(format!("the turn did not end after {ITERATIONS_MAX} model calls")))
    }

    /// Ends what a crash left open: calls that the last answer asked for and that have no
    /// result. One that had begun is not repeated; the model is told that nobody knows.
    async fn catch_up(&mut self, history: &mut Vec<Message>) -> Result<Option<TurnEnd>, Broken> {
        let is_mine = |message: &&Message| message.turn == Some(self.cx.turn);
        let Some(last) = history.iter().rev().filter(is_mine).find(|it| it.role == Role::Assistant)
        else {
            return Ok(None);
        };
        let answered = |id: &str| {
            history
                .iter()
                .flat_map(|message| &message.parts)
                .any(|part| matches!(part, Part::ToolResult { call, .. } if **call == *id))
        };
        let mut open = calls(&last.parts);
        open.retain(|(id, ..)| !answered(id));
        let (begun, fresh): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|(id, ..)| self.cx.interrupted.contains(id.as_str()));
        for (id, name, _) in begun {
            let text = "this call was interrupted and its outcome is unknown; find out before you repeat it";
            let result = self.result(&id, text.to_owned(), true);
            let ended = NewStep::CallEnded { call: id.as_str().into(), message: result.clone() };
            self.commit(vec![self.step(ended), self.audit(&name, "interrupted", None)]).await?;
            history.push(self.placed(&result, history));
        }
        self.calls(fresh, history).await
    }

    /// Makes the calls of one answer; the end of the turn, if one of them is it.
    async fn calls(
        &mut self,
        calls: Vec<(String, String, String)>,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        for (id, name, arguments) in calls {
            match self.call(&id, &name, &arguments, history).await? {
                Called::Result(message) => history.push(self.placed(&message, history)),
                Called::Ask(text, result) => {
                    let question = self.message(Role::Assistant, vec![Part::Text(text.clone())]);
                    let end = self.reply(text, vec![result, question], Usage::default()).await?;
                    return Ok(Some(end));
                }
            }
        }
        Ok(None)
    }

    /// Passes on what the model says while it says it.
    async fn listen(&self, mut stream: insula_models::AnswerStream) -> Result<Answer, Broken> {
        let mut gathering = Gathering::default();
        while let Some(event) = stream.next().await {
            let event = event.map_err(|error| Broken::Said(error.to_string()))?;
            let heard = match &event {
                Event::TextDelta(text) => Some(TurnEvent::Text(text.clone())),
                Event::ReasoningDelta(text) => Some(TurnEvent::Reasoning(text.clone())),
                _ => None,
            };
            if let Some(heard) = heard {
                // Deltas are provisional: one who does not keep up misses some.
                let _ = self.events.try_send(heard);
            }
            gathering.add(event);
        }
        Ok(gathering.finish())
    }

    async fn call(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        history: &[Message],
    ) -> Result<Called, Broken> {
        let _ = self.events.try_send(TurnEvent::ToolCall { name: name.to_owned() });
        let admitted = match admit(&self.cx.agent, name, arguments) {
            Ok(admitted) => admitted,
            Err(denial) => return self.refuse(id, name, arguments, denial).await,
        };
        let at = self.shop.house.world.clock.now();
        let begun = NewStep::CallBegun { call: id.into(), name: name.into(), at };
        self.commit(vec![self.step(begun)]).await?;
        let scoped = ScopedHistory::new(&self.cx.agent, &self.cx.scope);
        let previous = match admitted.tool.recall() {
            Recall::LastOutput => last_output(history, name),
            Recall::Nothing => None,
        };
        let hands = Hands { history: &scoped, previous };
        let (text, is_error, ask) = match admitted.tool.run(&hands, &admitted.arguments).await {
            Ok(Output::Text(text)) => (text, false, None),
            Ok(Output::Ask { question, choices }) => {
                let asked = asked(&question, &choices);
                (
                    "the user was asked; their answer is the next message".to_owned(),
                    false,
                    Some(asked),
                )
            }
            Err(error) => (error.to_string(), true, None),
        };
        let _ = self.events.try_send(TurnEvent::ToolDone { name: name.to_owned(), is_error });
        let verdict = if is_error { "failed" } else { "done" };
        let audit = self.audit(name, verdict, None);
        let result = self.result(id, text, is_error);
        if let Some(question) = ask {
            self.commit(vec![audit]).await?;
            return Ok(Called::Ask(question, result));
        }
        let ended = NewStep::CallEnded { call: id.into(), message: result.clone() };
        self.commit(vec![self.step(ended), audit]).await?;
        Ok(Called::Result(result))
    }

    async fn refuse(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        denial: Denial,
    ) -> Result<Called, Broken> {
        let count = self.refused.entry((name.to_owned(), arguments.to_owned())).or_default();
        *count += 1;
        if *count > REFUSALS_MAX {
            return Err(Broken::Said(format!(
                "the same refused call of `{name}` was made again and again"
            )));
        }
        let denial = if *count > 1 { Denial::Repeated { name: name.to_owned() } } else { denial };
        let _ = self.events.try_send(TurnEvent::ToolDone { name: name.to_owned(), is_error: true });
        let audit = self.audit(name, "refused", Some(denial.rule()));
        let result = self.result(id, denial.to_string(), true);
        let ended = NewStep::CallEnded { call: id.into(), message: result.clone() };
        self.commit(vec![self.step(ended), audit]).await?;
        Ok(Called::Result(result))
    }

    async fn reply(
        &self,
        text: String,
        messages: Vec<NewMessage>,
        usage: Usage,
    ) -> Result<TurnEnd, Broken> {
        self.conclude(messages, usage, TurnOutcome::Replied).await?;
        Ok(TurnEnd::Replied { text, usage })
    }

    async fn fail(&self, error: String) -> TurnEnd {
        let outcome = TurnOutcome::Failed { error: error.clone() };
        if let Err(Broken::Store(error)) =
            self.conclude(Vec::new(), Usage::default(), outcome).await
        {
            tracing::error!(agent = %self.cx.agent.id, turn = %self.cx.turn, %error, "a failed turn could not be concluded");
        }
        TurnEnd::Failed { error }
    }

    async fn conclude(
        &self,
        messages: Vec<NewMessage>,
        usage: Usage,
        outcome: TurnOutcome,
    ) -> Result<(), Broken> {
        let at = self.shop.house.world.clock.now();
        let conclude = Conclude { turn: self.cx.turn, messages, usage, outcome, at };
        self.commit(vec![AgentCommand::Conclude(Box::new(conclude))]).await
    }

    async fn commit(&self, batch: Vec<AgentCommand>) -> Result<(), Broken> {
        self.cx.agent.store.commit(batch, &self.shop.house.fence).await?;
        Ok(())
    }

    fn step(&self, step: NewStep) -> AgentCommand {
        AgentCommand::Step { turn: self.cx.turn, step: Box::new(step) }
    }

    fn message(&self, role: Role, parts: Vec<Part>) -> NewMessage {
        NewMessage {
            role,
            parts,
            principal: self.cx.principal.clone(),
            scope: self.cx.scope.clone(),
            label: self.cx.label.clone(),
            generation: self.cx.agent.generation.0,
            at: self.shop.house.world.clock.now(),
        }
    }

    fn result(&self, call: &str, text: String, is_error: bool) -> NewMessage {
        self.message(Role::Tool, vec![Part::ToolResult { call: call.into(), text, is_error }])
    }

    /// A new message as it will stand in the history.
    fn placed(&self, new: &NewMessage, history: &[Message]) -> Message {
        let last = history.last().map_or(0, |message| message.seq.0);
        Message {
            session: self.cx.session,
            seq: insula_store::MessageSeq(last + 1),
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
    fn audit(&self, tool: &str, verdict: &str, rule: Option<&str>) -> AgentCommand {
        let content = json!({
            "tool": tool,
            "verdict": verdict,
            "rule": rule,
            "turn": self.cx.turn.0,
            "session": self.cx.session.0,
        });
        AgentCommand::Audit(AuditEntry {
            at: self.shop.house.world.clock.now(),
            actor: self.cx.principal.clone(),
            kind: "tool.call".into(),
            generation: self.cx.agent.generation.0,
            content: content.to_string(),
        })
    }
}

/// The conversation as this turn sees it. A message that came while an earlier turn ran was
/// journalled before that turn's reply; it is said after it, and later ones not at all yet.
fn in_order(mut history: Vec<Message>, turn: TurnId) -> Vec<Message> {
    history.retain(|message| message.turn.is_none_or(|of| of <= turn));
    history.sort_by_key(|message| (message.turn, message.seq));
    history
}

enum Called {
    Result(NewMessage),
    Ask(String, NewMessage),
}

fn calls(parts: &[Part]) -> Vec<(String, String, String)> {
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, arguments } => {
            Some((id.to_string(), name.to_string(), arguments.clone()))
        }
        _ => None,
    });
    calls.collect()
}

/// A question with its choices, as people read it.
fn asked(question: &str, choices: &[String]) -> String {
    let mut text = question.to_owned();
    for (index, choice) in choices.iter().enumerate() {
        text.push_str(&format!("\n{}. {choice}", index + 1));
    }
    text
}

fn usage(answer: &Answer, model: &str) -> Usage {
    let cost = price::default_price(model).map_or(0, |price| price::cost(&answer.usage, &price));
    Usage {
        input: answer.usage.input,
        output: answer.usage.output,
        cached: answer.usage.cached_input,
        reasoning: answer.usage.reasoning,
        cost_micros: cost,
    }
}
