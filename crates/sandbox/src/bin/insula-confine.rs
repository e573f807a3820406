//! The helper as a program of its own, for the tests and measurements of this crate. The
//! daemon uses itself instead.
#![expect(clippy::disallowed_methods, reason = "start-up: the arguments say which helper it is")]

use std::process::ExitCode;

fn main() -> ExitCode {
    insula_sandbox::helper_main(std::env::args_os().skip(1)).unwrap_or(ExitCode::FAILURE)
}
