//! Commands typed in a conversation: what they are called, and what was meant.

use super::markdown::Style;
use super::terminal::Screen;
use crate::layout::{width, wrap};
use serde_json::Value;
use std::fmt;

/// A command of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    /// List the agents.
    Agents,
    /// Talk to another agent; without a name, say which one this is.
    Agent(Option<String>),
    /// Begin the conversation anew.
    New,
    /// Stop what runs in it.
    Stop,
    /// Have the last message answered again.
    Retry,
    /// List what waits for approval.
    Approvals,
    /// Allow what waits; without an id, the only one.
    Approve(Option<String>),
    /// Refuse what waits; without an id, the only one.
    Deny(Option<String>),
    /// Show what is remembered here.
    Memory,
    /// Forget something that is remembered here.
    Forget(Option<String>),
    /// Say which model answers; with a name, have another one do it.
    Model(Option<String>),
    /// Take back the last message and its answer.
    Undo,
    /// Have the older part of the conversation become notes.
    Compress,
    /// Say who speaks in the conversation.
    Who,
    /// List the conversations; with a number, go on in one.
    Sessions(Option<String>),
    /// Go on in another conversation; without a name, say which one this is.
    Session(Option<String>),
    /// List or change what the agent does by the clock.
    Cron(Option<String>),
    /// Look at or change cards of boards.
    Board(Option<String>),
    /// Go back to the agent that handed the conversation over.
    Back,
    /// What the agent can use.
    Tools,
    /// What was used today.
    Usage,
    /// What can be typed.
    Help,
    /// Leave.
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedLine {
    /// Something to say.
    Message(String),
    /// Something to do.
    Command(Slash),
    /// Something that looks like a command and is none.
    Unknown(Unknown),
    /// Nothing.
    Empty,
}

/// Something that looks like a command and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    word: String,
    near: Option<&'static str>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, near } = self;
        match near {
            Some(near) => write!(f, "there is no `{word}`; did you mean `{near}`?"),
            None => write!(f, "there is no `{word}`; /help lists what there is"),
        }
    }
}

/// A command as `/help` lists it.
#[derive(Debug)]
pub struct Entry {
    /// What to type.
    pub name: &'static str,
    /// What follows it.
    pub argument: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// Every command.
pub const ENTRIES: [Entry; 23] = [
    Entry { name: "/agents", argument: "", about: "list the agents" },
    Entry { name: "/agent", argument: " NAME", about: "talk to another agent" },
    Entry { name: "/new", argument: "", about: "begin this conversation anew" },
    Entry { name: "/stop", argument: "", about: "stop what runs in this conversation" },
    Entry { name: "/retry", argument: "", about: "have the last message answered again" },
    Entry { name: "/undo", argument: "", about: "take back the last message and its answer" },
    Entry { name: "/model", argument: " [NAME]", about: "say or choose which model answers here" },
    Entry {
        name: "/compress",
        argument: "",
        about: "have what was said so far become notes, before the next answer",
    },
    Entry { name: "/approvals", argument: "", about: "list what waits for approval" },
    Entry { name: "/approve", argument: " [ID]", about: "allow what waits, once" },
    Entry { name: "/deny", argument: " [ID]", about: "refuse what waits" },
    Entry { name: "/memory", argument: "", about: "show what is remembered here" },
    Entry {
        name: "/forget",
        argument: " WHAT",
        about: "forget an entry by number or words, or all",
    },
    Entry {
        name: "/sessions",
        argument: " [NUMBER]",
        about: "list your conversations with this agent, or go on in one",
    },
    Entry { name: "/session", argument: " NAME", about: "go on in another conversation" },
    Entry { name: "/who", argument: "", about: "show who speaks in this conversation" },
    Entry {
        name: "/cron",
        argument: " [WHAT]",
        about: "list, add or change what the agent does by the clock",
    },
    Entry { name: "/board", argument: " [WHAT]", about: "look at or change cards of boards" },
    Entry {
        name: "/back",
        argument: "",
        about: "return to the agent that handed this conversation over",
    },
    Entry { name: "/tools", argument: "", about: "show what the agent can use" },
    Entry { name: "/usage", argument: "", about: "show what was used today" },
    Entry { name: "/help", argument: "", about: "show this" },
    Entry { name: "/quit", argument: "", about: "leave, as Ctrl-D does" },
];

/// The prompts of an agent's MCP servers, by what the daemon says of those: what to type, what
/// follows it, and what it is for.
pub fn prompts(servers: &Value) -> Vec<(String, String, String)> {
    let all = servers.as_array().into_iter().flatten();
    let prompts = all.flat_map(|server| server["prompts"].as_array().into_iter().flatten());
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    prompts
        .map(|it| (text(it, "command"), text(it, "arguments"), text(it, "description")))
        .collect()
}

/// Commands and what they do, in two columns, or below each other where there is no room.
pub fn help(all: &[(String, String)], screen: Screen) -> String {
    let Screen { columns, paint, .. } = screen;
    let typed = all.iter().take(ENTRIES.len()).map(|(typed, _)| width(typed)).max().unwrap_or(0);
    let is_wide = columns >= typed + 4 + ABOUT_COLUMNS_MIN;
    let mut text = String::new();
    for (command, about) in all {
        let shown = Style::CODE.paint(command, paint);
        let indent = if is_wide { typed + 4 } else { 4 };
        let about = wrap(about, columns.saturating_sub(indent).max(1), 0);
        let about = about.replace('\n', &format!("\n{}", " ".repeat(indent)));
        let between = match is_wide && width(command) <= typed {
            true => " ".repeat(typed + 2 - width(command)),
            false => format!("\n{}", " ".repeat(indent)),
        };
        text += &format!("  {shown}{between}{about}\n");
    }
    text
}

/// Room that a sentence needs beside a command.
const ABOUT_COLUMNS_MIN: usize = 24;

/// How alike a word has to be to a command to be taken for it misspelt.
const ALIKE_MIN: f64 = 0.75;

/// Says what a line is. A path such as `/etc/hosts` is something to say, and so is anything
/// after a doubled slash.
pub fn read(line: &str) -> TypedLine {
    let line = joined(line);
    let line = line.trim();
    if line.is_empty() {
        return TypedLine::Empty;
    }
    if let Some(rest) = line.strip_prefix("//") {
        return TypedLine::Message(format!("/{rest}"));
    }
    let mut words = line.split_whitespace();
    let word = words.next().unwrap_or_default();
    let name = word.strip_prefix('/').filter(|name| !name.is_empty());
    let is_name = name.is_some_and(|it| it.chars().all(|c| c.is_alphanumeric() || c == '-'));
    if !is_name || line.contains('\n') {
        return TypedLine::Message(line.to_owned());
    }
    let rest = Some(words.clone().collect::<Vec<_>>().join(" ")).filter(|rest| !rest.is_empty());
    let argument = words.next().map(str::to_owned);
    TypedLine::Command(match word {
        "/agents" => Slash::Agents,
        "/agent" => Slash::Agent(argument),
        "/new" => Slash::New,
        "/stop" => Slash::Stop,
        "/retry" => Slash::Retry,
        "/approvals" => Slash::Approvals,
        "/approve" => Slash::Approve(argument),
        "/deny" => Slash::Deny(argument),
        "/memory" => Slash::Memory,
        "/forget" => Slash::Forget(rest),
        "/cron" => Slash::Cron(rest),
        "/board" => Slash::Board(rest),
        "/back" => Slash::Back,
        "/undo" => Slash::Undo,
        "/model" => Slash::Model(argument),
        "/compress" => Slash::Compress,
        "/who" => Slash::Who,
        "/sessions" => Slash::Sessions(argument),
        "/session" => Slash::Session(argument),
        "/tools" => Slash::Tools,
        "/usage" => Slash::Usage,
        "/help" => Slash::Help,
        "/quit" | "/exit" => Slash::Quit,
        _ => return TypedLine::Unknown(Unknown { word: word.to_owned(), near: near(word) }),
    })
}

/// A line that ends with a backslash goes on in the next.
fn joined(line: &str) -> String {
    line.replace("\\\n", "\n")
}

fn near(word: &str) -> Option<&'static str> {
    nearest(word, ENTRIES.iter().map(|entry| entry.name))
}

