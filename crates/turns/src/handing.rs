//! Hands a conversation to another agent and back: with a summary, and nothing else of what was
//! said. Where it leads is kept; people are told who answers.

use crate::seen::text_of;
use crate::shop::Shop;
use crate::turn::TurnContext;
use insula_domain::marks::plain;
use insula_domain::{Actor, Address, Audience, Label, Link, SessionKey};
use insula_registry::context::AgentContext;
use insula_store::{
    About, AgentCommand, DeliveryDestination, Enqueue, Lane, NewMessage, OpenSession,
    OutboxCommand, Part, Role, SessionRef, StoreError,
};
use insula_tools::agents::Handed;
use insula_tools::{HandError, ToolError};
use serde_json::json;
use std::sync::Arc;

/// The conversation of a turn, to be handed over.
pub(super) struct Handing<'c> {
    shop: &'c Shop,
    cx: &'c TurnContext,
}

fn hand(error: impl ToString) -> ToolError {
    ToolError::Hand(HandError(error.to_string()))
}

fn store(error: StoreError) -> ToolError {
    hand(error)
}

impl<'c> Handing<'c> {
    /// The conversation of a turn, where people talk in it.
    pub(super) fn new(shop: &'c Shop, cx: &'c TurnContext) -> Result<Self, ToolError> {
        let is_of_people = matches!(cx.principal, Actor::User(_));
        if !is_of_people || cx.from.job.is_some() || cx.from.link.is_some() {
            let why = "only a conversation with people in a chat can be handed over";
            return Err(ToolError::Refused(why.to_owned()));
        }
        Ok(Self { shop, cx })
    }

    /// Who handed it to this agent, if somebody did.
    fn from(&self) -> Option<Arc<AgentContext>> {
        self.shop.access.handed_from(&self.cx.agent.id, &self.cx.from.address)
    }

    /// Hands it over by a link; who answers then.
    pub(super) async fn over(&self, link: &Link, summary: &str) -> Result<String, ToolError> {
        let (shop, cx) = (self.shop, self.cx);
        if self.from().is_some() {
            let why = "this conversation was handed to you; you can only hand it back";
            return Err(ToolError::Refused(why.to_owned()));
        }
        let other = crate::linking::serving(shop, &link.to)
            .ok_or_else(|| hand(format!("`{}` does not serve at the moment", link.to)))?;
        let name = other.identity.name.to_string();
        // A call that is made again after a crash has done it.
        if shop.handoffs.to(&cx.key).as_ref() == Some(&link.to) {
            return Ok(name);
        }
        self.tell(&other, summary, "link.taken").await?;
        let own = &cx.agent.identity.name;
        let line = format!("{name} answers here from now on. Say /back to return to {own}.");
        let said = vec![self.line(&line)];
        cx.agent.store.commit(said).await.map_err(store)?;
        shop.handoffs.put(&cx.key, &link.to).await.map_err(hand)?;
        Ok(name)
    }

    /// Hands it back; who answers then. What the other may not hear is left behind.
    pub(super) async fn back(&self, summary: &str) -> Result<Handed, ToolError> {
        let (shop, cx) = (self.shop, self.cx);
        let Some(from) = self.from() else {
            let why = "nobody handed this conversation to you; name an agent to hand it to";
            return Err(ToolError::Refused(why.to_owned()));
        };
        let name = from.identity.name.to_string();
        // What was said here goes back to where it was said.
        let seen = cx.seen.label().without(&Audience::of(&cx.from.address));
        let is_told = shop.access.hearers(&from, Some(&cx.from.address)).may_hear(&seen);
        if is_told {
            self.tell(&from, summary, "link.back").await?;
        }
        let conversation = from.session_key(&cx.from.address);
        shop.handoffs.end(&conversation).await.map_err(store)?;
        Ok(Handed { name, is_told })
    }

    /// Puts the summary into the other agent's conversation at this place.
    async fn tell(
        &self,
        other: &Arc<AgentContext>,
        summary: &str,
        kind: &str,
    ) -> Result<(), ToolError> {
        let (shop, cx) = (self.shop, self.cx);
        let address: &Address = &cx.from.address;
        let key: SessionKey = other.session_key(address);
        let scope = shop.caps.written_scope(other, &other.scope(address), &key).await;
        let at = shop.world.clock.now();
        let seen = cx.seen.label();
        let foreign = other.boundary.integrity.untrusted(seen.integrity());
        let label: Label = seen.audiences_alone().with(&foreign);
        let summary = shop.redaction(&cx.agent).told(plain(summary));
        let who = Actor::agent(&cx.agent.id);
        let text = format!("{} hands this conversation to you and says: {summary}", cx.agent.id);
        let message = NewMessage {
            role: Role::User,
            parts: vec![Part::Beside(text)],
            principal: who.clone(),
            scope: scope.clone(),
            label: text_of(&label),
            generation: other.generation.0,
            at,
        };
        let open = OpenSession {
            key: key.to_string().into(),
            scope: scope.clone(),
            label: label.audiences_alone().to_string().into(),
            at,
        };
        let about = About::Conversation { scope, key: open.key.clone() };
        let content = json!({ "from": cx.agent.id.as_str(), "as": "handoff" });
        let record = shop.trail.record(other, about, &who, kind, content);
        let session = SessionRef::Key(open.key.clone());
        let batch = vec![
            AgentCommand::OpenSession(open),
            AgentCommand::Append { session, messages: vec![message] },
            AgentCommand::Audit(record),
        ];
        let done = other.store.commit(batch).await.map_err(store)?;
        // What it remembers of the conversation is without this.
        if let Some(session) = done.session() {
            shop.windows.take(other, session);
        }
        Ok(())
    }

    /// A line that the people of the chat read.
    fn line(&self, text: &str) -> AgentCommand {
        let (cx, address) = (self.cx, &self.cx.from.address);
        let line = Enqueue {
            session: Some(cx.session),
            turn: Some(cx.turn),
            to: DeliveryDestination {
                lane: Lane {
                    platform: address.platform.as_str().into(),
                    account: address.account.as_str().into(),
                    chat: address.chat.as_str().into(),
                },
                chat_type: address.chat_type.as_str().into(),
                topic: address.topic.as_ref().map(|topic| topic.as_str().into()),
                reply_to: None,
            },
            text: self.shop.redaction(&cx.agent).told(text.to_owned()),
            name: Some(format!("handoff:{}", cx.turn).into()),
            buttons: Vec::new(),
            at: self.shop.world.clock.now(),
        };
        AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(line)))
    }
}
