//! Updates of Telegram's Bot API.

use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

pub fn telegram(cast: &Cast, speaker: &str) -> Vec<Template> {
    let id: Value = speaker.parse::<i64>().map_or(Value::Null, Into::into);
    let friend: Value = cast.friend.parse::<i64>().map_or(Value::Null, Into::into);
    let who = json!({"id": id, "is_bot": false, "first_name": "Ann", "username": "ann"});
    let other = json!({"id": friend, "is_bot": false, "first_name": "Ann", "username": "ann"});
    let forum = json!({"id": -1001, "type": "supergroup", "title": "F", "is_forum": true});
    let media =
        json!({"file_id": "F", "file_name": "a.b", "mime_type": "audio/ogg", "file_size": 9});
    let earlier = json!({"message_id": 2, "date": 1, "chat": forum, "from": other,
        "text": "before", "message_thread_id": 9, "is_topic_message": true});
    let by = |place: &'static str, value: Value| {
        Template::new("", value, Speaker::At(vec![(place, id.clone())]))
    };
    vec![
        by(
            "/message/from/id",
            json!({"update_id": 1, "message": {"message_id": 3, "date": 10, "chat": forum,
                "from": who, "text": "😀 @ada_bot /new@ada_bot x", "message_thread_id": 9,
                "is_topic_message": true, "entities": [
                    {"type": "mention", "offset": 3, "length": 8},
                    {"type": "bot_command", "offset": 12, "length": 12},
                    {"type": "text_link", "offset": 0, "length": 2, "url": "https://e.org"},
                    {"type": "text_mention", "offset": 25, "length": 1, "user": other}],
                "reply_to_message": earlier, "quote": {"text": "q", "position": 0}}}),
        ),
        by(
            "/edited_message/from/id",
            json!({"update_id": 2, "edited_message": {"message_id": 3, "date": 10,
                "edit_date": 11, "chat": {"id": id, "type": "private"}, "from": who,
                "caption": "c", "caption_entities": [], "photo": [media, media],
                "media_group_id": "g"}}),
        ),
        Template::new(
            "",
            json!({"update_id": 3, "channel_post": {"message_id": 3, "date": 10,
                "sender_chat": forum, "chat": {"id": -7, "type": "channel", "title": "N"},
                "voice": media, "video": media, "audio": media, "document": media,
                "animation": media, "video_note": media,
                "sticker": {"file_id": "S", "emoji": "😀"}, "author_signature": "me"}}),
            Speaker::Unnamed,
        ),
        by(
            "/callback_query/from/id",
            json!({"update_id": 4, "callback_query": {"id": "Q", "from": who,
                "message": earlier, "data": "d"}}),
        ),
        by(
            "/my_chat_member/from/id",
            json!({"update_id": 5, "my_chat_member": {"chat": forum, "from": who, "date": 1,
                "old_chat_member": {"user": who, "status": "left"},
                "new_chat_member": {"user": who, "status": "restricted", "is_member": true}}}),
        ),
        Template::new(
            "",
            json!({"update_id": 6, "chat_member": {"chat": forum, "from": who, "date": 1,
                "old_chat_member": {"user": who, "status": "member"},
                "new_chat_member": {"user": who, "status": "kicked"}}}),
            // Of somebody who left it is they who are named.
            Speaker::At(vec![
                ("/chat_member/from/id", id.clone()),
                ("/chat_member/old_chat_member/user/id", id.clone()),
                ("/chat_member/new_chat_member/user/id", id.clone()),
            ]),
        ),
        by(
            "/message/from/id",
            json!({"update_id": 7, "message": {"message_id": 3, "date": 10, "chat": forum,
                "from": who, "migrate_to_chat_id": -1009}}),
        ),
        by(
            "/message/from/id",
            json!({"update_id": 8, "message": {"message_id": 3, "date": 10, "chat": forum,
                "from": who, "location": {"latitude": 1.0, "longitude": 2.0},
                "contact": {"phone_number": "1"},
                "poll": {"question": "q", "options": [{"text": "a"}]},
                "forward_origin": {"type": "user", "sender_user": other},
                "external_reply": {"message_id": 9, "origin": {"sender_user": other}}}}),
        ),
    ]
}
