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
use insula_capabilities::skills::Package;
use insula_capabilities::skills::collection::{Judged, Skipped, judge};
use insula_capabilities::skills::package::{PACKAGE_BYTES_MAX, PACKAGE_FILES_MAX};
use insula_capabilities::skills::source::SkillSource;
use insula_config::skills::judge::hash_of_all;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

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
        Skills::Install { agent, source, replace, accept } => {
            // Who is not there has nothing installed, and nothing is fetched for them.
            let rows = reach.get(&path(&agent)).await?;
            let order = Order { source: SkillSource::of(&source), replace, accept };
            let done = install(setting, reach, &path(&agent), (&order, &rows)).await?;
            answer.give(&done, |done| show_installed(done, &agent));
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

/// What is to be installed.
pub(super) struct Order {
    pub(super) source: SkillSource,
    pub(super) replace: bool,
    /// Findings that are accepted, by their hashes.
    pub(super) accept: Vec<String>,
}

/// Installs what a source has, all that can be; where that is nothing, it is a failure.
pub(super) async fn install(
    setting: &Setting,
    reach: &Reach,
    path: &str,
    (order, rows): (&Order, &Value),
) -> Result<Value, Failure> {
    let scratch = setting.home.root().join("run");
    let candidates = order.source.read(&scratch, &setting.world).await;
    let candidates = candidates.map_err(Failure::Failed)?;
    // What was accepted before is no question again; the daemon knows it and judges by itself.
    let before = rows.as_array().into_iter().flatten();
    let before = before.flat_map(|row| row["accepted"].as_array().into_iter().flatten());
    let before = before.filter_map(Value::as_str).chain(order.accept.iter().map(String::as_str));
    let accepted: BTreeSet<Box<str>> = before.map(Into::into).collect();
    let Judged { packages, skipped } = judge(candidates, &accepted);
    let alone = packages.iter().flat_map(|package| &package.accepted);
    let together = packages.iter().map(|package| hash_of_all(&package.accepted));
    let used: BTreeSet<Box<str>> =
        alone.map(|finding| finding.hash.clone()).chain(together).collect();
    let unused: Vec<&str> =
        order.accept.iter().map(String::as_str).filter(|hash| !used.contains(*hash)).collect();
    let unused: Vec<String> = unused.iter().map(|hash| unused_hash(hash, &skipped)).collect();
    let mut left_out: Vec<Value> = skipped
        .iter()
        .map(|it| {
            let findings = it.findings.iter().map(|found| {
                json!({ "file": found.file, "line": found.line, "reason": found.reason, "hash": found.hash })
            });
            let findings: Vec<Value> = findings.collect();
            json!({ "name": it.name, "reason": it.reason, "findings": findings })
        })
        .collect();
    if packages.is_empty() {
        let reasons = skipped.iter().map(|it| match skipped.len() {
            1 => it.reason.clone(),
            _ => format!("{}: {}", it.name, it.reason),
        });
        let reasons: Vec<String> = reasons.chain(unused).collect();
        return Err(Failure::Failed(reasons.join("\n")));
    }
    let (mut installed, mut refused) = (Vec::new(), Vec::new());
    for batch in batches(&packages) {
        match reach.post(path, Some(body(order, batch))).await {
            Ok(done) => {
                installed.extend(done["installed"].as_array().cloned().unwrap_or_default());
                left_out.extend(done["skipped"].as_array().cloned().unwrap_or_default());
            }
            // Nothing of this part; what is in the others may be installed all the same.
            Err(Failure::Refused { code, message, exit }) => {
                let names: Vec<&str> = batch.iter().map(|it| &*it.document.name).collect();
                left_out
                    .push(json!({ "name": names.join(", "), "reason": message, "findings": [] }));
                refused.push(Failure::Refused { code, message, exit });
            }
            Err(failure) => return Err(failure),
        }
    }
    match refused.pop() {
        // Of what is not installed each has its own reason.
        Some(Failure::Refused { code, exit, .. }) if installed.is_empty() => {
            let reasons = left_out
                .iter()
                .map(|it| match left_out.len() {
                    1 => text(it, "reason"),
                    _ => format!("{}: {}", text(it, "name"), text(it, "reason")),
                })
                .chain(unused);
            let message = reasons.collect::<Vec<_>>().join("\n");
            Err(Failure::Refused { code, message, exit })
        }
        Some(failure) if installed.is_empty() => Err(failure),
        _ => Ok(json!({ "installed": installed, "skipped": left_out, "unused": unused })),
    }
}

/// What became of a hash that was accepted and by which nothing is installed.
fn unused_hash(hash: &str, skipped: &[Skipped]) -> String {
    let is_of = |it: &&Skipped| it.accepted.iter().any(|found| *found.hash == *hash);
    let Some(Skipped { name, findings, .. }) = skipped.iter().find(is_of) else {
        return format!("`{hash}` is the hash of no finding in what can be installed");
    };
    let missing = findings.iter().map(|found| {
        format!(
            "`--accept {}` (`{}`, line {}: {})",
            found.hash, found.file, found.line, found.reason
        )
    });
    let missing = missing.collect::<Vec<_>>().join(", ");
    format!("`{hash}` accepts one finding of `{name}`, which has more; still missing: {missing}")
}

/// Skills in the order they came, as many together as a request may have.
fn batches(packages: &[Package]) -> impl Iterator<Item = &[Package]> {
    let (mut rest, mut start) = (packages, 0);
    std::iter::from_fn(move || {
        rest = rest.get(start..)?;
        let (mut bytes, mut files) = (0, 0);
        let fits = rest.iter().take_while(|package| {
            bytes += package.contents.files.values().map(Vec::len).sum::<usize>();
            files += package.contents.files.len();
            bytes <= PACKAGE_BYTES_MAX && files <= PACKAGE_FILES_MAX
        });
        // One alone is never too much: it was judged by itself.
        start = fits.count().max(1);
        rest.get(..start).filter(|batch| !batch.is_empty())
    })
}

/// The request that installs some skills.
fn body(order: &Order, packages: &[Package]) -> Value {
    let skills = packages.iter().map(|package| {
        let files = package.contents.files.iter();
        let files: Map<String, Value> =
            files.map(|(path, bytes)| (path.clone(), json!(STANDARD.encode(bytes)))).collect();
        json!({ "files": files, "executable": package.contents.executable })
    });
    let skills: Vec<Value> = skills.collect();
    let Order { source, replace, accept } = order;
    json!({ "source": source.name(), "replace": replace, "accept": accept, "skills": skills })
}

fn show_installed(done: &Value, agent: &str) {
    output::line(&format!("installed {} for {agent}", list(&done["installed"])));
    for skill in done["skipped"].as_array().into_iter().flatten() {
        output::line(&format!("skipped {}: {}", text(skill, "name"), text(skill, "reason")));
    }
    for unused in done["unused"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::line(&format!("accepted nothing: {unused}"));
    }
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
        ("requires", list(&skill["requires"])),
        ("not read", list(&skill["unread"])),
        ("accepted", list(&skill["accepted"])),
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
