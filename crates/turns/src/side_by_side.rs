//! Calls of one answer that are made at once.
//!
//! Only those are that look, or that have children: what writes, runs, sends or remembers is made
//! alone, and all before it is over by then. The gate judges them in their order, and what came of
//! them is written down in their order.
//!
//! A model wrote all calls of an answer before it was shown a result of any, so none of them is
//! steered by what another brings. All the same, a call is made alone where whether it may be made
//! depends on what the turn has read: so each is judged as it would be after those before it. The
//! labels of results say what those before and they brought, and not what came beside them.

use crate::LOG;
use crate::calls::{Called, HOOKS};
use crate::gate;
use crate::one_call::{Judged, Ran};
use crate::seen::SeenApart;
use crate::turn::{Broken, Turn};
use futures_util::future::join_all;
use insula_domain::Effect;
use insula_domain::tool::{self, ToolSpec};
use insula_store::{Message, Usage};
use insula_tools::{Recall, Risk, ToolRef};
use serde_json::Value;
use tracing::Instrument as _;

/// Most calls that one turn makes at once: enough to wait for several pages at a time, and too few
/// to take up the daemon.
pub const AT_ONCE_MAX: usize = 8;

/// A call of an answer: its id, the tool, the arguments as they were written.
type AnswerCall = (String, String, String);

/// What calls do that are made at once. Children work on what others would read, so they are made
/// beside children alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Looks,
    HasChildren,
}

impl Beside {
    /// What calls of a tool are, where they may be made beside others. What shows skills or tools
    /// decides what comes after it.
    fn of(spec: &ToolSpec) -> Option<Self> {
        let looks = |effect: &Effect| {
            matches!(
                effect,
                Effect::ReadFiles
                    | Effect::Network
                    | Effect::Recall
                    | Effect::ReadHistory
                    | Effect::ReadBoard
            )
        };
        match spec.effects {
            [Effect::Delegate] => Some(Self::HasChildren),
            effects if effects.iter().all(looks) => Some(Self::Looks),
            _ => None,
        }
    }
}

impl Turn<'_> {
    /// How many of these calls are made at once, from the first one on.
    pub(super) async fn how_many_at_once(&self, calls: &[AnswerCall]) -> usize {
        let may = self.takes_calls_at_once
            && self.goes_on.is_none()
            // Who edits along is asked and told of one call after the other.
            && self.cx.files.buffers().is_none()
            && !HOOKS.iter().any(|event| self.cx.agent.hooks.has(*event));
        if !may || calls.len() < 2 {
            return 1;
        }
        let (mut first, mut count) = (None, 0);
        for call in calls.iter().take(AT_ONCE_MAX) {
            let Some(it) = self.beside(call, &calls[..count]).await else { break };
            if *first.get_or_insert(it) != it {
                break;
            }
            count += 1;
        }
        count.max(1)
    }

    /// What a call is, where it may be made beside those before it.
    async fn beside(&self, call: &AnswerCall, before: &[AnswerCall]) -> Option<Beside> {
        let (id, name, arguments) = call;
        let same = (name.clone(), arguments.clone());
        // Of what is repeated the turn decides by what came of it before.
        let is_repeated = self.same.contains_key(&same)
            || self.refused.contains_key(&same)
            || before.iter().any(|(_, its, with)| (its, with) == (name, arguments));
        if is_repeated || self.interrupted.contains_key(id.as_str()) {
            return None;
        }
        let it = Beside::of(tool::find(name)?)?;
        let built_in = self.shop.built.iter().copied().find(|tool| tool.name() == name);
        let tool = self.cx.agent.toolbox.find(name).or(built_in.map(ToolRef::BuiltIn))?;
        let arguments: Value = serde_json::from_str(arguments).ok()?;
        let is_plain = !tool.is_quarantined()
            && tool.recall() == Recall::Nothing
            && tool.risk(&arguments) == Risk::None
            && !gate::depends_on_words(self, &tool, &arguments).await;
        is_plain.then_some(it)
    }

    /// Makes calls at once. Each is judged before the first is made, and what came of them is
    /// journalled in their order, whichever was over first.
    pub(super) async fn make_at_once(
        &mut self,
        calls: &[AnswerCall],
        history: &mut Vec<Message>,
    ) -> Result<(), Broken> {
        let mut judged = Vec::with_capacity(calls.len());
        for (id, name, arguments) in calls {
            self.go_on()?;
            judged.push(self.judge((id, name, arguments), history).await?);
        }
        let running = judged.iter().zip(calls).map(|(judged, (_, name, _))| {
            let span = tracing::debug_span!(target: LOG, "tool", tool = %name);
            let (turn, history) = (&*self, &**history);
            let running = async move {
                match judged {
                    Judged::Begun(begun) => {
                        Some(turn.cx.seen.apart(turn.run_call(begun, history)).await)
                    }
                    Judged::Denied(..) => None,
                }
            };
            running.instrument(span)
        });
        let ran: Vec<Option<(Ran, SeenApart)>> = join_all(running).await;
        let mut stopped = None;
        for (judged, ran) in judged.into_iter().zip(ran) {
            let (ran, seen) = ran.unzip();
            if let Some(seen) = seen {
                self.cx.seen.join(seen);
            }
            match self.finish(judged, ran).await {
                Ok(Called::Result(seq, message)) => history.push(self.placed(&message, seq)),
                // Those that were over by then have their results.
                Err(Broken::Stopped(..)) => stopped = Some(()),
                Err(broken) => return Err(broken),
                // Nothing that only looks asks anybody.
                Ok(Called::Ask(..)) => stopped = Some(()),
            }
        }
        match stopped {
            Some(()) => Err(Broken::Stopped(None, Usage::default())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_and_who_has_children_are_made_beside_their_like_and_nothing_else_is() {
        let of = |name| Beside::of(tool::find(name).unwrap());
        for name in [
            "read_file",
            "search_files",
            "web_search",
            "web_extract",
            "memory_search",
            "session_search",
        ] {
            assert_eq!(of(name), Some(Beside::Looks), "{name}");
        }
        assert_eq!(of("delegate_task"), Some(Beside::HasChildren));
        for name in [
            "write_file",
            "patch",
            "terminal",
            "execute_code",
            "memory",
            "send_message",
            "todo",
            "clarify",
            "message_agent",
            "cronjob",
            "skill_view",
            "skill_manage",
            "kanban_attach",
            "image_generate",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
