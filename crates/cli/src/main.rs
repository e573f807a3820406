//! The `insula` binary: parses what was typed, runs one command, prints, and exits.

mod arguments;
mod chat;
mod commands;
mod daemon;
mod failure;
mod logging;
mod output;
mod process;
mod reach;
mod setting;

use clap::Parser as _;

fn main() -> std::process::ExitCode {
    // Before anything else: the sandbox's helper is this program, and must have one thread.
    if let Some(code) = insula_sandbox::helper_main(process::arguments()) {
        return code;
    }
    let environment = process::environment();
    let arguments = arguments::Arguments::parse();
    let code = match commands::run(arguments, environment) {
        Ok(code) => code,
        Err(failure) => {
            output::failure(&failure);
            failure.code()
        }
    };
    std::process::ExitCode::from(code)
}
