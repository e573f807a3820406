//! The commands that destroy, publish or reach outside, by their literal words; and those that
//! run what is not looked at.

use super::rule::DangerRule::{
    self, Database, Delete, History, HostPower, HostSettings as Host, Install, Kill, KillAll,
    Opaque, Permissions, Privilege, Publish, RemoteShell, WipeSystem,
};
use super::rule::{Severity, Unseen};
use super::word::{Word, has_option, is_in, is_option, names};

/// Names; words of which one is the first that is no option; options or words of which one stands
/// anywhere (an empty list asks for nothing, `*` for any argument); words by which it only looks;
/// and the rule. Lists have blanks between their words.
type Row = (&'static str, &'static str, &'static str, &'static str, DangerRule);

/// Programs that read command lines.
pub(super) const SHELLS: &str = "sh bash dash zsh ksh mksh ash fish rbash tcsh csh yash nu xonsh \
    elvish osh";
/// Programs that run code or scripts they are given.
pub(super) const INTERPRETERS: &str = "python perl ruby node nodejs deno php lua luajit tclsh \
    expect Rscript R julia osascript pwsh ghci iex jshell scala groovy gdb lldb m4 ed ex vi vim \
    nvim emacs ipython ssh";
/// Programs that run what a project's files say.
const RUNNERS: &str = "make gmake ninja just rake scons tox nox pytest bazel buck gradle gradlew mvn \
    ant invoke fab turbo nx lerna task";
/// Programs that make commands of what they are given.
pub(super) const HANDERS: &str = "eval source . alias trap xargs parallel watch script screen tmux \
    nsenter entr hash enable flock taskset setarch linux32 linux64 i386 x86_64 setpriv strace \
    ltrace valgrind perf runuser fakeroot fakechroot prlimit chrt choom bwrap firejail systemd-run \
    unbuffer rlwrap uclampset cgexec numactl proot faketime torsocks proxychains catchsegv";
/// Programs that hand their input on to a shell, or run it.
pub(super) const INPUT_HANDERS: &str = "env sudo su doas exec chroot unshare docker podman kubectl \
    busybox toybox at batch socat nc ncat telnet make awk gawk mawk sed bc dc jupyter sqlite3 \
    duckdb psql mysql mariadb";
/// Variables that make other programs load or run something.
pub(super) const PRELOADS: &str = "LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES \
    BASH_ENV ENV PROMPT_COMMAND PERL5OPT PERL5LIB PYTHONSTARTUP NODE_OPTIONS RUBYOPT \
    GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR PS4 GIT_CONFIG_GLOBAL \
    GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS LESSOPEN BASH_FUNC*";
/// Programs that tell or look for the words behind them, and do nothing by these.
pub(super) const TELLERS: &str = "echo printf grep egrep fgrep rg ag ack cat head tail less more wc \
    man info apropos whatis which type whereis file jq yq ls stat test [ true false : git find";
/// Programs that delete the files they name.
pub(super) const DELETERS: &str = "rm rmdir unlink trash shred srm";
/// Programs that write to the files they name; and those that write to the last one.
pub(super) const WRITERS: &str = "chmod chown chgrp dd mv tee truncate touch sponge mkdir patch \
    mkfifo mknod nano fallocate";
pub(super) const COPIERS: &str = "cp install ln rsync scp";
/// Programs that wipe the disk they are given.
pub(super) const DISK_TOOLS: &str = "wipefs blkdiscard fdisk sfdisk cfdisk gdisk sgdisk parted \
    mkswap mke2fs cryptsetup hdparm badblocks pvcreate mkfs";
/// Programs that ask a database, and words of those that destroy.
pub(super) const CLIENTS: &str = "psql mysql mariadb sqlite3 sqlcmd mongosh mongo redis-cli \
    clickhouse-client duckdb";
pub(super) const DESTROYERS: &str = "drop delete truncate flushall flushdb dropdatabase deletemany";
/// Modes that open a file to nobody else's writing.
pub(super) const NARROW_MODES: &str = "+x +r u+x u+w u+r u+rw u+rx u+rwx a+x a+r g+r g+w g+x \
    go-w go-rwx o-w o-r o-rwx 400 440 444 500 550 555 600 640 644 660 664 700 750 755 770 775";

