//! Approvals: who is asked before something dangerous is done, who may answer, and what an
//! answer allows.
//!
//! A call that waits is noted in its agent's store; whoever answers does so here, whatever
//! surface they came by, and the turn that waits hears of it after the answer is durable.
//! Silence is a no, and so is everything that goes wrong.

pub mod grants;
pub mod invocation;
pub(crate) mod showing;
pub(crate) mod smart;

use insula_domain::command::CommandFinding;
use insula_domain::{AgentId, Switch};
use insula_registry::context::AgentContext;
use insula_registry::trail::Trail;
use insula_registry::{Access, Actor, Parts};
use insula_store::{
    About, AgentCommand, Approval, ApprovalDecision, FeedChange, Grant, SessionId, StoreError,
    Subscription, TurnId,
};
use insula_world::World;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Longest reason that somebody gives, in characters.
const REASON_CHARS_MAX: usize = 500;
/// How many letters of an id people have to type.
const ID_LEN: usize = 12;

/// For how long something is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ApprovalDuration {
    /// For the call that waits.
    #[default]
    Once,
    /// For the same invocation in the same session.
    Session,
    /// For the same invocation by this agent.
    Always,
}

impl ApprovalDuration {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
        }
    }

    /// Finds one by name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Once, Self::Session, Self::Always].into_iter().find(|it| it.as_str() == text)
    }
}

/// What somebody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Yes.
    Approve(ApprovalDuration),
    /// No, and why.
    Deny(Option<String>),
}

/// An answer that counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What it was given to.
    pub approval: Approval,
    /// For how long it is allowed; `None` where it is not.
    pub reach: Option<ApprovalDuration>,
}

/// Why an answer does not count.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// nothing of that name waits
    #[error("no approval `{0}` waits here; it was answered, timed out, or its turn ended")]
    NotWaiting(Box<str>),
    /// nothing of that name was granted
    #[error("no grant `{0}` is here; `insula approvals grants` lists those that are")]
    NoGrant(Box<str>),
    /// who answers is no admin of the agent
    #[error("only an admin of agent `{0}` may answer")]
    NotAdmin(AgentId),
    /// who answers also asked, which this agent's configuration forbids
    #[error("who asked can't approve; another admin must, since `approvals.separation` is on")]
    Separation,
    /// the store could not take it, which makes it a no
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A call in need of an answer.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    /// The agent that would do it.
    pub agent: &'q AgentContext,
    pub session: SessionId,
    pub turn: TurnId,
    pub call: &'q str,
    pub tool: &'q str,
    pub arguments: &'q Value,
    /// Where it would begin, if not where programs of the conversation begin anyway; of what is
    /// written to a process, which one that is.
    pub place: Option<&'q str>,
    /// For how long it may be allowed at most.
    pub widest: ApprovalDuration,
    /// The rule by which it needs an answer.
    pub rule: &'q str,
    /// What says so, where that is a setting among others.
    pub by: Option<&'q str>,
    /// What was found in it, where something was.
    pub found: Option<&'q CommandFinding>,
    /// All of what it would do, as people are shown it and without secrets.
    pub what: &'q str,
    /// Who began the turn.
    pub principal: &'q Actor,
}

impl Question<'_> {
    /// What exactly is asked for.
    pub fn invocation(&self) -> [u8; 32] {
        invocation::hash(&self.agent.id, self.tool, self.arguments, self.place)
    }
}

/// The questions that wait, of all agents.
pub struct Approvals {
    world: World,
    access: Arc<Access>,
    trail: Trail,
    waiting: Arc<Questions>,
    _subscription: Subscription,
}

type Questions = Mutex<BTreeMap<Box<str>, Waiting>>;

/// Why a question is asked, for who has to answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grounds {
    /// What says so, where that is a setting among others.
    pub by: Option<Box<str>>,
    /// What was found in the call.
    pub found: Option<CommandFinding>,
    /// For how long it may be allowed at most.
    pub widest: ApprovalDuration,
}

