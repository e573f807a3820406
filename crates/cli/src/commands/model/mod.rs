//! `insula model try`: says what there is on this machine that serves models, and sets one up
//! where the person agrees.

mod found;
mod others;
mod telling;
mod trial;

use crate::arguments::ModelTry;
use crate::daemon::furnish;
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::process::{self, real};
use crate::setting::{Answer, Setting};
pub use found::{Found, Places};
use found::{Plan, Program, plan};
use insula_config::choose::{ModelChoice, ProviderChoice, choose, is_taken, model_in, named_in};
use insula_config::files::{FileState, FilesSnapshot};
use insula_config::load;
use insula_models::local::{LocalKind, LocalServer, look, pull};
use insula_models::{Kind, ProviderSpec, Transport};
use insula_registry::home::FileMode;
use others::Others;
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
pub use trial::Trial;

/// How often it is looked whether a server is there that was started.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// How long a server is waited for that only has to start.
const START_MAX: Duration = Duration::from_secs(60);
/// How long one is waited for that fetches its model first.
const FETCH_MAX: Duration = Duration::from_secs(3_600);
/// Names tried for a provider.
const NAMES_MAX: usize = 20;
/// What a program that was started is given of the environment, by how the names begin: where it
/// is at home, how it reaches the network, and its own settings.
const PASSED: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "TMPDIR",
    "XDG_",
    "OLLAMA_",
    "LLAMA_",
    "HF_",
    "GGML_",
    "CUDA_",
    "HIP_",
    "ROCR_",
    "LD_LIBRARY_PATH",
    "http_proxy",
    "https_proxy",
];

/// Whether the person agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Refused,
    /// There is nobody to ask.
    Missing,
}

/// Runs it.
pub async fn run(setting: &Setting, wish: &ModelTry) -> Result<u8, Failure> {
    let transport = Transport::new(&setting.world, &[]);
    let transport = transport.map_err(|error| Failure::Failed(error.to_string()))?;
    let places = Places::new(&setting.environment.variables, wish.url.as_deref());
    let found = Found::new(&transport, &setting.environment, &places).await;
    let plan = plan(&found, &places, wish.model.as_deref());
    let mut answer = telling::found_json(&found, &plan);
    let before = config_text(setting)?;
    if setting.answer == Answer::Text {
        telling::explain(&found, &plan, wish, model_in(&before).as_deref());
    }
    if plan == Plan::Nothing {
        finish(setting, &answer);
        return Ok(if wish.yes { FAILED } else { 0 });
    }
    match consent(setting, wish)? {
        Consent::Given => {}
        Consent::Refused => {
            output::notice("nothing was changed");
            finish(setting, &answer);
            return Ok(0);
        }
        Consent::Missing => {
            output::notice("nothing was changed; `--yes` does it");
            finish(setting, &answer);
            return Ok(0);
        }
    }
    let (server, model) = made_ready(setting, &transport, plan).await?;
    let trial = tried(setting, &transport, &server, &model).await?;
    answer["trial"] = trial.json();
    let choice = server_choice(&before, &server, &model);
    let is_good = trial.question.is_ok();
    let written = match is_good {
        true => Some(write(setting, &choice)),
        false => None,
    };
    answer["changed"] = json!(matches!(written, Some(Ok(_))));
    if let Some(Ok(others)) = &written {
        answer["others"] = others.json();
    }
    answer["model"] = json!(choice.model);
    if setting.answer == Answer::Text {
        telling::trial(&trial, &choice.model);
    }
    finish(setting, &answer);
    match written {
        None => Err(Failure::Failed(format!(
            "{} gave no answer, so nothing was written; the agents keep the model they have",
            choice.model
        ))),
        Some(Err(why)) => Err(Failure::Failed(format!(
            "config.yaml is as it was: {why}; to use the model, write into it:\n{}",
            choice.lines().trim_end()
        ))),
        Some(Ok(others)) => {
            if setting.answer == Answer::Text {
                telling::written(&choice, &others);
            }
            Ok(0)
        }
    }
}

fn finish(setting: &Setting, answer: &Value) {
    if setting.answer == Answer::Json {
        output::json(answer);
    }
}

/// What `config.yaml` says now; nothing where there is none yet.
fn config_text(setting: &Setting) -> Result<String, Failure> {
    Ok(setting.home.read(&setting.home.config())?.unwrap_or_default())
}

fn consent(setting: &Setting, wish: &ModelTry) -> Result<Consent, Failure> {
    if wish.yes {
        return Ok(Consent::Given);
    }
    if setting.answer == Answer::Json || !std::io::stdin().is_terminal() {
        return Ok(Consent::Missing);
    }
    let mut out = std::io::stderr();
    write!(out, "Shall I do that? Type yes to go on: ")?;
    out.flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    let is_yes = ["y", "yes"].contains(&&*typed.trim().to_lowercase());
    Ok(if is_yes { Consent::Given } else { Consent::Refused })
}

