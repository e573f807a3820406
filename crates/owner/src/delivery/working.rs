//! The sign on a message that it is being worked on: a reaction, put there when a turn takes longer
//! than a moment, and taken away when it is over.

use super::follow::View;
use insula_channel::{Outbound, OwnSign, ShowsWork};
use std::sync::Arc;
use std::time::Duration;

/// How long a platform may take to show it.
const WITHIN: Duration = Duration::from_secs(10);

impl View {
    /// How this chat sees that something is being worked on: as its account's settings say, and
    /// else by the sign of writing, or by a reaction where the platform has no such sign.
    pub(super) fn shows_work(&self) -> ShowsWork {
        let said = self.delivery.accounts.shows_work(self.place.platform, &self.place.account);
        said.unwrap_or_else(|| {
            let features = self.adapter().map(|it| it.features());
            let by_typing = features.is_none_or(|features| features.typing.is_some());
            ShowsWork { by_typing, by_reaction: !by_typing }
        })
    }

    /// Puts the sign there, once.
    pub(super) fn sign(&mut self) {
        let shows = !self.is_signed && self.shows_work().by_reaction;
        let Some(adapter) = self.reacting().filter(|_| shows) else { return };
        self.is_signed = true;
        self.react(adapter, true);
    }

    /// Takes it away.
    pub(super) fn take_sign_away(&mut self) {
        if !std::mem::take(&mut self.is_signed) {
            return;
        }
        // Settings may be others by now than when it was put there.
        if let Some(adapter) = self.reacting() {
            self.react(adapter, false);
        }
    }

    fn reacting(&self) -> Option<Arc<dyn Outbound>> {
        self.adapter().filter(|it| it.features().can_react)
    }

    /// Nobody waits for it, but one change for the other before it.
    fn react(&self, adapter: Arc<dyn Outbound>, on: bool) {
        let Some(message) = self.reply_to.clone() else { return };
        let delivery = self.delivery.clone();
        let target = delivery.target(&self.agent, &self.place);
        let order = self.signs.clone();
        self.delivery.tasks.spawn(async move {
            let _turn = order.lock().await;
            tokio::select! {
                biased;
                () = adapter.react(&target, &message, OwnSign::Working, on) => {}
                () = delivery.stop.cancelled() => {}
                () = delivery.world.clock.sleep(WITHIN) => {}
            }
        });
    }
}
