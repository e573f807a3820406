//! What the fake answers to requests.

use super::answers::{Answer, No, http, refused};
use super::interactions;
use super::state::{Bot, State};
use crate::form::parts;
use crate::upstream::Seen;
use serde_json::{Value, json};
use std::net::SocketAddr;

const JSON: &str = "application/json";
/// The longest message, in characters.
const TEXT_CHARS_MAX: usize = 2000;
/// The longest key.
const NONCE_LEN_MAX: usize = 25;

const UNKNOWN_CHANNEL: No = No(404, 10003);
const UNKNOWN_MESSAGE: No = No(404, 10008);
const NO_ACCESS: No = No(403, 50001);

/// The answer to a request, whose line has no prefix of the API any more.
pub(super) fn answer(
    state: &mut State,
    now: i64,
    (line, seen): (&str, &Seen),
    address: SocketAddr,
) -> Vec<u8> {
    let (method, target) = line.split_once(' ').unwrap_or((line, ""));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if let ("GET", ["attachments", _, id, _]) = (method, parts.as_slice()) {
        let good = seen.header("authorization").is_none() && !state.files_expired;
        return match state.files.get(*id).filter(|_| good || query.contains("fresh")) {
            Some((mime, content)) => http(200, mime, &[], content),
            None => http(404, "text/plain", &[], b"This content is no longer available."),
        };
    }
    let answered = match interactions::answer(state, now, (method, &parts, query), seen) {
        Some(answered) => answered,
        None => {
            let token = seen.header("authorization").and_then(|it| it.strip_prefix("Bot "));
            match token.and_then(|token| state.tokens.get(token)).cloned() {
                Some(bot) => {
                    let route = route_name(method, &parts);
                    match limited(state, &route, now) {
                        Err(wait) => return refused(429, 0, Some(wait), false),
                        Ok(headers) => {
                            let asked = (method, parts.as_slice(), query);
                            let answered = route_to(state, now, &bot, asked, (seen, address));
                            return written(answered, &headers);
                        }
                    }
                }
                None => Err(No(401, 0)),
            }
        }
    };
    written(answered, &[])
}

fn written(answered: Answer, headers: &[(&str, String)]) -> Vec<u8> {
    match answered {
        Ok((status, value)) => http(status, JSON, headers, value.to_string().as_bytes()),
        Err(No(status, code)) => refused(status, code, None, false),
    }
}

/// A route without its ids, but with its channel.
fn route_name(method: &str, parts: &[&str]) -> String {
    let is_id = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let major = parts.iter().find(|part| is_id(part)).copied().unwrap_or_default();
    let plain = parts.iter().filter(|part| !is_id(part)).copied().collect::<Vec<_>>().join("/");
    format!("{method} {plain} {major}")
}

