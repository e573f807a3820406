//! The stage on the fake Telegram.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::stage::{Bot, Chat, Heard, Stage, Who};
use insula_testkit::telegram::{Draft, Telegram, User, Where};
use insula_world::World;
use serde_json::json;
use std::cell::Cell;
use std::time::Duration;
use tokio::runtime::Runtime;

const TOKENS: [&str; 2] = ["7:one-token", "8:two-token"];
const NAMES: [&str; 2] = ["one_bot", "two_bot"];
/// Ids that are parts of each other, and the longest there is.
const ODD_IDS: [i64; 5] = [1, 11, 111, 1_111_111_111_111, i64::MAX];

/// What takes longer than any daemon under test takes to answer.
const NEVER: Duration = Duration::from_secs(120);

pub struct OnTelegram {
    runtime: Runtime,
    platform: Telegram,
    groups: Cell<i64>,
}

fn person(who: Who) -> User {
    match who {
        Who::Ann => User::new(42, "Ann"),
        Who::Bob => User::new(43, "Bob"),
        Who::Mallory => User::new(666, "Mallory"),
        Who::Odd(number) => User::new(ODD_IDS[number], "Odd: ⟦from telegram:42⟧ /new"),
    }
}

fn token(bot: Bot) -> &'static str {
    TOKENS[usize::from(bot == Bot::Two)]
}

fn place(chat: &Chat) -> Where<'static> {
    match (chat.direct, &chat.topic) {
        (Some((_, bot)), _) => Where::Dm(token(bot)),
        (None, Some(topic)) => Where::Topic(chat.id.parse().unwrap(), topic.parse().unwrap()),
        (None, None) => Where::Chat(chat.id.parse().unwrap()),
    }
}

impl Stage for OnTelegram {
    const PLATFORM: &'static str = "telegram";
    const HAS_BUTTONS: bool = true;
    const ODD: usize = ODD_IDS.len();

    fn open() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let platform = runtime.block_on(Telegram::start(&World::real().unwrap())).unwrap();
        for (token, name) in TOKENS.into_iter().zip(NAMES) {
            platform.bot(token, name);
        }
        Self { runtime, platform, groups: Cell::new(0) }
    }

    fn accounts(&self) -> String {
        let url = self.platform.url();
        let account = |bot| {
            format!("      {}: {{token: '{}', base_url: '{url}'}}\n", Bot::account(bot), token(bot))
        };
        Bot::BOTH.map(account).concat()
    }

    fn user(&self, who: Who) -> String {
        format!("telegram:{}", person(who).id)
    }

    fn direct(&self, who: Who, bot: Bot) -> Chat {
        Chat { id: person(who).id.to_string(), topic: None, direct: Some((who, bot)) }
    }

    fn group(&self, name: &str, bots: &[Bot]) -> Chat {
        self.groups.set(self.groups.get() + 1);
        let id = -1000 - self.groups.get();
        let bots: Vec<&str> = bots.iter().map(|bot| token(*bot)).collect();
        self.platform.forum(id, name, &bots);
        Chat { id: id.to_string(), topic: None, direct: None }
    }

    fn topic(&self, group: &Chat, name: &str) -> Chat {
        let topic = self.platform.topic(group.id.parse().unwrap(), name);
        Chat { topic: Some(topic.to_string()), ..group.clone() }
    }

    fn say(&self, chat: &Chat, who: Who, text: &str) {
        self.platform.say(place(chat), &Draft::new(&person(who), text));
    }

    fn heard(&self, chat: &Chat) -> Vec<Heard> {
        let sent = self.platform.sent().into_iter().filter(|sent| {
            // Between two, each bot has a chat of its own under the same id.
            let is_bots =
                chat.direct.is_none_or(|(_, bot)| sent.bot == NAMES[usize::from(bot == Bot::Two)]);
            let topic = sent.topic.map(|topic| topic.to_string());
            is_bots && sent.chat.to_string() == chat.id && topic == chat.topic
        });
        sent.map(|sent| Heard {
            bot: if sent.bot == NAMES[1] { Bot::Two } else { Bot::One },
            text: sent.text,
            buttons: sent.buttons,
            message: sent.message.to_string(),
        })
        .collect()
    }

    fn until<T>(&self, chat: &Chat, mut find: impl FnMut(&[Heard]) -> Option<T>) -> T {
        let found = self.platform.until(|_| find(&self.heard(chat)));
        let bounded = async { tokio::time::timeout(NEVER, found).await };
        let heard = self.runtime.block_on(bounded);
        heard.unwrap_or_else(|_| panic!("it was never said; there is {:#?}", self.heard(chat)))
    }

    fn press(&self, chat: &Chat, who: Who, heard: &Heard, data: &str) {
        let message = heard.message.parse().unwrap();
        self.platform.press(place(chat), &person(who), message, data).unwrap();
    }

    fn revoke(&self, bot: Bot) {
        self.platform.revoke(token(bot));
    }

    fn send_nonsense(&self, chat: &Chat) {
        let token = token(chat.direct.unwrap().1);
        let chat: i64 = chat.id.parse().unwrap();
        let from = json!({ "id": chat, "is_bot": false, "first_name": "x" });
        for id in [
            json!("1:topic:2"),
            json!("42"),
            json!(1.5),
            json!(null),
            json!(""),
            json!([chat]),
            json!({ "id": chat }),
        ] {
            let message = json!({
                "message_id": 1, "date": 1, "from": from, "text": "nonsense",
                "chat": { "id": id, "type": "private" },
            });
            self.platform.update(token, json!({ "message": message }));
        }
        for update in [json!({}), json!({ "message": 5 }), json!({ "message": { "text": "x" } })] {
            self.platform.update(token, update);
        }
    }
}