/// Sees to it that a server has the model; the server, and what the model is called there.
async fn made_ready(
    setting: &Setting,
    transport: &Transport,
    plan: Plan,
) -> Result<(LocalServer, String), Failure> {
    let (server, model) = match plan {
        Plan::Use { server, model } => return Ok((server, model)),
        Plan::Fetch { server, model } => (server, model),
        Plan::Start { program, path, url, model } => {
            let server = started(setting, transport, (program, &path), &url, &model).await?;
            if program == Program::LlamaServer {
                // It has one model, and its own name for it.
                let name = server.models.first().map_or(model, |it| it.name.clone());
                return Ok((server, name));
            }
            let latest = format!("{model}:latest");
            let known = server.models.iter().find(|it| it.name == model || it.name == latest);
            if let Some(known) = known.map(|it| it.name.clone()) {
                return Ok((server, known));
            }
            (server, model)
        }
        Plan::Nothing => return Err(Failure::Failed("there is nothing to set up".to_owned())),
    };
    let (mut last, cancel) = (String::new(), CancellationToken::new());
    let fetched = pull(transport, &server.url, &model, &cancel, |pulled| {
        let told = telling::progress(&model, pulled);
        if told != last {
            output::notice(&told);
            last = told;
        }
    });
    fetched.await.map_err(|error| Failure::Failed(format!("{model} can't be fetched: {error}")))?;
    Ok((server, model))
}

/// Starts a program and waits until it answers.
async fn started(
    setting: &Setting,
    transport: &Transport,
    (program, path): (Program, &std::path::Path),
    url: &str,
    model: &str,
) -> Result<LocalServer, Failure> {
    let name = program.name();
    setting.home.prepare()?;
    let log = setting.home.run().join(format!("{name}.log"));
    let (arguments, patience) = match program {
        Program::Ollama => (vec!["serve".to_owned()], START_MAX),
        Program::LlamaServer => (llama_arguments(url, model), FETCH_MAX),
    };
    let variables = setting.environment.variables.iter();
    let passed = variables.filter(|(name, _)| PASSED.iter().any(|it| name.starts_with(it)));
    let passed = passed.map(|(name, value)| (name.clone(), value.clone()));
    let begun = process::start_beside(path, &arguments, passed, &log);
    let mut begun =
        begun.map_err(|why| Failure::Failed(format!("{name} can't be started: {why}")))?;
    let id = begun.id();
    output::notice(&format!("started {name} (process {id}); it prints into {}", log.display()));
    let clock = &setting.world.clock;
    let until = clock.elapsed() + patience;
    loop {
        let server = look(transport, url).await;
        if let Some(server) = server.filter(|it| it.kind == program.kind()) {
            return Ok(server);
        }
        if let Some(how) = begun.ended() {
            let log = log.display();
            return Err(Failure::Failed(format!("{name} ended ({how}); {log} says why")));
        }
        if clock.elapsed() >= until {
            return Err(Failure::Failed(format!(
                "{name} does not answer at {url}; it still runs (process {id}), and prints into {}",
                log.display()
            )));
        }
        clock.sleep(LOOK_EVERY).await;
    }
}

fn llama_arguments(url: &str, model: &str) -> Vec<String> {
    let place = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, port) = place.rsplit_once(':').unwrap_or((place, "8080"));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let words = ["-hf", model, "--host", host, "--port", port, "--jinja", "-c", "16384"];
    words.into_iter().map(str::to_owned).collect()
}

async fn tried(
    setting: &Setting,
    transport: &Transport,
    server: &LocalServer,
    model: &str,
) -> Result<Trial, Failure> {
    let kind = match server.kind {
        LocalKind::Ollama => Kind::Ollama,
        _ => Kind::OpenAi,
    };
    let mut spec = ProviderSpec::new("local", kind);
    spec.base_url = Some(server.base_url());
    let provider = spec.build(transport).map_err(|error| Failure::Failed(error.to_string()))?;
    output::notice(&format!("asking {model}; the first answer takes longest"));
    Ok(Trial::of(&*provider, model, &*setting.world.clock).await)
}

