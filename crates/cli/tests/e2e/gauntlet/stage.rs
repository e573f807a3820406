//! A platform with people, chats and two bots of ours on it, whichever platform it is; and a
//! daemon that plays there.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::puppet::Puppet;
use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json as value};

/// Somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// An admin of every agent.
    Ann,
    /// May talk to every agent.
    Bob,
    /// Nobody knows them.
    Mallory,
    /// Somebody whose id is odd, of those that [`Stage::odd`] names.
    Odd(usize),
}

/// One of our accounts, `one` and `two`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bot {
    One,
    Two,
}

impl Bot {
    pub const BOTH: [Self; 2] = [Self::One, Self::Two];

    /// The account, as the configuration names it.
    pub fn account(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
        }
    }
}

/// A place to talk in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat {
    /// The chat, as a binding names it.
    pub id: String,
    /// The topic or thread in it.
    pub topic: Option<String>,
    /// Who talks there with which bot alone.
    pub direct: Option<(Who, Bot)>,
}

/// What a bot said, as it reads now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub bot: Bot,
    pub text: String,
    /// What presses its buttons, by what stands on them.
    pub buttons: Vec<(String, String)>,
    /// Its id on the platform.
    pub message: String,
}

/// A platform.
pub trait Stage: Sized {
    /// As bindings name it.
    const PLATFORM: &'static str;

    /// Starts it, with its people and bots.
    fn open() -> Self;

    /// The accounts, as they stand below `channels`.
    fn accounts(&self) -> String;

    /// Somebody, as `access` names them.
    fn user(&self, who: Who) -> String;

    /// Somebody alone with a bot.
    fn direct(&self, who: Who, bot: Bot) -> Chat;

    /// A group of everybody and these bots.
    fn group(&self, name: &str, bots: &[Bot]) -> Chat;

    /// A topic of a group. Before the daemon starts: what begins it is said by somebody.
    fn topic(&self, group: &Chat, name: &str) -> Chat;

    /// Says something.
    fn say(&self, chat: &Chat, who: Who, text: &str);

    /// What bots have said in a place.
    fn heard(&self, chat: &Chat) -> Vec<Heard>;

    /// Waits until something was said.
    fn until<T>(&self, chat: &Chat, find: impl FnMut(&[Heard]) -> Option<T>) -> T;

    /// Somebody presses a button, where there are some.
    fn press(&self, _chat: &Chat, _who: Who, _heard: &Heard, _data: &str) {}

    /// Whether messages can have buttons.
    const HAS_BUTTONS: bool;

    /// How many people with odd ids there are.
    const ODD: usize;

    /// A bot's token is no longer good.
    fn revoke(&self, bot: Bot);

    /// Somebody sends what is no message, however the platform lets them.
    fn send_nonsense(&self, chat: &Chat);
}

/// A daemon that plays on a stage, with its model.
pub struct Play<S> {
    pub stage: S,
    pub puppet: Puppet,
    pub home: Home,
    pub daemon: Daemon,
}

impl<S: Stage> Play<S> {
    /// Starts a daemon with these agents and bindings, and waits until both bots listen.
    pub fn begin(stage: S, agents: &str, bindings: &str) -> Self {
        let puppet = Puppet::start();
        let home = configured(&config(&stage, &puppet, agents, bindings));
        let daemon = start_still(&home);
        connected(&home);
        Self { stage, puppet, home, daemon }
    }

    /// Says something and waits for the next thing that is said there.
    pub fn ask(&self, chat: &Chat, who: Who, text: &str) -> String {
        let before = self.stage.heard(chat).len();
        self.stage.say(chat, who, text);
        self.next(chat, before)
    }

    /// Waits for what is said in a place behind so many others.
    pub fn next(&self, chat: &Chat, before: usize) -> String {
        // What ends like this is still being written.
        let whole =
            |heard: &[Heard]| heard.get(before).filter(|it| !it.text.ends_with('…')).cloned();
        self.stage.until(chat, whole).text
    }

