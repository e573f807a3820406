//! The homeserver's process and its files.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this file owns the homeserver that a test starts: its process, folder and port"
)]

use super::person::Person;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest it may take to listen, on a busy machine.
const READY_MAX: Duration = Duration::from_secs(90);
/// What it says when it listens.
const READY: &str = "now listening on TCP port";
/// Where ports are looked for: below those that the system gives to clients, so that nobody
/// takes the port while the server is restarted.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Who may register users.
const SHARED_SECRET: &str = "tests";

/// Registers users as the operator of a homeserver does, and prints who they are.
const REGISTER: &str = r#"
import hashlib, hmac, json, sys, urllib.request
base, secret, *users = sys.argv[1:]
url = base + "/_synapse/admin/v1/register"
def ask(body=None):
    data = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(url, data))
made = []
for user in users:
    nonce = ask()["nonce"]
    text = "\0".join([nonce, user, "password", "notadmin"])
    mac = hmac.new(secret.encode(), text.encode(), hashlib.sha1).hexdigest()
    made.append(ask({"nonce": nonce, "username": user, "password": "password", "admin": False, "mac": mac}))
print(json.dumps(made))
"#;

/// A homeserver. Killed on drop, and its files are gone.
pub struct Synapse {
    python: PathBuf,
    folder: TempDir,
    port: u16,
    child: Option<Child>,
    log: Arc<Mutex<String>>,
}

impl Synapse {
    /// Starts a new homeserver, with no users and generous limits.
    pub fn start() -> io::Result<Self> {
        Self::start_with("")
    }

    /// The same with further lines of its configuration; they win over ours.
    pub fn start_with(settings: &str) -> io::Result<Self> {
        let python = installed()?;
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("insula-synapse-");
        // In memory where that can be: it flushes at every event, and no test is about its disk.
        let folder = folder.tempdir_in("/dev/shm").or_else(|_| folder.tempdir())?;
        let port = free_port()?;
        write_settings(folder.path(), port, settings)?;
        let mut server = Self { python, folder, port, child: None, log: Arc::default() };
        server.start_again()?;
        Ok(server)
    }

    /// Where it answers clients.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Registers users, each of whom can talk at once.
    ///
    /// # Panics
    /// When the server does not take them.
    pub fn people<const N: usize>(&self, names: [&str; N]) -> [Person; N] {
        let output = Command::new(&self.python)
            .args(["-c", REGISTER, &self.url(), SHARED_SECRET])
            .args(names)
            .stdin(Stdio::null())
            .output();
        let output = match output {
            Ok(output) if output.status.success() => output,
            other => panic!("users can't be registered: {other:?}; it wrote:\n{}", self.log()),
        };
        let made: Vec<serde_json::Value> =
            serde_json::from_slice(&output.stdout).unwrap_or_default();
        let word = |person: &serde_json::Value, key: &str| {
            person[key].as_str().unwrap_or_default().to_owned()
        };
        std::array::from_fn(|at| {
            let user = made.get(at).unwrap_or(&serde_json::Value::Null);
            Person::new(self.port, word(user, "user_id"), word(user, "access_token"))
        })
    }

    /// Stops it as an operator would, and waits until it has ended. Its files stay.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.ok_or(io::ErrorKind::InvalidInput)?, Signal::TERM)?;
        child.wait()?;
        Ok(())
    }

    /// Kills it as a power cut would. Its files stay.
    pub fn kill9(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Starts it again with the same files and at the same place.
    pub fn start_again(&mut self) -> io::Result<()> {
        let mut child = Command::new(&self.python)
            .args(["-m", "synapse.app.homeserver", "-c", "homeserver.yaml"])
            .current_dir(self.folder.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let (send, lines) = channel();
        if let Some(stderr) = child.stderr.take() {
            let log = self.log.clone();
            // Read to its end, so that it never blocks on a full pipe.
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                    log.push_str(&line);
                    log.push('\n');
                    let _ = send.send(line);
                }
            });
        }
        self.child = Some(child);
        self.wait_until_ready(&lines)
    }

    /// All it has written so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wait_until_ready(&self, lines: &Receiver<String>) -> io::Result<()> {
        let until = Instant::now() + READY_MAX;
        loop {
            match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(READY) => return Ok(()),
                Ok(_) => {}
                Err(why) => {
                    let what = match why {
                        RecvTimeoutError::Timeout => "does not listen",
                        RecvTimeoutError::Disconnected => "ended before it listened",
                    };
                    let wrote = self.log();
                    return Err(io::Error::other(format!("Synapse {what}; it wrote:\n{wrote}")));
                }
            }
        }
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        let _ = self.kill9();
    }
}

