//! Budgets: what the daemon, an agent, a principal and a scope may spend.
//!
//! Before a model is called, an estimate is reserved at every level that has a limit; after,
//! what was really used takes its place; whatever ends otherwise gives it back. The journal
//! is what counts: an account begins with what the store has of the day, so a restart forgets
//! nothing. Levels without a limit cost nothing and depend on nobody.
//!
//! Turns in a minute are counted when a message is taken, before anything is written, and
//! only in memory: a restart begins a new minute.

pub mod estimate;
pub mod ledger;
pub mod report;
pub mod unpriced;

#[cfg(test)]
mod ledger_tests;

pub use insula_registry::events::{BudgetLevel, BudgetRefusal, Dimension};

pub use estimate::SoundCost;
use insula_config::DaemonConfig;
use insula_config::images::ImagesConfig;
use insula_config::model::ModelRef;
use insula_domain::Actor;
use insula_domain::ScopeName;
use insula_domain::{AgentId, Budget, BudgetLimits, Narrowing};
use insula_models::{Answer, Chain, Link, Request};
use insula_registry::context::AgentContext;
use insula_registry::lives::{LifeFacts, LifeKind, Lives};
use insula_registry::providers::OwnProviders;
use insula_registry::{Parts, Registry};
use insula_store::{Store, StoreError, Totals, Usage, UsageOf};
use insula_world::{Clock, Timestamp};
use ledger::{Admission, Amounts, Estimate, Key, Ledger, ReservedAmounts, midnight};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// For whom something is spent.
#[derive(Clone, Copy)]
pub struct Payer<'p> {
    pub agent: &'p AgentContext,
    /// Who talks, as records name them.
    pub principal: &'p Actor,
    /// The scope, as records name it.
    pub scope: &'p ScopeName,
    /// What the agent may spend.
    pub budget: Budget,
    /// The ways in by which it was asked for, of which each may have a limit.
    pub ways: &'p [Arc<Narrowing>],
}

/// Why a call is not made.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    /// A budget does not allow it.
    #[error(transparent)]
    Refused(#[from] BudgetRefusal),
    /// Money is limited and nobody knows what the model costs.
    #[error(
        "`usd_per_day` limits what is spent here, and model `{model}` has no price; give it one under `prices` in config.yaml"
    )]
    NoPrice {
        /// The model.
        model: String,
    },
    /// What was used before can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How much of a day's budget is used before operators are told.
const NEARLY_PERCENT: u128 = 80;

/// Keeps the budgets of a daemon.
pub struct Budgets {
    clock: Arc<dyn Clock>,
    store: Store,
    registry: Arc<Registry>,
    ledger: Ledger,
    /// One at a time adds up what all agents used: the others then find it done.
    adding_up: tokio::sync::Mutex<()>,
    lives: Arc<Lives>,
    /// Of which budgets it was told today that they are nearly used.
    nearly_used: Mutex<HashMap<Key, Timestamp>>,
    refusals: [[AtomicU64; Dimension::ALL.len()]; BudgetLevel::ALL.len()],
}

impl Budgets {
    /// Nothing is counted yet.
    pub fn new(parts: &Parts) -> Self {
        Self {
            clock: parts.world.clock.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            ledger: Ledger::default(),
            adding_up: tokio::sync::Mutex::default(),
            lives: parts.lives.clone(),
            nearly_used: Mutex::default(),
            refusals: Default::default(),
        }
    }

    /// Counts a turn, or says which budget has no room for it.
    pub fn admit(&self, payer: Payer<'_>) -> Result<Admission, BudgetRefusal> {
        let mut claims = claims(&self.registry.snapshot().daemon, payer);
        let now = self.clock.now();
        // A turn that no model call could follow must not use up the minute of others.
        let mut days = claims.clone();
        days.retain(|(key, limits)| {
            let is_limited = limits.usd_micros_per_day.is_some() || limits.tokens_per_day.is_some();
            is_limited && self.ledger.knows(key)
        });
        let one = Amounts { micros: 1, tokens: 1 };
        let room = self.ledger.reserve(&days, Estimate { least: one, usual: one }, now);
        claims.retain(|(_, limits)| limits.turns_per_minute.is_some());
        let admitted = room.and_then(|_given_back| self.ledger.admit(&claims, now));
        admitted.inspect_err(|refusal| self.count(payer.agent, refusal))
    }

