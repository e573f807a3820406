//! What the fake daemon does when it is called, with the errors of the real one.

use super::state::{Sent, State, Trouble};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Styles that Signal knows.
const STYLES: [&str; 5] = ["BOLD", "ITALIC", "SPOILER", "STRIKETHROUGH", "MONOSPACE"];

/// An error of the daemon.
pub(super) struct Refusal {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Refusal {
    fn new(code: i64, message: &str) -> Self {
        Self { code, message: message.to_owned(), data: None }
    }

    fn user(message: &str) -> Self {
        Self::new(-1, message)
    }
}

/// The answer to a call.
pub(super) fn answer(state: &mut State, method: &str, params: &Value, id: &Value) -> Value {
    let done = perform(state, method, params);
    match done {
        Ok(result) => json!({"jsonrpc": "2.0", "result": result, "id": id}),
        Err(Refusal { code, message, data }) => {
            let mut error = json!({"code": code, "message": message});
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "error": error, "id": id})
        }
    }
}

/// The answer that a trouble makes.
pub(super) fn refused(trouble: &Trouble, id: &Value) -> Option<Value> {
    let Trouble::Refuse { code, message, results } = trouble else { return None };
    let mut error = json!({"code": code, "message": message});
    if let Some(results) = results {
        error["data"] = json!({"response": {"timestamp": 1, "results": results}});
    }
    Some(json!({"jsonrpc": "2.0", "error": error, "id": id}))
}

fn perform(state: &mut State, method: &str, params: &Value) -> Result<Value, Refusal> {
    if method == "version" && params.get("account").is_none() {
        return Ok(json!({ "version": state.version }));
    }
    let account = match params.get("account").and_then(Value::as_str) {
        Some(account) => state
            .number_of(account)
            .ok_or_else(|| Refusal::new(-32602, "Specified account does not exist"))?,
        None => match (state.accounts.len(), state.accounts.keys().next()) {
            (1, Some(only)) => only.clone(),
            _ => return Err(Refusal::new(-32602, "Method requires valid account parameter")),
        },
    };
    match method {
        "version" => Ok(json!({ "version": state.version })),
        "listContacts" => Ok(contacts(state, params)),
        "listGroups" => Ok(groups(state, &account, params)),
        "send" => send(state, &account, params),
        "sendTyping" | "sendReceipt" | "sendReaction" => {
            let to = recipient(state, &account, params)?;
            let at = state.moment();
            Ok(result(at, &to))
        }
        "getAttachment" => {
            let id = params.get("id").and_then(Value::as_str).unwrap_or_default();
            let is_told = params.get("recipient").is_some() != params.get("groupId").is_some();
            if !is_told {
                return Err(Refusal::user("one of recipient and groupId is needed"));
            }
            let content = state.accounts.get(&account).and_then(|it| it.files.get(id));
            let content = content.ok_or_else(|| {
                Refusal::user(&format!("Could not find attachment with ID: {id}"))
            })?;
            Ok(json!({ "data": STANDARD.encode(content) }))
        }
        "updateGroup" => {
            let id = params.get("groupId").and_then(Value::as_str).unwrap_or_default();
            let group = state.groups.get_mut(id).ok_or_else(|| Refusal::user("Group not found"))?;
            if group.pending.remove(&account) {
                group.members.insert(account);
                group.revision += 1;
            }
            let at = state.moment();
            Ok(json!({"timestamp": at, "results": []}))
        }
        "updateProfile" => {
            let name = params.get("givenName").and_then(Value::as_str).unwrap_or_default();
            if let Some(account) = state.accounts.get_mut(&account) {
                name.clone_into(&mut account.user.name);
            }
            Ok(json!({}))
        }
        _ => Err(Refusal::new(-32601, "Method not implemented")),
    }
}

fn contacts(state: &State, params: &Value) -> Value {
    let wanted: Vec<&str> = strings(params.get("recipient"));
    let is_wanted = |id: &str| wanted.is_empty() || wanted.contains(&id);
    let own = state.accounts.values().map(|account| &account.user);
    let others = state.people.iter().filter(|it| own.clone().all(|own| own.uuid != it.uuid));
    let all = own
        .clone()
        .chain(others)
        .filter(|user| is_wanted(&user.uuid) || user.number.as_deref().is_some_and(is_wanted));
    let listed = all.map(|user| {
        json!({"number": user.number, "uuid": user.uuid, "username": null, "name": "",
            "isBlocked": false,
            "profile": {"givenName": user.name, "familyName": null, "about": null}})
    });
    Value::Array(listed.collect())
}

