//! The real binary, from outside: what a person, a script or a stranger on the network sees.
//! One file a theme; what they share is in `support`.

mod approvals;
mod audit;
mod bad_input;
mod budgets;
mod chat;
mod check;
mod commands;
mod connections;
mod crash;
mod crash_turns;
mod credentials;
mod diff;
mod echo_model;
mod files;
mod first_run;
mod http;
mod http_surface;
mod lifecycle;
mod lifecycle_delete;
mod messages;
mod programs;
mod provider;
mod reload;
mod reload_thousand;
mod responses;
mod routes;
mod rules;
mod secrets;
mod sessions;
mod standin;
mod support;
mod talk;
mod talk_terminal;
mod terminal;
mod tokens;
