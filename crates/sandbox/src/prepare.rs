//! From what was asked for to what the helper does: a decision, without any doing.

use crate::egress;
use crate::error::Error;
use crate::plan::{Facts, Grant, InnerPlan, Layers};
use crate::probe::Machine;
use crate::spec::{Hidden, HostUser, Layer, Network, Priority, Spec, Stdin, Walls};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path};

/// Trees that are built for the child and never given from the host.
const NEVER_GRANTED: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// Where a program may be without a grant.
const OPEN: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

/// Which layers a child gets on this machine, or the required one that is missing.
pub(crate) fn layers(spec: &Spec, machine: &Machine) -> Result<Layers, Error> {
    let mut layers = Layers::default();
    if spec.walls == Walls::Down {
        return match spec.network {
            Network::None => Ok(layers),
            Network::Proxy { .. } => Err(Error::Spec(
                "without walls a child has the machine's own network, and no proxy".to_owned(),
            )),
        };
    }
    for layer in Layer::ALL {
        let fault = machine.fault(layer);
        if let Some(reason) = fault
            && layer.is_required()
            && !spec.optional.contains(&layer)
        {
            return Err(Error::Missing { layer, reason: reason.to_owned() });
        }
        let on = fault.is_none();
        match layer {
            Layer::UserNamespace => layers.user = on,
            Layer::PidNamespace => layers.pid = on,
            Layer::MountNamespace => layers.mount = on,
            Layer::NetworkNamespace => layers.network = on,
            Layer::IpcNamespace => layers.ipc = on,
            Layer::UtsNamespace => layers.uts = on,
            Layer::Landlock => layers.landlock = on,
            Layer::Seccomp => layers.seccomp = on,
            Layer::SystemView | Layer::OwnDevices | Layer::MemoryCgroup | Layer::PidsCgroup => {}
        }
    }
    if !layers.mount && !layers.landlock {
        return Err(Error::Spec(
            "neither a private root nor Landlock can be had, so nothing would keep the child from the host's files; not even `sandbox.optional` allows that".to_owned(),
        ));
    }
    if let Network::Proxy { .. } = spec.network
        && !layers.network
    {
        return Err(Error::Spec(
            "`network.allow` needs a network namespace, since Landlock knows ports and not addresses; without one a child gets no network".to_owned(),
        ));
    }
    Ok(layers)
}

/// The ids a child runs as, and whether they are others than the daemon's.
pub(crate) fn owner(spec: &Spec, machine: &Machine) -> Result<(HostUser, bool), Error> {
    // A user that owns nothing could not even enter the daemon's home without the walls.
    if !machine.is_root() || spec.walls == Walls::Down {
        return Ok((machine.owner(), false));
    }
    match spec.owner {
        Some(owner) if owner.uid != 0 && owner.gid != 0 => Ok((owner, true)),
        Some(_) => Err(Error::Spec("a child must not run as user or group 0".to_owned())),
        None => Err(Error::Spec(
            "the daemon runs as root, so the spec must name a user for the child".to_owned(),
        )),
    }
}

/// Why a path is given to no child, whoever asks; `None` for one that can be.
pub fn never_granted(path: &Path) -> Option<&'static str> {
    if path == Path::new("/") {
        Some("the whole root is no grant")
    } else if NEVER_GRANTED.iter().any(|never| path.starts_with(never)) {
        Some("devices, sockets and the kernel's own files are never given")
    } else if path == Path::new("/tmp") {
        Some("a child has its own /tmp; grant a folder in it")
    } else {
        None
    }
}

/// What a plan says beside what its spec does.
pub(crate) struct Around<'a> {
    /// Which layers the child gets.
    pub(crate) layers: Layers,
    /// The ids it runs as, and whether they are others than the daemon's.
    pub(crate) owner: (HostUser, bool),
    /// Whether a cgroup counts its memory.
    pub(crate) counts_memory: bool,
    /// Whether it gets device nodes of its own.
    pub(crate) devices: bool,
    /// What it never sees.
    pub(crate) hidden: &'a Hidden,
    /// What it is told of the machine.
    pub(crate) facts: &'a Facts,
}

