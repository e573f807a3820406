//! Confinement of child processes, and the only way they have to the network.
//!
//! It gets plain specifications and knows no agents: who may do what is decided above it.

pub mod egress;
