//! `insula up`: opens the home, serves, follows edits and signals, and ends in order.

use crate::agent_log::AgentLayer;
use crate::failure::Failure;
use crate::hints::{Started, hints, home_flag};
use crate::reach::{Occupied, Running, SOCKET, occupied};
use crate::setting::{Answer, Setting};
use crate::{logging, moved, otlp, output, process, supervisor};
use insula_adapters::Makers;
use insula_api::{Api, LocalOwner};
use insula_capabilities::{Capabilities, Opened};
use insula_channel::Accounts;
use insula_config::{Diagnostic, FindingOwner, LoadReport, starter};
use insula_gateway::{Connections, Gateway};
use insula_http::{AdminToken, Listening, Platforms, Server};
use insula_models::Transport;
use insula_owner::Messaging;
use insula_registry::daemon::Purpose;
use insula_registry::home::FileMode;
use insula_registry::unread::{Reader, unread_souls};
use insula_registry::watch::{ConfigWatch, Method};
use insula_registry::{Actor, Daemon, Front, Home, Parts, RuntimeError};
use insula_turns::Engine;
use insula_vault::Secret;
use insula_world::{Listener, LocalListener, World};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How long requests under way may take to end after the daemon was told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// When an edit is tried again that something other than its content kept from applying.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How often unused databases are looked for.
const TIDY_EVERY: Duration = Duration::from_secs(15);

/// What `insula up` was told.
pub struct Options {
    /// Where to listen instead of what the configuration says.
    pub listen: Option<std::net::SocketAddr>,
    /// Whether edits apply as files change.
    pub follow: Follow,
    /// For whom it runs, where that is one command and not everybody.
    pub guest: Option<Guest>,
}

/// A command that has a daemon of its own: it connects to no platform, runs nothing by the clock
/// and goes on with nothing that was begun before.
pub struct Guest {
    /// Told when it serves.
    pub ready: oneshot::Sender<()>,
    /// Ends it.
    pub stop: CancellationToken,
}

/// Whether edits apply as files change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// They do.
    Files,
    /// Only when somebody asks.
    Requests,
}

/// Why the daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was told to stop.
    Stopped,
    /// It was told to begin anew.
    Again,
}