type Headers = Vec<(&'static str, String)>;

/// Takes one request out of the bucket of a route; how long to wait where it is empty.
fn limited(state: &mut State, route: &str, now: i64) -> Result<Headers, f64> {
    let Some((most, seconds)) = state.bucket else { return Ok(vec![]) };
    let (used, since) = state.buckets.entry(route.to_owned()).or_insert((0, now));
    let span = (seconds * 1000.0) as i64;
    if now - *since >= span {
        (*used, *since) = (0, now);
    }
    let left = (span - (now - *since)) as f64 / 1000.0;
    if *used >= most {
        return Err(left);
    }
    *used += 1;
    Ok(vec![
        ("x-ratelimit-limit", most.to_string()),
        ("x-ratelimit-remaining", (most - *used).to_string()),
        ("x-ratelimit-reset-after", format!("{left:.3}")),
        ("x-ratelimit-reset", format!("{:.3}", now as f64 / 1000.0 + left)),
        ("x-ratelimit-bucket", format!("{:x}", route.len())),
    ])
}

fn route_to(
    state: &mut State,
    now: i64,
    bot: &Bot,
    (method, parts, query): (&str, &[&str], &str),
    (seen, address): (&Seen, SocketAddr),
) -> Answer {
    let ask = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let me = bot.id.as_str();
    let user = |id: &str| if id == "@me" { me.to_owned() } else { id.to_owned() };
    match (method, parts) {
        ("GET", ["gateway"]) => Ok((200, json!({ "url": format!("ws://{address}") }))),
        ("GET", ["gateway", "bot"]) => Ok((
            200,
            json!({
                "url": format!("ws://{address}"), "shards": 1,
                "session_start_limit": {
                    "total": 1000, "remaining": state.starts_left.unwrap_or(999),
                    "reset_after": 3_600_000, "max_concurrency": 1,
                },
            }),
        )),
        ("GET", ["applications" | "oauth2", ..]) if parts.last() == Some(&"@me") => Ok((
            200,
            json!({
                "id": bot.application, "name": "ada", "icon": null, "description": "",
                "bot_public": true, "bot_require_code_grant": false, "verify_key": "00",
                "owner": state.users.get(me), "team": null, "flags": bot.flags, "summary": "",
                "interactions_endpoint_url": bot.endpoint,
            }),
        )),
        ("GET", ["applications", _, "commands"]) => {
            Ok((200, state.commands.get(&bot.application).cloned().unwrap_or_default().into()))
        }
        ("PUT", ["applications", application, "commands"]) => {
            let mut all = vec![];
            for mut command in seen.json().as_array().cloned().unwrap_or_default() {
                command["id"] = state.fresh(now).into();
                command["application_id"] = (*application).into();
                command["version"] = command["id"].clone();
                all.push(command);
            }
            state.commands.insert(bot.application.clone(), all.clone());
            Ok((200, all.into()))
        }
        ("GET", ["users", "@me", "guilds"]) => {
            let mine = state.guilds.values().filter(|it| it.members.contains_key(me));
            Ok((200, mine.map(|it| json!({ "id": it.id, "name": "A server" })).collect()))
        }
        ("POST", ["users", "@me", "channels"]) => {
            let other = seen.json()["recipient_id"].as_str().unwrap_or_default().to_owned();
            let id = state.direct(now, me, &other);
            Ok((200, state.channels.get(&id).cloned().unwrap_or_default()))
        }
        ("GET", ["users", id]) => {
            state.users.get(&user(id)).cloned().map(|it| (200, it)).ok_or(No(404, 10013))
        }
        ("GET", ["guilds", guild, "members", id]) => {
            state.member(guild, id).map(|it| (200, it)).ok_or(No(404, 10007))
        }
        (_, ["channels", channel, ..]) => {
            let Some(found) = state.channels.get(*channel).cloned() else {
                return Err(UNKNOWN_CHANNEL);
            };
            if !state.sees(channel, me) || found["hidden"] == true {
                return Err(NO_ACCESS);
            }
            match (method, &parts[2..]) {
                ("GET", []) => Ok((200, found)),
                ("GET", ["messages"]) => {
                    let (after, limit) = (ask("after").unwrap_or(0), ask("limit").unwrap_or(50));
                    let all = state.messages.range(after.saturating_add(1)..);
                    let here = all.filter(|(_, it)| it["channel_id"] == **channel);
                    let limit = usize::try_from(limit.min(100)).unwrap_or(0);
                    let mut page: Vec<Value> = here.map(|it| it.1.clone()).take(limit).collect();
                    // The newest first, whatever was asked for.
                    page.reverse();
                    Ok((200, page.into()))
                }
                ("POST", ["messages"]) => create(state, now, (me, channel), (seen, address)),
                ("POST", ["typing"]) => {
                    state.typing.push((me.to_owned(), (*channel).to_owned()));
                    Ok((204, Value::Null))
                }
                (_, ["messages", id, rest @ ..]) => {
                    let number = id.parse::<u64>().ok();
                    let message = number.and_then(|id| state.messages.get(&id)).cloned();
                    let message = message.filter(|it| it["channel_id"] == **channel);
                    let message = message.ok_or(UNKNOWN_MESSAGE)?;
                    on_message(state, now, me, (method, id, rest), (message, seen))
                }
                _ => Err(No(404, 0)),
            }
        }
        _ => Err(No(404, 0)),
    }
}

fn on_message(
    state: &mut State,
    now: i64,
    me: &str,
    (method, id, rest): (&str, &str, &[&str]),
    (mut message, seen): (Value, &Seen),
) -> Answer {
    let is_own = message["author"]["id"] == me;
    match (method, rest) {
        ("GET", []) => {
            // What is asked for has addresses that are good.
            for file in message["attachments"].as_array_mut().into_iter().flatten() {
                let url = file["url"].as_str().unwrap_or_default().replace("?ex=", "?fresh&ex=");
                file["url"] = url.into();
            }
            Ok((200, message))
        }
        ("PATCH", []) if !is_own => Err(No(403, 50005)),
        ("PATCH", []) => {
            let asked = seen.json();
            is_short(&asked)?;
            let mut fields = json!({});
            for key in ["content", "components", "flags", "embeds"] {
                if !asked[key].is_null() {
                    fields[key] = asked[key].clone();
                }
            }
            let changed = state.change(now, id, &fields, true);
            Ok((200, changed.unwrap_or_default()))
        }
        ("DELETE", []) => {
            state.delete(id);
            Ok((204, Value::Null))
        }
        ("PUT" | "DELETE", ["reactions", sign, "@me"]) => {
            state.react((me, id, &decoded(sign)), method == "PUT");
            Ok((204, Value::Null))
        }
        _ => Err(No(404, 0)),
    }
}

fn is_short(asked: &Value) -> Result<(), No> {
    let content = asked["content"].as_str().unwrap_or_default();
    if content.chars().count() > TEXT_CHARS_MAX { Err(No(400, 50035)) } else { Ok(()) }
}

fn create(
    state: &mut State,
    now: i64,
    (me, channel): (&str, &str),
    (seen, address): (&Seen, SocketAddr),
) -> Answer {
    let form = parts(seen).unwrap_or_default();
    let asked = match form.iter().find(|part| part.name == "payload_json") {
        Some(part) => serde_json::from_slice(&part.content).unwrap_or_default(),
        None => seen.json(),
    };
    if let Some((_, last)) = state.requests.last_mut()
        && last.is_null()
    {
        *last = asked.clone();
    }
    is_short(&asked)?;
    let nonce = match &asked["nonce"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    if nonce.len() > NONCE_LEN_MAX {
        return Err(No(400, 50035));
    }
    let is_enforced = asked["enforce_nonce"] == true && !nonce.is_empty();
    if let Some(known) = state.known_nonce(me, &nonce, now).filter(|_| is_enforced) {
        return Ok((200, known));
    }
    let mut attachments = vec![];
    for part in form.iter().filter(|part| part.name.starts_with("files[")) {
        let name = part.file_name.clone().unwrap_or_default();
        attachments.push(state.file(
            now,
            address,
            channel,
            (&name, &part.media_type),
            &part.content,
        ));
    }
    let text = asked["content"].as_str().unwrap_or_default().trim();
    let has_more =
        !attachments.is_empty() || asked["embeds"].as_array().is_some_and(|it| !it.is_empty());
    if text.is_empty() && !has_more {
        return Err(No(400, 50006));
    }
    if attachments.len() > 10 {
        return Err(No(400, 50035));
    }
    let mut fields = json!({
        "channel_id": channel, "author_id": me, "content": text, "attachments": attachments,
        "flags": asked["flags"].as_u64().unwrap_or(0),
        "components": asked["components"].as_array().cloned().unwrap_or_default(),
        "embeds": asked["embeds"].as_array().cloned().unwrap_or_default(),
    });
    if !nonce.is_empty() {
        fields["nonce"] = asked["nonce"].clone();
    }
    let reference = &asked["message_reference"];
    // Clients write ids as texts or as numbers.
    let earlier = match &reference["message_id"] {
        Value::String(text) => text.parse::<u64>().ok(),
        other => other.as_u64(),
    };
    if !reference["message_id"].is_null() {
        let is_there = earlier.is_some_and(|id| state.messages.contains_key(&id));
        if !is_there && reference["fail_if_not_exists"] != false {
            return Err(No(400, 50035));
        }
        if is_there {
            fields["message_reference"] = reference.clone();
            fields["message_reference"]["message_id"] =
                earlier.unwrap_or_default().to_string().into();
        }
    }
    let id = state.say(now, &fields);
    let number = id.parse().unwrap_or(0);
    if !nonce.is_empty() {
        state.nonces.insert((me.to_owned(), nonce), (number, now));
    }
    Ok((200, state.messages.get(&number).cloned().unwrap_or_default()))
}

/// A part of a path as it was before it was encoded.
fn decoded(part: &str) -> String {
    let mut bytes = vec![];
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|it| char::from(it).to_digit(16)).unwrap_or(0);
        bytes.push(match byte {
            b'%' => u8::try_from(digit() * 16 + digit()).unwrap_or(0),
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
