//! Before a reply is taken for the turn's last word: hooks may send it back to the model with a
//! reason, a few times, and a caller that wants a call does so once. Nobody has seen a word of it
//! by then.

use crate::course::TurnFailure;
use crate::turn::{Broken, Turn};
use insula_capabilities::hooks::HookDecision;
use insula_domain::hook::HookEvent;
use insula_domain::{Actor, FailureCause};
use insula_models::{Answer, StopReason};
use insula_store::{Accepted, AgentCommand, Join, Message, Part, Role, Usage};
use serde_json::json;

/// How often the reply of one turn is sent back before the turn fails: a model that can't
/// satisfy a hook by then won't.
const ROUNDS_MAX: usize = 3;

impl Turn<'_> {
    /// Whether replies are kept back until hooks have had their say, or until it is clear that
    /// the model can't be brought to make the call that its caller wants.
    pub(super) fn holds_back(&self) -> bool {
        let hooks = &self.cx.agent.hooks;
        self.cx.wishes.demand().is_some()
            || hooks.has(HookEvent::TransformLlmOutput)
            || hooks.has(HookEvent::PreVerify)
    }

    /// What stands against taking this answer, by its caller or by a hook, if something does.
    pub(super) async fn objection(
        &mut self,
        answer: &Answer,
        usage: Usage,
        history: &[Message],
    ) -> Result<Option<String>, Broken> {
        match self.uncalled(answer) {
            Some(demand) => Ok(Some(demand)),
            None => self.unverified(answer, usage, history).await,
        }
    }

    /// What stands against words where the caller demands a call: said once in a turn. A model
    /// that does not call then won't, and its words are the answer; other servers hand them over
    /// the first time, so clients know them.
    fn uncalled(&mut self, answer: &Answer) -> Option<String> {
        // What was withheld would be withheld again.
        if self.was_told_to_call || answer.stop == StopReason::Filtered {
            return None;
        }
        let demand = self.cx.wishes.demand()?;
        self.was_told_to_call = true;
        Some(demand)
    }

    /// What stands against taking this answer, if something does. When that was so too often,
    /// the turn fails, and what the answer took is written down.
    pub(super) async fn unverified(
        &mut self,
        answer: &Answer,
        usage: Usage,
        history: &[Message],
    ) -> Result<Option<String>, Broken> {
        let cx = self.cx;
        if !cx.agent.hooks.has(HookEvent::PreVerify) {
            return Ok(None);
        }
        let is_objection =
            |it: &&Message| it.turn == Some(cx.turn) && it.principal == Actor::Verifier;
        // By what stands there after a crash; by our own count after it was compressed.
        let rounds = self.objections.max(history.iter().filter(is_objection).count());
        let text = self.redaction().kept(answer.text());
        let fields = || json!({ "text": text, "extra": { "round": rounds + 1 } });
        let reason = match self.hooks(HookEvent::PreVerify, fields).await {
            HookDecision::Go(_) => return Ok(None),
            HookDecision::Block { reason, .. } => reason,
        };
        self.go_on()?;
        if rounds < ROUNDS_MAX {
            self.objections = rounds + 1;
            return Ok(Some(reason));
        }
        self.spent_in_vain(usage).await?;
        let why = format!("the reply was not accepted, {ROUNDS_MAX} times over: {reason}");
        Err(Broken::Said(TurnFailure::new(FailureCause::Hook, why)))
    }

    /// Tells the model why its answer was not taken. It stands in the history, after the
    /// answer, so that every later call shows the same.
    pub(super) async fn object(
        &self,
        reason: &str,
        history: &mut Vec<Message>,
    ) -> Result<(), Broken> {
        let text = format!(
            "Your reply was not accepted, and nobody has seen it: {reason}\nAnswer again, in full."
        );
        let mut added = self.message(Role::System, vec![Part::Text(text)]);
        added.principal = Actor::Verifier;
        let join = Join { turn: self.cx.turn, message: added.clone(), idempotency: None };
        let done = self.commit(vec![AgentCommand::Join(Box::new(join))]).await?;
        if let Some(Accepted::New { seq, .. }) = done.accepted() {
            history.push(self.placed(&added, seq));
        }
        Ok(())
    }
}