/// Why a path is not given, for what it would show; `None` for others.
fn shows_hidden(path: &Path, hidden: &Hidden) -> Option<&'static str> {
    if hidden.around.iter().any(|own| path == own) {
        Some("it is the daemon's home")
    } else if hidden.whole.iter().any(|own| path.starts_with(own)) {
        Some("the daemon's keys and sockets are there")
    } else {
        None
    }
}

/// Checks what the paths can be checked for without looking at the disk, and writes the plan.
pub(crate) fn plan(spec: &Spec, around: &Around<'_>) -> Result<InnerPlan, Error> {
    let Around { layers, owner: (owner, differs), counts_memory, .. } = *around;
    let begins = spec.begins.as_ref().map(|begins| &begins.path);
    for path in [&spec.program, &spec.cwd].into_iter().chain(&spec.executes).chain(begins) {
        check(path)?;
    }
    for path in spec.reads.iter().chain(&spec.writes) {
        check(path)?;
        if let Some(reason) = never_granted(path).or_else(|| shows_hidden(path, around.hidden)) {
            return Err(Error::Grant { path: path.clone(), reason: reason.to_owned() });
        }
    }
    let granted =
        |path: &Path| spec.reads.iter().chain(&spec.writes).any(|own| path.starts_with(own));
    let open = |path: &Path| {
        path == Path::new("/")
            || path == Path::new("/tmp")
            || OPEN.iter().any(|open| path.starts_with(open))
    };
    if !granted(&spec.cwd) && !open(&spec.cwd) {
        let cwd = spec.cwd.display();
        return Err(Error::Spec(format!("the working directory `{cwd}` is not granted; grant it")));
    }
    if !granted(&spec.program) && !open(&spec.program) {
        let program = spec.program.display();
        return Err(Error::Spec(format!(
            "the program `{program}` is not granted; grant its folder to read and execute"
        )));
    }

    let grant = |path: &std::path::PathBuf, write| Grant { path: path.clone().into(), write };
    let mut grants: Vec<Grant> = spec.writes.iter().map(|path| grant(path, true)).collect();
    let reads = spec.reads.iter().filter(|path| !spec.writes.contains(path));
    grants.extend(reads.map(|path| grant(path, false)));
    let mut unique: Vec<Grant> = vec![];
    for grant in grants {
        if !unique.contains(&grant) {
            unique.push(grant);
        }
    }

    let mut env = spec.env.clone();
    let mut proxy_port = None;
    if let Network::Proxy { port } = spec.network {
        proxy_port = Some(port);
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        env.extend(egress::environment(proxy).map(|(name, value)| (name.into(), value.into())));
    }
    Ok(InnerPlan {
        layers,
        program: spec.program.clone().into(),
        args: spec.args.clone(),
        env: env.into_iter().collect(),
        cwd: spec.cwd.clone().into(),
        begins: spec.begins.as_ref().map(|it| (it.path.clone().into(), it.identity)),
        grants: unique,
        executes: spec.executes.iter().map(|path| path.clone().into()).collect(),
        tmp_bytes: spec.tmp.bytes_max,
        tmp_files: spec.tmp.files_max,
        proxy_port,
        memory_bytes: spec.limits.memory_bytes,
        processes: spec.limits.processes,
        file_bytes: spec.limits.file_bytes,
        descriptors: spec.limits.descriptors,
        cpu_seconds: spec.limits.cpu_time.as_secs(),
        idle: spec.priority == Priority::Idle,
        watch_memory: !counts_memory && layers.pid,
        become_ids: differs.then_some((owner.uid, owner.gid)),
        ids: (owner.uid, owner.gid),
        stdin: spec.stdin != Stdin::Null,
        devices: around.devices,
        hidden_around: around.hidden.around.iter().map(|path| path.clone().into()).collect(),
        hidden_whole: around.hidden.whole.iter().map(|path| path.clone().into()).collect(),
        facts: around.facts.clone(),
    })
}

