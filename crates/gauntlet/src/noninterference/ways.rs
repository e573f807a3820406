//! Ways that a stranger's words can go: steps by which they get somewhere, and somebody who has
//! not heard them yet reads them there.

use super::dice::Dice;
use super::stranger::{FOREIGN, READ, SESSION};
use super::trace::{Chat, Joining, Step};
use serde_json::{Value, json};

/// A version of the configuration in which all conversations share their memory.
const SHARED_MEMORY: u8 = 5;

/// A word that stands in what somebody said and in no answer.
const MARKER: &str = "zeppelin";

/// What people say that fills a window, and how long each of it is.
const ASKED: usize = 8;
const LONG: usize = 1_200;

/// What passes after a step of a way.
const PAUSE_MS: u64 = 10_000;

/// Makes ways, each between conversations that nobody had yet.
pub struct Ways {
    dice: Dice,
    used: u8,
}

impl Ways {
    pub fn new(dice: Dice) -> Self {
        Self { dice, used: 10 }
    }

    fn fresh(&mut self) -> Chat {
        self.used = self.used.wrapping_add(1).max(10);
        Chat::Api(self.used)
    }

    /// The steps of one of them.
    pub fn next(&mut self) -> Vec<Step> {
        let (one, two) = (self.fresh(), self.fresh());
        let file = format!("found{}.md", self.used);
        let steps = self.steps(one, two, &file);
        // Whatever waits for an answer has given up before the next of them begins.
        let with_pause = |step| match steps_fail(&step) {
            true => vec![step],
            false => vec![step, Step::Wait(PAUSE_MS)],
        };
        steps.into_iter().flat_map(with_pause).collect()
    }

    fn steps(&mut self, one: Chat, two: Chat, file: &str) -> Vec<Step> {
        let goal = |acts: Value| json!({ "call": "delegate_task", "arguments": { "tasks": [{ "goal": acts.to_string() }] } });
        match self.dice.below(11) {
            0 => vec![
                say(one, [page("tea"), write(file), end()]),
                say(two, [call("read_file", json!({ "path": file })), end()]),
            ],
            1 => vec![
                say(one, [page("tea"), write(file), end()]),
                say(two, [call("search_files", json!({ "pattern": "stranger" })), end()]),
            ],
            2 => {
                vec![say(one, [page("tea"), remember(), end()]), Step::Anew(one), say(one, [end()])]
            }
            3 => vec![
                Step::Configure(SHARED_MEMORY),
                say(two, [end()]),
                say(one, [page("tea"), remember(), end()]),
                say(two, [call("memory_search", json!({ "query": "stranger" })), end()]),
            ],
            4 => vec![
                say(one, [page("tea"), json!({ "say": READ })]),
                Step::Anew(one),
                say(one, [call("session_search", json!({ "query": "stranger" })), end()]),
            ],
            5 => vec![
                say(one, [page("tea"), json!({ "tell": true }), json!({ "never": MARKER })]),
                Step::Anew(one),
                say(
                    one,
                    [
                        call("session_search", json!({ "query": MARKER })),
                        call(
                            "session_search",
                            json!({ "session_id": SESSION, "around_message_id": 2, "window": 5 }),
                        ),
                        end(),
                    ],
                ),
            ],
            6 => vec![say(one, [goal(json!([page("tea"), { "tell": true }])), end()])],
            7 => vec![say(one, [page("tea"), goal(json!([{ "say": READ }])), end()])],
            8 => vec![
                say(one, [page("tea"), json!({ "hold": true, "say": "later" })]),
                Step::Crash,
                say(one, [end()]),
            ],
            9 => vec![
                say(one, [json!({ "hold": true, "call": "todo", "arguments": {} }), end()]),
                Step::Say {
                    chat: one,
                    joining: Joining::Steer,
                    acts: vec![json!({ "say": FOREIGN })],
                },
                Step::Release,
            ],
            _ => {
                // What fails leaves words of people alone, so that the notes are all that is left
                // of the stranger's.
                let long = json!({ "never": "and so on ".repeat(LONG) });
                let asked = || say(one, [json!({ "fail": 401 }), long.clone()]);
                let mut steps =
                    vec![say(one, [page("garden"), end()]), say(one, [page("garden"), end()])];
                steps.extend(std::iter::repeat_with(asked).take(ASKED));
                steps.push(say(one, [end()]));
                steps
            }
        }
    }
}

/// Whether the model refuses at once, so that nothing waits.
fn steps_fail(step: &Step) -> bool {
    matches!(step, Step::Say { acts, .. } if acts.first().is_some_and(|act| !act["fail"].is_null()))
}

fn say(chat: Chat, acts: impl IntoIterator<Item = Value>) -> Step {
    Step::Say { chat, joining: Joining::Queue, acts: acts.into_iter().collect() }
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "call": tool, "arguments": arguments })
}

fn end() -> Value {
    json!({ "say": "that is all" })
}

fn page(about: &str) -> Value {
    call("web_extract", json!({ "urls": [format!("http://site.test/{{id}}/{about}")] }))
}

fn write(file: &str) -> Value {
    call("write_file", json!({ "path": file, "content": READ }))
}

fn remember() -> Value {
    call("memory", json!({ "action": "add", "target": "memory", "content": READ }))
}
