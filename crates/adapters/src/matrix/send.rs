//! What we say, as events: text with its formatting, replies, threads, changes.

use super::html;
use insula_channel::{MessageId, PostTarget};
use serde_json::{Value, json};

/// The longest content we send, in bytes of JSON. A whole event may have 65,536, with what the
/// server adds.
const CONTENT_LEN_MAX: usize = 60_000;
/// How much of a change is repeated for clients that know no changes, in characters.
const FALLBACK_CHARS: usize = 200;

/// The content of a message. Formatting is left out where it makes the event too long.
pub(super) fn content(markdown: &str) -> Value {
    // Nobody is mentioned: an agent's words must not ring in the whole room, whatever is in them.
    let plain = json!({ "msgtype": "m.text", "body": markdown, "m.mentions": {} });
    let Some(html) = html::formatted(markdown) else { return plain };
    let mut formatted = plain.clone();
    formatted["format"] = "org.matrix.custom.html".into();
    formatted["formatted_body"] = html.into();
    if formatted.to_string().len() > CONTENT_LEN_MAX { plain } else { formatted }
}

/// Puts a message where it belongs: in its thread, under what it answers.
pub(super) fn relate(content: &mut Value, target: &PostTarget, reply_to: Option<&MessageId>) {
    let reply = reply_to.map(|message| &*message.0);
    let relation = match (&target.topic, reply) {
        (Some(root), reply) => json!({
            "rel_type": "m.thread",
            "event_id": root.as_str(),
            // For clients that know no threads; in the thread it is no reply.
            "is_falling_back": true,
            "m.in_reply_to": { "event_id": reply.unwrap_or(root.as_str()) },
        }),
        (None, Some(reply)) => json!({ "m.in_reply_to": { "event_id": reply } }),
        (None, None) => return,
    };
    content["m.relates_to"] = relation;
}

/// The content of a change.
pub(super) fn change(message: &MessageId, markdown: &str) -> Value {
    let beginning: String = markdown.chars().take(FALLBACK_CHARS).collect();
    json!({
        "msgtype": "m.text",
        "body": format!("* {beginning}"),
        "m.mentions": {},
        "m.new_content": content(markdown),
        "m.relates_to": { "rel_type": "m.replace", "event_id": &*message.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_domain::{ChatId, ChatType, TopicId};

    fn target(topic: Option<&str>) -> PostTarget {
        PostTarget {
            host: None,
            tenant: insula_channel::Tenant::of_life(
                &insula_domain::AgentId::new("a").unwrap(),
                1,
                0,
            ),
            chat: ChatId::new("!r").unwrap(),
            chat_type: ChatType::Group,
            topic: topic.map(|topic| TopicId::new(topic).unwrap()),
        }
    }

    #[test]
    fn formatting_gives_way_to_length() {
        assert_eq!(content("plain").get("formatted_body"), None);
        assert_eq!(content("**a**")["formatted_body"], "<strong>a</strong>");
        let long = "**é** ".repeat(4_000);
        let sent = content(&long);
        assert_eq!((sent.get("format"), &sent["body"]), (None, &Value::from(long)));
    }

    #[test]
    fn a_message_is_put_into_its_thread_or_under_what_it_answers() {
        let answered = MessageId("$m".into());
        for (topic, reply, expected) in [
            (None, None, Value::Null),
            (None, Some(&answered), json!({ "m.in_reply_to": { "event_id": "$m" } })),
            (
                Some("$t"),
                None,
                json!({ "rel_type": "m.thread", "event_id": "$t", "is_falling_back": true,
                        "m.in_reply_to": { "event_id": "$t" } }),
            ),
            (
                Some("$t"),
                Some(&answered),
                json!({ "rel_type": "m.thread", "event_id": "$t", "is_falling_back": true,
                        "m.in_reply_to": { "event_id": "$m" } }),
            ),
        ] {
            let mut sent = content("x");
            relate(&mut sent, &target(topic), reply);
            assert_eq!(sent["m.relates_to"], expected);
        }
    }
}