    /// Reserves what a call may take at every level that has a limit.
    pub async fn reserve(
        &self,
        payer: Payer<'_>,
        chain: &Chain,
        request: &Request,
    ) -> Result<Reservation<'_>, BudgetError> {
        let (daemon, own) = (self.registry.snapshot().daemon.clone(), &payer.agent.providers);
        let (estimate, without_price) = estimate::estimate((&daemon, own), chain.links(), request);
        self.reserve_estimate(payer, daemon, estimate, without_price).await
    }

    /// The same for one picture.
    pub async fn reserve_picture(
        &self,
        payer: Payer<'_>,
        images: &ImagesConfig,
        prompt: &str,
    ) -> Result<Reservation<'_>, BudgetError> {
        let (daemon, own) = (self.registry.snapshot().daemon.clone(), &payer.agent.providers);
        let (estimate, without_price) = estimate::of_picture((&daemon, own), images, prompt);
        self.reserve_estimate(payer, daemon, estimate, without_price).await
    }

    /// The same for vectors of texts of so many bytes.
    pub async fn reserve_texts(
        &self,
        payer: Payer<'_>,
        model: &ModelRef,
        bytes: usize,
    ) -> Result<Reservation<'_>, BudgetError> {
        let (daemon, own) = (self.registry.snapshot().daemon.clone(), &payer.agent.providers);
        let (estimate, without_price) = estimate::of_texts((&daemon, own), model, bytes);
        self.reserve_estimate(payer, daemon, estimate, without_price).await
    }

    /// The same for sound that is heard or made.
    pub async fn reserve_sound(
        &self,
        payer: Payer<'_>,
        model: &ModelRef,
        cost: SoundCost,
    ) -> Result<Reservation<'_>, BudgetError> {
        let (daemon, own) = (self.registry.snapshot().daemon.clone(), &payer.agent.providers);
        let (estimate, without_price) = estimate::of_sound((&daemon, own), model, cost);
        self.reserve_estimate(payer, daemon, estimate, without_price).await
    }

    async fn reserve_estimate(
        &self,
        payer: Payer<'_>,
        daemon: Arc<DaemonConfig>,
        estimate: Estimate,
        without_price: Option<String>,
    ) -> Result<Reservation<'_>, BudgetError> {
        let mut held = Vec::new();
        for (key, limits) in claims(&daemon, payer) {
            if limits.usd_micros_per_day.is_some()
                && let Some(model) = without_price
            {
                return Err(BudgetError::NoPrice { model });
            }
            if limits.usd_micros_per_day.is_none() && limits.tokens_per_day.is_none() {
                self.ledger.close(&key);
                continue;
            }
            self.open(&key, payer.agent).await?;
            self.tell_if_nearly_used(&key, &limits, payer.agent);
            held.push((key, limits));
        }
        let reserved = self.ledger.reserve(&held, estimate, self.clock.now());
        let reserved = reserved.inspect_err(|refusal| self.count(payer.agent, refusal))?;
        let prompt = estimate.least.tokens.saturating_sub(1);
        let own = payer.agent.providers.clone();
        Ok(Reservation { budgets: self, daemon, own, prompt, reserved })
    }

    /// Tells an agent's operators once a day that its budget, or that of all agents together, is
    /// nearly used. What one person or chat used is theirs.
    fn tell_if_nearly_used(&self, key: &Key, limits: &BudgetLimits, agent: &AgentContext) {
        let whose = match key {
            Key::Agent(_) => "its budget",
            Key::Daemon => "the budget of all agents together",
            _ => return,
        };
        let now = self.clock.now();
        let Some((used, _)) = self.ledger.standing(key, now) else { return };
        let is_near = |limit: Option<u64>, used: u64| {
            let part = |limit: u64| u128::from(used) * 100 >= u128::from(limit) * NEARLY_PERCENT;
            limit.is_some_and(|limit| limit > 0 && part(limit))
        };
        let money = is_near(limits.usd_micros_per_day, used.micros);
        if !money && !is_near(limits.tokens_per_day, used.tokens) {
            return;
        }
        let today = midnight(now);
        let before = {
            let mut told = self.nearly_used.lock().unwrap_or_else(PoisonError::into_inner);
            told.retain(|_, day| *day == today);
            told.insert(key.clone(), today)
        };
        let snapshot = self.registry.snapshot();
        let Some(entry) = snapshot.agents.get(&agent.id).filter(|_| before.is_none()) else {
            return;
        };
        let Some(context) = entry.state.context() else { return };
        let dimension = if money { Dimension::UsdPerDay } else { Dimension::TokensPerDay };
        let what = format!("{NEARLY_PERCENT} % of {whose} for today (`{}`)", dimension.as_str());
        let facts = LifeFacts { what: Some(what), ..LifeFacts::default() };
        let (kind, generation) = (LifeKind::BudgetLow, context.generation.0);
        self.lives.tell(context, kind, generation, &Actor::Daemon, facts);
    }

    /// Opens an account with what the store has of today.
    async fn open(&self, key: &Key, agent: &AgentContext) -> Result<(), StoreError> {
        if self.ledger.knows(key) {
            return Ok(());
        }
        let shared = matches!(key, Key::Daemon | Key::Person(_) | Key::Way(_));
        let _alone = if shared { Some(self.adding_up.lock().await) } else { None };
        if self.ledger.knows(key) {
            return Ok(());
        }
        let now = self.clock.now();
        let of = match key {
            Key::Daemon => {
                let (used, by_deleted) = used_by_all(&self.store, now).await?;
                let used = used.values().chain([&by_deleted]).sum_up();
                self.ledger.open(Key::Daemon, used, now);
                return Ok(());
            }
            Key::Person(_) | Key::Way(_) => {
                let of = match key {
                    Key::Way(name) => UsageOf::Way(name.clone()),
                    Key::Person(name) => UsageOf::Principal(name.clone()),
                    _ => return Ok(()),
                };
                let mut used = Amounts::default();
                for id in used_by_all(&self.store, now).await?.0.keys() {
                    let of = of.clone();
                    let totals = self.store.agent(id).usage_of(of, midnight(now)).await?;
                    used = [used, amounts(totals.usage)].iter().sum_up();
                }
                self.ledger.open(key.clone(), used, now);
                return Ok(());
            }
            Key::Agent(_) => UsageOf::Agent,
            Key::Principal(_, who) => UsageOf::Principal(who.clone()),
            Key::Context(_, scope) => UsageOf::Scope(scope.clone()),
        };
        let totals = agent.store.usage_of(of, midnight(now)).await?;
        self.ledger.open(key.clone(), amounts(totals.usage), now);
        Ok(())
    }

    fn count(&self, agent: &AgentContext, refusal: &BudgetRefusal) {
        let (level, dimension) = (refusal.level.as_str(), refusal.dimension.as_str());
        tracing::info!(agent = %agent.id, level, dimension, limit = refusal.limit, used = refusal.used, "refused by a budget");
        self.refusals[refusal.level as usize][refusal.dimension as usize]
            .fetch_add(1, Ordering::Relaxed);
    }

    /// How often each level and dimension refused since the start.
    pub fn refusals(&self) -> impl Iterator<Item = (BudgetLevel, Dimension, u64)> {
        BudgetLevel::ALL.into_iter().flat_map(move |level| {
            Dimension::ALL.into_iter().map(move |dimension| {
                let count = &self.refusals[level as usize][dimension as usize];
                (level, dimension, count.load(Ordering::Relaxed))
            })
        })
    }
}

