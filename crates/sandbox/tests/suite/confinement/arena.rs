//! A host with things worth reaching, and a confined process that has a grant for one folder.

use insula_sandbox::{
    ChildLimits, Error, Finished, Helper, Hidden, HostUser, Output, Priority, Sandbox, Spec, Stdin,
    give_to,
};
use insula_testkit::attempts::PRELUDE;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// In every file, process and socket that must stay out of reach.
pub const CANARY: &str = "CANARY-7f1c9a";

/// The user of the child when the tests run as root.
pub const OWNER: HostUser = HostUser { uid: 231_001, gid: 231_001 };

/// Things on the host, and the folder of a child.
pub struct Arena {
    pub sandbox: Sandbox,
    /// What the child is granted to write.
    pub workspace: PathBuf,
    /// What the child is granted to read.
    pub shared: PathBuf,
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    _victim: Victim,
    _sockets: Sockets,
}

struct Victim(std::process::Child);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

struct Sockets {
    _tcp: std::net::TcpListener,
    _udp: std::net::UdpSocket,
    _inherited: std::fs::File,
    _unix: [UnixListener; 3],
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

pub fn helper() -> Helper {
    // The run as an ordinary user brings copies along, since it may not reach the originals.
    let here = std::env::var_os("INSULA_CONFINE");
    Helper::at(here.unwrap_or_else(|| env!("CARGO_BIN_EXE_insula-confine").into()))
}

pub fn sandbox() -> Sandbox {
    sandbox_hiding(Hidden::default())
}

pub fn sandbox_hiding(hidden: Hidden) -> Sandbox {
    let world = insula_world::World::real().unwrap();
    Sandbox::new(world.clock.clone(), helper(), hidden).unwrap()
}

impl Arena {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let [workspace, shared, other, home] = ["workspace", "shared", "other", "home"].map(make);
        // Open to everyone, so that only the sandbox can be what refuses.
        for path in [&root, &shared, &other, &home] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        let write = |path: &Path| {
            std::fs::write(path, CANARY).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666)).unwrap();
        };
        let secret = other.join("secret.txt");
        let config = home.join("config.yaml");
        let marker = root.join("marker");
        write(&secret);
        write(&config);
        write(&marker);
        std::fs::write(shared.join("readable"), "for everyone").unwrap();
        std::os::unix::fs::symlink(&secret, shared.join("escape")).unwrap();
        std::os::unix::fs::symlink("../other", shared.join("escape-folder")).unwrap();
        if is_root() {
            give_to(&workspace, OWNER).unwrap();
        }

        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let name = format!("insula-{}", root.file_name().unwrap().display());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let beside = other.join("socket");
        let within = workspace.join("socket");
        let unix = [
            UnixListener::bind_addr(&address).unwrap(),
            UnixListener::bind(&beside).unwrap(),
            UnixListener::bind(&within).unwrap(),
        ];
        for path in [&beside, &within] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        // A descriptor that the daemon forgot to mark: it must not come along.
        let inherited = std::fs::File::open(&secret).unwrap();
        rustix::io::fcntl_setfd(inherited.as_fd(), rustix::io::FdFlags::empty()).unwrap();
        let victim = std::process::Command::new("/bin/sleep")
            .arg("1000")
            .env_clear()
            .env("SECRET", CANARY)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();

        let show = |path: &Path| path.to_str().unwrap().to_owned();
        let variables = [
            ("WORKSPACE", show(&workspace)),
            ("SHARED", show(&shared)),
            ("OTHER", show(&other)),
            ("SECRET_FILE", show(&secret)),
            ("CONFIG", show(&config)),
            ("MARKER", show(&marker)),
            ("TCP_PORT", tcp.local_addr().unwrap().port().to_string()),
            ("UDP_PORT", udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
            ("SOCKET_BESIDE", show(&beside)),
            ("SOCKET_WITHIN", show(&within)),
            ("VICTIM", victim.id().to_string()),
            ("DAEMON", std::process::id().to_string()),
            ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("UP", "../other/secret.txt".to_owned()),
            ("UP_FROM_SHARED", "../other/secret.txt".to_owned()),
            ("FIRST_DESCRIPTOR", "3".to_owned()),
            ("FILE_MB", "16".to_owned()),
            ("TMP_MB", "8".to_owned()),
        ];
        let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
        let given = ("GIVEN", format!("{} GIVEN LC_CTYPE", names.join(" ")));
        Self {
            sandbox: sandbox(),
            workspace,
            shared,
            folder,
            variables: variables
                .into_iter()
                .chain([given])
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            _victim: Victim(victim),
            _sockets: Sockets { _tcp: tcp, _udp: udp, _inherited: inherited, _unix: unix },
        }
    }

    /// A spec with the folder, its limits low enough to be reached quickly.
    pub fn spec(&self, program: &str, args: &[&str]) -> Spec {
        let mut spec = Spec::new(program);
        spec.args = args.iter().map(|arg| arg.into()).collect();
        spec.env = self.variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        spec.cwd = self.workspace.clone();
        spec.reads = vec![self.shared.clone()];
        spec.writes = vec![self.workspace.clone()];
        spec.executes = vec![self.workspace.clone()];
        spec.tmp.bytes_max = 8 << 20;
        spec.tmp.files_max = 512;
        spec.limits = ChildLimits {
            memory_bytes: 256 << 20,
            processes: 32,
            file_bytes: 16 << 20,
            descriptors: 64,
            cpu_time: Duration::from_secs(60),
            wall_clock: Some(Duration::from_secs(90)),
            output_bytes: 64 << 10,
        };
        spec.stdin = Stdin::Null;
        spec.output = Output::Capture;
        spec.owner = Some(OWNER);
        // The default would let other work on the machine decide how long the tests take.
        spec.priority = Priority::Normal;
        spec
    }

    pub fn shell(&self, script: &str) -> Spec {
        self.spec("/bin/sh", &["-c", script])
    }

    /// A script in Python, after the prelude.
    pub fn python(&self, script: &str) -> Spec {
        let script = format!("{PRELUDE}\n{script}\n");
        self.spec("/usr/bin/python3", &["-I", "-c", &script])
    }

    /// The same script without a sandbox, as a control.
    pub fn unconfined(&self, script: &str) -> Option<i32> {
        let script = format!("{PRELUDE}\n{script}\n");
        let status = std::process::Command::new("/usr/bin/python3")
            .args(["-I", "-c", &script])
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.workspace)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        status.code()
    }

    pub async fn run(&self, spec: Spec) -> Result<Finished, Error> {
        self.sandbox.spawn(spec).await?.finish().await
    }

    /// A place on the host beside the folder.
    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name.as_ref())
    }

    /// Whether everything outside is as it was.
    pub fn is_undisturbed(&mut self) -> bool {
        let untouched = |path: &str| std::fs::read(self.path(path)).unwrap() == CANARY.as_bytes();
        let alone = std::fs::read_dir(self.path("other")).unwrap().count() == 2;
        untouched("other/secret.txt")
            && untouched("home/config.yaml")
            && alone
            && !self.path("made").exists()
            && self._victim.0.try_wait().unwrap().is_none()
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