/// Words by which a program only looks, or tells about itself.
const LOOKS: &str = "-l -L --list list status show --version";
const LOOKS_AT_DISKS: &str = "-l --list print status list -n --no-act --help --version";
const ASKS: &str = "--help --version";
/// Words by which nothing is done.
const GIT_LOOKS: &str = "--get* --list -l get list";
const DRY: &str = "-n --dry-run";
const SIMULATE: &str = "-s --simulate --dry-run";
const DRY_RUN: &str = "--dryrun --dry-run --dry-run=client --dry-run=server";

const BOXES: &str = "docker podman nerdctl";
const PACKAGES: &str = "apt apt-get aptitude dnf yum microdnf zypper apk brew snap dpkg rpm flatpak \
    port nix-env pacman yay paru";
/// Managers of packages of JavaScript.
const SCRIPTS: &str = "npm pnpm yarn bun deno";
/// Programs that install what is written in a language; and those that also keep projects.
const LANGUAGES: &str = "pip conda mamba micromamba gem luarocks opam cargo composer rustup nvm \
    asdf mise pyenv rbenv volta fnm sdk cabal stack meson conan vcpkg spack pixi";
const WORKSHOPS: &str = "uv poetry pdm rye hatch pipenv bundle bundler";
/// Programs that build, test and run projects.
const PROJECTS: &str = "cargo npm pnpm yarn bun deno uv poetry pdm rye hatch pipenv bundle bundler go \
    dotnet cmake";
const CLOUDS: &str = "gsutil s3cmd rclone mc az gcloud doctl heroku fly flyctl vercel netlify \
    wrangler aws";

