//! The helper as a program of its own: a daemon that finds it beside itself starts this instead
//! of itself, because it is small.
#![expect(clippy::disallowed_methods, reason = "start-up: the arguments say which helper it is")]

use std::process::ExitCode;

fn main() -> ExitCode {
    insula_sandbox::helper_main(std::env::args_os().skip(1)).unwrap_or(ExitCode::FAILURE)
}
