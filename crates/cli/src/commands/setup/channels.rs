//! `insula channels …`: which accounts there are, one more, and whether they work.

use super::super::text;
use super::account::{NewAccount, platforms};
use super::draft::Draft;
use super::{Wizard, confirmed};
use crate::arguments::{ChannelAdd, Channels};
use crate::failure::{FAILED, Failure};
use crate::names::files::agent_called;
use crate::output;
use crate::reach::{Occupied, Reach, occupied};
use crate::setting::{Answer, Setting};
use insula_config::files::FilesSnapshot;
use insula_config::load;
use insula_registry::daemon::Purpose;
use serde_json::{Value, json};

/// What findings about accounts are called.
const ACCOUNT: &str = "account ";

/// Runs it.
pub async fn run(setting: &Setting, command: Channels) -> Result<u8, Failure> {
    match command {
        Channels::List => list(setting).await,
        Channels::Add(wish) => add(setting, &wish).await,
        Channels::Test { platform } => test(setting, platform.as_deref()).await,
    }
}

async fn list(setting: &Setting) -> Result<u8, Failure> {
    let snapshot = match setting.home.exists() {
        true => FilesSnapshot::read(setting.home.root())?,
        false => FilesSnapshot::default(),
    };
    let (_, loaded) = load(&snapshot, &setting.environment.variables);
    let loaded = loaded.ok_or_else(|| {
        Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
    })?;
    let states = states(setting).await?;
    let accounts = loaded.daemon.accounts.iter().map(|it| {
        let (platform, name) = (it.platform.as_str(), it.name.as_str());
        let known = states.iter().find(|of| of["platform"] == platform && of["account"] == name);
        json!({
            "platform": platform,
            "account": name,
            "enabled": it.enabled,
            "problem": it.problem.as_deref(),
            "state": known.map(|it| &it["state"]),
            "reason": known.map(|it| &it["reason"]),
        })
    });
    let accounts: Vec<Value> = accounts.collect();
    let told = json!({ "accounts": accounts, "platforms": platforms() });
    setting.answer.give(&told, |told| {
        let rows = told["accounts"].as_array().into_iter().flatten().map(|it| {
            let (state, reason) = standing(it);
            vec![text(it, "platform"), text(it, "account"), state, reason]
        });
        output::table(&["platform", "account", "state", "reason"], rows);
        let all = platforms().join(", ");
        output::line(&format!("`insula channels add PLATFORM` connects another: {all}"));
    });
    Ok(0)
}

/// How the accounts stand, as the daemon says; nothing where none runs.
async fn states(setting: &Setting) -> Result<Vec<Value>, Failure> {
    let Setting { home, world, .. } = setting;
    if !home.exists() || !matches!(occupied(home, world).await?, Occupied::Daemon(_)) {
        return Ok(Vec::new());
    }
    let reach = Reach::open(setting, Purpose::Look).await?;
    let status = reach.get("/api/status").await;
    reach.close().await;
    Ok(status?["accounts"].as_array().cloned().unwrap_or_default())
}

/// How an account stands and why: by the daemon's word, and without one by the files alone.
fn standing(account: &Value) -> (String, String) {
    let said = |key: &str| account[key].as_str().map(str::to_owned);
    if let Some(state) = said("state") {
        return (state, said("reason").unwrap_or_default());
    }
    match (account["enabled"].as_bool(), said("problem")) {
        (_, Some(problem)) => ("off".to_owned(), problem),
        (Some(false), None) => ("off".to_owned(), "turned off by `enabled: false`".to_owned()),
        _ => ("on".to_owned(), String::new()),
    }
}

