//! Commands that people type: what they are called and what was meant. Pure.

use insula_capabilities::mcp::PromptReport;

/// Who may use a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// Whoever may talk to the agent.
    Everyone,
    /// Its admins.
    Admins,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// What a new chat with a bot begins with on some platforms.
    Start,
    /// What can be typed.
    Help,
    /// Who I am here.
    Whoami,
    /// Which agents I can reach here.
    Agents,
    /// Back to who handed the conversation over.
    Back,
    /// Begin anew.
    New,
    /// Stop what runs.
    Stop,
    /// What goes on here.
    Status,
    /// What can be used here.
    Tools,
    /// Which model answers here.
    Model,
    /// Go on from notes.
    Compress,
    /// Answer the last message again.
    Retry,
    /// Take the last exchange back.
    Undo,
    /// Which conversations there were here.
    Sessions,
    /// What was used today.
    Usage,
    /// Who speaks here.
    Who,
    /// What is done by the clock here.
    Cron,
    /// Cards of boards.
    Board,
    /// What is remembered here.
    Memory,
    /// Forget some of it.
    Forget,
    /// Allow what waits.
    Approve,
    /// Refuse what waits.
    Deny,
    /// Let somebody in.
    Pair,
    /// Read the configuration again.
    Reload,
    /// Serve nobody for a while.
    Pause,
    /// Serve again.
    Resume,
    /// Tell here what becomes of the agent.
    SetHome,
    /// The end of the agent's log.
    Logs,
}

struct Entry {
    command: Command,
    name: &'static str,
    argument: &'static str,
    about: &'static str,
    whose: For,
}

const fn entry(
    command: Command,
    name: &'static str,
    argument: &'static str,
    about: &'static str,
    whose: For,
) -> Entry {
    Entry { command, name, argument, about, whose }
}

const ENTRIES: [Entry; 27] = [
    entry(Command::Help, "help", "", "what you can type here", For::Everyone),
    entry(Command::Whoami, "whoami", "", "who you are to me", For::Everyone),
    entry(Command::Agents, "agents", "", "the agents you reach in this chat", For::Everyone),
    entry(Command::Back, "back", "", "return to who handed this conversation to me", For::Everyone),
    entry(Command::New, "new", "", "begin this conversation anew", For::Everyone),
    entry(Command::Stop, "stop", "", "stop what I am doing", For::Everyone),
    entry(Command::Status, "status", "", "what goes on here", For::Everyone),
    entry(Command::Retry, "retry", "", "answer your last message again", For::Everyone),
    entry(Command::Undo, "undo", "", "take your last message and my answer back", For::Everyone),
    entry(
        Command::Sessions,
        "sessions",
        " [NUMBER]",
        "the conversations there were here, or go on with one",
        For::Everyone,
    ),
    entry(Command::Tools, "tools", "", "what I can use here", For::Everyone),
    entry(
        Command::Model,
        "model",
        " [NUMBER|NAME|default]",
        "which model answers here, or have another one answer",
        For::Everyone,
    ),
    entry(
        Command::Compress,
        "compress",
        "",
        "make notes of what was said here and go on from those",
        For::Everyone,
    ),
    entry(Command::Usage, "usage", "", "what you used today", For::Everyone),
    entry(Command::Who, "who", "", "who speaks here", For::Everyone),
    entry(
        Command::Cron,
        "cron",
        " [add WHEN | WHAT]",
        "what I do by the clock for you",
        For::Everyone,
    ),
    entry(
        Command::Board,
        "board",
        " [BOARD] [list|show|add|claim|…]",
        "cards of the boards you may see",
        For::Everyone,
    ),
    entry(Command::Memory, "memory", "", "what I remember here", For::Everyone),
    entry(
        Command::Forget,
        "forget",
        " WHAT",
        "forget an entry by number or words, or all",
        For::Everyone,
    ),
    entry(Command::Approve, "approve", " [ID] [session|always]", "allow what waits", For::Admins),
    entry(Command::Deny, "deny", " [ID] [REASON]", "refuse what waits", For::Admins),
    entry(Command::Pair, "pair", " CODE", "let somebody in", For::Admins),
    entry(Command::Reload, "reload", "", "read my configuration again", For::Admins),
    entry(Command::Pause, "pause", "", "serve nobody until /resume", For::Admins),
    entry(Command::Resume, "resume", "", "serve again", For::Admins),
    entry(Command::SetHome, "sethome", " [off]", "tell here what becomes of me", For::Admins),
    entry(Command::Logs, "logs", "", "the end of my log", For::Admins),
];