fn groups(state: &State, account: &str, params: &Value) -> Value {
    let wanted = strings(params.get("groupId"));
    let person = |id: &String| {
        let account = state.accounts.get(id);
        let number = account.and_then(|account| account.user.number.clone());
        let uuid = account.map_or_else(|| id.clone(), |account| account.user.uuid.clone());
        json!({"number": number, "uuid": uuid})
    };
    let known = state.groups.iter().filter(|(id, group)| {
        let is_known = group.members.contains(account) || group.pending.contains(account);
        is_known && (wanted.is_empty() || wanted.contains(&id.as_str()))
    });
    let listed = known.map(|(id, group)| {
        json!({"id": id, "name": "Friends", "isMember": group.members.contains(account),
            "isBlocked": false,
            "members": group.members.iter().map(person).collect::<Vec<_>>(),
            "pendingMembers": group.pending.iter().map(person).collect::<Vec<_>>(),
            "requestingMembers": []})
    });
    Value::Array(listed.collect())
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one],
        _ => vec![],
    }
}

/// Whom something goes to: a user who is there, or a group the account is in.
fn recipient(state: &State, account: &str, params: &Value) -> Result<String, Refusal> {
    if let [group] = strings(params.get("groupId"))[..] {
        let found = state.groups.get(group);
        let found = found.ok_or_else(|| Refusal::user("Group not found"))?;
        return match found.members.contains(account) {
            true => Ok(group.to_owned()),
            false => Err(Refusal::user("User is not a member in group")),
        };
    }
    let [user] = strings(params.get("recipient"))[..] else {
        return Err(Refusal::user("No recipients given"));
    };
    match state.people.iter().any(|known| known.is(user)) {
        true => Ok(user.to_owned()),
        false => Err(Refusal::user(&format!("The user {user} is not registered."))),
    }
}

fn result(at: i64, to: &str) -> Value {
    json!({"timestamp": at,
        "results": [{"recipientAddress": {"uuid": to, "number": null}, "type": "SUCCESS"}]})
}

fn send(state: &mut State, account: &str, params: &Value) -> Result<Value, Refusal> {
    let text = |key: &str| params.get(key).and_then(Value::as_str);
    let number = |key: &str| params.get(key).and_then(Value::as_i64);
    let to = recipient(state, account, params)?;
    let message = text("message").unwrap_or_default();
    let attachments = strings(params.get("attachments"));
    let files = attachments.into_iter().map(file).collect::<Result<Vec<_>, _>>()?;
    if message.is_empty() && files.is_empty() {
        return Err(Refusal::user(
            "Sending empty message is not allowed, either a message, attachment or sticker must \
             be given.",
        ));
    }
    let styles = strings(params.get("textStyle"));
    for style in &styles {
        if !is_style(style, message) {
            let words = format!("Invalid textStyle syntax ({style}) expected 'start:length:STYLE'");
            return Err(Refusal::user(&words));
        }
    }
    let styles: Vec<String> = styles.into_iter().map(str::to_owned).collect();
    let quote = match (number("quoteTimestamp"), text("quoteAuthor")) {
        (Some(at), Some(author)) => Some((at, author.to_owned())),
        (Some(_), None) => return Err(Refusal::user("Quote author parameter is missing")),
        (None, _) => None,
    };
    let at = state.moment();
    if let Some(target) = number("editTimestamp") {
        let is_it = |sent: &&mut Sent| sent.to == to && [sent.at, sent.last].contains(&target);
        if let Some(sent) = state.sent.iter_mut().find(is_it) {
            message.clone_into(&mut sent.text);
            (sent.styles, sent.last) = (styles, at);
            sent.edits += 1;
        }
        return Ok(result(at, &to));
    }
    let answer = result(at, &to);
    state.sent.push(Sent {
        account: account.to_owned(),
        to,
        text: message.to_owned(),
        styles,
        at,
        last: at,
        quote,
        files,
        edits: 0,
    });
    Ok(answer)
}

fn is_style(style: &str, text: &str) -> bool {
    let parts: Vec<&str> = style.split(':').collect();
    let [start, length, name] = parts[..] else { return false };
    let (Ok(start), Ok(length)) = (start.parse::<usize>(), length.parse::<usize>()) else {
        return false;
    };
    length > 0 && start + length <= text.encode_utf16().count() && STYLES.contains(&name)
}

/// What a data URI holds: type, name, content.
fn file(uri: &str) -> Result<(String, String, Vec<u8>), Refusal> {
    let broken = || {
        Refusal::new(-32603, "Failed to send message: File not found (AttachmentInvalidException)")
    };
    let (head, data) =
        uri.strip_prefix("data:").and_then(|uri| uri.split_once(',')).ok_or_else(broken)?;
    let mut parts = head.split(';');
    let media_type = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    let name = parts.iter().find_map(|part| part.strip_prefix("filename=")).unwrap_or_default();
    let content = STANDARD.decode(data).map_err(|_| broken())?;
    if data.is_empty() || !media_type.contains('/') || parts.last() != Some(&"base64") {
        return Err(broken());
    }
    Ok((media_type.to_owned(), name.to_owned(), content))
}
