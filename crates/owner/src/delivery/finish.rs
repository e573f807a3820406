//! How what was shown of a reply while it came becomes the reply: the message that showed it is
//! made to read as the reply does. Where that can't be, the reply is a message of its own and says
//! that it may be there twice.

use super::Relay;
use super::lane::{Attempt, Sending, key_of};
use super::recognised::is_covered;
use insula_channel::{Body, MessageId, OnUncertain, PostError, WaitScope};
use insula_store::{Provisional, StoreError};

impl Sending<'_> {
    /// The key under which a part is sent, however often. A message that has to be another than
    /// the one that showed something of it has another: a platform that recognises keys would
    /// take it for that one, and say nothing.
    pub(super) fn key(&self, part: usize) -> Box<str> {
        let key = key_of(self.delivery.key, part);
        match (self.features.idempotency.knows_keys(), self.delivery.doubts) {
            (true, doubts @ 1..) => format!("{key}-{doubts}").into(),
            _ => key,
        }
    }
}

impl Relay {
    /// The first part: as an edit of what was shown before, or a new message.
    pub(super) async fn finish_shown(
        &self,
        sending: &Sending<'_>,
        body: &Body,
    ) -> Result<Attempt, StoreError> {
        let Sending { delivery, features, .. } = *sending;
        match (&delivery.provisional, features.can_edit) {
            (Provisional::None, _) => self.post(sending, body).await,
            (Provisional::Shown(shown), Some(_)) => {
                self.finish_in(sending, MessageId(shown.clone()), body).await
            }
            // Asked for again under the same key, it tells the name of the message, which still
            // says what there was.
            (Provisional::Begun, Some(_))
                if is_covered(features.idempotency, delivery.tried_at, self.world.clock.now()) =>
            {
                match self.post(sending, body).await? {
                    Attempt::Made(Ok(message)) => self.finish_in(sending, message, body).await,
                    other => Ok(other),
                }
            }
            (Provisional::Begun, _) => {
                let why = "a part of the reply may have been shown before";
                self.doubt(sending, why, self.on_doubt(sending)).await?;
                Ok(Attempt::Void)
            }
            (Provisional::Shown(_), None) => {
                self.part_from_shown(sending, "messages can't be changed here any more").await
            }
        }
    }

    /// Makes the message in which something was shown the first part of the reply.
    async fn finish_in(
        &self,
        sending: &Sending<'_>,
        shown: MessageId,
        body: &Body,
    ) -> Result<Attempt, StoreError> {
        let target = self.target(sending.agent, sending.place);
        match self.bounded(sending.adapter.edit(&target, &shown, body)).await {
            Err(PostError::Never { why }) => self.part_from_shown(sending, &why).await,
            // An edit that came twice says the same once.
            Err(PostError::Uncertain { why }) => {
                let reach = WaitScope::Chat;
                Ok(Attempt::Made(Err(PostError::Later { why, wait: None, reach })))
            }
            edited => Ok(Attempt::Made(edited.map(|()| shown))),
        }
    }

    /// What was shown stays as it is, if somebody did not delete it. That is no doubt about the
    /// reply, which nobody has, so it is not held; but two texts without a word would be.
    async fn part_from_shown(
        &self,
        sending: &Sending<'_>,
        why: &str,
    ) -> Result<Attempt, StoreError> {
        let why = format!("the message that showed a part of it can't become the reply: {why}");
        self.doubt(sending, &why, OnUncertain::Resend).await?;
        Ok(Attempt::Void)
    }
}