/// Runs until told to stop.
pub async fn run(setting: &Setting, options: Options) -> Result<Ended, Failure> {
    // From the first moment: a signal that comes while the daemon is opened is not lost, and
    // does not end the process by its default.
    let mut signals = Signals::listen()?;
    let home = setting.home.clone();
    home.prepare()?;
    let lock = match occupied(&home, &setting.world).await? {
        Occupied::Free(lock) => lock,
        Occupied::Daemon(running) => return Err(already_running(&home, running)),
    };
    let is_new = furnish(&home)?;
    process::raise_descriptor_limit();
    // Before anything is read: an edit under way is then known to be one.
    let watch = watch(&home, options.follow);
    let variables = setting.environment.variables.clone();
    let world = setting.world.clone();
    let opened = Capabilities::open(home.clone(), lock, world, variables, Purpose::Serve).await?;
    let Opened { daemon, parts, capabilities } = &opened;
    let snapshot = parts.registry.snapshot();
    let user_home = setting.environment.variables.get("HOME").map(String::as_str);
    let agents = AgentLayer {
        logs: parts.logs.clone(),
        secrets: parts.secrets.clone(),
        clock: parts.world.clock.clone(),
    };
    let transport = Transport::new(&setting.world, &[])
        .map_err(|error| Failure::Failed(format!("TLS can't be set up: {error}")))?;
    let collector = snapshot.daemon.logging.otlp.as_deref();
    let spans = collector.map(|to| otlp::pair(&setting.world, transport.clone(), to));
    let (layer, exporter) = spans.transpose().map_err(Failure::Failed)?.unzip();
    let mut log = snapshot.daemon.logging.clone();
    if options.guest.is_some() {
        log.level = "warn".into();
    }
    logging::start(&log, user_home, parts.secrets.clone(), agents, layer)?;
    daemon.log_trouble();
    capabilities.warn_of_void_grants().await;
    let wanted = options.listen.unwrap_or(snapshot.daemon.listen);
    let listener = listen(&setting.world, wanted).await?;
    let address = listener.local_addr()?;
    let listening = Listening { pid: setting.environment.pid, address };
    let admin = AdminToken::generate(&setting.world);
    daemon.conceal(Secret::new(admin.reveal())).await;
    home.write(&home.admin_token_file(), admin.reveal().as_bytes(), FileMode::Private)?;
    let local = local_listener(&home);
    let socket = local.as_ref().map(|_| SOCKET);
    let about = json!({ "pid": listening.pid, "listen": address.to_string(), "socket": socket, "restarts": true });
    home.write(&home.daemon_file(), about.to_string().as_bytes(), FileMode::Private)?;
    let copied = moved::note_place(&home)?;
    if let Some(copied) = &copied {
        tracing::warn!("{copied}");
    }
    if options.guest.is_none() {
        welcome(&opened, &listening, copied, is_new, setting, options.follow);
    }
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "others on the network can reach this address; use a tunnel or a proxy that authenticates");
    }

    let makers = Arc::new(Makers::new(setting.world.clone(), transport.clone()));
    let engine = Engine::new(&opened, transport);
    if options.guest.is_none() {
        engine.resume().await.map_err(|error| Failure::Failed(error.to_string()))?;
    }
    let stop = CancellationToken::new();
    // After the turns that a crash cut off: what is said now comes after what was said then.
    let front = Front::of(parts);
    let accounts = Connections::new(front.clone(), makers.clone());
    let outbound: Arc<dyn Accounts> = accounts.clone();
    makers.connect(&outbound);
    let messaging = Messaging::new(&opened, engine.clone(), outbound);
    let api = Api::new(&opened, Some(engine.clone()));
    let owner = LocalOwner::new(api, Some(messaging.clone()));
    let gateway = Gateway::new(front, accounts, owner.clone());
    let platforms = Platforms { gateway: Some(gateway.clone()), makers: Some(makers) };
    let mut server = Server::new(&opened, owner, admin);
    (server.listening, server.platforms) = (Some(listening), platforms);
    server.gauntlet.programs = Some(process::gauntlet(&setting.environment.program));
    let router = insula_http::router(server);
    let commands = local.map(|local| {
        let (router, world) = (router.clone(), setting.world.clone());
        tokio::spawn(insula_http::serve_local(local, router, world, stop.clone()))
    });
    let server =
        tokio::spawn(insula_http::serve(listener, router, setting.world.clone(), stop.clone()));
    let talking = {
        let (stop, is_for_all) = (stop.clone(), options.guest.is_none());
        tokio::spawn(async move {
            if is_for_all {
                tokio::join!(gateway.run(stop.clone()), messaging.run(stop));
            }
        })
    };
    let exporter = exporter.map(|it| tokio::spawn(it.run(stop.clone())));
    let tidy = tokio::spawn(tidy(parts.clone(), stop.clone()));
    let old = {
        let (engine, stop) = (engine.clone(), stop.clone());
        tokio::spawn(async move { engine.keep_to_time(stop).await })
    };
    let logs = {
        let (logs, stop) = (parts.logs.clone(), stop.clone());
        tokio::spawn(async move { logs.run(stop).await })
    };
    let databases = {
        let (daemon, stop) = (daemon.clone(), stop.clone());
        tokio::spawn(async move { stop.run_until_cancelled(daemon.watch_databases()).await })
    };
    let follow = tokio::spawn(follow(daemon.clone(), parts.clone(), watch, stop.clone()));
    tracing::info!(address = %address, "ready");
    supervisor::ready(&format!("http://{address}, {} agents", snapshot.agents.len()));
    let life = tokio::spawn(supervisor::show_life(setting.world.clone(), stop.clone()));
    let is_for_all = options.guest.is_none();
    if is_for_all {
        parts.lives.begin(&parts.registry.snapshot());
    }
    let guest_leaves = match options.guest {
        Some(Guest { ready, stop }) => {
            // Who waits no longer has stopped it, too.
            let _ = ready.send(());
            stop
        }
        None => CancellationToken::new(),
    };

    let (name, ended) = loop {
        let action = tokio::select! {
            action = signals.next() => action,
            () = guest_leaves.cancelled() => SignalAction::End("the task is over", Ended::Stopped),
        };
        match action {
            SignalAction::Reload => {
                reload(daemon, &Actor::Signal).await;
            }
            SignalAction::End(name, ended) => break (name, ended),
        }
    };
    tracing::info!(signal = name, "stopping");
    match ended {
        Ended::Stopped => supervisor::stopping(),
        Ended::Again => supervisor::starting_again(),
    }
    // While accounts are still connected.
    if is_for_all {
        parts.lives.end(&parts.registry.snapshot()).await;
    }
    stop.cancel();
    // Streams of events have no end of their own to wait for.
    parts.registry.hub.close();
    let served = async {
        let served = server.await.is_ok();
        match commands {
            Some(commands) => commands.await.is_ok() && served,
            None => served,
        }
    };
    let drained = tokio::select! {
        drained = served => drained,
        () = setting.world.clock.sleep(DRAIN) => false,
    };
    if !drained {
        tracing::warn!("requests under way were cut off");
    }
    // All end at once when told to stop; a reload under way is finished first.
    let _ = tokio::join!(tidy, old, databases, follow, talking, logs, life);
    engine.settle().await;
    home.remove(&home.daemon_file())?;
    home.remove(&home.run().join(SOCKET))?;
    home.remove(&home.admin_token_file())?;
    daemon.close().await?;
    tracing::info!("stopped");
    if let Some(exporter) = exporter {
        let _ = exporter.await;
    }
    parts.logs.flush().await;
    Ok(ended)
}

