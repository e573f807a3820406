//! The configuration's files over HTTP: read, judged while they are typed, and written once what
//! they would do was shown. The admin's alone: what stands in them is about everybody.

use crate::Server;
use crate::system::ReloadAnswer;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use insula_api::{ApiError, Caller, ErrorBody};
use insula_config::config_file::{AgentPart, ConfigFile, mark};
use insula_config::edit::{self, Step, Unedited};
use insula_config::files::FileState;
use insula_config::template::{Beginning, TEMPLATES, Template};
use insula_config::{Diagnostic, FindingOwner, LoadReport, Loaded, json_schema, render};
use insula_domain::AgentId;
use insula_gateway::{Misfit, misfits};
use insula_registry::RuntimeError;
use insula_registry::daemon::files::{Author, DRAFTS_MAX, Draft, Judged, Outcome, Stale};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Edits of one text at once.
const EDITS_MAX: usize = 64;

/// A file of the configuration as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileView {
    /// `config.yaml`, `SOUL.md`, or `agent.yaml`, `SOUL.md`, `AGENTS.md`, `BOOT.md` of `agents/ID/`.
    file: String,
    /// Null where there is no such file.
    text: Option<String>,
    /// Tells this text from another; shown as `was` by whoever changes it.
    mark: Option<String>,
    /// Why it can't be changed from here.
    trouble: Option<String>,
}

impl FileView {
    fn of(file: &ConfigFile, text: Option<&str>) -> Self {
        let (text, mark) = (text.map(str::to_owned), mark(text));
        Self { file: file.to_string(), text, mark, trouble: None }
    }
}

impl From<&Stale> for FileView {
    fn from(stale: &Stale) -> Self {
        Self::of(&stale.file, stale.text.as_deref())
    }
}

/// What a file is to say.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftView {
    file: String,
    /// Null removes it; it has to be said.
    #[serde(deserialize_with = "stated")]
    text: Option<String>,
    /// The mark of the text that was changed; null where there was no file.
    #[serde(default)]
    was: Option<String>,
}

/// What is left out is not null: a file that nobody said anything of is not removed.
fn stated<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(text)
}

/// Files as they would be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Drafts {
    files: Vec<DraftView>,
}

/// Files as they are to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFiles {
    files: Vec<DraftView>,
    /// `shown` of the answer to the check that a person looked at.
    shown: String,
}

/// What an edit would grant, take away or change, as `insula check --diff` says it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangeView {
    /// Null for the daemon.
    agent: Option<String>,
    /// `grants`, `takes` or `changes`.
    kind: &'static str,
    axis: String,
    item: String,
    what: String,
}

/// What files would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckAnswer {
    /// Whether they can be applied: nothing is wrong that was not wrong before.
    ok: bool,
    /// `errors` and `warnings` of the whole configuration, as `insula check --json` gives them.
    #[schema(value_type = Object)]
    report: Value,
    changes: Vec<ChangeView>,
    /// Files that changed since their drafts were begun, as they are now.
    stale: Vec<FileView>,
    /// Settings of the daemon that would wait for a restart.
    restart: Vec<&'static str>,
    /// The mark of all this.
    shown: String,
}

impl From<&Judged> for CheckAnswer {
    fn from(judged: &Judged) -> Self {
        let changes = judged.changes.iter().map(|it| ChangeView {
            agent: it.agent.clone(),
            kind: it.kind.as_str(),
            axis: it.axis.clone(),
            item: it.item.clone(),
            what: it.what.clone(),
        });
        Self {
            ok: judged.loads && judged.stale.is_empty(),
            report: render::json(&judged.report),
            changes: changes.collect(),
            stale: judged.stale.iter().map(FileView::from).collect(),
            restart: judged.restart.clone(),
            shown: judged.shown.clone(),
        }
    }
}

/// What writing did.
#[derive(Debug, Serialize, ToSchema)]
pub struct Written {
    applied: ReloadAnswer,
    files: Vec<FileView>,
}

/// A setting to write into a text, or to take out of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditView {
    /// Keys of maps, and places in lists; the place behind the last item adds one.
    #[schema(value_type = Vec<Object>)]
    path: Vec<StepView>,
    #[serde(default)]
    #[schema(value_type = Object)]
    value: Value,
    /// Whether it is taken out instead.
    #[serde(default)]
    remove: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum StepView {
    At(usize),
    Key(String),
}

/// A text, and what is to be written into it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditText {
    text: String,
    #[serde(default)]
    edits: Vec<EditView>,
}

/// A text and what it says.
#[derive(Debug, Serialize, ToSchema)]
pub struct EditedText {
    text: String,
    /// Null where it is no YAML that can be read.
    #[schema(value_type = Object)]
    value: Value,
}

/// An agent to begin with.
#[derive(Debug, Serialize, ToSchema)]
pub struct TemplateView {
    name: &'static str,
    about: &'static str,
    config: &'static str,
    soul: &'static str,
}

/// What a template does not say of a new agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginAgent {
    id: String,
    name: Option<String>,
    model: Option<String>,
}

