//! Lines of the gateway's own that nothing is kept of: pairing codes, and what somebody hears
//! from an agent that is paused. They answer somebody who waits, so they are tried for a moment.
//! Answers to commands leave by the outbox.

use super::place::Place;
use super::{WayOut, split};
use crate::post::{Body, Post, PostError};
use insula_runtime::AgentContext;
use std::time::Duration;

/// How often a line is tried.
const TRIES: u32 = 3;
/// The longest wait between two tries; who asks for more is told nothing.
const WAIT_MAX: Duration = Duration::from_secs(10);

impl WayOut {
    /// Says something at a place that is no agent's reply. What can't be said within a moment
    /// is given up.
    pub async fn say(&self, agent: Option<&AgentContext>, place: &Place, body: Body) {
        let Body { mut markdown, mut buttons, mut files } = body;
        if let Some(agent) = agent {
            markdown = self.engine.told(agent, markdown);
        }
        let Some(adapter) = self.lines.adapter(place.platform, &place.account) else {
            tracing::info!(platform = %place.platform, account = %place.account, "an account is away; a line of the gateway's is not said");
            return;
        };
        let features = adapter.features();
        let key = (place.platform, place.account.clone());
        let mut from = 0;
        while let Some(piece) = split::next(&markdown, from, features.text_units) {
            from = piece.upto;
            let keeps = piece.is_last && features.has_buttons;
            let post = Post {
                target: place.target.clone(),
                reply_to: None,
                idempotency: self.own_key(),
                body: Body {
                    markdown: piece.text,
                    buttons: if keeps { std::mem::take(&mut buttons) } else { Vec::new() },
                    files: std::mem::take(&mut files),
                },
            };
            for attempt in 1..=TRIES {
                if let Some(until) = self.accounts.rests(&key, self.now()) {
                    let wait = until.saturating_sub(self.now());
                    if wait > WAIT_MAX {
                        return;
                    }
                    self.house.world.clock.sleep(wait).await;
                }
                match self.bounded(adapter.post(&post)).await {
                    Ok(_) => break,
                    Err(PostError::Later { wait, .. }) if attempt < TRIES => {
                        let wait = wait.unwrap_or(Duration::from_secs(1));
                        self.accounts.rest(&key, self.now() + wait);
                    }
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

    /// A key that no other line has.
    fn own_key(&self) -> Box<str> {
        let number = self.said.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let at = self.house.world.clock.now().as_millis().to_string();
        self.house.world.random.stream(&["way-out", "line", &at, &number]).id().into()
    }
}
