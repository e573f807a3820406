//! Events of Discord's gateway.

use super::with;
use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

pub fn discord(cast: &Cast, speaker: &str) -> Vec<Template> {
    let (town, guild, bot) = (&cast.chat, &cast.guild, &cast.ours);
    let author = json!({ "id": speaker, "username": "ann", "global_name": "Ann", "bot": false });
    let member = json!({ "user": author, "nick": "Annie", "roles": ["70", "71"] });
    let said = json!({
        "id": "175928847299117063", "channel_id": town, "guild_id": guild, "type": 19,
        "author": author, "member": member, "content": format!("> q\n<@{bot}> `x` <@&70> hello"),
        "mention_roles": ["70"], "edited_timestamp": "2026-01-02T03:04:05.678000+00:00",
        "flags": 8192, "mentions": [{ "id": bot }, { "id": cast.friend }],
        "attachments": [{ "id": "8", "filename": "n", "size": 5, "content_type": "audio/ogg" }],
        "message_reference": { "message_id": "7", "channel_id": town },
        "referenced_message": { "author": { "id": cast.friend }, "content": "earlier" },
        "sticker_items": [{ "name": "s" }], "embeds": [{ "type": "rich", "title": "t" }],
    });
    let passed = json!({
        "id": "175928847299117064", "channel_id": town, "author": author, "type": 0,
        "webhook_id": null, "message_reference": { "type": 1, "message_id": "7" },
        "message_snapshots": [{ "message": { "content": "passed", "attachments": [] } }],
        "poll": { "question": { "text": "?" }, "answers": [{ "poll_media": { "text": "y" } }] },
    });
    let reaction = json!({
        "user_id": speaker, "channel_id": town, "message_id": "7", "message_author_id": bot,
        "member": member, "emoji": { "id": null, "name": "👍" },
    });
    let interaction = |kind: u64| {
        json!({
            "id": "175928847299117065", "token": "t", "type": kind, "channel_id": town,
            "member": member, "message": { "id": "7" },
            "data": { "custom_id": "a.b", "name": "new", "options": [{ "value": "x" }] },
        })
    };
    let channel = json!({ "id": "55", "type": 11, "guild_id": guild, "parent_id": town });
    let who = || Value::from(speaker);
    let by = |kind, value: &Value, places: &[&'static str]| {
        let places = places.iter().map(|place| (*place, who())).collect();
        Template::new(kind, value.clone(), Speaker::At(places))
    };
    let nobody = |kind, value: &Value| Template::new(kind, value.clone(), Speaker::Unnamed);
    let author = ["/author/id", "/member/user/id"];
    let reacts = ["/user_id", "/member/user/id"];
    let asks = ["/user/id", "/member/user/id"];
    let ours = json!({ "guild_id": guild, "user": { "id": bot }, "roles": ["70"] });
    let deleted = json!({ "id": "7", "channel_id": town, "guild_id": guild });
    vec![
        by("MESSAGE_CREATE", &said, &author),
        by("MESSAGE_CREATE", &passed, &author),
        by("MESSAGE_UPDATE", &said, &author),
        nobody("MESSAGE_DELETE", &deleted),
        nobody("MESSAGE_DELETE_BULK", &json!({ "ids": ["7", "8"], "channel_id": town })),
        by("MESSAGE_REACTION_ADD", &reaction, &reacts),
        by("MESSAGE_REACTION_REMOVE", &reaction, &reacts),
        by("INTERACTION_CREATE", &interaction(2), &asks),
        by("INTERACTION_CREATE", &interaction(3), &asks),
        nobody(
            "GUILD_CREATE",
            &json!({ "id": guild, "channels": [channel], "threads": [], "members": [member] }),
        ),
        nobody("THREAD_CREATE", &channel),
        nobody("THREAD_LIST_SYNC", &json!({ "guild_id": guild, "threads": [channel] })),
        nobody("CHANNEL_UPDATE", &channel),
        nobody("THREAD_DELETE", &channel),
        nobody("GUILD_MEMBER_UPDATE", &ours),
        nobody("GUILD_MEMBER_UPDATE", &with(ours.clone(), &json!({ "roles": [] }))),
        by("GUILD_MEMBER_REMOVE", &json!({ "guild_id": guild, "user": { "id": speaker } }), &asks),
        by("TYPING_START", &json!({ "user_id": speaker }), &["/user_id"]),
    ]
}
