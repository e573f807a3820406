//! What commands need that is in no database.

use crate::chain::Chain;
use insula_world::Random;

/// What commands need, besides the database.
pub(crate) struct Means<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) random: &'a Random,
}
