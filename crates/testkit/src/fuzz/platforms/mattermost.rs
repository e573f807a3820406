//! Frames of Mattermost's websocket.

use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

pub fn mattermost(cast: &Cast, speaker: &str) -> Vec<Template> {
    let (town, post) = (&cast.chat, &cast.message);
    let said = json!({
        "id": "p9", "create_at": 9, "edit_at": 9, "delete_at": 0, "user_id": speaker,
        "channel_id": town, "root_id": post, "original_id": "", "message": "> q\n@ada `x` hello",
        "type": "me", "file_ids": ["f1"], "props": {
            "from_bot": "true", "attachments": [{ "text": "t", "title": "x", "fallback": "f" }],
        },
        "metadata": { "files": [{ "id": "f1", "name": "n", "size": 5, "mime_type": "audio/ogg" }] },
    });
    let plain = json!({ "id": "p8", "user_id": speaker, "channel_id": town, "message": "plain" });
    let added = json!({
        "id": "p7", "user_id": speaker, "channel_id": town, "type": "system_add_to_channel",
        "props": { "addedUserId": cast.ours },
    });
    let reaction = json!({
        "user_id": speaker, "post_id": post, "emoji_name": "+1", "create_at": 5,
    });
    let by = |kind, value: Value, places: &[&'static str]| {
        let places = places.iter().map(|place| (*place, Value::from(speaker))).collect();
        let template = Template::new(kind, value, Speaker::At(places));
        Template { texts: &["post", "reaction"], ..template }
    };
    let (posts, reacts) = (["/post/user_id"], ["/reaction/user_id"]);
    vec![
        by("posted", json!({ "post": said, "mentions": "[]" }), &posts),
        by("posted", json!({ "post": plain }), &posts),
        by("posted", json!({ "post": added }), &posts),
        by("post_edited", json!({ "post": said }), &posts),
        by("post_deleted", json!({ "post": plain }), &posts),
        by("reaction_added", json!({ "reaction": reaction }), &reacts),
        by("reaction_removed", json!({ "reaction": reaction }), &reacts),
        by(
            "user_removed",
            json!({ "user_id": speaker, "remover_id": speaker, "channel_id": town }),
            &["/user_id", "/remover_id"],
        ),
        by("user_updated", json!({ "user": { "id": speaker } }), &[]),
        by("channel_updated", json!({ "channel": {} }), &[]),
        by("typing", json!({ "user_id": speaker }), &[]),
    ]
}
