//! Questions in a chat: what stands under them, what pressing a button means, and what becomes
//! of the message once the question is answered.
//!
//! What a button carries is a number nobody guesses, looked up in the store of the agent whose
//! question it is; what it means never leaves the daemon.

use super::Relay;
use super::chat_ref::ChatRef;
use super::split;
use insula_channel::MessageId;
use insula_channel::{Body, PostError};
use insula_domain::Actor;
use insula_registry::AgentContext;
use insula_store::{
    AgentCommand, Approval, Content, Delivery, DeliveryId, DeliveryState, Enqueue, NewButton,
    OutboxCommand, SessionId, SessionRef, SessionState, StoreError, TurnId,
};
use insula_turns::ApprovalOutcome;
use insula_turns::approvals::{ApprovalAnswer, ApprovalDuration};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Longest data that a platform takes along with a button.
pub const BUTTON_DATA_BYTES_MAX: usize = 64;
/// Longest words on a button, in characters.
const LABEL_CHARS_MAX: usize = 40;
/// How often it is tried to say the outcome of a question under it.
const OUTCOME_TRIES: u32 = 4;
/// The longest wait between two of these.
const OUTCOME_WAIT_MAX: Duration = Duration::from_secs(60);

/// What a pressed button means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// An answer to something that waits for approval. Whether whoever pressed may give it is
    /// decided where all answers are, in `Approvals::answer`.
    Approval {
        /// What waits.
        id: Box<str>,
        answer: ApprovalAnswer,
    },
    /// An answer to a question of the agent's: to be taken as if it had been typed.
    Reply {
        /// The question; see [`Relay::answered`].
        question: DeliveryId,
        /// The session it was asked in.
        session: SessionId,
        /// What it says.
        text: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Meaning {
    Approve { id: Box<str>, reach: Box<str> },
    Deny { id: Box<str> },
    Say { text: String },
}

impl Meaning {
    fn text(&self) -> Box<str> {
        // A value made of texts is always JSON.
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

/// What waits for approval, as the turn told it.
pub(super) struct Question {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) what: String,
    pub(super) rule: String,
    /// Who began the turn: an admin agrees to their words.
    pub(super) by: Actor,
}

impl From<Approval> for Question {
    fn from(approval: Approval) -> Self {
        let Approval { id, tool, what, rule, principal: by, .. } = approval;
        Self { id: id.into(), tool: tool.into(), what, rule: rule.into(), by }
    }
}

impl Question {
    /// The name under which it is asked once.
    pub(super) fn name(id: &str) -> String {
        format!("approval:{id}")
    }

    fn text(&self) -> String {
        // All of it, in as many messages as it takes; the buttons stand under the last.
        let what = &self.what;
        // Longer than any run of its own in what is shown.
        let longest = what.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let Self { id, tool, rule, .. } = self;
        let by = as_code(self.by.as_str());
        format!(
            "Approval needed: `{tool}` would do this for {by} (rule `{rule}`).\n{fence}\n{what}\n{fence}{HOW_TO_DECIDE}`/approve {id}` or `/deny {id}`."
        )
    }
}

/// What is said below something that waits for approval, before the commands. Of buttons only
/// those speak that are there.
const HOW_TO_DECIDE: &str = "\nAn admin of this agent answers: ";

/// What is said below a question that offers answers.
pub(super) const HOW_TO_ANSWER: &str =
    "\n\n(To answer, reply with the number or in your own words.)";

impl Relay {
    /// What a pressed button means; `None` for one that this agent never made, or whose
    /// question is no longer open.
    pub async fn find_button(&self, agent: &AgentContext, data: &str) -> Option<Choice> {
        match self.look_up(agent, data).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(agent = %agent.id, %error, "a button can't be looked up");
                None
            }
        }
    }

    async fn look_up(
        &self,
        agent: &AgentContext,
        data: &str,
    ) -> Result<Option<Choice>, StoreError> {
        if data.len() > BUTTON_DATA_BYTES_MAX {
            return Ok(None);
        }
        let Some(found) = agent.store.button(data).await? else { return Ok(None) };
        let Ok(meaning) = serde_json::from_str(&found.button.meaning) else { return Ok(None) };
        Ok(match meaning {
            Meaning::Approve { id, reach } => {
                let reach = ApprovalDuration::parse(&reach);
                reach.map(|reach| Choice::Approval { id, answer: ApprovalAnswer::Approve(reach) })
            }
            Meaning::Deny { id } => {
                Some(Choice::Approval { id, answer: ApprovalAnswer::Deny(None) })
            }
            Meaning::Say { text } => {
                let (Some(session), question) = (found.session, found.delivery) else {
                    return Ok(None);
                };
                let is_open = self.is_open(agent, session, question).await?;
                is_open.then_some(Choice::Reply { question, session, text })
            }
        })
    }

    /// Whether a question is the last thing that was said in its session.
    async fn is_open(
        &self,
        agent: &AgentContext,
        session: SessionId,
        question: DeliveryId,
    ) -> Result<bool, StoreError> {
        let asked = agent.store.delivery(question).await?.map(|delivery| delivery.content);
        let session = agent.store.session(SessionRef::Id(session)).await?;
        Ok(match (asked, session) {
            (Some(Content::Message(seq)), Some(session)) => {
                session.state == SessionState::Current && session.last == seq
            }
            _ => false,
        })
    }

    /// The buttons of a delivery that offers answers, made when it is first sent.
    pub(super) async fn offer(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        choices: &[String],
    ) -> Result<Vec<NewButton>, StoreError> {
        let known = agent.store.buttons_of(delivery.id).await?;
        if !known.is_empty() || choices.is_empty() {
            return Ok(known);
        }
        let buttons = choices.iter().enumerate().map(|(number, text)| NewButton {
            data: self.fresh(agent, &delivery.id.to_string(), number),
            label: cut(text, LABEL_CHARS_MAX).into(),
            meaning: Meaning::Say { text: text.clone() }.text(),
        });
        let buttons = buttons.collect();
        let put = OutboxCommand::Buttons { id: delivery.id, buttons };
        self.change(agent, vec![AgentCommand::Outbox(put)]).await?;
        agent.store.buttons_of(delivery.id).await
    }

    fn fresh(&self, agent: &AgentContext, of: &str, number: usize) -> Box<str> {
        let at = self.world.clock.now().as_millis().to_string();
        let purpose = ["button", agent.id.as_str(), of, &number.to_string(), &at];
        self.world.random.stream(&purpose).id().into()
    }

    /// Shows in its chat that something waits for approval, once under this name.
    pub(super) async fn ask(
        self: &Arc<Self>,
        agent: &AgentContext,
        place: &ChatRef,
        (turn, session): (TurnId, SessionId),
        (name, question): (String, &Question),
    ) -> Result<(), StoreError> {
        let id: Box<str> = question.id.as_str().into();
        let approve = |label: &'static str, reach: ApprovalDuration| {
            let meaning = Meaning::Approve { id: id.clone(), reach: reach.as_str().into() };
            (label, meaning)
        };
        // Of what is allowed once at most nothing more is offered.
        let widest = self.engine.approvals().widest(agent, &question.id);
        let yes = [
            ("Approve once", ApprovalDuration::Once),
            ("For this session", ApprovalDuration::Session),
            ("Always", ApprovalDuration::Always),
        ];
        let yes = yes.into_iter().filter(|(_, reach)| *reach <= widest);
        let no = ("Deny", Meaning::Deny { id: id.clone() });
        let answers = yes.map(|(label, reach)| approve(label, reach)).chain([no]);
        let buttons = answers.enumerate().map(|(number, (label, meaning))| NewButton {
            data: self.fresh(agent, &name, number),
            label: label.into(),
            meaning: meaning.text(),
        });
        let enqueue = Enqueue {
            session: Some(session),
            turn: Some(turn),
            to: place.origin(None),
            text: question.text(),
            buttons: buttons.collect(),
            name: Some(name.into()),
            at: self.world.clock.now(),
        };
        let put = OutboxCommand::Enqueue(Box::new(enqueue));
        self.change(agent, vec![AgentCommand::Outbox(put)]).await?;
        self.wake(&agent.id, place.lane());
        Ok(())
    }

    /// Says under something that waited for approval what became of it.
    pub(super) async fn settled(
        &self,
        agent: &AgentContext,
        id: &str,
        outcome: ApprovalOutcome,
        by: Option<Actor>,
    ) {
        let by = by.map(|by| format!(" by {}", as_code(by.as_str()))).unwrap_or_default();
        let said = match outcome {
            ApprovalOutcome::Approved => format!("Approved{by}."),
            ApprovalOutcome::Denied => format!("Denied{by}."),
            ApprovalOutcome::TimedOut => "Nobody answered in time, so it was not done.".to_owned(),
            ApprovalOutcome::Stopped => "The turn was stopped, so it was not done.".to_owned(),
        };
        // Wherever it was shown.
        match agent.store.deliveries_named(&Question::name(id)).await {
            Ok(all) => {
                for asked in all {
                    self.say_below(agent, asked, &said).await;
                }
            }
            Err(error) => {
                tracing::warn!(agent = %agent.id, %error, "a question can't be looked up");
            }
        }
    }

    /// Says below a question in its chat what was answered and by whom, and takes its buttons
    /// away.
    pub async fn answered(
        &self,
        agent: &AgentContext,
        question: DeliveryId,
        (answer, by): (&str, &Actor),
    ) {
        let said = format!("Answer of {}: {answer}", as_code(by.as_str()));
        match agent.store.delivery(question).await {
            Ok(Some(asked)) => self.say_below(agent, asked, &said).await,
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(agent = %agent.id, %error, "a question can't be looked up");
            }
        }
    }

    async fn say_below(&self, agent: &AgentContext, asked: Delivery, outcome: &str) {
        if asked.state != DeliveryState::Sent {
            // Nobody has seen it, and nobody needs to any more.
            if matches!(asked.state, DeliveryState::Waiting | DeliveryState::Uncertain) {
                let at = self.world.clock.now();
                let drop = OutboxCommand::Drop { id: asked.id, instead: None, at };
                let _ = self.change(agent, vec![AgentCommand::Outbox(drop)]).await;
            }
            return;
        }
        if let Err(error) = self.edit_below(agent, &asked, outcome).await {
            tracing::warn!(agent = %agent.id, delivery = %asked.id, %error, "the outcome of a question can't be shown");
        }
    }

    async fn edit_below(
        &self,
        agent: &AgentContext,
        asked: &Delivery,
        outcome: &str,
    ) -> Result<(), String> {
        let Some(last) = asked.sent.last() else { return Ok(()) };
        let Some(place) = ChatRef::restored(&asked.to) else { return Ok(()) };
        let words = self.engine.words_of(agent, asked).await.map_err(|error| error.to_string())?;
        let Some(words) = words else { return Ok(()) };
        for attempt in 1..=OUTCOME_TRIES {
            let Some(adapter) = self.accounts.outbound(place.platform, &place.account) else {
                return Err("the account is not connected".to_owned());
            };
            let features = adapter.features();
            if features.can_edit.is_none() {
                return Ok(());
            }
            let before = asked.sent.len().checked_sub(2).map_or(0, |at| asked.sent[at].upto);
            let from = usize::try_from(before).unwrap_or(usize::MAX);
            let below = format!("\n\n{}", self.engine.told(agent, outcome.to_owned()));
            let room = super::lane::room(&features, 0);
            let Some(piece) = split::next(&words.text, from, room) else { return Ok(()) };
            // In place of how to answer, as far as there is room for it.
            let mut markdown = piece.text;
            if let Some(at) = markdown.rfind(HOW_TO_DECIDE).filter(|_| asked.name.is_some()) {
                markdown.truncate(at);
            }
            if features.text.beside(&markdown).takes(&below) {
                markdown.push_str(&below);
            }
            let body = Body { markdown, ..Body::default() };
            let message = MessageId(last.message.clone());
            let target = self.target(agent, &place);
            let edited = self.bounded(adapter.edit(&target, &message, &body)).await;
            match edited {
                Ok(()) => return Ok(()),
                Err(PostError::Later { wait, .. }) if attempt < OUTCOME_TRIES => {
                    let wait = wait.unwrap_or(Duration::from_secs(1)).min(OUTCOME_WAIT_MAX);
                    self.world.clock.sleep(wait).await;
                }
                Err(PostError::Uncertain { .. }) if attempt < OUTCOME_TRIES => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

/// Somebody's id as code, so that nothing in it counts as formatting.
fn as_code(id: &str) -> String {
    format!("`{}`", id.replace('`', "'"))
}

/// The beginning of a long text.
fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