/// The first row that matches counts.
const ROWS: &[Row] = &[
    ("shutdown reboot halt poweroff telinit", "", "", "--help --version -c", HostPower),
    ("kexec pm-suspend", "", "", ASKS, HostPower),
    ("init", "0 1 6 s S", "", "", HostPower),
    ("systemctl loginctl", "poweroff reboot halt kexec soft-reboot exit", "", "", HostPower),
    ("systemctl loginctl", "suspend hibernate hybrid-sleep rescue", "", "", HostPower),
    ("systemctl loginctl", "emergency isolate default", "", "", HostPower),
    ("killall5", "", "", "", KillAll),
    ("killall pkill skill xkill", "", "", "-0 -l", Kill),
    ("fuser", "", "-k --kill", "", Kill),
    ("sudo doas su chroot unshare setcap setfacl chattr capsh", "", "", ASKS, Privilege),
    ("newuidmap newgidmap newgrp sg pkexec", "", "", ASKS, Privilege),
    (BOXES, "", "--privileged --pid=host /:* -v/:* --volume=/:*", "", Privilege),
    (BOXES, "", "/var/run/docker.sock*", "", Privilege),
    ("chown chgrp", "", "", "", Permissions),
    ("chmod", "", "-R --recursive", "", Permissions),
    ("systemctl loginctl", "", "*", "status show cat help list-* is-* get-* --version", Host),
    ("service rc-service initctl launchctl", "", "*", "status list --status-all", Host),
    ("chkconfig update-rc.d", "", "*", "status list", Host),
    ("crontab mount losetup ufw iptables", "", "*", LOOKS, Host),
    ("ip6tables nft firewall-cmd hostnamectl timedatectl", "", "*", LOOKS, Host),
    ("localectl auditctl tc", "", "*", LOOKS, Host),
    ("at batch modprobe insmod rmmod umount swapoff swapon", "", "*", ASKS, Host),
    ("setenforce useradd userdel usermod adduser deluser", "", "*", ASKS, Host),
    ("groupadd groupdel passwd chpasswd chsh visudo vipw", "", "*", ASKS, Host),
    ("ldconfig grub-install update-grub efibootmgr apparmor_parser", "", "*", ASKS, Host),
    ("mkfs", "", "", "", Delete),
    (DISK_TOOLS, "", "", LOOKS_AT_DISKS, Host),
    ("partprobe nvme vgremove lvremove pvremove", "", "", LOOKS_AT_DISKS, Host),
    ("mdadm zpool diskutil", "", "", LOOKS_AT_DISKS, Host),
    ("sysctl", "", "-w -p --system --write *=*", "", Host),
    (PACKAGES, "", "install remove purge autoremove erase upgrade", SIMULATE, Host),
    (PACKAGES, "", "dist-upgrade full-upgrade del add uninstall", SIMULATE, Host),
    (PACKAGES, "", "build-dep update reinstall in rm up dup", SIMULATE, Host),
    (PACKAGES, "", "-i -e -r -P -S* -R* -U* --install --unpack --upgrade", SIMULATE, Host),
    ("emerge", "", "*", "-s --search -p --pretend --help --version", Host),
    ("rm", "", "--no-preserve-root", "", WipeSystem),
    (DELETERS, "", "-r -R --recursive", "", Delete),
    ("shred srm", "", "", ASKS, Delete),
    ("rsync", "", "--delete* --remove*", DRY, Delete),
    ("tar bsdtar", "", "--remove-files", "", Delete),
    ("zip", "", "-m --move", "", Delete),
    ("tar bsdtar", "", "-I --to-command* --checkpoint-action*", "", Opaque),
    ("tar bsdtar", "", "--use-compress-program* --info-script*", "", Opaque),
    ("tar bsdtar", "", "--new-volume-script* --rsh-command*", "", Opaque),
    ("git", "push", "-f --force --force-with-lease --force-if-includes", DRY, History),
    ("git", "push", "-d --delete --mirror --prune +* :*", DRY, History),
    ("git", "reset", "--hard --merge --keep", "", History),
    ("git", "clean", "-f --force", DRY, History),
    ("git", "branch", "-D --delete", "", History),
    ("git", "tag", "-d --delete", "", History),
    ("git", "checkout switch", "-f --force . --", "", History),
    ("git", "restore", "-W --worktree", "", History),
    ("git", "restore", "", "-S --staged", History),
    ("git", "stash reflog", "drop clear expire delete", "", History),
    ("git", "update-ref worktree", "-d remove", "", History),
    ("git", "gc", "--prune*", "", History),
    ("git", "filter-branch filter-repo prune", "", "", History),
    ("git", "rm", "-r", "--cached -n --dry-run", Delete),
    ("git", "config", "alias.* core.* include* credential.* filter.*", GIT_LOOKS, Install),
    ("git", "config", "diff.* merge* gpg* init.* pager.* sequence.* url.*", GIT_LOOKS, Install),
    ("git", "config", "*tool.* *.helper* *ssh* *.command* --edit -e edit", GIT_LOOKS, Install),
    ("git", "rebase difftool", "-x* --exec* --extcmd*", "", Opaque),
    ("git", "submodule bisect", "foreach run", "", Opaque),
    ("history", "", "-c", "", History),
    ("nc ncat netcat socat telnet cryptcat", "", "-e -c -l --exec --sh-exec", "", RemoteShell),
    (
        "nc ncat netcat socat telnet cryptcat",
        "",
        "--listen EXEC:* SYSTEM:* *LISTEN*",
        "",
        RemoteShell,
    ),
    ("npm pnpm yarn bun", "publish unpublish deprecate", "", "", Publish),
    ("npm pnpm yarn bun", "exec x", "-c --call", "", Opaque),
    ("cargo", "publish yank owner", "", "", Publish),
    ("twine gem poetry uv flit hatch", "upload push publish yank deploy", "", "", Publish),
    ("nuget mvn gradle", "upload push publish yank deploy", "", "", Publish),
    (BOXES, "", "push rm rmi prune kill stop down", "", Publish),
    (BOXES, "", "run exec", "", Opaque),
    ("kubectl oc helm k3s", "", "delete apply drain cordon scale replace", DRY_RUN, Publish),
    ("kubectl oc helm k3s", "", "patch edit exec uninstall upgrade", DRY_RUN, Publish),
    ("kubectl oc helm k3s", "", "install rollback", DRY_RUN, Publish),
    ("terraform tofu pulumi cdk serverless", "", "apply destroy up deploy", "", Publish),
    ("terraform tofu pulumi cdk serverless", "", "remove import taint", "", Publish),
    ("ansible-playbook", "", "*", "--version --check", Publish),
    ("gh glab hub", "", "delete merge close create edit transfer archive", "", Publish),
    (CLOUDS, "", "rm rb delete* del purge sync destroy deploy create*", DRY_RUN, Publish),
    (CLOUDS, "", "update* terminate* remove* put-* stop-* reboot* modify*", DRY_RUN, Publish),
    (LANGUAGES, "i binstall target config create-project self init", "", SIMULATE, Install),
    (LANGUAGES, "install uninstall add remove update upgrade create env", "", SIMULATE, Install),
    (LANGUAGES, "download wheel require global plugin toolchain component", "", "", Install),
    (SCRIPTS, "install-test install-ci-test cit rebuild rb config c set edit", "", DRY, Install),
    (SCRIPTS, "audit", "fix", DRY, Install),
    ("npm pnpm yarn bun deno", "install i in ci add it link up update upgrade", "", DRY, Install),
    ("npm pnpm yarn bun deno", "uninstall remove rm exec x dlx create init", "", DRY, Install),
    (LANGUAGES, "", "install uninstall", SIMULATE, Install),
    ("npm pnpm yarn bun deno", "", "install uninstall", DRY, Install),
    (WORKSHOPS, "", "install add sync remove uninstall update upgrade", DRY, Install),
    (WORKSHOPS, "", "--with* --from* self python tool", DRY, Install),
    ("npx pnpx bunx uvx pipx cpan cpanm easy_install", "", "*", ASKS, Install),
    ("go", "install get", "", "", Install),
    ("go", "run", "*@*", "", Install),
    ("corepack pre-commit husky lefthook", "enable install init autoupdate use", "", "", Install),
    ("terraform tofu", "init", "", "", Install),
    ("gcloud", "components", "install update remove", "", Install),
    ("code codium cursor", "", "--install-extension --uninstall-extension", "", Install),
    ("claude codex gemini hermes openclaw", "", "mcp plugin plugins install add", "", Install),
    ("cmake", "", "--install", "", Install),
    ("mvn", "", "install deploy", "", Install),
    ("dotnet", "add tool workload", "", "", Install),
    ("nix nix-shell guix", "", "*", ASKS, Install),
    ("make gmake ninja", "", "install uninstall", DRY, Install),
    ("gh glab", "extension ext", "install upgrade remove", "", Install),
    (BOXES, "", "pull build load import", "", Install),
    ("insula", "", "*", ASKS, Install),
    ("cmake", "", "--build -P -E", "", Opaque),
    (SCRIPTS, "run run-script test t tst start stop restart task serve", "", ASKS, Opaque),
    (WORKSHOPS, "run exec build", "", ASKS, Opaque),
    ("cargo", "run r build b test t bench check c clippy doc rustc", "", ASKS, Opaque),
    ("go", "run generate test build", "", "", Opaque),
    ("dotnet", "run build test exec msbuild", "", "", Opaque),
    ("dropdb dropuser", "", "", ASKS, Database),
    ("mysqladmin", "", "drop shutdown", "", Database),
    ("find", "", "-exec -execdir -ok -okdir", "", Opaque),
    ("awk gawk mawk nawk", "", "-f --file -i --include -l --load -E --exec", "", Opaque),
    ("awk gawk mawk nawk", "", "*|* *>* *@* *system* -e* --source*", "", Opaque),
];