    /// Waits until something that has these words is said.
    pub fn until_said(&self, chat: &Chat, words: &str) -> Heard {
        let has = |heard: &[Heard]| heard.iter().find(|it| it.text.contains(words)).cloned();
        self.stage.until(chat, has)
    }

    /// How many messages came to this end.
    pub fn visits(&self, outcome: &str) -> u64 {
        let metrics = call(&self.daemon, &self.home, "GET", "/metrics", "").body;
        let name = format!("insula_inbound_total{{outcome=\"{outcome}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// Waits until so many messages came to this end.
    pub fn until_visits(&self, outcome: &str, count: u64) {
        eventually(&format!("{count} messages are {outcome}"), || {
            (self.visits(outcome) >= count).then_some(())
        });
    }

    /// The sessions of an agent.
    pub fn sessions(&self, agent: &str) -> Vec<Value> {
        json(&self.home, &["sessions", "list", agent]).as_array().unwrap().clone()
    }

    /// Scope and text of everything that an agent remembers.
    pub fn remembered(&self, agent: &str) -> Vec<(String, String)> {
        let listed = json(&self.home, &["memory", "list", agent]);
        let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
        let all = listed.as_array().unwrap().iter();
        all.map(|it| (text(it, "scope"), text(it, "text"))).collect()
    }

    /// Asserts that nothing that a model was shown since `from` has these words.
    pub fn assert_not_shown(&self, from: usize, words: &str) {
        for prompt in &self.puppet.prompts()[from..] {
            assert!(!prompt.body.contains(words), "`{words}` is in {}", prompt.body);
        }
    }
}

/// The whole configuration.
pub fn config<S: Stage>(stage: &S, puppet: &Puppet, agents: &str, bindings: &str) -> String {
    let (ann, bob) = (stage.user(Who::Ann), stage.user(Who::Bob));
    let bindings =
        if bindings.is_empty() { String::new() } else { format!("bindings:\n{bindings}") };
    format!(
        "model: puppet/any\nproviders: {{puppet: {{kind: openai, base_url: '{}'}}}}\n\
         defaults: {{access: {{allow: ['{bob}'], admins: ['{ann}']}}, group: {{respond: all}}}}\n\
         agents:\n{agents}{bindings}channels:\n  {}:\n    accounts:\n{}",
        puppet.url(),
        S::PLATFORM,
        stage.accounts(),
    )
}

/// Waits until every account is connected.
pub fn connected(home: &Home) {
    eventually("the accounts are connected", || {
        let status = json(home, &["status"]);
        let accounts = status["accounts"].as_array()?.clone();
        let all = accounts.iter().all(|account| account["state"] == "connected");
        (all && !accounts.is_empty()).then_some(())
    });
}

/// A binding of an agent to a place.
pub fn bind<S: Stage>(agent: &str, chat: &Chat) -> String {
    let topic = chat.topic.as_ref().map(|topic| format!(", topic: '{topic}'")).unwrap_or_default();
    format!("  - {{agent: {agent}, {}: '{}'{topic}}}\n", S::PLATFORM, chat.id)
}

/// A place as `send` names it.
pub fn place<S: Stage>(bot: Bot, chat: &Chat) -> String {
    let id = chat.id.replace('!', "%21").replace(':', "%3A");
    format!("{}:{}:{id}", S::PLATFORM, bot.account())
}

/// A message that has the model remember something here.
pub fn add(content: &str) -> String {
    let call = value!({ "action": "add", "target": "memory", "content": content });
    format!("call memory {call}")
}

/// The same for everywhere.
pub fn add_everywhere(content: &str) -> String {
    let call =
        value!({ "action": "add", "target": "memory", "content": content, "scope": "global" });
    format!("call memory {call}")
}

/// A message that has the model look something up.
pub fn search(query: &str) -> String {
    format!("call memory_search {}", value!({ "query": query }))
}
