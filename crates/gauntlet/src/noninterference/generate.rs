//! Makes traces: a small state machine that knows what would be interesting next, over dice that
//! can be thrown again.

use super::dice::Dice;
use super::trace::{Aside, Chat, Joining, Other, Plan, Room, Step, Variation, Verdict};
use serde_json::{Value, json};

/// Words that everybody uses, so that what one agent stores is what another would find.
const WORDS: [&str; 12] = [
    "tea", "garden", "weather", "harbour", "lantern", "violet", "kettle", "ledger", "orchard",
    "sparrow", "compass", "meadow",
];

/// Names of files that everybody uses.
const FILES: [&str; 4] = ["notes.md", "plan.txt", "src/main.rs", "list.csv"];

/// Ids of others; some look like the one that is watched.
const IDS: [&str; 9] = ["a", "alpha", "bb", "b-2", "b1", "z", "main", "default", "ghost"];

/// What is said on the command line of a shell; the first ones need an admin's yes.
const COMMANDS: [&str; 5] =
    ["rm -r build", "rm -r build", "git push --force", "ls", super::scripted::LONG];

/// How many steps a run with others has at least.
const TRACE_LEN_MIN: usize = 40;

/// How many versions of a configuration there are.
pub const VERSIONS: usize = 10;

/// The plan of one seed, with so many steps.
pub fn plan(seed: u64, steps: usize) -> Plan {
    let mut dice = Dice::new(seed, 1);
    let version = version(&mut dice);
    let mut maker = Maker::new(dice, true);
    Plan { seed, version, steps: (0..steps).map(|_| maker.step()).collect(), is_steered: false }
}

/// One of the variations that a plan of `steps` steps is run with; the first is nobody else.
pub fn variation(seed: u64, number: u64, steps: usize) -> Variation {
    let mut dice = Dice::new(seed, 1_000 + number);
    if number == 0 && dice.percent(60) {
        return Variation::default();
    }
    let mut ids: Vec<&str> = IDS.to_vec();
    // The more two have in common, the more there is to be mixed up.
    let alike = version(&mut Dice::new(seed, 1));
    let others: Vec<Other> = (0..1 + dice.below(3))
        .map(|_| Other {
            id: ids.swap_remove(dice.below(ids.len())).to_owned(),
            version: if dice.percent(35) { alike } else { version(&mut dice) },
            is_in_shared_file: dice.percent(40),
            is_there: dice.percent(80),
        })
        .collect();
    // So that a run has forty steps at least, whoever they happen to.
    let count = TRACE_LEN_MIN.saturating_sub(steps).max(steps / 2) + dice.below(steps.max(1));
    let mut makers: Vec<Maker> =
        others.iter().map(|_| Maker::new(Dice::new(dice.next(), 2), false)).collect();
    let mut asides: Vec<Aside> = (0..count)
        .map(|_| {
            let who = dice.below(others.len());
            Aside {
                before: dice.below(steps.max(1)),
                who,
                step: makers[who].step(),
                yields: u8::try_from(dice.below(40)).unwrap_or(0),
                cut_after: dice.percent(15).then(|| u16::try_from(dice.below(60)).unwrap_or(0)),
            }
        })
        .collect();
    asides.sort_by_key(|aside| aside.before);
    Variation { others, asides }
}

fn version(dice: &mut Dice) -> u8 {
    u8::try_from(dice.below(VERSIONS)).unwrap_or(0)
}

/// Makes the steps of one agent.
struct Maker {
    dice: Dice,
    /// Conversations whose model holds back its answer.
    held: Vec<Chat>,
    /// Whether a question may wait.
    is_asking: bool,
    is_paused: bool,
    /// Where something was just remembered.
    remembered: Option<Chat>,
    /// The call that finds what was just kept.
    follow_up: Option<Value>,
    /// What was just begun anew.
    begun: Option<Chat>,
    /// Whether the common room is the agent's that is watched.
    is_host: bool,
    /// Whether it was given just now: whoever gets a room looks what is in it.
    is_new_host: bool,
    /// Whether it is the agent that is watched: only its trace has what happens to everybody.
    for_b: bool,
}

impl Maker {
    fn new(dice: Dice, for_b: bool) -> Self {
        Self {
            dice,
            held: vec![],
            is_asking: false,
            is_paused: false,
            remembered: None,
            follow_up: None,
            begun: None,
            is_host: false,
            is_new_host: false,
            for_b,
        }
    }

