//! `insula channels …`: which accounts there are, one more, and whether they work.

use super::account::{NewAccount, platforms};
use super::draft::Draft;
use super::{Wizard, confirmed};
use crate::arguments::{ChannelAdd, Channels};
use crate::failure::{FAILED, Failure};
use crate::names::files::agent_called;
use crate::output;
use crate::reach::Reach;
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
        Channels::List => list(setting),
        Channels::Add(wish) => add(setting, &wish).await,
        Channels::Test { platform } => test(setting, platform.as_deref()).await,
    }
}

fn list(setting: &Setting) -> Result<u8, Failure> {
    let snapshot = match setting.home.exists() {
        true => FilesSnapshot::read(setting.home.root())?,
        false => FilesSnapshot::default(),
    };
    let (_, loaded) = load(&snapshot, &setting.environment.variables);
    let loaded = loaded.ok_or_else(|| {
        Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
    })?;
    let accounts: Vec<Value> = loaded
        .daemon
        .accounts
        .iter()
        .map(|it| {
            json!({
                "platform": it.platform.as_str(),
                "account": it.name.as_str(),
                "enabled": it.enabled,
                "problem": it.problem.as_deref(),
            })
        })
        .collect();
    let told = json!({ "accounts": accounts, "platforms": platforms() });
    setting.answer.give(&told, |told| {
        let rows = told["accounts"].as_array().into_iter().flatten().map(|it| {
            let state = match (it["enabled"].as_bool(), it["problem"].as_str()) {
                (_, Some(problem)) => problem.to_owned(),
                (Some(false), None) => "off".to_owned(),
                _ => "on".to_owned(),
            };
            vec![super::super::text(it, "platform"), super::super::text(it, "account"), state]
        });
        output::table(&["platform", "account", "state"], rows);
        let all = platforms().join(", ");
        output::line(&format!("`insula channels add PLATFORM` connects another: {all}"));
    });
    Ok(0)
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
    let written = confirmed(setting, &wizard, &draft, (wish.dry_run, wish.yes)).await?;
    let mut told = written.told;
    told["missing"] = json!(missing.as_slice());
    told["steps"] = json!(account.steps());
    if written.is_done && !wish.no_test {
        told["account"] = tried(setting, &account.called()).await?;
    }
    setting.answer.give(&told, |told| {
        if let Some(detail) = told["account"]["detail"].as_str() {
            output::line(&format!("account {}: {detail}", account.called()));
        }
        missing.iter().for_each(|line| output::line(line));
        if !wizard.asks && !account.steps().is_empty() {
            output::line("on the platform's side:");
            account.steps().into_iter().for_each(output::line);
        }
        if written.is_done {
            output::line("who may talk there is `access.allow` of the agent; `insula pairing list` shows who asks");
        }
    });
    Ok(0)
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
            let name = super::super::text(it, "name");
            let name = name.strip_prefix(ACCOUNT).unwrap_or(&name).to_owned();
            vec![name, super::super::text(it, "status"), super::super::text(it, "detail")]
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
