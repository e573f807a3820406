//! What a message asks for, by fixed rules. Decides only; nothing is said or done here.

use serde_json::{Value, json};

/// Instructions that are carried out at once, one a line.
const CALLS_MAX: usize = 8;

/// What a message asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// To do these things.
    Calls(Vec<Call>),
    /// A greeting.
    Greeting,
    /// Who or what this is.
    Identity,
    /// What it can do.
    Help,
    /// Which tools it has.
    Tools,
    /// A sign of life.
    Ping,
    /// Thanks.
    Thanks,
    /// To repeat something.
    Say(String),
    /// What it was told about something.
    Recall(String),
    /// Anything else.
    Unknown(String),
}

/// A tool call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) tool: String,
    /// Its arguments, as JSON.
    pub(super) arguments: String,
}

impl Call {
    fn new(tool: &str, arguments: &Value) -> Self {
        Self { tool: tool.to_owned(), arguments: arguments.to_string() }
    }
}

/// What `text` asks for. Several lines that are all instructions are several instructions.
pub(super) fn wish(text: &str) -> Wish {
    // What the daemon says about a message, as who speaks in a group, asks for nothing.
    let is_note = |line: &&str| line.starts_with('⟦') && line.ends_with('⟧');
    let words: Vec<&str> = text.lines().filter(|line| !is_note(line)).collect();
    let words = words.join("\n");
    let text = words.trim();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if (2..=CALLS_MAX).contains(&lines.len())
        && let Some(calls) = lines.iter().map(|line| instruction(line)).collect()
    {
        return Wish::Calls(calls);
    }
    match instruction(text) {
        Some(call) => Wish::Calls(vec![call]),
        None => talk(text),
    }
}

fn talk(text: &str) -> Wish {
    let plain: String = text
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_whitespace() || *c == '\'')
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.as_str() {
        "hi" | "hello" | "hey" | "hallo" | "hi there" | "hello there" | "good morning"
        | "good afternoon" | "good evening" | "good day" => return Wish::Greeting,
        "who are you"
        | "what are you"
        | "are you real"
        | "which model are you"
        | "are you an ai" => {
            return Wish::Identity;
        }
        "help" | "what can you do" | "what can i do" | "show me what you can do" => {
            return Wish::Help;
        }
        "tools"
        | "which tools do you have"
        | "what tools do you have"
        | "list your tools"
        | "list tools"
        | "show me your tools" => return Wish::Tools,
        "ping" => return Wish::Ping,
        "thanks" | "thank you" | "ok thanks" => return Wish::Thanks,
        _ => {}
    }
    if let Some(words) = after(text, &["say ", "repeat "]) {
        return Wish::Say(unquoted(words).to_owned());
    }
    let recall = ["what do you know about ", "what do you remember about ", "do you know about "];
    match after(text, &recall) {
        Some(topic) => Wish::Recall(topic.trim_end_matches(['?', '.', '!']).trim().to_owned()),
        None => Wish::Unknown(text.to_owned()),
    }
}

/// The tool call that `text` asks for, if it is an instruction.
fn instruction(text: &str) -> Option<Call> {
    if let Some(command) = text.strip_prefix("$ ") {
        return filled(command).map(run);
    }
    let text = after(text, &["please ", "can you ", "could you ", "would you "]).unwrap_or(text);
    let text = text.strip_prefix("please ").unwrap_or(text);
    if let Some(fact) = after(text, &["remember that ", "remember: ", "remember "]) {
        let arguments = json!({"action": "add", "target": "memory", "content": filled(fact)?});
        return Some(Call::new("memory", &arguments));
    }
    if let Some(path) = after(text, &["read ", "show ", "open ", "cat "]) {
        let path = after(path, &["the file ", "file "]).unwrap_or(path);
        return path_of(path).map(|path| Call::new("read_file", &json!({ "path": path })));
    }
    if let Some(command) = after(text, &["run the command ", "run ", "execute "]) {
        return filled(unquoted(command)).map(run);
    }
    let helper = ["delegate: ", "delegate ", "ask a helper to ", "have a helper "];
    if let Some(goal) = after(text, &helper) {
        return Some(Call::new("delegate_task", &json!({"goal": filled(goal)?})));
    }
    if let Some(query) = after(text, &["search for ", "search our history for ", "search "]) {
        let query = filled(unquoted(query.trim_end_matches(['?', '.', '!'])))?;
        return Some(Call::new("session_search", &json!({ "query": query })));
    }
    if let Some(items) = after(text, &["todo: ", "todo ", "add a todo: ", "add a todo "]) {
        return todo(items);
    }
    if let Some(question) = after(text, &["ask me: ", "ask me "]) {
        return Some(Call::new("clarify", &json!({"question": filled(question)?})));
    }
    // For whoever wants to try one tool exactly.
    let (tool, arguments) = after(text, &["call "])?.split_once(' ')?;
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments.is_object().then(|| Call::new(tool, &arguments))
}

fn run(command: &str) -> Call {
    Call::new("terminal", &json!({ "command": command }))
}

fn todo(items: &str) -> Option<Call> {
    let items: Vec<Value> = items
        .split(';')
        .filter_map(filled)
        .map(|item| json!({"id": slug(item), "content": item, "status": "pending"}))
        .collect();
    (!items.is_empty()).then(|| Call::new("todo", &json!({"todos": items, "merge": true})))
}

/// An id made of the words themselves, so that the same item is the same item.
fn slug(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let words = text.to_lowercase();
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(CHARS_MAX).collect()
}

/// What follows one of `beginnings`, whatever the case. The rest keeps its own.
fn after<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| {
        let (head, rest) = text.split_at_checked(beginning.len())?;
        head.eq_ignore_ascii_case(beginning).then_some(rest.trim_start())
    })
}

fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// A file's path: one word, or anything in quotes. More words are a sentence.
fn path_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let inner = unquoted(text);
    let quoted = inner.len() != text.len();
    let path = if quoted { inner } else { text.trim_end_matches(['?', '!', ',']) };
    (!path.is_empty() && (quoted || !path.contains(char::is_whitespace))).then_some(path)
}

/// `text` without the quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'', '`']
        .iter()
        .find_map(|&quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}
