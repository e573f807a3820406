//! An agent's memory at run time: which scopes an operation may touch, decided before every
//! operation, and what people and operators may ask of it.

mod hooked;
mod people;
mod scopes;

pub use hooked::Act;
pub use people::{AskError, Asking, Forgot, Remembered};
pub use scopes::Resolved;
