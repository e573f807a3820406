//! A conversation as a client tells it, made into what a turn begins with.

use super::error::OpenAiError;
use super::ids;
use super::item::{Item, SaidCall, Told, parts_of};
use super::journal::Journal;
use insula_domain::Label;
use insula_domain::marks::note;
use insula_store::{Part, Role, TurnId};
use insula_turns::ClientResult;
use insula_turns::client::journalled;
use std::collections::BTreeSet;

/// What stands for a message where the agent's own words are the last.
const GO_ON: &str = "nothing was said since your last message; go on from it";

/// Most items of one request that are looked up: what was given before, and calls.
const LOOKED_UP_MAX: usize = 1_024;
/// Bytes of the agent's own steps that one request brings back; what is beyond that is told as the
/// client tells it.
const STEPS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What a turn begins with.
#[derive(Debug, Default)]
pub struct Beginning {
    /// What was said before.
    pub history: Vec<(Role, Vec<Part>)>,
    /// What is said now.
    pub parts: Vec<Part>,
    /// What came of calls that the turn before asked for.
    pub results: Vec<ClientResult>,
    /// Where in the request each of them stands.
    pub places: Vec<String>,
    /// What is told that came from elsewhere.
    pub seen: Label,
}

/// A call that waits for its result.
struct Waiting {
    /// Its id, as the client has it.
    theirs: String,
    /// Its id in the journal.
    ours: Box<str>,
    name: Box<str>,
}

/// Makes what is told in a conversation of this name into what a turn begins with. `list` is the
/// part of the request that it stands in.
pub async fn assemble(
    journal: &Journal<'_>,
    told: Told,
    chat: &str,
    list: &str,
) -> Result<Beginning, OpenAiError> {
    match told {
        Told::Whole(items) => whole(journal, items, list).await,
        Told::Again(items) => added(journal, last_of(items), chat, list).await,
        Told::New(items) => added(journal, items, chat, list).await,
    }
}

fn nothing_said(list: &str) -> OpenAiError {
    OpenAiError::invalid_at(list, format!("`{list}` must say something"))
}

/// A history that the request brings along.
async fn whole(
    journal: &Journal<'_>,
    items: Vec<Item>,
    list: &str,
) -> Result<Beginning, OpenAiError> {
    check_count(&items, list)?;
    let mut all = Whole {
        journal,
        beginning: Beginning::default(),
        waiting: Vec::new(),
        made: 0,
        known: BTreeSet::new(),
        bytes: 0,
    };
    for item in items {
        all.add(item).await?;
    }
    all.end(list)
}

/// Refuses more than is looked up.
fn check_count(items: &[Item], list: &str) -> Result<(), OpenAiError> {
    let is_looked_up = |item: &&Item| {
        matches!(item, Item::Reference { .. } | Item::Calls { .. } | Item::Result { .. })
    };
    let count = items.iter().filter(is_looked_up).count();
    if count <= LOOKED_UP_MAX {
        return Ok(());
    }
    let message = format!("{count} calls, results and references are more than {LOOKED_UP_MAX}");
    Err(OpenAiError::invalid_at(list, message))
}

struct Whole<'w> {
    journal: &'w Journal<'w>,
    beginning: Beginning,
    waiting: Vec<Waiting>,
    /// How many ids were made.
    made: usize,
    /// The turns whose steps are there.
    known: BTreeSet<TurnId>,
    /// How many bytes those are.
    bytes: usize,
}

