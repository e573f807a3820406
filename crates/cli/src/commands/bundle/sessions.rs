//! The conversations of an agent in its bundle: one JSON object a line, a conversation and then its
//! messages. They are read and written where no daemon works with them.
//!
//! What was taken back stays behind, and so do turns, approvals and files: a message that had one
//! says so. Notes on older parts are made anew when they are needed.

use crate::failure::Failure;
use crate::reach::Reach;
use crate::setting::Setting;
use insula_capabilities::Opened;
use insula_domain::{Actor, AgentId, SessionKey};
use insula_registry::daemon::Purpose;
use insula_store::{
    AgentCommand, AgentStore, MESSAGE_PAGE_MAX, Message, NewMessage, OpenSession, Part, Role,
    Session, SessionRef, SessionState, StoreError, Window,
};
use insula_world::Timestamp;
use serde_json::{Value, json};

/// Sessions and messages that are read or written at once.
const PAGE: usize = 200;
const MESSAGES_AT_ONCE: usize = 64;
/// What of one conversation goes along: its end.
const END: Window = Window { messages: MESSAGE_PAGE_MAX, bytes: 64 << 20 };

fn failed(error: StoreError) -> Failure {
    Failure::Failed(error.to_string())
}

/// The way to what an agent keeps, where no daemon has it open; `done` is what that is for.
pub(super) async fn require_here(setting: &Setting, done: &str) -> Result<Reach, Failure> {
    let reach = Reach::open(setting, Purpose::Change).await?;
    match &reach {
        Reach::Here { .. } => Ok(reach),
        Reach::Daemon(_) => Err(Failure::Failed(format!(
            "{done} while no daemon runs; stop it (`insula stop`) and try again"
        ))),
    }
}

/// The way to conversations, where no daemon has them open.
pub(super) async fn reach(setting: &Setting) -> Result<Reach, Failure> {
    require_here(setting, "conversations are packed and added").await
}

/// All conversations of an agent, as lines.
pub(super) async fn packed(setting: &Setting, id: &AgentId) -> Result<String, Failure> {
    let reach = reach(setting).await?;
    let packed = match &reach {
        Reach::Here { opened, .. } => lines(&opened.parts.store.agent(id)).await.map_err(failed),
        Reach::Daemon(_) => Ok(String::new()),
    };
    reach.close().await;
    packed
}

async fn lines(store: &AgentStore) -> Result<String, StoreError> {
    let (mut sessions, mut before) = (Vec::new(), None);
    loop {
        let page = store.sessions(before, PAGE).await?;
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        sessions.extend(page);
    }
    let mut text = String::new();
    // The oldest first, so that of one key the current one comes last.
    for session in sessions.into_iter().rev() {
        let Some(head) = head(&session) else { continue };
        text.push_str(&format!("{head}\n"));
        for message in store.messages_tail(session.id, END).await? {
            if message.principal != Actor::Summary {
                text.push_str(&format!("{}\n", line(&message)));
            }
        }
    }
    Ok(text)
}

fn head(session: &Session) -> Option<Value> {
    if session.state == SessionState::Forgotten {
        return None;
    }
    // Whose it is says whoever takes it in.
    let (_, place) = session.key.strip_prefix("agent:")?.split_once(':')?;
    Some(json!({ "session": {
        "place": place,
        "scope": session.scope.as_str(),
        "label": &*session.label,
        "title": session.title,
        "model": session.model.as_deref(),
        "started": session.created_at.as_millis(),
        "used": session.active_at.as_millis(),
        "ended": session.state == SessionState::Ended,
    }}))
}

fn line(message: &Message) -> Value {
    json!({ "message": {
        "role": message.role.as_str(),
        "principal": message.principal.as_str(),
        "scope": message.scope.as_str(),
        "label": &*message.label,
        "at": message.at.as_millis(),
        "parts": message.parts.iter().map(part).collect::<Vec<_>>(),
    }})
}

