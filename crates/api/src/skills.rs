//! Skills of an agent: list, show, install, remove, verify. What is installed comes as files in
//! the request: the daemon reads no folder and fetches no address because somebody named it.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insula_capabilities::skills::collection::{self, Candidate, Judged, Skipped};
use insula_capabilities::skills::package::{PACKAGE_BYTES_MAX, PACKAGE_FILES_MAX};
use insula_capabilities::skills::{Contents, SkillState, SkillView, Verified};
use insula_domain::AgentId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// A skill in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillRow {
    name: String,
    description: Option<String>,
    category: Option<String>,
    version: Option<String>,
    /// Where it stands, below the home.
    folder: String,
    /// `ready`, `blocked` or `broken`. Only those that are ready exist for the agent.
    state: &'static str,
    /// Why it is not ready.
    reason: Option<String>,
    /// Where it was installed from.
    source: Option<String>,
    /// The findings in it that an operator accepted, by their hashes.
    accepted: Vec<String>,
}

impl From<SkillState> for SkillRow {
    fn from(skill: SkillState) -> Self {
        Self {
            name: skill.name,
            description: skill.description,
            category: skill.category,
            version: skill.version,
            folder: skill.folder,
            state: skill.state,
            reason: skill.reason,
            source: skill.source,
            accepted: skill.accepted,
        }
    }
}

/// A skill, whole.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkillPage {
    #[serde(flatten)]
    row: SkillRow,
    /// Its `SKILL.md`.
    text: Option<String>,
    files: Vec<FileRow>,
    /// The tools that stay while it is in use; null for all.
    allowed_tools: Option<Vec<String>>,
    secrets: Vec<NeededSecret>,
    /// The programs and packages that it needs on the machine.
    requires: Vec<String>,
    /// What it says that it needs and that is not understood, each with what may have been meant.
    unread: Vec<String>,
}

/// A file of a skill.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileRow {
    path: String,
    bytes: u64,
}

/// A secret that a skill needs.
#[derive(Debug, Serialize, ToSchema)]
pub struct NeededSecret {
    name: String,
    /// Whether the agent was granted it.
    granted: bool,
}

/// Skills to install.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallSkills {
    /// Where they come from, for the record.
    source: String,
    /// Whether they may take the place of skills of the same name.
    #[serde(default)]
    replace: bool,
    /// Findings in them that are accepted, by their hashes.
    #[serde(default)]
    accept: BTreeSet<String>,
    skills: Vec<SkillBody>,
}

/// One skill to install.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillBody {
    /// Its files: base64 by path, `SKILL.md` among them.
    files: BTreeMap<String, String>,
    /// The paths of those that can be run as programs.
    #[serde(default)]
    executable: BTreeSet<String>,
}

/// What was installed.
#[derive(Debug, Serialize, ToSchema)]
pub struct InstalledSkills {
    installed: Vec<String>,
    /// Those that were left out, and why.
    skipped: Vec<SkippedSkill>,
}

/// A skill that was not installed.
#[derive(Debug, Serialize, ToSchema)]
pub struct SkippedSkill {
    name: String,
    /// Why, on one line.
    reason: String,
    /// What was found in it, each of which can be accepted.
    findings: Vec<FindingRow>,
}

/// Something in a file of a skill that stands against showing it to a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct FindingRow {
    file: String,
    line: u32,
    reason: String,
    /// What it is accepted by, while the file stays as it is.
    hash: String,
}

impl From<Skipped> for SkippedSkill {
    fn from(skipped: Skipped) -> Self {
        let Skipped { name, reason, findings, .. } = skipped;
        let findings = findings.into_iter().map(|finding| FindingRow {
            file: finding.file.into(),
            line: finding.line,
            reason: finding.reason.into(),
            hash: finding.hash.into(),
        });
        Self { name, reason, findings: findings.collect() }
    }
}

/// How installed skills compare with what was installed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Verification {
    /// Whether nothing differs.
    ok: bool,
    skills: Vec<VerifiedSkill>,
}

/// How one skill compares.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifiedSkill {
    name: String,
    source: String,
    ok: bool,
    changed: Vec<String>,
    missing: Vec<String>,
    added: Vec<String>,
    /// Other folders with a skill of this name: none of them is used.
    twins: Vec<String>,
}

impl From<Verified> for VerifiedSkill {
    fn from(verified: Verified) -> Self {
        let Verified { name, source, difference, twins } = verified;
        let ok = difference.is_none() && twins.is_empty();
        let insula_capabilities::skills::lock::Difference { changed, missing, added } = difference;
        Self { name, source, ok, changed, missing, added, twins }
    }
}

fn agent(text: &str) -> Result<AgentId, ApiError> {
    AgentId::new(text).map_err(|_| ApiError::no_agent(text))
}

