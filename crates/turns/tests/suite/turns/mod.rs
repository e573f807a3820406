//! Turns from outside: the engine over the real store, with the built-in practice model or a
//! scripted provider on a network in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests look at the files that a home has")]

mod answers;
mod approvals;
mod basics;
mod broken;
mod canary;
mod client;
mod control;
mod counting;
mod current;
mod daily;
mod failures;
mod fairness;
mod foreign_reports;
mod gate_edges;
mod glance;
mod hook_events;
mod hooked_calls;
mod hooks;
mod images;
mod installs;
mod integrity;
mod keys;
mod links;
mod lives;
mod mcp;
mod mcp_beside;
mod meaning;
mod memory;
mod memory_edges;
mod people;
mod play;
mod prefix;
mod programs;
mod provenance;
mod quarantine;
mod refusals;
mod retention;
mod rules;
mod sending;
mod showings;
mod side_by_side;
mod skills;
mod steered;
mod subagents;
mod support;
mod text_calls;
mod text_quoted;
mod web;
mod window;
