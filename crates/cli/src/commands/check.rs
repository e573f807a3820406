//! `insula check`: reads the files as they are now, whatever the daemon runs by.

use crate::arguments::Check;
use crate::failure::{Failure, WRONG_USE};
use crate::output;
use crate::reach::{Occupied, Reach, occupied};
use crate::setting::{Answer, Setting};
use insula_adapters::Makers;
use insula_capabilities::programs::{refused_here, void_here};
use insula_config::authority::{Applied, ConfigChange, diff};
use insula_config::files::{CONFIG_BYTES_MAX, FileState, FilesSnapshot, read_text};
use insula_config::render::{self, Colour};
use insula_config::resolved::{resolved, resolved_text};
use insula_config::{Account, AgentOutcome, Diagnostic, FindingOwner, LoadReport, Loaded, load};
use insula_gateway::{Misfit, misfits};
use insula_models::Transport;
use insula_registry::daemon::{Purpose, last_applied};
use insula_registry::unread::{Reader, unread_souls};
use insula_turns::budget::unpriced::unpriced;
use serde_json::{Value, json};

/// Runs it.
pub async fn run(setting: &Setting, check: &Check) -> Result<u8, Failure> {
    let home = &setting.home;
    if !home.exists() {
        let path = home.root().display();
        return Err(Failure::Failed(format!(
            "there is no home at {path}; `insula up` creates one"
        )));
    }
    let mut snapshot = FilesSnapshot::read(home.root())?;
    if let Some(path) = &check.config {
        snapshot.config_name = Some(path.display().to_string().into());
        snapshot.config = match read_text(path, CONFIG_BYTES_MAX) {
            FileState::Absent => {
                return Err(Failure::Failed(format!("there is no file {}", path.display())));
            }
            found => found,
        };
    }
    let (mut report, loaded) = load(&snapshot, &setting.environment.variables);
    insula_registry::secrets::settle(home, &setting.world, &mut report).await;
    if let Some(loaded) = &loaded {
        check_accounts(setting, loaded, &mut report);
    }
    let changes = match (check.diff, &loaded) {
        (true, Some(loaded)) => Some(diff(&baseline(setting).await?, &Applied::of(loaded))),
        _ => None,
    };
    let unsafe_home =
        home.read_by_programs().map(|why| format!("`insula up` refuses this home: {why}"));
    let refused = match &loaded {
        Some(loaded) => {
            let mut refused: Vec<String> = unsafe_home.into_iter().collect();
            refused.extend(refused_here(&setting.world, loaded).await);
            let user_home = setting.environment.variables.get("HOME").map(String::as_str);
            refused.extend(void_here(&setting.world, home, user_home, loaded).await);
            let ready = loaded.agents.values().filter_map(|outcome| match outcome {
                AgentOutcome::Ready(config) => Some(Reader::from(&**config)),
                AgentOutcome::Failed(_) => None,
            });
            refused.extend(unread_souls(home, user_home, ready));
            refused.extend(without_price(loaded));
            refused.extend(jobs_over(loaded, setting.world.clock.now().as_millis()));
            refused
        }
        None => unsafe_home.into_iter().collect(),
    };
    match setting.answer {
        Answer::Json => {
            let mut answer = as_json(check, &report, loaded.as_ref(), changes.as_deref());
            if !refused.is_empty() {
                answer["machine"] = json!(refused);
            }
            output::json(&answer);
        }
        Answer::Text => {
            as_text(check, &report, loaded.as_ref(), changes.as_deref());
            refused.iter().for_each(|why| output::line(&format!("warning: {why}")));
        }
    }
    Ok(if report.errors().next().is_some() { WRONG_USE } else { 0 })
}

/// Agents whose models a limit in money keeps from being called.
pub fn without_price(loaded: &Loaded) -> Vec<String> {
    let ready = loaded.agents.iter().filter_map(|(id, outcome)| match outcome {
        AgentOutcome::Ready(config) => Some((id, config)),
        AgentOutcome::Failed(_) => None,
    });
    let told = |(id, config): (&insula_domain::AgentId, &std::sync::Arc<_>)| {
        let models = unpriced(&loaded.daemon, config);
        let first = models.first()?;
        Some(format!(
            "agent `{id}` has a budget in money, and nobody knows what {} costs, so it is not called; say so: `prices: {{\"{first}\": {{input: 1, output: 2}}}}`, in dollars for a million tokens",
            models.join(", ")
        ))
    };
    ready.filter_map(told).collect()
}

