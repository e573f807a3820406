//! One file a command, and what they have in common.

mod agents;
mod agents_home;
mod agents_rename;
mod agents_set;
pub mod approvals;
mod audit;
mod audit_file;
mod backup;
mod board;
mod bundle;
mod check;
mod context;
mod course;
mod cron;
mod daemon_log;
mod deliveries;
mod ending;
mod explain;
mod files;
mod import;
mod integrity;
mod logs;
mod mcp;
mod mcp_serve;
pub mod memory;
mod model;
mod open;
mod pairing;
mod policies;
mod restore;
mod route;
mod run;
mod secret;
mod service;
mod service_unit;
pub mod sessions;
mod setup;
mod shown;
mod skills;
mod system;
mod token;
mod tools;
mod turns;
mod usage;

use crate::arguments::{
    Add, Agents, Approvals, Arguments, Audit, Board, Command, Config, Cron, Files, Mcp, Memory,
    Model, Pairing, Secret, Sessions, Skills, Token,
};
use crate::daemon::{self, Ended, Follow, Options};
use crate::failure::Failure;
use crate::hints::bare_home;
use crate::output;
use crate::process::{Environment, absolute, begin_anew, make_folder, names_home};
use crate::reach::Reach;
use crate::setting::Setting;
use clap::CommandFactory as _;
use insula_registry::Home;
use insula_registry::daemon::Purpose;
use insula_world::World;
use serde_json::Value;
use std::path::PathBuf;
use std::pin::Pin;

/// How many tasks a thread runs before it looks for what came in meanwhile, over the network or
/// from storage. Few: one agent's many tasks are not to keep another's message unread.
const TASKS_BETWEEN_LOOKS: u32 = 13;

