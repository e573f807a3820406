//! The tool calls of a turn: through the gate, journalled before and after.

use crate::LOG;
use crate::course::TurnFailure;
use crate::gate::Denial;
use crate::history::unanswered;
use crate::run::calls;
use crate::turn::{Broken, Turn};
use insula_domain::FailureCause;
use insula_domain::hook::HookEvent;
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_store::{Message, MessageSeq, NewMessage, NewStep, Part, Role, Usage};
use insula_tools::{Course, Picture};
use tracing::Instrument as _;

/// What would make more of a glance than a moment, and has calls made one after the other.
pub(super) const HOOKS: [HookEvent; 3] =
    [HookEvent::PreToolCall, HookEvent::TransformToolResult, HookEvent::PostToolCall];

/// How often one refused call may come again before the turn is told to stop trying.
const REFUSALS_MAX: usize = 3;
/// How often one call may give the same result before the model is told.
const SAME_TOLD: usize = 4;
/// How often before the turn ends.
const SAME_MAX: usize = 12;

/// What became of a call.
pub(super) enum Called {
    /// It has a result.
    Result(MessageSeq, NewMessage),
    /// It is a question to the person, with the result that stands for it meanwhile.
    Ask(String, NewMessage),
}

/// A turn that does the same thing over and over ends.
fn in_circles(why: String) -> Broken {
    Broken::Said(TurnFailure::new(FailureCause::InCircles, why))
}

impl Turn<'_> {
    /// Ends what a crash left open: calls that the last answer asked for and that have no
    /// result. One that had begun is not repeated; the model is told that nobody knows.
    pub(super) async fn catch_up(
        &mut self,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let is_asking = |it: &Message| it.turn == Some(self.cx.turn) && it.role == Role::Assistant;
        let Some(at) = history.iter().rposition(is_asking) else { return Ok(None) };
        let unanswered = unanswered(history, at);
        let mut open = calls(&history[at].parts);
        open.retain(|(id, ..)| unanswered.iter().any(|open| **open == **id));
        // What is journalled as it is done is made again: it finds what it had done.
        let goes_on = |name: &str| {
            let tool = self.shop.built.iter().find(|tool| tool.name() == name);
            tool.is_some_and(|tool| tool.course() == Course::Journalled)
        };
        let (begun, fresh): (Vec<_>, Vec<_>) = open.into_iter().partition(|(id, name, _)| {
            self.interrupted.contains_key(id.as_str()) && !goes_on(name)
        });
        self.count_again(history, &fresh);
        for (id, name, _) in begun {
            let text = "this call was interrupted and its outcome is unknown; find out before you repeat it";
            self.interrupted.remove(id.as_str());
            let result = self.result(&id, text.to_owned(), true);
            let ended = NewStep::CallEnded { call: id.as_str().into(), message: result.clone() };
            let audit = self.audit((&id, &name), "interrupted", None);
            let seq = self.journal(ended, Some(audit)).await?;
            history.push(self.placed(&result, seq));
        }
        self.calls(fresh, history).await
    }

    /// Counts the calls that were made before a crash. Whether one was refused is not told
    /// apart, so that nothing is made more often than it may be.
    fn count_again(&self, history: &[Message], fresh: &[(String, String, String)]) {
        let own = history.iter().filter(|it| it.turn == Some(self.cx.turn));
        for call in own.flat_map(|it| calls(&it.parts)).filter(|call| !fresh.contains(call)) {
            let (_, name, arguments) = call;
            self.cx.made.add(&name, serde_json::from_str(&arguments).unwrap_or_default());
        }
    }

    /// Makes the calls of one answer; the end of the turn, if one of them is it.
    pub(super) async fn calls(
        &mut self,
        calls: Vec<(String, String, String)>,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let mut rest = &calls[..];
        while let Some((id, name, arguments)) = rest.first() {
            self.go_on()?;
            let count = self.how_many_at_once(rest).await;
            let (now, later) = rest.split_at(count);
            rest = later;
            if count > 1 {
                self.make_at_once(now, history).await?;
                continue;
            }
            let span = tracing::debug_span!(target: LOG, "tool", tool = %name);
            match self.call(id, name, arguments, history).instrument(span).await? {
                Called::Result(seq, message) => history.push(self.placed(&message, seq)),
                Called::Ask(text, result) => {
                    let question = self.message(Role::Assistant, vec![Part::Text(text.clone())]);
                    self.reply(vec![result, question], Usage::default(), None).await?;
                    let (usage, calls) = (self.spent, Vec::new());
                    return Ok(Some(TurnEnd::Replied { text, usage, cut: None, calls }));
                }
            }
        }
        Ok(None)
    }

    /// Tells a model that goes in circles, and ends the turn when it does not listen.
    pub(super) fn watch(
        &mut self,
        name: &str,
        arguments: &str,
        text: &str,
    ) -> Result<Option<String>, Broken> {
        let hash = blake3::hash(text.as_bytes());
        let call = (name.to_owned(), arguments.to_owned());
        let (before, count) = self.same.entry(call).or_insert((hash, 0));
        *count = if *before == hash { *count + 1 } else { 1 };
        *before = hash;
        match *count {
            ..SAME_TOLD => Ok(None),
            SAME_TOLD..SAME_MAX => Ok(Some(format!(
                "\n[this call gave the same result {count} times in this turn; do something else, or answer]"
            ))),
            _ => Err(in_circles(format!(
                "the same call of `{name}` was made again and again, with the same result"
            ))),
        }
    }

    /// Counts how often a call was refused, and ends the turn where that is too often.
    pub(super) fn count_refusal(&mut self, name: &str, arguments: &str) -> Result<usize, Broken> {
        let count = self.refused.entry((name.to_owned(), arguments.to_owned())).or_default();
        *count += 1;
        match *count {
            ..=REFUSALS_MAX => Ok(*count),
            _ => Err(in_circles(format!(
                "the same refused call of `{name}` was made again and again"
            ))),
        }
    }

    pub(super) async fn refuse(
        &mut self,
        id: &str,
        name: &str,
        arguments: &str,
        denial: Denial,
    ) -> Result<Called, Broken> {
        let count = self.count_refusal(name, arguments)?;
        let denial = if count > 1 { Denial::Repeated { name: name.to_owned() } } else { denial };
        self.cx.live.voice.say(TurnEvent::ToolDone { name: name.to_owned(), is_error: true });
        // Which rule of the operator's it was, by its name.
        let by = match &denial {
            Denial::Rule { refused, .. } => Some(refused.rule.to_string()),
            Denial::Hook { hook, .. } => Some(hook.clone()),
            Denial::Tainted { by, .. } => Some(by.clone()),
            Denial::Link { by, .. } => Some((*by).to_owned()),
            _ => None,
        };
        let audit = self.audit_about((id, name), "refused", Some(denial.rule()), by);
        let rule = (true, Some(denial.rule()));
        self.tell_editor_of_end((id, name), rule, &denial.to_string(), Vec::new());
        let result = self.result(id, denial.to_string(), true);
        let ended = NewStep::CallEnded { call: id.into(), message: result.clone() };
        let seq = self.journal(ended, Some(audit)).await?;
        Ok(Called::Result(seq, result))
    }

    /// What the marks around a call's foreign text are told apart by.
    pub(super) fn mark(&self, call: &str) -> String {
        let (agent, turn) = (self.cx.agent.id.as_str(), self.cx.turn.to_string());
        self.shop.world.random.stream(&["untrusted", agent, &turn, call]).id()
    }

    pub(super) fn result(&self, call: &str, text: String, is_error: bool) -> NewMessage {
        let call = call.into();
        let part = Part::ToolResult { call, text, is_error, untrusted: false };
        self.message(Role::Tool, vec![part])
    }
}

