//! `insula service …`: the daemon as a service of systemd.

use super::service_unit::{Unit, Whose};
use crate::arguments::{Install, Service, ServiceLogs, Which};
use crate::failure::{FAILED, Failure};
use crate::output;
use crate::reach::{Occupied, occupied};
use crate::setting::{Answer, Setting};
use crate::supervisor::{self, MARK};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What the machine is asked about a service, and what it is called here.
const FACTS: [(&str, &str); 8] = [
    ("ActiveState", "state"),
    ("SubState", "detail"),
    ("UnitFileState", "enabled"),
    ("MainPID", "pid"),
    ("StatusText", "serves"),
    ("ActiveEnterTimestamp", "since"),
    ("NRestarts", "restarts"),
    ("FragmentPath", "unit"),
];

/// Runs it.
pub async fn run(setting: &Setting, command: Service) -> Result<u8, Failure> {
    match command {
        Service::Install(wish) => install(setting, &wish).await,
        Service::Status(which) => status(setting, &Manager::new(setting, &which)?),
        Service::Logs(wish) => logs(setting, &wish),
        Service::Uninstall(which) => uninstall(setting, &Manager::new(setting, &which)?),
    }
}

/// systemd, as it manages services of the machine or of one person.
struct Manager<'a> {
    setting: &'a Setting,
    system: bool,
    /// With its ending.
    unit: String,
    path: PathBuf,
}

impl<'a> Manager<'a> {
    fn new(setting: &'a Setting, which: &Which) -> Result<Self, Failure> {
        let name = &which.name;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins || name.len() > 64 || !name.chars().all(fits) {
            return Err(Failure::WrongUse(format!(
                "`{}` is no name for a service: up to 64 letters, digits, `-`, `_` and `.`, the first a letter or digit",
                output::clean(name)
            )));
        }
        let unit = format!("{name}.service");
        let folder = if which.system {
            PathBuf::from("/etc/systemd/system")
        } else {
            let variable = |name: &str| {
                let value = setting.environment.variables.get(name);
                value.map(PathBuf::from).filter(|path| path.is_absolute())
            };
            let config = variable("XDG_CONFIG_HOME");
            let config = config.or_else(|| variable("HOME").map(|home| home.join(".config")));
            let Some(config) = config else {
                let why = "neither XDG_CONFIG_HOME nor HOME says where this person's units are";
                return Err(Failure::Failed(why.to_owned()));
            };
            config.join("systemd/user")
        };
        let path = folder.join(&unit);
        Ok(Self { setting, system: which.system, unit, path })
    }

    /// Commands of systemd, in the manager that is meant.
    fn words<'w>(&self, words: &[&'w str]) -> Vec<&'w str> {
        let whose = if self.system { "--system" } else { "--user" };
        std::iter::once(whose).chain(words.iter().copied()).collect()
    }

    fn control(&self, words: &[&str]) -> Result<String, Failure> {
        let ended = supervisor::run(&self.setting.environment, "systemctl", &self.words(words))?;
        if ended.ok {
            return Ok(ended.stdout);
        }
        let why = if ended.stderr.is_empty() { ended.stdout } else { ended.stderr };
        Err(Failure::Failed(format!("`systemctl {}` failed: {why}", words.join(" "))))
    }

    /// The unit, which has to be one of ours.
    fn ours(&self) -> Result<Option<String>, Failure> {
        let path = self.path.display();
        match supervisor::read_unit(&self.path)? {
            Some(text) if !text.starts_with(MARK) => Err(Failure::Failed(format!(
                "{path} was not written by `insula service install` and is left as it is; give another --name, or remove it"
            ))),
            found => Ok(found),
        }
    }
}

