//! What an error of a provider means: status, kind and words become a [`ModelFault`].

use crate::complaint::blames_the_request;
use crate::error::ModelFault;
use crate::limits;
use serde_json::Value;
use std::time::Duration;

/// What a provider said about its error, as far as it could be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderErrorBody {
    /// Its words for programs: `type` and `code`.
    kinds: Vec<String>,
    /// Its words for people.
    pub(crate) message: String,
    /// A status it put inside.
    status: Option<u16>,
    /// How long it asks to wait.
    after: Option<Duration>,
    /// How many tokens it says fit the model.
    window: Option<u32>,
}

impl ProviderErrorBody {
    /// Reads the body of an answer that was an error.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => {
                Self { message: String::from_utf8_lossy(body).into_owned(), ..Self::default() }
            }
        }
    }

    /// Reads an error object: `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`,
    /// `{"detail": …}`, or one of these in a list.
    pub(crate) fn from_value(value: &Value) -> Self {
        let mut error = value;
        if let Some(first) = error.as_array().and_then(|list| list.first()) {
            error = first;
        }
        if let Some(inner) = error.get("error") {
            error = inner;
        }
        if let Some(message) = error.as_str() {
            let window = limits::window(value, message);
            return Self { message: message.to_owned(), window, ..Self::default() };
        }
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        let status = error.get("code").or_else(|| error.get("status"));
        let after = error.get("details").and_then(retry_delay);
        let message =
            text("message").or_else(|| text("detail")).unwrap_or_else(|| error.to_string());
        Self {
            after,
            kinds: ["type", "code", "status"].into_iter().filter_map(text).collect(),
            window: limits::window(error, &message),
            message,
            status: status.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        }
    }

    fn is(&self, kinds: &[&str]) -> bool {
        self.kinds.iter().any(|kind| kinds.contains(&kind.as_str()))
    }

    /// The status an error has that came inside an answer of status 200.
    fn inner_status(&self) -> u16 {
        if let Some(status) = self.status.filter(|status| (400..600).contains(status)) {
            return status;
        }
        match () {
            () if self.is(&["overloaded_error"]) => 529,
            () if self.is(&["rate_limit_error", "rate_limit_exceeded"]) => 429,
            () if self.is(&["authentication_error", "permission_error", "invalid_api_key"]) => 401,
            () if self.is(&UNPAID) => 402,
            () if self.is(&["not_found_error", "model_not_found"]) => 404,
            () if self.is(&["request_too_large"]) => 413,
            () if self.is(&["invalid_request_error", "context_length_exceeded"]) => 400,
            () => 500,
        }
    }

    fn is_too_long(&self) -> bool {
        const SIGNS: [&str; 12] = [
            // More than the rate allows in a minute will never go through.
            "request too large",
            "context length",
            "context window",
            "context_length",
            "context size",
            "exceed context limit",
            "`max_new_tokens` must be <=",
            "prompt is too long",
            "input is too long",
            "too many tokens",
            "exceeds the maximum number of tokens",
            "input token count",
        ];
        let message = self.message.to_lowercase();
        self.is(&["context_length_exceeded", "exceed_context_size_error"])
            || SIGNS.iter().any(|sign| message.contains(sign))
    }
}

/// Kinds of errors by which an account is said to have nothing left.
const UNPAID: [&str; 4] =
    ["insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_balance"];

