//! Judges program texts of other languages: by the names they use and the strings they hold.
//!
//! This is no parser. A text that starts programs, deletes, or makes code needs approval,
//! and the strings of such a text are judged as command lines.

use super::judge::{self, Around};
use super::path::{self, Place};
use super::quoting::unescape;
use super::rule::DangerRule;
use super::word::Arg;
use super::{DEPTH_MAX, Worst};

/// Interpreters that take code in their arguments, besides Python.
pub(super) const INTERPRETERS: &[&str] = &[
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "osascript",
    "Rscript",
    "julia",
    "irb",
    "pypy",
    "pypy3",
    "expect",
    "groovy",
    "elixir",
    "erl",
    "ghc",
];

/// Names by which code starts programs.
const STARTS: &[&str] = &[
    "system",
    "popen",
    "Popen",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "subprocess",
    "exec",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "spawn",
    "spawnl",
    "spawnv",
    "spawnSync",
    "execSync",
    "execFile",
    "execFileSync",
    "child_process",
    "qx",
    "pty",
    "posix_spawn",
    "posix_spawnp",
    "passthru",
    "shell_exec",
    "proc_open",
    "pcntl_exec",
    "startProcess",
    "check_output",
    "check_call",
    "getoutput",
    "fork",
    "forkpty",
    "syscall",
    "execute",
    "Kernel",
    "Open3",
    "shell",
    "openpty",
];
/// Names by which code deletes.
const DELETES: &[&str] = &[
    "rmtree",
    "unlink",
    "rmdir",
    "removedirs",
    "rmSync",
    "rmdirSync",
    "unlinkSync",
    "rm_rf",
    "rm_r",
    "remove_entry_secure",
    "FileUtils",
    "remove_tree",
    "rimraf",
    "truncate",
    "chmod",
    "chown",
    "kill",
    "killpg",
];
/// Names by which code makes code, or hides what it names.
const HIDES: &[&str] = &[
    "eval",
    "__import__",
    "importlib",
    "getattr",
    "__builtins__",
    "builtins",
    "globals",
    "__dict__",
    "ctypes",
    "cffi",
    "base64",
    "b64decode",
    "unhexlify",
    "fromhex",
    "codecs",
    "marshal",
    "pickle",
    "zlib",
    "fromCharCode",
    "atob",
    "Function",
    "vm",
    "instance_eval",
    "class_eval",
    "create_function",
    "dlopen",
    "loadstring",
    "mmap",
    "socket",
];

/// Longest command line that neighbouring strings are put together to.
const LINE_BYTES_MAX: usize = 1_024;

/// Judges a text.
pub(super) fn judge(language: &str, text: &str, depth: usize, worst: &mut Worst) {
    if depth > DEPTH_MAX || !worst.spend(text.len()) {
        worst.add(DangerRule::TooComplex, text);
        return;
    }
    let (names, strings) = scan(language, text);
    let uses = |list: &[&str]| names.iter().any(|name| list.contains(&&**name));
    let loaded =
        |module: &str| strings.iter().any(|it| it.text.trim_start_matches("node:") == module);
    let starts = uses(STARTS)
        || loaded("child_process")
        || loaded("subprocess")
        || strings.iter().any(|it| it.is_command)
        || uses(&["open"]) && is_piped(language, &strings);
    let has_files = loaded("fs") || loaded("fs/promises");
    let deletes = uses(DELETES)
        || has_files && uses(&["rm"])
        || uses(&["remove"]) && imports_remove(text)
        || text.contains("os.remove")
        || text.contains("File.delete");
    let hides = uses(HIDES) || text.contains("vars(");
    if uses(&["fork"])
        && uses(&["while", "loop", "until"])
        && !names.iter().any(|it| it.starts_with("wait"))
    {
        worst.add(DangerRule::ForkBomb, text);
    }
    if starts || deletes || hides {
        worst.add(DangerRule::InlineCode, text);
    }
    let writes = names.iter().any(|it| it.starts_with("write"))
        || strings.iter().any(|it| {
            matches!(&*it.text, "w" | "wb" | "a" | "ab" | "r+" | "rb+" | "r+b" | ">" | ">>")
        });
    for string in &strings {
        match path::place(&Arg { is_glob: true, ..Arg::known(&string.text) }, None) {
            Place::Disk if writes || starts => worst.add(DangerRule::WipeDisk, text),
            Place::Switch if writes || starts => worst.add(DangerRule::HostPower, text),
            Place::Whole if deletes && string.text.starts_with(['/', '~']) => {
                worst.add(DangerRule::WipeSystem, text)
            }
            Place::System if writes => worst.add(DangerRule::SystemFile, text),
            _ => {}
        }
    }
    if starts || hides {
        commands(&strings, depth, worst);
    }
}