/// What is reserved for one call. Dropped, it is given back.
#[must_use]
pub struct Reservation<'b> {
    budgets: &'b Budgets,
    daemon: Arc<DaemonConfig>,
    own: Arc<OwnProviders>,
    prompt: u64,
    reserved: ReservedAmounts,
}

impl Reservation<'_> {
    /// The call is over: counts what it took, and says so in the words of the journal.
    pub fn settle(self, link: &Link, answer: &Answer) -> Usage {
        let usage = estimate::usage((&self.daemon, &self.own), link, self.prompt, answer);
        self.reserved.settle(amounts(usage), self.budgets.clock.now());
        usage
    }

    /// The same for a picture.
    pub fn settle_picture(
        self,
        images: &ImagesConfig,
        told: Option<insula_models::Usage>,
    ) -> Usage {
        let usage = estimate::picture_usage((&self.daemon, &self.own), images, self.prompt, told);
        self.reserved.settle(amounts(usage), self.budgets.clock.now());
        usage
    }
}

impl Reservation<'_> {
    /// The same for vectors of texts.
    pub fn settle_texts(self, model: &ModelRef, told: Option<insula_models::Usage>) -> Usage {
        let of = (&*self.daemon, &*self.own);
        let usage = estimate::texts_usage(of, model, self.prompt, told);
        self.reserved.settle(amounts(usage), self.budgets.clock.now());
        usage
    }
}