/// Jobs of the configuration that no moment is left for, which is told in files alone: to the
/// daemon it is all the same whether they have run.
fn jobs_over(loaded: &Loaded, now_ms: i64) -> Vec<String> {
    let mut over = Vec::new();
    for (id, outcome) in &loaded.agents {
        let AgentOutcome::Ready(config) = outcome else { continue };
        for job in config.jobs.iter().filter(|job| job.is_enabled) {
            let Ok(Some(plan)) = job.plan(id, 0) else { continue };
            if plan.next(now_ms).is_none() {
                over.push(format!(
                    "agent `{id}`: job `{}` has no moment that is still to come, so it will not run; change its times, or take it out",
                    job.name
                ));
            }
        }
    }
    over
}

/// Finds the accounts that the daemon would refuse to connect.
pub fn check_accounts(setting: &Setting, loaded: &Loaded, report: &mut LoadReport) {
    // Without TLS nothing connects, which is no fault of these files.
    let Ok(transport) = Transport::new(&setting.world, &[]) else { return };
    let makers = Makers::new(setting.world.clone(), transport);
    for Misfit { account, key, why } in misfits(&loaded.daemon.accounts, &makers) {
        let name = format!("{}.{}", account.platform, account.name);
        let Some(span) = loaded.account_spans.find(account, key) else { continue };
        let message = format!("account `{name}` would be refused: {why}");
        report.push(Diagnostic::error(&FindingOwner::Account(name.into()), span, message));
    }
}

/// Why the first of these accounts that is refused would be.
pub fn refused_account(setting: &Setting, accounts: &[Account]) -> Option<String> {
    let transport = Transport::new(&setting.world, &[]).ok()?;
    let makers = Makers::new(setting.world.clone(), transport);
    let found = misfits(accounts, &makers);
    let Misfit { account, why, .. } = found.first()?;
    Some(format!("account `{}.{}` would be refused: {why}", account.platform, account.name))
}

/// What is applied: by the daemon that runs, or by the one that ran last.
async fn baseline(setting: &Setting) -> Result<Applied, Failure> {
    match occupied(&setting.home, &setting.world).await? {
        Occupied::Free(lock) => {
            Ok(last_applied(&setting.home, &lock, setting.world.clone()).await?)
        }
        Occupied::Daemon(_) => {
            let reach = Reach::open(setting, Purpose::Look).await?;
            let applied = reach.get("/api/applied").await?;
            Ok(Applied::from_json(&applied.to_string()).unwrap_or_default())
        }
    }
}

fn as_json(
    check: &Check,
    report: &LoadReport,
    loaded: Option<&Loaded>,
    changes: Option<&[ConfigChange]>,
) -> Value {
    let mut answer = render::json(report);
    if let (true, Value::Object(fields)) = (check.resolved, resolved_value(report, loaded)) {
        for (key, value) in fields {
            answer[key] = value;
        }
    }
    if let Some(changes) = changes {
        let changes = changes.iter().map(|change| {
            json!({ "agent": change.agent, "kind": change.kind.as_str(), "axis": change.axis, "item": change.item, "what": change.what })
        });
        answer["changes"] = changes.collect();
    }
    answer
}

fn resolved_value(report: &LoadReport, loaded: Option<&Loaded>) -> Value {
    loaded.map_or(Value::Null, |loaded| resolved(report, loaded, runs))
}

/// Whether this version has a tool. The search comes with tools to search for.
fn runs(name: &str) -> bool {
    insula_tools::find(name).is_some() || name == "tool_search"
}

fn as_text(
    check: &Check,
    report: &LoadReport,
    loaded: Option<&Loaded>,
    changes: Option<&[ConfigChange]>,
) {
    if let (true, Some(loaded)) = (check.resolved, loaded) {
        output::block(&resolved_text(loaded, runs));
    }
    match changes {
        Some([]) => output::line("these files change nothing"),
        Some(changes) => {
            for change in changes {
                output::line(&format!("{:<8} {change}", change.kind.as_str()));
            }
        }
        None => {}
    }
    if report.diagnostics.is_empty() {
        let count = loaded.map_or(0, |loaded| loaded.agents.len());
        let bindings = loaded.map_or(0, |loaded| loaded.router.bindings().len());
        output::line(&format!(
            "the configuration is good: {}, {}",
            output::count(count, "agent"),
            output::count(bindings, "binding")
        ));
    } else {
        output::block(&render::text(report, Colour::Ansi));
    }
}
