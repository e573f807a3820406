//! The commands that destroy, publish or reach outside, by their literal words; and those that
//! run what is not looked at.

use super::lexer::Word;
use super::rule::{DangerRule, Severity, Unseen};
use DangerRule::{
    Database, Delete, History, HostPower, HostSettings, Kill, KillAll, Opaque, Privilege, Publish,
    RemoteShell,
};

/// Which words of a command make a row match. Lists have blanks between their words.
pub(super) enum When {
    /// The name is enough.
    Always,
    /// Any argument.
    Used,
    /// One of these as the first word that is no option, and one of these options or words
    /// anywhere, if any are listed.
    Verb(&'static str, &'static str),
    /// One of these among the first three words that are no options.
    Early(&'static str),
    /// One of these options or words.
    With(&'static str),
}
use When::{Always, Early, Used, Verb, With};

/// Names, when they match, words by which they only look, and the rule.
type Row = (&'static str, When, &'static str, DangerRule);

/// Programs that read command lines.
pub(super) const SHELLS: &str = "sh bash dash zsh ksh mksh ash fish rbash";
/// Programs that run code or scripts they are given.
pub(super) const INTERPRETERS: &str = "python perl ruby node nodejs deno php lua luajit tclsh \
    expect Rscript R julia osascript pwsh ghci iex jshell scala groovy gdb lldb m4 ed ex vi vim \
    nvim emacs ipython";
/// Programs that make commands of what they are given.
pub(super) const HANDERS: &str = "eval source . alias trap xargs parallel watch script screen tmux \
    nsenter ssh entr hash enable";
/// Variables that make other programs load or run something.
pub(super) const PRELOADS: &str = "LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES \
    BASH_ENV ENV PROMPT_COMMAND PERL5OPT PERL5LIB PYTHONSTARTUP NODE_OPTIONS RUBYOPT \
    GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR PS4 GIT_CONFIG_GLOBAL \
    GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS LESSOPEN";

/// Words by which programs for disks only look.
pub(super) const LOOKS_AT_DISKS: &str = "-l --list print status list -n --no-act --help --version";

/// The first row that matches counts.
const ROWS: &[Row] = &[
    (
        "shutdown reboot halt poweroff telinit kexec pm-suspend",
        Always,
        "--help --version -c",
        HostPower,
    ),
    ("init", Verb("0 1 6 s S", ""), "", HostPower),
    (
        "systemctl loginctl",
        Verb(
            "poweroff reboot halt kexec soft-reboot suspend hibernate hybrid-sleep rescue \
             emergency isolate exit default",
            "",
        ),
        "",
        HostPower,
    ),
    ("killall5", Always, "", KillAll),
    ("killall pkill skill xkill", Always, "-0 -l", Kill),
    ("fuser", With("-k --kill"), "", Kill),
    (
        "sudo doas su chroot unshare setcap setfacl chattr capsh newuidmap newgidmap newgrp sg pkexec",
        Always,
        "--help --version",
        Privilege,
    ),
    (
        "docker podman nerdctl",
        With("--privileged --pid=host /:* -v/:* --volume=/:* /var/run/docker.sock*"),
        "",
        Privilege,
    ),
    ("systemctl loginctl", Used, "status show cat help list-* is-* get-* --version", HostSettings),
    (
        "service rc-service initctl launchctl chkconfig update-rc.d",
        Used,
        "status list --status-all",
        HostSettings,
    ),
    (
        "crontab mount losetup ufw iptables ip6tables nft firewall-cmd hostnamectl timedatectl \
         localectl auditctl tc",
        Used,
        "-l -L --list list status show --version",
        HostSettings,
    ),
    (
        "at batch modprobe insmod rmmod umount swapoff swapon setenforce useradd userdel usermod \
         adduser deluser groupadd groupdel passwd chpasswd chsh visudo vipw ldconfig \
         grub-install update-grub efibootmgr apparmor_parser",
        Used,
        "--help --version",
        HostSettings,
    ),
    (
        "wipefs blkdiscard fdisk sfdisk cfdisk gdisk sgdisk parted partprobe mkswap mke2fs \
         cryptsetup hdparm badblocks nvme pvcreate vgremove lvremove pvremove mdadm zpool diskutil",
        Always,
        LOOKS_AT_DISKS,
        HostSettings,
    ),
    ("sysctl", With("-w -p --system --write *=*"), "", HostSettings),
    (
        "apt apt-get aptitude dnf yum zypper apk brew snap dpkg rpm flatpak port emerge nix-env \
         pacman",
        With(
            "install remove purge autoremove erase upgrade dist-upgrade full-upgrade del add \
             uninstall -i -e -r -P -S* -R* -U*",
        ),
        "-s --simulate --dry-run",
        HostSettings,
    ),
    ("shred srm", Always, "--help --version", Delete),
    ("rsync", With("--delete* --remove*"), "-n --dry-run", Delete),
    ("tar bsdtar", With("--remove-files"), "", Delete),
    ("zip", With("-m --move"), "", Delete),
    (
        "tar bsdtar",
        With(
            "-I --to-command* --checkpoint-action* --use-compress-program* --info-script* \
             --new-volume-script* --rsh-command*",
        ),
        "",
        Opaque,
    ),
    (
        "git",
        Verb(
            "push",
            "-f --force --force-with-lease --force-if-includes -d --delete --mirror --prune +* :*",
        ),
        "-n --dry-run",
        History,
    ),
    ("git", Verb("reset", "--hard --merge --keep"), "", History),
    ("git", Verb("clean", "-f --force"), "-n --dry-run", History),
    ("git", Verb("branch", "-D --delete"), "", History),
    ("git", Verb("tag", "-d --delete"), "", History),
    ("git", Verb("checkout switch", "-f --force . --"), "", History),
    ("git", Verb("restore", "-W --worktree"), "", History),
    ("git", Verb("restore", ""), "-S --staged", History),
    ("git", Verb("stash", "drop clear"), "", History),
    ("git", Verb("reflog", "expire delete"), "", History),
    ("git", Verb("update-ref worktree", "-d remove"), "", History),
    ("git", Verb("gc", "--prune*"), "", History),
    ("git", Verb("filter-branch filter-repo prune", ""), "", History),
    ("git", Verb("rm", "-r"), "--cached -n --dry-run", Delete),
    ("git", Verb("rebase difftool", "-x* --exec* --extcmd*"), "", Opaque),
    ("git", Verb("submodule bisect", "foreach run"), "", Opaque),
    ("history", With("-c"), "", History),
    (
        "nc ncat netcat socat telnet cryptcat",
        With("-e -c -l --exec --sh-exec --listen EXEC:* SYSTEM:* *LISTEN*"),
        "",
        RemoteShell,
    ),
    ("npm pnpm yarn bun", Verb("publish unpublish deprecate", ""), "", Publish),
    ("npm pnpm yarn bun", Verb("exec x", "-c --call"), "", Opaque),
    ("cargo", Verb("publish yank owner", ""), "", Publish),
    (
        "twine gem poetry uv flit hatch nuget mvn gradle",
        Verb("upload push publish yank deploy", ""),
        "",
        Publish,
    ),
    ("docker podman nerdctl", Early("push rm rmi prune kill stop down"), "", Publish),
    ("docker podman nerdctl", Early("run exec"), "", Opaque),
    (
        "kubectl oc helm k3s",
        Early(
            "delete apply drain cordon scale replace patch edit exec uninstall upgrade install \
             rollback",
        ),
        "--dry-run*",
        Publish,
    ),
    (
        "terraform tofu pulumi cdk serverless",
        Early("apply destroy up deploy remove import taint"),
        "",
        Publish,
    ),
    ("ansible-playbook", Used, "--version --check", Publish),
    ("gh glab hub", Early("delete merge close create edit transfer archive"), "", Publish),
    (
        "gsutil s3cmd rclone mc az gcloud doctl heroku fly flyctl vercel netlify wrangler aws",
        Early(
            "rm rb delete* del purge sync destroy deploy create* update* terminate* remove* put-* \
             stop-* reboot* modify*",
        ),
        "--dryrun --dry-run",
        Publish,
    ),
    ("dropdb dropuser", Always, "--help --version", Database),
    ("mysqladmin", With("drop shutdown"), "", Database),
    ("find", With("-exec -execdir -ok -okdir"), "", Opaque),
];

/// Whether a list has this name. Found by searching, since a line may have many names.
pub(super) fn has_name(list: &str, name: &str) -> bool {
    let is_whole = |at: usize| {
        let (before, behind) = (&list.as_bytes()[..at], &list.as_bytes()[at + name.len()..]);
        before.last().is_none_or(|it| *it == b' ') && behind.first().is_none_or(|it| *it == b' ')
    };
    !name.is_empty() && list.match_indices(name).any(|(at, _)| is_whole(at))
}

/// Whether one of a list's words is this one. `*` at an end stands for any letters.
pub(super) fn is_in(list: &str, text: &str) -> bool {
    list.split_whitespace().any(|it| match (it.strip_prefix('*'), it.strip_suffix('*')) {
        (Some(_), Some(_)) => text.contains(it.trim_matches('*')),
        (_, Some(start)) => text.starts_with(start),
        _ => it == text,
    })
}

/// Whether an argument is one of these options, alone, among other letters, with its value or
/// cut short; or one of these words.
pub(super) fn is_option(list: &str, text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    is_in(list, text)
        || list.split_whitespace().any(|it| match (it.strip_prefix("--"), it.strip_prefix('-')) {
            (Some(_), _) => name.len() > 3 && it.starts_with(name),
            (_, Some(letter)) => {
                letter.len() == 1
                    && text.starts_with('-')
                    && !text.starts_with("--")
                    && text.contains(letter)
            }
            _ => false,
        })
}

/// The rule of the first row that matches.
pub(super) fn rule(name: &str, args: &[Word]) -> Option<DangerRule> {
    let options = args.split(|arg| arg.text == "--").next().unwrap_or_default();
    let mut rows = ROWS.iter().filter(|row| has_name(row.0, name));
    rows.find(|(_, when, looks, rule)| {
        // What only shows when it runs counts as what is listed, but is nothing literal.
        let may_be = |arg: &Word| !arg.is_literal && rule.severity() != Severity::Never;
        let is = |list: &str, arg: &Word| is_option(list, &arg.text) || may_be(arg);
        let any = |list: &str| {
            options.iter().any(|arg| is(list, arg))
                || is_in(list, "--") && options.len() < args.len()
        };
        let mut verbs = verbs(name, args);
        let matches = match when {
            Always => true,
            Used => !args.is_empty(),
            With(list) => any(list),
            Early(list) => verbs.take(3).any(|arg| is_in(list, &arg.text) || may_be(arg)),
            Verb(list, options) => {
                verbs.next().is_some_and(|arg| is_in(list, &arg.text) || may_be(arg))
                    && (options.is_empty() || any(options))
            }
        };
        matches && !args.iter().any(|arg| arg.is_literal && is_in(looks, &arg.text))
    })
    .map(|row| row.3)
}

/// The words that are no options, nor values of those which stand before a verb.
fn verbs<'w>(name: &str, args: &'w [Word]) -> impl Iterator<Item = &'w Word> {
    let is_git = name == "git";
    let mut is_value = false;
    args.iter().filter(move |arg| {
        let was_value = is_value;
        is_value = is_git && !was_value && is_in("-C -c --git-dir --work-tree", &arg.text);
        !was_value && !arg.text.starts_with(['-', '+'])
    })
}