fn part(part: &Part) -> Value {
    let left = |what: &str| json!({ "beside": format!("[{what} that was not packed]") });
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Beside(text) => json!({ "beside": text }),
        Part::Attachment { name, .. } => left(&format!("a file, {name},")),
        Part::Image { .. } => left("a picture"),
        Part::ToolCall { id, name, arguments } => {
            json!({ "call": { "id": &**id, "name": &**name, "arguments": arguments } })
        }
        Part::ToolResult { call, text, is_error, untrusted } => json!({ "result": {
            "call": &**call, "text": text, "is_error": is_error, "untrusted": untrusted } }),
        // A provider takes its own seals back from the agent that it gave them to.
        Part::Reasoning { text, .. } => json!({ "reasoning": text }),
    }
}

/// A line of a list, read.
pub(super) enum Read {
    Session {
        open: OpenSession,
        title: Option<String>,
        model: Option<Box<str>>,
        ended: Option<Timestamp>,
    },
    Message(NewMessage),
}

/// Reads a line for the agent that takes it in; `None` for what was not written so.
pub(super) fn read(text: &str, id: &AgentId) -> Option<Read> {
    let line: Value = serde_json::from_str(text).ok()?;
    let at = |value: &Value| value.as_i64().map(Timestamp::from_millis);
    if let Some(session) = line.get("session") {
        let key: SessionKey = format!("agent:{id}:{}", session["place"].as_str()?).parse().ok()?;
        let ended = session["ended"].as_bool()?;
        return Some(Read::Session {
            open: OpenSession {
                key: key.to_string().into(),
                scope: session["scope"].as_str()?.parse().ok()?,
                label: session["label"].as_str()?.into(),
                at: at(&session["started"])?,
            },
            title: session["title"].as_str().map(str::to_owned),
            model: session["model"].as_str().map(Into::into),
            ended: at(&session["used"]).filter(|_| ended),
        });
    }
    let message = line.get("message")?;
    let role = [Role::User, Role::Assistant, Role::Tool, Role::System]
        .into_iter()
        .find(|role| Some(role.as_str()) == message["role"].as_str())?;
    let parts: Option<Vec<Part>> = message["parts"].as_array()?.iter().map(read_part).collect();
    Some(Read::Message(NewMessage {
        role,
        parts: parts?,
        principal: message["principal"].as_str()?.into(),
        scope: message["scope"].as_str()?.parse().ok()?,
        label: message["label"].as_str()?.into(),
        generation: 0,
        at: at(&message["at"])?,
    }))
}

fn read_part(value: &Value) -> Option<Part> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (kind, value) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "text" => Part::Text(text(value)?),
        "beside" => Part::Beside(text(value)?),
        "reasoning" => Part::Reasoning { text: text(value)?, signature: None },
        "call" => Part::ToolCall {
            id: value["id"].as_str()?.into(),
            name: value["name"].as_str()?.into(),
            arguments: text(&value["arguments"])?,
        },
        "result" => Part::ToolResult {
            call: value["call"].as_str()?.into(),
            text: text(&value["text"])?,
            is_error: value["is_error"].as_bool()?,
            untrusted: value["untrusted"].as_bool()?,
        },
        _ => return None,
    })
}

/// Gives an agent that is new the conversations of a list; how many.
pub(super) async fn bring_in(opened: &Opened, id: &AgentId, lines: &str) -> Result<usize, Failure> {
    let context =
        opened.parts.registry.context_of(id).map_err(|it| Failure::Failed(it.to_string()))?;
    let store = &context.store;
    let mut brought = 0;
    let mut current: Option<(SessionRef, Option<Timestamp>)> = None;
    let mut waiting: Vec<NewMessage> = Vec::new();
    for line in lines.lines() {
        match read(line, id) {
            Some(Read::Session { open, title, model, ended }) => {
                finish(&context, current.take(), std::mem::take(&mut waiting)).await?;
                let done = store.commit(vec![AgentCommand::OpenSession(open)]).await;
                let Some(session) = done.map_err(failed)?.session() else { continue };
                let session = SessionRef::Id(session);
                let named = vec![
                    AgentCommand::TitleSession { session: session.clone(), title },
                    AgentCommand::ChooseModel { session: session.clone(), model },
                ];
                store.commit(named).await.map_err(failed)?;
                current = Some((session, ended));
                brought += 1;
            }
            Some(Read::Message(message)) if current.is_some() => {
                waiting.push(message);
                if let (Some((session, _)), MESSAGES_AT_ONCE) = (&current, waiting.len()) {
                    append(&context, session, std::mem::take(&mut waiting)).await?;
                }
            }
            _ => {}
        }
    }
    finish(&context, current, waiting).await?;
    Ok(brought)
}