/// Agent and name of a path. Bytes that are no text name nobody.
fn both(
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<(AgentId, String), ApiError> {
    let Path((id, name)) = path.map_err(|_| ApiError::no_agent("\u{fffd}"))?;
    Ok((agent(&id)?, name))
}

/// An agent's skills, those it can't use among them.
#[utoipa::path(get, path = "/api/agents/{id}/skills", params(("id" = String, Path)),
    responses((status = 200, body = [SkillRow]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(State(api): State<Api>, Id(id): Id) -> Result<Json<Vec<SkillRow>>, ApiError> {
    let skills = api.capabilities.skills(&agent(&id)?).await?;
    Ok(Json(skills.into_iter().map(SkillRow::from).collect()))
}

/// One skill of an agent.
#[utoipa::path(get, path = "/api/agents/{id}/skills/{name}", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = SkillPage), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<SkillPage>, ApiError> {
    let (id, name) = both(path)?;
    let SkillView { state, text, files, allowed_tools, variables, requires, unread } =
        api.capabilities.skill(&id, &name).await?;
    Ok(Json(SkillPage {
        row: state.into(),
        text,
        files: files.into_iter().map(|(path, bytes)| FileRow { path, bytes }).collect(),
        allowed_tools,
        secrets: variables
            .into_iter()
            .map(|(name, granted)| NeededSecret { name, granted })
            .collect(),
        requires,
        unread,
    }))
}

/// Installs skills into an agent's own folder. One that can't be is left out and named; where none
/// can, nothing is installed.
#[utoipa::path(post, path = "/api/agents/{id}/skills", params(("id" = String, Path)), request_body = InstallSkills,
    responses((status = 201, body = InstalledSkills), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn install(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<InstallSkills>, JsonRejection>,
) -> Result<(StatusCode, Json<InstalledSkills>), ApiError> {
    let id = agent(&id)?;
    // Whose it is comes first: what is not there has nothing else that could be wrong.
    api.capabilities.skills(&id).await?;
    let Json(InstallSkills { source, replace, accept, skills }) =
        body.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
    let total: usize = skills.iter().flat_map(|skill| skill.files.values()).map(String::len).sum();
    let count: usize = skills.iter().map(|skill| skill.files.len()).sum();
    if total > PACKAGE_BYTES_MAX * 2 || count > PACKAGE_FILES_MAX {
        return Err(ApiError::invalid("these are too many files, or too large ones"));
    }
    let mut candidates = Vec::new();
    for (at, SkillBody { files, executable }) in skills.into_iter().enumerate() {
        let mut contents = Contents { executable, ..Contents::default() };
        for (path, text) in files {
            let bytes = STANDARD.decode(text);
            let bytes = bytes.map_err(|_| ApiError::invalid("a file is not base64"))?;
            contents.files.insert(path, bytes);
        }
        // One that has no name is told by its place in the request.
        candidates.push(Candidate { folder: format!("skills[{at}]"), contents: Ok(contents) });
    }
    // What was accepted before is no question again, while the content is what it was.
    let mut accepted = api.capabilities.accepted(&id).await?;
    accepted.extend(accept.into_iter().map(String::into_boxed_str));
    let Judged { packages, mut skipped } = collection::judge(candidates, &accepted);
    if packages.is_empty() && !skipped.is_empty() {
        let reasons: Vec<String> = skipped.into_iter().map(|it| it.reason).collect();
        return Err(ApiError::invalid(reasons.join("; ")));
    }
    let source: String = source.chars().filter(|c| !c.is_control()).take(500).collect();
    let actor = caller.actor();
    let done = api.capabilities.install_skills(&id, &source, packages, replace, &actor).await?;
    skipped.extend(done.skipped);
    let skipped = skipped.into_iter().map(SkippedSkill::from).collect();
    Ok((StatusCode::CREATED, Json(InstalledSkills { installed: done.names, skipped })))
}

/// Removes a skill from an agent's own folder.
#[utoipa::path(delete, path = "/api/agents/{id}/skills/{name}", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remove(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let (id, name) = both(path)?;
    api.capabilities.remove_skill(&id, &name, &caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Compares an agent's installed skills with what was installed.
#[utoipa::path(get, path = "/api/agents/{id}/skills-verify", params(("id" = String, Path)),
    responses((status = 200, body = Verification), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn verify(State(api): State<Api>, Id(id): Id) -> Result<Json<Verification>, ApiError> {
    let verified = api.capabilities.verify_skills(&agent(&id)?).await?;
    let skills: Vec<VerifiedSkill> = verified.into_iter().map(VerifiedSkill::from).collect();
    Ok(Json(Verification { ok: skills.iter().all(|skill| skill.ok), skills }))
}