impl Whole<'_> {
    async fn add(&mut self, item: Item) -> Result<(), OpenAiError> {
        match item {
            Item::Result { call, text, at } => return self.result(&call, text, &at),
            Item::Reference { id, at } => match referred(self.journal, &id, at).await? {
                Some(Item::Calls { said, calls }) => self.calls(said, calls).await?,
                Some(Item::Said { role, parts }) => self.said(role, parts_of(parts)),
                _ => {}
            },
            Item::Said { role, parts } => self.said(role, parts_of(parts)),
            Item::Calls { said, calls } => self.calls(said, calls).await?,
        }
        Ok(())
    }

    /// Results that something else follows are history.
    fn settle(&mut self) {
        let results = std::mem::take(&mut self.beginning.results);
        self.beginning.places.clear();
        self.beginning.history.extend(results.into_iter().map(
            |ClientResult { call, text, .. }| {
                let part = Part::ToolResult { call, text, is_error: false, untrusted: false };
                (Role::Tool, vec![part])
            },
        ));
    }

    fn said(&mut self, role: Role, parts: Vec<Part>) {
        if !parts.is_empty() {
            self.settle();
            self.waiting.clear();
            self.beginning.history.push((role, parts));
        }
    }

    async fn calls(&mut self, said: Vec<Part>, calls: Vec<SaidCall>) -> Result<(), OpenAiError> {
        self.settle();
        self.waiting.clear();
        // What the agent said before its calls is one answer with them.
        let mut before = Vec::new();
        while let Some((Role::Assistant, parts)) = self.beginning.history.last()
            && !parts.iter().any(|part| matches!(part, Part::ToolCall { .. }))
        {
            let (_, parts) = self.beginning.history.pop().unwrap_or((Role::Assistant, Vec::new()));
            before.splice(..0, parts);
        }
        before.extend(said);
        if self.bytes < STEPS_BYTES_MAX
            && let Some((handed, asked)) = self.journal.handed_all(&calls).await?
            && self.known.insert(handed.turn.id)
        {
            let (done, seen) = self.journal.done(&handed).await?;
            self.bytes += done.iter().flat_map(|(_, parts)| parts).map(weight).sum::<usize>();
            self.beginning.history.extend(done);
            self.beginning.seen = self.beginning.seen.join(&seen);
            let waiting = calls.into_iter().zip(asked);
            let waiting = waiting.map(|(call, asked)| Waiting {
                theirs: call.id,
                ours: asked.id,
                name: asked.name,
            });
            self.waiting = waiting.collect();
            return Ok(());
        }
        for call in calls {
            self.made += 1;
            // Nine letters and digits: an id that every provider takes.
            let ours: Box<str> = format!("call{:05}", self.made % 100_000).into();
            before.push(Part::ToolCall {
                id: ours.clone(),
                name: journalled(&call.name),
                arguments: call.arguments,
            });
            self.waiting.push(Waiting { theirs: call.id, ours, name: call.name.into() });
        }
        self.beginning.history.push((Role::Assistant, before));
        Ok(())
    }

    fn result(&mut self, call: &str, text: String, at: &str) -> Result<(), OpenAiError> {
        let Some(place) = self.waiting.iter().position(|it| it.theirs == call) else {
            let message = format!(
                "there is no call `{}` right before it that waits for a result",
                shown(call)
            );
            return Err(OpenAiError::invalid_at(at, message));
        };
        let Waiting { ours, name, .. } = self.waiting.remove(place);
        self.beginning.results.push(ClientResult { call: ours, name, text });
        self.beginning.places.push(at.to_owned());
        Ok(())
    }

    fn end(mut self, list: &str) -> Result<Beginning, OpenAiError> {
        if !self.beginning.results.is_empty() {
            return Ok(self.beginning);
        }
        match self.beginning.history.pop() {
            Some((Role::User | Role::System, last)) => self.beginning.parts = last,
            Some((Role::Assistant, last))
                if !last.iter().any(|part| matches!(part, Part::ToolCall { .. })) =>
            {
                self.beginning.history.push((Role::Assistant, last));
                self.beginning.parts = vec![Part::Beside(note(GO_ON))];
            }
            Some(_) => {
                let message =
                    "the calls at the end have no results: run them, and send what came of each";
                return Err(OpenAiError::invalid_at(list, message));
            }
            None => return Err(nothing_said(list)),
        }
        Ok(self.beginning)
    }
}

