//! What tests stand on: a virtual world, temporary homes, and the real daemon under control.
//!
//! Only ever a dev-dependency. It knows the seam to the outside and nothing of what is built
//! on it: the daemon is reached as a person would reach it, by its command line.

pub mod attempts;
pub mod daemon;
pub mod discord;
pub mod editor;
pub mod form;
pub mod fuzz;
pub mod home;
pub mod mattermost;
pub mod model;
pub mod signal;
pub mod slack;
pub mod socket;
pub mod sounds;
pub mod strict;
pub mod synapse;
pub mod telegram;
pub mod upstream;
pub mod whatsapp;
pub mod world;

pub use daemon::{Daemon, Output, run, run_bare, run_with_input, try_run};
pub use editor::Editor;
pub use home::Home;
pub use upstream::Upstream;
pub use world::{Handles, auto_world, world};
