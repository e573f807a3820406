//! The accounts of the day and the turns of the last minute, in memory.
//!
//! Knows no store and no configuration: whoever asks brings the limits that hold now, and
//! what was used before. What is reserved for a call counts as used until the call is over.

use insula_domain::ScopeName;
use insula_domain::{AgentId, BudgetLimits};
use insula_registry::events::{BudgetLevel, BudgetRefusal, Dimension};
use insula_world::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The length of a day, which begins at midnight UTC.
const DAY_MS: i64 = 86_400_000;
/// Seconds that count as the last minute. One more than a minute has, so that no sixty
/// seconds in a row, wherever they begin, have more turns than allowed.
const MINUTE_SECONDS: i64 = 61;
/// Accounts kept before those that nobody needs are looked for.
const KEPT_MIN: usize = 1_024;
/// Most accounts kept; beyond it those unused for longest are read from the store again.
const KEPT_MAX: usize = 20_000;

/// An agent in one of its lives: what a deleted one spent is not what a new one of its name did.
pub type AgentLife = (AgentId, u64);

/// Whose account it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// All agents'.
    Daemon,
    /// A principal's, over all agents.
    Person(Box<str>),
    /// An agent's.
    Agent(AgentLife),
    /// A principal's with one agent.
    Principal(AgentLife, Box<str>),
    /// A scope's of one agent.
    Context(AgentLife, ScopeName),
    /// That of a way in, over all agents it leads to.
    Way(Box<str>),
}

impl Key {
    fn level(&self) -> BudgetLevel {
        match self {
            Self::Daemon => BudgetLevel::Daemon,
            Self::Agent(_) => BudgetLevel::Agent,
            Self::Person(_) | Self::Principal(..) => BudgetLevel::Principal,
            Self::Context(..) => BudgetLevel::Context,
            Self::Way(_) => BudgetLevel::Way,
        }
    }

    /// The job whose it is: the only way in that whoever reads of a refusal knows by name.
    fn job(&self) -> Option<Box<str>> {
        match self {
            Self::Way(name) => name.starts_with("job `").then(|| name.clone()),
            _ => None,
        }
    }
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// Tokens, sent and received.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micros: u64,
}

impl Amounts {
    fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.micros = self.micros.saturating_add(more.micros);
    }

    fn take(&mut self, less: Self) {
        self.tokens = self.tokens.saturating_sub(less.tokens);
        self.micros = self.micros.saturating_sub(less.micros);
    }
}

/// What a call may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// At least: what is sent, and the beginning of an answer. It must fit.
    pub least: Amounts,
    /// With an answer of usual length. As much of it as there is room for is reserved.
    pub usual: Amounts,
}

#[derive(Debug, Default)]
struct Account {
    day: i64,
    used: Amounts,
    held: Amounts,
    last_use_ms: i64,
}

impl Account {
    /// Begins anew when the day does. What is held is held on.
    fn roll(&mut self, now: Timestamp) {
        let today = day(now);
        if self.day < today {
            self.day = today;
            self.used = Amounts::default();
        }
        self.last_use_ms = now.as_millis();
    }
}

/// Turns by second, oldest first.
type Minute = VecDeque<(i64, u32)>;

#[derive(Default)]
struct Books {
    accounts: HashMap<Key, Account>,
    minutes: HashMap<Key, Minute>,
    look_at: usize,
}

/// All accounts of a daemon. Cheap to clone.
#[derive(Clone, Default)]
pub struct Ledger {
    books: Arc<Mutex<Books>>,
}

fn day(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(DAY_MS)
}

/// The first moment of the day.
pub fn midnight(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(day(at).saturating_mul(DAY_MS))
}

fn tomorrow(at: Timestamp) -> Timestamp {
    Timestamp::from_millis((day(at) + 1).saturating_mul(DAY_MS))
}

impl Ledger {
    fn books(&self) -> MutexGuard<'_, Books> {
        // Valid after every single statement.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an account is open.
    pub fn knows(&self, key: &Key) -> bool {
        self.books().accounts.contains_key(key)
    }

    /// Opens an account with what was used on the day of `now`, unless it is open.
    pub fn open(&self, key: Key, used: Amounts, now: Timestamp) {
        let mut books = self.books();
        books.tidy(now);
        let account =
            || Account { day: day(now), used, last_use_ms: now.as_millis(), ..Account::default() };
        books.accounts.entry(key).or_insert_with(account);
    }

    /// Closes an account that no limit holds for: nobody counts for it any more.
    pub fn close(&self, key: &Key) {
        self.books().accounts.remove(key);
    }

    /// What an account has used today, and what is held for calls under way.
    pub fn standing(&self, key: &Key, now: Timestamp) -> Option<(Amounts, Amounts)> {
        let mut books = self.books();
        let account = books.accounts.get_mut(key)?;
        account.roll(now);
        Some((account.used, account.held))
    }

