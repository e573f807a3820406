//! `insula files …`

use super::text;
use crate::arguments::Files;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::Value;

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Files) -> Result<u8, Failure> {
    match command {
        Files::Foreign { agent } => {
            let path = format!("/api/agents/{}/files/foreign", part(&agent));
            let files = reach.get(&path).await?;
            answer.give(&files, |files| table(files, &agent));
        }
        Files::Trust { agent, path } => {
            let which = path.map(|path| format!("?path={}", part(&path))).unwrap_or_default();
            let asked = format!("/api/agents/{}/files/foreign{which}", part(&agent));
            let trusted = reach.delete(&asked).await?;
            answer.give(&trusted, |trusted| match trusted.as_array().map_or(0, Vec::len) {
                0 => output::line("there was nothing to trust"),
                count => output::line(&format!("{agent} takes {count} of them for its own")),
            });
        }
    }
    Ok(0)
}

fn table(files: &Value, agent: &str) {
    let files = files.as_array().map_or(&[][..], Vec::as_slice);
    if files.is_empty() {
        return output::line(&format!("no file of {agent} holds words of others"));
    }
    for file in files {
        let integrity = &file["integrity"];
        let sources = match integrity["many"] == true {
            true => "more sources than are told apart".to_owned(),
            false => super::list(&integrity["sources"]),
        };
        output::line(&format!("{}  {sources}", text(file, "path")));
    }
    output::line(&format!("`insula files trust {agent} [PATH]` takes them for its own"));
}
