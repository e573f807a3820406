//! What a message of a client is made of: words, pictures and files, in the words of both of
//! OpenAI's APIs. What can't be taken is refused with where it stands and what to send instead.

use super::error::OpenAiError;
use super::file::{self, SentFile};
use super::picture::picture;
use insula_store::Part;
use serde_json::Value;

/// One part of a message, as a client brought it.
#[derive(Debug, PartialEq, Eq)]
pub enum Brought {
    /// Something that is shown as it is.
    Part(Part),
    /// A file that is kept beside the conversation.
    File(SentFile),
}

/// The parts of some content: a text, a list of parts, or nothing. `at` is where it stands.
pub fn brought(content: &Value, at: &str) -> Result<Vec<Brought>, OpenAiError> {
    let parts = match content {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) => vec![Brought::Part(Part::Text(text.clone()))],
        Value::Array(parts) => {
            let place = |index: usize| format!("{at}[{index}]");
            let parts = parts.iter().enumerate().map(|(index, it)| one(it, &place(index)));
            parts.collect::<Result<_, _>>()?
        }
        _ => {
            let message = "`content` must be a text or a list of parts";
            return Err(OpenAiError::invalid_at(at, message));
        }
    };
    let is_empty = |part: &Brought| matches!(part, Brought::Part(Part::Text(it)) if it.is_empty());
    Ok(parts.into_iter().filter(|part| !is_empty(part)).collect())
}

/// The words of some content in which nothing but words can stand.
pub fn words(content: &Value, at: &str, what: &str) -> Result<String, OpenAiError> {
    let mut words = String::new();
    for part in brought(content, at)? {
        match part {
            Brought::Part(Part::Text(text)) => words.push_str(&text),
            _ => return Err(OpenAiError::invalid_at(at, format!("{what} is text here"))),
        }
    }
    Ok(words)
}

fn one(part: &Value, at: &str) -> Result<Brought, OpenAiError> {
    let kind = part["type"].as_str().unwrap_or_default();
    let needs =
        |what: &str| OpenAiError::invalid_at(at, format!("a part of type `{kind}` needs {what}"));
    let text = |key: &str| {
        let text = part[key].as_str().ok_or_else(|| needs(&format!("`{key}`")))?;
        Ok(Brought::Part(Part::Text(text.to_owned())))
    };
    match kind {
        "text" | "input_text" | "output_text" => text("text"),
        "refusal" => text("refusal"),
        "image_url" | "input_image" => {
            let url = part["image_url"].as_str().or_else(|| part["image_url"]["url"].as_str());
            let url = url.ok_or_else(|| needs("`image_url`; files are not kept here"))?;
            Ok(Brought::Part(picture(url).map_err(|error| error.at(at))?))
        }
        "file" => Ok(Brought::File(file::read(&part["file"], at)?)),
        "input_file" => Ok(Brought::File(file::read(part, at)?)),
        "input_audio" | "audio" | "output_audio" => Err(OpenAiError::invalid_at(
            at,
            "an agent does not listen to audio: send what was said as text",
        )),
        "" => Err(OpenAiError::invalid_at(at, "a part needs a `type`, such as `text`")),
        other => {
            let message =
                format!("parts of type `{other}` are not taken: send text, pictures or files");
            Err(OpenAiError::invalid_at(at, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_part_is_taken_or_refused_where_it_stands() {
        let taken = json!([
            { "type": "text", "text": "a" },
            { "type": "input_text", "text": "" },
            { "type": "refusal", "refusal": "no" },
            { "type": "image_url", "image_url": { "url": "https://example.org/a.png" } },
            { "type": "input_image", "image_url": "https://example.org/a.png" },
        ]);
        let parts = brought(&taken, "messages[0].content").unwrap();
        assert_eq!(parts.len(), 4, "{parts:?}");
        for bad in [
            json!([{ "type": "text" }]),
            json!([{ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } }]),
            json!([{ "type": "image_url", "image_url": { "url": "file:///etc/passwd" } }]),
            json!([{ "type": "video_url" }]),
            json!([{}]),
            json!(["words"]),
            json!(7),
        ] {
            let error = brought(&bad, "messages[0].content").unwrap_err().body();
            let param = error["error"]["param"].as_str().unwrap_or_default();
            assert!(param.starts_with("messages[0].content"), "{bad}: {error}");
        }
    }
}