    fn step(&mut self) -> Step {
        if self.is_paused && self.dice.percent(50) {
            self.is_paused = false;
            return Step::Resume;
        }
        if std::mem::take(&mut self.is_new_host) {
            return Step::Enter(Room::Common);
        }
        if self.is_asking && self.dice.percent(45) {
            self.is_asking = false;
            let verdicts = [Verdict::Once, Verdict::Session, Verdict::Always, Verdict::Deny];
            return Step::Answer(*self.dice.pick(&verdicts));
        }
        if !self.held.is_empty() && self.dice.percent(45) {
            return self.about_held();
        }
        let chat = self.chat();
        // What was remembered is shown when a conversation begins anew and goes on.
        if let Some(chat) = self.remembered.take()
            && self.dice.percent(30)
        {
            self.begun = Some(chat);
            return Step::Anew(chat);
        }
        if let Some(chat) = self.begun.take() {
            return self.say(chat, Joining::Queue);
        }
        match self.dice.below(100) {
            0..40 => self.say(chat, Joining::Queue),
            40..52 => self.about_rooms(),
            52..57 => Step::Command { chat: self.platform_chat(), text: self.command() },
            57..60 => Step::Anew(chat),
            60..62 => Step::Forget(chat),
            62..65 => Step::Retry(chat),
            65..68 => Step::EditMemory(chat, self.sentence()),
            68..70 => Step::EditFile((*self.dice.pick(&FILES)).to_owned(), self.sentence()),
            70..75 => Step::Configure(version(&mut self.dice)),
            75..81 => Step::Secret(u8::try_from(self.dice.below(5)).unwrap_or(0)),
            81..85 => Step::Look,
            85..87 => {
                self.is_paused = true;
                Step::Pause
            }
            87..88 => Step::Recreate,
            88..90 => Step::Stop(chat),
            _ if !self.for_b => self.say(chat, Joining::Queue),
            90..96 => Step::Wait(*self.dice.pick(&[40, 700, 3_000, 31_000, 65_000, 4_000_000])),
            96..98 => self.forgetful(Step::Crash),
            _ => self.forgetful(Step::Restart),
        }
    }

    /// What runs is cut off by this; what is held is asked for again.
    fn forgetful(&mut self, step: Step) -> Step {
        self.is_asking = false;
        step
    }

    /// Pages come, talk and go; and the room that nobody keeps is given away.
    fn about_rooms(&mut self) -> Step {
        // The more is said where agents follow each other, the more there is to be mixed up.
        let common = if self.for_b { 50 } else { 75 };
        let room = if self.dice.percent(common) { Room::Common } else { Room::Own };
        match self.dice.below(10) {
            0..3 => Step::Enter(room),
            3 => Step::Leave(room),
            4 => Step::Revoke,
            5..7 if self.for_b => {
                self.is_host = !self.is_host;
                self.is_new_host = self.is_host;
                Step::Claim(self.is_host)
            }
            _ => self.say(Chat::Room(room), Joining::Queue),
        }
    }

    /// Something is taken away while a turn runs and another waits behind it.
    fn under_queue(&mut self, chat: Chat) -> Step {
        match self.dice.below(5) {
            0 => Step::Configure(version(&mut self.dice)),
            1 => Step::Revoke,
            2 => Step::Secret(u8::try_from(self.dice.below(5)).unwrap_or(0)),
            _ => self.say(chat, Joining::Queue),
        }
    }

    fn about_held(&mut self) -> Step {
        let at = self.dice.below(self.held.len());
        let chat = self.held[at];
        match self.dice.below(14) {
            10..14 => self.under_queue(chat),
            0..2 => self.say(chat, Joining::Steer),
            2 => self.say(chat, Joining::Interrupt),
            3 => {
                self.held.clear();
                Step::Stop(chat)
            }
            4 if self.for_b => Step::Crash,
            _ => {
                self.held.clear();
                Step::Release
            }
        }
    }

    /// Conversations over the API have the same names at every agent, so half of all are there.
    fn chat(&mut self) -> Chat {
        match self.dice.percent(50) {
            true => Chat::Api(*self.dice.pick(&[0, 0, 0, 1])),
            false => self.platform_chat(),
        }
    }

