//! One model call: asked, listened to and paid for; and asked again, or of the next model of the
//! chain, as long as nothing of an answer that broke off stands where it can't be taken back.

use super::{history, prompt};
use crate::LOG;
use crate::budget::{BudgetError, Payer};
use crate::course::TurnFailure;
use crate::model_call::ModelCall;
use crate::shown_calls::{MEMORY, PLACE, Told};
use crate::turn::{Broken, Turn};
use insula_domain::FailureCause;
use insula_models as models;
use insula_models::{
    Answer, Chain, Gathering, ModelError, ModelFault, Request, StopReason, Timeouts, ToolSchema,
};
use insula_registry::events::turn::TurnEvent;
use insula_store::{Counted, Cut, Message, NewMessage, Part, Role, Usage};
use std::sync::Arc;
use tracing::Instrument as _;

/// What a model is asked for.
#[derive(Clone, Copy)]
pub(super) enum Asking<'a> {
    /// What comes next in the conversation.
    Reply(Told<'a>),
    /// Something beside it, that nobody is told.
    Aside,
}

impl<'a> Asking<'a> {
    /// What it is told of the conversation.
    pub(super) fn told(self) -> Option<Told<'a>> {
        match self {
            Self::Reply(told) => Some(told),
            Self::Aside => None,
        }
    }
}

/// Why a model call brought no answer.
pub(super) enum ModelCallFailure {
    /// Somebody said stop. What it had said by then, and what that took.
    Stopped(Option<(Option<Box<NewMessage>>, Usage)>),
    /// A budget does not allow it.
    OverBudget(BudgetError),
    /// The conversation does not fit.
    TooLong(TurnFailure),
    /// Anything else, for people.
    Failed(TurnFailure),
}

impl From<ModelCallFailure> for Broken {
    fn from(asked: ModelCallFailure) -> Self {
        match asked {
            ModelCallFailure::Stopped(partial) => {
                let (said, usage) = partial.unwrap_or_default();
                Self::Stopped(said, usage)
            }
            ModelCallFailure::OverBudget(error) => error.into(),
            ModelCallFailure::TooLong(error) | ModelCallFailure::Failed(error) => Self::Said(error),
        }
    }
}

/// For the log, and so without a provider's words: some repeat what was said.
impl std::fmt::Display for ModelCallFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped(_) => f.write_str("it was stopped"),
            Self::OverBudget(error) => error.fmt(f),
            Self::TooLong(_) => f.write_str("it does not fit the model"),
            Self::Failed(_) => f.write_str("the model gave no answer"),
        }
    }
}

/// What came of asking a chain once.
enum Heard {
    /// An answer, to its end.
    Whole {
        answer: Answer,
        usage: Usage,
        /// The model it came from.
        model: String,
        /// Whether that turned out not to take pictures.
        is_blind: bool,
        /// Whether it takes results of several calls.
        at_once: bool,
    },
    /// An answer that broke off.
    BrokenOff {
        error: ModelError,
        /// What it took.
        usage: Usage,
        /// Where in the chain it came from.
        place: usize,
        /// Whether words of it were passed on.
        was_told: bool,
    },
}

