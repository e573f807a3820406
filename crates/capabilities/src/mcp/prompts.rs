//! Prompts of servers, which people choose by typing `/SERVER:PROMPT ARGUMENTS`.

use super::opener::AgentOpener;
use crate::Capabilities;
use insula_config::mcp::McpServer;
use insula_mcp::{CallOutcome, PinnedArgument, PinnedPrompt, full_name};
use insula_registry::context::{AgentContext, PROMPTS};
use serde_json::{Map, Value};

/// Prompts that a refusal names.
const NAMED_MAX: usize = 10;

/// A prompt, as somebody is told that they may choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptReport {
    /// What to type.
    pub command: String,
    /// What follows it.
    pub arguments: String,
    /// What its server says that it is for.
    pub description: String,
}

/// A prompt that somebody chose, by what they typed.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    server: &'a McpServer,
    typed: &'a str,
    rest: &'a str,
}

/// What a chosen prompt says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub server: String,
    pub prompt: String,
    pub said: CallOutcome,
}

impl<'a> Chosen<'a> {
    /// The prompt that a text chooses; `None` for anything else, as for a server that the agent
    /// does not have.
    pub fn read(agent: &'a AgentContext, text: &'a str) -> Option<Self> {
        let text = text.trim().strip_prefix('/')?;
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (server, typed) = word.split_once(':')?;
        let server = agent.mcp.server(server).filter(|_| !typed.is_empty())?;
        Some(Self { server, typed, rest: rest.trim() })
    }

    /// By which name it is said whether an agent has prompts of this server.
    pub fn tool_name(&self) -> String {
        prompts_of(self.server)
    }

    /// What it is called, and what it is filled with, for whoever judges that.
    pub fn subject(&self) -> String {
        format!("{}:{}", self.server.name, self.typed)
    }

    /// What it says, filled in; why it can't be had, for whoever typed it.
    pub async fn text(
        self,
        caps: &Capabilities,
        agent: &AgentContext,
    ) -> Result<PromptText, String> {
        let server = self.server;
        let refused = |why: String| Err(format!("/{}:{}: {why}", server.name, self.typed));
        if !is_offered(agent, server) {
            return refused("the prompts of this server are not among what I may use".to_owned());
        }
        let known: Vec<(&str, &PinnedPrompt)> = agent.mcp.prompts(server).collect();
        let is_it = |it: &&(&str, &PinnedPrompt)| command_name(it.0) == self.typed;
        let alike =
            |it: &&(&str, &PinnedPrompt)| command_name(it.0).eq_ignore_ascii_case(self.typed);
        let found = known.iter().find(is_it).or_else(|| known.iter().find(alike));
        let Some((name, prompt)) = found else {
            let names = known.iter().take(NAMED_MAX).map(|it| command_name(it.0));
            return refused(match names.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "this server offers no prompts".to_owned(),
                names => format!("there is no such prompt; there are {names}"),
            });
        };
        let arguments = match filled(&prompt.arguments, self.rest) {
            Ok(arguments) => arguments,
            Err(why) => return refused(why),
        };
        let connection = match caps.programs.servers.get(caps, agent, server) {
            Ok(connection) => connection,
            Err(why) => return refused(why.to_owned()),
        };
        let opener = AgentOpener { caps, agent, server };
        match connection.prompt(&opener, name, arguments).await {
            Ok(said) if said.text.trim().is_empty() && said.pictures.is_empty() => {
                refused("it says nothing".to_owned())
            }
            Ok(said) => {
                let (server, prompt) = (server.name.to_string(), (*name).to_owned());
                Ok(PromptText { server, prompt, said })
            }
            Err(error) => refused(format!("the MCP server: {error}")),
        }
    }
}

/// The prompts that people may choose who talk to an agent.
pub fn prompts(agent: &AgentContext) -> Vec<PromptReport> {
    let servers = agent.mcp.servers.iter().filter(|server| is_offered(agent, server));
    let all = servers.flat_map(|server| {
        agent.mcp.prompts(server).map(move |(name, prompt)| report(server, name, prompt))
    });
    all.collect()
}

pub(super) fn report(server: &McpServer, name: &str, prompt: &PinnedPrompt) -> PromptReport {
    let arguments = prompt.arguments.iter().map(|it| match it.is_needed {
        true => format!(" {}=…", it.name),
        false => format!(" [{}=…]", it.name),
    });
    PromptReport {
        command: format!("/{}:{}", server.name, command_name(name)),
        arguments: arguments.collect(),
        description: prompt.description.clone(),
    }
}

/// Whether an agent may use the prompts of a server, by the rules for that server's tools.
pub(super) fn is_offered(agent: &AgentContext, server: &McpServer) -> bool {
    server.uses(PROMPTS) && agent.tools().verdict(&prompts_of(server)).is_in()
}

fn prompts_of(server: &McpServer) -> String {
    full_name(&server.name, PROMPTS).unwrap_or_default()
}

/// A prompt's name as it can be typed.
fn command_name(name: &str) -> String {
    name.chars().map(|it| if it.is_whitespace() { '_' } else { it }).collect()
}

