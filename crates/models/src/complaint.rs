//! What a server says it can't take, told by its words. They decide nothing but how the same
//! question is put once more to the same server.

/// What a server can't take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Complaint {
    /// The order of messages, the roles in it, or something else its template refuses.
    Template,
    /// A role for the system prompt.
    System,
    /// Tools at all.
    Tools,
    /// Pictures, or one of them.
    Pictures,
    /// `max_tokens`, where it wants `max_completion_tokens`.
    LengthName,
    /// A member of the request that it does not know, or a value it does not allow there.
    Extras,
}

/// Words by which servers are known to say it, in lower case. The first that fits counts.
const SIGNS: &[(Complaint, &[&str])] = &[
    (
        Complaint::LengthName,
        &[
            "use 'max_completion_tokens'",
            "use `max_completion_tokens`",
            "use max_completion_tokens",
        ],
    ),
    (
        Complaint::Tools,
        &[
            "does not support tools",
            "do not support tools",
            "does not support tool",
            "doesn't support tools",
            "tools are not supported",
            "tool use is not supported",
            "tool calling is not supported",
            "function calling is not supported",
            "function calling is not enabled",
            "does not support function calling",
            "tools param requires",
            "tool choice requires",
            "no endpoints found that support tool use",
        ],
    ),
    (
        Complaint::System,
        &[
            "system role not supported",
            "system role is not supported",
            "does not support 'system'",
            "only user and assistant roles",
            "developer instruction is not enabled",
        ],
    ),
    (
        Complaint::Template,
        &[
            "roles must alternate",
            "role must alternate",
            "system role is missing",
            "only user, assistant",
            "unexpected role",
            "unexpected message role",
            "expected last role",
            "invalid role",
            "single tool-call",
            "one tool call at a time",
            "tool call ids should be",
            "tool call id was",
            "not the same number of function calls and responses",
            "assistant message must have either",
            "first user message",
            "raise_exception",
            "jinja",
            "chat template",
            "chat_template",
            "tool message must",
            "must be followed by tool messages",
            "must be a response to a preceeding message",
            "must be a response to a preceding message",
            "function call turn comes immediately",
            "function response turn comes immediately",
        ],
    ),
    (
        Complaint::Extras,
        &[
            "extra inputs are not permitted",
            "extra fields not permitted",
            "additional properties are not allowed",
            "unknown parameter",
            "unknown name",
            "unknown field",
            "unsupported parameter",
            "unsupported value",
            "unrecognized request argument",
            "unrecognized field",
            "unexpected keyword",
            "is not supported with this model",
        ],
    ),
];

/// Words about pictures. What refuses a request that has some, and says one of these, is about
/// them.
const PICTURES: &[&str] =
    &["image", "picture", "vision", "multimodal", "multi-modal", "mmproj", "modalit"];

/// Words of a server that has nowhere to put a question.
const NOWHERE: &[&str] = &["endpoint", "image", "picture", "multimodal", "modalit"];

/// Words of a refusal that names a cause which no other form of the request would help.
const CAUSES: &[&str] = &["api key", "api_key", "api-key", "credit balance", "billing"];

/// Words of a server whose fault is in the request, though it answers as if it were its own.
const BROKEN: &[&str] = &[
    "invalid",
    "not supported",
    "unsupported",
    "malformed",
    "failed to parse",
    "parse error",
    "parse_error",
    "json.exception",
    "unprocessable",
    "bad request",
];

/// What a refusal is about, if that can be told. `has_pictures` is whether the request did.
pub(crate) fn complaint(message: &str, has_pictures: bool) -> Option<Complaint> {
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has_pictures && says(PICTURES) {
        return Some(Complaint::Pictures);
    }
    SIGNS.iter().find(|(_, words)| says(words)).map(|(complaint, _)| *complaint)
}

/// Whether what is said not to be there may be a place that takes pictures.
pub(crate) fn may_be_about_pictures(message: &str) -> bool {
    let lower = message.to_lowercase();
    NOWHERE.iter().any(|word| lower.contains(word))
}

/// Whether a refusal says that it is about something else than the form of the request.
pub(crate) fn names_a_cause(message: &str) -> bool {
    let lower = message.to_lowercase();
    CAUSES.iter().any(|word| lower.contains(word))
}

/// Whether words that came with a server's own fault say that the request is at fault.
pub(crate) fn blames_the_request(message: &str) -> bool {
    let lower = message.to_lowercase();
    BROKEN.iter().any(|word| lower.contains(word)) || complaint(message, true).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_real_servers_say_is_understood() {
        for (said, expected) in [
            (
                "Conversation roles must alternate user/assistant/user/assistant/...",
                Complaint::Template,
            ),
            (
                "Jinja Exception: After the optional system message, conversation roles must alternate",
                Complaint::Template,
            ),
            ("System role not supported", Complaint::System),
            ("This model only supports single tool-calls at once!", Complaint::Template),
            ("Tool call IDs should be alphanumeric strings with length 9!", Complaint::Template),
            ("Unexpected role 'user' after role 'tool'", Complaint::Template),
            (
                "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
                Complaint::Template,
            ),
            ("registry.ollama.ai/library/gemma:2b does not support tools", Complaint::Tools),
            (
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
                Complaint::Tools,
            ),
            ("tools param requires --jinja flag", Complaint::Tools),
            ("No endpoints found that support tool use.", Complaint::Tools),
            ("Extra inputs are not permitted", Complaint::Extras),
            (
                "Invalid JSON payload received. Unknown name \"seed\": Cannot find field.",
                Complaint::Extras,
            ),
            ("'messages[0].role' does not support 'system' with this model.", Complaint::System),
            (
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                Complaint::System,
            ),
            (
                "Unsupported value: 'temperature' does not support 0.2 with this model.",
                Complaint::Extras,
            ),
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Complaint::LengthName,
            ),
        ] {
            assert_eq!(complaint(said, false), Some(expected), "{said}");
        }
        let blind = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
        assert_eq!(complaint(blind, true), Some(Complaint::Pictures));
        assert_eq!(complaint(blind, false), None);
        for other in ["the key is wrong", "Rate limit reached", "upstream connect error", ""] {
            assert_eq!(complaint(other, true), None, "{other}");
            assert!(!blames_the_request(other), "{other}");
        }
        assert!(blames_the_request("Invalid 'messages[3].content'") && blames_the_request(blind));
    }
}