/// Runs one command; its exit code.
pub fn run(arguments: Arguments, environment: Environment) -> Result<u8, Failure> {
    match &arguments.command {
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            clap_complete::generate(*shell, &mut command, "insula", &mut std::io::stdout());
            return Ok(0);
        }
        Command::Manual { folder } => {
            let failed = |error| Failure::Failed(format!("{}: {error}", folder.display()));
            make_folder(folder).map_err(failed)?;
            clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
            let told = serde_json::json!({ "folder": folder.display().to_string() });
            arguments.answer().give(&told, |_| {
                output::line(&format!("wrote manual pages into {}", folder.display()));
            });
            return Ok(0);
        }
        Command::Config(Config::Schema) => {
            output::json(&insula_config::json_schema::schema());
            return Ok(0);
        }
        Command::Audit(Audit::Verify(wish)) => {
            // Whoever has an export need have no home.
            if let Some(file) = wish.file() {
                return audit_file::run(arguments.answer(), wish, &file);
            }
        }
        _ => {}
    }
    let setting = Setting {
        home: Home::new(absolute(&home(&arguments, &environment)?)?),
        world: World::real()?,
        environment,
        answer: arguments.answer(),
    };
    let mut runtime = match arguments.command {
        // A task may have to bring its own daemon.
        Command::Up(_) | Command::Run(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime
        .event_interval(TASKS_BETWEEN_LOOKS)
        .global_queue_interval(TASKS_BETWEEN_LOOKS)
        .enable_all()
        .build()?;
    // Behind a pointer of one type: the runtime has several ways to wait, and each would get a
    // copy of everything that a command does.
    let command: Pin<Box<dyn Future<Output = Result<u8, Failure>>>> =
        Box::pin(dispatch(arguments.command, setting));
    runtime.block_on(command)
}

async fn dispatch(command: Command, setting: Setting) -> Result<u8, Failure> {
    match command {
        Command::Up(up) => {
            let follow = if up.no_watch { Follow::Requests } else { Follow::Files };
            match daemon::run(&setting, Options { listen: up.listen, follow, guest: None }).await? {
                Ended::Stopped => Ok(0),
                Ended::Again => {
                    let program = &setting.environment.program;
                    let error = begin_anew(program);
                    let path = program.display();
                    Err(Failure::Failed(format!("{path} can't be started again: {error}")))
                }
            }
        }
        Command::Run(wish) => run::run(&setting, wish).await,
        Command::Check(check) => check::run(&setting, &check).await,
        Command::Model(Model::Try(wish)) => model::run(&setting, &wish).await,
        Command::Logs(wish) => logs::run(&setting, &wish).await,
        Command::Stop => ending::stop(&setting).await,
        Command::Restart => ending::restart(&setting).await,
        Command::Service(command) => service::run(&setting, command).await,
        Command::Backup(wish) => backup::run(&setting, &wish).await,
        Command::Restore(wish) => restore::run(&setting, &wish).await,
        // The file is the operator's, whether or not a daemon runs.
        Command::Agents(Agents::Set(wish)) => agents_set::run(&setting, &wish),
        Command::Agents(Agents::Add(Add {
            template: Some(template), agent, name, model, ..
        })) => setup::add(&setting, (&agent, &template), name.as_deref(), model.as_deref()).await,
        Command::Agents(Agents::Export(wish)) => bundle::export(&setting, &wish).await,
        Command::Agents(Agents::Import(wish)) => bundle::import(&setting, &wish).await,
        Command::Agents(Agents::Clone(wish)) => bundle::clone(&setting, &wish).await,
        Command::Agents(Agents::Rename(wish)) => agents_rename::run(&setting, &wish).await,
        Command::Policies(command) => policies::run(&setting, command),
        Command::Init(wish) => setup::init(&setting, &wish).await,
        Command::Channels(command) => setup::channels(&setting, command).await,
        Command::Import(wish) => import::run(&setting, wish).await,
        command => {
            let reach = Reach::open(&setting, purpose(&command)).await?;
            let result = over(&reach, command, &setting).await;
            reach.close().await;
            result
        }
    }
}

/// Why a command opens the daemon, should no daemon run.
fn purpose(command: &Command) -> Purpose {
    match command {
        Command::Reload => Purpose::Change,
        Command::Token(Token::List) => Purpose::Look,
        Command::Token(_) => Purpose::Change,
        Command::Secret(Secret::List { .. }) => Purpose::Look,
        Command::Secret(_) => Purpose::Change,
        Command::Skills(Skills::Install { .. } | Skills::Remove { .. })
        | Command::Sessions(Sessions::Forget { .. })
        | Command::Memory(Memory::Share { .. } | Memory::Forget(_))
        | Command::Approvals(Approvals::Revoke { .. })
        | Command::Files(Files::Trust { .. })
        | Command::Pairing(Pairing::Approve { .. } | Pairing::Revoke { .. }) => Purpose::Change,
        Command::Cron(Cron::List { .. } | Cron::Show(_) | Cron::History(_)) => Purpose::Look,
        Command::Cron(_) => Purpose::Change,
        Command::Board(Board::List { .. } | Board::Show(_) | Board::Watch { .. }) => Purpose::Look,
        Command::Board(_) => Purpose::Change,
        Command::Mcp(Mcp::List(_) | Mcp::Serve(_)) => Purpose::Look,
        Command::Mcp(_) => Purpose::Change,
        Command::Agents(agents) => match agents {
            Agents::List | Agents::Show(_) => Purpose::Look,
            Agents::Home(home) if home.is_question() => Purpose::Look,
            _ => Purpose::Change,
        },
        _ => Purpose::Look,
    }
}

/// Commands that go through the API.
async fn over(reach: &Reach, command: Command, setting: &Setting) -> Result<u8, Failure> {
    let answer = setting.answer;
    // Audit, doctor and status work without a configuration; what follows from one does not.
    if !matches!(command, Command::Audit(_) | Command::Doctor { .. } | Command::Status) {
        reach.require_configuration()?;
    }
    match command {
        Command::Route(route) => route::run(reach, answer, route).await,
        Command::Agents(agents) => agents::run(reach, answer, agents).await,
        Command::Context(context) => context::run(reach, answer, context).await,
        Command::Tools(tools) => tools::run(reach, answer, tools).await,
        Command::Explain(question) => explain::run(reach, answer, question).await,
        Command::Mcp(mcp) => mcp::run(reach, setting, mcp).await,
        Command::Audit(audit) => audit::run(reach, setting, audit).await,
        Command::Chat(chat) => crate::chat::run(reach, setting, chat).await,
        Command::Acp(acp) => crate::acp::run(reach, setting, acp).await,
        Command::Sessions(sessions) => sessions::run(reach, setting, sessions).await,
        Command::Turns(turns) => turns::run(reach, setting, turns).await,
        Command::Memory(memory) => memory::run(reach, answer, memory).await,
        Command::Approvals(approvals) => approvals::run(reach, answer, approvals).await,
        Command::Files(files) => files::run(reach, answer, files).await,
        Command::Deliveries(command) => deliveries::run(reach, answer, command).await,
        Command::Cron(command) => cron::run(reach, answer, command).await,
        Command::Board(command) => board::run(reach, setting, command).await,
        Command::Pairing(pairing) => pairing::run(reach, answer, pairing).await,
        Command::Token(token) => token::run(reach, answer, token).await,
        Command::Secret(secret) => secret::run(reach, answer, secret).await,
        Command::Skills(command) => skills::run(setting, reach, answer, command).await,
        Command::Usage(usage) => usage::run(reach, answer, usage).await,
        Command::Status => system::status(reach, answer).await,
        Command::Open { print } => open::run(reach, answer, print).await,
        Command::Reload => system::reload(reach, answer).await,
        Command::Doctor { paid } => system::doctor(reach, answer, paid).await,
        Command::Up(_)
        | Command::Run(_)
        | Command::Check(_)
        | Command::Policies(_)
        | Command::Import(_)
        | Command::Init(_)
        | Command::Channels(_)
        | Command::Model(_)
        | Command::Logs(_)
        | Command::Stop
        | Command::Restart
        | Command::Service(_)
        | Command::Backup(_)
        | Command::Restore(_)
        | Command::Config(_)
        | Command::Completions { .. }
        | Command::Manual { .. } => Ok(0),
    }
}

fn home(arguments: &Arguments, environment: &Environment) -> Result<PathBuf, Failure> {
    match &arguments.home {
        Some(home) if !home.as_os_str().is_empty() => return Ok(home.clone()),
        // Such as by a variable of a script that was never set.
        Some(_) if names_home() => {
            return Err(Failure::WrongUse("the home folder has an empty name".to_owned()));
        }
        _ => {}
    }
    bare_home(&environment.variables)
        .ok_or_else(|| Failure::WrongUse("there is no HOME; say where with --home".to_owned()))
}

/// What an agent is called, where that is another text than its id.
pub fn name_beside(agent: &Value) -> String {
    let name = agent["name"].as_str().filter(|name| agent["id"] != **name);
    name.unwrap_or_default().to_owned()
}

/// The text of a field, or a dash.
fn text(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The items of a list on one line.
fn list(value: &Value) -> String {
    let items: Vec<String> = value.as_array().into_iter().flatten().map(flat).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// A value on one line, without the punctuation of JSON where none is needed.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(_) => list(value),
        Value::Object(fields) => {
            let parts = fields.iter().filter(|(_, value)| !value.is_null());
            let parts: Vec<String> =
                parts.map(|(key, value)| format!("{key} {}", flat(value))).collect();
            if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
        }
        other => other.to_string(),
    }
}
