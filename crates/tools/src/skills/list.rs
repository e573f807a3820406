//! `skills_list`: which skills there are.

use crate::hands::Hands;
use crate::output::{Output, ToolError};
use crate::{Cleared, Habits, Tool, arguments};
use async_trait::async_trait;
use serde::Deserialize;

pub struct SkillsList;

/// Bytes of a list: what is more is narrowed by category.
const LIST_BYTES_MAX: usize = 40_000;
/// Characters of one description.
const DESCRIPTION_CHARS_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    category: Option<String>,
}

#[async_trait]
impl Tool for SkillsList {
    fn name(&self) -> &'static str {
        "skills_list"
    }

    fn description(&self) -> &'static str {
        "List your skills with what each is for."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"category":{"type":"string"}},"additionalProperties":false}"#
    }

    fn habits(&self) -> Habits {
        Habits { blank_is_nothing: &["category"], ..Habits::default() }
    }

    async fn run(&self, hands: &Hands<'_>, values: &Cleared) -> Result<Output, ToolError> {
        let Arguments { category } = arguments(values)?;
        let mut text = String::new();
        let all = hands.skills()?.list();
        let wanted = all.iter().filter(|it| category.is_none() || it.category == category);
        let mut left_out = 0;
        for skill in wanted {
            let of = skill.category.as_ref().map(|it| format!(" [{it}]")).unwrap_or_default();
            let what: String = skill.description.chars().take(DESCRIPTION_CHARS_MAX).collect();
            let line = format!("{}{of}: {what}\n", skill.name);
            if text.len() + line.len() > LIST_BYTES_MAX {
                left_out += 1;
            } else {
                text.push_str(&line);
            }
        }
        if left_out > 0 {
            text.push_str(&format!("[{left_out} more; name a category to see them]"));
        }
        Ok(Output::Text(if text.is_empty() { "no skills".to_owned() } else { text }))
    }
}
