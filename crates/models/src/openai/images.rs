//! Pictures as OpenAI defined them: `POST images/generations`, answered in Base64 or by an
//! address.

use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::event::Usage;
use crate::picture::{PICTURE_BYTES_MAX, Picture, PictureRequest, PictureSource};
use crate::status::{self, ProviderErrorBody};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insula_wire::Timeouts;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Below the base URL.
const PATH: &str = "/images/generations";
/// Bytes of an answer: the largest picture in Base64, and what stands around it.
const ANSWER_LEN_MAX: usize = PICTURE_BYTES_MAX / 3 * 4 + 64 * 1024;
/// Longest address that is taken. Signed ones are long.
const URL_LEN_MAX: usize = 8 * 1024;
/// How long a picture is waited for before anything comes: large ones take minutes.
const FIRST_BYTE: Duration = Duration::from_secs(300);
/// What is said of a picture that can't be read.
const NO_BASE64: &str = "its picture is no Base64";
/// How models are called that always answer in Base64, and refuse to be told so.
const WITHOUT_FORMAT: [&str; 2] = ["gpt-image", "chatgpt-image"];

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Vec<Item>,
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Item {
    b64_json: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// Asks for one picture.
pub(super) async fn picture(
    endpoint: &Endpoint,
    request: &PictureRequest,
    limits: &Timeouts,
    cancel: &CancellationToken,
) -> Result<Picture, ModelError> {
    let model: Arc<str> = (*request.model).into();
    let error = |endpoint: &Endpoint, fault| endpoint.error(&model, fault);
    let endpoint = match endpoint.at(PATH, request.key.as_ref()) {
        Ok(endpoint) => endpoint,
        Err(why) => {
            let fault = ModelFault::Refused { status: 0, message: why.to_string() };
            return Err(error(endpoint, fault));
        }
    };
    let limits = Timeouts { first_byte: limits.first_byte.max(FIRST_BYTE), ..*limits };
    let is_told = !WITHOUT_FORMAT.iter().any(|name| request.model.starts_with(name));
    let mut format = is_told.then_some("b64_json");
    loop {
        let body = body(request, format);
        match asked(&endpoint, body, &limits, cancel).await {
            // It answers as it likes, then.
            Err(ModelFault::Refused { message, .. })
                if format.is_some() && message.contains("response_format") =>
            {
                format = None;
            }
            done => return done.map_err(|fault| error(&endpoint, fault)),
        }
    }
}

async fn asked(
    endpoint: &Endpoint,
    body: Value,
    limits: &Timeouts,
    cancel: &CancellationToken,
) -> Result<Picture, ModelFault> {
    let body = body.to_string().into_bytes();
    let answer = endpoint.post(body, limits, cancel).await?.whole(ANSWER_LEN_MAX).await?;
    read(&answer)
}

fn body(request: &PictureRequest, format: Option<&str>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("prompt".to_owned(), json!(request.prompt));
    body.insert("n".to_owned(), json!(1));
    let more = [
        ("size", request.size.as_deref()),
        ("quality", request.quality.as_deref()),
        ("response_format", format),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            body.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(body)
}

/// What an answer brings: the first picture of it.
fn read(answer: &[u8]) -> Result<Picture, ModelFault> {
    let garbage = |what: &str| ModelFault::Garbage { what: what.to_owned() };
    let value: Value = serde_json::from_slice(answer).map_err(|_| garbage("it is no JSON"))?;
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(status::fault(200, None, ProviderErrorBody::from_value(&value)));
    }
    let Answer { data, usage } =
        Answer::deserialize(value).map_err(|_| garbage("it has no list of pictures"))?;
    let item = data.into_iter().next().ok_or_else(|| garbage("there is no picture in it"))?;
    let source = match (item.b64_json, item.url) {
        (Some(text), _) if !text.is_empty() => {
            // Some put the whole address of a picture there.
            let text = text.split_once(";base64,").map_or(text.as_str(), |(_, rest)| rest);
            PictureSource::Bytes(decoded(text)?)
        }
        (_, Some(url)) if !url.is_empty() => by_address(url)?,
        _ => return Err(garbage("there is no picture in it")),
    };
    let usage = usage.map(|it| Usage {
        input: it.input_tokens,
        output: it.output_tokens,
        ..Usage::default()
    });
    let usage = usage.filter(|it| it.input > 0 || it.output > 0);
    Ok(Picture { source, usage })
}

/// An address may hold the picture itself.
fn by_address(url: String) -> Result<PictureSource, ModelFault> {
    let garbage = |what: &str| ModelFault::Garbage { what: what.to_owned() };
    let Some(held) = url.strip_prefix("data:") else {
        return match url.len() {
            ..=URL_LEN_MAX => Ok(PictureSource::Url(url)),
            _ => Err(garbage("the address of its picture is too long")),
        };
    };
    let (_, text) = held.split_once(";base64,").ok_or_else(|| garbage(NO_BASE64))?;
    Ok(PictureSource::Bytes(decoded(text)?))
}

/// The bytes of a picture in Base64. Some tools break it into lines.
fn decoded(text: &str) -> Result<Vec<u8>, ModelFault> {
    let mut text = text.as_bytes().to_vec();
    text.retain(|byte| !byte.is_ascii_whitespace());
    STANDARD.decode(text).map_err(|_| ModelFault::Garbage { what: NO_BASE64.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> PictureRequest {
        PictureRequest {
            model: "m".into(),
            prompt: "a cat".to_owned(),
            size: None,
            quality: None,
            key: None,
        }
    }

    #[test]
    fn a_request_says_what_was_set_and_nothing_else() {
        let plain = body(&request(), None);
        assert_eq!(plain, json!({"model": "m", "prompt": "a cat", "n": 1}));
        let size = Some("1024x1024".into());
        let whole = PictureRequest { size, quality: Some("high".into()), ..request() };
        assert_eq!(
            body(&whole, Some("b64_json")),
            json!({
                "model": "m", "prompt": "a cat", "n": 1, "size": "1024x1024",
                "quality": "high", "response_format": "b64_json"
            })
        );
    }

    #[test]
    fn both_kinds_of_answers_are_read() {
        let bytes = |text: &str| match read(text.as_bytes()).unwrap().source {
            PictureSource::Bytes(bytes) => bytes,
            PictureSource::Url(url) => panic!("{url}"),
        };
        assert_eq!(bytes(r#"{"created":1,"data":[{"b64_json":"cG5n"}]}"#), b"png");
        assert_eq!(bytes(r#"{"data":[{"b64_json":"data:image/png;base64,cG5n"}]}"#), b"png");
        assert_eq!(bytes(r#"{"data":[{"b64_json":"cG\r\n 5n\n"}]}"#), b"png");
        assert_eq!(bytes(r#"{"data":[{"url":"data:image/png;base64,cG\n5n\n"}]}"#), b"png");
        let there = read(br#"{"data":[{"url":"https://x.org/a.png","revised_prompt":"b"}],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}"#).unwrap();
        assert_eq!(there.source, PictureSource::Url("https://x.org/a.png".to_owned()));
        assert_eq!(there.usage.map(|it| (it.input, it.output)), Some((3, 5)));
    }

    #[test]
    fn what_is_no_picture_is_told() {
        for (answer, what) in [
            ("", "no JSON"),
            ("[]", "list"),
            ("{}", "no picture"),
            (r#"{"data":[]}"#, "no picture"),
            (r#"{"data":[{}]}"#, "no picture"),
            (r#"{"data":[{"b64_json":"","url":""}]}"#, "no picture"),
            (r#"{"data":[{"b64_json":"***"}]}"#, "Base64"),
        ] {
            let error = read(answer.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(what), "{answer}: {error}");
        }
        let inside = read(br#"{"error":{"message":"slow","code":429}}"#).unwrap_err();
        assert!(matches!(inside, ModelFault::RateLimited { .. }), "{inside}");
    }

    proptest! {
        #[test]
        fn whatever_bytes_come_back_as_they_were(content in prop::collection::vec(any::<u8>(), 1..500)) {
            let answer = json!({ "data": [{ "b64_json": STANDARD.encode(&content) }] });
            let read = read(answer.to_string().as_bytes()).unwrap();
            prop_assert_eq!(read.source, PictureSource::Bytes(content));
        }

        #[test]
        fn no_answer_breaks_the_reader(answer in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&answer);
        }
    }
}
