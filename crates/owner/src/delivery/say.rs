//! Lines of the gateway's own that nothing is kept of: pairing codes, and what somebody hears
//! from an agent that is paused. They answer somebody who waits, so they are tried for a moment.
//! Answers to commands leave by the outbox.

use super::chat_ref::ChatRef;
use super::{Relay, split};
use insula_channel::AccountKey;
use insula_channel::Tenant;
use insula_channel::{Body, Post, PostError};
use insula_registry::AgentContext;
use std::sync::PoisonError;
use std::time::Duration;

/// How often a line is tried.
const TRIES: u32 = 3;
/// The wait between two tries where the platform asks for none.
const AGAIN: Duration = Duration::from_secs(1);
/// The longest wait between two tries; who asks for more is told nothing.
const WAIT_MAX: Duration = Duration::from_secs(10);

impl Relay {
    /// Says something at a place that is no agent's reply, to those whom `tenant` names. What
    /// can't be said within a moment is given up.
    pub async fn say(&self, agent: &AgentContext, tenant: Tenant, place: &ChatRef, body: Body) {
        let Body { mut markdown, mut buttons, mut files, .. } = body;
        markdown = self.engine.told(agent, markdown);
        let Some(adapter) = self.accounts.outbound(place.platform, &place.account) else {
            tracing::info!(platform = %place.platform, account = %place.account, "an account is away; a line of the gateway's is not said");
            return;
        };
        let features = adapter.features();
        let key = (place.platform, place.account.clone());
        let chat = place.chat.as_str();
        let target = self.target_of(agent, tenant, place);
        let mut from = 0;
        while let Some(piece) = split::next(&markdown, from, features.text) {
            from = piece.upto;
            let keeps = piece.is_last && features.has_buttons;
            let post = Post {
                target: target.clone(),
                reply_to: None,
                idempotency: self.own_key(&key),
                body: Body {
                    markdown: piece.text,
                    buttons: if keeps { std::mem::take(&mut buttons) } else { Vec::new() },
                    files: std::mem::take(&mut files),
                    goes_on: false,
                },
            };
            for attempt in 1..=TRIES {
                if let Some(until) = self.pacing().rests(&key, chat, self.now()) {
                    let wait = until.saturating_sub(self.now());
                    if wait > WAIT_MAX {
                        return;
                    }
                    self.world.clock.sleep(wait).await;
                }
                match self.bounded(adapter.post(&post)).await {
                    Ok(_) => break,
                    Err(PostError::Later { wait, reach, .. }) if attempt < TRIES => match wait {
                        Some(wait) => {
                            self.pacing().hold(&key, chat, (reach, wait), self.now());
                        }
                        // Nobody asked for it, so nobody else waits.
                        None => self.world.clock.sleep(AGAIN).await,
                    },
                    Err(error) => {
                        tracing::info!(platform = %place.platform, account = %place.account, %error, "a line of the gateway's was not said");
                        return;
                    }
                }
            }
            if piece.is_last {
                return;
            }
        }
    }

    /// A key that no other line of this account has. Counted by account: what others say does
    /// not show in it.
    fn own_key(&self, (platform, account): &AccountKey) -> Box<str> {
        let number = {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let number = said.entry((*platform, account.clone())).or_default();
            *number += 1;
            number.to_string()
        };
        let at = self.world.clock.now().as_millis().to_string();
        let purpose = ["way-out", "line", platform.as_str(), account.as_str(), &at, &number];
        self.world.random.stream(&purpose).id().into()
    }
}