/// Files to look at, and to write.
#[derive(Debug, Serialize, ToSchema)]
pub struct Drafted {
    files: Vec<DraftView>,
}

fn config_file(name: &str) -> Result<ConfigFile, ApiError> {
    ConfigFile::parse(name).ok_or_else(|| {
        ApiError::invalid("it is no file of the configuration: there are config.yaml, SOUL.md and, below agents/ID/, agent.yaml, SOUL.md, AGENTS.md and BOOT.md")
    })
}

fn drafts(files: Vec<DraftView>) -> Result<Vec<Draft>, ApiError> {
    if files.is_empty() || files.len() > DRAFTS_MAX {
        return Err(ApiError::invalid(format!("name one to {DRAFTS_MAX} files")));
    }
    let mut all: Vec<Draft> = Vec::new();
    for DraftView { file, text, was } in files {
        let file = config_file(&file)?;
        if all.iter().any(|it| it.file == file) {
            return Err(ApiError::invalid(format!("{file} is named twice")));
        }
        if text.is_none() && file == ConfigFile::Config {
            return Err(ApiError::invalid("config.yaml is not removed from here"));
        }
        all.push(Draft { file, text, was });
    }
    Ok(all)
}

impl Server {
    /// Finds the accounts that the daemon would refuse to connect, as `insula check` does.
    fn check_accounts(&self, loaded: &Loaded, report: &mut LoadReport) {
        let Some(makers) = &self.platforms.makers else { return };
        for Misfit { account, key, why } in misfits(&loaded.daemon.accounts, &**makers) {
            let name = format!("{}.{}", account.platform, account.name);
            let Some(span) = loaded.account_spans.find(account, key) else { continue };
            let message = format!("account `{name}` would be refused: {why}");
            report.push(Diagnostic::error(&FindingOwner::Account(name.into()), span, message));
        }
    }

    async fn file(&self, file: &ConfigFile) -> Result<FileView, ApiError> {
        Ok(match self.daemon.read_config_file(file.clone()).await? {
            FileState::Absent => FileView::of(file, None),
            FileState::Text(text) => FileView::of(file, Some(&text)),
            FileState::Unreadable(why) => {
                FileView { trouble: Some(format!("{file} {why}")), ..FileView::of(file, None) }
            }
        })
    }
}

/// A file of the configuration.
#[utoipa::path(get, path = "/api/config/files/{name}", params(("name" = String, Path, description = "such as `agents/coder/SOUL.md`, its slashes as %2F")),
    responses((status = 200, body = FileView), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(server): State<Server>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<FileView>, ApiError> {
    let file = config_file(&name.map(|Path(name)| name).unwrap_or_default())?;
    Ok(Json(server.file(&file).await?))
}

/// What files would do, if they were written so: what is wrong with them and where, and what they
/// would grant and take away. Nothing is written.
#[utoipa::path(post, path = "/api/config/check", request_body = Drafts,
    responses((status = 200, body = CheckAnswer), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn check(
    State(server): State<Server>,
    body: Result<Json<Drafts>, JsonRejection>,
) -> Result<Json<CheckAnswer>, ApiError> {
    let Json(Drafts { files }) = body?;
    let also = |loaded: &Loaded, report: &mut LoadReport| server.check_accounts(loaded, report);
    let judged = server.daemon.judge_files(&drafts(files)?, &also).await?;
    Ok(Json(CheckAnswer::from(&judged)))
}

/// Writes files and applies them, all or none: if nobody changed them meanwhile, if they load, and
/// if what they do is what was shown.
#[utoipa::path(put, path = "/api/config/files", request_body = WriteFiles,
    responses((status = 200, body = Written), (status = 400, body = ErrorBody),
        (status = 409, body = ErrorBody, description = "a file changed meanwhile, or what would be done is not what was shown; `check` says what is now"),
        (status = 422, body = ErrorBody, description = "it would not load; `check` says why")),
    security(("token" = [])))]
pub async fn write(
    State(server): State<Server>,
    caller: Caller,
    headers: HeaderMap,
    body: Result<Json<WriteFiles>, JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(WriteFiles { files, shown }) = body?;
    let drafts = drafts(files)?;
    let by_page = !headers.contains_key(header::AUTHORIZATION);
    let sign_in = by_page.then(|| server.signed_in(&headers)).flatten().map(|(id, _)| id);
    let actor = caller.actor();
    let author = Author { actor: &actor, sign_in: sign_in.as_deref() };
    let also = |loaded: &Loaded, report: &mut LoadReport| server.check_accounts(loaded, report);
    let judged = match server.daemon.write_files(&drafts, &shown, &also, author).await? {
        Outcome::Written(reloaded) => {
            let text = |it: &Draft| FileView::of(&it.file, it.text.as_deref());
            let files = drafts.iter().map(text).collect();
            return Ok(Json(Written { applied: reloaded.into(), files }).into_response());
        }
        Outcome::Refused(judged) => judged,
    };
    let (status, code, message) = match (judged.stale.first(), judged.loads) {
        (Some(stale), _) => {
            let message = format!("{} changed meanwhile; nothing was written", stale.file);
            (StatusCode::CONFLICT, "changed", message)
        }
        (None, false) => {
            let message = format!("it would not load: {}; nothing was written", first(&judged));
            (StatusCode::UNPROCESSABLE_ENTITY, "configuration", message)
        }
        (None, true) => {
            let message = "what it would do is not what was shown; look at it once more";
            (StatusCode::CONFLICT, "not_shown", message.to_owned())
        }
    };
    let check = CheckAnswer::from(&*judged);
    let body = json!({ "error": { "code": code, "message": message }, "check": check });
    Ok((status, Json(body)).into_response())
}

