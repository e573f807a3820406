//! The gateway, which is the front: our accounts on platforms, and which agent an event is for.
//!
//! It knows no wire format: adapters turn events into envelopes and posts into requests. It holds
//! no agent's store: who may talk and what is kept of it is judged by whoever owns the agent.

mod accounts;
mod gateway;
mod intake;

pub use accounts::{AccountState, Connection, Connections, Misfit, examine, examine_one, misfits};
pub use gateway::Gateway;
pub use intake::Intake;