async fn add(setting: &Setting, wish: &ChannelAdd) -> Result<u8, Failure> {
    let wizard = Wizard::new(setting, !wish.yes).await?;
    let account = NewAccount::new(setting, &wizard, &wish.platform, &wish.account)?;
    let mut draft = Draft::begin(setting)?;
    account.put(&mut draft)?;
    if let Some(agent) = &wish.agent {
        let id = agent_called(setting, agent)?;
        let NewAccount { platform, name, .. } = &account;
        draft.item("bindings", &format!("{{agent: {id}, {platform}: {{account: {name}}}}}"))?;
    }
    let missing = account.lacks(&wizard);
    let written = confirmed(setting, &wizard, &draft, (wish.dry_run, wish.yes)).await;
    let written = written.map_err(|failure| match failure {
        Failure::WrongUse(why) => {
            Failure::WrongUse(format!("{why} (--set KEY=VALUE gives a setting of the account)"))
        }
        failure => failure,
    })?;
    let mut told = written.told;
    told["missing"] = json!(missing.as_slice());
    told["steps"] = json!(account.steps);
    told["manifest"] = json!(account.manifest);
    if written.is_done && !wish.no_test {
        told["account"] = tried(setting, &account.called()).await?;
    }
    // What still waits for its secrets was not refused.
    let is_bad = missing.is_none() && told["account"]["status"] == "bad";
    if is_bad {
        told["correction"] = json!(account.correction());
    }
    setting.answer.give(&told, |told| {
        if !wizard.asks {
            show_steps(&account);
        }
        if let Some(detail) = told["account"]["detail"].as_str() {
            output::line(&format!("account {}: {detail}", account.called()));
        }
        missing.iter().for_each(|line| output::line(line));
        match told["correction"].as_str() {
            Some(correction) => output::line(correction),
            None if written.is_done => output::line(
                "who may talk there is `access.allow` of the agent; `insula pairing list` shows who asks",
            ),
            None => {}
        }
    });
    Ok(if is_bad { FAILED } else { 0 })
}

/// What is done on the platform's side, and pasted there.
fn show_steps(account: &NewAccount) {
    if account.steps.is_empty() {
        return;
    }
    output::line("on the platform's side:");
    account.steps.iter().for_each(|step| output::line(step));
    if let Some(manifest) = &account.manifest {
        output::line("the manifest:");
        output::block(manifest);
    }
}

async fn test(setting: &Setting, platform: Option<&str>) -> Result<u8, Failure> {
    if let Some(platform) = platform.filter(|it| !platforms().contains(it)) {
        return Err(Failure::WrongUse(format!(
            "`{}` is none of the platforms that this version speaks: {}",
            output::clean(platform),
            platforms().join(", ")
        )));
    }
    if setting.answer == Answer::Text {
        output::notice("asking the platforms");
    }
    let found = findings(setting).await?;
    let is_asked = |it: &&Value| {
        let name = it["name"].as_str().unwrap_or_default();
        platform.is_none_or(|platform| name.starts_with(&format!("{ACCOUNT}{platform}.")))
    };
    let found: Vec<&Value> = found.iter().filter(is_asked).collect();
    let is_bad = found.iter().any(|it| it["status"] == "bad");
    setting.answer.give(&json!(found), |_| {
        if found.is_empty() {
            return output::line("there is no account to ask; `insula channels add PLATFORM`");
        }
        let row = |it: &&Value| {
            let name = text(it, "name");
            let name = name.strip_prefix(ACCOUNT).unwrap_or(&name).to_owned();
            vec![name, text(it, "status"), text(it, "detail")]
        };
        output::table(&["account", "state", "detail"], found.iter().map(row));
    });
    Ok(if is_bad { FAILED } else { 0 })
}

/// What one account's platform says.
pub async fn tried(setting: &Setting, called: &str) -> Result<Value, Failure> {
    let name = format!("{ACCOUNT}{called}");
    let found = findings(setting).await?;
    Ok(found.into_iter().find(|it| it["name"] == *name).unwrap_or(Value::Null))
}

async fn findings(setting: &Setting) -> Result<Vec<Value>, Failure> {
    let reach = Reach::open(setting, Purpose::Look).await?;
    let told = reach.get("/api/doctor").await;
    reach.close().await;
    let told = told?;
    let all = told["findings"].as_array().or(told.as_array()).cloned().unwrap_or_default();
    let is_account = |it: &Value| it["name"].as_str().is_some_and(|it| it.starts_with(ACCOUNT));
    Ok(all.into_iter().filter(is_account).collect())
}