impl Reservation<'_> {
    /// The same for sound.
    pub fn settle_sound(self, model: &ModelRef, cost: SoundCost) -> Usage {
        let usage = estimate::sound_usage((&self.daemon, &self.own), model, cost);
        self.reserved.settle(amounts(usage), self.budgets.clock.now());
        usage
    }
}

/// Every account something is paid from, with the limits that hold for it now.
fn claims(daemon: &DaemonConfig, payer: Payer<'_>) -> Vec<(Key, BudgetLimits)> {
    let Payer { agent, principal, scope, budget: own, ways } = payer;
    let life = (agent.id.clone(), agent.store.incarnation());
    let whose = life.clone();
    // The narrowest first: who is refused by their own limit is told of that one.
    let mut claims: Vec<(Key, BudgetLimits)> = Vec::new();
    for way in ways {
        let key = Key::Way(way.name.clone());
        match claims.iter_mut().find(|(known, _)| *known == key) {
            Some((_, limits)) => *limits = limits.at_most(&way.budget),
            None => claims.push((key, way.budget)),
        }
    }
    claims.extend([
        (Key::Context(life.clone(), scope.clone()), own.per_context),
        (Key::Principal(whose, principal.as_str().into()), own.per_user),
        (Key::Agent(life), own.own),
        (Key::Person(principal.as_str().into()), daemon.budget.per_user),
        (Key::Daemon, daemon.budget.own),
    ]);
    claims
}

fn amounts(usage: Usage) -> Amounts {
    Amounts { tokens: usage.input.saturating_add(usage.output), micros: usage.cost_micros }
}

trait SumUp {
    /// All of them together.
    fn sum_up(self) -> Amounts;
}

impl<'a, I: Iterator<Item = &'a Amounts>> SumUp for I {
    fn sum_up(self) -> Amounts {
        self.fold(Amounts::default(), |sum, next| Amounts {
            tokens: sum.tokens.saturating_add(next.tokens),
            micros: sum.micros.saturating_add(next.micros),
        })
    }
}

/// What each agent that used anything today used, and what those did that were deleted since.
/// Opens only the databases of agents that are at work.
async fn used_by_all(
    store: &Store,
    now: Timestamp,
) -> Result<(BTreeMap<AgentId, Amounts>, Amounts), StoreError> {
    let today = midnight(now);
    let spending = store.daemon().spending(today).await?;
    let mut used = BTreeMap::new();
    for (agent, day, Totals { usage, .. }) in spending.closed {
        if day == today {
            used.insert(agent, amounts(usage));
        }
    }
    for agent in spending.open {
        let totals = store.agent(&agent).usage_of(UsageOf::Agent, today).await?;
        if totals != Totals::default() {
            used.insert(agent, amounts(totals.usage));
        }
    }
    let deleted = spending.deleted.filter(|(day, _)| *day == today);
    Ok((used, deleted.map(|(_, totals)| amounts(totals.usage)).unwrap_or_default()))
}
