//! `skill_view`: the text of a skill, or of a file beside it.

use crate::hands::Hands;
use crate::output::{Output, ToolError};
use crate::{Cleared, Habits, Piece, Tool, arguments};
use async_trait::async_trait;
use insula_domain::{Source, SourceKind};
use serde::Deserialize;
use serde_json::Value;

/// Reads a skill.
pub struct SkillView;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
    file_path: Option<String>,
    offset: Option<u64>,
}

#[async_trait]
impl Tool for SkillView {
    fn name(&self) -> &'static str {
        "skill_view"
    }

    fn description(&self) -> &'static str {
        "Read a skill's instructions, or with file_path a file that belongs to it. What is long comes in parts: go on with offset."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"name":{"type":"string"},"file_path":{"type":"string"},"offset":{"type":"integer","minimum":0}},"required":["name"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("skill", "name"),
                ("skill_name", "name"),
                ("file", "file_path"),
                ("path", "file_path"),
            ],
            blank_is_nothing: &["file_path"],
            ..Habits::default()
        }
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        crate::skill_argument(arguments)
    }

    fn source(&self, shown: &str) -> Option<Source> {
        Some(Source::new(SourceKind::Skill, shown))
    }

    async fn run(&self, hands: &Hands<'_>, values: &Cleared) -> Result<Output, ToolError> {
        let Arguments { name, file_path, offset } = arguments(values)?;
        let skills = hands.skills()?;
        let text = skills.view(&name, file_path.as_deref(), offset.unwrap_or(0)).await?;
        match skills.is_pinned(&name).await? {
            true => Ok(Output::Text(text)),
            false => Ok(Output::Pieces(vec![Piece::Foreign { source: name, text }])),
        }
    }
}
