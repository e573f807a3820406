//! The end of a turn whose model calls tools of the caller's: the calls are handed over, and
//! nobody here makes them.

use crate::client::{calls_of, journalled};
use crate::messages::text_of;
use crate::turn::{Broken, Turn};
use insula_models::Answer;
use insula_registry::events::turn::{ClientCall, TurnEnd, TurnEvent};
use insula_store::{Message, NewMessage, NewStep, Part, Role, TurnOutcome, Usage};
use insula_tools::mend::missing;
use serde_json::Value;

impl Turn<'_> {
    /// Ends the turn with the calls of an answer that are the caller's to make; `None` where the
    /// model has to be asked again first.
    pub(super) async fn hand_over(
        &mut self,
        mut message: NewMessage,
        (answer, usage): (&Answer, Usage),
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        if let Some(what) = self.malformed(&message.parts) {
            self.send_back(message, usage, &what, history).await?;
            return Ok(None);
        }
        let mut text = text_of(&message.parts);
        if !text.is_empty()
            && let Some(objection) = self.unverified(answer, usage, history).await?
        {
            let said = self.message(Role::Assistant, vec![Part::Text(text)]);
            let step = NewStep::Answered { message: said.clone(), usage };
            let seq = self.journal(step, None).await?;
            history.push(self.placed(&said, seq));
            self.object(&objection, history).await?;
            return Ok(None);
        }
        if !self.close().await {
            // Said before it knew all that was asked: void, and paid for.
            self.spent_in_vain(usage).await?;
            self.cx.live.voice.say(TurnEvent::Void);
            return Ok(None);
        }
        if !text.is_empty() {
            let transformed = self.transformed(text.clone()).await?;
            if transformed != text {
                message.parts.retain(|part| !matches!(part, Part::Text(_)));
                message.parts.insert(0, Part::Text(transformed.clone()));
                text = transformed;
            }
        }
        let calls = calls_of(&message.parts);
        let audit = |call: &ClientCall| {
            self.audit((&call.id, &journalled(&call.name)), "handed over", None)
        };
        let audits = calls.iter().map(audit).collect();
        let outcome = TurnOutcome::Replied { cut: None };
        let seq = self.conclude_after(audits, vec![message.clone()], usage, outcome).await?;
        history.push(self.placed(&message, seq));
        self.keep_window(std::mem::take(history));
        Ok(Some(TurnEnd::Replied { text, usage: self.spent, cut: None, calls }))
    }

    /// Tells the model that what it wrote are no arguments, before a caller has to find out.
    async fn send_back(
        &mut self,
        message: NewMessage,
        usage: Usage,
        what: &str,
        history: &mut Vec<Message>,
    ) -> Result<(), Broken> {
        for call in calls_of(&message.parts) {
            let name = call.name.to_string();
            self.count_refusal(&name, &call.arguments)?;
        }
        let step = NewStep::Answered { message: message.clone(), usage };
        let seq = self.journal(step, None).await?;
        history.push(self.placed(&message, seq));
        let text = format!(
            "nothing was called: {what}; call again with arguments as the tool describes them"
        );
        for call in calls_of(&message.parts) {
            let result = self.result(&call.id, text.clone(), true);
            let audit =
                self.audit((&call.id, &journalled(&call.name)), "refused", Some("arguments"));
            let ended = NewStep::CallEnded { call: call.id, message: result.clone() };
            let seq = self.journal(ended, Some(audit)).await?;
            history.push(self.placed(&result, seq));
        }
        Ok(())
    }

    /// What is wrong with the first call of a caller's tool whose arguments can't be meant.
    fn malformed(&self, parts: &[Part]) -> Option<String> {
        calls_of(parts).into_iter().find_map(|ClientCall { name, arguments, .. }| {
            let Ok(Value::Object(given)) = serde_json::from_str(&arguments) else {
                return Some(format!("the arguments of `{name}` are not a JSON object"));
            };
            let tool = self.cx.wishes.tools.iter().find(|tool| *tool.name == *name)?;
            let missing = missing(tool.parameters.get(), &given);
            let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            (!names.is_empty())
                .then(|| format!("the arguments of `{name}` lack {}", names.join(", ")))
        })
    }
}