impl Turn<'_> {
    /// One model call.
    pub(super) async fn ask(
        &mut self,
        chain: &Chain,
        tools: &Arc<[ToolSchema]>,
        history: &[Message],
        limit: usize,
        step: usize,
    ) -> Result<(Answer, Usage), ModelCallFailure> {
        let (agent, redaction) = (&self.cx.agent, self.redaction());
        self.shown.under(&redaction);
        self.shown.for_models(chain);
        self.see_refused_pictures(chain, history);
        let was_blind = self.shown.blind().is_some();
        self.shown.by(self.cx.times());
        let (daemon, shown) = (&self.shop.preamble_text, &mut self.shown);
        let part = history::fitting(history, limit);
        let mut request = prompt::request(agent, daemon, tools.clone(), part, shown);
        let mut blocks = prompt::blocks(agent);
        let (place, memory) = (self.cx.place_block(), self.block.shown());
        blocks.extend(place.as_ref().map(|_| PLACE));
        blocks.extend(memory.as_ref().map(|_| MEMORY));
        request.system.extend(place);
        request.system.extend(memory);
        let scopes = self.block.read.as_ref().map(|(scopes, _)| scopes.clone());
        let told = Told { blocks: &blocks, window: part, chain: scopes.as_deref() };
        let reply = Asking::Reply(told);
        redaction.system(&mut request);
        self.cx.wishes.put_into(&mut request);
        request.cache_key = Some(self.cache_key());
        let answered = self.ask_each(chain, &request, step, reply).await;
        if !was_blind {
            self.note_refused_pictures(history);
        }
        answered
    }

    /// Shows a conversation without pictures where it has one that a model did not take.
    fn see_refused_pictures(&mut self, chain: &Chain, history: &[Message]) {
        if self.shown.blind().is_some() {
            return;
        }
        let (agent, refused) = (&self.cx.agent, &self.shop.refused_pictures);
        let mut models = chain.links().map(ToString::to_string);
        if let Some(model) = models.find(|model| refused.is_among(agent, model, history)) {
            self.shown.without_pictures_for(model.into());
        }
    }

    /// Remembers the pictures of a conversation that a model did not take.
    fn note_refused_pictures(&self, history: &[Message]) {
        if let Some(model) = self.shown.blind() {
            self.shop.refused_pictures.add(&self.cx.agent, model, history);
        }
    }

    /// Asks, once more where nothing is said, and then the models after it.
    async fn ask_each(
        &mut self,
        chain: &Chain,
        request: &Request,
        step: usize,
        reply: Asking<'_>,
    ) -> Result<(Answer, Usage), ModelCallFailure> {
        let (mut rest, mut asked): (Option<Chain>, Vec<String>) = (None, Vec::new());
        let mut purpose = step.to_string();
        loop {
            let chain = rest.as_ref().unwrap_or(chain);
            let (answer, usage) = self.listen(chain, request, &purpose, reply).await?;
            if !says_nothing(&answer) {
                return Ok((answer, usage));
            }
            self.in_vain(usage).await?;
            asked.push(self.answered_by.clone());
            // Said once to each, and not kept: whoever thinks till the end may answer when told to.
            let mut pressed = request.clone();
            pressed.messages.push(Arc::new(models::Message::user(models::ANSWER_NOW)));
            // It would think as long again.
            pressed.has_more_room = answer.stop == StopReason::Length;
            let again = format!("{purpose}.again");
            let (answer, usage) = self.listen(chain, &pressed, &again, reply).await?;
            if !says_nothing(&answer) {
                return Ok((answer, usage));
            }
            self.in_vain(usage).await?;
            asked.push(self.answered_by.clone());
            // Another model may find words.
            let is_it = |link: &models::Link| link.to_string() == self.answered_by;
            let next = chain.links().position(is_it).and_then(|at| chain.without(at + 1));
            let Some(next) = next else {
                let error = nothing_said(&self.answered_by, &answer);
                return Err(ModelCallFailure::Failed(TurnFailure::said_nothing(error, asked)));
            };
            let agent = &self.cx.agent.id;
            tracing::warn!(%agent, turn = %self.cx.turn, "model `{}` said nothing, twice over; asking the next", self.answered_by);
            purpose = format!("{step}.{}", asked.len());
            rest = Some(next);
        }
    }

    /// What was paid for no answer is paid all the same.
    async fn in_vain(&mut self, usage: Usage) -> Result<(), ModelCallFailure> {
        self.spent += usage;
        match self.spent_in_vain(usage).await {
            Err(Broken::Store(error)) => {
                Err(ModelCallFailure::OverBudget(BudgetError::Store(error)))
            }
            _ => Ok(()),
        }
    }

    /// What tells a provider which requests have a beginning in common: one for each session of
    /// an agent, from which nothing can be read.
    fn cache_key(&self) -> Arc<str> {
        let (agent, session) = (&self.cx.agent, self.cx.session);
        let mut hasher = blake3::Hasher::new_derive_key("insula prompt cache 1");
        hasher.update(agent.id.as_str().as_bytes());
        hasher.update(&[0]);
        // No two agents, and no two lives of one, have the same name for a session.
        hasher.update(agent.store.seals().seal(Counted::Session, session.0).as_bytes());
        hasher.finalize().to_hex()[..32].into()
    }

    /// Asks, and passes on what the model says while it says it. A model whose answer breaks off
    /// is asked once more, then those after it.
    pub(super) async fn listen(
        &mut self,
        chain: &Chain,
        request: &Request,
        purpose: &str,
        asking: Asking<'_>,
    ) -> Result<(Answer, Usage), ModelCallFailure> {
        let mut rest: Option<Chain> = None;
        let mut again = true;
        loop {
            let chain = rest.as_ref().unwrap_or(chain);
            let span = tracing::debug_span!(target: LOG, "model", step = purpose);
            let heard = self.hear_out(chain, request, purpose, asking).instrument(span);
            let (error, usage, place, was_told) = match heard.await? {
                Heard::Whole { answer, usage, model, is_blind, at_once } => {
                    if asking.told().is_some() {
                        self.takes_calls_at_once = at_once;
                    }
                    if is_blind {
                        self.shown.without_pictures_for(model.as_str().into());
                    }
                    self.answered_by = model;
                    return Ok((answer, usage));
                }
                Heard::BrokenOff { error, usage, place, was_told } => {
                    (error, usage, place, was_told)
                }
            };
            self.spent += usage;
            if let Err(Broken::Store(error)) = self.spent_in_vain(usage).await {
                return Err(ModelCallFailure::OverBudget(BudgetError::Store(error)));
            }
            // Past who broke off, unless that may pass and was not tried yet.
            let passed = place + usize::from(!again || !error.fault.is_passing());
            // Not where words stand that can't be taken back.
            let voice = &self.cx.live.voice;
            let is_final = was_told && voice.is_final();
            let next = if is_final { None } else { chain.without(passed) };
            let Some(next) = next else {
                return Err(ModelCallFailure::Failed(TurnFailure::broken_off(&error)));
            };
            if was_told {
                voice.say(TurnEvent::Void);
            }
            again = passed > place;
            let (agent, turn) = (&self.cx.agent.id, self.cx.turn);
            tracing::warn!(%agent, %turn, "{}; asking again", error.without_words());
            rest = Some(next);
        }
    }

    /// One question beside the conversation, asked once.
    pub(super) async fn ask_aside(
        &self,
        chain: &Chain,
        request: &Request,
        purpose: &str,
    ) -> Result<(Answer, Usage), ModelCallFailure> {
        match self.hear_out(chain, request, purpose, Asking::Aside).await? {
            Heard::Whole { answer, usage, .. } => Ok((answer, usage)),
            Heard::BrokenOff { error, usage, .. } => match self.spent_in_vain(usage).await {
                Err(Broken::Store(error)) => {
                    Err(ModelCallFailure::OverBudget(BudgetError::Store(error)))
                }
                _ => Err(ModelCallFailure::Failed(TurnFailure::broken_off(&error))),
            },
        }
    }

    /// Asks a chain once, and listens until the answer is whole or breaks off.
    async fn hear_out(
        &self,
        chain: &Chain,
        request: &Request,
        purpose: &str,
        asking: Asking<'_>,
    ) -> Result<Heard, ModelCallFailure> {
        let (cx, world) = (self.cx, &self.shop.world);
        let is_reply = asking.told().is_some();
        let turn = cx.turn.to_string();
        let mut random = world.random.stream(&["turn", cx.agent.id.as_str(), &turn, purpose]);
        let (cancel, limits) = (&cx.live.cancel, Timeouts::default());
        let (principal, budget, ways) = (&cx.principal, self.budget(), self.ways());
        let payer = Payer { agent: &cx.agent, principal, scope: &cx.scope, budget, ways: &ways };
        let reserved = self.shop.budgets.reserve(payer, chain, request).await;
        let reserved = reserved.map_err(ModelCallFailure::OverBudget)?;
        let allowed = self.before_request(purpose).await;
        allowed
            .map_err(|why| ModelCallFailure::Failed(TurnFailure::new(FailureCause::Hook, why)))?;
        let mut call = ModelCall::begin(self, purpose, request);
        let asked = chain.stream(request, &limits, cancel, &*world.clock, &mut random);
        let asked = asked.await;
        call.begun(self, &asked);
        if let Err(error) = &asked {
            self.after_request(purpose, Err(&error.to_string())).await;
        }
        let answering = match asked {
            Ok(answering) => answering,
            Err(_) if cancel.is_cancelled() => return Err(ModelCallFailure::Stopped(None)),
            Err(error) if matches!(error.error.fault, ModelFault::TooLong { .. }) => {
                return Err(ModelCallFailure::TooLong(TurnFailure::no_answer(&error)));
            }
            Err(error) => return Err(ModelCallFailure::Failed(TurnFailure::no_answer(&error))),
        };
        let (link, place, mut stream) = (answering.link, answering.place, answering.stream);
        if let Some(body) = stream.take_asked() {
            self.note_shown(&body, request, &link, asking.told());
        }
        let is_blind = stream.adjustments().without_pictures;
        let mut gathering = Gathering::default();
        // What a hook may still change is not for anybody's eyes.
        let is_open = is_reply && !self.holds_back();
        let mut deltas = is_open.then(|| self.redaction().deltas());
        let tell = |heard| cx.live.voice.say(heard);
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    let was_told = is_open && gathering.has_words();
                    let answer = gathering.finish();
                    let usage = reserved.settle(&link, &answer);
                    self.bills.note(&link, usage);
                    call.ended(self, Err(&error), usage);
                    if cancel.is_cancelled() {
                        let said = if is_open { self.partial(&answer) } else { None };
                        return Err(ModelCallFailure::Stopped(is_reply.then_some((said, usage))));
                    }
                    self.after_request(purpose, Err(&error.to_string())).await;
                    return Ok(Heard::BrokenOff { error, usage, place, was_told });
                }
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
        let usage = reserved.settle(&link, &answer);
        self.bills.note(&link, usage);
        call.ended(self, Ok(()), usage);
        self.after_request(purpose, Ok(&answer)).await;
        let one_by_one = request.parallel_calls == Some(false)
            || link.provider.parallel_calls(&link.model) == Some(false);
        let model = link.to_string();
        Ok(Heard::Whole { answer, usage, model, is_blind, at_once: !one_by_one })
    }

    /// What the model had said when it was stopped: its words, and no calls.
    fn partial(&self, answer: &Answer) -> Option<Box<NewMessage>> {
        let text = self.redaction().cut_off(answer.text());
        let is_empty = text.is_empty();
        let message = self.message(Role::Assistant, vec![Part::Text(text)]);
        (!is_empty).then(|| Box::new(message))
    }
}

/// Whether there is nothing in an answer for anybody: no words, no picture and no call.
fn says_nothing(answer: &Answer) -> bool {
    let is_something = |part: &models::Part| match part {
        models::Part::Text(text) => !text.trim().is_empty(),
        models::Part::Reasoning { .. } => false,
        _ => true,
    };
    // What was withheld would be withheld again, and is told as that.
    answer.stop != StopReason::Filtered && !answer.message.parts.iter().any(is_something)
}

/// What people are told of a model that said nothing.
fn nothing_said(model: &str, answer: &Answer) -> String {
    let advice = match answer.stop {
        StopReason::Length => {
            ": it thought until it had no tokens left; `max_tokens` or a lower `reasoning_effort` \
             of its provider would help"
        }
        _ => "; ask again, or another model",
    };
    format!("model `{model}` gave no answer, twice over{advice}")
}

/// Why an answer that ended so is not all that the model would have said.
pub(super) fn cut(stop: &StopReason) -> Option<Cut> {
    match stop {
        StopReason::Length => Some(Cut::Length),
        StopReason::Repeating => Some(Cut::Repeating),
        StopReason::Filtered => Some(Cut::Filtered),
        StopReason::Finished | StopReason::ToolCalls | StopReason::Other(_) => None,
    }
}