/// What a prompt is filled with, by what was typed behind its name: `NAME=VALUE`, or values in the
/// order of its arguments, of which the last takes all that is left.
fn filled(arguments: &[PinnedArgument], typed: &str) -> Result<Map<String, Value>, String> {
    let takes = || {
        let names = arguments.iter().map(|it| format!("`{}`", it.name));
        match names.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "it takes no arguments".to_owned(),
            names => format!("it takes {names}"),
        }
    };
    let mut given: Map<String, Value> = Map::new();
    let mut others: Vec<&Word> = Vec::new();
    let words = words(typed)?;
    for word in &words {
        let Some((name, value)) = word.named() else {
            others.push(word);
            continue;
        };
        if !arguments.iter().any(|it| it.name == name) {
            return Err(format!("there is no argument `{name}`; {}", takes()));
        }
        if given.insert(name.to_owned(), value.into()).is_some() {
            return Err(format!("`{name}` is there twice"));
        }
    }
    let free: Vec<&PinnedArgument> =
        arguments.iter().filter(|it| !given.contains_key(&it.name)).collect();
    if free.is_empty() && !others.is_empty() {
        return Err(format!("`{}` is too much; {}", others[0].text, takes()));
    }
    let mut others = others.into_iter();
    for (at, argument) in free.iter().enumerate() {
        let value = match at + 1 == free.len() {
            true => others.by_ref().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" "),
            false => others.next().map(|it| it.text.clone()).unwrap_or_default(),
        };
        if !value.is_empty() {
            given.insert(argument.name.clone(), value.into());
        }
    }
    let missing = arguments.iter().find(|it| it.is_needed && !given.contains_key(&it.name));
    match missing {
        Some(it) => Err(format!("`{0}` is missing: type `{0}=…` behind it", it.name)),
        None => Ok(given),
    }
}

/// A word as it was typed.
struct Word {
    text: String,
    /// How far it was typed without quotes: a name stands there.
    plain: usize,
}

impl Word {
    /// Name and value, where it has the form of both.
    fn named(&self) -> Option<(&str, &str)> {
        let (name, value) = self.text.split_once('=')?;
        let is_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '.');
        let is_named = !name.is_empty() && name.len() < self.plain && name.chars().all(is_name);
        is_named.then_some((name, value))
    }
}

/// Words between white space; what stands between quotes is one.
fn words(text: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut is_quoted = false;
    for it in text.chars() {
        match (quote, it) {
            (Some(open), it) if it == open => quote = None,
            (None, '"' | '\'') if word.as_ref().is_none_or(|it| it.text.ends_with('=')) => {
                (quote, is_quoted) = (Some(it), true);
                word.get_or_insert_with(|| Word { text: String::new(), plain: 0 });
            }
            (None, it) if it.is_whitespace() => {
                words.extend(word.take());
                is_quoted = false;
            }
            (_, it) => {
                let word = word.get_or_insert_with(|| Word { text: String::new(), plain: 0 });
                word.text.push(it);
                if !is_quoted {
                    word.plain = word.text.len();
                }
            }
        }
    }
    if quote.is_some() {
        return Err("a quotation mark is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(names: &[&str]) -> Vec<PinnedArgument> {
        let argument = |name: &&str| PinnedArgument {
            name: name.trim_end_matches('!').to_owned(),
            description: String::new(),
            is_needed: name.ends_with('!'),
        };
        names.iter().map(argument).collect()
    }

    #[test]
    fn arguments_are_given_by_name_or_in_order() {
        for (names, typed, expected) in [
            (
                &["path!", "tone"][..],
                "path=src tone=\"very kind\"",
                json!({"path": "src", "tone": "very kind"}),
            ),
            (&["path!", "tone"], "src very kind", json!({"path": "src", "tone": "very kind"})),
            (&["path!", "tone"], "tone=kind src/a b", json!({"path": "src/a b", "tone": "kind"})),
            (&["path!", "tone"], "'my file'", json!({"path": "my file"})),
            (&["text!"], "it's 5 o'clock", json!({"text": "it's 5 o'clock"})),
            (&["text!"], "\"a=b\" c", json!({"text": "a=b c"})),
            (&["text!"], "text=a=b", json!({"text": "a=b"})),
            (&["a", "b"], "", json!({})),
            (&[], "", json!({})),
        ] {
            let given = filled(&arguments(names), typed).map(Value::Object);
            assert_eq!(given, Ok(expected), "{typed}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said_clearly() {
        for (names, typed, why) in [
            (&["path!"][..], "file=x", "there is no argument `file`; it takes `path`"),
            (&["path!", "tone"], "tone=kind", "`path` is missing: type `path=…` behind it"),
            (&[], "x", "`x` is too much; it takes no arguments"),
            (&["a"], "a=1 b", "`b` is too much; it takes `a`"),
            (&["a"], "a=1 a=2", "`a` is there twice"),
            (&["a"], "a=\"1", "a quotation mark is not closed"),
        ] {
            assert_eq!(filled(&arguments(names), typed).unwrap_err(), why, "{typed}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_given_is_what_was_asked_for(typed in "[ab=\"' x]{0,16}", needed in 0_usize..3) {
            let names: Vec<PinnedArgument> = arguments(&["a!", "b!"]).into_iter().enumerate()
                .map(|(at, it)| PinnedArgument { is_needed: at < needed, ..it }).collect();
            if let Ok(given) = filled(&names, &typed) {
                for it in &names {
                    proptest::prop_assert!(!it.is_needed || given.contains_key(&it.name));
                }
                proptest::prop_assert!(given.keys().all(|it| names.iter().any(|of| of.name == *it)));
            }
        }
    }
}
