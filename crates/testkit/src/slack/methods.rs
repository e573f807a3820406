//! The fake workspace's methods, with the errors of the real ones.

use super::history;
use super::state::{State, Stored, TEXT_CHARS_MAX, extend};
use serde_json::{Value, json};

/// What Slack calls a refusal.
pub(super) type Refused = &'static str;

/// Does what a method asks for. `about` are its arguments, however they came.
pub(super) fn answer(
    state: &mut State,
    now: i64,
    host: &str,
    method: &str,
    about: &Value,
) -> Result<Value, Refused> {
    let text = |key: &str| about[key].as_str().unwrap_or_default();
    match method {
        "api.test" => Ok(json!({ "args": about })),
        "auth.test" => Ok(json!({
            "url": "https://fake.slack.com/", "team": "Fake", "user": "ada", "team_id": state.team,
            "user_id": state.bot_user, "bot_id": state.bot_id, "is_enterprise_install": false,
        })),
        "apps.connections.open" => {
            let ticket = state.fresh("ticket-");
            state.tickets.push(ticket.clone());
            let url = format!("ws://{host}/link/?ticket={ticket}&app_id=A0APP");
            Ok(json!({ "url": url }))
        }
        "users.info" => match state.users.get(text("user")) {
            Some(user) => Ok(json!({ "user": user })),
            None => Err("user_not_found"),
        },
        "users.conversations" => Ok(history::conversations(state, about)),
        "conversations.history" => {
            place(state, about, "channel").map(|channel| history::of(state, &channel, about))
        }
        "conversations.replies" => history::replies(state, about),
        "chat.postMessage" => post(state, now, about),
        "chat.update" => update(state, now, about),
        "chat.startStream" | "chat.appendStream" | "chat.stopStream" if state.lacks_streams => {
            Err("unknown_method")
        }
        "chat.startStream" => start_stream(state, now, about),
        "chat.appendStream" => write_on(state, now, about, true),
        "chat.stopStream" => write_on(state, now, about, false),
        "reactions.add" => react(state, now, about, true),
        "reactions.remove" => react(state, now, about, false),
        "assistant.threads.setStatus" => {
            let about = (text("channel_id"), text("thread_ts"), text("status"));
            let place = (about.0.to_owned(), about.1.to_owned());
            if !state.messages.contains_key(&place) {
                return Err("invalid_thread_ts");
            }
            let (channel, thread) = place;
            state.statuses.push((channel, thread, about.2.to_owned()));
            Ok(json!({}))
        }
        "files.info" => match state.files.contains_key(text("file")) {
            true => Ok(json!({ "file": file(state, host, text("file")) })),
            false => Err("file_not_found"),
        },
        "files.getUploadURLExternal" => {
            let len = about["length"]
                .as_str()
                .and_then(|it| it.parse().ok())
                .or(about["length"].as_u64());
            if text("filename").is_empty() || len.is_none() {
                return Err("invalid_arguments");
            }
            let id = state.fresh("F");
            let stored = Stored {
                name: text("filename").to_owned(),
                media_type: String::new(),
                content: vec![],
            };
            state.files.insert(id.clone(), stored);
            Ok(json!({ "upload_url": format!("http://{host}/upload/{id}"), "file_id": id }))
        }
        "files.completeUploadExternal" => complete(state, now, host, about),
        _ => Err("unknown_method"),
    }
}

fn place(state: &State, about: &Value, key: &str) -> Result<String, Refused> {
    let channel = about[key].as_str().unwrap_or_default();
    match state.channels.get(channel) {
        None => Err("channel_not_found"),
        Some(members) if !members.contains(&state.bot_user) => Err("not_in_channel"),
        Some(_) => Ok(channel.to_owned()),
    }
}

fn thread(state: &State, channel: &str, about: &Value) -> Result<Option<String>, Refused> {
    let Some(thread) = about["thread_ts"].as_str().filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let root = state.messages.get(&(channel.to_owned(), thread.to_owned()));
    match root {
        Some(root) if root["thread_ts"].is_null() || root["thread_ts"] == root["ts"] => {
            Ok(Some(thread.to_owned()))
        }
        _ => Err("thread_not_found"),
    }
}

fn checked(about: &Value) -> Result<(), Refused> {
    let text = about["text"].as_str().unwrap_or_default();
    let has_blocks = about["blocks"].as_array().is_some_and(|blocks| !blocks.is_empty());
    if text.is_empty() && !has_blocks {
        return Err("no_text");
    }
    if about["blocks"].is_null() { Ok(()) } else { State::judge_blocks(&about["blocks"]) }
}

fn post(state: &mut State, now: i64, about: &Value) -> Result<Value, Refused> {
    let channel = place(state, about, "channel")?;
    checked(about)?;
    let thread = thread(state, &channel, about)?;
    let text: String =
        about["text"].as_str().unwrap_or_default().chars().take(TEXT_CHARS_MAX).collect();
    let mut message = json!({
        "channel": channel, "user": state.bot_user, "bot_id": state.bot_id, "app_id": "A0APP",
        "text": text,
    });
    if !about["blocks"].is_null() {
        message["blocks"] = about["blocks"].clone();
    }
    if let Some(thread) = thread {
        message["thread_ts"] = json!(thread);
    }
    let ts = state.say(now, &message);
    let said = state.messages.get(&(channel.clone(), ts.clone())).cloned();
    Ok(json!({ "channel": channel, "ts": ts, "message": said }))
}

