//! Which places paths of a command line lead to, as far as their text says.

use super::word::Arg;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing in particular.
    Ordinary,
    /// A disk or a part of one.
    Disk,
    /// The root, a folder of the system at the top, all of home, or everything in one of them.
    Whole,
    /// A file of the system, of a shell's start, or of keys.
    System,
    /// A connection that a shell makes of a path.
    Socket,
    /// The switch that stops or restarts the machine at once.
    Switch,
}

/// Folders right below the root that are the system's or hold everybody's data.
const TOP: &[&str] = &[
    "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc",
    "root", "run", "sbin", "srv", "sys", "usr", "var", "System", "Users", "Library",
];
/// Folders whose files are the system's.
const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/root",
    "/sbin",
    "/sys",
    "/usr",
    "/var/spool/cron",
    "/var/lib",
    "/run/systemd",
];
/// Devices that are no disks and may be written to.
const DEVICES: &[&str] = &[
    "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "ptmx", "fd",
    "pts", "shm",
];
/// How names of disks begin.
const DISKS: &[&str] = &[
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "md", "mapper", "loop",
    "sr", "mem", "kmem", "pmem", "nbd", "ram", "zram", "block", "bus", "mtd",
];
/// Files in a home folder that other programs obey.
const OBEYED: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".kshrc",
    ".gitconfig",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".aws",
    ".kube",
    ".docker",
    ".pam_environment",
    ".config/systemd",
    ".config/autostart",
    ".config/fish",
    ".config/git",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/credentials",
];

/// A path without detours: absolute, from home (`~`), or as it is.
pub(super) fn tidy(text: &str, folder: Option<&str>) -> String {
    let whole = match folder {
        Some(folder) if !text.starts_with(['/', '~']) => format!("{folder}/{text}"),
        _ => text.to_owned(),
    };
    let (start, rest) = match whole.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", &*whole),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            // Which folder a way up leads to is not known; it may be the home.
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("{start}{}", parts.join("/"))
}

/// Whether a path leads to what is open already, such as standard input.
pub(super) fn is_handle(text: &str) -> bool {
    let path = if text.starts_with('/') { tidy(text, None) } else { return false };
    path == "/dev/stdin"
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/") && path.contains("/fd/")
}

/// Where an argument leads.
pub(super) fn place(arg: &Arg, folder: Option<&str>) -> Place {
    if arg.text.starts_with("/dev/tcp/") || arg.text.starts_with("/dev/udp/") {
        return Place::Socket;
    }
    let path = tidy(&arg.text, folder);
    let parts: Vec<&str> = path.split('/').skip(usize::from(path.starts_with('/'))).collect();
    if path.starts_with('/') {
        absolute(&path, &parts, arg)
    } else if path.starts_with('~') || path.starts_with("$HOME") {
        home(&parts[1..], arg)
    } else {
        obeyed(&path)
    }
}

fn absolute(path: &str, parts: &[&str], arg: &Arg) -> Place {
    let is_pattern = |part: &str| arg.is_glob && part.contains(['*', '?', '[']);
    let first = parts.first().copied().unwrap_or_default();
    if path == "/proc/sysrq-trigger" {
        return Place::Switch;
    }
    if first == "dev" && parts.len() > 1 {
        let name = parts[1];
        return match () {
            () if DEVICES.contains(&name) => Place::Ordinary,
            () if DISKS.iter().any(|disk| name.starts_with(disk)) => Place::Disk,
            () if is_pattern(name) => Place::Whole,
            () => Place::System,
        };
    }
    if !arg.is_known {
        return if is_system(path) { Place::System } else { Place::Ordinary };
    }
    match parts {
        [] | [""] => Place::Whole,
        [one] if TOP.contains(one) || is_pattern(one) => Place::Whole,
        ["home" | "Users", rest @ ..] if rest.len() > 1 && !is_pattern(rest[1]) => {
            obeyed(&rest[1..].join("/"))
        }
        [one, two] if TOP.contains(one) && is_pattern(two) => Place::Whole,
        ["home" | "Users", _] | ["home" | "Users", _, _] => Place::Whole,
        _ if is_system(path) => Place::System,
        _ => Place::Ordinary,
    }
}

/// Whether it is a folder of the system, or below one.
fn is_system(path: &str) -> bool {
    let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
    SYSTEM.iter().any(|system| path.strip_prefix(system).is_some_and(below))
}

/// Below a home folder.
fn home(parts: &[&str], arg: &Arg) -> Place {
    match parts {
        [] if arg.is_known => Place::Whole,
        [one] if arg.is_known && (*one == "*" || *one == ".*") => Place::Whole,
        _ => obeyed(&parts.join("/")),
    }
}

fn obeyed(path: &str) -> Place {
    let is = |file: &str| {
        path.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let hook = path.contains(".git/hooks/") || path.ends_with("authorized_keys");
    if hook || OBEYED.iter().any(|file| is(file)) { Place::System } else { Place::Ordinary }
}