/// What is to be written: a provider too, where there is none of that name at that address.
pub fn server_choice(config: &str, server: &LocalServer, model: &str) -> ModelChoice {
    let (name, kind) = match server.kind {
        LocalKind::Ollama => ("ollama", "ollama"),
        LocalKind::LmStudio => ("lm-studio", "openai"),
        LocalKind::LlamaCpp | LocalKind::Other => ("local", "openai"),
    };
    let provider =
        |name: String| ProviderChoice { name, kind: kind.to_owned(), base_url: server.base_url() };
    let numbers = (2..NAMES_MAX).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbers).map(provider);
    // What is written there already has a name.
    let known = named_in(config, &provider(name.to_owned())).map(provider);
    let free = known.or_else(|| names.find(|it| !is_taken(config, it)));
    let free = free.unwrap_or_else(|| provider(name.to_owned()));
    let model = format!("{}/{}", free.name, called(server.kind, model));
    // The built-in one is there already.
    let is_usual = server.kind.usual_url() == Some(&*server.url);
    let is_built_in = server.kind == LocalKind::Ollama && is_usual && free.name == "ollama";
    ModelChoice { model, provider: (!is_built_in).then_some(free) }
}

/// What a model is called in the configuration: as its server calls it. llama.cpp calls one by the
/// path of its file, and answers to any name.
fn called(kind: LocalKind, model: &str) -> &str {
    let is_path = model.starts_with(['/', '.', '~']) || model.contains('\\');
    match kind {
        LocalKind::LlamaCpp if is_path => {
            let file = model.rsplit(['/', '\\']).next().unwrap_or(model);
            Some(file.trim_end_matches(".gguf")).filter(|it| !it.is_empty()).unwrap_or(model)
        }
        _ => model,
    }
}

/// Writes the choice, if the configuration is as good with it as without; the agents that go on
/// with models of their own.
fn write(setting: &Setting, choice: &ModelChoice) -> Result<Others, String> {
    let home = &setting.home;
    let told = |error: insula_registry::RuntimeError| error.to_string();
    home.prepare().map_err(told)?;
    furnish(home).map_err(|_| "a new home can't be made; `insula up` says why".to_owned())?;
    // As it is now: it may have been changed while the model was fetched.
    let before = home.read(&home.config()).map_err(told)?.unwrap_or_default();
    let after = choose(&before, choice).map_err(|why| why.to_string())?;
    let mut snapshot = FilesSnapshot::read(home.root()).map_err(|error| error.to_string())?;
    let variables = &setting.environment.variables;
    let had = load(&snapshot, variables).0.errors().count();
    snapshot.config = FileState::Text(after.as_str().into());
    let (report, loaded) = load(&snapshot, variables);
    if report.errors().count() > had {
        return Err("with this model in it, it would have errors".to_owned());
    }
    let path = real(&home.config());
    home.write(&path, after.as_bytes(), FileMode::Private).map_err(told)?;
    Ok(loaded.map_or_else(Others::default, |loaded| Others::new(&loaded, &choice.model)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(kind: LocalKind, url: &str) -> LocalServer {
        LocalServer { kind, url: url.to_owned(), models: Vec::new() }
    }

    #[test]
    fn a_provider_is_written_where_there_is_none_of_its_address() {
        let usual = server(LocalKind::Ollama, "http://127.0.0.1:11434");
        let alone = server_choice("", &usual, "q:1b");
        assert_eq!((alone.model.as_str(), alone.provider), ("ollama/q:1b", None));
        let moved = server(LocalKind::Ollama, "http://127.0.0.1:9");
        let written = server_choice("", &moved, "q:1b").provider.unwrap();
        assert_eq!((&*written.name, &*written.base_url), ("ollama", "http://127.0.0.1:9"));
        let other = "providers: {ollama: {kind: ollama, base_url: \"http://box:1\"}}";
        let beside = server_choice(other, &usual, "q:1b");
        assert_eq!(beside.model, "ollama-2/q:1b");
        assert_eq!(beside.provider.unwrap().base_url, "http://127.0.0.1:11434");
        // One that is there is used under its name, however its address is written.
        let there = "providers: {ollama: {kind: ollama, base_url: \"http://localhost:9/\"}}";
        assert_eq!(server_choice(there, &moved, "q:1b").model, "ollama/q:1b");
        let there = "providers: {box: {kind: openai, base_url: \"http://127.0.0.1:8080/v1\"}}";
        let running = server(LocalKind::LlamaCpp, "http://127.0.0.1:8080");
        assert_eq!(server_choice(there, &running, "/models/Qwen-1.5B.gguf").model, "box/Qwen-1.5B");
        assert_eq!(server_choice("", &running, "o/r:Q4").model, "local/o/r:Q4");
        let llama = server_choice("", &running, "q");
        assert_eq!(llama.model, "local/q");
        assert_eq!(llama.provider.unwrap().base_url, "http://127.0.0.1:8080/v1");
    }

    #[test]
    fn llama_server_is_told_where_to_listen() {
        let words = llama_arguments("http://127.0.0.1:8080", "o/r");
        assert_eq!(words[..6], ["-hf", "o/r", "--host", "127.0.0.1", "--port", "8080"]);
        assert_eq!(llama_arguments("http://[::1]:9", "o/r")[3..6], ["::1", "--port", "9"]);
    }
}
