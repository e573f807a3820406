//! `insula skills …`: what an agent has, and what it is given. A folder, an archive or a
//! repository is read here, with the rights of whoever types; the daemon gets files.

use super::{list, text};
use crate::arguments::Skills;
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::{Answer, Setting};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insula_capabilities::skills::package::PACKAGE_BYTES_MAX;
use insula_capabilities::skills::source::SkillSource;
use serde_json::{Map, Value, json};

/// Runs it.
pub async fn run(
    setting: &Setting,
    reach: &Reach,
    answer: Answer,
    command: Skills,
) -> Result<u8, Failure> {
    let path = |agent: &str| format!("/api/agents/{}/skills", part(agent));
    match command {
        Skills::List { agent } => {
            answer.give(&reach.get(&path(&agent)).await?, show_all);
        }
        Skills::Show { agent, skill } => {
            let path = format!("{}/{}", path(&agent), part(&skill));
            answer.give(&reach.get(&path).await?, show);
        }
        Skills::Install { agent, source, replace } => {
            // Who is not there has nothing installed, and nothing is fetched for them.
            reach.get(&path(&agent)).await?;
            let body = body(setting, &source, replace).await?;
            let done = reach.post(&path(&agent), Some(body)).await?;
            answer.give(&done, |done| {
                output::line(&format!("installed {} for {agent}", list(&done["installed"])));
            });
        }
        Skills::Remove { agent, skill } => {
            reach.delete(&format!("{}/{}", path(&agent), part(&skill))).await?;
            let done = json!({ "agent": agent, "skill": skill, "removed": true });
            answer.give(&done, |_| output::line(&format!("removed {skill} of {agent}")));
        }
        Skills::Verify { agent } => {
            let verified = reach.get(&format!("{}-verify", path(&agent))).await?;
            answer.give(&verified, show_verified);
            return Ok(u8::from(verified["ok"] != json!(true)));
        }
    }
    Ok(0)
}

/// The request that installs what a source has.
async fn body(setting: &Setting, source: &str, replace: bool) -> Result<Value, Failure> {
    let scratch = setting.home.root().join("run");
    let source = SkillSource::of(source);
    let packages = source.read(&scratch, &setting.world).await;
    let packages = packages.map_err(Failure::Failed)?;
    let total: usize = packages.iter().flat_map(|it| it.files.values()).map(Vec::len).sum();
    if total > PACKAGE_BYTES_MAX {
        return Err(Failure::Failed(format!(
            "that is more than {PACKAGE_BYTES_MAX} bytes; install its skills one by one"
        )));
    }
    let skills = packages.iter().map(|package| {
        let files = package.files.iter();
        let files: Map<String, Value> =
            files.map(|(path, bytes)| (path.clone(), json!(STANDARD.encode(bytes)))).collect();
        json!({ "files": files })
    });
    Ok(json!({ "source": source.name(), "replace": replace, "skills": skills.collect::<Vec<_>>() }))
}

fn show_all(skills: &Value) {
    let rows = skills.as_array().into_iter().flatten().map(|skill| {
        let about = match text(skill, "state").as_str() {
            "ready" => text(skill, "description"),
            _ => text(skill, "reason"),
        };
        vec![text(skill, "name"), text(skill, "state"), text(skill, "folder"), about]
    });
    output::table(&["name", "state", "folder", "about"], rows);
}

fn show(skill: &Value) {
    output::heading(&text(skill, "name"));
    let files = skill["files"].as_array().into_iter().flatten();
    let files: Vec<String> = files.map(|file| text(file, "path")).collect();
    let secrets = skill["secrets"].as_array().into_iter().flatten().map(|secret| {
        let granted = if secret["granted"] == json!(true) { "granted" } else { "not granted" };
        format!("{} ({granted})", text(secret, "name"))
    });
    let secrets: Vec<String> = secrets.collect();
    // One that says nothing takes nothing away.
    let allowed = match skill["allowed_tools"].is_null() {
        true => "all that the agent has".to_owned(),
        false => list(&skill["allowed_tools"]),
    };
    output::facts(&[
        ("state", text(skill, "state")),
        ("reason", text(skill, "reason")),
        ("description", text(skill, "description")),
        ("category", text(skill, "category")),
        ("version", text(skill, "version")),
        ("folder", text(skill, "folder")),
        ("source", text(skill, "source")),
        ("allowed tools", allowed),
        ("secrets", secrets.join(", ")),
        ("files", files.join(", ")),
    ]);
    output::line("");
    output::line(&text(skill, "text"));
}

fn show_verified(verified: &Value) {
    let rows = verified["skills"].as_array().into_iter().flatten().map(|skill| {
        let twins = skill["twins"].as_array().is_some_and(|it| !it.is_empty());
        let state = match (skill["ok"] == json!(true), twins) {
            (true, _) => "as installed",
            (false, true) => "has a twin",
            (false, false) => "differs",
        };
        let differs = ["changed", "missing", "added", "twins"].iter().filter_map(|key| {
            let paths = list(&skill[*key]);
            skill[*key].as_array().filter(|it| !it.is_empty()).map(|_| format!("{key}: {paths}"))
        });
        let differs: Vec<String> = differs.collect();
        vec![text(skill, "name"), state.to_owned(), differs.join("; "), text(skill, "source")]
    });
    output::table(&["name", "state", "files", "source"], rows);
}
