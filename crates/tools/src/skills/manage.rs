//! `skill_manage`: changes the agent's own skills. Whoever is no admin needs an approval,
//! which the gate sees to.

use super::SkillChange;
use crate::hands::Hands;
use crate::output::{Output, ToolError};
use crate::{Cleared, Habits, Risk, Tool, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

/// Changes skills.
pub struct SkillManage;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    Patch,
    Edit,
    Delete,
    WriteFile,
    RemoveFile,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    name: String,
    content: Option<String>,
    category: Option<String>,
    file_path: Option<String>,
    #[serde(alias = "file_content")]
    file_text: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
}

#[async_trait]
impl Tool for SkillManage {
    fn name(&self) -> &'static str {
        "skill_manage"
    }

    fn description(&self) -> &'static str {
        "Change your own skills. create and edit take content (a whole SKILL.md with name and description in its front matter); patch takes old_string, new_string and maybe file_path; write_file takes file_path and file_text. Holds from the next turn on."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["create","patch","edit","delete","write_file","remove_file"]},"name":{"type":"string"},"content":{"type":"string"},"category":{"type":"string"},"file_path":{"type":"string"},"file_text":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}},"required":["action","name"],"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits {
            also_called: &[
                ("file_content", "file_text"),
                ("skill", "name"),
                ("skill_name", "name"),
            ],
            ..Habits::default()
        }
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        crate::skill_argument(arguments)
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        let action = arguments.get("action").and_then(Value::as_str).unwrap_or("change");
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
        Risk::ChangeSelf(format!("{action} skill {name}").into())
    }

    async fn run(&self, hands: &Hands<'_>, values: &Cleared) -> Result<Output, ToolError> {
        let given: Arguments = arguments(values)?;
        let (name, change) = change(given)?;
        hands.skills()?.change(&name, change).await.map(Output::Text)
    }
}

fn change(given: Arguments) -> Result<(String, SkillChange), ToolError> {
    let missing = |what: &str| ToolError::Arguments(format!("`{what}` is missing"));
    let Arguments { action, name, content, category, file_path, file_text, old_string, new_string } =
        given;
    let change = match action {
        Action::Create => {
            SkillChange::Create { content: content.ok_or_else(|| missing("content"))?, category }
        }
        Action::Edit => SkillChange::Edit { content: content.ok_or_else(|| missing("content"))? },
        Action::Patch => SkillChange::Patch {
            file: file_path,
            old: old_string.ok_or_else(|| missing("old_string"))?,
            new: new_string.ok_or_else(|| missing("new_string"))?,
        },
        Action::Delete => SkillChange::Delete,
        Action::WriteFile => SkillChange::WriteFile {
            file: file_path.ok_or_else(|| missing("file_path"))?,
            content: file_text.or(content).ok_or_else(|| missing("file_text"))?,
        },
        Action::RemoveFile => {
            SkillChange::RemoveFile { file: file_path.ok_or_else(|| missing("file_path"))? }
        }
    };
    Ok((name, change))
}
