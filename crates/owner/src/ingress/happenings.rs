//! What happens in chats besides talking: edits, deletions, buttons, and people and bots that
//! come and go.

use super::queue::Chat;
use super::said::chat_name;
use super::stored::StoredMessage;
use super::{Ingress, IngressContext, bounded};
use crate::delivery::Choice;
use insula_channel::PostError;
use insula_channel::{Envelope, Happening, Message, MessageId, Press};
use insula_domain::{Address, ChatId, ChatType, Standing, UserId, WordSource, Words};
use insula_registry::AgentContext;
use insula_registry::access::{AdmittedSender, InboundOutcome};
use insula_store::StoreError;
use insula_store::{AgentCommand, IngressCommand, SessionRef};
use std::sync::Arc;

/// Who speaks where nobody but the platform does: somebody who may do nothing.
pub(super) fn platform(agent: &AgentContext, address: &Address) -> Option<AdmittedSender> {
    let spoken = address.user.clone();
    let user = spoken.or_else(|| UserId::new(address.chat.as_str()).ok())?;
    let account = (address.platform, address.account.clone());
    let mut principal = agent.principal(account, user, vec![]);
    principal.standing = Standing::Guest;
    Some(AdmittedSender { principal, is_personal: false })
}

impl Ingress {
    pub(super) async fn happened(
        &self,
        chat: &Arc<Chat>,
        cx: &IngressContext<'_>,
        what: &Happening,
    ) -> Result<(), StoreError> {
        match what {
            Happening::Said(_) => return Ok(()),
            Happening::Edited(message) => self.edited(cx, message).await?,
            Happening::Deleted(message) => self.deleted(cx, message).await?,
            Happening::Pressed(press) => return self.pressed(chat, cx, press).await,
            Happening::Reacted(reaction) => return self.reacted(cx, reaction).await,
            Happening::Added => self.added(cx).await?,
            Happening::Removed => self.removed(cx).await?,
            // Who may talk is judged at every message, so there is nothing to take back.
            Happening::Left => {}
            Happening::Moved(to) => self.moved(cx, to).await?,
        }
        self.note(cx).await
    }

    /// What no turn has begun with reads otherwise from now on. What one has stays as it was
    /// heard, and an edit begins no turn: the answer would come to something else.
    async fn edited(&self, cx: &IngressContext<'_>, message: &Message) -> Result<(), StoreError> {
        let kept = StoredMessage::of(cx.envelope, message, &cx.caller.principal.user)
            .led_by(&self.registry.snapshot());
        let edit = IngressCommand::Edit {
            chat: chat_name(&cx.envelope.address),
            message: bounded(&message.id.0),
            sender: cx.caller.actor(),
            content: kept.write(),
        };
        let batch = vec![AgentCommand::Ingress(Box::new(edit))];
        cx.agent.store.commit(batch).await?;
        self.amend(cx, &kept).await
    }

    /// What no turn has begun with is gone.
    async fn deleted(
        &self,
        cx: &IngressContext<'_>,
        message: &MessageId,
    ) -> Result<(), StoreError> {
        let chat = chat_name(&cx.envelope.address);
        let withdraw = IngressCommand::Withdraw { chat, message: bounded(&message.0) };
        let batch = vec![AgentCommand::Ingress(Box::new(withdraw))];
        cx.agent.store.commit(batch).await?;
        self.withdraw(cx, message).await;
        Ok(())
    }

    /// A button counts as much as the same words would.
    async fn pressed(
        &self,
        chat: &Arc<Chat>,
        cx: &IngressContext<'_>,
        press: &Press,
    ) -> Result<(), StoreError> {
        self.go_ahead(cx);
        let IngressContext { agent, envelope, .. } = cx;
        let acknowledge = async |text: &str| self.acknowledge(envelope, press, text).await;
        match self.out.find_button(agent, &press.data).await {
            None => {
                self.note(cx).await?;
                acknowledge("this button is no longer good").await;
                Ok(())
            }
            Some(Choice::Approval { id, answer }) => {
                let told = self.answer(cx, &id, answer).await;
                self.note(cx).await?;
                acknowledge(&told).await;
                Ok(())
            }
            Some(Choice::Reply { question, session, text }) => {
                // A question of another conversation, or of one that has ended, is none here.
                let key = cx.session.to_string();
                let current = agent.store.session(SessionRef::Key(key.into())).await?;
                if current.is_none_or(|current| current.id != session) {
                    self.note(cx).await?;
                    acknowledge("this question is over").await;
                    return Ok(());
                }
                let message = Message {
                    id: press.message.clone(),
                    words: Words::foreign(WordSource::Choice, &text),
                    mentions_us: true,
                    is_for_another: false,
                    attachments: vec![],
                    quoted: None,
                    group: None,
                };
                self.to_turn(chat, cx, &message).await?;
                let by = cx.caller.actor();
                self.out.answered(agent, question, (&text, &by)).await;
                acknowledge("").await;
                Ok(())
            }
        }
    }

    /// Tells whoever pressed a button what came of it. Until then clients show it as under way.
    pub(super) async fn acknowledge(&self, envelope: &Envelope, press: &Press, text: &str) {
        let address = &envelope.address;
        if let Some(adapter) = self.accounts.outbound(address.platform, &address.account) {
            adapter.acknowledge(&press.handle, text).await;
        }
    }

    /// Our account was added to a chat. Where somebody may bring it there, the chat is allowed
    /// from now on; where not, nothing is joined.
    async fn added(&self, cx: &IngressContext<'_>) -> Result<(), StoreError> {
        let IngressContext { agent, caller, envelope, .. } = cx;
        let address = &envelope.address;
        let is_group = address.chat_type != ChatType::Dm;
        let invites = self.access.group_rule(agent, address).invites;
        if is_group && (!invites || !caller.is_personal) {
            self.inbound.count(InboundOutcome::Stranger);
            return Ok(());
        }
        if let Some(adapter) = self.accounts.outbound(address.platform, &address.account)
            && let Err(error) = adapter.join(&self.out.target(agent, &cx.place())).await
        {
            tracing::warn!(agent = %agent.id, platform = %address.platform, %error, "a chat could not be joined");
            if matches!(error, PostError::Never { .. }) {
                return Ok(());
            }
        }
        if is_group {
            self.access.join_chat(agent, address, &caller.actor()).await?;
        }
        Ok(())
    }

    /// Our account is no longer in a chat: it is allowed no more, and nobody hears what runs.
    async fn removed(&self, cx: &IngressContext<'_>) -> Result<(), StoreError> {
        let IngressContext { agent, envelope, .. } = cx;
        self.access.leave_chat(agent, &envelope.address).await?;
        let key = agent.session_key(&Address { user: None, ..envelope.address.clone() });
        self.engine.stop(&key);
        Ok(())
    }

    /// A chat continues under another id. Who was let in by being there still is; what was said
    /// stays where it was, and rules that name the chat need its new id.
    async fn moved(&self, cx: &IngressContext<'_>, to: &ChatId) -> Result<(), StoreError> {
        let IngressContext { agent, envelope, .. } = cx;
        let address = &envelope.address;
        self.access.move_chat(agent, address, to).await?;
        tracing::warn!(agent = %agent.id, platform = %address.platform, account = %address.account, from = %address.chat, %to, "a chat continues under another id; bindings and `access.allow` that name it need the new one");
        Ok(())
    }
}