/// What an item that was given before is; `None` for what need not be told again.
async fn referred(
    journal: &Journal<'_>,
    id: &str,
    at: String,
) -> Result<Option<Item>, OpenAiError> {
    // What a model thought is its own affair.
    if id.starts_with("rs_") {
        return Ok(None);
    }
    if let Some((handed, place)) = journal.handed(id, ids::FUNCTION_CALL).await?
        && let Some(call) = handed.calls.get(place)
    {
        let call = SaidCall {
            id: id.replacen(ids::FUNCTION_CALL, ids::CALL, 1),
            name: call.name.to_string(),
            arguments: call.arguments.clone(),
        };
        return Ok(Some(Item::Calls { said: Vec::new(), calls: vec![call] }));
    }
    if let Some((turn, place)) = journal.reply(id, ids::MESSAGE).await?
        && let Some(text) = journal.said(&turn, place).await?
    {
        let parts = vec![super::part::Brought::Part(Part::Text(text))];
        return Ok(Some(Item::Said { role: Role::Assistant, parts }));
    }
    Err(OpenAiError::no_item(id, at))
}

/// What is new of a conversation that is known: the last message, and what came of calls before
/// it.
fn last_of(mut items: Vec<Item>) -> Vec<Item> {
    let is_result = |item: &Item| matches!(item, Item::Result { .. });
    let end = match items.last() {
        Some(last) if is_result(last) => items.len(),
        _ => items.len().saturating_sub(1),
    };
    let results = items.iter().take(end).rev().take_while(|item| is_result(item)).count();
    items.split_off(end - results)
}

/// What is added to a conversation that is kept here.
async fn added(
    journal: &Journal<'_>,
    items: Vec<Item>,
    chat: &str,
    list: &str,
) -> Result<Beginning, OpenAiError> {
    check_count(&items, list)?;
    let mut beginning = Beginning::default();
    for item in items {
        match item {
            Item::Said { role: Role::Assistant, .. } => {
                let message = "the conversation that is continued has the agent's words already; send only what is new";
                return Err(OpenAiError::invalid_at(list, message));
            }
            Item::Said { parts, .. } => beginning.parts.extend(parts_of(parts)),
            Item::Result { call, text, at } => {
                let handed = journal.handed(&call, ids::CALL).await?;
                let here = handed.filter(|(handed, _)| handed.key.chat.as_str() == chat);
                let asked = here.and_then(|(handed, at)| handed.calls.into_iter().nth(at));
                let Some(asked) = asked else {
                    let message = format!(
                        "no call `{}` of this conversation waits for a result",
                        shown(&call)
                    );
                    return Err(OpenAiError::invalid_at(at, message));
                };
                beginning.results.push(ClientResult { call: asked.id, name: asked.name, text });
                beginning.places.push(at);
            }
            // What was given here is known here.
            Item::Reference { id, at } => drop(referred(journal, &id, at).await?),
            Item::Calls { calls, .. } => {
                if journal.handed_all(&calls).await?.is_none() {
                    let message = "the conversation that is continued knows no such calls; send only what is new";
                    return Err(OpenAiError::invalid_at(list, message));
                }
            }
        }
    }
    match beginning.parts.is_empty() && beginning.results.is_empty() {
        true => Err(nothing_said(list)),
        false => Ok(beginning),
    }
}

/// The bytes of a part's words.
fn weight(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Beside(text) | Part::Reasoning { text, .. } => text.len(),
        Part::ToolCall { arguments, .. } => arguments.len(),
        Part::ToolResult { text, .. } => text.len(),
        Part::Image { source, .. } => source.len(),
        Part::Attachment { name, .. } => name.len(),
    }
}

/// An id of the caller's, short enough to be said back.
fn shown(id: &str) -> String {
    id.chars().filter(|c| !c.is_control()).take(80).collect()
}
