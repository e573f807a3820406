//! What a turn remembers: the conversation up to here, what joins it, and the notes that take
//! the place of its older part.

use super::ask::{Asking, ModelCallFailure};
use crate::budget::BudgetError;
use crate::history::Window;
use crate::pending_step::place;
use crate::turn::{Broken, Turn};
use crate::{compress, history};
use insula_domain::Actor;
use insula_models::Chain;
use insula_registry::events::turn::TurnEvent;
use insula_store::{AgentCommand, Message, NewStep, Role, SessionRef, Summary, Usage};

impl Turn<'_> {
    /// The conversation up to here: as the last turn left it, or read again.
    pub(super) async fn remember(&mut self) -> Result<Vec<Message>, Broken> {
        let cx = self.cx;
        let kept = self.shop.windows.take(&cx.agent, cx.session);
        if let (Some(Window { mut history, shown, block, last }), Some((seq, message))) =
            (kept, &cx.message)
        {
            (self.shown, self.block) = (shown, block);
            self.showings.go_on_from(last);
            history.push(self.placed(message, *seq));
            return Ok(history);
        }
        if cx.message.is_none() {
            self.showings.go_on_after(cx.agent.store.shown_calls(cx.turn).await?.len());
        }
        // Whatever joined before the store was read is in what was read.
        let mut inbox = cx.live.inbox.lock().await;
        let history = history::load(&cx.agent.store, cx.session, cx.turn).await?;
        inbox.messages.clear();
        drop(inbox);
        Ok(history)
    }

    /// Takes in what was said since: messages that joined this turn.
    pub(super) async fn hear(&self, history: &mut Vec<Message>) {
        let heard = std::mem::take(&mut self.cx.live.inbox.lock().await.messages);
        if heard.is_empty() {
            return;
        }
        self.cx.seen.add_all(heard.iter().map(|(_, message)| &*message.label));
        let people = heard.iter().map(|(_, message)| &message.principal);
        self.cx.see_people(&self.shop.access, people);
        history.extend(heard.iter().map(|(seq, message)| self.placed(message, *seq)));
        let is_mine = |message: &Message| message.turn == Some(self.cx.turn);
        let from = history.iter().position(is_mine).unwrap_or(history.len());
        let mut mine = history.split_off(from);
        history::arrange(&mut mine);
        history.append(&mut mine);
    }

    /// Replaces the middle of the conversation by a summary. When that can't be had everything
    /// stays as it is, and `false` says not to try again in this turn.
    pub(super) async fn compress(
        &mut self,
        chain: &Chain,
        history: &mut Vec<Message>,
        limit: usize,
    ) -> Result<bool, Broken> {
        let Some(count) = compress::older(history, limit / 3) else { return Ok(false) };
        let older = &history[..count];
        let request = compress::request(older, &self.redaction());
        let (answer, usage) = match self.listen(chain, &request, "summary", Asking::Aside).await {
            Ok(answered) => answered,
            Err(ModelCallFailure::Stopped(_)) => {
                return Err(Broken::Stopped(None, Usage::default()));
            }
            Err(ModelCallFailure::OverBudget(BudgetError::Store(error))) => {
                return Err(error.into());
            }
            // What it costs to go on without is decided by the next call.
            Err(
                error @ (ModelCallFailure::OverBudget(_)
                | ModelCallFailure::TooLong(_)
                | ModelCallFailure::Failed(_)),
            ) => {
                let error = error.to_string();
                let (agent, turn) = (&self.cx.agent.id, self.cx.turn);
                tracing::warn!(%agent, %turn, error, "the conversation could not be summarised; its oldest part is left out");
                return Ok(false);
            }
        };
        let at = self.shop.world.clock.now();
        let spent = self.step(NewStep::Spent { usage, at });
        let notes = answer.text();
        if !compress::is_gain(older, &notes) {
            self.commit(vec![spent]).await?;
            return Ok(false);
        }
        let mut summary = self.message(Role::System, compress::parts(older, &notes));
        summary.principal = Actor::Summary;
        summary.label = self.cx.label_of_notes(&self.shop.access, older);
        // Notes on what people of several scopes said belong to none of them alone.
        if older.iter().any(|message| message.scope != self.cx.scope) {
            summary.scope = self.cx.from.fallback(&self.cx.key).into();
        }
        let session = SessionRef::Id(self.cx.session);
        let messages = vec![summary.clone()];
        let append = AgentCommand::Append { session: session.clone(), messages };
        let message = place(&self.commit(vec![append]).await?);
        let stands = Some(Summary { upto: compress::upto(older), message });
        let summarise = AgentCommand::SummariseSession { session, summary: stands };
        self.commit(vec![summarise, spent]).await?;
        let placed = Message { turn: None, ..self.placed(&summary, message) };
        history.splice(..count, [placed]);
        self.cx.live.voice.say(TurnEvent::Compressed);
        Ok(true)
    }
}
