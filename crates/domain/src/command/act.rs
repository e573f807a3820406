//! What single programs do that should be looked at: the table of dangerous acts.

use super::Worst;
use super::judge::{self, Case};
use super::path::{self, Place};
use super::rule::DangerRule;
use super::word::Arg;

/// Judges a program that does something itself.
pub(super) fn judge(name: &str, rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &*case.simple.source;
    let act = Act { rest, folder: case.folder() };
    let first = rest.iter().find(|arg| !arg.text.starts_with('-'));
    let verb = first.map(|arg| &*arg.text).unwrap_or_default();
    let mut add = |rule| worst.add(rule, source);
    match name {
        "rm" | "unlink" | "shred" | "srm" | "rmdir" | "trash" => delete(name, &act, &mut add),
        "dd" => {
            for arg in rest {
                if let Some(to) = arg.text.strip_prefix("of=") {
                    act.written(&Arg { text: to.to_owned(), ..arg.clone() }, &mut add);
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
        "sed" | "gsed" => {
            if act.short('i') || act.long("in-place") {
                rest.iter().for_each(|arg| act.written(arg, &mut add));
            }
            let runs = |arg: &Arg| {
                let text = arg.text.trim_end();
                text.starts_with("e ")
                    || text.starts_with("1e")
                    || (text.starts_with('s')
                        && text.ends_with(['e'])
                        && text.len() > 3
                        && !text.contains(char::is_whitespace)
                        && text.matches('/').count() == 3)
            };
            if rest.iter().any(runs) {
                add(DangerRule::InlineCode);
            }
        }
        "git" | "hg" | "svn" | "jj" => git(rest, case, worst),
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
        "curl" | "wget" => {
            for (at, arg) in rest.iter().enumerate() {
                if matches!(&*arg.text, "-o" | "-O" | "--output" | "--output-document")
                    && let Some(to) = rest.get(at + 1)
                {
                    act.written(to, &mut add);
                }
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
            if texts.chain(bodies).any(destroys_data) {
                add(DangerRule::Database);
            }
        }
        "dropdb" | "dropuser" => add(DangerRule::Database),
        "mysqladmin" if act.has(&["drop", "shutdown"]) => add(DangerRule::Database),
        "export" | "declare" | "typeset" | "readonly" | "local" => {
            rest.iter().for_each(|arg| environment(&arg.text, case, worst));
        }
        "history" if act.short('c') => add(DangerRule::History),
        _ => tools(name, verb, &act, &mut add),
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

    fn is_open(&self) -> bool {
        self.rest.iter().any(|arg| !arg.is_known && arg.is_open)
    }

    /// Judges a file that is written to.
    fn written(&self, arg: &Arg, add: &mut impl FnMut(DangerRule)) {
        match path::place(arg, self.folder) {
            Place::Disk => add(DangerRule::WipeDisk),
            Place::Switch => add(DangerRule::HostPower),
            Place::System | Place::Whole => add(DangerRule::SystemFile),
            Place::Socket => add(DangerRule::RemoteShell),
            Place::Ordinary => {}
        }
    }
}

/// Whether an argument is the whole system, or the whole home.
pub(super) fn is_whole(arg: &Arg, folder: Option<&str>) -> bool {
    let is_here = folder.is_some() && matches!(&*arg.text, "*" | "." | "./" | "./*" | ".*");
    let arg = if is_here { Arg { text: ".".to_owned(), ..arg.clone() } } else { arg.clone() };
    path::place(&arg, folder) == Place::Whole
}

fn delete(name: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    let recursive = act.short('r') || act.short('R') || act.long("recursive");
    let wipes = recursive && act.rest.iter().any(|arg| is_whole(arg, act.folder));
    match () {
        () if act.any(Place::Disk) => add(DangerRule::WipeDisk),
        () if wipes || act.long("no-preserve-root") && recursive => add(DangerRule::WipeSystem),
        () if recursive || name == "shred" || name == "srm" => add(DangerRule::Delete),
        () if act.rest.iter().any(|arg| arg.is_glob) || act.is_open() => add(DangerRule::Delete),
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
    let mut ids = rest.iter();
    // The first word with a dash is a signal; another is a group, and `-1` is everybody.
    let mut signals = 0;
    let mut takes_value = false;
    for arg in ids.by_ref() {
        let text = &*arg.text;
        if takes_value {
            takes_value = false;
        } else if matches!(text, "-s" | "-n" | "--signal") {
            (takes_value, signals) = (true, signals + 1);
        } else if matches!(text, "-l" | "-L" | "--list") {
            return;
        } else if text == "--" {
        } else if text.starts_with('-') && signals == 0 {
            signals += 1;
        } else if text == "-1" || text == "1" || text == "0" && signals > 1 {
            add(DangerRule::KillAll);
        } else if !arg.is_known && arg.is_open && text.is_empty() {
            // A process of its own, most likely, kept in a variable: `kill $pid`.
        }
    }
}

fn permissions(name: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    let recursive = act.short('R') || act.long("recursive");
    let wide = |text: &str| {
        let text = text.trim_start_matches('0');
        let is_number = text.len() >= 3 && text.chars().all(|it| it.is_digit(8));
        let everybody = text.ends_with(['2', '3', '6', '7']);
        let special = text.len() > 3;
        let symbols = text.contains("+s")
            || text.contains("=s")
            || text.split(',').any(|part| {
                part.split_once(['+', '=']).is_some_and(|(who, what)| {
                    what.contains('w') && (who.contains('o') || who.contains('a'))
                        || what.contains('s')
                })
            });
        is_number && (everybody || special) || symbols
    };
    let mode = act.rest.iter().find(|arg| !arg.text.starts_with('-') || arg.text.len() > 8);
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
        _ => act.rest.iter().for_each(|arg| act.written(arg, add)),
    }
}

fn git(rest: &[Arg], case: &Case<'_>, worst: &mut Worst) {
    let source = &*case.simple.source;
    let (mut at, mut rule) = (0, None);
    while let Some(arg) = rest.get(at).filter(|arg| arg.text.starts_with('-')) {
        let takes_value = matches!(
            &*arg.text,
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--exec-path"
                | "--config-env"
                | "--namespace"
        );
        if let Some(setting) = rest.get(at + 1).filter(|_| arg.text == "-c") {
            let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
            let key = key.to_ascii_lowercase();
            let runs = [
                "alias.",
                "command",
                "pager",
                "editor",
                "hook",
                "helper",
                "external",
                "filter",
                "askpass",
                "textconv",
                "fsmonitor",
            ];
            if runs.iter().any(|it| key.contains(it)) {
                rule = Some(DangerRule::InlineCode);
                judge::script(value.trim_start_matches('!'), case.around.inside(), worst);
            }
        }
        at += 1 + usize::from(takes_value);
    }
    let verb = rest.get(at).map(|arg| &*arg.text).unwrap_or_default();
    let rest = rest.get(at + 1..).unwrap_or_default();
    let act = Act { rest, folder: None };
    let is = |words: &[&str]| act.has(words);
    let found = match verb {
        "push" => {
            act.short('f')
                || act.long("force")
                || act.long("force-with-lease")
                || act.short('d')
                || act.long("delete")
                || act.long("mirror")
                || act.long("prune")
                || rest.iter().any(|arg| arg.text.starts_with(['+', ':']))
        }
        "reset" => act.long("hard") || act.long("merge") || act.long("keep"),
        "clean" => (act.short('f') || act.long("force")) && !act.short('n') && !act.long("dry-run"),
        "branch" => act.short('D') || (act.long("delete") && act.long("force")),
        "tag" => act.short('d') || act.long("delete"),
        "checkout" | "switch" => act.short('f') || act.long("force") || is(&["."]) || is(&["--"]),
        "restore" => !act.long("staged") || act.long("worktree"),
        "stash" => is(&["drop", "clear"]),
        "filter-branch" | "filter-repo" | "prune" => true,
        "reflog" => is(&["expire", "delete"]),
        "gc" => rest.iter().any(|arg| arg.text.starts_with("--prune")),
        "update-ref" | "worktree" => is(&["-d", "remove"]),
        "rebase" => {
            let mut texts = rest.windows(2).filter(|it| matches!(&*it[0].text, "-x" | "--exec"));
            texts.by_ref().for_each(|it| judge::script(&it[1].text, case.around.inside(), worst));
            false
        }
        "submodule" if is(&["foreach"]) => {
            let words: Vec<&str> = rest
                .iter()
                .skip(1)
                .map(|arg| &*arg.text)
                .filter(|it| !it.starts_with("--"))
                .collect();
            judge::script(&words.join(" "), case.around.inside(), worst);
            false
        }
        "bisect" if is(&["run"]) => {
            let around = case.around.inside();
            judge::command(&case.with(rest.get(1..).unwrap_or_default(), &around), worst);
            false
        }
        "config" => {
            let runs = rest.iter().any(|arg| {
                arg.text.contains("alias.")
                    || arg.text.contains("Command")
                    || arg.text.contains("hooksPath")
                    || arg.text.contains("pager")
                    || arg.text.contains("editor")
            });
            rule = rule.or((runs && rest.len() > 1).then_some(DangerRule::InlineCode));
            false
        }
        _ => false,
    };
    let rule = if found { Some(DangerRule::History) } else { rule };
    rule.into_iter().for_each(|rule| worst.add(rule, source));
}

/// A variable that is set for a command, or from now on.
pub(super) fn environment(text: &str, case: &Case<'_>, worst: &mut Worst) {
    if let Some((name, value)) = text.split_once('=') {
        judge::preloaded(name, Some(value), case.around, &case.simple.source, worst);
    }
}

fn destroys_data(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let pair = |first: &str, second: &[&str]| {
        words
            .windows(2)
            .any(|it| it[0].ends_with(first) && second.iter().any(|s| it[1].starts_with(s)))
    };
    let whole_delete = pair("delete", &["from"]) && !words.contains(&"where");
    pair(
        "drop",
        &["table", "database", "schema", "view", "index", "user", "role", "column", "collection"],
    ) || words.iter().any(|it| it.trim_start_matches(';').starts_with("truncate"))
        || whole_delete
        || ["flushall", "flushdb", "dropdatabase", "deletemany({})", ".drop()"]
            .iter()
            .any(|it| text.contains(it))
}

/// Tools that publish, or change what others use: the tool and the words that do it.
const OUTWARD: &[(&[&str], &[&str], DangerRule)] = &[
    (&["npm", "pnpm", "yarn", "bun"], &["publish", "unpublish", "deprecate"], DangerRule::Publish),
    (&["cargo"], &["publish", "yank", "owner"], DangerRule::Publish),
    (
        &["twine", "gem", "poetry", "uv", "flit", "hatch", "nuget", "mvn", "gradle"],
        &["upload", "push", "publish", "yank", "deploy"],
        DangerRule::Publish,
    ),
    (
        &["docker", "podman", "nerdctl"],
        &["push", "rm", "rmi", "prune", "kill", "stop", "down", "--privileged"],
        DangerRule::Publish,
    ),
    (
        &["kubectl", "oc", "helm", "k3s"],
        &[
            "delete",
            "apply",
            "drain",
            "cordon",
            "scale",
            "replace",
            "patch",
            "edit",
            "exec",
            "uninstall",
            "upgrade",
            "install",
            "rollback",
        ],
        DangerRule::Publish,
    ),
    (
        &["terraform", "tofu", "pulumi", "cdk", "serverless", "ansible-playbook"],
        &["apply", "destroy", "up", "deploy", "remove", "import", "taint"],
        DangerRule::Publish,
    ),
    (
        &["gh", "glab", "hub"],
        &["delete", "merge", "close", "create", "edit", "transfer", "archive"],
        DangerRule::Publish,
    ),
    (
        &[
            "gsutil", "s3cmd", "rclone", "mc", "az", "gcloud", "doctl", "heroku", "fly", "flyctl",
            "vercel", "netlify", "wrangler",
        ],
        &["rm", "rb", "delete", "del", "purge", "sync", "destroy", "deploy", "create", "update"],
        DangerRule::Publish,
    ),
    (
        &[
            "apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "pacman", "apk", "brew", "snap",
            "dpkg", "rpm", "flatpak", "port", "emerge", "nix-env",
        ],
        &[
            "install",
            "remove",
            "purge",
            "autoremove",
            "erase",
            "upgrade",
            "dist-upgrade",
            "full-upgrade",
            "del",
            "add",
            "uninstall",
            "-i",
            "-e",
            "-r",
            "-P",
            "-S",
            "-R",
            "-Rns",
            "-Rs",
            "-Syu",
            "-U",
        ],
        DangerRule::HostSettings,
    ),
];

fn tools(name: &str, verb: &str, act: &Act<'_>, add: &mut impl FnMut(DangerRule)) {
    if name == "aws" {
        let changes = [
            "delete",
            "terminate",
            "rm",
            "rb",
            "remove",
            "put-",
            "create-",
            "update-",
            "stop-",
            "reboot",
            "modify",
        ];
        if act.rest.iter().any(|arg| changes.iter().any(|it| arg.text.starts_with(it))) {
            add(DangerRule::Publish);
        }
        return;
    }
    let is_docker = matches!(name, "docker" | "podman" | "nerdctl");
    if is_docker
        && act.rest.iter().any(|arg| {
            arg.text.starts_with("/:")
                || arg.text.contains("docker.sock")
                || arg.text == "--pid=host"
                || arg.text == "--privileged"
        })
    {
        add(DangerRule::Privilege);
        return;
    }
    for (names, words, rule) in OUTWARD {
        let is_word = |arg: &Arg| words.contains(&&*arg.text);
        // The words of a command come first; what follows is names of things.
        let early = act
            .rest
            .iter()
            .filter(|arg| !arg.text.starts_with("--") || words.contains(&&*arg.text))
            .take(3);
        if names.contains(&name) && (words.contains(&verb) || early.clone().any(is_word)) {
            add(*rule);
        }
    }
}
