//! What of a plan is left out, since it was brought before and is no longer here; and what of a
//! plan is here.

use super::brought::Brought;
use crate::failure::Failure;
use crate::setting::Setting;
use insula_capabilities::skills::source::SkillSource;
use insula_config::extend::has_item;
use insula_config::source::Sources;
use insula_config::yaml::{Node, parse};
use insula_domain::AgentId;
use insula_import::{
    AccountPlan, AgentPlan, BindingPlan, BoardPlan, Fate, Place, Plan, Row, SecretPlan, SkillPlan,
    flow,
};
use insula_vault::{SecretOwner, Vault};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What is said of a thing that is left out.
const NOTE: &str = "`--again` brings it";

/// An agent, as it is noted.
pub(super) fn agent(origin: &str) -> Value {
    json!(["agent", origin])
}

/// A file of an agent, as it is noted.
pub(super) fn file(origin: &str, name: &str) -> Value {
    json!(["file", origin, name])
}

fn account(account: &AccountPlan) -> Value {
    json!(["account", account.platform, account.name])
}

fn board(board: &BoardPlan) -> Value {
    json!(["board", board.name.as_str()])
}

/// A rule as it stands in `config.yaml`.
pub(super) fn rule(agent: &AgentId, fields: &Map<String, Value>) -> String {
    let mut whole = Map::new();
    whole.insert("agent".to_owned(), json!(agent.as_str()));
    whole.extend(fields.clone());
    flow(&Value::Object(whole))
}

/// What a home has of what a plan can bring.
struct Here<'h> {
    setting: &'h Setting,
    text: String,
    /// `None` where `config.yaml` can't be read: then nobody knows what stands in it.
    config: Option<Node>,
    secrets: BTreeSet<(Option<AgentId>, String)>,
    /// By agent, from where.
    skills: BTreeSet<(AgentId, String)>,
}

impl<'h> Here<'h> {
    async fn look(setting: &'h Setting, plan: &Plan) -> Result<Self, Failure> {
        let home = &setting.home;
        let text = home.read(&home.config())?.unwrap_or_default();
        let config = parse(Sources::default().add("config.yaml", &*text), &text).ok();
        let names = Vault::at(home.root(), &setting.world).names().await;
        let names = names.map_err(|error| Failure::Failed(error.to_string()))?;
        let secrets = names.into_iter().map(|(owner, entry)| match owner {
            SecretOwner::Agent(agent) => (Some(agent), entry.name.to_string()),
            SecretOwner::Daemon => (None, entry.name.to_string()),
        });
        let secrets = secrets.collect();
        let mut skills = BTreeSet::new();
        for agent in &plan.agents {
            let lock = home.read(&home.agent(&agent.id).join("skills/skills.lock"))?;
            let lock: Value = serde_json::from_str(&lock.unwrap_or_default()).unwrap_or_default();
            for skill in lock["skills"].as_object().into_iter().flat_map(Map::values) {
                let source = skill["source"].as_str().unwrap_or_default().to_owned();
                skills.insert((agent.id.clone(), source));
            }
        }
        Ok(Self { setting, text, config, secrets, skills })
    }

    fn at(&self, path: &[&str]) -> bool {
        let found = path.iter().try_fold(self.config.as_ref(), |at, key| Some(at?.get(key)));
        found.flatten().is_some()
    }

    fn agent(&self, agent: &AgentPlan) -> bool {
        self.file(agent, "agent.yaml") || self.at(&["agents", agent.id.as_str()])
    }

    fn account(&self, account: &AccountPlan) -> bool {
        self.at(&["channels", &account.platform, "accounts", &account.name])
    }

    fn board(&self, board: &BoardPlan) -> bool {
        self.at(&["boards", board.name.as_str()])
    }

    fn binding(&self, binding: &BindingPlan) -> bool {
        has_item(&self.text, "bindings", &rule(&binding.agent, &binding.fields))
    }

    /// Whoever a rule for the same messages leads to, who is somebody else.
    fn led_elsewhere(&self, binding: &BindingPlan) -> Option<AgentId> {
        let rules = self.config.as_ref()?.get("bindings")?.items().iter();
        let mut others = rules.filter_map(|it| AgentId::new(it.get("agent")?.text()?).ok());
        others.find(|other| {
            *other != binding.agent
                && has_item(&self.text, "bindings", &rule(other, &binding.fields))
        })
    }

    fn secret(&self, secret: &SecretPlan) -> bool {
        self.secrets.contains(&(secret.agent.clone(), secret.name.clone()))
    }

    fn skill(&self, agent: &AgentPlan, skill: &SkillPlan) -> bool {
        let source = SkillSource::Folder(skill.folder.clone()).name();
        self.skills.contains(&(agent.id.clone(), source))
    }

    fn file(&self, agent: &AgentPlan, name: &str) -> bool {
        let home = &self.setting.home;
        home.is_file(&home.agent(&agent.id).join(name))
    }
}

