//! `insula policies …`: folders of rules that are shown, installed whole and locked by their
//! hashes. All of it is files of the home; a daemon that runs takes them up as it does others.

use crate::arguments::Policies;
use crate::failure::Failure;
use crate::names::files;
use crate::output;
use crate::process;
use crate::setting::{Answer, Setting};
use insula_config::files::FilesSnapshot;
use insula_config::policies::{
    LOCK, LockedPolicy, PolicyFiles, PolicyLock, PolicySummary, is_name, read_folder, summary,
};
use insula_config::suggest::nearest;
use insula_config::{AgentOutcome, load};
use insula_registry::home::{FileMode, Home};
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

/// Runs it.
pub fn run(setting: &Setting, command: Policies) -> Result<u8, Failure> {
    let home = &setting.home;
    if !home.exists() {
        let path = home.root().display();
        return Err(Failure::Failed(format!(
            "there is no home at {path}; `insula up` creates one"
        )));
    }
    let snapshot = FilesSnapshot::read(home.root())?;
    let lock = PolicyLock::parse(&snapshot.policies_lock).map_err(Failure::Failed)?;
    match command {
        Policies::Install { folder, yes } => install(setting, lock, &folder, yes),
        Policies::List => {
            list(setting, &snapshot, &lock);
            Ok(0)
        }
        Policies::Show { name } => {
            let path = Path::new(&name);
            let files = match snapshot.policies.get(&name) {
                Some(files) => files.clone(),
                None if process::is_folder(path) => read_folder(path),
                None => return Err(missing(&name, &snapshot)),
            };
            let told = summary(&name, &files).map_err(Failure::Failed)?;
            setting.answer.give(&as_json(&name, &files, &told), |_| show(&name, &files, &told));
            Ok(0)
        }
        Policies::Verify { name } => verify(setting, &snapshot, &lock, name.as_deref()),
        Policies::Remove { name } => remove(setting, &snapshot, lock, &name),
    }
}

fn missing(name: &str, snapshot: &FilesSnapshot) -> Failure {
    let near = nearest(name, snapshot.policies.keys().map(String::as_str));
    let more = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Failure::Failed(format!("there is no policy `{}`{more}", output::clean(name)))
}

/// Shows what a policy does, asks, and puts it in place of whatever had its name.
fn install(
    setting: &Setting,
    mut lock: PolicyLock,
    folder: &Path,
    yes: bool,
) -> Result<u8, Failure> {
    let whole = process::real(folder);
    if !process::is_folder(&whole) {
        let shown = output::clean(&folder.display().to_string());
        return Err(Failure::WrongUse(format!(
            "{shown} is no folder; a policy is a folder with a `policy.yaml`"
        )));
    }
    let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_name(name) {
        let message = "the folder's name is the policy's: letters, digits, `-` and `_`";
        return Err(Failure::WrongUse(message.to_owned()));
    }
    let files = read_folder(&whole);
    let told = summary(name, &files)
        .map_err(|why| Failure::WrongUse(format!("{} is no policy: {why}", folder.display())))?;
    let before = lock.policies.get(name).map(|it| it.files.clone());
    if setting.answer == Answer::Text {
        show(name, &files, &told);
    }
    if !yes {
        let what = if before.is_some() { "replace" } else { "install" };
        confirm(&format!("{what} `{name}`"))?;
    }
    setting.home.put_policy(name, &files)?;
    let installed = setting.world.clock.now().to_string();
    let locked = LockedPolicy { installed, files: files.hashes() };
    lock.policies.insert(name.to_owned(), locked);
    write_lock(&setting.home, &lock)?;
    let mut answer = as_json(name, &files, &told);
    answer["replaced"] = json!(before.is_some());
    setting.answer.give(&answer, |_| {
        output::line("");
        output::line(&format!(
            "installed {name}; `policies: [{name}]` in an agent's settings applies it"
        ));
    });
    Ok(0)
}

fn confirm(what: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::WrongUse(format!("say --yes to {what}")));
    }
    let mut out = std::io::stderr();
    write!(out, "\n{what}? [y/N] ")?;
    out.flush()?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed)?;
    match matches!(typed.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(Failure::Failed("nothing was installed".to_owned())),
    }
}

fn write_lock(home: &Home, lock: &PolicyLock) -> Result<(), Failure> {
    home.write(&home.root().join(LOCK), lock.to_text().as_bytes(), FileMode::Private)?;
    Ok(())
}

/// The agents that name a policy.
fn users(setting: &Setting, snapshot: &FilesSnapshot, name: &str) -> Vec<String> {
    let loaded = load(snapshot, &setting.environment.variables).1;
    let agents = loaded.into_iter().flat_map(|loaded| loaded.agents);
    let names_it = |outcome: &AgentOutcome| match outcome {
        AgentOutcome::Ready(config) => config.settings.iter().any(|it| {
            it.path.starts_with("policies") && {
                let value = &it.value;
                value == name || value.as_array().is_some_and(|all| all.contains(&json!(name)))
            }
        }),
        // One that can't run may be kept from it by this very policy.
        AgentOutcome::Failed(_) => false,
    };
    agents.filter(|(_, outcome)| names_it(outcome)).map(|(id, _)| id.to_string()).collect()
}