/// A picture as it is journalled, beside the result that it came by.
pub(crate) fn picture(picture: Picture) -> Part {
    let Picture { media_type, data } = picture;
    let source = format!("data:{media_type};base64,{data}").into();
    Part::Image { source, media_type: media_type.into() }
}

impl Turn<'_> {
    /// Journals an answer, now or with the result of what it asks for, and makes its calls; the
    /// end of the turn, if one of them is it.
    pub(super) async fn answered(
        &mut self,
        message: NewMessage,
        usage: Usage,
        history: &mut Vec<Message>,
    ) -> Result<Option<TurnEnd>, Broken> {
        let calls = calls(&message.parts);
        let step = NewStep::Answered { message: message.clone(), usage };
        let at = history.len();
        if calls.iter().all(|(_, name, _)| self.is_glance(name)) {
            self.pending.put(self.step(step));
            history.push(self.placed(&message, MessageSeq::default()));
        } else {
            let seq = self.journal(step, None).await?;
            history.push(self.placed(&message, seq));
        }
        let end = self.calls(calls, history).await?;
        if let (Some(seq), Some(answer)) = (self.pending.place(), history.get_mut(at)) {
            answer.seq = seq;
        }
        Ok(end)
    }

    fn is_glance(&self, name: &str) -> bool {
        let tool = self.shop.built.iter().find(|tool| tool.name() == name);
        tool.is_some_and(|tool| tool.course() == Course::Glance)
            && !HOOKS.iter().any(|event| self.cx.agent.hooks.has(*event))
    }
}