    fn platform_chat(&mut self) -> Chat {
        let user = *self.dice.pick(&[7, 7, 8, 9]);
        if self.dice.percent(50) {
            Chat::Direct(user)
        } else {
            Chat::Group(*self.dice.pick(&[1, 2]), user)
        }
    }

    fn command(&mut self) -> String {
        let commands = [
            "/help",
            "/status",
            "/agents",
            "/agents",
            "/agents",
            "/memory",
            "/forget 1",
            "/forget tea",
            "/new",
            "/stop",
            "/sessions",
            "/approve",
            "/deny",
            "/nonsense",
            "/reload",
            "/cron",
            "/cron add every 2h | [{\"say\": \"tea\"}]",
            "/cron remove job-1",
            "/board",
            "/board list",
            "/board plot-alpha show 1",
            "/board add Weeding | tea",
        ];
        (*self.dice.pick(&commands)).to_owned()
    }

    fn word(&mut self) -> &'static str {
        self.dice.pick::<&str>(&WORDS)
    }

    /// One of the few words that are looked for, so that two look for the same.
    fn common_word(&mut self) -> &'static str {
        self.dice.pick::<&str>(&WORDS[..3])
    }

    fn sentence(&mut self) -> String {
        let length = 2 + self.dice.below(4);
        let words: Vec<&str> = (0..length).map(|_| self.word()).collect();
        // What two agents say is often alike and seldom the same.
        format!("{} {}", words.join(" "), self.dice.below(50))
    }

    fn say(&mut self, chat: Chat, joining: Joining) -> Step {
        let mut acts: Vec<Value> = (0..self.dice.below(3)).map(|_| self.call(0)).collect();
        if acts.iter().any(|act| act["arguments"]["action"] == "add") {
            self.remembered = Some(chat);
        }
        let last = match self.dice.below(13) {
            0 | 1 => {
                self.held.push(chat);
                json!({ "hold": true, "say": self.sentence() })
            }
            2 | 3 => json!({ "fail": *self.dice.pick(&[500, 429, 400, 401]) }),
            4 => json!({ "cut": self.sentence() }),
            5..10 => json!({ "tell": true }),
            _ => json!({ "say": self.sentence() }),
        };
        acts.push(last);
        Step::Say { chat, joining, acts }
    }

    /// One call of a tool.
    fn call(&mut self, depth: usize) -> Value {
        // Whoever looks for what is there finds it, and has something that could be mixed up.
        if let Some(call) = self.follow_up.take()
            && self.dice.percent(70)
        {
            return call;
        }
        let (tool, arguments) = match self.dice.below(60) {
            0..2 => {
                let item = json!({ "id": self.word(), "content": self.sentence() });
                ("todo", json!({ "todos": [item], "merge": true }))
            }
            2..6 | 39..43 => ("memory", self.memory()),
            6..8 | 33..36 => ("memory_search", json!({ "query": self.common_word() })),
            8..11 => {
                let sort = *self.dice.pick(&["relevance", "newest"]);
                let query = self.common_word();
                ("session_search", json!({ "query": query, "sort": sort, "limit": 5 }))
            }
            11 => {
                let id = 1 + self.dice.below(6);
                ("session_search", json!({ "session_id": id, "around_message_id": 1 }))
            }
            12..14 => {
                let path = self.path();
                self.follow_up =
                    Some(json!({ "call": "read_file", "arguments": { "path": path } }));
                ("write_file", json!({ "path": path, "content": self.sentence() }))
            }
            14..16 => ("read_file", json!({ "path": self.path() })),
            16..18 | 43..46 => ("search_files", json!({ "pattern": self.common_word() })),
            18 => {
                let (path, old, new) = (self.path(), self.word(), self.word());
                let change = json!({ "mode": "replace", "path": path, "old_string": old, "new_string": new });
                ("patch", change)
            }
            19..22 => {
                self.is_asking = true;
                ("terminal", json!({ "command": *self.dice.pick(&COMMANDS) }))
            }
            22..24 | 46..48 => {
                let url = format!("http://site.test/{{id}}/{}", self.common_word());
                ("web_extract", json!({ "urls": [url] }))
            }
            24 | 48 => ("web_search", json!({ "query": self.word() })),
            25 => {
                let targets =
                    ["telegram:{id}bot:-1", "telegram:{id}bot:7", "telegram:bbot:-1", "api:x:y"];
                let target = *self.dice.pick(&targets);
                ("send_message", json!({ "target": target, "message": self.sentence() }))
            }
            26 => ("skills_list", json!({})),
            27..29 => {
                let name = *self.dice.pick(&["gardening", "gardening", "secrets"]);
                ("skill_view", json!({ "name": name }))
            }
            29..31 | 36..39 => ("mcp__desk__echo", json!({ "text": self.sentence() })),
            31..33 if depth == 0 => {
                let tasks: Vec<Value> = (0..1 + self.dice.below(2))
                    .map(|_| {
                        let acts = [self.call(1), json!({ "tell": true })];
                        json!({ "goal": Value::from(acts.to_vec()).to_string() })
                    })
                    .collect();
                ("delegate_task", json!({ "tasks": tasks }))
            }
            31..33 => ("clarify", json!({ "question": self.sentence() })),
            50..53 => ("cronjob", self.job()),
            53..57 => self.card(),
            57..60 => {
                let tool = *self.dice.pick(&["message_agent", "message_agent", "notify"]);
                let acts = json!([self.call(1), { "tell": true }]);
                (tool, json!({ "agent": *self.dice.pick(&IDS), "message": acts.to_string() }))
            }
            _ => ("nonsense", json!({})),
        };
        json!({ "call": tool, "arguments": arguments })
    }

    fn memory(&mut self) -> Value {
        let target = *self.dice.pick(&["memory", "user"]);
        match self.dice.below(6) {
            0 => json!({ "action": "remove", "target": target, "old_text": self.word() }),
            1 => {
                let old = self.word();
                json!({ "action": "replace", "target": target, "old_text": old, "content": self.sentence() })
            }
            2 => {
                self.is_asking = true;
                json!({ "action": "add", "target": target, "scope": "global", "content": self.sentence() })
            }
            _ => {
                let word = self.common_word();
                let query = json!({ "query": word });
                self.follow_up = Some(json!({ "call": "memory_search", "arguments": query }));
                let content = format!("{word} {}", self.sentence());
                json!({ "action": "add", "target": target, "content": content })
            }
        }
    }

    /// Something that is done by the clock.
    fn job(&mut self) -> Value {
        let name = *self.dice.pick(&["tick", "water", "weed"]);
        match self.dice.below(5) {
            0 => json!({ "action": "list" }),
            1 => json!({ "action": "run", "job_id": name }),
            2 => json!({ "action": "remove", "job_id": name }),
            _ => {
                self.is_asking = true;
                let acts = json!([{ "say": self.sentence() }]).to_string();
                let schedule = *self.dice.pick(&["90s", "every 3m", "every 2h"]);
                json!({ "action": "create", "name": name, "schedule": schedule, "prompt": acts, "repeat": 3 })
            }
        }
    }

    /// Something about a card: of one's own board, of the one that the others share, or of
    /// somebody else's.
    fn card(&mut self) -> (&'static str, Value) {
        let boards = ["plot-{id}", "plot-{id}", super::cast::SHARED_BOARD, "plot-b", "plot-alpha"];
        let board = *self.dice.pick(&boards);
        match self.dice.below(8) {
            0 => ("kanban_list", json!({ "board": board })),
            1 => ("kanban_show", json!({ "board": board, "task_id": "1" })),
            5 => (
                "kanban_comment",
                json!({ "board": board, "task_id": "1", "text": self.sentence() }),
            ),
            2 => (
                "kanban_complete",
                json!({ "board": board, "task_id": "1", "result": self.word() }),
            ),
            _ => {
                let acts = json!([
                    { "call": "kanban_complete", "arguments": { "result": self.sentence() } },
                    { "say": self.word() },
                ]);
                let (title, body) = (self.sentence(), acts.to_string());
                let card =
                    json!({ "board": board, "title": title, "body": body, "assignee": "{id}" });
                ("kanban_create", card)
            }
        }
    }

    fn path(&mut self) -> String {
        match self.dice.below(8) {
            0 => "../../b/workspace/notes.md".to_owned(),
            1 => "../../alpha/workspace/notes.md".to_owned(),
            _ => (*self.dice.pick(&FILES)).to_owned(),
        }
    }
}