/// Typed by a button that clients show in an empty chat, and of no use afterwards: no menu and
/// no help has it.
const START: Entry = entry(Command::Start, "start", "", "begin", For::Everyone);

/// Every command with what it does, for the menus of platforms.
pub const COMMANDS: [(&str, &str); ENTRIES.len()] = {
    let mut all = [("", ""); ENTRIES.len()];
    let mut at = 0;
    while at < ENTRIES.len() {
        all[at] = (ENTRIES[at].name, ENTRIES[at].about);
        at += 1;
    }
    all
};

impl Command {
    fn entry(self) -> &'static Entry {
        // Every command is listed; a test says so.
        ENTRIES.iter().find(|it| it.command == self).unwrap_or(&START)
    }

    /// Who may use it.
    pub(super) fn whose(self) -> For {
        self.entry().whose
    }

    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        self.entry().name
    }
}

/// What somebody typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed<'t> {
    /// A command, and what follows it.
    Command(Command, &'t str),
    /// Something that looks like a command and is none.
    Unknown(&'t str),
    /// Something to say.
    Words,
}

/// Says what a text is. A path such as `/etc/hosts` is something to say.
pub(super) fn read(text: &str) -> Typed<'_> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('/') else { return Typed::Words };
    let (word, argument) = match rest.split_once(char::is_whitespace) {
        Some((word, argument)) => (word, argument.trim()),
        None => (rest, ""),
    };
    let is_name =
        !word.is_empty() && word.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    if !is_name {
        return Typed::Words;
    }
    let found = ENTRIES.iter().chain([&START]).find(|it| it.name.eq_ignore_ascii_case(word));
    found.map_or(Typed::Unknown(word), |it| Typed::Command(it.command, argument))
}

/// What can be typed by an admin, or by anybody.
pub(super) fn help(is_admin: bool) -> String {
    let shown = ENTRIES.iter().filter(|it| is_admin || it.whose == For::Everyone);
    let lines = shown.map(|it| format!("/{}{}: {}", it.name, it.argument, it.about));
    lines.collect::<Vec<_>>().join("\n")
}

/// Prompts that one answer names.
const PROMPTS_SHOWN_MAX: usize = 40;
/// Characters of what a server says of one.
const ABOUT_CHARS_MAX: usize = 120;

/// The prompts of the agent's servers, which can be typed as well. What they are for is said by
/// their servers.
pub(super) fn help_of_prompts(prompts: &[PromptReport]) -> String {
    let lines = prompts.iter().take(PROMPTS_SHOWN_MAX).map(|it| {
        let about: String = it.description.chars().take(ABOUT_CHARS_MAX).collect();
        let about = if about.is_empty() { "a prompt of that server" } else { &about };
        format!("\n{}{}: {about}", it.command, it.arguments)
    });
    let shown: String = lines.collect();
    match prompts.len().saturating_sub(PROMPTS_SHOWN_MAX) {
        0 => shown,
        more => format!("{shown}\n… and {more} more prompts"),
    }
}

/// An answer to something that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlainAnswer {
    /// Go on.
    Yes,
    /// Don't.
    No,
}

