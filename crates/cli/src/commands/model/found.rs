//! What there is on this machine that serves models, and what would be done with it. Pure, but
//! for the looking.

use crate::process::{self, Environment};
use insula_models::Transport;
use insula_models::local::{LocalKind, LocalModel, LocalServer, look};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The small model that an Ollama is given, and what it takes on disk.
pub const OLLAMA_MODEL: &str = "qwen2.5:1.5b";
/// The same for llama.cpp, as a repository that it fetches from.
pub const LLAMA_MODEL: &str = "Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M";
/// About what either takes on disk.
pub const MODEL_GB: &str = "about 1 GB";

/// A program that serves models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Ollama,
    LlamaServer,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::LlamaServer => "llama-server",
        }
    }

    pub fn kind(self) -> LocalKind {
        match self {
            Self::Ollama => LocalKind::Ollama,
            Self::LlamaServer => LocalKind::LlamaCpp,
        }
    }
}

/// Where servers are looked for.
pub struct Places {
    ollama: String,
    llama_cpp: String,
    /// An address that somebody named, instead of all others.
    only: Option<String>,
}

impl Places {
    /// By what was typed, and by the variables that the programs themselves go by.
    pub fn new(variables: &BTreeMap<String, String>, only: Option<&str>) -> Self {
        let get = |name: &str| variables.get(name).map(String::as_str).filter(|it| !it.is_empty());
        let (host, port) = (get("LLAMA_ARG_HOST"), get("LLAMA_ARG_PORT"));
        let llama_cpp = format!("{}:{}", host.unwrap_or_default(), port.unwrap_or_default());
        Self {
            ollama: address(get("OLLAMA_HOST").unwrap_or_default(), "11434"),
            llama_cpp: address(&llama_cpp, "8080"),
            only: only.map(|url| address(url, "80")),
        }
    }

    pub fn of(&self, program: Program) -> &str {
        match program {
            Program::Ollama => &self.ollama,
            Program::LlamaServer => &self.llama_cpp,
        }
    }

    fn all(&self) -> Vec<&str> {
        match &self.only {
            Some(only) => vec![only],
            None => {
                let lm_studio = LocalKind::LmStudio.usual_url();
                [&*self.ollama, &*self.llama_cpp].into_iter().chain(lm_studio).collect()
            }
        }
    }
}

/// An address as a URL without a path: what is missing is this machine, and the usual port.
fn address(text: &str, port: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    let text = text.strip_suffix("/v1").unwrap_or(text);
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let is_whole = text.contains("://");
    let (host, given) = match rest.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, given)) if given.bytes().all(|it| it.is_ascii_digit()) => (host, given),
        _ => (rest, ""),
    };
    let host = match host {
        // Where one listens everywhere, here is one of the places.
        "" | "0.0.0.0" | "[::]" | "::" => "127.0.0.1",
        host => host,
    };
    match (given, is_whole) {
        ("", true) if scheme == "https" || port == "80" => format!("{scheme}://{host}"),
        ("", _) => format!("{scheme}://{host}:{port}"),
        (given, _) => format!("{scheme}://{host}:{given}"),
    }
}

/// What there is.
pub struct Found {
    pub servers: Vec<LocalServer>,
    /// Programs whose server does not listen.
    pub programs: Vec<(Program, PathBuf)>,
}

impl Found {
    pub async fn new(transport: &Transport, environment: &Environment, places: &Places) -> Self {
        let mut servers = Vec::new();
        for url in places.all() {
            servers.extend(look(transport, url).await);
        }
        let is_idle = |program: &Program| servers.iter().all(|it| it.kind != program.kind());
        let programs = match places.only {
            Some(_) => Vec::new(),
            None => [Program::Ollama, Program::LlamaServer]
                .into_iter()
                .filter(is_idle)
                .filter_map(|it| Some((it, process::program(environment, it.name())?)))
                .collect(),
        };
        Self { servers, programs }
    }
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// The model is there.
    Use { server: LocalServer, model: String },
    /// An Ollama has to fetch it first.
    Fetch { server: LocalServer, model: String },
    /// A program has to be started first, at an address.
    Start { program: Program, path: PathBuf, url: String, model: String },
    /// There is nothing to do it with.
    Nothing,
}

