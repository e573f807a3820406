//! The homes of other runtimes, and what becomes of them here.
//!
//! A reader looks at one kind of home and makes a [`Plan`] of it: what comes over, what changes
//! meaning, what is closed and what has no place, each with the line it came from. Nothing here
//! writes: not there, and not in a home of ours. Whoever carries a plan out reads sessions by
//! [`Plan::messages`], one at a time, so that no home is too large.

mod content;
mod doc;
mod emit;
mod env;
mod error;
pub mod hermes;
mod json5;
mod messages;
mod models;
mod names;
pub mod openclaw;
mod place;
mod plan;
mod source_home;
mod sqlite;

pub use emit::{flow, yaml};
pub use error::ImportError;
pub use place::Place;
pub use plan::{
    AccountPlan, AgentPlan, BindingPlan, BoardPlan, CardPlan, Fate, MemoryPlan, MessagePlan, Note,
    PartPlan, Plan, Remark, Row, SchedulePlan, SecretPlan, SessionPlan, SkillPlan, SourceKind,
    TargetList, Voice,
};