/// The files of an agent's folder that a plan brings, by name.
fn files(agent: &AgentPlan) -> Vec<String> {
    let soul = agent.soul.iter().map(|_| "SOUL.md".to_owned());
    let texts = agent.files.keys().map(|it| format!("workspace/{it}"));
    soul.chain(texts).chain(agent.hooks.keys().map(|it| format!("hooks/{it}"))).collect()
}

/// What an agent of the plan was called there; nothing for what all share.
fn origin(plan: &Plan, id: Option<&AgentId>) -> Value {
    let found = plan.agents.iter().find(|it| Some(&it.id) == id);
    found.map_or(Value::Null, |it| json!(it.origin))
}

fn binding(plan: &Plan, binding: &BindingPlan) -> Value {
    json!(["binding", origin(plan, Some(&binding.agent)), binding.fields])
}

fn secret(plan: &Plan, secret: &SecretPlan) -> Value {
    json!(["secret", origin(plan, secret.agent.as_ref()), secret.name])
}

fn skill(agent: &AgentPlan, skill: &SkillPlan) -> Value {
    json!(["skill", agent.origin, skill.from.file])
}

/// All of a plan that is here, as it is noted.
pub(super) async fn here(setting: &Setting, plan: &Plan) -> Result<Vec<Value>, Failure> {
    let here = Here::look(setting, plan).await?;
    let mut all = Vec::new();
    for one in plan.agents.iter().filter(|it| here.agent(it)) {
        all.push(agent(&one.origin));
        let mut names = files(one);
        names.push("agent.yaml".to_owned());
        names.retain(|name| here.file(one, name));
        all.extend(names.iter().map(|name| file(&one.origin, name)));
        all.extend(one.skills.iter().filter(|it| here.skill(one, it)).map(|it| skill(one, it)));
    }
    all.extend(plan.accounts.iter().filter(|it| here.account(it)).map(account));
    all.extend(plan.bindings.iter().filter(|it| here.binding(it)).map(|it| binding(plan, it)));
    all.extend(plan.boards.iter().filter(|it| here.board(it)).map(board));
    all.extend(plan.secrets.iter().filter(|it| here.secret(it)).map(|it| secret(plan, it)));
    Ok(all)
}

/// Takes out of a plan what was brought before and is no longer here, and says so.
pub(super) async fn leave_out(
    setting: &Setting,
    plan: &mut Plan,
    brought: &Brought,
) -> Result<(), Failure> {
    let here = Here::look(setting, plan).await?;
    let mut left = Left::default();
    let gone: Vec<AgentPlan> = plan
        .agents
        .extract_if(.., |it| brought.has(&agent(&it.origin)) && !here.agent(it))
        .collect();
    for one in &gone {
        left.say(None, format!("agent {}", one.origin), &Place::default());
    }
    forget(plan, &gone);
    for at in 0..plan.agents.len() {
        left_of_agent(plan, at, (brought, &here), &mut left);
    }
    // Who can't read the file can't say what is missing in it.
    if here.config.is_some() {
        let accounts =
            plan.accounts.extract_if(.., |it| brought.has(&account(it)) && !here.account(it));
        for one in accounts {
            left.say(None, format!("{} account {}", one.platform, one.name), &one.from);
        }
        let boards = plan.boards.extract_if(.., |it| brought.has(&board(it)) && !here.board(it));
        for one in boards {
            left.say(None, format!("board {}", one.name), &one.from);
        }
        for one in std::mem::take(&mut plan.bindings) {
            let is_here = here.binding(&one);
            let written = rule(&one.agent, &one.fields);
            if !is_here && brought.has(&binding(plan, &one)) {
                left.say(Some(&one.agent), format!("binding {written}"), &one.from);
            } else if let Some(other) = here.led_elsewhere(&one).filter(|_| !is_here) {
                // Two for the same messages would serve nobody.
                left.from.insert(place(&one.from));
                left.rows.push(Row {
                    fate: Fate::Changes,
                    agent: Some(one.agent.clone()),
                    what: format!("binding {written}"),
                    from: one.from.clone(),
                    note: format!("left out: the same messages go to `{other}` here"),
                });
            } else {
                plan.bindings.push(one);
            }
        }
    }
    for one in std::mem::take(&mut plan.secrets) {
        match brought.has(&secret(plan, &one)) && !here.secret(&one) {
            true => left.say(one.agent.as_ref(), format!("secret {}", one.name), &one.from),
            false => plan.secrets.push(one),
        }
    }
    tell(plan, left);
    Ok(())
}

/// What is left out, and the places in their files that said so.
#[derive(Default)]
struct Left {
    rows: Vec<Row>,
    from: BTreeSet<(String, Option<usize>)>,
}

