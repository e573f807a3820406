//! Memory and process counts over a whole tree, in cgroups of either version, where this
//! process may make them.
#![expect(
    clippy::disallowed_methods,
    reason = "the owner of the sandbox's cgroups, which are folders and files"
)]

use crate::spec::ChildLimits;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Below the daemon's own cgroup; the process id tells whose it is.
const PREFIX: &str = "insula-";

/// Where groups can be made.
pub(crate) struct Hierarchies {
    memory: Result<Hierarchy, String>,
    pids: Result<Hierarchy, String>,
    next: AtomicU64,
    own_id: u32,
}

#[derive(Clone, PartialEq, Eq)]
struct Hierarchy {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Hierarchies {
    /// Finds them by making a group in each and removing it again.
    pub(crate) fn find() -> Self {
        let own_id = std::process::id();
        let find = |controller: &str, files: [&str; 2]| -> Result<Hierarchy, String> {
            let hierarchy = locate(controller).map_err(|error| error.to_string())?;
            sweep(&hierarchy.folder);
            let probe = hierarchy.folder.join(format!("{PREFIX}{own_id}-probe-{controller}"));
            let file = if hierarchy.version == Version::One { files[0] } else { files[1] };
            let tried = fs::create_dir(&probe).and_then(|()| {
                let written = fs::write(probe.join(file), "67108864");
                fs::remove_dir(&probe)?;
                written
            });
            let place = hierarchy.folder.display();
            tried.map_err(|error| format!("no group can be made in {place}: {error}"))?;
            Ok(hierarchy)
        };
        Self {
            memory: find("memory", ["memory.limit_in_bytes", "memory.max"]),
            pids: find("pids", ["pids.max", "pids.max"]),
            next: AtomicU64::new(0),
            own_id,
        }
    }

    /// Why memory can't be counted, if it can't.
    pub(crate) fn memory_fault(&self) -> Option<&str> {
        self.memory.as_ref().err().map(String::as_str)
    }

    /// Why processes can't be counted, if they can't.
    pub(crate) fn pids_fault(&self) -> Option<&str> {
        self.pids.as_ref().err().map(String::as_str)
    }

    /// Makes a group with these limits. `None` where none can be had.
    pub(crate) fn make(&self, limits: &ChildLimits) -> Option<Group> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", self.own_id);
        let place = |hierarchy: &Hierarchy| Hierarchy {
            folder: hierarchy.folder.join(&name),
            version: hierarchy.version,
        };
        let memory = self.memory.as_ref().ok().map(place).filter(|own| {
            let files: &[(&str, u64)] = match own.version {
                Version::One => &[("memory.limit_in_bytes", limits.memory_bytes)],
                Version::Two => &[("memory.max", limits.memory_bytes), ("memory.swap.max", 0)],
            };
            own.make(files)
        });
        // The two helpers are in the group too.
        let pids = self.pids.as_ref().ok().map(place);
        let pids = pids.filter(|own| own.make(&[("pids.max", limits.processes + 2)]));
        let group = Group { memory, pids };
        (group.memory.is_some() || group.pids.is_some()).then_some(group)
    }
}

impl Hierarchy {
    fn make(&self, files: &[(&str, u64)]) -> bool {
        match fs::create_dir(&self.folder) {
            Ok(()) => {}
            // The other controller's group, in the one hierarchy of the second version.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return false,
        }
        let Some(((first, limit), others)) = files.split_first() else { return true };
        for (file, limit) in others {
            // A machine without swap has no file for it.
            drop(fs::write(self.folder.join(file), limit.to_string()));
        }
        fs::write(self.folder.join(first), limit.to_string()).is_ok()
    }
}

/// A group of one child.
pub(crate) struct Group {
    memory: Option<Hierarchy>,
    pids: Option<Hierarchy>,
}

impl Group {
    /// Whether memory is counted.
    pub(crate) fn counts_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Puts a process into it, and so all it will start, as far as it can't join by itself.
    pub(crate) fn add(&self, process: u32) -> io::Result<()> {
        let members = self.memory.iter().chain(&self.pids);
        for own in members.filter(|own| own.version == Version::Two) {
            fs::write(own.folder.join("cgroup.procs"), process.to_string())?;
        }
        Ok(())
    }

    /// Files a process with one thread can write itself into. To move another process, the
    /// kernel stops all forks on the machine for some milliseconds; to move the one thread that
    /// asks for it, it need not. Only the first version lets a thread ask.
    pub(crate) fn entrances(&self) -> Vec<OsString> {
        let members = self.memory.iter().chain(&self.pids);
        let members = members.filter(|own| own.version == Version::One);
        members.map(|own| own.folder.join("tasks").into()).collect()
    }

    /// Whether the kernel ended a process inside for want of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.memory.as_ref().is_some_and(|own| {
            let file = match own.version {
                Version::One => "memory.oom_control",
                Version::Two => "memory.events",
            };
            count(&own.folder.join(file), "oom_kill") > 0
        })
    }

    /// Whether a process inside could not be started for want of a number.
    pub(crate) fn ran_out_of_processes(&self) -> bool {
        self.pids.as_ref().is_some_and(|own| count(&own.folder.join("pids.events"), "max") > 0)
    }

    /// Removes it; `false` if something is still inside.
    pub(crate) fn remove(&self) -> bool {
        let stays = |own: &&Hierarchy| match fs::remove_dir(&own.folder) {
            Ok(()) => false,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        self.memory.iter().chain(&self.pids).filter(stays).count() == 0
    }
}

fn count(file: &Path, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let value =
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0)
}

/// The folder of this process's own group under a controller.
fn locate(controller: &str) -> io::Result<Hierarchy> {
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let mount = |kind: &str, option: Option<&str>| {
        mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (point, found, options) = (fields.next()?, fields.next()?, fields.next()?);
            let has = option.is_none_or(|option| options.split(',').any(|has| has == option));
            (found == kind && has).then(|| PathBuf::from(point))
        })
    };
    let path = |wanted: &dyn Fn(&str) -> bool| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let named = |controllers: &str| controllers.split(',').any(|one| one == controller);
    if let (Some(point), Some(path)) = (mount("cgroup", Some(controller)), path(&named)) {
        return Ok(Hierarchy { folder: point.join(path), version: Version::One });
    }
    let Some((point, path)) = mount("cgroup2", None).zip(path(&str::is_empty)) else {
        return Err(io::Error::other(format!(
            "no cgroup hierarchy with `{controller}` is mounted"
        )));
    };
    let folder = point.join(path);
    let switch = folder.join("cgroup.subtree_control");
    let delegated = |text: &str| text.split_whitespace().any(|one| one == controller);
    if !delegated(&fs::read_to_string(&switch)?)
        && let Err(error) = fs::write(&switch, format!("+{controller}"))
    {
        // A group hands controllers down only while no process is in it itself.
        if error.raw_os_error() != Some(libc::EBUSY) {
            return Err(io::Error::other(format!("{}: {error}", switch.display())));
        }
        let leaf = folder.join(format!("{PREFIX}daemon"));
        fs::create_dir_all(&leaf)?;
        fs::write(leaf.join("cgroup.procs"), std::process::id().to_string())?;
        fs::write(&switch, format!("+{controller}"))?;
    }
    Ok(Hierarchy { folder, version: Version::Two })
}

/// Removes what daemons left that no longer run.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let owner = owner.and_then(|owner| owner.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}
