//! What single programs do that should be looked at: the table of dangerous acts.

mod git;
pub(super) mod output;
mod outward;
mod sed;

use super::judge::Case;
use super::path::{self, Place};
use super::rule::DangerRule;
use super::word::Arg;
use super::{Worst, escape, variable};

/// Judges a program that does something itself.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &*case.simple.source;
    let act = Act { rest, folder: case.folder() };
    let first = rest.iter().find(|arg| !arg.text.starts_with('-'));
    let verb = first.map(|arg| &*arg.text).unwrap_or_default();
    escape::judge(name, rest, case, worst);
    let mut add = |rule| worst.add(rule, source);
    output::judge(name, &act, &mut add);
    match name {
        "rm" | "unlink" | "shred" | "srm" | "rmdir" | "trash" => delete(name, &act, &mut add),
        "dd" => {
            for arg in rest {
                if let Some(to) = arg.text.strip_prefix("of=") {
                    act.written(&arg.but(to), &mut add);
                }
            }
        }
        "wipefs" | "blkdiscard" | "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "sgdisk" | "parted"
        | "partprobe" | "mkswap" | "mke2fs" | "cryptsetup" | "hdparm" | "badblocks" | "nvme"
        | "pvcreate" | "vgremove" | "lvremove" | "pvremove" | "mdadm" | "zpool" | "diskutil" => {
            let looks = act.has(&["-l", "--list", "print", "status", "list", "-n", "--no-act"]);
            match () {
                () if looks => {}
                () if act.any(Place::Disk) => add(DangerRule::WipeDisk),
                () => add(DangerRule::HostSettings),
            }
        }
        _ if name == "mkfs" || name.starts_with("mkfs.") => {
            let rule = if act.any(Place::Disk) { DangerRule::WipeDisk } else { DangerRule::Delete };
            add(rule);
        }
        "shutdown" | "reboot" | "halt" | "poweroff" | "telinit" | "kexec" | "pm-suspend" => {
            let looks = act.has(&["--help", "--version", "-c"]);
            if !looks {
                add(DangerRule::HostPower);
            }
        }
        "init" if matches!(verb, "0" | "1" | "6" | "s" | "S") => add(DangerRule::HostPower),
        "systemctl" | "loginctl" => system(verb, &mut add),
        "service" | "rc-service" | "initctl" | "launchctl" | "chkconfig" | "update-rc.d" => {
            if !rest.iter().any(|arg| matches!(&*arg.text, "status" | "list" | "--status-all")) {
                add(DangerRule::HostSettings);
            }
        }
        "crontab" if act.has(&["-l"]) => {}
        "crontab" | "at" | "batch" | "modprobe" | "insmod" | "rmmod" | "mount" | "umount"
        | "swapoff" | "swapon" | "losetup" | "ufw" | "iptables" | "ip6tables" | "nft"
        | "firewall-cmd" | "setenforce" | "useradd" | "userdel" | "usermod" | "adduser"
        | "deluser" | "groupadd" | "groupdel" | "passwd" | "chpasswd" | "chsh" | "visudo"
        | "vipw" | "hostnamectl" | "timedatectl" | "localectl" | "ldconfig" | "grub-install"
        | "update-grub" | "efibootmgr" | "apparmor_parser" | "auditctl" | "tc" => {
            // `mount` and its like with nothing to do only show.
            if !rest.is_empty() && !act.has(&["-L", "--list", "status"]) {
                add(DangerRule::HostSettings);
            }
        }
        "sysctl" if act.has(&["-w", "-p", "--system", "--write"]) || verb.contains('=') => {
            add(DangerRule::HostSettings);
        }
        "setcap" | "setfacl" | "chattr" | "capsh" | "newuidmap" | "newgidmap" | "newgrp" | "sg" => {
            add(DangerRule::Privilege);
        }
        "kill" => kill(rest, &mut add),
        "killall" | "pkill" | "killall5" | "skill" | "fuser" | "xkill" => {
            let is_quiet = name == "fuser" && !act.short('k') && !act.long("kill");
            match () {
                () if name == "killall5" => add(DangerRule::KillAll),
                () if is_quiet || act.has(&["-0", "-l"]) => {}
                () => add(DangerRule::Kill),
            }
        }
        "chmod" | "chown" | "chgrp" => permissions(name, &act, &mut add),
        "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "tee" | "truncate" | "touch"
        | "sponge" | "mkdir" | "tar" | "unzip" | "cpio" | "patch" | "mkfifo" | "mknod" | "ed"
        | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "fallocate" => {
            written(name, &act, &mut add)
        }
        "sed" | "gsed" => sed::judge(&act, case, worst),
        "git" | "hg" | "svn" | "jj" => git::judge(rest, case, worst),
        "nc" | "ncat" | "netcat" | "socat" | "telnet" | "cryptcat" => {
            let runs = act.short('e')
                || act.short('c')
                || act.long("exec")
                || act.long("sh-exec")
                || rest.iter().any(|arg| {
                    arg.text.to_ascii_uppercase().contains("EXEC:")
                        || arg.text.to_ascii_uppercase().contains("SYSTEM:")
                });
            let listens = act.short('l')
                || act.long("listen")
                || rest.iter().any(|arg| arg.text.contains("LISTEN"));
            if runs || listens {
                add(DangerRule::RemoteShell);
            }
        }
        "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlcmd" | "mongosh" | "mongo" | "redis-cli"
        | "clickhouse-client" | "duckdb" => {
            let texts = rest.iter().map(|arg| &*arg.text);
            let bodies = case
                .simple
                .bodies
                .iter()
                .map(|(body, _)| &**body)
                .chain(case.simple.feed.as_deref());
            if texts.chain(bodies).any(outward::destroys_data) {
                add(DangerRule::Database);
            }
        }
        "dropdb" | "dropuser" => add(DangerRule::Database),
        "mysqladmin" if act.has(&["drop", "shutdown"]) => add(DangerRule::Database),
        "export" | "declare" | "typeset" | "readonly" | "local" => {
            rest.iter().for_each(|arg| variable::said(arg, case, worst));
        }
        // What is moved into an archive is no more where it was.
        "zip" if act.short('m') || act.long("move") => {
            let recursive = act.short('r') || act.short('R') || act.long("recurse-paths");
            let wipes = recursive && rest.iter().any(|arg| is_whole(arg, act.folder));
            add(if wipes { DangerRule::WipeSystem } else { DangerRule::Delete });
        }
        "history" if act.short('c') => add(DangerRule::History),
        _ => outward::judge(name, verb, &act, &mut add),
    }
}

