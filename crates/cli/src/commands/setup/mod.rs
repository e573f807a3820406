//! `insula init` and `insula channels …`: a model, a first agent and a first channel, by questions
//! or by flags. Nothing is written before all of it was shown.

mod account;
mod ask;
mod channels;
mod draft;
mod model;

pub use channels::run as channels;

use crate::arguments::Init;
use crate::failure::{FAILED, Failure};
use crate::hints::home_flag;
use crate::output;
use crate::reach::Reach;
use crate::setting::{Answer, Setting};
use account::NewAccount;
use draft::Draft;
use insula_config::files::FilesSnapshot;
use insula_config::template::{Beginning, TEMPLATES, Template};
use insula_config::{AgentOutcome, load};
use insula_domain::AgentId;
use insula_models::Transport;
use insula_registry::daemon::Purpose;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::IsTerminal as _;

/// Who is there to answer, and what is known already.
pub struct Wizard {
    /// Whether somebody can be asked.
    asks: bool,
    /// Names of the daemon's secrets.
    secrets: Vec<String>,
    /// Names of the providers that the configuration has.
    providers: BTreeSet<String>,
    /// Whether there are agents that somebody wrote, and one that answers where no binding does.
    has_agents: bool,
    has_default: bool,
}

impl Wizard {
    async fn new(setting: &Setting, asks: bool) -> Result<Self, Failure> {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let asks = asks && is_terminal && setting.answer == Answer::Text;
        let home = &setting.home;
        if !home.exists() {
            return Ok(Self {
                asks,
                secrets: Vec::new(),
                providers: BTreeSet::new(),
                has_agents: false,
                has_default: false,
            });
        }
        let snapshot = FilesSnapshot::read(home.root())?;
        let (_, loaded) = load(&snapshot, &setting.environment.variables);
        let loaded = loaded.ok_or_else(|| {
            Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
        })?;
        let written = loaded.agents.keys().filter(|id| loaded.implicit.as_ref() != Some(*id));
        let is_default = |outcome: &AgentOutcome| matches!(outcome, AgentOutcome::Ready(config) if config.answers_by_default);
        let reach = Reach::open(setting, Purpose::Look).await?;
        let kept = reach.get("/api/daemon/secrets").await;
        reach.close().await;
        let kept = kept?;
        let names = kept.as_array().into_iter().flatten();
        Ok(Self {
            asks,
            secrets: names.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect(),
            providers: loaded.daemon.providers.configured.keys().map(|it| it.to_string()).collect(),
            has_agents: written.count() > 0,
            has_default: loaded.implicit.is_none() && loaded.agents.values().any(is_default),
        })
    }
}

/// The agent that is to be added.
struct NewAgent {
    id: AgentId,
    template: &'static Template,
    name: Option<String>,
}