/// Whether a text is nothing but a yes or a no.
pub(super) fn plain_answer(text: &str) -> Option<PlainAnswer> {
    let word = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    match word.as_str() {
        "yes" | "y" | "ok" | "okay" | "approve" | "approved" | "allow" | "go ahead" => {
            Some(PlainAnswer::Yes)
        }
        "no" | "n" | "deny" | "denied" | "refuse" | "don't" | "stop it" => Some(PlainAnswer::No),
        _ => None,
    }
}

/// Letters of an approval's id, so that no word passes for one.
const ID_LEN: usize = 12;

/// Whether a text is nothing but a yes or a no, alone or with the id of what it answers behind it.
pub(super) fn worded_answer(text: &str) -> Option<(PlainAnswer, Option<&str>)> {
    if let Some(answer) = plain_answer(text) {
        return Some((answer, None));
    }
    let (answer, id) = text.trim().rsplit_once(char::is_whitespace)?;
    let id = id.trim_matches('`');
    let is_id = id.len() == ID_LEN && id.chars().all(|it| it.is_ascii_alphanumeric());
    plain_answer(answer.trim_end_matches([',', ':'])).filter(|_| is_id).map(|it| (it, Some(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_what_it_looks_like() {
        for (text, meant) in [
            ("hello", Typed::Words),
            ("/help", Typed::Command(Command::Help, "")),
            (" /FORGET  the  red one ", Typed::Command(Command::Forget, "the  red one")),
            ("/approve abc always", Typed::Command(Command::Approve, "abc always")),
            ("/etc/hosts is odd", Typed::Words),
            ("/ is the root", Typed::Words),
            ("/nonsense", Typed::Unknown("nonsense")),
            ("say /new", Typed::Words),
        ] {
            assert_eq!(read(text), meant, "{text:?}");
        }
    }

    #[test]
    fn every_command_is_one_and_help_shows_what_one_may_use() {
        for (name, _) in COMMANDS {
            assert!(
                matches!(read(&format!("/{name}")), Typed::Command(it, "") if it.name() == name)
            );
        }
        assert!(!help(false).contains("/pair") && help(true).contains("/pair"));
        assert!(help(false).contains("/forget WHAT"));
    }

    #[test]
    fn prompts_of_servers_are_listed_and_typed_as_words() {
        assert_eq!(help_of_prompts(&[]), "");
        let prompt = |at: usize| PromptReport {
            command: format!("/git:p{at}"),
            arguments: " path=…".to_owned(),
            description: "x".repeat(at * 100),
        };
        let prompts: Vec<PromptReport> = (0..50).map(prompt).collect();
        let help = help_of_prompts(&prompts);
        assert!(help.starts_with("\n/git:p0 path=…: a prompt of that server\n/git:p1 path=…: xxx"));
        assert!(help.ends_with("\n… and 10 more prompts"), "{help}");
        assert!(help.lines().all(|line| line.len() < 200));
        assert_eq!(read("/git:p0 path=a"), Typed::Words, "the turn takes it from there");
    }

    #[test]
    fn an_answer_may_name_what_it_answers() {
        let yes = PlainAnswer::Yes;
        assert_eq!(worded_answer("ok"), Some((yes, None)));
        assert_eq!(worded_answer("ok 0123456789ab"), Some((yes, Some("0123456789ab"))));
        assert_eq!(worded_answer("Yes, `0123456789ab`"), Some((yes, Some("0123456789ab"))));
        for text in ["ok then", "ok 0123456789abc", "fine 0123456789ab", "ok 0123-5678-ab", ""] {
            assert_eq!(worded_answer(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_bare_yes_is_a_yes() {
        assert_eq!(plain_answer(" Yes. "), Some(PlainAnswer::Yes));
        assert_eq!(plain_answer("no!"), Some(PlainAnswer::No));
        for text in ["yes, but not now", "yesterday", "", "no problem, go on"] {
            assert_eq!(plain_answer(text), None, "{text:?}");
        }
    }
}