/// How long Google asks to wait: `retryDelay` among the details.
fn retry_delay(details: &Value) -> Option<Duration> {
    let mut delays = details.as_array()?.iter().filter_map(|it| it.get("retryDelay")?.as_str());
    let seconds: f64 = delays.next()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What to make of an error. `status` is 200 when it came inside an answer.
pub(crate) fn fault(status: u16, after: Option<Duration>, told: ProviderErrorBody) -> ModelFault {
    let seen = if status < 300 { told.inner_status() } else { status };
    // An account without credit answers 429 at some providers; waiting does not fill it.
    let unpaid = told.is(&UNPAID) || seen == 402;
    let too_long = matches!(seen, 400 | 413 | 422 | 429 | 500) && told.is_too_long();
    let is_invalid = told.is(&["invalid_request_error", "invalid_request"]);
    let after = after.or(told.after);
    let (message, window) = (told.message, told.window);
    match seen {
        _ if too_long => ModelFault::TooLong { status: seen, message, window },
        _ if unpaid => ModelFault::Unpaid { status: seen, message },
        401 | 403 => ModelFault::Unauthorized { status: seen, message },
        404 => ModelFault::Missing { status: seen, message },
        413 => ModelFault::TooLong { status: seen, message, window },
        429 => ModelFault::RateLimited { after, message },
        // A fault of its own, it says, and means the request: it would be the same next time.
        500 | 501 if is_invalid || blames_the_request(&message) => {
            ModelFault::Refused { status: seen, message }
        }
        408 | 409 | 425 | 500.. => ModelFault::Overloaded { status: seen, after, message },
        300..=399 => ModelFault::Refused {
            status: seen,
            message: "it points to another address, and redirects are not followed".into(),
        },
        _ => ModelFault::Refused { status: seen, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_says_what_can_be_done() {
        let of = |status, body: &str| {
            let fault = fault(status, None, ProviderErrorBody::from_body(body.as_bytes()));
            format!("{fault:?}").split([' ', '{']).next().unwrap().to_owned()
        };
        for (status, body, expected) in [
            (401, "{}", "Unauthorized"),
            (403, "no", "Unauthorized"),
            (402, "{}", "Unpaid"),
            (403, r#"{"error":{"type":"billing_error"}}"#, "Unpaid"),
            (429, r#"{"error":{"message":"m","code":"insufficient_quota"}}"#, "Unpaid"),
            (200, r#"{"error":{"type":"insufficient_quota"}}"#, "Unpaid"),
            (404, "{}", "Missing"),
            (429, "{}", "RateLimited"),
            (400, r#"{"error":{"message":"bad"}}"#, "Refused"),
            (400, r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#, "TooLong"),
            (400, r#"{"error":{"message":"prompt is too long: 9 tokens > 8"}}"#, "TooLong"),
            (400, r#"{"error":{"message":"This model's maximum context length is 8"}}"#, "TooLong"),
            (413, "", "TooLong"),
            (422, r#"{"detail":"bad field"}"#, "Refused"),
            (301, "", "Refused"),
            (
                429,
                r#"{"error":{"message":"Request too large for m: Limit 9, Requested 10"}}"#,
                "TooLong",
            ),
            (500, "<html>", "Overloaded"),
            (
                500,
                r#"{"error":{"code":500,"message":"Jinja Exception: roles must alternate"}}"#,
                "Refused",
            ),
            (500, r#"{"error":{"message":"Invalid 'messages[1]'"}}"#, "Refused"),
            (500, r#"{"error":{"type":"invalid_request_error","message":"m"}}"#, "Refused"),
            (500, r#"{"error":{"message":"internal error"}}"#, "Overloaded"),
            (502, "invalid upstream", "Overloaded"),
            (503, r#"{"error":{"code":503,"message":"Loading model"}}"#, "Overloaded"),
            (503, "", "Overloaded"),
            (529, "", "Overloaded"),
            (200, r#"{"error":{"type":"overloaded_error"}}"#, "Overloaded"),
            (200, r#"{"error":{"code":429,"message":"m"}}"#, "RateLimited"),
            (200, r#"{"error":{"type":"invalid_request_error"}}"#, "Refused"),
            (200, r#"{"error":"some words"}"#, "Overloaded"),
        ] {
            assert_eq!(of(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_delay_among_the_details_is_honoured() {
        let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[
            {"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"27.5s"}]}}"#;
        let fault = fault(429, None, ProviderErrorBody::from_body(body.as_bytes()));
        assert_eq!(fault.after(), Some(Duration::from_millis(27_500)));
        assert!(matches!(fault, ModelFault::RateLimited { .. }));
    }

    #[test]
    fn words_are_found_wherever_the_provider_put_them() {
        for body in [
            r#"{"error":{"message":"words"}}"#,
            r#"{"error":"words"}"#,
            r#"{"message":"words"}"#,
            r#"{"detail":"words"}"#,
            r#"[{"error":{"message":"words"}}]"#,
            "words",
        ] {
            assert_eq!(ProviderErrorBody::from_body(body.as_bytes()).message, "words", "{body}");
        }
    }
}