    /// Counts a turn in every account, or in none when one has no room.
    pub fn admit(
        &self,
        claims: &[(Key, BudgetLimits)],
        now: Timestamp,
    ) -> Result<Admission, BudgetRefusal> {
        let second = now.as_millis().div_euclid(1_000);
        let claims =
            claims.iter().filter_map(|(key, limits)| Some((key, limits.turns_per_minute?)));
        let mut books = self.books();
        books.tidy(now);
        for (key, most) in claims.clone() {
            let minute = books.minutes.entry(key.clone()).or_default();
            while minute.front().is_some_and(|(at, _)| *at <= second - MINUTE_SECONDS) {
                minute.pop_front();
            }
            let taken: u64 = minute.iter().map(|(_, turns)| u64::from(*turns)).sum();
            if taken >= u64::from(most) {
                let free = minute.front().map(|(at, _)| at.saturating_add(MINUTE_SECONDS));
                return Err(BudgetRefusal {
                    level: key.level(),
                    job: key.job(),
                    dimension: Dimension::TurnsPerMinute,
                    limit: u64::from(most),
                    used: taken,
                    resets: free.map(|second| Timestamp::from_millis(second.saturating_mul(1_000))),
                    now,
                });
            }
        }
        let mut keys = Vec::new();
        for (key, _) in claims {
            let minute = books.minutes.entry(key.clone()).or_default();
            match minute.back_mut() {
                Some((at, turns)) if *at >= second => *turns += 1,
                _ => minute.push_back((second, 1)),
            }
            keys.push(key.clone());
        }
        Ok(Admission { ledger: self.clone(), keys, second })
    }

    /// Reserves for a call in every account, or in none when one has no room. An account
    /// that is not open counts as unused.
    pub fn reserve(
        &self,
        claims: &[(Key, BudgetLimits)],
        estimate: Estimate,
        now: Timestamp,
    ) -> Result<ReservedAmounts, BudgetRefusal> {
        let Estimate { least, usual } = estimate;
        let mut books = self.books();
        let mut holds = Vec::with_capacity(claims.len());
        for (key, limits) in claims {
            let account = books.accounts.entry(key.clone()).or_default();
            account.roll(now);
            let refusal = |dimension, limit, used| BudgetRefusal {
                level: key.level(),
                job: key.job(),
                dimension,
                limit,
                used,
                resets: Some(tomorrow(now)),
                now,
            };
            let room = |limit: Option<u64>, taken: u64, least: u64, usual: u64, dimension| {
                let Some(limit) = limit else { return Ok(usual) };
                let room = limit.saturating_sub(taken);
                // Nothing fits into nothing, even where more was used than allowed.
                if least > room {
                    Err(refusal(dimension, limit, taken))
                } else {
                    Ok(usual.min(room))
                }
            };
            let Account { used, held, .. } = account;
            let tokens = used.tokens.saturating_add(held.tokens);
            let micros = used.micros.saturating_add(held.micros);
            let money = room(
                limits.usd_micros_per_day,
                micros,
                least.micros,
                usual.micros,
                Dimension::UsdPerDay,
            )?;
            let tokens = room(
                limits.tokens_per_day,
                tokens,
                least.tokens,
                usual.tokens,
                Dimension::TokensPerDay,
            )?;
            holds.push((key.clone(), Amounts { tokens, micros: money }));
        }
        for (key, amounts) in &holds {
            if let Some(account) = books.accounts.get_mut(key) {
                account.held.add(*amounts);
            }
        }
        Ok(ReservedAmounts { ledger: self.clone(), holds })
    }
}

impl Books {
    /// Lets go of what nobody needs: minutes that are over, and accounts of other days.
    fn tidy(&mut self, now: Timestamp) {
        if self.accounts.len().max(self.minutes.len()) < self.look_at.max(KEPT_MIN) {
            return;
        }
        let second = now.as_millis().div_euclid(1_000) - MINUTE_SECONDS;
        self.minutes.retain(|_, minute| minute.back().is_some_and(|(at, _)| *at > second));
        let is_held = |account: &Account| account.held != Amounts::default();
        let today = day(now);
        self.accounts.retain(|_, account| account.day >= today || is_held(account));
        if self.accounts.len() > KEPT_MAX {
            // What they used was journalled long ago.
            let mut uses: Vec<i64> = self.accounts.values().map(|it| it.last_use_ms).collect();
            let middle = uses.len() / 2;
            let (_, median, _) = uses.select_nth_unstable(middle);
            let median = *median;
            self.accounts.retain(|_, account| account.last_use_ms > median || is_held(account));
        }
        self.look_at = 2 * self.accounts.len().max(self.minutes.len());
    }
}

/// A turn that was counted. Dropped without [`keep`](Self::keep), it was none.
#[must_use]
pub struct Admission {
    ledger: Ledger,
    keys: Vec<Key>,
    second: i64,
}

impl Admission {
    /// The turn was taken: it counts.
    pub fn keep(mut self) {
        self.keys.clear();
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if self.keys.is_empty() {
            return;
        }
        let mut books = self.ledger.books();
        for key in self.keys.drain(..) {
            let Some(minute) = books.minutes.get_mut(&key) else { continue };
            // The clock may have stood still or gone back: the newest second holds it then.
            if let Some((_, turns)) = minute.iter_mut().find(|(at, _)| *at >= self.second) {
                *turns = turns.saturating_sub(1);
            }
            minute.retain(|(_, turns)| *turns > 0);
        }
    }
}

/// What is reserved for one call. Dropped, it is given back.
#[must_use]
pub struct ReservedAmounts {
    ledger: Ledger,
    holds: Vec<(Key, Amounts)>,
}

impl ReservedAmounts {
    /// Gives it back and counts what was used instead.
    pub fn settle(mut self, used: Amounts, now: Timestamp) {
        self.give_back(Some((used, now)));
    }

    fn give_back(&mut self, used: Option<(Amounts, Timestamp)>) {
        let mut books = self.ledger.books();
        for (key, held) in self.holds.drain(..) {
            let Some(account) = books.accounts.get_mut(&key) else { continue };
            account.held.take(held);
            if let Some((used, now)) = used {
                account.roll(now);
                account.used.add(used);
            }
        }
    }
}

impl Drop for ReservedAmounts {
    fn drop(&mut self) {
        if !self.holds.is_empty() {
            self.give_back(None);
        }
    }
}
