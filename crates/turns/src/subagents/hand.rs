//! The hand by which a turn has children: it begins them, waits for them, and gives back all
//! they held, however they end.

use super::ChildOrigin;
use super::derive::{Plan, derive};
use super::record;
use crate::client::Wishes;
use crate::course::TurnFailure;
use crate::live::{LiveTurn, Voice};
use crate::run;
use crate::seen::Seen;
use crate::shop::Shop;
use crate::turn::TurnContext;
use crate::untrusted;
use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use insula_capabilities::Capabilities;
use insula_domain::marks::plain;
use insula_domain::{AgentId, FailureCause};
use insula_registry::events::turn::{ChildAct, ChildOutcome, TurnEnd, TurnEvent};
use insula_registry::whole::Whole;
use insula_store::{
    AcceptChild, Accepted, AgentCommand, ChildTurn, Cut, MessageSeq, NewMessage, Part, Role,
    SessionId, StoreError, TurnId, TurnStatus, Usage, Window,
};
use insula_tools::delegate::{ChildReport, Delegate, DelegateOutcome, Task};
use insula_tools::{HandError, QuotedSource, ToolError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// What of a goal is told to those who watch, in characters.
const GOAL_CHARS_MAX: usize = 200;
/// The end of a child's session, in which its last words are.
const LAST: Window = Window { messages: 4, bytes: usize::MAX };
/// Messages of a child that are looked at at once.
const PAGE: usize = 100;

/// The children of one call.
pub(crate) struct TurnDelegate<'t> {
    pub(super) shop: &'t Arc<Whole<Shop>>,
    pub(super) cx: &'t TurnContext,
    /// The step in which the call began, by which its children are found again.
    step: u32,
    spent: Mutex<Usage>,
}

/// A child that is journalled and not over.
struct Begun {
    turn: TurnId,
    session: SessionId,
    message: Option<(MessageSeq, NewMessage)>,
    interrupted: BTreeMap<Box<str>, u32>,
    /// Whose words it had read before a crash came.
    words: QuotedSource,
}

/// Ends the programs of a child when dropped.
struct Programs<'h> {
    caps: &'h Capabilities,
    agent: &'h AgentId,
    session: SessionId,
}

impl Drop for Programs<'_> {
    fn drop(&mut self) {
        self.caps.programs.end_session(self.agent, self.session);
    }
}

impl<'t> TurnDelegate<'t> {
    /// The hand for one call of a turn.
    pub(crate) fn new(shop: &'t Arc<Whole<Shop>>, cx: &'t TurnContext, step: u32) -> Self {
        Self { shop, cx, step, spent: Mutex::default() }
    }