/// Runs `insula init`.
pub async fn init(setting: &Setting, wish: &Init) -> Result<u8, Failure> {
    let wizard = Wizard::new(setting, !wish.yes).await?;
    let transport = Transport::new(&setting.world, &[]);
    let transport = transport.map_err(|error| Failure::Failed(error.to_string()))?;
    if wizard.asks {
        ask::begin(&format!("Insula, in {}", setting.home.root().display()))?;
    }
    let is_tried = !wish.no_test && !wish.dry_run;
    let mut chosen = model::by_flags(setting, &wizard, wish)?;
    let is_asked = chosen.is_none() && wizard.asks;
    if is_asked {
        chosen = Some(model::by_asking(setting, &wizard, &transport).await?);
    }
    let answered = loop {
        let Some(one) = chosen.as_ref().filter(|_| is_tried) else { break Value::Null };
        match one.test(setting, &transport).await {
            // A mistyped key is no reason to begin anew.
            Err(Failure::Failed(why)) if is_asked => {
                ask::say(format!("{why}\nChoose again; Escape gives up"))?;
                chosen = Some(model::by_asking(setting, &wizard, &transport).await?);
            }
            answered => break answered?,
        }
    };
    let agent = new_agent(&wizard, wish)?;
    let account = new_account(setting, &wizard, wish)?;
    let allow = allowed(&wizard, wish, account.as_ref())?;
    let mut draft = Draft::begin(setting)?;
    if let Some(chosen) = &chosen {
        chosen.put(&mut draft)?;
    }
    if let Some(account) = &account {
        account.put(&mut draft)?;
    }
    if let Some(NewAgent { id, template, name }) = &agent {
        if let Some(account) = account.as_ref().filter(|_| wizard.has_default) {
            let NewAccount { platform, name, .. } = account;
            draft.item("bindings", &format!("{{agent: {id}, {platform}: {{account: {name}}}}}"))?;
        }
        let config = template.agent_yaml(&Beginning {
            is_default: !wizard.has_default,
            name: name.as_deref(),
            allow: &allow,
            model: None,
        });
        draft.agent(id.clone(), config, template.soul);
    }
    let missing = [
        chosen.as_ref().and_then(|it| it.lacks(&wizard)),
        account.as_ref().and_then(|it| it.lacks(&wizard)),
    ];
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    let written = confirmed(setting, &wizard, &draft, (wish.dry_run, wish.yes)).await?;
    let mut told = written.told;
    told["model"] = json!(chosen.as_ref().map(model::Chosen::model));
    told["tried"] = answered;
    told["missing"] = json!(missing);
    if let Some(account) = account.filter(|_| written.is_done && !wish.no_test) {
        told["account"] = channels::tried(setting, &account.called()).await?;
        if account.lacks(&wizard).is_none() && told["account"]["status"] == "bad" {
            told["correction"] = json!(account.correction());
        }
    }
    let is_bad = told["correction"].is_string();
    match setting.answer {
        Answer::Json => output::json(&told),
        Answer::Text if written.is_done => finish(setting, agent.as_ref(), &told, &missing),
        Answer::Text => {}
    }
    Ok(if is_bad { FAILED } else { 0 })
}

/// Runs `insula agents add ID --template NAME`.
pub async fn add(
    setting: &Setting,
    (id, template): (&str, &str),
    name: Option<&str>,
    model: Option<&str>,
) -> Result<u8, Failure> {
    let template = template_of(template)?;
    let id = AgentId::new(id).map_err(|error| Failure::WrongUse(error.to_string()))?;
    let wizard = Wizard::new(setting, false).await?;
    let is_default = !wizard.has_default;
    let text = template.agent_yaml(&Beginning { is_default, name, model, allow: &[] });
    let mut draft = Draft::begin(setting)?;
    draft.agent(id.clone(), text, template.soul);
    let changes = draft.check(setting)?;
    draft.write(setting).await?;
    setting.answer.give(&draft.json(&changes), |_| {
        output::line(&format!(
            "added {id}, a {}; its settings and soul are in agents/{id}",
            template.name
        ));
        changes.iter().for_each(|change| output::line(change));
    });
    Ok(0)
}

fn template_of(name: &str) -> Result<&'static Template, Failure> {
    Template::find(name).ok_or_else(|| {
        let all: Vec<&str> = TEMPLATES.iter().map(|it| it.name).collect();
        let (name, all) = (output::clean(name), all.join(", "));
        Failure::WrongUse(format!("`{name}` is no template; there are {all}"))
    })
}

fn finish(setting: &Setting, agent: Option<&NewAgent>, told: &Value, missing: &[String]) {
    let home = home_flag(setting.home.root(), &setting.environment.variables);
    if let Some(answer) = told["tried"]["answer"].as_str() {
        output::line(&format!("the model says: {}", output::clean(answer)));
    }
    if let Some(account) = told["account"]["detail"].as_str() {
        output::line(&format!(
            "{}: {account}",
            told["account"]["name"].as_str().unwrap_or_default()
        ));
    }
    if let Some(correction) = told["correction"].as_str() {
        output::line(correction);
    }
    missing.iter().for_each(|line| output::line(line));
    output::line(&format!("start it with `insula{home} up`"));
    if let Some(agent) = agent {
        output::line(&format!("then talk to it with `insula{home} chat --agent {}`", agent.id));
    }
}

