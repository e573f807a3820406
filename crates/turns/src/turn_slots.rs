//! The places of one agent: turns wait for them as [`Shares`] decides, and give them back by
//! being dropped.

use crate::shares::{Shares, Ticket};
use insula_domain::Actor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The places of one agent.
pub(super) struct TurnSlots(Mutex<SlotQueue>);

struct SlotQueue {
    shares: Shares,
    /// Those who wait, to be called.
    calls: HashMap<Ticket, oneshot::Sender<()>>,
}

impl SlotQueue {
    /// Calls all who may begin now.
    fn call(&mut self) {
        while let Some(ticket) = self.shares.begin() {
            if let Some(call) = self.calls.remove(&ticket) {
                // Who is on the way out gives the place back.
                let _ = call.send(());
            }
        }
    }
}

impl TurnSlots {
    /// This many places.
    pub(super) fn new(places_max: usize) -> Arc<Self> {
        let (shares, calls) = (Shares::new(places_max), HashMap::new());
        Arc::new(Self(Mutex::new(SlotQueue { shares, calls })))
    }

    fn lock(&self) -> MutexGuard<'_, SlotQueue> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place. Who stops waiting was never there.
    pub(super) async fn enter(self: &Arc<Self>, who: &Actor) -> TurnSlot {
        let (call, called) = oneshot::channel();
        let place = {
            let mut room = self.lock();
            let ticket = room.shares.ask(who);
            room.calls.insert(ticket, call);
            room.call();
            TurnSlot { places: self.clone(), who: who.clone(), ticket }
        };
        // It is not dropped unsaid: it stays with the ticket, and that with the place.
        let _ = called.await;
        place
    }
}

/// A place, or the wish for one, until this is dropped.
pub(super) struct TurnSlot {
    places: Arc<TurnSlots>,
    who: Actor,
    ticket: Ticket,
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        let mut room = self.places.lock();
        room.shares.leave(&self.who, self.ticket);
        room.calls.remove(&self.ticket);
        room.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn who_stops_waiting_or_was_called_while_leaving_leaves_no_trace() {
        let places = TurnSlots::new(2);
        let (a, b) = (Actor::from("a"), Actor::from("b"));
        let first = places.enter(&a).now_or_never().expect("all are free");
        assert!(places.enter(&a).now_or_never().is_none(), "one place is kept");
        let second = places.enter(&b).now_or_never().expect("for whom nothing runs");
        let mut waits = Box::pin(places.enter(&a));
        assert!(waits.as_mut().now_or_never().is_none());
        // It is called, and goes without having heard.
        drop((first, second));
        drop(waits);
        let room = places.lock();
        assert!(room.calls.is_empty());
        assert!(room.shares.askers().is_empty());
    }
}
