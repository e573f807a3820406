//! Where a turn asks its agent's hooks. Each is one line where it happens; what an answer
//! means there is here.

use crate::course::TurnFailure;
use crate::facts;
use crate::gate::Denial;
use crate::turn::{Broken, Turn, TurnContext};
use insula_capabilities::hooks::{self, Go, HookDecision, Occasion};
use insula_domain::ApprovalMode;
use insula_domain::command::{CommandFinding, DangerRule};
use insula_domain::hook::HookEvent;
use insula_domain::{Actor, FailureCause};
use insula_models::Answer;
use insula_registry::context::AgentContext;
use insula_store::{Accepted, AgentCommand, Join, Message, NewMessage, Part, Role};
use serde_json::{Value, json};

/// Tools whose output is a program's.
const PROGRAMS: &[&str] = &["terminal", "process", "execute_code"];

impl TurnContext {
    /// Where hooks of this turn are asked.
    pub(crate) fn occasion(&self) -> Occasion<'_> {
        Occasion {
            agent: &self.agent,
            session: Some((self.live.voice.session(), self.session)),
            scope: Some(self.scope.as_str()),
            principal: &self.principal,
            at: Some(&self.from),
            files: Some(&self.files),
        }
    }
}

/// A hook does not let the turn go on.
fn said_no(why: String) -> Broken {
    Broken::Said(TurnFailure::new(FailureCause::Hook, why))
}

