//! Approval: what has to be agreed to is, by an earlier grant, by a model, or by an admin who is
//! asked.

use super::super::ask::{Asking, ModelCallFailure};
use super::integrity::remembers_everywhere;
use super::stages::Setting;
use super::{Call, Denial, Judged, NotPassed, Unapproved};
use crate::approvals::{ApprovalDuration, Question, showing, smart};
use crate::budget::BudgetError;
use crate::current::runs_programs;
use crate::turn::{Broken, Turn, TurnContext};
use insula_capabilities::programs::{Alive, Ground, LiveProgram, ProgramReach};
use insula_config::agent::GlobalWrites;
use insula_config::job::JobApprovals;
use insula_domain::Actor;
use insula_domain::command::DangerRule;
use insula_domain::question::StartFolder;
use insula_domain::{AccessMode, ApprovalMode, ChildApprovals, Effect, tool};
use insula_registry::context::{JobTurn, TermApprovals, Terms};
use insula_registry::events::turn::{ApprovalOutcome, TurnEvent};
use insula_registry::events::until;
use insula_registry::lives::{LifeFacts, LifeKind};
use insula_registry::tokens::Verb;
use insula_store::{ApprovalDecision, Usage};
use insula_tools::Risk;
use serde_json::json;
use std::sync::Arc;

/// The rule by which a write that every conversation reads needs an approval.
const GLOBAL_WRITE: &str = "global_memory";
/// The rule by which what words of others may have brought about needs one.
const INTEGRITY: &str = "integrity";

/// Gets the agreement that the classifier or a hook asks for.
pub(super) async fn of_concern(
    turn: &mut Turn<'_>,
    call: Call<'_>,
    judged: &Judged,
) -> Result<(), NotPassed> {
    let Some(finding) = &judged.concern else { return Ok(()) };
    if turn.is_admins_own(finding, call.history) {
        return Ok(());
    }
    not_refused_before(turn, call)?;
    let deny = |why| {
        let (name, finding) = (call.name.to_owned(), finding.clone());
        Err(Denial::Unapproved { name, finding, why }.into())
    };
    // Where nobody may be asked, nobody's earlier yes counts either.
    if turn.mode() == ApprovalMode::Deny {
        return deny(Unapproved::Nobody);
    }
    let Judged { tool, arguments, setting, .. } = judged;
    if let Some(is_allowed) = allowed_before(turn, call, judged) {
        if !is_allowed {
            return deny(Unapproved::Nobody);
        }
        let rule = finding.rule.as_str();
        let question = Question { rule, ..asked_for(turn.cx, call, judged) };
        let told = json!({ "scope": "run", "mode": "allowed" });
        let by = &turn.cx.principal;
        let audit = turn.shop.approvals.audit(by, "approval.approved", &question, told);
        turn.commit(vec![audit]).await?;
        return Ok(());
    }
    // The same words do something else in another folder.
    let begins = |ground: &Option<Ground>| ground.as_ref().map(Ground::identity);
    let reader = setting.reader.as_ref();
    let (folder, place, widest) = match (tool.risk(arguments), reader) {
        (Risk::Command(_) | Risk::Code { .. }, _) => {
            (folder_of(&setting.ground), begins(&setting.ground), ApprovalDuration::Always)
        }
        // Nobody sees where it has gone since it began, so a yes is for what is written now.
        (Risk::Input { .. }, Some(reader)) => {
            (folder_of(&reader.ground), Some(reader.mark.to_string()), ApprovalDuration::Once)
        }
        (Risk::Input { .. }, None) => (StartFolder::Nowhere, None, ApprovalDuration::Once),
        (Risk::None | Risk::ChangeSelf(_), _) => {
            (StartFolder::Nowhere, None, ApprovalDuration::Always)
        }
    };
    let redaction = turn.redaction();
    let there = (folder, reader.map(|it| it.command.as_str()));
    let shown = showing::shown(arguments, there, finding.unseen, |text| redaction.told(text));
    let question = Question {
        place: place.as_deref(),
        widest,
        rule: finding.rule.as_str(),
        found: Some(finding),
        what: shown.as_deref().unwrap_or_default(),
        ..asked_for(turn.cx, call, judged)
    };
    if turn.shop.approvals.allowed(&question).await?.is_some() {
        return Ok(());
    }
    // What is an admin's to decide no model decides, and no setting that spares people questions.
    let is_admins = match finding.rule {
        DangerRule::ChangeSelf | DangerRule::Install => true,
        DangerRule::HostSettings => !turn.is_all_of_admins(call.history, Verb::Manage),
        _ => false,
    };
    let is_hidden = finding.rule == DangerRule::Opaque;
    let why = match turn.mode() {
        ApprovalMode::Off if is_admins => Some(Unapproved::Nobody),
        ApprovalMode::Off => None,
        ApprovalMode::Deny => Some(Unapproved::Nobody),
        // What nobody could see whole nobody is asked for.
        ApprovalMode::Smart | ApprovalMode::Manual if shown.is_err() => {
            shown.err().map(Unapproved::TooLong)
        }
        // A model can't see through it either.
        ApprovalMode::Smart if !is_admins && !is_hidden => turn.ask_model(&question).await?,
        ApprovalMode::Smart => turn.ask_admin(&question).await?.err(),
        ApprovalMode::Manual => turn.ask_admin(&question).await?.err(),
    };
    why.map_or(Ok(()), deny)
}