/// How it ended.
struct Ended {
    is_done: bool,
    told: Value,
}

/// Shows what is to be written, asks, and writes it.
async fn confirmed(
    setting: &Setting,
    wizard: &Wizard,
    draft: &Draft,
    (dry_run, yes): (bool, bool),
) -> Result<Ended, Failure> {
    let changes = draft.check(setting)?;
    if setting.answer == Answer::Text {
        draft.show(&changes);
    }
    let mut told = draft.json(&changes);
    let is_agreed = match (dry_run, yes) {
        (true, _) => false,
        (false, true) => true,
        (false, false) if wizard.asks => ask::yes("Write it?")?,
        (false, false) => {
            output::notice("nothing was written; `--yes` does it");
            false
        }
    };
    if is_agreed {
        draft.write(setting).await?;
    }
    told["written"] = json!(is_agreed);
    Ok(Ended { is_done: is_agreed, told })
}

/// Which agent is to be added; none where there are agents and nobody asks for another.
fn new_agent(wizard: &Wizard, wish: &Init) -> Result<Option<NewAgent>, Failure> {
    let name = match &wish.template {
        Some(name) => name.clone(),
        None if wizard.asks => {
            let all = TEMPLATES.iter().map(|it| (it.name, it.name.to_owned(), it.about.to_owned()));
            let none = ("", "none".to_owned(), "keep those there are".to_owned());
            let all = all.chain(wizard.has_agents.then_some(none));
            ask::one("What should your agent be?", all)?.to_owned()
        }
        None if wish.agent.is_none() && (wizard.has_agents || wish.dry_run) => String::new(),
        None => TEMPLATES[0].name.to_owned(),
    };
    if name.is_empty() {
        return Ok(None);
    }
    let template = template_of(&name)?;
    let id = match &wish.agent {
        Some(id) => id.clone(),
        None if wizard.asks => {
            let is_id = |id: &str| AgentId::new(id).map(drop).map_err(|error| error.to_string());
            ask::line("Its id (a-z, 0-9, `_` and `-`)", template.name, is_id)?
        }
        None => template.name.to_owned(),
    };
    let id = AgentId::new(&id).map_err(|error| Failure::WrongUse(error.to_string()))?;
    Ok(Some(NewAgent { id, template, name: wish.name.clone() }))
}

fn new_account(
    setting: &Setting,
    wizard: &Wizard,
    wish: &Init,
) -> Result<Option<NewAccount>, Failure> {
    let platform = match &wish.channel {
        Some(platform) => platform.clone(),
        None if wizard.asks => {
            let none = ("none", "none yet".to_owned(), "the terminal is enough for now".to_owned());
            let all = account::platforms().into_iter();
            let all = all.map(|it| (it, it.to_owned(), format!("docs/platforms/{it}.md")));
            ask::one("Where should people reach it?", std::iter::once(none).chain(all))?.to_owned()
        }
        None => "none".to_owned(),
    };
    match &*platform {
        "none" => Ok(None),
        platform => NewAccount::new(setting, wizard, platform, &wish.account).map(Some),
    }
}

/// Who may talk to the new agent.
fn allowed(
    wizard: &Wizard,
    wish: &Init,
    account: Option<&NewAccount>,
) -> Result<Vec<String>, Failure> {
    let Some(account) = account.filter(|_| wizard.asks && wish.allow.is_empty()) else {
        return Ok(wish.allow.clone());
    };
    let answer = ask::maybe(&format!(
        "Who may talk to it there, such as {}:123456789? (Empty: those you let in with `insula pairing`)",
        account.platform
    ))?;
    let parts = answer.split([',', ' ']).map(str::trim).filter(|it| !it.is_empty());
    Ok(parts.map(str::to_owned).collect())
}
