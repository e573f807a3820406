//! Where a turn runs: its place at its agent and the one in the daemon. While it waits for a turn
//! of another agent it gives both back, so that agents whose turns wait for each other never keep
//! each other, or anybody else, from running. It knows no turns and no agents.

use crate::turn_slots::{TurnSlot, TurnSlots};
use insula_domain::Actor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Turns of one agent that may wait for others beside those that run: each is kept in memory.
pub const AGENT_WAITING_MAX: usize = 64;
/// The same, of the whole daemon.
pub const DAEMON_WAITING_MAX: usize = 1_024;

/// Where the turns of one agent find places.
#[derive(Clone)]
pub(super) struct Rooms {
    agent: Arc<TurnSlots>,
    all: Arc<Semaphore>,
    /// Room for turns that wait without a place, of the agent and of all.
    waiting: (Arc<Semaphore>, Arc<Semaphore>),
}

/// Both places of a turn, until this is dropped.
type Places = (TurnSlot, Option<OwnedSemaphorePermit>);

impl Rooms {
    /// The rooms of one agent, out of those that all share.
    pub(super) fn new(places_max: usize, all: &Arc<Semaphore>, waiting: &Arc<Semaphore>) -> Self {
        let own = Arc::new(Semaphore::new(AGENT_WAITING_MAX));
        Self {
            agent: TurnSlots::new(places_max),
            all: all.clone(),
            waiting: (own, waiting.clone()),
        }
    }

    /// Waits for both: for the agent's first, so that whoever asks much of one agent competes with
    /// others by few turns only.
    async fn enter(&self, who: &Actor) -> Places {
        let slot = self.agent.enter(who).await;
        // It is never closed.
        (slot, self.all.clone().acquire_owned().await.ok())
    }
}

/// The places of one turn, while it has them.
#[derive(Default)]
pub(crate) struct TurnPlace(Mutex<Option<Held>>);

struct Held {
    rooms: Rooms,
    who: Actor,
    places: Option<Places>,
}

impl TurnPlace {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the places of a turn that begins.
    pub(super) async fn enter(&self, rooms: &Rooms, who: &Actor) {
        let places = Some(rooms.enter(who).await);
        *self.held() = Some(Held { rooms: rooms.clone(), who: who.clone(), places });
    }

    /// Gives back whatever the turn still has: it is over.
    pub(super) fn leave(&self) {
        let held = self.held().take();
        drop(held);
    }

    /// Leave to wait for another agent's turn without a place; `None` where as many do as may.
    pub(crate) fn may_wait(&self) -> Option<Waiting<'_>> {
        let rooms = self.held().as_ref().map(|held| held.rooms.clone());
        let room = match rooms {
            Some(Rooms { waiting: (own, all), .. }) => {
                Some((own.try_acquire_owned().ok()?, all.try_acquire_owned().ok()?))
            }
            // What has no place takes nobody's.
            None => None,
        };
        Some(Waiting { place: self, _room: room })
    }

    fn give_back(&self) {
        let places = self.held().as_mut().and_then(|held| held.places.take());
        drop(places);
    }

    async fn again(&self) {
        let rooms = self.held().as_ref().map(|held| (held.rooms.clone(), held.who.clone()));
        let Some((rooms, who)) = rooms else { return };
        let places = rooms.enter(&who).await;
        if let Some(held) = self.held().as_mut() {
            held.places = Some(places);
        }
    }
}

/// Leave of a turn to wait without a place.
pub(crate) struct Waiting<'p> {
    place: &'p TurnPlace,
    _room: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
}

impl Waiting<'_> {
    /// Waits for something without a place, and then for a place again. A turn that was stopped
    /// goes on without: it only writes that down.
    pub(crate) async fn until<T>(
        self,
        stop: &CancellationToken,
        something: impl Future<Output = T>,
    ) -> T {
        self.place.give_back();
        let came = something.await;
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.place.again() => {}
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::future::pending;

    fn rooms(all: &Arc<Semaphore>, waiting: &Arc<Semaphore>) -> Rooms {
        Rooms::new(2, all, waiting)
    }

    #[test]
    fn who_waits_has_no_place_and_gets_one_again() {
        let (all, waiting) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
        let (one, two) = (rooms(&all, &waiting), rooms(&all, &waiting));
        let (who, stop) = (Actor::from("a"), CancellationToken::new());
        let (first, second) = (TurnPlace::default(), TurnPlace::default());
        first.enter(&one, &who).now_or_never().expect("all are free");
        assert!(second.enter(&two, &who).now_or_never().is_none(), "the daemon has one");
        let (answer, answered) = tokio::sync::oneshot::channel::<()>();
        let mut waits = Box::pin(first.may_wait().expect("nobody waits").until(&stop, answered));
        assert!(waits.as_mut().now_or_never().is_none());
        second.enter(&two, &who).now_or_never().expect("it was given back");
        assert!(second.may_wait().is_none(), "as many wait as may");
        answer.send(()).unwrap();
        assert!(waits.as_mut().now_or_never().is_none(), "its place is taken");
        second.leave();
        waits.now_or_never().expect("and is free again").unwrap();
        assert_eq!(all.available_permits(), 0);
        first.leave();
        assert_eq!((all.available_permits(), waiting.available_permits()), (1, 1));
    }

    #[test]
    fn who_is_stopped_waits_for_no_place() {
        let (all, waiting) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(8)));
        let (one, two) = (rooms(&all, &waiting), rooms(&all, &waiting));
        let (who, stop) = (Actor::from("a"), CancellationToken::new());
        let (first, second) = (TurnPlace::default(), TurnPlace::default());
        first.enter(&one, &who).now_or_never().unwrap();
        let waits = first.may_wait().unwrap().until(&stop, async {
            second.enter(&two, &who).await;
            stop.cancel();
        });
        waits.now_or_never().expect("it only writes that down");
        drop(first.may_wait().unwrap().until(&stop, pending::<()>()));
        first.leave();
        second.leave();
        assert_eq!((all.available_permits(), waiting.available_permits()), (1, 8));
    }
}
