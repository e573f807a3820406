//! `image_generate`: has a picture made by whom the operator named, and puts it into the
//! workspace. It costs money: whatever can be known to be wrong is told before.

use crate::files::{Act, FileAccess, Wish};
use crate::pictures::{MadePicture, PictureKind, PictureWish, Pictures};
use crate::workspace::{FileError, Parents};
use crate::{Cleared, Habits, HandError, Hands, Output, Tool, ToolError, arguments, path_argument};
use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use serde::Deserialize;
use serde_json::Value;

pub struct ImageGenerate;

/// Longest prompt, in characters: the least that well-known providers take.
const PROMPT_CHARS_MAX: usize = 4_000;
/// Where pictures are put that nobody named a place for.
const FOLDER: &str = "images";
/// Characters of a name that is made of a prompt.
const NAME_CHARS_MAX: usize = 40;
/// Names tried for a picture that has none.
const NAMES_MAX: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    prompt: String,
    path: Option<String>,
    size: Option<String>,
}

#[async_trait]
impl Tool for ImageGenerate {
    fn name(&self) -> &'static str {
        "image_generate"
    }

    fn description(&self) -> &'static str {
        "Make a picture from a description and save it in the workspace. It goes along with your reply where the chat can show it; each one costs money."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"prompt":{"type":"string"},"path":{"type":"string","description":"a new file, such as images/cat.png"},"size":{"type":"string","description":"such as 1024x1024"}},"required":["prompt"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("description", "prompt"),
                ("text", "prompt"),
                ("image_prompt", "prompt"),
                ("file_path", "path"),
                ("filename", "path"),
                ("output_path", "path"),
                ("image_size", "size"),
                ("resolution", "size"),
            ],
            ..Habits::default()
        }
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        path_argument(arguments)
    }

    fn source(&self, _shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::Web, "images"))
    }

    fn writes(&self, arguments: &Value) -> Vec<String> {
        // One that is not named comes into a folder of ours.
        vec![arguments.get("path").and_then(Value::as_str).unwrap_or(FOLDER).to_owned()]
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { prompt, path, size } = arguments(value)?;
        let prompt = prompt.trim().to_owned();
        if prompt.is_empty() || prompt.chars().count() > PROMPT_CHARS_MAX {
            let what = format!("`prompt` takes 1 to {PROMPT_CHARS_MAX} characters");
            return Err(ToolError::Arguments(what));
        }
        let (pictures, files) = (hands.pictures()?, hands.files()?);
        check_size(pictures, size.as_deref())?;
        let name = name(&prompt);
        let (wanted, usual) = (path.clone(), format!("{FOLDER}/{name}"));
        files.work(move |access, _| check_place(access, wanted.as_deref(), &usual)).await?;
        let made = pictures.make(PictureWish { prompt, size }).await?;
        let MadePicture { bytes, kind, kept } = made;
        let at = path.clone();
        let put = files.work(move |access, _| put(access, at, &name, kind, bytes)).await;
        let mut lines = match (put, &kept) {
            (Ok(said), _) => vec![said],
            // It is paid for: whoever can still have it is told where.
            (Err(error), Ok(kept)) => {
                vec![format!("the picture was made and is in {kept}; {error}")]
            }
            (Err(error), Err(_)) => return Err(error),
        };
        if let Some(path) = path.filter(|path| !kind.fits(path)) {
            lines.push(format!("{path} is {}, whatever its name ends with", kind.media_type()));
        }
        lines.push(match kept {
            Ok(_) => "it goes along with your reply where the chat can show it".to_owned(),
            Err(why) => format!("it does not go along with your reply: {why}"),
        });
        Ok(Output::Text(lines.join("\n")))
    }
}

/// Whether a size may be asked for.
fn check_size(pictures: &dyn Pictures, size: Option<&str>) -> Result<(), ToolError> {
    let sizes = pictures.sizes().ok_or_else(|| {
        let what = "nobody is configured who makes pictures; the operator names a model under `images.model`";
        HandError(what.to_owned())
    })?;
    let Some(size) = size else { return Ok(()) };
    if sizes.iter().any(|it| &**it == size) {
        return Ok(());
    }
    let what = match sizes.join(", ") {
        known if known.is_empty() => "no `size` can be chosen here; leave it out".to_owned(),
        known => format!("`size` is one of {known}"),
    };
    Err(ToolError::Arguments(what))
}

/// Whether a picture could be put where it is wanted, or where it would be otherwise.
fn check_place(access: &FileAccess, wanted: Option<&str>, usual: &str) -> Result<(), FileError> {
    match (wanted, is_free(access, wanted.unwrap_or(usual))?) {
        (Some(path), false) => Err(taken(path)),
        // One that nobody named gets a name that is free.
        _ => Ok(()),
    }
}

/// Whether nothing is at a place that may be written to.
fn is_free(access: &FileAccess, path: &str) -> Result<bool, FileError> {
    let resolved = match access.workspace()?.locate(path, Parents::Expect) {
        // Its folder is made when there is something to put into it.
        Err(FileError::Missing(_)) => return Ok(true),
        resolved => resolved?,
    };
    resolved.check_writable()?;
    Ok(resolved.found.is_none())
}

fn taken(path: &str) -> FileError {
    FileError::Refused(format!("`{path}` exists already; choose another path"))
}

/// Puts a picture where it was wanted, or under a name that is free; what was done.
fn put(
    access: &FileAccess,
    path: Option<String>,
    name: &str,
    kind: PictureKind,
    bytes: Vec<u8>,
) -> Result<String, FileError> {
    let create = |path: String, bytes: Vec<u8>| {
        let said = format!("made {path} ({}, {} bytes)", kind.media_type(), bytes.len());
        let report = access.change(vec![Wish { path, act: Act::Create(bytes) }])?;
        Ok(std::iter::once(said).chain(report.notes).collect::<Vec<_>>().join("\n"))
    };
    if let Some(path) = path {
        return create(path, bytes);
    }
    for number in 1..NAMES_MAX {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = format!("{FOLDER}/{name}{number}.{}", kind.ending());
        if is_free(access, &path)? {
            return create(path, bytes);
        }
    }
    Err(FileError::Unfit(format!("`{FOLDER}` has too many pictures of this name")))
}

/// What a picture is called, by what was asked for.
fn name(prompt: &str) -> String {
    let mut name = String::new();
    for word in prompt.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()) {
        if name.len() + word.len() >= NAME_CHARS_MAX {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    if name.is_empty() { "picture".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_made_of_the_first_words() {
        assert_eq!(name("A cat, on a mat!"), "a-cat-on-a-mat");
        assert_eq!(name("猫"), "picture");
        assert_eq!(name(&"word ".repeat(50)), "word-word-word-word-word-word-word-word");
    }

    proptest! {
        #[test]
        fn a_name_is_one_plain_part_of_a_path(prompt in ".{0,200}") {
            let name = name(&prompt);
            prop_assert!((1..=NAME_CHARS_MAX).contains(&name.len()), "{name}");
            let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
            prop_assert!(name.chars().all(is_plain), "{name}");
            prop_assert!(!name.starts_with('-') && !name.ends_with('-'), "{name}");
        }
    }
}
