//! The `insula` binary: parses what was typed, runs one command, prints, and exits.

mod acp;
mod agent_log;
mod arguments;
mod chat;
mod commands;
mod daemon;
mod endpoint;
mod failure;
mod hints;
mod layout;
mod logging;
mod moved;
mod names;
mod otlp;
mod output;
mod passphrase;
mod process;
mod progress;
mod reach;
mod setting;
mod stdio;
mod supervisor;

use clap::Parser as _;

fn main() -> std::process::ExitCode {
    // Before anything else: the sandbox's helper is this program, and must have one thread.
    if let Some(code) = insula_sandbox::helper_main(process::arguments()) {
        return code;
    }
    let environment = process::environment();
    let arguments = match arguments::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && process::asks_for_json() => {
            output::json(&failure::wrong_words(&error));
            return failure::WRONG_USE.into();
        }
        Err(error) => error.exit(),
    };
    let answer = arguments.answer();
    let code = match commands::run(arguments, environment) {
        Ok(code) => code,
        Err(failure) => {
            match answer {
                setting::Answer::Json => output::json(&failure.json()),
                setting::Answer::Text => output::failure(&failure),
            }
            failure.code()
        }
    };
    std::process::ExitCode::from(code)
}