    /// What the children of the call took.
    pub(crate) fn spent(&self) -> Usage {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Delegate for TurnDelegate<'_> {
    async fn delegate(&self, tasks: Vec<Task>) -> Result<Vec<ChildReport>, ToolError> {
        let parent = &self.cx.agent;
        let plans: Result<Vec<Plan>, ToolError> =
            tasks.iter().map(|task| derive(parent, task)).collect();
        let plans = plans?;
        let failed = |error: StoreError| ToolError::Hand(HandError(error.to_string()));
        let mut handed = self.cx.kin.handed().await;
        // After a crash the call is made again, and finds the children it had begun.
        let (mut known, earlier): (Vec<ChildTurn>, Vec<ChildTurn>) = parent
            .store
            .children(self.cx.turn)
            .await
            .map_err(failed)?
            .into_iter()
            .partition(|child| child.step == self.step);
        let fresh = plans.len().saturating_sub(known.len());
        let fresh = u32::try_from(fresh).unwrap_or(u32::MAX);
        let counted = self.cx.kin.count(parent, fresh).await.map_err(failed)?;
        counted.map_err(|left| {
            ToolError::Refused(format!(
                "one turn may have {} children in all (`subagents.max_total`), and {left} are left; hand out fewer tasks, or do them yourself",
                parent.boundary.spawn.max_total
            ))
        })?;
        // Those that calls beside this one have handed out are named before its own.
        let mut others = handed.tasks.clone();
        for (step, count) in by_step(&earlier) {
            let tasks = others.entry(step).or_default();
            *tasks = count.max(*tasks);
        }
        let others: usize = others.values().sum();
        handed.tasks.insert(self.step, plans.len());
        // Those for which there is no place wait until one of the others is over.
        let width =
            usize::try_from(parent.boundary.spawn.max_children).unwrap_or(usize::MAX).max(1);
        let places = handed.places(width);
        drop(handed);
        let mut running: Vec<BoxFuture<'_, (usize, ChildReport)>> = Vec::with_capacity(plans.len());
        for (index, plan) in plans.into_iter().enumerate() {
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let at = known.iter().position(|child| child.number == number);
            let known = at.map(|at| known.swap_remove(at));
            let name = self.cx.kin.name(others + index + 1);
            let places = places.clone();
            let child = self.child(plan, number, name, known);
            running.push(Box::pin(async move {
                let _place = places.acquire_owned().await;
                (index, child.await)
            }));
        }
        let mut reports: Vec<(usize, ChildReport)> =
            stream::iter(running).buffer_unordered(width).collect().await;
        self.cx.kin.handed().await.tasks.remove(&self.step);
        reports.sort_by_key(|(index, _)| *index);
        Ok(reports.into_iter().map(|(_, report)| report).collect())
    }
}

/// How many children there are of each call, by its step.
fn by_step(children: &[ChildTurn]) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for child in children {
        *counts.entry(child.step).or_default() += 1;
    }
    counts
}