fn check(path: &Path) -> Result<(), Error> {
    let plain =
        path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && plain {
        return Ok(());
    }
    Err(Error::Spec(format!("`{}` is no absolute path without `.` and `..`", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::HostUser;

    fn missing(layer: Layer) -> Machine {
        Machine::pretend(HostUser { uid: 1000, gid: 1000 }, &[layer])
    }

    #[test]
    fn rule_04_a_required_layer_that_is_missing_refuses() {
        for layer in Layer::ALL {
            let mut spec = Spec::new("/bin/true");
            let decided = layers(&spec, &missing(layer));
            assert_eq!(decided.is_err(), layer.is_required(), "{layer}");
            if let Err(error) = decided {
                let text = error.to_string();
                assert!(text.contains(layer.name()) && text.contains("sandbox.optional"), "{text}");
            }
            spec.optional.insert(layer);
            assert!(layers(&spec, &missing(layer)).is_ok(), "{layer}");
        }
    }

    #[test]
    fn a_proxy_without_a_network_namespace_refuses_even_when_that_is_optional() {
        let mut spec = Spec::new("/bin/true");
        spec.optional.insert(Layer::NetworkNamespace);
        spec.network = Network::Proxy { port: 1 };
        let error = layers(&spec, &missing(Layer::NetworkNamespace)).unwrap_err();
        assert!(error.to_string().contains("network.allow"), "{error}");
    }

    #[test]
    fn walls_that_are_down_leave_no_layer_and_no_proxy() {
        let machine = Machine::pretend(HostUser { uid: 0, gid: 0 }, &[]);
        let mut spec = Spec::new("/bin/true");
        spec.walls = Walls::Down;
        let none = layers(&spec, &machine).unwrap();
        assert!(!none.user && !none.mount && !none.landlock && !none.seccomp && !none.network);
        assert!(owner(&spec, &machine).is_ok_and(|(_, differs)| !differs));
        spec.network = Network::Proxy { port: 1 };
        assert!(layers(&spec, &machine).is_err());
    }

    #[test]
    fn root_never_lends_its_own_id() {
        let root = Machine::pretend(HostUser { uid: 0, gid: 0 }, &[]);
        let mut spec = Spec::new("/bin/true");
        assert!(owner(&spec, &root).is_err());
        spec.owner = Some(HostUser { uid: 0, gid: 7 });
        assert!(owner(&spec, &root).is_err());
        spec.owner = Some(HostUser { uid: 7, gid: 7 });
        assert!(owner(&spec, &root).is_ok_and(|(owner, differs)| owner.uid == 7 && differs));
    }

    #[test]
    fn paths_that_can_not_be_granted_are_refused() {
        for path in
            ["/", "/proc", "/sys/fs", "/dev/mem", "/run/docker.sock", "/a/../b", "a", "/tmp"]
        {
            let mut spec = Spec::new("/bin/true");
            spec.reads.push(path.into());
            let machine = Machine::pretend(HostUser { uid: 7, gid: 7 }, &[]);
            assert!(planned(&spec, &machine).is_err(), "{path}");
        }
    }

    fn planned(spec: &Spec, machine: &Machine) -> Result<InnerPlan, Error> {
        let hidden = Hidden { around: vec!["/home/d".into()], whole: vec!["/home/d/vault".into()] };
        let around = Around {
            layers: layers(spec, machine)?,
            owner: owner(spec, machine)?,
            counts_memory: true,
            devices: false,
            hidden: &hidden,
            facts: machine.facts(),
        };
        plan(spec, &around)
    }

    #[test]
    fn the_home_and_its_keys_are_no_grant_and_a_workspace_in_it_is() {
        let machine = Machine::pretend(HostUser { uid: 7, gid: 7 }, &[]);
        for (path, is_given) in [
            ("/home/d", false),
            ("/home/d/vault", false),
            ("/home/d/vault/key", false),
            ("/home/d/agents/a/workspace", true),
            ("/home/d/vaults", true),
            ("/home", true),
        ] {
            let mut spec = Spec::new("/bin/true");
            spec.reads.push(path.into());
            assert_eq!(planned(&spec, &machine).is_ok(), is_given, "{path}");
        }
    }
}