/// The rule of the first row that matches.
pub(super) fn rule(name: &str, args: &[Word]) -> Option<DangerRule> {
    // `pip3.12` is what `pip` is.
    let name = if has_program("pip", name) { "pip" } else { name };
    let (_, verb) = split_verb(name, args);
    let matches = |row: &&Row| {
        let (names, verbs, listed, looks, rule) = **row;
        // What only shows when it runs counts as what is listed, but is nothing literal.
        let may_be = |arg: &Word| arg.varies && rule.severity() != Severity::Never;
        let is_verb = |arg: &Word| is_in(verbs, &arg.text) || may_be(arg);
        let may_be_listed = |arg: &Word| may_be(arg) && rule.severity() != Severity::Admins;
        let is_listed = |arg: &Word| is_option(listed, &arg.text) || may_be_listed(arg);
        // Most rows are for others, which is found out sooner by a search.
        names.contains(name)
            && is_in(names, name)
            && (verbs.is_empty() || verb.is_some_and(is_verb))
            && (listed.is_empty() || args.iter().any(is_listed))
            && !args.iter().any(|arg| !arg.varies && is_in(looks, &arg.text))
    };
    ROWS.iter().find(matches).map(|row| row.4)
}

/// Whether a program is one that installs, and one of its words says so.
pub(super) fn is_installer(name: &str, args: &[Word]) -> bool {
    const OTHERS: &str = "npx pnpx bunx uvx pipx go";
    const VERBS: &str = "install i in add ci it get sync update upgrade exec x dlx create run -i \
        -S* -U* --install";
    let name = if has_program("pip", name) { "pip" } else { name };
    let lists = [PACKAGES, LANGUAGES, SCRIPTS, WORKSHOPS, OTHERS];
    lists.iter().any(|list| list.contains(name) && is_in(list, name))
        && args.iter().any(|arg| is_in(VERBS, &arg.text))
}

