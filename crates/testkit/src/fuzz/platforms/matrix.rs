//! Answers of a Matrix homeserver to `/sync`.

use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

/// One answer with one of everything. Its events are said by whoever is their `sender`.
pub fn matrix(cast: &Cast, speaker: &str) -> Vec<Template> {
    let (us, friend) = (cast.ours.as_str(), cast.friend.as_str());
    let event = |kind: &str, id: &str, content: Value| {
        json!({ "type": kind, "event_id": id, "sender": speaker, "origin_server_ts": 5,
            "content": content })
    };
    let said = |id: &str, content: Value| event("m.room.message", id, content);
    let plain = |id: &str, body: &str| said(id, json!({ "msgtype": "m.text", "body": body }));
    let member = |id: &str, user: &str, content: Value| {
        let mut member = event("m.room.member", id, content);
        member["state_key"] = user.into();
        member
    };
    let mut joined = member("$j", us, json!({ "membership": "join", "displayname": "Bot" }));
    joined["unsigned"] = json!({ "prev_content": { "membership": "invite", "is_direct": true } });
    let mut left = member("$l", speaker, json!({ "membership": "leave" }));
    left["unsigned"] = json!({ "prev_content": { "membership": "join" } });
    let mut redaction = event("m.room.redaction", "$r", json!({ "redacts": "$1" }));
    redaction["redacts"] = "$1".into();
    let relates = |id: &str, kind: &str| {
        json!({ "rel_type": kind, "event_id": id,
        "is_falling_back": false, "m.in_reply_to": { "event_id": "$2" } })
    };
    let events = json!([
        joined,
        plain("$1", "Bot: hello"),
        said(
            "$2",
            json!({ "msgtype": "m.text", "body": format!("> <{friend}> x\n\ny"),
            "m.mentions": { "user_ids": [us] }, "format": "org.matrix.custom.html",
            "formatted_body": format!("<a href=\"https://matrix.to/#/{us}\">Bot</a>"),
            "m.relates_to": { "m.in_reply_to": { "event_id": "$1" } } })
        ),
        said(
            "$3",
            json!({ "msgtype": "m.text", "body": "t",
            "m.relates_to": relates("$1", "m.thread") })
        ),
        said(
            "$4",
            json!({ "msgtype": "m.text", "body": "* e",
            "m.new_content": { "msgtype": "m.text", "body": "e" },
            "m.relates_to": relates("$3", "m.replace") })
        ),
        said(
            "$5",
            json!({ "msgtype": "m.image", "body": "p.png", "url": "mxc://x/abc",
            "info": { "mimetype": "image/png", "size": 3 } })
        ),
        said(
            "$6",
            json!({ "msgtype": "m.audio", "body": "v", "filename": "v.ogg",
            "url": "mxc://x/v", "org.matrix.msc3245.voice": {} })
        ),
        said("$7", json!({ "msgtype": "m.emote", "body": "waves" })),
        said("$8", json!({ "msgtype": "m.location", "body": "here", "geo_uri": "geo:1,2" })),
        said("$9", json!({ "msgtype": "m.server_notice", "body": "n" })),
        event("m.sticker", "$10", json!({ "body": "s", "url": "mxc://x/s" })),
        event("m.room.encrypted", "$11", json!({ "algorithm": "m.megolm.v1.aes-sha2" })),
        redaction,
        left,
    ]);
    let named = member("$m", speaker, json!({ "membership": "join", "displayname": "Ann" }));
    let invited = member("$i", us, json!({ "membership": "invite", "is_direct": true }));
    let answer = json!({
        "next_batch": "s",
        "account_data": { "events": [
            { "type": "m.direct", "content": { friend: [cast.chat] } },
        ] },
        "rooms": {
            "join": {
                cast.chat.as_str(): {
                    "state": { "events": [named] },
                    "timeline": { "events": events, "limited": true, "prev_batch": "p" },
                },
                "!q:x": { "timeline": { "events": [plain("$q", "there")], "limited": false } },
            },
            "invite": { "!i:x": { "invite_state": { "events": [invited] } } },
            "leave": { "!l:x": { "timeline": { "events": [plain("$gone", "bye")] } } },
        },
    });
    let by = Speaker::Under("sender", speaker.into());
    vec![Template { focus: "/rooms", ..Template::new("", answer, by) }]
}