/// The candidate that is most like a word, if any is.
pub fn nearest<T: AsRef<str>>(word: &str, candidates: impl Iterator<Item = T>) -> Option<T> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate.as_ref()), candidate))
        .filter(|(alike, _)| *alike >= ALIKE_MIN)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_it_looks_like() {
        let message = |text: &str| TypedLine::Message(text.to_owned());
        for (line, meant) in [
            ("", TypedLine::Empty),
            ("  \n ", TypedLine::Empty),
            ("hello", message("hello")),
            (" hello there ", message("hello there")),
            ("/help", TypedLine::Command(Slash::Help)),
            (" /agent coder ", TypedLine::Command(Slash::Agent(Some("coder".into())))),
            ("/agent", TypedLine::Command(Slash::Agent(None))),
            ("/exit", TypedLine::Command(Slash::Quit)),
            ("/etc/hosts is odd", message("/etc/hosts is odd")),
            ("/ is the root", message("/ is the root")),
            ("//help is a command", message("/help is a command")),
            ("one\\\ntwo", message("one\ntwo")),
            ("Über uns", message("Über uns")),
            ("我的护照在哪里?", message("我的护照在哪里?")),
            ("👍", message("👍")),
            ("¿Qué?", message("¿Qué?")),
            ("/new\nthings", message("/new\nthings")),
        ] {
            assert_eq!(read(line), meant, "{line:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_something(line in "\\PC{0,12}") {
            let _ = read(&line);
            let _ = read(&format!("/{line}"));
        }
    }

    #[test]
    fn what_is_misspelt_is_recognised() {
        for (line, near) in [
            ("/agnets", Some("/agents")),
            ("/sessoins", Some("/sessions")),
            ("/hlep", Some("/help")),
            ("/retyr", Some("/retry")),
            ("/xyzzy", None),
        ] {
            let TypedLine::Unknown(unknown) = read(line) else { panic!("{line}") };
            assert_eq!(unknown.near, near, "{line}");
        }
    }

    #[test]
    fn every_command_that_is_listed_is_one() {
        for entry in &ENTRIES {
            assert!(matches!(read(entry.name), TypedLine::Command(_)), "{}", entry.name);
        }
    }
}
