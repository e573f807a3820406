//! A turn and the children below it: who stands where, and how many there may be.

use insula_domain::Role;
use insula_registry::context::AgentContext;
use insula_store::{StoreError, TurnId, Usage};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// Model calls in one turn.
pub const ITERATIONS_MAX: usize = 50;

/// Where a turn stands among those it belongs with.
pub(crate) struct Kin {
    /// Where it came from; `None` for the turn of a conversation.
    pub(crate) origin: Option<ChildOrigin>,
    family: Arc<Family>,
    handed: tokio::sync::Mutex<Handed>,
}

/// What a turn has handed out and not got back.
#[derive(Default)]
pub(super) struct Handed {
    /// How many tasks, by the steps of the calls that did.
    pub(super) tasks: BTreeMap<u32, usize>,
    /// The places that children of all its calls share.
    places: Option<Arc<Semaphore>>,
}

impl Handed {
    /// The places for its children, so many at once.
    pub(super) fn places(&mut self, width: usize) -> Arc<Semaphore> {
        self.places
            .get_or_insert_with(|| Arc::new(Semaphore::new(width.min(Semaphore::MAX_PERMITS))))
            .clone()
    }
}

/// Where a child came from, and what it was given.
#[derive(Debug, Clone)]
pub(crate) struct ChildOrigin {
    /// The turn that began it.
    pub(crate) parent: TurnId,
    /// Its number among the children of that turn, after those of the children above: `2.1`.
    pub(crate) child: Arc<str>,
    /// How many turns are above it.
    pub(crate) depth: u32,
    pub(crate) role: Role,
    /// Model calls it may make.
    pub(crate) iterations_max: u32,
    /// Tokens it may use, where its parent said so.
    pub(crate) tokens_max: Option<u64>,
}

/// All turns below one of a conversation.
struct Family {
    root: TurnId,
    /// How many were begun, counted from what the store has when the first one asks.
    started: tokio::sync::Mutex<Option<u32>>,
}

impl Kin {
    /// The turn of a conversation.
    pub(crate) fn root(turn: TurnId) -> Self {
        let family = Family { root: turn, started: tokio::sync::Mutex::default() };
        Self { origin: None, family: Arc::new(family), handed: tokio::sync::Mutex::default() }
    }

    /// A child of this turn.
    pub(super) fn below(&self, origin: ChildOrigin) -> Self {
        let handed = tokio::sync::Mutex::default();
        Self { origin: Some(origin), family: self.family.clone(), handed }
    }

    /// What it has handed out. Calls that are made at once come to it in their order.
    pub(super) async fn handed(&self) -> tokio::sync::MutexGuard<'_, Handed> {
        self.handed.lock().await
    }

    /// How many turns are above it.
    pub(super) fn depth(&self) -> u32 {
        self.origin.as_ref().map_or(0, |origin| origin.depth)
    }

    /// The name of this turn's child of that number.
    pub(super) fn name(&self, number: usize) -> Arc<str> {
        match &self.origin {
            Some(origin) => format!("{}.{number}", origin.child).into(),
            None => number.to_string().into(),
        }
    }

    /// Model calls that the turn may make.
    pub(crate) fn iterations_max(&self) -> usize {
        let of_child =
            |origin: &ChildOrigin| usize::try_from(origin.iterations_max).unwrap_or(usize::MAX);
        self.origin.as_ref().map_or(ITERATIONS_MAX, of_child)
    }

    /// Why the turn may not ask a model again, where its parent limited it.
    pub(crate) fn over(&self, spent: Usage) -> Option<String> {
        let most = self.origin.as_ref()?.tokens_max?;
        let used = spent.input.saturating_add(spent.output);
        (used >= most).then(|| {
            format!("it has used {used} of the {most} tokens that it was given (`max_tokens`)")
        })
    }

    /// Counts so many more children in, or none of them; how many more there could be then.
    /// Those of the whole family count: else each of a turn's children could have as many.
    pub(super) async fn count(
        &self,
        agent: &AgentContext,
        more: u32,
    ) -> Result<Result<(), u32>, StoreError> {
        let mut started = self.family.started.lock().await;
        let before = match *started {
            Some(before) => before,
            None => agent.store.count_below(self.family.root).await?,
        };
        let left = agent.boundary.spawn.max_total.saturating_sub(before);
        let is_room = more <= left;
        *started = Some(if is_room { before + more } else { before });
        Ok(if is_room { Ok(()) } else { Err(left) })
    }
}

/// How many children run in the whole daemon.
#[derive(Default, Clone)]
pub(crate) struct Gauge(Arc<AtomicUsize>);

impl Gauge {
    /// Counts one in, until what is returned is dropped.
    pub(super) fn enter(&self) -> Entered {
        self.0.fetch_add(1, Ordering::Relaxed);
        Entered(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts a child out when dropped.
pub(super) struct Entered(Gauge);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