impl TurnDelegate<'_> {
    /// One child, from its beginning, or from where it got to, to its end.
    async fn child(
        &self,
        plan: Plan,
        number: u32,
        name: Arc<str>,
        known: Option<ChildTurn>,
    ) -> ChildReport {
        let note = plan.leaf_because.as_ref();
        let note = note.map(|why| {
            format!("child {name} was to be an orchestrator and worked as a leaf: {why}")
        });
        let report = |end| ChildReport {
            child: name.to_string(),
            end,
            changed: Vec::new(),
            note: None,
            words: QuotedSource::Own,
        };
        if known.is_none() && self.cx.live.cancel.is_cancelled() {
            return report(DelegateOutcome::Stopped("it was stopped before it began".to_owned()));
        }
        match self.run(plan, number, name.clone(), known).await {
            Ok(report) => ChildReport { note, ..report },
            Err(error) => {
                let (agent, turn) = (&self.cx.agent.id, self.cx.turn);
                tracing::error!(%agent, %turn, child = &*name, %error, "a child could not be journalled");
                report(DelegateOutcome::Failed(error.to_string()))
            }
        }
    }

    async fn run(
        &self,
        plan: Plan,
        number: u32,
        name: Arc<str>,
        known: Option<ChildTurn>,
    ) -> Result<ChildReport, StoreError> {
        let (shop, cx) = (self.shop, self.cx);
        let spawn = &cx.agent.boundary.spawn;
        // What it used before a crash came, it has used.
        let before = known.as_ref().map_or(0, |it| it.turn.usage.input + it.turn.usage.output);
        let origin = ChildOrigin {
            parent: cx.turn,
            child: name.clone(),
            depth: cx.kin.depth() + 1,
            role: plan.role,
            iterations_max: spawn.max_iterations,
            tokens_max: plan.tokens_max.map(|most| most.saturating_sub(before)),
        };
        let begun = match known {
            Some(known) if known.turn.status != TurnStatus::Accepted => {
                return self.found(name, known).await;
            }
            Some(known) => {
                let steps = cx.agent.store.steps(known.turn.id).await?;
                let open = insula_store::turn::open_calls(&steps);
                let interrupted = open.iter().map(|(id, _, step)| ((*id).into(), *step)).collect();
                let (turn, session) = (known.turn.id, known.turn.session);
                let words = self.see_all_of(session).await?;
                Begun { turn, session, message: None, interrupted, words }
            }
            None => {
                if let Some(reason) = self.objection(&plan, &origin).await {
                    let end = DelegateOutcome::Failed(format!(
                        "a hook does not allow this child: {reason}"
                    ));
                    let (child, changed) = (name.to_string(), Vec::new());
                    return Ok(ChildReport {
                        child,
                        end,
                        changed,
                        note: None,
                        words: QuotedSource::Own,
                    });
                }
                self.begin(&plan, &origin, number).await?
            }
        };
        let Begun { turn, session, message, interrupted, words } = begun;
        let _counted = shop.subagents.enter();
        let _programs = Programs { caps: &shop.caps, agent: &cx.agent.id, session };
        let tell = |act| cx.live.voice.say(TurnEvent::Child { child: name.clone(), act });
        let goal = plan.goal.chars().take(GOAL_CHARS_MAX).collect();
        tell(ChildAct::Started { role: plan.role, goal });
        let cancel = cx.live.cancel.child_token();
        let voice = Voice::of_child(&cx.live, name.clone());
        let live = LiveTurn::of_child(turn, cx.principal.clone(), voice, cancel.clone());
        let files = plan.agent.workspace.child_files(&cx.files, &session.to_string());
        let child = Arc::new(TurnContext {
            agent: plan.agent,
            session,
            files,
            turn,
            principal: cx.principal.clone(),
            scope: cx.scope.clone(),
            seen: Seen::new(&cx.seen.text(), &cx.principal),
            made: cx.made.clone(),
            message,
            asked: cx.asked,
            key: cx.key.clone(),
            from: cx.from.clone(),
            interrupted,
            live: Arc::new(live),
            kin: cx.kin.below(origin),
            admitted: cx.admitted.like(),
            wishes: Wishes::default(),
        });
        if words == QuotedSource::Foreign {
            child.seen.add_foreign();
        }
        let limit = Duration::from_millis(spawn.wall_clock_ms);
        let mut is_late = false;
        let mut running = run_apart(shop, &child);
        let end = tokio::select! {
            biased;
            end = &mut running => end,
            () = shop.world.clock.sleep(limit) => {
                is_late = true;
                cancel.cancel();
                // Whatever it waits for hears that, and it writes down that it was stopped.
                running.await
            }
        };
        let end = match end {
            Ok(end) => end,
            Err(_) => {
                let agent = &cx.agent.id;
                tracing::error!(%agent, %turn, "a child panicked; it failed, and nothing else did");
                let error = "the child met a fault of the runtime, which is in its log";
                run::fail(shop, &child, TurnFailure::new(FailureCause::Fault, error)).await
            }
        };
        let used = cx.agent.store.turn(turn).await?.map(|turn| turn.usage).unwrap_or_default();
        self.pay(used);
        let (outcome, end) = match end {
            TurnEnd::Replied { text, cut, .. } => {
                let text = report(child_text(shop, cx, text), cut);
                (ChildOutcome::Finished, DelegateOutcome::Finished(text))
            }
            TurnEnd::Failed { error } => {
                (ChildOutcome::Failed, DelegateOutcome::Failed(child_text(shop, cx, error)))
            }
            TurnEnd::OverBudget(refusal) => {
                (ChildOutcome::Failed, DelegateOutcome::Failed(refusal.to_string()))
            }
            TurnEnd::Stopped if is_late => {
                let seconds = limit.as_secs();
                let why = format!(
                    "it took longer than the {seconds} s a child may take (`subagents.timeout`)"
                );
                (ChildOutcome::TimedOut, DelegateOutcome::Stopped(why))
            }
            TurnEnd::Stopped => {
                (ChildOutcome::Stopped, DelegateOutcome::Stopped("it was stopped".to_owned()))
            }
        };
        tell(ChildAct::Ended { outcome });
        // What a child has seen, its parent has seen by its words.
        cx.seen.add(&child.seen.label());
        self.stopped(&child, outcome, &end).await;
        let changed = child.files.changed();
        cx.files.also_changed(&changed);
        let words = child.seen.words();
        Ok(ChildReport { child: name.to_string(), end, changed, note: None, words })
    }

    /// Journals a child that begins.
    async fn begin(
        &self,
        plan: &Plan,
        origin: &ChildOrigin,
        number: u32,
    ) -> Result<Begun, StoreError> {
        let (shop, cx) = (self.shop, self.cx);
        // A model wrote it: nobody said it, and nothing in it is a note of ours.
        let parts = vec![Part::Beside(plain(&plan.message))];
        let message = NewMessage {
            role: Role::User,
            parts: shop.redaction(&cx.agent).parts(parts),
            principal: cx.principal.clone(),
            scope: cx.scope.clone(),
            label: cx.seen.text(),
            generation: cx.agent.generation.0,
            at: shop.world.clock.now(),
        };
        let accept =
            AcceptChild { parent: cx.turn, step: self.step, number, message: message.clone() };
        let batch = vec![
            AgentCommand::AcceptChild(Box::new(accept)),
            record::started(shop, cx, origin, plan),
        ];
        let done = cx.agent.store.commit(batch).await?;
        match done.accepted() {
            Some(Accepted::New { turn, session, seq }) => {
                let message = Some((seq, message));
                let (interrupted, words) = (BTreeMap::new(), QuotedSource::Own);
                Ok(Begun { turn, session, message, interrupted, words })
            }
            _ => Err(StoreError::Closed),
        }
    }

    /// What became of a child that was over before a crash.
    async fn found(&self, name: Arc<str>, known: ChildTurn) -> Result<ChildReport, StoreError> {
        let turn = known.turn;
        self.pay(turn.usage);
        let last = self.cx.agent.store.messages_tail(turn.session, LAST).await?;
        let reply = last.iter().find(|message| Some(message.seq) == turn.reply);
        let end = match (turn.status, reply) {
            (TurnStatus::Replied, Some(reply)) => {
                DelegateOutcome::Finished(report(crate::messages::text_of(&reply.parts), turn.cut))
            }
            (TurnStatus::Failed, _) => DelegateOutcome::Failed(turn.error.unwrap_or_default()),
            _ => DelegateOutcome::Stopped("it was stopped".to_owned()),
        };
        let words = self.see_all_of(turn.session).await?;
        let changed = record::changed_in(&last);
        self.cx.files.also_changed(&changed);
        Ok(ChildReport { child: name.to_string(), end, changed, note: None, words })
    }

    /// Sees what a child has seen, by its session; whose words it has read itself.
    async fn see_all_of(&self, session: SessionId) -> Result<QuotedSource, StoreError> {
        let (store, mut after) = (&self.cx.agent.store, MessageSeq::START);
        let mut words = QuotedSource::Own;
        loop {
            let page = store.messages_after(session, after, PAGE).await?;
            self.cx.see(&self.shop.access, &page);
            if untrusted::is_noted(&page) {
                words = QuotedSource::Foreign;
            }
            match page.last() {
                Some(last) => after = last.seq,
                None => return Ok(words),
            }
        }
    }

    fn pay(&self, used: Usage) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += used;
    }
}

/// Runs a child as a task of its own: one that was polled by its parent would stand on its
/// parent's stack, and deep families would run out of it.
fn run_apart(shop: &Arc<Whole<Shop>>, child: &Arc<TurnContext>) -> AbortOnDropHandle<TurnEnd> {
    let (shop, child) = (shop.clone(), child.clone());
    AbortOnDropHandle::new(tokio::spawn(async move { run::run(&shop, &child).await }))
}

/// What a child said, as it may be kept.
/// A child's last message, and that it breaks off where it does: its parent can't see that.
fn report(text: String, cut: Option<Cut>) -> String {
    match cut {
        None => text,
        Some(Cut::Length) => {
            text + "\n[It breaks off here: its model reached the most it may say.]"
        }
        Some(Cut::Filtered) => text + "\n[It breaks off here: its provider withheld the rest.]",
        Some(Cut::Repeating) => text + "\n[It was cut off here: it said the same again and again.]",
    }
}

fn child_text(shop: &Shop, cx: &TurnContext, text: String) -> String {
    shop.redaction(&cx.agent).kept(text)
}
