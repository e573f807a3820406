//! The surface over HTTP, without a daemon around it.
//!
//! One program for all of them: a link a crate is what two cores have time for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, processes and clocks, and fail by panicking"
)]

mod at_rest;
mod configuration;
mod files_of_talks;
mod gauntlet;
mod hooks;
mod own_agents;
mod rule_10;
mod scene;
mod sign_in;
mod silence;
mod strict;
mod words;

use axum::Router;
use insula_api::{Api, LocalOwner};
use insula_http::{AdminToken, Server};
use insula_testdaemon::TestDaemon;

/// The routes of a daemon, and what its command line shows.
fn routes(daemon: &TestDaemon) -> (Router, AdminToken) {
    let admin = AdminToken::generate(daemon.world());
    let owner = LocalOwner::new(Api::new(daemon.opened(), None), None);
    (insula_http::router(Server::new(daemon.opened(), owner, admin.clone())), admin)
}
