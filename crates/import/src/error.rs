//! Why a home can't be taken over at all.

use crate::place::Place;

/// Why nothing at all can be taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("{path} can't be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("{path} is no home of {of}: {why}")]
    NoHome { path: String, of: &'static str, why: String },
    #[error("{place} can't be read, and everything else depends on it: {why}")]
    Broken { place: Place, why: String },
    #[error(
        "{place}: this home was written by a newer version ({found}; {known} is known); use a newer insula"
    )]
    Newer { place: Place, found: i64, known: i64 },
}