/// The first thing that is wrong, in a word.
fn first(judged: &Judged) -> String {
    let found = judged.report.errors().next();
    found.map_or_else(|| "it has an error".to_owned(), |found| found.message.clone())
}

/// Writes settings into a text of YAML, or takes them out; comments and all else stay as they are.
/// Nothing is stored: the text goes back.
#[utoipa::path(post, path = "/api/config/edit", request_body = EditText,
    responses((status = 200, body = EditedText), (status = 400, body = ErrorBody),
        (status = 422, body = ErrorBody, description = "it is written in a way that is left to the person")),
    security(("token" = [])))]
pub async fn edit(
    State(server): State<Server>,
    body: Result<Json<EditText>, JsonRejection>,
) -> Result<Json<EditedText>, ApiError> {
    let Json(EditText { mut text, edits }) = body?;
    if edits.len() > EDITS_MAX {
        return Err(ApiError::invalid(format!("at most {EDITS_MAX} edits at once")));
    }
    let edited = move || {
        for EditView { path, value, remove } in edits {
            let steps: Vec<Step> = path.into_iter().map(Step::from).collect();
            text = match remove {
                true => edit::unset(&text, &steps)?,
                false => edit::set(&text, &steps, &value)?,
            };
        }
        let value = edit::value_of(&text).unwrap_or_default();
        Ok::<_, Unedited>(EditedText { text, value })
    };
    // A large text takes a moment: not on a thread that serves.
    let edited = server.world.storage.run(edited).await;
    let edited = edited.map_err(|error| RuntimeError::Invalid(error.to_string()))?;
    let unusual =
        |why: Unedited| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unusual", why.to_string());
    edited.map(Json).map_err(unusual)
}

impl From<StepView> for Step {
    fn from(step: StepView) -> Self {
        match step {
            StepView::At(at) => Self::At(at),
            StepView::Key(key) => Self::Key(key),
        }
    }
}

/// The JSON schema of `config.yaml`, as `insula config schema` prints it; an `agent.yaml` is its
/// `$defs.agent`.
#[utoipa::path(get, path = "/api/config/schema", responses((status = 200, body = Object)), security(("token" = [])))]
pub async fn schema() -> Json<Value> {
    Json(json_schema::schema())
}

/// Agents to begin with.
#[utoipa::path(get, path = "/api/config/templates", responses((status = 200, body = [TemplateView])), security(("token" = [])))]
pub async fn templates() -> Json<Vec<TemplateView>> {
    let all = TEMPLATES.iter().map(|it| {
        let Template { name, about, config, soul } = *it;
        TemplateView { name, about, config, soul }
    });
    Json(all.collect())
}

/// The files of a new agent by a template. Nothing is written: they are to be looked at, checked
/// and written as any others.
#[utoipa::path(post, path = "/api/config/templates/{name}", params(("name" = String, Path)), request_body = BeginAgent,
    responses((status = 200, body = Drafted), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody)),
    security(("token" = [])))]
pub async fn begin(
    State(server): State<Server>,
    name: Result<Path<String>, PathRejection>,
    body: Result<Json<BeginAgent>, JsonRejection>,
) -> Result<Json<Drafted>, ApiError> {
    let Json(wish) = body?;
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let template = Template::find(&name).ok_or_else(|| {
        let all: Vec<&str> = TEMPLATES.iter().map(|it| it.name).collect();
        ApiError::invalid(format!("it is no template; there are {}", all.join(", ")))
    })?;
    let id = AgentId::new(&wish.id).map_err(|error| ApiError::invalid(error.to_string()))?;
    let is_known = server.registry.snapshot().agents.contains_key(&id);
    if is_known || server.home.has_agent_folder(&id) {
        let message = format!("there is an agent `{id}` already, or a folder of that name");
        return Err(ApiError::new(StatusCode::CONFLICT, "wrong_state", message));
    }
    let set = |text: &Option<String>| text.clone().filter(|it| !it.trim().is_empty());
    let (name, model) = (set(&wish.name), set(&wish.model));
    let is_default = !server.daemon.has_default().await;
    let (name, model) = (name.as_deref(), model.as_deref());
    let config = template.agent_yaml(&Beginning { is_default, name, model, allow: &[] });
    let file = |part, text: &str| DraftView {
        file: ConfigFile::Agent(id.clone(), part).to_string(),
        text: Some(text.to_owned()),
        was: None,
    };
    let files = vec![file(AgentPart::Settings, &config), file(AgentPart::Soul, template.soul)];
    Ok(Json(Drafted { files }))
}
