//! `insula chat`: one message and its reply, or a conversation at the terminal.

mod choosing;
mod conversation;
mod display;
mod editor;
mod event;
mod frames;
mod history;
pub mod markdown;
mod once;
mod slash;
pub mod terminal;
mod turn;

#[cfg(test)]
mod display_tests;

pub use frames::{Frame, Frames};

use crate::arguments::Chat;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::{NO_DAEMON, Reach, part};
use crate::setting::{Answer, Setting};
use display::{Around, Display};
use event::Status;
use once::{Meant, Said};
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Read as _};
use turn::{Ask, Outcome, Talk, Turns};

/// Ended by Ctrl-C, as shells count it.
const INTERRUPTED: u8 = 130;
/// Longest message taken from standard input: what an agent reads in one go is far less.
const MESSAGE_BYTES_MAX: u64 = 8 * 1024 * 1024;

pub async fn run(reach: &Reach, setting: &Setting, chat: Chat) -> Result<u8, Failure> {
    if !reach.is_daemon() {
        return Err(Failure::Failed(NO_DAEMON.to_owned()));
    }
    if chat.session.is_empty() {
        let message = "`--session` names no conversation: give it a name, or leave it out";
        return Err(Failure::WrongUse(message.to_owned()));
    }
    let agent = match chat.agent {
        // It may be called by its name; what is kept of it is kept by its id.
        Some(agent) => {
            let found = reach.get(&format!("/api/agents/{}", part(&agent))).await?;
            found["id"].as_str().unwrap_or(&agent).to_owned()
        }
        None => default_agent(reach).await?,
    };
    let talk = Talk { agent, session: chat.session };
    let screen = terminal::screen(&setting.environment);
    if let Some(mut message) = chat.message {
        // What is piped in is what the message is about.
        if terminal::is_fed() {
            let piped = standard_input()?;
            if !piped.trim().is_empty() {
                message = format!("{}\n\n{}", message.trim_end(), piped.trim_end());
            }
        }
        return one_message(reach, setting, talk, &message).await;
    }
    match screen.filter(|_| std::io::stdin().is_terminal() && setting.answer == Answer::Text) {
        Some(_) => conversation::hold(reach, setting, talk).await,
        None => one_message(reach, setting, talk, &standard_input()?).await,
    }
}

/// One message: said and answered, or done where it is a command.
async fn one_message(
    reach: &Reach,
    setting: &Setting,
    talk: Talk,
    message: &str,
) -> Result<u8, Failure> {
    match once::read(message)? {
        Meant::Do(command) => once::run(reach, setting, talk, command).await,
        Meant::Say(Said::Message(text)) => {
            one_shot(reach, setting, &talk, Ask::Message(&text)).await
        }
        Meant::Say(Said::Again) => one_shot(reach, setting, &talk, Ask::Retry).await,
    }
}

/// The agent that answers the command line.
pub async fn default_agent(reach: &Reach) -> Result<String, Failure> {
    let probe = json!({ "platform": "cli", "chat": "terminal", "account": "local" });
    let route = reach.post("/api/route/explain", Some(probe)).await?;
    let refused = || route["refused"].as_str().unwrap_or("nobody answers").to_owned();
    let agent = route["agent"].as_str().map(str::to_owned);
    agent.ok_or_else(|| Failure::Failed(format!("{}; say which with --agent", refused())))
}

/// All of standard input, as one message.
pub fn standard_input() -> Result<String, Failure> {
    let mut bytes = vec![];
    std::io::stdin().lock().take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MESSAGE_BYTES_MAX {
        let what = format!("standard input is longer than {MESSAGE_BYTES_MAX} bytes");
        return Err(Failure::WrongUse(what));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::WrongUse("standard input is not UTF-8 text".to_owned()))
}

async fn one_shot(
    reach: &Reach,
    setting: &Setting,
    talk: &Talk,
    ask: Ask<'_>,
) -> Result<u8, Failure> {
    let mut turns = Turns::new(reach, setting)?;
    let screen = terminal::screen(&setting.environment);
    let screen = screen.filter(|_| setting.answer == Answer::Text);
    let now = setting.world.clock.elapsed();
    let display = screen.map(|screen| Display::new(screen, Around::OneShot, now));
    let quiet = screen.map(|_| terminal::Quiet::begin());
    let outcome = turns.run(talk, ask, display).await;
    drop(quiet);
    let outcome = outcome?;
    setting.answer.give(&told(talk, &outcome), |_| {
        // What streams to a terminal is provisional; a pipe gets what holds.
        if screen.is_none() && outcome.ended.status == Status::Replied {
            output::line(outcome.ended.text.as_deref().unwrap_or_default());
            if let Some(why) = outcome.ended.breaks_off() {
                output::notice(why);
            }
        }
    });
    match outcome.ended.status {
        Status::Replied => Ok(0),
        _ if outcome.interrupted => Ok(INTERRUPTED),
        _ if setting.answer == Answer::Json => Ok(FAILED),
        Status::Failed => Err(Failure::Failed(why(&outcome))),
        Status::Stopped => Err(Failure::Failed("the turn was stopped".to_owned())),
    }
}

/// Why a turn failed.
fn why(outcome: &Outcome) -> String {
    outcome.ended.error.clone().unwrap_or_else(|| "the turn failed".to_owned())
}

/// A turn for programs.
fn told(talk: &Talk, outcome: &Outcome) -> Value {
    let Outcome { turn, ended, tools, .. } = outcome;
    let tools = tools.iter().map(|tool| json!({ "name": tool.name, "is_error": tool.is_error }));
    json!({
        "agent": talk.agent,
        "session": talk.session,
        "turn": turn,
        "status": ended.status.as_str(),
        "text": ended.text,
        "cut": ended.cut,
        "error": ended.error.as_ref().map(|message| json!({ "message": message })),
        "tools": tools.collect::<Vec<Value>>(),
        "usage": ended.usage,
    })
}
