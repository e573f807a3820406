//! The way in from outside: a real daemon, engine and store, a scripted model on a network in
//! memory, and an adapter that writes down what it is told to post.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests look at the files that a home has")]

mod access;
mod approvals;
mod asleep;
mod bearers;
mod boards;
mod boards_ends;
mod boards_people;
mod breath;
mod budgets;
mod bursts;
mod busy;
mod choosing;
mod clean;
mod commands;
mod files;
mod groups;
mod handoffs;
mod home_chat;
mod jobs;
mod jobs_bounds;
mod jobs_known;
mod pairing;
mod reactions;
mod repeats;
mod roles;
mod routes;
mod shared;
mod support;
mod tenants;
mod voice;
mod waiting;
mod ways;
