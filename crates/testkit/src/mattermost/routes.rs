//! What the fake server answers to requests.

use super::Shared;
use super::answers::{error, http};
use super::state::{Refusal, State, TEXT_CHARS_MAX, refusal};
use crate::form::parts;
use crate::upstream::Seen;
use crate::world::locked;
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const JSON: &str = "application/json";

/// The answer to a request, whose line has no prefix of the API any more.
pub(super) fn answer(state: &mut State, now: i64, line: &str, seen: &Seen) -> Vec<u8> {
    let (method, target) = line.split_once(' ').unwrap_or((line, ""));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let token = seen.header("authorization").and_then(|it| it.split_once(' ').map(|it| it.1));
    let me = token.and_then(|token| state.tokens.get(token)).cloned();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if matches!((method, parts.as_slice()), ("GET", ["system", "ping"])) {
        return http(200, JSON, &[], br#"{"status":"OK"}"#);
    }
    let Some(me) = me else {
        let body =
            error(401, "api.context.session_expired.app_error", "Invalid or expired session");
        return http(401, JSON, &[], body.as_bytes());
    };
    if let ("GET", ["files", id]) = (method, parts.as_slice()) {
        return match state.files.get(*id) {
            Some((_, mime, content)) => http(200, mime, &[], content),
            None => http(404, JSON, &[], error(404, "store.file", "no file").as_bytes()),
        };
    }
    match route(state, now, (&me, method), &parts, query, seen) {
        Ok((status, value)) => http(status, JSON, &[], value.to_string().as_bytes()),
        Err(Refusal { status, id, message }) => {
            http(status, JSON, &[], error(status, id, message).as_bytes())
        }
    }
}

fn route(
    state: &mut State,
    now: i64,
    (me, method): (&str, &str),
    parts: &[&str],
    query: &str,
    seen: &Seen,
) -> Result<(u16, Value), Refusal> {
    let gone = || refusal(404, "store.sql.not_found", "there is no such thing");
    let denied = || {
        refusal(
            403,
            "api.context.permissions.app_error",
            "You do not have the appropriate permissions.",
        )
    };
    let ask = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<i64>().ok())
    };
    let body = || seen.json();
    let user = |id: &str| if id == "me" { me.to_owned() } else { id.to_owned() };
    match (method, parts) {
        ("GET", ["users", "username", name]) => {
            let found = state.users.values().find(|it| it["username"] == *name);
            found.cloned().map(|found| (200, found)).ok_or_else(gone)
        }
        ("GET", ["users", _, "channels"]) => {
            let mine = state.channels.iter().filter(|(id, _)| state.is_member(id, me));
            Ok((200, mine.map(|(_, channel)| channel.clone()).collect()))
        }
        ("GET", ["users", _, "teams"]) => Ok((200, json!([]))),
        ("GET", ["users", id]) => {
            state.users.get(&user(id)).cloned().map(|found| (200, found)).ok_or_else(gone)
        }
        ("POST", ["users", "ids"]) => {
            let ids = body();
            let ids = ids.as_array().into_iter().flatten().filter_map(Value::as_str);
            Ok((200, ids.filter_map(|id| state.users.get(id)).cloned().collect()))
        }
        ("POST", ["users", id, "typing"]) => {
            let channel = body()["channel_id"].as_str().unwrap_or_default().to_owned();
            state.typing.push((user(id), channel.clone()));
            let data = json!({ "user_id": user(id), "parent_id": body()["parent_id"] });
            state.tell("typing", &channel, None, &data);
            Ok((200, json!({ "status": "OK" })))
        }
        ("GET", ["config", "client"]) => {
            let most = TEXT_CHARS_MAX.to_string();
            Ok((200, json!({ "Version": "10.11.0", "MaxPostSize": most })))
        }
        ("POST", ["channels", "members", _, "view"]) => Ok((200, json!({ "status": "OK" }))),
        ("GET", ["channels", id]) => {
            let channel = state.channels.get(*id).cloned().ok_or_else(gone)?;
            if state.is_member(id, me) { Ok((200, channel)) } else { Err(denied()) }
        }
        ("GET", ["channels", id, "posts"]) => {
            if !state.is_member(id, me) {
                return Err(denied());
            }
            Ok((200, posts(state, id, (ask("since"), ask("page"), ask("per_page")))))
        }
        ("POST", ["posts"]) => create(state, now, me, body()),
        ("GET", ["posts", id]) => {
            let shown = state.shown(id);
            let channel = shown["channel_id"].as_str().unwrap_or_default().to_owned();
            match shown.is_null() || shown["delete_at"] != 0 {
                true => Err(gone()),
                false if state.is_member(&channel, me) => Ok((200, shown)),
                false => Err(denied()),
            }
        }
        ("PUT", ["posts", id, "patch"]) => {
            let post = state.posts.get(*id).filter(|it| it["delete_at"] == 0).ok_or_else(gone)?;
            if post["user_id"] != me {
                return Err(denied());
            }
            let asked = body();
            is_short(&asked)?;
            let mut fields = json!({});
            for key in ["message", "props", "file_ids"] {
                if !asked[key].is_null() {
                    fields[key] = asked[key].clone();
                }
            }
            state.change(now, id, &fields);
            Ok((200, state.shown(id)))
        }
        ("DELETE", ["posts", id]) => {
            state.posts.get(*id).ok_or_else(gone)?;
            state.delete(now, id);
            Ok((200, json!({ "status": "OK" })))
        }
        ("POST", ["reactions"]) => {
            let asked = body();
            let text = |key: &str| asked[key].as_str().unwrap_or_default().to_owned();
            if text("user_id") != me {
                return Err(denied());
            }
            let (post, name) = (text("post_id"), text("emoji_name"));
            state.posts.get(&post).ok_or_else(gone)?;
            Ok((201, state.react(now, (me, &post, &name), true)))
        }
        ("DELETE", ["users", _, "posts", post, "reactions", name]) => {
            state.posts.get(*post).ok_or_else(gone)?;
            state.react(now, (me, post, name), false);
            Ok((200, json!({ "status": "OK" })))
        }
        ("POST", ["files"]) => {
            let (name, mime, content) = file(seen)
                .ok_or_else(|| refusal(400, "api.file.upload_file", "no file in the form"))?;
            let id = state.fresh('f');
            state.files.insert(id.clone(), (name, mime, content));
            let info = state.info(&id).unwrap_or_default();
            Ok((201, json!({ "file_infos": [info], "client_ids": [] })))
        }
        _ => Err(refusal(404, "api.context.404.app_error", "Sorry, we could not find the page.")),
    }
}

