//! Which places paths of a command line lead to, as far as their text says.

use super::rule::DangerRule::{self, HostPower, RemoteShell, SystemFile, WipeDisk, WipeSystem};
use super::word::{Word, is_in};

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
const DISKS: &str = "sd* hd* vd* xvd* nvme* mmcblk* disk* rdisk* dm-* md* mapper* loop* sr* mem* \
    kmem* pmem* nbd* ram* zram* block* bus* mtd*";
/// Files in a home folder that other programs obey.
const OBEYED: &str = ".ssh .gnupg .bashrc .bash_profile .bash_login .bash_logout .profile \
    .zshrc .zshenv .zprofile .kshrc .gitconfig .netrc .npmrc .pypirc .aws .kube .docker \
    .pam_environment .config/systemd .config/autostart .config/fish .config/git .cargo/config \
    .cargo/config.toml .cargo/credentials";

/// A path without detours. It begins with `/`, with `~` where it is in a home, and with `.` where
/// nobody knows; the root itself is empty.
fn tidy(text: &str, folder: Option<&str>) -> String {
    let text = text.strip_prefix("of=").unwrap_or(text);
    let home = ["$HOME", "${HOME}"].iter().find_map(|it| text.strip_prefix(it));
    let text = match home {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => text.to_owned(),
    };
    let whole = match folder {
        Some(folder) if !text.starts_with(['/', '~']) => format!("{folder}/{text}"),
        _ => text,
    };
    let is_home = whole.starts_with('~');
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/').skip(is_home.into()) {
        match part {
            "" | "." => {}
            // Which folder a way up leads to is not known; it may be the home.
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let start = match parts[..] {
        _ if is_home => "~",
        ["home" | "Users", _, ..] if whole.starts_with('/') => {
            parts.drain(..2);
            "~"
        }
        _ if whole.starts_with('/') => "",
        _ => ".",
    };
    parts.insert(0, start);
    parts.join("/")
}

/// Where `cd` leads with these arguments; `None` where nobody knows.
pub(super) fn entered(args: &[Word], folder: Option<&str>) -> Option<String> {
    let Some(to) = args.iter().find(|arg| !arg.text.starts_with('-')) else {
        return args.is_empty().then(|| "~".to_owned());
    };
    let path = tidy(&to.text, folder);
    let is_known = !to.is_pattern && !path.starts_with('.') && !path.contains('$');
    (is_known && path.len() <= FOLDER_BYTES_MAX).then_some(path)
}

/// The rule against writing there; for the whole system or home, the one against deleting it.
pub(super) fn rule(word: &Word, folder: Option<&str>) -> Option<DangerRule> {
    let path = tidy(&word.text, folder);
    let parts: Vec<&str> = path.split('/').collect();
    let is_pattern = |part: &str| word.is_pattern && part.contains(['*', '?', '[']);
    match parts[..] {
        ["", "dev", "tcp" | "udp", ..] => Some(RemoteShell),
        ["", "proc", "sysrq-trigger"] => Some(HostPower),
        ["", "dev", name, ..] if is_in(DEVICES, name) => None,
        ["", "dev", name, ..] if is_in(DISKS, name) => Some(WipeDisk),
        [""] | ["~"] => Some(WipeSystem),
        ["~", all] if is_pattern(all) && !all.contains(char::is_alphanumeric) => Some(WipeSystem),
        ["", one] if is_in(TOP, one) || is_pattern(one) => Some(WipeSystem),
        ["", one, two] if is_in(TOP, one) && is_pattern(two) => Some(WipeSystem),
        ["", ..] => is_below(&path, SYSTEM).then_some(SystemFile),
        _ => {
            let is_hook = path.contains("/.git/hooks/") || path.ends_with("/authorized_keys");
            let below = path.get(2..).unwrap_or_default();
            (is_hook || is_below(below, OBEYED)).then_some(SystemFile)
        }
    }
}

/// Whether a path is one of these, or below it.
fn is_below(path: &str, list: &str) -> bool {
    let mut rest = list.split_whitespace().filter_map(|it| path.strip_prefix(it));
    rest.any(|rest| rest.is_empty() || rest.starts_with('/'))
}
