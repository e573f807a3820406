//! The walls, through the running daemon: a scripted model tries everything, over the wire that
//! real models use, with the daemon as root and as an ordinary user. A3, A5, A7, A8, A12 and
//! part E of the gauntlet, and what must go on inside of the walls and beside them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and sockets and fail by panicking"
)]

mod arena;
mod attempts;
mod editors;
mod layers;
mod neighbours;
mod noise;
mod puppet;
mod tools;
mod work;

/// Makes a test of a function for each kind of user that the daemon may run as.
macro_rules! at_both_levels {
    ($($name:ident),* $(,)?) => {
        $(
            mod $name {
                use crate::walls::arena::Level;

                #[test]
                fn as_root() {
                    if Level::Root.can_be_had() {
                        super::$name(Level::Root);
                    }
                }

                #[test]
                fn as_an_ordinary_user() {
                    super::$name(Level::Ordinary);
                }
            }
        )*
    };
}
use at_both_levels;