/// Whether whoever asked agreed to a call before it was made; `None` where somebody is asked.
fn allowed_before(turn: &Turn<'_>, call: Call<'_>, judged: &Judged) -> Option<bool> {
    let terms = turn.cx.from.terms.as_ref()?;
    match judged.tool.risk(&judged.arguments) {
        Risk::Command(command) => terms.allows(call.name, Some(&command)),
        Risk::None | Risk::Input { .. } | Risk::Code { .. } | Risk::ChangeSelf(_) => {
            terms.allows(call.name, None)
        }
    }
}

/// Gets the agreement to what words of others may have brought about; who gave it, where somebody
/// had to. An admin and nobody else: a model that judged would read the same words.
pub(super) async fn of_steered(
    turn: &mut Turn<'_>,
    call: Call<'_>,
    judged: &Judged,
) -> Result<Option<Actor>, NotPassed> {
    let Some(steered) = &judged.steered else { return Ok(None) };
    not_refused_before(turn, call)?;
    let deny = |why| {
        let (name, sources, by) = (call.name.to_owned(), steered.sources(), steered.by());
        Err(Denial::Tainted { name, sources, by, why: Some(why) }.into())
    };
    if turn.mode() == ApprovalMode::Deny {
        return deny(Unapproved::Nobody);
    }
    let redaction = turn.redaction();
    let Setting { reader, ground, .. } = &judged.setting;
    // Only what runs a program begins somewhere.
    let folder = match judged.tool.risk(&judged.arguments) {
        Risk::Command(_) | Risk::Code { .. } => folder_of(ground),
        Risk::Input { .. } => {
            reader.as_ref().map_or(StartFolder::Nowhere, |it| folder_of(&it.ground))
        }
        Risk::None | Risk::ChangeSelf(_) => StartFolder::Nowhere,
    };
    let there = (folder, reader.as_ref().map(|it| it.command.as_str()));
    let unseen = judged.concern.as_ref().and_then(|it| it.unseen);
    let shown = showing::shown(&judged.arguments, there, unseen, |text| redaction.told(text));
    let shown = match shown {
        Ok(shown) => shown,
        Err(why) => return deny(Unapproved::TooLong(why)),
    };
    let why = redaction.told(steered.told(turn, &judged.tool, &judged.arguments, call));
    let what = format!("{shown}\n{why}");
    let by = steered.by();
    let question = Question {
        rule: INTEGRITY,
        by: Some(&by),
        found: judged.concern.as_ref(),
        what: &what,
        // Other words may be behind it the next time, so no earlier yes counts and none is kept.
        widest: ApprovalDuration::Once,
        ..asked_for(turn.cx, call, judged)
    };
    let _waits = waiting(turn, judged).await;
    match turn.ask_admin(&question).await? {
        Ok(by) => Ok(Some(by)),
        Err(why) => deny(why),
    }
}

/// Counts a program that waits for a yes among those that run: what is written meanwhile where it
/// looks may be what it does, and nobody was asked about that.
async fn waiting(turn: &Turn<'_>, judged: &Judged) -> Option<Alive> {
    if !runs_programs(&judged.tool) {
        return None;
    }
    let agent = &turn.cx.agent;
    let places = turn.cx.files.places().await.unwrap_or_default();
    let sees = places.iter().map(|it| it.path.clone()).collect();
    let writes = places.iter().filter(|it| it.mode == AccessMode::Rw);
    let writes = writes.map(|it| it.path.clone()).collect();
    let program = LiveProgram::new(sees, writes, ProgramReach::of(agent));
    Some(turn.shop.caps.programs.enter(&agent.id, program))
}

