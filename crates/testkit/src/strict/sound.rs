//! A server that hears and speaks as OpenAI's does, and refuses what that refuses. What it heard
//! it answers with what it was told to; what it says is a real file of the kind it was asked for.

use super::{Verdict, demand, text};
use crate::sounds;
use crate::upstream::{Seen, Step, Upstream};
use insula_world::World;
use serde_json::{Value, json};
use std::io;

/// What names of files end with that are heard.
const ENDINGS: [&str; 10] =
    ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "oga", "ogg", "wav", "webm"];
/// Longest words that are said, in characters.
const INPUT_CHARS_MAX: usize = 4_096;

/// A part of a form.
struct Field<'b> {
    name: String,
    file: Option<String>,
    content: &'b [u8],
}

/// Starts such a server, which hears these words in whatever it is sent, on a network: that of a
/// virtual world, or the real one of this machine.
pub async fn sound_server(world: &World, words: &str) -> io::Result<Upstream> {
    let words = words.to_owned();
    Upstream::start(world, move |seen, _| answer_sound(seen, &words)).await
}

/// What it answers to a request, where these words are heard in every recording.
pub fn answer_sound(seen: &Seen, words: &str) -> Vec<Step> {
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    let refused = |status: u16, why: String| {
        let body = json!({ "error": { "message": why, "type": "invalid_request_error" } });
        (status, "application/json", body.to_string().into_bytes())
    };
    let (status, media_type, body) = match path.rsplit_once('/') {
        Some((_, "transcriptions")) if path.ends_with("/audio/transcriptions") => {
            match heard(seen) {
                Ok(()) => {
                    let body =
                        json!({ "text": words, "usage": { "type": "duration", "seconds": 3 } });
                    (200, "application/json", body.to_string().into_bytes())
                }
                Err(why) => refused(400, why),
            }
        }
        Some((_, "speech")) if path.ends_with("/audio/speech") => match spoken(&seen.json()) {
            Ok((media_type, sound)) => (200, media_type, sound.to_vec()),
            Err(why) => refused(400, why),
        },
        _ => refused(404, format!("Invalid URL ({})", seen.line)),
    };
    let head = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    vec![Step::Write([head.as_bytes(), &body].concat())]
}

/// The parts of a form; nothing for what is none.
fn fields(seen: &Seen) -> Option<Vec<Field<'_>>> {
    let boundary = seen.header("content-type")?.strip_prefix("multipart/form-data; boundary=")?;
    let between = format!("--{boundary}");
    let (mut rest, mut fields) = (&seen.body[..], Vec::new());
    loop {
        rest = rest.strip_prefix(between.as_bytes())?;
        if rest == b"--\r\n" {
            return Some(fields);
        }
        rest = rest.strip_prefix(b"\r\n")?;
        let head = rest.windows(4).position(|it| it == b"\r\n\r\n")?;
        let named = std::str::from_utf8(&rest[..head]).ok()?;
        let value = |key: &str| {
            let (_, after) = named.split_once(&format!("; {key}=\""))?;
            Some(after.split('"').next()?.to_owned())
        };
        let (name, file) = (value("name")?, value("filename"));
        rest = &rest[head + 4..];
        let end = format!("\r\n{between}");
        let length = rest.windows(end.len()).position(|it| it == end.as_bytes())?;
        fields.push(Field { name, file, content: &rest[..length] });
        rest = &rest[length + 2..];
    }
}

fn heard(seen: &Seen) -> Verdict {
    let fields = fields(seen).ok_or_else(|| "Could not parse multipart form".to_owned())?;
    let known = ["file", "model", "language", "prompt", "response_format", "temperature"];
    for field in &fields {
        let name = &field.name;
        demand!(known.contains(&&**name), "Unrecognized request argument supplied: {name}");
    }
    let value = |name: &str| fields.iter().find(|it| it.name == name);
    demand!(value("model").is_some_and(|it| !it.content.is_empty()), "you must provide a model");
    let format = value("response_format").map_or(&b"json"[..], |it| it.content);
    demand!([&b"json"[..], b"verbose_json"].contains(&format), "Invalid response_format");
    let file = value("file").ok_or_else(|| "'file' is a required property".to_owned())?;
    let name = file.file.as_deref().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    demand!(ENDINGS.contains(&ending), "Invalid file format. Supported formats: {ENDINGS:?}");
    let is_as_named = match ending {
        "ogg" | "oga" => file.content.starts_with(b"OggS"),
        "wav" => file.content.starts_with(b"RIFF"),
        "m4a" | "mp4" => file.content.get(4..8) == Some(b"ftyp"),
        _ => !file.content.is_empty(),
    };
    demand!(is_as_named, "The audio file could not be decoded or its format is not supported.");
    Ok(())
}

fn spoken(body: &Value) -> Result<(&'static str, &'static [u8]), String> {
    let known = ["model", "input", "voice", "response_format", "speed", "instructions"];
    for name in body.as_object().into_iter().flatten().map(|(name, _)| name) {
        demand!(known.contains(&&**name), "Unknown parameter: '{name}'");
    }
    for name in ["model", "input", "voice"] {
        let is_there = text(body, name).is_some_and(|it| !it.is_empty());
        demand!(is_there, "Missing required parameter: '{name}'");
    }
    let length = text(body, "input").unwrap_or_default().chars().count();
    demand!(length <= INPUT_CHARS_MAX, "String should have at most {INPUT_CHARS_MAX} characters");
    match text(body, "response_format").unwrap_or("mp3") {
        "mp3" => Ok(("audio/mpeg", sounds::MP3)),
        "opus" => Ok(("audio/ogg", sounds::OPUS)),
        "aac" => Ok(("audio/aac", sounds::AAC)),
        "wav" => Ok(("audio/wav", sounds::WAV)),
        other => Err(format!("Invalid value for response_format: {other}")),
    }
}