impl Turn<'_> {
    pub(super) fn occasion(&self) -> Occasion<'_> {
        self.cx.occasion()
    }

    pub(super) async fn hooks(
        &self,
        event: HookEvent,
        fields: impl FnOnce() -> Value,
    ) -> HookDecision {
        self.hooks_of(&self.cx.agent, event, fields).await
    }

    /// The same of another generation's.
    async fn hooks_of(
        &self,
        agent: &AgentContext,
        event: HookEvent,
        fields: impl FnOnce() -> Value,
    ) -> HookDecision {
        let occasion = Occasion { agent, ..self.occasion() };
        tokio::select! {
            biased;
            decision = hooks::ask(&self.shop.caps, event, &occasion, fields) => decision,
            // Who said stop does not wait for a hook, and what was to happen does not.
            () = self.cx.live.cancel.cancelled() => HookDecision::Block {
                hook: event.to_string(),
                reason: "the turn was stopped".to_owned(),
            },
        }
    }

    /// Before a call: whether it is refused, or somebody has to agree to it.
    pub(super) async fn before_call(
        &self,
        name: &str,
        arguments: &Value,
    ) -> Result<Option<CommandFinding>, Denial> {
        let own = &self.cx.agent;
        let mut concern = self.before_call_of(own, name, arguments).await?;
        // Hooks that were set since have their say, too.
        if let Some(now) = &self.now
            && !now.hooks.iter().eq(own.hooks.iter())
        {
            concern = self.before_call_of(now, name, arguments).await?.or(concern);
        }
        Ok(concern)
    }

    async fn before_call_of(
        &self,
        agent: &AgentContext,
        name: &str,
        arguments: &Value,
    ) -> Result<Option<CommandFinding>, Denial> {
        let mut concern = None;
        let is_mcp = name.starts_with("mcp__");
        let events = [HookEvent::PreToolCall, HookEvent::McpCall];
        for event in events.into_iter().filter(|event| *event == HookEvent::PreToolCall || is_mcp) {
            let fields = || json!({ "tool_name": name, "tool_input": arguments });
            let refused =
                |hook: String, reason: String| Denial::Hook { name: name.to_owned(), hook, reason };
            match self.hooks_of(agent, event, fields).await {
                HookDecision::Block { hook, reason } => return Err(refused(hook, reason)),
                HookDecision::Go(Go { approve: Some((hook, reason)), .. }) => {
                    // Where nobody is ever asked, nobody can agree.
                    if self.mode() == ApprovalMode::Off {
                        let reason = format!("{reason}; it needs approval, and approvals are off");
                        return Err(refused(hook, reason));
                    }
                    concern = Some(CommandFinding::new(DangerRule::Hook, reason));
                }
                HookDecision::Go(_) => {}
            }
        }
        Ok(concern)
    }

    /// After a call: what the model is shown of its result, and whether as an error.
    pub(super) async fn after_call(
        &self,
        name: &str,
        arguments: &Value,
        text: String,
        is_error: bool,
    ) -> (String, bool) {
        let hooks = &self.cx.agent.hooks;
        let events = [HookEvent::TransformTerminalOutput, HookEvent::TransformToolResult];
        if !events.into_iter().chain([HookEvent::PostToolCall]).any(|event| hooks.has(event)) {
            return (text, is_error);
        }
        let (mut text, mut is_error) = (self.redaction().kept(text), is_error);
        for event in events {
            if event == HookEvent::TransformTerminalOutput && !PROGRAMS.contains(&name) {
                continue;
            }
            let fields = || json!({ "tool_name": name, "tool_input": arguments, "text": &text });
            match self.hooks(event, fields).await {
                HookDecision::Go(go) => text = go.text.unwrap_or(text),
                HookDecision::Block { reason, .. } => {
                    text = format!("the result is withheld: {reason}");
                    is_error = true;
                    break;
                }
            }
        }
        let extra = json!({ "is_error": is_error });
        let fields =
            || json!({ "tool_name": name, "tool_input": arguments, "text": &text, "extra": extra });
        hooks::tell(&self.shop.caps, HookEvent::PostToolCall, &self.occasion(), fields).await;
        (text, is_error)
    }

    /// Before a turn asks its model for the first time. What hooks add stands in the history,
    /// so that every later call shows the same.
    pub(super) async fn before_turn(&self, history: &mut Vec<Message>) -> Result<(), Broken> {
        let cx = self.cx;
        let hooks = &cx.agent.hooks;
        if hooks.has(HookEvent::OnSessionStart)
            && history.iter().all(|it| it.turn.is_none_or(|turn| turn == cx.turn))
        {
            let occasion = self.occasion();
            hooks::tell(&self.shop.caps, HookEvent::OnSessionStart, &occasion, || json!({})).await;
        }
        // A turn that goes on after a crash may have been told already.
        let is_told = |it: &Message| it.turn == Some(cx.turn) && it.principal == Actor::Hook;
        if !hooks.has(HookEvent::PreLlmCall) || history.iter().any(is_told) {
            return Ok(());
        }
        let said = facts::heard(cx, history);
        let go = match self.hooks(HookEvent::PreLlmCall, || json!({ "text": said })).await {
            HookDecision::Go(go) => go,
            HookDecision::Block { reason, .. } => {
                return Err(said_no(format!("a hook stopped this turn: {reason}")));
            }
        };
        if go.context.is_empty() {
            return Ok(());
        }
        let parts = vec![Part::Text(go.context.join("\n\n"))];
        let mut added = self.message(Role::System, parts);
        added.principal = Actor::Hook;
        // As part of the turn, so that it stands there also when the history is read again.
        let join = Join { turn: cx.turn, message: added.clone(), idempotency: None };
        let done = self.commit(vec![AgentCommand::Join(Box::new(join))]).await?;
        if let Some(Accepted::New { seq, .. }) = done.accepted() {
            history.push(self.placed(&added, seq));
        }
        Ok(())
    }

    /// Before each request to a model.
    pub(super) async fn before_request(&self, purpose: &str) -> Result<(), String> {
        let extra = || json!({ "extra": { "purpose": purpose } });
        match self.hooks(HookEvent::PreApiRequest, extra).await {
            HookDecision::Go(_) => Ok(()),
            HookDecision::Block { reason, .. } => {
                Err(format!("a hook stopped a request to the model: {reason}"))
            }
        }
    }

    /// After each request to a model.
    pub(super) async fn after_request(&self, purpose: &str, outcome: Result<&Answer, &str>) {
        let (event, extra) = match outcome {
            Ok(answer) => {
                let usage = answer.usage;
                let usage = format!("{usage:?}");
                (HookEvent::PostApiRequest, json!({ "purpose": purpose, "usage": usage }))
            }
            Err(error) => {
                (HookEvent::ApiRequestError, json!({ "purpose": purpose, "error": error }))
            }
        };
        let fields = || json!({ "extra": extra });
        hooks::tell(&self.shop.caps, event, &self.occasion(), fields).await;
    }

    /// The reply, as hooks want it. Nobody has seen it by then.
    pub(super) async fn transformed(&self, text: String) -> Result<String, Broken> {
        let hooks = &self.cx.agent.hooks;
        let is_wanted = hooks.has(HookEvent::TransformLlmOutput);
        if !is_wanted && !hooks.has(HookEvent::PostLlmCall) {
            return Ok(text);
        }
        let mut text = self.redaction().kept(text);
        if is_wanted {
            match self.hooks(HookEvent::TransformLlmOutput, || json!({ "text": &text })).await {
                HookDecision::Go(go) => text = go.text.unwrap_or(text),
                HookDecision::Block { reason, .. } => {
                    return Err(said_no(format!("the reply is withheld: {reason}")));
                }
            }
        }
        let fields = || json!({ "text": &text });
        hooks::tell(&self.shop.caps, HookEvent::PostLlmCall, &self.occasion(), fields).await;
        Ok(text)
    }

    /// The message of a reply, with the text that hooks made of it.
    pub(super) fn replied(&self, message: NewMessage, answer: &Answer, text: &str) -> NewMessage {
        if !self.cx.agent.hooks.has(HookEvent::TransformLlmOutput) || answer.text() == text {
            return message;
        }
        // Whatever else the model said belongs to the text that was taken back.
        self.message(Role::Assistant, vec![Part::Text(text.to_owned())])
    }

    /// Before an admin is asked; why they are not, where a hook says so.
    pub(super) async fn before_approval(
        &self,
        tool: &str,
        what: &str,
        rule: &str,
    ) -> Option<String> {
        let fields = || json!({ "tool_name": tool, "text": what, "extra": { "rule": rule } });
        match self.hooks(HookEvent::PreApprovalRequest, fields).await {
            HookDecision::Go(_) => None,
            HookDecision::Block { reason, .. } => Some(reason),
        }
    }

    /// After an admin answered, or did not.
    pub(super) async fn after_approval(&self, tool: &str, what: &str, outcome: &str) {
        let fields = || json!({ "tool_name": tool, "text": what, "extra": { "outcome": outcome } });
        let occasion = self.occasion();
        hooks::tell(&self.shop.caps, HookEvent::PostApprovalResponse, &occasion, fields).await;
    }
}
