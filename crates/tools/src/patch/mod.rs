//! `patch`: changes files, by replacing a piece of text or by a patch over several files.

mod apply;
mod find;
#[cfg(fuzzing)]
pub mod fuzzing;
mod parse;

use crate::files::{Act, Wish};
use crate::{
    Cleared, Habits, Hands, Output, SUBJECT_CHARS_MAX, Tool, ToolError, arguments, path_argument,
};
use apply::Occurrences;
use async_trait::async_trait;
use parse::FilePatch;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Changes files.
pub struct Patch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    mode: Option<Mode>,
    path: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    patch: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Replace,
    Patch,
}

#[async_trait]
impl Tool for Patch {
    fn name(&self) -> &'static str {
        "patch"
    }

    fn description(&self) -> &'static str {
        "Change a file: put `new_string` where `old_string` stands in `path`, once unless `replace_all`. Or with `patch` alone change several files at once, all or none, by `*** Begin Patch` / `*** Update File: P` / `@@` / ` -+` lines / `*** End Patch` (also `*** Add File:`, `*** Delete File:`, `*** Move to:`), or a unified diff. Read a file before you change it."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"},"patch":{"type":"string"},"mode":{"type":"string","enum":["replace","patch"]}},"required":["path","old_string","new_string"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("file_path", "path"),
                ("filepath", "path"),
                ("filename", "path"),
                ("file_name", "path"),
                ("file", "path"),
                ("old", "old_string"),
                ("old_str", "old_string"),
                ("old_text", "old_string"),
                ("search", "old_string"),
                ("new", "new_string"),
                ("new_str", "new_string"),
                ("new_text", "new_string"),
                ("replace", "new_string"),
                ("replacement", "new_string"),
                ("diff", "patch"),
            ],
            blank_is_nothing: &["patch", "mode"],
            ..Habits::default()
        }
    }

    fn left_out(&self, given: &Map<String, Value>) -> Vec<(&'static str, &'static str)> {
        let mode = if given.contains_key("patch") { "patch" } else { "replace" };
        vec![("mode", mode)]
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        path_argument(arguments).or_else(|| {
            let files = parse::patch(arguments.get("patch")?.as_str()?).ok()?;
            let paths: Vec<&str> = files.iter().map(FilePatch::path).collect();
            Some(paths.join(", ").chars().take(SUBJECT_CHARS_MAX).collect())
        })
    }

    fn writes(&self, arguments: &Value) -> Vec<String> {
        let path = arguments.get("path").and_then(Value::as_str).map(str::to_owned);
        let path = path.filter(|it| !it.trim().is_empty());
        let patch = arguments.get("patch").and_then(Value::as_str);
        let files = patch.and_then(|text| parse::patch(text).ok()).unwrap_or_default();
        path.into_iter().chain(files.iter().flat_map(FilePatch::paths)).collect()
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let wishes = wishes(arguments(value)?)?;
        let report = hands.files()?.work(move |access, _| access.change(wishes)).await?;
        let lines = report.done.into_iter().chain(report.notes);
        Ok(Output::Text(lines.collect::<Vec<_>>().join("\n")))
    }
}

fn wishes(asked: Arguments) -> Result<Vec<Wish>, ToolError> {
    let wrong = |what: &str| ToolError::Arguments(what.to_owned());
    let mode = asked.mode.unwrap_or(match asked.patch {
        Some(_) => Mode::Patch,
        None => Mode::Replace,
    });
    match mode {
        Mode::Replace => {
            let (Some(path), Some(old), Some(new)) =
                (asked.path, asked.old_string, asked.new_string)
            else {
                return Err(wrong("mode `replace` takes `path`, `old_string` and `new_string`"));
            };
            let which = if asked.replace_all { Occurrences::All } else { Occurrences::One };
            let edit = move |text: &str| apply::replace(text, &old, &new, which);
            Ok(vec![Wish { path, act: Act::Edit(Box::new(edit), None) }])
        }
        Mode::Patch => {
            let text = asked.patch.ok_or_else(|| wrong("mode `patch` takes `patch`"))?;
            let files = parse::patch(&text).map_err(ToolError::Arguments)?;
            Ok(files.into_iter().map(wish).collect())
        }
    }
}

fn wish(file: FilePatch) -> Wish {
    match file {
        FilePatch::Add { path, text } => Wish { path, act: Act::Create(text.into_bytes()) },
        FilePatch::Delete { path } => Wish { path, act: Act::Remove },
        FilePatch::Update { path, to, hunks } => {
            let edit = move |text: &str| apply::hunks(text, &hunks);
            Wish { path, act: Act::Edit(Box::new(edit), to) }
        }
    }
}

#[cfg(test)]
mod patch_tests;
