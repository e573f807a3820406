//! The approval of one call: by an earlier grant, by a model, or by an admin who is asked.

use super::ask::Asked;
use super::run::{Broken, Turn};
use crate::approvals::{Question, Reach, showing, smart};
use crate::budget::BudgetError;
use crate::children::Ground;
use crate::turn::event::{ApprovalOutcome, TurnEvent};
use crate::turn::gate::{Admitted, Denial, Unapproved};
use insula_domain::command::{DangerRule, Finding};
use insula_domain::question::Folder;
use insula_domain::{ApprovalMode, ChildApprovals};
use insula_store::{Decision, Usage};
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
        if self.mode() == ApprovalMode::Deny {
            let (name, finding, why) = (name.to_owned(), finding.clone(), Unapproved::Nobody);
            return Ok(Err(Denial::Unapproved { name, finding, why }));
        }
        let deny =
            |why| Denial::Unapproved { name: name.to_owned(), finding: finding.clone(), why };
        // The same words do something else in another folder.
        let begins = |ground: &Option<Ground>| ground.as_ref().map(Ground::identity);
        let reader = admitted.reader.as_ref();
        let (folder, place, widest) = match (admitted.tool.risk(&admitted.arguments), reader) {
            (Risk::Command(_) | Risk::Code { .. }, _) => {
                (folder_of(&admitted.ground), begins(&admitted.ground), Reach::Always)
            }
            // Nobody sees where it has gone since it began, so a yes is for what is written now.
            (Risk::Input { .. }, Some(reader)) => {
                (folder_of(&reader.ground), Some(reader.mark.to_string()), Reach::Once)
            }
            (Risk::Input { .. }, None) => (Folder::Nowhere, None, Reach::Once),
            (Risk::None | Risk::ChangeSelf(_), _) => (Folder::Nowhere, None, Reach::Always),
        };
        let (cx, redaction) = (self.cx, self.redaction());
        let there = (folder, reader.map(|it| it.command.as_str()));
        let told = |text| redaction.told(text);
        let shown = showing::shown(&admitted.arguments, there, finding.unseen, told);
        let what = shown.as_deref().unwrap_or_default();
        let question = Question {
            agent: &cx.agent,
            session: cx.session,
            turn: cx.turn,
            call: id,
            tool: name,
            arguments: &admitted.arguments,
            place: place.as_deref(),
            widest,
            rule: finding.rule.as_str(),
            what,
            principal: &cx.principal,
        };
        if self.shop.approvals.allowed(&question).await?.is_some() {
            return Ok(Ok(()));
        }
        let why = match self.mode() {
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

    /// How agreement is had: by the stricter way of the turn's generation and the one that holds.
    pub(super) fn mode(&self) -> ApprovalMode {
        let own = self.cx.agent.boundary.approvals.mode;
        let Some(now) = &self.now else { return own };
        let now = now.boundary.approvals;
        // A child is asked for only while its agent's children may ask.
        let is_child = self.cx.kin.line.is_some();
        let is_closed = is_child && now.in_children == ChildApprovals::Deny;
        if is_closed { ApprovalMode::Deny } else { own.min(now.mode) }
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
            Decision::Approved { by } => (ApprovalOutcome::Approved, Some(by.clone()), Ok(by)),
            Decision::Denied { by, reason } => {
                (ApprovalOutcome::Denied, Some(by), Err(Unapproved::Denied { reason }))
            }
            Decision::TimedOut => (ApprovalOutcome::TimedOut, None, Err(Unapproved::Silence)),
            Decision::Stopped => (ApprovalOutcome::Stopped, None, Err(Unapproved::Silence)),
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
        let chain = self.chain().await?;
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

/// Where something begins, as people are shown it.
fn folder_of(ground: &Option<Ground>) -> Folder<'_> {
    ground.as_ref().map_or(Folder::Usual, |ground| Folder::In(ground.path()))
}
