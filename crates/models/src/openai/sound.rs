//! Sound as OpenAI defined it: `POST audio/transcriptions`, a form with a file that is answered in
//! JSON or in words, and `POST audio/speech`, answered with the sound itself.

use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::event::Usage;
use crate::sound::{HearRequest, Heard, SPEECH_BYTES_MAX, SpeakRequest};
use crate::status::{self, ProviderErrorBody};
use bytes::Bytes;
use insula_wire::{Form, Timeouts};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Below the base URL.
const HEAR_PATH: &str = "/audio/transcriptions";
const SPEAK_PATH: &str = "/audio/speech";
/// Bytes of an answer in words. Nobody says that much in the longest recording that is sent.
const WORDS_LEN_MAX: usize = 1024 * 1024;
/// How long an answer is waited for before anything comes. Whoever asks gives up by itself.
const FIRST_BYTE: Duration = Duration::from_secs(600);
/// Whose voice it is where nobody says: the protocol wants one named.
const VOICE: &str = "alloy";

/// Asks what a recording says.
pub(super) async fn hear(
    endpoint: &Endpoint,
    request: &HearRequest,
    limits: &Timeouts,
    cancel: &CancellationToken,
) -> Result<Heard, ModelError> {
    let (endpoint, model) = at(endpoint, HEAR_PATH, (&request.model, request.key.as_ref()))?;
    let form = Form::new()
        .file("file", &request.name, &request.media_type, request.content.clone())
        .text("model", &*request.model)
        .text("response_format", "json");
    let form = match &request.language {
        Some(language) => form.text("language", &**language),
        None => form,
    };
    let limits = patient(limits);
    let asked = async {
        let body = endpoint.post_form(form, &limits, cancel).await?;
        read(&body.whole(WORDS_LEN_MAX).await?)
    };
    asked.await.map_err(|fault| endpoint.error(&model, fault))
}

/// Asks for something to be said.
pub(super) async fn speak(
    endpoint: &Endpoint,
    request: &SpeakRequest,
    limits: &Timeouts,
    cancel: &CancellationToken,
) -> Result<Bytes, ModelError> {
    let (endpoint, model) = at(endpoint, SPEAK_PATH, (&request.model, request.key.as_ref()))?;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("input".to_owned(), json!(request.text));
    body.insert("voice".to_owned(), json!(request.voice.as_deref().unwrap_or(VOICE)));
    body.insert("response_format".to_owned(), json!(request.format));
    let body = Value::Object(body).to_string().into_bytes();
    let limits = patient(limits);
    let asked = async {
        let body = endpoint.post(body, &limits, cancel).await?;
        let sound = body.whole(SPEECH_BYTES_MAX).await?;
        // Some say what is wrong with an answer that looks well.
        match serde_json::from_slice::<Value>(&sound) {
            Ok(value) => Err(inside(&value).unwrap_or_else(|| garbage("there is no sound in it"))),
            Err(_) if sound.is_empty() => Err(garbage("there is no sound in it")),
            Err(_) => Ok(sound),
        }
    };
    asked.await.map_err(|fault| endpoint.error(&model, fault))
}

fn at(
    endpoint: &Endpoint,
    path: &str,
    (model, key): (&str, Option<&SecretString>),
) -> Result<(Endpoint, Arc<str>), ModelError> {
    let model: Arc<str> = model.into();
    match endpoint.at(path, key) {
        Ok(endpoint) => Ok((endpoint, model)),
        Err(why) => {
            let fault = ModelFault::Refused { status: 0, message: why.to_string() };
            Err(endpoint.error(&model, fault))
        }
    }
}

fn patient(limits: &Timeouts) -> Timeouts {
    Timeouts { first_byte: limits.first_byte.max(FIRST_BYTE), ..*limits }
}

fn garbage(what: &str) -> ModelFault {
    ModelFault::Garbage { what: what.to_owned() }
}

/// An error that came as an answer.
fn inside(value: &Value) -> Option<ModelFault> {
    let is_error = value.get("error").is_some_and(|error| !error.is_null());
    is_error.then(|| status::fault(200, None, ProviderErrorBody::from_value(value)))
}

/// What an answer says was said. Some servers answer in words whatever they are asked.
fn read(answer: &[u8]) -> Result<Heard, ModelFault> {
    let Ok(value) = serde_json::from_slice::<Value>(answer) else {
        let text = std::str::from_utf8(answer).map_err(|_| garbage("it is no text"))?;
        let is_page = text.trim_start().starts_with('<');
        return match is_page {
            true => Err(garbage("it is a page")),
            false => Ok(Heard { text: text.trim().to_owned(), length: None, usage: None }),
        };
    };
    if let Some(fault) = inside(&value) {
        return Err(fault);
    }
    let text = value.get("text").and_then(Value::as_str);
    let text = text.ok_or_else(|| garbage("there are no words in it"))?;
    let used = &value["usage"];
    let seconds = used["seconds"].as_f64().or_else(|| value["duration"].as_f64());
    let length = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
    let count = |name: &str| used[name].as_u64().unwrap_or_default();
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let usage = (input > 0 || output > 0).then(|| Usage { input, output, ..Usage::default() });
    Ok(Heard { text: text.trim().to_owned(), length, usage })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_an_answer_is_read() {
        for (answer, text, length, tokens) in [
            (r#"{"text":" hello \n"}"#, "hello", None, None),
            (r#"{"text":"a","usage":{"type":"duration","seconds":3}}"#, "a", Some(3), None),
            (r#"{"text":"a","duration":2.0,"segments":[]}"#, "a", Some(2), None),
            (
                r#"{"text":"a","usage":{"input_tokens":5,"output_tokens":2}}"#,
                "a",
                None,
                Some((5, 2)),
            ),
            ("just words\n", "just words", None, None),
            (r#"{"text":""}"#, "", None, None),
        ] {
            let heard = read(answer.as_bytes()).unwrap();
            assert_eq!(heard.text, text, "{answer}");
            assert_eq!(heard.length, length.map(Duration::from_secs), "{answer}");
            assert_eq!(heard.usage.map(|it| (it.input, it.output)), tokens, "{answer}");
        }
        for (answer, what) in [
            (&b"{}"[..], "no words"),
            (b"[1]", "no words"),
            (b"\xff\xfe", "no text"),
            (b"<html>Bad gateway", "a page"),
        ] {
            assert!(read(answer).unwrap_err().to_string().contains(what));
        }
        let limited = read(br#"{"error":{"message":"slow","code":429}}"#).unwrap_err();
        assert!(matches!(limited, ModelFault::RateLimited { .. }), "{limited}");
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(answer in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&answer);
        }
    }
}
