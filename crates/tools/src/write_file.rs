//! `write_file`: writes a whole file, new or one that was read before.

use crate::files::{Act, Wish};
use crate::{Cleared, Habits, Hands, Output, Tool, ToolError, arguments, path_argument};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

/// Writes a whole file.
pub struct WriteFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
    #[serde(default)]
    append: bool,
}

#[async_trait]
impl Tool for WriteFile {
    fn name(&self) -> &'static str {
        "write_file"
    }

    fn description(&self) -> &'static str {
        "Write a whole file, making folders as needed; with `append`, add `content` as new lines at the end of what is there. A file that exists has to be read before it is written whole; to change a part of it use patch."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"append":{"type":"boolean"}},"required":["path","content"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("file_path", "path"),
                ("filepath", "path"),
                ("filename", "path"),
                ("file_name", "path"),
                ("file", "path"),
                ("text", "content"),
                ("contents", "content"),
                ("file_content", "content"),
                ("file_text", "content"),
                ("data", "content"),
                ("body", "content"),
            ],
            ..Habits::default()
        }
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        path_argument(arguments)
    }

    fn writes(&self, arguments: &Value) -> Vec<String> {
        arguments.get("path").and_then(Value::as_str).map(str::to_owned).into_iter().collect()
    }

    async fn run(&self, hands: &Hands<'_>, value: &Cleared) -> Result<Output, ToolError> {
        let Arguments { path, content, append } = arguments(value)?;
        let act = match append {
            true => Act::Append(content),
            false => Act::Write(content.into_bytes()),
        };
        let wish = Wish { path, act };
        let report = hands.files()?.work(move |access, _| access.change(vec![wish])).await?;
        let lines = report.done.into_iter().chain(report.notes);
        Ok(Output::Text(lines.collect::<Vec<_>>().join("\n")))
    }
}