async fn append(
    context: &insula_registry::AgentContext,
    session: &SessionRef,
    messages: Vec<NewMessage>,
) -> Result<(), Failure> {
    if messages.is_empty() {
        return Ok(());
    }
    let append = AgentCommand::Append { session: session.clone(), messages };
    context.store.commit(vec![append]).await.map(drop).map_err(failed)
}

async fn finish(
    context: &insula_registry::AgentContext,
    current: Option<(SessionRef, Option<Timestamp>)>,
    waiting: Vec<NewMessage>,
) -> Result<(), Failure> {
    let Some((session, ended)) = current else { return Ok(()) };
    append(context, &session, waiting).await?;
    let Some(at) = ended else { return Ok(()) };
    let end = AgentCommand::EndSession { session, at };
    context.store.commit(vec![end]).await.map(drop).map_err(failed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use insula_store::{MessageSeq, SessionId};

    #[test]
    fn what_is_packed_is_read_again_for_another_agent() {
        let session = Session {
            id: SessionId(3),
            key: "agent:a:telegram:main:dm:5:user:5".into(),
            scope: "chat:telegram:main:5".parse().unwrap(),
            label: "l".into(),
            title: Some("Tea".to_owned()),
            created_at: Timestamp::from_millis(1),
            active_at: Timestamp::from_millis(9),
            state: SessionState::Ended,
            summary: None,
            last: MessageSeq(2),
            model: Some("p/m".into()),
            notes: insula_store::NotesWish::Settled,
        };
        let id = AgentId::new("b").unwrap();
        let Some(Read::Session { open, title, model, ended }) =
            read(&head(&session).unwrap().to_string(), &id)
        else {
            panic!("it is a conversation")
        };
        assert_eq!(&*open.key, "agent:b:telegram:main:dm:5:user:5");
        assert_eq!((title.as_deref(), model.as_deref()), (Some("Tea"), Some("p/m")));
        assert_eq!((open.at, ended), (session.created_at, Some(session.active_at)));
        let parts = vec![
            Part::Text("words".to_owned()),
            Part::Beside("notes".to_owned()),
            Part::ToolCall { id: "1".into(), name: "t".into(), arguments: "{}".to_owned() },
            Part::ToolResult {
                call: "1".into(),
                text: "x".into(),
                is_error: true,
                untrusted: true,
            },
            Part::Reasoning { text: "hm".to_owned(), signature: None },
        ];
        let message = Message {
            session: SessionId(3),
            seq: MessageSeq(1),
            turn: None,
            role: Role::Assistant,
            parts: parts.clone(),
            principal: "telegram:5".into(),
            scope: "chat:telegram:main:5".parse().unwrap(),
            label: "l".into(),
            generation: 7,
            at: Timestamp::from_millis(2),
        };
        let Some(Read::Message(again)) = read(&line(&message).to_string(), &id) else {
            panic!("it is a message")
        };
        assert_eq!((again.parts, again.role, again.at), (parts, message.role, message.at));
        assert_eq!((again.principal, again.scope), (message.principal, message.scope));
        let forgotten = Session { state: SessionState::Forgotten, ..session };
        assert_eq!(head(&forgotten), None);
        for wrong in ["", "{}", r#"{"session":{"place":"x"}}"#, r#"{"message":{"role":"god"}}"#] {
            assert!(read(wrong, &id).is_none(), "{wrong}");
        }
    }
}
