//! Requests of WhatsApp's Cloud API.

use super::with;
use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

/// Where what people say stands in a request.
const VALUE: &str = "/entry/0/changes/0/value";

/// `saying` makes a request of messages, `told` one of what became of ours; `now` is the second
/// in which they were said.
pub fn whatsapp(
    cast: &Cast,
    speaker: &str,
    now: &str,
    saying: impl Fn(&[Value]) -> Value,
    told: impl Fn(&[Value]) -> Value,
) -> Vec<Template> {
    let message =
        |fields: Value| with(json!({"from": speaker, "id": "wamid.1", "timestamp": now}), &fields);
    let context = json!({"from": cast.friend, "id": "wamid.0", "forwarded": false});
    let requests = [
        saying(&[
            message(json!({"type": "text", "text": {"body": "hi"}, "context": context})),
            message(
                json!({"type": "image", "image": {"id": "9", "caption": "c"}, "group_id": "G"}),
            ),
            message(json!({"type": "audio", "audio": {"id": "9", "voice": true}})),
        ]),
        saying(&[
            message(json!({"type": "reaction", "reaction": {"message_id": "m", "emoji": "x"}})),
            message(json!({"type": "edit", "edit": {"original_message_id": "m",
                "message": {"text": {"body": "better"}}}})),
            message(json!({"type": "revoke", "revoke": {"original_message_id": "m"}})),
        ]),
        saying(&[
            message(json!({"type": "interactive", "context": context,
                "interactive": {"button_reply": {"id": "y", "title": "Y"}}})),
            message(json!({"type": "location", "location": {"latitude": 1.0, "longitude": 2.0}})),
            message(json!({"type": "contacts", "contacts": [{"name": {"formatted_name": "B"}}]})),
        ]),
        told(&[json!({"id": "wamid.1", "status": "failed", "recipient_id": speaker,
            "biz_opaque_callback_data": "m/0", "errors": [{"code": 131_047, "title": "t",
                "error_data": {"details": "d"}}]})]),
    ];
    // Contacts and quotes name people as well: they are only written otherwise.
    let by = Speaker::Under("from", speaker.into());
    let template =
        |request: Value| Template { focus: VALUE, ..Template::new("", request, by.clone()) };
    requests.into_iter().map(template).collect()
}
