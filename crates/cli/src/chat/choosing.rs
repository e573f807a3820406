//! What is done in a conversation besides saying something, as chats on platforms do it by the same
//! commands: which model answers, the last exchange taken back, notes, other conversations.

use super::conversation::Conversation;
use super::turn::Talk;
use crate::commands::sessions::when;
use crate::failure::Failure;
use crate::names::short;
use crate::names::things::{self, Meant};
use crate::output;
use crate::reach::Reach;
use serde_json::{Value, json};

/// How many conversations `/sessions` lists.
const SESSIONS_SHOWN: usize = 15;
/// Longest title in that list.
const TITLE_CHARS_MAX: usize = 60;

impl Talk {
    /// Does something in the conversation, by the API.
    pub async fn act(
        &self,
        reach: &Reach,
        action: &str,
        (key, value): (&str, Option<String>),
    ) -> Result<Value, Failure> {
        let mut body = json!({ "session": self.session, "action": action });
        if let Some(value) = value {
            body[key] = value.into();
        }
        reach.post(&self.path("conversation"), Some(body)).await
    }
}

impl Conversation<'_> {
    pub(super) async fn model(&self, wanted: Option<String>) -> Result<(), Failure> {
        let is_question = wanted.is_none();
        let told = self.talk.act(self.reach, "model", ("model", wanted)).await?;
        let texts = |key: &str| -> Vec<String> {
            let all = told[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            all.map(str::to_owned).collect()
        };
        let (models, choices) = (texts("models"), texts("choices"));
        let from = if is_question { "" } else { " from your next message on" };
        match models.as_slice() {
            [] => output::line("no model answers here"),
            [one] => output::line(&format!("{one} answers here{from}")),
            [first, rest @ ..] => output::line(&format!(
                "{first} answers here{from}; where it can't: {}",
                rest.join(", ")
            )),
        }
        if is_question {
            for (at, model) in choices.iter().enumerate() {
                output::line(&format!("{}. {model}", at + 1));
            }
            if !choices.is_empty() {
                self.note("/model NUMBER or NAME has another one answer; /model default goes back");
            }
        }
        Ok(())
    }

    pub(super) async fn undo(&self) -> Result<(), Failure> {
        let done = self.talk.act(self.reach, "undo", ("", None)).await?;
        self.note(match done["done"] == true {
            true => "taken back: the agent goes on as if your last message and its answer had not been said. What it did because of it stays done",
            false => "there is nothing of yours to take back",
        });
        Ok(())
    }

    pub(super) async fn compress(&self) -> Result<(), Failure> {
        let done = self.talk.act(self.reach, "compress", ("", None)).await?;
        self.note(match done["done"] == true {
            true => "before the next answer, notes are made of what was said so far, and the agent goes on from those",
            false => "there is too little here to make notes of",
        });
        Ok(())
    }

    /// Has the daemon carry out a command that is the same in every chat, and shows what it says.
    pub(super) async fn typed(&self, command: &str, words: Option<String>) -> Result<(), Failure> {
        let done = self.talk.act(self.reach, command, ("words", words)).await?;
        output::line(done["told"].as_str().unwrap_or_default());
        Ok(())
    }

    pub(super) async fn who(&self) -> Result<(), Failure> {
        let told = self.talk.act(self.reach, "who", ("", None)).await?;
        let people = told["people"].as_array().into_iter().flatten().map(|it| json!({ "who": it }));
        let named = self.reach.named(Some(&self.talk.agent), &people.collect()).await;
        let named = named.as_array().into_iter().flatten().filter_map(|it| it["who"].as_str());
        let named: Vec<&str> = named.collect();
        let agent = self.reach.named(None, &json!({ "agent": self.talk.agent })).await;
        let agent = agent["agent"].as_str().unwrap_or_default().to_owned();
        output::line(&match named.is_empty() {
            true => format!("{agent} answers; nobody spoke here yet"),
            false => format!("{agent} answers; in this conversation speak {}", named.join(", ")),
        });
        Ok(())
    }

    /// The conversations that the person has with this agent; with the number or title of one, goes
    /// on in it.
    pub(super) async fn sessions(&mut self, wanted: Option<String>) -> Result<(), Failure> {
        let all = self.reach.get(&self.talk.path("conversations")).await?;
        let rows = all.as_array().map_or(&[][..], Vec::as_slice);
        let Some(wanted) = wanted else {
            if rows.is_empty() {
                self.note("nothing was said here yet");
                return Ok(());
            }
            let lines = rows.iter().take(SESSIONS_SHOWN).map(|it| self.line(it));
            output::table(&["", "id", "conversation", "title", "used"], lines);
            self.note("/sessions NUMBER goes on in one of them");
            return Ok(());
        };
        let id = match things::meant(&all, ("id", &["title"]), &wanted) {
            Meant::Id => wanted,
            Meant::Called(id) => id,
            Meant::Several(ids) => {
                return Err(Failure::WrongUse(things::several(&wanted, &ids)));
            }
            Meant::Nothing(near) => {
                let more = near.map_or("/sessions lists them".to_owned(), |near| {
                    format!("did you mean {near}?")
                });
                let wanted = output::clean(&wanted);
                return Err(Failure::Failed(format!(
                    "there is no conversation `{wanted}` here; {more}"
                )));
            }
        };
        let Some(found) = rows.iter().find(|it| text(it, "id") == id) else { return Ok(()) };
        let name = text(found, "session");
        if found["ended"] == true {
            let before = std::mem::replace(&mut self.talk.session, name);
            let went = self.talk.act(self.reach, "go_on", ("conversation", Some(id))).await;
            if let Err(failure) = went {
                self.talk.session = before;
                return Err(failure);
            }
        } else if name == self.talk.session {
            self.note("that is this one");
            return Ok(());
        } else {
            self.talk.session = name;
        }
        let title = found["title"].as_str().unwrap_or_default();
        self.note(&format!(
            "we go on where we were, in `{}`: {}",
            self.talk.session,
            short(title, TITLE_CHARS_MAX)
        ));
        Ok(())
    }

    fn line(&self, it: &Value) -> Vec<String> {
        let is_here = it["ended"] != true && it["session"] == self.talk.session.as_str();
        let used = when(&it["used"]);
        let used = if it["ended"] == true { format!("{used} (ended)") } else { used };
        let title = short(it["title"].as_str().unwrap_or("-"), TITLE_CHARS_MAX);
        let here = if is_here { "›" } else { "" };
        vec![here.to_owned(), text(it, "id"), text(it, "session"), title, used]
    }
}

/// A number or a text, as it is typed.
fn text(it: &Value, key: &str) -> String {
    it[key].as_str().map_or_else(|| it[key].to_string(), str::to_owned)
}