/// Whether it is a shell or an interpreter that only waits for input. What is written to it is
/// judged when that is.
pub(super) fn waits(name: &str, args: &[Word]) -> bool {
    let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let options = "-i -l -s -e -x -u -q --login --norc --noprofile";
    (has_name(SHELLS, plain) || has_name(INTERPRETERS, plain))
        && args.iter().all(|arg| is_in(options, &arg.text))
}

/// What of a command is not looked at, whatever its rule.
pub(super) fn unseen(name: &str, args: &[Word]) -> Option<Unseen> {
    let asks = |arg: &Word| is_in("--version -V --help", &arg.text);
    let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let is_code = has_name(INTERPRETERS, plain) || has_name(INTERPRETERS, name);
    let begins_git = || args.iter().take_while(|arg| arg.text.starts_with('-'));
    match name {
        _ if !args.is_empty() && args.iter().all(asks) => None,
        _ if has_name(SHELLS, plain) => {
            let script = args.first().filter(|arg| !arg.text.starts_with('-'));
            Some(if script.is_some() { Unseen::Code } else { Unseen::HandedOn })
        }
        _ if is_code => Some(Unseen::Code),
        "trap" | "hash" | "enable" if args.is_empty() => None,
        "tmux" | "screen" if args.iter().all(|arg| is_in("ls -ls -list", &arg.text)) => None,
        "ssh" => Some(Unseen::Code),
        _ if has_name(HANDERS, name) => Some(Unseen::HandedOn),
        "git" if begins_git().any(|arg| is_in("-c --config-env* --exec-path=*", &arg.text)) => {
            Some(Unseen::HandedOn)
        }
        "awk" | "gawk" | "mawk" | "nawk" => awk(args).then_some(Unseen::Code),
        "sed" | "gsed" => sed(args).then_some(Unseen::Code),
        _ => None,
    }
}