struct Waiting {
    agent: AgentId,
    approval: Approval,
    grounds: Grounds,
    /// Whether somebody decides it at this moment, after which nobody else can.
    is_taken: bool,
    tell: oneshot::Sender<ApprovalDecision>,
}

impl Approvals {
    /// Nothing waits yet.
    pub fn new(parts: &Parts) -> Self {
        let waiting = Arc::<Questions>::default();
        let questions = waiting.clone();
        let subscription = parts.store.changes().subscribe(move |change| {
            if let FeedChange::Approval { agent, id, decision } = change {
                settle(&questions, agent, id, decision);
            }
        });
        Self {
            world: parts.world.clone(),
            access: parts.access.clone(),
            trail: parts.trail.clone(),
            waiting,
            _subscription: subscription,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Box<str>, Waiting>> {
        lock(&self.waiting)
    }

    /// What waits for an answer at this agent.
    pub async fn list(&self, agent: &AgentContext) -> Result<Vec<Approval>, StoreError> {
        let mut noted = agent.store.approvals().await?;
        // A note whose turn has not asked again since a crash can't be answered yet.
        let waiting = self.waiting();
        noted.retain(|it| {
            waiting.get(&it.id).is_some_and(|waits| waits.agent == agent.id && !waits.is_taken)
        });
        Ok(noted)
    }

    /// For how long what waits under this id may be allowed at most.
    pub fn widest(&self, agent: &AgentContext, id: &str) -> ApprovalDuration {
        let waiting = self.waiting();
        let waits = waiting.get(id).filter(|waits| waits.agent == agent.id);
        waits.map_or(ApprovalDuration::Once, |waits| waits.grounds.widest)
    }

    /// Why what waits under this id is asked.
    pub fn grounds(&self, agent: &AgentContext, id: &str) -> Option<Grounds> {
        let waiting = self.waiting();
        let waits = waiting.get(id).filter(|waits| waits.agent == agent.id);
        waits.map(|waits| waits.grounds.clone())
    }

    /// The agents at which something waits.
    pub fn asking(&self) -> BTreeSet<AgentId> {
        self.waiting().values().map(|waits| waits.agent.clone()).collect()
    }

    /// Whether the same invocation was allowed before, for this session or always. That it
    /// was used is audited.
    pub async fn allowed(&self, question: &Question<'_>) -> Result<Option<Grant>, StoreError> {
        if question.widest == ApprovalDuration::Once {
            return Ok(None);
        }
        let invocation = question.invocation();
        let found = question.agent.store.granted(invocation, question.session).await?;
        if let Some(grant) = &found {
            let scope = grants::reach(grant).as_str();
            let told =
                json!({ "grant": grant.id, "scope": scope, "granted_by": grant.by.as_str() });
            let audit = self.audit(question.principal, "approval.used", question, told);
            self.commit(question.agent, vec![audit]).await?;
        }
        Ok(found)
    }

    /// Asks, and waits for an answer as long as the agent's configuration says. `tell` is
    /// called when the question is durable.
    pub async fn ask(
        &self,
        question: &Question<'_>,
        cancel: &CancellationToken,
        tell: impl FnOnce(&Approval),
    ) -> Result<ApprovalDecision, StoreError> {
        let agent = question.agent;
        let timeout = Duration::from_millis(agent.boundary.approvals.timeout_ms);
        let approval = self.noted(question, timeout).await?;
        let note = AgentCommand::AskApproval(Box::new(approval.clone()));
        let told = json!({ "approval": &*approval.id });
        let audit = self.audit(question.principal, "approval.asked", question, told);
        let (answer, mut answered) = oneshot::channel();
        let waits = Waiting {
            agent: agent.id.clone(),
            approval: approval.clone(),
            grounds: Grounds {
                by: question.by.map(Into::into),
                found: question.found.cloned(),
                widest: question.widest,
            },
            is_taken: false,
            tell: answer,
        };
        // Before it shows anywhere: an answer that comes at once finds its question.
        self.waiting().insert(approval.id.clone(), waits);
        let _leave = Leave { approvals: self, id: approval.id.clone() };
        self.commit(agent, vec![note, audit]).await?;
        tell(&approval);
        let outcome = tokio::select! {
            biased;
            answer = &mut answered => return Ok(heard(answer.ok())),
            () = cancel.cancelled() => ApprovalDecision::Stopped,
            () = self.world.clock.sleep(timeout) => ApprovalDecision::TimedOut,
        };
        // Whoever takes the question decides it: here, or who answers.
        if self.take(&approval.id).is_none() {
            return Ok(heard(answered.await.ok()));
        }
        let kind = if outcome == ApprovalDecision::TimedOut {
            "approval.timed_out"
        } else {
            "approval.stopped"
        };
        let told = json!({ "approval": &*approval.id });
        let audit = self.audit(&Actor::Daemon, kind, question, told);
        let (id, decision) = (approval.id, outcome.clone());
        let settle = AgentCommand::SettleApproval { id, decision, grant: None };
        self.commit(agent, vec![settle, audit]).await?;
        Ok(outcome)
    }

    /// Takes a question to decide it; `None` where it is gone, or somebody else does.
    fn take(&self, id: &str) -> Option<(Approval, ApprovalDuration)> {
        let mut waiting = self.waiting();
        let waits = waiting.get_mut(id).filter(|waits| !waits.is_taken)?;
        waits.is_taken = true;
        Some((waits.approval.clone(), waits.grounds.widest))
    }

    /// The note about a question: with the id it had before a crash, if there was one.
    async fn noted(
        &self,
        question: &Question<'_>,
        timeout: Duration,
    ) -> Result<Approval, StoreError> {
        let Question { agent, session, turn, call, tool, rule, principal, .. } = *question;
        let invocation = question.invocation();
        let before = agent
            .store
            .approvals()
            .await?
            .into_iter()
            .find(|it| it.turn == turn && *it.call == *call && it.invocation == invocation);
        let world = &self.world;
        let asked_at = world.clock.now();
        let fresh = || {
            let purpose = ["approval", agent.id.as_str(), &turn.to_string(), call];
            world.random.stream(&purpose).id().chars().take(ID_LEN).collect::<String>().into()
        };
        let wait = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        Ok(Approval {
            id: before.map_or_else(fresh, |before| before.id),
            turn,
            session,
            call: call.into(),
            tool: tool.into(),
            invocation,
            rule: rule.into(),
            // Whole: what is allowed is what was shown.
            what: question.what.to_owned(),
            principal: principal.clone(),
            asked_at,
            expires_at: insula_world::Timestamp::from_millis(
                asked_at.as_millis().saturating_add(wait),
            ),
        })
    }

    /// Answers a question. The one way to do so, for every surface. A yes that would reach
    /// further than it may is one for as long as it may.
    pub async fn answer(
        &self,
        agent: &AgentContext,
        id: &str,
        answer: ApprovalAnswer,
        actor: &Actor,
    ) -> Result<Settled, AnswerError> {
        if !self.access.may_answer(agent, actor) {
            return Err(AnswerError::NotAdmin(agent.id.clone()));
        }
        let by = actor.clone();
        let not_waiting = || AnswerError::NotWaiting(cut(id, 80).into());
        {
            let waiting = self.waiting();
            let found = waiting.get(id).filter(|it| it.agent == agent.id);
            let found = found.ok_or_else(not_waiting)?;
            let asked = is_who_asked(agent, &found.approval.principal, actor);
            let separate = agent.boundary.approvals.separation == Switch::On;
            if asked && separate && matches!(answer, ApprovalAnswer::Approve(_)) {
                return Err(AnswerError::Separation);
            }
        }
        let (approval, widest) = self.take(id).ok_or_else(not_waiting)?;
        let (kind, reach) = match &answer {
            ApprovalAnswer::Approve(reach) => ("approval.approved", Some(*reach.min(&widest))),
            ApprovalAnswer::Deny(_) => ("approval.denied", None),
        };
        let session = match reach {
            Some(ApprovalDuration::Session) => Some(Some(approval.session)),
            Some(ApprovalDuration::Always) => Some(None),
            Some(ApprovalDuration::Once) | None => None,
        };
        let at = self.world.clock.now();
        let grant = session.map(|session| Grant {
            id: approval.id.clone(),
            invocation: approval.invocation,
            session,
            by: by.clone(),
            at,
            tool: approval.tool.clone(),
            rule: approval.rule.clone(),
            what: approval.what.clone(),
            asked_in: approval.session,
        });
        let content = json!({
            "approval": &*approval.id,
            "tool": &*approval.tool,
            "rule": &*approval.rule,
            "scope": reach.map(ApprovalDuration::as_str),
            "invocation": invocation::text(&approval.invocation),
            "asked_by": approval.principal.as_str(),
            "turn": approval.turn.0,
            "session": approval.session.0,
        });
        let audit = self.entry(approval.session, &by, kind, agent, content);
        let decision = match answer {
            ApprovalAnswer::Approve(_) => ApprovalDecision::Approved { by },
            ApprovalAnswer::Deny(reason) => {
                let reason = reason.map(|reason| cut(&reason, REASON_CHARS_MAX));
                ApprovalDecision::Denied { by, reason }
            }
        };
        let settle = AgentCommand::SettleApproval { id: approval.id.clone(), decision, grant };
        // Whatever becomes of this, the question is over: should it fail, the turn hears a no.
        let _leave = Leave { approvals: self, id: approval.id.clone() };
        self.commit(agent, vec![settle, audit]).await?;
        Ok(Settled { approval, reach })
    }

    /// The record of a decision about a question: arguments by their hash, never as they are.
    pub(crate) fn audit(
        &self,
        actor: &Actor,
        kind: &str,
        question: &Question<'_>,
        more: Value,
    ) -> AgentCommand {
        let mut content = json!({
            "tool": question.tool,
            "rule": question.rule,
            "invocation": invocation::text(&question.invocation()),
            "turn": question.turn.0,
            "session": question.session.0,
        });
        if let (Some(content), Value::Object(more)) = (content.as_object_mut(), more) {
            content.extend(more);
            if let Some(by) = question.by {
                content.insert("about".to_owned(), by.into());
                content.insert("call".to_owned(), question.call.into());
            }
        }
        self.entry(question.session, actor, kind, question.agent, content)
    }

    fn entry(
        &self,
        session: SessionId,
        actor: &Actor,
        kind: &str,
        agent: &AgentContext,
        content: Value,
    ) -> AgentCommand {
        AgentCommand::Audit(self.trail.record(agent, About::Session(session), actor, kind, content))
    }

    async fn commit(
        &self,
        agent: &AgentContext,
        batch: Vec<AgentCommand>,
    ) -> Result<(), StoreError> {
        agent.store.commit(batch).await.map(drop)
    }
}

fn lock(questions: &Questions) -> MutexGuard<'_, BTreeMap<Box<str>, Waiting>> {
    // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
    questions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the turn that waits what was decided.
fn settle(questions: &Questions, agent: &AgentId, id: &str, decision: &ApprovalDecision) {
    let mut waiting = lock(questions);
    if waiting.get(id).is_some_and(|waits| waits.agent == *agent)
        && let Some(waits) = waiting.remove(id)
    {
        // A turn that ended meanwhile needs no answer.
        let _ = waits.tell.send(decision.clone());
    }
}

/// Whether who answers is who began the turn, also under another identity of theirs.
fn is_who_asked(agent: &AgentContext, asked: &Actor, actor: &Actor) -> bool {
    let people = &agent.conversations.people;
    let linked = people.linked(asked.as_str());
    asked == actor || (linked.is_some() && linked == people.linked(actor.as_str()))
}

/// An answer whose sender is gone could not be kept: that is a no.
fn heard(answer: Option<ApprovalDecision>) -> ApprovalDecision {
    answer.unwrap_or(ApprovalDecision::TimedOut)
}

/// Takes a question off the list, whatever ends the wait.
struct Leave<'a> {
    approvals: &'a Approvals,
    id: Box<str>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.approvals.waiting().remove(&self.id);
    }
}

/// The beginning of a long text.
fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
