//! The words of the practice model: plain, and never more than it knows.

use super::Outcome;
use super::rules::{Call, Wish};
use crate::request::{Request, Role};

/// The most of a tool's result that is repeated. The result itself is in the conversation.
const RESULT_CHARS_MAX: usize = 2000;
/// Lines shown when asked what it was told.
const RECALLED_LINES_MAX: usize = 5;
/// The longest of these lines.
const LINE_CHARS_MAX: usize = 300;
/// Words shorter than this are in every line.
const TOPIC_WORD_LEN_MIN: usize = 3;

const IDENTITY: &str = "I am rehearsal, the built-in practice model. I follow a few fixed rules \
    and do not understand language. My tool calls are real, though, and run within this agent's \
    boundary.";

const EXAMPLES: &str = "You can write:\n\
    - remember that FACT\n\
    - read FILE\n\
    - run COMMAND\n\
    - delegate GOAL\n\
    - search for WORDS\n\
    - todo ITEM\n\
    - ask me QUESTION\n\
    - what do you know about TOPIC\n\
    - tools";

const PROVIDER: &str = "For a model that understands you, add a provider and its key to the \
    configuration, and name it in the agent's `model`.";

/// What to say where nothing is to be done.
pub(super) fn reply(wish: &Wish, request: &Request) -> String {
    match wish {
        Wish::Greeting => format!("Hello. {IDENTITY} Write \"help\" to see what I can do."),
        Wish::Identity => format!("{IDENTITY} {PROVIDER}"),
        Wish::Help => format!("{IDENTITY}\n\n{EXAMPLES}\n\n{PROVIDER}"),
        Wish::Tools => tools(request),
        Wish::Ping => "pong".to_owned(),
        Wish::Thanks => "You are welcome.".to_owned(),
        Wish::Say(words) => words.clone(),
        Wish::Recall(topic) => recall(topic, request),
        Wish::Unknown(text) if text.is_empty() => {
            format!("There was no text in that message. {IDENTITY}")
        }
        Wish::Unknown(_) | Wish::Calls(_) => {
            format!("None of my rules fits that message. {IDENTITY}\n\n{EXAMPLES}\n\n{PROVIDER}")
        }
    }
}

/// What is said beside the calls.
pub(super) fn announce(calls: &[Call]) -> String {
    let names: Vec<String> = calls.iter().map(|call| format!("`{}`", call.tool)).collect();
    match names.as_slice() {
        [name] => format!("I use the tool {name} for that."),
        names => format!("I use the tools {} for that.", names.join(", ")),
    }
}

/// A tool is wanted that is not there.
pub(super) fn not_offered(tool: &str, request: &Request) -> String {
    format!(
        "That needs the tool `{tool}`, which this agent does not offer me here, so nothing was \
         done. {}",
        tools(request)
    )
}

/// What the tools gave back.
pub(super) fn report(results: &[Outcome<'_>]) -> String {
    let mut parts = vec![];
    for Outcome { tool, arguments, text, is_error } in results {
        let text = text.trim();
        let asked = if *arguments == "{}" { String::new() } else { format!(" with {arguments}") };
        let asked = shorten(&asked, LINE_CHARS_MAX);
        parts.push(match (is_error, text.is_empty()) {
            (false, true) => format!("`{tool}`{asked} is done and gave nothing back."),
            (false, false) => {
                format!("`{tool}`{asked} gave back:\n\n{}", shorten(text, RESULT_CHARS_MAX))
            }
            (true, true) => format!("`{tool}`{asked} failed without saying why."),
            (true, false) => {
                format!("`{tool}`{asked} failed:\n\n{}", shorten(text, RESULT_CHARS_MAX))
            }
        });
    }
    parts.join("\n\n")
}

fn tools(request: &Request) -> String {
    if request.tools.is_empty() {
        return "I was offered no tools in this conversation.".to_owned();
    }
    let lines = request.tools.iter().map(|tool| {
        let sentence = tool.description.split(['.', '\n']).next().unwrap_or_default().trim();
        match sentence {
            "" => format!("- `{}`", tool.name),
            _ => format!("- `{}`: {}", tool.name, shorten(sentence, LINE_CHARS_MAX)),
        }
    });
    let lines: Vec<String> = lines.collect();
    format!("The tools I was offered here:\n{}", lines.join("\n"))
}

/// The lines it was given that mention every word of the topic.
fn recall(topic: &str, request: &Request) -> String {
    let words: Vec<String> = topic
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= TOPIC_WORD_LEN_MIN)
        .map(str::to_owned)
        .collect();
    let blocks = request.system.iter().map(|block| block.text.to_string());
    // The question itself mentions the topic too, and is no answer.
    let earlier = request.messages.split_last().map_or(&[][..], |(_, earlier)| earlier);
    let said =
        earlier.iter().filter(|message| message.role == Role::User).map(|message| message.text());
    let mut found: Vec<String> = vec![];
    for line in blocks
        .chain(said)
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<String>>())
    {
        let lower = line.to_lowercase();
        let fits = !words.is_empty() && words.iter().all(|word| lower.contains(word));
        if fits && !found.contains(&line) && found.len() < RECALLED_LINES_MAX {
            found.push(line);
        }
    }
    if found.is_empty() {
        return format!(
            "Nothing in what I was given here mentions {}.",
            shorten(&format!("\"{topic}\""), LINE_CHARS_MAX)
        );
    }
    let lines: Vec<String> =
        found.iter().map(|line| format!("> {}", shorten(line, LINE_CHARS_MAX))).collect();
    format!("In what I was given here, this mentions it:\n{}", lines.join("\n"))
}

fn shorten(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}… (shortened)", &text[..at]),
        None => text.to_owned(),
    }
}
