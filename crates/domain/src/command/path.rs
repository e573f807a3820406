//! Which places paths of a command line lead to, as far as their text says.

use super::lexer::Word;
use std::rc::Rc;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
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

/// Longest folder that is followed: no real path is longer than a few of these.
const FOLDER_BYTES_MAX: usize = 1_024;
/// Folders right below the root that are the system's or hold everybody's data.
const TOP: &str = "bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv \
    sys usr var System Users Library";
/// Folders whose files are the system's.
const SYSTEM: &str = "/bin /boot /dev /etc /lib /lib32 /lib64 /proc /root /sbin /sys /usr \
    /var/spool/cron /var/lib /run/systemd";
/// Devices that are no disks and may be written to.
const DEVICES: &str = "null zero full random urandom tty stdin stdout stderr ptmx fd pts shm";
/// How names of disks begin.
const DISKS: &str = "sd hd vd xvd nvme mmcblk disk rdisk dm- md mapper loop sr mem kmem pmem \
    nbd ram zram block bus mtd";
/// Files in a home folder that other programs obey.
const OBEYED: &str = ".ssh .gnupg .bashrc .bash_profile .bash_login .bash_logout .profile \
    .zshrc .zshenv .zprofile .kshrc .gitconfig .netrc .npmrc .pypirc .aws .kube .docker \
    .pam_environment .config/systemd .config/autostart .config/fish .config/git .cargo/config \
    .cargo/config.toml .cargo/credentials";

/// A path without detours: absolute, from home (`~`), or as it is.
fn tidy(text: &str, folder: Option<&str>) -> String {
    let whole = match folder {
        Some(folder) if !text.starts_with(['/', '~']) => format!("{folder}/{text}"),
        _ => text.to_owned(),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            // Which folder a way up leads to is not known; it may be the home.
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let start = if whole.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}

/// A path as written, from home where it begins there.
fn written(word: &Word) -> String {
    let from_home = ["$HOME", "${HOME}"].iter().find_map(|it| word.text.strip_prefix(it));
    match from_home.filter(|_| word.is_home) {
        Some(rest) => format!("~{rest}"),
        // A name that only looks like the home.
        None if word.text.starts_with('~') && !word.is_home => format!("./{}", word.text),
        None => word.text.clone(),
    }
}

/// Where `cd` leads with these arguments; `None` where nobody knows.
pub(super) fn entered(words: &[Word], folder: Option<&str>) -> Option<Rc<str>> {
    let Some(to) = words.iter().find(|word| !word.text.starts_with('-')) else {
        return words.is_empty().then(|| Rc::from("~"));
    };
    let path = tidy(&written(to), folder);
    let is_known = to.plain().is_some() || to.is_home && !path.contains('$');
    let is_absolute = path.starts_with(['/', '~']) && path.len() <= FOLDER_BYTES_MAX;
    (is_known && is_absolute).then(|| path.into())
}

/// Where a word leads.
pub(super) fn place(word: &Word, folder: Option<&str>) -> PathKind {
    if word.text.starts_with("/dev/tcp/") || word.text.starts_with("/dev/udp/") {
        return PathKind::Socket;
    }
    let path = tidy(&written(word), folder);
    let is_pattern = |part: &str| word.is_pattern && part.contains(['*', '?', '[']);
    if let Some(below) = path.strip_prefix('/') {
        let place = absolute(&path, below, is_pattern);
        // What a variable leads to is not known to be all of it.
        let is_part = place == PathKind::Whole && path.contains('$') && !word.is_literal;
        return if is_part { PathKind::Ordinary } else { place };
    }
    match path.strip_prefix('~').map(|it| it.split_once('/').map_or("", |(_, rest)| rest)) {
        Some("" | "*" | ".*") => PathKind::Whole,
        Some(rest) => obeyed(rest),
        None => obeyed(path.strip_prefix("./").unwrap_or(&path)),
    }
}

fn absolute(path: &str, below: &str, is_pattern: impl Fn(&str) -> bool) -> PathKind {
    let is_top = |name: &str| TOP.split_whitespace().any(|it| it == name);
    let parts: Vec<&str> = below.split('/').collect();
    match parts[..] {
        ["proc", "sysrq-trigger"] => PathKind::Switch,
        ["dev", name, ..] if DEVICES.split(' ').any(|it| it == name) => PathKind::Ordinary,
        ["dev", name, ..] if DISKS.split_whitespace().any(|it| name.starts_with(it)) => {
            PathKind::Disk
        }
        [""] => PathKind::Whole,
        [one] if is_top(one) || is_pattern(one) => PathKind::Whole,
        [one, two] if is_top(one) && is_pattern(two) => PathKind::Whole,
        ["home" | "Users", _] => PathKind::Whole,
        ["home" | "Users", _, file] if is_pattern(file) => PathKind::Whole,
        ["home" | "Users", _, ..] => obeyed(below.splitn(3, '/').last().unwrap_or_default()),
        _ if SYSTEM.split_whitespace().any(|it| is_below(path, it)) => PathKind::System,
        _ => PathKind::Ordinary,
    }
}

/// Whether a path is this one, or below it.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn obeyed(path: &str) -> PathKind {
    let hook = path.contains(".git/hooks/") || path.ends_with("authorized_keys");
    let is_obeyed = hook || OBEYED.split_whitespace().any(|it| is_below(path, it));
    if is_obeyed { PathKind::System } else { PathKind::Ordinary }
}