async fn install(setting: &Setting, wish: &Install) -> Result<u8, Failure> {
    let manager = Manager::new(setting, &wish.which)?;
    let home = &setting.home;
    let whose = match (wish.which.system, &wish.user) {
        (false, _) => Whose::Person,
        (true, Some(user)) => Whose::Machine(user.clone()),
        (true, None) if home.exists() => {
            Whose::Machine(supervisor::owner(home.root())?.to_string())
        }
        (true, None) => {
            let why = format!(
                "there is no home at {} yet, so nobody knows who the daemon is to run as; say --user NAME",
                home.root().display()
            );
            return Err(Failure::WrongUse(why));
        }
    };
    let unit = Unit { program: &setting.environment.program, home: home.root(), whose };
    let text = unit.text().map_err(Failure::Failed)?;
    if wish.print {
        setting.answer.give(&json!({ "path": manager.path, "unit": text }), |_| {
            output::block(text.trim_end());
        });
        return Ok(0);
    }
    if !supervisor::is_systemd() {
        return Err(Failure::Failed(
            "systemd does not run this machine; `insula service install --print` shows what it would be told, for whatever does".to_owned(),
        ));
    }
    let before = manager.ours()?;
    let is_running = manager.control(&["is-active", &manager.unit]).is_ok();
    if !is_running
        && home.exists()
        && let Occupied::Daemon(running) = occupied(home, &setting.world).await?
    {
        return Err(Failure::Failed(format!(
            "a daemon runs in {} already, pid {}; `insula stop` ends it, then install the service",
            home.root().display(),
            running.pid
        )));
    }
    supervisor::write_unit(&manager.path, &text)?;
    manager.control(&["daemon-reload"])?;
    manager.control(&["enable", &manager.unit])?;
    let changed = before.as_deref() != Some(&*text);
    let start = if is_running && changed { "restart" } else { "start" };
    // Waits until the daemon says that it serves.
    manager.control(&[start, &manager.unit]).map_err(|why| match why {
        Failure::Failed(why) => Failure::Failed(format!("{why}\n`insula service logs` says more")),
        other => other,
    })?;
    let told =
        json!({ "unit": manager.unit, "path": manager.path, "changed": changed, "running": true });
    setting.answer.give(&told, |_| {
        output::line(&format!("{} runs, by {}", manager.unit, manager.path.display()));
        if !manager.system {
            output::line(
                "it starts when you log in; `loginctl enable-linger` lets it start with the machine",
            );
        }
    });
    Ok(0)
}

fn status(setting: &Setting, manager: &Manager<'_>) -> Result<u8, Failure> {
    let properties = FACTS.map(|(property, _)| property).join(",");
    let shown = manager.control(&["show", &manager.unit, "--property", &properties])?;
    let found: Map<String, Value> = shown
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(property, value)| {
            let (_, name) = FACTS.iter().find(|(known, _)| *known == property)?;
            Some(((*name).to_owned(), json!(value)))
        })
        .collect();
    let runs = found.get("state") == Some(&json!("active"));
    setting.answer.give(&Value::Object(found), |found| {
        if found["unit"].is_null() {
            let whose = if manager.system { " --system" } else { "" };
            return output::line(&format!(
                "there is no {}; `insula service install{whose}` makes one",
                manager.unit
            ));
        }
        let facts = FACTS.iter().filter_map(|(_, name)| Some((*name, found[name].as_str()?)));
        let facts: Vec<_> = facts.map(|(name, value)| (name, value.to_owned())).collect();
        output::facts(&facts);
    });
    Ok(if runs { 0 } else { FAILED })
}

fn logs(setting: &Setting, wish: &ServiceLogs) -> Result<u8, Failure> {
    let manager = Manager::new(setting, &wish.which)?;
    let lines = wish.lines.to_string();
    let unit = if manager.system { "--unit" } else { "--user-unit" };
    let mut words = vec![unit, &manager.unit, "--lines", &lines, "--no-pager"];
    if wish.follow {
        words.push("--follow");
    }
    if setting.answer == Answer::Json {
        words.extend(["--output", "json"]);
    }
    let shown = supervisor::show(&setting.environment, "journalctl", &words)?;
    Ok(if shown { 0 } else { FAILED })
}

fn uninstall(setting: &Setting, manager: &Manager<'_>) -> Result<u8, Failure> {
    if manager.ours()?.is_none() {
        return Err(Failure::Failed(format!("there is no service at {}", manager.path.display())));
    }
    manager.control(&["disable", "--now", &manager.unit])?;
    supervisor::remove_unit(&manager.path)?;
    manager.control(&["daemon-reload"])?;
    setting.answer.give(&json!({ "removed": manager.path }), |_| {
        output::line(&format!(
            "removed {}; the home at {} is as it was",
            manager.path.display(),
            setting.home.root().display()
        ));
    });
    Ok(0)
}
