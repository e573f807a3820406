//! What the arguments of a command say about files, processes and data: what a row of a table
//! can't.

use super::lexer::Word;
use super::path::{self, PathKind};
use super::rule::DangerRule;
use super::table::{LOOKS_AT_DISKS, PRELOADS, has_name, is_in, is_option};

/// Tests of `find` that leave most files.
const FILTERS: &str = "-name -iname -path -ipath -regex -iregex -wholename";

/// The arguments of a command, and where it runs.
struct Args<'a> {
    all: &'a [Word],
    folder: Option<&'a str>,
}

impl Args<'_> {
    fn has(&self, options: &str) -> bool {
        let mut before = self.all.iter().take_while(|arg| arg.text != "--");
        before.any(|arg| is_option(options, &arg.text))
    }

    fn is_at(&self, place: PathKind) -> bool {
        self.all.iter().any(|arg| path::place(arg, self.folder) == place)
    }

    /// Arguments that are no options.
    fn names(&self) -> impl DoubleEndedIterator<Item = &Word> {
        self.all.iter().filter(|arg| !arg.text.starts_with('-'))
    }
}

/// The rule against a command with these arguments.
pub(super) fn rule(name: &str, all: &[Word], folder: Option<&str>) -> Option<DangerRule> {
    let args = Args { all, folder };
    let whole = |recursive: bool| recursive && args.is_at(PathKind::Whole);
    let is_setting =
        |arg: &Word| arg.text.split_once('=').is_some_and(|(variable, _)| is_preload(variable));
    match name {
        "rm" | "rmdir" | "unlink" | "trash" | "shred" | "srm" => delete(&args),
        "dd" => {
            let files = all.iter().filter_map(|arg| Some(arg.but(arg.text.strip_prefix("of=")?)));
            files.filter_map(|file| written(&file, folder)).next()
        }
        "wipefs" | "blkdiscard" | "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "sgdisk" | "parted"
        | "mkswap" | "mke2fs" | "cryptsetup" | "hdparm" | "badblocks" | "pvcreate"
            if args.is_at(PathKind::Disk)
                && !all.iter().any(|it| is_in(LOOKS_AT_DISKS, &it.text)) =>
        {
            Some(DangerRule::WipeDisk)
        }
        _ if name == "mkfs" || name.starts_with("mkfs.") => match args.is_at(PathKind::Disk) {
            true => Some(DangerRule::WipeDisk),
            false => Some(DangerRule::Delete),
        },
        "kill" => kill(all),
        "chmod" | "chown" | "chgrp" => permissions(name, &args),
        "find" if args.has("-delete") => match whole(!args.has(FILTERS)) {
            true => Some(DangerRule::WipeSystem),
            false => Some(DangerRule::Delete),
        },
        "mv" if args.is_at(PathKind::Whole)
            && args
                .names()
                .next_back()
                .is_none_or(|it| path::place(it, folder) != PathKind::Whole) =>
        {
            Some(DangerRule::WipeSystem)
        }
        "mv" | "tee" | "truncate" | "touch" | "sponge" | "mkdir" | "patch" | "mkfifo" | "mknod"
        | "nano" | "fallocate" => args.names().find_map(|arg| written(arg, folder)),
        "cp" | "install" | "ln" | "rsync" | "scp" => {
            args.names().next_back().and_then(|arg| written(arg, folder))
        }
        "sed" | "gsed" if args.has("-i --in-place") => {
            args.names().skip(1).find_map(|arg| written(arg, folder))
        }
        "export" | "declare" | "typeset" | "readonly" | "local" | "env" | "sudo"
            if all.iter().any(is_setting) =>
        {
            Some(DangerRule::Preload)
        }
        "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlcmd" | "mongosh" | "mongo" | "redis-cli"
        | "clickhouse-client" | "duckdb" => {
            let destroys = all.iter().any(|arg| destroys_data(&arg.text));
            destroys.then_some(DangerRule::Database)
        }
        _ => None,
    }
}

/// Whether a variable makes other programs load code.
pub(super) fn is_preload(name: &str) -> bool {
    has_name(PRELOADS, name) || name.starts_with("BASH_FUNC")
}

/// The rule against writing to a file.
pub(super) fn written(file: &Word, folder: Option<&str>) -> Option<DangerRule> {
    match path::place(file, folder) {
        PathKind::Disk => Some(DangerRule::WipeDisk),
        PathKind::Switch => Some(DangerRule::HostPower),
        PathKind::System | PathKind::Whole => Some(DangerRule::SystemFile),
        PathKind::Socket => Some(DangerRule::RemoteShell),
        PathKind::Ordinary => None,
    }
}

fn delete(args: &Args<'_>) -> Option<DangerRule> {
    let recursive = args.has("-r -R --recursive");
    let is_many = args.all.iter().any(|arg| arg.plain().is_none());
    match () {
        () if args.is_at(PathKind::Disk) => Some(DangerRule::WipeDisk),
        () if recursive && (args.is_at(PathKind::Whole) || args.has("--no-preserve-root")) => {
            Some(DangerRule::WipeSystem)
        }
        () if recursive || is_many => Some(DangerRule::Delete),
        () => args.all.iter().find_map(|arg| written(arg, args.folder)),
    }
}

fn kill(all: &[Word]) -> Option<DangerRule> {
    let (mut has_signal, mut takes_value, mut rule) = (false, false, None);
    for arg in all {
        match &*arg.text {
            _ if takes_value => takes_value = false,
            "-s" | "-n" | "--signal" => (takes_value, has_signal) = (true, true),
            "-l" | "-L" | "--list" => return None,
            "1" => return Some(DangerRule::KillAll),
            "-1" if has_signal => return Some(DangerRule::KillAll),
            // What the line itself started last.
            "$!" => {}
            _ if !arg.is_literal => rule = Some(DangerRule::Kill),
            text => has_signal |= text.starts_with('-'),
        }
    }
    rule
}

fn permissions(name: &str, args: &Args<'_>) -> Option<DangerRule> {
    let recursive = args.has("-R --recursive");
    let is_wide = |mode: &Word| {
        let text = mode.text.trim_start_matches('0');
        let is_number = text.chars().all(|it| it.is_digit(8));
        let everybody = text.ends_with(['2', '3', '6', '7']) || text.len() > 3;
        let symbols = text.split(',').filter_map(|it| it.split_once(['+', '=']));
        let mut wide = symbols.filter(|(who, what)| {
            what.contains('w') && who.contains(['o', 'a']) || what.contains('s')
        });
        !mode.is_literal || is_number && everybody || wide.next().is_some()
    };
    match () {
        () if recursive && args.is_at(PathKind::Whole) => Some(DangerRule::WipeSystem),
        () if recursive => Some(DangerRule::Permissions),
        () if [PathKind::System, PathKind::Whole, PathKind::Disk]
            .into_iter()
            .any(|it| args.is_at(it)) =>
        {
            Some(DangerRule::SystemFile)
        }
        () if name != "chmod" || args.names().next().is_some_and(is_wide) => {
            Some(DangerRule::Permissions)
        }
        () => None,
    }
}

fn destroys_data(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let follows = |first: &str, list: &str| {
        words.windows(2).any(|it| it[0].ends_with(first) && is_in(list, it[1]))
    };
    follows("drop", "table* database* schema* view* index* user* role* column* collection*")
        || follows("delete", "from") && !words.contains(&"where")
        || words.iter().any(|it| it.starts_with("truncate"))
        || ["flushall", "flushdb", "dropdatabase", "deletemany({})", ".drop()"]
            .iter()
            .any(|it| text.contains(it))
}