fn list(setting: &Setting, snapshot: &FilesSnapshot, lock: &PolicyLock) {
    let names: std::collections::BTreeSet<&String> =
        snapshot.policies.keys().chain(lock.policies.keys()).collect();
    let rows: Vec<Value> = names
        .into_iter()
        .map(|name| {
            let files = snapshot.policies.get(name);
            let differs = lock.differences(name, files);
            json!({
                "name": name,
                "state": if differs.is_empty() { "as installed" } else { "differs" },
                "differences": differs,
                "agents": users(setting, snapshot, name),
                "hash": files.map(PolicyFiles::hash),
                "description":
                    files.and_then(|files| summary(name, files).ok()).and_then(|it| it.description),
            })
        })
        .collect();
    setting.answer.give(&json!(rows), |rows| {
        let known = files::names(setting);
        let called = |it: &Value| {
            let id = it.as_str().unwrap_or_default();
            match known.get(id).filter(|name| *name != id) {
                Some(name) => format!("{id} ({name})"),
                None => id.to_owned(),
            }
        };
        let rows = rows.as_array().into_iter().flatten().map(|row| {
            vec![
                super::text(row, "name"),
                super::text(row, "state"),
                super::list(&row["agents"].as_array().into_iter().flatten().map(called).collect()),
                super::text(row, "hash").chars().take(12).collect(),
                output::clean(&super::text(row, "description")),
            ]
        });
        output::table(&["policy", "state", "agents", "hash", "what for"], rows);
    });
}

fn verify(
    setting: &Setting,
    snapshot: &FilesSnapshot,
    lock: &PolicyLock,
    name: Option<&str>,
) -> Result<u8, Failure> {
    if let Some(name) = name
        && !snapshot.policies.contains_key(name)
        && !lock.policies.contains_key(name)
    {
        return Err(missing(name, snapshot));
    }
    let all = snapshot.policies.keys().chain(lock.policies.keys());
    let names: std::collections::BTreeSet<&String> =
        all.filter(|known| name.is_none_or(|name| name == *known)).collect();
    let found: Vec<(&String, Vec<String>)> = names
        .into_iter()
        .map(|name| (name, lock.differences(name, snapshot.policies.get(name))))
        .collect();
    let is_fine = found.iter().all(|(_, differs)| differs.is_empty());
    let rows = found.iter().map(|(name, differs)| json!({ "name": name, "differences": differs }));
    let answer = json!({ "ok": is_fine, "policies": rows.collect::<Vec<_>>() });
    setting.answer.give(&answer, |_| {
        for (name, differs) in &found {
            match differs.is_empty() {
                true => output::line(&format!("{name}: as installed")),
                false => differs.iter().for_each(|it| output::line(&format!("{name}: {it}"))),
            }
        }
    });
    Ok(u8::from(!is_fine))
}

fn remove(
    setting: &Setting,
    snapshot: &FilesSnapshot,
    mut lock: PolicyLock,
    name: &str,
) -> Result<u8, Failure> {
    let was_locked = lock.policies.remove(name).is_some();
    if !was_locked && !snapshot.policies.contains_key(name) {
        return Err(missing(name, snapshot));
    }
    let users = users(setting, snapshot, name);
    if !users.is_empty() {
        return Err(Failure::Failed(format!(
            "policy `{name}` holds for {}, which would not run without it; take it out of `policies` there first",
            users.join(", ")
        )));
    }
    write_lock(&setting.home, &lock)?;
    if snapshot.policies.contains_key(name) {
        setting.home.remove_policy(name)?;
    }
    setting.answer.give(&json!({ "name": name, "removed": true }), |_| {
        output::line(&format!("removed {name}"));
    });
    Ok(0)
}

fn as_json(name: &str, files: &PolicyFiles, told: &PolicySummary) -> Value {
    json!({
        "name": name,
        "description": told.description,
        "hash": files.hash(),
        "files": files.hashes(),
        "takes": told.takes,
        "decides": told.decides,
        "grants": told.grants,
    })
}

fn show(name: &str, files: &PolicyFiles, told: &PolicySummary) {
    output::facts(&[
        ("policy", name.to_owned()),
        ("what for", output::clean(&told.description.clone().unwrap_or_default())),
        ("hash", files.hash()),
        ("files", files.files.keys().cloned().collect::<Vec<_>>().join(", ")),
    ]);
    let parts = [("takes", &told.takes), ("decides", &told.decides), ("grants", &told.grants)];
    for (part, lines) in parts {
        output::line("");
        output::heading(part);
        match lines.is_empty() {
            true => output::line("  nothing"),
            false => lines.iter().for_each(|it| output::line(&format!("  {}", output::clean(it)))),
        }
    }
}