/// What would be done with what there is, for the model that somebody wants or any small one.
pub fn plan(found: &Found, places: &Places, wanted: Option<&str>) -> Plan {
    let is_it =
        |it: &LocalModel, name: &str| it.name == name || it.name == format!("{name}:latest");
    for server in &found.servers {
        let model = match wanted {
            Some(name) => server.models.iter().find(|it| is_it(it, name)),
            None => best(&server.models),
        };
        if let Some(model) = model {
            return Plan::Use { server: server.clone(), model: model.name.clone() };
        }
    }
    let ollama = found.servers.iter().find(|it| it.kind == LocalKind::Ollama);
    if let Some(server) = ollama {
        let model = wanted.unwrap_or(OLLAMA_MODEL).to_owned();
        return Plan::Fetch { server: server.clone(), model };
    }
    // Who has a server that does not have what they want is told so, and nothing is started.
    match found.programs.first().filter(|_| found.servers.is_empty()) {
        None => Plan::Nothing,
        Some((program, path)) => {
            let usual = match program {
                Program::Ollama => OLLAMA_MODEL,
                Program::LlamaServer => LLAMA_MODEL,
            };
            let (program, path, url) = (*program, path.clone(), places.of(*program).to_owned());
            Plan::Start { program, path, url, model: wanted.unwrap_or(usual).to_owned() }
        }
    }
}

/// The model to try: the one that is suggested, or else the smallest whose size is known.
fn best(models: &[LocalModel]) -> Option<&LocalModel> {
    let suggested = models.iter().find(|it| it.name == OLLAMA_MODEL);
    let smallest = || models.iter().filter(|it| it.bytes.is_some()).min_by_key(|it| it.bytes);
    suggested.or_else(smallest).or(models.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, bytes: Option<u64>) -> LocalModel {
        LocalModel { name: name.to_owned(), bytes }
    }

    fn server(kind: LocalKind, models: Vec<LocalModel>) -> LocalServer {
        LocalServer { kind, url: "http://127.0.0.1:1".to_owned(), models }
    }

    fn places(variables: &[(&str, &str)]) -> Places {
        let owned = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        Places::new(&owned.collect(), None)
    }

    #[test]
    fn addresses_are_read_as_the_programs_read_them() {
        for (text, expected) in [
            ("", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:9", "http://127.0.0.1:9"),
            (":9", "http://127.0.0.1:9"),
            ("box", "http://box:11434"),
            ("box:9", "http://box:9"),
            ("http://box:9/", "http://box:9"),
            ("http://box", "http://box:11434"),
            ("https://box", "https://box"),
            ("[::1]:9", "http://[::1]:9"),
            ("http://127.0.0.1:9/v1", "http://127.0.0.1:9"),
        ] {
            assert_eq!(places(&[("OLLAMA_HOST", text)]).ollama, expected, "{text}");
        }
        assert_eq!(places(&[]).llama_cpp, "http://127.0.0.1:8080");
        assert_eq!(places(&[("LLAMA_ARG_PORT", "9")]).llama_cpp, "http://127.0.0.1:9");
        let only = Places::new(&BTreeMap::new(), Some("http://box:9/v1/"));
        assert_eq!(only.all(), ["http://box:9"]);
    }

    #[test]
    fn what_is_there_is_used_before_anything_is_fetched_or_started() {
        let ollama = |models| server(LocalKind::Ollama, models);
        let program = || (Program::Ollama, PathBuf::from("/bin/ollama"));
        let plan_of = |servers: Vec<LocalServer>, programs, wanted| {
            plan(&Found { servers, programs }, &places(&[]), wanted)
        };
        let big = || vec![model("big", Some(9)), model("small", Some(1)), model("new", None)];
        let used = plan_of(vec![ollama(big())], vec![], None);
        assert!(matches!(used, Plan::Use { ref model, .. } if model == "small"), "{used:?}");
        let fetched = plan_of(vec![ollama(vec![])], vec![], None);
        assert!(matches!(fetched, Plan::Fetch { ref model, .. } if model == OLLAMA_MODEL));
        let wanted = plan_of(vec![ollama(big())], vec![], Some("other:1b"));
        assert!(matches!(wanted, Plan::Fetch { ref model, .. } if model == "other:1b"));
        let latest = plan_of(vec![ollama(vec![model("q:latest", None)])], vec![], Some("q"));
        assert!(matches!(latest, Plan::Use { ref model, .. } if model == "q:latest"));
        let started = plan_of(vec![], vec![program()], None);
        assert!(matches!(started, Plan::Start { program: Program::Ollama, .. }));
        let elsewhere = server(LocalKind::LlamaCpp, vec![model("loaded", None)]);
        let none = plan_of(vec![elsewhere], vec![program()], Some("other"));
        assert_eq!(none, Plan::Nothing, "a server that lacks it is told of");
        assert_eq!(plan_of(vec![], vec![], None), Plan::Nothing);
    }
}
