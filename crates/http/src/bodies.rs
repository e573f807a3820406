//! Bodies of requests in memory: how much all of them take, and how much one holder's do.
//!
//! What has come of a body counts from the moment it is kept until the last reader lets go of it.
//! The first bytes of each are free, so that a small request is never refused because of others'
//! large ones; how many there can be of those, the limits on connections say.

use crate::connection_limits::ConnectionOwner;
use axum::http::StatusCode;
use insula_api::ApiError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of all bodies together.
pub const BODIES_LEN_MAX: usize = 96 * 1024 * 1024;

/// More bytes, for holders who have little.
const RESERVED: usize = 32 * 1024 * 1024;

/// How much is little.
const LITTLE: usize = 1024 * 1024;

/// Bytes of one token's bodies: two of the longest.
pub const TOKEN_LEN_MAX: usize = 32 * 1024 * 1024;

/// Bytes of the admin's bodies.
const ADMIN_LEN_MAX: usize = 64 * 1024 * 1024;

/// Bytes of bodies of those who show no token, as platforms do.
const STRANGERS_LEN_MAX: usize = 8 * 1024 * 1024;

/// Bytes of each body that are not counted.
pub const FREE_LEN: usize = 32 * 1024;

/// What a body grows by when it needs room.
const STEP: usize = 256 * 1024;

/// Why a body is not taken in any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Over {
    /// the holder's bodies are too much
    #[error(
        "the requests of this token that are under way hold as much as they may; wait for some of them to end"
    )]
    OfHolder,
    /// all bodies are too much
    #[error("requests that are under way hold as much memory as they may; try again later")]
    AtAll,
}

impl From<Over> for ApiError {
    fn from(why: Over) -> Self {
        let status = match why {
            Over::OfHolder => StatusCode::TOO_MANY_REQUESTS,
            Over::AtAll => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, "too_many_bodies", why.to_string())
    }
}

/// What bodies take up, of one listener.
#[derive(Default)]
pub struct Bodies {
    held: Mutex<BodyBytes>,
}

#[derive(Default)]
struct BodyBytes {
    total: usize,
    by: HashMap<ConnectionOwner, usize>,
}

impl Bodies {
    fn held(&self) -> MutexGuard<'_, BodyBytes> {
        // Valid after every single statement.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, holder: &ConnectionOwner, more: usize) -> Result<(), Over> {
        let share = match holder {
            ConnectionOwner::Nobody => STRANGERS_LEN_MAX,
            ConnectionOwner::Admin => ADMIN_LEN_MAX,
            ConnectionOwner::Token(_) => TOKEN_LEN_MAX,
        };
        let mut held = self.held();
        let own = held.by.get(holder).copied().unwrap_or(0) + more;
        let total = held.total + more;
        if own > share {
            return Err(Over::OfHolder);
        }
        if total > BODIES_LEN_MAX && (own > LITTLE || total > BODIES_LEN_MAX + RESERVED) {
            return Err(Over::AtAll);
        }
        held.total = total;
        held.by.insert(holder.clone(), own);
        Ok(())
    }

    fn give_back(&self, holder: &ConnectionOwner, bytes: usize) {
        let mut held = self.held();
        held.total = held.total.saturating_sub(bytes);
        if let Some(own) = held.by.get_mut(holder) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.by.remove(holder);
            }
        }
    }
}

/// A body as far as it has come.
pub struct Taken {
    bytes: Vec<u8>,
    bodies: Arc<Bodies>,
    holder: ConnectionOwner,
    counted: usize,
}

impl Taken {
    /// Nothing of a body yet.
    pub fn new(bodies: Arc<Bodies>, holder: ConnectionOwner) -> Self {
        Self { bytes: Vec::new(), bodies, holder, counted: 0 }
    }

    /// How much has come.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes more of it.
    pub fn push(&mut self, more: &[u8]) -> Result<(), Over> {
        let wanted = self.bytes.len() + more.len();
        if wanted > self.bytes.capacity() {
            let step = if wanted <= FREE_LEN { 0 } else { STEP };
            let room = (wanted + step).saturating_sub(self.bytes.len());
            let counted = (self.bytes.len() + room).saturating_sub(FREE_LEN);
            let grows = counted.saturating_sub(self.counted);
            if grows > 0 {
                self.bodies.take(&self.holder, grows)?;
                self.counted += grows;
            }
            self.bytes.reserve_exact(room);
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }
}

impl AsRef<[u8]> for Taken {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.counted > 0 {
            // First the bytes, then their place.
            self.bytes = Vec::new();
            self.bodies.give_back(&self.holder, self.counted);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn token(name: &str) -> ConnectionOwner {
        ConnectionOwner::Token(name.into())
    }

    /// Bodies of 1 MiB each, as many as `holder` gets; and why no more.
    fn fill(bodies: &Arc<Bodies>, holder: &ConnectionOwner) -> (Vec<Taken>, Over) {
        let piece = vec![0; 64 * 1024];
        let mut all = Vec::new();
        loop {
            let mut body = Taken::new(bodies.clone(), holder.clone());
            for _ in 0..16 {
                if let Err(over) = body.push(&piece) {
                    return (all, over);
                }
            }
            all.push(body);
        }
    }

    #[test]
    fn one_token_takes_its_share_and_gives_it_back() {
        let bodies = Arc::new(Bodies::default());
        let (held, over) = fill(&bodies, &token("a"));
        assert_eq!(over, Over::OfHolder);
        assert!(bodies.held().total <= TOKEN_LEN_MAX);
        let sum: usize = held.iter().map(|body| body.bytes.capacity()).sum();
        assert!(sum <= TOKEN_LEN_MAX + held.len() * FREE_LEN, "{sum}");
        // A small one is always taken, and another's large one too.
        Taken::new(bodies.clone(), token("a")).push(&[0; FREE_LEN]).unwrap();
        let (others, _) = fill(&bodies, &token("b"));
        assert!(others.len() >= 20, "{}", others.len());
        drop((held, others));
        let held = bodies.held();
        assert!(held.total == 0 && held.by.is_empty());
    }

    #[test]
    fn all_together_stay_below_the_limit_and_leave_a_little_to_others() {
        let bodies = Arc::new(Bodies::default());
        let all: Vec<_> = (0..6).map(|at| fill(&bodies, &token(&at.to_string()))).collect();
        assert_eq!(all[5].1, Over::AtAll);
        let mut late = Taken::new(bodies.clone(), token("late"));
        late.push(&vec![0; LITTLE / 2]).unwrap();
        assert!(bodies.held().total <= BODIES_LEN_MAX + RESERVED);
        assert_eq!(late.push(&vec![0; 2 * LITTLE]), Err(Over::AtAll));
    }
}