/// The Python that has Synapse.
fn installed() -> io::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/synapse");
    let mut command = Command::new(script);
    // A test is `<target>/<profile>/deps/<name>`, wherever the target folder is.
    let program = std::env::current_exe()?;
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("there is no homeserver to test with: {why}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Servers that this process has looked for a port for.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A port that nobody listens on. Tests run side by side, in processes and in threads: each
/// begins to look somewhere else.
fn free_port() -> io::Result<u16> {
    let len = u32::from(PORTS.end - PORTS.start);
    let own = STARTED.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_003);
    for attempt in 0..200 {
        let from = std::process::id().wrapping_mul(7_919).wrapping_add(own);
        let at = from.wrapping_add(attempt * 101) % len;
        let port = PORTS.start + u16::try_from(at).unwrap_or_default();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

fn write_settings(folder: &Path, port: u16, settings: &str) -> io::Result<()> {
    let generous = "{per_second: 100000, burst_count: 1000000}";
    let mut lines = vec![
        "server_name: localhost".to_owned(),
        "report_stats: false".to_owned(),
        format!(
            "listeners: [{{port: {port}, type: http, bind_addresses: [127.0.0.1], resources: [{{names: [client]}}]}}]"
        ),
        "database: {name: sqlite3, args: {database: homeserver.db}}".to_owned(),
        "media_store_path: media".to_owned(),
        "signing_key_path: signing.key".to_owned(),
        "log_config: log.yaml".to_owned(),
        "pid_file: synapse.pid".to_owned(),
        format!("registration_shared_secret: {SHARED_SECRET}"),
        "macaroon_secret_key: tests".to_owned(),
        "form_secret: tests".to_owned(),
        "trusted_key_servers: []".to_owned(),
        "federation_domain_whitelist: []".to_owned(),
        "presence: {enabled: false}".to_owned(),
        "bcrypt_rounds: 4".to_owned(),
        "max_upload_size: 1M".to_owned(),
        format!("rc_message: {generous}"),
        format!("rc_registration: {generous}"),
        format!(
            "rc_login: {{address: {generous}, account: {generous}, failed_attempts: {generous}}}"
        ),
        format!("rc_joins: {{local: {generous}, remote: {generous}}}"),
        format!("rc_joins_per_room: {generous}"),
        format!(
            "rc_invites: {{per_room: {generous}, per_user: {generous}, per_issuer: {generous}}}"
        ),
        format!("rc_room_creation: {generous}"),
        format!("rc_media_create: {generous}"),
        format!("rc_admin_redaction: {generous}"),
    ];
    // YAML takes no key twice: what a test sets replaces ours.
    let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let theirs: Vec<String> = settings.lines().map(key).collect();
    lines.retain(|line| !theirs.contains(&key(line)));
    lines.push(settings.to_owned());
    fs::write(folder.join("homeserver.yaml"), lines.join("\n"))?;
    fs::write(
        folder.join("log.yaml"),
        "version: 1\n\
         formatters: {line: {format: '%(name)s %(levelname)s %(message)s'}}\n\
         handlers: {out: {class: logging.StreamHandler, formatter: line}}\n\
         loggers: {synapse.app: {level: INFO}}\n\
         root: {level: WARNING, handlers: [out]}\n\
         disable_existing_loggers: false\n",
    )?;
    // Any 32 bytes are a key; nobody outside the test ever sees a signature by it.
    fs::write(
        folder.join("signing.key"),
        "ed25519 a_test AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n",
    )
}