/// Arguments, and where they are read.
struct Act<'a> {
    rest: &'a [Arg],
    folder: Option<&'a str>,
}

impl Act<'_> {
    fn options(&self) -> impl Iterator<Item = &Arg> {
        self.rest.iter().take_while(|arg| arg.text != "--")
    }

    fn short(&self, letter: char) -> bool {
        let mut short = self.options().filter_map(|arg| arg.text.strip_prefix('-'));
        short.any(|it| !it.starts_with('-') && it.contains(letter))
    }

    /// Whether a long option is there, in full or as short as it may be.
    fn long(&self, name: &str) -> bool {
        let mut long = self.options().filter_map(|arg| arg.text.strip_prefix("--"));
        long.any(|it| !it.is_empty() && name.starts_with(it.split('=').next().unwrap_or(it)))
    }

    fn has(&self, words: &[&str]) -> bool {
        self.rest.iter().any(|arg| words.contains(&&*arg.text))
    }

    fn any(&self, place: Place) -> bool {
        self.rest.iter().any(|arg| path::place(arg, self.folder) == place)
    }

    /// Whether a word may stand for many files, or for each of many in turn.
    fn is_many(&self) -> bool {
        let is_open = |arg: &Arg| !arg.is_known && arg.is_open;
        let is_found = |arg: &Arg| arg.text.contains("{}");
        self.rest.iter().any(|arg| arg.is_glob || arg.is_many || is_open(arg) || is_found(arg))
    }

    /// Judges a file that is written to.
    fn written(&self, arg: &Arg, add: &mut impl FnMut(DangerRule)) {
        rule_of(arg, self.folder).into_iter().for_each(add);
    }
}

/// What stands against writing to a file.
pub(super) fn rule_of(arg: &Arg, folder: Option<&str>) -> Option<DangerRule> {
    match path::place(arg, folder) {
        Place::Disk => Some(DangerRule::WipeDisk),
        Place::Switch => Some(DangerRule::HostPower),
        Place::System | Place::Whole => Some(DangerRule::SystemFile),
        Place::Socket => Some(DangerRule::RemoteShell),
        Place::Ordinary => None,
    }
}

/// Whether an argument is the whole system, or the whole home.
pub(super) fn is_whole(arg: &Arg, folder: Option<&str>) -> bool {
    path::place(arg, folder) == Place::Whole
}

fn delete(name: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    let recursive = act.short('r') || act.short('R') || act.long("recursive");
    let wipes = recursive && act.rest.iter().any(|arg| is_whole(arg, act.folder));
    match () {
        () if act.any(Place::Disk) => add(DangerRule::WipeDisk),
        () if wipes || act.long("no-preserve-root") && recursive => add(DangerRule::WipeSystem),
        () if recursive || name == "shred" || name == "srm" => add(DangerRule::Delete),
        () if act.is_many() => add(DangerRule::Delete),
        () if act.any(Place::System) || act.any(Place::Whole) => add(DangerRule::SystemFile),
        () => {}
    }
}

