//! What `insula model try` says, to people and to programs.

use super::found::{Found, MODEL_GB, Plan, Program};
use super::others::Others;
use super::trial::{CallForm, Called, Trial, Words};
use crate::arguments::ModelTry;
use crate::output;
use insula_config::choose::ModelChoice;
use insula_models::local::{LocalServer, Pulled};
use serde_json::{Value, json};
use std::time::Duration;

/// Models that are told by name.
const NAMED_MAX: usize = 8;
/// Characters of an answer that are shown.
const SHOWN_CHARS_MAX: usize = 300;
/// The steps in which progress is told, in parts of a hundred.
const STEP: u64 = 10;

/// What there is and what would be done, for programs.
pub fn found_json(found: &Found, plan: &Plan) -> Value {
    let servers = found.servers.iter().map(|server| {
        let models = server.models.iter();
        let models = models.map(|it| json!({ "name": it.name, "bytes": it.bytes }));
        json!({
            "kind": server.kind.as_str(),
            "url": server.url,
            "models": models.collect::<Vec<_>>(),
        })
    });
    let programs = found.programs.iter();
    let programs = programs.map(|(program, path)| json!({ "name": program.name(), "path": path }));
    let plan = match plan {
        Plan::Use { server, model } => {
            json!({ "action": "use", "url": server.url, "model": model })
        }
        Plan::Fetch { server, model } => {
            json!({ "action": "fetch", "url": server.url, "model": model })
        }
        Plan::Start { program, url, model, .. } => {
            json!({ "action": "start", "program": program.name(), "url": url, "model": model })
        }
        Plan::Nothing => json!({ "action": "install" }),
    };
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "programs": programs.collect::<Vec<_>>(),
        "plan": plan,
        "changed": false,
        "model": null,
        "trial": null,
    })
}

/// The same for people.
pub fn explain(found: &Found, plan: &Plan, wish: &ModelTry, now: Option<&str>) {
    for server in &found.servers {
        output::line(&has(server));
    }
    for (program, path) in &found.programs {
        output::line(&format!(
            "{} is installed ({}) and does not run",
            program.name(),
            path.display()
        ));
    }
    if *plan == Plan::Nothing {
        return nothing(found, wish);
    }
    output::line(
        "\nA small model on this machine needs no account and no key, and nothing you say leaves it.",
    );
    output::line("It is slower and knows less than a large one. To set it up I would:\n");
    let (name, steps) = steps(plan);
    for step in steps {
        output::line(&format!("  - {step}"));
    }
    output::line("  - ask it one question, and have it call a tool");
    output::line(&format!("  - write into config.yaml that agents use {name} which name no model"));
    if let Some(now) = now {
        output::line(&format!("    (in place of {now}, which stays there as a comment)"));
    }
    output::line("");
}

fn has(server: &LocalServer) -> String {
    let LocalServer { kind, url, models } = server;
    let named: Vec<&str> = models.iter().take(NAMED_MAX).map(|it| it.name.as_str()).collect();
    let more = match models.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match named.is_empty() {
        true => format!("{} at {url} has no model yet", kind.as_str()),
        false => format!("{} at {url} has {}{more}", kind.as_str(), named.join(", ")),
    }
}

/// The model's name, and what has to be done before it can be asked.
fn steps(plan: &Plan) -> (&str, Vec<String>) {
    let fetch =
        |model: &str| format!("fetch {model} ({MODEL_GB}, unless it is another) from the network");
    match plan {
        Plan::Use { model, .. } => (model, Vec::new()),
        Plan::Fetch { model, .. } => (model, vec![fetch(model)]),
        Plan::Start { program: Program::Ollama, url, model, .. } => {
            let start = format!("start `ollama serve` at {url}, which goes on until it is stopped");
            (model, vec![start, format!("{}, if it is not there", fetch(model))])
        }
        Plan::Start { program: Program::LlamaServer, url, model, .. } => {
            let start = format!("start `llama-server` at {url}, which goes on until it is stopped");
            (model, vec![start, format!("{}, by llama-server", fetch(model))])
        }
        Plan::Nothing => ("", Vec::new()),
    }
}

fn nothing(found: &Found, wish: &ModelTry) {
    match (&wish.url, &wish.model) {
        (Some(url), _) if found.servers.is_empty() => {
            return output::line(&format!(
                "nobody who serves models answers at {url}; nothing was changed"
            ));
        }
        (_, Some(model)) if !found.servers.is_empty() => {
            return output::line(&format!(
                "none of them has `{model}`; load it there, or leave --model out; nothing was changed"
            ));
        }
        _ if !found.servers.is_empty() => {
            return output::line("load a model there, then run this again; nothing was changed");
        }
        _ => {}
    }
    output::line("nothing is installed here that serves models, and nothing was changed");
    output::line("the practice model stays: it needs nothing and follows a few fixed rules");
    output::line("\nFor a model of your own, install one of these and run this again:\n");
    output::line("  Ollama     https://ollama.com/download");
    output::line(
        "  llama.cpp  https://github.com/ggml-org/llama.cpp/releases (llama-server on the PATH)",
    );
    output::line("  LM Studio  https://lmstudio.ai (with its local server started)");
    output::line("\nA provider with a key works too: see \"For a large model\" in the README");
}

/// How far a fetch is, in steps that are worth a line.
pub fn progress(model: &str, pulled: &Pulled) -> String {
    match pulled.bytes {
        Some((done, total)) if total > 0 => {
            let part = done.saturating_mul(100) / total / STEP * STEP;
            format!("fetching {model}: {part} % of {}", size(total))
        }
        _ => format!("fetching {model}: {}", pulled.status),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// How it went.
pub fn trial(trial: &Trial, model: &str) {
    match &trial.question {
        Err(error) => output::line(&format!("{model} gave no answer: {error}")),
        Ok(Words { text, first, all }) => {
            let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            let (first, all) = (seconds(*first), seconds(*all));
            output::line(&format!("it answered in {all}, its first word after {first}: {shown}"));
        }
    }
    let told = match &trial.call {
        Err(error) => format!("it was to call a tool, and failed: {error}"),
        Ok(Called { how, all }) => {
            let all = seconds(*all);
            match how {
                CallForm::Native => format!("it called a tool as it should, in {all}"),
                CallForm::Text => {
                    format!("it printed its call of a tool as text, which is understood, in {all}")
                }
                CallForm::Unfit => format!(
                    "it called a tool with arguments that do not fit, in {all}; it can talk, and will often fail to act"
                ),
                CallForm::None => format!(
                    "it called no tool, in {all}; it can talk, and will seldom act: a larger model does better"
                ),
            }
        }
    };
    output::line(&told);
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// What was written, who does not use it, and what to do now.
pub fn written(choice: &ModelChoice, others: &Others) {
    output::line("\nconfig.yaml now has:\n");
    for line in choice.lines().lines() {
        output::line(&format!("  {line}"));
    }
    output::line("\na daemon that runs takes it up as the file changes");
    others.lines().iter().for_each(|line| output::line(line));
    if !others.has_default {
        output::line("`insula chat` talks to it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_steps() {
        let at = |done| {
            let status = "pulling aa".to_owned();
            progress("q", &Pulled { status, bytes: Some((done, 986_000_000)) })
        };
        assert_eq!(at(0), "fetching q: 0 % of 986 MB");
        assert_eq!(at(300_000_000), at(390_000_000));
        assert_eq!(at(986_000_000), "fetching q: 100 % of 986 MB");
        let plain = Pulled { status: "verifying".to_owned(), bytes: None };
        assert_eq!(progress("q", &plain), "fetching q: verifying");
    }
}