/// Writes the first configuration into a home that has none; whether it did. A start that was
/// killed half-way leaves a mark, and the next one writes the rest.
pub fn furnish(home: &Home) -> Result<bool, Failure> {
    let mark = home.root().join("run").join("first-run");
    if !home.is_new() && home.read(&mark)?.is_none() {
        return Ok(false);
    }
    home.write(&mark, b"", FileMode::Private)?;
    for (path, text) in starter::files() {
        let path = home.root().join(path);
        if home.read(&path)?.is_none() {
            home.write_new(&path, text.as_bytes())?;
        }
    }
    home.remove(&mark)?;
    Ok(true)
}

/// The socket of the command line. Where there can be none, commands go by the listener.
fn local_listener(home: &Home) -> Option<LocalListener> {
    let local = LocalListener::open(&home.run(), SOCKET);
    let told = |error: &std::io::Error| {
        tracing::warn!(%error, "commands have no socket of their own here and share the listener with everybody");
    };
    local.inspect_err(told).ok()
}

fn already_running(home: &Home, Running { pid, listen, .. }: Running) -> Failure {
    Failure::Failed(format!(
        "another daemon (pid {pid}, at {listen}) already works in {}; stop it, or use another --home",
        home.root().display()
    ))
}

async fn listen(
    world: &World,
    address: std::net::SocketAddr,
) -> Result<Box<dyn Listener>, Failure> {
    world.network.listen(address).await.map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "is in use; give another with --listen or `listen` in config.yaml, or port 0 for any"
                    .to_owned()
            }
            _ => format!("can't be listened on: {error}"),
        };
        Failure::Failed(format!("{address} {what}"))
    })
}

fn welcome(
    opened: &Opened,
    listening: &Listening,
    copied: Option<String>,
    is_new: bool,
    setting: &Setting,
    follow: Follow,
) {
    let parts = &opened.parts;
    let snapshot = parts.registry.snapshot();
    let mut missing = missing(&opened.daemon.report());
    let user_home = setting.environment.variables.get("HOME").map(String::as_str);
    let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
    let unread = unread_souls(&parts.home, user_home, contexts.map(|it| Reader::from(&**it)));
    missing.extend(unread.into_iter().chain(copied).map(|what| (what, None)));
    let names = |state: &str| {
        let those = snapshot.agents.iter().filter(|(_, entry)| entry.state.as_str() == state);
        those.map(|(id, _)| id.to_string()).collect::<Vec<_>>()
    };
    let root = parts.home.root().display();
    let ready = names("ready");
    let mut facts = vec![
        ("home", format!("{root}{}", if is_new { " (new)" } else { "" })),
        ("address", format!("http://{}", listening.address)),
        ("ready", shortened(&ready)),
    ];
    let failed = names("failed");
    if setting.answer == Answer::Json {
        let about = json!({
            "home": root.to_string(),
            "new": is_new,
            "pid": listening.pid,
            "listen": listening.address.to_string(),
            "ready": ready,
            "failed": failed,
            "missing": missing.iter().map(|(what, help)| json!({ "what": what, "help": help })).collect::<Vec<_>>(),
        });
        return output::announce(&format!("{about}\n"));
    }
    if !failed.is_empty() {
        facts.push(("failed", format!("{}; `insula check` says why", shortened(&failed))));
    }
    let first = ready.iter().find(|id| *id == "coder").or(ready.first());
    let accounts: Vec<(&str, &str)> = snapshot
        .daemon
        .accounts
        .iter()
        .map(|it| (it.platform.as_str(), it.name.as_str()))
        .collect();
    let defaults = snapshot.router.defaults();
    let hints = hints(&Started {
        home: &home_flag(parts.home.root(), &setting.environment.variables),
        agent: first.map(String::as_str),
        has_default: defaults.cli.is_some() || defaults.everywhere.is_some(),
        accounts: &accounts,
    });
    let mut text = output::heading_text(&format!("insula {}", env!("CARGO_PKG_VERSION")));
    text += &output::facts_text(&facts);
    text += &missing_text(&missing);
    text += "\nIn another terminal:\n";
    text += &output::pairs_text(&hints);
    let applies = match follow {
        Follow::Files => "changes apply while it runs",
        Follow::Requests => "`insula reload` applies changes",
    };
    text += &output::text_block(&format!("\nEdit {root}/config.yaml; {applies}. Ctrl-C stops."));
    output::announce(&text);
}