fn system(verb: &str, add: &mut impl FnMut(DangerRule)) {
    match verb {
        "poweroff" | "reboot" | "halt" | "kexec" | "soft-reboot" | "suspend" | "hibernate"
        | "hybrid-sleep" | "rescue" | "emergency" | "exit" | "isolate" | "default" => {
            add(DangerRule::HostPower);
        }
        "" | "status" | "show" | "cat" | "help" => {}
        verb if verb.starts_with("list-")
            || verb.starts_with("is-")
            || verb.starts_with("get-") => {}
        _ => add(DangerRule::HostSettings),
    }
}

fn kill(rest: &[Arg], add: &mut impl FnMut(DangerRule)) {
    // The first word with a dash is a signal; another is a group, and `-1` is everybody.
    let (mut has_signal, mut takes_value) = (false, false);
    for arg in rest {
        // Whatever prints them, nobody has named them one by one.
        if arg.is_printed && !takes_value {
            add(DangerRule::Kill);
        }
        match &*arg.text {
            _ if takes_value => takes_value = false,
            "-s" | "-n" | "--signal" => (takes_value, has_signal) = (true, true),
            "-l" | "-L" | "--list" => return,
            "1" => add(DangerRule::KillAll),
            "-1" if has_signal => add(DangerRule::KillAll),
            // `--` too: what follows is no signal.
            text => has_signal |= text.starts_with('-'),
        }
    }
}

fn permissions(name: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    let recursive = act.short('R') || act.long("recursive");
    let wide = |text: &str| {
        let text = text.trim_start_matches('0');
        let is_number = text.chars().all(|it| it.is_digit(8));
        let everybody = text.ends_with(['2', '3', '6', '7']);
        let special = text.len() > 3;
        let symbols = text.split(',').any(|part| {
            part.split_once(['+', '=']).is_some_and(|(who, what)| {
                what.contains('w') && who.contains(['o', 'a']) || what.contains('s')
            })
        });
        is_number && (everybody || special) || symbols
    };
    // What begins with a dash is an option, or takes rights away; with a comma it may do both.
    let mode = act.rest.iter().find(|arg| !arg.text.starts_with('-') || arg.text.contains(','));
    match () {
        () if recursive && act.rest.iter().skip(1).any(|arg| is_whole(arg, act.folder)) => {
            add(DangerRule::WipeSystem);
        }
        () if recursive => add(DangerRule::Permissions),
        () if act.any(Place::System) || act.any(Place::Whole) || act.any(Place::Disk) => {
            add(DangerRule::SystemFile);
        }
        () if name != "chmod" => add(DangerRule::Permissions),
        () if mode.is_some_and(|mode| !mode.is_known || wide(&mode.text)) => {
            add(DangerRule::Permissions);
        }
        () => {}
    }
}

/// Programs that write files they are given.
fn written(name: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    let moves_whole = name == "mv" && act.rest.iter().any(|arg| is_whole(arg, act.folder));
    let last = act.rest.iter().rev().find(|arg| !arg.text.starts_with('-'));
    match name {
        _ if moves_whole => add(DangerRule::WipeSystem),
        // The last word is where these write to; the ones before are read.
        "cp" | "install" | "ln" | "rsync" | "scp" | "mv" => {
            last.into_iter().for_each(|arg| act.written(arg, add));
            if name == "mv" && act.any(Place::System) {
                add(DangerRule::SystemFile);
            }
            if name == "rsync"
                && act
                    .options()
                    .any(|arg| arg.text.starts_with("--delete") || arg.text.starts_with("--remove"))
            {
                add(DangerRule::Delete);
            }
            let target =
                act.rest.iter().find_map(|arg| arg.text.strip_prefix("--target-directory="));
            target.into_iter().for_each(|to| act.written(&Arg::known(to), add));
        }
        "tar" => {
            let runs = |arg: &Arg| {
                [
                    "--to-command",
                    "--checkpoint-action",
                    "--use-compress-program",
                    "-I",
                    "--info-script",
                    "--new-volume-script",
                    "--rsh-command",
                ]
                .iter()
                .any(|it| arg.text.starts_with(it))
            };
            if act.rest.iter().any(runs) {
                add(DangerRule::InlineCode);
            }
            if act.options().any(|arg| arg.text == "--remove-files") {
                add(DangerRule::Delete);
            }
        }
        "ed" | "ex" | "vi" | "vim" | "nvim" | "emacs" => {
            if act.rest.iter().any(|arg| {
                arg.text.contains('!') || arg.text.contains("system(") || arg.text.contains("shell")
            }) {
                add(DangerRule::InlineCode);
            }
        }
        _ => {
            act.rest.iter().for_each(|arg| act.written(arg, add));
            if name == "truncate" && act.is_many() {
                add(DangerRule::Delete);
            }
        }
    }
}