/// Gets the agreement to write what every conversation can read; who gave it, where somebody had
/// to.
pub(super) async fn of_global_write(
    turn: &mut Turn<'_>,
    call: Call<'_>,
    judged: &Judged,
    agreed: Option<Actor>,
) -> Result<Option<Actor>, NotPassed> {
    let cx = turn.cx;
    let Some(memory) = &cx.agent.memory else { return Ok(None) };
    let is_asked_for = judged.tool.reaches_everywhere(&judged.arguments);
    let remembers = tool::find(call.name).is_some_and(|it| it.effects.contains(&Effect::Remember));
    if !is_asked_for && (!remembers || agreed.is_none()) {
        return Ok(None);
    }
    // Where all of the agent's memory is one, there is nothing more to confirm; who agreed to it
    // because of what the turn has read agreed that every conversation reads it.
    if remembers_everywhere(turn, &cx.agent).await {
        return Ok(agreed);
    }
    if !is_asked_for {
        return Ok(None);
    }
    let deny = |why| Err(Denial::Everywhere { name: call.name.to_owned(), why }.into());
    match memory.global_writes {
        GlobalWrites::Deny => return deny(None),
        _ if agreed.is_some() => return Ok(agreed),
        // An admin's own word is one, asked for or not, where nobody else had one.
        GlobalWrites::Allow | GlobalWrites::Approve
            if turn.is_all_of_admins(call.history, Verb::Approve) =>
        {
            return Ok(Some(cx.principal.clone()));
        }
        GlobalWrites::Allow => return Ok(None),
        GlobalWrites::Approve => {}
    }
    not_refused_before(turn, call)?;
    let redaction = turn.redaction();
    let nowhere = (StartFolder::Nowhere, None);
    let shown = showing::shown(&judged.arguments, nowhere, None, |text| redaction.told(text));
    let question = Question {
        rule: GLOBAL_WRITE,
        what: shown.as_deref().unwrap_or_default(),
        ..asked_for(cx, call, judged)
    };
    if let Some(grant) = turn.shop.approvals.allowed(&question).await? {
        return Ok(Some(grant.by));
    }
    if let Err(why) = shown {
        return deny(Some(Unapproved::TooLong(why)));
    }
    // An admin, whatever else the agent may do without one.
    match turn.ask_admin(&question).await? {
        Ok(by) => Ok(Some(by)),
        Err(why) => deny(Some(why)),
    }
}

/// Nobody is asked twice for what they refused.
fn not_refused_before(turn: &Turn<'_>, call: Call<'_>) -> Result<(), Denial> {
    let is_known = turn.refused.contains_key(&(call.name.to_owned(), call.arguments.to_owned()));
    if is_known { Err(Denial::Repeated { name: call.name.to_owned() }) } else { Ok(()) }
}

fn asked_for<'q>(cx: &'q TurnContext, call: Call<'q>, judged: &'q Judged) -> Question<'q> {
    Question {
        agent: &cx.agent,
        session: cx.session,
        turn: cx.turn,
        call: call.id,
        tool: call.name,
        arguments: &judged.arguments,
        place: None,
        widest: ApprovalDuration::Always,
        rule: "",
        by: None,
        found: None,
        what: "",
        principal: &cx.principal,
    }
}