/// The first word that is no option nor the value of one, and what stands before it.
fn split_verb<'w>(name: &str, args: &'w [Word]) -> (&'w [Word], Option<&'w Word>) {
    let valued = if name == "git" { "-C -c --git-dir --work-tree" } else { "" };
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.text.starts_with(['-', '+'])) {
        at += if is_in(valued, &arg.text) { 2 } else { 1 };
    }
    (args.get(..at).unwrap_or(args), args.get(at))
}

/// Whether a list has a program: `bash5`, `python3.12` and `perl5.36` are what they begin with.
pub(super) fn has_program(list: &str, name: &str) -> bool {
    let version = |it: char| it.is_ascii_digit() || ".-".contains(it);
    is_in(list, name) || is_in(list, name.trim_end_matches(version))
}

/// Whether it is a shell or an interpreter that only waits for input. What is written to it is
/// judged when that is.
pub(super) fn waits(name: &str, args: &[Word]) -> bool {
    let options = "-i -l -s -e -x -u -q --login --norc --noprofile";
    (has_program(SHELLS, name) || has_program(INTERPRETERS, name))
        && args.iter().all(|arg| is_in(options, &arg.text))
}

/// What of a command is not looked at, whatever its rule.
pub(super) fn unseen(name: &str, args: &[Word]) -> Option<Unseen> {
    let asks = |arg: &Word| is_in("-V --version --help", &arg.text);
    let is_script = || args.first().is_some_and(|arg| !arg.text.starts_with('-'));
    let is_opaque = || rule(name, args) == Some(Opaque);
    // A setting of `git` may name a command.
    let sets = |arg: &Word| is_in("-c* --config-env* --exec-path=*", &arg.text);
    match name {
        _ if !args.is_empty() && args.iter().all(asks) => None,
        _ if has_program(SHELLS, name) && !is_script() => Some(Unseen::HandedOn),
        _ if has_program(SHELLS, name) || has_program(INTERPRETERS, name) => Some(Unseen::Code),
        "git" if split_verb(name, args).0.iter().any(sets) => Some(Unseen::HandedOn),
        "awk" | "gawk" | "mawk" | "nawk" => is_opaque().then_some(Unseen::Code),
        "sed" | "gsed" => (!is_plain_sed(args)).then_some(Unseen::Code),
        _ if is_in(RUNNERS, name) => Some(Unseen::Code),
        _ if is_in(PROJECTS, name) => is_opaque().then_some(Unseen::Code),
        _ => (is_in(HANDERS, name) || is_opaque()).then_some(Unseen::HandedOn),
    }
}

/// Whether the scripts of `sed` only print, delete or replace.
fn is_plain_sed(args: &[Word]) -> bool {
    let marked = args.windows(2).filter(|pair| pair[0].text == "-e").map(|pair| &pair[1]);
    let mut scripts = names(args).take(1).chain(marked);
    !has_option("-f --file --expression", args)
        && scripts.all(|it| !it.varies && it.text.split([';', '\n']).all(is_plain_step))
}

/// One step of `sed`: lines by number or pattern, and then `p`, `d`, `q`, `=` or `s`.
fn is_plain_step(step: &str) -> bool {
    let numbers = |it: char| it.is_ascii_digit() || "$,! ".contains(it);
    let rest = step.trim_start_matches(numbers);
    let pattern = rest.strip_prefix('/').and_then(|it| it.split_once('/'));
    let rest = pattern.map_or(rest, |(_, behind)| behind.trim_start_matches(numbers)).trim_end();
    let mark = rest.strip_prefix('s').and_then(|it| it.chars().next());
    match rest.split(mark.unwrap_or('s')).collect::<Vec<_>>()[..] {
        // A mark behind a backslash makes one part more.
        ["s", _, _, flags] => flags.chars().all(|it| "gpiI0123456789".contains(it)),
        _ => matches!(rest, "" | "p" | "d" | "q" | "="),
    }
}