fn start_stream(state: &mut State, now: i64, about: &Value) -> Result<Value, Refused> {
    let channel = place(state, about, "channel")?;
    let thread = thread(state, &channel, about)?.ok_or("invalid_arguments")?;
    if !channel.starts_with('D') && !about["recipient_user_id"].is_string() {
        return Err("missing_recipient_user_id");
    }
    let message = json!({
        "channel": channel, "user": state.bot_user, "bot_id": state.bot_id, "thread_ts": thread,
        "text": about["markdown_text"].as_str().unwrap_or_default(), "is_streaming": true,
    });
    let ts = state.say(now, &message);
    Ok(json!({ "channel": channel, "ts": ts }))
}

fn write_on(state: &mut State, now: i64, about: &Value, goes_on: bool) -> Result<Value, Refused> {
    let channel = place(state, about, "channel")?;
    let ts = about["ts"].as_str().unwrap_or_default().to_owned();
    let message = state.messages.get(&(channel.clone(), ts.clone())).ok_or("message_not_found")?;
    if message["is_streaming"] != true {
        return Err("message_not_in_streaming_state");
    }
    let more = about["markdown_text"].as_str().unwrap_or_default();
    if goes_on && more.is_empty() {
        return Err("no_text");
    }
    let text = format!("{}{more}", message["text"].as_str().unwrap_or_default());
    let fields = json!({ "text": text, "is_streaming": goes_on });
    state.edit(now, (&channel, &ts), &fields, false);
    Ok(json!({ "channel": channel, "ts": ts }))
}

fn update(state: &mut State, now: i64, about: &Value) -> Result<Value, Refused> {
    let channel = place(state, about, "channel")?;
    let ts = about["ts"].as_str().unwrap_or_default().to_owned();
    checked(about)?;
    let message = state.messages.get(&(channel.clone(), ts.clone())).ok_or("message_not_found")?;
    if message["user"] != *state.bot_user {
        return Err("cant_update_message");
    }
    if message["is_streaming"] == true {
        return Err("streaming_state_conflict");
    }
    let mut fields = json!({ "text": about["text"] });
    if !about["blocks"].is_null() {
        fields["blocks"] = about["blocks"].clone();
    }
    state.edit(now, (&channel, &ts), &fields, true);
    Ok(json!({ "channel": channel, "ts": ts, "text": about["text"] }))
}

fn react(state: &mut State, now: i64, about: &Value, on: bool) -> Result<Value, Refused> {
    let channel = place(state, about, "channel")?;
    let text = |key: &str| about[key].as_str().unwrap_or_default().to_owned();
    let bot = state.bot_user.clone();
    sign(state, now, (&bot, &channel, &text("timestamp")), &text("name"), on)?;
    Ok(json!({}))
}

/// Somebody's sign on a message, and what is told of it.
pub(super) fn sign(
    state: &mut State,
    now: i64,
    (user, channel, ts): (&str, &str, &str),
    name: &str,
    on: bool,
) -> Result<(), Refused> {
    let at = state.tick(now);
    let place = (channel.to_owned(), ts.to_owned());
    let message = state.messages.get_mut(&place).ok_or("message_not_found")?;
    if !message["reactions"].is_array() {
        message["reactions"] = json!([]);
    }
    let author = message["user"].clone();
    let mark = json!({ "user": user, "name": name });
    if let Some(all) = message["reactions"].as_array_mut() {
        match (all.iter().position(|it| *it == mark), on) {
            (Some(_), true) => return Err("already_reacted"),
            (None, false) => return Err("no_reaction"),
            (None, true) => all.push(mark),
            (Some(at), false) => drop(all.remove(at)),
        }
    }
    let kind = if on { "reaction_added" } else { "reaction_removed" };
    state.tell_event(&json!({
        "type": kind, "user": user, "reaction": name, "item_user": author, "event_ts": at,
        "item": { "type": "message", "channel": channel, "ts": ts },
    }));
    Ok(())
}

/// A file as it is told of.
pub(super) fn file(state: &State, host: &str, id: &str) -> Value {
    let Some(stored) = state.files.get(id) else { return Value::Null };
    let url = format!("http://{host}/files/{id}");
    json!({
        "id": id, "name": stored.name, "title": stored.name, "mimetype": stored.media_type,
        "size": stored.content.len(), "mode": "hosted", "url_private": url,
        "url_private_download": format!("{url}/download"), "file_access": "visible",
    })
}

fn complete(state: &mut State, now: i64, host: &str, about: &Value) -> Result<Value, Refused> {
    let files = about["files"].as_array().filter(|it| !it.is_empty()).ok_or("invalid_arguments")?;
    let ids: Vec<String> =
        files.iter().map(|it| it["id"].as_str().unwrap_or_default().to_owned()).collect();
    if ids.iter().any(|id| state.files.get(id).is_none_or(|it| it.content.is_empty())) {
        return Err("file_not_found");
    }
    let mut told: Vec<Value> = ids.iter().map(|id| file(state, host, id)).collect();
    if about["channel_id"].is_string() {
        let channel = place(state, about, "channel_id")?;
        let mut message = json!({
            "channel": channel, "user": state.bot_user, "bot_id": state.bot_id,
            "subtype": "file_share", "files": told, "text": about["initial_comment"].as_str().unwrap_or_default(),
        });
        if let Some(thread) = thread(state, &channel, about)? {
            extend(&mut message, &json!({ "thread_ts": thread }));
        }
        let ts = state.say(now, &message);
        for file in &mut told {
            file["shares"] = json!({ "private": { (channel.as_str()): [{ "ts": ts }] } });
        }
    }
    Ok(json!({ "files": told }))
}