/// Whether a program of `awk` could run or write something, or is not here to be read.
fn awk(args: &[Word]) -> bool {
    args.iter().any(|arg| {
        let is_separator = arg.text == "|" || arg.text.starts_with("-F");
        !arg.is_literal
            || is_option("-f --file -i --include -l --load -E --exec", &arg.text)
            || arg.text.contains(['|', '>', '@']) && !is_separator
            || arg.text.contains("system")
    })
}

/// Whether a script of `sed` is more than printing, deleting or replacing.
fn sed(args: &[Word]) -> bool {
    let mut scripts = args.iter().filter(|arg| !arg.text.starts_with('-'));
    let is_named = |arg: &Word| is_option("-f --file --expression", &arg.text);
    let given = args.windows(2).filter(|pair| pair[0].text == "-e").map(|pair| &pair[1]);
    let given: Vec<&Word> = given.collect();
    let plain = |script: &Word| {
        script.is_literal && script.text.split([';', '\n']).all(|it| is_plain_sed(it.trim()))
    };
    let is_plain = match given.is_empty() {
        true => scripts.next().is_none_or(plain),
        false => given.into_iter().all(plain),
    };
    args.iter().any(is_named) || !is_plain
}

/// One command of `sed`: lines by number or pattern, and then `p`, `d`, `q`, `=` or `s`.
fn is_plain_sed(text: &str) -> bool {
    let line =
        |text: &str| text.trim_start_matches(|it: char| it.is_ascii_digit() || it == '$').len();
    let mut rest = text;
    for _ in 0..2 {
        rest = match rest.strip_prefix('/').and_then(|it| it.split_once('/')) {
            Some((_, behind)) => behind,
            None => &rest[rest.len() - line(rest)..],
        };
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    let Some(replaced) = rest.strip_prefix('s') else {
        return matches!(rest.trim_start_matches(['!', ' ']), "" | "p" | "d" | "q" | "=");
    };
    let Some(mark) = replaced.chars().next() else { return false };
    let parts: Vec<&str> = replaced.split(mark).collect();
    let flags = parts.get(3).copied().unwrap_or("?");
    parts.len() == 4
        && !replaced.contains(&format!("\\{mark}"))
        && flags.chars().all(|it| "gpiI".contains(it) || it.is_ascii_digit())
}
