//! The terminal: how wide it is, what it can show, and keeping what is typed during a turn
//! out of what is shown.

use super::markdown::Paint;
use crate::process::Environment;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
};
use std::io::{IsTerminal as _, Write as _};

/// Columns where the terminal does not say.
const COLUMNS_UNKNOWN: usize = 80;

/// Asks the terminal to mark what is pasted, so that lines of it are not messages each.
const MARK_PASTES: &str = "\x1b[?2004h";
const MARK_PASTES_NO_MORE: &str = "\x1b[?2004l";

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Whether colours are wanted.
    pub paint: Paint,
    /// How wide it is.
    pub columns: usize,
    /// Whether a line can be written over.
    pub live: bool,
}

/// The screen behind standard output; `None` when that is no terminal.
pub fn screen(environment: &Environment) -> Option<Screen> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let is_set = |name: &str| environment.variables.get(name).is_some_and(|set| !set.is_empty());
    let dumb = environment.variables.get("TERM").is_none_or(|term| term == "dumb");
    let paint = if dumb || is_set("NO_COLOR") { Paint::Plain } else { Paint::Colour };
    let columns = tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_col));
    let columns = if columns == 0 { COLUMNS_UNKNOWN } else { columns };
    Some(Screen { paint, columns, live: !dumb })
}

/// Whether something is piped or redirected into standard input. What is neither, such as a
/// terminal or `/dev/null`, is not waited for.
pub fn is_fed() -> bool {
    let kind = rustix::fs::fstat(std::io::stdin())
        .map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
}

/// While this lives, what is typed is neither shown nor lost: the next prompt gets it.
/// Ctrl-C still is a signal. A prompt may come and go meanwhile.
pub struct Quiet {
    before: Option<Termios>,
}

impl Quiet {
    /// Begins, where standard input is a terminal.
    pub fn begin() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            // As the prompt has it, so that Enter is the same key before and after.
            quiet.input_modes -= InputModes::ICRNL;
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, &quiet);
        }
        Self { before }
    }

    /// Has pastes marked until a prompt has come and gone.
    pub fn mark_pastes(&self) {
        if self.before.is_some() {
            write(MARK_PASTES);
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            write(MARK_PASTES_NO_MORE);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, before);
        }
    }
}

/// Single keys, while a question waits for one.
#[derive(Debug)]
pub struct Keys(());

impl Keys {
    /// The keys that are pressed from now on; `None` where standard input is no terminal.
    /// What was typed before was typed before the question, and is no answer to it.
    pub fn begin() -> Option<Self> {
        tcflush(std::io::stdin(), QueueSelector::IFlush).ok().map(|()| Self(()))
    }

    /// A key that was pressed; `None` where none was, and for pastes and keys that are no
    /// letters. Does not wait.
    pub fn pressed(&self) -> Option<char> {
        let input = std::io::stdin();
        let waiting = rustix::io::ioctl_fionread(&input).unwrap_or(0);
        let mut pressed = [0; 64];
        let count = match waiting {
            0 => 0,
            _ => rustix::io::read(&input, &mut pressed).unwrap_or(0),
        };
        match &pressed[..count] {
            [letter] if letter.is_ascii_alphabetic() => Some(char::from(*letter)),
            _ => None,
        }
    }
}

/// Writes to the terminal. A terminal that is gone ends the program by other ways.
pub fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