/// What the configuration lacks, and what mends it: said before somebody's first message finds out.
fn missing(report: &LoadReport) -> Vec<(String, Option<String>)> {
    // Of an agent with errors it is said that it failed.
    let is_of_all = |found: &&Diagnostic| !matches!(found.owner, FindingOwner::Agent(_));
    let errors = report.errors().filter(is_of_all);
    errors.chain(report.warnings()).map(|it| (it.message.clone(), it.help.clone())).collect()
}

fn missing_text(missing: &[(String, Option<String>)]) -> String {
    const SHOWN: usize = 12;
    if missing.is_empty() {
        return String::new();
    }
    let mut text = "\nStill missing (`insula check` shows where):\n".to_owned();
    for (what, help) in missing.iter().take(SHOWN) {
        text += &output::text_block(&format!("  - {what}"));
        if let Some(help) = help {
            text += &output::text_block(&format!("    {help}"));
        }
    }
    if let Some(more) = missing.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("  … and {more} more\n");
    }
    text
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names {
        [] => "none".to_owned(),
        names if names.len() <= SHOWN => names.join(", "),
        names => format!("{} and {} more", names[..SHOWN].join(", "), names.len() - SHOWN),
    }
}

/// How a reload that was asked for by nobody in particular ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    /// It was applied, or refused for what it says.
    Yes,
    /// Something else was in the way, as a full disk: the same files may apply later.
    NotYet,
}

async fn reload(daemon: &Daemon, actor: &Actor) -> Settled {
    match daemon.reload(None, actor).await {
        Ok(_) => Settled::Yes,
        Err(RuntimeError::Configuration(report)) => {
            for found in report.errors().skip(1) {
                let place = report.sources.describe(found.span);
                tracing::error!(%place, error = found.message, "also wrong");
            }
            Settled::Yes
        }
        Err(_) => Settled::NotYet,
    }
}

/// Begins to watch the files, where edits are to apply as files change.
fn watch(home: &Home, follow: Follow) -> Option<ConfigWatch> {
    (follow == Follow::Files).then(|| ConfigWatch::start(home))
}

/// Applies edits as files change.
async fn follow(
    daemon: Arc<Daemon>,
    parts: Parts,
    watch: Option<ConfigWatch>,
    stop: CancellationToken,
) {
    let Some(mut watch) = watch else { return };
    if watch.method() == Method::Polled {
        tracing::warn!("files can't be watched here and are looked at every few seconds");
    }
    let mut settled = Settled::Yes;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = watch.changed(&parts.world) => {}
            () = parts.world.clock.sleep(RETRY_AFTER), if settled == Settled::NotYet => {}
        }
        // Watched before it is read: what is written into a new folder meanwhile shows.
        if let Err(error) = watch.cover(&parts.home) {
            tracing::warn!(%error, "a folder can't be watched; `insula reload` applies its edits");
        }
        settled = reload(&daemon, &Actor::FileWatch).await;
    }
}

/// Closes databases that nobody used for a while.
async fn tidy(parts: Parts, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = parts.world.clock.sleep(TIDY_EVERY) => {}
        }
        parts.store.close_idle(parts.registry.snapshot().daemon.store.idle_close).await;
    }
}

enum SignalAction {
    Reload,
    End(&'static str, Ended),
}

struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
    /// What `insula restart` sends.
    again: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            again: signal(SignalKind::user_defined2())?,
        })
    }

    async fn next(&mut self) -> SignalAction {
        tokio::select! {
            _ = self.hangup.recv() => SignalAction::Reload,
            _ = self.interrupt.recv() => SignalAction::End("SIGINT", Ended::Stopped),
            _ = self.terminate.recv() => SignalAction::End("SIGTERM", Ended::Stopped),
            _ = self.again.recv() => SignalAction::End("SIGUSR2", Ended::Again),
        }
    }
}
