//! The stage on a real Matrix homeserver.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::stage::{Bot, Chat, Heard, Stage, Who};
use crate::matrix::replies;
use insula_testkit::synapse::{Person, Synapse};
use serde_json::{Value, json};
use std::cell::RefCell;

/// What the letters of a user's name may be, in ways that could be taken for each other.
const ODD_NAMES: [&str; 5] = ["a/b", "a=2fb", "a.b", "a-b", "ab"];

pub struct OnMatrix {
    server: Synapse,
    people: [Person; 3],
    odd: [Person; 5],
    bots: [Person; 2],
    /// The direct rooms of each bot, as it lists them.
    direct: RefCell<[Vec<String>; 2]>,
}

fn number(bot: Bot) -> usize {
    usize::from(bot == Bot::Two)
}

impl OnMatrix {
    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Ann => &self.people[0],
            Who::Bob => &self.people[1],
            Who::Mallory => &self.people[2],
            Who::Odd(number) => &self.odd[number],
        }
    }

    fn read(&self, chat: &Chat, messages: &[Value]) -> Vec<Heard> {
        let mut all = vec![];
        for bot in Bot::BOTH {
            let here = |it: &crate::matrix::Reply| it.thread == chat.topic;
            let said = replies(messages, &self.bots[number(bot)].id).into_iter().filter(here);
            all.extend(said.map(|it| Heard {
                bot,
                text: it.text,
                buttons: vec![],
                message: String::new(),
            }));
        }
        all
    }
}

impl Stage for OnMatrix {
    const PLATFORM: &'static str = "matrix";
    const HAS_BUTTONS: bool = false;
    const ODD: usize = ODD_NAMES.len();

    fn open() -> Self {
        let server = Synapse::start().unwrap();
        let people = server.people(["ann", "bob", "mallory"]);
        let odd = server.people(ODD_NAMES);
        let bots = server.people(["one", "two"]);
        Self { server, people, odd, bots, direct: RefCell::default() }
    }

    fn accounts(&self) -> String {
        let account = |bot| {
            let Person { id, token, .. } = &self.bots[number(bot)];
            let (name, url) = (Bot::account(bot), self.server.url());
            format!("      {name}: {{homeserver: '{url}', user: '{id}', token: '{token}'}}\n")
        };
        Bot::BOTH.map(account).concat()
    }

    fn user(&self, who: Who) -> String {
        format!("matrix:{}", self.person(who).id)
    }

    fn direct(&self, who: Who, bot: Bot) -> Chat {
        let ours = &self.bots[number(bot)];
        let room = self.person(who).make_direct(&ours.id);
        ours.join(&room);
        let mut direct = self.direct.borrow_mut();
        direct[number(bot)].push(room.clone());
        let path = format!("/user/{}/account_data/m.direct", ours.id);
        ours.get("PUT", &path, Some(&json!({ &*self.person(who).id: direct[number(bot)] })));
        Chat { id: room, topic: None, direct: Some((who, bot)) }
    }

    fn group(&self, name: &str, bots: &[Bot]) -> Chat {
        let [ann, bob, mallory] = &self.people;
        let bots: Vec<&Person> = bots.iter().map(|bot| &self.bots[number(*bot)]).collect();
        let guests: Vec<&Person> = [bob, mallory].into_iter().chain(bots).collect();
        let invite: Vec<&str> = guests.iter().map(|guest| guest.id.as_str()).collect();
        let room = ann.make_room(&json!({ "name": name, "invite": invite }));
        guests.iter().for_each(|guest| guest.join(&room));
        Chat { id: room, topic: None, direct: None }
    }

    fn topic(&self, group: &Chat, name: &str) -> Chat {
        let root = self.people[0].say(&group.id, name);
        Chat { topic: Some(root), ..group.clone() }
    }

    fn say(&self, chat: &Chat, who: Who, text: &str) {
        match &chat.topic {
            None => self.person(who).say(&chat.id, text),
            Some(root) => self.person(who).say_in_thread(&chat.id, root, text),
        };
    }

    fn heard(&self, chat: &Chat) -> Vec<Heard> {
        let who = chat.direct.map_or(Who::Ann, |(who, _)| who);
        self.read(chat, &self.person(who).messages(&chat.id))
    }

    fn until<T>(&self, chat: &Chat, mut find: impl FnMut(&[Heard]) -> Option<T>) -> T {
        let who = chat.direct.map_or(Who::Ann, |(who, _)| who);
        self.person(who).wait_for(&chat.id, |messages| find(&self.read(chat, messages)))
    }

    fn revoke(&self, bot: Bot) {
        self.bots[number(bot)].get("POST", "/logout", Some(&json!({})));
    }

    fn send_nonsense(&self, chat: &Chat) {
        let person = self.person(chat.direct.unwrap().0);
        for content in [
            json!({}),
            json!({ "msgtype": "m.text" }),
            json!({ "msgtype": 5, "body": ["x"] }),
            json!({ "msgtype": "m.text", "body": { "nonsense": 1 } }),
        ] {
            // The homeserver may refuse what it likes; what it takes must do no harm.
            let path =
                format!("/rooms/{}/send/m.room.message/odd-{}", chat.id, content.to_string().len());
            person.ask("PUT", &path, Some(&content)).unwrap();
        }
    }
}
