//! The approval of one call: by an earlier grant, by a model, or by an admin who is asked.

use super::ask::Asked;
use super::run::{Broken, Turn};
use crate::approvals::{Answered, Question, showing, smart};
use crate::budget::BudgetError;
use crate::turn::event::{ApprovalOutcome, TurnEvent};
use crate::turn::gate::{self, Admitted, Denial, Unapproved};
use insula_domain::ApprovalMode;
use insula_domain::command::{DangerRule, Finding};
use insula_domain::question::Folder;
use insula_store::Usage;
use insula_tools::Risk;
use serde_json::json;

impl Turn<'_> {
    /// Gets the approval that a call needs; why not, where there is none.
    pub(super) async fn approve(
        &mut self,
        id: &str,
        (name, arguments): (&str, &str),
        admitted: &Admitted,
        finding: &Finding,
    ) -> Result<Result<(), Denial>, Broken> {
        // Nobody is asked twice for what they refused.
        if self.refused.contains_key(&(name.to_owned(), arguments.to_owned())) {
            return Ok(Err(Denial::Repeated { name: name.to_owned() }));
        }
        // Where nobody may be asked, nobody's earlier yes counts either.
        if self.cx.agent.boundary.approvals.mode == ApprovalMode::Deny {
            let (name, finding, why) = (name.to_owned(), finding.clone(), Unapproved::Nobody);
            return Ok(Err(Denial::Unapproved { name, finding, why }));
        }
        let deny =
            |why| Denial::Unapproved { name: name.to_owned(), finding: finding.clone(), why };
        // The same words do something else in another folder.
        let runs =
            matches!(admitted.tool.risk(&admitted.arguments), Risk::Command(_) | Risk::Code { .. });
        let place = admitted.place.as_deref().filter(|_| runs);
        let folder = gate::folder(&admitted.arguments, place);
        let folder = match (&folder, runs) {
            (_, false) => Folder::Nowhere,
            (None, true) => Folder::Usual,
            (Some(folder), true) => Folder::In(folder),
        };
        let (cx, redaction) = (self.cx, self.redaction());
        let shown = showing::shown(&admitted.arguments, folder, |text| redaction.told(text));
        let what = shown.as_deref().unwrap_or_default();
        let question = Question {
            agent: &cx.agent,
            session: cx.session,
            turn: cx.turn,
            call: id,
            tool: name,
            arguments: &admitted.arguments,
            place,
            rule: finding.rule.as_str(),
            what,
            principal: &cx.principal,
        };
        if self.shop.approvals.allowed(&question).await?.is_some() {
            return Ok(Ok(()));
        }
        let why = match cx.agent.boundary.approvals.mode {
            // Who is an admin was not asked.
            ApprovalMode::Off if finding.rule == DangerRule::ChangeSelf => Some(Unapproved::Nobody),
            ApprovalMode::Off => None,
            ApprovalMode::Deny => Some(Unapproved::Nobody),
            // What nobody could see whole nobody is asked for.
            ApprovalMode::Smart | ApprovalMode::Manual if shown.is_err() => {
                shown.err().map(Unapproved::TooLong)
            }
            ApprovalMode::Smart => self.judge(&question).await?,
            ApprovalMode::Manual => self.ask_admin(&question).await?.err(),
        };
        Ok(why.map_or(Ok(()), |why| Err(deny(why))))
    }

    /// Asks an admin, and waits: who said yes, or why nobody did.
    pub(super) async fn ask_admin(
        &self,
        question: &Question<'_>,
    ) -> Result<Result<Box<str>, Unapproved>, Broken> {
        let Question { tool, what, rule, .. } = *question;
        if let Some(reason) = self.before_approval(tool, what, rule).await {
            return Ok(Err(Unapproved::Denied { reason: Some(reason) }));
        }
        let (voice, cancel) = (&self.cx.live.voice, &self.cx.live.cancel);
        let mut id = String::new();
        let asked = self.shop.approvals.ask(question, cancel, |approval| {
            id = approval.id.to_string();
            voice.say(TurnEvent::Approval {
                id: id.clone(),
                tool: question.tool.to_owned(),
                what: approval.what.clone(),
                rule: question.rule.to_owned(),
            });
        });
        let (outcome, by, answer) = match asked.await? {
            Answered::Approved { by } => (ApprovalOutcome::Approved, Some(by.clone()), Ok(by)),
            Answered::Denied { by, reason } => {
                (ApprovalOutcome::Denied, Some(by), Err(Unapproved::Denied { reason }))
            }
            Answered::Silence => (ApprovalOutcome::TimedOut, None, Err(Unapproved::Silence)),
            Answered::Stopped => (ApprovalOutcome::Stopped, None, Err(Unapproved::Silence)),
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
    async fn judge(&mut self, question: &Question<'_>) -> Result<Option<Unapproved>, Broken> {
        let chain = self.shop.chain(&self.cx.agent).map_err(Broken::Said)?;
        let Question { tool, rule, what, .. } = *question;
        let request = smart::request(tool, rule, what, &self.redaction());
        let purpose = format!("approval {}", question.call);
        let said = match self.listen(&chain, &request, &purpose, false).await {
            Ok((answer, usage)) => {
                self.spent += usage;
                self.spent_in_vain(usage).await?;
                answer.text()
            }
            Err(Asked::Stopped(_)) => return Err(Broken::Stopped(None, Usage::default())),
            Err(Asked::OverBudget(BudgetError::Store(error))) => return Err(error.into()),
            Err(Asked::OverBudget(_) | Asked::TooLong(_) | Asked::Failed(_)) => String::new(),
        };
        let (kind, why) = match smart::is_yes(&said) {
            true => ("approval.approved", None),
            false => ("approval.denied", Some(Unapproved::Judged)),
        };
        let told = json!({ "scope": "once", "mode": "smart" });
        let audit = self.shop.approvals.audit("model", kind, question, told);
        self.commit(vec![audit]).await?;
        Ok(why)
    }
}
