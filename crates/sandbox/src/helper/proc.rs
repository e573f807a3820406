//! A `/proc` that tells a child of its own processes and of nothing else.
//!
//! Most of the kernel's files there count over the whole machine, and so tell what others do:
//! load, free memory, open files, sockets, interrupts. Whatever is not about a process is
//! covered, by its name as it is found and not by a list: with a file that says the same to
//! everybody where programs expect one, with nothing elsewhere.

use super::mount::{self, BASE, attach, hold, place, way};
use super::start;
use crate::plan::{Facts, InnerPlan};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, OpenTreeFlags};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Room for the files that stand in for the kernel's.
const OPTIONS: &str = "size=2m,nr_inodes=256,mode=0755";

/// Stands for a file that says nothing.
const NO_FILE: &str = "no-file";

/// Stands for a folder with nothing in it.
const NO_FOLDER: &str = "no-folder";

/// A number that is another one at each look, and so can't be a file of ours.
const UUID: &str = "sys/kernel/random/uuid";

/// More processors than this are not listed.
const PROCESSORS_MAX: usize = 4096;

/// Of a processor, what differs between looks or between processors.
const NOT_TOLD: [&str; 5] = ["processor", "cpu MHz", "apicid", "initial apicid", "core id"];

/// Files of the kernel's network that count over all networks of the machine. What is not
/// listed here is closed.
const OF_THIS_NETWORK: [&str; 22] = [
    "arp",
    "dev",
    "dev_mcast",
    "fib_trie",
    "icmp",
    "icmp6",
    "if_inet6",
    "igmp",
    "igmp6",
    "ipv6_route",
    "netstat",
    "raw",
    "raw6",
    "route",
    "snmp",
    "snmp6",
    "tcp",
    "tcp6",
    "udp",
    "udp6",
    "unix",
    "wireless",
];

/// Reads what is told of the machine, which is the same for every child.
pub(crate) fn facts() -> Facts {
    let all = start::read("/proc/cpuinfo").unwrap_or_default();
    let first = all.split("\n\n").next().unwrap_or_default();
    let told = first.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default().trim();
        !NOT_TOLD.contains(&name)
    });
    let count = all.lines().filter(|line| line.starts_with("processor")).count();
    let statistics = start::read("/proc/stat").unwrap_or_default();
    let booted = statistics.lines().find_map(|line| line.strip_prefix("btime ")?.parse().ok());
    Facts {
        processor: told.collect::<Vec<_>>().join("\n"),
        processors: count.clamp(1, PROCESSORS_MAX),
        booted: booted.unwrap_or(0),
    }
}