/// Some of a channel's posts: since a moment with all that was changed, or a page of the newest.
fn posts(
    state: &State,
    channel: &str,
    (since, page, per): (Option<i64>, Option<i64>, Option<i64>),
) -> Value {
    let mine = state
        .order
        .iter()
        .rev()
        .filter(|id| state.posts.get(*id).is_some_and(|post| post["channel_id"] == channel));
    let at =
        |id: &str, key: &str| state.posts.get(id).and_then(|post| post[key].as_i64()).unwrap_or(0);
    let found: Vec<&String> = match since {
        Some(since) => mine.filter(|id| at(id, "update_at") > since).take(1000).collect(),
        None => {
            let per = usize::try_from(per.unwrap_or(60)).unwrap_or(60).clamp(1, 200);
            let skip = usize::try_from(page.unwrap_or(0)).unwrap_or(0) * per;
            mine.filter(|id| at(id, "delete_at") == 0).skip(skip).take(per).collect()
        }
    };
    let shown: serde_json::Map<String, Value> =
        found.iter().map(|id| ((*id).clone(), state.shown(id))).collect();
    json!({ "order": found, "posts": shown, "next_post_id": "", "prev_post_id": "" })
}

fn is_short(asked: &Value) -> Result<(), Refusal> {
    let text = asked["message"].as_str().unwrap_or_default();
    match text.chars().count() > TEXT_CHARS_MAX {
        true => Err(refusal(
            400,
            "model.post.is_valid.message_length.app_error",
            "Post Message property is longer than the maximum permitted length.",
        )),
        false => Ok(()),
    }
}

