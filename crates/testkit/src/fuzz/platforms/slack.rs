//! Requests of Slack's Events API.

use super::with;
use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

/// Where an event stands in a request.
const EVENT: &str = "/event";

/// `envelope` is what Slack puts around an event.
pub fn slack(cast: &Cast, speaker: &str, envelope: impl Fn(&Value) -> Value) -> Vec<Template> {
    let (town, root, friend) = (&cast.chat, &cast.message, &cast.friend);
    let user = json!({"type": "user", "user_id": cast.ours});
    let blocks = json!([{"type": "rich_text", "elements": [
        {"type": "rich_text_section", "elements": [user, {"type": "text", "text": "hi"}]},
        {"type": "rich_text_quote", "elements": [{"type": "link", "url": "https://e.org"}]},
    ]}]);
    let message = |fields: Value| {
        let message = json!({
            "type": "message", "channel": town, "user": speaker, "ts": "1700000000.000001",
            "event_ts": "1700000000.000001", "channel_type": "channel", "parent_user_id": friend,
            "text": "<@U0BOT> &gt; <https://e.org|x> <#C1|c> <!here>\n&gt; q",
        });
        with(message, &fields)
    };
    let by = |value: &Value, places: &[&'static str]| {
        let places = places.iter().map(|place| (*place, Value::from(speaker))).collect();
        let template = Template::new("", envelope(value), Speaker::At(places));
        Template { focus: EVENT, ..template }
    };
    let file = json!({"id": "F1", "name": "n", "size": 5, "mimetype": "audio/ogg"});
    let edited = message(json!({"edited": {"user": speaker, "ts": "1700000001.000001"}}));
    let inside = ["/event/user", "/event/message/user", "/event/previous_message/user"];
    let item = json!({"type": "message", "channel": town, "ts": root});
    let previous = message(json!({}));
    vec![
        by(&message(json!({"thread_ts": root, "blocks": blocks})), &["/event/user"]),
        by(
            &message(
                json!({"text": "", "blocks": blocks, "files": [file], "subtype": "file_share"}),
            ),
            &["/event/user"],
        ),
        by(
            &message(
                json!({"type": "app_mention", "attachments": [{"text": "t", "is_share": true}]}),
            ),
            &["/event/user"],
        ),
        by(
            &message(json!({"subtype": "bot_message", "bot_id": "B1", "username": "n"})),
            &["/event/user"],
        ),
        by(
            &message(
                json!({"subtype": "message_changed", "message": edited, "previous_message": previous}),
            ),
            &inside,
        ),
        by(
            &message(
                json!({"subtype": "message_deleted", "deleted_ts": root, "previous_message": edited}),
            ),
            &inside,
        ),
        by(
            &json!({"type": "reaction_added", "user": speaker, "reaction": "+1",
                "event_ts": "1.000001", "item": item, "item_user": friend}),
            &["/event/user"],
        ),
        by(
            &json!({"type": "member_joined_channel", "user": cast.ours, "channel": town,
                "inviter": speaker, "event_ts": "1.000001"}),
            &["/event/inviter"],
        ),
        by(
            &json!({"type": "member_left_channel", "user": speaker, "channel": town,
                "event_ts": "1.000001"}),
            &["/event/user"],
        ),
        by(&json!({"type": "user_change", "user": {"id": speaker}}), &[]),
    ]
}