/// Mounts it at its place in the new root.
pub(super) fn show(plan: &InnerPlan) -> rustix::io::Result<()> {
    let path = format!("{BASE}/proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount::memory(&path, flags, OPTIONS)?;
    let ours = hold(Path::new(&path))?;
    let files = files(plan);
    for (name, content) in &files {
        put(&ours, name, content.as_bytes())?;
    }
    place(&ours, Path::new(NO_FOLDER), true)?;
    // For all mounts of these files at once.
    rustix::mount::mount_remount(path.as_str(), flags | MountFlags::RDONLY, "")?;

    // Nothing below it can be written, nor have its rights changed.
    let closed = flags | MountFlags::RDONLY;
    rustix::mount::mount("proc", path.as_str(), "proc", closed, c"hidepid=invisible")?;
    let uuid = copy(&path, UUID)?;
    let listed = rustix::fs::openat(
        CWD,
        path.as_str(),
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    for entry in Dir::read_from(&listed)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let folder = match entry.file_type() {
            FileType::Directory => true,
            // The links lead to processes.
            FileType::Symlink => continue,
            _ => false,
        };
        if name == b"." || name == b".." || name.iter().all(u8::is_ascii_digit) {
            continue;
        }
        // Ours is a file of that name, or a folder with files in it.
        let is_ours = |(own, _): &(&str, String)| match folder {
            true => own.as_bytes().strip_prefix(name).is_some_and(|rest| rest.starts_with(b"/")),
            false => own.as_bytes() == name,
        };
        let instead = match (files.iter().any(is_ours), folder) {
            (true, _) => OsStr::from_bytes(name),
            (false, true) => OsStr::new(NO_FOLDER),
            (false, false) => OsStr::new(NO_FILE),
        };
        cover(&ours, &path, OsStr::from_bytes(name), instead)?;
    }
    if let Some(uuid) = uuid {
        attach(&uuid, &hold(&Path::new(&path).join(UUID))?)?;
    }
    Ok(())
}

/// Puts a file of ours, or nothing, over one of the kernel's.
fn cover(ours: &OwnedFd, path: &str, name: &OsStr, instead: &OsStr) -> rustix::io::Result<()> {
    let target = Path::new(path).join(name);
    match rustix::mount::mount_bind(Path::new(&way(ours)).join(instead), &target) {
        // What ends while we look is as good as covered.
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A file of the new `/proc`, to be mounted again.
fn copy(path: &str, name: &str) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    match rustix::mount::open_tree(CWD, Path::new(path).join(name), flags) {
        Ok(tree) => Ok(Some(tree)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn put(ours: &OwnedFd, name: &str, content: &[u8]) -> rustix::io::Result<()> {
    let path = Path::new(name);
    let folder = place(ours, path.parent().unwrap_or(Path::new("")), true)?;
    mount::write(&folder, path.file_name().unwrap_or_default(), content)
}

/// The files that programs expect, the same for all children of one agent at any time: sizes
/// are those of its limits, counts are nothing.
fn files(plan: &InnerPlan) -> Vec<(&'static str, String)> {
    let Facts { processor, processors, booted } = &plan.facts;
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let (system, release, version) =
        (text(name.sysname()), text(name.release()), text(name.version()));
    let each = |line: &dyn Fn(usize) -> String| (0..*processors).map(line).collect::<String>();
    let memory = plan.memory_bytes >> 10;
    let uptime = start::read("/proc/uptime").unwrap_or_default();
    let uptime = uptime.split(' ').next().unwrap_or("0.00").to_owned();
    let nothing = "0 0 0 0 0 0 0 0 0 0";
    let line = |value: &str| format!("{value}\n");
    vec![
        (NO_FILE, String::new()),
        (
            "cpuinfo",
            each(&|number| {
                format!("processor\t: {number}\n{processor}\ncore id\t\t: {number}\n\n")
            }),
        ),
        (
            "meminfo",
            format!(
                "MemTotal:       {memory:8} kB\nMemFree:        {memory:8} kB\nMemAvailable:   {memory:8} kB\nBuffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\nActive:                0 kB\nInactive:              0 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\nShmem:                 0 kB\nSlab:                  0 kB\nSReclaimable:          0 kB\nSUnreclaim:            0 kB\n"
            ),
        ),
        (
            "stat",
            format!(
                "cpu  {nothing}\n{}intr 0\nctxt 0\nbtime {booted}\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
                each(&|number| format!("cpu{number} {nothing}\n"))
            ),
        ),
        ("loadavg", line("0.00 0.00 0.00 1/1 1")),
        ("uptime", format!("{uptime} 0.00\n")),
        ("version", format!("{system} version {release} {version}\n")),
        (
            "filesystems",
            "nodev\tproc\nnodev\ttmpfs\nnodev\toverlay\n\text4\n\txfs\n\tbtrfs\n".to_owned(),
        ),
        ("swaps", line("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority")),
        (UUID, String::new()),
        ("sys/kernel/cap_last_cap", line("40")),
        ("sys/kernel/core_pattern", line("core")),
        ("sys/kernel/hostname", line("insula")),
        ("sys/kernel/ngroups_max", line("65536")),
        ("sys/kernel/osrelease", line(&release)),
        ("sys/kernel/ostype", line(&system)),
        ("sys/kernel/overflowgid", line("65534")),
        ("sys/kernel/overflowuid", line("65534")),
        ("sys/kernel/pid_max", line("4194304")),
        ("sys/kernel/threads-max", line(&plan.processes.to_string())),
        ("sys/kernel/version", line(&version)),
        ("sys/fs/file-max", line("9223372036854775807")),
        ("sys/fs/nr_open", line("1048576")),
        ("sys/fs/pipe-max-size", line("1048576")),
        ("sys/net/core/somaxconn", line("4096")),
        ("sys/net/ipv4/ip_local_port_range", line("32768\t60999")),
        ("sys/vm/max_map_count", line("65530")),
        ("sys/vm/mmap_min_addr", line("65536")),
        ("sys/vm/overcommit_memory", line("0")),
    ]
}

/// Closes what the files of a new network tell of all others, for good: whoever is inside has a
/// `/proc` in which no rights can be changed. To be called where the network is ours.
pub(super) fn close_network_counters() -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, "/proc/self/net", flags, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let bytes = name.to_bytes();
        let kept = OF_THIS_NETWORK.iter().any(|known| known.as_bytes() == bytes);
        if kept || bytes == b"." || bytes == b".." || entry.file_type() == FileType::Symlink {
            continue;
        }
        match rustix::fs::chmodat(&folder, name, Mode::empty(), rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_processor_is_the_same_at_every_look() {
        let facts = facts();
        assert!(facts.processors >= 1);
        for name in NOT_TOLD {
            let told = facts.processor.lines().any(|line| line.starts_with(name));
            assert!(!told, "{name} in {}", facts.processor);
        }
    }
}
