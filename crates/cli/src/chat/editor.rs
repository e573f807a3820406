//! The line one types on: history, several lines, completion of commands and agents.

use super::history::{ENTRIES_MAX, History};
use super::markdown::{Paint, Style};
use super::slash::ENTRIES;
use insula_registry::Home;
use rustyline::completion::Completer;
use rustyline::config::{BellStyle, Configurer as _};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Cmd, Config, Context, Editor, EventHandler, Helper, KeyCode, KeyEvent, Modifiers};
use std::borrow::Cow;
use std::cell::Cell;

/// What came from the person.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line, or several.
    Line(String),
    /// Ctrl-C on a line with something on it, which is dropped.
    Dropped,
    /// Ctrl-C on an empty line.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The line one types on.
pub struct Prompt<'a> {
    editor: Editor<Hand, MemHistory>,
    history: History<'a>,
    paint: Paint,
}

impl<'a> Prompt<'a> {
    /// A prompt with the history of a home.
    pub fn new(home: &'a Home, paint: Paint) -> Result<Self, ReadlineError> {
        let config = Config::builder()
            .max_history_size(ENTRIES_MAX)?
            .history_ignore_space(true)
            .bell_style(BellStyle::None)
            .build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history)?;
        if paint == Paint::Plain {
            editor.set_color_mode(rustyline::ColorMode::Disabled);
        }
        editor.set_helper(Some(Hand { agents: vec![], paint, empty: Cell::new(true) }));
        // What Alt-Enter is called depends on what the terminal makes of Enter.
        for (key, modifiers) in [
            (KeyCode::Enter, Modifiers::ALT),
            (KeyCode::Char('M'), Modifiers::CTRL_ALT),
            (KeyCode::Char('J'), Modifiers::CTRL_ALT),
        ] {
            editor.bind_sequence(KeyEvent(key, modifiers), EventHandler::Simple(Cmd::Newline));
        }
        let history = History::of(home);
        for entry in history.entries() {
            editor.add_history_entry(entry)?;
        }
        Ok(Self { editor, history, paint })
    }

    /// The agents that completion offers.
    pub fn know(&mut self, agents: Vec<String>) {
        if let Some(hand) = self.editor.helper_mut() {
            hand.agents = agents;
        }
    }

    /// Waits for something typed.
    pub fn read(&mut self, agent: &str) -> Result<Typed, ReadlineError> {
        if let Some(hand) = self.editor.helper() {
            hand.empty.set(true);
        }
        let name = Style { bold: true, code: true, ..Style::PLAIN }.paint(agent, self.paint);
        let prompt = (format!("{agent} › "), format!("{name} › "));
        match self.editor.readline(&prompt) {
            Ok(line) => {
                if !line.trim().is_empty() && !line.starts_with(' ') {
                    self.editor.add_history_entry(line.as_str())?;
                    self.history.add(&line);
                }
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => {
                let empty = self.editor.helper().is_none_or(|hand| hand.empty.get());
                Ok(if empty { Typed::Interrupt } else { Typed::Dropped })
            }
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(error),
        }
    }
}

/// What helps while typing.
struct Hand {
    agents: Vec<String>,
    paint: Paint,
    /// Whether the line is empty, which an interrupt does not tell.
    empty: Cell<bool>,
}

impl Helper for Hand {}

impl Completer for Hand {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(&line[..at], &self.agents))
    }
}

/// Where the word to complete begins, and what it may become.
fn candidates(typed: &str, agents: &[String]) -> (usize, Vec<String>) {
    if let Some(name) = typed.strip_prefix("/agent ") {
        let known = agents.iter().filter(|agent| agent.starts_with(name)).cloned();
        return (typed.len() - name.len(), known.collect());
    }
    if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
        return (typed.len(), vec![]);
    }
    let known = ENTRIES.iter().filter(|entry| entry.name.starts_with(typed));
    let word = |name: &str, argument: &str| match argument {
        "" => name.to_owned(),
        _ => format!("{name} "),
    };
    (0, known.map(|entry| word(entry.name, entry.argument)).collect())
}

impl Hinter for Hand {
    type Hint = String;

    fn hint(&self, line: &str, at: usize, _: &Context<'_>) -> Option<String> {
        self.empty.set(line.is_empty());
        if at < line.len() {
            return None;
        }
        if line == "/agent " {
            return Some("NAME".to_owned());
        }
        if line.len() < 2 {
            return None;
        }
        let (start, candidates) = candidates(line, &self.agents);
        let rest = candidates.first()?.trim_end().strip_prefix(&line[start..])?;
        (!rest.is_empty()).then(|| rest.to_owned())
    }
}

impl Highlighter for Hand {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Style::DIM.paint(hint, self.paint).into()
    }
}

impl Validator for Hand {
    /// A line that ends with a backslash goes on.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_agents_are_completed() {
        let agents = ["coder".to_owned(), "family".to_owned()];
        let complete = |typed| candidates(typed, &agents);
        assert_eq!(complete("/se"), (0, vec!["/sessions ".to_owned(), "/session ".to_owned()]));
        assert_eq!(complete("/agent"), (0, vec!["/agents".to_owned(), "/agent ".to_owned()]));
        assert_eq!(complete("/agent co"), (7, vec!["coder".to_owned()]));
        assert_eq!(complete("/agent ").1, agents);
        assert_eq!(complete("hello"), (5, vec![]));
    }
}
