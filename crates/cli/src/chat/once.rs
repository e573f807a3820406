//! A command of the conversation given as the one message of `insula chat`: it is done, and
//! not said to the agent.

use super::conversation;
use super::slash::{self, ENTRIES, Slash, TypedLine};
use super::turn::Talk;
use crate::commands::approvals;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::Reach;
use crate::setting::{Answer, Setting};
use serde_json::{Value, json};

/// What a message is: words for the agent, or a command.
pub enum Meant {
    /// To be said, or said again.
    Say(Said),
    /// To be done.
    Do(Slash),
}

pub enum Said {
    /// These words.
    Message(String),
    /// The last message again.
    Again,
}

/// Reads a message. What looks like a command and is none is refused rather than said; what
/// has several lines is somebody's text, and said as it is.
pub fn read(message: &str) -> Result<Meant, Failure> {
    let message = message.trim();
    let say = |text: &str| Ok(Meant::Say(Said::Message(text.to_owned())));
    if message.is_empty() {
        let what = "there is nothing to say: the message is empty";
        return Err(Failure::WrongUse(what.to_owned()));
    }
    if message.contains('\n') {
        return say(message);
    }
    // A doubled slash is for what would be a command with one.
    if let Some(rest) = message.strip_prefix('/').filter(|rest| rest.starts_with('/')) {
        let is_message = matches!(slash::read(rest), TypedLine::Message(_) | TypedLine::Empty);
        return say(if is_message { message } else { rest });
    }
    match slash::read(message) {
        TypedLine::Empty | TypedLine::Message(_) => say(message),
        TypedLine::Unknown(unknown) => {
            Err(Failure::WrongUse(format!("{unknown}; to say it, begin with `//`")))
        }
        TypedLine::Command(Slash::Retry) => Ok(Meant::Say(Said::Again)),
        TypedLine::Command(command) => Ok(Meant::Do(command)),
    }
}

/// Does a command.
pub async fn run(
    reach: &Reach,
    setting: &Setting,
    talk: Talk,
    command: Slash,
) -> Result<u8, Failure> {
    if let Slash::Agent(Some(name)) = &command {
        let message = format!("one message is for one agent: say --agent {name}");
        return Err(Failure::WrongUse(message));
    }
    if let Slash::Session(Some(name)) = &command {
        let message = format!("one message is for one conversation: say --session {name}");
        return Err(Failure::WrongUse(message));
    }
    if let Slash::Sessions(Some(number)) = &command {
        let message = format!(
            "one message is for one conversation: `/sessions {number}` goes on in one at a terminal"
        );
        return Err(Failure::WrongUse(message));
    }
    match setting.answer {
        Answer::Text => conversation::once(reach, setting, talk, command).await,
        Answer::Json => {
            let told = told(reach, &talk, command).await?;
            output::json(&told);
            Ok(if told["unfinished"] == true { FAILED } else { 0 })
        }
    }
}

/// The answer for programs: what the API says.
async fn told(reach: &Reach, talk: &Talk, command: Slash) -> Result<Value, Failure> {
    let here = || Some(json!({ "session": talk.session }));
    match command {
        Slash::Agents => reach.get("/api/agents").await,
        Slash::Agent(_) | Slash::Quit | Slash::Retry => Ok(json!({ "agent": talk.agent })),
        Slash::New => reach.post(&talk.path("new"), here()).await,
        Slash::Stop => reach.post(&talk.path("stop"), here()).await,
        Slash::Session(_) => Ok(json!({ "agent": talk.agent, "session": talk.session })),
        Slash::Tools => reach.get(&talk.path("tools")).await,
        Slash::Sessions(_) => reach.get(&talk.path("conversations")).await,
        Slash::Model(model) => talk.act(reach, "model", ("model", model)).await,
        Slash::Undo => talk.act(reach, "undo", ("model", None)).await,
        Slash::Compress => talk.act(reach, "compress", ("model", None)).await,
        Slash::Who => talk.act(reach, "who", ("model", None)).await,
        Slash::Cron(words) => talk.act(reach, "cron", ("words", words)).await,
        Slash::Board(words) => talk.act(reach, "board", ("words", words)).await,
        Slash::Back => talk.act(reach, "back", ("words", None)).await,
        Slash::Memory => reach.post(&talk.path("remembered"), here()).await,
        Slash::Forget(what) => {
            let what = what.ok_or_else(|| Failure::WrongUse(conversation::WHAT.to_owned()))?;
            let body = json!({ "session": talk.session, "what": what });
            reach.post(&talk.path("forget"), Some(body)).await
        }
        Slash::Approvals => reach.get(&talk.path("approvals")).await,
        Slash::Approve(id) => {
            answer(reach, talk, id, json!({ "decision": "approve", "scope": "once" })).await
        }
        Slash::Deny(id) => answer(reach, talk, id, json!({ "decision": "deny" })).await,
        Slash::Usage => reach.get(&talk.path("usage?days=1")).await,
        Slash::Help => {
            let line = |command: &str, argument: &str, about: &str| json!({ "command": command, "argument": argument, "about": about });
            let own = ENTRIES.iter().map(|it| line(it.name, it.argument, it.about));
            // Whoever may not look at the servers is told of none.
            let servers = reach.get_if_there(&talk.path("mcp")).await.ok().flatten();
            let prompts = slash::prompts(&servers.unwrap_or_default());
            let prompts =
                prompts.iter().map(|(command, argument, about)| line(command, argument, about));
            Ok(own.chain(prompts).collect())
        }
    }
}

async fn answer(
    reach: &Reach,
    talk: &Talk,
    id: Option<String>,
    body: Value,
) -> Result<Value, Failure> {
    let id = id.ok_or_else(|| Failure::WrongUse("say which: /approvals lists them".to_owned()))?;
    approvals::answer(reach, &talk.agent, &id, body.clone()).await?;
    Ok(json!({ "id": id, "decision": body["decision"] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_done_and_words_are_said() {
        let said = |message: &str| match read(message) {
            Ok(Meant::Say(Said::Message(text))) => format!("say {text}"),
            Ok(Meant::Say(Said::Again)) => "again".to_owned(),
            Ok(Meant::Do(command)) => format!("do {command:?}"),
            Err(failure) => format!("{failure:?}"),
        };
        for (message, meant) in [
            ("hello", "say hello"),
            ("/memory", "do Memory"),
            ("/forget the cat", "do Forget(Some(\"the cat\"))"),
            ("/help", "do Help"),
            ("/retry", "again"),
            ("//memory is a word", "say /memory is a word"),
            ("/etc/hosts is odd", "say /etc/hosts is odd"),
            ("/memory\nand more", "say /memory\nand more"),
            ("// a comment\n// of two lines", "say // a comment\n// of two lines"),
            ("// a comment", "say // a comment"),
            ("a \\\nb", "say a \\\nb"),
        ] {
            assert_eq!(said(message), meant);
        }
        assert!(said("/memroy").contains("did you mean `/memory`"), "{}", said("/memroy"));
        assert!(said(" ").contains("nothing to say"));
    }
}
