//! Voice memos: fetched, kept and heard before their turn, and written down with the message that
//! brought them, so that nobody hears, or pays for, one of them twice.

use super::Ingress;
use super::stored::{StoredAttachment, StoredHeard, StoredMessage};
use insula_channel::AttachmentKind;
use insula_domain::media_type;
use insula_domain::sound::{self, SoundKind};
use insula_domain::{AgentId, SessionKey, UserId};
use insula_registry::AgentContext;
use insula_store::{AgentCommand, IngressCommand, StoreError};
use insula_turns::voice::Memo;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Memos among others that are heard for one agent, or wait for that. One more stays unheard.
const ASIDE_MAX: usize = 8;
/// How long a turn waits until what was said by voice before it is written down.
const ASIDE_WAIT: Duration = Duration::from_secs(30);

/// Held while something is heard in one conversation.
type Order = Arc<tokio::sync::Mutex<()>>;

/// What is being heard that is no message to an agent: where, in order.
#[derive(Default)]
pub(super) struct HearingAside {
    conversations: Mutex<HashMap<(AgentId, Box<str>), Order>>,
    running: Mutex<HashMap<AgentId, usize>>,
}

impl HearingAside {
    /// The order of one conversation.
    fn order(&self, agent: &AgentId, session: &str) -> Order {
        let mut all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, order| Arc::strong_count(order) > 1);
        all.entry((agent.clone(), session.into())).or_default().clone()
    }

    /// The order of one conversation where something is being heard.
    fn busy(&self, agent: &AgentId, session: &str) -> Option<Order> {
        let all = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&(agent.clone(), session.into())).cloned()
    }

    /// Takes a place, if there is one.
    fn begin(&self, agent: &AgentId) -> bool {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let count = running.entry(agent.clone()).or_default();
        let has_room = *count < ASIDE_MAX;
        *count += usize::from(has_room);
        has_room
    }

    fn end(&self, agent: &AgentId) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = running.get_mut(agent) {
            *count = count.saturating_sub(1);
        }
        running.retain(|_, count| *count > 0);
    }
}

fn is_unheard(attachment: &StoredAttachment) -> bool {
    attachment.kind() == AttachmentKind::Voice && attachment.heard.is_none()
}

impl Ingress {
    /// Hears the memos of a kept message that nobody has heard yet. What comes of it is kept
    /// with the message.
    pub(super) async fn hear(
        &self,
        (agent, session): (&Arc<AgentContext>, &SessionKey),
        (row, message): (i64, &mut StoredMessage),
    ) -> Result<(), StoreError> {
        if message.has_transcript() || !message.attachments.iter().any(is_unheard) {
            return Ok(());
        }
        let (Some(address), Ok(user)) = (message.address(), UserId::new(message.known.as_str()))
        else {
            return Ok(());
        };
        let was = message.write();
        let inbound = self.inbound(agent, session, &address, user, message, message);
        // Whoever is let in no more has nothing heard at the agent's expense.
        if !self.may_still_talk(agent, message, &inbound).await? {
            return Ok(());
        }
        let id = self.engine.open_session(&inbound).await?;
        let files = agent.workspace.files(session, id, &agent.store.seals(), &self.world);
        for stored in message.attachments.iter_mut().filter(|at| is_unheard(at)) {
            let attachment = stored.attachment();
            let mut heard = StoredHeard {
                media_type: attachment.media_type.to_string(),
                ..StoredHeard::default()
            };
            match self.fetch(agent, session, &attachment).await {
                Err(why) => heard.why = Some(why),
                Ok(content) => {
                    let kind = SoundKind::of(&content);
                    let media_type = kind.map_or(&*attachment.media_type, |kind| kind.media_type());
                    let ending =
                        kind.map_or_else(|| media_type::ending(media_type), |kind| kind.ending());
                    media_type.clone_into(&mut heard.media_type);
                    heard.seconds = sound::length(&content).map(|length| length.as_secs().max(1));
                    heard.bytes = content.len() as u64;
                    match files.keep_attachment(content.to_vec(), ending).await {
                        Ok((path, _)) => heard.path = Some(path),
                        Err(error) => {
                            tracing::warn!(agent = %agent.id, %error, "a voice memo could not be kept");
                        }
                    }
                    let (inbound, files) = (&inbound, &files);
                    let media_type = &*attachment.media_type;
                    let memo = Memo { inbound, session: id, files, content, media_type };
                    match self.engine.hear(memo).await {
                        Ok(text) => heard.text = Some(text),
                        Err(why) => heard.why = Some(why.to_string()),
                    }
                }
            }
            stored.heard = Some(heard);
        }
        let content = message.write();
        let amend = IngressCommand::Amend { row, was, content };
        agent.store.commit(vec![AgentCommand::Ingress(Box::new(amend))]).await.map(drop)
    }

    /// Hears what was said to others by voice, beside everything else.
    pub(super) fn hear_aside(
        &self,
        agent: &Arc<AgentContext>,
        session: &SessionKey,
        (row, mut message): (i64, StoredMessage),
    ) {
        let is_voice = message.attachments.iter().any(|at| at.kind() == AttachmentKind::Voice);
        if !is_voice || agent.voice.hear.is_none() || !self.hearing.begin(&agent.id) {
            return;
        }
        let order = self.hearing.order(&agent.id, &session.to_string());
        let (way, agent, session) = (self.clone(), agent.clone(), session.clone());
        // Taken at once: a turn that begins from now on finds it taken, and waits.
        let taken = order.clone().try_lock_owned();
        tokio::spawn(async move {
            let guard = match taken {
                Ok(guard) => guard,
                Err(_) => order.lock_owned().await,
            };
            if let Err(error) = way.hear((&agent, &session), (row, &mut message)).await {
                tracing::warn!(agent = %agent.id, %error, "a voice memo among others could not be heard");
            }
            drop(guard);
            way.hearing.end(&agent.id);
        });
    }

    /// Waits until what was said by voice in a conversation is written down, and no longer than a
    /// while.
    pub(super) async fn heard_out(&self, agent: &AgentContext, session: &SessionKey) {
        let Some(order) = self.hearing.busy(&agent.id, &session.to_string()) else { return };
        tokio::select! {
            _last = order.lock() => {}
            () = self.world.clock.sleep(ASIDE_WAIT) => {}
        }
    }
}
