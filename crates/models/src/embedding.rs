//! What texts mean, as vectors: the question, and answers as OpenAI and Ollama write them.

use crate::endpoint::Endpoint;
use crate::error::{ModelError, ModelFault};
use crate::event::Usage;
use crate::status::{self, ProviderErrorBody};
use insula_wire::Timeouts;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most texts of one question.
pub const TEXTS_MAX: usize = 64;
/// Most numbers of one vector.
pub const DIMENSIONS_MAX: usize = 8_192;
/// Bytes of an answer: the longest vectors of so many texts, each number written out.
const ANSWER_LEN_MAX: usize = TEXTS_MAX * DIMENSIONS_MAX * 24;

/// Texts to be embedded by a model, at most [`TEXTS_MAX`] of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbedRequest {
    pub model: Box<str>,
    pub texts: Vec<String>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// One for each text, all of one length.
    pub vectors: Vec<Vec<f32>>,
    /// What it took, where the server says.
    pub usage: Option<Usage>,
}

/// How a server writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbedFormat {
    /// `POST embeddings`.
    OpenAi,
    /// `POST api/embed`.
    Ollama,
}

/// Asks for vectors.
pub(crate) async fn embed(
    endpoint: &Endpoint,
    format: EmbedFormat,
    request: &EmbedRequest,
    limits: &Timeouts,
    cancel: &CancellationToken,
) -> Result<Embedded, ModelError> {
    let model: Arc<str> = (*request.model).into();
    let failed = |fault| endpoint.error(&model, fault);
    let (path, body) = match format {
        EmbedFormat::OpenAi => (
            "/embeddings",
            json!({ "model": request.model, "input": request.texts, "encoding_format": "float" }),
        ),
        EmbedFormat::Ollama => {
            ("/api/embed", json!({ "model": request.model, "input": request.texts }))
        }
    };
    let asked = async {
        let there = endpoint
            .at(path, None)
            .map_err(|why| ModelFault::Refused { status: 0, message: why.to_string() })?;
        let body = body.to_string().into_bytes();
        let answer = there.post(body, limits, cancel).await?.whole(ANSWER_LEN_MAX).await?;
        read(format, &answer, request.texts.len())
    };
    asked.await.map_err(failed)
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiItem>,
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiItem {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    #[serde(default)]
    prompt_tokens: u64,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    prompt_eval_count: u64,
}

/// What an answer to so many texts brings.
fn read(format: EmbedFormat, answer: &[u8], count: usize) -> Result<Embedded, ModelFault> {
    let garbage = |what: &str| ModelFault::Garbage { what: what.to_owned() };
    let value: Value = serde_json::from_slice(answer).map_err(|_| garbage("it is no JSON"))?;
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return Err(status::fault(200, None, ProviderErrorBody::from_value(&value)));
    }
    let no_vectors = |_| garbage("it has no list of vectors");
    let (vectors, input) = match format {
        EmbedFormat::OpenAi => {
            let mut answer = OpenAiAnswer::deserialize(value).map_err(no_vectors)?;
            // They say which text each is of; who does not keeps the order.
            answer.data.sort_by_key(|it| it.index.unwrap_or_default());
            let input = answer.usage.map_or(0, |it| it.prompt_tokens);
            (answer.data.into_iter().map(|it| it.embedding).collect::<Vec<_>>(), input)
        }
        EmbedFormat::Ollama => {
            let answer = OllamaAnswer::deserialize(value).map_err(no_vectors)?;
            (answer.embeddings, answer.prompt_eval_count)
        }
    };
    if vectors.len() != count {
        return Err(garbage("it has another number of vectors than was asked for"));
    }
    let length = vectors.first().map_or(0, Vec::len);
    let is_sound = |it: &Vec<f32>| it.len() == length && it.iter().all(|number| number.is_finite());
    if length == 0 || length > DIMENSIONS_MAX || !vectors.iter().all(is_sound) {
        return Err(garbage("its vectors can't be used"));
    }
    let usage = (input > 0).then(|| Usage { input, ..Usage::default() });
    Ok(Embedded { vectors, usage })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_kinds_of_answers_are_read() {
        let answer = br#"{"object":"list","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#;
        let read_so = read(EmbedFormat::OpenAi, answer, 2).unwrap();
        assert_eq!(read_so.vectors, [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(read_so.usage.map(|it| it.input), Some(7));
        let answer = br#"{"model":"m","embeddings":[[0.5,-1]],"prompt_eval_count":3}"#;
        let read_so = read(EmbedFormat::Ollama, answer, 1).unwrap();
        assert_eq!(
            (read_so.vectors, read_so.usage.map(|it| it.input)),
            (vec![vec![0.5, -1.0]], Some(3))
        );
    }

    #[test]
    fn what_is_no_list_of_vectors_is_told() {
        for (answer, count, what) in [
            ("", 1, "no JSON"),
            ("{}", 1, "no list"),
            (r#"{"data":[]}"#, 1, "another number"),
            (r#"{"data":[{"embedding":[]}]}"#, 1, "can't be used"),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, 2, "can't be used"),
            (r#"{"data":[{"embedding":[1e39]}]}"#, 1, "can't be used"),
            (r#"{"data":[{"embedding":"AAAA"}]}"#, 1, "no list"),
        ] {
            let error = read(EmbedFormat::OpenAi, answer.as_bytes(), count).unwrap_err();
            assert!(error.to_string().contains(what), "{answer}: {error}");
        }
        let inside = br#"{"error":{"message":"slow","code":429}}"#;
        let error = read(EmbedFormat::OpenAi, inside, 1).unwrap_err();
        assert!(matches!(error, ModelFault::RateLimited { .. }), "{error}");
    }

    proptest! {
        #[test]
        fn no_answer_breaks_the_reader(answer in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(EmbedFormat::OpenAi, &answer, 1);
            let _ = read(EmbedFormat::Ollama, &answer, 1);
        }
    }
}