fn create(state: &mut State, now: i64, me: &str, asked: Value) -> Result<(u16, Value), Refusal> {
    let text = |key: &str| asked[key].as_str().unwrap_or_default().to_owned();
    let (channel, root, key) = (text("channel_id"), text("root_id"), text("pending_post_id"));
    if !state.is_member(&channel, me) {
        return Err(refusal(
            403,
            "api.context.permissions.app_error",
            "You do not have the appropriate permissions.",
        ));
    }
    if let Some(id) = state.known_key(&key, now).filter(|_| !key.is_empty()) {
        return Ok((201, state.shown(&id)));
    }
    is_short(&asked)?;
    let files = asked["file_ids"].as_array().cloned().unwrap_or_default();
    if text("message").is_empty() && files.is_empty() && asked["props"]["attachments"].is_null() {
        return Err(refusal(400, "model.post.is_valid.msg.app_error", "Invalid message."));
    }
    if files.len() > 10 {
        return Err(refusal(400, "api.post.create_post.too_many_files", "Too many files."));
    }
    if !root.is_empty() {
        let above = state.posts.get(&root);
        let is_root = above.is_some_and(|it| it["root_id"] == "" && it["channel_id"] == *channel);
        if !is_root {
            return Err(refusal(
                400,
                "api.post.create_post.root_id.app_error",
                "Invalid RootId parameter.",
            ));
        }
    }
    let mut props = asked["props"].clone();
    if !props.is_object() {
        props = json!({});
    }
    let is_bot = state.users.get(me).is_some_and(|it| it["is_bot"] == true);
    if is_bot {
        props["from_bot"] = "true".into();
    }
    let fields = json!({
        "channel_id": channel, "root_id": root, "user_id": me, "message": text("message"),
        "file_ids": files, "props": props, "pending_post_id": key,
    });
    let id = state.post(now, &fields);
    if !key.is_empty() {
        state.keys.insert(key, (id.clone(), now));
    }
    Ok((201, state.shown(&id)))
}

/// The file of a form.
fn file(seen: &Seen) -> Option<(String, String, Vec<u8>)> {
    let found = parts(seen)?.into_iter().find(|part| part.file_name.is_some())?;
    Some((found.file_name?, found.media_type, found.content))
}

/// Calls the address of a button for somebody who pressed it.
pub(super) async fn press(
    shared: &Shared,
    user: &str,
    post: &str,
    action: &str,
) -> io::Result<(u16, Value)> {
    let (url, request) = {
        let mut state = locked(&shared.state);
        let trigger = state.fresh('t');
        let found = state.posts.get(post).cloned().unwrap_or_default();
        let cards = found["props"]["attachments"].as_array().cloned().unwrap_or_default();
        let actions = cards.iter().filter_map(|card| card["actions"].as_array()).flatten();
        let mut pressed = actions.filter(|it| it["id"] == action || it["name"] == action);
        let integration = pressed.next().map(|it| it["integration"].clone());
        let integration = integration.ok_or(io::ErrorKind::NotFound)?;
        let request = json!({
            "user_id": user, "user_name": "somebody", "channel_id": found["channel_id"],
            "channel_name": "x", "team_id": "", "team_domain": "", "post_id": post,
            "trigger_id": trigger, "type": "button", "data_source": "",
            "context": integration["context"],
        });
        (integration["url"].as_str().unwrap_or_default().to_owned(), request)
    };
    let rest = url.strip_prefix("http://").ok_or(io::ErrorKind::InvalidInput)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address: SocketAddr = host.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut stream = shared.world.network.connect(address).await?;
    let body = request.to_string();
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    let mut answer = vec![];
    stream.read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}
