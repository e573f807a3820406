//! When two calls of one turn are alike.

use super::{Arguments, FoundArgument};
use std::collections::BTreeSet;
use std::fmt;

/// What makes two calls alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Alike {
    /// The tool and all of its arguments.
    Call,
    /// The arguments at these places. Of a list, one common element is enough.
    Arguments(Box<[Box<[Box<str>]>]>),
}

impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Arguments(places) = self else { return f.write_str("arguments") };
        for (index, place) in places.iter().enumerate() {
            let between = if index == 0 { "" } else { " and " };
            write!(f, "{between}`{}`", place.join("."))?;
        }
        Ok(())
    }
}

/// Whether two calls have a value in common at a place. What can't be compared is taken for
/// common, so that it is refused rather than repeated.
pub(super) fn meet(place: &[Box<str>], one: &dyn Arguments, other: &dyn Arguments) -> bool {
    match (values(&one.at(place)), values(&other.at(place))) {
        (Some(one), Some(other)) if one.is_empty() && other.is_empty() => true,
        (Some(one), Some(other)) => !one.is_disjoint(&other),
        _ => true,
    }
}

/// The values in an argument, as texts that are equal for what a careless reader takes for the
/// same; `None` for what has parts of its own.
fn values(found: &FoundArgument<'_>) -> Option<BTreeSet<String>> {
    match found {
        FoundArgument::Absent => Some(BTreeSet::new()),
        FoundArgument::Text(text) => Some([text.trim().to_lowercase()].into()),
        FoundArgument::Number(number) => Some([number.to_string()].into()),
        FoundArgument::Bool(value) => Some([value.to_string()].into()),
        FoundArgument::List(items) => {
            let items: Option<Vec<_>> = items.iter().map(values).collect();
            Some(items?.into_iter().flatten().collect())
        }
        FoundArgument::Fields => None,
    }
}