impl Turn<'_> {
    /// How agreement is had: by the stricter way of the turn's generation and the one that holds.
    pub(crate) fn mode(&self) -> ApprovalMode {
        let denies = |job: &Arc<JobTurn>| job.approvals == JobApprovals::Deny;
        if self.cx.from.job.as_ref().is_some_and(denies) {
            return ApprovalMode::Deny;
        }
        let own = self.cx.agent.boundary.approvals.mode;
        let Some(now) = &self.now else { return own };
        let now = now.boundary.approvals;
        // A child is asked for only while its agent's children may ask.
        let is_child = self.cx.kin.origin.is_some();
        let is_closed = is_child && now.in_children == ChildApprovals::Deny;
        if is_closed { ApprovalMode::Deny } else { own.min(now.mode) }
    }

    /// Asks an admin, and waits: who said yes, or why nobody did.
    async fn ask_admin(
        &self,
        question: &Question<'_>,
    ) -> Result<Result<Actor, Unapproved>, Broken> {
        let Question { tool, what, rule, .. } = *question;
        let only = |terms: &Arc<Terms>| terms.approvals != TermApprovals::Ask;
        if self.cx.from.terms.as_ref().is_some_and(only) {
            return Ok(Err(Unapproved::Nobody));
        }
        if let Some(reason) = self.before_approval(tool, what, rule).await {
            return Ok(Err(Unapproved::Denied { reason: Some(reason) }));
        }
        let (voice, cancel) = (&self.cx.live.voice, &self.cx.live.cancel);
        let mut id = String::new();
        let (lives, agent) = (&self.shop.lives, &self.cx.agent);
        let asked = self.shop.approvals.ask(question, cancel, |approval| {
            id = approval.id.to_string();
            voice.say(TurnEvent::Approval {
                id: id.clone(),
                tool: question.tool.to_owned(),
                what: approval.what.clone(),
                rule: question.rule.to_owned(),
                wait_s: until(approval.asked_at, approval.expires_at).as_secs(),
            });
            // The tool and the rule, never what it would do: that is shown where it was asked.
            let what = format!("{} ({})", question.tool, question.rule);
            let key = &self.cx.key;
            let known_in = Some((key.platform, key.account.clone(), key.chat.clone()));
            let facts = LifeFacts { what: Some(what), known_in, ..LifeFacts::default() };
            let generation = agent.generation.0;
            lives.tell(agent, LifeKind::ApprovalWaits, generation, &self.cx.principal, facts);
        });
        let (outcome, by, answer) = match asked.await? {
            ApprovalDecision::Approved { by } => {
                (ApprovalOutcome::Approved, Some(by.clone()), Ok(by))
            }
            ApprovalDecision::Denied { by, reason } => {
                (ApprovalOutcome::Denied, Some(by), Err(Unapproved::Denied { reason }))
            }
            ApprovalDecision::TimedOut => {
                (ApprovalOutcome::TimedOut, None, Err(Unapproved::Silence))
            }
            ApprovalDecision::Stopped => (ApprovalOutcome::Stopped, None, Err(Unapproved::Silence)),
        };
        let told = match outcome {
            ApprovalOutcome::Approved => "approved",
            ApprovalOutcome::Denied => "denied",
            ApprovalOutcome::TimedOut => "timed_out",
            ApprovalOutcome::Stopped => "stopped",
        };
        self.after_approval(tool, what, told).await;
        voice.say(TurnEvent::ApprovalDone { id, tool: question.tool.to_owned(), outcome, by });
        if outcome == ApprovalOutcome::Stopped {
            return Err(Broken::Stopped(None, Usage::default()));
        }
        Ok(answer)
    }

    /// Asks a model. What goes wrong is a no.
    async fn ask_model(&mut self, question: &Question<'_>) -> Result<Option<Unapproved>, Broken> {
        let chain = self.chain().await?;
        let Question { tool, rule, what, .. } = *question;
        let request = smart::request(tool, rule, what, &self.redaction());
        let purpose = format!("approval {}", question.call);
        let said = match self.listen(&chain, &request, &purpose, Asking::Aside).await {
            Ok((answer, usage)) => {
                self.spent += usage;
                self.spent_in_vain(usage).await?;
                answer.text()
            }
            Err(ModelCallFailure::Stopped(_)) => {
                return Err(Broken::Stopped(None, Usage::default()));
            }
            Err(ModelCallFailure::OverBudget(BudgetError::Store(error))) => {
                return Err(error.into());
            }
            Err(
                ModelCallFailure::OverBudget(_)
                | ModelCallFailure::TooLong(_)
                | ModelCallFailure::Failed(_),
            ) => String::new(),
        };
        let (kind, why) = match smart::is_yes(&said) {
            true => ("approval.approved", None),
            false => ("approval.denied", Some(Unapproved::Judged)),
        };
        let told = json!({ "scope": "once", "mode": "smart" });
        let audit = self.shop.approvals.audit(&Actor::Model, kind, question, told);
        self.commit(vec![audit]).await?;
        Ok(why)
    }
}

/// Where something begins, as people are shown it.
fn folder_of(ground: &Option<Ground>) -> StartFolder<'_> {
    ground.as_ref().map_or(StartFolder::Usual, |ground| StartFolder::In(ground.path()))
}