impl Left {
    fn say(&mut self, agent: Option<&AgentId>, what: String, from: &Place) {
        self.from.insert(place(from));
        let (agent, from, note) = (agent.cloned(), from.clone(), NOTE.to_owned());
        self.rows.push(Row { fate: Fate::LeftOut, agent, what, from, note });
    }
}

fn place(from: &Place) -> (String, Option<usize>) {
    (from.file.clone(), from.line)
}

/// Files and skills of an agent that are gone.
fn left_of_agent(
    plan: &mut Plan,
    at: usize,
    (brought, here): (&Brought, &Here<'_>),
    left: &mut Left,
) {
    let Some(one) = plan.agents.get_mut(at) else { return };
    let mut names = files(one);
    names.retain(|name| brought.has(&file(&one.origin, name)) && !here.file(one, name));
    for name in &names {
        left.say(Some(&one.id), format!("file {name}"), &Place::default());
        let bare = name.split_once('/').map_or(&**name, |(_, bare)| bare);
        match name.split_once('/') {
            None => one.soul = None,
            Some(("hooks", _)) => drop(one.hooks.remove(bare)),
            Some(_) => drop(one.files.remove(bare)),
        }
        let what = if name == "SOUL.md" { "soul" } else { bare };
        let comes = |row: &Row| matches!(row.fate, Fate::Comes | Fate::Changes);
        plan.rows
            .retain(|row| !(comes(row) && row.agent.as_ref() == Some(&one.id) && row.what == what));
    }
    let is_left = |it: &SkillPlan| brought.has(&skill(one, it)) && !here.skill(one, it);
    let (gone, kept) = one.skills.iter().cloned().partition::<Vec<_>, _>(is_left);
    for it in gone {
        left.say(Some(&one.id), "skill".to_owned(), &it.from);
    }
    one.skills = kept;
}

/// Takes out what belonged to agents that are gone: nobody is led to, and no key is kept for whom
/// there is not.
fn forget(plan: &mut Plan, gone: &[AgentPlan]) {
    if gone.is_empty() {
        return;
    }
    let is_gone = |id: &AgentId| gone.iter().any(|it| it.id == *id);
    let (lost, kept): (Vec<_>, Vec<_>) =
        std::mem::take(&mut plan.bindings).into_iter().partition(|it| is_gone(&it.agent));
    plan.bindings = kept;
    // An account that led to them alone would be somebody else's from now on.
    let bindings = &plan.bindings;
    let alone = |account: &AccountPlan| {
        lost.iter().any(|it| leads(it, account)) && !bindings.iter().any(|it| leads(it, account))
    };
    let accounts: Vec<_> = plan.accounts.extract_if(.., |it| alone(it)).collect();
    let names = |account: &AccountPlan, secret: &SecretPlan| {
        let settings = Value::Object(account.settings.clone()).to_string();
        secret.agent.is_none() && settings.contains(&format!("${{secret:{}}}", secret.name))
    };
    let is_theirs = |secret: &SecretPlan| {
        secret.agent.as_ref().is_some_and(is_gone)
            || accounts.iter().any(|it| names(it, secret))
                && !plan.accounts.iter().any(|it| names(it, secret))
    };
    let (secrets, kept): (Vec<_>, Vec<_>) =
        std::mem::take(&mut plan.secrets).into_iter().partition(|it| is_theirs(it));
    plan.secrets = kept;
    for board in &mut plan.boards {
        board.agents.retain(|it| !is_gone(it));
    }
    let places = lost.iter().map(|it| place(&it.from));
    let places = places.chain(secrets.iter().map(|it| place(&it.from)));
    let places: BTreeSet<_> = places.chain(accounts.iter().map(|it| place(&it.from))).collect();
    plan.rows.retain(|row| !row.agent.as_ref().is_some_and(is_gone));
    tell(plan, Left { rows: Vec::new(), from: places });
}

/// Whether a rule is about messages of an account: of it alone, of its platform or of all.
fn leads(binding: &BindingPlan, account: &AccountPlan) -> bool {
    binding.fields.iter().any(|(key, of)| {
        let platform = if key == "match" { of["platform"].as_str() } else { Some(&**key) };
        platform.is_none_or(|it| it == account.platform)
            && of["account"].as_str().is_none_or(|it| it == account.name)
    })
}

/// Says what is left out, and no longer that it comes.
fn tell(plan: &mut Plan, mut left: Left) {
    let kept = plan.accounts.iter().map(|it| &it.from);
    let kept = kept.chain(plan.bindings.iter().map(|it| &it.from));
    let kept = kept.chain(plan.secrets.iter().map(|it| &it.from));
    let kept: BTreeSet<_> = kept.map(place).collect();
    left.from.remove(&place(&Place::default()));
    plan.rows.retain(|row| {
        let at = place(&row.from);
        let comes = matches!(row.fate, Fate::Comes | Fate::Changes) || row.what == "board";
        !comes || !left.from.contains(&at) || kept.contains(&at)
    });
    plan.rows.append(&mut left.rows);
}