/// Whether a name of a file is a command, by the bar before or behind it.
fn is_piped(language: &str, strings: &[Literal]) -> bool {
    let is_command = |it: &Literal| {
        let text = it.text.trim();
        text.starts_with('|') || text.ends_with('|')
    };
    matches!(language, "perl" | "ruby" | "irb") && strings.iter().any(is_command)
}

/// Whether a text of Python takes the function that deletes by its name alone.
fn imports_remove(text: &str) -> bool {
    let mut imported = text.split("from os import").skip(1);
    imported.any(|rest| {
        let names = rest.split(['\n', ';']).next().unwrap_or_default();
        names.contains("remove") || names.contains('*') || names.trim_start().starts_with('(')
    })
}

/// Judges strings as the command lines they may be: each alone, and neighbours as one.
fn commands(strings: &[Literal], depth: usize, worst: &mut Worst) {
    let around = Around { depth: depth + 1, ..Around::default() };
    // Most strings are no command lines.
    let mut command = |line: &str| worst.suspect(|it| judge::script(line, around.clone(), it));
    let mut line = String::new();
    for string in strings {
        command(&string.text);
        if !string.is_next || line.len() > LINE_BYTES_MAX {
            line.clear();
        }
        line.push_str(&format!(" '{}'", string.text.replace('\'', r"'\''")));
        command(&line);
    }
}

/// A string of a text.
struct Literal {
    text: String,
    /// Whether only a comma or a bracket is between it and the one before.
    is_next: bool,
    /// Whether its quotes make it a command.
    is_command: bool,
}

/// The names and the strings of a text.
fn scan(language: &str, text: &str) -> (Vec<String>, Vec<Literal>) {
    let backquotes_run = matches!(language, "perl" | "ruby" | "php" | "irb" | "julia");
    let (mut names, mut strings) = (Vec::new(), Vec::new());
    let (mut name, mut is_next) = (String::new(), false);
    let letters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while let Some(it) = letters.get(at).copied() {
        if it.is_alphanumeric() || it == '_' {
            name.push(it);
            is_next = false;
            at += 1;
            continue;
        }
        if !name.is_empty() {
            names.push(std::mem::take(&mut name));
        }
        at += 1;
        if matches!(it, '\'' | '"' | '`') {
            let triple = letters.get(at) == Some(&it) && letters.get(at + 1) == Some(&it);
            let from = if triple { at + 2 } else { at };
            let rest = letters.get(from..).unwrap_or_default();
            let whole = || (rest.iter().collect(), rest.len());
            let (literal, len) = unescape(rest, it).unwrap_or_else(whole);
            let is_command = it == '`' && backquotes_run;
            strings.push(Literal { text: literal, is_next, is_command });
            is_next = true;
            at = from + len + if triple { 2 } else { 0 };
        } else if !matches!(it, ' ' | ',' | '\n' | '[' | ']' | '(' | ')') {
            is_next = false;
        }
    }
    if !name.is_empty() {
        names.push(name);
    }
    // Perl's and Ruby's other quotes hold commands too, and can't be told from brackets.
    if backquotes_run
        && names.iter().any(|name| matches!(&**name, "qx" | "q" | "qq" | "system" | "exec" | "x"))
    {
        let inside = text.split(['{', '}', '(', ')', '|', '[', ']']).skip(1);
        strings.extend(inside.map(|it| Literal {
            text: it.to_owned(),
            is_next: false,
            is_command: false,
        }));
    }
    (names, strings)
}
